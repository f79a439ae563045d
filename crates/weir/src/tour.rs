// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Half a minute for somebody who sees the program for the first time: two schedulers, one picture, and where to go on.

use weir_report::{Screen, Summary, Tone, count, duration, pairs};

use crate::compare::{CompareOptions, Comparison, compare};
use crate::fault::Result;
use crate::session::Setting;
use crate::watch::Watch;

/// What is compared, as one would type it.
const SCHEDULERS: [(&str, &str); 2] =
    [("decentral", "turns of 3 ms for every task alike"), ("priority", "the most urgent task first")];
const MACHINE: &str = "desktop";
const WORKLOAD: &str = "video";

/// The first steps of those whom the program is for.
const NEXT: [(&str, &str); 5] = [
    (
        "to learn",
        "runweir studio decentral (edit and run it in the browser); docs/tutorial.md, your own component in ten minutes",
    ),
    (
        "your slow service",
        "runweir record -o web.data --duration 10s; runweir import web.data -o web.toml; runweir advise web.data",
    ),
    (
        "your deadlines",
        "runweir analyze --schedulability -w set.csv -m smp-4; runweir run … --out results; runweir gantt results -o figure.pdf",
    ),
    (
        "your notebook",
        "pip install the wheel (make python); runweir.run(\"edf\", \"smp-4\", \"periodic\").totals",
    ),
    (
        "your machines",
        "runweir vm -t decentral -- hackbench (without touching this kernel); sudo runweir live decentral; docs/live.md",
    ),
];

/// A title, the figure, how it is written, and whether more is better.
type Figure = (&'static str, fn(&Summary) -> u64, fn(u64) -> String, bool);

/// The runs of the tour.
#[derive(Clone, Debug)]
pub struct Tour {
    pub comparison: Comparison,
}

/// Make the runs: some milliseconds.
///
/// # Errors
/// The caller ended it early.
pub fn tour(watch: &dyn Watch) -> Result<Tour> {
    let options = CompareOptions {
        setting: Setting {
            machine: Some(MACHINE.into()),
            workload: Some(WORKLOAD.into()),
            ..Setting::default()
        },
        topologies: SCHEDULERS.iter().map(|s| s.0.into()).collect(),
        seed: 1,
        seeds: 1,
        ..CompareOptions::default()
    };
    Ok(Tour { comparison: compare(&options, watch)? })
}

impl Tour {
    /// The tour as it is read.
    pub fn text(&self, screen: &Screen) -> String {
        let mut out = String::from(
            "A video player and a parallel build share a desktop with four cores. The player has 16.7 ms for a frame, the build takes what it \
             gets. Which task should run when? Two schedulers, each a few lines long (runweir topologies NAME):\n\n",
        );
        let rows: Vec<(String, String)> =
            SCHEDULERS.iter().map(|(n, what)| (n.to_string(), what.to_string())).collect();
        out += &pairs(&rows, screen);
        out.push('\n');
        let figures: [Figure; 3] = [
            ("deadlines missed", |s| s.totals.deadline_misses, count, false),
            ("mean response", |s| s.response_ns.mean, duration, false),
            ("jobs done", |s| s.totals.jobs_completed, count, true),
        ];
        for (title, of, show, more_is_better) in figures {
            let values: Vec<u64> = self.comparison.runs.iter().map(of).collect();
            let most = values.iter().copied().max().unwrap_or(0).max(1);
            let best = if more_is_better { values.iter().max() } else { values.iter().min() }.copied();
            let room = screen.width.saturating_sub(46).clamp(10, 60);
            for (i, (run, value)) in self.comparison.runs.iter().zip(&values).enumerate() {
                let bar = "█".repeat((*value as f64 / most as f64 * room as f64).round() as usize);
                let tone = if Some(*value) == best { Tone::Good } else { Tone::Plain };
                let head = if i == 0 { title } else { "" };
                let figure = format!("{bar} {}", show(*value));
                out += &format!(
                    "  {head:<17} {:<10} {}\n",
                    run.topology,
                    screen.paint(figure.trim_start(), tone)
                );
            }
        }
        out += "\nThe same again, with every figure, and reports and traces in a folder:\n\n";
        out += &format!(
            "  runweir compare -t {} -t {} -m {MACHINE} -w {WORKLOAD} --out tour\n\nWhere to go from here:\n\n",
            SCHEDULERS[0].0, SCHEDULERS[1].0
        );
        let next: Vec<(String, String)> =
            NEXT.iter().map(|(who, what)| (who.to_string(), what.to_string())).collect();
        out += &pairs(&next, screen);
        screen.fold(&out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Unwatched;

    #[test]
    fn the_tour_shows_two_schedulers_that_differ() {
        let tour = tour(&Unwatched).expect("it runs");
        let misses: Vec<u64> = tour.comparison.runs.iter().map(|s| s.totals.deadline_misses).collect();
        assert!(misses[0] > 10 * misses[1].max(1), "{misses:?}");
        for width in [60, 80, 200] {
            let text = tour.text(&Screen { width, colour: false });
            assert!(text.lines().all(|l| l.chars().count() <= width), "{width}: {text}");
            assert!(NEXT.iter().all(|(who, _)| text.contains(who)), "{text}");
        }
    }
}
