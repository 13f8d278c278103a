//! From controllers to the lines that Prometheus reads.

use std::fmt::Error;
use std::sync::Arc;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use crate::controller::{Ended, Figures};

/// Writes the families of series of all controllers.
pub(super) fn encode(
    controllers: &[(String, Arc<Figures>)],
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), Error> {
    let mut page = Page { controllers, encoder };
    page.results()?;
    let errors = |figures: &Figures| figures.count(Ended::Error);
    page.counter("reconcile_errors", "Reconciles that failed", errors)?;
    let help = "Reconciles that failed and are not tried again";
    page.counter("terminal_reconcile_errors", help, |figures| figures.terminal.get())?;
    page.counter("reconcile_panics", "Reconciles that panicked", |figures| figures.panics.get())?;
    page.counter("reconcile_timeouts", "Reconciles that took too long", |figures| figures.timeouts.get())?;
    page.times()?;
    let help = "How many reconciles there can be at a time";
    page.gauge("max_concurrent_reconciles", help, |figures| figures.concurrency as f64)?;
    page.gauge("active_workers", "How many reconciles there are now", |figures| figures.active() as f64)
}

struct Page<'a, 'e> {
    controllers: &'a [(String, Arc<Figures>)],
    encoder: &'a mut DescriptorEncoder<'e>,
}

impl Page<'_, '_> {
    fn results(&mut self) -> Result<(), Error> {
        let name = "controller_runtime_reconcile";
        let mut family =
            self.encoder.encode_descriptor(name, "Reconciles, by result", None, MetricType::Counter)?;
        for (name, figures) in self.controllers {
            for ended in Ended::ALL {
                let labels = [("controller", name.as_str()), ("result", ended.label())];
                ConstCounter::new(figures.count(ended)).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn times(&mut self) -> Result<(), Error> {
        let name = "controller_runtime_reconcile_time_seconds";
        let mut family =
            self.encoder.encode_descriptor(name, "How long reconciles took", None, MetricType::Histogram)?;
        self.controllers.iter().try_for_each(|(name, figures)| {
            figures.times.encode(family.encode_family(&[("controller", name.as_str())])?)
        })
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Fn(&Figures) -> u64) -> Result<(), Error> {
        let name = format!("controller_runtime_{name}");
        let mut family = self.encoder.encode_descriptor(&name, help, None, MetricType::Counter)?;
        self.controllers.iter().try_for_each(|(name, figures)| {
            ConstCounter::new(value(figures)).encode(family.encode_family(&[("controller", name.as_str())])?)
        })
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Fn(&Figures) -> f64) -> Result<(), Error> {
        let name = format!("controller_runtime_{name}");
        let mut family = self.encoder.encode_descriptor(&name, help, None, MetricType::Gauge)?;
        self.controllers.iter().try_for_each(|(name, figures)| {
            ConstGauge::new(value(figures)).encode(family.encode_family(&[("controller", name.as_str())])?)
        })
    }
}
