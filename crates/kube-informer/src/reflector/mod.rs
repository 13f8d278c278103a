//! The rules by which a copy follows the server: what to ask next, from which version, and what to do when it
//! goes wrong.
//!
//! [`Reflector`] is what to use: it follows a [source](crate::source) and feeds a [queue](crate::queue). It does
//! what [`Machine`] says, which is where the rules are. [`Machine`] does no I/O and reads no clock. A driver asks it what to do ([`Machine::next`]), does it, and tells
//! it what came of it ([`Machine::page`], [`Machine::event`], [`Machine::watch_ended`], …). So every rule is a
//! test without a server, and a simulator can drive it from a seed.
//!
//! The rules are client-go's, with these improvements:
//!
//! - initial events that stop coming are given up after [`Config::initial_silence`], and the server's inability
//!   is remembered, instead of waiting for ever and trying again at each relist;
//! - a watch on which nothing arrives for [`Config::silence`] is reopened, and each watch has a deadline of its
//!   own, instead of trusting the connection;
//! - after an answer that is older than the copy, everything is listed with nothing reused. If that list is older, too, the server
//!   has been restored from a backup, and an epoch of versions begins. After a connection that broke or fell silent, and a watch
//!   that was refused or ended with 429, a list of one object shows whether the server has come as far as the copy, before it is
//!   watched from there;
//! - a list whose continue tokens repeat, that has too many pages for its objects, or that is larger than [`Config::max_list_bytes`], is given up,
//!   and so is a page that is not complete after [`Config::list_timeout`], however steadily its bytes drip;
//! - when the pages of a list expire, one list without a limit follows at once; if its pages expire as well, the next list waits;
//! - a watch that ends early backs off, in either mode;
//! - the backoff starts anew after a time without failures, not at fixed intervals during an outage.

mod backoff;
mod config;
mod driver;
mod failure;
mod far;
mod machine;
mod retry;
mod rewound;
#[cfg(test)]
mod tests;

pub use crate::continuation::EndlessList;
pub use backoff::Backoff;
pub use config::Config;
pub use driver::{Note, Reflector};
pub(crate) use failure::MAX_RETRY_AFTER;
pub use failure::{Failure, Reason, WatchEnd};
pub(crate) use far::{FAR, after};
pub use machine::{
    BookmarkVerdict, EventVerdict, ListRequest, Machine, PageVerdict, ProbeAnswer, Step, WatchRequest,
};
pub(crate) use rewound::Rewound;
