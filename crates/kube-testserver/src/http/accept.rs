//! What form of an answer a client accepts.

use crate::status::ApiError;

const MEDIA_TYPES: &str = "application/json";

/// The form in which objects are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object itself.
    Object,
    /// Only its metadata.
    Metadata,
    /// Columns for people.
    Table,
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
pub(crate) fn negotiate(header: &str) -> Result<Form, ApiError> {
    if header.trim().is_empty() {
        return Ok(Form::Object);
    }
    for range in ranges(header) {
        if !range.takes_json() {
            continue;
        }
        let meta = range.parameter("g").is_none_or(|group| group == "meta.k8s.io")
            && range.parameter("v").is_none_or(|version| matches!(version, "v1" | "v1beta1"));
        match range.parameter("as") {
            None => return Ok(Form::Object),
            Some("Table") if meta => return Ok(Form::Table),
            Some("PartialObjectMetadata" | "PartialObjectMetadataList") if meta => return Ok(Form::Metadata),
            Some(_) => {}
        }
    }
    Err(ApiError::not_acceptable(MEDIA_TYPES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_form_the_server_has_is_chosen() {
        for (header, form) in [
            ("", Form::Object),
            ("*/*", Form::Object),
            ("application/json", Form::Object),
            ("application/vnd.kubernetes.protobuf,application/json", Form::Object),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Form::Table),
            ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", Form::Metadata),
            (
                "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json",
                Form::Metadata,
            ),
            ("application/json;q=0.1, application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9", Form::Table),
            ("application/json;as=Unknown;v=v1;g=meta.k8s.io, application/json", Form::Object),
        ] {
            assert_eq!(negotiate(header).expect(header), form, "{header}");
        }
    }

    #[test]
    fn what_the_server_cannot_write_is_refused_with_406() {
        for header in ["application/xml", "application/vnd.kubernetes.protobuf", "application/json;as=Chart"]
        {
            assert_eq!(negotiate(header).expect_err(header).code, 406, "{header}");
        }
    }
}
