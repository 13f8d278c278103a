//! kubectl says the same on a real server and on ours.

use std::path::Path;
use std::process::Stdio;

use kube_informer_e2e_judge::ClientGo;
use serde::Deserialize;
use tokio::io::AsyncWriteExt;

use crate::common::is_age;
use crate::{Both, PATIENCE, folder};

/// One call of kubectl.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    /// Its arguments, with a space between.
    run: String,
    #[serde(default)]
    stdin: String,
    /// Why it may print something else.
    #[serde(default)]
    differs: String,
}

/// What one call of kubectl came to.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

async fn kubectl(call: &Call, kubeconfig: &Path, home: &Path) -> Said {
    // Arguments with spaces in them are not needed.
    let arguments = call.run.split(' ');
    let program = ClientGo::program().unwrap_or_else(|why| panic!("{why}"));
    let mut child = tokio::process::Command::new(program)
        .arg("kubectl")
        .args(["--namespace=likeness", "--kubeconfig"])
        .arg(kubeconfig)
        .args(arguments)
        .env("HOME", home)
        .env("KUBECACHEDIR", home.join("cache"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(call.stdin.as_bytes()).await.unwrap();
    let output = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    let output = output.unwrap_or_else(|_| panic!("kubectl {} never ends", call.run)).unwrap();
    Said {
        code: output.status.code(),
        out: common(&String::from_utf8_lossy(&output.stdout)),
        err: common(&String::from_utf8_lossy(&output.stderr)),
    }
}

/// What is the same on both servers: without versions, uids, times, and the width of columns.
fn common(text: &str) -> String {
    let words = |line: &str| match line.trim_start().strip_prefix("resourceVersion: ") {
        Some(_) => "resourceVersion: VERSION".to_owned(),
        None => line.split_whitespace().map(word).collect::<Vec<_>>().join(" "),
    };
    text.lines().map(words).collect::<Vec<_>>().join("\n")
}

fn word(word: &str) -> String {
    let bare = word.trim_matches(|sign: char| "\",".contains(sign));
    let is_time = bare.len() == 20 && bare.ends_with('Z') && bare[10..11] == *"T";
    let is_uid = bare.len() == 36 && bare.matches('-').count() == 4;
    let is_folder = bare.starts_with("/tmp/") && bare.contains("LIVE-") || bare.contains("MERGED-");
    match bare {
        _ if is_age(bare) => "AGE".to_owned(),
        _ if is_time => "TIME".to_owned(),
        _ if is_uid => "UID".to_owned(),
        _ if is_folder => "FILE".to_owned(),
        _ => word.to_owned(),
    }
}

pub(crate) async fn compare(both: &Both) {
    let text = std::fs::read_to_string(folder().join("kubectl.yaml")).unwrap();
    let calls: Vec<Call> = serde_saphyr::from_str(&text).unwrap();
    let home = both.folder.join("home");
    let (real_home, our_home) = (home.join("real"), home.join("ours"));
    let mut differences = Vec::new();
    for call in &calls {
        let (real, ours) = tokio::join!(
            kubectl(call, &both.real_kubeconfig, &real_home),
            kubectl(call, &both.our_kubeconfig, &our_home)
        );
        if real != ours && call.differs.is_empty() {
            differences.push(format!("kubectl {}\n  real: {real:?}\n  ours: {ours:?}", call.run));
        }
        if real == ours && !call.differs.is_empty() {
            differences.push(format!("kubectl {} does not differ any more: {}", call.run, call.differs));
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {} calls differ:\n{}",
        differences.len(),
        calls.len(),
        differences.join("\n")
    );
}
