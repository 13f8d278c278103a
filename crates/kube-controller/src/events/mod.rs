//! Telling people what was done: Events of `events.k8s.io/v1`.
//!
//! [`EventRecorder::record`] puts an event into a queue and returns: it never waits, so nobody who works is held up by a
//! server that is slow. An [`EventWriter`] takes events out and writes them:
//!
//! - **Series.** What is the same but for its note is written once; when it happens again, the object that is there becomes
//!   a series with a count. Counts are kept here and written every half hour, and when nothing has happened for six
//!   minutes, which ends the series. So a count that people see may be half an hour old.
//! - **Aggregation.** The note is no part of what makes events the same: of many notes about one object, with one type, reason
//!   and action, the first is shown, and the others are counted in its series. So does client-go's recorder of
//!   `events.k8s.io/v1`; its older one, of `v1`, shows up to nine notes and a last one for the rest.
//! - **Spam.** An object gets 25 events of one type at once, and one every five minutes after that. What is beyond that is
//!   counted, in the series if there is one, and not written.
//! - **Tries.** A server that cannot be reached is tried for about two minutes. One that refuses is not tried again.
//! - **Limits.** [`QUEUE`] events wait at most, [`MAX_KNOWN`] are remembered, and texts are cut to what servers take. What
//!   was dropped, cut off or refused can be [counted](EventRecorder::stats), and [`record`](EventRecorder::record) says
//!   whether there was room.
//!
//! ```
//! use k8s_openapi::api::core::v1::ObjectReference;
//! use kube_controller::events::{Event, EventRecorder};
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = kube_testserver::TestServer::start().await?;
//! # let client = server.client()?;
//! let (recorder, writer) = EventRecorder::new(client, "example.com/my-controller", "my-pod-7d4b9");
//! let stop = CancellationToken::new();
//! let writing = tokio::spawn(writer.run(stop.clone()));
//!
//! // For an object that you have: `object.object_ref(&())`.
//! let foo = ObjectReference { kind: Some("Foo".into()), name: Some("web".into()), ..Default::default() };
//! recorder.record(&foo, Event::normal("Scaled", "Scale", "Scaled up to 3"));
//!
//! stop.cancel();
//! writing.await?;
//! assert_eq!(recorder.stats().written, 1);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```
//!
//! kube's own recorder (`kube_runtime::events`) makes series too, but waits for the server on every event, neither limits
//! nor retries, and forgets counts that were not written.

mod correlate;
mod event;
mod recorder;
mod spam;
mod writer;

pub use correlate::MAX_KNOWN;
pub use event::{Event, MAX_NOTE, MAX_REASON};
pub use recorder::{EventRecorder, EventStats, QUEUE};
pub use writer::EventWriter;
