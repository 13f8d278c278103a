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
use std::path::PathBuf;

use crate::made;
use crate::sources;
use crate::step::Failed;

/// Where the files are, from the workspace's root. Everything there is made here.
const FOLDER: &str = "crates/kube-informer/src/accessors/groups";

/// Makes the files anew, or fails if they are not up to date.
pub(crate) fn accessors(check: bool) -> Result<(), Failed> {
    made::files(FOLDER, "cargo xtask accessors", &wanted()?, check)
}

/// The files as they should be: path in the folder, and text.
fn wanted() -> Result<BTreeMap<PathBuf, String>, Failed> {
    Ok(write::files(&read::kinds(&sources::sources()?)?))
}
