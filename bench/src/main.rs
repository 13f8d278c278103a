//! Measurements: what the figures in the README are made with.
//!
//! `cargo xtask bench` runs all of them in release mode; `--quick` only checks that they run.

mod child;
mod follow;
mod load;
mod measure;
mod memory;
mod pods;
mod replay;
mod report;
mod watchers;

use clap::{Parser, Subcommand};

/// Anything that stops a measurement.
type Error = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask bench",
    about = "Measures the embedded API server under load, and how fast and small a copy of its pods is"
)]
struct Arguments {
    /// A small run that only shows that everything works
    #[arg(long)]
    quick: bool,
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
    #[command(subcommand)]
    part: Option<Part>,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// The server that is measured, in a process of its own
    #[command(hide = true)]
    Server,
    /// The server that all libraries are compared on, in a process of its own
    #[command(hide = true)]
    Replay {
        /// How many pods there are
        pods: u64,
        /// How many custom objects there are
        widgets: u64,
    },
    /// One measurement of one library, in a process of its own
    #[command(hide = true)]
    Measure(measure::Settings),
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

#[tokio::main]
async fn main() -> Result<(), Error> {
    let mut arguments = Arguments::parse();
    match arguments.part {
        Some(Part::Server) => return child::serve().await,
        Some(Part::Replay { pods, widgets }) => return replay::serve(pods, widgets).await,
        Some(Part::Measure(settings)) => return measure::run(settings).await,
        Some(Part::Follow { library, url, pods }) => return follow::run(library, &url, pods).await,
        None => {}
    }
    if arguments.quick {
        arguments.pods = arguments.pods.min(500);
        arguments.watchers = arguments.watchers.min(5);
        arguments.rate = arguments.rate.min(200);
        arguments.seconds = 1;
    }
    let server = child::Server::start().await?;
    let mut report = report::Report::new("kube-testserver under load, and copies of its pods");
    let before = server.resident();

    load::create(&server, arguments.pods, &mut report).await?;
    let json_bytes = load::list(&server, arguments.pods, &mut report).await?;
    memory::weigh(before, server.resident(), arguments.pods, json_bytes, &mut report);
    follow::compare(&server, arguments.pods, &mut report).await?;
    watchers::follow(&server, &arguments, &mut report).await?;
    if let (Some(before), Some(after)) = (before, server.resident()) {
        report.row(
            "server resident at the end",
            &format!("{:.0} MB (empty: {:.0} MB)", memory::megabytes(after), memory::megabytes(before)),
        );
    }
    report.print();
    server.stop().await
}
