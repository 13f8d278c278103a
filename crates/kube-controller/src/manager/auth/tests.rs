//! Which reviews the API server gets, and which answers are remembered.

use std::collections::HashMap;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::BodyExt;
use kube_client::Client;
use kube_client::client::Body;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::memory::MAX_REMEMBERED;
use super::*;

/// An API server that answers reviews: `good-…` and what `users` names are good tokens, and members of `readers` may read.
#[derive(Clone, Default)]
struct Reviewer {
    users: Arc<Mutex<HashMap<String, Value>>>,
    reviews: Arc<Mutex<Vec<Value>>>,
    /// Reviews wait for a permit of this, if there is one.
    gate: Option<Arc<Semaphore>>,
}

impl Reviewer {
    fn user(&self, token: &str, user: Value) {
        self.users.lock().insert(token.to_owned(), user);
    }

    fn client(&self) -> Client {
        let reviewer = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let reviewer = reviewer.clone();
            async move { reviewer.review(request).await }
        });
        Client::new(service, "default")
    }

    async fn review(&self, request: Request<Body>) -> Result<Response<Body>, std::io::Error> {
        let body = request.into_body().collect().await.map_err(std::io::Error::other)?.to_bytes();
        let mut review: Value = serde_json::from_slice(&body).unwrap();
        self.reviews.lock().push(review.clone());
        if let Some(gate) = &self.gate {
            gate.acquire().await.unwrap().forget();
        }
        let spec = &review["spec"];
        review["status"] = match spec["token"].as_str() {
            Some(token) => {
                let user = self.users.lock().get(token).cloned();
                let user = user.or_else(|| token.starts_with("good-").then(|| json!({"username": token})));
                json!({"authenticated": user.is_some(), "user": user})
            }
            None => {
                let groups = spec["groups"].as_array().cloned().unwrap_or_default();
                json!({"allowed": groups.contains(&"readers".into())})
            }
        };
        Ok(Response::builder().status(201).body(Body::from(review.to_string().into_bytes())).unwrap())
    }

    /// Counts the reviews since the last call.
    fn count(&self) -> usize {
        std::mem::take(&mut *self.reviews.lock()).len()
    }
}

/// The code of the answer; 200 if nothing is refused.
async fn code(access: &MetricsAccess, token: &str) -> u16 {
    access.refuse(&headers(token), "/metrics").await.map_or(200, |page| page.status)
}

fn headers(token: &str) -> HeaderMap {
    let value = HeaderValue::try_from(format!("Bearer {token}")).unwrap();
    HeaderMap::from_iter([(http::header::AUTHORIZATION, value)])
}

#[tokio::test(start_paused = true)]
async fn a_permission_is_that_of_the_whole_user_and_not_of_the_name() {
    let reviewer = Reviewer::default();
    let variants = [
        ("uid", json!({"username": "ann", "uid": "1", "groups": ["readers"]}), 200),
        ("other uid", json!({"username": "ann", "uid": "2", "groups": ["readers"]}), 200),
        ("fewer groups", json!({"username": "ann", "uid": "1"}), 403),
        ("other groups", json!({"username": "ann", "uid": "1", "groups": ["writers"]}), 403),
        ("extra", json!({"username": "ann", "uid": "1", "groups": ["readers"], "extra": {"a": ["1"]}}), 200),
        (
            "other extra",
            json!({"username": "ann", "uid": "1", "groups": ["readers"], "extra": {"a": ["2"]}}),
            200,
        ),
    ];
    for order in [false, true] {
        let access = MetricsAccess::reviewed(reviewer.client());
        let mut variants = variants.clone();
        if order {
            variants.reverse();
        }
        for (number, (name, user, wanted)) in variants.into_iter().enumerate() {
            let token = format!("token-{number}");
            reviewer.user(&token, user);
            assert_eq!(code(&access, &token).await, wanted, "{name}");
            assert_eq!(reviewer.count(), 2, "{name}: whose token it is, and whether they may");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_order_of_groups_makes_no_new_question() {
    let reviewer = Reviewer::default();
    let access = MetricsAccess::reviewed(reviewer.client());
    reviewer.user("one", json!({"username": "ann", "groups": ["readers", "b", "a"]}));
    reviewer.user("two", json!({"username": "ann", "groups": ["a", "b", "readers"]}));
    assert_eq!((code(&access, "one").await, reviewer.count()), (200, 2));
    assert_eq!((code(&access, "two").await, reviewer.count()), (200, 1), "only whose token it is");
}

#[tokio::test(start_paused = true)]
async fn everything_that_is_known_of_the_user_is_in_the_question() {
    let reviewer = Reviewer::default();
    let access = MetricsAccess::reviewed(reviewer.client());
    let extra = json!({"authentication.kubernetes.io/pod-name": ["web"]});
    reviewer.user("one", json!({"username": "ann", "uid": "7", "groups": ["readers"], "extra": extra}));
    assert_eq!(code(&access, "one").await, 200);
    let question = reviewer.reviews.lock()[1]["spec"].clone();
    let wanted = json!({
        "user": "ann", "uid": "7", "groups": ["readers"], "extra": extra,
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    });
    assert_eq!(question, wanted);
}

#[tokio::test(start_paused = true)]
async fn bad_tokens_make_no_good_one_forgotten() {
    let reviewer = Reviewer::default();
    let access = MetricsAccess::known(reviewer.client());
    assert_eq!(code(&access, "good-one").await, 200);
    for number in 0..MAX_REMEMBERED + 10 {
        assert_eq!(code(&access, &format!("bad-{number}")).await, 401);
    }
    reviewer.count();
    assert_eq!((code(&access, "good-one").await, reviewer.count()), (200, 0), "it is remembered");
}

#[tokio::test(start_paused = true)]
async fn when_too_many_are_remembered_the_oldest_is_forgotten_and_no_other() {
    let reviewer = Reviewer::default();
    let access = MetricsAccess::known(reviewer.client());
    for number in 0..=MAX_REMEMBERED {
        assert_eq!(code(&access, &format!("good-{number}")).await, 200);
        tokio::time::advance(Duration::from_millis(1)).await;
    }
    reviewer.count();
    for number in 1..=MAX_REMEMBERED {
        assert_eq!(code(&access, &format!("good-{number}")).await, 200);
    }
    assert_eq!(reviewer.count(), 0, "all but the first are remembered");
    assert_eq!((code(&access, "good-0").await, reviewer.count()), (200, 1));
}

#[tokio::test(start_paused = true)]
async fn answers_are_asked_for_again_when_their_time_is_over() {
    let reviewer = Reviewer::default();
    let access = MetricsAccess::reviewed(reviewer.client());
    reviewer.user("reader", json!({"username": "ann", "groups": ["readers"]}));
    assert_eq!((code(&access, "reader").await, reviewer.count()), (200, 2));
    assert_eq!((code(&access, "good-but").await, reviewer.count()), (403, 2));
    tokio::time::advance(DENIED_LIFE).await;
    assert_eq!((code(&access, "reader").await, reviewer.count()), (200, 0));
    assert_eq!((code(&access, "good-but").await, reviewer.count()), (403, 1));
    tokio::time::advance(TOKEN_LIFE - DENIED_LIFE).await;
    assert_eq!((code(&access, "reader").await, reviewer.count()), (200, 1));
    tokio::time::advance(ALLOWED_LIFE).await;
    reviewer.users.lock().clear();
    assert_eq!((code(&access, "reader").await, reviewer.count()), (401, 1), "it was taken back");
    assert_eq!((code(&access, "reader").await, reviewer.count()), (401, 0));
}

#[tokio::test(start_paused = true)]
async fn valid_tokens_of_users_that_may_not_read_make_no_allowed_one_forgotten() {
    let reviewer = Reviewer::default();
    let access = MetricsAccess::reviewed(reviewer.client());
    reviewer.user("scraper", json!({"username": "ann", "groups": ["readers"]}));
    assert_eq!(code(&access, "scraper").await, 200);
    for number in 0..MAX_REMEMBERED + 10 {
        assert_eq!(code(&access, &format!("good-{number}")).await, 403);
    }
    reviewer.count();
    assert_eq!((code(&access, "scraper").await, reviewer.count()), (200, 0), "it is remembered");
}

#[tokio::test(start_paused = true)]
async fn a_token_whose_permission_is_taken_and_given_back_is_remembered_as_what_it_is() {
    let reviewer = Reviewer::default();
    let access = MetricsAccess::reviewed(reviewer.client());
    let ann = |groups: Value| json!({"username": "ann", "groups": groups});
    for (groups, wanted) in [(json!(["readers"]), 200), (json!([]), 403), (json!(["readers"]), 200)] {
        reviewer.user("ann", ann(groups));
        assert_eq!((code(&access, "ann").await, reviewer.count()), (wanted, 2));
        assert_eq!((code(&access, "ann").await, reviewer.count()), (wanted, 0));
        let remembered = {
            let (known, token) = (access.known.lock(), Digest::of(b"ann"));
            (known.readers.contains(&token), known.others.contains(&token))
        };
        assert_eq!(remembered, (wanted == 200, wanted != 200));
        tokio::time::advance(TOKEN_LIFE.max(ALLOWED_LIFE)).await;
    }
}

/// Sends requests with different tokens at once, and waits until none of them gets any further by itself.
async fn flood(access: &MetricsAccess, count: usize) -> Vec<tokio::task::JoinHandle<Option<Page>>> {
    let requests = (0..count).map(|number| {
        let access = access.clone();
        tokio::spawn(async move { access.refuse(&headers(&format!("bad-{number}")), "/metrics").await })
    });
    let requests = requests.collect();
    tokio::time::sleep(Duration::from_millis(1)).await;
    requests
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_unknown_tokens_asks_the_api_server_no_more_than_a_few_at_once() {
    let gate = Arc::new(Semaphore::new(1));
    let reviewer = Reviewer { gate: Some(Arc::clone(&gate)), ..Reviewer::default() };
    let access = MetricsAccess::known(reviewer.client());
    assert_eq!(code(&access, "good-one").await, 200);
    tokio::time::advance(TOKEN_LIFE).await;
    reviewer.count();
    let flood = flood(&access, 100).await;
    assert_eq!(reviewer.count(), MAX_REVIEWS);
    // A token that was good before has a turn all the same.
    let again = tokio::spawn({
        let access = access.clone();
        async move { code(&access, "good-one").await }
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(reviewer.count(), 1);
    gate.add_permits(1000);
    assert_eq!(again.await.unwrap(), 200);
    let mut refused = 0;
    for page in flood {
        let page = page.await.unwrap().unwrap();
        assert!(page.status == 401 || page.status == 503, "{page:?}");
        assert_eq!(page.retry_after, (page.status == 503).then_some(1));
        refused += usize::from(page.status == 503);
    }
    assert_eq!(refused, 100 - MAX_REVIEWS - MAX_WAITING);
}

#[tokio::test(start_paused = true)]
async fn an_unknown_token_waits_for_its_turn_when_many_others_are_under_review() {
    let gate = Arc::new(Semaphore::new(0));
    let reviewer = Reviewer { gate: Some(Arc::clone(&gate)), ..Reviewer::default() };
    let access = MetricsAccess::known(reviewer.client());
    let flood = flood(&access, MAX_REVIEWS + MAX_WAITING - 1).await;
    let good = tokio::spawn({
        let access = access.clone();
        async move { code(&access, "good-one").await }
    });
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(code(&access, "good-two").await, 503, "the queue is full");
    gate.add_permits(1000);
    assert_eq!(good.await.unwrap(), 200);
    for page in flood {
        assert_eq!(page.await.unwrap().unwrap().status, 401);
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_token_waits_for_its_turn_for_a_bounded_time() {
    let reviewer = Reviewer { gate: Some(Arc::new(Semaphore::new(0))), ..Reviewer::default() };
    let access = MetricsAccess::known(reviewer.client());
    let _flood = flood(&access, MAX_REVIEWS).await;
    let begun = Instant::now();
    assert_eq!(code(&access, "good-one").await, 503);
    assert_eq!(begun.elapsed(), MAX_WAIT);
}

#[tokio::test(start_paused = true)]
async fn permission_reviews_of_unknown_tokens_take_no_turn_of_known_ones() {
    let reviewer = Reviewer::default();
    let access = MetricsAccess::reviewed(reviewer.client());
    reviewer.user("scraper", json!({"username": "ann", "groups": ["readers"]}));
    assert_eq!(code(&access, "scraper").await, 200);
    // Only the reviews of permissions wait.
    let held = access.reviews.of_known.acquire_many(MAX_REVIEWS as u32).await.unwrap();
    assert_eq!(code(&access, "good-one").await, 403);
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_too_long_is_not_reviewed() {
    let reviewer = Reviewer::default();
    let access = MetricsAccess::known(reviewer.client());
    let long = format!("good-{}", "x".repeat(60 << 10));
    assert_eq!((code(&access, &long).await, reviewer.count()), (401, 0));
}

#[tokio::test(start_paused = true)]
async fn tokens_are_not_kept() {
    let reviewer = Reviewer::default();
    let access = MetricsAccess::known(reviewer.client());
    reviewer.user("good-secret", json!({"username": "ann"}));
    assert_eq!(code(&access, "good-secret").await, 200);
    assert_eq!(code(&access, "bad-secret").await, 401);
    let kept = format!("{:?}", access.known.lock());
    assert!(!kept.contains("-secret"), "{kept}");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_shows_the_name_without_control_characters() {
    let reviewer = Reviewer::default();
    let access = MetricsAccess::reviewed(reviewer.client());
    reviewer.user("odd", json!({"username": "ann\u{1b}[2J\r\n<b>\u{202e}"}));
    let page = access.refuse(&headers("odd"), "/metrics").await.unwrap();
    let text = String::from_utf8(page.body.to_vec()).unwrap();
    assert_eq!(text, "Forbidden: \"ann\\u{1b}[2J\\r\\n<b>\\u{202e}\" may not get /metrics\n");
    assert_eq!(page.content_type, "text/plain; charset=utf-8");
}
