//! Checks, and the pages that show them.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::Arc;

use kube_informer::informer::{InformerStatus, Phase};
use parking_lot::RwLock;

use super::groups::Hub;
use super::http::Page;

/// Why a check fails; told to those who ask for the check by its path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unhealthy(pub String);

type Check = Arc<dyn Fn() -> Result<(), Unhealthy> + Send + Sync>;

/// Named checks, which may be added and removed at any time. Clones are the same.
///
/// Each has a path of its own, `/healthz/<name>`. The page of all, `/healthz`, takes `?verbose`, and `?exclude=<name>` as
/// often as you like. It says which checks fail, but not why.
///
/// ```
/// use kube_controller::manager::{HealthChecks, Unhealthy};
///
/// let checks = HealthChecks::default();
/// checks.add("disk", || Err(Unhealthy("the disk is full".to_owned())));
/// assert_eq!(checks.failing(), ["disk"]);
/// ```
#[derive(Clone, Default)]
pub struct HealthChecks {
    checks: Arc<RwLock<BTreeMap<String, Check>>>,
}

impl HealthChecks {
    /// Adds a check, or replaces the one of that name. It is called for each request, and must not block.
    pub fn add(
        &self,
        name: impl Into<String>,
        check: impl Fn() -> Result<(), Unhealthy> + Send + Sync + 'static,
    ) {
        self.checks.write().insert(name.into(), Arc::new(check));
    }

    /// Removes a check; false if there was none.
    pub fn remove(&self, name: &str) -> bool {
        self.checks.write().remove(name).is_some()
    }

    /// The checks that fail now.
    pub fn failing(&self) -> Vec<String> {
        let checks = self.checks();
        checks.into_iter().filter(|(_, check)| check().is_err()).map(|(name, _)| name).collect()
    }

    /// The page of one check, or of all if none is named.
    pub(super) fn page(&self, title: &str, check: &str, query: &str) -> Page {
        if check.is_empty() { self.all(title, query) } else { self.one(check) }
    }

    fn one(&self, name: &str) -> Page {
        let check = self.checks.read().get(name).cloned();
        match check.map(|check| check()) {
            None if name == PING => Page::text(200, "ok".to_owned()),
            None => Page::text(404, format!("there is no check {name:?}\n")),
            Some(Ok(())) => Page::text(200, "ok".to_owned()),
            Some(Err(why)) => Page::text(500, format!("internal server error: {why}\n")),
        }
    }

    fn all(&self, title: &str, query: &str) -> Page {
        let parameters: Vec<(String, String)> =
            form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let mut excluded: Vec<&str> =
            parameters.iter().filter(|(key, _)| key == "exclude").map(|(_, name)| name.as_str()).collect();
        let verbose = parameters.iter().any(|(key, _)| key == "verbose");
        let mut checks = self.checks();
        if checks.is_empty() {
            checks.push((PING.to_owned(), Arc::new(|| Ok(()))));
        }
        let (mut lines, mut failed) = (String::new(), false);
        for (name, check) in checks {
            // Writing to a string cannot fail.
            let _ = if excluded.contains(&name.as_str()) {
                excluded.retain(|other| *other != name);
                writeln!(lines, "[+]{name} excluded: ok")
            } else if check().is_err() {
                failed = true;
                writeln!(lines, "[-]{name} failed: reason withheld")
            } else {
                writeln!(lines, "[+]{name} ok")
            };
        }
        if !excluded.is_empty() {
            let _ = writeln!(
                lines,
                "warn: some checks cannot be excluded: no matches for {}",
                excluded.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(",")
            );
        }
        match (failed, verbose) {
            (true, _) => Page::text(500, format!("{lines}{title} check failed\n")),
            (false, true) => Page::text(200, format!("{lines}{title} check passed\n")),
            (false, false) => Page::text(200, "ok".to_owned()),
        }
    }

    /// The lock is not held while checks run: they may add others.
    fn checks(&self) -> Vec<(String, Check)> {
        self.checks.read().iter().map(|(name, check)| (name.clone(), Arc::clone(check))).collect()
    }
}

/// The check that is there if there is no other.
const PING: &str = "ping";

/// Checks that every informer follows its kind that is shown and was started, or that belongs to what was added: it has
/// synced, and has not stopped. The error names the others, and says what is wrong with them.
pub(super) fn informers_have_synced(metrics: &kube_informer::Metrics, hub: &Hub) -> Result<(), Unhealthy> {
    let shown = metrics.informers().into_iter().filter(|shown| shown.status.phase != Phase::Created);
    let mut names: Vec<String> = shown.filter_map(|shown| behind(&shown.name, &shown.status)).collect();
    if names.is_empty() {
        // Most of these are shown, and would be named twice.
        names = hub.behind();
    }
    if names.is_empty() { Ok(()) } else { Err(Unhealthy(format!("not synced: {}", names.join("; ")))) }
}

/// Names an informer that has not synced, or that has stopped, with what is wrong; none if it is well.
pub(super) fn behind(name: &str, status: &InformerStatus) -> Option<String> {
    let what = match (status.phase, status.synced) {
        (Phase::Stopped, _) => format!("{name} has stopped"),
        (_, false) => name.to_owned(),
        (_, true) => return None,
    };
    Some(match &status.trouble {
        Some(trouble) => format!("{what}: {}", trouble.error),
        None => what,
    })
}

impl fmt::Debug for HealthChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.checks.read().keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken() -> HealthChecks {
        let checks = HealthChecks::default();
        checks.add("ping", || Ok(()));
        checks.add("disk", || Err(Unhealthy("the disk is full".to_owned())));
        checks
    }

    fn seen(page: &Page) -> (u16, String) {
        (page.status, String::from_utf8(page.body.to_vec()).unwrap())
    }

    #[test]
    fn without_checks_there_is_a_ping() {
        let checks = HealthChecks::default();
        assert_eq!(seen(&checks.page("healthz", "", "")), (200, "ok".to_owned()));
        assert_eq!(
            seen(&checks.page("healthz", "", "verbose")),
            (200, "[+]ping ok\nhealthz check passed\n".to_owned())
        );
        assert_eq!(seen(&checks.page("healthz", "ping", "")).0, 200);
    }

    #[test]
    fn the_page_of_all_withholds_reasons_and_that_of_one_tells_it() {
        let checks = broken();
        let all = "[-]disk failed: reason withheld\n[+]ping ok\nreadyz check failed\n";
        assert_eq!(seen(&checks.page("readyz", "", "")), (500, all.to_owned()));
        let one = "internal server error: the disk is full\n";
        assert_eq!(seen(&checks.page("readyz", "disk", "")), (500, one.to_owned()));
        assert_eq!(seen(&checks.page("readyz", "ping", "")), (200, "ok".to_owned()));
        assert_eq!(seen(&checks.page("readyz", "memory", "")).0, 404);
    }

    #[test]
    fn excluded_checks_do_not_count_and_unknown_ones_are_told() {
        let checks = broken();
        assert_eq!(seen(&checks.page("healthz", "", "exclude=disk")), (200, "ok".to_owned()));
        let (status, text) = seen(&checks.page("healthz", "", "verbose&exclude=disk&exclude=memory"));
        assert_eq!(status, 200);
        assert!(text.contains("[+]disk excluded: ok\n"), "{text}");
        assert!(text.contains("no matches for \"memory\"\n"), "{text}");
        let (_, text) = seen(&checks.page("healthz", "", "verbose&exclude=disk&exclude=a%0A[%2B]b%1B"));
        assert!(text.contains("no matches for \"a\\n[+]b\\u{1b}\"\n"), "{text}");
    }

    #[test]
    fn checks_come_and_go() {
        let checks = broken();
        assert_eq!(checks.failing(), ["disk"]);
        assert!(checks.remove("disk") && !checks.remove("disk"));
        assert_eq!(seen(&checks.page("healthz", "", "")).0, 200);
    }

    #[test]
    fn an_informer_is_behind_until_it_has_synced_and_when_it_has_stopped() {
        let behind_in = |phase, synced| {
            let mut status = InformerStatus::default();
            (status.phase, status.synced) = (phase, synced);
            behind("pods", &status)
        };
        assert_eq!(behind_in(Phase::Created, false).as_deref(), Some("pods"));
        assert_eq!(behind_in(Phase::Running, false).as_deref(), Some("pods"));
        assert_eq!(behind_in(Phase::Running, true), None);
        assert_eq!(behind_in(Phase::Stopped, true).as_deref(), Some("pods has stopped"));
        assert_eq!(behind_in(Phase::Stopped, false).as_deref(), Some("pods has stopped"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_kind_that_nobody_asks_for_because_it_is_not_there_has_not_synced() {
        use kube_informer::cache::{Cache, CacheOptions};
        use kube_informer::kube_core::{ApiResource, DynamicObject, GroupVersionKind};

        let server = kube_testserver::TestServer::start().await.unwrap();
        let metrics = kube_informer::Metrics::default();
        let cache = Cache::with(server.in_process_client(), CacheOptions::new().metrics(&metrics)).unwrap();
        cache.start().unwrap();
        let widgets = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"));
        let informer = cache.kind_of::<DynamicObject>(&widgets).informer_now().await.unwrap();
        informer.watch_status().wait_for(|status| status.phase == Phase::Resting).await.unwrap();
        let hub = Hub::new(tokio::sync::mpsc::unbounded_channel().0);
        let error = informers_have_synced(&metrics, &hub).unwrap_err().to_string();
        assert!(error.starts_with("not synced: widgets.example.com: "), "{error}");
    }
}
