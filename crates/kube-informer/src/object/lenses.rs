//! How the bytes of one kind are seen, as whatever type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::Arc;

use kube_core::{ApiResource, DynamicObject, DynamicResourceScope, PartialObjectMeta, Resource, TypeMeta};
use kube_wire::Codec;
use parking_lot::Mutex;

use super::{Lens, Residency, say_kind};

/// How the bytes of one kind are seen, as each type that somebody has asked for.
pub(crate) struct Lenses {
    kind: ApiResource,
    residency: Residency,
    /// For each type an `Arc<Lens<K>>`.
    known: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Lenses {
    /// For a kind, whose values are to stay as long as the residency says.
    pub(crate) fn new(kind: ApiResource, residency: Residency) -> Self {
        Self { kind, residency, known: Mutex::default() }
    }

    /// How the kind is seen as a type.
    pub(crate) fn of<K: Resource + Send + Sync + 'static>(&self, codec: Codec<K>) -> Arc<Lens<K>> {
        let mut known = self.known.lock();
        let found = known.get(&TypeId::of::<K>());
        if let Some(lens) = found.and_then(|found| Arc::clone(found).downcast::<Lens<K>>().ok()) {
            return lens;
        }
        let types = TypeMeta { api_version: self.kind.api_version.clone(), kind: self.kind.kind.clone() };
        let complete = move |object: &mut K| {
            say_kind(object, &types);
            // Metadata says that it is metadata, and not of what.
            if let Some(object) = (object as &mut dyn Any).downcast_mut::<PartialObjectMeta<DynamicObject>>()
            {
                object.types = Some(types.clone());
            }
        };
        let lens = Arc::new(Lens::new(codec, self.residency, !K::metadata_api(), complete));
        known.insert(TypeId::of::<K>(), Arc::clone(&lens) as Arc<dyn Any + Send + Sync>);
        lens
    }

    /// A type is one of the kind, or one of any kind.
    pub(crate) fn suits<K: Resource + 'static>(&self) -> bool {
        if TypeId::of::<K::Scope>() == TypeId::of::<DynamicResourceScope>() {
            return true;
        }
        // Of other types that do not know what they are, nobody knows it here.
        let known = (&() as &dyn Any).downcast_ref::<K::DynamicType>();
        known.is_some_and(|known| {
            (&*K::group(known), &*K::version(known), &*K::plural(known))
                == (&*self.kind.group, &*self.kind.version, &*self.kind.plural)
        })
    }
}
