//! The table, from the text that `xtask/schema` reads off the Go types.
//!
//! The head of `data/protobuf.txt` describes its lines. The text is compiled in and read once, when the first kind is
//! asked for, into a flat list of fields; names stay slices of the text. That takes a millisecond and 250 KB. The same
//! as Rust source would be there at once, and take half a second of every build and twice the text.

use super::{Field, Kind, METADATA, Message, Shape, Table, TopLevel};
use crate::proto::wire::{BYTES, Tag};

pub(super) const TEXT: &str = include_str!("../../../data/protobuf.txt");

/// Reads a table; the second part is the lines that made no sense.
///
/// Such lines are left out instead of being an error: the table is part of this crate, and a test proves that there
/// are none.
pub(super) fn table(text: &'static str) -> (Table, Vec<&'static str>) {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    // Messages refer to each other in any order; the text has them in the order of their names.
    let names: Vec<(&str, bool)> = lines.iter().filter_map(|line| message(line)).collect();
    let mut reader = Reader { table: Table::empty(names.len(), lines.len()), names };
    let skipped = lines.into_iter().filter(|line| reader.line(line).is_none()).collect();
    reader.add_lean_metadata();
    reader.table.names = reader.names.iter().map(|(name, _)| *name).collect();
    let Table { fields, steps, kinds, .. } = &mut reader.table;
    *steps = fields.iter().map(Field::step).collect();
    kinds.sort_unstable_by_key(|known| (known.kind, known.api_version));
    fields.shrink_to_fit();
    kinds.shrink_to_fit();
    (reader.table, skipped)
}

/// The name of a message, and whether it has several forms in JSON; none if the line is about something else.
fn message(line: &'static str) -> Option<(&'static str, bool)> {
    let name = line.strip_prefix("message ")?;
    Some(name.strip_suffix(" or").map_or((name, false), |name| (name, true)))
}

struct Reader {
    table: Table,
    /// The messages with whether they have several forms, in the order of the table.
    names: Vec<(&'static str, bool)>,
}

impl Reader {
    fn line(&mut self, line: &'static str) -> Option<()> {
        if message(line).is_some() {
            let first = u32::try_from(self.table.fields.len()).ok()?;
            // Nothing has the number 0.
            self.table.fields.push(Field::ABSENT);
            self.table.messages.push(Message { first, numbers: 1 });
            return Some(());
        }
        let (number, rest) = line.split_once(' ')?;
        let (name, rest) = rest.split_once(' ')?;
        let last = u16::try_from(self.table.messages.len()).ok()?.checked_sub(1)?;
        if number == "kind" {
            for api_version in rest.split(' ') {
                self.table.kinds.push(TopLevel { kind: name, api_version, message: last });
            }
            return Some(());
        }
        let number = number.parse::<u16>().ok()?;
        let field = self.field(number, name, rest)?;
        let Table { messages, fields, .. } = &mut self.table;
        let message = messages.last_mut()?;
        for _ in 0..number.checked_sub(message.numbers)? {
            fields.push(Field::ABSENT);
        }
        fields.push(field);
        message.numbers = number + 1;
        Some(())
    }

    fn field(&self, number: u16, name: &'static str, ty: &'static str) -> Option<Field> {
        let (pointer, ty) = ty.strip_prefix('*').map_or((false, ty), |ty| (true, ty));
        let (shape, ty) = match ty.split_at_checked(2) {
            Some(("[]", item)) => (Shape::Repeated, item),
            Some(("{}", value)) => (Shape::Map, value),
            _ => (Shape::One, ty),
        };
        let (mut kind, message) = match ty {
            "string" => (Kind::String, 0),
            "bytes" => (Kind::Bytes, 0),
            "bool" => (Kind::Bool, 0),
            "int32" => (Kind::Int32, 0),
            "int64" => (Kind::Int64, 0),
            "number" => (Kind::Number, 0),
            "time" => (Kind::Time, 0),
            "microtime" => (Kind::MicroTime, 0),
            "quantity" => (Kind::Quantity, 0),
            "intstr" => (Kind::IntOrString, 0),
            "json" => (Kind::Json, 0),
            name => {
                let at = self.names.binary_search_by_key(&name, |(name, _)| name).ok()?;
                let kind = if self.names[at].1 { Kind::Or } else { Kind::Message };
                (kind, u16::try_from(at).ok()?)
            }
        };
        let (name, always) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
        let inline = name == "^";
        if inline {
            kind = Kind::Inline;
        }
        // Entries of maps have a length, and so have their values: whoever reads them relies on it.
        if shape == Shape::Map && kind.wire() != BYTES {
            return None;
        }
        Some(Field {
            name: if inline { "" } else { name },
            tag: Tag::new(number.into(), kind.wire()),
            message,
            kind,
            shape,
            pointer,
            shows_zero: pointer || always,
        })
    }

    /// Adds the message of metadata without `managedFields`.
    fn add_lean_metadata(&mut self) {
        let is_object_meta = |name: &(&str, bool)| name.0 == "meta/v1.ObjectMeta";
        let Some(at) = self.names.iter().position(is_object_meta) else { return };
        let Table { messages, fields, object_meta, lean_metadata, .. } = &mut self.table;
        let (Ok(whole), Ok(lean), Ok(first)) =
            (u16::try_from(at), u16::try_from(messages.len()), u32::try_from(fields.len()))
        else {
            return;
        };
        let message = messages[at];
        let from = message.first as usize;
        fields.extend_from_within(from..from + usize::from(message.numbers));
        for field in fields[first as usize..].iter_mut().filter(|field| field.name == "managedFields") {
            *field = Field::ABSENT;
        }
        messages.push(Message { first, ..message });
        *object_meta = whole;
        *lean_metadata = Field { name: METADATA, kind: Kind::Message, message: lean, ..Field::ABSENT };
    }
}

impl Table {
    fn empty(messages: usize, lines: usize) -> Self {
        Self {
            // Metadata is there twice.
            messages: Vec::with_capacity(messages + 1),
            names: Vec::new(),
            fields: Vec::with_capacity(lines),
            steps: Vec::new(),
            kinds: Vec::new(),
            object_meta: 0,
            lean_metadata: Field::ABSENT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::fields::MAX_INLINE_DEPTH;

    /// The names of a kind's fields, by number.
    fn names(group: &str, version: &str, kind: &str) -> Vec<&'static str> {
        let message = crate::ProtoMessage::of(group, version, kind).unwrap().message();
        Table::get().fields(message).iter().map(|field| field.name).collect()
    }

    #[test]
    fn every_line_of_the_embedded_table_is_understood() {
        let (table, skipped) = table(TEXT);
        assert_eq!(skipped, Vec::<&str>::new());
        assert!(table.messages.len() > 1_300, "{}", table.messages.len());
        assert!(table.fields.len() > 4_500, "{}", table.fields.len());
        assert!(table.kinds.len() > 350, "{}", table.kinds.len());
    }

    #[test]
    fn messages_are_in_the_order_of_their_names() {
        let names: Vec<_> = TEXT.lines().filter_map(message).collect();
        assert!(names.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn damaged_lines_are_left_out() {
        let text =
            "message a\n1 b string\nx c string\n2 d missing\n0 e bool\n1 f bool\n3 g {}bool\n4 h []a\nwhat\n";
        let (table, skipped) = table(text);
        assert_eq!(skipped, ["x c string", "2 d missing", "0 e bool", "1 f bool", "3 g {}bool", "what"]);
        let names: Vec<&str> = table.fields.iter().map(|field| field.name).collect();
        assert_eq!(names, ["", "b", "", "", "h"]);
    }

    #[test]
    fn kinds_are_found_by_group_version_and_kind() {
        assert_eq!(names("", "v1", "Pod"), ["", "metadata", "spec", "status"]);
        assert_eq!(names("apps", "v1", "DeploymentList"), ["", "metadata", "items"]);
        assert_eq!(names("anything", "v7", "WatchEvent"), ["", "type", "object"]);
        assert_eq!(names("scheduling.k8s.io", "v1alpha1", "Workload")[1], "metadata");
        for (group, version, kind) in
            [("", "v2", "Pod"), ("apps", "v1", "Pod"), ("", "v1", "pod"), ("", "v1", "")]
        {
            assert_eq!(crate::ProtoMessage::of(group, version, kind), None, "{group}/{version} {kind}");
        }
    }

    #[test]
    fn no_message_says_a_name_twice() {
        let table = Table::get();
        for (at, message) in table.messages.iter().enumerate() {
            let mut seen = Vec::new();
            collect_names(table, *message, 0, &mut seen);
            seen.sort_unstable();
            assert!(seen.is_sorted_by(|a, b| a < b), "message {at}: {seen:?}");
        }
    }

    /// All names that JSON has for a message. Fails if messages are inlined too deep.
    fn collect_names(table: &'static Table, message: Message, depth: usize, into: &mut Vec<&'static str>) {
        assert!(depth <= MAX_INLINE_DEPTH);
        for field in table.fields(message) {
            match field.kind {
                Kind::Absent => {}
                Kind::Inline => collect_names(table, table.below(field), depth + 1, into),
                _ => into.push(field.name),
            }
        }
    }

    #[test]
    fn the_facts_of_a_field_are_read() {
        let table = Table::get();
        let pod = crate::ProtoMessage::of("", "v1", "Pod").unwrap().message();
        let spec = table.fields(table.below(table.field(pod, 2)));
        let named = |name| spec.iter().find(|field| field.name == name).unwrap();
        assert_eq!((named("volumes").shape, named("volumes").kind), (Shape::Repeated, Kind::Message));
        assert_eq!(named("containers").tag, Tag::new(2, BYTES));
        assert!(named("terminationGracePeriodSeconds").pointer);
        assert!(!named("hostNetwork").shows_zero);
        assert_eq!(named("nodeSelector").shape, Shape::Map);
        let volume = table.fields(table.below(named("volumes")));
        assert_eq!((volume[1].name, volume[1].shows_zero), ("name", true));
        assert_eq!((volume[2].name, volume[2].kind), ("", Kind::Inline));
    }
}
