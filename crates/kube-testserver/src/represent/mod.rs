//! How objects look on the wire: whole, as metadata only, or as a table; alone, in lists and in watches; in JSON and in
//! protobuf.

mod convert;
mod event;
mod list;
mod proto;
mod recent;

pub(crate) use convert::{complete_behavior, from_storage, has_other_metrics, to_storage};
pub(crate) use list::{ListMeta, list_reply};
pub(crate) use proto::protobuf_of;
pub(crate) use recent::Recent;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::http::{Encoding, Form, MetaVersion, Query};
use crate::kinds::Resource;
use crate::status::ApiError;
use crate::storage::Stored;
use crate::table::{Columns, columns_for};
use proto::Messages;

/// A resource in the form that one client asked for.
#[derive(Debug)]
pub(crate) struct View {
    resource: Arc<Resource>,
    form: Form,
    /// None in JSON.
    messages: Option<Messages>,
    /// `{"kind":"Pod","apiVersion":"v1",`
    type_meta: String,
    columns: Option<Columns>,
    include: Include,
    now: Timestamp,
    /// A watch sends its column definitions with the first event only.
    columns_sent: bool,
}

/// What a table's rows carry beside their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Include {
    Nothing,
    Metadata,
    Object,
}

impl View {
    pub(crate) fn new(
        resource: &Arc<Resource>,
        (form, encoding): (Form, Encoding),
        query: &Query,
        now: Timestamp,
    ) -> Self {
        let (api_version, kind) = (resource.api_version(), &resource.kind);
        let columns = matches!(form, Form::Table(_)).then(|| columns_of(resource));
        let include = match query.get("includeObject") {
            Some("None") => Include::Nothing,
            Some("Object") => Include::Object,
            _ => Include::Metadata,
        };
        Self {
            type_meta: format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\","),
            messages: match encoding {
                Encoding::Json => None,
                // Nobody gets here with a form that has none: that is not accepted.
                Encoding::Protobuf => Messages::of(resource, form),
            },
            resource: Arc::clone(resource),
            form,
            columns,
            include,
            now,
            columns_sent: false,
        }
    }

    /// The time that ages are counted to.
    pub(crate) fn set_time(&mut self, now: Timestamp) {
        self.now = now;
    }

    /// Writes one object as an answer by itself.
    pub(crate) fn write_object(&self, object: &Stored, out: &mut Vec<u8>) -> Result<(), ApiError> {
        match self.messages {
            None => self.write_json(object, out),
            Some(messages) => {
                let message = self.message(object, messages)?;
                out.append(&mut proto::envelope(messages.object, &message).to_bytes());
            }
        }
        Ok(())
    }

    /// The protobuf message of an object, without its envelope.
    fn message(&self, object: &Stored, messages: Messages) -> Result<Vec<u8>, ApiError> {
        let mut object = object.object();
        match self.form {
            Form::Metadata(_) => object.retain(|name, _| name == "metadata"),
            Form::Object | Form::Table(_) => from_storage(&self.resource, &mut object),
        }
        proto::encode(&Value::Object(object), messages.object)
    }

    fn write_json(&self, object: &Stored, out: &mut Vec<u8>) {
        match self.form {
            Form::Object => self.write_whole(object, out),
            Form::Metadata(_) => write_value(&self.partial(object.object()), out),
            Form::Table(_) => {
                let rows = [self.row(object)];
                write_value(
                    &self.table(&json!({"resourceVersion": object.version().to_string()}), &rows),
                    out,
                );
            }
        }
    }

    /// The object of a BOOKMARK event.
    fn bookmark(&self, metadata: &Value, version: u64) -> Value {
        match self.form {
            Form::Object => {
                json!({"kind": self.resource.kind, "apiVersion": self.resource.api_version(), "metadata": metadata})
            }
            Form::Metadata(_) => self.partial_of(metadata),
            Form::Table(_) => {
                let list_meta = json!({"resourceVersion": version.to_string()});
                let nothing = json!({"metadata": metadata});
                let cells = self.columns.as_ref().map(|columns| columns.cells(&nothing, self.now));
                let object = match self.include {
                    Include::Nothing => Value::Null,
                    _ => self.partial_of(metadata),
                };
                self.table(&list_meta, &[json!({"cells": cells.unwrap_or_default(), "object": object})])
            }
        }
    }

    /// Writes one item of a list.
    fn write_item(&self, object: &Stored, out: &mut Vec<u8>) {
        match self.form {
            // Lists of built-in kinds leave out what the list's own kind says.
            Form::Object if self.resource.custom.is_none() && !convert::is_needed(&self.resource) => {
                out.extend_from_slice(object.text());
            }
            Form::Object if self.resource.custom.is_none() => {
                let mut converted = object.object();
                from_storage(&self.resource, &mut converted);
                write_value(&Value::Object(converted), out);
            }
            Form::Object => self.write_whole(object, out),
            Form::Metadata(_) => write_value(&self.partial(object.object()), out),
            Form::Table(_) => write_value(&self.row(object), out),
        }
    }

    fn write_whole(&self, object: &Stored, out: &mut Vec<u8>) {
        out.extend_from_slice(self.type_meta.as_bytes());
        if convert::is_needed(&self.resource) {
            let mut converted = object.object();
            from_storage(&self.resource, &mut converted);
            let start = out.len();
            write_value(&Value::Object(converted), out);
            // The brace is already there, in front of the kind.
            out.remove(start);
        } else {
            out.extend_from_slice(&object.text()[1..]);
        }
    }

    fn partial(&self, mut object: Map<String, Value>) -> Value {
        self.partial_of(&object.remove("metadata").unwrap_or_default())
    }

    fn partial_of(&self, metadata: &Value) -> Value {
        json!({"kind": "PartialObjectMetadata", "apiVersion": self.meta_api_version(), "metadata": metadata})
    }

    /// The version of tables and of metadata without objects that the client asked for.
    fn meta_api_version(&self) -> &'static str {
        match self.form {
            Form::Object => MetaVersion::V1.api_version(),
            Form::Metadata(version) | Form::Table(version) => version.api_version(),
        }
    }

    fn row(&self, stored: &Stored) -> Value {
        // Columns are read from the stored form, which has everything that any version shows.
        let whole = Value::Object(stored.object());
        let mut row = Map::new();
        if let Some(columns) = &self.columns {
            row.insert("cells".to_owned(), Value::Array(columns.cells(&whole, self.now)));
            if let Some(conditions) = columns.conditions(&whole) {
                row.insert("conditions".to_owned(), conditions);
            }
        }
        let Value::Object(mut object) = whole else { return Value::Object(row) };
        match self.include {
            Include::Nothing => {
                row.insert("object".to_owned(), Value::Null);
            }
            Include::Metadata => {
                row.insert("object".to_owned(), self.partial(object));
            }
            Include::Object => {
                from_storage(&self.resource, &mut object);
                object.insert("kind".to_owned(), json!(self.resource.kind));
                object.insert("apiVersion".to_owned(), json!(self.resource.api_version()));
                row.insert("object".to_owned(), Value::Object(object));
            }
        }
        Value::Object(row)
    }

    /// Tells the columns about the whole list: one of several default storage classes is marked.
    fn look_at_all(&mut self, items: &[Arc<Stored>]) {
        if !self.resource.is("storage.k8s.io", "storageclasses") {
            return;
        }
        if let Some(columns) = self.columns.take() {
            let objects: Vec<Value> = items.iter().map(|item| Value::Object(item.object())).collect();
            self.columns = Some(columns.for_list(&objects));
        }
    }

    fn table(&self, metadata: &Value, rows: &[Value]) -> Value {
        let columns = self.columns.as_ref().filter(|_| !self.columns_sent);
        // No definitions is `null`, which is what later events of a watch have.
        let definitions = columns.map(Columns::definitions).unwrap_or_default();
        json!({
            "kind": "Table",
            "apiVersion": self.meta_api_version(),
            "metadata": metadata,
            "columnDefinitions": definitions,
            "rows": rows,
        })
    }

    /// Everything of a list up to its first item.
    fn list_head(&self, meta: &ListMeta) -> Vec<u8> {
        let mut meta = meta.to_value();
        if self.form == Form::Object && self.resource.custom.is_some() && meta.get("continue").is_none() {
            // Lists of custom resources always have one, even an empty one.
            meta["continue"] = json!("");
        }
        let meta_version = self.meta_api_version();
        let head = match self.form {
            Form::Object => {
                let (kind, api_version) = (&self.resource.list_kind, self.resource.api_version());
                format!(
                    "{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{meta},\"items\":["
                )
            }
            Form::Metadata(_) => format!(
                "{{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"{meta_version}\",\"metadata\":{meta},\
                 \"items\":["
            ),
            Form::Table(_) => {
                let definitions = self.columns.as_ref().map(Columns::definitions).unwrap_or_default();
                format!(
                    "{{\"kind\":\"Table\",\"apiVersion\":\"{meta_version}\",\"metadata\":{meta},\
                     \"columnDefinitions\":{definitions},\"rows\":["
                )
            }
        };
        head.into_bytes()
    }
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    // Writing JSON into memory does not fail.
    let _ = serde_json::to_writer(out, value);
}

fn columns_of(resource: &Resource) -> Columns {
    let version = resource.custom.as_ref().and_then(|(definition, at)| definition.versions.get(*at));
    columns_for(&resource.group, &resource.plural, version.map(|version| version.columns.as_slice()))
}
