//! Reading, cutting and decoding at the same time, in order.
//!
//! One task reads the body and cuts it into pieces; pieces are decoded in batches, on tasks of their own when there is
//! enough to do, so that a large answer uses all cores and the network is never left waiting. What comes out is in the
//! order of the body.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{FutureExt, StreamExt};
use http_body_util::BodyExt;
use kube_client::client::Body;
use kube_wire::{Piece, WireError};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::SourceError;
use crate::panics;

/// Pieces of so many bytes together are decoded as one batch.
const BATCH_BYTES: usize = 64 << 10;

/// Less than this is decoded where it is read: handing it over would take longer.
const INLINE_BYTES: usize = 16 << 10;

/// So many batches are decoded, or wait to be taken, at the same time; then reading waits.
const BATCHES: usize = 16;

/// After so long without bytes nothing more is expected at once.
const PAUSE: Duration = Duration::from_millis(100);

/// Cuts bytes into pieces.
pub(super) trait Cut<T>: Send + 'static {
    /// Takes in bytes.
    fn push(&mut self, bytes: &[u8]) -> Result<(), WireError>;

    /// The next whole piece; none if more bytes are needed.
    fn next_piece(&mut self) -> Result<Option<Piece>, WireError>;

    /// Says that bytes have arrived.
    fn heard(bytes: usize) -> T;

    /// What is said at the end of the body.
    fn finish(self) -> Result<Option<T>, WireError>;
}

/// Everything that is decoded from a body, up to its end or the first error. `busy` is told when there is something to decode,
/// and when there is nothing for the time being, or any more.
pub(super) fn pipeline<T, C, D, B>(
    body: Body,
    cut: C,
    tasks: TaskTracker,
    decode: D,
    busy: B,
) -> BoxStream<'static, Result<T, SourceError>>
where
    T: Send + 'static,
    C: Cut<T>,
    D: Fn(Piece) -> Result<T, SourceError> + Send + Sync + 'static,
    B: Fn(bool) + Send + Sync + 'static,
{
    let pipeline = Pipeline {
        body,
        cut: Some(cut),
        uncut: 0,
        ended: None,
        decode: Arc::new(decode),
        batches: VecDeque::new(),
        ready: VecDeque::new(),
        tasks,
        busy: Busy(busy),
        dropped: CancellationToken::new().drop_guard(),
    };
    stream::unfold(Some(pipeline), async |pipeline| {
        let mut pipeline = pipeline?;
        let part = pipeline.next().await?;
        let more = part.is_ok().then_some(pipeline);
        Some((part, more))
    })
    .boxed()
}

struct Pipeline<T, C, D, B: Fn(bool)> {
    body: Body,
    /// None after everything has been cut, up to the end of the body.
    cut: Option<C>,
    /// About how many bytes wait to be cut.
    uncut: usize,
    /// How the body ended, once it has.
    ended: Option<Result<(), SourceError>>,
    decode: Arc<D>,
    /// In the order of the body.
    batches: VecDeque<Batch<T>>,
    ready: VecDeque<Result<T, SourceError>>,
    tasks: TaskTracker,
    busy: Busy<B>,
    /// Nobody wants what is being decoded any more.
    dropped: DropGuard,
}

/// Who is told whether there is something to do. At the end there is not.
struct Busy<B: Fn(bool)>(B);

impl<B: Fn(bool)> Drop for Busy<B> {
    fn drop(&mut self) {
        (self.0)(false);
    }
}

type Decoded<T> = Vec<Result<T, SourceError>>;

enum Batch<T> {
    Done(Decoded<T>),
    Task(JoinHandle<Decoded<T>>),
}

impl<T, C, D, B> Pipeline<T, C, D, B>
where
    T: Send + 'static,
    C: Cut<T>,
    D: Fn(Piece) -> Result<T, SourceError> + Send + Sync + 'static,
    B: Fn(bool) + Send + Sync + 'static,
{
    /// The next part; none at the end.
    async fn next(&mut self) -> Option<Result<T, SourceError>> {
        loop {
            if let Some(part) = self.ready.pop_front() {
                return Some(part);
            }
            while self.is_time_to_cut() && self.cut_batch() {}
            let reads_on = self.ended.is_none() && self.cut.is_some() && self.batches.len() < BATCHES;
            match (self.batches.front_mut(), reads_on) {
                (None, false) => return None,
                (None, true) => {
                    let bytes = tokio::select! {
                        biased;
                        bytes = next_bytes(&mut self.body) => bytes,
                        () = tokio::time::sleep(PAUSE) => {
                            (self.busy.0)(false);
                            next_bytes(&mut self.body).await
                        }
                    };
                    self.take_bytes(bytes);
                }
                (Some(front), false) => {
                    let decoded = front.wait().await;
                    self.take_batch(decoded);
                }
                (Some(front), true) => tokio::select! {
                    biased;
                    decoded = front.wait() => self.take_batch(decoded),
                    bytes = next_bytes(&mut self.body) => self.take_bytes(bytes),
                },
            }
        }
    }

    /// Whether to go on with what is there. While others decode, a whole batch is waited for: servers send little at a
    /// time, and handing that over would take longer than decoding it.
    fn is_time_to_cut(&self) -> bool {
        let enough = self.uncut >= BATCH_BYTES || self.ended.is_some() || self.batches.is_empty();
        enough && self.batches.len() < BATCHES
    }

    /// Starts to decode the next pieces; false if there is none.
    fn cut_batch(&mut self) -> bool {
        let Some(cut) = &mut self.cut else { return false };
        let (mut pieces, mut bytes, mut error) = (Vec::new(), 0, None);
        while bytes < BATCH_BYTES {
            match cut.next_piece() {
                Ok(Some(piece)) => {
                    bytes += piece.len();
                    pieces.push(piece);
                }
                Ok(None) => break,
                Err(wrong) => {
                    error = Some(SourceError::garbled(wrong));
                    break;
                }
            }
        }
        let some = !pieces.is_empty() || error.is_some();
        // What is left is a piece without its end, or nothing.
        self.uncut = if bytes < BATCH_BYTES { 0 } else { self.uncut.saturating_sub(bytes) };
        if some {
            (self.busy.0)(true);
        }
        if bytes >= INLINE_BYTES {
            let (decode, dropped) = (Arc::clone(&self.decode), self.dropped.token().clone());
            let wanted = move |_: &Piece| !dropped.is_cancelled();
            let task =
                async move { pieces.into_iter().take_while(wanted).map(|piece| decode(piece)).collect() };
            self.batches.push_back(Batch::Task(self.tasks.spawn(task)));
        } else if !pieces.is_empty() {
            let decoded = pieces.into_iter().map(|piece| (self.decode)(piece)).collect();
            self.batches.push_back(Batch::Done(decoded));
        }
        if let Some(error) = error {
            self.end(vec![Err(error)]);
        } else if !some && let Some(ended) = self.ended.take() {
            self.finish(ended);
        }
        some
    }

    fn take_batch(&mut self, decoded: Decoded<T>) {
        self.batches.pop_front();
        self.ready.extend(decoded);
    }

    /// Takes in bytes, and what else has arrived, up to a batch.
    fn take_bytes(&mut self, bytes: Result<Option<Bytes>, SourceError>) {
        self.take_some(bytes);
        while self.ended.is_none()
            && self.uncut < BATCH_BYTES
            && let Some(bytes) = next_bytes(&mut self.body).now_or_never()
        {
            self.take_some(bytes);
        }
    }

    fn take_some(&mut self, bytes: Result<Option<Bytes>, SourceError>) {
        let Some(cut) = &mut self.cut else { return };
        match bytes {
            Ok(Some(bytes)) => {
                self.ready.push_back(Ok(C::heard(bytes.len())));
                self.uncut += bytes.len();
                if let Err(error) = cut.push(&bytes) {
                    self.ended = Some(Err(SourceError::garbled(error)));
                }
            }
            Ok(None) => self.ended = Some(Ok(())),
            Err(error) => self.ended = Some(Err(error)),
        }
    }

    /// Everything has been cut, and the body has ended.
    fn finish(&mut self, ended: Result<(), SourceError>) {
        let last = match (ended, self.cut.take()) {
            (Err(error), _) => Some(Err(error)),
            (Ok(()), cut) => cut.and_then(|cut| cut.finish().map_err(SourceError::garbled).transpose()),
        };
        self.end(last.into_iter().collect());
    }

    /// Nothing more is read; this is said last.
    fn end(&mut self, last: Decoded<T>) {
        self.cut = None;
        self.batches.push_back(Batch::Done(last));
    }
}

impl<T> Batch<T> {
    /// What was decoded. May be given up and asked again.
    async fn wait(&mut self) -> Decoded<T> {
        match self {
            Batch::Done(decoded) => std::mem::take(decoded),
            Batch::Task(task) => task.await.unwrap_or_else(|error| {
                // A panic's own text may have values of objects in it.
                let why = error.try_into_panic().map_or_else(|error| error.to_string(), panics::message);
                vec![Err(SourceError::garbled(why))]
            }),
        }
    }
}

/// The next bytes of a body; none at its end.
async fn next_bytes(body: &mut Body) -> Result<Option<Bytes>, SourceError> {
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| SourceError::connection(&error))?;
        if let Ok(data) = frame.into_data()
            && !data.is_empty()
        {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::convert::Infallible;
    use std::future::ready;
    use std::task::Poll;

    use futures::channel::mpsc;
    use http::{Request, Response};
    use http_body::Frame;
    use http_body_util::StreamBody;
    use kube_client::Client;
    use kube_wire::{Encoding, Frames, Limits};
    use parking_lot::Mutex;

    use super::*;

    struct Lines(Frames);

    /// The same, but a line without its end is an error.
    struct Whole(Lines);

    impl Cut<String> for Whole {
        fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
            self.0.push(bytes)
        }

        fn next_piece(&mut self) -> Result<Option<Piece>, WireError> {
            self.0.next_piece()
        }

        fn heard(bytes: usize) -> String {
            Lines::heard(bytes)
        }

        fn finish(self) -> Result<Option<String>, WireError> {
            Err(WireError::ListTooLarge { limit: 1 })
        }
    }

    impl Cut<String> for Lines {
        fn push(&mut self, bytes: &[u8]) -> Result<(), WireError> {
            self.0.push(bytes);
            Ok(())
        }

        fn next_piece(&mut self) -> Result<Option<Piece>, WireError> {
            self.0.next_frame()
        }

        fn heard(_: usize) -> String {
            "heard".to_owned()
        }

        fn finish(self) -> Result<Option<String>, WireError> {
            Ok(None)
        }
    }

    /// A body that is sent line by line.
    type Sender = mpsc::UnboundedSender<Result<Frame<Bytes>, Infallible>>;

    /// The two ends of a body.
    async fn body() -> (Sender, Body) {
        let (bytes, body) = mpsc::unbounded();
        let body = Mutex::new(Some(StreamBody::new(body)));
        let answer = move |_: Request<Body>| {
            let body = body.lock().take().unwrap();
            async move { Ok::<_, Infallible>(Response::new(body)) }
        };
        let client = Client::new(tower::service_fn(answer), "default");
        (bytes, client.send(Request::new(Body::empty())).await.unwrap().into_body())
    }

    fn send(bytes: &Sender, line: &str) {
        bytes.unbounded_send(Ok(Frame::data(Bytes::copy_from_slice(line.as_bytes())))).unwrap();
    }

    fn lines() -> Lines {
        Lines(Encoding::Json.frames(Limits::default()))
    }

    #[tokio::test]
    async fn many_small_pieces_that_have_arrived_are_decoded_together_elsewhere_and_in_order() {
        let (bytes, body) = body().await;
        let number = |number: usize| format!("{{\"number\":{number},\"text\":\"{}\"}}\n", "x".repeat(1_000));
        (0..300).for_each(|at| send(&bytes, &number(at)));
        let here = tokio::task::try_id();
        let tasks = Arc::new(Mutex::new(HashMap::new()));
        let seen = Arc::clone(&tasks);
        let decode = move |piece: Piece| {
            let text = String::from_utf8(piece.whole().unwrap().to_vec()).unwrap();
            *seen.lock().entry(tokio::task::try_id()).or_insert(0) += 1;
            Ok(text + "\n")
        };
        drop(bytes);
        let parts = pipeline(body, lines(), TaskTracker::new(), decode, |_| {});
        let parts: Vec<String> =
            parts.map(Result::unwrap).filter(|part| ready(part != "heard")).collect().await;
        assert_eq!(parts, (0..300).map(number).collect::<Vec<_>>());
        let tasks = tasks.lock();
        assert!(tasks.len() <= 6, "300 KiB in batches of 64: {tasks:?}");
        assert!(tasks.get(&here).is_none_or(|few| *few < 20), "all but the last of them: {tasks:?}");
    }

    #[tokio::test]
    async fn what_arrives_while_others_decode_is_decoded_together() {
        let (bytes, body) = body().await;
        let tasks = Arc::new(Mutex::new(HashMap::new()));
        let seen = Arc::clone(&tasks);
        let decode = move |_: Piece| {
            *seen.lock().entry(tokio::task::try_id()).or_insert(0) += 1;
            Ok("decoded".to_owned())
        };
        let mut parts = pipeline(body, lines(), TaskTracker::new(), decode, |_| {});
        let piece = format!("\"{}\"\n", "x".repeat(20_000));
        // Nobody else runs until this waits, so the first batch is under way all the time.
        for _ in 0..3 {
            send(&bytes, &piece);
            assert!(matches!(futures::poll!(parts.next()), Poll::Ready(Some(Ok(heard))) if heard == "heard"));
            assert!(futures::poll!(parts.next()).is_pending());
        }
        drop(bytes);
        assert_eq!(parts.map(Result::unwrap).collect::<Vec<_>>().await, ["decoded"; 3]);
        let mut counts: Vec<i32> = tasks.lock().values().copied().collect();
        counts.sort_unstable();
        assert_eq!(counts, [1, 2], "the first, and the two that came meanwhile");
    }

    #[tokio::test]
    async fn what_has_arrived_before_an_error_comes_before_it() {
        let (bytes, body) = body().await;
        send(&bytes, "{}\n{}\n{");
        drop(bytes);
        let decode = |piece: Piece| Ok(format!("{} bytes", piece.len()));
        let parts: Vec<_> =
            pipeline(body, Whole(lines()), TaskTracker::new(), decode, |_| {}).collect().await;
        let parts: Vec<String> =
            parts.into_iter().map(|part| part.unwrap_or_else(|error| error.to_string())).collect();
        assert_eq!(parts[..3], ["heard", "2 bytes", "2 bytes"]);
        assert!(parts.len() == 4 && parts[3].contains("larger"), "{parts:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn it_says_when_there_is_something_to_decode_and_when_there_is_nothing_for_a_while_or_any_more() {
        let (bytes, body) = body().await;
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let decode = |piece: Piece| Ok(format!("{} bytes", piece.len()));
        let say = move |busy| heard.lock().push(busy);
        let mut parts = pipeline(body, lines(), TaskTracker::new(), decode, say);
        let said = || std::mem::take(&mut *said.lock());
        for _ in 0..3 {
            send(&bytes, "{}\n");
            assert_eq!(parts.next().await.unwrap().unwrap(), "heard");
            assert_eq!(parts.next().await.unwrap().unwrap(), "2 bytes");
            let waited = tokio::time::timeout(PAUSE / 2, parts.next()).await;
            assert!(waited.is_err());
            assert_eq!(said(), [true], "more may come at once");
        }
        let waited = tokio::time::timeout(PAUSE * 3, parts.next()).await;
        assert!(waited.is_err());
        assert_eq!(said(), [false], "once");
        send(&bytes, "{}\n");
        assert_eq!(parts.next().await.unwrap().unwrap(), "heard");
        drop(parts);
        assert_eq!(said().last(), Some(&false), "nobody reads on");
    }
}
