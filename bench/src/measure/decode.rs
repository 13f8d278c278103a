//! One object, from bytes to a value.

use k8s_openapi::api::core::v1::Pod;
use kube_core::DynamicObject;
use kube_informer::projection::{Brief, Projection};
use kube_wire::{DecodeOptions, Encoding};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::process::cpu;
use super::{Library, Sample, Settings, Step, Target, figure};
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

type Decode = Box<dyn FnMut(&[u8]) -> Result<(), Error>>;

/// The objects that were decoded last, as many as are to be kept. Who keeps none decodes beside an empty memory, which
/// costs a collector of garbage nothing.
struct Kept<K> {
    objects: Vec<Box<K>>,
    most: usize,
    next: usize,
}

impl<K> Kept<K> {
    fn new(most: usize) -> Self {
        Self { objects: Vec::with_capacity(most), most, next: 0 }
    }

    fn put(&mut self, object: K) {
        if self.objects.len() < self.most {
            self.objects.push(Box::new(object));
        } else if let Some(oldest) = self.objects.get_mut(self.next) {
            // A new piece of memory for each, as in a cache.
            drop(std::mem::replace(oldest, Box::new(object)));
            self.next = (self.next + 1) % self.most;
        } else {
            std::hint::black_box(&object);
        }
    }
}

pub(super) fn run(settings: &Settings) -> Result<(), Error> {
    let bytes = std::fs::read(&settings.file)?;
    let mut decode = decoder(settings);
    let mut repeat = |count: usize| (0..count).try_for_each(|_| decode(&bytes));
    if settings.step == Step::Repeat {
        return repeat(settings.count);
    }
    repeat(settings.keep)?;
    let (worked, mut best) = (cpu(), f64::MAX);
    for _ in 0..ROUNDS {
        let begun = now();
        repeat(settings.count)?;
        best = best.min(begun.elapsed().as_nanos() as f64 / settings.count as f64);
    }
    figure("ns", best);
    figure("cpu_ns", (cpu() - worked) * 1e9 / (ROUNDS * settings.count) as f64);
    Ok(())
}

fn decoder(settings: &Settings) -> Decode {
    let protobuf = settings.file.ends_with(".pb");
    let encoding = if protobuf { Encoding::best_for("", "v1", "Pod") } else { Encoding::Json };
    match (settings.library, settings.kind) {
        (Library::KubeRuntime, Sample::Pods) => return theirs::<Pod>(settings.keep),
        (Library::KubeRuntime, Sample::Widgets) => return theirs::<DynamicObject>(settings.keep),
        (_, Sample::Widgets) => return ours::<DynamicObject>(encoding, settings.keep),
        (_, Sample::Pods) => {}
    }
    match settings.target {
        Target::Pod => ours::<Pod>(encoding, settings.keep),
        Target::Few => ours::<Few>(encoding, settings.keep),
        Target::Projection => ours::<Projection<Pod, Fields>>(encoding, settings.keep),
        Target::Brief => ours::<Projection<Pod, Fields, Brief>>(encoding, settings.keep),
        Target::Copy => copies::<Pod>(encoding, settings.keep),
        Target::Remake => remakes::<Pod>(encoding, settings.keep),
    }
}

/// What kube-runtime does with each object.
fn theirs<K: DeserializeOwned + 'static>(keep: usize) -> Decode {
    let mut kept = Kept::<K>::new(keep);
    Box::new(move |bytes| {
        kept.put(serde_json::from_slice(bytes)?);
        Ok(())
    })
}

fn ours<K: DeserializeOwned + 'static>(encoding: Encoding, keep: usize) -> Decode {
    let mut kept = Kept::<K>::new(keep);
    Box::new(move |bytes| {
        kept.put(encoding.decode_object(bytes, DecodeOptions::default())?);
        Ok(())
    })
}

/// Decodes into the memory of the oldest of those that are kept.
fn remakes<K: DeserializeOwned + 'static>(encoding: Encoding, keep: usize) -> Decode {
    let mut kept: Vec<Option<Box<K>>> = std::iter::repeat_with(|| None).take(keep.max(1)).collect();
    let mut next = 0;
    Box::new(move |bytes| {
        let spare = kept[next].take();
        let object = encoding.decode_object_into(bytes, DecodeOptions::default(), spare)?;
        kept[next] = Some(std::hint::black_box(object));
        next = (next + 1) % kept.len();
        Ok(())
    })
}

fn copies<K: DeserializeOwned + Clone + 'static>(encoding: Encoding, keep: usize) -> Decode {
    let (mut kept, mut first) = (Kept::<K>::new(keep), None);
    Box::new(move |bytes| {
        let object = match &first {
            Some(first) => K::clone(first),
            None => encoding.decode_object(bytes, DecodeOptions::default())?,
        };
        first.get_or_insert_with(|| object.clone());
        kept.put(object);
        Ok(())
    })
}
