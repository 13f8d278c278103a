//! One pod, from bytes to a value.

use k8s_openapi::api::core::v1::Pod;
use kube_informer::projection::Projection;
use kube_wire::{DecodeOptions, Encoding};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Library, Settings, Step, Target, figure};
use crate::Error;
use crate::report::now;

/// How often it is measured; the best counts.
const ROUNDS: usize = 7;

/// A pod with five fields, two of them in its metadata.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "decoded and not looked at")]
struct Few {
    metadata: FewMetadata,
    spec: FewSpec,
    status: FewStatus,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "decoded and not looked at")]
struct FewMetadata {
    name: String,
    namespace: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "decoded and not looked at")]
struct FewSpec {
    node_name: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "decoded and not looked at")]
struct FewStatus {
    phase: String,
    #[serde(rename = "podIP")]
    pod_ip: Option<String>,
}

/// What an informer of a projection has: all the metadata, and three fields.
#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "decoded and not looked at")]
struct Fields {
    spec: FewSpec,
    status: FewStatus,
}

type Decode = Box<dyn Fn(&[u8]) -> Result<(), Error>>;

pub(super) fn run(settings: &Settings) -> Result<(), Error> {
    let bytes = std::fs::read(&settings.file)?;
    let decode = decoder(settings);
    let repeat = || (0..settings.count).try_for_each(|_| decode(&bytes));
    if settings.step == Step::Repeat {
        return repeat();
    }
    let mut best = f64::MAX;
    for _ in 0..ROUNDS {
        let begun = now();
        repeat()?;
        best = best.min(begun.elapsed().as_nanos() as f64 / settings.count as f64);
    }
    figure("ns", best);
    Ok(())
}

fn decoder(settings: &Settings) -> Decode {
    let protobuf = settings.file.ends_with(".pb");
    let encoding = if protobuf { Encoding::best_for("", "v1", "Pod") } else { Encoding::Json };
    if settings.library == Library::KubeRuntime {
        // What kube-runtime does with each object.
        return Box::new(|bytes| {
            std::hint::black_box(serde_json::from_slice::<Pod>(bytes)?);
            Ok(())
        });
    }
    match settings.target {
        Target::Pod => ours::<Pod>(encoding),
        Target::Few => ours::<Few>(encoding),
        Target::Projection => ours::<Projection<Pod, Fields>>(encoding),
    }
}

fn ours<K: DeserializeOwned + 'static>(encoding: Encoding) -> Decode {
    Box::new(move |bytes| {
        let object: K = encoding.decode_object(bytes, DecodeOptions::default())?;
        std::hint::black_box(object);
        Ok(())
    })
}
