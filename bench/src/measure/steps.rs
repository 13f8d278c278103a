//! The steps that measure copies of all kinds of a server, whichever library keeps them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::try_join_all;
use tokio::sync::mpsc;

use super::follower::{Follower, Updated, followers};
use super::process::{cpu, forget_peak, print_memory};
use super::{Settings, Step, expect, figure, percentiles, reads};
use crate::Error;
use crate::replay::{Control, Described, EVENT_VERSION, Served, client, unix_nanos};
use crate::report::now;

/// How many events pass before latency is noted.
const WARM_UP: usize = 1_000;

/// How long watches have been open when a server restarts.
const LONG_WATCH: Duration = Duration::from_secs(2);

/// Copies of all kinds of a server.
struct Copies {
    control: Control,
    described: Described,
    followers: Vec<Box<dyn Follower>>,
}

pub(super) async fn run(settings: Settings) -> Result<(), Error> {
    let control = Control::new(&settings.url)?;
    let described = control.describe().await?;
    let client = client(&settings.url)?;
    let followers = followers(&settings, &client, &described.kinds)?;
    let copies = Copies { control, described, followers };
    match settings.step {
        Step::Sync => copies.sync(&settings).await,
        Step::Relist => copies.relist(&settings).await,
        Step::Restart => copies.restart(&settings).await,
        Step::Events => copies.events(&settings).await,
        Step::Latency => copies.latency(&settings).await,
        Step::Reads => copies.reads(settings).await,
        Step::Decode | Step::Repeat | Step::Queue => Err("it needs no copy".into()),
    }
}

impl Copies {
    fn kinds(&self) -> impl Iterator<Item = (&dyn Follower, &Served)> {
        self.followers.iter().map(AsRef::as_ref).zip(&self.described.kinds)
    }

    async fn start(&self) -> Result<(), Error> {
        self.followers.iter().try_for_each(|follower| follower.start())?;
        try_join_all(self.followers.iter().map(|follower| follower.synced())).await?;
        self.check()
    }

    fn check(&self) -> Result<(), Error> {
        self.kinds().try_for_each(|(follower, served)| expect(follower.len(), served.count))
    }

    async fn sync(&self, settings: &Settings) -> Result<(), Error> {
        let (worked, begun) = (cpu(), now());
        self.start().await?;
        figure("seconds", begun.elapsed().as_secs_f64());
        figure("cpu", cpu() - worked);
        settings.settle().await;
        print_memory();
        self.check()
    }

    async fn relist(&self, settings: &Settings) -> Result<(), Error> {
        self.start().await?;
        let (done, mut all) = mpsc::unbounded_channel();
        let mut waiting = 0;
        for (kind, (follower, served)) in self.kinds().enumerate() {
            let (done, changed) = (done.clone(), served.changed(settings.changed)?);
            if changed > 0 {
                let call = move || {
                    let _ = done.send((kind, unix_nanos().unwrap_or(0)));
                };
                follower.on_relisted(changed, Box::new(call)).await?;
                waiting += 1;
            }
        }
        settings.settle().await;
        forget_peak();
        let (before, worked) = (crate::memory::own().0, cpu());
        self.control.send(&format!("/bench/expire?changed={}", settings.changed)).await?;
        let mut ended = Vec::new();
        for _ in 0..waiting {
            ended.push(all.recv().await.ok_or("the handlers are gone")?);
        }
        figure("cpu", cpu() - worked);
        // The wait before a list is not counted: each library draws it at random.
        let asked = self.control.describe().await?.kinds;
        let seconds = |&(kind, ended): &(usize, u64)| ended.saturating_sub(asked[kind].asked) as f64 / 1e9;
        figure("seconds", ended.iter().map(seconds).fold(0.0, f64::max));
        settings.settle().await;
        figure("resident_before", before as f64);
        print_memory();
        self.check()
    }

    /// Adds handlers to each copy, each of which counts its updates; returns when all have got theirs.
    async fn handled(
        &self,
        settings: &Settings,
        mut handler: impl FnMut() -> Box<dyn FnMut(&dyn Updated) + Send>,
    ) -> Result<Handled, Error> {
        let (done, all) = mpsc::unbounded_channel();
        let mut waiting = 0;
        for (follower, served) in self.kinds() {
            let wanted = served.updates(settings.events);
            for _ in 0..if wanted > 0 { settings.handlers } else { 0 } {
                let (done, mut seen, mut handle) = (done.clone(), 0, handler());
                let handler = Box::new(move |new: &dyn Updated| {
                    seen += 1;
                    handle(new);
                    if seen == wanted {
                        let _ = done.send(());
                    }
                });
                follower.on_update(handler).await?;
                waiting += 1;
            }
        }
        Ok(Handled { all, waiting })
    }

    /// Reads a field of each new object.
    async fn add_reading_handlers(&self, settings: &Settings) -> Result<Handled, Error> {
        self.handled(settings, || {
            let mut length = 0;
            Box::new(move |new: &dyn Updated| {
                length += new.read_field();
                std::hint::black_box(length);
            })
        })
        .await
    }

    async fn events(&self, settings: &Settings) -> Result<(), Error> {
        self.start().await?;
        let mut handled = self.add_reading_handlers(settings).await?;
        // After a list, watches begin later than the copy is complete.
        settings.settle().await;
        let (worked, begun) = (cpu(), now());
        self.control.send(&format!("/bench/events?count={}&rate={}", settings.events, settings.rate)).await?;
        handled.wait().await?;
        figure("per_second", settings.events as f64 / begun.elapsed().as_secs_f64());
        figure("cpu", cpu() - worked);
        settings.settle().await;
        print_memory();
        Ok(())
    }

    /// The server ends all watches; when they begin again, the updates that were missed have to reach the handlers.
    async fn restart(&self, settings: &Settings) -> Result<(), Error> {
        self.start().await?;
        let mut handled = self.add_reading_handlers(settings).await?;
        // A watch that ends within a second may be taken for a broken one.
        tokio::time::sleep(LONG_WATCH).await;
        let (worked, begun) = (cpu(), now());
        self.control.send(&format!("/bench/restart?count={}", settings.events)).await?;
        handled.wait().await?;
        figure("seconds", begun.elapsed().as_secs_f64());
        figure("cpu", cpu() - worked);
        Ok(())
    }

    async fn latency(&self, settings: &Settings) -> Result<(), Error> {
        self.start().await?;
        let started = self.described.started;
        let (done, mut delays) = mpsc::unbounded_channel();
        let counts: usize = self.kinds().map(|(_, served)| served.updates(settings.events)).sum();
        // The warm-up, in proportion.
        let skipped = WARM_UP / self.followers.len();
        let mut handled = self
            .handled(settings, || {
                let (done, mut seen) = (done.clone(), 0);
                Box::new(move |new: &dyn Updated| {
                    let version: u64 = new.version().parse().unwrap_or(0);
                    let sent = started + version.saturating_sub(EVENT_VERSION) * 1_000;
                    let delay = unix_nanos().unwrap_or(0).saturating_sub(sent) as f64 / 1e9;
                    seen += 1;
                    if seen > skipped {
                        let _ = done.send(delay);
                    }
                })
            })
            .await?;
        settings.settle().await;
        let worked = cpu();
        self.control.send(&format!("/bench/events?count={}&rate={}", settings.events, settings.rate)).await?;
        handled.wait().await?;
        figure("cpu", cpu() - worked);
        let mut all = Vec::with_capacity(counts * settings.handlers);
        while let Ok(delay) = delays.try_recv() {
            all.push(delay);
        }
        percentiles(all)
    }

    async fn reads(&self, settings: Settings) -> Result<(), Error> {
        let [follower] = &self.followers[..] else { return Err("one kind is read at a time".into()) };
        let written = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&written);
        self.start().await?;
        let count = move |_: &dyn Updated| {
            counter.fetch_add(1, Ordering::Relaxed);
        };
        follower.on_update(Box::new(count)).await?;
        settings.settle().await;
        reads::measure(settings, follower.reads()?, written).await
    }
}

/// Handlers that send when they have got all their updates.
struct Handled {
    all: mpsc::UnboundedReceiver<()>,
    waiting: usize,
}

impl Handled {
    async fn wait(&mut self) -> Result<(), Error> {
        for _ in 0..self.waiting {
            self.all.recv().await.ok_or("the handlers are gone")?;
        }
        Ok(())
    }
}
