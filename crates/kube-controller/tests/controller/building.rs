//! Settings that make no controller.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_controller::controller::BuildError;
use kube_informer::SharedInformerFactory;

use super::*;

#[tokio::test(start_paused = true)]
async fn settings_that_make_no_sense_are_refused_in_words() {
    let server = server("").await;
    let factory = SharedInformerFactory::new(server.in_process_client());
    let (configs, secrets) = (factory.of::<ConfigMap>().unwrap(), factory.of::<Secret>().unwrap());
    let nothing = || write_down(&Log::default());
    let error = Controller::builder("").for_(&configs).build(nothing()).unwrap_err();
    assert_eq!(error, BuildError::NoName);
    let error = Controller::builder("x").build(nothing()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the controller \"x\" has nothing to listen to; give it a kind (`for_`, `watches`) or a source"
    );
    let error = Controller::builder("x").for_(&configs).for_(&secrets).build(nothing()).unwrap_err();
    assert!(matches!(error, BuildError::TwoKinds { .. }));
    let error = Controller::builder("x").owns(&secrets).build(nothing()).unwrap_err();
    assert!(error.to_string().contains("owns secrets, but is for no kind"), "{error}");
    let error = Controller::builder("x").for_(&configs).concurrency(0).build(nothing()).unwrap_err();
    assert!(matches!(error, BuildError::NoWorkers { .. }));
    let error = Controller::builder("x").run(CancellationToken::new(), nothing()).await.unwrap_err();
    assert!(matches!(error, ControllerError::Build(BuildError::NoSource { .. })));
    // What is owned may be said before by whom.
    let built = Controller::builder("x").owns(&secrets).for_(&configs).build(nothing()).unwrap();
    assert_eq!((built.name(), built.needs_leader(), built.warms_up()), ("x", true, false));
    let built = Controller::builder("x").for_(&configs).needs_leader(false).build(nothing()).unwrap();
    assert!(!built.needs_leader());
}
