//! The program, as people start and end it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(unix)]

#[path = "../../controller-manager/tests/program/process.rs"]
mod process;

use std::time::Duration;

use kube_testserver::{Fault, TestServer, Verb};
use process::Process;

fn start(server: &TestServer, arguments: &[&str]) -> Process {
    Process::start(env!("CARGO_BIN_EXE_sample-controller"), server, arguments)
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_works_is_a_clear_error_however_it_is_started() {
    let server = TestServer::start().await.unwrap();
    for arguments in
        [&["--workers", "0"][..], &["--demo", "--workers", "0"], &["--many", "5", "--workers", "0"]]
    {
        let mut program = start(&server, arguments);
        program
            .says("invalid value '0' for '--workers <WORKERS>': nobody would work; it must be 1 or more")
            .await;
        assert_eq!(program.code().await, Some(2), "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_look_at_a_few_foos_has_a_reason() {
    let server = TestServer::start().await.unwrap();
    let mut program = start(&server, &["--many", "20"]);
    program.says("looked at ").await;
    program.says("without reason  0 Foos").await;
    assert_eq!(program.code().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_it_in_good_order_and_a_second_one_at_once() {
    let server = TestServer::start().await.unwrap();
    server.seed(sample_controller::DEFINITION).unwrap();
    let mut program = start(&server, &[]);
    program.says("Starting with 2 workers").await;
    program.signal("-INT");
    program.says("Stopping").await;
    assert_eq!(program.code().await, Some(0));

    let mut program = start(&server, &[]);
    program.says("Starting with 2 workers").await;
    // It is in the middle of its work, and nobody answers.
    let silent = server.inject(Fault::no_reply().on(Verb::Create).resource("deployments"));
    server.seed(include_str!("../deploy/foo.yaml")).unwrap();
    while silent.hits() == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    program.signal("-INT");
    program.says("Stopping").await;
    program.signal("-INT");
    assert_eq!(program.code().await, Some(1), "0 if it had waited for an answer");
}
