// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Recordings of real machines, as workloads.
//!
//! [`read`] takes what `perf sched record`, trace-cmd, ftrace, Perfetto and Runweir itself record of the scheduler, and makes a
//! [`Recording`] of it: threads, their wakers, where they ran. [`import()`] makes a workload of a recording.
//! [`history()`] makes a [`History`] of it, which [`causes`] takes apart: why a task waited; and [`requests`]: how long a request took.
//! Nothing here reads a clock, a file or depends on hash order: equal bytes give equal results.

mod bytes;
pub mod causes;
mod error;
mod fitted;
mod formats;
pub mod history;
mod html;
mod import;
mod kernel;
mod ks;
pub mod marks;
mod own;
mod packed;
#[cfg(feature = "perf")]
mod perfdata;
mod perfetto;
mod pieces;
mod recording;
pub mod requests;
mod ring;
mod text;
mod tracedat;
mod track;
mod wire;

pub use error::{Error, ErrorKind, Result};
pub use history::History;
pub use import::{GroupFit, Imported, Mode, Options, Wakeups, import};
pub use pieces::Speeds;
pub use recording::{Event, Recording, Source, Stop, Thread, Waker};

/// Reads a recording; the contents select the format.
pub fn read(bytes: &[u8]) -> Result<Recording> {
    let bytes = &*packed::unpacked(bytes)?;
    if bytes.is_empty() {
        return Err(Error::broken("the file is empty"));
    }
    if PERF_DATA.iter().any(|m| bytes.starts_with(m)) {
        return recording::build(perf_data(bytes)?, Source::Perf);
    }
    if bytes.starts_with(tracedat::MAGIC) {
        return recording::build(tracedat::read(bytes)?, Source::TraceCmd);
    }
    if html::looks_like(bytes) {
        return recording::build(text::read(&html::trace(bytes)?)?, Source::Text);
    }
    if let Some(what) = foreign(bytes) {
        return Err(Error::new(ErrorKind::Foreign, format!("the file is {what}, no recording"), KNOWN));
    }
    // Names in a text may be bytes of any kind but zero.
    if !bytes[..bytes.len().min(HEAD)].contains(&0) {
        let text = String::from_utf8_lossy(bytes);
        if text::looks_like(&text) {
            return recording::build(text::read(&text)?, Source::Text);
        }
    }
    if perfetto::looks_like(bytes) {
        return match perfetto::read(bytes)? {
            perfetto::Read::Kernel(found) => recording::build(found, Source::Perfetto),
            perfetto::Read::Own(recording) => Ok(recording),
        };
    }
    Err(Error::new(ErrorKind::Foreign, "the file is not a recording of a known format", KNOWN))
}

/// Reads a recording as a [`History`]. A trace of our own says more there than in a [`Recording`].
pub fn history(bytes: &[u8]) -> Result<History> {
    let bytes = &*packed::unpacked(bytes)?;
    if perfetto::looks_like(bytes)
        && let Some(history) = history::Reader::default().read(bytes)?
    {
        return Ok(history);
    }
    Ok(history::from_recording(&read(bytes)?))
}

/// How a perf.data begins, in either byte order.
const PERF_DATA: [&[u8]; 2] = [b"PERFILE2", b"2ELIFREP"];

#[cfg(feature = "perf")]
use perfdata::read as perf_data;

#[cfg(not(feature = "perf"))]
fn perf_data(_: &[u8]) -> Result<kernel::Found> {
    Err(Error::unsupported(
        "perf.data cannot be read: this build leaves its reader out, as that of `make demo` does",
        "`make build` builds it; or make a text of it: perf script -i FILE --ns > FILE.txt",
    ))
}

/// Bytes that show whether a file is text.
const HEAD: usize = 4096;

const KNOWN: &str = "known are perf.data (perf sched record), trace.dat (trace-cmd), text of ftrace, trace-cmd report and \
     perf script, systrace's HTML, Perfetto traces, and trace.pftrace of runweir";

/// Common files that are often taken for recordings.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    let marks: [(&[u8], &str); 7] = [
        (b"\x1f\x8b", "compressed by gzip"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"BZh", "compressed by bzip2"),
        (b"\xfd7zXZ", "compressed by xz"),
        (b"\x7fELF", "a program or library"),
        (b"<?xml", "XML"),
        (b"{", "JSON"),
    ];
    marks.iter().find(|(mark, _)| bytes.starts_with(mark)).map(|m| m.1)
}
