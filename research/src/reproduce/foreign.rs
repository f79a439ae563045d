// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Source 0, 8.9: a component in Rust beside the same in C. The schedule simulated, the cost native.

use weir_model::Machine;

use crate::reproduce::cobas;
use crate::reproduce::lab::{self, Calls, Done, Lab, Run};
use crate::reproduce::native;
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, Picture, Report, Table, short};

pub const EXPERIMENT: Experiment = Experiment {
    id: "cobas-8.9",
    aliases: &["8.9", "foreign"],
    title: "a component in Rust beside the same in C",
    source: "source 0, section 8.9, figures 8.15 and 8.16",
    run,
};

/// `bilingual` with the Rust component replaced by the C one.
const ONE_LANGUAGE: &str = "annotate affinity, marker;\nentry -> lb :: load_balancer;\n\
                            lb[cpu 0] -> head_queue -> cpu 0;\nlb[cpu 1] -> head_queue -> cpu 1;\n";

fn run(lab: &Lab<'_>) -> Done<Report> {
    let (machine, costs) = (Machine::smp(2), cobas::simulated());
    let workload = lab::workload(lab.pick("hackbench:groups=25,loops=20", "hackbench:groups=4,loops=4"))?;
    let plans = [
        ("bilingual", lab::plan("bilingual", &machine, &[])?),
        ("one language", lab::plan_of("one_language", ONE_LANGUAGE, &machine, &[])?),
    ];
    let runs = lab.points(&plans, |(_, plan)| {
        let mut calls = Calls::new(&costs);
        let outcome = lab.run(&Run::new(&machine, plan, &workload, &costs), &mut calls)?;
        Ok((outcome, calls))
    })?;
    let rounds = lab.pick(300, 10);
    let (c, rust) = (native::chains("head_queue", rounds)?, native::chains("rusty", rounds)?);

    let mut report = Report::default();
    let (both, one) = (&runs[0].0, &runs[1].0);
    let same = (both.end_ns, both.events, both.context_switches, both.migrations, both.decisions)
        == (one.end_ns, one.events, one.context_switches, one.migrations, one.decisions)
        && both.cpus == one.cpus;
    report.claims.push(Claim::new(
        "the component in Rust does what the one in C does, behind the same interface",
        "both move tasks from pipe to pipe; functional",
        format!(
            "{} decisions and {} switches on two CPUs, {}",
            short(both.decisions as f64),
            short(both.context_switches as f64),
            if same { "event for event those of C on both" } else { "not those of C on both" }
        ),
        Judged::of(same, false, "every figure is the same"),
    ));
    let d = native::compare("head_queue", "rusty", lab.pick(30, 4), lab.pick(300, 8))?;
    let dearer = d.percent / 100.0;
    let clear = d.percent > d.margin;
    report.claims.push(
        Claim::new(
            "a step in Rust takes longer than in C",
            "24.64 % (367.53 to 294.87 ns)",
            format!(
                "{:+.1} ± {:.1} % ({:.1} to {:.1} ns for two steps, {} rounds)",
                d.percent, d.margin, d.second_ns, d.first_ns, d.rounds
            ),
            Judged::of(
                clear && (0.123..=0.493).contains(&dearer),
                clear,
                "beyond the 95 % interval and within a factor of 2 of the source; partly beyond the interval",
            ),
        )
        .remark(if d.percent.abs() <= d.margin {
            "native: the interval holds zero, so it is not known which is dearer"
        } else {
            "native, wall-clock time of this computer, in turns until the interval excludes zero; the source's are updates, with lists \
             and logs"
        }),
    );
    let steps: u64 = plans[0]
        .1
        .instances
        .iter()
        .enumerate()
        .filter(|(_, i)| i.name.contains("rusty"))
        .filter_map(|(i, _)| runs[0].1.instances.get(i))
        .map(|t| t.1)
        .sum();
    let more_ns = ((d.second_ns - d.first_ns) / 2.0).max(0.0) * steps as f64;
    let share = 1e3 * more_ns / both.end_ns as f64;
    report.claims.push(
        Claim::new(
            "in the whole system that is next to nothing",
            "0.478 ‰ (7,897 updates)",
            format!("{share:.3} ‰ ({} steps)", short(steps as f64)),
            Judged::of(share <= 0.5, share <= 5.0, "at most 0.5 ‰, as in the source; partly 5 ‰"),
        )
        .remark("native cost of a step times the steps of the simulated run, over its virtual time"),
    );
    let mut table = Table::new("native", &["stages", "c_ns_a_pair", "rust_ns_a_pair"]);
    for (i, (c, rust)) in c.iter().zip(&rust).enumerate() {
        table.row([(i + 1).to_string(), format!("{c:.1}"), format!("{rust:.1}")]);
    }
    report.tables.push(table);
    let mut table =
        Table::new("data", &["topology", "virtual_ms", "events", "decisions", "switches", "migrations"]);
    for ((name, _), (o, _)) in plans.iter().zip(&runs) {
        let ms = format!("{:.3}", o.end_ns as f64 / 1e6);
        let numbers = [o.events, o.decisions, o.context_switches, o.migrations].map(|n| n.to_string());
        table.row([(*name).to_string(), ms].into_iter().chain(numbers));
    }
    report.tables.push(table);
    let xs: Vec<String> = (1..=6).map(|n: u32| n.to_string()).collect();
    let line = |name: &str, colour: usize, ns: &[f64]| Line {
        name: name.into(),
        points: xs.iter().cloned().zip(ns.iter().copied()).collect(),
        colour,
        dashed: false,
    };
    let titles = ("stages", "give back and pick, ns (native)");
    let lines = vec![line("C", 0, &c), line("Rust", 1, &rust)];
    report.pictures.push(Picture::new("native", titles, false, &xs, lines));
    Ok(report)
}
