//! The program, as people start it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-informer"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    program(arguments).output().unwrap()
}

/// A file that only this test uses.
fn file(name: &str, content: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[track_caller]
fn refused(arguments: &[&str], wanted: &str) {
    let output = run(arguments);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{arguments:?} must fail");
    assert!(error.starts_with("error: ") && error.contains(wanted), "{error}");
    assert_eq!(error.lines().count(), 1, "one line: {error}");
    assert!(output.stdout.is_empty(), "nothing else: {:?}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn what_goes_wrong_is_said_in_one_line() {
    refused(&["serve", "-f", "no-such-file.yaml"], "cannot read no-such-file.yaml");
    let bad = file("bad.yaml", "a: [1\nb: }\n");
    refused(&["serve", "-f", bad.to_str().unwrap()], "not valid YAML");
    let unknown = file("unknown.yaml", "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}");
    refused(&["serve", "-f", unknown.to_str().unwrap()], "does not know the kind \"Widget\"");
    refused(&["serve", "--kubeconfig-out", "no/such/folder/kubeconfig"], "cannot write the kubeconfig");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    refused(&["serve", "--port", &port], "choose another --port");
}

#[test]
fn serve_answers_until_it_is_told_to_stop() {
    let seed = file("seed.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: hello}}");
    let kubeconfig = file("kubeconfig", "");
    let arguments = ["serve", "-f", seed.to_str().unwrap(), "--kubeconfig-out", kubeconfig.to_str().unwrap()];
    let mut server = program(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = lines.by_ref().map(Result::unwrap).find(|line| line.contains("listens on")).unwrap();
    let address = line.rsplit("http://").next().unwrap().to_owned();
    assert!(std::fs::read_to_string(&kubeconfig).unwrap().contains(&address));

    let mut stream = TcpStream::connect(&address).unwrap();
    write!(
        stream,
        "GET /api/v1/namespaces/default/configmaps/hello HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");

    #[cfg(unix)]
    {
        let stop = Command::new("kill").arg(server.id().to_string()).status().unwrap();
        assert!(stop.success());
        assert!(server.wait().unwrap().success(), "it stops in good order");
    }
    #[cfg(not(unix))]
    server.kill().unwrap();
}

#[test]
fn the_demo_shows_what_happens_without_colours_when_nobody_looks() {
    let output = run(&["demo", "--duration", "2"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for wanted in ["ADDED     v1 Namespace            shop", "ADDED     apps/v1 Deployment      shop/web"] {
        assert!(text.contains(wanted), "{text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn a_reader_that_goes_away_ends_the_demo() {
    let mut demo = program(&["demo"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(demo.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    drop(output);
    assert!(demo.wait().unwrap().success());
}
