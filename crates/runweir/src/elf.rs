// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a 64-bit ELF file says of the libraries that it is loaded with. Only its tables are read: programs of 100 MB are not rare.
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

const LOADED: u32 = 1;
const DYNAMIC: u32 = 2;
const INTERPRETER: u32 = 3;
const NEEDED: u64 = 1;
const NAMES: u64 = 5;
/// Far more than linkers write; a damaged file does not make us read on.
const MOST_ENTRIES: u64 = 4096;

/// A row of the program headers.
struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    bytes: u64,
}

pub struct Elf {
    file: File,
    segments: Vec<Segment>,
}

impl Elf {
    /// Nothing: the file is something else, such as a script.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path)?;
        let mut head = [0; 64];
        if file.read_exact_at(&mut head, 0).is_err() || !head.starts_with(b"\x7fELF\x02\x01") {
            return Ok(None);
        }
        let mut elf = Self { file, segments: Vec::new() };
        let (table, size, entries) = (number(&head[32..40]), number(&head[54..56]), number(&head[56..58]));
        for i in 0..entries {
            let mut row = [0; 40];
            if elf.file.read_exact_at(&mut row, table.saturating_add(i * size)).is_err() {
                break;
            }
            elf.segments.push(Segment {
                kind: number(&row[..4]) as u32,
                offset: number(&row[8..16]),
                address: number(&row[16..24]),
                bytes: number(&row[32..40]),
            });
        }
        Ok(Some(elf))
    }

    fn segment(&self, kind: u32) -> Option<&Segment> {
        self.segments.iter().find(|s| s.kind == kind)
    }

    /// It is loaded by an interpreter, which is what preloads libraries.
    pub fn names_interpreter(&self) -> bool {
        self.segment(INTERPRETER).is_some()
    }

    /// It was linked with a library whose name begins like this.
    pub fn needs(&self, library: &str) -> bool {
        let Some(dynamic) = self.segment(DYNAMIC) else { return false };
        let entries: Vec<(u64, u64)> = (0..(dynamic.bytes / 16).min(MOST_ENTRIES))
            .map_while(|i| {
                let mut entry = [0; 16];
                self.file.read_exact_at(&mut entry, dynamic.offset.saturating_add(i * 16)).ok()?;
                Some((number(&entry[..8]), number(&entry[8..])))
            })
            .collect();
        let names = entries.iter().find(|e| e.0 == NAMES).and_then(|e| self.offset_of(e.1));
        let Some(names) = names else { return false };
        entries.iter().filter(|e| e.0 == NEEDED).any(|e| {
            let mut name = vec![0; library.len()];
            self.file.read_exact_at(&mut name, names.saturating_add(e.1)).is_ok()
                && name == library.as_bytes()
        })
    }

    fn offset_of(&self, address: u64) -> Option<u64> {
        self.segments
            .iter()
            .find(|s| s.kind == LOADED && s.address <= address && address - s.address < s.bytes)
            .and_then(|s| s.offset.checked_add(address - s.address))
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_this_program_and_others() {
        let own = Elf::open(&std::env::current_exe().unwrap()).unwrap().unwrap();
        assert!(own.names_interpreter() && own.needs("libc.so.") && !own.needs("libasan.so."));
        assert!(Elf::open(Path::new("/nowhere")).is_err());
        let text = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(text.path(), "#!/bin/sh\n").unwrap();
        assert!(Elf::open(text.path()).unwrap().is_none());
        // A table that lies behind the file's end.
        let mut damaged = std::fs::read(std::env::current_exe().unwrap()).unwrap()[..64].to_vec();
        damaged[32..40].fill(0xff);
        std::fs::write(text.path(), damaged).unwrap();
        let damaged = Elf::open(text.path()).unwrap().unwrap();
        assert!(!damaged.names_interpreter() && !damaged.needs("libc.so."));
    }
}
