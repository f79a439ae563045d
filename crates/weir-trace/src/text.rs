// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Events as text: tracefs's `trace`, `trace-cmd report` (with and without `-R`), `perf script`.
//!
//! All three have a line an event: thread and number, the CPU in brackets, perhaps flags, the time in seconds
//! and a colon, the event's name and a colon, its fields.

use crate::error::{Error, ErrorKind, Result};
use crate::kernel::{Comm, Found, Names, Stamped, State, What};
use crate::tracedat::RECORD;
use weir_text::plural;

/// Characters of a thread's name, at most (`TASK_COMM_LEN`). A name is bytes of any kind: it may hold whatever stands between names.
const NAME: usize = 15;

/// Where trace-cmd begins the fields, from the event's name on.
const COLUMN: usize = 22;

/// Lines that the two names of an event can break it into.
const PIECES: usize = 2 * NAME;

/// A line without its fields.
struct Line<'a> {
    comm: &'a str,
    pid: i32,
    cpu: u32,
    irq: Option<bool>,
    /// `None`: the clock counts something else than seconds.
    t_ns: Option<u64>,
    event: &'a str,
    fields: &'a str,
}

/// Some line has an event in a format that is known.
pub(crate) fn looks_like(text: &str) -> bool {
    text.split('\n').any(|l| line(l).is_some())
}

pub(crate) fn read(text: &str) -> Result<Found> {
    let mut found = Found::default();
    let (mut switches, mut wakings, mut unread) = (0u64, 0u64, 0u64);
    let mut flags = true;
    let mut rest = Some(text);
    while let Some(from) = rest {
        let end = from.find('\n').unwrap_or(from.len());
        rest = from.get(end + 1..);
        let raw = &from[..end];
        if let Some(n) = lost(raw) {
            found.lost += n;
        }
        let Some(mut l) = line(raw) else { continue };
        let ours = matches!(l.event, "sched_switch" | "sched_waking" | "sched_wakeup" | "sched_wakeup_new");
        let Some(t_ns) = l.t_ns else {
            if !ours {
                continue;
            }
            return Err(Error::unsupported(
                "the clock of the recording is not in seconds: its times have no decimals",
                "record with a clock in seconds: trace-cmd record -C mono, or echo mono > trace_clock in tracefs",
            ));
        };
        let mut what = fields(&l, &mut found.names);
        if what.is_none() && ours {
            // A name with line ends broke the event into several lines.
            let ends = from.match_indices('\n').map(|m| m.0).chain([from.len()]);
            for next in ends.skip_while(|n| *n <= end).take(PIECES) {
                let Some(whole) = line(&from[..next]).filter(|w| w.event == l.event) else { continue };
                what = fields(&whole, &mut found.names).filter(|w| short(w, &found.names));
                if what.is_some() {
                    (l, rest) = (whole, from.get(next + 1..));
                    break;
                }
            }
        }
        let Some(what) = what else {
            unread += u64::from(ours);
            continue;
        };
        switches += u64::from(matches!(what, What::Switch { .. }));
        wakings += u64::from(matches!(what, What::Waking { .. }));
        flags &= l.irq.is_some();
        if l.pid > 0 && !l.comm.is_empty() && found.events.len() < 100_000 {
            let comm = found.names.id(l.comm);
            found.comms.push((l.pid, comm));
        }
        found.events.push(Stamped { t_ns, cpu: l.cpu, pid: l.pid, irq: l.irq, what });
    }
    if switches == 0 {
        if unread > 0 {
            return Err(Error::new(
                ErrorKind::Broken,
                format!(
                    "events of the scheduler do not have the fields that they should have, in {}",
                    plural(unread, "line")
                ),
                "save the text as the tool prints it, without cutting columns",
            ));
        }
        return Err(Error::lacking("the text has no event sched_switch", RECORD));
    }
    if unread > 0 {
        found.notes.push(format!("{} of events could not be read", plural(unread, "line")));
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

/// No name is longer than a name can be: two events were not taken for one.
fn short(what: &What, names: &Names) -> bool {
    let short = |comm: &Comm| names.text(*comm).chars().count() <= NAME;
    match what {
        What::Switch { prev_comm, next_comm, .. } => short(prev_comm) && short(next_comm),
        What::Waking { comm, .. } | What::Wakeup { comm, .. } | What::WakeupNew { comm, .. } => short(comm),
        _ => true,
    }
}

/// `CPU:1 [LOST 123 EVENTS]`.
fn lost(line: &str) -> Option<u64> {
    let rest = line.split_once("[LOST ")?.1;
    rest.split(' ').next()?.parse::<u64>().ok().map(|n| n.min(1 << 40))
}

/// Each number in brackets may be the CPU, and also be part of a name. The CPU is the last one before which there is room for no more than a
/// name: those behind it are among the fields.
fn line(raw: &str) -> Option<Line<'_>> {
    let raw = raw.trim();
    let mut best: Option<Line<'_>> = None;
    for (open, _) in raw.match_indices('[') {
        let Some((inner, rest)) = raw[open + 1..].split_once(']') else { break };
        if inner.is_empty() || inner.len() > 6 || !inner.bytes().all(|b| b.is_ascii_digit()) {
            continue;
        }
        let (Some((comm, pid)), Some(tail), Ok(cpu)) = (who(&raw[..open]), tail(rest), inner.parse()) else {
            continue;
        };
        if best.is_some() && comm.chars().count() > NAME {
            break;
        }
        best = Some(Line { comm, pid, cpu, ..tail });
    }
    best
}

/// `name-12`, `name 12`, `name-12 (   10)`, `name 10/12`: thread and number.
fn who(head: &str) -> Option<(&str, i32)> {
    let head = head.trim_end();
    let head = match head.rsplit_once('(') {
        // The number of the process, which some settings show.
        Some((before, inner)) if inner.ends_with(')') => before.trim_end(),
        _ => head,
    };
    let (comm, number) = match head.rfind(|c: char| !(c.is_ascii_digit() || c == '/')) {
        // The separator has one byte, so `number` begins at a character.
        Some(cut) if matches!(head.as_bytes()[cut], b'-' | b' ' | b'\t') => (&head[..cut], &head[cut + 1..]),
        Some(_) => return None,
        // The name ended with a line's end.
        None => ("", head),
    };
    Some((comm.trim_end(), number.rsplit('/').next()?.parse().ok()?))
}

/// What follows the CPU: perhaps flags, the time, the event, its fields.
fn tail(rest: &str) -> Option<Line<'_>> {
    let mut words = rest.trim_start().splitn(2, char::is_whitespace);
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
    let t_ns = time(word.strip_suffix(':')?)?;
    let (event, fields) = rest.split_once(": ").or_else(|| rest.split_once(':'))?;
    let event = event.rsplit(':').next()?.trim();
    if event.is_empty()
        || !event.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    {
        return None;
    }
    // trace-cmd begins the fields in a column of its own, so that blanks behind it are a name's.
    let begin = rest.len() - fields.len();
    let gap = rest.get(begin..COLUMN).is_some_and(|gap| gap.trim().is_empty());
    let fields = if gap { &rest[COLUMN..] } else { fields.trim_start() };
    Some(Line { comm: "", pid: 0, cpu: 0, irq, t_ns, event, fields })
}

/// `12.973772` as ns; `None` within: a number without decimals.
fn time(text: &str) -> Option<Option<u64>> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let Some((whole, part)) = text.split_once('.') else { return digits(text).then_some(None) };
    if !digits(part) || part.len() > 9 {
        return None;
    }
    let ns: u64 = part.parse::<u64>().ok()? * 10u64.pow(9 - part.len() as u32);
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(ns).map(Some)
}

/// Takes `key` and the number behind it off the front.
fn int<T: std::str::FromStr>(text: &mut &str, key: &str) -> Option<T> {
    let rest = text.strip_prefix(key)?;
    let sign = usize::from(rest.starts_with('-'));
    let end = rest[sign..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |n| sign + n);
    *text = &rest[end..];
    rest[..end].parse().ok()
}

/// The number behind `key`, which is not within a name.
fn number<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    int(&mut &text[text.find(key)?..], key)
}

/// A thread as the fields give it: name, number, priority.
type Given<'a> = (&'a str, i32, i32);

/// `prev_comm=a prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=b next_pid=17 next_prio=98`. All that stands between the names is longer
/// than a name, so that it is found in one place only.
fn switch(f: &str) -> Option<(Given<'_>, State, Given<'_>)> {
    let names = f.strip_prefix("prev_comm=")?;
    names.match_indices(" prev_pid=").find_map(|(at, _)| {
        let mut rest = &names[at..];
        let prev = (&names[..at], int(&mut rest, " prev_pid=")?, int(&mut rest, " prev_prio=")?);
        let (state, rest) = rest.strip_prefix(" prev_state=")?.split_once(' ')?;
        let rest = rest.trim_start();
        let rest = rest.strip_prefix("==>").unwrap_or(rest).trim_start();
        let (name, mut rest) = rest.strip_prefix("next_comm=")?.rsplit_once(" next_pid=")?;
        let next = (name, int(&mut rest, "")?, int(&mut rest, " next_prio=")?);
        Some((prev, State::of_text(state)?, next))
    })
}

/// `a:12 [120] R ==> b:17 [98]`. A name may look like the rest: the thread is that of the line, by number and by name.
fn brief_switch<'a>(l: &Line<'a>) -> Option<(Given<'a>, State, Given<'a>)> {
    let f = l.fields;
    let ways = f.match_indices("==>").filter_map(|(at, _)| {
        let (prev, state) = brief(&f[..at])?;
        let (next, _) = brief(f[at + 3..].strip_prefix(' ')?)?;
        let doubts = [
            prev.0.trim() != l.comm,
            prev.1 != l.pid,
            prev.0.chars().count() > NAME || next.0.chars().count() > NAME,
        ];
        Some((doubts.into_iter().filter(|d| *d).count(), (prev, State::of_text(state)?, next)))
    });
    ways.min_by_key(|w| w.0).map(|w| w.1)
}

/// `name:12 [120]` and what follows, for the last place where that can be.
fn brief(text: &str) -> Option<(Given<'_>, &str)> {
    text.rmatch_indices(':').find_map(|(at, _)| {
        let mut rest = &text[at..];
        let (pid, prio) = (int(&mut rest, ":")?, int(&mut rest, " [")?);
        Some(((&text[..at], pid, prio), rest.strip_prefix(']')?.trim()))
    })
}

/// `comm=a pid=7 prio=120 target_cpu=000`, `a:7 [120] success=1 CPU:000`: who, and in the queue of which CPU.
fn woken(f: &str) -> Option<(Given<'_>, Option<u32>)> {
    let by_keys = || {
        let (name, mut rest) = f.trim_start().strip_prefix("comm=")?.rsplit_once(" pid=")?;
        let given = (name, int(&mut rest, "")?, int(&mut rest, " prio=")?);
        // Each kernel says more than that, so that a name's end is none of these.
        (!rest.is_empty()).then(|| (given, number(rest, " target_cpu=")))
    };
    let in_brief = || {
        let (given, rest) = brief(f)?;
        (rest.starts_with("CPU:") || rest.starts_with("success=")).then(|| (given, number(rest, "CPU:")))
    };
    by_keys().or_else(in_brief)
}

/// `comm=a pid=12 child_comm=b child_pid=13`.
fn fork(f: &str) -> Option<(i32, &str, i32)> {
    let names = f.strip_prefix("comm=")?;
    names.match_indices(" pid=").find_map(|(at, _)| {
        let mut rest = &names[at..];
        let parent = int(&mut rest, " pid=")?;
        let (child, mut rest) = rest.strip_prefix(" child_comm=")?.rsplit_once(" child_pid=")?;
        Some((parent, child, int(&mut rest, "")?))
    })
}

/// `pid=12 oldcomm=a newcomm=b oom_score_adj=0`; later kernels leave the number out. What is between the names fits into one: the old name is the
/// line's, or else both are short enough.
fn renamed<'a>(l: &Line<'a>) -> Option<(i32, &'a str)> {
    let mut f = l.fields.trim_start();
    let pid = int(&mut f, "pid=").unwrap_or(l.pid);
    let names = f.trim_start().strip_prefix("oldcomm=")?.rsplit_once(" oom_score_adj=")?.0;
    let ways = names.match_indices(" newcomm=").map(|(at, key)| (&names[..at], &names[at + key.len()..]));
    let long = |name: &str| name.chars().count() > NAME;
    let best = ways.min_by_key(|(old, new)| (old.trim() != l.comm, long(old) || long(new)))?;
    Some((pid, best.1))
}

fn fields(l: &Line<'_>, names: &mut Names) -> Option<What> {
    let f = l.fields.trim_start();
    Some(match l.event {
        "sched_switch" => {
            let (prev, state, next) = switch(f).or_else(|| brief_switch(l))?;
            What::Switch {
                prev: prev.1,
                prev_comm: names.id(prev.0),
                prev_prio: prev.2,
                state,
                next: next.1,
                next_comm: names.id(next.0),
                next_prio: next.2,
            }
        }
        "sched_waking" | "sched_wakeup" | "sched_wakeup_new" => {
            let ((comm, pid, prio), target) = woken(l.fields)?;
            let comm = names.id(comm);
            match l.event {
                "sched_waking" => What::Waking { pid, comm, prio },
                "sched_wakeup" => What::Wakeup { pid, comm, prio, target },
                _ => What::WakeupNew { pid, comm, prio, target },
            }
        }
        "sched_migrate_task" => {
            let (_, mut rest) = f.rsplit_once(" pid=")?;
            What::Migrate { pid: int(&mut rest, "")?, target: number(rest, " dest_cpu=")? }
        }
        "sched_process_fork" => {
            let (parent, comm, child) = fork(f)?;
            What::Fork { parent, child, comm: names.id(comm) }
        }
        "task_rename" => {
            let (pid, comm) = renamed(l)?;
            What::Rename { pid, comm: names.id(comm) }
        }
        // The function that wrote it, or its address, may stand before.
        "print" | "bprint" => {
            let text = f.split_once(": ").map_or(f, |p| p.1);
            What::Mark { text: names.id(text) }
        }
        "tracing_mark_write" => What::Mark { text: names.id(f) },
        // `(0x55d0c) arg1=42`: a probe, by its place in the program.
        name if f.starts_with('(') => {
            let rest = f.split_once(')')?.1;
            let first = rest.split_whitespace().next().unwrap_or("");
            What::Mark { text: names.id(&format!("{name} {first}")) }
        }
        "cpu_frequency" => What::Frequency { cpu: number(f, "cpu_id=")?, khz: number(f, "state=")? },
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
        Stamped { t_ns: l.t_ns.expect("in seconds"), cpu: l.cpu, pid: l.pid, irq: l.irq, what }
    }

    #[test]
    fn the_four_ways_to_write_a_switch() {
        let lines = [
            "  my [7] task-12   [003] d..2.    12.973772: sched_switch: prev_comm=my [7] task prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=b c next_pid=17 next_prio=98",
            "  my [7] task    12 [003] 12.973772: sched:sched_switch: prev_comm=my [7] task prev_pid=12 prev_prio=120 prev_state=R+ ==> next_comm=b c next_pid=17 next_prio=98",
            "  my task-12    [003]     12.973772000: sched_switch:          prev_comm=my task prev_pid=12 prev_prio=120 prev_state=256 next_comm=b c next_pid=17 next_prio=98",
            "  my task-12 (  10) [003]     12.973772: sched_switch:  my task:12 [120] R ==> b c:17 [98]",
        ];
        for text in lines {
            let e = one(text);
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
        assert_eq!((time("1.0000000001"), time("1"), time("x")), (None, Some(None), None));
    }

    /// A name whose last character has several bytes was cut within it.
    #[test]
    fn a_name_may_end_in_any_character() {
        let text = " hackbench-\u{663}   [001] d..2.    18.234171: sched_switch: prev_comm=a prev_pid=1";
        assert!(line(text).is_none());
    }
}
