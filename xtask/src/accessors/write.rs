//! The files: `mod.rs` with all groups; a folder for each group and in it one for each version, each with its `mod.rs`;
//! and a file for each kind: `apps/v1/deployment.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::read::{Kind, Kinds};
use crate::sources;

/// The first line of each file, after what it is.
const MADE: &str = "Made by `cargo xtask accessors`: not to be edited.";

pub(super) fn files(kinds: &Kinds) -> BTreeMap<PathBuf, String> {
    let mut groups: BTreeMap<&str, BTreeMap<&str, Vec<&Kind>>> = BTreeMap::new();
    for kind in &kinds.all {
        groups.entry(folder(kind)).or_default().entry(&kind.version).or_default().push(kind);
    }
    let mut files = BTreeMap::new();
    for (group, versions) in &groups {
        for (version, all) in versions {
            let folder = Path::new(group).join(version);
            for kind in all {
                files.insert(
                    folder.join(format!("{}.rs", kind.snake)),
                    kind_file(group, kind, &kinds.supported),
                );
            }
            files.insert(folder.join("mod.rs"), version_file(version, all));
        }
        files.insert(Path::new(group).join("mod.rs"), group_file(group, versions, &kinds.supported));
    }
    files.insert("mod.rs".into(), groups_file(&groups, &kinds.supported));
    files
}

fn groups_file(groups: &BTreeMap<&str, BTreeMap<&str, Vec<&Kind>>>, supported: &BTreeSet<u32>) -> String {
    let mut text = format!("//! All groups of built-in kinds. {MADE}\n\n");
    let (mut modules, mut entries) = (Vec::new(), Vec::new());
    for (group, versions) in groups {
        let gates = gates(versions.values().flatten().copied(), supported);
        modules.push((*group, gates.clone()));
        entries.push((format!("{}: {group}::{}", method(group), pascal(group)), gates));
    }
    declare(&mut text, "pub mod", &modules);
    call(&mut text, "groups!", &entries);
    text
}

fn group_file(group: &str, versions: &BTreeMap<&str, Vec<&Kind>>, supported: &BTreeSet<u32>) -> String {
    let name = versions.values().flatten().next().map_or("", |kind| kind.group.as_str());
    let name = if name.is_empty() { "The core group".to_owned() } else { format!("`{name}`") };
    let mut text = format!("//! {name}. {MADE}\n\n");
    let (mut modules, mut entries) = (Vec::new(), Vec::new());
    for (version, kinds) in versions {
        let gates = gates(kinds.iter().copied(), supported);
        modules.push((*version, gates.clone()));
        entries.push((format!("{version}: {}", pascal(version)), gates));
    }
    declare(&mut text, "pub mod", &modules);
    call(&mut text, &format!("group! {}", pascal(group)), &entries);
    text
}

fn version_file(version: &str, kinds: &[&Kind]) -> String {
    let Some(first) = kinds.first() else { return String::new() };
    // What is there at all is known from the declaration of the module.
    let there: BTreeSet<u32> = kinds.iter().flat_map(|kind| kind.since.iter().copied()).collect();
    let mut text = format!("//! `{}`. {MADE}\n\n", first.api_version());
    let (mut modules, mut entries) = (Vec::new(), Vec::new());
    // In the order that rustfmt likes.
    let sorted: BTreeMap<&str, &Kind> = kinds.iter().map(|kind| (kind.snake.as_str(), *kind)).collect();
    for kind in sorted.into_values() {
        let gates = gates([kind], &there);
        modules.push((kind.snake.as_str(), gates.clone()));
        entries.push((kind.name.clone(), gates));
    }
    declare(&mut text, "mod", &modules);
    let _ = writeln!(text, "use k8s_openapi::{} as kinds;\n", first.module.join("::"));
    call(&mut text, &format!("version! {}", pascal(version)), &entries);
    text
}

/// Nothing but Rust, so that whoever looks up a method sees what it does.
fn kind_file(group: &str, kind: &Kind, supported: &BTreeSet<u32>) -> String {
    let (name, version, plural) = (&kind.name, pascal(&kind.version), &kind.plural);
    let accessor = accessor(&kind.snake, plural);
    let call = format!("factory.{}().{}().{accessor}()", method(group), kind.version);
    let there = there(kind, supported);
    let get = if kind.namespaced { ".namespaced(\"default\").get(\"name\")" } else { ".get(\"name\")" };
    format!(
        "\
//! `{plural}` of `{api_version}`. {MADE}

use k8s_openapi::{module}::{name};

use super::{version};
use crate::accessors::Accessor;

impl {version} {{
    /// [`{name}`] objects: `{call}`{there}.
    ///
    /// - `.informer()?` follows `{plural}`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister{get}?`,
    ///   `lister.list(&selector)`.
    pub fn {accessor}(&self) -> Accessor<{name}> {{
        Accessor::new(&self.factory)
    }}
}}
",
        api_version = kind.api_version(),
        module = kind.module.join("::"),
    )
}

/// In which versions of Kubernetes a kind is, where it is not in all: `, since Kubernetes 1.34`.
fn there(kind: &Kind, supported: &BTreeSet<u32>) -> String {
    let (Some(first), Some(last)) = (kind.since.first(), kind.since.last()) else { return String::new() };
    match (supported.first() != Some(first), supported.last() != Some(last)) {
        (true, true) if first == last => format!(", in Kubernetes 1.{first}"),
        (true, true) => format!(", in Kubernetes 1.{first} to 1.{last}"),
        (true, false) => format!(", since Kubernetes 1.{first}"),
        (false, true) => format!(", up to Kubernetes 1.{last}"),
        (false, false) => String::new(),
    }
}

/// Says which modules there are: `pub mod`, or `mod`.
fn declare(text: &mut String, how: &str, modules: &[(&str, Vec<String>)]) {
    for (name, gates) in modules {
        let mut line = format!("{how} {name};");
        for gate in gates.iter().rev() {
            line = format!("k8s_openapi::{gate}! {{ {line} }}");
        }
        text.push_str(&line);
        text.push('\n');
    }
    text.push('\n');
}

/// Calls a macro with an entry a line.
fn call(text: &mut String, begin: &str, entries: &[(String, Vec<String>)]) {
    let (name, argument) = begin.split_once(' ').unwrap_or((begin, ""));
    let argument = if argument.is_empty() { String::new() } else { format!("    {argument}:\n") };
    let _ = write!(text, "{name} {{\n{argument}");
    for (entry, gates) in entries {
        let gates = if gates.is_empty() { String::new() } else { format!("[{}] ", gates.join(" ")) };
        let _ = writeln!(text, "    {gates}{entry},");
    }
    text.push_str("}\n");
}

/// The macros of k8s-openapi that let something through in those of the given versions that have one of these kinds.
fn gates<'a>(kinds: impl IntoIterator<Item = &'a Kind>, among: &BTreeSet<u32>) -> Vec<String> {
    let since = kinds.into_iter().flat_map(|kind| kind.since.iter().copied()).collect();
    sources::gates(&since, among)
}

/// The folder of a group: as k8s-openapi calls it.
fn folder(kind: &Kind) -> &str {
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
