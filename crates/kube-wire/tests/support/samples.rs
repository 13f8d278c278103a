//! Objects that Go wrote in both forms.

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use kube_wire::ProtoEnvelope;
use serde_json::Value;

/// One object in both forms.
pub(crate) struct Sample {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    /// The message, without an envelope.
    pub(crate) protobuf: Vec<u8>,
    pub(crate) json: Vec<u8>,
    /// What Go makes of the JSON, if it knows all fields that the table knows.
    pub(crate) encoded: Option<Vec<u8>>,
    /// Where it comes from.
    source: String,
}

impl Sample {
    /// The JSON as a list would show it, without its type.
    pub(crate) fn json_value(&self) -> Value {
        let mut value: Value = serde_json::from_slice(&self.json).unwrap();
        let object = value.as_object_mut().unwrap();
        object.remove("apiVersion");
        object.remove("kind");
        value
    }
}

impl Sample {
    /// Whether it has the metadata of an object.
    pub(crate) fn has_object_metadata(&self) -> bool {
        self.json_value()["metadata"].is_object() && !self.kind.ends_with("List") && self.kind != "Status"
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", self.api_version, self.kind, self.source)
    }
}

/// Those that are part of the repository.
pub(crate) fn checked_in() -> Vec<Sample> {
    unpack(include_bytes!("../proto/samples.gz"), "samples.gz")
}

/// Those that `cargo xtask test` has just made with Go, if it says where.
pub(crate) fn fresh() -> Vec<Sample> {
    let Some(path) = std::env::var_os("KUBE_WIRE_SAMPLES") else { return Vec::new() };
    unpack(&std::fs::read(&path).unwrap(), &path.to_string_lossy())
}

/// The golden files of the Kubernetes API module: where `cargo xtask test` says that it is, or where it is in Go's module
/// cache, if it is there. It has those of older versions too.
pub(crate) fn golden() -> Vec<Sample> {
    if let Some(module) = std::env::var_os("KUBE_WIRE_GOLDEN") {
        let samples = golden_of(Path::new(&module));
        assert!(samples.len() > 500, "{} golden pairs in {module:?}", samples.len());
        return samples;
    }
    let Some(cache) = module_cache() else { return Vec::new() };
    let modules = entries(&cache.join("k8s.io"));
    let module = modules.iter().rfind(|path| name(path).starts_with(MODULE));
    module.map(|module| golden_of(module)).unwrap_or_default()
}

fn golden_of(module: &Path) -> Vec<Sample> {
    let mut samples = Vec::new();
    for version in entries(&module.join("testdata")) {
        let is_latest = name(&version) == "HEAD";
        if !is_latest && !is_known(name(&version).strip_prefix("v1.")) {
            continue;
        }
        for path in entries(&version).iter().filter(|path| path.extension().is_some_and(|ext| ext == "pb")) {
            samples.extend(golden_pair(path, is_latest));
        }
    }
    samples
}

/// The module of the latest version that the table is about.
const MODULE: &str = "api@v0.37.";

/// Whether the table is about a minor version.
fn is_known(version: Option<&str>) -> bool {
    let minor = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    minor.is_some_and(|minor| (33..=37).contains(&minor))
}

fn golden_pair(path: &Path, is_latest: bool) -> Option<Sample> {
    let json = std::fs::read(path.with_extension("json")).ok()?;
    let protobuf = std::fs::read(path).unwrap();
    let envelope = ProtoEnvelope::read(&protobuf).unwrap();
    // A watch event travels without a type.
    (!envelope.kind.is_empty()).then(|| Sample {
        api_version: envelope.api_version.to_owned(),
        kind: envelope.kind.to_owned(),
        protobuf: envelope.object.to_vec(),
        json,
        // Older versions have fewer fields.
        encoded: is_latest.then(|| envelope.object.to_vec()),
        source: path.display().to_string(),
    })
}

fn module_cache() -> Option<PathBuf> {
    let from = |name| std::env::var_os(name).map(PathBuf::from);
    from("GOMODCACHE")
        .or_else(|| from("GOPATH").map(|path| path.join("pkg/mod")))
        .or_else(|| from("HOME").map(|path| path.join("go/pkg/mod")))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Five texts with their lengths before them, again and again.
fn unpack(compressed: &[u8], source: &str) -> Vec<Sample> {
    let mut bytes = Vec::new();
    GzDecoder::new(compressed).read_to_end(&mut bytes).unwrap();
    let mut rest = &bytes[..];
    let mut next = || {
        let (length, behind) = rest.split_first_chunk()?;
        let (text, behind) = behind.split_at(u32::from_be_bytes(*length) as usize);
        rest = behind;
        Some(text.to_vec())
    };
    let mut samples = Vec::new();
    while let Some(api_version) = next() {
        let [kind, protobuf, json, encoded] = std::array::from_fn(|_| next().unwrap());
        // Empty if it is the same.
        let encoded = if encoded.is_empty() { protobuf.clone() } else { encoded };
        samples.push(Sample {
            api_version: String::from_utf8(api_version).unwrap(),
            kind: String::from_utf8(kind).unwrap(),
            protobuf,
            json,
            encoded: Some(encoded),
            source: format!("{source} #{}", samples.len()),
        });
    }
    samples
}

/// Leaves out what is `null`, which means the same as nothing.
pub(crate) fn without_nulls(mut value: Value) -> Value {
    drop_nulls(&mut value);
    value
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
