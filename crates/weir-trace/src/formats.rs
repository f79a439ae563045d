// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Tracepoints by their format descriptions, as tracefs gives them: offsets and sizes differ between kernels.

use std::collections::HashMap;

use tracepoint_decode::{PerfByteReader, PerfEventFormat, PerfFieldFormat};

use crate::bytes::Bytes;
use crate::error::{Error, Result};
use crate::kernel::{Names, State, What};

/// Flags in `common_flags`: in a hard or soft interrupt.
const IN_INTERRUPT: u8 = 0x08 | 0x10;

/// Largest number of event formats that a sound file has.
const MANY: u32 = 1 << 20;

#[derive(Clone, Copy)]
enum Kind {
    Switch,
    Waking,
    Wakeup,
    WakeupNew,
    Migrate,
    Fork,
    Rename,
    Frequency,
}

/// The decoders of the events that matter, by the kernel's number.
#[derive(Default)]
pub(crate) struct Formats {
    by_id: HashMap<u32, (Kind, PerfEventFormat)>,
    big: bool,
}

/// A decoded event's header and contents.
pub(crate) struct Decoded {
    pub pid: i32,
    pub irq: bool,
    pub what: What,
}

impl Formats {
    pub fn new(big: bool) -> Self {
        Self { by_id: HashMap::new(), big }
    }

    /// The recorder described `sched_switch`, without which nothing can be said.
    pub fn has_switch(&self) -> bool {
        self.by_id.values().any(|f| matches!(f.0, Kind::Switch))
    }

    pub fn has_waking(&self) -> bool {
        self.by_id.values().any(|f| matches!(f.0, Kind::Waking))
    }

    /// Takes in the format file of an event.
    pub fn add(&mut self, system: &str, text: &str, long_is_64: bool) {
        let name = text.lines().find_map(|l| l.strip_prefix("name:")).unwrap_or("").trim();
        let kind = match (system, name) {
            ("sched", "sched_switch") => Kind::Switch,
            ("sched", "sched_waking") => Kind::Waking,
            ("sched", "sched_wakeup") => Kind::Wakeup,
            ("sched", "sched_wakeup_new") => Kind::WakeupNew,
            ("sched", "sched_migrate_task") => Kind::Migrate,
            ("sched", "sched_process_fork") => Kind::Fork,
            ("task", "task_rename") => Kind::Rename,
            ("power", "cpu_frequency") => Kind::Frequency,
            _ => return,
        };
        // The parser relies on what a kernel's have: ASCII, one list of fields, and all of them within a page.
        if !text.is_ascii() || text.matches("format:").count() > 1 || text.lines().any(has_large_number) {
            return;
        }
        if let Some(format) = PerfEventFormat::parse(long_is_64, system, text) {
            self.by_id.insert(format.id(), (kind, format));
        }
    }

    /// The event that these bytes are, from `common_type` on; `None` where it is of no interest or too short.
    pub fn decode(&self, raw: &[u8], names: &mut Names) -> Option<Decoded> {
        let id = u32::from(if self.big {
            u16::from_be_bytes(raw.get(..2)?.try_into().ok()?)
        } else {
            u16::from_le_bytes(raw.get(..2)?.try_into().ok()?)
        });
        let (kind, format) = self.by_id.get(&id)?;
        let event = Event { raw, fields: format.fields(), big: self.big };
        let flags = event.number("common_flags").unwrap_or(0) as u8;
        let pid = event.number("common_pid")? as i32;
        let int = |name: &str| event.number(name).map(|n| n as i32);
        let what = match kind {
            Kind::Switch => What::Switch {
                prev: int("prev_pid")?,
                prev_comm: names.id(&event.text("prev_comm")?),
                prev_prio: int("prev_prio").unwrap_or(120),
                state: State::of_bits(event.number("prev_state")?),
                next: int("next_pid")?,
                next_comm: names.id(&event.text("next_comm")?),
                next_prio: int("next_prio").unwrap_or(120),
            },
            Kind::Waking | Kind::Wakeup | Kind::WakeupNew => {
                let (pid, comm) = (int("pid")?, names.id(&event.text("comm")?));
                let prio = int("prio").unwrap_or(120);
                let target = int("target_cpu").and_then(|c| c.try_into().ok());
                match kind {
                    Kind::Waking => What::Waking { pid, comm, prio },
                    Kind::Wakeup => What::Wakeup { pid, comm, prio, target },
                    _ => What::WakeupNew { pid, comm, prio, target },
                }
            }
            Kind::Migrate => What::Migrate { pid: int("pid")?, target: int("dest_cpu")?.try_into().ok()? },
            Kind::Fork => What::Fork {
                parent: int("parent_pid")?,
                child: int("child_pid")?,
                comm: names.id(&event.text("child_comm")?),
            },
            Kind::Rename => What::Rename { pid: int("pid")?, comm: names.id(&event.text("newcomm")?) },
            Kind::Frequency => What::Frequency {
                cpu: event.number("cpu_id")? as u32,
                khz: u64::try_from(event.number("state")?).ok()?,
            },
        };
        Some(Decoded { pid, irq: flags & IN_INTERRUPT != 0, what })
    }
}

/// Whether the parser would overflow with a number of this line of a format file.
fn has_large_number(line: &str) -> bool {
    let most = match line {
        _ if line.starts_with("print fmt:") => return false,
        _ if line.starts_with("ID:") => 9,
        _ => 4,
    };
    let words = line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|w| w.starts_with(|c: char| c.is_ascii_digit())).any(|w| w.len() > most)
}

struct Event<'a> {
    raw: &'a [u8],
    fields: &'a [PerfFieldFormat],
    big: bool,
}

impl Event<'_> {
    fn bytes(&self, name: &str) -> Option<&[u8]> {
        let field = self.fields.iter().find(|f| f.name() == name)?;
        field.get_field_bytes(self.raw, PerfByteReader::new(self.big))
    }

    fn number(&self, name: &str) -> Option<i64> {
        let b = self.bytes(name)?;
        let mut wide = [0u8; 8];
        if b.is_empty() || b.len() > 8 {
            return None;
        }
        if self.big {
            wide[8 - b.len()..].copy_from_slice(b);
        } else {
            wide[..b.len()].copy_from_slice(b);
        }
        let highest = if self.big { b[0] } else { b[b.len() - 1] };
        let negative = highest & 0x80 != 0;
        let n = if self.big { u64::from_be_bytes(wide) } else { u64::from_le_bytes(wide) };
        let n = if negative && b.len() == 4 { n | !0 << 32 } else { n };
        Some(n as i64)
    }

    fn text(&self, name: &str) -> Option<String> {
        let b = self.bytes(name)?;
        let end = b.iter().position(|c| *c == 0).unwrap_or(b.len());
        Some(String::from_utf8_lossy(&b[..end]).into_owned())
    }
}

/// Reads the lists of format files: Ftrace's own, which are skipped, and those by system.
pub(crate) fn event_formats(at: &mut Bytes<'_>, formats: &mut Formats, long_is_64: bool) -> Result<()> {
    let systems = count(at.u32()?, "event systems")?;
    for _ in 0..systems {
        let system = at.text()?;
        for _ in 0..count(at.u32()?, "events")? {
            let size = at.u64()?;
            let text = String::from_utf8_lossy(at.take(size)?);
            formats.add(&system, &text, long_is_64);
        }
    }
    Ok(())
}

/// Skips Ftrace's own formats.
pub(crate) fn ftrace_formats(at: &mut Bytes<'_>) -> Result<()> {
    for _ in 0..count(at.u32()?, "ftrace events")? {
        let size = at.u64()?;
        at.take(size)?;
    }
    Ok(())
}

/// `header_page` and `header_event`: bytes of the kernel's `long`.
pub(crate) fn headers(at: &mut Bytes<'_>) -> Result<u64> {
    at.expect(b"header_page\0")?;
    let size = at.u64()?;
    let page = String::from_utf8_lossy(at.take(size)?).into_owned();
    at.expect(b"header_event\0")?;
    let size = at.u64()?;
    at.take(size)?;
    let commit = page.lines().find(|l| l.contains(" commit;"));
    let size = commit.and_then(|l| l.split("size:").nth(1)?.split(';').next()?.trim().parse().ok());
    match size {
        Some(4) => Ok(4),
        Some(8) | None => Ok(8),
        Some(n) => Err(Error::broken(format!("the ring buffer's page header has a length of {n} bytes"))),
    }
}

/// Names of threads by number: lines of `PID NAME`.
pub(crate) fn command_lines(bytes: &[u8], names: &mut Names) -> Vec<(i32, crate::kernel::Comm)> {
    let text = String::from_utf8_lossy(bytes);
    let line = |l: &str| {
        let (pid, name) = l.trim_start().split_once(' ').filter(|l| !l.1.is_empty())?;
        Some((pid.parse().ok()?, names.id(name)))
    };
    text.lines().filter_map(line).collect()
}

fn count(n: u32, what: &str) -> Result<u32> {
    if n <= MANY { Ok(n) } else { Err(Error::broken(format!("it claims to have {n} {what}"))) }
}
