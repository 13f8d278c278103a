//! `cargo xtask accessors`: the methods that lead from a factory to each built-in kind, as calls of macros.
//!
//! And the types of all other built-in kinds than those that `cargo xtask places` is about, as built-in ones.
//!
//! What k8s-openapi has is read off its sources ([`read`]), for every version of Kubernetes that it supports at the
//! same time, and written with a call for each group ([`mod@write`]).

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::made;
use crate::sources;
use crate::step::Failed;

/// The folder of the file, from the workspace's root. Everything there is made here.
const FOLDER: &str = "crates/kube-informer/src/accessors/groups";

/// The folder of the file with the types that kube-wire knows as built in.
const BUILT_IN: &str = "crates/kube-wire/src/built_in";

/// Makes the files anew, or fails if they are not up to date.
pub(crate) fn accessors(check: bool) -> Result<(), Failed> {
    let [accessors, built_in] = wanted()?;
    made::files(FOLDER, "cargo xtask accessors", &accessors, check)?;
    made::files(BUILT_IN, "cargo xtask accessors", &built_in, check)
}

/// What the two folders should have: paths in them, and texts.
fn wanted() -> Result<[BTreeMap<PathBuf, String>; 2], Failed> {
    let kinds = read::kinds(&sources::sources()?)?;
    let file = |text| BTreeMap::from([("mod.rs".into(), text)]);
    Ok([file(write::file(&kinds)), file(write::built_in(&kinds))])
}
