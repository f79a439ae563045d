// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Perfetto traces of Linux and Android: the scheduler's ftrace events, whole or in the compact form.
//!
//! Numbers of fields are those of Perfetto's public message definitions.

use crate::error::{Error, Result};
use crate::kernel::{Found, Stamped, State, What};
use crate::own::{self, Own};
use crate::packed::unpack;
use crate::recording::Recording;
use crate::wire::{Value, fields, packed};

/// Fields of a packet with further packets, compressed.
const ZLIB: u32 = 50;
const ZSTD: u32 = 133;

/// Most bytes that compressed packets may have together.
const MAX_UNPACKED: usize = 4 << 30;

/// The file begins with a packet: field 1, a length, and a field of a packet.
pub(crate) fn looks_like(bytes: &[u8]) -> bool {
    let Some(Ok((1, Value::Bytes(packet)))) = fields(bytes).next() else { return false };
    !packet.is_empty() && fields(packet).all(|f| f.is_ok())
}

/// What a Perfetto trace holds.
pub(crate) enum Read {
    Kernel(Found),
    /// A trace that Runweir wrote.
    Own(Recording),
}

pub(crate) fn read(bytes: &[u8]) -> Result<Read> {
    let mut state = Reader { found: Found::default(), own: Own::default(), unpacked: 0, bundles: 0 };
    state.trace(bytes, 0)?;
    let Reader { mut found, own, bundles, .. } = state;
    if bundles == 0 {
        if let Some(recording) = own.finish()? {
            return Ok(Read::Own(recording));
        }
        return Err(Error::lacking(
            "the Perfetto trace has no events of the scheduler",
            "record with the data source linux.ftrace and the events sched/sched_switch and sched/sched_waking",
        ));
    }
    if !found.events.iter().any(|e| matches!(e.what, What::Switch { .. })) {
        return Err(Error::lacking(
            "the Perfetto trace has no event sched_switch",
            "add sched/sched_switch to the ftrace_events of the configuration",
        ));
    }
    if !found.events.iter().any(|e| matches!(e.what, What::Waking { .. })) {
        found.notes.push("no event sched_waking was recorded".into());
    }
    if found.events.iter().any(|e| e.irq.is_none()) {
        found.notes.push("the trace does not say which wake-ups interrupts made".into());
    }
    Ok(Read::Kernel(found))
}

struct Reader {
    found: Found,
    own: Own,
    unpacked: usize,
    bundles: u64,
}

impl Reader {
    fn trace(&mut self, bytes: &[u8], depth: u32) -> Result<()> {
        for field in fields(bytes) {
            if let (1, Value::Bytes(packet)) = field? {
                self.packet(packet, depth)?;
            }
        }
        Ok(())
    }

    fn packet(&mut self, packet: &[u8], depth: u32) -> Result<()> {
        for field in fields(packet) {
            match field? {
                (1, bundle) => {
                    self.bundles += 1;
                    self.bundle(bundle.bytes())?;
                }
                (2, tree) => self.process_tree(tree.bytes())?,
                (number @ (ZLIB | ZSTD), packets) if depth == 0 => {
                    let (packets, room) = (packets.bytes(), MAX_UNPACKED - self.unpacked);
                    let broken =
                        |e: String| Error::broken(format!("compressed packets of the Perfetto trace: {e}"));
                    let whole = match number {
                        ZLIB => miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packets, room)
                            .map_err(|e| broken(e.to_string()))?,
                        _ => unpack(packets, room as u64).map_err(broken)?,
                    };
                    self.unpacked += whole.len();
                    self.trace(&whole, 1)?;
                }
                _ => {}
            }
        }
        self.own.packet(packet)
    }

    /// Names of threads: processes with command lines, and threads.
    fn process_tree(&mut self, tree: &[u8]) -> Result<()> {
        for field in fields(tree) {
            let (number, item) = field?;
            let (mut tid, mut name) = (None, None);
            for field in fields(item.bytes()) {
                match (number, field?) {
                    (1 | 2, (1, v)) => tid = Some(v.int()),
                    (1, (3, v)) if name.is_none() => {
                        let path = v.text();
                        name = Some(path.rsplit('/').next().unwrap_or("").to_string());
                    }
                    (2, (2, v)) => name = Some(v.text()),
                    _ => {}
                }
            }
            if let (Some(tid), Some(name)) = (tid, name.filter(|n| !n.is_empty())) {
                let comm = self.found.names.id(&name);
                self.found.comms.push((tid, comm));
            }
        }
        Ok(())
    }

    fn bundle(&mut self, bundle: &[u8]) -> Result<()> {
        let mut cpu = 0;
        for field in fields(bundle) {
            if let (1, v) = field? {
                cpu = v.number() as u32;
            }
        }
        for field in fields(bundle) {
            match field? {
                (2, event) => self.event(event.bytes(), cpu)?,
                (3, v) if v.number() > 0 => self.found.lost += 1,
                (4, compact) => self.compact(compact.bytes(), cpu)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &[u8], cpu: u32) -> Result<()> {
        let (mut t_ns, mut pid, mut irq, mut body) = (0, -1, None, None);
        for field in fields(event) {
            match field? {
                (1, v) => t_ns = v.number(),
                (2, v) => pid = v.int(),
                (5, Value::Number(flags)) => irq = Some(flags & 0x18 != 0),
                (n @ (3 | 4 | 11 | 17 | 20 | 114 | 236 | 239), Value::Bytes(b)) => body = Some((n, b)),
                _ => {}
            }
        }
        let Some((number, body)) = body else { return Ok(()) };
        let mut f: [Option<Value<'_>>; 8] = [None; 8];
        for field in fields(body) {
            let (n, v) = field?;
            if let Some(slot) = f.get_mut(n as usize) {
                *slot = Some(v);
            }
        }
        let names = &mut self.found.names;
        let int = |i: usize| f[i].map_or(0, Value::int);
        let mut name = |i: usize| names.id(&f[i].map_or_else(String::new, Value::text));
        let what = match number {
            4 => What::Switch {
                prev: int(2),
                prev_comm: name(1),
                prev_prio: int(3),
                state: State::of_bits(f[4].map_or(0, Value::number) as i64),
                next: int(6),
                next_comm: name(5),
                next_prio: int(7),
            },
            3 => What::Mark { text: name(2) },
            11 => What::Frequency { khz: f[1].map_or(0, Value::number), cpu: int(2) as u32 },
            20 => What::Waking { pid: int(2), comm: name(1), prio: int(3) },
            17 => What::Wakeup { pid: int(2), comm: name(1), prio: int(3), target: Some(int(5) as u32) },
            114 => What::WakeupNew { pid: int(2), comm: name(1), prio: int(3), target: Some(int(5) as u32) },
            236 => What::Rename { pid: int(1), comm: name(3) },
            _ => What::Fork { comm: name(3), parent: int(2), child: int(4) },
        };
        self.found.events.push(Stamped { t_ns, cpu, pid, irq, what });
        Ok(())
    }

    /// Columns of switches and wake-ups; times are differences, names are interned.
    fn compact(&mut self, compact: &[u8], cpu: u32) -> Result<()> {
        let mut texts = Vec::new();
        let mut columns: [Vec<u64>; 13] = Default::default();
        for field in fields(compact) {
            match field? {
                (5, v) => texts.push(self.found.names.id(&v.text())),
                (n @ (1..=4 | 6..=12), v) => columns[n as usize].extend(packed(v)),
                _ => {}
            }
        }
        let unknown = self.found.names.id("");
        let text = |i: u64| usize::try_from(i).ok().and_then(|i| texts.get(i)).copied().unwrap_or(unknown);
        let column = |n: usize, i: usize| columns[n].get(i).copied();
        let short = || Error::broken("a table of the Perfetto trace has columns of different lengths");
        let mut t_ns = 0u64;
        // The task that leaves is the one that came before; the first one is known from the CPU's next switch only.
        let mut before: Option<(i32, crate::kernel::Comm, i32)> = self.own.last_on(cpu);
        for (i, gap) in columns[1].iter().enumerate() {
            t_ns = t_ns.wrapping_add(*gap);
            let state = State::of_bits(column(2, i).ok_or_else(short)? as i64);
            let next = column(3, i).ok_or_else(short)? as i32;
            let next_prio = column(4, i).ok_or_else(short)? as i32;
            let next_comm = text(column(6, i).ok_or_else(short)?);
            let (prev, prev_comm, prev_prio) = before.unwrap_or((-1, unknown, 120));
            let what = What::Switch { prev, prev_comm, prev_prio, state, next, next_comm, next_prio };
            self.found.events.push(Stamped { t_ns, cpu, pid: prev, irq: Some(false), what });
            before = Some((next, next_comm, next_prio));
        }
        self.own.set_last_on(cpu, before);
        let mut t_ns = 0u64;
        for (i, gap) in columns[7].iter().enumerate() {
            t_ns = t_ns.wrapping_add(*gap);
            let pid = column(8, i).ok_or_else(short)? as i32;
            let prio = column(10, i).ok_or_else(short)? as i32;
            let comm = text(column(11, i).ok_or_else(short)?);
            let irq = column(12, i).map(|f| f & 0x18 != 0);
            // The waker is the thread that runs on this CPU: the story knows.
            let what = What::Waking { pid, comm, prio };
            self.found.events.push(Stamped { t_ns, cpu, pid: own::WHO_RUNS, irq, what });
        }
        Ok(())
    }
}
