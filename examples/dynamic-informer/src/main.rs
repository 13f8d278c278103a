//! Watches the blocks of addresses of the network plugin Calico, without a type for them, and prints what happens:
//!
//! ```console
//! $ cargo run -p dynamic-informer -- 20
//! Created IPAMBlock /informer-dynamic-simple-x7k2p
//! Informer event: ADDED /informer-dynamic-simple-x7k2p
//! Informer event: UPDATED /informer-dynamic-simple-x7k2p
//! ...
//! ```
//!
//! With a kubeconfig it watches that cluster, for as many seconds as it is told. Without one it starts a server in the
//! process, installs the definition of the resource, and makes a block and deletes it.

#![allow(clippy::print_stdout, reason = "it is there to print")]

use std::time::Duration;

use kube_client::api::{DeleteParams, PostParams};
use kube_client::{Api, Client, Config};
use kube_core::{ApiResource, DynamicObject, GroupVersionResource};
use kube_informer::fanout::EventHandler;
use kube_informer::{DynamicSharedInformerFactory, Object};
use kube_testserver::TestServer;

type Failed = Box<dyn std::error::Error>;

/// The period of the resync: so often the handler hears of every block again, as of an update.
const RESYNC: Duration = Duration::from_secs(5);

/// How long it stays to see resyncs, unless it is told.
const STAY: Duration = Duration::from_secs(1000);

/// How long the block that it makes itself exists.
const LIFE: Duration = Duration::from_secs(12);

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let stay = std::env::args().nth(1).map(|seconds| seconds.parse().map(Duration::from_secs));
    let stay =
        stay.transpose().map_err(|error| format!("how many seconds shall it stay? {error}"))?.unwrap_or(STAY);
    match Config::infer().await {
        Ok(mut config) => {
            // Informers try again by themselves, and say so.
            config.default_retry = false;
            watch(Client::try_from(config)?, stay, say).await
        }
        Err(_) => {
            let server = TestServer::start().await?;
            server.seed(include_str!("ipamblocks.yaml"))?;
            let (watched, played) =
                tokio::join!(watch(server.client()?, stay, say), play(server.client()?, say));
            watched.and(played)
        }
    }
}

fn ipam_blocks() -> GroupVersionResource {
    GroupVersionResource::gvr("crd.projectcalico.org", "v1", "ipamblocks")
}

/// Prints every event until the time is over.
async fn watch(
    client: Client,
    stay: Duration,
    say: impl Fn(String) + Copy + Send + 'static,
) -> Result<(), Failed> {
    // A factory keeps one informer for each resource.
    let factory = DynamicSharedInformerFactory::builder(client).default_resync(RESYNC).build();
    let informer = factory.for_resource(&ipam_blocks())?;
    informer.add_event_handler(
        EventHandler::<DynamicObject>::new()
            .on_add(move |block, _| say(format!("Informer event: ADDED {}", name(block))))
            .on_update(move |old, _| say(format!("Informer event: UPDATED {}", name(old))))
            .on_delete(move |gone| say(format!("Informer event: DELETED {}", name(gone.object())))),
    )?;
    // Returns at once: from here on all blocks are fetched, and then every change is told.
    factory.start();
    // Fails, with the cause, where they cannot be fetched: on a cluster without Calico.
    factory.wait_for_cache_sync().await?;
    tokio::time::sleep(stay).await;
    factory.shutdown().await;
    Ok(())
}

/// Makes a block, and deletes it after a while.
async fn play(client: Client, say: impl Fn(String)) -> Result<(), Failed> {
    let kind = ApiResource {
        group: "crd.projectcalico.org".to_owned(),
        version: "v1".to_owned(),
        api_version: "crd.projectcalico.org/v1".to_owned(),
        kind: "IPAMBlock".to_owned(),
        plural: "ipamblocks".to_owned(),
    };
    let blocks: Api<DynamicObject> = Api::all_with(client, &kind);
    let mut block = DynamicObject::new("", &kind);
    block.metadata.name = None;
    block.metadata.generate_name = Some("informer-dynamic-simple-".to_owned());
    block.data = serde_json::json!({"spec": {"cidr": "10.244.1.0/26"}});
    let block = blocks.create(&PostParams::default(), &block).await?;
    let name = block.metadata.name.unwrap_or_default();
    say(format!("Created IPAMBlock /{name}"));
    tokio::time::sleep(LIFE).await;
    blocks.delete(&name, &DeleteParams::default()).await?;
    say(format!("Deleted IPAMBlock /{name}"));
    Ok(())
}

/// `namespace/name`. Blocks have no namespace, so there is nothing before the slash.
fn name(block: &Object<DynamicObject>) -> String {
    format!("{}/{}", block.namespace(), block.name())
}

#[expect(clippy::needless_pass_by_value, reason = "like what tests listen with")]
fn say(line: String) {
    println!("{line}");
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_block_is_added_told_again_every_five_seconds_and_deleted() {
        static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let server = TestServer::start().await.unwrap();
        server.seed(include_str!("ipamblocks.yaml")).unwrap();
        let say = |line| LINES.lock().push(line);
        let client = || server.in_process_client();
        let (watched, played) =
            tokio::join!(watch(client(), Duration::from_secs(20), say), play(client(), |_| {}));
        watched.unwrap();
        played.unwrap();
        let words: Vec<String> = LINES
            .lock()
            .iter()
            .map(|line| {
                let (event, name) = line.rsplit_once(' ').unwrap();
                assert!(name.starts_with("/informer-dynamic-simple-"), "{line}");
                event.to_owned()
            })
            .collect();
        let [added, updated, deleted] =
            ["ADDED", "UPDATED", "DELETED"].map(|event| format!("Informer event: {event}"));
        assert_eq!(words, [added, updated.clone(), updated, deleted]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_cluster_without_the_resource_is_told_apart() {
        let server = TestServer::start().await.unwrap();
        let error = watch(server.in_process_client(), Duration::ZERO, |_| {}).await.unwrap_err();
        assert!(error.to_string().starts_with("cannot sync ipamblocks.crd.projectcalico.org: "), "{error}");
    }
}
