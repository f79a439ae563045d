// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The reader of the log (source 4, section 8): lines of the kernel's trace into a file, as they come.
//!
//! Only our lines are kept, of the command, thread, CPU and function that is asked for. While it runs, the reader allocates nothing; lines
//! that have arrived are written before it waits again, so whoever kills it loses at most what the kernel still has.

use std::io::{ErrorKind, Read, Result, Write};
use std::time::Duration;

use super::log::{Head, MARK};

/// What to keep; `None` is everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub comm: Option<String>,
    /// Number of the thread that logs.
    pub pid: Option<u32>,
    pub cpu: Option<u32>,
    /// Function of the kernel, such as `free_task`.
    pub function: Option<String>,
}

impl Filter {
    /// Whether to keep the line.
    pub fn keeps(&self, line: &[u8]) -> bool {
        let Some(head) = find(line, MARK.as_bytes()).and_then(|mark| Head::of(&line[..mark])) else {
            return false;
        };
        let same = |wanted: &Option<String>, is: &[u8]| wanted.as_ref().is_none_or(|w| w.as_bytes() == is);
        same(&self.comm, head.comm)
            && self.pid.is_none_or(|pid| pid == head.pid)
            && self.cpu.is_none_or(|cpu| cpu == head.cpu)
            && same(&self.function, head.function)
    }
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|w| w == what)
}

/// Events that the kernel says it lost: `CPU:1 [LOST 27 EVENTS]`.
fn lost(line: &[u8]) -> Option<u64> {
    let rest = &line[find(line, b"[LOST ")? + 6..];
    let end = find(rest, b" EVENTS]")?;
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

/// What the reader has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub kept: u64,
    /// Others' lines, and those that the filter leaves out.
    pub dropped: u64,
    /// Events that the kernel had no room for, and lines longer than the reader's memory.
    pub lost: u64,
}

/// Bytes that the reader takes at once; longer lines are lost.
const ROOM: usize = 64 << 10;

/// A reader at work.
pub struct Reader {
    filter: Filter,
    counts: Counts,
    /// Bytes of an incomplete line, at the beginning.
    room: Box<[u8]>,
    used: usize,
    /// The line at the beginning is longer than the room: its rest is thrown away.
    overlong: bool,
}

impl Reader {
    pub fn new(filter: Filter) -> Self {
        Self { filter, counts: Counts::default(), room: vec![0; ROOM].into(), used: 0, overlong: false }
    }

    /// Copy lines from `from` to `to` until `stop`, and then what has arrived, or to the end. `from` may return
    /// `WouldBlock`: the reader tries again after `pause`.
    ///
    /// # Errors
    /// Reading or writing fails.
    pub fn run(
        &mut self,
        from: &mut impl Read,
        to: &mut impl Write,
        pause: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<Counts> {
        loop {
            // Before reading: what was logged before the request is there to be read.
            let last = stop();
            match from.read(&mut self.room[self.used..]) {
                Ok(0) => return Ok(self.counts),
                Ok(n) => {
                    self.used += n;
                    self.take(to)?;
                    to.flush()?;
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock && last => return Ok(self.counts),
                Err(e) if e.kind() == ErrorKind::WouldBlock => std::thread::sleep(pause),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Write the complete lines that are to be kept, and move the rest to the beginning.
    fn take(&mut self, to: &mut impl Write) -> Result<()> {
        let mut at = 0;
        while let Some(end) = self.room[at..self.used].iter().position(|b| *b == b'\n') {
            let line = &self.room[at..at + end];
            if std::mem::take(&mut self.overlong) {
                self.counts.lost += 1;
            } else if self.filter.keeps(line) {
                self.counts.kept += 1;
                to.write_all(&self.room[at..=at + end])?;
            } else if let Some(n) = lost(line) {
                self.counts.lost += n;
            } else {
                self.counts.dropped += 1;
            }
            at += end + 1;
        }
        self.room.copy_within(at..self.used, 0);
        self.used -= at;
        if self.used == self.room.len() {
            self.overlong = true;
            self.used = 0;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "\
# tracer: nop
   a b-[x]-42    [003] d..2.    12.000001: bpf_trace_printk: copy_process: [PMC_SCHED] pid=43 tgid=43
        sh-7     [001] .....    12.000002: bpf_trace_printk: somebody else's
CPU:1 [LOST 27 EVENTS]
        cc-43    [001] d..2.    12.000003: bpf_trace_printk: do_exit: [PMC_SCHED] exit
        cc-43    [001] d..2. 12.000004: free_task: [PMC_SCHED] pid=43 tgid=43 cache=1 vcsw=1 nvcsw=0 schedules=1
";

    /// Gives a few bytes at a time, and says in between that there are none.
    struct Slowly<'t>(&'t [u8], usize, bool);

    impl Read for Slowly<'_> {
        fn read(&mut self, to: &mut [u8]) -> Result<usize> {
            self.2 = !self.2;
            if self.2 || self.0.is_empty() {
                return Err(ErrorKind::WouldBlock.into());
            }
            let n = self.1.min(self.0.len()).min(to.len());
            to[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn kept(filter: Filter) -> Vec<usize> {
        let lines: Vec<&str> = TRACE.lines().collect();
        (0..lines.len()).filter(|i| filter.keeps(lines[*i].as_bytes())).collect()
    }

    #[test]
    fn filters_select_lines() {
        let all = Filter::default();
        assert_eq!(kept(all.clone()), [1, 4, 5]);
        assert_eq!(kept(Filter { comm: Some("cc".into()), ..all.clone() }), [4, 5]);
        assert_eq!(kept(Filter { comm: Some("a b-[x]".into()), ..all.clone() }), [1]);
        assert_eq!(kept(Filter { pid: Some(42), ..all.clone() }), [1]);
        assert_eq!(kept(Filter { cpu: Some(1), ..all.clone() }), [4, 5]);
        assert_eq!(kept(Filter { function: Some("free_task".into()), ..all.clone() }), [5]);
        assert_eq!(kept(Filter { function: Some("do_exit".into()), cpu: Some(3), ..all }), [0usize; 0]);
    }

    #[test]
    fn lines_come_through_whole_however_they_are_cut() {
        let want: Vec<&str> = TRACE.lines().filter(|l| l.contains(MARK)).collect();
        for n in 1..80 {
            let (mut from, mut to) = (Slowly(TRACE.as_bytes(), n, false), Vec::new());
            let tries = std::cell::Cell::new(0);
            let stop = || {
                tries.set(tries.get() + 1);
                tries.get() > 3 * TRACE.len()
            };
            let counts = Reader::new(Filter::default()).run(&mut from, &mut to, Duration::ZERO, &stop);
            assert_eq!(counts.unwrap(), Counts { kept: 3, dropped: 2, lost: 27 }, "{n} bytes at a time");
            assert_eq!(String::from_utf8(to).unwrap().lines().collect::<Vec<_>>(), want);
        }
    }

    /// What arrived before the request to stop is written.
    #[test]
    fn stopping_loses_nothing() {
        let (mut from, mut to) = (Slowly(TRACE.as_bytes(), 4096, true), Vec::new());
        let counts = Reader::new(Filter::default()).run(&mut from, &mut to, Duration::ZERO, &|| true);
        assert_eq!(counts.unwrap().kept, 3);
    }

    #[test]
    fn overlong_lines_are_counted_and_do_no_harm() {
        let mut text = vec![b'x'; 3 * ROOM];
        text.push(b'\n');
        text.extend_from_slice(TRACE.as_bytes());
        let mut to = Vec::new();
        let counts = Reader::new(Filter::default()).run(&mut &text[..], &mut to, Duration::ZERO, &|| false);
        assert_eq!(counts.unwrap(), Counts { kept: 3, dropped: 2, lost: 28 });
    }
}
