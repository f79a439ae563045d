// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Stubs from interface files: an interface names the messages between two programs and their arguments; from it come functions
//! that send and handlers that receive, in C ([`c::emit`]) and in Rust ([`rust::emit`]), over whatever carries fragments of a few
//! words. `docs/messages.md` describes the file, `runtimes/multikernel/stub.h` the format of a message.
//!
//! ```
//! let text = "interface = 'ping'\nversion = 1\n[[message]]\nname = 'ping'\nfrom = 'client'\nargs = ['count: u32']\n";
//! let interface = weir_stubs::read("ping.toml", text)?;
//! let (header, source) = weir_stubs::c::emit(&interface);
//! assert!(header.contains("int ping_send_ping("));
//! # let _ = source;
//! # Ok::<(), weir_model::Error>(())
//! ```

// An error carries its source text and place; it is made once, so its size does not matter.
#![allow(clippy::result_large_err)]

pub mod c;
mod interface;
mod read;
pub mod rust;
pub mod wire;

pub use interface::{Field, Interface, Item, Message, Record, Scalar, Side, Type};
pub use read::read;
