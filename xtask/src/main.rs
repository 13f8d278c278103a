//! The project's own commands: `cargo xtask test`, `bench`, `e2e-server`, `schema`, `deny`.

#[cfg(test)]
mod conformance;
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
    /// Make the tables of built-in types anew from the Kubernetes API modules (needs Go)
    Schema {
        /// Change nothing; fail if a table is not up to date
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

/// The tables of built-in types: what `xtask/schema` calls each, and where it is, from the workspace's root.
const TABLES: [(&str, &str); 2] = [
    ("schema", "crates/kube-testserver/data/schema.txt"),
    ("protobuf", "crates/kube-wire/data/protobuf.txt"),
];

fn schema(check: bool) -> Result<(), Failed> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    for (name, file) in TABLES {
        let read = Step::new("read the types", "go", &["run", ".", name]).inside(&root.join("xtask/schema"));
        let fresh = step::output(&read)?;
        let path = root.join(file);
        if std::fs::read(&path).unwrap_or_default() == fresh {
            step::say(&format!("{file} is up to date"));
        } else if check {
            return Err(Failed::new(format!("{file} is not up to date; run `cargo xtask schema`")));
        } else {
            std::fs::write(&path, fresh)
                .map_err(|error| Failed::new(format!("cannot write {file}: {error}")))?;
            step::say(&format!("{file} written"));
        }
    }
    Ok(())
}
