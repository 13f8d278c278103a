//! Kubernetes objects of many shapes, drawn from a seed, with the marks that a replay overwrites.

mod metadata;
mod node;
mod other;
mod pod;
mod random;

use serde_json::Value;

use random::Random;

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sample {
    Pods,
    Nodes,
    EndpointSlices,
    ConfigMaps,
    Secrets,
    Leases,
    Events,
    Widgets,
    /// Objects of a custom kind without a schema.
    Blobs,
}

/// Makes `count` objects, each in `versions` states: the outer list has the objects, the inner the states of one.
/// The same seed makes the same objects everywhere. A larger `count` or `versions` only adds to the lists.
pub(crate) fn shapes(sample: Sample, seed: u64, count: usize, versions: usize) -> Vec<Vec<Value>> {
    let make = match sample {
        Sample::Pods => pod::pods,
        Sample::Nodes => node::nodes,
        Sample::EndpointSlices => other::endpoint_slices,
        Sample::ConfigMaps => other::config_maps,
        Sample::Secrets => other::secrets,
        Sample::Leases => other::leases,
        Sample::Events => other::events,
        Sample::Widgets => other::widgets,
        Sample::Blobs => other::blobs,
    };
    (0..count as u64).map(|index| make(&mut Random::new(seed, sample as u64, index), versions)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use k8s_openapi::api::{coordination::v1 as coordination, core::v1 as core, discovery::v1 as discovery};
    use serde_json::json;

    use super::*;

    const SAMPLES: [Sample; 9] = [
        Sample::Pods,
        Sample::Nodes,
        Sample::EndpointSlices,
        Sample::ConfigMaps,
        Sample::Secrets,
        Sample::Leases,
        Sample::Events,
        Sample::Widgets,
        Sample::Blobs,
    ];

    fn texts(value: &Value, out: &mut Vec<String>) {
        match value {
            Value::String(text) => out.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
            Value::Object(map) => map.iter().for_each(|(key, item)| {
                out.push(key.clone());
                texts(item, out);
            }),
            _ => {}
        }
    }

    #[test]
    fn one_seed_gives_the_same_objects_and_another_seed_others() {
        for sample in SAMPLES {
            let objects = shapes(sample, 7, 20, 3);
            assert_eq!(objects, shapes(sample, 7, 20, 3), "{sample:?}");
            assert_ne!(objects, shapes(sample, 8, 20, 3), "{sample:?}");
            // More objects and versions only add to these.
            let more = shapes(sample, 7, 25, 4);
            assert!(objects.iter().zip(&more).all(|(few, many)| *few == many[..3]), "{sample:?}");
        }
    }

    #[test]
    fn the_objects_of_a_seed_stay_the_same_from_machine_to_machine() {
        // FNV-1a over the texts. A change of what is drawn changes the number: then write the new one here.
        let sum = SAMPLES.iter().flat_map(|sample| shapes(*sample, 1, 30, 2)).flatten().fold(
            0xcbf2_9ce4_8422_2325_u64,
            |sum, object| {
                let mut all = Vec::new();
                texts(&object, &mut all);
                all.sort_unstable();
                all.concat()
                    .bytes()
                    .fold(sum, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
            },
        );
        assert_eq!(sum, 0x2088_2fcc_0941_e62f);
    }

    #[test]
    fn every_object_has_its_marks_and_no_other_tilde() {
        const MARKS: [&str; 8] =
            ["~NUMBER", "~NS", "~UID~~~~~~~~", "~VERSION~~", "~S", "~NODE", "~AA.~BB.~CC", "~CID~~~~~~~~"];
        for sample in SAMPLES {
            for object in shapes(sample, 3, 200, 3).into_iter().flatten() {
                let metadata = &object["metadata"];
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                assert!(text(&metadata["name"]).ends_with("~NUMBER"), "{object}");
                assert_eq!(metadata.get("namespace").is_none(), sample == Sample::Nodes, "{object}");
                assert!(sample == Sample::Nodes || metadata["namespace"] == "team-~NS", "{object}");
                assert!(
                    text(&metadata["uid"]).ends_with("-~UID~~~~~~~~") && text(&metadata["uid"]).len() == 36
                );
                assert_eq!(metadata["resourceVersion"], "~VERSION~~");
                assert_eq!(metadata["labels"]["shard"], "s~S");
                assert!(metadata["labels"]["team"].is_string());
                let json = object.to_string();
                if sample == Sample::Pods {
                    // A pod that is being created has no address and no containers yet.
                    let made = object["status"]["phase"] != "Pending";
                    assert_eq!(object["spec"]["nodeName"], "node-~NODE");
                    assert_eq!(json.contains("10.~AA.~BB.~CC"), made, "{object}");
                    assert!(json.contains("~CID~~~~~~~~") || !made, "{object}");
                }
                let rest = MARKS.iter().fold(json, |json, mark| json.replace(mark, ""));
                assert!(!rest.contains('~'), "{object}");
            }
        }
    }

    /// In protobuf a length of 126 is the byte `~`: the text behind it must not look like the rest of a mark.
    #[test]
    fn no_length_of_a_text_looks_like_a_mark() {
        // Where data is in base64, its bytes are what counts, and those never start like this.
        let base64 = [Sample::Secrets, Sample::ConfigMaps];
        let samples = SAMPLES.iter().filter(|sample| !base64.contains(sample));
        for object in samples.flat_map(|sample| shapes(*sample, 5, 300, 3)).flatten() {
            let mut all = Vec::new();
            texts(&object, &mut all);
            let marked = |text: &String| ["S", "N", "IN"].iter().any(|start| text.starts_with(start));
            assert!(!all.iter().any(|text| text.len() >= 126 && marked(text)), "{object}");
        }
    }

    #[test]
    fn versions_of_a_pod_differ_in_length_and_keep_their_specification() {
        let pods = shapes(Sample::Pods, 1, 300, 4);
        let lengths =
            |pod: &Vec<Value>| pod.iter().map(|version| version.to_string().len()).collect::<BTreeSet<_>>();
        let varied = pods.iter().filter(|pod| lengths(pod).len() == 4).count();
        assert!(varied > 240, "{varied}");
        for pod in &pods {
            assert!(pod.iter().all(|version| version["spec"] == pod[0]["spec"]));
            assert!(pod.iter().all(|version| version["metadata"]["uid"] == pod[0]["metadata"]["uid"]));
        }
    }

    #[test]
    fn objects_are_of_realistic_sizes() {
        for (sample, low, high) in [
            (Sample::Pods, 7_000, 9_000),
            (Sample::Nodes, 8_000, 15_000),
            (Sample::EndpointSlices, 2_000, 12_000),
            (Sample::ConfigMaps, 2_000, 6_000),
            (Sample::Secrets, 3_000, 7_000),
            (Sample::Leases, 300, 1_000),
            (Sample::Events, 800, 2_000),
            (Sample::Widgets, 2_000, 6_000),
            (Sample::Blobs, 800, 5_000),
        ] {
            let sizes: Vec<usize> =
                shapes(sample, 1, 500, 2).iter().flatten().map(|object| object.to_string().len()).collect();
            let mean = sizes.iter().sum::<usize>() / sizes.len();
            assert!((low..=high).contains(&mean), "{sample:?}: {mean}");
        }
    }

    fn assert_typed<T: serde::de::DeserializeOwned + serde::Serialize>(sample: Sample, count: usize) {
        for mut object in shapes(sample, 1, count, 4).into_iter().flatten() {
            let typed: T = serde_json::from_value(object.clone()).unwrap();
            // The API server writes this one null, and the type does not.
            if let Some(conditions) = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut) {
                for condition in conditions {
                    condition.as_object_mut().unwrap().retain(|_, value| *value != json!(null));
                }
            }
            assert_eq!(serde_json::to_value(&typed).unwrap(), object);
        }
    }

    #[test]
    fn typed_objects_decode_and_encode_without_loss() {
        assert_typed::<core::Pod>(Sample::Pods, 300);
        assert_typed::<core::Node>(Sample::Nodes, 200);
        assert_typed::<discovery::EndpointSlice>(Sample::EndpointSlices, 200);
        assert_typed::<core::ConfigMap>(Sample::ConfigMaps, 200);
        assert_typed::<core::Secret>(Sample::Secrets, 200);
        assert_typed::<coordination::Lease>(Sample::Leases, 200);
        assert_typed::<core::Event>(Sample::Events, 200);
    }
}
