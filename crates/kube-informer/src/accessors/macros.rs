//! What the lines in [`groups`](super::groups) mean. `[k8s_if_ge_1_34]` before one says in which versions of Kubernetes
//! it is there, by the macros of k8s-openapi.

/// The methods of the factory that lead to the groups.
macro_rules! groups {
    ($($([$($gate:ident)+])? $method:ident: $group:ident::$name:ident,)+) => {
        impl $crate::factory::SharedInformerFactory {
            $(gated! { [$($($gate)+)?]
                #[doc = concat!("The kinds of [`", stringify!($group), "`](crate::accessors::groups::", stringify!($group), ").")]
                pub fn $method(&self) -> $group::$name {
                    $group::$name { factory: self.clone() }
                }
            })+
        }

        impl $crate::accessors::Kinds for $crate::accessors::BuiltIn {
            fn each<V: $crate::accessors::Visit>(visitor: &mut V) {
                $(gated! { [$($($gate)+)?] <$group::$name as $crate::accessors::Kinds>::each(visitor); })+
            }
        }
    };
}

/// A group: the methods that lead to its versions.
macro_rules! group {
    ($name:ident: $($([$($gate:ident)+])? $version:ident: $type:ident,)+) => {
        /// The versions of the group in a factory.
        #[derive(Clone, Debug)]
        pub struct $name {
            pub(super) factory: $crate::factory::SharedInformerFactory,
        }

        impl $name {
            $(gated! { [$($($gate)+)?]
                #[doc = concat!("The kinds of [`", stringify!($version), "`](", stringify!($version), ").")]
                pub fn $version(&self) -> $version::$type {
                    $version::$type { factory: self.factory.clone() }
                }
            })+
        }

        impl $crate::accessors::Kinds for $name {
            fn each<V: $crate::accessors::Visit>(visitor: &mut V) {
                $(gated! { [$($($gate)+)?] <$version::$type as $crate::accessors::Kinds>::each(visitor); })+
            }
        }
    };
}

/// A version of a group: the type that has a method for each kind. The methods are in the files of the kinds.
macro_rules! version {
    ($name:ident: $($([$($gate:ident)+])? $kind:ident,)+) => {
        /// The kinds of the version in a factory: a method for each, which leads to its informer and its lister.
        #[derive(Clone, Debug)]
        pub struct $name {
            pub(super) factory: $crate::factory::SharedInformerFactory,
        }

        impl $crate::accessors::Kinds for $name {
            fn each<V: $crate::accessors::Visit>(visitor: &mut V) {
                $(gated! { [$($($gate)+)?] visitor.visit::<kinds::$kind>(); })+
            }
        }
    };
}

/// Something that is there if all of these macros of k8s-openapi let it through.
macro_rules! gated {
    ([] $($something:tt)*) => { $($something)* };
    ([$gate:ident $($gates:ident)*] $($something:tt)*) => {
        k8s_openapi::$gate! { gated! { [$($gates)*] $($something)* } }
    };
}
