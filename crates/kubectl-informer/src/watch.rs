//! `watch`: any resources of any cluster, by the names that kubectl knows.

use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::time::Duration;

use clap::Args;
use futures::future::join_all;
use kube_client::core::DynamicObject;
use kube_informer::SharedInformer;
use kube_informer::discovery::{DiscoveryError, ResolveError, Resources, ServerResource};
use kube_informer::informer::{InformerError, InformerStatus};
use kube_informer::source::{KubeSource, SourceError};
use tokio::sync::watch;

use crate::connect::{Cluster, ConnectError, connect};
use crate::embedded::{DEFAULT_PAUSE, Embedded, EmbeddedError};
use crate::follow::{Followed, Following, Format, Show};
use crate::line::counted;
use crate::output::{Output, To};
use crate::paint::{DIM, Paint};
use crate::seen::What;
use crate::stop;
use crate::trouble::without_layers;

const EXAMPLES: &str = "\
Examples:
  kubectl-informer watch pods                          pods in the namespace of the current context
  kubectl-informer watch deploy,po -n shop -l app=web  deployments and pods of one application
  kubectl-informer watch nodes events -A --status 60   nodes, and events of all namespaces; each minute how it goes
  kubectl-informer watch pods --field-selector spec.nodeName=node-a -A
  kubectl-informer watch certificates.cert-manager.io -A -o json | jq -c '[.type, .object.metadata.name]'
  kubectl-informer watch deploy,pods --embedded        without a cluster: one that lives in this process

Each line of `-o json` has type (ADDED, MODIFIED, DELETED), initial (it was there from the start), finalStateUnknown
(nobody saw it go), changed (path, old and new of each field) and object. Everything that is not an event goes to
stderr: what is wrong while it lasts, and the lines of --status.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WatchArguments {
    /// What to watch, by any name that kubectl knows: pods, deploy, deployments.apps, Deployment; several with spaces or
    /// commas between them
    #[arg(value_name = "RESOURCE", required = true, value_delimiter = ',')]
    resources: Vec<String>,
    /// In this namespace [default: that of the kubeconfig's context; all with --embedded]
    #[arg(short, long, value_name = "NS", conflicts_with = "all_namespaces")]
    namespace: Option<String>,
    /// In all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Only objects with these labels: app=web,tier!=cache
    #[arg(short = 'l', long, value_name = "SELECTOR", default_value = "", hide_default_value = true)]
    selector: String,
    /// Only objects with these fields: status.phase=Running
    #[arg(long, value_name = "SELECTOR", default_value = "", hide_default_value = true)]
    field_selector: String,
    /// How to print events
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
    /// Watch the changing cluster of the demo, inside this process
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    embedded: bool,
    /// Use this kubeconfig [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Use this context of the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Say how each informer is doing every so many seconds; 0 for never [default: 5, and 0 with -o json]
    #[arg(long, value_name = "SECONDS", value_parser = stop::seconds_or_never)]
    status: Option<Duration>,
    /// Stop after so many seconds [default: run until Ctrl-C]
    #[arg(long, value_name = "SECONDS", value_parser = stop::seconds)]
    duration: Option<Duration>,
}

impl WatchArguments {
    /// How often each informer says how it is doing; none for never.
    fn status_every(&self) -> Option<Duration> {
        self.status.or(self.output.status_every()).filter(|time| !time.is_zero())
    }
}

/// Why nothing can be watched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WatchError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    #[error(
        "cannot reach the API server at {url}: {why}; check the address in the kubeconfig, and that it runs"
    )]
    Unreachable { url: String, why: String },
    #[error("cannot trust the API server at {url}: {why}; check its certificate-authority in the kubeconfig")]
    Untrusted { url: String, why: String },
    #[error("the API server at {url} does not know who you are ({why}); check the user in the kubeconfig")]
    Unauthorized { url: String, why: String },
    #[error(transparent)]
    Discovery(DiscoveryError),
    #[error(transparent)]
    Unknown(#[from] ResolveError),
    #[error("no resource is named; say which, for example: kubectl-informer watch pods")]
    NothingNamed,
    #[error("{given:?} names one object; say: {resource} --field-selector metadata.name={name}")]
    OneObject { given: String, resource: String, name: String },
    #[error(
        "{0:?} is not a name of a namespace: those have small letters, digits and -, and at most 63 of them"
    )]
    BadNamespace(String),
    #[error("cannot watch {resource}: {why}; {advice}")]
    Refused { resource: String, why: String, advice: &'static str },
    #[error(transparent)]
    Informer(#[from] InformerError),
}

/// How long the start waits for kinds that neither come nor fail. The others are shown then.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn run(arguments: WatchArguments) -> Result<(), Box<dyn std::error::Error>> {
    if arguments.resources.iter().all(String::is_empty) {
        return Err(WatchError::NothingNamed.into());
    }
    let mut end = pin!(stop::end(arguments.duration));
    let mut embedded = match arguments.embedded {
        true => Some(Embedded::start(DEFAULT_PAUSE).await.map_err(WatchError::from)?),
        false => None,
    };
    let informers = tokio::select! {
        biased;
        () = &mut end => return Ok(()),
        informers = informers(&arguments, embedded.as_ref()) => informers?,
    };
    let followed = informers.iter().map(|(what, informer)| Followed::new(what.clone(), informer));
    let followed: Vec<Followed> = followed.collect::<Result<_, _>>()?;
    for (_, informer) in &informers {
        informer.start();
    }
    let output = Output::start();
    let mut outcome = follow(&arguments, followed, embedded.as_mut(), end, &output).await;
    join_all(informers.iter().map(|(_, informer)| informer.shutdown())).await;
    if let Some(embedded) = embedded {
        outcome = match (outcome, embedded.stop().await) {
            (Ok(_), Err(error)) => Err(error.into()),
            (outcome, _) => outcome,
        };
    }
    let last = outcome.as_ref().ok().map(|shown| {
        let note = format!("stopped in good order: {} shown", counted(*shown, "event"));
        (To::Stderr, Paint::of_stderr().painted(DIM, &note))
    });
    output.finish(last).await;
    outcome?;
    Ok(())
}

/// Shows what happens until the end, and returns how many events it were. Nothing is printed before it is known that
/// nothing is refused.
async fn follow(
    arguments: &WatchArguments,
    followed: Vec<Followed>,
    embedded: Option<&mut Embedded>,
    mut end: Pin<&mut impl Future<Output = ()>>,
    output: &Output,
) -> Result<u64, WatchError> {
    tokio::select! {
        biased;
        () = &mut end => return Ok(0),
        outcome = begin(&followed, output) => outcome?,
    }
    let show = Show { format: arguments.output, notes: To::Stderr, status_every: arguments.status_every() };
    let mut following = Following::new(followed, show);
    tokio::select! {
        biased;
        () = end => {}
        error = life(embedded) => return Err(error.into()),
        () = following.run(output) => {}
    }
    Ok(following.shown())
}

/// What happens in the embedded cluster, if there is one.
async fn life(embedded: Option<&mut Embedded>) -> EmbeddedError {
    match embedded {
        // The lines are for events alone.
        Some(embedded) => embedded.live(async |_| {}).await,
        None => std::future::pending().await,
    }
}

/// One informer for each resource that was named, not yet started.
async fn informers(
    arguments: &WatchArguments,
    embedded: Option<&Embedded>,
) -> Result<Vec<(What, SharedInformer<DynamicObject>)>, WatchError> {
    let cluster = match embedded {
        Some(embedded) => {
            Cluster { client: embedded.client(), url: embedded.url(), namespace: String::new() }
        }
        None => connect(arguments.kubeconfig.as_deref(), arguments.context.as_deref()).await?,
    };
    let resources =
        Resources::fetch(&cluster.client).await.map_err(|error| undiscovered(&cluster.url, error))?;
    let mut named: Vec<&ServerResource> = Vec::new();
    for name in arguments.resources.iter().filter(|name| !name.is_empty()) {
        let found = resolve(&resources, name)?;
        if !named.contains(&found) {
            named.push(found);
        }
    }
    let namespace = namespace(arguments, &cluster)?;
    let informers = named.into_iter().map(|one| {
        let (client, resource) = (cluster.client.clone(), &one.resource);
        let source = match &namespace {
            Some(namespace) if one.namespaced => KubeSource::namespaced(client, namespace, resource),
            _ => KubeSource::all(client, resource),
        };
        let source = source.labels(&arguments.selector).fields(&arguments.field_selector);
        let what = What::new(resource);
        let informer = SharedInformer::builder(source).name(&what.resource).build();
        (what, informer)
    });
    Ok(informers.collect())
}

/// The namespace to watch; none for all.
fn namespace(arguments: &WatchArguments, cluster: &Cluster) -> Result<Option<String>, WatchError> {
    let given = arguments.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    let namespace = given.unwrap_or(&cluster.namespace);
    if arguments.all_namespaces || namespace.is_empty() {
        return Ok(None);
    }
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if namespace.len() > 63 || !namespace.chars().all(is_letter) {
        return Err(WatchError::BadNamespace(namespace.to_owned()));
    }
    Ok(Some(namespace.to_owned()))
}

fn resolve<'a>(resources: &'a Resources, name: &str) -> Result<&'a ServerResource, WatchError> {
    if let Some((resource, object)) = name.split_once('/') {
        let (given, resource, name) = (name.to_owned(), resource.to_owned(), object.to_owned());
        return Err(WatchError::OneObject { given, resource, name });
    }
    Ok(resources.resolve(name)?)
}

fn undiscovered(url: &str, error: DiscoveryError) -> WatchError {
    let (url, why) = (url.to_owned(), without_layers(&error.cause.message).to_owned());
    match error.cause.code {
        0 if why.contains("certificate") => WatchError::Untrusted { url, why },
        0 if !error.cause.garbled => WatchError::Unreachable { url, why },
        401 => WatchError::Unauthorized { url, why },
        _ => WatchError::Discovery(error),
    }
}

/// Waits until every kind has arrived, or is known to be late. One that is refused is an error.
async fn begin(followed: &[Followed], output: &Output) -> Result<(), WatchError> {
    let starts = followed.iter().map(|one| tokio::time::timeout(PATIENCE, started(one.watch_status())));
    for (one, started) in followed.iter().zip(join_all(starts).await) {
        match started {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(refused(&one.what, &error)),
            Err(_) => {
                let note = format!("{}: has not arrived yet; waiting for it", one.what.resource);
                output.print(To::Stderr, Paint::of_stderr().painted(DIM, &note)).await;
            }
        }
    }
    Ok(())
}

/// Waits until an informer has synced, or is in trouble that may pass. What will not pass by itself is an error.
async fn started(mut status: watch::Receiver<InformerStatus>) -> Result<(), SourceError> {
    let settled = |status: &InformerStatus| {
        status.synced
            || status.trouble.as_ref().is_some_and(|trouble| trouble.times > 1 || is_refusal(&trouble.error))
    };
    let Ok(status) = status.wait_for(settled).await else { return Ok(()) };
    match &status.trouble {
        Some(trouble)
            if !status.synced && (is_refusal(&trouble.error) || is_misunderstood(&trouble.error)) =>
        {
            Err(trouble.error.clone())
        }
        _ => Ok(()),
    }
}

fn is_refusal(error: &SourceError) -> bool {
    matches!(error.code, 401 | 403 | 404)
}

/// Once may mean that the server does not know watches with initial events; twice is the selector.
fn is_misunderstood(error: &SourceError) -> bool {
    matches!(error.code, 400 | 405 | 406 | 415 | 422)
}

fn refused(what: &What, error: &SourceError) -> WatchError {
    let advice = match error.code {
        401 => "check the user in the kubeconfig",
        403 => "ask for the right to list and watch it, or choose another -n or --context",
        404 => "it was there a moment ago: try again",
        _ => "check -l and --field-selector",
    };
    WatchError::Refused { resource: what.resource.clone(), why: error.to_string(), advice }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        watch: WatchArguments,
    }

    #[test]
    fn people_are_told_how_it_goes_and_programs_if_they_ask() {
        let status = |more: &[&str]| {
            let line = ["watch", "pods"].iter().chain(more);
            Line::try_parse_from(line).unwrap().watch.status_every()
        };
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!((status(&[]), status(&["-o", "json"])), (seconds(5), None));
        assert_eq!((status(&["--status", "0"]), status(&["--status", "60"])), (None, seconds(60)));
        assert_eq!(status(&["-o", "json", "--status", "7"]), seconds(7));
    }
}
