// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Source 0, 7.3.3: how long a reconfiguration holds callers off, by schedulable tasks and CPUs, and what being able to
//! reconfigure costs otherwise.
//!
//! Native: processor time of this computer, one measurement after the other on one thread. So the computer's other load does not count, except
//! by what it does to the caches.

use weir_core::{Config, Plan, Sched, thread_time_ns};
use weir_model::Machine;

use crate::reproduce::hotpath::{self, Hot};
use crate::reproduce::lab::{self, Done, Lab};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, Picture, Report, Table, short};
use weir::fault::Fault;

pub const EXPERIMENT: Experiment = Experiment {
    id: "swap-pause",
    aliases: &["pause", "swap", "7.3.3"],
    title: "how long a reconfiguration delays callers, by tasks and CPUs, and the cost of being reconfigurable",
    source: "source 0, section 7.3.3 (not measured there)",
    run,
};

/// Two graphs of equal size, so that swaps between them are alike.
const TEXTS: [&str; 2] = [
    "annotate affinity; entry -> lb :: load_balancer(quick = true) -> each cpu { q :: head_queue -> cpu };",
    "annotate affinity; entry -> lb :: load_balancer(quick = true) -> each cpu { q :: round_robin -> cpu };",
];
const CPUS: [u32; 5] = [1, 8, 64, 256, 1024];
const TASKS: [u32; 8] = [0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];
/// Address space of an arena; pages are touched only when used.
const ARENA: usize = 16 << 30;
/// The machine and the loads that claims speak of.
const MACHINE: u32 = 64;
const USUAL: u32 = 100;
const MANY: u32 = 10_000;
/// A change of the source's adaptive scheduler: 3.9 ms for three, from table B.23.
const SOURCE_US: f64 = 1_300.0;

/// Medians of several swaps, us.
struct Point {
    cpus: u32,
    tasks: u32,
    /// Callers are held off.
    pause: f64,
    /// The call in all: building beside, the change-over, and all tasks on their way to their exits.
    call: f64,
    /// Held off for the exchange of the balancer in its place, through which all tasks go.
    balancer: f64,
    /// … of the queue of one CPU.
    queue: f64,
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let cpus: &[u32] = lab.pick(&CPUS, &[1, MACHINE]);
    let tasks: &[u32] = lab.pick(&TASKS, &[0, USUAL, MANY]);
    let grid: Vec<(u32, u32)> = cpus.iter().flat_map(|c| tasks.iter().map(move |t| (*c, *t))).collect();
    let points = lab.one_by_one(&grid, |(c, t)| measure(*c, *t, lab.pick(15, 5)))?;
    let hot = hotpath::measure(lab, lab.pick((31, 200), (3, 20)))?;

    let mut report = Report { claims: claims(&points), ..Report::default() };
    let heads = ["cpus", "tasks", "swap_pause_us", "swap_call_us", "balancer_pause_us", "queue_pause_us"];
    let mut table = Table::new("pause", &heads);
    for p in &points {
        let us = [p.pause, p.call, p.balancer, p.queue].map(|v| format!("{v:.2}"));
        table.row([p.cpus.to_string(), p.tasks.to_string()].into_iter().chain(us));
    }
    report.tables.push(table);
    match hot {
        Ok(hot) => {
            report.claims.push(hot_claim(&hot));
            let mut table = Table::new("hot-path", &["threads", "with_ns", "without_ns", "ratio"]);
            for h in &hot {
                let (with, without) = (format!("{:.1}", h.with_ns), format!("{:.1}", h.without_ns));
                table.row([h.threads.to_string(), with, without, format!("{:.3}", h.ratio())]);
            }
            report.tables.push(table);
        }
        Err(why) => {
            report.notes.push(format!("The hot path with and without swapping was not measured: {why}."))
        }
    }
    report.notes.push("Processor time of the computer that it ran on: not the same each time.".into());
    report.pictures = pictures(&points, cpus, tasks);
    Ok(report)
}

fn plan(text: &str, machine: &Machine) -> Done<Plan> {
    lab::plan_of("pause", text, machine, &[])
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn failed(e: &weir_core::Error) -> Fault {
    Fault::system(format!("the core refused a call of the measurement: {e}"), "is there memory left?")
}

/// Swap whole topologies and single instances, in turns, while all tasks are schedulable.
fn measure(cpus: u32, tasks: u32, repeats: usize) -> Done<Point> {
    let machine = Machine::smp(cpus);
    let plans = [plan(TEXTS[0], &machine)?, plan(TEXTS[1], &machine)?];
    let config = Config { nr_cpus: cpus, arena_bytes: ARENA, checks: false, oplog: false, seed: 1 };
    Sched::for_threads();
    let mut sched = Sched::new(&config).map_err(|e| failed(&e))?;
    sched.load(&plans[0]).map_err(|e| failed(&e))?;
    for i in 0..tasks {
        let t = sched.task_new(i % cpus, u64::from(i)).map_err(|e| failed(&e))?;
        sched.admit(i % cpus, t).map_err(|e| failed(&e))?;
    }
    sched.use_thread_time();
    // An even number of swaps of the whole leaves the first topology in force.
    let repeats = if tasks >= 100_000 { 6 } else { repeats + repeats % 2 };
    let us = |ns: u64| ns as f64 / 1_000.0;
    let (mut pauses, mut calls) = (Vec::new(), Vec::new());
    for i in 0..repeats {
        let began = thread_time_ns();
        let stats = sched.swap(&plans[(i + 1) % 2]).map_err(|e| failed(&e))?;
        calls.push(us(thread_time_ns() - began));
        pauses.push(us(stats.pause_ns));
        assert_eq!(stats.represented, tasks, "every schedulable task is re-enqueued");
    }
    let mut exchange = |name: &str| -> Done<f64> {
        let at = plans[0].instances.iter().position(|i| i.name == name).expect("the topology has it");
        let inst = &plans[0].instances[at];
        let one = |_| sched.swap_instance(at as u32, inst.class, &inst.params).map(|s| us(s.pause_ns));
        Ok(median((0..repeats).map(one).collect::<Result<_, _>>().map_err(|e| failed(&e))?))
    };
    let (balancer, queue) = (exchange("lb")?, exchange("q@cpu0")?);
    Ok(Point { cpus, tasks, pause: median(pauses), call: median(calls), balancer, queue })
}

fn claims(points: &[Point]) -> Vec<Claim> {
    let of = |cpus: u32, tasks: u32| {
        points.iter().find(|p| p.cpus == cpus && p.tasks == tasks).expect("the grid has it")
    };
    let largest = points.last().expect("the grid is not empty").tasks;
    let here = of(MACHINE, USUAL).pause;
    let mut claims = vec![
        Claim::new(
            format!("{USUAL} schedulable tasks, {MACHINE} CPUs: a change holds callers off for"),
            format!("about {} us, inferred from table B.23", short(SOURCE_US)),
            format!("{} us", short(here)),
            Judged::of(
                here <= SOURCE_US,
                here <= 10.0 * SOURCE_US,
                "no longer than there; partly ten times as long",
            ),
        )
        .own()
        .remark("the source's goes through a system call and threads in user space, so the two are not one quantity: only the order of size is compared"),
    ];
    let by_cpus: Vec<(u32, f64)> =
        points.iter().filter(|p| p.tasks == MANY).map(|p| (p.cpus, p.pause)).collect();
    let (least, most) = extremes(by_cpus.iter().map(|p| p.1));
    claims.push(Claim::new(
        format!(
            "the graph is built beside the old one, so that CPUs do not count: {} tasks, us (CPUs)",
            short(f64::from(MANY))
        ),
        "-",
        by_cpus.iter().map(|(c, us)| format!("{} ({c})", short(*us))).collect::<Vec<_>>().join(", "),
        Judged::of(
            most <= 1.25 * least,
            most <= 4.0 * least,
            "the longest is at most 1.25 × the shortest; partly 4 ×",
        ),
    ));
    let grown: Vec<(u32, f64)> = points
        .iter()
        .filter(|p| p.cpus == MACHINE && p.tasks >= 1_000)
        .map(|p| (p.tasks, p.pause * 1e3 / f64::from(p.tasks)))
        .collect();
    let (least, most) = extremes(grown.iter().map(|g| g.1));
    claims.push(
        Claim::new(
            format!("the pause grows in proportion to the tasks: {MACHINE} CPUs, ns a task (tasks)"),
            "-",
            grown
                .iter()
                .map(|(t, ns)| format!("{} ({})", short(*ns), short(f64::from(*t))))
                .collect::<Vec<_>>()
                .join(", "),
            Judged::of(
                most <= 1.5 * least,
                most <= 8.0 * least,
                "the most is at most 1.5 × the least; partly 8 ×",
            ),
        )
        .remark(format!(
            "each is taken from its old pipe and put into the new entry; {} of them hold callers off for {} ms",
            short(f64::from(largest)),
            short(of(MACHINE, largest).pause / 1e3)
        )),
    );
    let (whole, queue) = (of(MACHINE, MANY).pause, of(MACHINE, MANY).queue);
    claims.push(Claim::new(
        format!(
            "an exchange of one CPU's queue of {MACHINE} waits for its tasks only: {} tasks",
            short(f64::from(MANY))
        ),
        "-",
        format!("{} us instead of {} us for the whole", short(queue), short(whole)),
        Judged::of(queue * 8.0 <= whole, queue < whole, "at most an eighth of the whole; partly less"),
    ));
    claims
}

fn hot_claim(hot: &[Hot]) -> Claim {
    let worst = hot.iter().map(Hot::ratio).fold(0.0, f64::max);
    let one = |h: &Hot| {
        let (with, without) = (short(h.with_ns), short(h.without_ns));
        format!(
            "{with} ns a call instead of {without}, {} × ({} thread{})",
            short(h.ratio()),
            h.threads,
            plural(h.threads)
        )
    };
    Claim::new(
        "the hot path with swapping compiled in, against a build without, in turns",
        "-",
        hot.iter().map(one).collect::<Vec<_>>().join("; "),
        Judged::of(worst <= 1.1, worst <= 2.0, "at most 1.1 ×; partly 2 ×"),
    )
    .remark("pick, relinquish, block and unblock, a queue for each thread; a call counts itself in and looks for a writer, with a full fence between.")
}

fn plural(n: u32) -> &'static str {
    if n == 1 { "" } else { "s" }
}

fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(least, most), v| (v.min(least), v.max(most)))
}

/// The pause by tasks, a line for each machine, and by CPUs, a line for each load.
fn pictures(points: &[Point], cpus: &[u32], tasks: &[u32]) -> Vec<Picture> {
    type Key = fn(&Point) -> u32;
    type Value = fn(&Point) -> f64;
    let line = |name: String, colour: usize, dashed: bool, of: (Key, u32), x: Key, y: Value| Line {
        name,
        // Logarithms: what was too short to be seen stands at the clock's grain.
        points: points
            .iter()
            .filter(|p| of.0(p) == of.1)
            .map(|p| (x(p).to_string(), y(p).max(0.01)))
            .collect(),
        colour,
        dashed,
    };
    let (by_cpus, by_tasks): (Key, Key) = (|p| p.cpus, |p| p.tasks);
    let (pause, queue): (Value, Value) = (|p| p.pause, |p| p.queue);
    let words = |values: &[u32]| values.iter().map(u32::to_string).collect::<Vec<_>>();
    let mut lines = Vec::new();
    for (colour, c) in cpus.iter().enumerate() {
        let cpus = format!("{c} CPU{}", plural(*c));
        lines.push(line(cpus.clone(), colour, false, (by_cpus, *c), by_tasks, pause));
        lines.push(line(format!("{cpus}, one queue"), colour, true, (by_cpus, *c), by_tasks, queue));
    }
    let titles = ("schedulable tasks", "pause of a swap, us (median)");
    let first = Picture::new("pause", titles, true, &words(tasks), lines);
    let line = |(colour, t): (usize, &u32)| {
        line(format!("{t} tasks"), colour, false, (by_tasks, *t), by_cpus, pause)
    };
    let lines = tasks.iter().filter(|t| **t == 0 || **t >= USUAL).enumerate().map(line).collect();
    let titles = ("CPUs", "pause of a swap, us (median)");
    vec![first, Picture::new("pause-by-cpus", titles, true, &words(cpus), lines)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::report::Verdict;

    #[test]
    fn claims_follow_the_measurements() {
        let point =
            |cpus, tasks, pause, queue| Point { cpus, tasks, pause, call: pause, balancer: pause, queue };
        let mut points = vec![
            point(1, 100, 20.0, 5.0),
            point(1, 10_000, 500.0, 400.0),
            point(64, 100, 25.0, 5.0),
            point(64, 10_000, 600.0, 12.0),
        ];
        let verdicts = |points: &[Point]| claims(points).iter().filter_map(|c| c.met).collect::<Vec<_>>();
        assert_eq!(verdicts(&points), [Verdict::Holds; 4]);
        points[2].pause = 2_000.0;
        points[3].pause = 1_500.0;
        points[3].queue = 1_600.0;
        assert_eq!(verdicts(&points), [Verdict::Partly, Verdict::Partly, Verdict::Holds, Verdict::Fails]);
    }

    #[test]
    fn a_swap_is_measured() {
        let p = measure(2, 3, 1).expect("a swap");
        assert!(p.pause > 0.0 && p.call >= p.pause && p.balancer > 0.0 && p.queue > 0.0);
    }
}
