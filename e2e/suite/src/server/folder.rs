//! A server's folder.

use std::fs::DirBuilder;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::ServerError;

/// How many names are tried.
const MAX_NAMES: u32 = 1_000;

/// A new folder that only this user can read; removed when dropped, unless the user wants to keep such folders.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Result<Self, ServerError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let mut last = None;
        // A process with the same number may have left one behind.
        for _ in 0..MAX_NAMES {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!("kube-informer-e2e-{}-{number}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            match make(&folder) {
                Ok(()) => return Ok(Self(folder)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = Some((folder, error)),
                Err(error) => return Err(ServerError::Folder { folder, error }),
            }
        }
        let (folder, error) = last.unwrap_or_else(|| (PathBuf::new(), io::ErrorKind::AlreadyExists.into()));
        Err(ServerError::Folder { folder, error })
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !kept() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// The user wants to look at what servers leave behind.
pub(super) fn kept() -> bool {
    std::env::var_os("KUBE_INFORMER_E2E_KEEP").is_some_and(|set| set == "1")
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
