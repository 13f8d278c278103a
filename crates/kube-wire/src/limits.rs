//! What is too much.

/// Bounds on what a server may send. The defaults are far above what Kubernetes sends: an object is at most
/// 1.5 MiB in etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The largest watch frame, in bytes. client-go has the same limit. One that is larger is passed over.
    pub frame_bytes: usize,
    /// The largest item of a list, in bytes. One that is larger is passed over.
    pub item_bytes: usize,
    /// The largest frame or item that is passed over, in bytes; what goes on for longer is an error.
    pub passed_over_bytes: u64,
    /// All bytes of one list after decompression. Watches have no such limit: they last.
    pub list_bytes: u64,
    /// What a list may hold beside its items, in bytes: its metadata and its kind.
    pub list_head_bytes: usize,
    /// How deep what a list holds beside its items may nest. Objects may be 128 levels deep; one that is deeper cannot be
    /// decoded.
    pub depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            frame_bytes: 16 << 20,
            item_bytes: 16 << 20,
            passed_over_bytes: 1 << 30,
            list_bytes: 16 << 30,
            list_head_bytes: 1 << 20,
            depth: 128,
        }
    }
}

/// Bytes that are not what a Kubernetes API server sends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A watch frame is too large even to be passed over.
    #[error("a watch event is larger than {limit} bytes; the server or something before it is broken")]
    FrameTooLarge {
        /// What is allowed.
        limit: u64,
    },
    /// An item of a list is too large even to be passed over.
    #[error("an item of the list is larger than {limit} bytes; the server or something before it is broken")]
    ItemTooLarge {
        /// What is allowed.
        limit: u64,
    },
    /// A list is larger than allowed.
    #[error("the list is larger than {limit} bytes; ask for pages or for less")]
    ListTooLarge {
        /// What is allowed.
        limit: u64,
    },
    /// A list holds more beside its items than allowed.
    #[error("the list holds more than {limit} bytes beside its items")]
    HeadTooLarge {
        /// What is allowed.
        limit: usize,
    },
    /// Arrays and objects are nested deeper than allowed.
    #[error("the list is nested deeper than {limit} levels")]
    TooDeep {
        /// What is allowed.
        limit: usize,
    },
    /// The stream ended in the middle of a piece.
    #[error("the response ended in the middle of an object: {missing}")]
    Truncated {
        /// What was expected.
        missing: &'static str,
    },
    /// The bytes are not a list, or not even JSON or protobuf.
    #[error("the response is not a Kubernetes list: {why} at byte {at}")]
    NotAList {
        /// What is wrong.
        why: &'static str,
        /// Where, counted from the beginning of the response.
        at: u64,
    },
    /// The list is one of another kind.
    #[error("the response is \"{kind}\" of \"{api_version}\", not a list of {expected}")]
    OtherKind {
        /// What it says it is.
        kind: String,
        /// What it says its version is.
        api_version: String,
        /// What the items should be.
        expected: &'static str,
    },
    /// The metadata of a list cannot be read.
    #[error("the metadata of the list cannot be read: {why}")]
    BadListMeta {
        /// What is wrong.
        why: String,
    },
}
