//! `cargo xtask accessors`: the methods that lead from a factory to each built-in kind, as files.
//!
//! What k8s-openapi has is read off its sources ([`read`]), for every version of Kubernetes that it supports at the
//! same time, and written as a folder for each group, in it one for each version, and in that a file for each kind
//! ([`mod@write`]).

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::step::{self, Failed};

/// Where the files are, from the workspace's root. Everything there is made here.
const FOLDER: &str = "crates/kube-informer/src/accessors/groups";

/// Makes the files anew, or fails if they are not up to date.
pub(crate) fn accessors(check: bool) -> Result<(), Failed> {
    let wanted = wanted()?;
    let folder = crate::root().join(FOLDER);
    let found = found(&folder)?;
    if found == wanted {
        step::say(&format!("{FOLDER} is up to date"));
        return Ok(());
    }
    if check {
        return Err(Failed::new(format!("{FOLDER} is not up to date; run `cargo xtask accessors`")));
    }
    for gone in found.keys().filter(|path| !wanted.contains_key(*path)) {
        std::fs::remove_file(folder.join(gone)).map_err(|error| cannot("remove", gone, &error))?;
    }
    for (path, text) in wanted.iter().filter(|(path, text)| found.get(*path) != Some(text)) {
        let file = folder.join(path);
        let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&file, text)).map_err(|error| cannot("write", path, &error))?;
        step::say(&format!("{FOLDER}/{} written", path.display()));
    }
    Ok(())
}

/// The versions of Kubernetes that k8s-openapi has, but for the latest, which is the one that this workspace is built for:
/// `1.33`.
pub(crate) fn other_versions() -> Result<Vec<String>, Failed> {
    let mut all = read::supported(&read::sources()?)?;
    all.pop_last();
    Ok(all.into_iter().map(|minor| format!("1.{minor}")).collect())
}

/// The files as they should be: path in the folder, and text.
fn wanted() -> Result<BTreeMap<PathBuf, String>, Failed> {
    Ok(write::files(&read::kinds(&read::sources()?)?))
}

/// The files as they are.
fn found(folder: &Path) -> Result<BTreeMap<PathBuf, String>, Failed> {
    let mut found = BTreeMap::new();
    for file in read::files_below(folder)? {
        let text = std::fs::read_to_string(&file).map_err(|error| cannot("read", &file, &error))?;
        let path = file.strip_prefix(folder).unwrap_or(&file).to_owned();
        found.insert(path, text);
    }
    Ok(found)
}

fn cannot(do_what: &str, path: &Path, error: &std::io::Error) -> Failed {
    Failed::new(format!("cannot {do_what} {}: {error}", path.display()))
}
