//! What somebody does in the cluster: makes a Foo, scales it, gives its Deployment another image, loses a pod, deletes the
//! Foo, and goes on with another. Everything that follows from it is the work of controllers.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Event, Namespace, Pod};
use kube_client::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube_client::core::{ApiResource, DynamicObject, NamespaceResourceScope};
use kube_client::{Client, Error, Resource};
use sample_controller::foo::Foo;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::sight::Sight;

const NAMESPACE: &str = "shop";

/// Who writes.
const MANAGER: &str = "demo";

/// What Foos and their Deployments are called, over and over.
const NAMES: [&str; 3] = ["web", "cart", "search"];

/// What sample-controller makes Deployments of.
const FIRST_IMAGE: &str = "nginx:latest";

const NEXT_IMAGE: &str = "nginx:1.29";

/// How long a step may take. Somebody with kubectl may be in its way: then the next one comes all the same.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long nothing happens at first: so long people look at what is there.
const OPENING: Duration = Duration::from_millis(300);

/// How long to wait at least when something was refused.
const AFTER_REFUSAL: Duration = Duration::from_secs(1);

/// How many events there are at most; the oldest go first. A real server forgets them after an hour.
const MAX_EVENTS: usize = 20;

/// What happens to a Foo, one after the other.
const STEPS: [Step; 6] = [
    Step::Create { replicas: 3 },
    Step::Scale { replicas: 5, way: "up" },
    Step::Scale { replicas: 2, way: "down" },
    Step::Release,
    Step::LosePod,
    Step::Delete,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Create { replicas: i32 },
    Scale { replicas: i32, way: &'static str },
    Release,
    LosePod,
    Delete,
}

/// The story, as far as it has been told.
pub(super) struct Story {
    client: Client,
    sight: Sight,
    pause: Duration,
    /// The Foo that it is about.
    name: &'static str,
    replicas: i32,
    image: &'static str,
    /// The pod that was deleted last.
    lost: String,
}

impl Story {
    /// A story with so long a pause after each step.
    pub(super) fn new(client: Client, sight: Sight, pause: Duration) -> Self {
        let (name, image) = (NAMES[0], FIRST_IMAGE);
        Self { client, sight, pause, name, replicas: 0, image, lost: String::new() }
    }

    /// Tells the story of one Foo after the other, until the server cannot be asked any more. Each step is said before it
    /// is done.
    pub(super) async fn tell(&mut self, say: impl AsyncFn(String)) -> Error {
        sleep(OPENING).await;
        for name in NAMES.into_iter().cycle() {
            (self.name, self.image) = (name, FIRST_IMAGE);
            if let Err(error) = self.tell_of_one(&say).await {
                return error;
            }
        }
        // Never: the names go round and round.
        std::future::pending().await
    }

    async fn tell_of_one(&mut self, say: &impl AsyncFn(String)) -> Result<(), Error> {
        for step in STEPS {
            if !self.decide(step) {
                continue;
            }
            say(self.in_words(step)).await;
            match self.act(step).await {
                Ok(()) => {}
                // Others may have been here.
                Err(Error::Api(refusal)) => {
                    say(format!("This was refused ({}); on to the next Foo", refusal.message)).await;
                    sleep(self.pause.max(AFTER_REFUSAL)).await;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
            let Self { sight, name, replicas, image, lost, .. } = self;
            let is_done = |sight: &Sight| match step {
                Step::Delete => sight.is_gone(NAMESPACE, name),
                Step::LosePod => {
                    let is_left = sight.pods(NAMESPACE, name).iter().any(|pod| pod.name() == lost);
                    !is_left && sight.has(NAMESPACE, name, *replicas, image)
                }
                _ => sight.has(NAMESPACE, name, *replicas, image),
            };
            // Late is no error.
            let _ = timeout(PATIENCE, sight.until(is_done)).await;
            self.forget_old_events().await?;
            sleep(self.pause).await;
        }
        Ok(())
    }

    /// Decides what shall be after a step. False if it cannot be taken.
    fn decide(&mut self, step: Step) -> bool {
        match step {
            Step::Create { replicas } | Step::Scale { replicas, .. } => self.replicas = replicas,
            Step::Release => self.image = NEXT_IMAGE,
            Step::LosePod => {
                let pods = self.sight.pods(NAMESPACE, self.name);
                let Some(pod) = pods.first() else { return false };
                pod.name().clone_into(&mut self.lost);
            }
            Step::Delete => {}
        }
        true
    }

    fn in_words(&self, step: Step) -> String {
        let Self { name, replicas, image, lost, .. } = self;
        match step {
            Step::Create { .. } => format!(
                "A Foo is created: {NAMESPACE}/{name} wants {replicas} replicas. \
                 sample-controller makes its Deployment, controller-manager the ReplicaSet and the Pods"
            ),
            Step::Scale { way, .. } => {
                format!("The Foo is scaled {way}: {NAMESPACE}/{name} wants {replicas} replicas")
            }
            Step::Release => {
                format!("The Deployment gets the image {image}: a new ReplicaSet takes over, Pod by Pod")
            }
            Step::LosePod => {
                format!("A Pod is deleted: {NAMESPACE}/{lost}. Its ReplicaSet makes another")
            }
            Step::Delete => {
                format!(
                    "The Foo is deleted: {NAMESPACE}/{name}. The garbage collector takes the Deployment, \
                     its ReplicaSets and the Pods"
                )
            }
        }
    }

    async fn act(&self, step: Step) -> Result<(), Error> {
        let name = self.name;
        let foos = self.api::<Foo>();
        match step {
            Step::Create { replicas } => {
                self.found().await?;
                let foo = ApiResource::erase::<Foo>(&());
                let mut wanted = DynamicObject::new(name, &foo);
                wanted.data = json!({"spec": {"deploymentName": name, "replicas": replicas}});
                let foos: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), NAMESPACE, &foo);
                foos.create(&PostParams::default(), &wanted).await?;
            }
            Step::Scale { replicas, .. } => {
                let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
                foos.patch(name, &by_us(), &patch).await?;
            }
            Step::Release => {
                let containers = json!([{"name": "nginx", "image": self.image}]);
                let patch = json!({"spec": {"template": {"spec": {"containers": containers}}}});
                self.api::<Deployment>().patch(name, &by_us(), &Patch::Strategic(patch)).await?;
            }
            Step::LosePod => {
                self.api::<Pod>().delete(&self.lost, &DeleteParams::default()).await?;
            }
            Step::Delete => {
                foos.delete(name, &DeleteParams::background()).await?;
            }
        }
        Ok(())
    }

    /// Makes the namespace, if it is not there.
    async fn found(&self) -> Result<(), Error> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let namespace = object(json!({"metadata": {"name": NAMESPACE}}))?;
        match namespaces.create(&PostParams::default(), &namespace).await {
            Err(Error::Api(status)) if status.is_already_exists() => Ok(()),
            outcome => outcome.map(drop),
        }
    }

    async fn forget_old_events(&self) -> Result<(), Error> {
        let api = self.api::<Event>();
        let mut events = api.list(&ListParams::default()).await?.items;
        events.sort_by_key(|event| event.metadata.creation_timestamp.as_ref().map(|time| time.0));
        let many = events.len().saturating_sub(MAX_EVENTS);
        for name in events.into_iter().take(many).filter_map(|event| event.metadata.name) {
            match api.delete(&name, &DeleteParams::default()).await {
                // Others may have been faster.
                Ok(_) | Err(Error::Api(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), NAMESPACE)
    }
}

fn by_us() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

/// Reads an object that is written down above.
fn object<K: DeserializeOwned>(value: Value) -> Result<K, Error> {
    serde_json::from_value(value).map_err(Error::SerdeError)
}
