//! The plug is pulled at every step of a reconcile, and the next process brings everything to the same end.

use std::collections::BTreeSet;

use kube_testserver::{Fault, InjectedFault};

use super::*;

/// How a write ends when the process dies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Dies {
    /// The request never arrives.
    Before,
    /// It has been done, and nobody hears of it.
    After,
}

/// What happens on a server: a Foo is there, then it is scaled, then its Deployment is deleted.
async fn story(server: &TestServer, step: &str) {
    match step {
        "made" => server.put(&foo("web", "web", 3)).unwrap(),
        "scaled" => {
            server.mutate(FOO, "default", "web", |foo| foo["spec"]["replicas"] = json!(5)).unwrap();
        }
        _ => server.delete(DEPLOYMENT, "default", "web").unwrap(),
    }
}

const STEPS: [&str; 3] = ["made", "scaled", "deleted"];

/// What is there in the end, without what is different in each run.
fn end_state(server: &TestServer) -> Value {
    let clean = |mut object: Value| {
        let metadata = object["metadata"].as_object_mut().unwrap();
        for field in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
            metadata.remove(field);
        }
        for owner in metadata.get_mut("ownerReferences").and_then(Value::as_array_mut).into_iter().flatten() {
            owner.as_object_mut().unwrap().remove("uid");
        }
        // How often it was written differs: a deleted one that is made anew begins again.
        metadata.remove("generation");
        object
    };
    let all = [FOO, DEPLOYMENT]
        .map(|kind| server.objects(kind).unwrap().into_iter().map(clean).collect::<Vec<_>>());
    let reasons: BTreeSet<String> = events(server).into_iter().collect();
    json!({"foos": all[0], "deployments": all[1], "events": reasons})
}

/// Nobody can write any more, after so many writes of the controller.
fn die_at(server: &TestServer, write: u64, dies: Dies) -> [InjectedFault; 2] {
    let on_writes = |fault: Fault| fault.on(Verb::Create).on(Verb::Update).on(Verb::Patch);
    let strike = match dies {
        Dies::Before => Fault::no_reply(),
        Dies::After => Fault::lost_reply(),
    };
    // The first to be struck, and then, so that a process that lives on for a moment does nothing, all others.
    [
        server.inject(on_writes(strike).skip(write).times(1)),
        server.inject(on_writes(Fault::no_reply()).skip(write + 1)),
    ]
}

/// Plays one step of the story, with or without a crash at one of the writes. True if there was such a write.
async fn play(server: &TestServer, step: &str, crash: Option<(u64, Dies)>) -> bool {
    let mut process = Process::start(server);
    tokio::time::sleep(S).await;
    let faults = crash.map(|(write, dies)| die_at(server, write, dies));
    story(server, step).await;
    tokio::time::sleep(S).await;
    let crashed = faults.as_ref().is_some_and(|[strike, _]| strike.hits() > 0);
    if crashed {
        process.crash().await;
        server.clear_faults();
        process = Process::start(server);
        tokio::time::sleep(S).await;
    }
    server.clear_faults();
    assert_eq!(process.handle.status().waiting, 0);
    process.end().await;
    crashed
}

async fn all_steps(crash_in: Option<(&str, u64, Dies)>) -> (Value, bool) {
    let server = server().await;
    let mut crashed = false;
    for step in STEPS {
        let crash = crash_in.filter(|(at, ..)| *at == step).map(|(_, write, dies)| (write, dies));
        crashed |= play(&server, step, crash).await;
    }
    (end_state(&server), crashed)
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_write_leads_to_the_same_end() {
    let (expected, _) = all_steps(None).await;
    assert_eq!(expected["deployments"][0]["spec"]["replicas"], 5);
    assert_eq!(expected["foos"][0]["status"], json!({"availableReplicas": 0}));
    let mut crashes = 0;
    for step in STEPS {
        for dies in [Dies::Before, Dies::After] {
            for write in 0.. {
                let (end, crashed) = all_steps(Some((step, write, dies))).await;
                if !crashed {
                    break;
                }
                crashes += 1;
                assert_eq!(end, expected, "{step}, write {write}, {dies:?}");
            }
        }
    }
    // The Deployment, the status and the event of the first; the Deployment and the event of the others.
    assert!(crashes >= 2 * (3 + 2 + 2), "{crashes}");
}
