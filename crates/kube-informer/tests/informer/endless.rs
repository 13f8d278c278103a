//! Servers whose lists never end, or are larger than a client takes.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use http::{Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Client;
use kube_client::client::Body;
use kube_informer::informer::SharedInformer;
use kube_informer::reflector::Config;
use kube_informer::source::{KubeSource, Listed, list_all};

/// A server with nothing but pages: each is made of its number and the continue token that was asked with.
fn server(page: impl Fn(u64, &str) -> String + Send + Sync + 'static) -> (Client, Arc<AtomicU64>) {
    let (pages, page) = (Arc::new(AtomicU64::new(0)), Arc::new(page));
    let counted = Arc::clone(&pages);
    let service = tower::service_fn(move |request: Request<Body>| {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        let query = request.uri().query().unwrap_or_default().as_bytes().to_vec();
        let parameter = |name: &str| {
            let mut all = form_urlencoded::parse(&query);
            all.find(|(known, _)| known == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        let body = match parameter("watch").as_str() {
            "" => page(number, &parameter("continue")),
            _ => events(),
        };
        let answer = Response::builder().header("content-type", "application/json");
        let answer = answer.body(Body::from(body.into_bytes())).unwrap();
        async move { Ok::<_, Infallible>(answer) }
    });
    (Client::new(service, "default"), pages)
}

/// A thousand initial events, and no end.
fn events() -> String {
    let event = |at| format!("{{\"type\":\"ADDED\",\"object\":{}}}\n", item(at));
    (0..1_000).map(event).collect()
}

fn item(at: u64) -> String {
    format!(
        "{{\"metadata\":{{\"name\":\"c-{at}\",\"resourceVersion\":\"5\"}},\"data\":{{\"value\":\"secret\"}}}}"
    )
}

fn list(items: &str, token: &str) -> String {
    format!(
        "{{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{{\"resourceVersion\":\"5\",\"continue\":\"{token}\"}},\"items\":[{items}]}}"
    )
}

fn config(initial_events: bool, set: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    config.initial_events = initial_events;
    set(&mut config);
    config
}

fn lists_only() -> Config {
    config(false, |_| {})
}

/// What an informer is in trouble with after a minute, and how many requests it has made.
async fn after_a_minute(client: Client, config: Config, requests: &AtomicU64) -> (String, u64) {
    let informer = SharedInformer::builder(KubeSource::<ConfigMap>::all(client, &())).config(config).build();
    informer.start();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!informer.has_synced());
    let trouble = informer.status().trouble.expect("it shows what is wrong").error.to_string();
    assert!(!trouble.contains("secret"), "{trouble}");
    informer.shutdown().await;
    (trouble, requests.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn a_continue_token_that_repeats_is_refused_and_shown_and_asked_for_again_with_backoff() {
    for cycle in [1, 2, 7] {
        let (client, requests) =
            server(move |number, _| list(&item(number), &format!("t-{}", number % cycle)));
        let (trouble, asked) = after_a_minute(client, lists_only(), &requests).await;
        assert!(trouble.contains("continue token came twice"), "{trouble}");
        assert!(asked < 100 * cycle, "{asked} requests in a minute");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_without_items_are_not_followed_for_ever() {
    let (client, requests) = server(|number, _| list("", &format!("t-{number}")));
    let (trouble, asked) = after_a_minute(client, lists_only(), &requests).await;
    assert!(trouble.contains("no items"), "{trouble}");
    assert!(asked < 3_000, "{asked} requests in a minute");
}

#[tokio::test(start_paused = true)]
async fn a_list_is_bounded_over_all_its_pages_in_objects_and_in_bytes() {
    let page = |number: u64, _: &str| list(&item(number), &format!("t-{number}"));
    for (config, setting) in [
        (config(false, |config| config.max_list_objects = 50), "max_list_objects"),
        (config(false, |config| config.max_list_bytes = 10_000), "max_list_bytes"),
    ] {
        let (client, requests) = server(page);
        let (trouble, asked) = after_a_minute(client, config, &requests).await;
        assert!(trouble.contains(setting), "{trouble}");
        assert!(asked < 2_000, "{asked} requests in a minute");
    }
    // The same for what a watch begins with, though lists would do.
    for (config, setting) in [
        (config(true, |config| config.max_list_objects = 50), "max_list_objects"),
        (config(true, |config| config.max_list_bytes = 10_000), "max_list_bytes"),
    ] {
        let (client, _) = server(|_, _| list("", ""));
        let (told, hear) = std::sync::mpsc::channel();
        let informer = SharedInformer::builder(KubeSource::<ConfigMap>::all(client, &()))
            .config(config)
            .on_error(move |error| drop(told.send(error.to_string())))
            .build();
        informer.start();
        assert!(informer.synced().await, "by a list");
        let first = hear.recv().unwrap();
        assert!(first.contains(setting), "{first}");
        informer.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_for_a_program_ends_with_an_error_where_its_pages_do_not_end() {
    let (client, _) = server(|number, _| list(&item(number), ["a", "b"][number as usize % 2]));
    let source = KubeSource::<ConfigMap>::all(client, &());
    let listed: Vec<_> = list_all(source, None).collect().await;
    let objects = listed.iter().filter(|one| matches!(one, Ok(Listed::Object(_)))).count();
    assert!((2..8).contains(&objects), "{objects}");
    let error = listed.last().unwrap().as_ref().unwrap_err().to_string();
    assert!(error.contains("continue token came twice"), "{error}");

    let (client, _) = server(|number, _| list("", &format!("t-{number}")));
    let mut listed = list_all(KubeSource::<ConfigMap>::all(client, &()), None);
    let error = listed.next().await.unwrap().unwrap_err().to_string();
    assert!(error.contains("no items"), "{error}");
    assert!(listed.next().await.is_none());
}
