// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Stubs in Rust and in C speak with each other: every type, over queues of any length and fragments of any size. The interface
//! is that of tests/multikernel, where the C side has its own tests.

#[rustfmt::skip]
#[path = "generated/all.rs"]
mod all;

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use all::{All, Message, Point};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use weir_stubs::wire::{
    Binding, End, Fault, Fragment, Interface, Reader, SendError, Transport, Writer, queue,
};

const INTERFACE: &str = include_str!("../../../tests/multikernel/all.toml");

fn interface() -> weir_stubs::Interface {
    weir_stubs::read("all.toml", INTERFACE).expect("right")
}

/// The module that the tests are compiled with is the one that the generator makes.
#[test]
fn the_module_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generated/all.rs");
    let made = weir_stubs::rust::emit(&interface());
    if std::env::var_os("INSTA_UPDATE").is_some() {
        std::fs::write(&path, &made).expect("writable");
    }
    assert_eq!(std::fs::read_to_string(path).expect("there"), made, "INSTA_UPDATE=always regenerates it");
}

/// What a test sends: owns what a message borrows.
#[derive(Clone, Debug)]
enum Owned {
    Empty,
    Scalars(u8, u64, i8, i64, bool, f32, f64),
    Texts(String, String),
    Lists(Vec<u8>, Vec<u64>, Vec<bool>, Vec<f64>, Vec<i16>),
    Records(Point, Vec<Point>, u8),
    Look(u32, String),
}

impl Owned {
    fn message(&self) -> Message<'_> {
        match self {
            Owned::Empty => Message::Empty,
            Owned::Scalars(a, l, f, i, j, k, m) => Message::Scalars {
                a: *a,
                l: *l,
                d: *l as u16,
                e: *l as u32,
                f: *f,
                g: i16::from(*f) * 3,
                h: *i as i32,
                i: *i,
                j: *j,
                k: *k,
                m: *m,
            },
            Owned::Texts(first, second) => Message::Texts { first, second },
            Owned::Lists(raw, wide, truths, reals, small) => Message::Lists {
                raw,
                wide: wide.clone(),
                truths: truths.clone(),
                reals: reals.clone(),
                small: small.clone(),
            },
            Owned::Records(one, many, end) => Message::Records { one: *one, many: many.clone(), end: *end },
            Owned::Look(call, path) => Message::Look { call: *call, path },
        }
    }
}

/// At most so many bytes of UTF-8 without NUL.
fn text(most: usize) -> impl Strategy<Value = String> {
    proptest::collection::vec(
        prop_oneof![Just('a'), Just('ä'), Just('€'), Just('𝄞'), proptest::char::range('\u{1}', '\u{d7ff}')],
        0..most,
    )
    .prop_map(move |letters| {
        letters.iter().fold(String::new(), |mut all, c| {
            if all.len() + c.len_utf8() <= most {
                all.push(*c);
            }
            all
        })
    })
}

fn point() -> impl Strategy<Value = Point> {
    (any::<u8>(), any::<i64>(), any::<bool>(), -1e6f32..1e6, any::<u16>())
        .prop_map(|(tag, x, near, y, last)| Point { tag, x, near, y, last })
}

fn message() -> impl Strategy<Value = Owned> {
    prop_oneof![
        Just(Owned::Empty),
        (any::<u8>(), any::<u64>(), -40i8..40, any::<i64>(), any::<bool>(), -1e6f32..1e6, -1e6f64..1e6)
            .prop_map(|(a, l, f, i, j, k, m)| Owned::Scalars(a, l, f, i, j, k, m)),
        (text(300), text(9)).prop_map(|(a, b)| Owned::Texts(a, b)),
        (
            proptest::collection::vec(any::<u8>(), 0..=500),
            proptest::collection::vec(any::<u64>(), 0..=40),
            proptest::collection::vec(any::<bool>(), 0..=9),
            proptest::collection::vec(-1e6f64..1e6, 0..=5),
            proptest::collection::vec(any::<i16>(), 0..=7)
        )
            .prop_map(|(a, b, c, d, e)| Owned::Lists(a, b, c, d, e)),
        (point(), proptest::collection::vec(point(), 0..=6), any::<u8>())
            .prop_map(|(a, b, c)| Owned::Records(a, b, c)),
        (any::<u32>(), text(64)).prop_map(|(a, b)| Owned::Look(a, b)),
    ]
}

proptest! {
    /// Any messages, through queues of any length and fragments of any size, arrive whole and in order.
    #[test]
    fn messages_arrive(all in proptest::collection::vec(message(), 1..20), words in 1usize..=7, room in 1usize..9) {
        let (a, b) = queue(words, room);
        let mut client = Binding::<All, _>::new(a, End::Client);
        let mut server = Binding::<All, _>::new(b, End::Server);
        let mut expected: VecDeque<&Owned> = VecDeque::new();
        let mut rest = all.iter();
        let mut next = rest.next();
        let mut turns = 0;
        while next.is_some() || !expected.is_empty() {
            if let Some(owned) = next {
                match client.send(&owned.message()) {
                    Ok(()) => {
                        expected.push_back(owned);
                        next = rest.next();
                    }
                    Err(SendError::Busy) => {}
                    Err(e) => panic!("{e}"),
                }
            }
            client.poll(|m| panic!("nobody sent {m:?}")).expect("goes on");
            let came = server
                .poll(|m| expected.pop_front().map(|owned| owned.message() == m))
                .expect("goes on");
            prop_assert_ne!(came.flatten(), Some(false));
            turns += 1;
            prop_assert!(turns < 100_000);
        }
    }

    /// Bytes of anywhere are refused or are a message; one that is accepted has that encoding and no other.
    #[test]
    fn bytes_out_of_nothing(number in 0u32..10, bytes in proptest::collection::vec(prop_oneof![4 => 0u8..4, 1 => any::<u8>()], 0..200)) {
        let mut reader = Reader::new(&bytes);
        if let Ok(message) = All::decode(number, &mut reader)
            && reader.finish().is_ok()
            && bytes.iter().all(|b| *b < 0x70)
        {
            let mut again = Vec::new();
            All::encode(&message, &mut Writer::new(&mut again)).expect("it was accepted");
            // Gaps inside records are not looked at.
            if !matches!(message, Message::Records { .. } | Message::LookReply { .. }) {
                prop_assert_eq!(again, bytes);
            }
        }
    }
}

#[test]
fn refusals() {
    let (a, b) = queue(7, 8);
    let mut client = Binding::<All, _>::new(a, End::Client);
    let mut server = Binding::<All, _>::new(b, End::Server);
    let long = "x".repeat(301);
    let refused = client.send(&Message::Texts { first: &long, second: "" });
    assert!(matches!(refused, Err(SendError::TooLong(t)) if t.argument == "first" && t.most == 300));
    assert!(matches!(client.send(&Message::Texts { first: "a\0b", second: "" }), Err(SendError::Nul)));
    assert!(matches!(server.send(&Message::Texts { first: "", second: "" }), Err(SendError::NotOurs)));
    // One of another interface.
    let mut hello = Fragment { nr: 1, kind: 1 << 14, tag: 8, ..Fragment::default() };
    hello.words[0] = 1;
    assert!(client.transport().send(&hello).expect("room"));
    assert!(matches!(server.poll(|_| ()), Err(Fault::Greeting(_))));
    assert!(matches!(server.send(&Message::Empty), Err(SendError::Ended(_))));
}

/// Fragments through a pipe: kind, tag and seven words.
struct Pipe {
    to: std::process::ChildStdin,
    from: std::process::ChildStdout,
}

impl Transport for Pipe {
    fn send(&mut self, f: &Fragment) -> std::io::Result<bool> {
        let head = u64::from(f.kind) | u64::from(f.tag) << 32;
        let words: Vec<u8> = [head].iter().chain(&f.words).flat_map(|w| w.to_le_bytes()).collect();
        self.to.write_all(&words).map(|()| true)
    }

    fn recv(&mut self) -> std::io::Result<Option<Fragment>> {
        let mut bytes = [0; 64];
        self.from.read_exact(&mut bytes)?;
        let mut words = bytes.chunks(8).map(|c| u64::from_le_bytes(c.try_into().unwrap_or_default()));
        let head = words.next().unwrap_or(0);
        let mut f = Fragment { nr: 7, kind: head as u32, tag: (head >> 32) as u32, ..Fragment::default() };
        for (to, word) in f.words.iter_mut().zip(words) {
            *to = word;
        }
        Ok(Some(f))
    }
}

/// A program in C sends back what it receives, taken apart and put together by its own stubs.
#[test]
fn a_program_in_c_answers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = tempfile::tempdir().expect("a directory");
    let (header, source) = weir_stubs::c::emit(&interface());
    std::fs::write(dir.path().join("all.h"), header).expect("written");
    std::fs::write(dir.path().join("all.c"), source).expect("written");
    let program = dir.path().join("echo");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
    let built = Command::new(compiler)
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-I"])
        .arg(dir.path())
        .arg("-I")
        .arg(root.join("core/include"))
        .arg("-I")
        .arg(root.join("core/port/native"))
        .arg("-I")
        .arg(root.join("runtimes/multikernel"))
        .arg("-o")
        .arg(&program)
        .arg(root.join("tests/multikernel/stub_echo.c"))
        .arg(dir.path().join("all.c"))
        .arg(root.join("runtimes/multikernel/stub.c"))
        .status()
        .expect("a C compiler");
    assert!(built.success());
    let mut child =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let pipe = Pipe { to: child.stdin.take().expect("piped"), from: child.stdout.take().expect("piped") };
    let mut client = Binding::<All, _>::new(pipe, End::Client);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut same = 0;
    for _ in 0..500 {
        let owned = message().new_tree(&mut runner).expect("a message").current();
        let back = match &owned {
            // What the client alone may send comes back as something else.
            Owned::Texts(..) | Owned::Look(..) => None,
            other => Some(other.message()),
        };
        client.send(&owned.message()).expect("sent");
        while client
            .poll(|m| match (&owned, m) {
                (Owned::Texts(first, second), Message::Lists { raw, wide, .. }) => {
                    assert_eq!(raw, first.as_bytes());
                    assert_eq!(wide, [second.len() as u64]);
                }
                (Owned::Look(call, path), Message::LookReply { call: number, found, ok }) => {
                    assert_eq!((number, ok), (*call, true));
                    assert_eq!(found.len(), path.len() % 4);
                }
                (_, m) => assert_eq!(Some(m), back),
            })
            .expect("goes on")
            .is_none()
        {}
        same += usize::from(back.is_some());
    }
    assert!(same > 100);
    drop(client);
    assert!(child.wait().expect("it ends").success());
}
