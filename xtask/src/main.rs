//! The project's own commands: `cargo xtask test`, `bench`, `schema`, `deny`.

#[cfg(test)]
mod conformance;
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
    /// Check everything: format, clippy without warnings, all tests, doc tests, docs without warnings
    Test,
    /// Measure: prints the figures that the README quotes
    Bench {
        /// What `bench` takes, for example `--quick`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
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
    let mut steps = vec![
        Step::cargo("format", &["fmt", "--all", "--check"]),
        Step::cargo("clippy", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
        Step::cargo("tests and doc tests", &["test", "--workspace"]),
        Step::cargo("docs", &["doc", "--workspace", "--no-deps", "--quiet"])
            .env("RUSTDOCFLAGS", "-D warnings"),
        Step::cargo("the benchmark runs", &["run", "--quiet", "--package", "bench", "--", "--quick"]),
    ];
    if step::works(&Step::cargo("cargo-deny", &["deny", "--version"])) {
        steps.push(deny());
    } else {
        step::say("licences, bans and versions are not checked: cargo-deny is not installed");
    }
    step::run_all(&steps)
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
