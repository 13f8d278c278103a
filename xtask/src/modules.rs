//! The tables of built-in types say of which Go modules they were made; here it is checked, without Go, that these are the
//! ones that are named beside the program that makes them. Whether it would make the same tables is checked by
//! `cargo xtask test`, where Go is.

use std::collections::BTreeSet;

use crate::{SCHEMA, TABLES, root};

/// The modules that the types are read off.
const MODULES: [&str; 4] = ["api", "apiextensions-apiserver", "apimachinery", "kube-aggregator"];

/// The versions of the modules that a `go.mod` asks for, as a table says them.
fn asked_for(modfile: &str) -> String {
    let text = std::fs::read_to_string(root().join(SCHEMA).join(modfile)).unwrap();
    let version = |module: &str| {
        let wanted = format!("k8s.io/{module} ");
        let mut versions = text.lines().filter_map(|line| line.trim().strip_prefix(&wanted));
        versions.next().unwrap_or_else(|| panic!("{modfile} does not name {module}")).to_owned()
    };
    let versions = BTreeSet::from(MODULES.map(version));
    assert_eq!(versions.len(), 1, "{modfile} mixes {versions:?}");
    let version = versions.into_iter().next().unwrap_or_default();
    format!("#   {version} of k8s.io: {}", MODULES.join(", "))
}

/// What a table says that it was made of.
fn made_of(table: &str) -> Vec<&str> {
    table
        .lines()
        .take_while(|line| line.starts_with('#'))
        .filter(|line| line.contains(" of k8s.io: "))
        .collect()
}

/// The files of modules for older versions.
fn older() -> Vec<String> {
    let files = std::fs::read_dir(root().join(SCHEMA).join("versions")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(".mod")).map(|name| format!("versions/{name}")).collect();
    names.sort_unstable_by(|one, other| other.cmp(one));
    names
}

#[test]
fn the_tables_are_of_the_modules_that_the_program_names() {
    let (latest, older) = (asked_for("go.mod"), older());
    assert!(older.len() >= 4, "{older:?}");
    for (name, file) in TABLES {
        let table = std::fs::read_to_string(root().join(file)).unwrap();
        let mut expected = vec![latest.clone()];
        if name == "protobuf" {
            expected.extend(older.iter().map(|modfile| asked_for(modfile)));
        }
        assert_eq!(made_of(&table), expected, "{file} is not up to date; run `cargo xtask schema`");
    }
}
