//! Informers of any types, followed together: their events, how they are doing, and what is wrong with them.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::ready;
use futures::stream::{self, BoxStream, SelectAll};
use kube_client::Resource;
use kube_informer::SharedInformer;
use kube_informer::informer::{InformerError, InformerStatus};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::json;
use crate::line::{Columns, counted};
use crate::output::{Output, To};
use crate::paint::{DIM, GREEN, Paint, RED, harmless};
use crate::seen::{Seen, What};
use crate::trouble::{News, Told};

/// How often people are told how each informer is doing.
const STATUS_EVERY: Duration = Duration::from_secs(5);

type ReadStatus = Box<dyn Fn() -> InformerStatus + Send + Sync>;

/// An informer, without the type of its objects.
pub(crate) struct Followed {
    pub(crate) what: Arc<What>,
    status: ReadStatus,
    changes: watch::Receiver<InformerStatus>,
    events: BoxStream<'static, Seen>,
}

impl Followed {
    pub(crate) fn new<K>(what: What, informer: &SharedInformer<K>) -> Result<Self, InformerError>
    where
        K: Resource + Serialize + Send + Sync + 'static,
    {
        let what = Arc::new(what);
        let of = Arc::clone(&what);
        let events = informer.subscribe()?.filter_map(move |event| ready(Seen::new(&of, &event))).boxed();
        let changes = informer.watch_status();
        let informer = informer.clone();
        Ok(Self { what, status: Box::new(move || informer.status()), changes, events })
    }

    pub(crate) fn watch_status(&self) -> watch::Receiver<InformerStatus> {
        self.changes.clone()
    }
}

/// How events are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// One aligned line for each event, for people
    #[default]
    Line,
    /// One JSON object for each event, for programs
    Json,
}

impl Format {
    /// How often each informer says how it is doing, if nobody says otherwise.
    pub(crate) fn status_every(self) -> Option<Duration> {
        match self {
            Format::Line => Some(STATUS_EVERY),
            Format::Json => None,
        }
    }
}

/// How informers are shown.
#[derive(Debug)]
pub(crate) struct Show {
    pub(crate) format: Format,
    /// Where everything goes that is not an event.
    pub(crate) notes: To,
    /// How often each informer says how it is doing; none for never.
    pub(crate) status_every: Option<Duration>,
}

/// Informers that are shown.
pub(crate) struct Following {
    show: Show,
    columns: Columns,
    notes: (Paint, Columns),
    status: Vec<(Arc<What>, ReadStatus)>,
    news: SelectAll<BoxStream<'static, (Arc<What>, News)>>,
    events: SelectAll<BoxStream<'static, Seen>>,
    shown: u64,
}

impl Following {
    pub(crate) fn new(followed: Vec<Followed>, show: Show) -> Self {
        let kinds = || followed.iter().map(|one| &*one.what);
        let columns = Columns::new(Paint::of_stdout(), kinds());
        let paint = if show.notes == To::Stdout { Paint::of_stdout() } else { Paint::of_stderr() };
        let notes = (paint, Columns::new(paint, kinds()));
        let (mut status, mut news, mut events) = (Vec::new(), SelectAll::new(), SelectAll::new());
        for one in followed {
            news.push(news_of(Arc::clone(&one.what), one.changes));
            events.push(one.events);
            status.push((one.what, one.status));
        }
        Self { show, columns, notes, status, news, events, shown: 0 }
    }

    /// How many events have been shown.
    pub(crate) fn shown(&self) -> u64 {
        self.shown
    }

    /// Prints everything that happens, until all informers have been stopped. May be dropped at any time.
    pub(crate) async fn run(&mut self, output: &Output) {
        let every = self.show.status_every;
        let mut tick = every.map(|period| interval_at(Instant::now() + period, period));
        if let Some(tick) = &mut tick {
            tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        }
        loop {
            let next_tick = async {
                match &mut tick {
                    Some(tick) => tick.tick().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                _ = next_tick => {
                    for line in self.status_lines() {
                        output.print(self.show.notes, line).await;
                    }
                }
                Some((what, news)) = self.news.next() => {
                    // Also in a listing for programs: this is for those who run them.
                    output.print(To::Stderr, news_line(&what, &news)).await;
                }
                event = self.events.next() => {
                    let Some(seen) = event else { return };
                    let line = match self.show.format {
                        Format::Line => self.columns.event(&seen),
                        Format::Json => json::line(&seen),
                    };
                    output.print(To::Stdout, line).await;
                    self.shown += 1;
                }
            }
        }
    }

    fn status_lines(&self) -> Vec<String> {
        let (paint, columns) = &self.notes;
        let lines = self.status.iter().map(|(what, status)| {
            let status = status();
            let trouble = status.trouble.as_ref().map(|trouble| {
                format!("  failed {}: {}", counted(trouble.times, "time"), harmless(&trouble.error.message))
            });
            let line = paint.painted(DIM, &columns.about("STATUS", what, &in_words(&status)));
            format!("{line}{}", paint.painted(RED, &trouble.unwrap_or_default()))
        });
        lines.collect()
    }
}

/// `   4 objects   version 132   37 events   0 pending`.
fn in_words(status: &InformerStatus) -> String {
    let pending: usize = status.listeners.iter().map(|listener| listener.pending).sum();
    let told: u64 = status.listeners.iter().map(|listener| listener.told).sum();
    let version = if status.resource_version.is_empty() { "none" } else { &status.resource_version };
    let unreadable = match status.quarantined.len() {
        0 => String::new(),
        count => format!("  {count} that cannot be read"),
    };
    format!(
        "{:<12}  version {:<8}  {:<12}  {pending} pending{unreadable}",
        counted(status.objects as u64, "object"),
        harmless(version),
        counted(told, "event"),
    )
}

/// What is to be said about an informer, as it changes.
fn news_of(
    what: Arc<What>,
    changes: watch::Receiver<InformerStatus>,
) -> BoxStream<'static, (Arc<What>, News)> {
    stream::unfold((changes, Told::default()), |(mut changes, mut told)| async move {
        loop {
            // The informer is gone: there is nothing more to say.
            changes.changed().await.ok()?;
            let news = told.hear(&changes.borrow_and_update());
            if let Some(news) = news {
                return Some((news, (changes, told)));
            }
        }
    })
    .map(move |news| (Arc::clone(&what), news))
    .boxed()
}

fn news_line(what: &What, news: &News) -> String {
    let paint = Paint::of_stderr();
    match news {
        News::Wrong(why) => {
            let label = paint.painted(RED, &format!("{}:", what.resource));
            format!("{label} {}; trying again until it works", harmless(why))
        }
        News::WorksAgain => {
            let label = paint.painted(GREEN, &format!("{}:", what.resource));
            format!("{label} works again")
        }
    }
}
