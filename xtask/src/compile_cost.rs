//! What programs compile: a budget for one small program, and a comparison of five.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use crate::root;
use crate::step::{self, Failed, Step};

/// The program whose code is bounded: an example of kube-informer that follows one kind.
const PROGRAM: &str = "pods";

/// The most lines of LLVM IR that the program may have, before optimisation. Raise it only for a reason that is worth what users
/// compile.
const MOST_LINES: usize = 690_000;

/// How the program is compiled. At this level it shares no instances with the crates that it uses, as in release builds.
const FLAGS: [&str; 4] = ["-Copt-level=2", "-Cno-prepopulate-passes", "-Ccodegen-units=1", "-Cdebuginfo=0"];

/// Fails if the program compiles more than its budget, or the decoder of a built-in kind.
pub(crate) fn check_budget() -> Result<(), Failed> {
    let file = root().join("target").join("compile-budget.ll");
    let emit = format!("--emit=llvm-ir={}", file.display());
    let build = ["rustc", "--quiet", "--package", "kube-informer", "--example", PROGRAM, "--"];
    step::run(&Step::cargo("compile budget", &[&build[..], &FLAGS, &[&emit]].concat()))?;
    let code = std::fs::read_to_string(&file)
        .map_err(|error| Failed::new(format!("cannot read {}: {error}", file.display())))?;
    let (lines, decoders) = (code.lines().count(), decoders(&code));
    if let Some(first) = decoders.first() {
        return Err(Failed::new(format!(
            "the example `{PROGRAM}` compiles {} functions that decode types of k8s-openapi; kube-wire has them already: {first}",
            decoders.len()
        )));
    }
    if lines > MOST_LINES {
        return Err(Failed::new(format!(
            "the example `{PROGRAM}` compiles {lines} lines of LLVM IR; its budget is {MOST_LINES}"
        )));
    }
    step::say(&format!("the example `{PROGRAM}` compiles {lines} of {MOST_LINES} lines of LLVM IR"));
    Ok(())
}

/// The functions in the code that deserialize types of k8s-openapi.
fn decoders(code: &str) -> Vec<&str> {
    let functions = code.lines().filter(|line| line.starts_with("define "));
    functions.filter(|line| line.contains("k8s_openapi") && line.contains("serde")).collect()
}

/// The folder of the programs that are compared, from the workspace's root.
const FOLDER: &str = "bench/compile";

/// The programs, each beside the one that it is compared with.
const PROGRAMS: [(&str, Option<&str>); 5] = [
    ("kube-rs", None),
    ("ours", Some("kube-rs")),
    ("ours-by-type", Some("kube-rs")),
    ("controller", None),
    ("controller-and-ours", Some("controller")),
];

/// Builds each program again after its `main.rs` was touched, and prints what that takes.
pub(crate) fn compare() -> Result<(), Failed> {
    for release in [true, false] {
        let mut known: Vec<(&str, Cost)> = Vec::new();
        for (program, other) in PROGRAMS {
            let cost = cost(program, release)?;
            let other = known.iter().find(|(name, _)| Some(*name) == other).map(|(_, cost)| *cost);
            let ratios = other.map_or_else(String::new, |other| {
                format!(
                    ", {:.2} and {:.2} of the other's",
                    cost.seconds / other.seconds,
                    cost.bytes / other.bytes
                )
            });
            let profile = if release { "release" } else { "debug" };
            let megabytes = cost.bytes / 1e6;
            step::say(&format!(
                "{program}, {profile}: {:.1} s of CPU, {megabytes:.1} MB stripped{ratios}",
                cost.seconds
            ));
            known.push((program, cost));
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Cost {
    /// CPU time of the build after an edit.
    seconds: f64,
    /// Size of the program without symbols.
    bytes: f64,
}

fn cost(program: &str, release: bool) -> Result<Cost, Failed> {
    let folder = root().join(FOLDER);
    let mut arguments = vec!["build", "--quiet", "--package", program];
    arguments.extend(release.then_some("--release"));
    let build = || Step::cargo("build", &arguments).inside(&folder);
    step::run(&build())?;
    edit(&folder.join(program).join("src/main.rs"))?;
    let before = children_seconds()?;
    step::run(&build())?;
    let seconds = children_seconds()? - before;
    let built = folder.join("target").join(if release { "release" } else { "debug" }).join(program);
    Ok(Cost { seconds, bytes: stripped(&built)? })
}

/// Makes a file newer than what was built of it.
#[expect(clippy::disallowed_methods, reason = "cargo compares it with the time of the file system")]
fn edit(file: &Path) -> Result<(), Failed> {
    let touched = File::options().append(true).open(file);
    let touched = touched.and_then(|opened| opened.set_modified(SystemTime::now()));
    touched.map_err(|error| Failed::new(format!("cannot touch {}: {error}", file.display())))
}

/// The size of a program without symbols.
fn stripped(program: &Path) -> Result<f64, Failed> {
    let file = std::env::temp_dir().join(format!("compile-cost-{}", std::process::id()));
    let wrong = |what: &str| Failed::new(format!("cannot strip {}: {what}", program.display()));
    let output = Command::new("strip").arg("-o").arg(&file).arg(program).output();
    let output = output.map_err(|error| wrong(&error.to_string()))?;
    if !output.status.success() {
        return Err(wrong(&String::from_utf8_lossy(&output.stderr)));
    }
    let size = std::fs::metadata(&file).map(|file| file.len() as f64);
    let _ = std::fs::remove_file(&file);
    size.map_err(|error| wrong(&error.to_string()))
}

/// The CPU time of all programs that this one has run, in seconds.
fn children_seconds() -> Result<f64, Failed> {
    /// The system counts time in pieces of this many seconds.
    const TICK: f64 = 0.01;
    let stat = std::fs::read_to_string("/proc/self/stat")
        .map_err(|error| Failed::new(format!("CPU time is only measured on Linux: {error}")))?;
    // The name of the program may have spaces.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: Vec<f64> = fields.skip(13).take(2).filter_map(|field| field.parse().ok()).collect();
    match ticks[..] {
        [user, system] => Ok((user + system) * TICK),
        _ => Err(Failed::new("the system does not say how much CPU time was used".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoder_is_found_by_the_name_of_its_function() {
        let code = "define internal void @_ZN_k8s_openapi_Pod_serde_Deserialize() {\n\
                    declare void @_ZN_k8s_openapi_Node_serde_Deserialize()\n\
                    define void @main() {\n";
        assert_eq!(decoders(code).len(), 1);
    }
}
