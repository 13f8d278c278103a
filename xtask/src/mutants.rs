//! Faults that the model of the work queue must find: each patch is applied to a copy of the workspace, and the model must fail
//! there. A patch whose text has a line that begins with `Equivalent:` changes nothing that the model may see: it must pass.

use std::path::{Path, PathBuf};

use crate::root;
use crate::step::{self, Failed, Step};

/// The patches, from the workspace's root.
const PATCHES: &str = "crates/kube-controller/model/mutants";

/// The sources that the patches change, from the workspace's root.
const PATCHED: &str = "crates/kube-controller/src";

/// Where the copy is, from the workspace's root.
const COPY: &str = "target/mutants/source";

/// Where the copy is built, from the workspace's root: cargo would take a fault in the usual place for the real thing.
const BUILD: &str = "target/mutants/build";

/// The package that must fail.
const MODEL: &str = "kube-controller-model";

pub(crate) fn mutants() -> Result<(), Failed> {
    let copy = root().join(COPY);
    let _ = std::fs::remove_dir_all(&copy);
    copy_files(".", &copy)?;
    step::run(&model("the model without a fault", &copy, &[]))?;
    let mut wrong = Vec::new();
    for patch in patches()? {
        let text = std::fs::read_to_string(&patch).map_err(|error| read_error(&patch, &error))?;
        let equivalent = text.lines().any(|line| line.starts_with("Equivalent:"));
        let name = patch.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        copy_files(PATCHED, &copy)?;
        // The ceiling keeps git from taking the copy for a part of this repository.
        let apply = Step::new("apply the patch", "git", &["apply", &patch.to_string_lossy()]);
        step::run(
            &apply.env("GIT_CEILING_DIRECTORIES", &root().join("target").to_string_lossy()).inside(&copy),
        )?;
        step::run(&model("build the fault", &copy, &["--no-run"]))?;
        let passes = step::works(&model("the model with the fault", &copy, &[]));
        let outcome = match (passes, equivalent) {
            (false, false) => "is found",
            (true, true) => "is equivalent, and passes",
            (true, false) => "is NOT found",
            (false, true) => "is NOT equivalent",
        };
        step::say(&format!("{name} {outcome}"));
        if passes != equivalent {
            wrong.push(name);
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failed::new(format!("the model is wrong about {}", wrong.join(", "))))
    }
}

fn patches() -> Result<Vec<PathBuf>, Failed> {
    let folder = root().join(PATCHES);
    let files = std::fs::read_dir(&folder).map_err(|error| read_error(&folder, &error))?;
    let mut patches: Vec<PathBuf> = files
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "patch"))
        .collect();
    patches.sort_unstable();
    if patches.is_empty() { Err(Failed::new(format!("{PATCHES} has no patches"))) } else { Ok(patches) }
}

fn read_error(path: &Path, error: &std::io::Error) -> Failed {
    Failed::new(format!("cannot read {}: {error}", path.display()))
}

/// Tests the model in the copy.
fn model(name: &'static str, copy: &Path, arguments: &[&str]) -> Step {
    let mut all = vec!["test", "--quiet", "--package", MODEL];
    all.extend(arguments);
    Step::cargo(name, &all).env("CARGO_TARGET_DIR", &root().join(BUILD).to_string_lossy()).inside(copy)
}

/// Copies the files of a folder that git knows or would add.
fn copy_files(folder: &str, to: &Path) -> Result<(), Failed> {
    let list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", folder];
    let files = step::output(&Step::new("list the files", "git", &list).inside(root()))?;
    for file in String::from_utf8_lossy(&files).split_terminator('\0') {
        let (from, to) = (root().join(file), to.join(file));
        // One that was deleted may still be known.
        if from.is_file() {
            let copied =
                to.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::copy(&from, &to));
            copied.map_err(|error| Failed::new(format!("cannot copy {file}: {error}")))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_patch_applies() {
        for patch in patches().unwrap() {
            let check = Step::new("try the patch", "git", &["apply", "--check", &patch.to_string_lossy()]);
            assert!(step::works(&check.inside(root())), "{} does not apply", patch.display());
        }
    }
}
