// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A scenario's changes, for a terminal: a line for each reconfiguration, and the reason if one was refused.

use crate::count;
use crate::screen::{Columns, Screen};
use crate::summary::{ReconfigurationSummary, Summary};
use crate::text::{clip, duration};

/// Reconfigurations that get a line each; of more the first ones do.
const LINES: usize = 16;

/// When, by what, what; how long callers were held off, how many tasks were re-enqueued, and how many of them were at no
/// exit yet. Empty without any.
pub fn changes(s: &Summary, screen: &Screen) -> String {
    if s.reconfigurations.is_empty() {
        return String::new();
    }
    let mut columns =
        Columns::new(["change", "at", "pause", "re-enqueued", "drained"]).giving_way(&["drained"]);
    let mut refused = String::new();
    for r in s.reconfigurations.iter().take(LINES) {
        let what = format!("{}: {}", r.cause, r.verbs.join(", "));
        let at = duration(r.at_ns);
        if r.done {
            columns.row([
                what,
                at,
                duration(r.pause_ns),
                count(r.represented.into()),
                count(r.drained.into()),
            ]);
        } else {
            columns.row([what, at, "refused".to_string()]);
            refused += &why(r);
        }
    }
    let mut out = columns.render(2, screen) + &refused;
    let more = s.reconfigurations.len().saturating_sub(LINES);
    if more > 0 {
        out += &format!(
            "  … and {} more (--json has all of them, with what changed in the graph)\n",
            count(more as u64)
        );
    }
    out.push('\n');
    out
}

fn why(r: &ReconfigurationSummary) -> String {
    let why = r.why.split_whitespace().collect::<Vec<_>>().join(" ");
    clip(&format!("  {} was refused: {why}", r.cause), usize::MAX) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_has_a_line() {
        let one = ReconfigurationSummary {
            at_ns: 120_300_000,
            cause: "rule reshape".into(),
            verbs: vec!["swap fpga_reshaped".into(), "cpu 2 offline".into()],
            done: true,
            pause_ns: 6_430,
            represented: 9,
            drained: 2,
            ..ReconfigurationSummary::default()
        };
        let no = ReconfigurationSummary {
            cause: "step 2".into(),
            verbs: vec!["swap nothing".into()],
            done: false,
            why: "there is no topology\n`nothing`".into(),
            ..ReconfigurationSummary::default()
        };
        let mut s = Summary::default();
        assert_eq!(changes(&s, &Screen::default()), "");
        s.reconfigurations = vec![one.clone(), no];
        assert_eq!(
            changes(&s, &Screen::default()),
            "  change                                               at    pause  re-enqueued  drained\n\
             \x20 rule reshape: swap fpga_reshaped, cpu 2 offline  120 ms  6.43 us            9        2\n\
             \x20 step 2: swap nothing                                  0  refused\n\
             \x20 step 2 was refused: there is no topology `nothing`\n\n"
        );
        s.reconfigurations = vec![one; 20];
        assert!(
            changes(&s, &Screen::default()).lines().count() == 1 + LINES + 2
                && changes(&s, &Screen::default()).contains("and 4 more")
        );
    }
}
