//! A controller made of its parts: handlers of an informer, a queue, and workers, as client-go's users write them.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_controller::WorkQueue;
use kube_informer::fanout::{Event, EventHandler};
use kube_informer::lister::Lister;
use kube_informer::object::ObjectName;
use kube_informer::{Object, SharedInformerFactory};
use serde_json::json;

use super::*;

/// Says of each ConfigMap how many Secrets name it.
#[derive(Clone)]
struct Counter {
    queue: WorkQueue<ObjectName>,
    configs: Lister<ConfigMap>,
    secrets: Lister<Secret>,
    log: Log,
}

impl Counter {
    /// Listens, and waits for what is there: a ConfigMap is a key, and a Secret stands for the ConfigMap that it names.
    async fn new(factory: &SharedInformerFactory, log: &Log) -> Self {
        let queue = WorkQueue::new();
        let (configs, secrets) = (factory.of::<ConfigMap>().unwrap(), factory.of::<Secret>().unwrap());
        let enqueue = |queue: &WorkQueue<ObjectName>, config: &Object<ConfigMap>| {
            queue.add(ObjectName::new(config.namespace(), config.name()));
        };
        let (on_add, on_update) = (queue.clone(), queue.clone());
        let handler = EventHandler::new()
            .on_add(move |config, _| enqueue(&on_add, config))
            .on_update(move |_, config| enqueue(&on_update, config));
        let on_configs = configs.add_event_handler(handler).unwrap();
        let keys = queue.clone();
        let handle = move |event: Event<Secret>| {
            if let Event::Updated { old, new, .. } = &event
                && old.resource_version() == new.resource_version()
            {
                return; // Told again at a resync: nothing has changed.
            }
            if let Some(config) = event.object().labels().get("config") {
                keys.add(ObjectName::new(event.object().namespace(), config));
            }
        };
        let on_secrets = secrets.add_event_handler(handle).unwrap();
        factory.start();
        // What is there is in the queue, each key once, before anybody takes it out.
        assert!(on_configs.synced().await && on_secrets.synced().await);
        let (configs, secrets) = (factory.lister().unwrap(), factory.lister().unwrap());
        Self { queue, configs, secrets, log: log.clone() }
    }

    /// Takes keys out until the queue is shut down.
    async fn work(self) {
        while let Some(work) = self.queue.get().await {
            match self.sync(&work) {
                Ok(()) => work.forget(),
                Err(_) => drop(work.retry()),
            }
        }
    }

    fn sync(&self, key: &ObjectName) -> Result<(), kube_informer::selector::SelectorError> {
        let Ok(config) = self.configs.namespaced(&key.namespace).get(&key.name) else { return Ok(()) };
        let selector = kube_informer::selector::parse_labels(&format!("config={}", config.name()))?;
        let count = self.secrets.namespaced(&key.namespace).list(&selector).len();
        self.log.add(format!("{key} {count}"));
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn handlers_and_a_queue_make_a_controller_too() {
    let server = server(&configs(&["a", "b"])).await;
    let secret = |name: &str, config: &str| {
        let metadata = json!({"name": name, "namespace": "default", "labels": {"config": config}});
        server.put(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})).unwrap();
    };
    secret("s", "a");
    let factory = SharedInformerFactory::builder(server.in_process_client()).default_resync(30 * S).build();
    let log = Log::default();
    let counter = Counter::new(&factory, &log).await;
    factory.wait_for_cache_sync().await.unwrap();
    let workers: Vec<_> = (0..2).map(|_| tokio::spawn(counter.clone().work())).collect();
    settle().await;
    assert_eq!(log.sorted(), ["default/a 1", "default/b 0"]);
    secret("t", "b");
    server.delete("v1/Secret", "default", "s").unwrap();
    settle().await;
    assert_eq!(log.sorted(), ["default/a 0", "default/b 1"]);
    tokio::time::sleep(31 * S).await;
    assert_eq!(log.sorted(), ["default/a 0", "default/b 1"], "each ConfigMap again, and no Secret");
    counter.queue.shut_down();
    for worker in workers {
        worker.await.unwrap();
    }
    factory.shutdown().await;
}
