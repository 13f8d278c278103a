//! What the lines in [`groups`](super::groups) mean. `[k8s_if_ge_1_34]` before one says in which versions of Kubernetes
//! it exists, by the macros of k8s-openapi.

/// The methods of the factory that lead to the groups.
macro_rules! groups {
    ($([$($gate:ident)*] $method:ident: $group:ident::$name:ident,)+) => {
        impl $crate::factory::SharedInformerFactory {
            $(gated! { [$($gate)*]
                #[doc = concat!("The kinds of [`", stringify!($group), "`](crate::accessors::groups::", stringify!($group), ").")]
                pub fn $method(&self) -> $group::$name {
                    $group::$name { factory: self.clone() }
                }
            })+
        }

        impl $crate::accessors::Kinds for $crate::accessors::BuiltIn {
            fn each<V: $crate::accessors::Visit>(visitor: &mut V) {
                $(gated! { [$($gate)*] <$group::$name as $crate::accessors::Kinds>::each(visitor); })+
            }
        }
    };
}

/// A group, its versions, and for each of them a method for each kind.
macro_rules! group {
    (
        $about:literal [$($gate:ident)*] $group:ident: $name:ident,
        $([$($version_gate:ident)*] $version:ident: $type:ident = $($module:ident)::+ {
            $([$($kind_gate:ident)*] $method:ident: $kind:ident,)+
        })+
    ) => {
        gated! { [$($gate)*]
            #[doc = $about]
            pub mod $group {
                /// The versions of the group in a factory.
                #[derive(Clone, Debug)]
                pub struct $name {
                    pub(super) factory: $crate::factory::SharedInformerFactory,
                }

                impl $name {
                    $(gated! { [$($version_gate)*]
                        #[doc = concat!("The kinds of [`", stringify!($version), "`](", stringify!($version), ").")]
                        pub fn $version(&self) -> $version::$type {
                            $version::$type { factory: self.factory.clone() }
                        }
                    })+
                }

                impl $crate::accessors::Kinds for $name {
                    fn each<V: $crate::accessors::Visit>(visitor: &mut V) {
                        $(gated! { [$($version_gate)*] <$version::$type as $crate::accessors::Kinds>::each(visitor); })+
                    }
                }

                $(gated! { [$($version_gate)*]
                    #[doc = concat!("`", stringify!($version), "` of the group.")]
                    pub mod $version {
                        use k8s_openapi::$($module)::+ as kinds;

                        /// The kinds of the version in a factory: each method leads to the informer and the lister of a kind.
                        #[derive(Clone, Debug)]
                        pub struct $type {
                            pub(super) factory: $crate::factory::SharedInformerFactory,
                        }

                        impl $type {
                            $(gated! { [$($kind_gate)*]
                                #[doc = concat!("The informer and the lister of [`", stringify!($kind), "`](kinds::", stringify!($kind), ").")]
                                pub fn $method(&self) -> $crate::accessors::Accessor<kinds::$kind> {
                                    $crate::accessors::Accessor::built_in(&self.factory)
                                }
                            })+
                        }

                        impl $crate::accessors::Kinds for $type {
                            fn each<V: $crate::accessors::Visit>(visitor: &mut V) {
                                $(gated! { [$($kind_gate)*] visitor.visit(<kinds::$kind as kube_wire::BuiltIn>::codec); })+
                            }
                        }
                    }
                })+
            }
        }
    };
}

/// Items that exist if all of these macros of k8s-openapi let them through.
macro_rules! gated {
    ([] $($item:tt)*) => { $($item)* };
    ([$gate:ident $($gates:ident)*] $($item:tt)*) => {
        k8s_openapi::$gate! { gated! { [$($gates)*] $($item)* } }
    };
}
