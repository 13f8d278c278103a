//! Metrics that nothing reads.

use std::sync::Weak;

use crate::workqueue::Observed;

/// Takes the place of the registry of metrics.
#[derive(Clone, Debug)]
pub struct Metrics(());

impl Metrics {
    pub(crate) fn add_queue(&self, _name: &str, _queue: Weak<dyn Observed>) {}
}
