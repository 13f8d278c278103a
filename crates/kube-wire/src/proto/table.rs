//! The table of facts: which field has which number, name and type.

mod read;

use std::fmt;
use std::sync::LazyLock;

use super::wire::{BYTES, FIXED64, Tag, VARINT};

/// The messages of all built-in types.
#[derive(Debug)]
pub(crate) struct Table {
    messages: Vec<Message>,
    /// Their names, for example `core/v1.PodSpec`, in order.
    names: Vec<&'static str>,
    /// The fields of all messages, each message's from number 0 on without gaps: what has no field is
    /// [`Kind::Absent`].
    fields: Vec<Field>,
    /// What is to be done with each of the fields, apart from them: most fields of most objects are zero, and to know
    /// that they do not count takes this one byte.
    steps: Vec<Step>,
    /// Sorted by kind, then by version.
    kinds: Vec<TopLevel>,
    /// The message of `metadata`, and a field that holds the same without `managedFields`.
    object_meta: u16,
    lean_metadata: Field,
}

/// One message: a place in the list of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    first: u32,
    /// How many numbers there are from 0 on.
    numbers: u16,
}

impl Message {
    /// A number that no other message has.
    #[inline]
    pub(crate) fn place(self) -> usize {
        self.first as usize
    }
}

impl Step {
    #[inline]
    pub(crate) fn is_bytes(self) -> bool {
        matches!(self, Self::NonEmpty | Self::Bytes)
    }

    #[inline]
    pub(crate) fn is_number(self) -> bool {
        matches!(self, Self::NonZero | Self::Number)
    }
}

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// The name in JSON; empty for [`Kind::Inline`] and [`Kind::Absent`].
    pub(crate) name: &'static str,
    /// The number and how the value is written; integers may also be packed.
    pub(crate) tag: Tag,
    /// Where the message is that this field holds, for the kinds that hold one.
    message: u16,
    pub(crate) kind: Kind,
    pub(crate) shape: Shape,
    /// A Go pointer: its zero is not the same as its absence.
    pub(crate) pointer: bool,
    /// JSON shows it even if it is zero.
    pub(crate) shows_zero: bool,
}

/// What is to be done with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nobody knows it.
    Skip,
    /// Its bytes count unless there are none.
    NonEmpty,
    /// Its bytes count.
    Bytes,
    /// Its number counts unless it is zero.
    NonZero,
    /// Its number counts.
    Number,
    /// Eight bytes.
    Fixed,
    /// It comes several times.
    Run,
    /// Its bytes are fields of the message around it.
    Enter,
}

/// What a value is, alone or as an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// There is no such field.
    Absent,
    String,
    /// Base64 in JSON.
    Bytes,
    Bool,
    Int32,
    Int64,
    Number,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// JSON text in field 1 of a message.
    Json,
    Message,
    /// A message with a field for each of its forms in JSON: the last field that is there takes its place.
    Or,
    /// A message whose fields JSON has beside those of the outer one.
    Inline,
}

/// How often a value comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    One,
    Repeated,
    /// Entries with a string (1) and a value (2).
    Map,
}

/// The name of the field that every object has.
pub(crate) const METADATA: &str = "metadata";

/// A top-level kind.
#[derive(Clone, Copy, Debug)]
struct TopLevel {
    kind: &'static str,
    /// For example `apps/v1`; `*` for all.
    api_version: &'static str,
    message: u16,
}

/// The protobuf form of a built-in kind.
#[derive(Clone, Copy)]
pub struct ProtoMessage {
    api_version: &'static str,
    kind: &'static str,
    message: Message,
}

impl ProtoMessage {
    /// The message of a kind, for example `("apps", "v1", "Deployment")`; none if the kind is not built in, or has no
    /// protobuf form. Lists are kinds too: `("", "v1", "PodList")`.
    pub fn of(group: &str, version: &str, kind: &str) -> Option<Self> {
        let known = Table::get().top_level(kind).find(|known| known.is_in(group, version))?;
        Some(Self {
            api_version: known.api_version,
            kind: known.kind,
            message: Table::get().messages[known.message as usize],
        })
    }

    /// Every built-in kind, with its `apiVersion`; kinds that are in every version have `*` for it.
    pub fn all() -> impl Iterator<Item = Self> {
        let table = Table::get();
        table.kinds.iter().map(|known| Self {
            api_version: known.api_version,
            kind: known.kind,
            message: table.messages[known.message as usize],
        })
    }

    /// For example `apps/v1`.
    pub fn api_version(&self) -> &'static str {
        self.api_version
    }

    /// For example `Deployment`.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Whether an object that says it is of a type is of this one.
    pub(crate) fn is(&self, api_version: &str, kind: &str) -> bool {
        kind == self.kind && (self.api_version == "*" || api_version == self.api_version)
    }

    pub(crate) fn message(&self) -> Message {
        self.message
    }
}

impl PartialEq for ProtoMessage {
    fn eq(&self, other: &Self) -> bool {
        (self.api_version, self.kind) == (other.api_version, other.kind)
    }
}

impl Eq for ProtoMessage {}

impl fmt::Debug for ProtoMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProtoMessage({} {})", self.api_version, self.kind)
    }
}

impl Table {
    pub(crate) fn get() -> &'static Self {
        static TABLE: LazyLock<Table> = LazyLock::new(|| read::table(read::TEXT).0);
        &TABLE
    }

    /// The fields of a message, by their numbers from 0 on; what has no field is [`Kind::Absent`].
    pub(crate) fn fields(&self, message: Message) -> &[Field] {
        let first = message.first as usize;
        self.fields.get(first..first + usize::from(message.numbers)).unwrap_or_default()
    }

    /// What is to be done with the fields of a message, by their numbers from 0 on.
    #[inline]
    pub(crate) fn steps(&'static self, message: Message) -> &'static [Step] {
        let first = message.first as usize;
        self.steps.get(first..first + usize::from(message.numbers)).unwrap_or_default()
    }

    /// One field of a message.
    #[inline]
    pub(crate) fn field(&'static self, message: Message, number: u32) -> &'static Field {
        static ABSENT: Field = Field::ABSENT;
        self.fields.get((message.first + number) as usize).unwrap_or(&ABSENT)
    }

    /// One field of the message of a name.
    pub(crate) fn named(&'static self, message: &str, number: u32) -> Option<&'static Field> {
        let at = self.names.binary_search(&message).ok()?;
        self.fields(*self.messages.get(at)?).get(number as usize)
    }

    /// The message that a field holds.
    #[inline]
    pub(crate) fn below(&self, field: &Field) -> Message {
        self.messages[field.message as usize]
    }

    /// A field of an object's metadata, which holds the same without `managedFields`; any other as it is.
    pub(crate) fn lean(&'static self, field: &'static Field) -> &'static Field {
        if field.kind == Kind::Message && field.message == self.object_meta && field.shape == Shape::One {
            &self.lean_metadata
        } else {
            field
        }
    }

    fn top_level(&self, kind: &str) -> impl Iterator<Item = &TopLevel> {
        let from = self.kinds.partition_point(|known| known.kind < kind);
        self.kinds[from..].iter().take_while(move |known| known.kind == kind)
    }
}

impl Field {
    pub(crate) const ABSENT: Self = Self {
        name: "",
        tag: Tag::new(0, BYTES),
        message: 0,
        kind: Kind::Absent,
        shape: Shape::One,
        pointer: false,
        shows_zero: false,
    };

    /// A field that JSON has and the message has not.
    pub(crate) const fn string(name: &'static str) -> Self {
        Self { name, kind: Kind::String, ..Self::ABSENT }
    }

    fn step(&self) -> Step {
        match (self.shape, self.kind) {
            (_, Kind::Absent) => Step::Skip,
            (Shape::Repeated | Shape::Map, _) => Step::Run,
            (_, Kind::Inline) => Step::Enter,
            // A time that was never set is the same as an absent one.
            (_, Kind::Time | Kind::MicroTime) => Step::NonEmpty,
            (_, Kind::String | Kind::Bytes) if !self.shows_zero => Step::NonEmpty,
            (_, Kind::Bool | Kind::Int32 | Kind::Int64) if !self.shows_zero => Step::NonZero,
            (_, Kind::Bool | Kind::Int32 | Kind::Int64) => Step::Number,
            (_, Kind::Number) => Step::Fixed,
            _ => Step::Bytes,
        }
    }
}

impl Kind {
    /// How values of this kind are written.
    #[inline]
    pub(crate) fn wire(self) -> u32 {
        match self {
            Self::Bool | Self::Int32 | Self::Int64 => VARINT,
            Self::Number => FIXED64,
            _ => BYTES,
        }
    }

    /// Whether it is a message: one that comes twice is merged.
    pub(crate) fn is_message(self) -> bool {
        self.wire() == BYTES && !matches!(self, Self::String | Self::Bytes)
    }

    /// Whether it is a message whose fields are in the table.
    pub(crate) fn has_fields(self) -> bool {
        matches!(self, Self::Message | Self::Or | Self::Inline)
    }

    /// Whether many of them may be written into one field.
    pub(crate) fn can_be_packed(self) -> bool {
        self.wire() == VARINT
    }
}

impl TopLevel {
    fn is_in(&self, group: &str, version: &str) -> bool {
        match self.api_version.split_once('/') {
            Some(known) => known == (group, version),
            None => self.api_version == "*" || (group.is_empty() && self.api_version == version),
        }
    }
}
