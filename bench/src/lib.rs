//! Measurements: the source of the figures in the README and in `docs/benchmarks.md`.
//!
//! `cargo xtask bench` runs all of them in release mode; `--quick` compares the libraries in less than five minutes.
//!
//! There are two programs, which differ in their allocator: `bench` has jemalloc, `bench-system` that of the system. They are
//! built together with the program of `cargo run`, with the same features: see `default-members` in the workspace.

mod child;
mod compare;
mod follow;
mod load;
mod measure;
mod memory;
mod objects;
mod pods;
mod replay;
mod report;
mod watchers;

use clap::{Parser, Subcommand};
use compare::Extent;
use replay::Set;

/// Anything that stops a measurement.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask bench",
    about = "Measures the embedded API server under load, and this library beside client-go and kube-rs"
)]
struct Arguments {
    /// Compares the libraries in less than five minutes, and writes no page
    #[arg(long)]
    quick: bool,
    /// Only shows that every measurement works
    #[arg(long, hide = true)]
    smoke: bool,
    /// How many pods to create
    #[arg(long, default_value_t = 100_000)]
    pods: usize,
    /// How many watchers follow the writes
    #[arg(long, default_value_t = 50)]
    watchers: usize,
    /// How many writes a second they follow
    #[arg(long, default_value_t = 1_000)]
    rate: usize,
    /// For how many seconds
    #[arg(long, default_value_t = 10)]
    seconds: usize,
    /// Measures only the server or only the libraries
    #[arg(long, default_value = "all")]
    measure: Measure,
    /// How often each library is measured; once in a quick run
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Only rows of the comparison with this in their names, for example `sync pods`; nothing is written then
    #[arg(long)]
    only: Option<String>,
    /// Leaves client-go out; nothing is written then
    #[arg(long)]
    without_go: bool,
    /// Regenerates the page from the figures that a whole run has left, without measuring
    #[arg(long, value_name = "FILE")]
    from: Option<std::path::PathBuf>,
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Measure {
    All,
    /// The embedded API server under load
    Server,
    /// This library, client-go and kube-rs
    Libraries,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// The server that is measured, in a process of its own
    #[command(hide = true)]
    Server,
    /// The server that all libraries are compared on, in a process of its own
    #[command(hide = true)]
    Replay {
        set: Set,
        /// How many objects there are
        objects: u64,
        #[arg(long)]
        tls: bool,
    },
    /// One measurement of one library, in a process of its own
    #[command(hide = true)]
    Measure(measure::Settings),
    /// Uses this much memory once, and gives it back
    #[command(hide = true)]
    Touch {
        /// How many bytes
        bytes: usize,
    },
    /// A program that keeps a copy of all pods, in a process of its own
    #[command(hide = true)]
    Follow {
        /// The library that keeps it
        library: follow::Library,
        /// The server's address
        url: String,
        /// How many pods there are
        pods: usize,
    },
}

/// Runs the command line, in a program that has chosen its allocator.
pub async fn run() -> Result<(), Error> {
    let mut arguments = Arguments::parse();
    match arguments.part {
        Some(Part::Server) => return child::serve().await,
        Some(Part::Replay { set, objects, tls }) => return replay::serve(set, objects, tls).await,
        Some(Part::Measure(settings)) => {
            measure::run(settings).await?;
            // Stopping a library is not measured, and may take long.
            std::process::exit(0);
        }
        Some(Part::Touch { bytes }) => {
            memory::touch(bytes);
            return Ok(());
        }
        Some(Part::Follow { library, url, pods }) => return follow::run(library, &url, pods).await,
        None => {}
    }
    if arguments.smoke {
        arguments.pods = arguments.pods.min(500);
        arguments.watchers = arguments.watchers.min(5);
        arguments.rate = arguments.rate.min(200);
        arguments.seconds = 1;
    }
    let only_libraries =
        arguments.quick || arguments.from.is_some() || arguments.measure == Measure::Libraries;
    if !only_libraries {
        measure_server(&arguments).await?;
    }
    if arguments.measure == Measure::Server {
        return Ok(());
    }
    let extent = match (arguments.smoke, arguments.quick) {
        (true, _) => Extent::Smoke,
        (_, true) => Extent::Quick,
        _ => Extent::Full,
    };
    let is_whole = extent == Extent::Full && arguments.only.is_none() && !arguments.without_go;
    let options = compare::Options {
        extent,
        rounds: if extent == Extent::Full { arguments.rounds.max(1) } else { 1 },
        docs: match extent {
            // Shows that the page can be made, and leaves the real one alone.
            Extent::Smoke => Some(std::env::current_exe()?.with_file_name("bench-docs")),
            _ => is_whole.then(compare::default_docs),
        },
        only: arguments.only,
        from: arguments.from,
        without_go: arguments.without_go,
    };
    compare::run(&options).await
}

/// The embedded API server under load.
async fn measure_server(arguments: &Arguments) -> Result<(), Error> {
    let server = child::Server::start().await?;
    let mut report = report::Report::new("kube-testserver under load, and copies of its pods");
    let before = server.resident();

    load::create(&server, arguments.pods, &mut report).await?;
    let json_bytes = load::list(&server, arguments.pods, &mut report).await?;
    memory::weigh(before, server.resident(), arguments.pods, json_bytes, &mut report);
    follow::compare(&server, arguments.pods, &mut report).await?;
    watchers::follow(&server, arguments, &mut report).await?;
    if let (Some(before), Some(after)) = (before, server.resident()) {
        report.row(
            "server resident at the end",
            &format!("{:.0} MB (empty: {:.0} MB)", memory::megabytes(after), memory::megabytes(before)),
        );
    }
    report.print();
    server.stop().await
}
