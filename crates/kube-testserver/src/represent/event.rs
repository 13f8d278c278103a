//! The frames of a watch: lines of JSON, or messages with their lengths before them. Also those that are wrong on
//! purpose.

use kube_wire::encode_event_proto;
use serde_json::{Value, json};

use super::proto::{self, Messages};
use super::{Recent, View, write_value};
use crate::status::ApiError;
use crate::storage::Stored;

impl View {
    /// Writes an event with an object that this watch alone sends.
    pub(crate) fn write_event(
        &mut self,
        event: &str,
        object: &Stored,
        out: &mut Vec<u8>,
    ) -> Result<(), ApiError> {
        match self.messages {
            None => self.write_line(event, out, |view, out| view.write_json(object, out)),
            Some(messages) => write_frame(event, messages, &self.message(object, messages)?, out),
        }
        Ok(())
    }

    /// Writes an event that other watches send, too.
    pub(crate) fn write_shared_event(
        &mut self,
        event: &str,
        object: &Stored,
        recent: &Recent,
        out: &mut Vec<u8>,
    ) -> Result<(), ApiError> {
        let Some(messages) = self.messages else { return self.write_event(event, object, out) };
        let message = recent.message(object.version(), messages.object, || self.message(object, messages))?;
        write_frame(event, messages, &message, out);
        Ok(())
    }

    /// Writes a BOOKMARK event.
    pub(crate) fn write_bookmark(&mut self, version: u64, initial_events_end: bool, out: &mut Vec<u8>) {
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if initial_events_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        self.write_bookmark_of(&metadata, version, out);
    }

    /// Writes an ERROR event.
    pub(crate) fn write_error(&self, error: &ApiError, out: &mut Vec<u8>) {
        let status = error.to_status();
        let frame = |_| proto::with_envelope(&status, |envelope| encode_event_proto("ERROR", &envelope));
        match self.messages.and_then(frame) {
            Some(frame) => out.extend_from_slice(&frame),
            None => {
                open_line("ERROR", out);
                write_value(&status, out);
                out.extend_from_slice(b"}\n");
            }
        }
    }

    /// Writes half of an event.
    pub(crate) fn write_half_event(&self, out: &mut Vec<u8>) {
        match self.messages {
            None => {
                open_line("ADDED", out);
                out.extend_from_slice(b"{\"metadata\":{\"name\":\"trunc");
            }
            Some(messages) => {
                // `metadata` with a name.
                let frame = encode_event_proto(
                    "ADDED",
                    &proto::envelope(messages.object, b"\x0a\x0b\x0a\x09truncated"),
                );
                out.extend_from_slice(&frame[..frame.len() / 2]);
            }
        }
    }

    /// Writes a frame that is no event.
    pub(crate) fn write_garbage(&self, out: &mut Vec<u8>) {
        const GARBAGE: &[u8] = b"\x00\xff this is not an event {]";
        match self.messages {
            None => {
                out.extend_from_slice(GARBAGE);
                out.push(b'\n');
            }
            Some(_) => {
                let length = u32::try_from(GARBAGE.len()).unwrap_or(0);
                out.extend_from_slice(&length.to_be_bytes());
                out.extend_from_slice(GARBAGE);
            }
        }
    }

    /// Writes an event of at least so many bytes: a bookmark, the one event that changes nothing, whatever its size.
    pub(crate) fn write_large_event(&mut self, version: u64, bytes: usize, out: &mut Vec<u8>) {
        let metadata =
            json!({"resourceVersion": version.to_string(), "annotations": {"padding": "x".repeat(bytes)}});
        self.write_bookmark_of(&metadata, version, out);
    }

    fn write_bookmark_of(&mut self, metadata: &Value, version: u64, out: &mut Vec<u8>) {
        match self.messages {
            None => self.write_line("BOOKMARK", out, |view, out| {
                write_value(&view.bookmark(metadata, version), out);
            }),
            Some(messages) => {
                // A version and annotations can always be encoded.
                let message = proto::encode(&json!({"metadata": metadata}), messages.object);
                write_frame("BOOKMARK", messages, &message.unwrap_or_default(), out);
            }
        }
    }

    fn write_line(&mut self, event: &str, out: &mut Vec<u8>, object: impl FnOnce(&Self, &mut Vec<u8>)) {
        open_line(event, out);
        object(self, out);
        out.extend_from_slice(b"}\n");
        // A watch sends its column definitions with the first event only.
        self.columns_sent = true;
    }
}

fn write_frame(event: &str, messages: Messages, message: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&encode_event_proto(event, &proto::envelope(messages.object, message)));
}

fn open_line(event: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(event.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
}
