//! The definition of a kind that the server does not know: who waits for the kind hears when the definition comes, or
//! changes.

use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::Client;
use kube_core::ApiResource;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::gone::{FIRST_PAUSE, LONGEST_PAUSE};
use crate::object::Raw;
use crate::queue::{Consumer, Delta, queue};
use crate::reflector::{Config, Note, Reflector};
use crate::source::{KubeSource, ListWatch, resource_name};

/// What is known of a definition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Definition {
    /// The server tells what happens to it; else it may be there, or not.
    pub(super) is_heard_of: bool,
    /// Its version, if it is there.
    pub(super) version: Option<String>,
}

/// There is one definition at most.
const QUEUE: usize = 8;

/// Hears of the definition of a resource, for as long as it is polled. It has no task of its own, and asks for the metadata
/// of this one definition alone, which is called after the resource. Where that is refused it asks again now and then.
pub(super) async fn hear_of_definition(
    client: &Client,
    resource: &str,
    group: &str,
    config: &Config,
    seed: u64,
    heard: &watch::Sender<Definition>,
) {
    // What is in the core group has no definition.
    if group.is_empty() {
        return std::future::pending().await;
    }
    let kind = ApiResource::erase::<CustomResourceDefinition>(&());
    let source = KubeSource::<Raw>::all(client.clone(), &kind)
        .fields(format!("metadata.name={}", resource_name(resource, group)))
        .metadata_only();
    let source: Arc<dyn ListWatch<Raw>> = Arc::new(source);
    let config = Config {
        backoff_initial: FIRST_PAUSE,
        backoff_max: LONGEST_PAUSE,
        // Longer than any wait, or they would all be short.
        backoff_reset: LONGEST_PAUSE * 4,
        ..config.clone()
    };
    let told = heard.clone();
    let reflector = Reflector::new(source, config, seed).on_note(move |note| {
        let is_heard_of = match note {
            Note::Failed { .. } => false,
            Note::Listed { .. } | Note::Watching { .. } => true,
            Note::Heard { .. } => return,
        };
        told.send_if_modified(|known| std::mem::replace(&mut known.is_heard_of, is_heard_of) != is_heard_of);
    });
    let (producer, consumer) = queue(QUEUE);
    tokio::join!(reflector.run(producer, CancellationToken::new()), tell(consumer, heard));
}

/// Tells what happens to the definition.
async fn tell(mut consumer: Consumer<Raw>, heard: &watch::Sender<Definition>) {
    while let Some(batch) = consumer.pop_batch(QUEUE).await {
        for delta in batch {
            let there = match delta {
                Delta::Added(object) | Delta::Updated(object) => Some(object),
                Delta::Replaced { objects, .. } => objects.into_iter().next(),
                Delta::Deleted(_) => None,
                Delta::Bookmark { .. } | Delta::Resync | Delta::Undecodable { .. } => continue,
            };
            let version = there.map(|object| object.resource_version().to_owned());
            heard.send_modify(|known| known.version = version);
        }
    }
}
