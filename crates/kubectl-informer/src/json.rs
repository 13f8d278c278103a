//! An event as one line of JSON, for programs.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::diff::Change;
use crate::paint::is_deceptive;
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
    escaped(serde_json::to_string(&line).unwrap_or_default())
}

/// The same JSON, with escapes for characters that deceive a terminal. Outside of strings there are none.
fn escaped(json: String) -> String {
    if !json.contains(is_deceptive) {
        return json;
    }
    let mut clean = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if is_deceptive(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(clean, "\\u{unit:04x}");
            }
        } else {
            clean.push(c);
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::seen::What;

    #[test]
    fn a_value_cannot_command_or_deceive_a_terminal() {
        let what = What { api_version: "v1".into(), kind: "ConfigMap".into(), resource: "configmaps".into() };
        let object = json!({"\u{202e}key": "\u{1b}[2J\u{9b}2J\u{7f}\u{200b}\u{e0041} grün 🙂"});
        let seen = Seen {
            what: Arc::new(what),
            key: "a".to_owned(),
            happened: Happened::Added { initial: false },
            object: object.clone(),
        };
        let line = line(&seen);
        assert!(!line.contains(is_deceptive), "{line:?}");
        assert!(
            line.contains("\\u202ekey") && line.contains("\\u009b2J\\u007f\\u200b\\udb40\\udc41 grün 🙂"),
            "{line}"
        );
        // It is the same JSON.
        let read: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["object"], object);
    }
}
