//! What form of an answer a client accepts.

use crate::kinds::{Resource, Verb};
use crate::status::ApiError;

const MEDIA_TYPES: &str = "application/json";

/// The form in which objects are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object itself.
    Object,
    /// Only its metadata.
    Metadata(MetaVersion),
    /// Columns for people.
    Table(MetaVersion),
}

/// The version of `meta.k8s.io` that a client asked for; both look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    V1,
    V1Beta1,
}

impl MetaVersion {
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// One choice in an `Accept` header.
#[derive(Debug, PartialEq)]
pub(crate) struct MediaRange<'a> {
    pub(crate) kind: &'a str,
    pub(crate) parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

impl MediaRange<'_> {
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// JSON, or anything.
    pub(crate) fn takes_json(&self) -> bool {
        matches!(self.kind, "application/json" | "application/*" | "*/*")
    }
}

/// The choices of an `Accept` header, best first.
pub(crate) fn ranges(header: &str) -> Vec<MediaRange<'_>> {
    let mut ranges: Vec<MediaRange<'_>> = header
        .split(',')
        .filter(|range| !range.trim().is_empty())
        .map(|range| {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or("");
            let mut quality = 1.0;
            let mut parameters = Vec::new();
            for (key, value) in parts.filter_map(|part| part.split_once('=')) {
                match key {
                    "q" => quality = value.parse().unwrap_or(1.0),
                    _ => parameters.push((key, value)),
                }
            }
            MediaRange { kind, parameters, quality }
        })
        .collect();
    // Stable: choices of equal quality stay in the client's order.
    ranges.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    ranges
}

/// The first form the client accepts and the server has; an empty header accepts everything.
pub(crate) fn negotiate(header: &str, resource: &Resource, verb: Verb) -> Result<Form, ApiError> {
    let (form, asked) = choose(header)?;
    let list = verb == Verb::List;
    match (form, verb) {
        (Form::Metadata(_), Verb::Get | Verb::List) if asked.ends_with("List") != list => {
            let is = if list { "is a list" } else { "is not a list" };
            let ty = go_type(resource, list);
            Err(ApiError::not_acceptable(format!(
                "you requested {asked}, but the requested object {is} ({ty})"
            )))
        }
        _ => Ok(form),
    }
}

/// Says what the server can write.
pub(crate) fn media_types_error() -> ApiError {
    ApiError::not_acceptable(format!("only the following media types are accepted: {MEDIA_TYPES}"))
}

/// The form, and what the client called it.
fn choose(header: &str) -> Result<(Form, String), ApiError> {
    if header.trim().is_empty() {
        return Ok((Form::Object, String::new()));
    }
    for range in ranges(header) {
        if !range.takes_json() {
            continue;
        }
        let version = match range.parameter("v") {
            None | Some("v1") => Some(MetaVersion::V1),
            Some("v1beta1") => Some(MetaVersion::V1Beta1),
            Some(_) => None,
        };
        let version = version.filter(|_| range.parameter("g").is_none_or(|group| group == "meta.k8s.io"));
        let asked = range.parameter("as").unwrap_or("");
        let form = match (asked, version) {
            ("", _) => Form::Object,
            ("Table", Some(version)) => Form::Table(version),
            ("PartialObjectMetadata" | "PartialObjectMetadataList", Some(version)) => Form::Metadata(version),
            _ => continue,
        };
        return Ok((form, asked.to_owned()));
    }
    Err(media_types_error())
}

/// What Kubernetes calls the type of an answer, in errors that show it.
fn go_type(resource: &Resource, list: bool) -> String {
    if resource.custom.is_some() {
        return if list { "*unstructured.UnstructuredList" } else { "*unstructured.Unstructured" }.to_owned();
    }
    let package =
        if resource.group.is_empty() { "core" } else { resource.group.split('.').next().unwrap_or("") };
    format!("*{package}.{}", if list { &resource.list_kind } else { &resource.kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: Form = Form::Metadata(MetaVersion::V1);
    const TABLE: Form = Form::Table(MetaVersion::V1);

    #[test]
    fn the_best_form_the_server_has_is_chosen() {
        for (header, form) in [
            ("", Form::Object),
            ("*/*", Form::Object),
            ("application/json", Form::Object),
            ("application/vnd.kubernetes.protobuf,application/json", Form::Object),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", TABLE),
            ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", METADATA),
            (
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json",
                METADATA,
            ),
            ("application/json;q=0.1, application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9", TABLE),
            ("application/json;as=Unknown;v=v1;g=meta.k8s.io, application/json", Form::Object),
        ] {
            assert_eq!(choose(header).expect(header).0, form, "{header}");
        }
    }

    #[test]
    fn what_the_server_cannot_write_is_refused_with_406() {
        for header in ["application/xml", "application/vnd.kubernetes.protobuf", "application/json;as=Chart"]
        {
            assert_eq!(choose(header).expect_err(header).code, 406, "{header}");
        }
    }
}
