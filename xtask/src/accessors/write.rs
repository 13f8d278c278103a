//! The file: a call of `group!` for each group, with its versions and kinds, and a call of `groups!` with all groups.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::read::{Kind, Kinds};
use crate::places::KINDS;
use crate::sources;

/// The kinds of each version of each group.
type Groups<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Vec<&'a Kind>>>;

/// The text of the file.
pub(super) fn file(kinds: &Kinds) -> String {
    let mut groups = Groups::new();
    for kind in &kinds.all {
        groups.entry(module(kind)).or_default().entry(&kind.version).or_default().push(kind);
    }
    let mut text =
        "//! All groups of built-in kinds. Made by `cargo xtask accessors`: not to be edited.\n\n".to_owned();
    let mut entries = String::new();
    for (group, versions) in &groups {
        let gates = gates(versions.values().flatten().copied(), &kinds.supported);
        text += &call(group, versions, &gates);
        let _ = writeln!(entries, "    [{gates}] {}: {group}::{},", method(group), pascal(group));
    }
    let _ = write!(text, "groups! {{\n{entries}}}\n");
    text
}

/// The call for one group, which the gates let through.
fn call(group: &str, versions: &BTreeMap<&str, Vec<&Kind>>, group_gates: &str) -> String {
    let since =
        |kinds: &[&Kind]| kinds.iter().flat_map(|kind| kind.since.iter().copied()).collect::<BTreeSet<u32>>();
    let all: Vec<&Kind> = versions.values().flatten().copied().collect();
    let name = all.first().map_or("", |kind| kind.group.as_str());
    let name = if name.is_empty() { "The core group".to_owned() } else { format!("`{name}`") };
    let mut text = format!("group! {{\n    \"{name}.\" [{group_gates}] {group}: {},\n", pascal(group));
    for (version, kinds) in versions {
        let Some(first) = kinds.first() else { continue };
        // A gate of the group holds for its versions, and one of a version for its kinds.
        let version_gates = gates(kinds.iter().copied(), &since(&all));
        let module = first.module.join("::");
        let _ = writeln!(text, "    [{version_gates}] {version}: {} = {module} {{", pascal(version));
        for kind in kinds {
            let (gates, accessor) = (gates([*kind], &since(kinds)), accessor(&kind.snake, &kind.plural));
            let _ = writeln!(text, "        [{gates}] {accessor}: {},", kind.name);
        }
        text.push_str("    }\n");
    }
    text + "}\n\n"
}

/// The text of the file with built-in types.
pub(super) fn built_in(kinds: &Kinds) -> String {
    let mut text = "//! Built-in kinds whose types go through serde. Made by `cargo xtask accessors`: not to be edited.\n\nbuilt_in! {\n".to_owned();
    let is_other =
        |kind: &&Kind| !KINDS.contains(&&*format!("{}/{}.{}", module(kind), kind.version, kind.name));
    for kind in kinds.all.iter().filter(is_other) {
        let gates = gates([kind], &kinds.supported);
        let _ = writeln!(text, "    [{gates}] {}::{},", kind.module.join("::"), kind.name);
    }
    text + "}\n"
}

/// The macros of k8s-openapi that let something through in those of the given versions that have one of these kinds.
fn gates<'a>(kinds: impl IntoIterator<Item = &'a Kind>, among: &BTreeSet<u32>) -> String {
    let since = kinds.into_iter().flat_map(|kind| kind.since.iter().copied()).collect();
    sources::gates(&since, among).join(" ")
}

/// The module of a group: as k8s-openapi calls it.
fn module(kind: &Kind) -> &str {
    match &kind.module[..] {
        [.., group, _] => group,
        _ => "core",
    }
}

/// The method of a factory that leads to a group: as client-go calls it.
fn method(group: &str) -> &str {
    if group == "apiserverinternal" { "internal" } else { group }
}

/// `v1alpha1` is `V1alpha1`.
fn pascal(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str()).unwrap_or_default()
}

/// The plural with the words apart: `daemonsets` is `daemon_sets`, for it is `daemon_set`.
pub(super) fn accessor(snake: &str, plural: &str) -> String {
    let (mut name, mut rest) = (String::new(), plural);
    for word in snake.split('_') {
        let end = rest.char_indices().zip(word.chars()).take_while(|((_, one), two)| one == two).count();
        let (this, left) = rest.split_at(end);
        if !name.is_empty() && !this.is_empty() {
            name.push('_');
        }
        name.push_str(this);
        rest = left;
    }
    name + rest
}
