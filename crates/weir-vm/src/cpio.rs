// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Archives in cpio's `newc` format: the kernel unpacks one as its first file system, and the guest
//! returns its recordings in one. The format is described in the kernel's
//! `Documentation/driver-api/early-userspace/buffer-format.rst`.
//!
//! Archives are reproducible: no times, owner root, inode numbers counted up.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// Name of the last entry.
const TRAILER: &str = "TRAILER!!!";
/// Bytes of a header: magic and thirteen numbers of eight hexadecimal digits.
const HEADER: usize = 110;
/// Archives may be concatenated when each fills whole blocks of this size.
const BLOCK: u64 = 512;

const DIR: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const KIND: u32 = 0o170_000;

/// Writes an archive; parent folders are added by themselves.
pub struct Writer<W: Write> {
    out: W,
    written: u64,
    inode: u32,
    /// Folders, files and links that are in already.
    seen: BTreeSet<PathBuf>,
}

impl<W: Write> Writer<W> {
    pub fn new(out: W) -> Self {
        Self { out, written: 0, inode: 1, seen: BTreeSet::new() }
    }

    /// True where the path has an entry already.
    pub fn has(&self, path: &Path) -> bool {
        self.seen.contains(&relative(path))
    }

    /// Declare that another archive brings this path, so that nothing here replaces it.
    pub fn assume(&mut self, path: &Path) {
        self.seen.insert(relative(path));
    }

    /// Add a folder (mode 0755) and its parents, unless they are there.
    pub fn dir(&mut self, path: &Path) -> io::Result<()> {
        let path = relative(path);
        let mut so_far = PathBuf::new();
        for part in path.components() {
            so_far.push(part);
            if self.seen.insert(so_far.clone()) {
                self.entry(&so_far, DIR | 0o755, &[])?;
            }
        }
        Ok(())
    }

    /// Add a file; one of the same name stays the first.
    pub fn file(&mut self, path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
        self.leaf(path, FILE | (mode & 0o7777), bytes)
    }

    /// Add a symbolic link.
    pub fn link(&mut self, path: &Path, target: &Path) -> io::Result<()> {
        let target = target.as_os_str().as_encoded_bytes().to_vec();
        self.leaf(path, LINK | 0o777, &target)
    }

    fn leaf(&mut self, path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let path = relative(path);
        if let Some(parent) = path.parent() {
            self.dir(parent)?;
        }
        if self.seen.insert(path.clone()) { self.entry(&path, mode, bytes) } else { Ok(()) }
    }

    /// Write the end mark; returns the inner writer and the size in bytes.
    pub fn finish(mut self) -> io::Result<(W, u64)> {
        self.inode = 0;
        self.entry(Path::new(TRAILER), 0, &[])?;
        self.pad(BLOCK)?;
        self.out.flush()?;
        Ok((self.out, self.written))
    }

    fn entry(&mut self, path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
        let too_large = || io::Error::new(io::ErrorKind::InvalidInput, "the format ends at 4 GiB a file");
        let size = u32::try_from(bytes.len()).map_err(|_| too_large())?;
        let name = path.as_os_str().as_encoded_bytes();
        let links = if mode & KIND == DIR { 2 } else { 1 };
        let numbers = [self.inode, mode, 0, 0, links, 0, size, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        self.inode = self.inode.wrapping_add(1);
        self.put(b"070701")?;
        for number in numbers {
            self.put(format!("{number:08X}").as_bytes())?;
        }
        self.put(name)?;
        self.put(&[0])?;
        self.pad(4)?;
        self.put(bytes)?;
        self.pad(4)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn pad(&mut self, to: u64) -> io::Result<()> {
        let gap = self.written.next_multiple_of(to) - self.written;
        self.put(&[0; BLOCK as usize][..gap as usize])
    }
}

/// A path without its root, for an archive.
fn relative(path: &Path) -> PathBuf {
    path.components().filter(|c| matches!(c, Component::Normal(_))).collect()
}

/// A file in an archive that was read.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Relative, without `..`: safe to join to a folder.
    pub path: PathBuf,
    pub bytes: &'a [u8],
}

/// The ordinary files of an archive; folders, links and devices are left out. An archive that ends
/// early or names a path outside its folder is an error that says so.
pub fn read(archive: &[u8]) -> Result<Vec<Entry<'_>>, String> {
    let mut at = 0;
    let mut entries = Vec::new();
    loop {
        let header = archive.get(at..at + HEADER).ok_or("the archive ends before its end mark")?;
        if &header[..6] != b"070701" {
            return Err(format!("byte {at} does not begin an entry"));
        }
        let number = |index: usize| {
            let digits = &header[6 + index * 8..14 + index * 8];
            let text = std::str::from_utf8(digits).ok();
            text.and_then(|t| u32::from_str_radix(t, 16).ok())
                .map(|n| n as usize)
                .ok_or_else(|| format!("byte {at}: the header's number {index} is none"))
        };
        let (mode, size, name_size) = (number(1)? as u32, number(6)?, number(11)?);
        let name = archive.get(at + HEADER..at + HEADER + name_size).ok_or("a name ends early")?;
        let name = std::str::from_utf8(name.strip_suffix(&[0]).unwrap_or(name))
            .map_err(|_| format!("byte {at}: the name is not UTF-8"))?;
        let start = (at + HEADER + name_size).next_multiple_of(4);
        let bytes = archive.get(start..start + size).ok_or_else(|| format!("`{name}` ends early"))?;
        if name == TRAILER {
            return Ok(entries);
        }
        if mode & KIND == FILE {
            let path = Path::new(name);
            if path.components().any(|c| !matches!(c, Component::Normal(_) | Component::CurDir)) {
                return Err(format!("`{}` is outside the folder", name.escape_debug()));
            }
            entries.push(Entry { path: relative(path), bytes });
        }
        at = (start + size).next_multiple_of(4);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        for (path, bytes) in files {
            writer.file(Path::new(path), 0o644, bytes).expect("memory takes it");
        }
        writer.finish().expect("memory takes it").0
    }

    #[test]
    fn parents_come_first_and_once() {
        let bytes = archive(&[("/a/b/c", b"1"), ("/a/b/d", b"22")]);
        assert_eq!(bytes.len() % 512, 0);
        let text = String::from_utf8_lossy(&bytes);
        let names: Vec<_> =
            ["a\0", "a/b\0", "a/b/c\0", "a/b/d\0"].iter().map(|n| text.matches(n).count()).collect();
        // "a\0" also ends no other name here; each folder appears once.
        assert_eq!(names, [1, 1, 1, 1]);
        let read = read(&bytes).expect("well-formed");
        assert_eq!(
            read.iter().map(|e| (e.path.to_str(), e.bytes)).collect::<Vec<_>>(),
            [(Some("a/b/c"), &b"1"[..]), (Some("a/b/d"), &b"22"[..])]
        );
    }

    #[test]
    fn header_is_what_the_kernel_reads() {
        let bytes = archive(&[("x", b"abc")]);
        // Entry 1: regular file 0644, one link, 3 bytes, a name of 2 with its NUL.
        assert_eq!(
            std::str::from_utf8(&bytes[..112]),
            Ok("070701\
                00000001000081A4000000000000000000000001000000000000000300000000000000000000000000000000\
                0000000200000000x\0")
        );
        assert_eq!(&bytes[112..116], b"abc\0");
    }

    #[test]
    fn the_first_of_a_name_stays() {
        let bytes = archive(&[("x", b"first"), ("./x", b"second")]);
        assert_eq!(read(&bytes).expect("well-formed").len(), 1);
    }

    #[test]
    fn wrong_archives_say_why() {
        let good = archive(&[("x", b"abc")]);
        let mut no_magic = good.clone();
        no_magic[0] = b'9';
        let mut bad_digit = good.clone();
        bad_digit[15] = b'g';
        let mut outside = good.clone();
        outside[110] = b'/';
        let mut size = good.clone();
        size[54..62].copy_from_slice(b"0FFFFFFF");
        for (bytes, why) in [
            (&good[..50], "ends before its end mark"),
            (&good[..116], "ends before its end mark"),
            (&no_magic, "does not begin an entry"),
            (&bad_digit, "number 1 is none"),
            (&outside, "outside the folder"),
            (&size, "ends early"),
            (&[], "ends before its end mark"),
        ] {
            let error = read(bytes).expect_err(why);
            assert!(error.contains(why), "{why}: {error}");
        }
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(files in prop::collection::btree_map("[a-z]{1,6}(/[a-z]{1,6}){0,3}\\.f",
                                                                      prop::collection::vec(any::<u8>(), 0..600), 0..8)) {
            let list: Vec<_> = files.iter().map(|(p, b)| (p.as_str(), b.as_slice())).collect();
            let bytes = archive(&list);
            let back = read(&bytes).expect("well-formed");
            let back: Vec<_> = back.iter().map(|e| (e.path.to_str().expect("ASCII"), e.bytes)).collect();
            prop_assert_eq!(back, list);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0usize..600) {
            let _ = read(&bytes);
            let mut good = archive(&[("some/file", &[7; 100])]);
            good.truncate(cut.min(good.len()));
            let _ = read(&good);
        }
    }
}
