// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What stubs in Rust stand on: the same fragments and bytes as `runtimes/multikernel/stub.h`.
//!
//! An interface's module has an enum `Message` and an [`Interface`]; a [`Binding`] sends and receives its messages over a
//! [`Transport`]. The other side is not trusted: what does not match the interface ends the binding with a [`Fault`].

use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

/// Words of a fragment, at most.
pub const WORDS: usize = 7;
const FIRST: u32 = 1 << 14;
const NUMBER: u32 = FIRST - 1;

/// What travels at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    pub words: [u64; WORDS],
    /// Of these, so many count.
    pub nr: usize,
    /// 15 bits.
    pub kind: u32,
    pub tag: u32,
}

/// Carries fragments; it loses none and keeps their order.
pub trait Transport {
    /// Words of a fragment, 1 to 7.
    fn words(&self) -> usize {
        WORDS
    }

    /// False: there is no room now.
    ///
    /// # Errors
    /// The transport has failed.
    fn send(&mut self, fragment: &Fragment) -> std::io::Result<bool>;

    /// Nothing: there is none now.
    ///
    /// # Errors
    /// The transport has failed.
    fn recv(&mut self) -> std::io::Result<Option<Fragment>>;
}

/// Which end a binding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Client,
    Server,
}

impl End {
    pub fn other(self) -> Self {
        match self {
            End::Client => End::Server,
            End::Server => End::Client,
        }
    }
}

/// An interface: what its messages are, and how they travel. `runweir stubs` makes one.
pub trait Interface {
    /// By which both ends know that they have the same interface.
    const HASH: u64;
    /// Of the longest message.
    const BYTES: usize;
    /// Any of its messages; texts and bytes are borrowed from where they came from.
    type Message<'a>;

    /// A message's number on the wire.
    fn number(message: &Self::Message<'_>) -> u32;

    /// Whether `end` may send the message with this number.
    fn sent_by(number: u32, end: End) -> bool;

    /// # Errors
    /// The argument that is longer than the interface allows.
    fn encode(message: &Self::Message<'_>, to: &mut Writer<'_>) -> Result<(), TooLong>;

    /// # Errors
    /// The message does not match the interface.
    fn decode<'a>(number: u32, from: &mut Reader<'a>) -> Result<Self::Message<'a>, Malformed>;
}

/// An argument that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    pub argument: &'static str,
    pub length: usize,
    pub most: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` has {}, at most {} are possible", self.argument, self.length, self.most)
    }
}

/// A message that does not match the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Why a binding is at its end.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    Transport(std::io::Error),
    /// The other side began without a greeting, or has another interface.
    Greeting(&'static str),
    /// A fragment or a message that does not match the interface.
    Message(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Transport(e) => write!(f, "the transport failed: {e}"),
            Fault::Greeting(what) | Fault::Message(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Fault {}

/// Why a message was not sent.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// One is on its way still: poll, and try again.
    Busy,
    TooLong(TooLong),
    /// The other end sends such messages.
    NotOurs,
    /// A text has a NUL in it.
    Nul,
    Ended(Fault),
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SendError::Busy => f.write_str("a message is on its way still"),
            SendError::TooLong(e) => e.fmt(f),
            SendError::NotOurs => f.write_str("the other end sends such messages"),
            SendError::Nul => f.write_str("a text has a NUL in it"),
            SendError::Ended(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for SendError {}

/// Writes arguments.
#[derive(Debug)]
pub struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
    nul: bool,
}

impl<'a> Writer<'a> {
    /// Append to nothing: offsets count from the message's start.
    pub fn new(bytes: &'a mut Vec<u8>) -> Self {
        bytes.clear();
        Self { bytes, nul: false }
    }

    pub fn align(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
    }

    pub fn put<const N: usize>(&mut self, value: [u8; N]) {
        self.align(N);
        self.bytes.extend(value);
    }

    /// # Errors
    /// More than `most`.
    pub fn length(&mut self, argument: &'static str, length: usize, most: usize) -> Result<(), TooLong> {
        if length > most {
            return Err(TooLong { argument, length, most });
        }
        self.put((length as u32).to_le_bytes());
        Ok(())
    }

    /// # Errors
    /// More than `most` bytes.
    pub fn text(&mut self, argument: &'static str, text: &str, most: usize) -> Result<(), TooLong> {
        self.length(argument, text.len(), most)?;
        self.nul |= text.contains('\0');
        self.bytes.extend(text.bytes());
        self.bytes.push(0);
        Ok(())
    }

    /// # Errors
    /// More than `most`.
    pub fn bytes(&mut self, argument: &'static str, bytes: &[u8], most: usize) -> Result<(), TooLong> {
        self.length(argument, bytes.len(), most)?;
        self.bytes.extend(bytes);
        Ok(())
    }
}

/// Reads arguments.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// # Errors
    /// The gap is not there, or not zero.
    pub fn align(&mut self, to: usize) -> Result<(), Malformed> {
        let next = self.at.next_multiple_of(to);
        if self.bytes.get(self.at..next).is_none_or(|gap| gap.iter().any(|b| *b != 0)) {
            return Err(Malformed);
        }
        self.at = next;
        Ok(())
    }

    /// # Errors
    /// There are not as many.
    pub fn take(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.checked_add(bytes).ok_or(Malformed)?;
        let taken = self.bytes.get(self.at..end).ok_or(Malformed)?;
        self.at = end;
        Ok(taken)
    }

    /// # Errors
    /// It is not there.
    pub fn get<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.align(N)?;
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    /// # Errors
    /// It is neither 0 nor 1.
    pub fn truth(&mut self) -> Result<bool, Malformed> {
        match self.get::<1>()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Malformed),
        }
    }

    /// # Errors
    /// More than `most`.
    pub fn length(&mut self, most: usize) -> Result<usize, Malformed> {
        let n = u32::from_le_bytes(self.get()?) as usize;
        if n > most { Err(Malformed) } else { Ok(n) }
    }

    /// # Errors
    /// Too long, no UTF-8, or a NUL in it.
    pub fn text(&mut self, most: usize) -> Result<&'a str, Malformed> {
        let n = self.length(most)?;
        let bytes = self.take(n)?;
        if self.take(1)? != [0] || bytes.contains(&0) {
            return Err(Malformed);
        }
        std::str::from_utf8(bytes).map_err(|_| Malformed)
    }

    /// # Errors
    /// More than `most`.
    pub fn bytes(&mut self, most: usize) -> Result<&'a [u8], Malformed> {
        let n = self.length(most)?;
        self.take(n)
    }

    /// # Errors
    /// Something is left.
    pub fn finish(&self) -> Result<(), Malformed> {
        if self.at == self.bytes.len() { Ok(()) } else { Err(Malformed) }
    }
}

/// What is done once a message has gone.
type Then = Box<dyn FnOnce() + Send>;

/// One end of a connection that speaks an interface.
pub struct Binding<I, T> {
    transport: T,
    end: End,
    out: Vec<u8>,
    out_at: usize,
    out_kind: u32,
    busy: bool,
    then: Option<Then>,
    input: Vec<u8>,
    in_bytes: usize,
    in_kind: u32,
    greeted: bool,
    heard: bool,
    ended: bool,
    interface: PhantomData<fn() -> I>,
}

impl<I, T: fmt::Debug> fmt::Debug for Binding<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Binding")
            .field("transport", &self.transport)
            .field("end", &self.end)
            .field("busy", &self.busy)
            .finish_non_exhaustive()
    }
}

impl<I: Interface, T: Transport> Binding<I, T> {
    pub fn new(transport: T, end: End) -> Self {
        Self {
            transport,
            end,
            out: Vec::new(),
            out_at: 0,
            out_kind: 0,
            busy: false,
            then: None,
            input: Vec::new(),
            in_bytes: 0,
            in_kind: 0,
            greeted: false,
            heard: false,
            ended: false,
            interface: PhantomData,
        }
    }

    /// Whether a message is on its way still.
    pub fn busy(&self) -> bool {
        self.busy
    }

    pub fn transport(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Send; it goes as far as there is room, the rest with [`Binding::poll`].
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send(&mut self, message: &I::Message<'_>) -> Result<(), SendError> {
        self.send_then(message, None)
    }

    /// The same, with what is done once its last fragment has gone.
    ///
    /// # Errors
    /// See [`SendError`].
    pub fn send_then(&mut self, message: &I::Message<'_>, then: Option<Then>) -> Result<(), SendError> {
        if self.ended {
            return Err(SendError::Ended(Fault::Message("the binding is at its end")));
        }
        if self.busy {
            return Err(SendError::Busy);
        }
        let number = I::number(message);
        if !I::sent_by(number, self.end) {
            return Err(SendError::NotOurs);
        }
        let mut writer = Writer::new(&mut self.out);
        I::encode(message, &mut writer).map_err(SendError::TooLong)?;
        if writer.nul {
            return Err(SendError::Nul);
        }
        self.out_at = 0;
        self.out_kind = number | FIRST;
        self.busy = true;
        self.then = then;
        self.push().map_err(SendError::Ended)
    }

    fn failed<R>(&mut self, fault: Fault) -> Result<R, Fault> {
        self.ended = true;
        Err(fault)
    }

    fn give(&mut self, fragment: &Fragment) -> Result<bool, Fault> {
        self.transport.send(fragment).or_else(|e| self.failed(Fault::Transport(e)))
    }

    fn step(&self) -> usize {
        self.transport.words().clamp(1, WORDS) * 8
    }

    fn push(&mut self) -> Result<(), Fault> {
        if !self.greeted {
            let mut hello = Fragment { nr: 1, kind: FIRST, tag: 8, ..Fragment::default() };
            hello.words[0] = I::HASH;
            if !self.give(&hello)? {
                return Ok(());
            }
            self.greeted = true;
        }
        let step = self.step();
        while self.busy {
            let rest = &self.out[self.out_at..];
            let bytes = rest.len().min(step);
            let mut fragment = Fragment {
                nr: bytes.div_ceil(8),
                kind: self.out_kind,
                tag: self.out.len() as u32,
                ..Fragment::default()
            };
            for (word, chunk) in fragment.words.iter_mut().zip(rest[..bytes].chunks(8)) {
                let mut whole = [0; 8];
                whole[..chunk.len()].copy_from_slice(chunk);
                *word = u64::from_le_bytes(whole);
            }
            if !self.give(&fragment)? {
                return Ok(());
            }
            self.out_kind &= NUMBER;
            self.out_at += bytes;
            if self.out_at >= self.out.len() {
                self.busy = false;
                if let Some(then) = self.then.take() {
                    then();
                }
            }
        }
        Ok(())
    }

    /// Send what waits, and hand the next whole message, if there is one, to `handle`.
    ///
    /// # Errors
    /// What ended the binding.
    pub fn poll<R>(&mut self, handle: impl FnOnce(I::Message<'_>) -> R) -> Result<Option<R>, Fault> {
        if self.ended {
            return Err(Fault::Message("the binding is at its end"));
        }
        self.push()?;
        while let Some(fragment) = self.transport.recv().or_else(|e| self.failed(Fault::Transport(e)))? {
            if self.take(&fragment)? {
                let number = std::mem::take(&mut self.in_kind);
                if !I::sent_by(number, self.end.other()) {
                    return self.failed(Fault::Message("the other end may not send such a message"));
                }
                let mut reader = Reader::new(&self.input);
                let decoded = I::decode(number, &mut reader).and_then(|m| reader.finish().map(|()| m));
                return match decoded {
                    Ok(message) => Ok(Some(handle(message))),
                    Err(Malformed) => {
                        self.ended = true;
                        Err(Fault::Message("a message does not match the interface"))
                    }
                };
            }
        }
        Ok(None)
    }

    /// True: a whole message is there.
    fn take(&mut self, fragment: &Fragment) -> Result<bool, Fault> {
        if !self.heard {
            if fragment.kind != FIRST || fragment.tag != 8 {
                return self.failed(Fault::Greeting("the other side began without a greeting"));
            }
            if fragment.words[0] != I::HASH {
                return self.failed(Fault::Greeting("the other side has another interface"));
            }
            self.heard = true;
            return Ok(false);
        }
        if self.in_kind == 0 {
            if fragment.kind & FIRST == 0 || fragment.kind & NUMBER == 0 {
                return self.failed(Fault::Message("a fragment belongs to no message"));
            }
            if fragment.tag as usize > I::BYTES {
                return self.failed(Fault::Message("a message is longer than any of the interface"));
            }
            self.in_kind = fragment.kind & NUMBER;
            self.in_bytes = fragment.tag as usize;
            self.input.clear();
        } else if fragment.kind != self.in_kind || fragment.tag as usize != self.in_bytes {
            return self.failed(Fault::Message("a fragment belongs to another message"));
        }
        let bytes = (self.in_bytes - self.input.len()).min(self.step());
        self.input.extend(fragment.words.iter().flat_map(|w| w.to_le_bytes()).take(bytes));
        Ok(self.input.len() >= self.in_bytes)
    }
}

/// Two ends in one thread, for tests and examples: queues of so many fragments.
#[derive(Debug)]
pub struct Queue {
    words: usize,
    room: usize,
    out: Arc<Mutex<VecDeque<Fragment>>>,
    input: Arc<Mutex<VecDeque<Fragment>>>,
}

/// Both ends of a connection with room for `room` fragments of `words` words each way.
pub fn queue(words: usize, room: usize) -> (Queue, Queue) {
    let (a, b) = (Arc::default(), Arc::default());
    (
        Queue { words, room, out: Arc::clone(&a), input: Arc::clone(&b) },
        Queue { words, room, out: b, input: a },
    )
}

fn poisoned<E>(_: E) -> std::io::Error {
    std::io::Error::other("the other end's thread has failed")
}

impl Transport for Queue {
    fn words(&self) -> usize {
        self.words
    }

    fn send(&mut self, fragment: &Fragment) -> std::io::Result<bool> {
        let mut queue = self.out.lock().map_err(poisoned)?;
        let free = queue.len() < self.room;
        if free {
            queue.push_back(*fragment);
        }
        Ok(free)
    }

    fn recv(&mut self) -> std::io::Result<Option<Fragment>> {
        Ok(self.input.lock().map_err(poisoned)?.pop_front())
    }
}
