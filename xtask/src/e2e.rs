//! The Go programs for tests, the real API server, client-go and controller-runtime's suites: built once, kept in a cache.

use std::path::{Path, PathBuf};

use kube_informer_e2e_locate::{LocateError, Program, Sources};

use crate::step::{self, Failed, Step};

/// Builds a program, unless it has been built before.
pub(crate) fn program(program: Program, force: bool) -> Result<(), Failed> {
    let sources = Sources::read(program).map_err(failed)?;
    let go = usable_go(&sources)?;
    let binary = sources.binary(&go).map_err(failed)?;
    if force || !binary.exists() {
        step::say(&format!(
            "building {} with {go}; the first time takes some minutes and downloads a lot …",
            named(&sources)
        ));
        build(&sources, &binary)?;
    }
    step::say(&format!("{} is {}", program.title(), binary.display()));
    Ok(())
}

/// What is built, with its version.
fn named(sources: &Sources) -> String {
    match sources.program() {
        Program::ClientGo => format!("client-go {}", sources.client_go()),
        Program::ControllerRuntime => {
            format!("the suites of controller-runtime {}", sources.controller_runtime())
        }
        _ => format!("kube-apiserver {}", sources.kubernetes()),
    }
}

/// Where the suite runs: the steps that run it on a real server, and what is to be said of it.
pub(crate) struct Suite {
    pub(crate) steps: Vec<Step>,
    pub(crate) summary: String,
}

/// Says that a run without a real server is a failure.
const REQUIRED_VARIABLE: &str = "KUBE_INFORMER_REQUIRE_E2E";

/// Whether what needs Go must not be left out.
pub(crate) fn is_required() -> bool {
    std::env::var_os(REQUIRED_VARIABLE).is_some_and(|set| set == "1")
}

/// Runs the suite on a real server, and beside client-go, if they are there or can be; fails if they have to be.
pub(crate) fn suite() -> Result<Suite, Failed> {
    let (mut steps, mut names) = (Vec::new(), Vec::new());
    for program in [Program::ApiServer, Program::ClientGo] {
        let sources = Sources::read(program).map_err(failed)?;
        match usable_go(&sources) {
            Ok(_) => steps.push(Step::this(program.title(), &[program.command()])?),
            Err(why) if sources.built().is_err() => return without(&why),
            // It has been built before, and is all that is needed.
            Err(_) => {}
        }
        names.push(named(&sources));
    }
    let tests = [
        ("tests on a real server", "real"),
        ("client-go as judge", "judge"),
        ("beside the real server", "likeness"),
    ];
    for (name, test) in tests {
        let arguments = ["test", "--workspace", "--test", test];
        steps.push(Step::cargo(name, &arguments).env(REQUIRED_VARIABLE, "1"));
    }
    let summary = format!("suite ran on: embedded server, real {}", names.join(", compared with "));
    Ok(Suite { steps, summary })
}

fn without(why: &Failed) -> Result<Suite, Failed> {
    if is_required() {
        return Err(Failed::new(format!("tests have to run on a real kube-apiserver, but {why}")));
    }
    let summary = format!("suite ran on: embedded server; skipped on a real kube-apiserver: {why}");
    Ok(Suite { steps: Vec::new(), summary })
}

#[expect(clippy::needless_pass_by_value, reason = "what map_err gives")]
pub(crate) fn failed(error: LocateError) -> Failed {
    Failed::new(error.to_string())
}

/// The version of the installed Go, if it can build the program.
pub(crate) fn usable_go(sources: &Sources) -> Result<String, Failed> {
    let oldest = sources.oldest_go();
    let ask = |folder: &Path| {
        step::quiet_output(&Step::new("the version of Go", "go", &["env", "GOVERSION"]).inside(folder))
    };
    // Where there is no module, every Go answers.
    let Some(installed) = ask(&std::env::temp_dir()) else {
        return Err(Failed::new(format!("Go is not installed; version {oldest} or newer is needed")));
    };
    // In the module, one that is too old fetches a newer one, or fails, or does not know that it is too old.
    match ask(sources.folder()) {
        Some(go) if !is_older(&go, oldest) => Ok(go),
        _ => Err(Failed::new(format!("{installed} is installed; Go {oldest} or newer is needed"))),
    }
}

/// Whether a version like `go1.21.3` comes before one like `1.26.0`. Versions of another form do not.
fn is_older(go: &str, oldest: &str) -> bool {
    let Some(go) = go.strip_prefix("go").and_then(numbers) else { return false };
    numbers(oldest).is_some_and(|oldest| go < oldest)
}

fn numbers(version: &str) -> Option<(u32, u32, u32)> {
    let mut parts = version.split('.').map(|part| {
        // "26rc1" is 26 for this purpose.
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    });
    Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

/// Builds beside the place and then moves: a reader sees a whole program or none, and two builds do not clash.
fn build(sources: &Sources, binary: &Path) -> Result<(), Failed> {
    let folder = binary.parent().unwrap_or(binary);
    let cannot = |error: std::io::Error| Failed::new(format!("cannot write {}: {error}", binary.display()));
    std::fs::create_dir_all(folder).map_err(cannot)?;
    let fresh = Fresh(folder.join(format!("building-{}", std::process::id())));
    // What the program says it is, and what it calls itself when it is a client.
    let kubernetes = match sources.program() {
        Program::ApiServer => sources.kubernetes().to_owned(),
        _ => format!("1{}", sources.client_go().trim_start_matches('0')),
    };
    let version = |package: &str| format!("-X k8s.io/{package}.gitVersion=v{kubernetes}");
    let linker = format!("-s -w {} {}", version("component-base/version"), version("client-go/pkg/version"));
    // Suites are several programs: the slash says that the output is their folder.
    let (command, packages, slash): (&[&str], _, _) = match sources.program() {
        Program::ControllerRuntime => (&["test", "-c", "-vet=off"], tested_packages(sources)?, "/"),
        _ => (&["build"], vec![".".to_owned()], ""),
    };
    let output = format!("{}{slash}", fresh.0.display());
    let flags = ["-trimpath", "-buildvcs=false", "-ldflags", &linker, "-o", &output];
    let packages = packages.iter().map(String::as_str);
    let arguments: Vec<&str> = command.iter().copied().chain(flags).chain(packages).collect();
    let step = Step::new(sources.program().title(), "go", &arguments)
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .inside(sources.folder());
    step::run(&step)?;
    std::fs::rename(&fresh.0, binary).map_err(cannot)
}

/// Returns the packages whose suites are run: those that the module imports.
fn tested_packages(sources: &Sources) -> Result<Vec<String>, Failed> {
    let imports = ["list", "-f", "{{range .Imports}}{{println .}}{{end}}", "."];
    let list = step::output(&Step::new("find the suites", "go", &imports).inside(sources.folder()))?;
    Ok(String::from_utf8_lossy(&list).split_whitespace().map(str::to_owned).collect())
}

/// A file or folder that goes away unless it was moved.
struct Fresh(PathBuf);

impl Drop for Fresh {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_go_are_compared_as_numbers() {
        assert!(is_older("go1.9.7", "1.26.0"));
        assert!(is_older("go1.25", "1.26.0"));
        assert!(!is_older("go1.26.0", "1.26.0"));
        assert!(!is_older("go1.26.8", "1.26.0"));
        assert!(!is_older("go1.27rc1", "1.26.0"));
        assert!(!is_older("devel go1.28-abc", "1.26.0"));
    }
}
