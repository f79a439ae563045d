// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A program, and where it lies: linked at 0 with its data one mebibyte further on, and moved to where it is to run.

use object::read::elf::{ElfFile64, FileHeader, Rela, SectionHeader};
use object::{Endianness, elf};

use crate::bare::error::{Error, Result};

/// Distance of a program's data from its text, and so the most that either may have.
pub(crate) const PART: u64 = 1 << 20;
/// `IMAGE_MAGIC` of `boot.h`.
const MAGIC: u64 = 0x3147_4d49_5249_4557;
/// Pages of the protection unit.
const PAGE: u64 = 4096;

/// A program that was read.
#[derive(Clone, Debug)]
pub struct Image {
    text: Vec<u8>,
    data: Vec<u8>,
    /// With what is zero at the start.
    data_bytes: u64,
    /// Places of absolute addresses, from the start of the text.
    absolute: Vec<u64>,
}

impl Image {
    /// Read an ELF file that `runtimes/bare/build.sh` made.
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self> {
        let wrong = |what: String| {
            Error::user(
                format!("`{name}` is not a program for the bare kernel: {what}"),
                "name a C file, or a program that runtimes/bare/build.sh made",
            )
        };
        let file: ElfFile64<'_, Endianness> = ElfFile64::parse(bytes).map_err(|e| wrong(e.to_string()))?;
        let (header, endian) = (file.elf_header(), file.endian());
        if header.e_machine(endian) != elf::EM_RISCV || endian != Endianness::Little {
            return Err(wrong("it is for another processor".into()));
        }
        let sections = header.sections(endian, bytes).map_err(|e| wrong(e.to_string()))?;
        let mut image = Self { text: Vec::new(), data: Vec::new(), data_bytes: 0, absolute: Vec::new() };
        for section in sections.iter() {
            let (at, size) = (section.sh_addr(endian), section.sh_size(endian));
            if section.sh_flags(endian).0 & elf::SHF_ALLOC.0 != 0 && size > 0 {
                let end = at.checked_add(size).filter(|e| *e <= 2 * PART).ok_or_else(|| {
                    wrong(format!("it is too large: text and data have room for {} KiB each", PART >> 10))
                })?;
                let content = section.data(endian, bytes).map_err(|e| wrong(e.to_string()))?;
                let (part, from) =
                    if at >= PART { (&mut image.data, at - PART) } else { (&mut image.text, at) };
                if at < PART && end > PART {
                    return Err(wrong("its text reaches into its data".into()));
                }
                if at >= PART {
                    image.data_bytes = image.data_bytes.max(end - PART);
                }
                let until = from as usize + content.len();
                if part.len() < until {
                    part.resize(until, 0);
                }
                part[from as usize..until].copy_from_slice(content);
            }
            if let Some((relas, _)) = section.rela(endian, bytes).map_err(|e| wrong(e.to_string()))? {
                for rela in relas {
                    if rela.r_type(endian, false) == elf::R_RISCV_64 {
                        image.absolute.push(rela.r_offset(endian));
                    }
                }
            }
        }
        let magic = image.text.get(..8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
        if magic != Some(MAGIC) {
            return Err(wrong("it does not begin with the library's header".into()));
        }
        if image.absolute.iter().any(|at| image.word(*at).is_none()) {
            return Err(wrong("an address in it is outside the file".into()));
        }
        Ok(image)
    }

    fn word(&self, at: u64) -> Option<u64> {
        let (part, at) = if at >= PART { (&self.data, at - PART) } else { (&self.text, at) };
        let at = usize::try_from(at).ok()?;
        part.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// Bytes of the text's region: a power of two.
    pub(crate) fn text_region(&self) -> u64 {
        (self.text.len() as u64).next_power_of_two().max(PAGE)
    }

    /// Bytes of the data's region.
    pub(crate) fn data_region(&self) -> u64 {
        self.data_bytes.next_power_of_two().max(PAGE)
    }

    /// Text and data as they are at `base`.
    pub(crate) fn at(&self, base: u64) -> (Vec<u8>, Vec<u8>) {
        let (mut text, mut data) = (self.text.clone(), self.data.clone());
        for at in &self.absolute {
            // Null stays null: what is not there has no place.
            let Some(word) = self.word(*at).filter(|w| *w != 0 || *at < 128) else { continue };
            let (part, at) = if *at >= PART { (&mut data, at - PART) } else { (&mut text, *at) };
            part[at as usize..at as usize + 8].copy_from_slice(&(word + base).to_le_bytes());
        }
        (text, data)
    }
}
