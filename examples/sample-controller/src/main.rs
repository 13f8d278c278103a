//! Runs the controller: on a cluster, or on a server in this process.

#![allow(clippy::disallowed_names, reason = "here a foo is a Foo")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use kube_client::config::{KubeConfigOptions, Kubeconfig};
use kube_client::{Client, Config};
use kube_controller::controller::Controller;
use kube_controller::events::EventRecorder;
use kube_controller::manager::stop_on_signal;
use kube_informer::SharedInformerFactory;
use kube_testserver::TestServer;
use sample_controller::many::Failed;
use sample_controller::{DEFINITION, NAME, RESYNC, WORKERS, cluster, many, reconciler, settings};
use serde_json::json;
use tokio_util::sync::CancellationToken;

/// Makes a Deployment for each Foo of a cluster
#[derive(Debug, Parser)]
#[command(name = "sample-controller", version)]
struct Arguments {
    /// The kubeconfig of the cluster; by default $KUBECONFIG, the one in the home folder, or the pod's service account
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// How many Foos are worked on at a time
    #[arg(long, default_value_t = WORKERS, value_parser = one_or_more)]
    workers: usize,
    /// Show it on a server in this process, which needs no cluster
    #[arg(long, conflicts_with_all = ["kubeconfig", "many"])]
    demo: bool,
    /// Measure what so many Foos cost, on a server in this process
    #[arg(long, value_name = "FOOS", conflicts_with = "kubeconfig")]
    many: Option<usize>,
}

fn one_or_more(workers: &str) -> Result<usize, String> {
    match workers.parse() {
        Ok(0) => Err("nobody would work; it must be 1 or more".to_owned()),
        Ok(workers) => Ok(workers),
        Err(error) => Err(format!("{error}; it must be a number, 1 or more")),
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = if let Some(foos) = arguments.many {
        measure(foos, arguments.workers).await
    } else if arguments.demo {
        demo(arguments.workers).await
    } else {
        serve(&arguments).await
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sample-controller: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Works on a cluster until it is told to stop.
async fn serve(arguments: &Arguments) -> Result<(), Failed> {
    let client = connect(arguments.kubeconfig.as_deref()).await?;
    let stop = stop_on_signal()?;
    let told = stop.clone();
    tokio::spawn(async move {
        told.cancelled().await;
        println!("Stopping");
    });
    println!("Starting with {} workers", arguments.workers);
    work(client, arguments.workers, stop).await
}

/// Runs the controller and what writes its events, and says what was left undone.
async fn work(client: Client, workers: usize, stop: CancellationToken) -> Result<(), Failed> {
    let factory = SharedInformerFactory::builder(client.clone())
        .default_resync(RESYNC)
        .on_error(|resource, error| eprintln!("{resource}: {error}"))
        .build();
    let instance = std::env::var("POD_NAME").unwrap_or_else(|_| NAME.to_owned());
    let (recorder, writer) = EventRecorder::new(client.clone(), NAME, instance);
    let controller: Controller = settings(&factory)?
        .concurrency(workers)
        .on_error(|failure| eprintln!("Foo {}: {}", failure.request, failure.error))
        .build(reconciler(client, &factory, recorder)?)?;
    let handle = controller.handle();
    let writing = tokio::spawn(writer.run(stop.clone()));
    let ran = controller.run(stop.clone()).await;
    stop.cancel();
    writing.await?;
    factory.shutdown().await;
    if let Some(unfinished) =
        handle.unfinished().filter(|left| !left.dropped.is_empty() || !left.cut_off.is_empty())
    {
        println!("{} Foos waited and {} were cut off", unfinished.dropped.len(), unfinished.cut_off.len());
    }
    Ok(ran?)
}

async fn connect(kubeconfig: Option<&Path>) -> Result<Client, Failed> {
    let mut config = match kubeconfig {
        Some(path) => {
            let read = Kubeconfig::read_from(path)
                .map_err(|error| format!("cannot use the kubeconfig {}: {error}", path.display()))?;
            Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?
        }
        None => Config::infer().await.map_err(|error| {
            format!("there is no cluster to work on; name a --kubeconfig, or try --demo, which needs none ({error})")
        })?,
    };
    // Informers and the controller try again by themselves, and say so.
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}

/// A Foo is made, scaled, and comes into the way of somebody else, on a server in this process.
async fn demo(workers: usize) -> Result<(), Failed> {
    let server = TestServer::builder().garbage_collection(true).start().await?;
    server.seed(DEFINITION)?;
    let client = server.client()?;
    let stop = CancellationToken::new();
    let factory = SharedInformerFactory::new(client.clone());
    let others = cluster::availability(client.clone(), &factory.apps().v1().deployments().informer()?)?;
    let others = tokio::spawn(others.run(stop.clone()));
    let working = tokio::spawn(work(client, workers, stop.clone()));
    play(&server).await?;
    stop.cancel();
    others.await??;
    working.await??;
    factory.shutdown().await;
    Ok(())
}

async fn play(server: &TestServer) -> Result<(), Failed> {
    const PAUSE: Duration = Duration::from_millis(500);
    const FOO: &str = "samplecontroller.k8s.io/v1alpha1/Foo";
    let show = || -> Result<(), Failed> {
        for (kind, fields) in [
            (FOO, ["/spec/replicas", "/status/availableReplicas"]),
            ("apps/v1/Deployment", ["/spec/replicas", "/status/availableReplicas"]),
        ] {
            for object in server.objects(kind)? {
                let [wanted, there] = fields.map(|field| object.pointer(field).cloned().unwrap_or_default());
                let kind = kind.rsplit('/').next().unwrap_or_default();
                println!(
                    "  {kind:<11}{:<14}wants {wanted}, has {there}",
                    object["metadata"]["name"].as_str().unwrap_or("?")
                );
            }
        }
        for event in server.objects("events.k8s.io/v1/Event")? {
            println!("  {:<11}{} {}", "Event", event["reason"], event["note"]);
        }
        Ok(())
    };
    println!("A Foo is made:");
    server.seed(include_str!("../deploy/foo.yaml"))?;
    tokio::time::sleep(PAUSE).await;
    show()?;
    println!("It is scaled to 3:");
    server.mutate(FOO, "default", "example-foo", |foo| foo["spec"]["replicas"] = json!(3))?;
    tokio::time::sleep(PAUSE).await;
    show()?;
    println!("Another Foo wants the same Deployment:");
    let spec = json!({"deploymentName": "example-foo", "replicas": 2});
    let metadata = json!({"name": "rival", "namespace": "default"});
    let kind = "samplecontroller.k8s.io/v1alpha1";
    server.put(&json!({"apiVersion": kind, "kind": "Foo", "metadata": metadata, "spec": spec}))?;
    tokio::time::sleep(PAUSE).await;
    show()?;
    println!("Both are deleted:");
    server.delete(FOO, "default", "rival")?;
    server.delete(FOO, "default", "example-foo")?;
    tokio::time::sleep(PAUSE).await;
    show()
}

/// Measures what so many Foos cost.
async fn measure(foos: usize, workers: usize) -> Result<(), Failed> {
    let server = TestServer::start().await?;
    let mut config = server.client_config();
    config.default_retry = false;
    let taken = many::run(&server, Client::try_from(config)?, foos, workers).await?;
    println!("{taken}");
    match taken.without_reason.first_key_value() {
        None => Ok(()),
        Some((foo, count)) => Err(format!(
            "{foo} was looked at {} times, for {} reasons; so were {} in all",
            count.reconciles,
            count.reasons,
            taken.without_reason.len()
        )
        .into()),
    }
}
