//! client-go as judge: scenarios that it and kube-informer play side by side.
//!
//! A [`Scenario`] is a file in `e2e/scenarios`. The [`Driver`] plays it on a server: it writes objects, lets things go
//! wrong, and tells a [`Player`] which informers and handlers to make. The player writes down every call of a handler.
//! After each step the driver waits until everything that the step causes has been heard, so that what is heard is the
//! same each time, and nobody sleeps. Two [`Record`]s of a scenario, one by client-go and one by ours, must then be the
//! same, but for what the file says may differ: see [`compare`].

pub mod command;
mod compare;
mod driver;
mod log;
mod players;
mod record;
pub mod resources;
pub mod scenario;
mod skip;
mod stage;

pub use compare::{compare, compare_servers};
pub use driver::Driver;
pub use log::{HandlerLog, Log, State};
pub use players::{ClientGo, Ours, Player};
pub use record::{Line, Record, Sort};
pub use scenario::Scenario;
pub use skip::skip;
pub use stage::{Stage, define_widgets};
