//! What form of an answer a client accepts, and in which encoding.

use kube_wire::ProtoMessage;

use crate::kinds::{Resource, Verb};
use crate::status::ApiError;

pub(crate) const JSON: &str = "application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// How answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Text: everything there is.
    Json,
    /// Kubernetes' protobuf: built-in kinds, metadata of all kinds, and what the server says itself.
    Protobuf,
}

impl Encoding {
    /// The content type of an answer.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json => JSON,
            Self::Protobuf => PROTOBUF,
        }
    }

    /// The content type of a watch.
    pub(crate) fn stream_type(self) -> &'static str {
        match self {
            Self::Json => JSON,
            Self::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        }
    }
}

/// The encodings that a server has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Encodings {
    pub(crate) protobuf: bool,
}

impl Encodings {
    /// The encoding of a choice in an `Accept` header, if the server has it.
    pub(crate) fn of(self, range: &MediaRange<'_>) -> Option<Encoding> {
        match range.kind {
            JSON | "application/*" | "*/*" => Some(Encoding::Json),
            PROTOBUF if self.protobuf => Some(Encoding::Protobuf),
            _ => None,
        }
    }

    /// Says what the server can write.
    pub(crate) fn not_acceptable(self) -> ApiError {
        let types = if self.protobuf { format!("{JSON}, {PROTOBUF}") } else { JSON.to_owned() };
        ApiError::not_acceptable(format!("only the following media types are accepted: {types}"))
    }

    /// The encoding of what the server says itself, errors among it: never refused, and JSON if need be.
    pub(crate) fn of_status(self, header: &str) -> Encoding {
        self.plain(header).unwrap_or(Encoding::Json)
    }

    /// The first encoding that a client takes for something that has one form only. What asks for another form of an
    /// object does not count.
    pub(crate) fn plain(self, header: &str) -> Option<Encoding> {
        if header.trim().is_empty() {
            return Some(Encoding::Json);
        }
        let plain =
            |range: &&MediaRange<'_>| range.parameter("as").is_none() && range.is_for_streams_at_most();
        ranges(header).iter().filter(plain).find_map(|range| self.of(range))
    }
}

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

    /// Of all kinds of streams there is one.
    fn is_for_streams_at_most(&self) -> bool {
        matches!(self.parameter("stream"), None | Some("" | "watch"))
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

/// The first form and encoding that the client accepts and the server has; an empty header accepts everything.
pub(crate) fn negotiate(
    header: &str,
    encodings: Encodings,
    resource: &Resource,
    verb: Verb,
) -> Result<(Form, Encoding), ApiError> {
    let (form, encoding, asked) =
        choose(header, encodings, has_protobuf(resource)).ok_or_else(|| encodings.not_acceptable())?;
    let list = verb == Verb::List;
    match (form, verb) {
        (Form::Metadata(_), Verb::Get | Verb::List) if asked.ends_with("List") != list => {
            let is = if list { "is a list" } else { "is not a list" };
            let ty = go_type(resource, list);
            Err(ApiError::not_acceptable(format!(
                "you requested {asked}, but the requested object {is} ({ty})"
            )))
        }
        _ => Ok((form, encoding)),
    }
}

/// Custom resources have no protobuf form; their metadata has.
fn has_protobuf(resource: &Resource) -> bool {
    resource.custom.is_none()
        && ProtoMessage::of(&resource.group, &resource.version, &resource.kind).is_some()
}

/// The form, its encoding, and what the client called it.
fn choose(header: &str, encodings: Encodings, protobuf_objects: bool) -> Option<(Form, Encoding, String)> {
    if header.trim().is_empty() {
        return Some((Form::Object, Encoding::Json, String::new()));
    }
    for range in ranges(header).iter().filter(|range| range.is_for_streams_at_most()) {
        let Some(encoding) = encodings.of(range) else { continue };
        let version = match range.parameter("v") {
            None | Some("v1") => Some(MetaVersion::V1),
            Some("v1beta1") => Some(MetaVersion::V1Beta1),
            Some(_) => None,
        };
        let version = version.filter(|_| range.parameter("g").is_none_or(|group| group == "meta.k8s.io"));
        let asked = range.parameter("as").unwrap_or("");
        let form = match (asked, version, encoding) {
            ("", _, Encoding::Protobuf) if !protobuf_objects => continue,
            ("", ..) => Form::Object,
            // Tables are for people.
            ("Table", Some(version), Encoding::Json) => Form::Table(version),
            ("PartialObjectMetadata" | "PartialObjectMetadataList", Some(version), _) => {
                Form::Metadata(version)
            }
            _ => continue,
        };
        return Some((form, encoding, asked.to_owned()));
    }
    None
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
    const ALL: Encodings = Encodings { protobuf: true };

    fn chosen(header: &str, encodings: Encodings, protobuf_objects: bool) -> Option<(Form, Encoding)> {
        choose(header, encodings, protobuf_objects).map(|(form, encoding, _)| (form, encoding))
    }

    #[test]
    fn the_best_form_the_server_has_is_chosen() {
        let metadata = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        for (header, form, encoding) in [
            ("", Form::Object, Encoding::Json),
            ("*/*", Form::Object, Encoding::Json),
            (JSON, Form::Object, Encoding::Json),
            (PROTOBUF, Form::Object, Encoding::Protobuf),
            (&format!("{PROTOBUF},{JSON}"), Form::Object, Encoding::Protobuf),
            (&format!("{JSON},{PROTOBUF}"), Form::Object, Encoding::Json),
            (&format!("{JSON};q=0.5, {PROTOBUF};q=0.9"), Form::Object, Encoding::Protobuf),
            (&format!("{PROTOBUF};stream=watch"), Form::Object, Encoding::Protobuf),
            (&format!("{PROTOBUF};stream=news, {JSON}"), Form::Object, Encoding::Json),
            ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", TABLE, Encoding::Json),
            (&format!("{PROTOBUF};as=Table;v=v1;g=meta.k8s.io, {JSON}"), Form::Object, Encoding::Json),
            ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", METADATA, Encoding::Json),
            (&format!("{PROTOBUF};{metadata}, {JSON};{metadata}, {JSON}"), METADATA, Encoding::Protobuf),
            (
                "application/json;q=0.1, application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9",
                TABLE,
                Encoding::Json,
            ),
            (
                "application/json;as=Unknown;v=v1;g=meta.k8s.io, application/json",
                Form::Object,
                Encoding::Json,
            ),
        ] {
            assert_eq!(chosen(header, ALL, true), Some((form, encoding)), "{header}");
        }
    }

    #[test]
    fn custom_resources_are_json_and_their_metadata_is_not() {
        assert_eq!(chosen(PROTOBUF, ALL, false), None);
        let both = format!("{PROTOBUF},{JSON}");
        assert_eq!(chosen(&both, ALL, false), Some((Form::Object, Encoding::Json)));
        let metadata = format!("{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
        assert_eq!(chosen(&metadata, ALL, false), Some((METADATA, Encoding::Protobuf)));
    }

    #[test]
    fn a_server_without_protobuf_has_json() {
        let none = Encodings { protobuf: false };
        assert_eq!(chosen(PROTOBUF, none, true), None);
        let both = format!("{PROTOBUF},{JSON}");
        assert_eq!(chosen(&both, none, true), Some((Form::Object, Encoding::Json)));
        assert_eq!(none.of_status(&both), Encoding::Json);
    }

    #[test]
    fn what_the_server_cannot_write_is_refused() {
        for header in ["application/xml", "application/json;as=Chart", "application/vnd.kubernetes.*"] {
            assert_eq!(chosen(header, ALL, true), None, "{header}");
        }
        assert_eq!(ALL.not_acceptable().code, 406);
    }

    #[test]
    fn errors_are_written_as_the_first_choice_that_asks_for_no_other_form() {
        let metadata = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
        for (header, encoding) in [
            ("", Encoding::Json),
            ("application/xml", Encoding::Json),
            (&format!("{PROTOBUF}, {JSON}"), Encoding::Protobuf),
            (&format!("{PROTOBUF};stream=watch"), Encoding::Protobuf),
            (&format!("{PROTOBUF};{metadata}"), Encoding::Json),
            (&format!("{JSON};{metadata}, {PROTOBUF}"), Encoding::Protobuf),
        ] {
            assert_eq!(ALL.of_status(header), encoding, "{header}");
        }
    }
}
