//! kube-controller-manager in the small: runs the controllers of this package on a cluster.
//!
//! ```console
//! $ cargo run -p controller-manager -- --controllers '*,-garbage-collector-controller' --metrics-address 127.0.0.1:8080
//! ```

#![allow(clippy::print_stderr, reason = "it tells people how it is doing")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use controller_manager::Options;
use k8s_openapi::jiff::Timestamp;
use kube_client::Config;
use kube_controller::leader::{
    DEFAULT_LEASE_DURATION, DEFAULT_RENEW_DEADLINE, DEFAULT_RETRY_PERIOD, LeaderElector,
};
use kube_controller::manager::{BoxError, Manager, TlsFiles, stop_on_signal};
use kube_controller::registry::{ClientBuilder, Controllers};

/// Looks after deployments, replica sets, garbage and finished jobs.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// Which controllers run: '*' for all, 'foo' for one, '-foo' for not that one.
    #[arg(long, default_value = "*")]
    controllers: String,

    /// Runs only as long as nobody else leads.
    #[arg(long)]
    leader_elect: bool,

    /// Where the lease of the leader is.
    #[arg(long, default_value = "kube-system")]
    leader_elect_namespace: String,

    /// The name of the lease of the leader.
    #[arg(long, default_value = "controller-manager")]
    leader_elect_name: String,

    /// For how many seconds a lease that is not renewed is respected.
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_LEASE_DURATION.as_secs())]
    leader_elect_lease_duration: u64,

    /// For how many seconds a leader goes on that cannot renew its lease.
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_RENEW_DEADLINE.as_secs())]
    leader_elect_renew_deadline: u64,

    /// How many seconds are between tries to get or keep the lease.
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_RETRY_PERIOD.as_secs())]
    leader_elect_retry_period: u64,

    /// What this process is called as a leader; the name of the host and its process by default.
    #[arg(long)]
    identity: Option<String>,

    /// Serves /healthz and /readyz there.
    #[arg(long)]
    health_address: Option<SocketAddr>,

    /// Serves /metrics there.
    #[arg(long)]
    metrics_address: Option<SocketAddr>,

    /// Serves health and metrics over TLS with the certificate in this file, which is read again when it changes.
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,

    /// The key of the certificate.
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,

    /// Serves /debug/informers and /debug/queues there, on this machine only.
    #[arg(long)]
    debug_address: Option<SocketAddr>,

    /// Controllers start within twice so many seconds, each at a time of its own.
    #[arg(long, default_value_t = 0)]
    start_interval: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("controller-manager: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<(), BoxError> {
    let stop = stop_on_signal()?;
    #[expect(clippy::disallowed_methods, reason = "a program has a clock")]
    let options = Options::new(Timestamp::now).on_report(|what| eprintln!("{what}"));
    let registry = controller_manager::registry(&options)?;
    let chosen = registry.select(&arguments.controllers)?;
    let config = Config::infer().await?;
    let mut manager = Manager::builder();
    let clients = ClientBuilder::counted(config, "controller-manager", manager.metrics());
    if arguments.leader_elect {
        let client = clients.client("leader-election")?;
        let (namespace, name) = (arguments.leader_elect_namespace, arguments.leader_elect_name);
        let identity = arguments.identity.unwrap_or_else(identity);
        let election = LeaderElector::builder(client, namespace, name)
            .identity(identity)
            .lease_duration(Duration::from_secs(arguments.leader_elect_lease_duration))
            .renew_deadline(Duration::from_secs(arguments.leader_elect_renew_deadline))
            .retry_period(Duration::from_secs(arguments.leader_elect_retry_period))
            .release_on_cancel(true)
            .on_new_leader(|leader| eprintln!("{leader} leads"))
            .on_error(|error| eprintln!("leader election: {error}"));
        manager = manager.leader_election(election);
    }
    if let Some(address) = arguments.health_address {
        manager = manager.health_address(address);
    }
    if let Some(address) = arguments.metrics_address {
        manager = manager.metrics_address(address);
    }
    if let Some(address) = arguments.debug_address {
        manager = manager.debug_address(address);
    }
    if let (Some(certificate), Some(key)) = (arguments.tls_cert_file, arguments.tls_private_key_file) {
        let files = TlsFiles::new(certificate, key).on_error(|error| eprintln!("certificate: {error}"));
        manager = manager.health_tls(files.clone()).metrics_tls(files);
    }
    let manager = manager.build().await?;
    eprintln!("controllers: {}", chosen.names().join(", "));
    let controllers = Controllers::builder(clients, registry, chosen)
        .managed_by(&manager)
        .typed_informers(controller_manager::known_kinds)
        .start_interval(Duration::from_secs(arguments.start_interval))
        .build();
    manager.add(controllers)?;
    let stopping = stop.clone();
    tokio::spawn(async move {
        stopping.cancelled().await;
        eprintln!("stopping");
    });
    Ok(manager.run(stop).await?)
}

fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "controller-manager".to_owned());
    format!("{host}_{}", std::process::id())
}
