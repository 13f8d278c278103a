//! The files: `mod.rs` with all groups, a folder for each group with its `mod.rs`, and a file for each version.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::read::{Kind, Kinds};

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
            let path = Path::new(group).join(format!("{version}.rs"));
            files.insert(path, version_file(version, all));
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
    declare(&mut text, &modules);
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
    declare(&mut text, &modules);
    call(&mut text, &format!("group! {}", pascal(group)), &entries);
    text
}

fn version_file(version: &str, kinds: &[&Kind]) -> String {
    let (group, module) =
        kinds.first().map_or(("", String::new()), |kind| (&kind.group, kind.module.join("::")));
    let name = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    // What is there at all is known from the declaration of the module.
    let there: BTreeSet<u32> = kinds.iter().flat_map(|kind| kind.since.iter().copied()).collect();
    let mut text = format!("//! `{name}`. {MADE}\n\nuse k8s_openapi::{module} as kinds;\n\n");
    let entries = kinds.iter().map(|kind| {
        let gates = gates([*kind], &there);
        (format!("{}: {}", accessor(&kind.snake, &kind.plural), kind.name), gates)
    });
    let entries: Vec<_> = entries.collect();
    call(&mut text, &format!("version! {}", pascal(version)), &entries);
    text
}

/// Says which modules there are.
fn declare(text: &mut String, modules: &[(&str, Vec<String>)]) {
    for (name, gates) in modules {
        let mut line = format!("pub mod {name};");
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
    let since: BTreeSet<u32> = kinds.into_iter().flat_map(|kind| kind.since.iter().copied()).collect();
    let (Some(first), Some(last)) = (since.first(), since.last()) else { return Vec::new() };
    // What is there in the first or the last version may have been there before, or stay.
    match (among.first() != Some(first), among.last() != Some(last)) {
        (true, true) if first == last => vec![format!("k8s_if_1_{first}")],
        (true, true) => vec![format!("k8s_if_ge_1_{first}"), format!("k8s_if_le_1_{last}")],
        (true, false) => vec![format!("k8s_if_ge_1_{first}")],
        (false, true) => vec![format!("k8s_if_le_1_{last}")],
        (false, false) => Vec::new(),
    }
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
