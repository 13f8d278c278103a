//! What can be set about following.

use std::time::Duration;

/// The settings of a [`Machine`](super::Machine); the defaults are client-go's where it has them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// Ask for the objects as a stream of initial events first, and for lists only where that does not work.
    pub initial_events: bool,
    /// How long initial events may stop before they are given up. client-go waits for ever.
    pub initial_silence: Duration,
    /// For how long a server that could not send initial events is not asked for them again.
    pub fallback_for: Duration,
    /// Lists are asked for in pages of this size. Without it, the size depends on what the server is asked: lists at a
    /// known version come in one piece, from the server's memory. A server that has a list in memory sends it whole at
    /// version 0, whatever the size.
    pub page_size: Option<u32>,
    /// A list of which nothing arrives for so long has failed. client-go waits for ever.
    pub list_silence: Duration,
    /// A page of a list, or a list in one piece, that is not complete after so long has failed, though bytes arrive. client-go
    /// waits for ever; a kube-apiserver gives up after a minute, unless its `--request-timeout` is another.
    pub list_timeout: Duration,
    /// A list, or a stream of initial events, with more objects is given up, all pages together.
    pub max_list_objects: u64,
    /// A list, or a stream of initial events, with more bytes is given up, all pages together. By default twice what etcd
    /// is recommended to hold.
    pub max_list_bytes: u64,
    /// Watches last between this and twice this, at random, so that a fleet does not reconnect in step.
    pub watch_timeout: Duration,
    /// How much later than agreed a watch may end before it is cut.
    pub watch_slack: Duration,
    /// A watch on which nothing arrives for so long is reopened: the connection may be dead.
    pub silence: Duration,
    /// A watch that ends sooner than this without an event has failed.
    pub short_watch: Duration,
    /// For how long after the first internal error of the server a watch is reopened without a list; zero for never.
    pub internal_error_retry: Duration,
    /// The first wait after a failure.
    pub backoff_initial: Duration,
    /// The longest wait, before the random part.
    pub backoff_max: Duration,
    /// After so long without a failure the waits start from the first again.
    pub backoff_reset: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            initial_events: true,
            initial_silence: Duration::from_secs(30),
            fallback_for: Duration::from_secs(30 * 60),
            page_size: None,
            list_silence: Duration::from_secs(60),
            list_timeout: Duration::from_secs(10 * 60),
            max_list_objects: 10_000_000,
            max_list_bytes: 16 << 30,
            watch_timeout: Duration::from_secs(5 * 60),
            watch_slack: Duration::from_secs(30),
            silence: Duration::from_secs(150),
            short_watch: Duration::from_secs(1),
            internal_error_retry: Duration::ZERO,
            backoff_initial: Duration::from_millis(800),
            backoff_max: Duration::from_secs(30),
            backoff_reset: Duration::from_secs(2 * 60),
        }
    }
}
