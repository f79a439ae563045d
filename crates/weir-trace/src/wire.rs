// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Protocol buffers as a sequence of fields, without knowing the messages.

use crate::error::{Error, Result};

/// A field's contents.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub fn number(self) -> u64 {
        if let Value::Number(n) = self { n } else { 0 }
    }

    pub fn bytes(self) -> &'a [u8] {
        if let Value::Bytes(b) = self { b } else { &[] }
    }

    pub fn int(self) -> i32 {
        self.number() as i32
    }

    pub fn text(self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }
}

/// The fields of a message.
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

pub(crate) fn fields(message: &[u8]) -> Fields<'_> {
    Fields { rest: message }
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut n = 0u64;
    for i in 0..10 {
        let (&b, tail) = rest.split_first()?;
        *rest = tail;
        n |= u64::from(b & 0x7f).checked_shl(7 * i)?;
        if b & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let key = varint(&mut self.rest)?;
        let number = u32::try_from(key >> 3).ok().filter(|n| *n > 0)?;
        let mut take = |n: usize| {
            let (part, tail) = self.rest.split_at_checked(n)?;
            self.rest = tail;
            Some(part)
        };
        let value = match key & 7 {
            0 => Value::Number(varint(&mut self.rest)?),
            1 => Value::Number(u64::from_le_bytes(take(8)?.try_into().ok()?)),
            5 => Value::Number(u32::from_le_bytes(take(4)?.try_into().ok()?).into()),
            2 => {
                let n = varint(&mut self.rest)?;
                let (part, tail) = self.rest.split_at_checked(usize::try_from(n).ok()?)?;
                self.rest = tail;
                Value::Bytes(part)
            }
            _ => return None,
        };
        Some((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let left = self.rest.len();
        let field = self.field();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field.ok_or_else(|| {
            Error::broken(format!("a message of the Perfetto trace breaks off {left} bytes before its end"))
        }))
    }
}

/// The numbers of a packed field, or the one of an unpacked field.
pub(crate) fn packed(value: Value<'_>) -> Vec<u64> {
    match value {
        Value::Number(n) => vec![n],
        Value::Bytes(mut rest) => std::iter::from_fn(|| varint(&mut rest)).collect(),
    }
}
