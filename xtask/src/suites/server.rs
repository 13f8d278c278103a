//! A server for one suite.

use std::fs::{DirBuilder, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use kube_informer_e2e_locate::{Program, Sources};
use serde_json::Value;

use super::{Against, end_of};
use crate::e2e;
use crate::sources::cannot;
use crate::step::{self, Failed, Step};

/// A server that is not ready after this time is given up.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The program that is the server.
pub(super) enum Programs {
    Embedded(PathBuf),
    Real(PathBuf),
}

impl Programs {
    /// Builds the program, unless it has been built.
    pub(super) fn build(against: Against) -> Result<Self, Failed> {
        match against {
            Against::Embedded => embedded().map(Self::Embedded),
            Against::Real => {
                e2e::program(Program::ApiServer, false)?;
                let built = Sources::read(Program::ApiServer).and_then(|sources| sources.built());
                built.map(Self::Real).map_err(e2e::failed)
            }
        }
    }
}

/// Builds `kubectl-informer` as the workspace's tests do: with other features, the crates below would be built twice.
fn embedded() -> Result<PathBuf, Failed> {
    let build = ["test", "--workspace", "--test", "program", "--no-run", "--quiet", "--message-format=json"];
    let messages = step::output(&Step::cargo("kubectl-informer", &build))?;
    let program = |line: &[u8]| {
        let message: Value = serde_json::from_slice(line).ok()?;
        let is_program =
            message["target"]["name"] == "kubectl-informer" && message["target"]["kind"][0] == "bin";
        // The program's own tests have the same name.
        let is_program = is_program && message["profile"]["test"] == false;
        is_program.then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
    };
    messages
        .split(|byte| *byte == b'\n')
        .find_map(program)
        .ok_or_else(|| Failed::new("cargo does not say where kubectl-informer is".to_owned()))
}

/// A running server; dropped, it is killed.
pub(super) struct Server {
    process: Child,
    kubeconfig: PathBuf,
}

impl Server {
    /// Starts a server that keeps its files in a folder, and returns when it can be used.
    ///
    /// Both servers run without controllers, as an API server that envtest starts does.
    pub(super) fn start(programs: &Programs, folder: &Path) -> Result<Self, Failed> {
        let kubeconfig = folder.join("kubeconfig");
        let (program, arguments, file): (_, &[&str], _) = match programs {
            Programs::Embedded(program) => (program, &["serve", "--bare", "--kubeconfig-out"], &*kubeconfig),
            // Writes its kubeconfig into the folder.
            Programs::Real(program) => (program, &["--stop-with-stdin", "--dir"], folder),
        };
        let log = folder.join("server.log");
        let log_file = File::create(&log).map_err(|error| cannot("write", &log, &error))?;
        let mut process = Command::new(program)
            .args(arguments)
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log_file)
            .spawn()
            .map_err(|error| cannot("run", program, &error))?;
        let output = process.stdout.take();
        let server = Self { process, kubeconfig };
        let (ready, is_ready) = mpsc::channel();
        // Reads to the end: a server that writes into a closed pipe may stop.
        std::thread::spawn(move || {
            let lines = output.into_iter().flat_map(|output| BufReader::new(output).lines());
            for _ in lines.map_while(Result::ok) {
                let _ = ready.send(());
            }
        });
        // Both write a line when they listen, and nothing before.
        match is_ready.recv_timeout(START_LIMIT) {
            Ok(()) => Ok(server),
            Err(_) => {
                let (program, log) = (program.display(), end_of(&log));
                Err(Failed::new(format!("{program} did not start; the end of its log:\n{log}")))
            }
        }
    }

    /// The path of a kubeconfig for a cluster admin.
    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A new folder that only this user can read; removed when dropped, unless `KUBE_INFORMER_E2E_KEEP=1`.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Result<Self, Failed> {
        let folder = std::env::temp_dir().join(format!("kube-informer-suites-{}", std::process::id()));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&folder).map_err(|error| cannot("make", &folder, &error))?;
        Ok(Self(folder))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::env::var_os("KUBE_INFORMER_E2E_KEEP").is_some_and(|set| set == "1") {
            step::say(&format!("the files of the suites are in {}", self.0.display()));
        } else {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
