//! The program, as people start it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use kube_testserver::{Rule, TestServer};
use serde_json::Value;

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-informer"));
    command.args(arguments).stdin(Stdio::null());
    // What is set where the tests run is none of their business.
    for name in ["KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "https_proxy", "NO_COLOR"] {
        command.env_remove(name);
    }
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

/// A server in this process, for programs in others.
struct Cluster {
    server: TestServer,
    runtime: tokio::runtime::Runtime,
}

impl Cluster {
    fn start() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let server = runtime.block_on(TestServer::builder().create_namespaces(true).start()).unwrap();
        Self { server, runtime }
    }

    fn config_map(&self, namespace: &str, name: &str, value: &str) {
        let metadata = format!("{{name: {name}, namespace: {namespace}, labels: {{app: {name}}}}}");
        let object =
            format!("{{apiVersion: v1, kind: ConfigMap, metadata: {metadata}, data: {{a: {value}}}}}");
        let _guard = self.runtime.enter();
        self.server.seed(&object).unwrap();
    }

    /// The path of a kubeconfig, after changing it.
    fn kubeconfig(&self, name: &str, change: impl FnOnce(String) -> String) -> String {
        file(name, &change(self.server.kubeconfig())).to_str().unwrap().to_owned()
    }
}

/// What a run printed, on stdout and on stderr, until it was stopped after this had been printed on stdout.
#[cfg(unix)]
#[track_caller]
fn stopped_after(arguments: &[&str], mut enough: impl FnMut(&str) -> bool) -> (Vec<String>, Vec<String>) {
    let mut child = program(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut rest = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut printed: Vec<String> = Vec::new();
    while printed.last().is_none_or(|line| !enough(line)) {
        let Some(line) = rest.next() else { panic!("{arguments:?} ended too early: {printed:?}") };
        printed.push(line);
    }
    signal(&child, "-INT");
    printed.extend(rest);
    let notes = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap).collect();
    assert!(child.wait().unwrap().success(), "{notes:?}");
    (printed, notes)
}

/// Waits for a line with this in it.
#[track_caller]
fn wait_for(lines: &mut impl Iterator<Item = std::io::Result<String>>, wanted: &str) -> String {
    let found = lines.map(Result::unwrap).find(|line| line.contains(wanted));
    found.unwrap_or_else(|| panic!("the program ended without saying {wanted:?}"))
}

#[cfg(unix)]
fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
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
fn a_kubeconfig_that_cannot_be_used_is_said_in_one_line() {
    let watch =
        |kubeconfig: &str, wanted: &str| refused(&["watch", "pods", "--kubeconfig", kubeconfig], wanted);
    watch(
        "no-such-file",
        "there is no kubeconfig at no-such-file; name one with --kubeconfig or $KUBECONFIG",
    );
    watch(env!("CARGO_TARGET_TMPDIR"), "cannot read the kubeconfig");
    let path = |name: &str, content: &str| file(name, content).to_str().unwrap().to_owned();
    watch(&path("not-yaml", "a: ["), "not-yaml is not a kubeconfig: line 1 column 4");
    watch(&path("no-context", "{}"), "the kubeconfig has no current context; choose one with --context");
    let half = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("half");
    std::fs::write(&half, [0xff, 0xfe, 0]).unwrap();
    watch(half.to_str().unwrap(), "half is not a kubeconfig: it ends in the middle of a letter");

    let mut homeless = program(&["watch", "pods"]);
    let output = homeless.env("HOME", "/no-such-home").output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains("there is no kubeconfig at /no-such-home/.kube/config"), "{error}");
}

#[test]
fn a_server_that_cannot_be_asked_is_said_in_one_line() {
    let cluster = Cluster::start();
    let good = cluster.kubeconfig("good", |text| text);
    refused(
        &["watch", "pods", "--kubeconfig", &good, "--context", "other"],
        "the kubeconfig has no context \"other\"; choose one of kube-testserver",
    );
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = cluster.server.url();
    let gone = cluster.kubeconfig("gone", |text| text.replace(&url, &format!("http://{free}")));
    refused(&["watch", "pods", "--kubeconfig", &gone], "cannot reach the API server at http://127.0.0.1:");
    let stranger = cluster.kubeconfig("stranger", |text| text.replace("token: ", "token: not-"));
    refused(
        &["watch", "pods", "--kubeconfig", &stranger],
        "does not know who you are (Unauthorized); check the user",
    );
    let nowhere = cluster.kubeconfig("nowhere", |text| text.replace(&url, &format!("{url}/elsewhere")));
    refused(
        &["watch", "pods", "--kubeconfig", &nowhere],
        "check that the address is that of a Kubernetes API server",
    );
}

#[test]
fn what_cannot_be_watched_is_said_in_one_line() {
    let cluster = Cluster::start();
    cluster.server.access().add_user("t", "alice", ["devs"]);
    cluster.server.access().set_rules([Rule::deny().resources(["secrets"]), Rule::allow()]);
    let alice = cluster.kubeconfig("alice", |text| text.replace("kube-testserver-admin", "t"));
    let watch = |arguments: &[&str], wanted: &str| {
        refused(&[&["watch", "--kubeconfig", &alice], arguments].concat(), wanted);
    };
    watch(&["pods,deploymets"], "the server has no resource \"deploymets\"; did you mean deployments.apps?");
    watch(&[","], "no resource is named; say which");
    watch(&["tokenreviews"], "tokenreviews.authentication.k8s.io cannot be followed");
    watch(&["pod/web"], "say: pod --field-selector metadata.name=web");
    watch(&["pods", "secrets"], "cannot watch secrets: secrets is forbidden: User \"alice\" cannot ");
    watch(&["secrets"], "in the namespace \"default\"; ask for the right to list and watch it");
    watch(&["pods", "-l", "a=b=c"], "; check -l and --field-selector");
    watch(&["pods", "--field-selector", "spec.color=red"], "field label not supported: spec.color; check -l");
    watch(&["pods", "-n", "a/b"], "\"a/b\" is not a name of a namespace");
}

#[cfg(unix)]
#[test]
fn watch_shows_the_namespace_and_the_labels_that_are_asked_for() {
    let cluster = Cluster::start();
    for (namespace, name) in [("default", "here"), ("other", "there"), ("other", "also")] {
        cluster.config_map(namespace, name, "x");
    }
    let kubeconfig = cluster.kubeconfig("namespaces", |text| text);
    let mut writes = 0;
    // What is there comes before a change of it.
    let mut watch = |arguments: &[&str], namespace: &str, name: &str| {
        let mut asked = false;
        let all = [&["watch", "--kubeconfig", &kubeconfig], arguments].concat();
        let (lines, _) = stopped_after(&all, |line| {
            if !std::mem::replace(&mut asked, true) {
                writes += 1;
                cluster.config_map(namespace, name, &format!("v{writes}"));
            }
            line.starts_with("MODIFIED")
        });
        let mut there: Vec<String> = lines.into_iter().filter(|line| line.starts_with("ADDED")).collect();
        there.sort();
        there
    };
    let here = watch(&["cm"], "default", "here");
    assert_eq!(here, ["ADDED     v1 ConfigMap            default/here          1 key"]);
    let others = [
        "ADDED     v1 ConfigMap            other/also            1 key",
        "ADDED     v1 ConfigMap            other/there           1 key",
    ];
    assert_eq!(watch(&["configmaps", "-n", "other"], "other", "also"), others);
    assert_eq!(watch(&["ConfigMap", "-A"], "other", "also").len(), 3);
    assert_eq!(watch(&["cm", "-A", "-l", "app in (here,also)"], "other", "also").len(), 2);
    let named = watch(&["cm", "-A", "--field-selector", "metadata.name=there"], "other", "there");
    assert_eq!(named, others[1..]);
}

#[cfg(unix)]
#[test]
fn kinds_without_a_namespace_and_kinds_named_twice_are_shown_once() {
    let cluster = Cluster::start();
    cluster.config_map("other", "a", "x");
    let kubeconfig = cluster.kubeconfig("twice", |text| text);
    let mut left = 6;
    let arguments =
        ["watch", "cm,ns", "ConfigMap", "configmaps.v1.", "-n", "other", "--kubeconfig", &kubeconfig];
    let (lines, _) = stopped_after(&arguments, |_| {
        left -= 1;
        left == 0
    });
    let count =
        |kind: &str| lines.iter().filter(|line| line.starts_with(&format!("ADDED     v1 {kind} "))).count();
    assert_eq!((count("Namespace"), count("ConfigMap"), lines.len()), (5, 1, 6), "{lines:?}");
}

#[cfg(unix)]
#[test]
fn watch_shows_the_embedded_cluster_in_columns_and_how_it_goes_beside() {
    let (lines, notes) =
        stopped_after(&["watch", "deploy,po", "Namespace", "--embedded", "--status", "0.2"], |line| {
            line.starts_with("MODIFIED  v1 Pod  ") && line.contains("status.phase Pending → Running")
        });
    for wanted in [
        "ADDED     v1 Namespace            shop                  Active",
        "ADDED     apps/v1 Deployment      shop/web              0 of 3 ready",
    ] {
        assert!(lines.iter().any(|line| line == wanted), "{lines:?}");
    }
    for line in &lines {
        assert!(["ADDED   ", "MODIFIED", "DELETED "].iter().any(|kind| line.starts_with(kind)), "{line}");
        assert!(line.get(32..34) == Some("  ") && line.get(34..35) != Some(" "), "{line}");
    }
    assert!(notes[0].starts_with("STATUS    deployments.apps        "), "{notes:?}");
    assert!(notes.last().unwrap().starts_with("stopped in good order: "), "{notes:?}");
    assert!(!lines.iter().chain(&notes).any(|line| line.contains('\u{1b}')));
}

#[cfg(unix)]
#[test]
fn every_line_of_json_is_one_event() {
    let arguments = ["watch", "deploy,ns", "--embedded", "-o", "json", "--status", "0.5"];
    let revision = "metadata.annotations[deployment.kubernetes.io/revision]";
    let (lines, _) = stopped_after(&arguments, |line| line.contains("MODIFIED") && line.contains(revision));
    let events: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in &events {
        let keys: Vec<&str> = event.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["changed", "finalStateUnknown", "initial", "object", "type"]);
        assert!(event["object"]["metadata"]["uid"].is_string() && event["object"]["apiVersion"].is_string());
    }
    let find = |kind: &str, name: &str| {
        let is_it = |event: &&Value| event["type"] == kind && event["object"]["metadata"]["name"] == name;
        events.iter().find(is_it).unwrap_or_else(|| panic!("{kind} {name} in {lines:?}"))
    };
    assert_eq!(find("ADDED", "default")["initial"], true);
    assert_eq!(find("ADDED", "shop")["initial"], false);
    assert_eq!(find("ADDED", "default")["object"]["kind"], "Namespace");
    let changed: Vec<&Value> = events.iter().map(|event| &event["changed"]).collect();
    assert!(changed.contains(&&serde_json::json!([{"path": revision, "new": "1"}])), "{changed:?}");
}

#[cfg(unix)]
#[test]
fn a_kind_that_becomes_forbidden_is_said_once_and_once_more_when_it_works_again() {
    let cluster = Cluster::start();
    let access = cluster.server.access();
    access.add_user("t", "alice", ["devs"]);
    let alice = cluster.kubeconfig("alice-later", |text| text.replace("kube-testserver-admin", "t"));
    cluster.config_map("default", "a", "x");
    let mut watch = program(&["watch", "cm", "secrets", "--kubeconfig", &alice, "--status", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut events = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut notes = BufReader::new(watch.stderr.take().unwrap()).lines();
    wait_for(&mut events, "default/a");

    access.set_rules([Rule::deny().resources(["configmaps"]), Rule::allow()]);
    cluster.server.stop_watches();
    let said = wait_for(&mut notes, "configmaps");
    assert!(said.starts_with("configmaps: configmaps is forbidden: User \"alice\""), "{said}");
    access.set_rules([]);
    let said = notes.next().unwrap().unwrap();
    assert_eq!(said, "configmaps: works again", "and nothing in between");
    cluster.config_map("default", "b", "x");
    wait_for(&mut events, "default/b");
    signal(&watch, "-INT");
    assert!(watch.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn a_reader_that_does_not_read_keeps_nobody_from_stopping_it() {
    let cluster = Cluster::start();
    let value = "x".repeat(10_000);
    for name in 0..100 {
        cluster.config_map("default", &format!("c{name}"), &value);
    }
    let kubeconfig = cluster.kubeconfig("unread", |text| text);
    let mut watch = program(&["watch", "cm", "-o", "json", "--kubeconfig", &kubeconfig, "--duration", "0.5"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut unread = BufReader::new(watch.stdout.take().unwrap());
    assert!(watch.wait().unwrap().success());
    let mut rest = String::new();
    unread.read_to_string(&mut rest).unwrap();
    assert!(
        !rest.is_empty() && rest.lines().count() < 100,
        "it has to have been stuck: {}",
        rest.lines().count()
    );
}

#[test]
fn serve_answers_until_it_is_told_to_stop() {
    let seed = file("seed.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: hello}}");
    let kubeconfig = file("kubeconfig", "");
    let arguments = ["serve", "-f", seed.to_str().unwrap(), "--kubeconfig-out", kubeconfig.to_str().unwrap()];
    let mut server = program(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let line = wait_for(&mut lines, "listens on");
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
        signal(&server, "-TERM");
        assert!(server.wait().unwrap().success(), "it stops in good order");
    }
    #[cfg(not(unix))]
    server.kill().unwrap();
}

#[cfg(unix)]
#[test]
fn a_kubeconfig_is_private_and_never_written_through_a_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let other = file("other-file", "theirs");
    let link = other.with_file_name("a-link");
    // An earlier run may have left it.
    let _ = std::fs::remove_file(&link);
    symlink(&other, &link).unwrap();
    refused(&["serve", "--kubeconfig-out", link.to_str().unwrap()], "there is a link");
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "theirs");

    let kubeconfig = file("readable-by-all", "old");
    std::fs::set_permissions(&kubeconfig, PermissionsExt::from_mode(0o644)).unwrap();
    let arguments = ["serve", "--kubeconfig-out", kubeconfig.to_str().unwrap()];
    let (_, _) = stopped_after(&arguments, |line| line.contains("listens on"));
    assert!(std::fs::read_to_string(&kubeconfig).unwrap().starts_with("apiVersion: v1"));
    assert_eq!(std::fs::metadata(&kubeconfig).unwrap().permissions().mode() & 0o777, 0o600);
}

#[cfg(unix)]
#[test]
fn the_demo_shows_a_foo_become_pods_and_go_again_without_colours_when_nobody_looks() {
    let mut created = 0;
    let (lines, notes) = stopped_after(&["demo", "--pause", "0.2"], |line| {
        created += usize::from(line.starts_with("STEP      A Foo is created"));
        created == 2
    });
    assert!(notes.is_empty(), "{notes:?}");
    assert!(!lines.iter().any(|line| line.contains('\u{1b}')));
    // A step is said before it is done, so what follows from it comes after it.
    let mut rest = lines.as_slice();
    let mut expect = |step: &str, follows: &[&[&str]]| {
        let at = rest.iter().position(|line| line.starts_with("STEP") && line.contains(step));
        rest = &rest[at.unwrap_or_else(|| panic!("{step} in {lines:#?}"))..];
        for words in follows {
            let is_it = |line: &&String| words.iter().all(|word| line.contains(word));
            assert!(rest.iter().any(|line| is_it(&line)), "{words:?} after {step} in {lines:#?}");
        }
    };
    expect(
        "A Foo is created: shop/web wants 3 replicas",
        &[
            &["ADDED", "samplecontroller.k8s.io/v1alpha1 Foo", "shop/web", "0 of 3 replicas available"],
            &["ADDED", "apps/v1 Deployment", "shop/web", "0 of 3 ready"],
            &["ADDED", "apps/v1 ReplicaSet", "shop/web-", "0 of 3 ready"],
            &["ADDED", "v1 Pod", "shop/web-", "Pending"],
            &["MODIFIED", "v1 Pod", "shop/web-", "spec.nodeName none → node-"],
            &["MODIFIED", "v1 Pod", "shop/web-", "status.phase Pending → Running"],
            &["MODIFIED", "v1alpha1 Foo", "shop/web", "→ 3"],
        ],
    );
    expect(
        "The Foo is scaled up: shop/web wants 5 replicas",
        &[
            &["MODIFIED", "v1alpha1 Foo", "shop/web", "spec.replicas 3 → 5"],
            &["MODIFIED", "apps/v1 Deployment", "shop/web", "spec.replicas 3 → 5"],
            &["MODIFIED", "apps/v1 ReplicaSet", "shop/web-", "spec.replicas 3 → 5"],
            &["ADDED", "v1 Pod", "shop/web-"],
        ],
    );
    expect(
        "The Foo is scaled down: shop/web wants 2 replicas",
        &[&["MODIFIED", "v1alpha1 Foo", "spec.replicas 5 → 2"], &["DELETED", "v1 Pod", "shop/web-"]],
    );
    expect(
        "The Deployment gets the image nginx:1.29",
        &[
            &["MODIFIED", "apps/v1 Deployment", "image nginx:latest → nginx:1.29"],
            &["ADDED", "apps/v1 ReplicaSet", "shop/web-"],
        ],
    );
    expect("A Pod is deleted: shop/web-", &[&["DELETED", "v1 Pod", "shop/web-"], &["ADDED", "v1 Pod"]]);
    expect(
        "The Foo is deleted: shop/web",
        &[
            &["DELETED", "v1alpha1 Foo", "shop/web"],
            &["DELETED", "apps/v1 Deployment", "shop/web"],
            &["DELETED", "apps/v1 ReplicaSet", "shop/web-"],
            &["DELETED", "v1 Pod", "shop/web-"],
        ],
    );
    expect("A Foo is created: shop/cart wants 3 replicas", &[]);
    for kind in ["namespaces", "foos.samplecontroller.k8s.io", "deployments.apps", "replicasets.apps", "pods"]
    {
        assert!(lines.iter().any(|line| line.starts_with(&format!("STATUS    {kind} "))), "{kind}");
    }
}

#[test]
fn the_demo_ends_after_the_time_that_was_given() {
    let output = run(&["demo", "--duration", "0.2"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    assert!(text.lines().last().unwrap().starts_with("stopped in good order: "), "{text}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_demo_in_good_order() {
    for name in ["-INT", "-TERM"] {
        let mut demo = program(&[]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(demo.stdout.take().unwrap()).lines();
        wait_for(&mut lines, "shop/web");
        signal(&demo, name);
        let last = lines.map(Result::unwrap).last().unwrap();
        assert!(
            last.starts_with("stopped in good order: ") && last.contains("the server answered"),
            "{last}"
        );
        assert!(demo.wait().unwrap().success());
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_demo() {
    let mut demo = program(&["demo"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut output = BufReader::new(demo.stdout.take().unwrap());
    output.read_line(&mut String::new()).unwrap();
    drop(output);
    assert!(demo.wait().unwrap().success());
}
