//! Candidates that can be cut off, frozen and killed, and a log of who acted.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http::{Request, Response};
use k8s_openapi::api::coordination::v1::Lease;
use kube_controller::kube_client::Client;
use kube_controller::kube_client::client::Body;
use kube_controller::leader::{LeaderElector, LeaderElectorBuilder, Leading, Outcome};
use kube_testserver::TestServer;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) const S: Duration = Duration::from_secs(1);
pub(crate) const MS: Duration = Duration::from_millis(1);

/// How often a leader acts.
const ACT: Duration = Duration::from_millis(50);

pub(crate) async fn server() -> TestServer {
    TestServer::builder().seed(1).start().await.unwrap()
}

pub(crate) fn builder(client: Client, identity: &str) -> LeaderElectorBuilder {
    LeaderElector::builder(client, "default", "lock").identity(identity)
}

/// The lease as the server has it.
pub(crate) fn lease(server: &TestServer) -> Lease {
    let lease = server.object("coordination.k8s.io/v1/Lease", "default", "lock").unwrap();
    serde_json::from_value(lease.expect("there is a lease")).unwrap()
}

pub(crate) fn holder(server: &TestServer) -> String {
    lease(server).spec.unwrap().holder_identity.unwrap()
}

/// Somebody writes another name into the lease by hand.
pub(crate) fn steal(server: &TestServer, thief: &str) {
    server
        .mutate("coordination.k8s.io/v1/Lease", "default", "lock", |lease| {
            lease["spec"]["holderIdentity"] = thief.into();
        })
        .unwrap();
}

/// Who acted when, in which of their terms.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<Act>>>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Act {
    pub(crate) who: String,
    pub(crate) term: u64,
    pub(crate) at: Instant,
}

impl Log {
    pub(crate) fn act(&self, who: &str, term: u64) {
        self.0.lock().push(Act { who: who.to_owned(), term, at: Instant::now() });
    }

    pub(crate) fn acts(&self) -> Vec<Act> {
        self.0.lock().clone()
    }

    /// The terms in the order of their first act: who, from when, until when.
    pub(crate) fn terms(&self) -> Vec<(String, Instant, Instant)> {
        let acts = self.acts();
        let terms = acts.chunk_by(|a, b| (&a.who, a.term) == (&b.who, b.term));
        terms.map(|acts| (acts[0].who.clone(), acts[0].at, acts[acts.len() - 1].at)).collect()
    }

    /// Who led, one after the other.
    pub(crate) fn leaders(&self) -> Vec<String> {
        self.terms().into_iter().map(|(who, ..)| who).collect()
    }

    /// When somebody acts, the one before has acted for the last time.
    pub(crate) fn assert_never_two(&self) {
        let acts = self.acts();
        let mut ended: Vec<(&str, u64)> = Vec::new();
        for pair in acts.windows(2) {
            let (before, after) =
                ((pair[0].who.as_str(), pair[0].term), (pair[1].who.as_str(), pair[1].term));
            if before != after {
                ended.push(before);
                assert!(!ended.contains(&after), "{after:?} acts again after another has: {pair:?}");
                assert!(pair[0].at <= pair[1].at);
            }
        }
    }
}

/// Stops the futures in it in the middle of whatever they do.
#[derive(Clone, Default)]
pub(crate) struct Freezer(Arc<Mutex<(bool, Vec<Waker>)>>);

impl Freezer {
    pub(crate) fn freeze(&self) {
        self.0.lock().0 = true;
    }

    pub(crate) fn thaw(&self) {
        let mut state = self.0.lock();
        state.0 = false;
        state.1.drain(..).for_each(Waker::wake);
    }

    pub(crate) fn put<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let state = Arc::clone(&self.0);
        let mut future = Box::pin(future);
        std::future::poll_fn(move |context: &mut Context<'_>| {
            let mut frozen = state.lock();
            if frozen.0 {
                frozen.1.push(context.waker().clone());
                return Poll::Pending;
            }
            drop(frozen);
            future.as_mut().poll(context)
        })
    }
}

/// The way of one candidate to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Line {
    #[default]
    Open,
    /// Requests fail at once.
    Refused,
    /// Requests are never answered, and do not arrive.
    Silent,
    /// Requests arrive, and are never answered.
    Deaf,
}

#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<Mutex<Line>>);

impl Gate {
    pub(crate) fn set(&self, line: Line) {
        *self.0.lock() = line;
    }

    /// A client whose requests go through the gate.
    pub(crate) fn client(&self, server: &TestServer) -> Client {
        let (gate, inner) = (self.clone(), server.in_process_client());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (line, inner) = (*gate.0.lock(), inner.clone());
            let answer: Pin<Box<dyn Future<Output = Result<Response<Body>, Broken>> + Send>> =
                Box::pin(async move {
                    match line {
                        Line::Open => Ok(inner.send(request).await?),
                        Line::Refused => Err("connection refused".into()),
                        Line::Silent => std::future::pending().await,
                        Line::Deaf => {
                            let _ = inner.send(request).await;
                            std::future::pending().await
                        }
                    }
                });
            answer
        });
        Client::new(service, "default")
    }
}

type Broken = Box<dyn std::error::Error + Send + Sync>;

/// A process with one candidate in it, whose work acts for as long as it leads.
pub(crate) struct Process {
    pub(crate) name: String,
    pub(crate) gate: Gate,
    pub(crate) freezer: Freezer,
    pub(crate) stop: CancellationToken,
    pub(crate) run: JoinHandle<Outcome>,
}

/// How work behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Asks before each act, and stops when it is told to.
    Careful,
    /// Neither asks nor listens: only an abort ends it.
    Stubborn,
    /// Asks before each act, and needs so long to stop when it is told to, acting all the while.
    Slow(Duration),
}

impl Process {
    /// Starts a candidate that is one again whenever it has lost.
    pub(crate) fn start(server: &TestServer, name: &str, log: &Log, manner: Manner) -> Self {
        Self::start_with(server, name, log, manner, |builder| builder)
    }

    pub(crate) fn start_with(
        server: &TestServer,
        name: &str,
        log: &Log,
        manner: Manner,
        settings: impl FnOnce(LeaderElectorBuilder) -> LeaderElectorBuilder,
    ) -> Self {
        let (gate, freezer, stop) = (Gate::default(), Freezer::default(), CancellationToken::new());
        let mut elector = settings(builder(gate.client(server), name)).build().unwrap();
        let run = freezer.put({
            let (freezer, stop, log, who) = (freezer.clone(), stop.clone(), log.clone(), name.to_owned());
            async move {
                let mut term = 0;
                let work = |leading| {
                    term += 1;
                    freezer.put(work(leading, log.clone(), who.clone(), term, manner))
                };
                elector.run_again(&stop, work).await
            }
        });
        let run = tokio::spawn(run);
        Self { name: name.to_owned(), gate, freezer, stop, run }
    }

    /// The process is gone from one moment to the next.
    pub(crate) async fn kill(self) {
        self.run.abort();
        let _ = self.run.await;
    }

    /// Tells it to stop, and waits until it has.
    pub(crate) async fn stop(self) -> Outcome {
        self.stop.cancel();
        tokio::time::timeout(Duration::from_secs(600), self.run).await.unwrap().unwrap()
    }
}

async fn work(leading: Leading, log: Log, who: String, term: u64, manner: Manner) {
    let mut stopped = None;
    loop {
        if manner == Manner::Stubborn || leading.is_leading() {
            log.act(&who, term);
        }
        if leading.is_stopped() {
            let since = *stopped.get_or_insert_with(Instant::now);
            match manner {
                Manner::Careful => return,
                Manner::Slow(needs) if since.elapsed() >= needs => return,
                _ => {}
            }
        }
        tokio::time::sleep(ACT).await;
    }
}
