//! Many Foos at once: each is looked at when there is a reason, and written to once.

use super::*;

#[tokio::test(start_paused = true)]
async fn nothing_is_reconciled_or_written_without_a_reason() {
    const FOOS: usize = 300;
    let server = TestServer::start().await.unwrap();
    let taken = sample_controller::many::run(&server, server.in_process_client(), FOOS, 2).await.unwrap();
    assert_eq!(taken.controller.errors, 0, "{:?}", taken.controller.last_failure);
    assert_eq!(taken.reasons, 3 * FOOS, "it is there, its Deployment is made, its Deployment changes");
    let reconciles = usize::try_from(taken.controller.reconciles).unwrap();
    assert!((FOOS..=taken.reasons).contains(&reconciles), "{taken}");
    // Not in sum alone: none makes up for another.
    assert!(taken.without_reason.is_empty(), "{:?}", taken.without_reason);
    assert_eq!(taken.looks.values().sum::<usize>(), FOOS);
    assert_eq!(taken.looks.iter().map(|(times, foos)| times * foos).sum::<usize>(), reconciles);
    assert!(taken.looks.keys().all(|times| (1..=3).contains(times)), "{taken}");
    let writes = writes(&server);
    let count = |resource: &str, verb: Verb| {
        writes.iter().filter(|write| write.resource == resource && write.verb == Some(verb)).count()
    };
    assert_eq!(count("deployments", Verb::Create), FOOS);
    assert_eq!(count("deployments", Verb::Patch), FOOS, "by those who run them");
    assert_eq!(count("deployments", Verb::Update), 0);
    assert!(count("foos", Verb::Patch) <= 2 * FOOS, "none available, all available");
    for number in 0..FOOS {
        let foo = read_foo(&server, &format!("foo-{number}"));
        assert_eq!(foo.status, available(2));
        assert_eq!(foo.metadata.generation, Some(1));
    }
}
