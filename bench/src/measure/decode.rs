//! Objects of a file, from bytes to values.

use k8s_openapi::api::core::v1::Pod;
use kube_core::DynamicObject;
use kube_informer::projection::{Brief, Projection};
use kube_wire::{DecodeOptions, Encoding};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::process::cpu;
use super::{Library, Settings, Step, Target, figure};
use crate::Error;
use crate::replay::Set;
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

/// The objects that were decoded last. With none, a garbage collector beside it has nothing to do.
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
    let file = std::fs::read(&settings.file)?;
    let objects = objects(&file)?;
    let mut decode = decoder(settings)?;
    let mut next = 0;
    let mut repeat = |count: usize| {
        (0..count).try_for_each(|_| {
            next = (next + 1) % objects.len();
            decode(objects[next])
        })
    };
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
    figure("bytes", objects.iter().map(|object| object.len()).sum::<usize>() as f64 / objects.len() as f64);
    Ok(())
}

/// Splits a file of objects, each after its length in four bytes.
fn objects(mut file: &[u8]) -> Result<Vec<&[u8]>, Error> {
    let mut objects = Vec::new();
    while let Some((length, rest)) = file.split_first_chunk() {
        let (object, rest) =
            rest.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or("an object is cut off")?;
        objects.push(object);
        file = rest;
    }
    if objects.is_empty() { Err("there are no objects in the file".into()) } else { Ok(objects) }
}

fn decoder(settings: &Settings) -> Result<Decode, Error> {
    let protobuf = settings.file.ends_with(".pb");
    let encoding = if protobuf { Encoding::best_for("", "v1", "Pod") } else { Encoding::Json };
    let keep = settings.keep;
    match (settings.library, settings.set) {
        (_, Set::Cluster) => return Err("one kind is decoded at a time".into()),
        (Library::KubeRs, Set::Pods | Set::Template) => return Ok(kube_rs::<Pod>(keep)),
        (Library::KubeRs, Set::Widgets) => return Ok(kube_rs::<DynamicObject>(keep)),
        (_, Set::Widgets) => return Ok(ours::<DynamicObject>(encoding, keep)),
        (_, Set::Pods | Set::Template) => {}
    }
    Ok(match settings.target {
        Target::Full => ours::<Pod>(encoding, keep),
        Target::Few => ours::<Few>(encoding, keep),
        Target::Projection => ours::<Projection<Pod, Fields>>(encoding, keep),
        Target::Brief => ours::<Projection<Pod, Fields, Brief>>(encoding, keep),
        Target::Remake => remakes::<Pod>(encoding, keep),
    })
}

/// Decodes as kube-rs does.
fn kube_rs<K: DeserializeOwned + 'static>(keep: usize) -> Decode {
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

/// Decodes into the oldest of the objects that are kept.
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
