// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a 64-bit ELF file says of the libraries that it is loaded with. Only its tables are read: programs of 100 MB are not rare.
use std::fs::File;
use std::io;
use std::path::Path;

use object::elf::{DT_NEEDED, DT_STRSZ, DT_STRTAB, FileHeader64, PT_INTERP};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{LittleEndian, ReadCache, StringTable};

pub struct Elf {
    interpreted: bool,
    needed: Vec<Vec<u8>>,
}

impl Elf {
    /// Nothing: the file is something else, such as a script. What a damaged file does not tell is missing.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let data = ReadCache::new(File::open(path)?);
        let Ok(header) = FileHeader64::<LittleEndian>::parse(&data) else { return Ok(None) };
        if !header.is_little_endian() {
            return Ok(None);
        }
        let segments = header.program_headers(LittleEndian, &data).unwrap_or_default();
        Ok(Some(Self {
            interpreted: segments.iter().any(|s| s.p_type(LittleEndian) == PT_INTERP),
            needed: needed(segments, &data),
        }))
    }

    /// It is loaded by an interpreter, which is what preloads libraries.
    pub fn names_interpreter(&self) -> bool {
        self.interpreted
    }

    /// It was linked with a library whose name begins like this.
    pub fn needs(&self, library: &str) -> bool {
        self.needed.iter().any(|name| name.starts_with(library.as_bytes()))
    }
}

/// By segments, as the loader does it: a stripped program may have no sections.
fn needed<S: ProgramHeader<Endian = LittleEndian>>(segments: &[S], data: &ReadCache<File>) -> Vec<Vec<u8>> {
    let entries = segments.iter().find_map(|s| s.dynamic(LittleEndian, data).ok()?).unwrap_or_default();
    let value =
        |tag| entries.iter().find(|e| e.d_tag(LittleEndian) == tag).map(|e| e.d_val(LittleEndian).into());
    let (Some(address), Some(bytes)) = (value(DT_STRTAB), value(DT_STRSZ)) else { return Vec::new() };
    let names = segments
        .iter()
        .find_map(|s| s.data_range(LittleEndian, data, address, bytes).ok()?)
        .unwrap_or_default();
    let names = StringTable::new(names, 0, names.len() as u64);
    entries
        .iter()
        .filter(|e| e.d_tag(LittleEndian) == DT_NEEDED)
        .filter_map(|e| Some(names.get(e.val32(LittleEndian)?).ok()?.to_vec()))
        .collect()
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
