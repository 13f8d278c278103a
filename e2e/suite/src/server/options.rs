//! How a server is to be.

use std::path::Path;

/// How a server is to be; the default is a kube-apiserver with its defaults, in which every known user may do
/// everything.
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until a server is started with them"]
pub struct Options {
    arguments: Vec<String>,
    /// Flags of kube-apiserver itself.
    flags: Vec<String>,
}

impl Options {
    /// A kube-apiserver with its defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Users may do what roles say.
    pub fn rbac(self) -> Self {
        self.with("--rbac")
    }

    /// A user who is known by a token.
    pub fn token(self, token: &str, user: &str) -> Self {
        self.with(format!("--token={token},{user},{user}"))
    }

    /// Users who are known by tokens, in a file as kube-apiserver's `--token-auth-file` has it.
    pub fn token_file(self, file: &Path) -> Self {
        self.with(format!("--token-file={}", file.display()))
    }

    /// Lists and watches are answered by etcd, not from memory.
    pub fn without_watch_cache(self) -> Self {
        self.with("--watch-cache=false")
    }

    /// Lists and watches of one resource are answered by etcd, not from memory: `configmaps`, `deployments.apps`. Other
    /// sizes than none cannot be had: kube-apiserver chooses them itself.
    pub fn without_watch_cache_of(self, resource: &str) -> Self {
        self.with(format!("--watch-cache-size={resource}#0"))
    }

    /// Feature gates, for example `WatchList=false`.
    pub fn feature_gates(self, gates: &str) -> Self {
        self.with(format!("--feature-gates={gates}"))
    }

    /// How many reading requests may be under way.
    pub fn max_requests_inflight(self, requests: u32) -> Self {
        self.with(format!("--max-requests-inflight={requests}"))
    }

    /// What is asked is written to a [file](super::RealServer::audit_log).
    pub fn audit_log(self) -> Self {
        self.with("--audit-log")
    }

    /// The real kube-controller-manager runs too, with these controllers: `*`, `*,-namespace-controller`.
    pub fn controllers(self, controllers: &str) -> Self {
        self.with(format!("--controllers={controllers}"))
    }

    /// A flag of kube-controller-manager itself, for example `--terminated-pod-gc-threshold=5`; for
    /// [controllers](Self::controllers).
    pub fn controller_flag(self, flag: &str) -> Self {
        self.with(format!("--controller-manager-flag={flag}"))
    }

    /// A flag of kube-apiserver itself, for example `--min-request-timeout=5`.
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    fn with(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// The command line, with more of ours.
    pub(super) fn command_line(&self, more: Vec<String>) -> Vec<String> {
        let ours = self.arguments.iter().cloned().chain(more);
        ours.chain(["--".to_owned()]).chain(self.flags.iter().cloned()).collect()
    }
}
