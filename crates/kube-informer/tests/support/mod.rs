//! What both suites need.

/// Makes a type with a `metadata` field stand for ConfigMaps.
macro_rules! stands_for_config_maps {
    ($type:ty) => {
        impl kube_core::Resource for $type {
            type DynamicType = ();
            type Scope = kube_core::NamespaceResourceScope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                "ConfigMap".into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                "".into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                "v1".into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                "configmaps".into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

/// A ConfigMap whose `value` must be a number: one with another value cannot be decoded.
#[derive(Clone, Debug, serde::Deserialize)]
pub(crate) struct Strict {
    pub(crate) metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    pub(crate) data: Numbers,
}

/// The data of a [`Strict`].
#[derive(Clone, Debug, serde::Deserialize)]
pub(crate) struct Numbers {
    #[serde(deserialize_with = "number")]
    pub(crate) value: u32,
}

stands_for_config_maps!(Strict);

fn number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let text: String = serde::Deserialize::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}
