//! The project's own commands: `cargo xtask test`, `bench`, `e2e-server`, `schema`, `deny`.

mod e2e;
mod step;

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use step::{Failed, Step};

#[derive(Debug, Parser)]
#[command(name = "cargo xtask", about = "The project's own commands")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Check everything: format, clippy without warnings, all tests, doc tests, docs without warnings,
    /// and the suite on a real API server where Go is installed
    Test,
    /// Measure: prints the figures that the README quotes
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
    /// Make the table of built-in types anew from the Kubernetes API module (needs Go)
    Schema {
        /// Change nothing; fail if the table is not up to date
        #[arg(long)]
        check: bool,
    },
    /// Check licences, bans and duplicate versions (needs cargo-deny)
    Deny,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test => test(),
        Command::Bench { arguments } => bench(arguments),
        Command::E2eServer { force } => e2e::server(force),
        Command::Schema { check } => schema(check),
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
    let real = e2e::suite()?;
    let mut steps = vec![
        Step::cargo("format", &["fmt", "--all", "--check"]),
        Step::cargo("clippy", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
        // What needs a real server comes last.
        Step::cargo("tests and doc tests", &["test", "--workspace"]).env("KUBE_INFORMER_E2E", "skip"),
        Step::cargo("docs", &["doc", "--workspace", "--no-deps", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings"),
        Step::cargo("the benchmark runs", &["run", "--quiet", "--package", "bench", "--", "--quick"]),
    ];
    if step::works(&Step::cargo("cargo-deny", &["deny", "--version"])) {
        steps.push(deny());
    } else {
        step::say("licences, bans and versions are not checked: cargo-deny is not installed");
    }
    steps.extend(real.steps);
    step::run_all(&steps)?;
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
    let mut all = ["run", "--release", "--quiet", "--package", "bench", "--"].map(str::to_owned).to_vec();
    all.append(&mut arguments);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    step::run(&Step::cargo("bench", &all))
}

/// Where the table of built-in types is, from the workspace's root.
const TABLE: &str = "crates/kube-testserver/data/schema.txt";

fn schema(check: bool) -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let fresh =
        step::output(&Step::new("read the types", "go", &["run", "."]).inside(&root.join("xtask/schema")))?;
    let path = root.join(TABLE);
    let old = std::fs::read(&path).unwrap_or_default();
    if old == fresh {
        step::say("the table is up to date");
        return Ok(());
    }
    if check {
        return Err(Failed::new(format!("{TABLE} is not up to date; run `cargo xtask schema`")));
    }
    std::fs::write(&path, fresh).map_err(|error| Failed::new(format!("cannot write {TABLE}: {error}")))?;
    step::say(&format!("{TABLE} written"));
    Ok(())
}
