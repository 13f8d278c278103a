//! Folders of files that are made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::sources::{cannot, files_below};
use crate::step::{self, Failed};

/// Makes the files of a folder anew, or fails if they are not up to date. Paths are those in the folder.
pub(crate) fn files(
    folder: &str,
    command: &str,
    wanted: &BTreeMap<PathBuf, String>,
    check: bool,
) -> Result<(), Failed> {
    let stale = stale(folder, wanted)?;
    if stale.is_empty() {
        step::say(&format!("{folder} is up to date"));
        return Ok(());
    }
    if check {
        return Err(Failed::new(format!("{folder} is not up to date; run `{command}`")));
    }
    for path in stale {
        let file = crate::root().join(folder).join(&path);
        let Some(text) = wanted.get(&path) else {
            std::fs::remove_file(file).map_err(|error| cannot("remove", &path, &error))?;
            continue;
        };
        let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&file, text)).map_err(|error| cannot("write", &path, &error))?;
        step::say(&format!("{folder}/{} written", path.display()));
    }
    Ok(())
}

/// The files that are not as they should be.
pub(crate) fn stale(folder: &str, wanted: &BTreeMap<PathBuf, String>) -> Result<BTreeSet<PathBuf>, Failed> {
    let found = found(&crate::root().join(folder))?;
    let differs = |path: &&PathBuf| found.get(*path) != wanted.get(*path);
    Ok(found.keys().chain(wanted.keys()).filter(differs).cloned().collect())
}

/// The files as they are.
fn found(folder: &Path) -> Result<BTreeMap<PathBuf, String>, Failed> {
    let mut found = BTreeMap::new();
    for file in files_below(folder)? {
        let text = std::fs::read_to_string(&file).map_err(|error| cannot("read", &file, &error))?;
        let path = file.strip_prefix(folder).unwrap_or(&file).to_owned();
        found.insert(path, text);
    }
    Ok(found)
}
