//! Kinds that the server does not know: nobody asks for their objects, and when they come back that is noticed.
//!
//! Most are custom resources, so their definition is watched, that one alone, and the server is asked whether it has the
//! kind when something happens to it. It is also asked now and then without a reason: a kind may be of an aggregated API, or
//! of another version of the server, and who follows the kind may not be allowed to watch definitions.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::definition::{Definition, hear_of_definition};
use super::entry::About;
use super::server::Server;
use crate::random::Random;
use crate::reflector::Config;

/// How long to wait at first before the server is asked whether it has a kind; twice as long each time, until something
/// happens to the definition.
pub(super) const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest such wait, where the server tells what happens to the definition.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);

/// The longest such wait where it does not.
const LONGEST_PAUSE_UNHEARD: Duration = Duration::from_secs(30);

/// By how much waits are longer at most, so that a fleet does not ask in step.
const STRETCH: f64 = 0.25;

/// A kind that the server does not know.
pub(super) struct Gone<'a> {
    pub(super) server: &'a Server,
    pub(super) about: &'a About,
    pub(super) config: &'a Config,
    pub(super) seed: u64,
}

impl Gone<'_> {
    /// Waits until the server has the kind, and returns whether it has namespaces; none if the server does not say what it
    /// has, so that somebody has to ask for the kind itself to know.
    pub(super) async fn until_it_is_back(&self, looks: &mut Looks) -> Option<bool> {
        let (sender, mut heard) = watch::channel(Definition::default());
        let (resource, client) = (&self.about.resource, &self.server.client);
        let hearing =
            hear_of_definition(client, &resource.resource, &resource.group, self.config, self.seed, &sender);
        let looking = async {
            loop {
                let due = looks.due(&heard.borrow_and_update());
                tokio::select! {
                    // The sender lives as long as this does.
                    _ = heard.changed() => {}
                    () = tokio::time::sleep_until(due) => {
                        looks.looked();
                        match self.server.ask(self.about).await {
                            Ok(Some(namespaced)) => return Some(namespaced),
                            Ok(None) => {}
                            Err(_) => return None,
                        }
                    }
                }
            }
        };
        tokio::select! {
            said = looking => said,
            () = hearing => None,
        }
    }
}

/// When the server is asked whether it has a kind. It is kept until the kind has been there: one that the server says it
/// has, and then does not know, is not woken again and again.
pub(super) struct Looks {
    random: Random,
    last: Instant,
    pause: Duration,
    stretch: f64,
    /// The version of the definition that was heard of last.
    version: Option<String>,
}

impl Looks {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let stretch = 1.0 + STRETCH * random.fraction();
        Self { random, last: Instant::now(), pause: FIRST_PAUSE, stretch, version: None }
    }

    /// When to ask next, with what is known of the definition.
    fn due(&mut self, definition: &Definition) -> Instant {
        if definition.version.is_some() && definition.version != self.version {
            self.version.clone_from(&definition.version);
            (self.pause, self.stretch) = (FIRST_PAUSE, 1.0);
        }
        let longest = if definition.is_heard_of { LONGEST_PAUSE } else { LONGEST_PAUSE_UNHEARD };
        self.last + self.pause.min(longest).mul_f64(self.stretch)
    }

    /// The server is being asked.
    fn looked(&mut self) {
        self.last = Instant::now();
        self.pause = LONGEST_PAUSE.min(self.pause * 2);
        self.stretch = 1.0 + STRETCH * self.random.fraction();
    }
}
