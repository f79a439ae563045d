// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Finds the relevant lines of a kernel's log.

/// Words with which a kernel's messages about its own misfortune begin.
const MISFORTUNES: [&str; 12] = [
    "BUG:",
    "WARNING:",
    "Oops:",
    "Kernel panic",
    "general protection fault",
    "kernel BUG at",
    "INFO: task ",
    "INFO: rcu",
    "rcu: INFO:",
    "watchdog: BUG",
    "Unable to handle",
    "Out of memory",
];

/// The kernel's complaints in a log, in order, without time and priority.
pub fn complaints(log: &str) -> Vec<String> {
    let bare = log.lines().map(bare_line);
    bare.filter(|l| MISFORTUNES.iter().any(|m| l.starts_with(m))).map(str::to_string).collect()
}

/// The reason that a panicking kernel gave.
pub fn panic(log: &str) -> Option<String> {
    let lines: Vec<&str> = log.lines().map(bare_line).collect();
    lines.iter().find_map(|l| l.strip_prefix("Kernel panic - not syncing: ")).map(str::to_string)
}

/// `<4>[    1.25] text` without what stands before the text; a caller's number too.
fn bare_line(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    let line = line.strip_prefix('<').and_then(|l| l.split_once('>')).map_or(line, |(_, rest)| rest);
    let mut line = line.trim_start();
    while let Some((time, rest)) = line.strip_prefix('[').and_then(|l| l.split_once(']')) {
        let stamp = time.trim().trim_start_matches(['T', 'C']);
        if stamp.is_empty() || !stamp.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            break;
        }
        line = rest.trim_start();
    }
    line
}

/// The last `n` lines that have text, terminal control characters left out.
pub fn tail(log: &str, n: usize) -> String {
    let clean = |l: &str| -> String { l.chars().filter(|c| !c.is_control() || *c == '\t').collect() };
    let lines: Vec<String> = log.lines().map(clean).filter(|l| !l.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(n)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_misfortunes_and_nothing_else() {
        let log = "<6>[    0.1] rcu: RCU restricting CPUs\n\
                   <4>[   12.345678] WARNING: CPU: 1 PID: 9 at kernel/sched/ext.c:1\n\
                   [ 13.0][T9] BUG: kernel NULL pointer dereference\n\
                   <4>[    1.0] PCI: please report a bug\n\
                   <4>[1.5] [Hardware] BUG: not this\n\
                   Out of memory: Killed process 9 (x)\r\n";
        assert_eq!(
            complaints(log),
            [
                "WARNING: CPU: 1 PID: 9 at kernel/sched/ext.c:1",
                "BUG: kernel NULL pointer dereference",
                "Out of memory: Killed process 9 (x)",
            ]
        );
        assert_eq!(panic(log), None);
        let log = "[    2.5] Kernel panic - not syncing: No working init found.\r\n";
        assert_eq!(panic(log).as_deref(), Some("No working init found."));
    }

    #[test]
    fn the_tail_is_clean() {
        assert_eq!(tail("a\n\n\u{1b}[31mb\r\n  \nc\n", 2), "[31mb\nc");
        assert_eq!(tail("", 5), "");
    }
}
