// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! How long a reconfiguration holds callers off, by schedulable tasks and CPUs (source 0, 7.3.3: not measured there).
//!
//! Writes `pause.csv` and `pause.svg` into a folder: real time on this computer, the median of several swaps.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use weir_core::{Config, MachineShape, Plan, Sched};
use weir_lang::{NoIncludes, Source};

/// Two graphs of equal size, so that swaps between them are alike.
const TEXTS: [&str; 2] = [
    "annotate affinity; entry -> lb :: load_balancer(quick = true) -> each cpu { q :: head_queue -> cpu };",
    "annotate affinity; entry -> lb :: load_balancer(quick = true) -> each cpu { q :: round_robin -> cpu };",
];
const CPUS: [u32; 4] = [1, 8, 64, 256];
const TASKS: [u32; 8] = [0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];

/// A point: microseconds.
struct Point {
    cpus: u32,
    tasks: u32,
    /// Callers are held off.
    pause: f64,
    /// The call in all: building beside, the change-over, and all tasks on their way to their exits.
    call: f64,
    /// The same for the exchange of the balancer in its place, through which all tasks go.
    instance_pause: f64,
    /// … of the queue of one CPU.
    queue_pause: f64,
}

fn plan(text: &str, shape: &MachineShape) -> Plan {
    let source = Source { name: "bench.weir".into(), text: text.into() };
    weir_lang::compile(&source, &NoIncludes, weir_core::catalog(), shape, &[]).expect("a sound topology").plan
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure(cpus: u32, tasks: u32) -> Point {
    let shape = MachineShape::flat(cpus);
    let plans = TEXTS.map(|t| plan(t, &shape));
    let config = Config { nr_cpus: cpus, arena_bytes: 16 << 30, checks: false, oplog: false, seed: 1 };
    let mut sched = Sched::new(&config).expect("address space");
    sched.load(&plans[0]).expect("a sound plan");
    for i in 0..tasks {
        let t = sched.task_new(i % cpus, u64::from(i)).expect("memory");
        sched.admit(i % cpus, t).expect("a new task");
    }
    sched.use_real_time();
    let repeats = if tasks >= 100_000 { 5 } else { 15 };
    let us = |ns: u64| ns as f64 / 1_000.0;
    let (mut pauses, mut calls) = (Vec::new(), Vec::new());
    for i in 0..repeats {
        let began = Instant::now();
        let stats = sched.swap(&plans[(i + 1) % 2]).expect("it takes over");
        calls.push(began.elapsed().as_secs_f64() * 1e6);
        pauses.push(us(stats.pause_ns));
        assert_eq!(stats.represented, tasks);
    }
    let mut exchange = |name: &str| {
        let of = |p: &Plan| p.instances.iter().position(|i| i.name == name).expect("it is there");
        let at = of(&plans[0]);
        let inst = &plans[0].instances[at];
        let one =
            |_| us(sched.swap_instance(at as u32, inst.class, &inst.params).expect("in its place").pause_ns);
        median((0..repeats).map(one).collect())
    };
    Point {
        cpus,
        tasks,
        pause: median(pauses),
        call: median(calls),
        instance_pause: exchange("lb"),
        queue_pause: exchange("q@cpu0"),
    }
}

/// Measure all points; with `quick` up to 10,000 tasks.
pub fn run(folder: &Path, quick: bool) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut csv = String::from("cpus,tasks,swap_pause_us,swap_call_us,balancer_pause_us,queue_pause_us\n");
    let mut points = Vec::new();
    for cpus in CPUS {
        for tasks in TASKS.into_iter().filter(|t| !quick || *t <= 10_000) {
            let p = measure(cpus, tasks);
            eprintln!("{cpus} CPUs, {tasks} tasks: swap {:.1} us, call {:.1} us", p.pause, p.call);
            let _ = writeln!(
                csv,
                "{},{},{:.2},{:.2},{:.2},{:.2}",
                p.cpus, p.tasks, p.pause, p.call, p.instance_pause, p.queue_pause
            );
            points.push(p);
        }
    }
    std::fs::write(folder.join("pause.csv"), csv)?;
    std::fs::write(folder.join("pause.svg"), svg(&points))
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
const COLOURS: [&str; 4] = ["#1f77b4", "#2ca02c", "#d62728", "#9467bd"];

/// Pause over tasks, both in powers of ten; a line for each number of CPUs, dashed for the exchange of one queue.
fn svg(points: &[Point]) -> String {
    let (left, right, top, bottom) = (64.0, 170.0, 28.0, 48.0);
    // 0 tasks stand one step before 1.
    let x = |tasks: u32| {
        let at = if tasks == 0 { 0.0 } else { 1.0 + f64::from(tasks).log10() };
        left + at / 7.0 * (WIDTH - left - right)
    };
    let (low, high) = (-1.0, 6.0);
    let y = |us: f64| {
        let at = (us.max(0.1).log10() - low) / (high - low);
        HEIGHT - bottom - at * (HEIGHT - top - bottom)
    };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (k, label) in
        ["0.1 µs", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s"].iter().enumerate()
    {
        let at = y(10f64.powi(k as i32 - 1));
        let _ = writeln!(
            out,
            "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            WIDTH - right,
            left - 6.0,
            at + 4.0
        );
    }
    for tasks in TASKS {
        let at = x(tasks);
        let _ = writeln!(
            out,
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tasks}</text>",
            HEIGHT - bottom + 18.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">schedulable tasks</text>",
        (left + WIDTH - right) / 2.0,
        HEIGHT - 8.0
    );
    for (i, cpus) in CPUS.into_iter().enumerate() {
        let mine: Vec<&Point> = points.iter().filter(|p| p.cpus == cpus).collect();
        for (value, dash) in
            [((|p: &Point| p.pause) as fn(&Point) -> f64, "none"), (|p: &Point| p.queue_pause, "4 3")]
        {
            let line: Vec<String> =
                mine.iter().map(|p| format!("{:.1},{:.1}", x(p.tasks), y(value(p)))).collect();
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{dash}\"/>",
                line.join(" "),
                COLOURS[i]
            );
        }
        let at = top + 14.0 + 20.0 * i as f64;
        let from = WIDTH - right + 14.0;
        let _ = writeln!(
            out,
            "<line x1=\"{from}\" x2=\"{}\" y1=\"{at}\" y2=\"{at}\" stroke=\"{}\" stroke-width=\"2\"/><text x=\"{}\" y=\"{}\">{cpus} CPUs</text>",
            from + 24.0,
            COLOURS[i],
            from + 30.0,
            at + 4.0
        );
    }
    let at = top + 14.0 + 20.0 * CPUS.len() as f64;
    let from = WIDTH - right + 14.0;
    let _ = writeln!(
        out,
        "<text x=\"{from}\" y=\"{}\">solid: whole topology</text><text x=\"{from}\" y=\"{}\">dashed: one CPU's queue</text>\n</svg>",
        at + 8.0,
        at + 26.0
    );
    out
}
