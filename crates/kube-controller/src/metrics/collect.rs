//! From queues and electors to the lines that Prometheus reads.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::{Metrics, living};
use crate::workqueue::{Observation, Rules};

type Written = Result<(), std::fmt::Error>;

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Written {
        let queues: Vec<(String, Observation)> =
            living(&self.shown.queues).into_iter().map(|(name, queue)| (name, queue.observe())).collect();
        queue_families(&mut Page { encoder: &mut encoder, shown: &queues, labels: queue_labels })?;
        let electors = living(&self.shown.electors);
        let page =
            &mut Page { encoder: &mut encoder, shown: &electors, labels: |name, _| vec![("name", name)] };
        page.gauge("leader_election_master_status", "1 for a leader, 0 for others", |elector| {
            f64::from(u8::from(elector.is_leading()))
        })?;
        let help = "Renewals that had to read the lease first";
        page.counter("leader_election_slowpath", help, |elector| elector.slow_paths())?;
        self.shown.requests.encode(&mut encoder)?;
        super::controllers::encode(&living(&self.shown.controllers), &mut encoder)
    }
}

/// The queue of a controller has the name of that, and says so.
fn queue_labels<'a>(name: &'a str, queue: &Observation) -> Vec<Label<'a>> {
    let mut labels = vec![("name", name)];
    labels.extend(queue.of_controller.then_some(("controller", name)));
    labels
}

fn queue_families(page: &mut Page<'_, '_, Observation>) -> Written {
    page.family("workqueue_depth", "Keys that wait", MetricType::Gauge, |labels, queue, family| match queue
        .rules
    {
        Rules::Layered => gauge(queue.depths.total() as f64, family, labels),
        Rules::Merged => queue.depths.labelled().try_for_each(|(priority, count)| {
            let labels = [labels, &[("priority", priority.as_ref())]].concat();
            gauge(count as f64, family, &labels)
        }),
    })?;
    page.counter("workqueue_adds", "Keys that were added", |queue| queue.adds)?;
    let help = "How long keys have waited";
    page.family("workqueue_queue_duration_seconds", help, MetricType::Histogram, |labels, queue, family| {
        queue.waited.encode(family.encode_family(&labels)?)
    })?;
    let help = "How long it took to work on keys";
    page.family("workqueue_work_duration_seconds", help, MetricType::Histogram, |labels, queue, family| {
        queue.worked.encode(family.encode_family(&labels)?)
    })?;
    let help = "How long the work that is not done yet has taken so far, together";
    page.gauge("workqueue_unfinished_work_seconds", help, |queue| queue.unfinished.as_secs_f64())?;
    let help = "How long the work has taken so far that takes longest";
    page.gauge("workqueue_longest_running_processor_seconds", help, |queue| queue.longest.as_secs_f64())?;
    page.counter("workqueue_retries", "Adds with a delay", |queue| queue.retries)
}

fn gauge(value: f64, family: &mut MetricEncoder<'_>, labels: &[Label<'_>]) -> Written {
    ConstGauge::new(value).encode(family.encode_family(&labels)?)
}

type Label<'a> = (&'a str, &'a str);

/// Writes one family of series after the other.
struct Page<'a, 'e, S> {
    encoder: &'a mut DescriptorEncoder<'e>,
    shown: &'a [(String, S)],
    labels: for<'n> fn(&'n str, &S) -> Vec<Label<'n>>,
}

impl<S> Page<'_, '_, S> {
    fn family(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        mut write: impl FnMut(&[Label<'_>], &S, &mut MetricEncoder<'_>) -> Written,
    ) -> Written {
        let mut family = self.encoder.encode_descriptor(name, help, None, kind)?;
        self.shown.iter().try_for_each(|(name, shown)| write(&(self.labels)(name, shown), shown, &mut family))
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Fn(&S) -> f64) -> Written {
        self.family(name, help, MetricType::Gauge, |labels, shown, family| {
            gauge(value(shown), family, labels)
        })
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Fn(&S) -> u64) -> Written {
        self.family(name, help, MetricType::Counter, |labels, shown, family| {
            ConstCounter::new(value(shown)).encode(family.encode_family(&labels)?)
        })
    }
}
