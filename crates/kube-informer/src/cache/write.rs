//! Writes through a client.

use std::fmt;

use kube_core::Resource;
use kube_core::params::{Patch, PatchParams, PostParams};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::CacheError;
use super::client::{ClientKind, name_of, namespace_of, object_key};
use super::live::read;
use crate::redact::json_words;
use crate::source::SourceError;

impl<K: Resource + DeserializeOwned + Serialize + Send + Sync + 'static> ClientKind<K> {
    /// Creates an object.
    pub async fn create(&self, object: &K) -> Result<K, CacheError> {
        let namespace = namespace_of(object);
        let request = self.request(&namespace).await?.create(&self.post(), self.bytes(object)?);
        self.write(&namespace, &name_of(object), request, true).await
    }

    /// Replaces an object.
    pub async fn replace(&self, object: &K) -> Result<K, CacheError> {
        let (namespace, name) = (namespace_of(object), name_of(object));
        let request = self.request_for(&namespace, &name).await?;
        self.write(&namespace, &name, request.replace(&name, &self.post(), self.bytes(object)?), false).await
    }

    /// Replaces the status of an object.
    pub async fn replace_status(&self, object: &K) -> Result<K, CacheError> {
        let (namespace, name) = (namespace_of(object), name_of(object));
        let request = self.request_for(&namespace, &name).await?;
        let bytes = self.bytes(object)?;
        let request = request.replace_subresource("status", &name, &self.post(), bytes);
        self.write(&namespace, &name, request, false).await
    }

    /// Changes an object. Without a field manager of its own the patch has that of the client.
    pub async fn patch<P: Serialize + fmt::Debug>(
        &self,
        namespace: &str,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K, CacheError> {
        let request = self.request_for(namespace, name).await?.patch(name, &self.managed(params), patch);
        self.patch_with(request, namespace, name, params.dry_run).await
    }

    /// Changes the status of an object.
    pub async fn patch_status<P: Serialize + fmt::Debug>(
        &self,
        namespace: &str,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K, CacheError> {
        let request = self.request_for(namespace, name).await?;
        let request = request.patch_subresource("status", name, &self.managed(params), patch);
        self.patch_with(request, namespace, name, params.dry_run).await
    }

    async fn patch_with<E: std::error::Error + 'static>(
        &self,
        request: Result<http::Request<Vec<u8>>, E>,
        namespace: &str,
        name: &str,
        dry_run: bool,
    ) -> Result<K, CacheError> {
        if dry_run {
            self.object(&self.text(request).await?)
        } else {
            self.write(namespace, name, request, false).await
        }
    }

    fn post(&self) -> PostParams {
        PostParams { field_manager: self.client.manager.clone(), ..PostParams::default() }
    }

    fn managed(&self, params: &PatchParams) -> PatchParams {
        let manager = params.field_manager.clone().or_else(|| self.client.manager.clone());
        PatchParams { field_manager: manager, ..params.clone() }
    }

    fn bytes(&self, object: &K) -> Result<Vec<u8>, CacheError> {
        serde_json::to_vec(object).map_err(|error| {
            let cause =
                SourceError::trouble(format!("the object cannot be written as JSON: {}", json_words(&error)));
            self.refused(cause)
        })
    }

    /// Writes, and notes what was written. It may be dropped at any time: then it is noted that it may have been done.
    async fn write<E: std::error::Error + 'static>(
        &self,
        namespace: &str,
        name: &str,
        request: Result<http::Request<Vec<u8>>, E>,
        is_new: bool,
    ) -> Result<K, CacheError> {
        let request = request.map_err(|error| self.unsaid(&error))?;
        let key = self.key(namespace, name).await?;
        let before = self.before(&key);
        let in_flight = self.in_flight(key, false);
        let said = match self.text(Ok::<_, E>(request)).await {
            Ok(said) => said,
            Err(error) => {
                in_flight.failed(&error);
                return Err(error);
            }
        };
        // An answer that does not fit the type leaves it uncertain.
        let object = self.object(&said)?;
        if let Some(before) = before {
            before.answered(object.meta(), is_new);
        }
        self.note_written(object_key(&object), object.meta(), &said);
        in_flight.settled();
        Ok(object)
    }

    /// What the server has now: as the type, which may have a part of it alone.
    fn object(&self, said: &str) -> Result<K, CacheError> {
        read(said).map_err(|cause| self.refused(cause))
    }
}
