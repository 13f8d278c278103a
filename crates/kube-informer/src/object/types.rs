//! What an object of a type that does not know it says of its kind.

use std::any::Any;

use kube_core::{DynamicObject, TypeMeta};

/// Says in an object without a type what it is, unless it says so itself: what is in a list, or in protobuf, does not.
pub(crate) fn say_kind<K: 'static>(object: &mut K, types: &TypeMeta) {
    if let Some(object) = (object as &mut dyn Any).downcast_mut::<DynamicObject>()
        && object.types.is_none()
    {
        object.types = Some(types.clone());
    }
}
