//! The host names under which pages for this machine are served.
//!
//! A web page can point a name of its own at a loopback address (DNS rebinding), and then its scripts may read what is served
//! there. Requests of a browser name that host, so a name that was not chosen for these pages is refused. An IP address
//! cannot be pointed anywhere else.

use std::net::{Ipv4Addr, Ipv6Addr};

use http::header::HOST;
use http::uri::Authority;

use super::http::{Page, PageRequest};

/// `localhost`, every IP address, and these names, without the dot at the end and in small letters.
pub(super) struct Hosts(Vec<String>);

impl Hosts {
    pub(super) fn new(names: &[String]) -> Self {
        Self(names.iter().map(|name| plain(name)).collect())
    }

    /// Returns the page that refuses the request; none if it names a host, and each host that it names is allowed.
    pub(super) fn refuse(&self, request: &PageRequest) -> Option<Page> {
        let mut headers = request.headers.get_all(HOST).iter();
        let is_allowed = match (headers.next(), headers.next()) {
            (Some(host), None) => {
                let named = Authority::try_from(host.as_bytes());
                named.is_ok_and(|host| self.allow(&host))
                    && request.authority.as_ref().is_none_or(|host| self.allow(host))
            }
            _ => false,
        };
        // The host is not repeated: the client chose it.
        let text = "these pages are served to localhost, IP addresses and the names in `debug_hosts`\n";
        (!is_allowed).then(|| Page::text(421, text.to_owned()))
    }

    fn allow(&self, host: &Authority) -> bool {
        if host.as_str().contains('@') {
            return false;
        }
        let host = plain(host.host());
        let v6 = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        host == "localhost"
            || host.parse::<Ipv4Addr>().is_ok()
            || v6.is_some_and(|host| host.parse::<Ipv6Addr>().is_ok())
            || self.0.contains(&host)
    }
}

fn plain(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}
