//! The options in a request's query.

use crate::status::{About, ApiError, Cause};

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
    pub(crate) watch: bool,
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
        self.get(name).is_some_and(|value| !matches!(value, "0" | "false"))
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
    pub(crate) fn parse(query: &Query) -> Result<Self, ApiError> {
        let version_match = match query.get("resourceVersionMatch") {
            None | Some("") => None,
            Some("NotOlderThan") => Some(VersionMatch::NotOlderThan),
            Some("Exact") => Some(VersionMatch::Exact),
            Some(other) => {
                return Err(invalid(&format!(
                    "resourceVersionMatch: Unsupported value: \"{other}\": supported values: \"Exact\", \
                     \"NotOlderThan\", \"\""
                )));
            }
        };
        let limit = number(query, "limit")?;
        let options = Self {
            labels: query.text("labelSelector"),
            fields: query.text("fieldSelector"),
            version: query.text("resourceVersion"),
            version_match,
            limit: limit.filter(|limit| *limit > 0).and_then(|limit| usize::try_from(limit).ok()),
            continue_token: query.text("continue"),
            watch: query.flag("watch"),
            list: !query.flag("watch"),
            bookmarks: query.flag("allowWatchBookmarks"),
            send_initial_events: query.get("sendInitialEvents").map(|_| query.flag("sendInitialEvents")),
            timeout_seconds: number(query, "timeoutSeconds")?.and_then(|seconds| u64::try_from(seconds).ok()),
        };
        options.check()?;
        Ok(options)
    }

    /// Combinations that mean nothing are refused.
    fn check(&self) -> Result<(), ApiError> {
        let initial = self.send_initial_events.is_some();
        if self.watch {
            if initial && self.version_match != Some(VersionMatch::NotOlderThan) {
                return Err(invalid(
                    "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to \
                     NotOlderThan",
                ));
            }
            if !self.continue_token.is_empty() {
                return Err(invalid(
                    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if !initial && self.version_match.is_some() {
                return Err(invalid(
                    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless \
                     sendInitialEvents is provided",
                ));
            }
            return Ok(());
        }
        if initial {
            return Err(invalid("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"));
        }
        if let Some(chosen) = self.version_match {
            if self.version.is_empty() {
                return Err(invalid(
                    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is \
                     provided",
                ));
            }
            if !self.continue_token.is_empty() {
                return Err(invalid(
                    "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
                ));
            }
            if chosen == VersionMatch::Exact && self.version == "0" {
                return Err(invalid(
                    "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \
                     \"0\"",
                ));
            }
        }
        Ok(())
    }

    /// The version as a number; none if it was not given.
    pub(crate) fn version_number(&self) -> Result<Option<u64>, ApiError> {
        if self.version.is_empty() {
            return Ok(None);
        }
        self.version.parse().map(Some).map_err(|_| {
            let value = &self.version;
            let why = format!(
                "resourceVersion: Invalid value: \"{value}\": strconv.ParseUint: parsing \"{value}\": invalid syntax"
            );
            // Lists say it is the client's fault; get and watch do not, in Kubernetes as here.
            if self.list {
                ApiError::bad_request(format!("invalid resource version: {why}"))
            } else {
                ApiError::new(500, "", why)
            }
        })
    }
}

fn number(query: &Query, name: &str) -> Result<Option<i64>, ApiError> {
    match query.get(name) {
        None | Some("") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            ApiError::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax"))
        }),
    }
}

fn invalid(what: &str) -> ApiError {
    let (field, message) = what.split_once(": ").unwrap_or(("", what));
    let reason =
        if message.starts_with("Unsupported") { "FieldValueNotSupported" } else { "FieldValueForbidden" };
    invalid_options("ListOptions", reason, field, message)
}

/// An error about the options of a request: `ListOptions`, `CreateOptions`, `PatchOptions`, …
pub(crate) fn invalid_options(kind: &str, reason: &'static str, field: &str, message: &str) -> ApiError {
    let about = About { group: "meta.k8s.io", plural: "", kind };
    let cause = Cause { reason, message: message.to_owned(), field: field.to_owned() };
    ApiError::invalid(about, "", vec![cause])
}
