//! Files that only their owner may read.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// How many names are tried for the new file before it takes the place of the old one.
const MAX_NAMES: u32 = 100;

/// Writes a file that only its owner may read, in place of the one that is there.
///
/// Follows no link: the text goes to a new file, which is renamed. Fails if something other than a plain file has the
/// name.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|there| !there.is_file()) {
        let why = "there is a link, a folder or a device of that name; remove it or choose another name";
        return Err(io::Error::new(ErrorKind::AlreadyExists, why));
    }
    let name = path.file_name().ok_or(ErrorKind::InvalidFilename)?;
    for number in 0..MAX_NAMES {
        let mut new = OsString::from(".");
        new.push(name);
        new.push(format!(".{}-{number}", std::process::id()));
        let new = path.with_file_name(new);
        let mut options = OpenOptions::new();
        // A new file, never one that is there, and never what a link leads to.
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = match options.open(&new) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            opened => opened?,
        };
        let written = file.write_all(text.as_bytes()).and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        return written;
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "files that were left behind have all names for a new one"))
}
