//! `demo`: a small cluster in this process, with controllers that make Pods of Foos, and every change on a line of its
//! own.

use std::time::Duration;

use clap::Args;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::core::v1::{Event, Namespace, Pod};
use kube_client::Resource;
use kube_client::core::ApiResource;
use kube_informer::SharedInformerFactory;
use sample_controller::foo::Foo;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::embedded::{DEFAULT_PAUSE, Embedded};
use crate::follow::{Followed, Following, Format, Show};
use crate::line::counted;
use crate::output::{Output, To};
use crate::paint::{BOLD, DIM, Paint};
use crate::seen::What;
use crate::stop;

#[derive(Debug, Default, Args)]
pub(crate) struct DemoArguments {
    /// Stop after so many seconds [default: run until Ctrl-C]
    #[arg(long, value_name = "SECONDS", value_parser = stop::seconds)]
    duration: Option<Duration>,
    /// Wait so many seconds after each step, when all that follows from it has happened [default: 2]
    #[arg(long, value_name = "SECONDS", value_parser = stop::seconds_or_never)]
    pause: Option<Duration>,
}

type Failure = Box<dyn std::error::Error>;

pub(crate) async fn run(arguments: DemoArguments) -> Result<(), Failure> {
    let end = stop::end(arguments.duration);
    let mut embedded = Embedded::start(arguments.pause.unwrap_or(DEFAULT_PAUSE)).await?;
    let factory = SharedInformerFactory::new(embedded.client());
    let followed = vec![
        followed::<Namespace>(&factory)?,
        followed::<Foo>(&factory)?,
        followed::<Deployment>(&factory)?,
        followed::<ReplicaSet>(&factory)?,
        followed::<Pod>(&factory)?,
        followed::<Event>(&factory)?,
    ];
    let show = Show { format: Format::Line, notes: To::Stdout, status_every: Format::Line.status_every() };
    let mut following = Following::new(followed, show);
    let (output, paint) = (Output::start(), Paint::of_stdout());
    let url = embedded.url();
    let hello = format!("a small Kubernetes cluster runs in this process, its API server on {url}");
    output.print(To::Stdout, hello).await;
    let hint = format!("look into it: kubectl --server {url} get foos,deploy,rs,pods -A; Ctrl-C stops it");
    output.print(To::Stdout, paint.painted(DIM, &hint)).await;
    let say = async |step: String| {
        output.print(To::Stdout, paint.painted(BOLD, &format!("{:<8}  {step}", "STEP"))).await;
    };

    factory.start();
    let outcome = tokio::select! {
        biased;
        () = end => Ok(()),
        error = embedded.live(say) => Err(error),
        () = following.run(&output) => Ok(()),
    };
    factory.shutdown().await;
    let stopped = embedded.stop().await;
    let last = outcome.and(stopped).map(|did| {
        let last = format!("stopped in good order: {} shown; {did}", counted(following.shown(), "event"));
        (To::Stdout, paint.painted(DIM, &last))
    });
    let (last, outcome) = match last {
        Ok(last) => (Some(last), Ok(())),
        Err(error) => (None, Err(error)),
    };
    output.finish(last).await;
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
