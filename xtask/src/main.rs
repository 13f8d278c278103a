//! The project's own commands: `cargo xtask test`, `bench`, `e2e-server`, `e2e-clients`, `controller-runtime`, `schema`,
//! `accessors`, `places`, `compile-cost`, `mutants`, `deny`.

mod accessors;
mod compile_cost;
#[cfg(test)]
mod conformance;
mod e2e;
mod made;
#[cfg(test)]
mod modules;
mod mutants;
mod places;
#[cfg(test)]
mod readme;
mod sources;
mod step;
mod suites;

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use kube_informer_e2e_locate::Program;

use step::{Failed, Step};
use suites::Against;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "The project's own commands")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check everything: format, clippy without warnings, all tests, doc tests, docs without warnings,
    /// and, where Go is installed, the suites of controller-runtime and ours on a real API server
    Test,
    /// Measure: the embedded server under load, and this library beside client-go (needs Go) and kube-rs; writes
    /// docs/benchmarks.md. `bench --quick` only compares the libraries, in less than five minutes
    Bench {
        /// What `bench` takes, for example `--quick`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Build the real API server that tests run against, unless it has been built (needs Go)
    E2eServer {
        /// Build it in any case
        #[arg(long)]
        force: bool,
    },
    /// Build client-go and kubectl, which tests compare with, unless they have been built (needs Go)
    E2eClients {
        /// Build them in any case
        #[arg(long)]
        force: bool,
    },
    /// Run controller-runtime's own test suites against a server, and compare which specs fail with
    /// e2e/controller-runtime/expected-failures.yaml (needs Go)
    ControllerRuntime {
        /// The server
        #[arg(long, value_enum, default_value_t = Against::Embedded)]
        against: Against,
        /// Run this suite only, for example `cache`; may be given several times
        #[arg(long = "suite", value_name = "NAME")]
        suites: Vec<String>,
    },
    /// Make the tables of built-in types anew from the Kubernetes API modules (needs Go)
    Schema {
        /// Change nothing; fail if a table is not up to date
        #[arg(long)]
        check: bool,
    },
    /// Make the methods anew that lead from a factory to each built-in kind, from k8s-openapi's sources
    Accessors {
        /// Change nothing; fail if a file is not up to date
        #[arg(long)]
        check: bool,
    },
    /// Make the files anew that say which number in protobuf is which field of a type, from k8s-openapi's sources
    Places {
        /// Change nothing; fail if a file is not up to date
        #[arg(long)]
        check: bool,
    },
    /// Measure what it takes to compile programs with this library, with kube-rs, and with both; takes minutes
    CompileCost {
        /// Only check that a small program compiles no more than its budget
        #[arg(long)]
        budget: bool,
    },
    /// Check that the model of the work queue finds each of the faults in its folder `mutants` (needs git)
    Mutants,
    /// Check licences, bans and duplicate versions (needs cargo-deny)
    Deny,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test => test(),
        Command::Bench { arguments } => bench(arguments),
        Command::E2eServer { force } => e2e::program(Program::ApiServer, force),
        Command::E2eClients { force } => e2e::program(Program::ClientGo, force),
        Command::ControllerRuntime { against, suites } => suites::run(against, &suites),
        Command::Schema { check } => schema(check),
        Command::Accessors { check } => accessors::accessors(check),
        Command::Places { check } => places::places(check),
        Command::CompileCost { budget: true } => compile_cost::check_budget(),
        Command::CompileCost { budget: false } => compile_cost::compare(),
        Command::Mutants => mutants::mutants(),
        Command::Deny => step::run(&deny()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failed) => {
            step::complain(&failed);
            ExitCode::FAILURE
        }
    }
}

fn test() -> Result<(), Failed> {
    let (real, suites) = (e2e::suite()?, suites::gate()?);
    let mut steps = vec![
        Step::cargo("format", &["fmt", "--all", "--check"]),
        Step::cargo("clippy", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
        // What needs a real server comes last.
        Step::cargo("tests and doc tests", &["test", "--workspace"]).env("KUBE_INFORMER_E2E", "skip"),
        Step::cargo(
            "what the README shows",
            &["run", "--quiet", "--package", "kube-informer", "--example", "hello"],
        ),
        Step::cargo(
            "its factories",
            &["run", "--quiet", "--package", "kube-informer", "--example", "factories"],
        ),
        Step::cargo("docs", &["doc", "--workspace", "--no-deps", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings"),
    ];
    for version in sources::other_versions()? {
        // What a user adds, and no other package that would choose a version.
        let check =
            ["check", "--quiet", "--package", "kube-informer", "--package", "kube-controller", "--lib"];
        steps.push(Step::cargo("another Kubernetes", &check).env("K8S_OPENAPI_ENABLED_VERSION", &version));
    }
    if step::works(&Step::cargo("cargo-deny", &["deny", "--version"])) {
        steps.push(deny());
    } else {
        step::say("licences, bans and versions are not checked: cargo-deny is not installed");
    }
    steps.extend(suites.steps);
    steps.extend(real.steps);
    compile_cost::check_budget()?;
    check_with_go()?;
    step::run_all(&steps)?;
    step::say(&suites.summary);
    step::say(&real.summary);
    Ok(())
}

fn deny() -> Step {
    Step::cargo(
        "licences, bans, versions",
        &["deny", "--log-level", "error", "check", "licenses", "bans", "sources"],
    )
}

fn bench(mut arguments: Vec<String>) -> Result<(), Failed> {
    let mut all = ["run", "--release", "--quiet", "--bin", "bench", "--"].map(str::to_owned).to_vec();
    all.append(&mut arguments);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    // There are two programs, which differ in their allocator; one of them runs the other. The default members are built, so
    // that this and `cargo run` build the same dependencies with the same features, once.
    step::run(&Step::cargo("build", &["build", "--release", "--bins"]))?;
    step::run(&Step::cargo("bench", &all))
}

/// Where the program is that reads off the Go types, from the workspace's root.
const SCHEMA: &str = "xtask/schema";

/// The tables of built-in types: what the program calls each, and where it is, from the workspace's root.
const TABLES: [(&str, &str); 2] = [
    ("schema", "crates/kube-testserver/data/schema.txt"),
    ("protobuf", "crates/kube-wire/data/protobuf.txt"),
];

/// Objects that the tests of kube-wire decode. Not checked: others would do as well.
const SAMPLES: &str = "crates/kube-wire/tests/proto/samples.gz";

fn schema(check: bool) -> Result<(), Failed> {
    for (name, file) in TABLES {
        let fresh = step::output(&go("read the types", &["run", ".", name]))?;
        if std::fs::read(root().join(file)).unwrap_or_default() == fresh {
            step::say(&format!("{file} is up to date"));
        } else if check {
            return Err(Failed::new(format!("{file} is not up to date; run `cargo xtask schema`")));
        } else {
            write(file, &fresh)?;
        }
    }
    if check { Ok(()) } else { write(SAMPLES, &step::output(&go("make samples", &["run", ".", "samples"]))?) }
}

/// What the gate checks only where Go is: that the tables are up to date, and that the golden files of the Kubernetes API
/// module and many more objects than those in the repository are decoded to what Go says they are.
fn check_with_go() -> Result<(), Failed> {
    if !has_go_modules(Network::Off) && !has_go_modules(Network::On) {
        let why = "Go is not there, or cannot get the Kubernetes modules";
        if e2e::is_required() {
            return Err(Failed::new(format!("tables of types have to be checked, but {why}")));
        }
        step::say(&format!("tables of types are not checked: {why}"));
        return Ok(());
    }
    schema(true)?;
    let module = step::output(&go("find the API module", &["list", "-m", "-f", "{{.Dir}}", "k8s.io/api"]))?;
    let module = String::from_utf8_lossy(&module).trim().to_owned();
    let fresh = step::output(&go("make samples", &["run", ".", "-seed=2", "-rounds=10", "samples"]))?;
    let file = std::env::temp_dir().join(format!("kube-wire-samples-{}.gz", std::process::id()));
    // A new file: one that is there may be a link to another.
    std::fs::File::create_new(&file)
        .and_then(|mut created| std::io::Write::write_all(&mut created, &fresh))
        .map_err(|error| Failed::new(format!("cannot write {}: {error}", file.display())))?;
    let test = Step::cargo(
        "fresh samples and golden files",
        &["test", "--quiet", "--package", "kube-wire", "--test", "proto"],
    )
    .env("KUBE_WIRE_SAMPLES", &file.to_string_lossy())
    .env("KUBE_WIRE_GOLDEN", &module);
    let tested = step::run(&test);
    let _ = std::fs::remove_file(&file);
    tested
}

/// Whether modules may be fetched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Network {
    Off,
    On,
}

/// Whether the program can be built for every version.
fn has_go_modules(network: Network) -> bool {
    let Ok(versions) = std::fs::read_dir(root().join(SCHEMA).join("versions")) else { return false };
    let modfiles = versions
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "mod"));
    modfiles.chain([root().join(SCHEMA).join("go.mod")]).all(|modfile| {
        let modfile = format!("-modfile={}", modfile.display());
        let list = go("list modules", &["list", "-deps", &modfile, "."]);
        step::works(&if network == Network::Off { list.env("GOPROXY", "off") } else { list })
    })
}

fn go(name: &'static str, arguments: &[&str]) -> Step {
    Step::new(name, "go", arguments).inside(&root().join(SCHEMA))
}

fn write(file: &str, bytes: &[u8]) -> Result<(), Failed> {
    std::fs::write(root().join(file), bytes)
        .map_err(|error| Failed::new(format!("cannot write {file}: {error}")))?;
    step::say(&format!("{file} written"));
    Ok(())
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}
