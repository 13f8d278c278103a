//! Who may see the metrics: those whom the API server lets.

mod memory;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use k8s_openapi::api::authentication::v1::{TokenReview, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube_client::Client;
use kube_client::api::{Api, PostParams};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use self::memory::{Digest, Memory};
use super::http::Page;

/// How long a token that was reviewed is good, or not.
const TOKEN_LIFE: Duration = Duration::from_secs(60);

/// How long a permission is remembered.
const ALLOWED_LIFE: Duration = Duration::from_secs(300);

/// How long a refusal is remembered.
const DENIED_LIFE: Duration = Duration::from_secs(30);

/// The longest token that is reviewed, in bytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// The largest user that is remembered, in bytes of JSON.
const MAX_USER_BYTES: usize = 16 << 10;

/// The limit of concurrent reviews of unknown tokens, and that of tokens that were good before. A flood of random tokens
/// neither overloads the API server nor takes the turn of a known scraper.
const MAX_REVIEWS: usize = 8;

/// After how many seconds an unknown token is to be sent again when too many others are under review.
const RETRY_AFTER: u64 = 1;

/// How long the API server may take.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(10);

/// Who may see the metrics. Clones share what they remember.
///
/// The API server reviews the bearer token of a request (`TokenReview`), and then whether its user may `get` the path
/// `/metrics` (`SubjectAccessReview`, with the name, uid, groups and extra fields of the user). The manager's own
/// user needs the role `system:auth-delegator` for that. Answers are remembered for a while, each for exactly what was asked:
/// tokens for a minute, permissions for five, refusals for half a minute. Of tokens only SHA-256 digests are kept. Bad tokens
/// never displace good ones. Requests with unknown tokens are answered with 503 while 8 others are under review.
///
/// Tokens travel as they are unless the metrics are served over TLS (feature `tls`): without it, let a proxy on the
/// same machine do TLS, or keep the port to a network that you trust.
#[derive(Clone)]
pub struct MetricsAccess {
    client: Client,
    authorize: bool,
    known: Arc<Mutex<Known>>,
    reviews: Arc<Reviews>,
}

/// Answers of the API server.
#[derive(Debug)]
struct Known {
    /// By token.
    users: Memory<UserInfo>,
    /// By token that the API server has refused.
    refused: Memory<()>,
    /// By question.
    allowed: Memory<()>,
    /// By question.
    denied: Memory<()>,
}

/// The turns to ask the API server.
struct Reviews {
    of_known: Semaphore,
    of_unknown: Semaphore,
}

impl MetricsAccess {
    /// Those may see the metrics whom the API server knows and lets.
    pub fn reviewed(client: Client) -> Self {
        Self::new(client, true)
    }

    /// Everybody may see the metrics whom the API server knows.
    pub fn known(client: Client) -> Self {
        Self::new(client, false)
    }

    fn new(client: Client, authorize: bool) -> Self {
        let known = Known {
            users: Memory::new(TOKEN_LIFE),
            refused: Memory::new(TOKEN_LIFE),
            allowed: Memory::new(ALLOWED_LIFE),
            denied: Memory::new(DENIED_LIFE),
        };
        let reviews =
            Reviews { of_known: Semaphore::new(MAX_REVIEWS), of_unknown: Semaphore::new(MAX_REVIEWS) };
        Self { client, authorize, known: Arc::new(Mutex::new(known)), reviews: Arc::new(reviews) }
    }

    /// None if the one who asks may see the path, and else what to show instead.
    pub(super) async fn refuse(&self, headers: &HeaderMap, path: &str) -> Option<Page> {
        let Some(token) = bearer(headers) else {
            return Some(Page::text(401, "Unauthorized: a bearer token is needed\n".to_owned()));
        };
        if token.len() > MAX_TOKEN_BYTES {
            return Some(Page::text(401, "Unauthorized: the bearer token is too long\n".to_owned()));
        }
        let user = match self.user(token).await {
            Ok(Some(user)) => user,
            Ok(None) => return Some(Page::text(401, "Unauthorized\n".to_owned())),
            Err(failed) => return Some(failed.page("the token could not be reviewed\n")),
        };
        if !self.authorize {
            return None;
        }
        match self.may(&user, path).await {
            Ok(true) => None,
            Ok(false) => {
                let name = user.username.unwrap_or_default();
                Some(Page::text(403, format!("Forbidden: {name:?} may not get {path}\n")))
            }
            Err(failed) => Some(failed.page("the permission could not be reviewed\n")),
        }
    }

    async fn user(&self, token: &str) -> Result<Option<UserInfo>, Failed> {
        let digest = Digest::of(token.as_bytes());
        if let Some(answer) = self.known.lock().user(&digest) {
            return Ok(answer);
        }
        // A token that was good before waits for its turn; an unknown one is refused if there is none.
        let _turn = if self.known.lock().users.contains(&digest) {
            self.reviews.of_known.acquire().await.map_err(|_| Failed::Busy)?
        } else {
            self.reviews.of_unknown.try_acquire().map_err(|_| Failed::Busy)?
        };
        if let Some(answer) = self.known.lock().user(&digest) {
            return Ok(answer);
        }
        // Whether the token is optional depends on the version of the types.
        let review = serde_json::json!({"metadata": {}, "spec": {"token": token}});
        let review: TokenReview = serde_json::from_value(review).map_err(|_| Failed::NoAnswer)?;
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let status = post(&reviews, &review).await?.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true));
        self.known.lock().remember_user(digest, user.as_ref());
        Ok(user)
    }

    async fn may(&self, user: &UserInfo, path: &str) -> Result<bool, Failed> {
        let attributes = NonResourceAttributes { path: Some(path.to_owned()), verb: Some("get".to_owned()) };
        let mut groups = user.groups.clone();
        groups.iter_mut().for_each(|groups| groups.sort_unstable());
        let spec = SubjectAccessReviewSpec {
            user: user.username.clone(),
            groups,
            uid: user.uid.clone(),
            extra: user.extra.clone(),
            non_resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        };
        // The key is all that is asked, so that no answer is taken for another question.
        let digest = Digest::of(&serde_json::to_vec(&spec).map_err(|_| Failed::NoAnswer)?);
        if let Some(answer) = self.known.lock().permission(&digest) {
            return Ok(answer);
        }
        let _turn = self.reviews.of_known.acquire().await.map_err(|_| Failed::Busy)?;
        if let Some(answer) = self.known.lock().permission(&digest) {
            return Ok(answer);
        }
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let allowed = post(&reviews, &review).await?.status.is_some_and(|status| status.allowed);
        let mut known = self.known.lock();
        if allowed {
            known.allowed.insert(digest, ());
        } else {
            known.denied.insert(digest, ());
        }
        Ok(allowed)
    }
}

impl Known {
    /// Returns the user of a token, or that it was refused; none if neither is remembered.
    fn user(&self, token: &Digest) -> Option<Option<UserInfo>> {
        self.users.get(token).map(Some).or_else(|| self.refused.get(token).map(|()| None))
    }

    fn remember_user(&mut self, token: Digest, user: Option<&UserInfo>) {
        match user {
            Some(user) if serde_json::to_vec(user).is_ok_and(|json| json.len() <= MAX_USER_BYTES) => {
                self.refused.remove(&token);
                self.users.insert(token, user.clone());
            }
            Some(_) => {}
            None => {
                self.users.remove(&token);
                self.refused.insert(token, ());
            }
        }
    }

    /// Returns whether the question was answered with yes; none if no answer is remembered.
    fn permission(&self, question: &Digest) -> Option<bool> {
        let allowed = self.allowed.get(question).map(|()| true);
        allowed.or_else(|| self.denied.get(question).map(|()| false))
    }
}

/// Why there was no review.
enum Failed {
    /// The API server did not answer, or refused to.
    NoAnswer,
    /// Too many tokens are under review.
    Busy,
}

impl Failed {
    fn page(&self, text: &str) -> Page {
        match self {
            Self::NoAnswer => Page::text(500, text.to_owned()),
            Self::Busy => Page {
                retry_after: Some(RETRY_AFTER),
                ..Page::text(503, "too many tokens are under review\n".to_owned())
            },
        }
    }
}

async fn post<K>(reviews: &Api<K>, review: &K) -> Result<K, Failed>
where
    K: Clone + fmt::Debug + serde::de::DeserializeOwned + serde::Serialize,
{
    let params = PostParams::default();
    let answer = tokio::time::timeout(REVIEW_TIMEOUT, reviews.create(&params, review)).await;
    answer.map_err(|_| Failed::NoAnswer)?.map_err(|_| Failed::NoAnswer)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

impl fmt::Debug for MetricsAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsAccess").field("authorize", &self.authorize).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
