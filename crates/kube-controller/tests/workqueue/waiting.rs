//! Calls of `get` that are polled only when their waker was called, in every short sequence of operations: none of them waits
//! while there is something for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;

use super::*;

/// How many operations follow each of the beginnings.
const DEPTH: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Add(u32),
    AddAfter(u32, u32),
    Get,
    DropGet,
    /// Polls the calls that were woken.
    Run,
    Advance,
    Len,
    TryGet,
    Done,
    ShutDown,
}

use Operation::{Add, AddAfter, Advance, Done, DropGet, Get, Len, Run, ShutDown, TryGet};

const OPERATIONS: [Operation; 11] =
    [Add(1), Add(2), AddAfter(1, 10), AddAfter(2, 20), Get, DropGet, Run, Advance, Len, TryGet, Done];

const BEGINNINGS: [&[Operation]; 5] = [
    &[Get, Get],
    &[AddAfter(1, 10), Get, Get],
    &[AddAfter(1, 10), AddAfter(2, 10), Get, Get, Advance],
    &[Add(1), TryGet, Add(1), Get, Get],
    &[Add(1), TryGet, Add(1), Get, Get, ShutDown],
];

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

struct Call {
    get: Pin<Box<dyn Future<Output = Option<Work<u32>>>>>,
    woken: Arc<Woken>,
}

struct Story {
    queue: WorkQueue<u32>,
    waiting: Vec<Call>,
    held: Vec<Work<u32>>,
}

impl Story {
    async fn step(&mut self, operation: Operation) {
        match operation {
            Add(key) => drop(self.queue.add(key)),
            AddAfter(key, millis) => drop(self.queue.add_after(key, millis * MS)),
            Get => {
                let queue = self.queue.clone();
                let woken = Arc::new(Woken(AtomicBool::new(true)));
                self.waiting.push(Call { get: Box::pin(async move { queue.get().await }), woken });
                let new = self.waiting.len() - 1;
                self.run(new);
            }
            DropGet if !self.waiting.is_empty() => drop(self.waiting.remove(0)),
            Run => while self.run(0) {},
            Advance => tokio::time::advance(10 * MS).await,
            Len => drop(self.queue.len()),
            TryGet => self.held.extend(self.queue.try_get()),
            Done if !self.held.is_empty() => self.held.remove(0).done(),
            ShutDown => drop(self.queue.shut_down()),
            DropGet | Done => {}
        }
    }

    /// Polls the calls from this one on that were woken. Returns whether there were any.
    fn run(&mut self, from: usize) -> bool {
        let (mut any, mut at) = (false, from);
        while at < self.waiting.len() {
            let Call { get, woken } = &mut self.waiting[at];
            if woken.0.swap(false, Ordering::SeqCst) {
                any = true;
                let waker = Waker::from(Arc::clone(woken));
                if let Poll::Ready(work) = get.as_mut().poll(&mut Context::from_waker(&waker)) {
                    self.held.extend(work);
                    drop(self.waiting.remove(at));
                    continue;
                }
            }
            at += 1;
        }
        any
    }

    /// Whether a call waits though a new one would not.
    fn has_forgotten_a_call(&self) -> bool {
        !self.waiting.is_empty() && !would_wait(&self.queue)
    }
}

#[tokio::test(start_paused = true)]
async fn no_call_of_get_waits_while_another_would_not_after_any_short_sequence_of_operations() {
    let stories = OPERATIONS.len().pow(DEPTH);
    // The question wakes calls itself, so each story asks it once: at the end, or when all delays have ended after that.
    for (rules, later) in ALL_RULES.into_iter().flat_map(|rules| [(rules, false), (rules, true)]) {
        for (beginning, number) in
            BEGINNINGS.iter().flat_map(|beginning| (0..stories).map(move |number| (beginning, number)))
        {
            let operations =
                (0..DEPTH).map(|at| OPERATIONS[number / OPERATIONS.len().pow(at) % OPERATIONS.len()]);
            let end: &[Operation] = if later { &[Run, Advance, Advance, Run] } else { &[Run] };
            let all = beginning.iter().copied().chain(operations).chain(end.iter().copied());
            let mut story = Story { queue: queue(rules), waiting: Vec::new(), held: Vec::new() };
            for operation in all.clone() {
                story.step(operation).await;
            }
            assert!(!story.has_forgotten_a_call(), "{rules:?}: {:?}", all.collect::<Vec<_>>());
        }
    }
}
