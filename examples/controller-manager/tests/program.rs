//! The program, as people start and end it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::io::{BufRead, BufReader, Lines};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};

use kube_testserver::{Fault, TestServer};

/// A program that runs, and what it says.
struct Program {
    child: Child,
    said: Lines<BufReader<ChildStderr>>,
    kubeconfig: PathBuf,
}

impl Program {
    fn start(server: &TestServer, arguments: &[&str]) -> Self {
        let port = server.address().port();
        let kubeconfig =
            std::env::temp_dir().join(format!("controller-manager-{}-{port}.yaml", std::process::id()));
        std::fs::write(&kubeconfig, server.kubeconfig()).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_controller-manager"))
            .args(arguments)
            .env("KUBECONFIG", &kubeconfig)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, said, kubeconfig }
    }

    /// Reads until it says this.
    fn says(&mut self, what: &str) -> String {
        let mut heard = Vec::new();
        for line in self.said.by_ref() {
            let line = line.unwrap();
            if line.contains(what) {
                return line;
            }
            heard.push(line);
        }
        panic!("it never said {what:?}, but {heard:?}");
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    fn code(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_is_not_there_is_a_clear_error() {
    let server = TestServer::start().await.unwrap();
    let mut program = Program::start(&server, &["--controllers", "*,-foo"]);
    let said = program.says("there is no controller \"foo\"");
    assert!(said.contains("there are deployment-controller, replicaset-controller, "), "{said}");
    assert_eq!(program.code(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_a_clear_error() {
    let server = TestServer::start().await.unwrap();
    let taken = server.address().to_string();
    let mut program = Program::start(&server, &["--metrics-address", &taken]);
    let said = program.says("cannot serve metrics on");
    assert!(said.contains(&taken) && said.contains("choose another address"), "{said}");
    assert_eq!(program.code(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_in_a_missing_namespace_is_a_clear_error_and_it_leads_when_the_namespace_is_there() {
    let server = TestServer::builder().create_namespaces(false).start().await.unwrap();
    let arguments = ["--leader-elect", "--leader-elect-namespace", "nowhere", "--identity", "one"];
    let mut program = Program::start(&server, &arguments);
    let said = program.says("leader election: cannot create lease nowhere/controller-manager: ");
    assert!(said.contains("namespaces \"nowhere\" not found"), "{said}");
    server.seed("{apiVersion: v1, kind: Namespace, metadata: {name: nowhere}}").unwrap();
    program.says("one leads");
    program.signal("-TERM");
    assert_eq!(program.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_not_there_is_a_clear_error() {
    let server = TestServer::start().await.unwrap();
    let files = ["--tls-cert-file", "no/tls.crt", "--tls-private-key-file", "no/tls.key"];
    let mut program = Program::start(&server, &[&["--metrics-address", "127.0.0.1:0"], &files[..]].concat());
    program.says("cannot serve health over TLS: cannot read no/tls.crt: ");
    assert_eq!(program.code(), Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_it_in_good_order_and_the_lease_is_free() {
    let server = TestServer::start().await.unwrap();
    let arguments = ["--leader-elect", "--leader-elect-namespace", "default", "--identity", "one"];
    let mut program = Program::start(&server, &arguments);
    program.says("one leads");
    program.signal("-TERM");
    program.says("stopping");
    assert_eq!(program.code(), Some(0));
    let lease =
        server.object("coordination.k8s.io/v1/Lease", "default", "controller-manager").unwrap().unwrap();
    assert_eq!(lease["spec"]["holderIdentity"], "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once() {
    let server = TestServer::start().await.unwrap();
    let arguments = ["--leader-elect", "--leader-elect-namespace", "default", "--identity", "one"];
    let mut program = Program::start(&server, &arguments);
    program.says("one leads");
    // It wants to give the lease away, and nobody answers.
    server.inject(Fault::no_reply().resource("leases"));
    program.signal("-TERM");
    program.says("stopping");
    program.signal("-INT");
    assert_eq!(program.code(), Some(1), "0 if it had waited for the lease");
}
