//! Where the Go programs for tests are, once they have been built: the real API server, client-go, and the test suites of
//! controller-runtime.
//!
//! They are kept in a cache outside the workspace, so that they survive `cargo clean` and serve all clones with the same
//! sources: `CACHE/e2e-server/HASH OF THE SOURCES/GO VERSION/apiserver`.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Says where the cache is; if it is not set, it is where caches of the user are.
pub const CACHE_VARIABLE: &str = "KUBE_INFORMER_CACHE";

/// A program for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Program {
    /// The real API server, with its etcd.
    ApiServer,
    /// client-go's informers as judge, and kubectl.
    ClientGo,
    /// The test suites of controller-runtime: a folder with one program for each.
    ControllerRuntime,
}

impl Program {
    /// The folder of its sources, and its name in the cache.
    fn folder(self) -> &'static str {
        match self {
            Self::ApiServer => "apiserver",
            Self::ClientGo => "clientgo",
            Self::ControllerRuntime => "controller-runtime",
        }
    }

    /// Its folder in the cache.
    fn cache(self) -> &'static str {
        match self {
            Self::ApiServer => "e2e-server",
            Self::ClientGo => "e2e-clients",
            Self::ControllerRuntime => "controller-runtime",
        }
    }

    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Self::ApiServer => "the real API server",
            Self::ClientGo => "client-go for tests",
            Self::ControllerRuntime => "controller-runtime's suites",
        }
    }

    /// The command that builds it: `cargo xtask` and this.
    pub fn command(self) -> &'static str {
        self.cache()
    }
}

/// Why it cannot be said where a program is.
#[derive(Debug)]
#[non_exhaustive]
pub enum LocateError {
    /// Nothing says where the cache is.
    NoCache,
    /// The sources cannot be read.
    Sources {
        /// Where they should be.
        folder: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// It has not been built.
    NotBuilt(Program),
}

impl fmt::Display for LocateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCache => {
                write!(f, "there is no place for Go programs of tests: set {CACHE_VARIABLE} or HOME")
            }
            Self::Sources { folder, error } => write!(f, "cannot read {}: {error}", folder.display()),
            Self::NotBuilt(program) => {
                write!(f, "{} has not been built: run `cargo xtask {}`", program.title(), program.command())
            }
        }
    }
}

impl std::error::Error for LocateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Sources { error, .. } => Some(error),
            _ => None,
        }
    }
}

/// A program's sources.
#[derive(Clone, Debug)]
pub struct Sources {
    program: Program,
    folder: PathBuf,
    /// `go.mod`.
    module: String,
    hash: u64,
}

impl Sources {
    /// Reads the sources of this workspace.
    pub fn read(program: Program) -> Result<Self, LocateError> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = here.parent().unwrap_or(here).join(program.folder());
        let failed = |error| LocateError::Sources { folder: folder.clone(), error };
        let hash = hash_of(&folder).map_err(failed)?;
        let module = std::fs::read_to_string(folder.join("go.mod")).map_err(failed)?;
        Ok(Self { program, folder, module, hash })
    }

    /// What they are the sources of.
    pub fn program(&self) -> Program {
        self.program
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The version of Kubernetes, for example `1.36.4`.
    pub fn kubernetes(&self) -> &str {
        self.word_after("k8s.io/kubernetes v")
    }

    /// The version of client-go, for example `0.36.4`.
    pub fn client_go(&self) -> &str {
        self.word_after("k8s.io/client-go v")
    }

    /// The version of controller-runtime, for example `0.24.1`.
    pub fn controller_runtime(&self) -> &str {
        self.word_after("sigs.k8s.io/controller-runtime v")
    }

    /// The oldest Go that builds them, for example `1.26.0`.
    pub fn oldest_go(&self) -> &str {
        self.word_after("go ")
    }

    /// Where the program is, or would be, if a Go of this version built it.
    pub fn binary(&self, go: &str) -> Result<PathBuf, LocateError> {
        Ok(self.builds()?.join(go).join(self.program.folder()))
    }

    /// The program, built by whatever Go.
    pub fn built(&self) -> Result<PathBuf, LocateError> {
        let not_built = || LocateError::NotBuilt(self.program);
        let builds = std::fs::read_dir(self.builds()?).map_err(|_| not_built())?;
        let mut found: Vec<PathBuf> = builds
            .flatten()
            .map(|build| build.path().join(self.program.folder()))
            .filter(|binary| binary.exists())
            .collect();
        found.sort();
        found.pop().ok_or_else(not_built)
    }

    fn builds(&self) -> Result<PathBuf, LocateError> {
        let cache = cache(|name| std::env::var_os(name)).ok_or(LocateError::NoCache)?;
        Ok(cache.join(self.program.cache()).join(format!("{:016x}", self.hash)))
    }

    /// The word that follows a text at the beginning of a line of `go.mod`; empty if there is none.
    fn word_after(&self, text: &str) -> &str {
        let lines = self.module.lines().map(str::trim_start);
        // A single requirement has no block.
        let mut entries = lines.map(|line| line.strip_prefix("require ").unwrap_or(line));
        let rest = entries.find_map(|entry| entry.strip_prefix(text)).unwrap_or("");
        rest.split_whitespace().next().unwrap_or("")
    }
}

/// The folder for caches of this project.
fn cache(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let users = || folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")));
    folder(CACHE_VARIABLE).or_else(|| Some(users()?.join("kube-informer")))
}

/// A hash of the names and contents of everything that the build reads.
fn hash_of(folder: &Path) -> io::Result<u64> {
    let mut names: Vec<OsString> = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let matters =
            name == "go.mod" || name == "go.sum" || Path::new(&name).extension().is_some_and(|e| e == "go");
        if matters {
            names.push(name);
        }
    }
    names.sort();
    let mut hash = Fnv::new();
    for name in names {
        let content = std::fs::read(folder.join(&name))?;
        for part in [name.as_encoded_bytes(), &content] {
            hash.write(&part.len().to_le_bytes());
            hash.write(part);
        }
    }
    Ok(hash.0)
}

/// FNV-1a: the same in every program and at every time.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_versions_are_those_of_the_module() {
        for program in [Program::ApiServer, Program::ClientGo, Program::ControllerRuntime] {
            let sources = Sources::read(program).unwrap();
            assert!(sources.client_go().starts_with("0."), "{:?}", sources.client_go());
            assert!(sources.oldest_go().starts_with("1."), "{:?}", sources.oldest_go());
        }
        let server = Sources::read(Program::ApiServer).unwrap();
        assert!(server.kubernetes().starts_with("1."), "{:?}", server.kubernetes());
        let suites = Sources::read(Program::ControllerRuntime).unwrap();
        assert!(suites.controller_runtime().starts_with("0."), "{:?}", suites.controller_runtime());
    }

    #[test]
    fn the_cache_is_where_the_user_says_or_where_caches_are() {
        let given = |set: &'static [(&str, &str)]| {
            cache(move |name| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()))
        };
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(given(&[("HOME", "/h")]), path("/h/.cache/kube-informer"));
        assert_eq!(given(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]), path("/x/kube-informer"));
        assert_eq!(given(&[("HOME", "/h"), ("KUBE_INFORMER_CACHE", "/k")]), path("/k"));
        assert_eq!(given(&[("HOME", "/h"), ("XDG_CACHE_HOME", "")]), path("/h/.cache/kube-informer"));
        assert_eq!(given(&[]), None);
    }

    #[test]
    fn the_hash_changes_with_what_the_build_reads_and_with_nothing_else() {
        let folder = std::env::temp_dir().join(format!("kube-informer-locate-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("go.mod", "module x");
        write("main.go", "package main");
        let first = hash_of(&folder).unwrap();
        write("README.md", "words");
        assert_eq!(hash_of(&folder).unwrap(), first);
        write("main.go", "package main // changed");
        assert_ne!(hash_of(&folder).unwrap(), first);
        write("main.go", "package main");
        assert_eq!(hash_of(&folder).unwrap(), first);
        std::fs::rename(folder.join("main.go"), folder.join("other.go")).unwrap();
        assert_ne!(hash_of(&folder).unwrap(), first);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
