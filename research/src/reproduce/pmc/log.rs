// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Lines of the thesis's log (source 4, section 8): what its kernel writes with `trace_printk`.
//!
//! ```text
//! cc-1042 [003] d..2 12.004711: free_task: [PMC_SCHED] pid=1042 tgid=1042 cache=1310 branch=4410 penalty=-980 vcsw=1 nvcsw=9 schedules=24 cache_cut=0 branch_cut=3
//! ```
//!
//! The number behind the command's name is that of the thread that logs: of the parent where a task is forked. Sums
//! are of numbers with ten fraction bits, one for each pass through the scheduler. Lines without the mark are others'.

use std::fmt;

use super::Error;

/// What marks a line as ours.
pub const MARK: &str = "[PMC_SCHED]";

/// What a task accumulated until it was freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Sums of cache rates, branch rates (ten times, at most one each) and penalties, 1/1024.
    pub cache: i64,
    pub branch: i64,
    pub penalty: i64,
    /// Voluntary and other switches; passes through the scheduler.
    pub vcsw: u64,
    pub nvcsw: u64,
    pub schedules: u64,
    /// How many of the rates were above one and cut to it (of branches, before or after they were taken ten times).
    pub cache_cut: u64,
    pub branch_cut: u64,
}

impl std::ops::AddAssign for Stats {
    fn add_assign(&mut self, o: Self) {
        self.cache += o.cache;
        self.branch += o.branch;
        self.penalty += o.penalty;
        self.vcsw += o.vcsw;
        self.nvcsw += o.nvcsw;
        self.schedules += o.schedules;
        self.cache_cut += o.cache_cut;
        self.branch_cut += o.branch_cut;
    }
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// `copy_process`: the logging task has a child.
    Fork {
        pid: u32,
        tgid: u32,
    },
    /// `do_group_exit` and `do_exit`: the logging process or task ends.
    GroupExit,
    Exit,
    /// `free_task`: nothing refers to the task any more.
    Free {
        pid: u32,
        tgid: u32,
        stats: Stats,
    },
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub comm: String,
    pub pid: u32,
    pub cpu: u32,
    /// Since the machine started, us.
    pub us: u64,
    pub entry: Entry,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = match self.entry {
            Entry::Fork { .. } => "copy_process",
            Entry::GroupExit => "do_group_exit",
            Entry::Exit => "do_exit",
            Entry::Free { .. } => "free_task",
        };
        let (s, us) = (self.us / 1_000_000, self.us % 1_000_000);
        let (comm, pid, cpu) = (&self.comm, self.pid, self.cpu);
        write!(f, "{comm}-{pid} [{cpu:03}] d..2 {s}.{us:06}: {function}: {MARK} ")?;
        match self.entry {
            Entry::Fork { pid, tgid } => write!(f, "pid={pid} tgid={tgid}"),
            Entry::GroupExit | Entry::Exit => write!(f, "exit"),
            Entry::Free { pid, tgid, stats: s } => write!(
                f,
                "pid={pid} tgid={tgid} cache={} branch={} penalty={} vcsw={} nvcsw={} schedules={} \
                 cache_cut={} branch_cut={}",
                s.cache, s.branch, s.penalty, s.vcsw, s.nvcsw, s.schedules, s.cache_cut, s.branch_cut
            ),
        }
    }
}

/// The value of `key` in `key=value` words.
fn field<T: std::str::FromStr>(text: &str, key: &str) -> Option<T> {
    text.split_whitespace().find_map(|w| w.split_once('=').filter(|p| p.0 == key)?.1.parse().ok())
}

/// What stands before the mark: `comm-pid [cpu] flags time: function: `. Bytes, for a command's name may be any.
pub(crate) struct Head<'l> {
    pub comm: &'l [u8],
    pub pid: u32,
    pub cpu: u32,
    /// Flags and time; behind them the function of the kernel that prints for a BPF program.
    rest: &'l [u8],
    pub function: &'l [u8],
}

impl<'l> Head<'l> {
    pub fn of(text: &'l [u8]) -> Option<Self> {
        let text = text.trim_ascii_end().strip_suffix(b":")?;
        let colon = text.iter().rposition(|b| *b == b':')?;
        // A command's name may have blanks, brackets and dashes: look from the right.
        let open = text.iter().rposition(|b| *b == b'[')?;
        let close = open + text[open..].iter().position(|b| *b == b']')?;
        let task = text[..open].trim_ascii();
        let dash = task.iter().rposition(|b| *b == b'-')?;
        Some(Self {
            comm: &task[..dash],
            pid: number(&task[dash + 1..])?,
            cpu: number(&text[open + 1..close])?,
            rest: text.get(close + 1..colon)?,
            function: text[colon + 1..].strip_prefix(b" ")?,
        })
    }

    /// The time, us.
    fn us(&self) -> Option<u64> {
        let rest = std::str::from_utf8(self.rest).ok()?;
        let rest = rest.strip_suffix(": bpf_trace_printk").unwrap_or(rest);
        let (flags, stamp) = rest.rsplit_once(' ')?;
        let (seconds, micros) = stamp.split_once('.')?;
        let whole = flags.split_whitespace().count() == 1;
        whole.then_some(seconds.parse::<u64>().ok()? * 1_000_000 + micros.parse::<u64>().ok()?)
    }
}

fn number(text: &[u8]) -> Option<u32> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Read one line; `None`: not one of ours.
///
/// # Errors
/// A line with our mark that does not have our form.
pub fn parse(text: &str) -> Result<Option<Line>, Error> {
    let Some((head, message)) = text.split_once(MARK) else { return Ok(None) };
    read(head, message.trim()).map(Some).ok_or_else(|| Error(format!("a log line is damaged: {text}")))
}

fn read(head: &str, message: &str) -> Option<Line> {
    let head = Head::of(head.as_bytes())?;
    let entry = match head.function {
        b"copy_process" => Entry::Fork { pid: field(message, "pid")?, tgid: field(message, "tgid")? },
        b"do_group_exit" => Entry::GroupExit,
        b"do_exit" => Entry::Exit,
        b"free_task" => Entry::Free {
            pid: field(message, "pid")?,
            tgid: field(message, "tgid")?,
            stats: Stats {
                cache: field(message, "cache")?,
                branch: field(message, "branch").unwrap_or(0),
                penalty: field(message, "penalty").unwrap_or(0),
                vcsw: field(message, "vcsw")?,
                nvcsw: field(message, "nvcsw")?,
                schedules: field(message, "schedules")?,
                cache_cut: field(message, "cache_cut").unwrap_or(0),
                branch_cut: field(message, "branch_cut").unwrap_or(0),
            },
        },
        _ => return None,
    };
    let comm = String::from_utf8_lossy(head.comm).into_owned();
    Some(Line { comm, pid: head.pid, cpu: head.cpu, us: head.us()?, entry })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_survive_writing_and_reading() {
        let stats = Stats {
            cache: 1310,
            branch: 4410,
            penalty: -980,
            vcsw: 1,
            nvcsw: 9,
            schedules: 24,
            cache_cut: 1,
            branch_cut: 3,
        };
        for entry in [
            Entry::Fork { pid: 7, tgid: 5 },
            Entry::GroupExit,
            Entry::Exit,
            Entry::Free { pid: 7, tgid: 5, stats },
        ] {
            let line = Line { comm: "a b-c [x]".into(), pid: 42, cpu: 3, us: 12_004_711, entry };
            assert_eq!(parse(&line.to_string()), Ok(Some(line.clone())), "{line}");
        }
    }

    /// As the trace of Linux 7.2 has it.
    #[test]
    fn a_line_of_a_bpf_program() {
        let text = "       stress-ng-229     [001] d..2.    12.004711: bpf_trace_printk: copy_process: [PMC_SCHED] pid=230 tgid=229";
        let line = parse(text).expect("not damaged").expect("ours");
        assert_eq!((line.comm.as_str(), line.pid, line.cpu, line.us), ("stress-ng", 229, 1, 12_004_711));
        assert_eq!(line.entry, Entry::Fork { pid: 230, tgid: 229 });
    }

    #[test]
    fn the_form_of_a_line() {
        let entry = Entry::Free { pid: 9, tgid: 9, stats: Stats { schedules: 2, ..Stats::default() } };
        let line = Line { comm: "cc".into(), pid: 9, cpu: 11, us: 5, entry };
        let want = "cc-9 [011] d..2 0.000005: free_task: [PMC_SCHED] pid=9 tgid=9 cache=0 branch=0 penalty=0 \
                    vcsw=0 nvcsw=0 schedules=2 cache_cut=0 branch_cut=0";
        assert_eq!(line.to_string(), want);
    }

    #[test]
    fn foreign_lines_are_dropped_and_damaged_ones_reported() {
        assert_eq!(parse("bash-12 [000] d..2 1.0: something: hello"), Ok(None));
        let damaged = "cc-9 [011] d..2 0.000005: free_task: [PMC_SCHED] pid=9 tgid=9 cac";
        assert!(parse(damaged).unwrap_err().0.contains("damaged"));
    }
}
