//! A copy of all pods, kept by this library and by kube-runtime: how long the first sync takes, and what it weighs.

use std::process::Stdio;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube_client::{Api, Client, Config};
use kube_informer::SharedInformer;
use kube_informer::source::KubeSource;
use kube_runtime::{reflector, watcher};
use tokio::process::Command;

use crate::child::Server;
use crate::report::{Report, now, say};
use crate::{Error, memory};

/// Who keeps the copy.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Library {
    KubeInformer,
    KubeRuntime,
}

/// Lets both sync from the same server, one after the other, each in a process of its own.
pub(crate) async fn compare(server: &Server, pods: usize, report: &mut Report) -> Result<(), Error> {
    let ours = measure(server, "kube-informer", pods).await?;
    let theirs = measure(server, "kube-runtime", pods).await?;
    for (name, [seconds, resident, peak]) in [("kube-informer", ours), ("kube-runtime", theirs)] {
        let (resident, peak) = (resident / 1e6, peak / 1e6);
        report.row(
            &format!("first sync of all pods, {name}"),
            &format!("{seconds:.1} s, {resident:.0} MB resident, {peak:.0} MB at its peak"),
        );
    }
    let ratio = |at: usize| ours[at] / theirs[at];
    report.row(
        "kube-informer / kube-runtime",
        &format!("time {:.2}, resident {:.2}, peak {:.2}", ratio(0), ratio(1), ratio(2)),
    );
    Ok(())
}

/// Seconds, resident bytes and peak bytes of one sync.
async fn measure(server: &Server, library: &str, pods: usize) -> Result<[f64; 3], Error> {
    let output = Command::new(std::env::current_exe()?)
        .args(["follow", library, server.url(), &pods.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .await?;
    let text = String::from_utf8(output.stdout)?;
    let figures: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    <[f64; 3]>::try_from(figures?).map_err(|_| format!("{library} did not sync: {text}").into())
}

/// Syncs once and prints what it took.
pub(crate) async fn run(library: Library, url: &str, pods: usize) -> Result<(), Error> {
    let mut config = Config::new(url.parse()?);
    config.default_retry = false;
    let client = Client::try_from(config)?;
    let begun = now();
    let count = match library {
        Library::KubeInformer => {
            // In JSON, as the other one: so both read the same bytes.
            let informer = SharedInformer::new(KubeSource::<Pod>::all(client, &()).json());
            informer.start();
            informer.synced().await;
            let seconds = begun.elapsed().as_secs_f64();
            tell(seconds);
            informer.store().snapshot().len()
        }
        Library::KubeRuntime => {
            let (store, writer) = reflector::store();
            let config = watcher::Config::default();
            let stream = reflector(writer, watcher(Api::<Pod>::all(client), config));
            let follow = tokio::spawn(stream.for_each(|_| std::future::ready(())));
            store.wait_until_ready().await?;
            let seconds = begun.elapsed().as_secs_f64();
            tell(seconds);
            follow.abort();
            store.len()
        }
    };
    if count == pods { Ok(()) } else { Err(format!("{count} pods instead of {pods}").into()) }
}

fn tell(seconds: f64) {
    let (resident, peak) = memory::own();
    say(&format!("{seconds} {resident} {peak}"));
}
