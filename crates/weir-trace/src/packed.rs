// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Recordings that were compressed by zstd as a whole.

use std::borrow::Cow;
use std::io::Read;

use crate::error::{Error, Result};

const MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";
/// Most bytes that a file may unpack to.
const MOST: u64 = 4 << 30;

/// The bytes themselves, or what is in them: one frame or several.
pub fn unpacked(bytes: &[u8]) -> Result<Cow<'_, [u8]>> {
    if !bytes.starts_with(MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let broken =
        |e: String| Error::broken(format!("the file is compressed by zstd and cannot be unpacked: {e}"));
    unpack(bytes, MOST).map(Cow::Owned).map_err(broken)
}

/// What is in these frames, or why it cannot be had.
pub fn unpack(mut rest: &[u8], most: u64) -> std::result::Result<Vec<u8>, String> {
    let mut out = Vec::new();
    while !rest.is_empty() {
        let mut frame = ruzstd::decoding::StreamingDecoder::new(rest).map_err(|e| e.to_string())?;
        let room = most + 1 - out.len() as u64;
        frame.by_ref().take(room).read_to_end(&mut out).map_err(|e| e.to_string())?;
        if out.len() as u64 > most {
            return Err(format!("it has more than {} GiB", most >> 30));
        }
        rest = frame.into_inner();
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    #[test]
    fn frames_follow_each_other_and_are_bounded() {
        let pack = |text: &[u8]| compress_to_vec(text, CompressionLevel::Fastest);
        let both = [pack(&[b'a'; 3000]), pack(b"bc")].concat();
        let out = unpacked(&both).expect("two frames");
        assert!(out.len() == 3002 && out.ends_with(b"abc"));
        assert!(unpack(&both, 2999).is_err_and(|e| e.contains("more than")));
        assert!(unpacked(&both[..both.len() - 3]).is_err(), "cut off");
        assert!(unpacked(&[MAGIC, &[0xff; 40]].concat()).is_err(), "noise");
        assert_eq!(&*unpacked(b"plain").expect("as it is"), b"plain");
    }
}
