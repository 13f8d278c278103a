//! Controllers by name.

use std::fmt;
use std::pin::Pin;

use tokio_util::sync::CancellationToken;

use super::{ControllerContext, Selection};
use crate::manager::{BoxError, Running, Unhealthy};

type Build = Pin<Box<dyn Future<Output = Result<Option<NewController>, BoxError>> + Send>>;

/// A controller: what it is called, and how it is built.
#[must_use = "a descriptor does nothing until it is registered"]
pub struct ControllerDescriptor {
    pub(super) name: String,
    pub(super) aliases: Vec<String>,
    pub(super) disabled_by_default: bool,
    pub(super) build: Box<dyn FnOnce(ControllerContext) -> Build + Send>,
}

/// A controller that was built, and does not run yet.
#[must_use = "a controller does nothing until it runs"]
pub struct NewController {
    pub(super) run: Box<dyn FnOnce(CancellationToken) -> Running<'static> + Send>,
    pub(super) health: Option<Box<dyn Fn() -> Result<(), Unhealthy> + Send + Sync>>,
}

/// All controllers that a program has.
#[derive(Debug, Default)]
pub struct ControllerRegistry {
    pub(super) all: Vec<ControllerDescriptor>,
}

/// What is wrong with names of controllers.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// A controller has no name, or an alias is empty.
    #[error("a controller, or one of its aliases, has no name")]
    Empty,
    /// Two are called the same.
    #[error("two controllers are called {name:?}; names and aliases must differ")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A name begins or is made like something that means something else in a list.
    #[error("{name:?} cannot be the name of a controller: lists use '*', ',' and a '-' in front")]
    Reserved {
        /// The name.
        name: String,
    },
    /// A list names a controller that is not there.
    #[error("there is no controller {name:?}; there are {}", .known.join(", "))]
    Unknown {
        /// What the list says.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
}

impl ControllerDescriptor {
    /// A controller of this name that is built so. The constructor asks the context for informers, adds handlers, and
    /// waits for nothing that needs the informers to run.
    pub fn new<F>(
        name: impl Into<String>,
        build: impl FnOnce(ControllerContext) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Result<NewController, BoxError>> + Send + 'static,
    {
        Self::optional(name, |context| async move { Ok(Some(build(context).await?)) })
    }

    /// The same, for one that may find that there is nothing for it to do here.
    pub fn optional<F>(
        name: impl Into<String>,
        build: impl FnOnce(ControllerContext) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Option<NewController>, BoxError>> + Send + 'static,
    {
        let build = Box::new(|context: ControllerContext| -> Build { Box::pin(build(context)) });
        Self { name: name.into(), aliases: Vec::new(), disabled_by_default: false, build }
    }

    /// Another name, which lists may use; may be called several times.
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.aliases.push(alias.into());
        self
    }

    /// Runs only if it is named: `*` does not mean it.
    pub fn disabled_by_default(mut self) -> Self {
        self.disabled_by_default = true;
        self
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

impl NewController {
    /// Runs this until it is done or told to stop; it must have ended all its tasks by then. To fail ends the program.
    pub fn new<F>(run: impl FnOnce(CancellationToken) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let run = Box::new(|stop: CancellationToken| -> Running<'static> { Box::pin(run(stop)) });
        Self { run, health: None }
    }

    /// How it is doing, for `/healthz/<name>`; fine by default.
    pub fn health(mut self, check: impl Fn() -> Result<(), Unhealthy> + Send + Sync + 'static) -> Self {
        self.health = Some(Box::new(check));
        self
    }
}

impl ControllerRegistry {
    /// Without controllers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a controller. Names and aliases must differ from all others.
    pub fn register(&mut self, descriptor: ControllerDescriptor) -> Result<(), RegistryError> {
        let mut names: Vec<&str> = Vec::new();
        for name in std::iter::once(&descriptor.name).chain(&descriptor.aliases) {
            if name.is_empty() {
                return Err(RegistryError::Empty);
            }
            if name.starts_with('-') || name.contains(['*', ',']) || name.contains(char::is_whitespace) {
                return Err(RegistryError::Reserved { name: name.clone() });
            }
            if names.contains(&name.as_str()) || self.all.iter().any(|other| other.is_called(name)) {
                return Err(RegistryError::Duplicate { name: name.clone() });
            }
            names.push(name);
        }
        self.all.push(descriptor);
        Ok(())
    }

    /// The names, in the order in which they were registered.
    pub fn names(&self) -> Vec<String> {
        self.all.iter().map(|descriptor| descriptor.name.clone()).collect()
    }

    /// Which controllers a list means: `*` for all that are not disabled by default, `foo` for one, `-foo` for not that one.
    /// What is named is meant as it is named first; what is not named is meant by `*`. A name that is not there is an
    /// error.
    ///
    /// ```
    /// # use kube_controller::registry::{ControllerDescriptor, ControllerRegistry, NewController};
    /// # let idle = |name: &str| ControllerDescriptor::new(name, |_| async { Ok(NewController::new(|_| async { Ok(()) })) });
    /// # let mut registry = ControllerRegistry::new();
    /// # registry.register(idle("foo"))?;
    /// # registry.register(idle("bar"))?;
    /// assert_eq!(registry.select("*,-bar")?.names(), ["foo"]);
    /// let unknown = registry.select("*,-baz").unwrap_err();
    /// assert_eq!(unknown.to_string(), "there is no controller \"baz\"; there are foo, bar");
    /// # Ok::<(), kube_controller::registry::RegistryError>(())
    /// ```
    pub fn select(&self, list: &str) -> Result<Selection, RegistryError> {
        Selection::of(self, list)
    }
}

impl fmt::Debug for ControllerDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerDescriptor")
            .field("name", &self.name)
            .field("aliases", &self.aliases)
            .field("disabled_by_default", &self.disabled_by_default)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for NewController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewController").finish_non_exhaustive()
    }
}
