//! Who may see the metrics: those whom the API server lets.

use std::collections::HashMap;
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
use tokio::time::Instant;

use super::http::Page;

/// How long a token that was reviewed is good, or not.
const TOKEN_LIFE: Duration = Duration::from_secs(60);

/// How long a permission is remembered.
const ALLOWED_LIFE: Duration = Duration::from_secs(300);

/// How long a refusal is remembered.
const DENIED_LIFE: Duration = Duration::from_secs(30);

/// How many answers are remembered; when there are more, all are forgotten.
const MAX_REMEMBERED: usize = 1024;

/// How long the API server may take.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(10);

/// Who may see the metrics. Clones share what they remember.
///
/// The bearer token of a request is shown to the API server (`TokenReview`), and if it is somebody's, whether they may `get`
/// the path `/metrics` (`SubjectAccessReview`). The manager's own user needs the role `system:auth-delegator` for that.
/// Answers are remembered for a while: tokens for a minute, permissions for five, refusals for half a minute.
///
/// Tokens travel as they are, for this server speaks plain HTTP: let a proxy on the same machine do TLS, or keep it to a
/// network that you trust.
#[derive(Clone)]
pub struct MetricsAccess {
    client: Client,
    authorize: bool,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    users: HashMap<String, (Instant, Option<UserInfo>)>,
    allowed: HashMap<(String, String), (Instant, bool)>,
}

impl MetricsAccess {
    /// Those may see the metrics whom the API server knows and lets.
    pub fn reviewed(client: Client) -> Self {
        Self { client, authorize: true, known: Arc::default() }
    }

    /// Everybody may see the metrics whom the API server knows.
    pub fn known(client: Client) -> Self {
        Self { client, authorize: false, known: Arc::default() }
    }

    /// None if the one who asks may see the path, and else what to show instead.
    pub(super) async fn refuse(&self, headers: &HeaderMap, path: &str) -> Option<Page> {
        let Some(token) = bearer(headers) else {
            return Some(Page::text(401, "Unauthorized: a bearer token is needed\n".to_owned()));
        };
        let user = match self.user(token).await {
            Ok(Some(user)) => user,
            Ok(None) => return Some(Page::text(401, "Unauthorized\n".to_owned())),
            Err(_) => return Some(Page::text(500, "the token could not be reviewed\n".to_owned())),
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
            Err(_) => Some(Page::text(500, "the permission could not be reviewed\n".to_owned())),
        }
    }

    async fn user(&self, token: &str) -> Result<Option<UserInfo>, Failed> {
        let now = Instant::now();
        if let Some((until, user)) = self.known.lock().users.get(token)
            && now < *until
        {
            return Ok(user.clone());
        }
        // Whether the token is optional depends on the version of the types.
        let review = serde_json::json!({"metadata": {}, "spec": {"token": token}});
        let review: TokenReview = serde_json::from_value(review).map_err(|_| Failed)?;
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let status = post(&reviews, &review).await?.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true));
        let mut known = self.known.lock();
        if known.users.len() >= MAX_REMEMBERED {
            known.users.clear();
        }
        known.users.insert(token.to_owned(), (now + TOKEN_LIFE, user.clone()));
        Ok(user)
    }

    async fn may(&self, user: &UserInfo, path: &str) -> Result<bool, Failed> {
        let now = Instant::now();
        let question = (user.username.clone().unwrap_or_default(), path.to_owned());
        if let Some((until, allowed)) = self.known.lock().allowed.get(&question)
            && now < *until
        {
            return Ok(*allowed);
        }
        let attributes = NonResourceAttributes { path: Some(path.to_owned()), verb: Some("get".to_owned()) };
        let spec = SubjectAccessReviewSpec {
            user: user.username.clone(),
            groups: user.groups.clone(),
            uid: user.uid.clone(),
            non_resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let allowed = post(&reviews, &review).await?.status.is_some_and(|status| status.allowed);
        let mut known = self.known.lock();
        if known.allowed.len() >= MAX_REMEMBERED {
            known.allowed.clear();
        }
        known.allowed.insert(question, (now + if allowed { ALLOWED_LIFE } else { DENIED_LIFE }, allowed));
        Ok(allowed)
    }
}

/// The API server did not answer, or refused to.
struct Failed;

async fn post<K>(reviews: &Api<K>, review: &K) -> Result<K, Failed>
where
    K: Clone + fmt::Debug + serde::de::DeserializeOwned + serde::Serialize,
{
    let params = PostParams::default();
    let answer = tokio::time::timeout(REVIEW_TIMEOUT, reviews.create(&params, review)).await;
    answer.map_err(|_| Failed)?.map_err(|_| Failed)
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
