//! Servers whose lists never end, expire again and again, drip, or are larger than a client takes.

use std::convert::Infallible;
use std::future::pending;
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
    answering(move |number, token| (200, page(number, token)))
}

/// The same, with a code for each answer.
fn answering(page: impl Fn(u64, &str) -> (u16, String) + Send + Sync + 'static) -> (Client, Arc<AtomicU64>) {
    /// A client that asks for more is not answered any more: it would leave no time to pass.
    const ENOUGH: u64 = 100_000;
    let (pages, page) = (Arc::new(AtomicU64::new(0)), Arc::new(page));
    let counted = Arc::clone(&pages);
    let service = tower::service_fn(move |request: Request<Body>| {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        let query = request.uri().query().unwrap_or_default().as_bytes().to_vec();
        let parameter = |name: &str| {
            let mut all = form_urlencoded::parse(&query);
            all.find(|(known, _)| known == name).map(|(_, value)| value.into_owned()).unwrap_or_default()
        };
        let (code, body) = match parameter("watch").as_str() {
            "" => page(number, &parameter("continue")),
            _ => (200, events()),
        };
        let answer = Response::builder().status(code).header("content-type", "application/json");
        let answer = answer.body(Body::from(body.into_bytes())).unwrap();
        async move {
            if number >= ENOUGH {
                return pending().await;
            }
            Ok::<_, Infallible>(answer)
        }
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

/// Pages with a new continue token each, whatever was asked for, and no token that is good for anything.
fn expiring() -> (Client, Arc<AtomicU64>) {
    answering(|number, token| match token {
        "" => (200, list(&item(number), &format!("t-{number}"))),
        _ => (410, r#"{"kind":"Status","reason":"Expired","message":"too old","code":410}"#.to_owned()),
    })
}

/// A server whose lists begin, and then have a space more each 59 seconds, until so many have come; a watch is not answered.
fn dripping(drips: u64) -> (Client, Arc<AtomicU64>) {
    let requests = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&requests);
    let service = tower::service_fn(move |request: Request<Body>| {
        counted.fetch_add(1, Ordering::Relaxed);
        let is_watch = request.uri().query().unwrap_or_default().contains("watch");
        let (start, end) = list("#", "").split_once('#').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        let drip = move |at: u64| {
            let (start, end) = (start.clone(), end.clone());
            async move {
                if at > 0 {
                    tokio::time::sleep(Duration::from_secs(59)).await;
                }
                let chunk = match at {
                    0 => start,
                    at if at == drips => end,
                    at if at > drips => return None,
                    _ => " ".to_owned(),
                };
                let frame = http_body::Frame::data(bytes::Bytes::from(chunk));
                Some((Ok::<_, Infallible>(frame), at + 1))
            }
        };
        let body = http_body_util::StreamBody::new(Box::pin(futures::stream::unfold(0, drip)));
        let answer = Response::builder().header("content-type", "application/json").body(body).unwrap();
        async move {
            if is_watch {
                return pending().await;
            }
            Ok::<_, Infallible>(answer)
        }
    });
    (Client::new(service, "default"), requests)
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

#[tokio::test(start_paused = true)]
async fn pages_that_expire_also_without_a_limit_are_shown_and_asked_for_again_with_backoff() {
    let (client, requests) = expiring();
    let (trouble, asked) = after_a_minute(client, lists_only(), &requests).await;
    assert!(trouble.contains("too old"), "{trouble}");
    assert!((8..100).contains(&asked), "{asked} requests in a minute");
}

#[tokio::test(start_paused = true)]
async fn a_list_for_a_program_falls_back_once_where_its_pages_expire_and_then_ends_with_the_error() {
    let (client, requests) = expiring();
    let mut listed = list_all(KubeSource::<ConfigMap>::all(client, &()), None);
    let mut heard = String::new();
    let error = loop {
        match listed.next().await.expect("it ends with an error") {
            Ok(Listed::Object(_)) => heard.push('o'),
            Ok(Listed::Again) => heard.push('a'),
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
        assert!(heard.len() < 100, "it ends");
    };
    assert_eq!((heard.as_str(), error.code), ("oao", 410));
    assert!(listed.next().await.is_none());
    assert_eq!(requests.load(Ordering::Relaxed), 4);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_drips_is_given_up_and_shown_and_asked_for_again() {
    let (client, requests) = dripping(u64::MAX);
    let informer =
        SharedInformer::builder(KubeSource::<ConfigMap>::all(client, &())).config(lists_only()).build();
    informer.start();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let trouble = informer.status().trouble.expect("it shows what is wrong").error.to_string();
    assert!(trouble.contains("list_timeout"), "{trouble}");
    let asked = requests.load(Ordering::Relaxed);
    assert!((5..10).contains(&asked), "{asked} requests in an hour");
    informer.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_slow_and_complete_in_time_is_taken() {
    let (client, requests) = dripping(9);
    let informer =
        SharedInformer::builder(KubeSource::<ConfigMap>::all(client, &())).config(lists_only()).build();
    informer.start();
    assert!(informer.synced().await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(
        (informer.status().trouble, requests.load(Ordering::Relaxed)),
        (None, 2),
        "a list and a watch"
    );
    informer.shutdown().await;
}
