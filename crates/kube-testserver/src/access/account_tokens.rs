//! The tokens of service accounts, bounded in number and bytes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::AccountToken;

/// The tokens that are kept.
const MAX_TOKENS: usize = 10_000;

/// The bytes of all tokens that are kept, with their users and audiences.
const MAX_BYTES: usize = 16 << 20;

/// How long a token is accepted after it has expired, as in Kubernetes.
const LEEWAY: SignedDuration = SignedDuration::from_mins(1);

/// Tokens, each until it expires. Beyond the bounds, those that expire first are forgotten.
#[derive(Debug, Default)]
pub(super) struct AccountTokens {
    tokens: HashMap<Arc<str>, AccountToken>,
    by_expiry: BTreeSet<(Timestamp, Arc<str>)>,
    bytes: usize,
}

impl AccountTokens {
    /// Adds a token, and forgets those that have expired and those beyond the bounds.
    pub(super) fn insert(&mut self, token: String, account: AccountToken, now: Timestamp) {
        self.remove(&token);
        let token = Arc::<str>::from(token);
        self.bytes += size(&token, &account);
        self.by_expiry.insert((account.expires, Arc::clone(&token)));
        self.tokens.insert(token, account);
        while let Some((expires, first)) = self.by_expiry.first() {
            let is_full = self.tokens.len() > MAX_TOKENS || self.bytes > MAX_BYTES;
            if !is_full && !has_expired(*expires, now) {
                break;
            }
            let first = Arc::clone(first);
            self.remove(&first);
        }
    }

    /// Returns a token that has not expired.
    pub(super) fn get(&self, token: &str, now: Timestamp) -> Option<&AccountToken> {
        self.tokens.get(token).filter(|account| !has_expired(account.expires, now))
    }

    pub(super) fn remove(&mut self, token: &str) {
        if let Some((token, account)) = self.tokens.remove_entry(token) {
            self.bytes -= size(&token, &account);
            self.by_expiry.remove(&(account.expires, token));
        }
    }
}

fn has_expired(expires: Timestamp, now: Timestamp) -> bool {
    now.duration_since(expires) > LEEWAY
}

fn size(token: &str, account: &AccountToken) -> usize {
    let texts = account.user.groups.iter().chain(&account.audiences);
    let bytes: usize = texts.map(|text| size_of::<String>() + text.len()).sum();
    let user = &account.user;
    size_of::<AccountToken>() + token.len() + user.name.len() + user.uid.len() + user.credential.len() + bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::User;

    fn account(expires: i64, audience: &str) -> AccountToken {
        AccountToken {
            user: User { name: "robot".to_owned(), ..User::default() },
            audiences: vec![audience.to_owned()],
            expires: at(expires),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_token_is_forgotten_a_minute_after_it_has_expired() {
        let mut tokens = AccountTokens::default();
        tokens.insert("a".to_owned(), account(100, "x"), at(0));
        assert!(tokens.get("a", at(160)).is_some());
        assert!(tokens.get("a", at(161)).is_none());
        tokens.insert("b".to_owned(), account(1_000, "x"), at(161));
        assert_eq!((tokens.tokens.len(), tokens.by_expiry.len()), (1, 1));
        tokens.remove("b");
        assert_eq!((tokens.tokens.len(), tokens.by_expiry.len(), tokens.bytes), (0, 0, 0));
    }

    #[test]
    fn of_too_many_tokens_those_that_expire_first_are_forgotten() {
        let mut tokens = AccountTokens::default();
        for expires in 0..2 * MAX_TOKENS {
            let expires = 10_000 + i64::try_from(expires).unwrap();
            tokens.insert(expires.to_string(), account(expires, "x"), at(0));
        }
        assert_eq!((tokens.tokens.len(), tokens.by_expiry.len()), (MAX_TOKENS, MAX_TOKENS));
        assert!(tokens.get("10000", at(0)).is_none() && tokens.get("29999", at(0)).is_some());
    }

    #[test]
    fn the_bytes_of_tokens_are_bounded() {
        let mut tokens = AccountTokens::default();
        let audience = "x".repeat(MAX_BYTES / 10);
        for expires in 0..20 {
            tokens.insert(expires.to_string(), account(expires, &audience), at(0));
            assert!(tokens.bytes <= MAX_BYTES);
        }
        assert_eq!(tokens.tokens.len(), 9);
        assert!(tokens.get("19", at(0)).is_some());
    }
}
