//! Which controllers run.

use super::{ControllerRegistry, RegistryError};

/// Which controllers of a registry run; see [`ControllerRegistry::select`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(Vec<String>);

impl Selection {
    pub(super) fn of(registry: &ControllerRegistry, list: &str) -> Result<Self, RegistryError> {
        let items: Vec<&str> = list.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
        for item in items.iter().filter(|item| **item != "*") {
            let name = item.strip_prefix('-').unwrap_or(item);
            if !registry.all.iter().any(|descriptor| descriptor.is_called(name)) {
                return Err(RegistryError::Unknown { name: name.to_owned(), known: registry.names() });
            }
        }
        let chosen = registry.all.iter().filter(|descriptor| {
            let named = items.iter().find_map(|item| match item.strip_prefix('-') {
                Some(name) => descriptor.is_called(name).then_some(false),
                None => descriptor.is_called(item).then_some(true),
            });
            named.unwrap_or_else(|| items.contains(&"*") && !descriptor.disabled_by_default)
        });
        Ok(Self(chosen.map(|descriptor| descriptor.name.clone()).collect()))
    }

    /// The names, in the order of the registry.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|chosen| chosen == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{ControllerDescriptor, NewController};

    fn idle(name: &str) -> ControllerDescriptor {
        ControllerDescriptor::new(name, |_| async { Ok(NewController::new(|_| async { Ok(()) })) })
    }

    fn registry() -> ControllerRegistry {
        let mut registry = ControllerRegistry::new();
        registry.register(idle("foo")).unwrap();
        registry.register(idle("bar").alias("old-bar")).unwrap();
        registry.register(idle("rare").disabled_by_default()).unwrap();
        registry
    }

    #[test]
    fn a_list_chooses_by_star_name_and_minus() {
        let cases: [(&str, &[&str]); 10] = [
            ("*", &["foo", "bar"]),
            ("foo", &["foo"]),
            ("*,-foo", &["bar"]),
            ("-foo,*", &["bar"]),
            ("*,rare", &["foo", "bar", "rare"]),
            ("rare,foo", &["foo", "rare"]),
            ("foo,-foo", &["foo"]),
            ("-foo,foo", &[]),
            ("*, -old-bar", &["foo"]),
            ("", &[]),
        ];
        for (list, chosen) in cases {
            assert_eq!(registry().select(list).unwrap().names(), chosen, "{list:?}");
        }
    }

    #[test]
    fn a_name_that_is_not_there_is_an_error_that_says_which_are() {
        for list in ["baz", "*,-baz", "foo,baz"] {
            let error = registry().select(list).unwrap_err().to_string();
            assert_eq!(error, "there is no controller \"baz\"; there are foo, bar, rare");
        }
    }

    #[test]
    fn empty_reserved_and_repeated_names_are_refused() {
        let mut registry = registry();
        let refused = |registry: &mut ControllerRegistry, one| registry.register(one).unwrap_err();
        assert_eq!(refused(&mut registry, idle("")), RegistryError::Empty);
        assert_eq!(refused(&mut registry, idle("new").alias("")), RegistryError::Empty);
        for name in ["foo", "old-bar"] {
            let name = name.to_owned();
            assert_eq!(refused(&mut registry, idle(&name)), RegistryError::Duplicate { name: name.clone() });
            assert_eq!(refused(&mut registry, idle("new").alias(&name)), RegistryError::Duplicate { name });
        }
        let twice = RegistryError::Duplicate { name: "new".to_owned() };
        assert_eq!(refused(&mut registry, idle("new").alias("new")), twice);
        for name in ["*", "-foo", "a,b", "a b"] {
            let reserved = RegistryError::Reserved { name: name.to_owned() };
            assert_eq!(refused(&mut registry, idle(name)), reserved);
        }
        assert_eq!(registry.names(), ["foo", "bar", "rare"]);
    }
}
