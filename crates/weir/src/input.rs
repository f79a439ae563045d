// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Reading the user's files: bounded in size, text only, each failure with its remedy.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Largest input file, bytes. Real ones are far below; a mistaken path to a disk image is not.
pub const MAX_BYTES: u64 = 64 << 20;

/// Why a file could not be read: what is wrong, and how to mend it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadError {
    pub message: String,
    pub help: String,
    /// The file does not exist; callers may have better advice than ours.
    pub missing: bool,
}

/// Text of the file at `path`; `-` is stdin where the caller allows it.
pub fn read_text(path: impl AsRef<Path>) -> Result<String, ReadError> {
    let path = path.as_ref();
    let _reading = Reading::begin();
    read_from(open(path, MAX_BYTES)?, &shown(path))
}

/// A path for messages: bytes that are no text are replaced.
fn shown(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}

/// Reads in progress.
static READING: AtomicU32 = AtomicU32::new(0);

/// Something is read that may never come: a pipe without a writer holds the reader up for ever, whatever flags say meanwhile.
pub fn reading() -> bool {
    READING.load(Ordering::Relaxed) > 0
}

/// A read, until it is dropped.
struct Reading;

impl Reading {
    fn begin() -> Self {
        READING.fetch_add(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        READING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes of the file at `path`, of which there may be `max`.
pub fn read_bytes(path: impl AsRef<Path>, max: u64) -> Result<Vec<u8>, ReadError> {
    let path = path.as_ref();
    let mut bytes = Vec::new();
    let shown = shown(path);
    let fail = |e: io::Error| ReadError {
        message: format!("cannot read `{shown}`: {}", reason(&e)),
        help: remedy(&e).into(),
        missing: false,
    };
    let _reading = Reading::begin();
    open(path, max)?.take(max + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > max { Err(too_large(&shown, max)) } else { Ok(bytes) }
}

fn open(path: &Path, max: u64) -> Result<fs::File, ReadError> {
    let fail = |message: String, help: &str| ReadError { message, help: help.into(), missing: false };
    if path.as_os_str().is_empty() {
        return Err(fail("a file name is empty".into(), "name a file; is a shell variable unset?"));
    }
    let shown = shown(path);
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(fail(format!("`{shown}` is not a file name"), "take out the NUL character"));
    }
    let io = |e: &io::Error| ReadError {
        message: format!("cannot read `{shown}`: {}", reason(e)),
        help: remedy(e).into(),
        missing: e.kind() == ErrorKind::NotFound,
    };
    let meta = fs::metadata(path).map_err(|e| io(&e))?;
    if meta.is_dir() {
        return Err(fail(format!("`{shown}` is a folder, not a file"), "name a file inside it"));
    }
    // A pipe that nobody writes to would hold a server up for ever.
    if BOUNDED.get().is_some() && !meta.is_file() {
        return Err(fail(
            format!("`{shown}` is no ordinary file"),
            "give the text itself, or an ordinary file",
        ));
    }
    if meta.is_file() && meta.len() > max {
        return Err(too_large(&shown, max));
    }
    fs::File::open(path).map_err(|e| io(&e))
}

/// Text of stdin.
pub fn read_stdin() -> Result<String, ReadError> {
    let _reading = Reading::begin();
    read_from(io::stdin().lock(), "standard input")
}

/// Read at most [`MAX_BYTES`] of UTF-8 (devices and pipes have no length to ask for).
fn read_from(input: impl Read, shown: &str) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    input.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(|e| ReadError {
        message: format!("cannot read `{shown}`: {}", reason(&e)),
        help: remedy(&e).into(),
        missing: false,
    })?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_large(shown, MAX_BYTES));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = e.as_bytes()[..at].iter().filter(|b| **b == b'\n').count() + 1;
        ReadError {
            message: format!(
                "`{shown}` is not UTF-8 text: byte {at} (line {line}) is not part of a character"
            ),
            help: "is it a binary or compressed file? Text in another encoding: iconv -f latin1 -t utf-8"
                .into(),
            missing: false,
        }
    })
}

fn too_large(shown: &str, max: u64) -> ReadError {
    ReadError {
        message: format!("`{shown}` is larger than {} MiB", max >> 20),
        help: "is it the right file? Split it, or use a generator for large workloads".into(),
        missing: false,
    }
}

/// The system's words without its error number.
pub fn reason(e: &io::Error) -> String {
    let text = e.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

/// How to let this process read more, where something other than the permissions of files bounds it.
static BOUNDED: OnceLock<&'static str> = OnceLock::new();

/// From now on, files that may not be read have this remedy: their permissions are not the reason.
pub fn bounded(remedy: &'static str) {
    let _ = BOUNDED.set(remedy);
}

fn remedy(e: &io::Error) -> &'static str {
    match e.kind() {
        ErrorKind::NotFound => "check the path; it is relative to the current folder",
        ErrorKind::PermissionDenied => BOUNDED.get().copied().unwrap_or("make it readable: chmod +r"),
        _ => "check that it is a readable, ordinary file",
    }
}

/// True where the user means a file and not a name of the catalogue: it has a slash or an extension.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || Path::new(name).extension().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths() {
        assert!(is_path("./x.weir") && is_path("x.weir") && is_path("dir/x") && is_path("x.json"));
        assert!(!is_path("decentral") && !is_path("smp-8") && !is_path("hackbench:groups=1"));
    }

    #[test]
    fn an_endless_device_is_refused() {
        let error = read_text("/dev/zero").expect_err("endless");
        assert!(error.message.contains("larger than 64 MiB"), "{error:?}");
    }

    #[test]
    fn says_where_the_text_ends() {
        let error = read_from(&b"ok\n\xff"[..], "x").expect_err("not UTF-8");
        assert!(error.message.contains("byte 3 (line 2)"), "{error:?}");
    }
}
