//! How objects look on the wire: whole, as metadata only, or as a table; alone, in lists and in watches.

mod convert;
mod list;

pub(crate) use convert::{from_storage, to_storage};
pub(crate) use list::{ListMeta, list_reply};

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::http::{Form, Query};
use crate::kinds::Resource;
use crate::storage::Stored;
use crate::table::{Columns, columns_for};

/// A resource in the form that one client asked for.
#[derive(Debug)]
pub(crate) struct View {
    resource: Arc<Resource>,
    form: Form,
    /// `{"kind":"Pod","apiVersion":"v1",`
    type_meta: String,
    columns: Option<Columns>,
    include: Include,
    now: Timestamp,
}

/// What a table's rows carry beside their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Include {
    Nothing,
    Metadata,
    Object,
}

impl View {
    pub(crate) fn new(resource: &Arc<Resource>, form: Form, query: &Query, now: Timestamp) -> Self {
        let (api_version, kind) = (resource.api_version(), &resource.kind);
        let columns = (form == Form::Table).then(|| columns_of(resource));
        let include = match query.get("includeObject") {
            Some("None") => Include::Nothing,
            Some("Object") => Include::Object,
            _ => Include::Metadata,
        };
        Self {
            type_meta: format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\","),
            resource: Arc::clone(resource),
            form,
            columns,
            include,
            now,
        }
    }

    /// Writes one object, as an answer by itself or inside a watch event.
    pub(crate) fn write_object(&self, object: &Stored, out: &mut Vec<u8>) {
        match self.form {
            Form::Object => self.write_whole(object, out),
            Form::Metadata => write_value(&self.partial(object.object()), out),
            Form::Table => {
                let rows = [self.row(object)];
                write_value(
                    &self.table(&json!({"resourceVersion": object.version().to_string()}), &rows),
                    out,
                );
            }
        }
    }

    /// Writes the object of a BOOKMARK event.
    pub(crate) fn write_bookmark(&self, version: u64, initial_events_end: bool, out: &mut Vec<u8>) {
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if initial_events_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let bookmark = match self.form {
            Form::Object => {
                json!({"kind": self.resource.kind, "apiVersion": self.resource.api_version(), "metadata": metadata})
            }
            Form::Metadata => {
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
            }
            Form::Table => {
                let list_meta = json!({"resourceVersion": version.to_string()});
                let object = json!({
                    "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                });
                self.table(&list_meta, &[json!({"cells": [], "object": object})])
            }
        };
        write_value(&bookmark, out);
    }

    /// Writes one item of a list.
    fn write_item(&self, object: &Stored, out: &mut Vec<u8>) {
        match self.form {
            // Lists of built-in kinds leave out what the list's own kind says.
            Form::Object if self.resource.custom.is_none() && !convert::is_needed(&self.resource) => {
                out.extend_from_slice(object.text());
            }
            Form::Object => self.write_whole(object, out),
            Form::Metadata => write_value(&self.partial(object.object()), out),
            Form::Table => write_value(&self.row(object), out),
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
        let metadata = object.remove("metadata").unwrap_or_default();
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
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
            Include::Nothing => {}
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
        let definitions = self.columns.as_ref().map(Columns::definitions).unwrap_or_default();
        json!({
            "kind": "Table",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": metadata,
            "columnDefinitions": definitions,
            "rows": rows,
        })
    }

    /// Everything of a list up to its first item.
    fn list_head(&self, meta: &ListMeta) -> Vec<u8> {
        let meta = meta.to_value();
        let head = match self.form {
            Form::Object => {
                let (kind, api_version) = (&self.resource.list_kind, self.resource.api_version());
                format!(
                    "{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{meta},\"items\":["
                )
            }
            Form::Metadata => format!(
                "{{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{meta},\
                 \"items\":["
            ),
            Form::Table => {
                let definitions = self.columns.as_ref().map(Columns::definitions).unwrap_or_default();
                format!(
                    "{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{meta},\
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
