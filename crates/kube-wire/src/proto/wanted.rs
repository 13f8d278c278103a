//! The fields of a message that a type names.
//!
//! A struct says which fields it has when it is deserialized. What it does not name is passed over while the bytes are walked,
//! instead of being shown to the struct, which would pass over it by its name, or refuse it (`deny_unknown_fields`). What that comes to is remembered for each
//! struct and message: to find it out takes longer than to read a small message.

use std::cell::Cell;

use parking_lot::RwLock;

use super::table::{Message, Step, Table};

/// The names of a struct's fields.
pub(super) type Names = &'static [&'static str];

/// So many structs are remembered, each with a message. What comes after them is shown all fields, and chooses by itself.
const MOST: usize = 1024;

/// So many of them are near at hand, in each thread.
const NEAR: usize = 1 << NEAR_BITS;
const NEAR_BITS: u32 = 6;

/// Puts numbers of messages where addresses of names differ little.
const SPREAD: u32 = 24;
/// An odd number with bits all over: the highest bits of a product with it depend on all others.
const MIXED: usize = 0x9e37_79b9_7f4a_7c15_u64 as usize;

/// A struct and a message, and what is to be done with the fields.
#[derive(Clone, Copy)]
struct Known {
    names: Names,
    message: Message,
    steps: &'static [Step],
}

impl Known {
    /// The names are the same if they are in the same place: what is static does not go away.
    #[inline]
    fn is(&self, names: Names, message: Message) -> bool {
        std::ptr::eq(self.names, names) && self.message == message
    }
}

static ALL: Remembered = Remembered(RwLock::new(Vec::new()));

thread_local! {
    static NEARBY: [Cell<Option<Known>>; NEAR] = const { [const { Cell::new(None) }; NEAR] };
}

/// What is to be done with the fields of a message for a struct that names some of them.
#[inline]
pub(super) fn steps(table: &'static Table, message: Message, names: Names) -> &'static [Step] {
    // What is near in memory, or in the table, must not want the same place.
    let place = (names.as_ptr().addr() ^ (message.place() << SPREAD)).wrapping_mul(MIXED)
        >> (usize::BITS - NEAR_BITS);
    NEARBY.with(|nearby| {
        let Some(near) = nearby.get(place) else { return table.steps(message) };
        match near.get() {
            Some(known) if known.is(names, message) => known.steps,
            _ => {
                let known = ALL.find(table, message, names);
                near.set(Some(known));
                known.steps
            }
        }
    })
}

/// What was found out, for all threads.
struct Remembered(RwLock<Vec<Known>>);

impl Remembered {
    #[cold]
    fn find(&self, table: &'static Table, message: Message, names: Names) -> Known {
        let is_it = |known: &&Known| known.is(names, message);
        let all = self.0.read();
        if let Some(known) = all.iter().find(is_it) {
            return *known;
        }
        if all.len() >= MOST {
            return Known { names, message, steps: table.steps(message) };
        }
        drop(all);
        let mut all = self.0.write();
        if let Some(known) = all.iter().find(is_it) {
            return *known;
        }
        let steps = table.steps(message);
        let known = Known { names, message, steps };
        if all.len() >= MOST {
            return known;
        }
        let fields = table.fields(message).iter().zip(steps);
        let chosen: Vec<Step> = fields.map(|(field, step)| choose(field.name, *step, names)).collect();
        // What is kept for a struct is kept as long as the struct: for ever.
        let known = if chosen == steps { known } else { Known { steps: chosen.leak(), ..known } };
        all.push(known);
        known
    }
}

fn choose(name: &str, step: Step, names: Names) -> Step {
    // Those of an inlined message are the struct's own; it chooses by itself.
    if step == Step::Enter || names.contains(&name) { step } else { Step::Skip }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
    use serde::{Deserialize, Serialize};
    use serde_json::json;

    use super::*;
    use crate::proto::{ProtoMessage, decode_object_proto, encode_object_proto};
    use crate::{DecodeOptions, object::DecodeError};

    fn pod() -> (Vec<u8>, ProtoMessage) {
        let message = ProtoMessage::of("", "v1", "Pod").unwrap();
        let pod = json!({
            "metadata": {"name": "a", "namespace": "b", "labels": {"k": "v"}, "resourceVersion": "5"},
            "spec": {
                "nodeName": "n", "hostNetwork": true, "containers": [{"name": "c", "image": "i"}],
                "volumes": [{"name": "v", "emptyDir": {"medium": "Memory"}}, {"name": "w", "secret": {"secretName": "s"}}],
            },
        });
        (encode_object_proto(&pod, message).unwrap(), message)
    }

    fn decode<T: serde::de::DeserializeOwned + 'static>() -> Result<T, DecodeError> {
        let (bytes, message) = pod();
        decode_object_proto(&bytes, message, DecodeOptions::default())
    }

    /// The names of the fields that a struct is shown, if it says that these are its own.
    fn shown<'de, D: Deserializer<'de>>(deserializer: D, names: Names) -> Result<Vec<String>, D::Error> {
        struct Seen;

        impl<'de> Visitor<'de> for Seen {
            type Value = Vec<String>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("fields")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
                let mut seen = Vec::new();
                while let Some((name, IgnoredAny)) = map.next_entry()? {
                    seen.push(name);
                }
                Ok(seen)
            }
        }

        deserializer.deserialize_struct("Seen", names, Seen)
    }

    #[derive(Deserialize)]
    struct Shown {
        #[serde(deserialize_with = "some")]
        metadata: Vec<String>,
        #[serde(deserialize_with = "all")]
        spec: Vec<String>,
    }

    fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
        shown(deserializer, &["labels", "name", "nobodyKnowsThis"])
    }

    fn all<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
        shown(deserializer, &[])
    }

    #[test]
    fn a_struct_is_shown_what_it_names_and_one_that_names_nothing_is_shown_all() {
        for _ in 0..2 {
            let shown: Shown = decode().unwrap();
            assert_eq!(shown.metadata, ["name", "labels"]);
            assert_eq!(shown.spec, ["volumes", "containers", "nodeName", "hostNetwork"]);
        }
    }

    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    struct Few {
        metadata: FewMetadata,
        spec: FewSpec,
    }

    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct FewMetadata {
        #[serde(alias = "name")]
        called: String,
        resource_version: String,
    }

    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    struct FewSpec {
        volumes: Vec<FewVolume>,
    }

    /// The name is a field of the message, and where it is one of the message that it inlines.
    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct FewVolume {
        name: String,
        secret: Option<FewSecret>,
    }

    #[derive(Debug, Deserialize, PartialEq, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct FewSecret {
        secret_name: String,
    }

    #[test]
    fn other_names_and_inlined_messages_are_found() {
        let few: Few = decode().unwrap();
        assert_eq!((few.metadata.called.as_str(), few.metadata.resource_version.as_str()), ("a", "5"));
        let volumes = &few.spec.volumes;
        assert_eq!(volumes.len(), 2);
        assert_eq!((volumes[0].name.as_str(), volumes[0].secret.is_none()), ("v", true));
        assert_eq!(
            (volumes[1].name.as_str(), volumes[1].secret.as_ref().unwrap().secret_name.as_str()),
            ("w", "s")
        );
    }

    #[test]
    fn who_refuses_what_it_does_not_know_does_not_hear_of_it() {
        #[derive(Debug, Deserialize)]
        struct Strict {
            metadata: Name,
        }
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Name {
            name: String,
        }
        assert_eq!(decode::<Strict>().unwrap().metadata.name, "a");
        let text = r#"{"metadata":{"name":"a","namespace":"b"}}"#;
        let refused = crate::decode_object::<Strict>(text.as_bytes(), DecodeOptions::default());
        assert!(refused.unwrap_err().why.contains("unknown field"), "JSON is read to the end");
    }

    #[test]
    fn the_same_struct_of_another_message_is_another_choice() {
        // Both have a `name`, under other numbers.
        #[derive(Deserialize)]
        struct Both {
            metadata: Named,
            spec: Containers,
        }
        #[derive(Deserialize)]
        struct Containers {
            containers: Vec<Named>,
            volumes: Vec<Named>,
        }
        #[derive(Deserialize)]
        struct Named {
            name: String,
        }
        let both: Both = decode().unwrap();
        let names = [&both.metadata, &both.spec.containers[0], &both.spec.volumes[1]];
        assert_eq!(names.map(|named| named.name.as_str()), ["a", "c", "w"]);
    }

    #[test]
    fn what_is_named_twice_in_the_bytes_is_put_in_order_though_other_fields_are_passed_over() {
        let (mut bytes, message) = pod();
        // Field 1 of the object is its metadata, and field 1 of that its name.
        bytes.extend(b"\x0a\x07\x0a\x05later");
        let few: Few = decode_object_proto(&bytes, message, DecodeOptions::default()).unwrap();
        assert_eq!((few.metadata.called.as_str(), few.metadata.resource_version.as_str()), ("later", "5"));
        assert_eq!(few.spec.volumes.len(), 2);
    }

    #[test]
    fn when_too_many_are_remembered_a_struct_is_shown_all() {
        let (table, message) = (Table::get(), pod().1.message());
        let (remembered, all) = (Remembered(RwLock::default()), table.steps(message));
        let shown = |names: Names| remembered.find(table, message, names).steps;
        let first: Names = &["metadata"];
        assert_ne!(shown(first), all);
        for _ in 0..2 * MOST {
            shown(vec!["metadata"].leak());
        }
        assert_eq!(remembered.0.read().len(), MOST);
        assert_eq!(shown(vec!["metadata"].leak()), all);
        assert_ne!(shown(first), all, "what is remembered stays");
    }
}
