// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `trace.dat` of trace-cmd, versions 6 and 7, after `trace-cmd.dat.v6(5)` and `trace-cmd.dat.v7(5)`.

use std::io::Read;

use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::formats::{self, Formats};
use crate::kernel::Found;
use crate::ring::{self, Layout};

/// How every such file begins; the tracing data within perf.data too.
pub(crate) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// Most bytes that a compressed part may have: a small file cannot fill the memory.
const MAX_PART: u64 = 1 << 30;

/// Most options and sections of a sound file.
const MANY: usize = 100_000;

/// What precedes everything else.
struct Start {
    version: String,
    big: bool,
    page: u32,
}

fn start(at: &mut Bytes<'_>) -> Result<Start> {
    at.expect(MAGIC)?;
    let version = at.text()?;
    let big = match at.u8()? {
        0 => false,
        1 => true,
        n => return Err(Error::broken(format!("the byte order of trace.dat is {n}, neither 0 nor 1"))),
    };
    at.big = big;
    let _user_long = at.u8()?;
    let page = at.u32()?;
    if !(1024..=1 << 26).contains(&page) {
        return Err(Error::broken(format!("trace.dat claims pages of {page} bytes")));
    }
    Ok(Start { version, big, page })
}

/// The part of perf.data that describes the events: the same as the head of version 6.
#[cfg(feature = "perf")]
pub(crate) fn tracing_data(bytes: &[u8], found: &mut Found) -> Result<Formats> {
    let mut at = Bytes::new(bytes, false, "the tracing data of perf.data");
    let Start { big, .. } = start(&mut at)?;
    let mut formats = Formats::new(big);
    head(&mut at, &mut formats, found)?;
    Ok(formats)
}

/// Headers, formats, symbols, texts and names; bytes of the kernel's `long`. perf leaves the names out.
fn head(at: &mut Bytes<'_>, formats: &mut Formats, found: &mut Found) -> Result<u64> {
    let long = formats::headers(at)?;
    formats::ftrace_formats(at, formats, long == 8)?;
    formats::event_formats(at, formats, long == 8)?;
    for _ in ["kallsyms", "printk"] {
        if at.left() == 0 {
            return Ok(long);
        }
        let size = u64::from(at.u32()?);
        at.take(size)?;
    }
    if at.left() >= 8 {
        let size = at.u64()?;
        found.comms = formats::command_lines(at.take(size)?, &mut found.names);
    }
    Ok(long)
}

pub(crate) fn read(bytes: &[u8]) -> Result<Found> {
    let mut at = Bytes::new(bytes, false, "trace.dat");
    let begin = start(&mut at)?;
    let mut found = Found::default();
    match begin.version.as_str() {
        "6" => version_6(at, &begin, &mut found)?,
        "7" => version_7(at, &begin, &mut found)?,
        v => {
            let v: String = v.chars().take(20).collect();
            return Err(Error::unsupported(
                format!("trace.dat has version `{}`; 6 and 7 are supported", v.escape_debug()),
                "convert it: trace-cmd convert --file-version 7 -i OLD -o NEW",
            ));
        }
    }
    Ok(found)
}

/// Ftrace's clock in ns.
struct Clock {
    name: String,
    /// Multiplier, shift and offset of a clock that counts cycles.
    scale: Option<(u32, u32, u64)>,
}

impl Clock {
    fn check(&self) -> Result<()> {
        let counts = matches!(self.name.as_str(), "counter" | "uptime")
            || self.name.contains("tsc") && self.scale.is_none();
        if !counts {
            return Ok(());
        }
        Err(Error::unsupported(
            format!("the trace clock `{}` does not count nanoseconds", self.name),
            "record with trace-cmd record -C mono, or with the default clock",
        ))
    }

    fn ns(&self, t: u64) -> u64 {
        match self.scale {
            Some((mul, shift, offset)) => {
                let ns = (u128::from(t) * u128::from(mul)) >> shift.min(127);
                (ns as u64).wrapping_sub(offset)
            }
            None => t,
        }
    }
}

/// The clock in brackets of `trace_clock`'s contents: `[local] global counter`.
fn chosen(text: &str) -> String {
    let inner = text.split_once('[').and_then(|t| t.1.split_once(']')).map(|t| t.0);
    inner.unwrap_or(text).trim_matches(['\0', '\n', ' ']).to_string()
}

fn need_switch(formats: &Formats, found: &mut Found) -> Result<()> {
    if !formats.has_switch() {
        return Err(Error::lacking("the recording does not describe the event sched_switch", RECORD));
    }
    if !formats.has_waking() {
        found.notes.push("the kernel of the recording has no event sched_waking".into());
    }
    Ok(())
}

pub(crate) const RECORD: &str = "record at least sched_switch and sched_waking, for example: \
     trace-cmd record -e sched_switch -e sched_waking -e sched_wakeup_new -e sched_process_fork COMMAND";

fn version_6(mut at: Bytes<'_>, begin: &Start, found: &mut Found) -> Result<()> {
    let mut formats = Formats::new(begin.big);
    let long = head(&mut at, &mut formats, found)?;
    need_switch(&formats, found)?;
    let cpus = at.u32()?;
    if cpus > 1 << 20 {
        return Err(Error::broken(format!("trace.dat claims {cpus} CPUs")));
    }
    found.nr_cpus = Some(cpus);
    let mut clock = Clock { name: String::new(), scale: None };
    loop {
        match at.take(10)? {
            b"options  \0" => loop {
                let id = at.u16()?;
                if id == 0 {
                    break;
                }
                let size = u64::from(at.u32()?);
                let data = at.take(size)?;
                option(id, data, begin.big, &mut clock, found)?;
            },
            b"flyrecord\0" => break,
            b"latency  \0" => {
                return Err(Error::unsupported(
                    "trace.dat holds a latency trace as text, no events",
                    "record events: trace-cmd record -e sched_switch -e sched_waking COMMAND",
                ));
            }
            _ => {
                return Err(Error::broken(format!(
                    "trace.dat: no known part begins at byte {}",
                    at.at() - 10
                )));
            }
        }
    }
    if at.left() >= 10 {
        // Later writers name the clock between the mark and the table.
        let mut peek = at;
        let name = clock_before_table(&mut peek, cpus);
        if let Some((name, after)) = name {
            clock.name = chosen(&name);
            at = after;
        }
    }
    clock.check()?;
    let layout = Layout { big: begin.big, long, page: begin.page.into() };
    for cpu in 0..cpus {
        let (offset, size) = (at.u64()?, at.u64()?);
        let data = at.from(offset)?.take(size)?;
        ring::pages(data, cpu, layout, &formats, &|t| clock.ns(t), found)?;
    }
    Ok(())
}

/// Some files have the clock's name, with its length, before the table of CPUs: there the first offset would be
/// the length of a short text.
fn clock_before_table<'a>(at: &mut Bytes<'a>, cpus: u32) -> Option<(String, Bytes<'a>)> {
    let length = at.u64().ok()?;
    if cpus == 0 || !(1..512).contains(&length) {
        return None;
    }
    let text = at.take(length).ok()?;
    Some((String::from_utf8_lossy(text).into_owned(), *at))
}

/// Options that both versions have.
fn option(id: u16, data: &[u8], big: bool, clock: &mut Clock, found: &mut Found) -> Result<()> {
    let mut at = Bytes::new(data, big, "an option of trace.dat");
    match id {
        // CPUSTAT: text with a line `overrun: N` and `dropped events: N`.
        2 => {
            for line in String::from_utf8_lossy(data).lines() {
                let lost = ["overrun:", "commit overrun:", "dropped events:"].iter().find_map(|k| {
                    line.trim().strip_prefix(k)?.trim().trim_end_matches('\0').parse::<u64>().ok()
                });
                found.lost += lost.unwrap_or(0).min(1 << 40);
            }
        }
        4 => clock.name = chosen(&String::from_utf8_lossy(data)),
        8 => found.nr_cpus = Some(at.u32()?),
        14 => clock.scale = Some((at.u32()?, at.u32()?, at.u64()?)),
        _ => {}
    }
    Ok(())
}

/// A buffer of version 7.
struct Buffer {
    clock: String,
    page: u32,
    cpus: Vec<(u32, u64, u64)>,
    compressed: bool,
}

fn version_7(mut at: Bytes<'_>, begin: &Start, found: &mut Found) -> Result<()> {
    let method = at.text()?;
    let _version = at.text()?;
    if !matches!(method.as_str(), "zstd" | "zlib" | "none") {
        let method: String = method.chars().take(20).collect();
        return Err(Error::unsupported(
            format!(
                "trace.dat is compressed by `{}`; zstd, zlib and none are supported",
                method.escape_debug()
            ),
            "convert it: trace-cmd convert --compression none -i OLD -o NEW",
        ));
    }
    let unpack = |data: &[u8], size: u64| unpack(&method, data, size);
    let mut next = at.u64()?;
    let mut formats = Formats::new(begin.big);
    let mut clock = Clock { name: String::new(), scale: None };
    let mut buffers = Vec::new();
    let mut places: [Option<u64>; 3] = [None; 3];
    let mut seen = 0;
    while next != 0 {
        seen += 1;
        if seen > MANY {
            return Err(Error::broken("trace.dat: its lists of options refer to one another in a circle"));
        }
        let data = section(at.from(next)?, 0, &unpack)?;
        let mut options = Bytes::new(&data, begin.big, "the options of trace.dat");
        next = 0;
        while options.left() >= 6 {
            let (id, size) = (options.u16()?, options.u32()?);
            let value = options.take(size.into())?;
            let mut v = Bytes::new(value, begin.big, "an option of trace.dat");
            match id {
                0 => {
                    next = v.u64()?;
                    break;
                }
                3 => buffers.push(buffer(&mut v, at)?),
                16..=18 => places[usize::from(id) - 16] = Some(v.u64()?),
                21 => {
                    let data = section(at.from(v.u64()?)?, 21, &unpack)?;
                    let mut at = Bytes::new(&data, begin.big, "the names of trace.dat");
                    let size = at.u64()?;
                    found.comms = formats::command_lines(at.take(size)?, &mut found.names);
                }
                id => option(id, value, begin.big, &mut clock, found)?,
            }
        }
    }
    let part = |place: Option<u64>, id: u16| match place {
        Some(place) => section(at.from(place)?, id, &unpack),
        None => Err(Error::broken(format!("trace.dat has no section {id}"))),
    };
    let header = part(places[0], 16)?;
    let long = formats::headers(&mut Bytes::new(&header, begin.big, "the headers of trace.dat"))?;
    if places[1].is_some() {
        let own = part(places[1], 17)?;
        let mut list = Bytes::new(&own, begin.big, "ftrace's formats in trace.dat");
        formats::ftrace_formats(&mut list, &mut formats, long == 8)?;
    }
    let events = part(places[2], 18)?;
    let mut list = Bytes::new(&events, begin.big, "the event formats of trace.dat");
    formats::event_formats(&mut list, &mut formats, long == 8)?;
    need_switch(&formats, found)?;
    if buffers.is_empty() {
        return Err(Error::lacking("trace.dat holds no events", RECORD));
    }
    for buffer in buffers {
        clock.name = chosen(&buffer.clock);
        clock.check()?;
        let layout = Layout { big: begin.big, long, page: buffer.page.into() };
        for (cpu, offset, size) in buffer.cpus {
            if size == 0 {
                continue;
            }
            let whole;
            let data = if buffer.compressed {
                // The size leaves out the number of chunks, so the chunks say themselves where they end.
                whole = chunks(at.from(offset)?, &unpack)?;
                &whole[..]
            } else {
                at.from(offset)?.take(size)?
            };
            found.nr_cpus = Some(found.nr_cpus.unwrap_or(0).max(cpu.saturating_add(1)));
            ring::pages(data, cpu, layout, &formats, &|t| clock.ns(t), found)?;
        }
    }
    Ok(())
}

fn buffer(v: &mut Bytes<'_>, file: Bytes<'_>) -> Result<Buffer> {
    let section = v.u64()?;
    let _name = v.text()?;
    let clock = v.text()?;
    let page = v.u32()?;
    if !(1024..=1 << 26).contains(&page) {
        return Err(Error::broken(format!("a buffer of trace.dat claims pages of {page} bytes")));
    }
    let nr = v.u32()?;
    let mut cpus = Vec::new();
    for _ in 0..nr.min(1 << 20) {
        cpus.push((v.u32()?, v.u64()?, v.u64()?));
    }
    let mut head = file.from(section)?;
    let _id = head.u16()?;
    let compressed = head.u16()? & 1 != 0;
    Ok(Buffer { clock, page, cpus, compressed })
}

/// Unpacks bytes that become so many.
type Unpack<'a> = &'a dyn Fn(&[u8], u64) -> Result<Vec<u8>>;

/// The contents of a section, unpacked.
fn section(mut at: Bytes<'_>, id: u16, unpack: Unpack<'_>) -> Result<Vec<u8>> {
    let (is, flags) = (at.u16()?, at.u16()?);
    let _description = at.u32()?;
    let size = at.u64()?;
    if is != id {
        return Err(Error::broken(format!(
            "trace.dat: a section {id} was expected where one of kind {is} is"
        )));
    }
    if flags & 1 == 0 {
        return Ok(at.take(size)?.to_vec());
    }
    let (packed, full) = (at.u32()?, at.u32()?);
    unpack(at.take(packed.into())?, full.into())
}

/// The data of a CPU: chunks that are packed one by one.
fn chunks(mut at: Bytes<'_>, unpack: Unpack<'_>) -> Result<Vec<u8>> {
    let mut whole = Vec::new();
    for _ in 0..at.u32()? {
        let (packed, full) = (at.u32()?, at.u32()?);
        whole.extend(unpack(at.take(packed.into())?, full.into())?);
        if whole.len() as u64 > 16 * MAX_PART {
            return Err(Error::unsupported(
                "the events of one CPU unpack to more than 16 GiB",
                "record a shorter time",
            ));
        }
    }
    Ok(whole)
}

fn unpack(method: &str, data: &[u8], size: u64) -> Result<Vec<u8>> {
    if size > MAX_PART {
        return Err(Error::broken(format!("a packed part of trace.dat claims {size} bytes")));
    }
    let failed = |e: String| Error::broken(format!("a packed part of trace.dat cannot be unpacked: {e}"));
    let mut out = Vec::new();
    match method {
        "zstd" => {
            let mut stream =
                ruzstd::decoding::StreamingDecoder::new(data).map_err(|e| failed(e.to_string()))?;
            stream.by_ref().take(size).read_to_end(&mut out).map_err(|e| failed(e.to_string()))?;
        }
        "zlib" => {
            out = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(data, size as usize)
                .map_err(|e| failed(e.to_string()))?;
        }
        _ => out = data.to_vec(),
    }
    if out.len() as u64 != size {
        return Err(failed(format!("{} of {size} bytes", out.len())));
    }
    Ok(out)
}
