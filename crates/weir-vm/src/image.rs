// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Data in a kernel's boot file: its version, and the BTF in its compressed part.
//!
//! The layout of the boot file is in the kernel's `Documentation/arch/x86/boot.rst`; the compressed
//! part is an ELF file with a section `.BTF`.

use std::io::{Read, Write};
use std::process::Stdio;

use crate::tool;

/// `HdrS`, at this offset of every boot file since 1995.
const SIGNATURE: (usize, &[u8]) = (0x202, b"HdrS");

/// The version string, without the builder's remarks: `7.2.13+deb14-cloud-amd64`.
pub fn version(image: &[u8]) -> Result<String, String> {
    signature(image)?;
    let at = 0x200 + usize::from(u16::from_le_bytes([image[0x20e], image[0x20f]]));
    let text = image.get(at..).unwrap_or_default();
    let text: String =
        text.iter().take(256).take_while(|b| b.is_ascii_graphic()).map(|b| char::from(*b)).collect();
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        Ok(text)
    } else {
        Err("it does not say its version".into())
    }
}

/// The BTF of the kernel in a boot file. An error says what is in the way.
pub fn btf(image: &[u8]) -> Result<Vec<u8>, String> {
    signature(image)?;
    let setup = match image[0x1f1] {
        0 => 4,
        n => usize::from(n),
    };
    let number = |at: usize| u32::from_le_bytes(image[at..at + 4].try_into().expect("four bytes")) as usize;
    let start = (setup + 1) * 512 + number(0x248);
    let end = start.checked_add(number(0x24c)).ok_or("its compressed part has no end")?;
    let payload = image.get(start..end).ok_or("it ends within its compressed part")?;
    let vmlinux = unpack(payload)?;
    section(&vmlinux, ".BTF").map(<[u8]>::to_vec)
}

fn signature(image: &[u8]) -> Result<(), String> {
    let (at, sign) = SIGNATURE;
    if image.len() < 0x260 || &image[at..at + sign.len()] != sign {
        return Err("it is not a Linux boot file for x86 (bzImage)".into());
    }
    Ok(())
}

/// Decompress; zstd is what Debian uses, the others are left to their programs.
fn unpack(payload: &[u8]) -> Result<Vec<u8>, String> {
    let program = match payload {
        [0x28, 0xb5, 0x2f, 0xfd, ..] => {
            let mut out = Vec::new();
            // The size that the kernel's build appends is not read: only the first frame is decoded.
            let mut decoder =
                ruzstd::decoding::StreamingDecoder::new(payload).map_err(|e| format!("zstd: {e}"))?;
            decoder.read_to_end(&mut out).map_err(|e| format!("its compressed part is damaged: {e}"))?;
            return Ok(out);
        }
        [0x7f, b'E', b'L', b'F', ..] => return Ok(payload.to_vec()),
        [0x1f, 0x8b, ..] => "gzip",
        [0xfd, b'7', b'z', b'X', ..] => "xz",
        [b'B', b'Z', b'h', ..] => "bzip2",
        _ => return Err("it is compressed in a way that is not known here".into()),
    };
    let fail = |e: &dyn std::fmt::Display| format!("cannot unpack it with `{program}`: {e}");
    let mut child = tool::command(program)
        .map_err(|e| fail(&e))?
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| fail(&e))?;
    let mut input = child.stdin.take().expect("a pipe was asked for");
    // The program complains about the size after the compressed data; only its output counts.
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(payload));
        child.wait_with_output()
    });
    output.map(|o| o.stdout).map_err(|e| fail(&e))
}

/// Bytes of a section of a 64-bit little-endian ELF file.
fn section<'a>(elf: &'a [u8], name: &str) -> Result<&'a [u8], String> {
    let short = || "the kernel in it is not a complete ELF file".to_string();
    if elf.get(..6) != Some(&[0x7f, b'E', b'L', b'F', 2, 1]) {
        return Err(short());
    }
    let bytes = |at: usize, n: usize| elf.get(at..at.checked_add(n)?);
    let half = |at: usize| bytes(at, 2).map(|b| usize::from(u16::from_le_bytes([b[0], b[1]])));
    let word =
        |at: usize| bytes(at, 4).map(|b| u32::from_le_bytes(b.try_into().expect("four bytes")) as usize);
    let long =
        |at: usize| bytes(at, 8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")) as usize);
    let (table, size, count, names) = (long(0x28), half(0x3a), half(0x3c), half(0x3e));
    let (Some(table), Some(size), Some(count), Some(names)) = (table, size, count, names) else {
        return Err(short());
    };
    let header = |index: usize| index.checked_mul(size).and_then(|o| table.checked_add(o));
    let content = |index: usize| {
        let at = header(index)?;
        bytes(long(at.checked_add(0x18)?)?, long(at.checked_add(0x20)?)?)
    };
    let strings = content(names).ok_or_else(short)?;
    for index in 0..count {
        let at = header(index).and_then(word).ok_or_else(short)?;
        let found = strings
            .get(at..)
            .is_some_and(|s| s.strip_prefix(name.as_bytes()).is_some_and(|r| r.first() == Some(&0)));
        if found {
            return content(index).ok_or_else(short);
        }
    }
    Err("the kernel is built without BTF (CONFIG_DEBUG_INFO_BTF)".into())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An ELF file with one section of that name.
    fn elf(name: &str, content: &[u8]) -> Vec<u8> {
        let mut strings = vec![0];
        strings.extend(name.bytes().chain([0]));
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', 2, 1]);
        let (at_strings, at_content) = (64, 64 + strings.len());
        let table = at_content + content.len();
        bytes.extend(&strings);
        bytes.extend(content);
        for (name, at, size) in [(0u32, at_strings, strings.len()), (1, at_content, content.len())] {
            let mut header = [0; 64];
            header[..4].copy_from_slice(&name.to_le_bytes());
            header[0x18..0x20].copy_from_slice(&(at as u64).to_le_bytes());
            header[0x20..0x28].copy_from_slice(&(size as u64).to_le_bytes());
            bytes.extend(header);
        }
        bytes[0x28..0x30].copy_from_slice(&(table as u64).to_le_bytes());
        bytes[0x3a..0x40].copy_from_slice(&[64, 0, 2, 0, 0, 0]);
        bytes
    }

    /// A boot file whose payload is an uncompressed ELF file.
    pub(crate) fn boot_file(version: &str, btf: &[u8]) -> Vec<u8> {
        let payload = elf(".BTF", btf);
        let mut bytes = vec![0; 1024];
        bytes[0x1f1] = 1;
        bytes[0x202..0x206].copy_from_slice(b"HdrS");
        bytes[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
        bytes[0x300..0x300 + version.len()].copy_from_slice(version.as_bytes());
        bytes[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    #[test]
    fn finds_version_and_btf() {
        let image = boot_file("7.2.13+deb14-cloud-amd64 (someone) #1", b"types");
        assert_eq!(version(&image).as_deref(), Ok("7.2.13+deb14-cloud-amd64"));
        assert_eq!(btf(&image).as_deref(), Ok(&b"types"[..]));
    }

    #[test]
    fn wrong_files_say_why() {
        let good = boot_file("7.2.13", b"types");
        let damaged = |at: usize, with: &[u8]| {
            let mut bytes = good.clone();
            bytes[at..at + with.len()].copy_from_slice(with);
            bytes
        };
        for (image, why) in [
            (vec![], "not a Linux boot file"),
            (b"#!/bin/sh\n".repeat(200), "not a Linux boot file"),
            (good[..good.len() - 1].to_vec(), "ends within its compressed part"),
            (damaged(0x24c, &[0xff; 4]), "ends within its compressed part"),
            (damaged(1024, b"LZIP"), "not known here"),
            (damaged(1024, &[0x28, 0xb5, 0x2f, 0xfd, 0xff]), ""),
            (damaged(1024 + 4, &[1]), "not a complete ELF"),
            (damaged(1024 + 0x28, &[0xff; 8]), "not a complete ELF"),
            (damaged(1024 + 64 + 1, b".XYZ"), "without BTF"),
        ] {
            let error = btf(&image).expect_err(why);
            assert!(error.contains(why), "{why}: {error}");
        }
        assert!(version(&damaged(0x300, b"x")).is_err());
    }
}
