//! What a replay server has: sets of kinds, in the proportions of a cluster.

use crate::objects::Sample;

/// A set of kinds, served by one replay server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Set {
    /// Pods of one template: only a few texts of fixed width differ.
    Template,
    /// Pods of a thousand workloads.
    Pods,
    /// Objects of a custom kind that has a schema.
    Widgets,
    /// Nine kinds, in the proportions, sizes and update rates of a cluster.
    Cluster,
}

/// How much of a set is of one kind, in percent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// The kind; none for pods of the one template.
    pub(crate) sample: Option<Sample>,
    pub(crate) objects: u64,
    pub(crate) updates: u64,
}

const fn share(sample: Sample, objects: u64, updates: u64) -> Share {
    Share { sample: Some(sample), objects, updates }
}

const TEMPLATE: &[Share] = &[Share { sample: None, objects: 100, updates: 100 }];
const PODS: &[Share] = &[share(Sample::Pods, 100, 100)];
const WIDGETS: &[Share] = &[share(Sample::Widgets, 100, 100)];

/// Pods and events are most of the objects, node and leader leases most of the updates.
const CLUSTER: &[Share] = &[
    share(Sample::Pods, 45, 25),
    share(Sample::Events, 18, 15),
    share(Sample::ConfigMaps, 10, 2),
    share(Sample::Secrets, 9, 1),
    share(Sample::EndpointSlices, 5, 6),
    share(Sample::Widgets, 5, 4),
    share(Sample::Leases, 3, 40),
    share(Sample::Blobs, 3, 1),
    share(Sample::Nodes, 2, 6),
];

impl Set {
    pub(crate) fn shares(self) -> &'static [Share] {
        match self {
            Set::Template => TEMPLATE,
            Set::Pods => PODS,
            Set::Widgets => WIDGETS,
            Set::Cluster => CLUSTER,
        }
    }

    /// The name on the command line and in rows of results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Set::Template => "template",
            Set::Pods => "pods",
            Set::Widgets => "widgets",
            Set::Cluster => "cluster",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_objects_and_of_updates_add_up_to_all() {
        for set in [Set::Template, Set::Pods, Set::Widgets, Set::Cluster] {
            assert_eq!(set.shares().iter().map(|share| share.objects).sum::<u64>(), 100, "{set:?}");
            assert_eq!(set.shares().iter().map(|share| share.updates).sum::<u64>(), 100, "{set:?}");
        }
    }
}
