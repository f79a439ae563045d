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
    /// What was written to `trace_marker`.
    Print,
    /// A probe that somebody set: its name and its arguments.
    Probe,
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
            ("ftrace", "print") => Kind::Print,
            // As the kernel describes uprobes and kprobes; USDT are uprobes.
            _ if text.contains(" __probe_ip;") || text.contains(" __probe_func;") => Kind::Probe,
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
            Kind::Print => What::Mark { text: names.id(&event.text("buf")?) },
            Kind::Probe => What::Mark { text: names.id(&event.probe(format.name())) },
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

    /// `name arg1=42`, as far as the first argument: what follows tells nothing apart.
    fn probe(&self, name: &str) -> String {
        let first = self
            .fields
            .iter()
            .find(|f| !f.name().starts_with("common_") && !f.name().starts_with("__probe_"));
        let value = first.and_then(|f| {
            let text = f.field().contains("char") && f.field().contains("__data_loc");
            let value = if text { self.text(f.name()) } else { self.number(f.name()).map(|n| n.to_string()) };
            Some(format!(" {}={}", f.name(), value?))
        });
        format!("{name}{}", value.unwrap_or_default())
    }

    fn text(&self, name: &str) -> Option<String> {
        let b = self.bytes(name)?;
        let end = b.iter().position(|c| *c == 0).unwrap_or(b.len());
        Some(String::from_utf8_lossy(&b[..end]).into_owned())
    }
}

/// Reads the lists of format files: those by system.
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

/// Reads Ftrace's own formats.
pub(crate) fn ftrace_formats(at: &mut Bytes<'_>, formats: &mut Formats, long_is_64: bool) -> Result<()> {
    for _ in 0..count(at.u32()?, "ftrace events")? {
        let size = at.u64()?;
        formats.add("ftrace", &String::from_utf8_lossy(at.take(size)?), long_is_64);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Format files of a kernel, shortened; the common fields are the first eight bytes.
    fn formats() -> Formats {
        let common = "format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";
        let print = "\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n";
        let probe = "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:u64 arg1;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"(%lx) arg1=%Lu\", REC->__probe_ip, REC->arg1\n";
        let bare = "\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"(%lx)\", REC->__probe_ip\n";
        let mut out = Formats::new(false);
        out.add("ftrace", &format!("name: print\nID: 5\n{common}{print}"), true);
        out.add("sdt_web", &format!("name: request_begin\nID: 1700\n{common}{probe}"), true);
        out.add("probe_web", &format!("name: request_end\nID: 1701\n{common}{bare}"), true);
        out
    }

    fn mark(raw: &[u8]) -> Option<(i32, String)> {
        let mut names = Names::default();
        let event = formats().decode(raw, &mut names)?;
        let What::Mark { text } = event.what else { return None };
        Some((event.pid, names.text(text).to_string()))
    }

    #[test]
    fn marks_in_the_kernels_own_form() {
        let raw = |id: u16, rest: &[u8]| {
            let ip = 0x55d0c1u64.to_le_bytes();
            [&id.to_le_bytes()[..], &[0, 0], &20i32.to_le_bytes(), &ip, rest].concat()
        };
        let of = |pid: i32, text: &str| Some((pid, text.to_string()));
        assert_eq!(mark(&raw(5, b"request_begin 7\n\0\0\0")), of(20, "request_begin 7\n"));
        assert_eq!(mark(&raw(1700, &42u64.to_le_bytes())), of(20, "request_begin arg1=42"));
        assert_eq!(mark(&raw(1701, &[])), of(20, "request_end"));
        // Cut off: the name is what is left, and of a print nothing.
        assert_eq!(mark(&raw(1700, &[1, 2])), of(20, "request_begin"));
        assert_eq!(mark(&raw(5, b"")[..10]), None);
        assert_eq!(mark(&raw(6, b"x")), None);
    }
}
