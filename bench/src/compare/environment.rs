//! The environment of a run: client-go's program, versions, the machine and its noise.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::Error;
use crate::report::say;

/// The folder of client-go's program.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clientgo")
}

/// Builds client-go's program beside this one. None, with a notice, where there is no Go or its modules cannot be
/// loaded; that is an error only if `needed`.
pub(super) fn build(needed: bool) -> Result<Option<PathBuf>, Error> {
    let go = |arguments: &[&str]| {
        let mut command = Command::new("go");
        command.args(arguments).current_dir(folder()).env("GOWORK", "off");
        command.output()
    };
    let missing = match go(&["mod", "download"]) {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Some(format!("Go cannot be run: {error}")),
    };
    match missing {
        Some(why) if needed => {
            return Err(
                format!("client-go cannot be compared: {why}; with --without-go it is left out").into()
            );
        }
        Some(why) => {
            say(&format!("client-go is left out: {why}"));
            return Ok(None);
        }
        None => {}
    }
    let program = std::env::current_exe()?.with_file_name("bench-clientgo");
    let output = go(&["build", "-buildvcs=false", "-o", &program.to_string_lossy(), "."])?;
    if !output.status.success() {
        return Err(format!(
            "client-go's program cannot be built: {}",
            String::from_utf8_lossy(&output.stderr)
        )
        .into());
    }
    Ok(Some(program))
}

/// Versions of what is compared, for people.
pub(super) fn versions() -> Vec<String> {
    let first_line = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().ok()?;
        String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
    };
    let go_module = std::fs::read_to_string(folder().join("go.mod")).unwrap_or_default();
    let client_go = go_module.lines().find_map(|line| line.trim().strip_prefix("k8s.io/client-go "));
    let lock = include_str!("../../../Cargo.lock");
    let locked = |name: &str| {
        let package =
            lock.split("[[package]]").find(|package| package.contains(&format!("name = \"{name}\"")))?;
        let version = package.lines().find_map(|line| line.strip_prefix("version = "))?;
        Some(format!("{name} {}", version.trim_matches('"')))
    };
    let versions = [
        locked("kube-informer"),
        commit(),
        client_go.map(|version| format!("client-go {version}")),
        locked("kube-runtime"),
        locked("k8s-openapi"),
        first_line("rustc", &["--version"]),
        first_line("go", &["version"]),
        first_line("valgrind", &["--version"]),
    ];
    versions.into_iter().flatten().collect()
}

/// The commit that is measured, and whether files differ from it; none outside a repository.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changed = !git(&["status", "--porcelain"])?.is_empty();
    Some(format!("commit {commit}{}", if changed { " with changes" } else { "" }))
}

/// What other programs and the host took of the machine between measurements.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Noise {
    all: f64,
    busy: f64,
    stolen: f64,
    samples: u32,
    noisy: u32,
}

impl Noise {
    /// Above this the machine was not quiet.
    const LIMIT: f64 = 0.05;

    /// Above this a single sample was noisy.
    const SAMPLE_LIMIT: f64 = 0.2;

    /// Watches the machine for a moment in which no measurement runs.
    pub(super) async fn sample(&mut self) {
        let before = ticks();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let after = ticks();
        let [all, busy, stolen] = std::array::from_fn(|field| after[field] - before[field]);
        self.all += all;
        self.busy += busy;
        self.stolen += stolen;
        self.samples += 1;
        self.noisy += u32::from(busy + stolen > Self::SAMPLE_LIMIT * all);
    }

    /// Says whether the machine was quiet.
    pub(super) fn verdict(&self) -> String {
        if self.all == 0.0 {
            return "Whether the machine was quiet is not known.".to_owned();
        }
        let [busy, stolen] = [self.busy, self.stolen].map(|part| part / self.all.max(1.0));
        let is_quiet = busy + stolen <= Self::LIMIT;
        let verdict = if is_quiet { "The machine was quiet" } else { "The machine was NOT quiet" };
        format!(
            "{verdict}: between measurements other programs took {:.1} % of its cores and its host {:.1} %; {} of {} samples \
            were above {:.0} %.",
            busy * 100.0,
            stolen * 100.0,
            self.noisy,
            self.samples,
            Self::SAMPLE_LIMIT * 100.0
        )
    }
}

/// How many ticks all cores have had, have worked for programs, and were taken away by the host.
fn ticks() -> [f64; 3] {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let fields: Vec<f64> = line.split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    let of = |fields: &[f64]| fields.iter().sum::<f64>();
    match fields[..] {
        [user, nice, system, idle, wait, irq, soft, stolen, ..] => {
            let busy = [user, nice, system, irq, soft];
            [of(&busy) + idle + wait + stolen, of(&busy), stolen]
        }
        _ => [0.0; 3],
    }
}

/// Describes the machine.
pub(super) fn machine() -> String {
    let read = |file: &str, field: &str| {
        let text = std::fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(field))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let model = read("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = read("/proc/meminfo", "MemTotal").and_then(|text| {
        let kilobytes: f64 = text.split_whitespace().next()?.parse().ok()?;
        Some(format!(", {:.0} GiB of memory", kilobytes / 1024.0 / 1024.0))
    });
    format!("{model}, {cores} cores{}, {}", memory.unwrap_or_default(), std::env::consts::OS)
}
