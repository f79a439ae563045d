// Made by `runweir stubs`. Change the interface file instead.
//! Every type that an interface can have.

#![allow(dead_code, clippy::all, clippy::pedantic)]

use weir_stubs::wire::{End, Interface, Malformed, Reader, TooLong, Writer};

pub const VERSION: u32 = 3;

/// With gaps in it and behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    pub tag: u8,
    pub x: i64,
    pub near: bool,
    pub y: f32,
    pub last: u16,
}

impl Point {
    fn encode(&self, to: &mut Writer<'_>) {
        to.align(8);
        to.put(self.tag.to_le_bytes());
        to.put(self.x.to_le_bytes());
        to.put([u8::from(self.near)]);
        to.put(self.y.to_le_bytes());
        to.put(self.last.to_le_bytes());
        to.align(8);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {
        from.align(8)?;
        let all = Self {
            tag: u8::from_le_bytes(from.get()?),
            x: i64::from_le_bytes(from.get()?),
            near: from.truth()?,
            y: f32::from_le_bytes(from.get()?),
            last: u16::from_le_bytes(from.get()?),
        };
        from.align(8)?;
        Ok(all)
    }
}

/// The messages, in the order of their numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<'a> {
    Empty,
    /// One of each.
    Scalars { a: u8, l: u64, d: u16, e: u32, f: i8, g: i16, h: i32, i: i64, j: bool, k: f32, m: f64 },
    /// The client's.
    Texts { first: &'a str, second: &'a str },
    Lists { raw: &'a [u8], wide: Vec<u64>, truths: Vec<bool>, reals: Vec<f64>, small: Vec<i16> },
    Records { one: Point, many: Vec<Point>, end: u8 },
    /// The client's. Ask for a name.
    Look { call: u32, path: &'a str },
    /// The server's. The answer to the `look` with the same number `call`.
    LookReply { call: u32, found: Vec<Point>, ok: bool },
}

/// The interface.
#[derive(Debug)]
pub struct All;

impl Interface for All {
    const HASH: u64 = 0x1b9ef7ca09cf6451;
    const BYTES: usize = 936;
    type Message<'a> = Message<'a>;

    fn number(message: &Message<'_>) -> u32 {
        match message {
            Message::Empty => 1,
            Message::Scalars { .. } => 2,
            Message::Texts { .. } => 3,
            Message::Lists { .. } => 4,
            Message::Records { .. } => 5,
            Message::Look { .. } => 6,
            Message::LookReply { .. } => 7,
        }
    }

    fn sent_by(number: u32, end: End) -> bool {
        match number {
            1 => true,
            2 => true,
            3 => end == End::Client,
            4 => true,
            5 => true,
            6 => end == End::Client,
            7 => end == End::Server,
            _ => false,
        }
    }

    fn encode(message: &Message<'_>, to: &mut Writer<'_>) -> Result<(), TooLong> {
        match message {
            Message::Empty => {}
            Message::Scalars { a, l, d, e, f, g, h, i, j, k, m } => {
                to.put(a.to_le_bytes());
                to.put(l.to_le_bytes());
                to.put(d.to_le_bytes());
                to.put(e.to_le_bytes());
                to.put(f.to_le_bytes());
                to.put(g.to_le_bytes());
                to.put(h.to_le_bytes());
                to.put(i.to_le_bytes());
                to.put([u8::from(*j)]);
                to.put(k.to_le_bytes());
                to.put(m.to_le_bytes());
            }
            Message::Texts { first, second } => {
                to.text("first", first, 300)?;
                to.text("second", second, 9)?;
            }
            Message::Lists { raw, wide, truths, reals, small } => {
                to.bytes("raw", raw, 500)?;
                to.length("wide", wide.len(), 40)?;
                to.align(8);
                for item in wide {
                    to.put(item.to_le_bytes());
                }
                to.length("truths", truths.len(), 9)?;
                to.align(1);
                for item in truths {
                    to.put([u8::from(*item)]);
                }
                to.length("reals", reals.len(), 5)?;
                to.align(8);
                for item in reals {
                    to.put(item.to_le_bytes());
                }
                to.length("small", small.len(), 7)?;
                to.align(2);
                for item in small {
                    to.put(item.to_le_bytes());
                }
            }
            Message::Records { one, many, end } => {
                one.encode(to);
                to.length("many", many.len(), 6)?;
                to.align(8);
                for item in many {
                    item.encode(to);
                }
                to.put(end.to_le_bytes());
            }
            Message::Look { call, path } => {
                to.put(call.to_le_bytes());
                to.text("path", path, 64)?;
            }
            Message::LookReply { call, found, ok } => {
                to.put(call.to_le_bytes());
                to.length("found", found.len(), 3)?;
                to.align(8);
                for item in found {
                    item.encode(to);
                }
                to.put([u8::from(*ok)]);
            }
        }
        Ok(())
    }

    fn decode<'a>(number: u32, from: &mut Reader<'a>) -> Result<Message<'a>, Malformed> {
        Ok(match number {
            1 => Message::Empty,
            2 => Message::Scalars {
                a: u8::from_le_bytes(from.get()?),
                l: u64::from_le_bytes(from.get()?),
                d: u16::from_le_bytes(from.get()?),
                e: u32::from_le_bytes(from.get()?),
                f: i8::from_le_bytes(from.get()?),
                g: i16::from_le_bytes(from.get()?),
                h: i32::from_le_bytes(from.get()?),
                i: i64::from_le_bytes(from.get()?),
                j: from.truth()?,
                k: f32::from_le_bytes(from.get()?),
                m: f64::from_le_bytes(from.get()?),
            },
            3 => Message::Texts {
                first: from.text(300)?,
                second: from.text(9)?,
            },
            4 => Message::Lists {
                raw: from.bytes(500)?,
                wide: {
                    let n = from.length(40)?;
                    from.align(8)?;
                    (0..n).map(|_| Ok(u64::from_le_bytes(from.get()?))).collect::<Result<Vec<_>, Malformed>>()?
                },
                truths: {
                    let n = from.length(9)?;
                    from.align(1)?;
                    (0..n).map(|_| Ok(from.truth()?)).collect::<Result<Vec<_>, Malformed>>()?
                },
                reals: {
                    let n = from.length(5)?;
                    from.align(8)?;
                    (0..n).map(|_| Ok(f64::from_le_bytes(from.get()?))).collect::<Result<Vec<_>, Malformed>>()?
                },
                small: {
                    let n = from.length(7)?;
                    from.align(2)?;
                    (0..n).map(|_| Ok(i16::from_le_bytes(from.get()?))).collect::<Result<Vec<_>, Malformed>>()?
                },
            },
            5 => Message::Records {
                one: Point::decode(from)?,
                many: {
                    let n = from.length(6)?;
                    from.align(8)?;
                    (0..n).map(|_| Ok(Point::decode(from)?)).collect::<Result<Vec<_>, Malformed>>()?
                },
                end: u8::from_le_bytes(from.get()?),
            },
            6 => Message::Look {
                call: u32::from_le_bytes(from.get()?),
                path: from.text(64)?,
            },
            7 => Message::LookReply {
                call: u32::from_le_bytes(from.get()?),
                found: {
                    let n = from.length(3)?;
                    from.align(8)?;
                    (0..n).map(|_| Ok(Point::decode(from)?)).collect::<Result<Vec<_>, Malformed>>()?
                },
                ok: from.truth()?,
            },
            _ => return Err(Malformed),
        })
    }
}
