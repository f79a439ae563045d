// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A run as a figure for a paper: a row a task, what it ran on which CPU, releases, deadlines and misses.

use std::path::{Path, PathBuf};

use weir_report::picture::{Anchor, BLACK, GREY, Ink, PALE, Picture, Play, RED, text_width};
use weir_report::{clip, exact, plural};
use weir_trace::history::{Span, State};

use crate::explain::Explainer;
use crate::fault::{Fault, Result};
use crate::input;

/// What is drawn.
#[derive(Clone, Debug, Default)]
pub struct GanttOptions {
    /// Folder of `run --out` or `live --record`, its trace, or a recording.
    pub dir: PathBuf,
    /// From when to when, ns from the start; the whole run if left out.
    pub span_ns: Option<(u64, u64)>,
    /// Only tasks whose names begin so, in this order; all if there are none.
    pub groups: Vec<String>,
    /// Let what happens appear from left to right within so many seconds, over and over: for SVG in a browser.
    pub play: Option<f64>,
}

/// Rows of a picture.
const MOST_ROWS: usize = 64;
/// Pieces that a picture holds: what is smaller cannot be seen.
const MOST_PIECES: usize = 20_000;
/// Points: the width of all, the height of a row, of a bar, and of an arrow above it.
const WIDTH: f64 = 720.0;
const ROW: f64 = 30.0;
const BAR: f64 = 12.0;
const ARROW: f64 = 20.0;
/// Letters of a task's name.
const NAME: usize = 28;
/// Colours of CPUs; they also differ in brightness.
const CPUS: [Ink; 8] =
    ["#4269d0", "#efb118", "#2fa58c", "#c9559b", "#6b7a2f", "#8a55d7", "#96705a", "#2f93c4"];

/// A job of `jobs.csv`.
struct Job {
    task: u32,
    release_ns: u64,
    deadline_ns: Option<u64>,
    missed: bool,
}

/// Draw a run.
///
/// # Errors
/// The user's: there is no trace, the span has nothing or too much in it, no name begins so.
pub fn gantt(options: &GanttOptions) -> Result<Picture> {
    let run = Explainer::open(&options.dir)?;
    let history = run.history();
    let (from, to) = options.span_ns.unwrap_or((0, history.end_ns));
    let to = to.min(history.end_ns);
    if from >= to {
        return Err(Fault::user(
            format!("the run lasts {}: there is nothing from {} on", exact(history.end_ns), exact(from)),
            "choose a span within the run: --span 0..40ms",
        ));
    }
    let jobs = jobs(&options.dir)?;
    let within = |s: &&Span| s.to_ns > from && s.from_ns < to;
    // Which of the groups a name belongs to.
    let group = |name: &str| match options.groups.is_empty() {
        true => Some(0),
        false => options.groups.iter().position(|g| name.starts_with(g.as_str())),
    };
    let mut rows: Vec<(usize, u32)> = Vec::new();
    let mut pieces = 0;
    for (number, task) in (0..).zip(&history.tasks) {
        let shown =
            task.spans.iter().filter(within).filter(|s| !matches!(s.state, State::Blocked { .. })).count();
        if let Some(group) = group(&task.name).filter(|_| shown > 0) {
            rows.push((group, number));
            pieces += shown;
        }
    }
    rows.sort_unstable();
    let mut rows: Vec<u32> = rows.into_iter().map(|(_, number)| number).collect();
    if rows.is_empty() {
        let of = match &options.groups[..] {
            [] => String::new(),
            all => format!(" whose name begins with `{}`", all.join("` or `")),
        };
        return Err(Fault::user(
            format!("no task{of} runs or waits from {} to {}", exact(from), exact(to)),
            "choose another span, or another --group",
        ));
    }
    if pieces > MOST_PIECES {
        return Err(Fault::user(
            format!(
                "from {} to {} there are {pieces} pieces, and a figure holds {MOST_PIECES}",
                exact(from),
                exact(to)
            ),
            "choose a shorter --span, or fewer tasks with --group; trace.pftrace in ui.perfetto.dev shows all",
        ));
    }
    let left_out = rows.len().saturating_sub(MOST_ROWS);
    rows.truncate(MOST_ROWS);
    let names: Vec<String> = rows.iter().map(|n| clip(&history.name(*n), NAME)).collect();
    let left = names.iter().map(|n| text_width(n, 9.0)).fold(30.0, f64::max) + 16.0;
    let top = 52.0;
    let bottom = 30.0 + if left_out > 0 { 14.0 } else { 0.0 };
    let title = format!(
        "{} on {}, {}: {} to {}",
        history.topology,
        history.machine,
        history.workload,
        exact(from),
        exact(to)
    );
    let mut p = Picture::new(WIDTH, top + ROW * rows.len() as f64 + bottom, title.clone());
    let right = WIDTH - 14.0;
    let x = |t: u64| left + (t.clamp(from, to) - from) as f64 / (to - from) as f64 * (right - left);
    p.heading((10.0, 16.0), title, 10.0);
    let several = history.cpus.len() > 1;
    legend(&mut p, history.cpus.len(), several, !jobs.is_empty());
    let floor = top + ROW * rows.len() as f64;
    axis(&mut p, from, to, (top, floor), &x);
    let base = |row: usize| top + ROW * (row + 1) as f64;
    for (row, name) in names.iter().enumerate() {
        p.text((left - 8.0, base(row) - 2.0), name.clone(), 9.0, Anchor::End, BLACK);
        p.line((left, base(row)), (right, base(row)), GREY, 0.5);
    }
    let first = p.shapes.len();
    for (row, number) in rows.iter().enumerate() {
        let base = base(row);
        for span in history.tasks[*number as usize].spans.iter().filter(within) {
            let (a, b) = (x(span.from_ns), x(span.to_ns));
            match span.state {
                State::Running { cpu } => {
                    let ink = CPUS[if several { cpu as usize % CPUS.len() } else { 0 }];
                    p.rect(a, base - BAR, (b - a).max(0.15), BAR, ink);
                }
                State::Ready { .. } => p.rect(a, base - 3.0, (b - a).max(0.15), 3.0, PALE),
                State::Blocked { .. } => {}
            }
        }
        for job in jobs.iter().filter(|j| j.task == *number) {
            if (from..=to).contains(&job.release_ns) {
                arrow(&mut p, x(job.release_ns), base, true, BLACK);
            }
            let Some(deadline) = job.deadline_ns.filter(|d| (from..=to).contains(d)) else { continue };
            arrow(&mut p, x(deadline), base, false, if job.missed { RED } else { BLACK });
            if job.missed {
                let (cx, cy) = (x(deadline), base - BAR / 2.0);
                p.line((cx - 3.0, cy - 3.0), (cx + 3.0, cy + 3.0), RED, 1.2);
                p.line((cx - 3.0, cy + 3.0), (cx + 3.0, cy - 3.0), RED, 1.2);
            }
        }
    }
    for change in changes(&options.dir)?.iter().filter(|c| (from..=to).contains(&c.at_ns)) {
        let at = x(change.at_ns);
        p.line((at, top - 4.0), (at, floor), BLACK, 1.0);
        let room = if at > (left + right) / 2.0 { Anchor::End } else { Anchor::Start };
        let aside = if room == Anchor::End { -4.0 } else { 4.0 };
        p.text((at + aside, top + 2.0), change.text(), 8.0, room, BLACK);
    }
    p.play = options.play.map(|seconds| Play { shapes: first..p.shapes.len(), x: (left, right), seconds });
    if left_out > 0 {
        let text = format!("and {}: --group selects some", plural(left_out, "more task"));
        p.text((left, floor + 36.0), text, 8.0, Anchor::Start, GREY);
    }
    Ok(p)
}

/// A release points up from the line, a deadline down to it.
fn arrow(p: &mut Picture, x: f64, base: f64, up: bool, ink: Ink) {
    let (tip, tail) = if up { (base - ARROW, base) } else { (base, base - ARROW) };
    let back = if up { 4.0 } else { -4.0 };
    p.line((x, tail), (x, tip + back / 2.0), ink, 0.8);
    p.polygon(&[(x, tip), (x - 2.0, tip + back), (x + 2.0, tip + back)], ink);
}

fn legend(p: &mut Picture, nr_cpus: usize, several: bool, with_jobs: bool) {
    let (mut x, y) = (10.0, 34.0);
    let entry = |p: &mut Picture, x: &mut f64, text: &str| {
        p.text((*x, y), text, 8.0, Anchor::Start, BLACK);
        *x += text_width(text, 8.0) + 12.0;
    };
    let shown = if several { nr_cpus.min(CPUS.len()) } else { 1 };
    for (cpu, ink) in CPUS.iter().enumerate().take(shown) {
        p.rect(x, y - 7.0, 10.0, 8.0, ink);
        x += 13.0;
        let word = match several {
            true if nr_cpus > CPUS.len() => format!("CPU {cpu}, {} …", cpu + CPUS.len()),
            true => format!("CPU {cpu}"),
            false => "runs".into(),
        };
        entry(p, &mut x, &word);
    }
    p.rect(x, y - 3.0, 10.0, 3.0, PALE);
    x += 13.0;
    entry(p, &mut x, "waits");
    if with_jobs {
        for (up, ink, word) in [(true, BLACK, "release"), (false, BLACK, "deadline"), (false, RED, "missed")]
        {
            let base = y + 2.0;
            let (tip, tail) = if up { (base - 12.0, base) } else { (base, base - 12.0) };
            let back = if up { 4.0 } else { -4.0 };
            p.line((x + 2.0, tail), (x + 2.0, tip + back / 2.0), ink, 0.8);
            p.polygon(&[(x + 2.0, tip), (x, tip + back), (x + 4.0, tip + back)], ink);
            x += 8.0;
            entry(p, &mut x, word);
        }
    }
}

/// Round steps, each with its time.
fn axis(p: &mut Picture, from: u64, to: u64, (top, floor): (f64, f64), x: &dyn Fn(u64) -> f64) {
    let rough = (to - from) / 8;
    let mut step: u64 = 1;
    'found: loop {
        for factor in [1, 2, 5] {
            if step.saturating_mul(factor) >= rough.max(1) {
                step = step.saturating_mul(factor);
                break 'found;
            }
        }
        step = step.saturating_mul(10);
    }
    let mut t = from.div_ceil(step) * step;
    while t <= to {
        p.line((x(t), top), (x(t), floor), PALE, 0.4);
        p.line((x(t), floor), (x(t), floor + 4.0), BLACK, 0.6);
        p.text((x(t), floor + 14.0), exact(t), 8.0, Anchor::Middle, BLACK);
        t += step;
    }
}

/// A change of the scheduler during the run, as `summary.json` has it.
#[derive(serde::Deserialize)]
struct Change {
    at_ns: u64,
    done: bool,
    from: String,
    to: String,
    pause_ns: u64,
    represented: u32,
}

impl Change {
    fn text(&self) -> String {
        let what = match self.from == self.to {
            true => format!("a part of {} changes", self.to),
            false => format!("{} to {}", self.from, self.to),
        };
        format!("{what}: pause {}, {} moved", exact(self.pause_ns), plural(self.represented, "task"))
    }
}

/// The changes of the scheduler; none where the run has no summary.
fn changes(path: &Path) -> Result<Vec<Change>> {
    #[derive(serde::Deserialize)]
    struct Page {
        #[serde(default)]
        reconfigurations: Vec<Change>,
    }
    let file = if path.is_dir() { path.join("summary.json") } else { path.with_file_name("summary.json") };
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let text = input::read_text(&file)?;
    let page: Page = serde_json::from_str(&text).map_err(|e| {
        Fault::user(format!("{}: {e}", file.display()), "write it again: runweir run … --out DIR")
    })?;
    Ok(page.reconfigurations.into_iter().filter(|c| c.done).collect())
}

/// The jobs beside the trace; none where the run has no such file.
fn jobs(path: &Path) -> Result<Vec<Job>> {
    let file = if path.is_dir() { path.join("jobs.csv") } else { path.with_file_name("jobs.csv") };
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let shown = file.to_string_lossy().into_owned();
    let text = input::read_text(&file)?;
    let broken =
        |what: String| Fault::user(format!("{shown}: {what}"), "write it again: runweir run … --out DIR");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|e| broken(e.to_string()))?.clone();
    let column = |name: &str| {
        headers.iter().position(|h| h == name).ok_or_else(|| broken(format!("there is no column `{name}`")))
    };
    let [task, release, deadline, missed] = ["task", "release_ns", "deadline_ns", "missed"].map(column);
    let (task, release, deadline, missed) = (task?, release?, deadline?, missed?);
    let mut all = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| broken(e.to_string()))?;
        let number = |i: usize| record.get(i).and_then(|t| t.parse::<u64>().ok());
        let (Some(task), Some(release_ns)) = (number(task), number(release)) else {
            return Err(broken(format!("a line has no task or no release: {record:?}")));
        };
        all.push(Job {
            task: u32::try_from(task).unwrap_or(u32::MAX),
            release_ns,
            deadline_ns: number(deadline),
            missed: record.get(missed) == Some("1"),
        });
    }
    Ok(all)
}
