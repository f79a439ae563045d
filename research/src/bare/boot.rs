// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What lies in memory when the machine starts: `runtimes/bare/include/weir/boot.h`.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::bare::MAX_HARTS;
use crate::bare::error::{Error, Result};
use crate::bare::image::{Image, PART};

pub(crate) const RAM: u64 = 0x8000_0000;
const BOOT: u64 = 0x8100_0000;
const PLAN: u64 = 0x8110_0000;
const IMAGES: u64 = 0x8200_0000;
const IMAGE_STRIDE: u64 = 2 * PART;
const MAX_IMAGES: usize = 48;
const MESH: u64 = 0x8800_0000;
const MESH_BYTES: u64 = 1 << 20;
pub(crate) const RESULTS: u64 = 0x8810_0000;
const FREE: u64 = 0x8820_0000;
const FREE_BYTES: u64 = 12 << 20;
/// Records of a hart's trace.
const TRACE_RECORDS: u64 = 1 << 17;
pub(crate) const RECORD_BYTES: u64 = 32;
pub(crate) const MAGIC: u64 = 0x3245_4b52_5449_4557;

const TRACE: u32 = 2;
const MESSAGES: u32 = 4;

const SERVICE: u32 = 1;
const MONITOR: u32 = 2;
const CONSOLE: u32 = 4;

/// One program of a run.
#[derive(Clone, Debug)]
pub struct Program {
    pub name: String,
    pub image: Image,
    /// With its name first.
    pub arguments: Vec<String>,
}

/// All that a machine is given.
#[derive(Clone, Debug)]
pub struct Setup {
    pub harts: u32,
    /// For one CPU: each hart has a scheduler of its own. With `kernel(true, _)` for all harts.
    pub plan: Vec<u8>,
    /// Harts run in parallel, for `kernel(_, true)`: no two runs are alike.
    pub parallel: bool,
    pub trace: bool,
    /// Messages in the trace, too; none of them takes the short way then.
    pub messages: bool,
    /// Time that a hart runs before the next one has its turn.
    pub quantum_ns: u64,
    pub duration_ns: Option<u64>,
    pub seed: u64,
    pub monitor: Image,
    pub console: Image,
    /// The console's arguments: its name, and what it reads. No zero bytes.
    pub console_arguments: Vec<String>,
    pub programs: Vec<Program>,
}

struct Placed<'a> {
    name: String,
    image: &'a Image,
    flags: u32,
    hart: u32,
    arguments: &'a [String],
}

impl Setup {
    /// The hart of each program, in the order of the boot record. Programs begin on hart 0, 1, ….
    fn placed(&self) -> Vec<Placed<'_>> {
        let mut all: Vec<Placed<'_>> = (0..self.harts)
            .map(|hart| Placed {
                name: "monitor".into(),
                image: &self.monitor,
                flags: SERVICE | MONITOR,
                hart,
                arguments: &[],
            })
            .collect();
        all.push(Placed {
            name: "console".into(),
            image: &self.console,
            flags: SERVICE | CONSOLE,
            hart: 0,
            arguments: &self.console_arguments,
        });
        for (hart, p) in (0..).zip(&self.programs) {
            let (name, arguments) = (p.name.clone(), p.arguments.as_slice());
            all.push(Placed { name, image: &p.image, flags: 0, hart: hart % self.harts, arguments });
        }
        all
    }

    /// Names of the domains, by number.
    pub(crate) fn domains(&self) -> Vec<String> {
        self.placed().into_iter().map(|p| p.name).collect()
    }

    pub(crate) fn trace_at(&self) -> u64 {
        FREE + u64::from(self.harts) * FREE_BYTES
    }

    pub(crate) fn trace_records(&self) -> u64 {
        if self.trace { TRACE_RECORDS } else { 0 }
    }

    /// Bytes of the machine's memory, whole mebibytes.
    pub(crate) fn ram_bytes(&self) -> u64 {
        let end = self.trace_at() + u64::from(self.harts) * self.trace_records() * RECORD_BYTES;
        (end - RAM).next_multiple_of(2 << 20)
    }

    /// Fill the machine's memory.
    pub(crate) fn write(&self, file: &File) -> Result<()> {
        let trouble = |e: std::io::Error| {
            Error::system(
                format!("the machine's memory cannot be written: {e}"),
                "make room in the folder of temporary files",
            )
        };
        let put = |at: u64, bytes: &[u8]| file.write_all_at(bytes, at - RAM).map_err(trouble);
        if !(1..=MAX_HARTS).contains(&self.harts) {
            return Err(Error::user(format!("{} harts", self.harts), format!("ask for 1 to {MAX_HARTS}")));
        }
        let placed = self.placed();
        if placed.len() > MAX_IMAGES {
            return Err(Error::user(
                format!("{} programs", self.programs.len()),
                format!("on {} harts there is room for {}", self.harts, MAX_IMAGES - 1 - self.harts as usize),
            ));
        }
        if PLAN + self.plan.len() as u64 > IMAGES {
            return Err(Error::user(
                format!("the plan has {} bytes", self.plan.len()),
                "use a smaller topology",
            ));
        }
        file.set_len(self.ram_bytes()).map_err(trouble)?;
        let mut record: Vec<u8> = Vec::new();
        let mut long = |v: u64| record.extend(v.to_le_bytes());
        let flags = [(self.trace, TRACE), (self.messages, MESSAGES)];
        let flags: u32 = flags.iter().filter(|(on, _)| *on).map(|(_, bit)| bit).sum();
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let arguments_at = BOOT + 64 * 1024;
        for v in [
            MAGIC,
            pair(self.harts, flags),
            self.quantum_ns,
            self.duration_ns.unwrap_or(0),
            self.seed,
            PLAN,
            self.plan.len() as u64,
            self.trace_at(),
            self.trace_records(),
            RESULTS,
            FREE,
            FREE + u64::from(self.harts) * FREE_BYTES,
            MESH,
            MESH_BYTES,
            pair(placed.len() as u32, 0),
        ] {
            long(v);
        }
        let mut arguments: Vec<u8> = Vec::new();
        for (i, p) in (0..).zip(&placed) {
            let base = IMAGES + i * IMAGE_STRIDE;
            let (text, data) = p.image.at(base);
            put(base, &text)?;
            put(base + PART, &data)?;
            let mut name = [0; 32];
            for (to, from) in name.iter_mut().zip(p.name.bytes().take(31)) {
                *to = from;
            }
            record.extend(name);
            let from = arguments.len();
            for a in p.arguments {
                arguments.extend(a.bytes());
                arguments.push(0);
            }
            for v in [
                base,
                p.image.text_region(),
                base + PART,
                p.image.data_region(),
                pair(p.flags, p.hart),
                p.arguments.len() as u64,
                arguments_at + from as u64,
                (arguments.len() - from) as u64,
            ] {
                record.extend(v.to_le_bytes());
            }
        }
        if arguments.len() > 16 * 1024 {
            return Err(Error::user("the programs' arguments are too long", "give at most 16 KiB"));
        }
        put(BOOT, &record)?;
        put(arguments_at, &arguments)?;
        put(PLAN, &self.plan)
    }
}
