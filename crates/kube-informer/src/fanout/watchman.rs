//! A thread that looks for calls of handlers that last long, while somebody waits for their threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use parking_lot::{Condvar, Mutex};

use super::threads::{SLOW, Threads, now};
use crate::panics;

/// Who is looked at.
static ROUNDS: Mutex<Rounds> = Mutex::new(Rounds { watched: Vec::new(), has_begun: false });

/// Somebody is to be looked at.
static CALLED: Condvar = Condvar::new();

struct Rounds {
    watched: Vec<Weak<Threads>>,
    has_begun: bool,
}

/// Looks at these threads, until nobody waits for them; false if that is not possible.
pub(super) fn watch(threads: &Arc<Threads>) -> bool {
    let mut rounds = ROUNDS.lock();
    if !rounds.has_begun {
        let thread = std::thread::Builder::new().name("informer-watch".to_owned());
        // It lives as long as the program: there is one, and it sleeps when there is nothing to look at. Where the system
        // has no thread to give, those who wait do so until a call ends, and the next one who waits asks again.
        rounds.has_begun = thread.spawn(go_round).is_ok();
    }
    if !rounds.has_begun {
        return false;
    }
    rounds.watched.push(Arc::downgrade(threads));
    drop(rounds);
    CALLED.notify_one();
    true
}

fn go_round() {
    loop {
        let mut rounds = ROUNDS.lock();
        CALLED.wait_while(&mut rounds, |rounds| rounds.watched.is_empty());
        drop(rounds);
        wait();
        let mut watched = std::mem::take(&mut ROUNDS.lock().watched);
        watched.retain(|threads| threads.upgrade().is_some_and(|threads| relieve(&threads)));
        ROUNDS.lock().watched.append(&mut watched);
    }
}

/// Looks at some threads; false if nobody waits for them any more. All runtimes share this thread, so nothing that goes wrong with
/// one may end it: that one is looked at again.
fn relieve(threads: &Arc<Threads>) -> bool {
    catch_unwind(AssertUnwindSafe(|| threads.relieve(now()))).unwrap_or_else(|panic| {
        panics::drop_quietly(panic);
        true
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "a thread of its own, and how long calls last is counted in real time"
)]
fn wait() {
    std::thread::sleep(SLOW);
}
