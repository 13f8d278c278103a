//! The contenders, and how each is run.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::Error;
use crate::measure::Figure;
use crate::replay::CERTIFICATE_FILE;
use crate::report::say;

/// A library in one of its configurations, or the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Contender {
    Ours(Residency),
    /// Ours, with the allocator of the system.
    OursOnSystem(Residency),
    /// Ours by default, but managed fields are kept.
    OursKeepManagedFields,
    ClientGo(Way),
    /// client-go with the transform that drops managed fields.
    ClientGoDropManagedFields,
    KubeRs(Way),
    /// A client that reads the same bytes and throws them away.
    Limit,
}

/// How kube-informer stores objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Residency {
    Adaptive,
    Packed,
    Decoded,
}

/// How a library learns which objects there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Way {
    List,
    WatchList,
}

pub(super) const OURS: Contender = Contender::Ours(Residency::Adaptive);
pub(super) const PACKED: Contender = Contender::Ours(Residency::Packed);
pub(super) const DECODED: Contender = Contender::Ours(Residency::Decoded);
pub(super) const ON_SYSTEM: Contender = Contender::OursOnSystem(Residency::Adaptive);
pub(super) const DECODED_ON_SYSTEM: Contender = Contender::OursOnSystem(Residency::Decoded);
pub(super) const CLIENT_GO: Contender = Contender::ClientGo(Way::WatchList);
pub(super) const KUBE_RS: Contender = Contender::KubeRs(Way::WatchList);
pub(super) const OURS_KEEP: Contender = Contender::OursKeepManagedFields;
pub(super) const CLIENT_GO_DROP: Contender = Contender::ClientGoDropManagedFields;
pub(super) const CLIENT_GO_LIST: Contender = Contender::ClientGo(Way::List);
pub(super) const KUBE_RS_LIST: Contender = Contender::KubeRs(Way::List);

impl Contender {
    /// All of them, in the order of tables.
    pub(super) const ALL: [Contender; 12] = [
        OURS,
        PACKED,
        DECODED,
        ON_SYSTEM,
        DECODED_ON_SYSTEM,
        OURS_KEEP,
        CLIENT_GO,
        CLIENT_GO_LIST,
        CLIENT_GO_DROP,
        KUBE_RS,
        KUBE_RS_LIST,
        Contender::Limit,
    ];

    /// What its program finds in its environment.
    fn environment(self) -> Option<(&'static str, String)> {
        let way = match self {
            Contender::ClientGo(way) => way,
            Contender::ClientGoDropManagedFields => Way::WatchList,
            _ => return None,
        };
        Some(("KUBE_FEATURE_WatchListClient", (way == Way::WatchList).to_string()))
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Contender::Ours(Residency::Adaptive) => "ours",
            Contender::Ours(Residency::Packed) => "ours, packed",
            Contender::Ours(Residency::Decoded) => "ours, decoded",
            Contender::OursOnSystem(Residency::Adaptive) => "ours, system malloc",
            Contender::OursOnSystem(Residency::Packed) => "ours, packed, system malloc",
            Contender::OursOnSystem(Residency::Decoded) => "ours, decoded, system malloc",
            Contender::OursKeepManagedFields => "ours, managed fields kept",
            Contender::ClientGoDropManagedFields => "client-go, managed fields dropped",
            Contender::ClientGo(Way::List) => "client-go, LIST",
            Contender::ClientGo(Way::WatchList) => "client-go",
            Contender::KubeRs(Way::List) => "kube-rs, LIST",
            Contender::KubeRs(Way::WatchList) => "kube-rs",
            Contender::Limit => "limit",
        })
    }
}

/// Whose instructions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// Those of the whole program.
    All,
    /// Those of its reads.
    Reads,
}

/// Makes callgrind count only the functions that repeat reads, in Rust and in Go.
const READS: [&str; 2] = ["--toggle-collect=*reads::repeat*", "--toggle-collect=main.repeatRead"];

/// How long one measurement may take.
const TIMEOUT: Duration = Duration::from_secs(300);

/// The programs that measure.
#[derive(Clone, Debug)]
pub(super) struct Programs {
    ours: PathBuf,
    /// None where it was not built.
    on_system: Option<PathBuf>,
    /// None where there is no Go.
    client_go: Option<PathBuf>,
}

impl Programs {
    pub(super) fn new(client_go: Option<PathBuf>) -> Result<Self, Error> {
        let ours = std::env::current_exe()?;
        let on_system = ours.with_file_name(format!("bench-system{}", std::env::consts::EXE_SUFFIX));
        let on_system = on_system.exists().then_some(on_system);
        if on_system.is_none() {
            say("rows with the system's allocator are left out: `bench-system` is not built");
        }
        Ok(Self { ours, on_system, client_go })
    }

    pub(super) fn has(&self, contender: Contender) -> bool {
        self.program(contender).is_some()
    }

    fn program(&self, contender: Contender) -> Option<&Path> {
        match contender {
            Contender::Ours(_)
            | Contender::OursKeepManagedFields
            | Contender::KubeRs(_)
            | Contender::Limit => Some(&self.ours),
            Contender::OursOnSystem(_) => self.on_system.as_deref(),
            Contender::ClientGo(_) | Contender::ClientGoDropManagedFields => self.client_go.as_deref(),
        }
    }

    /// The command that takes a measurement; none if there is no such program.
    fn command(&self, contender: Contender, arguments: &[(&str, String)]) -> Option<(&Path, Vec<String>)> {
        let program = self.program(contender)?;
        let is_go = matches!(contender, Contender::ClientGo(_) | Contender::ClientGoDropManagedFields);
        let dashes = if is_go { "-" } else { "--" };
        let mut all = match contender {
            Contender::ClientGo(_) => ["-ca", CERTIFICATE_FILE].map(str::to_owned).to_vec(),
            Contender::ClientGoDropManagedFields => {
                ["-ca", CERTIFICATE_FILE, "-drop-managed-fields"].map(str::to_owned).to_vec()
            }
            Contender::OursKeepManagedFields => {
                ["measure", "--library", "adaptive", "--keep-managed-fields"].map(str::to_owned).to_vec()
            }
            Contender::Ours(residency) | Contender::OursOnSystem(residency) => {
                let library = format!("{residency:?}").to_lowercase();
                ["measure", "--library", &library].map(str::to_owned).to_vec()
            }
            Contender::KubeRs(way) => {
                let way = if way == Way::List { "list" } else { "watch-list" };
                ["measure", "--library", "kube-rs", "--way", way].map(str::to_owned).to_vec()
            }
            Contender::Limit => ["measure", "--library", "discard"].map(str::to_owned).to_vec(),
        };
        for (name, value) in arguments {
            // Only ours has decoders to choose from.
            if *name == "target" && is_go {
                continue;
            }
            all.extend([format!("{dashes}{name}"), value.clone()]);
        }
        Some((program, all))
    }

    /// Takes one measurement.
    pub(super) async fn measure(
        &self,
        contender: Contender,
        arguments: &[(&str, String)],
    ) -> Result<Vec<Figure>, Error> {
        let (program, all) = self.command(contender, arguments).ok_or("there is no such program")?;
        let mut command = Command::new(program);
        command.args(&all).stdin(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
        command.envs(contender.environment());
        let output = tokio::time::timeout(TIMEOUT, command.output())
            .await
            .map_err(|_| format!("{contender}: {} does not end", all.join(" ")))??;
        if !output.status.success() {
            return Err(format!("{contender}: {} failed: {}", all.join(" "), output.status).into());
        }
        let text = String::from_utf8(output.stdout)?;
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    /// Uses this much memory once, in a process of its own, and gives it back to the system.
    pub(super) async fn touch(&self, bytes: u64) -> Result<(), Error> {
        let arguments = ["touch".to_owned(), bytes.to_string()];
        let status = Command::new(&self.ours).args(arguments).stdin(Stdio::null()).status().await?;
        if status.success() { Ok(()) } else { Err(format!("memory cannot be used: {status}").into()) }
    }

    /// How many instructions a command takes, as valgrind counts them, or a part of it.
    pub(super) async fn instructions(
        &self,
        contender: Contender,
        arguments: &[(&str, String)],
        counted: Counted,
    ) -> Result<f64, Error> {
        let (program, all) = self.command(contender, arguments).ok_or("there is no such program")?;
        let some: &[&str] = match counted {
            Counted::All => &[],
            Counted::Reads => &READS,
        };
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).args(some);
        command.arg(program).args(&all).envs(contender.environment());
        // What else a Go program does is not to come between.
        command.env("GOMAXPROCS", "1").env("GODEBUG", "asyncpreemptoff=1");
        command.stdin(Stdio::null()).kill_on_drop(true);
        let output = tokio::time::timeout(TIMEOUT, command.output())
            .await
            .map_err(|_| "valgrind does not end")?
            .map_err(|error| format!("valgrind cannot be run: {error}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rfind(|line| !line.is_empty()).unwrap_or_default();
        if !output.status.success() {
            return Err(format!("valgrind failed, {}: {last}", output.status).into());
        }
        let line = said.lines().find_map(|line| line.split_once("Collected : "));
        let count: f64 = line.ok_or("valgrind does not say how many there are")?.1.trim().parse()?;
        if count > 0.0 { Ok(count) } else { Err("valgrind has not seen what is to be counted".into()) }
    }
}
