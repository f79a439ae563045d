// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A cursor over a file's bytes that never reads past their end.

use crate::error::{Error, Result};

/// Reads numbers in the byte order of the file.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
    pub big: bool,
    /// What is read, for errors.
    what: &'static str,
}

impl<'a> Bytes<'a> {
    pub fn new(all: &'a [u8], big: bool, what: &'static str) -> Self {
        Self { all, at: 0, big, what }
    }

    /// The same file from another place.
    pub fn from(&self, at: u64) -> Result<Self> {
        match usize::try_from(at) {
            Ok(at) if at <= self.all.len() => Ok(Self { at, ..*self }),
            _ => Err(Error::broken(format!(
                "{}: it refers to byte {at}, but has only {}",
                self.what,
                self.all.len()
            ))),
        }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    pub fn left(&self) -> usize {
        self.all.len() - self.at
    }

    pub fn take(&mut self, n: u64) -> Result<&'a [u8]> {
        match usize::try_from(n)
            .ok()
            .and_then(|n| self.at.checked_add(n))
            .filter(|end| *end <= self.all.len())
        {
            Some(end) => {
                let part = &self.all[self.at..end];
                self.at = end;
                Ok(part)
            }
            None => Err(Error::broken(format!(
                "{}: it ends at byte {}, in the middle of {n} bytes that begin at {}",
                self.what,
                self.all.len(),
                self.at
            ))),
        }
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub fn u16(&mut self) -> Result<u16> {
        let b = self.take(2)?.try_into().expect("2 bytes");
        Ok(if self.big { u16::from_be_bytes(b) } else { u16::from_le_bytes(b) })
    }

    pub fn u32(&mut self) -> Result<u32> {
        let b = self.take(4)?.try_into().expect("4 bytes");
        Ok(if self.big { u32::from_be_bytes(b) } else { u32::from_le_bytes(b) })
    }

    pub fn u64(&mut self) -> Result<u64> {
        let b = self.take(8)?.try_into().expect("8 bytes");
        Ok(if self.big { u64::from_be_bytes(b) } else { u64::from_le_bytes(b) })
    }

    /// A text that ends with a zero byte.
    pub fn text(&mut self) -> Result<String> {
        let rest = &self.all[self.at..];
        let Some(end) = rest.iter().position(|b| *b == 0) else {
            return Err(Error::broken(format!(
                "{}: a text that begins at byte {} does not end",
                self.what, self.at
            )));
        };
        self.at += end + 1;
        Ok(String::from_utf8_lossy(&rest[..end]).into_owned())
    }

    /// These bytes must come next.
    pub fn expect(&mut self, mark: &[u8]) -> Result<()> {
        let at = self.at;
        if self.take(mark.len() as u64)? == mark {
            return Ok(());
        }
        let mark = String::from_utf8_lossy(mark).trim_end_matches('\0').to_string();
        Err(Error::broken(format!("{}: `{mark}` is missing at byte {at}", self.what)))
    }
}
