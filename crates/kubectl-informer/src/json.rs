//! An event as one line of JSON, for programs.

use serde::Serialize;
use serde_json::Value;

use crate::diff::Change;
use crate::seen::{Happened, Seen};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    r#type: &'a str,
    initial: bool,
    final_state_unknown: bool,
    changed: &'a [Change],
    object: &'a Value,
}

pub(crate) fn line(seen: &Seen) -> String {
    let line = Line {
        r#type: seen.happened.name(),
        initial: matches!(seen.happened, Happened::Added { initial: true }),
        final_state_unknown: matches!(seen.happened, Happened::Deleted { final_state_unknown: true }),
        changed: if let Happened::Modified(changes) = &seen.happened { changes } else { &[] },
        object: &seen.object,
    };
    // All of it is JSON already, or text.
    serde_json::to_string(&line).unwrap_or_default()
}
