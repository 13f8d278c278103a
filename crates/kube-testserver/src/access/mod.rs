//! Who may do what: bearer tokens for users, and rules that can be changed while the server runs.

mod account_tokens;
mod rule;

pub(crate) use rule::Attributes;
pub use rule::Rule;

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use parking_lot::RwLock;

use crate::status::{About, ApiError};
use account_tokens::AccountTokens;

/// The group whose members may do everything.
const MASTERS: &str = "system:masters";

/// The group of every user with a token.
const AUTHENTICATED: &str = "system:authenticated";

/// The audience of this server's own tokens.
pub(crate) const API_AUDIENCE: &str = "https://kubernetes.default.svc";

/// The sender of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
    /// The uid of a service account; empty for other users.
    pub(crate) uid: String,
    /// The identity of a service account's token, `JTI=<uuid>`; empty for other users.
    pub(crate) credential: String,
}

/// The users and rules of a server.
///
/// A new server lets everybody do everything. The first rule changes that: from then on the first rule that
/// matches a request decides, and a request that no rule matches is forbidden. The server's own
/// [`client`](crate::TestServer::client) belongs to `system:masters` and may always do everything.
#[derive(Debug, Default)]
pub struct Access {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// The users that a test added, by token.
    users: HashMap<String, User>,
    accounts: AccountTokens,
    rules: Vec<Rule>,
    /// Requests without a token are refused with 401.
    tokens_required: bool,
}

/// A token of a service account.
#[derive(Debug)]
pub(crate) struct AccountToken {
    pub(crate) user: User,
    pub(crate) audiences: Vec<String>,
    pub(crate) expires: Timestamp,
}

impl AccountToken {
    fn is_for(&self, audience: &str) -> bool {
        self.audiences.iter().any(|one| one == audience)
    }
}

impl Access {
    /// Makes a user known by its bearer token.
    pub fn add_user(
        &self,
        token: impl Into<String>,
        name: impl Into<String>,
        groups: impl IntoIterator<Item = impl Into<String>>,
    ) {
        let groups = groups.into_iter().map(Into::into).chain([AUTHENTICATED.to_owned()]).collect();
        self.inner.write().users.insert(token.into(), User { name: name.into(), groups, ..User::default() });
    }

    /// Makes a token of a service account known until it expires. Of too many tokens, those that expire first are forgotten.
    pub(crate) fn add_account_token(&self, token: String, mut account: AccountToken, now: Timestamp) {
        account.user.groups.push(AUTHENTICATED.to_owned());
        self.inner.write().accounts.insert(token, account, now);
    }

    /// Forgets a token: requests with it are answered with 401 from now on.
    pub fn remove_token(&self, token: &str) {
        let mut inner = self.inner.write();
        inner.users.remove(token);
        inner.accounts.remove(token);
    }

    /// Refuses requests without a token, instead of treating them as `system:anonymous`.
    pub fn require_tokens(&self, required: bool) {
        self.inner.write().tokens_required = required;
    }

    /// Adds a rule behind those that are there.
    pub fn add_rule(&self, rule: Rule) {
        self.inner.write().rules.push(rule);
    }

    /// Replaces all rules. Without rules everybody may do everything.
    pub fn set_rules(&self, rules: impl IntoIterator<Item = Rule>) {
        self.inner.write().rules = rules.into_iter().collect();
    }

    /// Who sends a request with this `Authorization` header.
    pub(crate) fn authenticate(&self, header: Option<&str>, now: Timestamp) -> Result<User, ApiError> {
        let inner = self.inner.read();
        match header.and_then(|header| header.strip_prefix("Bearer ")).map(str::trim) {
            Some(token) => {
                let account =
                    || inner.accounts.get(token, now).filter(|account| account.is_for(API_AUDIENCE));
                let user = inner.users.get(token).or_else(|| account().map(|account| &account.user));
                user.cloned().ok_or_else(ApiError::unauthorized)
            }
            None if inner.tokens_required => Err(ApiError::unauthorized()),
            None => Ok(User {
                name: "system:anonymous".to_owned(),
                groups: vec!["system:unauthenticated".to_owned()],
                ..User::default()
            }),
        }
    }

    /// Authenticates a token for these audiences. An empty list means the audience of this server. Returns the user and the
    /// audiences that match, or the reason that a `TokenReview` states.
    pub(crate) fn review(
        &self,
        token: &str,
        audiences: &[String],
        now: Timestamp,
    ) -> Result<(User, Vec<String>), String> {
        const UNKNOWN: &str = "invalid bearer token";
        let own = [API_AUDIENCE.to_owned()];
        let wanted = if audiences.is_empty() { &own[..] } else { audiences };
        let matching = |has: &[String]| -> Vec<String> {
            let has: HashSet<&String> = has.iter().collect();
            wanted.iter().filter(|audience| has.contains(audience)).cloned().collect()
        };
        let inner = self.inner.read();
        if let Some(user) = inner.users.get(token) {
            let matching = matching(&own);
            return if matching.is_empty() { Err(UNKNOWN.to_owned()) } else { Ok((user.clone(), matching)) };
        }
        let Some(account) = inner.accounts.get(token, now) else { return Err(UNKNOWN.to_owned()) };
        let matching = matching(&account.audiences);
        if matching.is_empty() {
            return Err(format!(
                "[{UNKNOWN}, token audiences {} is invalid for the target audiences {}]",
                quoted(&account.audiences),
                quoted(wanted)
            ));
        }
        Ok((account.user.clone(), matching))
    }

    /// Whether the rules let the user do this.
    pub(crate) fn allows(&self, user: &User, what: &Attributes<'_>) -> bool {
        let inner = self.inner.read();
        if inner.rules.is_empty() || user.groups.iter().any(|group| group == MASTERS) {
            return true;
        }
        inner.rules.iter().find(|rule| rule.matches(user, what)).is_some_and(Rule::is_allow)
    }

    pub(crate) fn authorize(&self, user: &User, what: &Attributes<'_>) -> Result<(), ApiError> {
        if self.allows(user, what) { Ok(()) } else { Err(refusal(user, what)) }
    }
}

/// Formats texts as Go prints a list of quoted strings: `["a" "b"]`.
fn quoted(texts: &[String]) -> String {
    let each: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", each.join(" "))
}

fn refusal(user: &User, what: &Attributes<'_>) -> ApiError {
    let name = &user.name;
    if let Some(path) = what.path {
        let nothing = About { group: "", plural: "", kind: "" };
        return ApiError::forbidden(
            nothing,
            "",
            &format!("User \"{name}\" cannot {} path \"{path}\"", what.verb),
        );
    }
    let resource = if what.subresource.is_empty() {
        what.resource.to_owned()
    } else {
        format!("{}/{}", what.resource, what.subresource)
    };
    let scope = if what.namespace.is_empty() {
        "at the cluster scope".to_owned()
    } else {
        format!("in the namespace \"{}\"", what.namespace)
    };
    let why = format!(
        "User \"{name}\" cannot {} resource \"{resource}\" in API group \"{}\" {scope}",
        what.verb, what.group
    );
    ApiError::forbidden(About { group: what.group, plural: what.resource, kind: "" }, what.name, &why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(namespace: &str) -> Attributes<'_> {
        Attributes { verb: "list", resource: "pods", namespace, ..Attributes::default() }
    }

    #[test]
    fn the_first_matching_rule_decides_and_no_match_is_forbidden() {
        let access = Access::default();
        access.add_user("t", "alice", ["devs"]);
        let alice = access.authenticate(Some("Bearer t"), Timestamp::UNIX_EPOCH).unwrap();
        assert!(access.allows(&alice, &listing("a")), "without rules everything is allowed");
        access.set_rules([
            Rule::deny().namespace("secret"),
            Rule::allow().group("devs").verbs(["get", "list"]).resources(["pods"]),
        ]);
        assert!(access.allows(&alice, &listing("a")));
        assert!(!access.allows(&alice, &listing("secret")));
        assert!(!access.allows(&alice, &Attributes { verb: "delete", ..listing("a") }));
        let error = access.authorize(&alice, &listing("secret")).unwrap_err();
        assert_eq!(
            error.message,
            "pods is forbidden: User \"alice\" cannot list resource \"pods\" in API group \"\" in the namespace \"secret\""
        );
    }

    #[test]
    fn unknown_tokens_are_unauthorized_and_no_token_is_anonymous() {
        let access = Access::default();
        assert_eq!(access.authenticate(Some("Bearer nope"), Timestamp::UNIX_EPOCH).unwrap_err().code, 401);
        assert_eq!(access.authenticate(None, Timestamp::UNIX_EPOCH).unwrap().name, "system:anonymous");
        access.require_tokens(true);
        assert_eq!(access.authenticate(None, Timestamp::UNIX_EPOCH).unwrap_err().code, 401);
    }
}
