// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Heat, power and clocks (source 0, 3.6 and 2.4.3: information that cuts across; nothing is measured there): what three
//! components buy that use what the machine publishes.

use weir_core::event::{Event, Observer};
use weir_model::{Costs, Machine};
use weir_sim::Outcome;

use crate::reproduce::lab::{self, Done, Lab, Run};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Report, Table, short};
use weir::machine;

pub const EXPERIMENT: Experiment = Experiment {
    id: "heat",
    aliases: &["power", "energy"],
    title: "temperature, batteries and clocks: spreading heat, small cores on battery, pacing against racing to idle",
    source: "ours; source 0, 2.4.3 and 3.6, asks for it",
    run,
};

/// A machine of which a slow clock saves little: most of its power does not depend on the clock, and its idle CPUs sleep deeply.
const LEAKY: &str = "name = \"leaky\"\n[[kind]]\nname = \"core\"\nidle = \"20mW\"\npoints = [\n\
                     { clock = \"900MHz\", power = \"2500mW\" },\n{ clock = \"1800MHz\", power = \"3W\" },\n\
                     { clock = \"2700MHz\", power = \"3500mW\" },\n]\n[[cpus]]\ncount = 8\n";

/// A periodic load of 2.4 of the fastest CPUs.
const PERIODIC: &str = "periodic:tasks=24,util=240%,method=randfixedsum,pmin=20ms,pmax=100ms";

/// A load that the phone's small cores nearly carry.
const LIGHT: &str = "periodic:tasks=24,util=120%,method=randfixedsum,pmin=20ms,pmax=100ms";

/// What a run was like.
struct Seen {
    outcome: Outcome,
    jobs: u64,
    /// Time that CPUs spent below their top clock, ns, all together; highest temperature, thousandths of a degree.
    slow_ns: u64,
    hottest: u64,
    mean_response_ms: f64,
}

/// Clocks, temperatures and jobs of a run.
struct Watcher {
    top: Vec<u64>,
    slow_since: Vec<Option<u64>>,
    slow_ns: u64,
    hottest: u64,
    jobs: u64,
    response_ns: u64,
}

impl Watcher {
    fn new(machine: &Machine) -> Self {
        let n = machine.nr_cpus();
        Self {
            top: (0..n).map(|c| machine.top_hz(c)).collect(),
            slow_since: vec![None; n as usize],
            slow_ns: 0,
            hottest: 0,
            jobs: 0,
            response_ns: 0,
        }
    }

    fn end(&mut self, t_ns: u64) {
        for since in self.slow_since.iter_mut().filter_map(Option::take) {
            self.slow_ns += t_ns - since;
        }
    }
}

impl Observer for Watcher {
    fn event(&mut self, t_ns: u64, event: &Event<'_>) {
        match *event {
            Event::Frequency { cpu, hz } => {
                let since = &mut self.slow_since[cpu as usize];
                if hz >= self.top[cpu as usize] {
                    self.slow_ns += since.take().map_or(0, |s| t_ns - s);
                } else if since.is_none() {
                    *since = Some(t_ns);
                }
            }
            Event::Message { topic: "THERMAL", value, .. } => self.hottest = self.hottest.max(value),
            Event::JobDone { response_ns, .. } => {
                self.jobs += 1;
                self.response_ns += response_ns;
            }
            _ => {}
        }
    }
}

fn measure(lab: &Lab<'_>, topology: &str, machine: &Machine, workload: &str, ms: u64) -> Done<Seen> {
    let costs = Costs::default();
    let plan = lab::plan(topology, machine, &[])?;
    let workload = lab::workload(workload)?;
    let mut watcher = Watcher::new(machine);
    let mut run = Run::new(machine, &plan, &workload, &costs);
    run.duration_ns = Some(ms * 1_000_000);
    let outcome = lab.run(&run, &mut watcher)?;
    watcher.end(outcome.end_ns);
    let mean_response_ms = watcher.response_ns as f64 / watcher.jobs.max(1) as f64 / 1e6;
    let Watcher { slow_ns, hottest, jobs, .. } = watcher;
    Ok(Seen { outcome, jobs, slow_ns, hottest, mean_response_ms })
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let (hot, phone) = (machine::resolve("hot-8")?, machine::resolve("phone")?);
    let leaky = lab::machine_of("leaky", LEAKY)?;
    let ms = lab.pick(4_000, 1_000);
    let grid: [(&str, &str, &Machine, &str); 10] = [
        ("heat", "decentral", &hot, "render"),
        ("heat", "cool", &hot, "render"),
        ("battery", "decentral", &phone, "video"),
        ("battery", "thrifty", &phone, "video"),
        ("battery, light", "decentral", &phone, LIGHT),
        ("battery, light", "thrifty", &phone, LIGHT),
        ("pacing, phone", "decentral", &phone, PERIODIC),
        ("pacing, phone", "paced", &phone, PERIODIC),
        ("pacing, leaky", "decentral", &leaky, PERIODIC),
        ("pacing, leaky", "paced", &leaky, PERIODIC),
    ];
    let seen = lab.points(&grid, |(_, topology, machine, load)| measure(lab, topology, machine, load, ms))?;
    let [warm, cool, busy, thrifty, light, light_thrifty, race, pace, leak_race, leak_pace] = &seen[..]
    else {
        unreachable!("as many as points")
    };
    let joule = |s: &Seen| s.outcome.energy_uj as f64 / 1e6;
    let saved = |a: &Seen, b: &Seen| 100.0 * (1.0 - joule(b) / joule(a));
    let mut report = Report::default();
    let gain = cool.jobs as f64 / warm.jobs.max(1) as f64;
    report.claims.push(
        Claim::new(
            "going to the coolest idle CPU gets more done than staying on a warm one: four threads on eight cores that get hot",
            "-",
            format!(
                "{} × ({} bursts instead of {}); {:.0} and {:.0} ms at the lowest clock, {:.0} and {:.0} degrees at most",
                short(gain),
                cool.jobs,
                warm.jobs,
                cool.slow_ns as f64 / 1e6,
                warm.slow_ns as f64 / 1e6,
                cool.hottest as f64 / 1e3,
                warm.hottest as f64 / 1e3
            ),
            Judged::of(gain >= 1.1, gain > 1.0, "a tenth more at least; partly more"),
        )
        .remark("a balancer that prefers the last CPU, for its cache, lets it get hot enough to be throttled"),
    );
    for (what, plain, thrifty) in [
        ("a video beside a build, which keep all CPUs busy", busy, thrifty),
        ("periodic tasks that the small cores nearly carry", light, light_thrifty),
    ] {
        let less = saved(plain, thrifty);
        let (before, after) = (plain.outcome.deadline_misses, thrifty.outcome.deadline_misses);
        report.claims.push(Claim::new(
            format!("on battery, small cores first saves energy at little expense of deadlines: {what}, on a phone"),
            "-",
            format!(
                "{less:.1} % of the energy ({:.2} instead of {:.2} J); {after} deadlines missed instead of {before}",
                joule(thrifty),
                joule(plain),
            ),
            Judged::of(
                less >= 10.0 && after <= before + before / 10,
                less >= 1.0,
                "a tenth of the energy at least, and at most a tenth more misses; partly a hundredth",
            ),
        ));
    }
    let paced = |a: &Seen, b: &Seen| {
        format!(
            "{:.1} % of the energy ({:.2} instead of {:.2} J), mean response {:.2} instead of {:.2} ms",
            saved(a, b),
            joule(b),
            joule(a),
            b.mean_response_ms,
            a.mean_response_ms
        )
    };
    report.claims.push(Claim::new(
        "pacing saves where power rises faster than the clock: periodic tasks, two fifths of a phone's capacity",
        "-",
        paced(race, pace),
        Judged::of(saved(race, pace) >= 10.0, saved(race, pace) > 0.0, "a tenth at least; partly some"),
    ));
    report.claims.push(Claim::new(
        "and costs where a slow clock saves little and idle CPUs sleep deeply: the same load on eight cores",
        "-",
        paced(leak_race, leak_pace),
        Judged::of(
            saved(leak_race, leak_pace) <= -10.0,
            saved(leak_race, leak_pace) < 0.0,
            "a tenth more energy at least; partly some more",
        ),
    ));
    let heads =
        ["part", "topology", "energy_j", "jobs", "misses", "mean_response_ms", "slow_ms", "hottest_c"];
    let mut table = Table::new("data", &heads);
    for ((part, topology, ..), s) in grid.iter().zip(&seen) {
        table.row([
            (*part).to_string(),
            (*topology).to_string(),
            format!("{:.4}", joule(s)),
            s.jobs.to_string(),
            s.outcome.deadline_misses.to_string(),
            format!("{:.3}", s.mean_response_ms),
            format!("{:.1}", s.slow_ns as f64 / 1e6),
            format!("{:.1}", s.hottest as f64 / 1e3),
        ]);
    }
    report.tables.push(table);
    report.notes.push(
        "Machines, their powers and temperatures are of our choosing (machines/hot-8.toml, machines/phone.toml, and `leaky` in the experiment's \
         source): the figures say what the components do, not what a product would save."
            .into(),
    );
    Ok(report)
}
