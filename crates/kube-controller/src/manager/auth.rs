//! Authorizes requests for metrics with the API server.

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
use tokio::sync::{Semaphore, SemaphorePermit};

use self::memory::{Digest, Memory};
use super::connections::MAX_ANSWERS;
use super::http::Page;

/// How long the review of a token is remembered.
const TOKEN_LIFE: Duration = Duration::from_secs(60);

/// How long a permission is remembered.
const ALLOWED_LIFE: Duration = Duration::from_secs(300);

/// How long the refusal of a permission is remembered.
const DENIED_LIFE: Duration = Duration::from_secs(30);

/// The longest token that is reviewed, in bytes.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// The largest user that is remembered, in bytes of JSON.
const MAX_USER_BYTES: usize = 16 << 10;

/// The most unknown tokens that are reviewed at once, and the most that were allowed before. A flood of random tokens neither
/// overloads the API server nor takes the turn of a known scraper.
const MAX_REVIEWS: usize = 8;

/// The limit of unknown tokens that wait for their review.
const MAX_WAITING: usize = 16;

/// How long an unknown token waits for its review. Scrapers give up after ten seconds.
const MAX_WAIT: Duration = Duration::from_secs(5);

// The server closes the oldest connection at this limit: unknown tokens that wait must leave room for the others.
const _: () = assert!(MAX_REVIEWS + MAX_WAITING < MAX_ANSWERS);

/// The `Retry-After` of a 503, in seconds. A token that is not known gets it when too many others are under review.
const RETRY_AFTER: u64 = 1;

/// How long the API server may take for one review.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(10);

/// Authorizes requests for metrics with the API server. Clones share what they remember.
///
/// The API server reviews the bearer token of a request (`TokenReview`), and then whether its user may `get` the path
/// `/metrics` (`SubjectAccessReview`, with the name, uid, groups and extra fields of the user). The manager's own
/// user needs the role `system:auth-delegator` for both.
///
/// Answers are remembered, each for exactly its question: tokens for a minute, permissions for five, refused permissions for
/// half a minute. Of tokens only SHA-256 digests are kept. 1,024 answers of each kind are remembered. Tokens that are invalid, or
/// whose user may not read the metrics, evict no token of a user that may. A user of more than 16 KiB is not remembered, so its
/// tokens are unknown in every request.
///
/// Up to 8 tokens that were allowed before, and up to 8 unknown ones, are reviewed at once. 16 more unknown tokens wait for up to 5
/// seconds; the rest get 503. So a flood of unknown tokens delays no token that was allowed before. It may
/// refuse a new one, if it is faster than the API server's reviews.
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
    /// The users of tokens that may read the metrics, by token. Other tokens evict none of them.
    readers: Memory<UserInfo>,
    /// The users of other valid tokens, by token.
    others: Memory<UserInfo>,
    /// The tokens that the API server has refused.
    refused: Memory<()>,
    /// By question.
    allowed: Memory<()>,
    /// By question.
    denied: Memory<()>,
}

/// The turns of tokens to be reviewed. One turn is for both reviews.
struct Reviews {
    of_known: Semaphore,
    of_unknown: Semaphore,
    /// The places in the queue for `of_unknown`.
    waiting: Semaphore,
}

/// What became of a request.
enum Decision {
    Allowed,
    /// The token is not valid.
    Unauthenticated,
    /// The user of this name may not read the path.
    Forbidden(String),
}

impl MetricsAccess {
    /// Allows the users that the API server authenticates and authorizes.
    pub fn reviewed(client: Client) -> Self {
        Self::new(client, true)
    }

    /// Allows all users that the API server authenticates.
    pub fn known(client: Client) -> Self {
        Self::new(client, false)
    }

    fn new(client: Client, authorize: bool) -> Self {
        let known = Known {
            readers: Memory::new(TOKEN_LIFE),
            others: Memory::new(TOKEN_LIFE),
            refused: Memory::new(TOKEN_LIFE),
            allowed: Memory::new(ALLOWED_LIFE),
            denied: Memory::new(DENIED_LIFE),
        };
        let reviews = Reviews {
            of_known: Semaphore::new(MAX_REVIEWS),
            of_unknown: Semaphore::new(MAX_REVIEWS),
            waiting: Semaphore::new(MAX_WAITING),
        };
        Self { client, authorize, known: Arc::new(Mutex::new(known)), reviews: Arc::new(reviews) }
    }

    /// Returns the page that refuses a request; none if its token may read the path.
    pub(super) async fn refuse(&self, headers: &HeaderMap, path: &str) -> Option<Page> {
        let Some(token) = bearer(headers) else {
            return Some(Page::text(401, "Unauthorized: a bearer token is needed\n".to_owned()));
        };
        if token.len() > MAX_TOKEN_BYTES {
            return Some(Page::text(401, "Unauthorized: the bearer token is too long\n".to_owned()));
        }
        match self.decide(token, path).await {
            Ok(Decision::Allowed) => None,
            Ok(Decision::Unauthenticated) => Some(Page::text(401, "Unauthorized\n".to_owned())),
            Ok(Decision::Forbidden(name)) => {
                Some(Page::text(403, format!("Forbidden: {name:?} may not get {path}\n")))
            }
            Err(failed) => Some(failed.page()),
        }
    }

    /// Decides whether a token may read a path. The API server is asked for what is not remembered.
    async fn decide(&self, token: &str, path: &str) -> Result<Decision, Failed> {
        let digest = Digest::of(token.as_bytes());
        if let Some(decision) = self.remembered(&digest, path) {
            return Ok(decision);
        }
        let _turn = self.turn(&digest).await?;
        if let Some(decision) = self.remembered(&digest, path) {
            return Ok(decision);
        }
        let Some(user) = self.user(&digest, token).await? else { return Ok(Decision::Unauthenticated) };
        let allowed = !self.authorize || self.may(&user, path).await?;
        Ok(self.decided(&digest, user, allowed))
    }

    /// Returns the decision that follows from remembered answers alone.
    fn remembered(&self, token: &Digest, path: &str) -> Option<Decision> {
        let user = self.known.lock().user(token)?;
        let Some(user) = user else { return Some(Decision::Unauthenticated) };
        let allowed = if self.authorize {
            let question = digest_of(&question(&user, path))?;
            self.known.lock().permission(&question)?
        } else {
            true
        };
        Some(self.decided(token, user, allowed))
    }

    fn decided(&self, token: &Digest, user: UserInfo, allowed: bool) -> Decision {
        self.known.lock().sort(token, allowed);
        if allowed { Decision::Allowed } else { Decision::Forbidden(user.username.unwrap_or_default()) }
    }

    /// Waits for the turn of a token to be reviewed. Fails if too many unknown tokens wait, or if it takes too long.
    async fn turn(&self, token: &Digest) -> Result<SemaphorePermit<'_>, Failed> {
        let was_allowed = self.known.lock().readers.contains(token);
        if was_allowed {
            return self.reviews.of_known.acquire().await.map_err(|_| Failed::Busy);
        }
        let _place = self.reviews.waiting.try_acquire().map_err(|_| Failed::Busy)?;
        let turn = tokio::time::timeout(MAX_WAIT, self.reviews.of_unknown.acquire()).await;
        turn.ok().and_then(Result::ok).ok_or(Failed::Busy)
    }

    /// Returns the user of a token; none if the API server refuses the token.
    async fn user(&self, digest: &Digest, token: &str) -> Result<Option<UserInfo>, Failed> {
        let known = self.known.lock().user(digest);
        if let Some(user) = known {
            return Ok(user);
        }
        // Whether the token is optional depends on the version of the types.
        let review = serde_json::json!({"metadata": {}, "spec": {"token": token}});
        let review: TokenReview = serde_json::from_value(review).map_err(|_| Failed::Token)?;
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let status = post(&reviews, &review).await.ok_or(Failed::Token)?.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true));
        self.known.lock().remember_user(digest, user.as_ref());
        Ok(user)
    }

    /// Returns whether a user may read a path.
    async fn may(&self, user: &UserInfo, path: &str) -> Result<bool, Failed> {
        let spec = question(user, path);
        let digest = digest_of(&spec).ok_or(Failed::Permission)?;
        let known = self.known.lock().permission(&digest);
        if let Some(allowed) = known {
            return Ok(allowed);
        }
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let status = post(&reviews, &review).await.ok_or(Failed::Permission)?.status;
        let allowed = status.is_some_and(|status| status.allowed);
        let mut known = self.known.lock();
        if allowed {
            known.allowed.insert(digest, ());
        } else {
            known.denied.insert(digest, ());
        }
        Ok(allowed)
    }
}

/// Returns the question whether a user may read a path, with the groups in order.
fn question(user: &UserInfo, path: &str) -> SubjectAccessReviewSpec {
    let attributes = NonResourceAttributes { path: Some(path.to_owned()), verb: Some("get".to_owned()) };
    let mut groups = user.groups.clone();
    groups.iter_mut().for_each(|groups| groups.sort_unstable());
    SubjectAccessReviewSpec {
        user: user.username.clone(),
        groups,
        uid: user.uid.clone(),
        extra: user.extra.clone(),
        non_resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    }
}

/// Returns the digest of the whole question, so that no answer is taken for another question.
fn digest_of(question: &SubjectAccessReviewSpec) -> Option<Digest> {
    Some(Digest::of(&serde_json::to_vec(question).ok()?))
}

impl Known {
    /// Returns the user of a token, or that it was refused; none if neither is remembered.
    fn user(&self, token: &Digest) -> Option<Option<UserInfo>> {
        let user = self.readers.get(token).or_else(|| self.others.get(token));
        user.map(Some).or_else(|| self.refused.get(token).map(|()| None))
    }

    /// Remembers the user of a token, or that it was refused. A token that was allowed stays among the readers until
    /// [`sort`](Self::sort).
    fn remember_user(&mut self, token: &Digest, user: Option<&UserInfo>) {
        match user {
            Some(user) if serde_json::to_vec(user).is_ok_and(|json| json.len() <= MAX_USER_BYTES) => {
                self.refused.remove(token);
                let memory = if self.readers.contains(token) { &mut self.readers } else { &mut self.others };
                memory.insert(*token, user.clone());
            }
            Some(_) => {}
            None => {
                self.readers.remove(token);
                self.others.remove(token);
                self.refused.insert(*token, ());
            }
        }
    }

    /// Moves a token to the readers or to the others. Its life stays the same.
    fn sort(&mut self, token: &Digest, allowed: bool) {
        if allowed {
            self.others.move_to(&mut self.readers, token);
        } else {
            self.readers.move_to(&mut self.others, token);
        }
    }

    /// Returns whether the question was answered with yes; none if no answer is remembered.
    fn permission(&self, question: &Digest) -> Option<bool> {
        let allowed = self.allowed.get(question).map(|()| true);
        allowed.or_else(|| self.denied.get(question).map(|()| false))
    }
}

/// Why there is no decision.
enum Failed {
    /// The API server did not review the token.
    Token,
    /// The API server did not review the permission.
    Permission,
    /// Too many tokens are under review.
    Busy,
}

impl Failed {
    fn page(&self) -> Page {
        match self {
            Self::Token => Page::text(500, "the token could not be reviewed\n".to_owned()),
            Self::Permission => Page::text(500, "the permission could not be reviewed\n".to_owned()),
            Self::Busy => Page {
                retry_after: Some(RETRY_AFTER),
                ..Page::text(503, "too many tokens are under review\n".to_owned())
            },
        }
    }
}

/// Sends a review; none if the API server does not answer it in time.
async fn post<K>(reviews: &Api<K>, review: &K) -> Option<K>
where
    K: Clone + fmt::Debug + serde::de::DeserializeOwned + serde::Serialize,
{
    let params = PostParams::default();
    tokio::time::timeout(REVIEW_TIMEOUT, reviews.create(&params, review)).await.ok()?.ok()
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
