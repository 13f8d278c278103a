//! One of many does the work: leader election on Leases.
//!
//! Candidates that name the same Lease agree on one of them by client-go's rules: they renew it, and take it over when it
//! has not been renewed for as long as it says. Clocks need not agree: each candidate measures by its own how long it has
//! seen no change.
//!
//! The promise is that **never two of them act**, as long as no clock runs a fifth faster than another:
//!
//! - The work is told to stop when the lease was not renewed for the *renew deadline*, counted from the moment when the
//!   last renewal that succeeded was sent, by the monotonic clock. It is aborted half-way between that and the *lease
//!   duration*; nobody else can take the lease before that is over.
//! - Work that was frozen, and wakes up when all that is long past, asks [`Leading::is_leading`] before it acts.
//! - When somebody else has the lease already, the work is aborted at once.
//! - When the elector is told to stop, the lease is renewed until the work has ended, however long that takes; only then is
//!   the lease given away, and only if it is still ours.
//!
//! Where a coordinator decides who leads ([`coordinated`](LeaderElectorBuilder::coordinated)), candidates say that they are
//! there with a [`LeaseCandidate`] each, and wait until the lease is given to them.
//!
//! What client-go calls `OnStartedLeading` is the work that [`run`](LeaderElector::run) is given. `OnStoppedLeading` and
//! `OnNewLeader` are [`on_stopped`](LeaderElectorBuilder::on_stopped) and
//! [`on_new_leader`](LeaderElectorBuilder::on_new_leader).
//!
//! Two things are beyond it: a Lease that somebody deletes or edits by hand, and a machine that is suspended as a whole
//! where the monotonic clock stands still meanwhile.
//!
//! ```
//! use kube_controller::leader::{LeaderElector, Outcome};
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let server = kube_testserver::TestServer::start().await?;
//! # let client = server.client()?;
//! let stop = CancellationToken::new();
//! let mut elector = LeaderElector::builder(client, "default", "my-controller")
//!     .identity("my-pod-7d4b9")
//!     .release_on_cancel(true)
//!     .on_new_leader(|leader| println!("{leader} leads"))
//!     .build()?;
//! let outcome = elector
//!     .run(&stop, |leading| async move {
//!         // Work until `leading.stopped().await`.
//! #       assert!(leading.is_leading());
//!     })
//!     .await;
//! assert_eq!(outcome, Outcome::Ended);
//! # Ok(())
//! # }
//! # tokio::runtime::Runtime::new().unwrap().block_on(example()).unwrap();
//! ```

mod attempt;
mod builder;
mod candidate;
mod elector;
mod error;
mod health;
mod leading;
mod lock;
mod news;
mod record;
mod status;
mod timing;

pub use builder::LeaderElectorBuilder;
pub use candidate::{CANDIDATE_RENEWAL, LeaseCandidate, LeaseCandidateBuilder, OLDEST_EMULATION_VERSION};
pub use elector::{LeaderElector, Loss, Outcome};
pub use error::{ConfigError, ElectionError};
pub use health::{HealthCheck, NotRenewed};
pub use leading::Leading;
pub use status::LeaderStatus;
pub(crate) use status::Shared;
pub use timing::{DEFAULT_LEASE_DURATION, DEFAULT_RENEW_DEADLINE, DEFAULT_RETRY_PERIOD, JITTER_FACTOR};
