//! Runs controller-runtime's own test suites against a server and compares which specs fail with the list of those that may.

mod expected;
mod report;
mod server;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use kube_informer_e2e_locate::{Program, Sources};

use crate::e2e::{self, Suite};
use crate::sources;
use crate::step::{self, Failed, Step};
use expected::{Expected, Judgement};
use server::{Programs, Server};

/// The server that suites run against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Against {
    /// `kubectl-informer serve`
    Embedded,
    /// A real kube-apiserver
    Real,
}

/// The module that has the suites.
const MODULE: &str = "sigs.k8s.io/controller-runtime";

/// The packages whose suites have to be built: those that `suites.go` imports.
const PACKAGES: [&str; 6] = ["builder", "cache", "client", "controller", "envtest", "manager"];

/// The specs that may fail, in the folder of the module's version.
const EXPECTED: &str = "expected-failures.yaml";

/// How many suites run at the same time. Most of their time is waiting.
const LANES: usize = 2;

/// The functions that run all specs of a suite. The other tests of these packages ask no server.
const SUITE_FUNCTIONS: &str = "^(TestSource|TestClient|TestBuilder)$";

/// When specs are interrupted, and when the program of a suite is killed if that does not help.
const SPEC_LIMIT: &str = "--ginkgo.timeout=5m";
const PROGRAM_LIMIT: &str = "-test.timeout=6m";

/// How much of a log is shown.
const LOG_LINES: usize = 40;

/// Returns the gate's step and the line printed about it at the end. Without Go the step is left out; with
/// `KUBE_INFORMER_REQUIRE_E2E=1` that is an error.
pub(crate) fn gate() -> Result<Suite, Failed> {
    let sources = Sources::read(Program::ControllerRuntime).map_err(e2e::failed)?;
    let version = sources.controller_runtime();
    match e2e::usable_go(&sources) {
        Ok(_) => Ok(Suite {
            steps: vec![Step::this("controller-runtime's suites", &["controller-runtime"])?],
            summary: format!("the suites of controller-runtime {version} ran on: embedded server"),
        }),
        Err(why) if e2e::is_required() => {
            Err(Failed::new(format!("the suites of controller-runtime have to run, but {why}")))
        }
        Err(why) => Ok(Suite {
            steps: Vec::new(),
            summary: format!("the suites of controller-runtime {version} are left out: {why}"),
        }),
    }
}

/// Runs the suites with these names, or all; fails unless exactly the expected specs fail.
pub(crate) fn run(against: Against, names: &[String]) -> Result<(), Failed> {
    let sources = Sources::read(Program::ControllerRuntime).map_err(e2e::failed)?;
    let list = sources.folder().join(EXPECTED);
    let expected = Expected::read(&list)?;
    e2e::program(Program::ControllerRuntime, false)?;
    let binaries = sources.binary(&e2e::usable_go(&sources)?).map_err(e2e::failed)?;
    let built = suites_in(&binaries)?;
    check_built(&built).map_err(|why| Failed::new(format!("{}: {why}", binaries.display())))?;
    expected.check_suites(&built).map_err(|why| Failed::new(format!("{}: {why}", list.display())))?;
    let suites = chosen(built, names)?;
    let folder = server::Folder::new()?;
    let runner = Runner {
        against,
        programs: Programs::build(against)?,
        module: module_folder(&sources)?,
        binaries,
        folder: folder.path(),
        expected: &expected,
    };
    let mut complaints = Vec::new();
    for (suite, judged) in suites.iter().zip(runner.run_all(&suites)) {
        let judged = judged?;
        step::say(&format!("{suite}: {}", judged.summary()));
        complaints.extend(judged.complaints.into_iter().map(|complaint| format!("{suite}: {complaint}")));
    }
    if complaints.is_empty() {
        return Ok(());
    }
    Err(Failed::new(format!("{}\nwhat may fail is in {}", complaints.join("\n"), list.display())))
}

struct Runner<'a> {
    against: Against,
    programs: Programs,
    /// Where the module's sources are: suites read files beside them.
    module: PathBuf,
    binaries: PathBuf,
    /// For the files of this run.
    folder: &'a Path,
    expected: &'a Expected,
}

impl Runner<'_> {
    /// Runs suites in several lanes, and returns what came of each, in their order.
    fn run_all(&self, suites: &[String]) -> Vec<Result<Judgement, Failed>> {
        let next = AtomicUsize::new(0);
        let lane = || {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(suite) = suites.get(at) else { return done };
                done.push((at, self.run(suite)));
            }
        };
        let mut done: Vec<_> = std::thread::scope(|scope| {
            let lanes: Vec<_> = (0..LANES).map(|_| scope.spawn(lane)).collect();
            lanes.into_iter().flat_map(|lane| lane.join().unwrap_or_default()).collect()
        });
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, judged)| judged).collect()
    }

    /// Runs one suite against a new server.
    fn run(&self, suite: &str) -> Result<Judgement, Failed> {
        let folder = self.folder.join(suite);
        let cannot = |error| sources::cannot("write", &folder, &error);
        std::fs::create_dir(&folder).map_err(cannot)?;
        let server = Server::start(&self.programs, &folder)?;
        let (report, log) = (folder.join("report.json"), folder.join("log"));
        let log_file = std::fs::File::create(&log).map_err(cannot)?;
        let program = self.binaries.join(format!("{suite}.test"));
        let status = Command::new(&program)
            .args(["-test.run", SUITE_FUNCTIONS, PROGRAM_LIMIT, SPEC_LIMIT, "--ginkgo.no-color"])
            .args(["--ginkgo.seed=1", "--ginkgo.json-report"])
            .arg(&report)
            .env("USE_EXISTING_CLUSTER", "true")
            .env("KUBECONFIG", server.kubeconfig())
            .env_remove("KUBEBUILDER_ASSETS")
            .current_dir(self.module.join("pkg").join(suite))
            .stdin(Stdio::null())
            .stderr(log_file.try_clone().map_err(cannot)?)
            .stdout(log_file)
            .status()
            .map_err(|error| sources::cannot("run", &program, &error))?;
        drop(server);
        let report = std::fs::read(&report).map_err(|error| {
            Failed::new(format!("{suite}: {status}, and no report ({error}):\n{}", end_of(&log)))
        })?;
        let report = report::read(&report).map_err(|why| Failed::new(format!("{suite}: {why}")))?;
        Ok(self.expected.judge(suite, self.against, &report, status.success()))
    }
}

/// The names of the suites that were built, in their order.
fn suites_in(binaries: &Path) -> Result<Vec<String>, Failed> {
    let entries = std::fs::read_dir(binaries).map_err(|error| sources::cannot("read", binaries, &error))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut suites: Vec<String> =
        names.filter_map(|name| Some(name.to_str()?.strip_suffix(".test")?.to_owned())).collect();
    suites.sort();
    Ok(suites)
}

/// Fails unless the suites of exactly these packages were built: one that is not built is not run, and nothing else notices.
fn check_built(built: &[String]) -> Result<(), String> {
    let missing: Vec<&str> =
        PACKAGES.into_iter().filter(|package| built.iter().all(|suite| suite != package)).collect();
    if !missing.is_empty() {
        return Err(format!("no suite of {} was built; suites.go has to import it", missing.join(", ")));
    }
    let others: Vec<&str> =
        built.iter().map(String::as_str).filter(|suite| !PACKAGES.contains(suite)).collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(format!("a suite of {} was built; the list of packages has to name it", others.join(", ")))
}

fn chosen(suites: Vec<String>, names: &[String]) -> Result<Vec<String>, Failed> {
    match names.iter().find(|name| !suites.contains(name)) {
        Some(name) => {
            Err(Failed::new(format!("there is no suite {name:?}; there are {}", suites.join(", "))))
        }
        None if names.is_empty() => Ok(suites),
        None => Ok(suites.into_iter().filter(|suite| names.contains(suite)).collect()),
    }
}

/// Where Go keeps the sources of the module; fetched if they are not there.
fn module_folder(sources: &Sources) -> Result<PathBuf, Failed> {
    let go = |arguments: &[&str]| Step::new("find the suites", "go", arguments).inside(sources.folder());
    step::run(&go(&["mod", "download", MODULE]))?;
    let folder = step::output(&go(&["list", "-m", "-f", "{{.Dir}}", MODULE]))?;
    Ok(PathBuf::from(String::from_utf8_lossy(&folder).trim()))
}

/// The last lines of a log.
fn end_of(log: &Path) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_whose_suite_was_not_built_is_named_and_so_is_one_too_many() {
        let check = |suites: &[&str]| {
            let suites: Vec<String> = suites.iter().map(|&suite| suite.to_owned()).collect();
            check_built(&suites)
        };
        assert_eq!(check(&PACKAGES), Ok(()));
        let without: Vec<&str> = PACKAGES.into_iter().filter(|package| *package != "envtest").collect();
        assert_eq!(
            check(&without),
            Err("no suite of envtest was built; suites.go has to import it".to_owned())
        );
        let with: Vec<&str> = PACKAGES.into_iter().chain(["webhook"]).collect();
        let why = "a suite of webhook was built; the list of packages has to name it".to_owned();
        assert_eq!(check(&with), Err(why));
        assert!(check(&[]).is_err());
    }

    #[test]
    fn the_packages_are_those_that_the_module_imports() {
        let sources = Sources::read(Program::ControllerRuntime).unwrap();
        let text = std::fs::read_to_string(sources.folder().join("suites.go")).unwrap();
        let prefix = format!("_ \"{MODULE}/pkg/");
        let imports = text.lines().filter_map(|line| line.trim().strip_prefix(&prefix)?.strip_suffix('"'));
        assert_eq!(imports.collect::<Vec<_>>(), PACKAGES);
    }
}
