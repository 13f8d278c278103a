//! The options in a request's query.

use crate::status::{About, ApiError, Cause};

const MATCH: &str = "resourceVersionMatch";

/// The query, as names and values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

/// `resourceVersionMatch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionMatch {
    NotOlderThan,
    Exact,
}

/// The options of list, watch and deletecollection.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) labels: String,
    pub(crate) fields: String,
    /// As sent; may be empty.
    pub(crate) version: String,
    pub(crate) version_match: Option<VersionMatch>,
    pub(crate) limit: Option<usize>,
    pub(crate) continue_token: String,
    /// Neither a watch nor a get.
    pub(crate) list: bool,
    pub(crate) bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) timeout_seconds: Option<u64>,
}

impl Query {
    pub(crate) fn parse(text: &str) -> Self {
        Self(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// The first value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or("").to_owned()
    }

    /// Kubernetes takes any value but `0` and `false` (and absence) as true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// Asks that nothing be stored.
    pub(crate) fn dry_run(&self, options_kind: &str) -> Result<bool, ApiError> {
        match self.get("dryRun") {
            None => Ok(false),
            Some("All") => Ok(true),
            Some(other) => {
                let message = format!("Unsupported value: [\"{other}\"]: supported values: \"All\"");
                Err(invalid_options(options_kind, "FieldValueNotSupported", "dryRun", &message))
            }
        }
    }
}

impl ListOptions {
    /// Reads the options of a list or, with `watch`, of a watch.
    pub(crate) fn parse(query: &Query, watch: bool) -> Result<Self, ApiError> {
        let chosen = query.text("resourceVersionMatch");
        let limit = number(query, "limit")?;
        let options = Self {
            labels: query.text("labelSelector"),
            fields: query.text("fieldSelector"),
            version: query.text("resourceVersion"),
            version_match: match chosen.as_str() {
                "NotOlderThan" => Some(VersionMatch::NotOlderThan),
                "Exact" => Some(VersionMatch::Exact),
                _ => None,
            },
            limit: limit.filter(|limit| *limit > 0).and_then(|limit| usize::try_from(limit).ok()),
            continue_token: query.text("continue"),
            list: !watch,
            bookmarks: query.flag("allowWatchBookmarks"),
            send_initial_events: query.get("sendInitialEvents").map(|_| query.flag("sendInitialEvents")),
            timeout_seconds: number(query, "timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok()),
        };
        let causes = if watch { options.watch_problems(&chosen) } else { options.list_problems(&chosen) };
        if causes.is_empty() { Ok(options) } else { Err(invalid_list_options(causes)) }
    }

    /// Combinations that mean nothing for a watch.
    fn watch_problems(&self, chosen: &str) -> Vec<Cause> {
        let mut causes = Vec::new();
        let initial = self.send_initial_events.is_some();
        if initial && chosen != "NotOlderThan" {
            causes.push(Cause::forbidden(
                MATCH,
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
            ));
        }
        if !chosen.is_empty() && !initial {
            causes.push(Cause::forbidden(
                MATCH,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ));
        }
        if !matches!(chosen, "" | "NotOlderThan") {
            causes.push(unsupported(chosen, "\"NotOlderThan\""));
        }
        if !self.continue_token.is_empty() {
            causes
                .push(Cause::forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
        causes
    }

    /// Combinations that mean nothing for a list.
    fn list_problems(&self, chosen: &str) -> Vec<Cause> {
        let mut causes = Vec::new();
        if !chosen.is_empty() {
            if self.version.is_empty() {
                causes.push(Cause::forbidden(
                    MATCH,
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                ));
            }
            if !self.continue_token.is_empty() {
                causes.push(Cause::forbidden(
                    MATCH,
                    "resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if self.version_match.is_none() {
                causes.push(unsupported(chosen, "\"Exact\", \"NotOlderThan\", \"\""));
            }
            if self.version_match == Some(VersionMatch::Exact) && self.version == "0" {
                causes.push(Cause::forbidden(
                    MATCH,
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                ));
            }
        }
        if self.send_initial_events.is_some() {
            causes.push(Cause::forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        causes
    }

    /// The version as a number; none if it was not given.
    pub(crate) fn version_number(&self) -> Result<Option<u64>, ApiError> {
        if self.version.is_empty() {
            return Ok(None);
        }
        parse_version(&self.version).map(Some).map_err(|why| {
            let why = format!("resourceVersion: Invalid value: \"{}\": {why}", self.version);
            // Lists say it is the client's fault; get and watch do not, in Kubernetes as here.
            if self.list {
                ApiError::bad_request(format!("invalid resource version: {why}"))
            } else {
                ApiError::new(500, "", why)
            }
        })
    }
}

/// Reads a resource version; what is wrong is said as Go says it.
pub(crate) fn parse_version(text: &str) -> Result<u64, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let why = if digits { "value out of range" } else { "invalid syntax" };
    let parsed = text.parse().ok().filter(|_| digits);
    parsed.ok_or_else(|| format!("strconv.ParseUint: parsing \"{text}\": {why}"))
}

fn number(query: &Query, name: &str) -> Result<Option<i64>, ApiError> {
    match query.get(name) {
        None | Some("") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            let digits = text.strip_prefix('-').unwrap_or(text);
            let number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let why = if number { "value out of range" } else { "invalid syntax" };
            ApiError::bad_request(format!("strconv.ParseInt: parsing \"{text}\": {why}"))
        }),
    }
}

fn unsupported(chosen: &str, supported: &str) -> Cause {
    Cause {
        reason: "FieldValueNotSupported",
        message: format!("Unsupported value: \"{chosen}\": supported values: {supported}"),
        field: MATCH.to_owned(),
    }
}

fn invalid_list_options(causes: Vec<Cause>) -> ApiError {
    ApiError::invalid(About { group: "meta.k8s.io", plural: "", kind: "ListOptions" }, "", causes)
}

/// The time limit of a request, which this server does not need but Kubernetes checks.
pub(super) fn check_timeout(query: &Query) -> Result<(), ApiError> {
    let text = query.get("timeout").unwrap_or("");
    match duration_problem(text) {
        Some(why) if !text.is_empty() => {
            let text = quoted(text);
            let why = format!("invalid timeout specified in the request URL - time: {why} duration {text}");
            Err(ApiError::bad_request(why))
        }
        _ => Ok(()),
    }
}

/// Returns why a text is no duration such as `1h30m` or `-1.5s`, in the words of Go. Its nanoseconds must fit into 64 bits.
fn duration_problem(text: &str) -> Option<String> {
    const INVALID: &str = "invalid";
    /// The nanoseconds of the longest negative duration. The longest positive one has one less.
    const MOST: u128 = 1 << 63;
    /// Digits of a fraction that count: more say less than a nanosecond, of any unit.
    const FRACTION_DIGITS: usize = 18;
    const UNITS: [(&str, u128); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return None;
    }
    if rest.is_empty() {
        return Some(INVALID.to_owned());
    }
    let mut total = 0;
    while !rest.is_empty() {
        let (whole, after) = digits(rest);
        let (fraction, after) = after.strip_prefix('.').map_or(("", after), digits);
        let count = if whole.is_empty() { Some(0) } else { whole.parse::<u128>().ok() };
        let Some(count) = count.filter(|count| *count <= MOST && whole.len() + fraction.len() > 0) else {
            return Some(INVALID.to_owned());
        };
        let end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (name, after) = after.split_at(end);
        if name.is_empty() {
            return Some("missing unit in".to_owned());
        }
        let Some((_, nanos)) = UNITS.iter().find(|(unit, _)| *unit == name) else {
            return Some(format!("unknown unit {} in", quoted(name)));
        };
        let fraction = &fraction[..fraction.len().min(FRACTION_DIGITS)];
        let parts =
            fraction.parse::<u128>().unwrap_or(0) * nanos / fraction.bytes().fold(1, |scale, _| scale * 10);
        total += count * nanos + parts;
        if total > MOST {
            return Some(INVALID.to_owned());
        }
        rest = after;
    }
    (total == MOST && !text.starts_with('-')).then(|| INVALID.to_owned())
}

/// Splits a text behind the digits that it begins with.
fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Quotes a text as Go's errors about times do.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=0x7f => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\x{byte:02x}")),
        }
    }
    quoted.push('"');
    quoted
}

/// What the rows of a table shall carry.
pub(super) fn check_include_object(query: &Query) -> Result<(), ApiError> {
    match query.get("includeObject") {
        None | Some("" | "None" | "Metadata" | "Object") => Ok(()),
        Some(other) => Err(ApiError::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: \"{other}\": must be \
             'Metadata', 'Object', 'None', or empty"
        ))),
    }
}

/// An error about the options of a request: `ListOptions`, `CreateOptions`, `PatchOptions`, …
pub(crate) fn invalid_options(kind: &str, reason: &'static str, field: &str, message: &str) -> ApiError {
    let about = About { group: "meta.k8s.io", plural: "", kind };
    let cause = Cause { reason, message: message.to_owned(), field: field.to_owned() };
    ApiError::invalid(about, "", vec![cause])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_number_and_a_unit_as_often_as_they_like() {
        for good in ["0", "-0", "1s", "1h30m", "-1.5s", "+.5ms", "3us", "3\u{b5}s", "1.s"] {
            assert_eq!(duration_problem(good), None, "{good}");
        }
        for (bad, why) in [
            ("5", "missing unit in"),
            ("1.2.3s", "missing unit in"),
            ("1s2", "missing unit in"),
            ("1x", "unknown unit \"x\" in"),
            ("1\u{e9}\"", r#"unknown unit "\xc3\xa9\"" in"#),
            ("", "invalid"),
            ("-", "invalid"),
            ("abc", "invalid"),
            ("s", "invalid"),
            (".s", "invalid"),
            ("--1s", "invalid"),
        ] {
            assert_eq!(duration_problem(bad).as_deref(), Some(why), "{bad}");
        }
    }

    #[test]
    fn a_duration_has_no_more_nanoseconds_than_64_bits_hold() {
        for good in [
            "2562047h47m16.854775807s",
            "-2562047h47m16.854775808s",
            "9223372036854775807ns",
            "-9223372036854775808ns",
            "0.99999999999999999999999999999999999999999999h",
            "00000000000000000000000000000000000000000000001h",
        ] {
            assert_eq!(duration_problem(good), None, "{good}");
        }
        for long in [
            "3000000h",
            "-3000000h",
            "2562047h47m16.854775808s",
            "-2562047h47m16.854775809s",
            "9223372036854775808ns",
            "9223372036854775809x",
            "9999999999999999999999999999999999999999999999s",
            "2000000h2000000h",
        ] {
            assert_eq!(duration_problem(long).as_deref(), Some("invalid"), "{long}");
        }
    }

    #[test]
    fn everything_that_is_wrong_with_list_options_is_said_at_once() {
        let query = Query::parse("resourceVersionMatch=NotOlderThan&sendInitialEvents=true");
        let error = ListOptions::parse(&query, false).unwrap_err();
        assert_eq!(error.details.unwrap().causes.len(), 2);
        assert!(ListOptions::parse(&query, true).is_ok());
    }

    #[test]
    fn only_zero_and_false_are_false() {
        for (text, on) in [("w=0", false), ("w=False", false), ("w=no", true), ("w", true), ("", false)] {
            assert_eq!(Query::parse(text).flag("w"), on, "{text}");
        }
    }
}
