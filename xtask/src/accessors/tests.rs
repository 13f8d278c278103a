//! The files say what k8s-openapi has, in each version of Kubernetes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::read::{Kind, Kinds};
use super::write;
use super::{FOLDER, wanted};
use crate::sources::{files_below, sources};

#[test]
fn the_files_are_up_to_date() {
    let stale = crate::made::stale(FOLDER, &wanted().unwrap()).unwrap();
    assert!(stale.is_empty(), "run `cargo xtask accessors`: {stale:?}");
}

/// Walks the sources without what makes the files, and reads the files without what wrote them.
#[test]
fn every_kind_that_k8s_openapi_can_list_has_an_accessor_in_each_version_that_has_it() {
    let sources = sources().unwrap();
    let mut versions = 0;
    for minor in 1..100 {
        let folder = sources.join(format!("v1_{minor}"));
        if !folder.is_dir() {
            continue;
        }
        versions += 1;
        let mut listable = BTreeSet::new();
        for file in files_below(&folder).unwrap() {
            let text = std::fs::read_to_string(&file).unwrap();
            let path =
                file.parent().unwrap().strip_prefix(&folder).unwrap().to_str().unwrap().replace('/', "::");
            let found =
                text.lines().filter_map(|line| line.strip_prefix("impl crate::ListableResource for "));
            listable.extend(found.map(|rest| format!("{path}::{}", rest.trim_end_matches(" {"))));
        }
        assert!(listable.len() > 80, "there are only {} kinds in 1.{minor}", listable.len());
        let accessible = accessible(&crate::root().join(FOLDER), minor);
        let missing: Vec<_> = listable.difference(&accessible).collect();
        let too_many: Vec<_> = accessible.difference(&listable).collect();
        assert!(missing.is_empty() && too_many.is_empty(), "1.{minor}: {missing:?}, not there: {too_many:?}");
    }
    assert!(versions > 1);
}

/// The kinds that the files lead to in one version of Kubernetes: `api::apps::v1::Deployment`.
fn accessible(folder: &Path, minor: u32) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (_, group) in entries(&folder.join("mod.rs"), minor) {
        let group = folder.join(group.split_once("::").unwrap().0);
        assert_modules(&folder.join("mod.rs"), group.file_name().unwrap().to_str().unwrap(), minor);
        for (version, _) in entries(&group.join("mod.rs"), minor) {
            assert_modules(&group.join("mod.rs"), &version, minor);
            let folder = group.join(&version);
            let interface = folder.join("mod.rs");
            let text = std::fs::read_to_string(&interface).unwrap();
            let module = text.split_once("use k8s_openapi::").unwrap().1.split_once(" as kinds;").unwrap().0;
            for kind in lines(&interface, minor) {
                let file = file_of(&folder, module, &kind);
                assert_modules(&interface, file.file_stem().unwrap().to_str().unwrap(), minor);
                assert!(all.insert(format!("{module}::{kind}")), "{module}::{kind} comes twice");
            }
        }
    }
    all
}

/// The one file of a version that has the accessor of a kind.
fn file_of(folder: &Path, module: &str, kind: &str) -> PathBuf {
    let has = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        lines.contains(&format!("use k8s_openapi::{module}::{kind};").as_str())
            && lines.iter().any(|line| {
                line.starts_with("pub fn ") && line.ends_with(&format!("(&self) -> Accessor<{kind}> {{"))
            })
    };
    let mut found: Vec<PathBuf> = files_below(folder).unwrap();
    found.retain(has);
    assert_eq!(found.len(), 1, "{module}::{kind} has one file: {found:?}");
    found.remove(0)
}

/// The lines `[gates] name: something,` that are there in a version.
fn entries(file: &Path, minor: u32) -> Vec<(String, String)> {
    let split = |entry: String| {
        entry.split_once(": ").map(|(name, rest)| (name.to_owned(), rest.to_owned())).unwrap()
    };
    lines(file, minor).into_iter().map(split).collect()
}

/// The lines `[gates] something,` that are there in a version.
fn lines(file: &Path, minor: u32) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(','));
    let there = lines.filter_map(|line| {
        let (gates, entry) = line.strip_prefix('[').map_or(("", line), |rest| rest.split_once("] ").unwrap());
        gates.split_whitespace().all(|gate| is_open(gate, minor)).then(|| entry.to_owned())
    });
    there.collect()
}

/// A module that is used must have been declared for the same versions.
fn assert_modules(file: &Path, module: &str, minor: u32) {
    let text = std::fs::read_to_string(file).unwrap();
    let declared = text.lines().find(|line| line.contains(&format!("mod {module};"))).unwrap();
    let gates = declared.split("k8s_openapi::").skip(1).map(|rest| rest.split_once('!').unwrap().0);
    let closed: Vec<&str> = gates.filter(|gate| !is_open(gate, minor)).collect();
    assert!(closed.is_empty(), "{}: {module} is not there in 1.{minor}: {closed:?}", file.display());
}

fn is_open(gate: &str, minor: u32) -> bool {
    let number = |rest: &str| rest.parse::<u32>().unwrap();
    if let Some(least) = gate.strip_prefix("k8s_if_ge_1_") {
        minor >= number(least)
    } else if let Some(most) = gate.strip_prefix("k8s_if_le_1_") {
        minor <= number(most)
    } else {
        minor == number(gate.strip_prefix("k8s_if_1_").unwrap())
    }
}

#[test]
fn words_are_apart_in_names_as_in_those_of_the_types() {
    for (snake, plural, name) in [
        ("pod", "pods", "pods"),
        ("endpoints", "endpoints", "endpoints"),
        ("config_map", "configmaps", "config_maps"),
        ("network_policy", "networkpolicies", "network_policies"),
        ("csi_storage_capacity", "csistoragecapacities", "csi_storage_capacities"),
        ("ingress_class", "ingressclasses", "ingress_classes"),
        ("storage_version_migration", "storageversionmigrations", "storage_version_migrations"),
    ] {
        assert_eq!(write::accessor(snake, plural), name);
    }
}

fn kind(name: &str, since: &[u32]) -> Kind {
    Kind {
        module: ["api", "toys", "v1"].map(str::to_owned).to_vec(),
        name: name.to_owned(),
        snake: name.to_lowercase(),
        plural: format!("{}s", name.to_lowercase()),
        group: "toys.k8s.io".to_owned(),
        version: "v1".to_owned(),
        namespaced: name != "Lamp",
        since: since.iter().copied().collect(),
    }
}

#[test]
fn what_is_not_in_every_version_says_in_which() {
    let all = vec![
        kind("Lamp", &[33, 34, 35, 36]),
        kind("New", &[35, 36]),
        kind("Old", &[33, 34]),
        kind("Once", &[34]),
        kind("Spell", &[34, 35]),
    ];
    let files = write::files(&Kinds { all, supported: [33, 34, 35, 36].into() });
    let expected = "\
//! `toys.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

mod lamp;
k8s_openapi::k8s_if_ge_1_35! { mod new; }
k8s_openapi::k8s_if_le_1_34! { mod old; }
k8s_openapi::k8s_if_1_34! { mod once; }
k8s_openapi::k8s_if_ge_1_34! { k8s_openapi::k8s_if_le_1_35! { mod spell; } }

use k8s_openapi::api::toys::v1 as kinds;

version! {
    V1:
    Lamp,
    [k8s_if_ge_1_35] New,
    [k8s_if_le_1_34] Old,
    [k8s_if_1_34] Once,
    [k8s_if_ge_1_34 k8s_if_le_1_35] Spell,
}
";
    assert_eq!(files[Path::new("toys/v1/mod.rs")], expected);
    for (file, there) in [
        ("lamp", "`factory.toys().v1().lamps()`."),
        ("new", "`factory.toys().v1().news()`, since Kubernetes 1.35."),
        ("old", "`factory.toys().v1().olds()`, up to Kubernetes 1.34."),
        ("once", "`factory.toys().v1().onces()`, in Kubernetes 1.34."),
        ("spell", "`factory.toys().v1().spells()`, in Kubernetes 1.34 to 1.35."),
    ] {
        let text = &files[&Path::new("toys/v1").join(file).with_extension("rs")];
        assert!(text.contains(&format!(" objects: {there}\n")), "{text}");
    }
    let files = write::files(&Kinds { all: vec![kind("New", &[35, 36])], supported: [34, 35, 36].into() });
    let group = &files[Path::new("toys/mod.rs")];
    assert!(group.contains("\nk8s_openapi::k8s_if_ge_1_35! { pub mod v1; }\n"), "{group}");
    assert!(group.contains("\n    [k8s_if_ge_1_35] v1: V1,\n"), "{group}");
    let version = &files[Path::new("toys/v1/mod.rs")];
    assert!(version.contains("\n    New,\n"), "once for the whole folder is enough: {version}");
}

#[test]
fn the_file_of_a_kind_says_how_it_is_reached_and_read() {
    let all = vec![kind("Lamp", &[34]), kind("New", &[34])];
    let files = write::files(&Kinds { all, supported: [34].into() });
    let expected = "\
//! `lamps` of `toys.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.

use k8s_openapi::api::toys::v1::Lamp;

use super::V1;
use crate::accessors::Accessor;

impl V1 {
    /// [`Lamp`] objects: `factory.toys().v1().lamps()`.
    ///
    /// - `.informer()?` follows `lamps`, once for all who ask this factory:
    ///   it takes handlers and indexes, and gives streams and the store.
    /// - `.lister()?` reads what the informer has, without asking the server: `lister.get(\"name\")?`,
    ///   `lister.list(&selector)`.
    pub fn lamps(&self) -> Accessor<Lamp> {
        Accessor::new(&self.factory)
    }
}
";
    assert_eq!(files[Path::new("toys/v1/lamp.rs")], expected);
    let namespaced = &files[Path::new("toys/v1/new.rs")];
    assert!(namespaced.contains("`lister.namespaced(\"default\").get(\"name\")?`"), "{namespaced}");
}
