// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What an interface is, and how large its messages are.

use std::fmt::{self, Write as _};

/// Which program sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
    Both,
}

/// A value of fixed size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    Bool,
    F32,
    F64,
}

impl Scalar {
    /// All scalars with their names in interface files.
    pub const ALL: [(&'static str, Scalar); 11] = [
        ("u8", Scalar::U8),
        ("u16", Scalar::U16),
        ("u32", Scalar::U32),
        ("u64", Scalar::U64),
        ("i8", Scalar::I8),
        ("i16", Scalar::I16),
        ("i32", Scalar::I32),
        ("i64", Scalar::I64),
        ("bool", Scalar::Bool),
        ("f32", Scalar::F32),
        ("f64", Scalar::F64),
    ];

    /// Bytes; a scalar is aligned to its size.
    pub fn bytes(self) -> u32 {
        match self {
            Scalar::U8 | Scalar::I8 | Scalar::Bool => 1,
            Scalar::U16 | Scalar::I16 => 2,
            Scalar::U32 | Scalar::I32 | Scalar::F32 => 4,
            Scalar::U64 | Scalar::I64 | Scalar::F64 => 8,
        }
    }

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, s)| *s == self).map_or("", |(name, _)| name)
    }
}

/// What a list holds, or an argument is by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    Scalar(Scalar),
    /// Its index in [`Interface::records`].
    Record(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    One(Item),
    /// At most so many items.
    List(Item, u32),
    /// UTF-8 without NUL, at most so many bytes.
    Text(u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub kind: Type,
}

/// Scalars that travel together, laid out as a C struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub name: String,
    pub about: String,
    pub fields: Vec<(String, Scalar)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub name: String,
    pub about: String,
    pub from: Side,
    pub args: Vec<Field>,
    /// On the wire; 1 is the first, 0 the greeting.
    pub number: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    pub version: u32,
    pub about: String,
    pub records: Vec<Record>,
    pub messages: Vec<Message>,
}

/// The next multiple of `align` from `at` on.
pub fn aligned(at: u32, align: u32) -> u32 {
    at.next_multiple_of(align)
}

impl Record {
    pub fn align(&self) -> u32 {
        self.fields.iter().map(|(_, s)| s.bytes()).max().unwrap_or(1)
    }

    /// Each field's offset.
    pub fn offsets(&self) -> Vec<u32> {
        let mut at = 0;
        self.fields
            .iter()
            .map(|(_, s)| {
                let offset = aligned(at, s.bytes());
                at = offset + s.bytes();
                offset
            })
            .collect()
    }

    /// With the gap at its end, so that a list of them is laid out as an array.
    pub fn bytes(&self) -> u32 {
        let end = self.offsets().last().zip(self.fields.last()).map_or(0, |(at, (_, s))| at + s.bytes());
        aligned(end, self.align())
    }
}

impl Interface {
    pub fn item_bytes(&self, item: Item) -> u32 {
        match item {
            Item::Scalar(s) => s.bytes(),
            Item::Record(r) => self.records[r].bytes(),
        }
    }

    pub fn item_align(&self, item: Item) -> u32 {
        match item {
            Item::Scalar(s) => s.bytes(),
            Item::Record(r) => self.records[r].align(),
        }
    }

    /// No message takes more bytes: everything as long as it may be, each gap as wide as it can be.
    pub fn longest(&self) -> u64 {
        let arg = |f: &Field| match f.kind {
            Type::One(i) => u64::from(self.item_bytes(i) + self.item_align(i) - 1),
            Type::List(i, n) => {
                7 + u64::from(self.item_bytes(i)) * u64::from(n) + u64::from(self.item_align(i) - 1)
            }
            Type::Text(n) => 8 + u64::from(n),
        };
        self.messages.iter().map(|m| m.args.iter().map(arg).sum::<u64>()).max().unwrap_or(0).max(8)
    }

    fn item_name(&self, item: Item) -> &str {
        match item {
            Item::Scalar(s) => s.name(),
            Item::Record(r) => &self.records[r].name,
        }
    }

    /// A number by which two stubs know that they were made of the same interface: FNV-1a (Fowler, Noll, Vo) of what travels,
    /// without descriptions.
    pub fn hash(&self) -> u64 {
        self.to_string()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01b3))
    }
}

/// The interface in one canonical form.
impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.name, self.version)?;
        for r in &self.records {
            let fields: Vec<_> = r.fields.iter().map(|(n, s)| format!("{n}: {}", s.name())).collect();
            writeln!(f, "record {} {}", r.name, fields.join(", "))?;
        }
        for m in &self.messages {
            let mut args = String::new();
            for a in &m.args {
                match a.kind {
                    Type::One(i) => write!(args, " {}: {}", a.name, self.item_name(i))?,
                    Type::List(i, n) => write!(args, " {}: {}[{n}]", a.name, self.item_name(i))?,
                    Type::Text(n) => write!(args, " {}: text[{n}]", a.name)?,
                }
            }
            writeln!(f, "{} {:?} {}{args}", m.number, m.from, m.name)?;
        }
        Ok(())
    }
}
