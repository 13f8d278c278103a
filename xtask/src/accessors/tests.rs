//! The files say what k8s-openapi has, in each version of Kubernetes.

use std::collections::BTreeSet;
use std::path::Path;

use super::read::{Kind, Kinds};
use super::write;
use super::{BUILT_IN, FOLDER, wanted};
use crate::sources::{files_below, sources};

#[test]
fn the_files_are_up_to_date() {
    for (folder, wanted) in [FOLDER, BUILT_IN].into_iter().zip(wanted().unwrap()) {
        let stale = crate::made::stale(folder, &wanted).unwrap();
        assert!(stale.is_empty(), "run `cargo xtask accessors`: {stale:?}");
    }
}

/// Walks the sources without what makes the file, and reads the file without what wrote it.
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
        let accessible = accessible(&crate::root().join(FOLDER).join("mod.rs"), minor);
        let missing: Vec<_> = listable.difference(&accessible).collect();
        let too_many: Vec<_> = accessible.difference(&listable).collect();
        assert!(missing.is_empty() && too_many.is_empty(), "1.{minor}: {missing:?}, not there: {too_many:?}");
    }
    assert!(versions > 1);
}

/// The kinds that the file leads to in one version of Kubernetes: `api::apps::v1::Deployment`.
fn accessible(file: &Path, minor: u32) -> BTreeSet<String> {
    let text = std::fs::read_to_string(file).unwrap();
    let mut all = BTreeSet::new();
    let (mut group_is_open, mut module) = (false, None);
    for line in text.lines().map(str::trim) {
        let Some((before, rest)) = line.split_once('[') else { continue };
        let (gates, entry) = rest.split_once("] ").unwrap();
        let is_there = gates.split_whitespace().all(|gate| is_open(gate, minor));
        if !before.is_empty() {
            group_is_open = is_there;
        } else if let Some(version) = entry.strip_suffix(" {") {
            let (_, path) = version.split_once(" = ").unwrap();
            module = (group_is_open && is_there).then(|| path.to_owned());
        } else if entry.contains("::") {
            // The methods of the factory come last.
            break;
        } else if let Some(module) = module.as_ref().filter(|_| is_there) {
            let (_, kind) = entry.trim_end_matches(',').split_once(": ").unwrap();
            assert!(all.insert(format!("{module}::{kind}")), "{module}::{kind} comes twice");
        }
    }
    all
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
        kind("Spell", &[34, 35]),
    ];
    let text = write::file(&Kinds { all, supported: [33, 34, 35, 36].into() });
    let expected = "\
//! All groups of built-in kinds. Made by `cargo xtask accessors`: not to be edited.

group! {
    \"`toys.k8s.io`.\" [] toys: Toys,
    [] v1: V1 = api::toys::v1 {
        [] lamps: Lamp,
        [k8s_if_ge_1_35] news: New,
        [k8s_if_le_1_34] olds: Old,
        [k8s_if_1_34] onces: Once,
        [k8s_if_ge_1_34 k8s_if_le_1_35] spells: Spell,
    }
}

groups! {
    [] toys: toys::Toys,
}
";
    assert_eq!(text, expected);
    let text = write::file(&Kinds { all: vec![kind("New", &[35, 36])], supported: [34, 35, 36].into() });
    assert!(text.contains("\n    \"`toys.k8s.io`.\" [k8s_if_ge_1_35] toys: Toys,\n"), "{text}");
    assert!(
        text.contains("\n    [] v1: V1 = api::toys::v1 {\n        [] news: New,\n"),
        "once is enough: {text}"
    );
    assert!(text.contains("\n    [k8s_if_ge_1_35] toys: toys::Toys,\n"), "{text}");
}
