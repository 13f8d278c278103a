//! Accessors for the types of custom resources.

/// Gives the types of a custom group the accessors that built-in kinds have:
/// `factory.samplecontroller().v1alpha1().foos()`.
///
/// A trait is declared that has to be in scope where they are used, and beside it a module of the name of the group,
/// for what its methods return: [`kinds::<samplecontroller::Group>()`](crate::factory::FactoryBuilder::kinds) makes all
/// of the types known to a factory by their resources. After it come the versions, each with its kinds by the names that their accessors shall have.
///
/// ```
/// use kube_informer::SharedInformerFactory;
/// # use k8s_openapi::api::core::v1::{ConfigMap as Foo, Secret as Bar};
///
/// kube_informer::accessors! {
///     /// `samplecontroller.k8s.io`.
///     pub trait SampleController: samplecontroller {
///         v1alpha1 { foos: Foo, bars: Bar }
///     }
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// # let server = kube_testserver::TestServer::start().await?;
/// # let client = server.client()?;
/// let factory = SharedInformerFactory::new(client);
/// let foos = factory.samplecontroller().v1alpha1().foos();
/// let lister = foos.lister()?;
/// factory.start();
/// factory.wait_for_cache_sync().await?;
/// assert!(lister.namespaced("default").get("foo-1").is_err());
/// factory.shutdown().await;
/// # Ok(())
/// # }
/// # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
/// ```
#[macro_export]
macro_rules! accessors {
    (
        $(#[$about:meta])*
        $visible:vis trait $trait:ident: $group:ident {
            $($version:ident { $($method:ident: $kind:ty),+ $(,)? })+
        }
    ) => {
        $(#[$about])*
        $visible trait $trait {
            /// The versions of the group in a factory.
            fn $group(&self) -> $group::Group;
        }

        impl $trait for $crate::SharedInformerFactory {
            fn $group(&self) -> $group::Group {
                $group::Group { factory: ::core::clone::Clone::clone(self) }
            }
        }

        /// The versions of the group, and what they have.
        #[allow(unreachable_pub, reason = "how visible it is, is up to the caller")]
        $visible mod $group {
            /// The versions of the group in a factory.
            #[derive(Clone, Debug)]
            pub struct Group {
                pub(super) factory: $crate::SharedInformerFactory,
            }

            $(
                /// The kinds of a version.
                pub mod $version {
                    /// The kinds of the version in a factory.
                    #[derive(Clone, Debug)]
                    pub struct Version {
                        pub(in super::super) factory: $crate::SharedInformerFactory,
                    }
                }
            )+
        }

        impl $crate::accessors::Kinds for $group::Group {
            fn each<V: $crate::accessors::Visit>(visitor: &mut V) {
                $($(visitor.visit($crate::accessors::codec::<$kind>);)+)+
            }
        }

        #[allow(unreachable_pub, reason = "how visible it is, is up to the caller")]
        impl $group::Group {
            $(
                /// The kinds of the version.
                pub fn $version(&self) -> $group::$version::Version {
                    $group::$version::Version { factory: ::core::clone::Clone::clone(&self.factory) }
                }
            )+
        }

        $(
            #[allow(unreachable_pub, reason = "how visible it is, is up to the caller")]
            impl $group::$version::Version {
                $(
                    /// Objects of the kind.
                    pub fn $method(&self) -> $crate::accessors::Accessor<$kind> {
                        $crate::accessors::Accessor::new(&self.factory)
                    }
                )+
            }
        )+
    };
}
