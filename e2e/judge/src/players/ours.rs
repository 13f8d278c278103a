//! This library, told the same as client-go.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::rbac::v1::ClusterRole;
use kube_client::Client;
use kube_informer::factory::{Dynamic, InformerFactory, Metadata, Mode, Typed};
use kube_informer::reflector::Config;

use super::informer::{AnyInformer, Of, Registered, Registrations, factory};
use crate::command::{Answer, Command, InformerSpec};
use crate::log::Log;
use crate::resources::Known;
use crate::scenario::Way;

/// Our informers of one run.
pub struct Ours {
    client: Client,
    config: Config,
    log: Arc<Log>,
    informers: HashMap<String, Box<dyn AnyInformer>>,
    handlers: Registrations,
}

impl Ours {
    /// Plays on the server of this client; what handlers hear goes to the log.
    pub fn new(client: Client, way: Way, log: Arc<Log>) -> Self {
        let mut config = Config::default();
        config.initial_events = way == Way::Stream;
        // When things happen is not compared, and client-go is slow enough.
        config.backoff_initial = Duration::from_millis(50);
        config.backoff_max = Duration::from_millis(500);
        Self { client, config, log, informers: HashMap::new(), handlers: Arc::default() }
    }

    /// Does what it is told, and answers.
    pub async fn call(&mut self, command: Command) -> Result<Answer, String> {
        match command.what {
            "begin" => {}
            "end" => self.end().await,
            "informer" => {
                let spec = command.informer.ok_or("there is no informer in the command")?;
                let made = self.make(&spec)?;
                self.informers.insert(command.name, made);
            }
            "remove" => self.handler(&command.name)?.registration.remove(),
            "release" => self.handler(&command.name)?.gate.open(),
            "handler-synced" => return Ok(Answer::Bool(self.handler(&command.name)?.registration.synced())),
            "wait-handler-synced" => {
                let handler = self.handler(&command.name)?;
                return Ok(Answer::Bool(handler.registration.wait_synced().await));
            }
            _ => return self.of_informer(&command).await,
        }
        Ok(Answer::Done(None))
    }

    async fn of_informer(&mut self, command: &Command) -> Result<Answer, String> {
        let of = self.informers.get_mut(&command.of);
        let of = of.ok_or_else(|| format!("there is no informer {:?}", command.of))?;
        let answer = match command.what {
            "handler" => {
                let spec = command.handler.as_ref().ok_or("there is no handler in the command")?;
                of.add_handler(spec, &self.log, &self.handlers)?;
                Answer::Done(None)
            }
            "start" => {
                of.start();
                Answer::Done(None)
            }
            "cancel" => {
                of.stop();
                Answer::Done(None)
            }
            "stop" => {
                of.shutdown().await;
                Answer::Done(None)
            }
            "index" => {
                of.add_index(&command.name)?;
                Answer::Done(None)
            }
            "synced" => Answer::Bool(of.synced()),
            "wait-synced" => Answer::Bool(of.wait_synced().await),
            "stopped" => Answer::Bool(of.stopped()),
            "version" => Answer::Text(of.version()),
            "store" => Answer::Objects(of.store()),
            "by-index" => Answer::Objects(of.by_index(&command.name, &command.value)?),
            "index-values" => Answer::Texts(of.index_values(&command.name)?),
            "list" => Answer::Objects(of.list(&command.namespace, &command.labels)?),
            "get" => Answer::Objects(of.get(&command.namespace, &command.name)),
            other => return Err(format!("nobody knows what that is: {other}")),
        };
        Ok(answer)
    }

    /// Makes an informer, from a factory of its own.
    fn make(&self, spec: &InformerSpec) -> Result<Box<dyn AnyInformer>, String> {
        let known = Known::find(spec.resource)?;
        let (kind, resource) = (known.api_resource(), known.resource());
        match (spec.mode, spec.resource) {
            ("typed", "configmaps") => Of::<ConfigMap>::take(self.factory::<Typed>(spec)?.of(), &(), spec),
            ("typed", "secrets") => Of::<Secret>::take(self.factory::<Typed>(spec)?.of(), &(), spec),
            ("typed", "clusterroles") => {
                Of::<ClusterRole>::take(self.factory::<Typed>(spec)?.of(), &(), spec)
            }
            ("dynamic", _) => Of::take(self.factory::<Dynamic>(spec)?.for_resource(&resource), &kind, spec),
            ("metadata", _) => Of::take(self.factory::<Metadata>(spec)?.for_resource(&resource), &kind, spec),
            (mode, resource) => Err(format!("there is no {mode} informer of {resource}")),
        }
    }

    fn factory<M: Mode>(&self, spec: &InformerSpec) -> Result<InformerFactory<M>, String> {
        factory(self.client.clone(), spec, self.config.clone())
    }

    fn handler(&self, name: &str) -> Result<Registered, String> {
        let handlers = self.handlers.lock();
        let found = handlers.iter().find(|(known, _)| known == name);
        found.map(|(_, handler)| handler.clone()).ok_or_else(|| format!("there is no handler {name:?}"))
    }

    async fn end(&mut self) {
        for (_, handler) in self.handlers.lock().iter() {
            handler.gate.open();
        }
        for (_, informer) in self.informers.drain() {
            informer.shutdown().await;
        }
    }
}

impl fmt::Debug for Ours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ours").field("informers", &self.informers.keys()).finish_non_exhaustive()
    }
}
