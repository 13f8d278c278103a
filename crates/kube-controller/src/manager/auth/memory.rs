//! A bounded memory of reviews, by digest, with an expiry.

use std::collections::HashMap;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use tokio::time::Instant;

/// The limit of remembered answers of one kind. One more evicts the answer that expires first.
pub(super) const MAX_REMEMBERED: usize = 1024;

/// The SHA-256 of a token or a question. Tokens themselves are not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Digest([u8; 32]);

impl Digest {
    pub(super) fn of(bytes: &[u8]) -> Self {
        let mut sum = [0; 32];
        sum.copy_from_slice(digest(&SHA256, bytes).as_ref());
        Self(sum)
    }
}

/// Answers of one kind, each good for the same time.
#[derive(Debug)]
pub(super) struct Memory<V> {
    life: Duration,
    answers: HashMap<Digest, (Instant, V)>,
}

impl<V: Clone> Memory<V> {
    pub(super) fn new(life: Duration) -> Self {
        Self { life, answers: HashMap::new() }
    }

    /// Returns the answer, unless it has expired.
    pub(super) fn get(&self, question: &Digest) -> Option<V> {
        let (until, answer) = self.answers.get(question)?;
        (Instant::now() < *until).then(|| answer.clone())
    }

    /// Whether there is an answer, expired or not.
    pub(super) fn contains(&self, question: &Digest) -> bool {
        self.answers.contains_key(question)
    }

    /// Remembers an answer from now on; evicts the one that expires first if there are too many.
    pub(super) fn insert(&mut self, question: Digest, answer: V) {
        self.insert_until(question, Instant::now() + self.life, answer);
    }

    fn insert_until(&mut self, question: Digest, until: Instant, answer: V) {
        if self.answers.len() >= MAX_REMEMBERED && !self.answers.contains_key(&question) {
            let first =
                self.answers.iter().min_by_key(|(_, (until, _))| *until).map(|(question, _)| *question);
            first.inspect(|first| drop(self.answers.remove(first)));
        }
        self.answers.insert(question, (until, answer));
    }

    /// Moves an answer, if there is one, to another memory. It expires when it would have expired here.
    pub(super) fn move_to(&mut self, other: &mut Self, question: &Digest) {
        if let Some((until, answer)) = self.answers.remove(question) {
            other.insert_until(*question, until, answer);
        }
    }

    pub(super) fn remove(&mut self, question: &Digest) {
        self.answers.remove(question);
    }
}
