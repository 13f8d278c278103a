//! `demo`: a server with a small changing cluster inside, and every change on a line of its own.

use std::time::Duration;

use clap::Args;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Pod};
use kube_client::Resource;
use kube_client::core::ApiResource;
use kube_informer::SharedInformerFactory;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::embedded::Embedded;
use crate::follow::{Followed, Following, Format, Show};
use crate::line::counted;
use crate::output::{Output, To};
use crate::paint::{DIM, Paint};
use crate::seen::What;
use crate::stop;

#[derive(Debug, Default, Args)]
pub(crate) struct DemoArguments {
    /// Stop after so many seconds [default: run until Ctrl-C]
    #[arg(long, value_name = "SECONDS", value_parser = stop::seconds)]
    duration: Option<Duration>,
}

type Failure = Box<dyn std::error::Error>;

pub(crate) async fn run(arguments: DemoArguments) -> Result<(), Failure> {
    let end = stop::end(arguments.duration);
    let embedded = Embedded::start().await?;
    let factory = SharedInformerFactory::new(embedded.client());
    let followed = vec![
        followed::<Namespace>(&factory)?,
        followed::<ConfigMap>(&factory)?,
        followed::<Deployment>(&factory)?,
        followed::<Pod>(&factory)?,
        followed::<Event>(&factory)?,
    ];
    let show = Show { format: Format::Line, notes: To::Stdout, status_every: Format::Line.status_every() };
    let mut following = Following::new(followed, show);
    let (output, paint) = (Output::start(), Paint::of_stdout());
    let url = embedded.url();
    let hello = format!("a Kubernetes API server with a small changing cluster runs on {url}");
    output.print(To::Stdout, hello).await;
    let hint = format!("look into it: kubectl --server {url} get pods -A --watch; Ctrl-C stops it");
    output.print(To::Stdout, paint.painted(DIM, &hint)).await;

    factory.start();
    let outcome = tokio::select! {
        biased;
        () = end => Ok(()),
        error = embedded.live() => Err(error),
        () = following.run(&output) => Ok(()),
    };
    factory.shutdown().await;
    let did = embedded.stop().await;
    let last = format!("stopped in good order: {} shown; {did}", counted(following.shown(), "event"));
    output.finish(Some((To::Stdout, paint.painted(DIM, &last)))).await;
    Ok(outcome?)
}

/// What the factory's informer of a type sees.
fn followed<K>(factory: &SharedInformerFactory) -> Result<Followed, Failure>
where
    K: Resource<DynamicType = ()> + DeserializeOwned + Serialize + Send + Sync + 'static,
{
    let what = What::new(&ApiResource::erase::<K>(&()));
    Ok(Followed::new(what, &factory.of::<K>()?)?)
}
