//! Where the real API server for tests is, once it has been built.
//!
//! It is kept in a cache outside the workspace, so that it survives `cargo clean` and serves all clones with the same
//! sources: `CACHE/e2e-server/HASH OF THE SOURCES/GO VERSION/apiserver`.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Says where the cache is; if it is not set, it is where caches of the user are.
pub const CACHE_VARIABLE: &str = "KUBE_INFORMER_CACHE";

/// The program's name in the cache.
const BINARY: &str = "apiserver";

/// Why it cannot be said where the server is.
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
    NotBuilt,
}

impl fmt::Display for LocateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCache => {
                write!(f, "there is no place for the real API server: set {CACHE_VARIABLE} or HOME")
            }
            Self::Sources { folder, error } => write!(f, "cannot read {}: {error}", folder.display()),
            Self::NotBuilt => {
                write!(f, "the real API server has not been built: run `cargo xtask e2e-server`")
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

/// The server's sources.
#[derive(Clone, Debug)]
pub struct Sources {
    folder: PathBuf,
    /// `go.mod`.
    module: String,
    hash: u64,
}

impl Sources {
    /// Reads the sources of this workspace.
    pub fn read() -> Result<Self, LocateError> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self::at(&here.parent().unwrap_or(here).join("apiserver"))
    }

    fn at(folder: &Path) -> Result<Self, LocateError> {
        let failed = |error| LocateError::Sources { folder: folder.to_owned(), error };
        let hash = hash_of(folder).map_err(failed)?;
        let module = std::fs::read_to_string(folder.join("go.mod")).map_err(failed)?;
        Ok(Self { folder: folder.to_owned(), module, hash })
    }

    /// Where they are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The version of Kubernetes, for example `1.36.4`.
    pub fn kubernetes(&self) -> &str {
        self.word_after("k8s.io/kubernetes v")
    }

    /// The oldest Go that builds them, for example `1.26.0`.
    pub fn oldest_go(&self) -> &str {
        self.word_after("go ")
    }

    /// Where the server is, or would be, if a Go of this version built it.
    pub fn binary(&self, go: &str) -> Result<PathBuf, LocateError> {
        Ok(self.builds()?.join(go).join(BINARY))
    }

    /// The server, built by whatever Go.
    pub fn built(&self) -> Result<PathBuf, LocateError> {
        let builds = std::fs::read_dir(self.builds()?).map_err(|_| LocateError::NotBuilt)?;
        let mut found: Vec<PathBuf> = builds
            .flatten()
            .map(|build| build.path().join(BINARY))
            .filter(|binary| binary.is_file())
            .collect();
        found.sort();
        found.pop().ok_or(LocateError::NotBuilt)
    }

    fn builds(&self) -> Result<PathBuf, LocateError> {
        let cache = cache(|name| std::env::var_os(name)).ok_or(LocateError::NoCache)?;
        Ok(cache.join("e2e-server").join(format!("{:016x}", self.hash)))
    }

    /// The word that follows a text at the beginning of a line of `go.mod`; empty if there is none.
    fn word_after(&self, text: &str) -> &str {
        let rest = self.module.lines().find_map(|line| line.trim_start().strip_prefix(text)).unwrap_or("");
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
        let sources = Sources::read().unwrap();
        assert!(sources.kubernetes().starts_with("1."), "{:?}", sources.kubernetes());
        assert!(sources.oldest_go().starts_with("1."), "{:?}", sources.oldest_go());
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
