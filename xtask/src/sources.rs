//! The sources of k8s-openapi: one folder of types for each version of Kubernetes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::step::{self, Failed, Step};

/// Where the sources of k8s-openapi are that this workspace is built with.
pub(crate) fn sources() -> Result<PathBuf, Failed> {
    let metadata = Step::cargo("where k8s-openapi is", &["metadata", "--format-version=1", "--locked"]);
    let metadata = step::output(&metadata.inside(crate::root()))?;
    let metadata: serde_json::Value = serde_json::from_slice(&metadata)
        .map_err(|error| Failed::new(format!("cannot read what `cargo metadata` says: {error}")))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifests = packages.filter(|package| package["name"] == "k8s-openapi");
    let manifests: Vec<&str> = manifests.filter_map(|package| package["manifest_path"].as_str()).collect();
    match manifests[..] {
        [manifest] => Ok(Path::new(manifest).with_file_name("src")),
        _ => Err(Failed::new(format!("there should be one k8s-openapi, and there are {}", manifests.len()))),
    }
}

/// The minor versions of Kubernetes that there are.
pub(crate) fn supported(sources: &Path) -> Result<BTreeSet<u32>, Failed> {
    let mut supported = BTreeSet::new();
    for entry in std::fs::read_dir(sources).map_err(|error| cannot("read", sources, &error))? {
        let folder = entry.map_err(|error| cannot("read", sources, &error))?.file_name();
        supported.extend(folder.to_str().and_then(|name| name.strip_prefix("v1_")?.parse::<u32>().ok()));
    }
    Ok(supported)
}

/// All Rust files below a folder; none if it is not there.
pub(crate) fn files_below(folder: &Path) -> Result<Vec<PathBuf>, Failed> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        if !folder.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(&folder).map_err(|error| cannot("read", &folder, &error))? {
            let path = entry.map_err(|error| cannot("read", &folder, &error))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    Ok(files)
}

/// The versions of Kubernetes that k8s-openapi has, but for the latest, which is the one that this workspace is built for:
/// `1.33`.
pub(crate) fn other_versions() -> Result<Vec<String>, Failed> {
    let mut all = supported(&sources()?)?;
    all.pop_last();
    Ok(all.into_iter().map(|minor| format!("1.{minor}")).collect())
}

/// The macros of k8s-openapi that let something through in those of the given versions that have it.
pub(crate) fn gates(since: &BTreeSet<u32>, among: &BTreeSet<u32>) -> Vec<String> {
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

pub(crate) fn cannot(do_what: &str, path: &Path, error: &std::io::Error) -> Failed {
    Failed::new(format!("cannot {do_what} {}: {error}", path.display()))
}
