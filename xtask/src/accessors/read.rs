//! What kinds k8s-openapi has, in which versions of Kubernetes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::sources::{cannot, files_below, supported};
use crate::step::Failed;

/// A kind that can be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    /// Where it is in k8s-openapi: `api`, `apps`, `v1`.
    pub(super) module: Vec<String>,
    /// `DaemonSet`.
    pub(super) name: String,
    /// `daemon_set`.
    pub(super) snake: String,
    /// `daemonsets`.
    pub(super) plural: String,
    /// `apps`; empty for the core group.
    pub(super) group: String,
    /// `v1`.
    pub(super) version: String,
    /// The minor versions of Kubernetes that have it.
    pub(super) since: BTreeSet<u32>,
}

/// All kinds, and the minor versions of Kubernetes that there are.
#[derive(Debug)]
pub(super) struct Kinds {
    pub(super) all: Vec<Kind>,
    pub(super) supported: BTreeSet<u32>,
}

/// Reads all kinds, in the order of their paths.
pub(super) fn kinds(sources: &Path) -> Result<Kinds, Failed> {
    let mut all: BTreeMap<(Vec<String>, String), Kind> = BTreeMap::new();
    let supported = supported(sources)?;
    for &minor in &supported {
        let folder = sources.join(format!("v1_{minor}"));
        for file in files_below(&folder)? {
            let text = std::fs::read_to_string(&file).map_err(|error| cannot("read", &file, &error))?;
            let inside = file.strip_prefix(&folder).unwrap_or(&file);
            let Some(kind) = kind(inside, &text)? else { continue };
            let known = all.entry((kind.module.clone(), kind.name.clone())).or_insert(kind);
            known.since.insert(minor);
        }
    }
    if all.is_empty() {
        return Err(Failed::new(format!("there are no kinds below {}", sources.display())));
    }
    let all: Vec<Kind> = all.into_values().collect();
    // What comes, goes and comes again cannot be told in bounds.
    let within =
        |kind: &Kind, minor: u32| kind.since.first() < Some(&minor) && kind.since.last() > Some(&minor);
    let gap = |kind: &Kind| supported.iter().any(|minor| within(kind, *minor) && !kind.since.contains(minor));
    if let Some(kind) = all.iter().find(|kind| gap(kind)) {
        return Err(Failed::new(format!("{kind:?} has a gap in its versions, which is not provided for")));
    }
    Ok(Kinds { all, supported })
}

/// The kind in a file, if there is one that can be listed.
fn kind(file: &Path, text: &str) -> Result<Option<Kind>, Failed> {
    let Some((_, rest)) = text.split_once("\nimpl crate::ListableResource for ") else { return Ok(None) };
    let name = rest.split(' ').next().unwrap_or_default();
    let unclear = |what: &str| Failed::new(format!("{}: {what} of {name} is not clear", file.display()));
    let resource = text.split_once(&format!("\nimpl crate::Resource for {name} {{"));
    let resource =
        resource.and_then(|(_, rest)| rest.split("\n}").next()).ok_or_else(|| unclear("the resource"))?;
    let value = |constant: &str| {
        let found = resource.split_once(&format!("const {constant}: &'static str = \""));
        found.and_then(|(_, rest)| rest.split('"').next()).ok_or_else(|| unclear(constant))
    };
    let folder = file.parent().into_iter().flat_map(Path::components);
    let snake = file.file_stem().and_then(|stem| stem.to_str()).ok_or_else(|| unclear("the file"))?;
    Ok(Some(Kind {
        module: folder.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect(),
        name: name.to_owned(),
        snake: snake.to_owned(),
        plural: value("URL_PATH_SEGMENT")?.to_owned(),
        group: value("GROUP")?.to_owned(),
        version: value("VERSION")?.to_owned(),
        since: BTreeSet::new(),
    }))
}
