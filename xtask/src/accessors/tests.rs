//! The files say what k8s-openapi has, in each version of Kubernetes.

use std::collections::BTreeSet;
use std::path::Path;

use super::read::{self, Kind, Kinds};
use super::write;
use super::{FOLDER, found, wanted};

#[test]
fn the_files_are_up_to_date() {
    let (found, wanted) = (found(&crate::root().join(FOLDER)).unwrap(), wanted().unwrap());
    let differs = |path: &&std::path::PathBuf| found.get(*path) != wanted.get(*path);
    let stale: BTreeSet<_> = found.keys().chain(wanted.keys()).filter(differs).collect();
    assert!(stale.is_empty(), "run `cargo xtask accessors`: {stale:?}");
}

/// Walks the sources without what makes the files, and reads the files without what wrote them.
#[test]
fn every_kind_that_k8s_openapi_can_list_has_an_accessor_in_each_version_that_has_it() {
    let sources = read::sources().unwrap();
    let mut versions = 0;
    for minor in 1..100 {
        let folder = sources.join(format!("v1_{minor}"));
        if !folder.is_dir() {
            continue;
        }
        versions += 1;
        let mut listable = BTreeSet::new();
        for file in read::files_below(&folder).unwrap() {
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
            let file = group.join(format!("{version}.rs"));
            let text = std::fs::read_to_string(&file).unwrap();
            let module = text.split_once("use k8s_openapi::").unwrap().1.split_once(" as kinds;").unwrap().0;
            for (_, kind) in entries(&file, minor) {
                assert!(all.insert(format!("{module}::{kind}")), "{module}::{kind} comes twice");
            }
        }
    }
    all
}

/// The lines `[gates] name: something,` that are there in a version.
fn entries(file: &Path, minor: u32) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("    ")?.strip_suffix(','));
    let there = lines.filter_map(|line| {
        let (gates, entry) = line.strip_prefix('[').map_or(("", line), |rest| rest.split_once("] ").unwrap());
        gates.split_whitespace().all(|gate| is_open(gate, minor)).then_some(entry)
    });
    let split =
        |entry: &str| entry.split_once(": ").map(|(name, rest)| (name.to_owned(), rest.to_owned())).unwrap();
    there.map(split).collect()
}

/// A module that is used must have been declared for the same versions.
fn assert_modules(file: &Path, module: &str, minor: u32) {
    let text = std::fs::read_to_string(file).unwrap();
    let declared = text.lines().find(|line| line.contains(&format!("pub mod {module};"))).unwrap();
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
        kind("While", &[34, 35]),
    ];
    let files = write::files(&Kinds { all, supported: [33, 34, 35, 36].into() });
    let expected = "//! `toys.k8s.io/v1`. Made by `cargo xtask accessors`: not to be edited.\n\n\
        use k8s_openapi::api::toys::v1 as kinds;\n\n\
        version! {\n    V1:\n    lamps: Lamp,\n    [k8s_if_ge_1_35] news: New,\n    [k8s_if_le_1_34] olds: Old,\n    \
        [k8s_if_1_34] onces: Once,\n    [k8s_if_ge_1_34 k8s_if_le_1_35] whiles: While,\n}\n";
    assert_eq!(files[Path::new("toys/v1.rs")], expected);
    let files = write::files(&Kinds { all: vec![kind("New", &[35, 36])], supported: [34, 35, 36].into() });
    let group = &files[Path::new("toys/mod.rs")];
    assert!(group.contains("\nk8s_openapi::k8s_if_ge_1_35! { pub mod v1; }\n"), "{group}");
    assert!(group.contains("\n    [k8s_if_ge_1_35] v1: V1,\n"), "{group}");
    let version = &files[Path::new("toys/v1.rs")];
    assert!(version.contains("\n    news: New,\n"), "once for the whole file is enough: {version}");
}
