// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Events as text: tracefs's `trace`, `trace-cmd report` (with and without `-R`), `perf script`.
//!
//! All three have a line an event: thread and number, the CPU in brackets, perhaps flags, the time in seconds
//! and a colon, the event's name and a colon, its fields.

use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{Found, Names, Stamped, State, What};
use crate::tracedat::RECORD;

/// A line without its fields.
struct Line<'a> {
    comm: &'a str,
    pid: i32,
    cpu: u32,
    irq: Option<bool>,
    t_ns: u64,
    event: &'a str,
    fields: &'a str,
}

/// The first lines have an event of the scheduler in a format that is known.
pub(crate) fn looks_like(text: &str) -> bool {
    text.lines().take(5000).any(|l| line(l).is_some_and(|l| l.event.starts_with("sched_")))
}

pub(crate) fn read(text: &str) -> Result<Found> {
    let mut found = Found::default();
    let (mut switches, mut wakings, mut unread) = (0u64, 0u64, 0u64);
    let mut flags = true;
    for raw in text.lines() {
        if let Some(n) = lost(raw) {
            found.lost += n;
        }
        let Some(l) = line(raw) else { continue };
        let Some(what) = fields(&l, &mut found.names) else {
            unread += u64::from(matches!(l.event, "sched_switch" | "sched_waking" | "sched_wakeup"));
            continue;
        };
        switches += u64::from(matches!(what, What::Switch { .. }));
        wakings += u64::from(matches!(what, What::Waking { .. }));
        flags &= l.irq.is_some();
        let comm = found.names.id(l.comm);
        if l.pid > 0 && found.events.len() < 100_000 {
            found.comms.push((l.pid, comm));
        }
        found.events.push(Stamped { t_ns: l.t_ns, cpu: l.cpu, pid: l.pid, irq: l.irq, what });
    }
    if switches == 0 {
        if unread > 0 {
            return Err(Error::new(
                ErrorKind::Broken,
                format!(
                    "{unread} lines have events of the scheduler, but not the fields that they should have"
                ),
                "save the text as the tool prints it, without cutting columns",
            ));
        }
        return Err(Error::lacking("the text has no event sched_switch", RECORD));
    }
    if unread > 0 {
        found.notes.push(format!("{unread} lines of events could not be read"));
    }
    if wakings == 0 {
        found.notes.push("no event sched_waking was recorded".into());
    }
    if !flags {
        found
            .notes
            .push("the text does not say which wake-ups interrupts made (tracefs's own text does)".into());
    }
    found.comms.sort_by_key(|c| c.0);
    found.comms.dedup_by_key(|c| c.0);
    Ok(found)
}

/// `CPU:1 [LOST 123 EVENTS]`.
fn lost(line: &str) -> Option<u64> {
    let rest = line.split_once("[LOST ")?.1;
    rest.split(' ').next()?.parse::<u64>().ok().map(|n| n.min(1 << 40))
}

fn line(raw: &str) -> Option<Line<'_>> {
    let raw = raw.trim();
    if raw.starts_with('#') {
        return None;
    }
    // The first group of digits in brackets that stands alone is the CPU.
    let mut from = 0;
    let (head, cpu, rest) = loop {
        let open = from + raw[from..].find('[')?;
        let close = open + raw[open..].find(']')?;
        let inner = &raw[open + 1..close];
        if !inner.is_empty() && inner.len() <= 6 && inner.bytes().all(|b| b.is_ascii_digit()) {
            break (raw[..open].trim_end(), inner.parse().ok()?, raw[close + 1..].trim_start());
        }
        from = close + 1;
    };
    let head = match head.rsplit_once('(') {
        // The number of the process, which some settings show: `name-12 ( 10)`.
        Some((before, inner)) if inner.ends_with(')') => before.trim_end(),
        _ => head,
    };
    let cut = head.rfind(|c: char| !(c.is_ascii_digit() || c == '/'))?;
    // The separator has one byte, so `number` begins at a character.
    if !matches!(head.as_bytes()[cut], b'-' | b' ' | b'\t') {
        return None;
    }
    let (comm, number) = (&head[..cut], &head[cut + 1..]);
    let pid: i32 = number.rsplit('/').next()?.parse().ok()?;
    let mut words = rest.splitn(2, char::is_whitespace);
    let mut word = words.next()?;
    let mut rest = words.next()?.trim_start();
    let mut irq = None;
    if !word.ends_with(':') {
        // `d.h3.`: the third is the kind of interrupt.
        irq = word.as_bytes().get(2).map(|f| matches!(f, b'h' | b'H' | b's' | b'z' | b'Z'));
        let mut words = rest.splitn(2, char::is_whitespace);
        word = words.next()?;
        rest = words.next()?.trim_start();
    }
    let t_ns = seconds(word.strip_suffix(':')?)?;
    let (event, fields) = rest.split_once(": ").or_else(|| rest.split_once(':'))?;
    let event = event.rsplit(':').next()?.trim();
    Some(Line { comm: comm.trim_end(), pid, cpu, irq, t_ns, event, fields: fields.trim() })
}

/// `12.973772` as ns.
fn seconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    if part.is_empty() || part.len() > 9 || !part.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let ns: u64 = part.parse::<u64>().ok()? * 10u64.pow(9 - part.len() as u32);
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns)
}

/// The value of `key=` up to the next key, which begins behind the last blank before the next `=`.
fn value<'a>(fields: &'a str, key: &str) -> Option<&'a str> {
    let mut from = 0;
    loop {
        let at = from + fields[from..].find(key)?;
        let begins = at == 0 || fields.as_bytes()[at - 1] == b' ';
        let rest = &fields[at + key.len()..];
        if begins && rest.starts_with('=') {
            let rest = &rest[1..];
            let end = match rest.find('=') {
                Some(next) => rest[..next].rfind(' ').unwrap_or(next),
                None => rest.len(),
            };
            let value = rest[..end].trim_end();
            return Some(value.strip_suffix("==>").unwrap_or(value).trim_end());
        }
        from = at + key.len();
    }
}

fn int(fields: &str, key: &str) -> Option<i32> {
    value(fields, key)?.parse().ok()
}

/// `name:12 [120]` and what follows.
fn brief(text: &str) -> Option<(&str, i32, i32, &str)> {
    let (name, rest) = text.trim().split_once(" [")?;
    let (prio, rest) = rest.split_once(']')?;
    let (comm, pid) = name.rsplit_once(':')?;
    Some((comm, pid.parse().ok()?, prio.trim().parse().ok()?, rest.trim()))
}

fn fields(l: &Line<'_>, names: &mut Names) -> Option<What> {
    let f = l.fields;
    Some(match l.event {
        "sched_switch" if f.contains("prev_pid=") => {
            let (prev, next) = f.split_once("next_comm=")?;
            let next_comm = next.split_once(" next_pid=")?.0;
            let prev_comm = value(prev, "prev_comm")?;
            What::Switch {
                prev: int(prev, "prev_pid")?,
                prev_comm: names.id(prev_comm),
                prev_prio: int(prev, "prev_prio")?,
                state: State::of_text(value(prev, "prev_state")?)?,
                next: int(next, "next_pid")?,
                next_comm: names.id(next_comm),
                next_prio: int(next, "next_prio")?,
            }
        }
        "sched_switch" => {
            let (prev, next) = f.split_once("==>")?;
            let (prev_comm, prev, prev_prio, state) = brief(prev)?;
            let (next_comm, next, next_prio, _) = brief(next)?;
            let (prev_comm, next_comm) = (names.id(prev_comm), names.id(next_comm));
            What::Switch {
                prev,
                prev_comm,
                prev_prio,
                state: State::of_text(state)?,
                next,
                next_comm,
                next_prio,
            }
        }
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
            let (comm, pid, prio, target) = if f.contains("pid=") {
                (value(f, "comm")?, int(f, "pid")?, int(f, "prio")?, value(f, "target_cpu"))
            } else {
                let (comm, pid, prio, _) = brief(f)?;
                (comm, pid, prio, f.rsplit_once("CPU:").map(|(_, cpu)| cpu))
            };
            let target = target.and_then(|cpu| cpu.trim().parse().ok());
            let comm = names.id(comm);
            match l.event {
                "sched_waking" => What::Waking { pid, comm, prio },
                "sched_wakeup" => What::Wakeup { pid, comm, prio, target },
                _ => What::WakeupNew { pid, comm, prio, target },
            }
        }
        "sched_migrate_task" => {
            What::Migrate { pid: int(f, "pid")?, target: value(f, "dest_cpu")?.trim().parse().ok()? }
        }
        "sched_process_fork" => What::Fork {
            parent: int(f, "pid")?,
            child: int(f, "child_pid")?,
            comm: names.id(value(f, "child_comm")?),
        },
        "task_rename" => What::Rename { pid: int(f, "pid")?, comm: names.id(value(f, "newcomm")?) },
        "cpu_frequency" => {
            What::Frequency { cpu: int(f, "cpu_id")?.try_into().ok()?, khz: value(f, "state")?.parse().ok()? }
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Stamped {
        let mut found = Found::default();
        let l = line(text).expect("a line");
        let what = fields(&l, &mut found.names).expect("fields");
        Stamped { t_ns: l.t_ns, cpu: l.cpu, pid: l.pid, irq: l.irq, what }
    }

    #[test]
    fn the_four_ways_to_write_a_switch() {
        let lines = [
            "  my [7] task-12   [003] d..2.    12.973772: sched_switch: prev_comm=my [7] task prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=b c next_pid=17 next_prio=98",
            "  my [7] task    12 [003] 12.973772: sched:sched_switch: prev_comm=my [7] task prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=b c next_pid=17 next_prio=98",
            "  my task-12    [003]     12.973772000: sched_switch:          prev_comm=my task prev_pid=12 prev_prio=120 prev_state=256 next_comm=b c next_pid=17 next_prio=98",
            "  my task-12 (  10) [003]     12.973772: sched_switch:  my task:12 [120] R ==> b c:17 [98]",
        ];
        for (i, text) in lines.iter().enumerate() {
            // A CPU is digits in brackets, and so is part of this name.
            let text = if i < 2 { text.replace("[7]", "[x]") } else { text.to_string() };
            let e = one(&text);
            assert_eq!((e.t_ns, e.cpu, e.pid), (12_973_772_000, 3, 12), "{text}");
            let What::Switch { prev, state, next, next_prio, .. } = e.what else { panic!("{e:?}") };
            assert_eq!((prev, state, next, next_prio), (12, State::Runnable, 17, 98), "{text}");
        }
    }

    #[test]
    fn wakeups_and_their_context() {
        let e = one("<idle>-0 [000] dNh4. 1.5: sched_waking: comm=a=b pid=7 prio=120 target_cpu=000");
        assert_eq!((e.irq, e.pid, e.t_ns), (Some(true), 0, 1_500_000_000));
        let e = one("sh-139 [001] d..4. 1.5: sched_wakeup_new: comm=x pid=7 prio=120 target_cpu=000");
        assert!(matches!(e.what, What::WakeupNew { pid: 7, .. }) && e.irq == Some(false));
        let e = one("sh-139 [001] 1.5: sched_process_fork: comm=sh pid=139 child_comm=sh x child_pid=140");
        assert!(matches!(e.what, What::Fork { parent: 139, child: 140, .. }) && e.irq.is_none());
    }

    #[test]
    fn what_is_no_event_is_passed_over() {
        for text in ["", "# tracer: nop", "cpus=2", "[x]", "a-1 [000]", "a-1 [000] x: y", "1 [2] 3.4: e: "] {
            assert!(line(text).is_none_or(|l| fields(&l, &mut Names::default()).is_none()), "{text}");
        }
        assert_eq!(lost("CPU:1 [LOST 123 EVENTS]"), Some(123));
        assert_eq!(seconds("1.0000000001"), None);
    }

    /// A name whose last character has several bytes was cut within it.
    #[test]
    fn a_name_may_end_in_any_character() {
        let text = " hackbench-\u{663}   [001] d..2.    18.234171: sched_switch: prev_comm=a prev_pid=1";
        assert!(line(text).is_none());
    }
}
