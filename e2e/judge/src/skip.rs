//! What happens where there is no client-go.

use std::io::Write;
use std::sync::Once;

use crate::players::ClientGo;

/// Whether client-go is not there, or is not wanted; says so once.
///
/// With `KUBE_INFORMER_REQUIRE_E2E=1` tests with it run in any case, and fail where they cannot.
/// `KUBE_INFORMER_E2E=skip` is for those who run all tests and these later.
pub fn skip() -> bool {
    let is = |name: &str, value: &str| std::env::var_os(name).is_some_and(|set| set == value);
    let why = if is("KUBE_INFORMER_E2E", "skip") {
        "KUBE_INFORMER_E2E=skip".to_owned()
    } else if is("KUBE_INFORMER_REQUIRE_E2E", "1") {
        return false;
    } else if let Err(why) = ClientGo::program() {
        why
    } else {
        return false;
    };
    static SAID: Once = Once::new();
    // Not with a macro: what those print in tests that pass is not shown.
    SAID.call_once(|| {
        let _ = writeln!(std::io::stderr(), "not compared with client-go: {why}");
    });
    true
}
