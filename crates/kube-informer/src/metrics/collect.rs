//! From the status of informers to the lines that Prometheus reads.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::{Metrics, Observation};
use crate::reflector::Reason;

/// How many digits of a version a gauge holds exactly.
const EXACT_DIGITS: usize = 15;

type Labels = Vec<(&'static str, String)>;

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let now = tokio::time::Instant::now().into_std();
        let shown = self.observe();
        let page = &mut Page { encoder: &mut encoder, shown: &shown };
        page.gauge("informer_queued_items", "Changes that wait for the store", |one| {
            Some(one.status.queued as f64)
        })?;
        page.latency()?;
        page.gauge(
            "informer_store_resource_version",
            "The version up to which the copy is current, its last 15 digits",
            |one| last_digits(&one.status.resource_version),
        )?;
        page.gauge("informer_objects", "Objects in the copy", |one| Some(one.status.objects as f64))?;
        page.gauge("informer_packed_bytes", "Bytes as which packed objects rest", |one| {
            Some(one.packed_bytes as f64)
        })?;
        page.gauge("informer_synced", "1 if the copy has been complete", |one| {
            Some(f64::from(u8::from(one.status.synced)))
        })?;
        page.counter("informer_received_bytes", "Bytes that have arrived from the server", |one| {
            one.status.received_bytes
        })?;
        page.gauge("informer_seconds_since_last_byte", "How long nothing has arrived", |one| {
            Some(seconds(now, one.status.last_heard?))
        })?;
        page.counter("informer_changes", "Changes after the first list", |one| one.status.changes)?;
        page.counter("informer_errors", "Errors while following", |one| one.status.errors)?;
        page.by_reason("informer_relists", "How often everything was asked for again", |one| {
            &one.status.relists
        })?;
        page.by_reason("informer_watch_restarts", "How often a watch was opened anew", |one| {
            &one.status.restarts
        })?;
        page.gauge("informer_quarantined_objects", "Objects that cannot be decoded", |one| {
            Some(one.status.quarantined.len() as f64)
        })?;
        page.family(
            "informer_index_panics",
            "Panics of the function of an index",
            MetricType::Counter,
            |shown, family| {
                shown.observation.status.indexes.iter().try_for_each(|index| {
                    let labels = with(&shown.labels, "index", &index.name);
                    ConstCounter::new(index.panics).encode(family.encode_family(&labels)?)
                })
            },
        )?;
        page.handlers()
    }
}

/// An informer that is shown.
struct Shown {
    labels: Labels,
    observation: Observation,
    handlers: BTreeMap<String, Handler>,
}

/// All handlers of one name.
#[derive(Default)]
struct Handler {
    pending: usize,
    oldest: Duration,
    told: u64,
    coalesced: u64,
    panics: u64,
}

impl Metrics {
    fn observe(&self) -> Vec<Shown> {
        // The lock is not held while informers are asked.
        let entries: Vec<_> = {
            let informers = self.shown.informers.lock();
            informers.iter().map(|entry| (entry.name.clone(), entry.informer.clone())).collect()
        };
        let shown = entries.into_iter().filter_map(|(name, informer)| {
            let observation = informer.upgrade()?.observe()?;
            let scope = &observation.scope;
            let labels = vec![
                ("name", name),
                ("group", scope.group.clone()),
                ("version", scope.version.clone()),
                ("resource", scope.plural.clone()),
            ];
            let mut handlers: BTreeMap<String, Handler> = BTreeMap::new();
            for listener in &observation.status.listeners {
                let handler = handlers.entry(listener.name.clone()).or_default();
                handler.pending += listener.pending;
                handler.oldest = handler.oldest.max(listener.oldest_pending.unwrap_or_default());
                handler.told += listener.told;
                handler.coalesced += listener.coalesced;
                handler.panics += listener.panics;
            }
            Some(Shown { labels, observation, handlers })
        });
        shown.collect()
    }
}

/// Writes one family of series after the other.
struct Page<'a, 'e> {
    encoder: &'a mut DescriptorEncoder<'e>,
    shown: &'a [Shown],
}

impl Page<'_, '_> {
    fn family(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        mut write: impl FnMut(&Shown, &mut MetricEncoder<'_>) -> Result<(), std::fmt::Error>,
    ) -> Result<(), std::fmt::Error> {
        let mut family = self.encoder.encode_descriptor(name, help, None, kind)?;
        self.shown.iter().try_for_each(|shown| write(shown, &mut family))
    }

    fn gauge(
        &mut self,
        name: &str,
        help: &str,
        value: impl Fn(&Observation) -> Option<f64>,
    ) -> Result<(), std::fmt::Error> {
        self.family(name, help, MetricType::Gauge, |shown, family| match value(&shown.observation) {
            Some(value) => ConstGauge::new(value).encode(family.encode_family(&shown.labels)?),
            None => Ok(()),
        })
    }

    fn counter(
        &mut self,
        name: &str,
        help: &str,
        value: impl Fn(&Observation) -> u64,
    ) -> Result<(), std::fmt::Error> {
        self.family(name, help, MetricType::Counter, |shown, family| {
            ConstCounter::new(value(&shown.observation)).encode(family.encode_family(&shown.labels)?)
        })
    }

    fn by_reason(
        &mut self,
        name: &str,
        help: &str,
        counts: impl Fn(&Observation) -> &BTreeMap<Reason, u64>,
    ) -> Result<(), std::fmt::Error> {
        self.family(name, help, MetricType::Counter, |shown, family| {
            counts(&shown.observation).iter().try_for_each(|(reason, count)| {
                let labels = with(&shown.labels, "reason", reason.as_str());
                ConstCounter::new(*count).encode(family.encode_family(&labels)?)
            })
        })
    }

    fn latency(&mut self) -> Result<(), std::fmt::Error> {
        let help = "How long it took to write changes to the store and hand them to listeners";
        self.family("informer_processing_latency_seconds", help, MetricType::Histogram, |shown, family| {
            shown.observation.latency.encode(family.encode_family(&shown.labels)?)
        })
    }

    fn handlers(&mut self) -> Result<(), std::fmt::Error> {
        self.by_handler("informer_handler_pending_events", "Events that wait", |handler| {
            Figure::Gauge(handler.pending as f64)
        })?;
        self.by_handler(
            "informer_handler_oldest_pending_seconds",
            "How long the first of the events that wait has waited",
            |handler| Figure::Gauge(handler.oldest.as_secs_f64()),
        )?;
        self.by_handler("informer_handler_events", "Events that were told", |handler| {
            Figure::Counter(handler.told)
        })?;
        self.by_handler(
            "informer_handler_coalesced_events",
            "Events that were merged because too many waited",
            |handler| Figure::Counter(handler.coalesced),
        )?;
        self.by_handler("informer_handler_panics", "Panics of the handler", |handler| {
            Figure::Counter(handler.panics)
        })
    }

    fn by_handler(
        &mut self,
        name: &str,
        help: &str,
        figure: fn(&Handler) -> Figure,
    ) -> Result<(), std::fmt::Error> {
        let kind = match figure(&Handler::default()) {
            Figure::Gauge(_) => MetricType::Gauge,
            Figure::Counter(_) => MetricType::Counter,
        };
        self.family(name, help, kind, |shown, family| {
            shown.handlers.iter().try_for_each(|(handler, figures)| {
                let labels = with(&shown.labels, "handler", handler);
                let family = family.encode_family(&labels)?;
                match figure(figures) {
                    Figure::Gauge(value) => ConstGauge::new(value).encode(family),
                    Figure::Counter(value) => ConstCounter::new(value).encode(family),
                }
            })
        })
    }
}

enum Figure {
    Gauge(f64),
    Counter(u64),
}

fn with(labels: &Labels, name: &'static str, value: &str) -> Labels {
    let mut labels = labels.clone();
    labels.push((name, value.to_owned()));
    labels
}

fn seconds(now: Instant, then: Instant) -> f64 {
    now.saturating_duration_since(then).as_secs_f64()
}

/// The last digits of a version: more than that, and a gauge would not be exact.
fn last_digits(version: &str) -> Option<f64> {
    let digits = version.get(version.len().saturating_sub(EXACT_DIGITS)..)?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::informer::InformerBuilder;
    use crate::object::{DecodeContext, HANDLES, Object};
    use crate::store::Write;

    #[test]
    fn a_scrape_makes_no_handle_to_an_object() {
        let metrics = Metrics::default();
        let informer = InformerBuilder::<ConfigMap>::of(Vec::new()).metrics(&metrics).build();
        let codec = Arc::new(DecodeContext::new(|_, _| Ok(Box::default()), None));
        let put = |number: usize| {
            let mut object = ConfigMap::default();
            object.metadata.name = Some(number.to_string());
            Write::Put(Object::packed_at_rest(Box::new(object), vec![0; 100].into(), &codec))
        };
        informer.store().write((0..10).map(put).collect(), None);
        let before = HANDLES.get();
        let shown = metrics.observe();
        assert_eq!(HANDLES.get(), before, "handles");
        assert_eq!(shown[0].observation.packed_bytes, 1_000);
    }

    #[test]
    fn a_version_of_any_length_is_shown_exactly() {
        assert_eq!(last_digits("42"), Some(42.0));
        assert_eq!(last_digits("98765123456789012345"), Some(123_456_789_012_345.0));
        assert_eq!(last_digits(""), None);
    }
}
