//! What an object is called: the key of stores and queues, taken apart.

use std::fmt;
use std::str::FromStr;

use super::key;

/// The namespace and the name of an object. As text it is the key: `namespace/name`, or the name alone.
///
/// ```
/// use kube_informer::object::ObjectName;
///
/// let name: ObjectName = "shop/web".parse()?;
/// assert_eq!((name.namespace.as_str(), name.name.as_str()), ("shop", "web"));
/// assert_eq!(name.to_string(), "shop/web");
/// assert!("a/b/c".parse::<ObjectName>().is_err());
/// # Ok::<(), kube_informer::object::NotAName>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// A text that is not a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the key of an object: namespace/name, or a name alone")]
pub struct NotAName(String);

impl ObjectName {
    /// A name in a namespace; the namespace is empty for cluster-scoped objects.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl FromStr for ObjectName {
    type Err = NotAName;

    fn from_str(text: &str) -> Result<Self, NotAName> {
        let (namespace, name) = text.split_once('/').unwrap_or(("", text));
        let fits = !name.is_empty() && !name.contains('/') && (namespace.is_empty() != text.contains('/'));
        if fits { Ok(Self::new(namespace, name)) } else { Err(NotAName(text.to_owned())) }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&key(&self.namespace, &self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_apart_and_put_together_again() {
        for (text, namespace, name) in [("a/x", "a", "x"), ("node-1", "", "node-1")] {
            let parsed: ObjectName = text.parse().unwrap();
            assert_eq!(parsed, ObjectName::new(namespace, name));
            assert_eq!(parsed.to_string(), text);
        }
        for bad in ["", "/", "a/", "/x", "a/b/c", "a//b"] {
            assert!(bad.parse::<ObjectName>().is_err(), "{bad}");
        }
    }
}
