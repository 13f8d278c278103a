//! A column of a built-in kind: its definition and how to fill it.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::cell::{age_at, at, text};

/// One column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) ty: &'static str,
    pub(super) format: &'static str,
    pub(super) description: &'static str,
    /// Above 0: shown only by `-o wide`.
    pub(super) priority: u8,
    pub(super) cell: fn(&Value, Timestamp) -> Value,
}

/// The column that every table starts with.
pub(super) const NAME: Column = Column {
    format: "name",
    ..string("Name", "The name of the object.", |object, _| json!(text(object, "/metadata/name")))
};

/// How long ago the object was made.
pub(super) const AGE: Column = string("Age", "The time since the object was made.", |object, now| {
    age_at(object, "/metadata/creationTimestamp", now)
});

/// When the object was made.
pub(super) const CREATED_AT: Column = Column {
    ty: "date",
    ..string("Created At", "The time at which the object was made.", |object, _| {
        match at(object, "/metadata/creationTimestamp").as_str() {
            Some(time) => json!(time),
            None => json!("0001-01-01T00:00:00Z"),
        }
    })
};

/// A column of texts.
pub(super) const fn string(
    name: &'static str,
    description: &'static str,
    cell: fn(&Value, Timestamp) -> Value,
) -> Column {
    Column { name, ty: "string", format: "", description, priority: 0, cell }
}

/// A column of whole numbers.
pub(super) const fn integer(
    name: &'static str,
    description: &'static str,
    cell: fn(&Value, Timestamp) -> Value,
) -> Column {
    Column { ty: "integer", ..string(name, description, cell) }
}

/// A column of truths.
pub(super) const fn boolean(
    name: &'static str,
    description: &'static str,
    cell: fn(&Value, Timestamp) -> Value,
) -> Column {
    Column { ty: "boolean", ..string(name, description, cell) }
}

impl Column {
    /// The same column, shown only by `-o wide`.
    pub(super) const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }

    /// The definition, as JSON.
    pub(super) fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.ty,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}
