// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a change of phase costs (E15), and that nothing else is ever said (E14).

use weir_core::event::{Event, Observer};
use weir_sim::Outcome;

use crate::reproduce::lab::{self, Done, Halt, Lab, Run};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, Picture, Report, Table};
use weir::machine;

pub const COST: Experiment = Experiment {
    id: "multikernel-e15",
    aliases: &["gang-phase"],
    title: "what a change of phase costs, on 1 to 32 CPUs",
    source: "Peter, 2012, chapter 4 (E15)",
    run: cost,
};

pub const TRACE: Experiment = Experiment {
    id: "multikernel-e14",
    aliases: &["gang-trace"],
    title: "a change from best effort to gang beside other load: messages at the change only, slots aligned after",
    source: "Peter, 2012, chapter 4 (E14)",
    run: trace,
};

/// Machines of the source, with their CPUs.
const MACHINES: [(&str, u32); 4] = [("intel-2x4", 8), ("amd-2x2", 4), ("amd-4x4", 16), ("amd-8x4", 32)];

/// A program of `threads` that is a gang from the source's manifest; the first thread has a program of its own.
fn team(threads: u32, lead: &str, more: &str) -> String {
    let rest = match threads {
        1 => String::new(),
        n => format!(
            "[[task]]\nname = \"rest\"\ngroup = \"team\"\ncount = {}\nprogram = [\"loop {{ run 1ms }}\"]\n",
            n - 1
        ),
    };
    format!(
        "[[task]]\nname = \"lead\"\ngroup = \"team\"\nprogram = [\"{lead}\"]\n{rest}{more}\
         [[gang]]\ngroup = \"team\"\nmanifest = '''\nB 1\nH 80 160 80 480\n'''\n"
    )
}

fn cost(lab: &Lab<'_>) -> Done<Report> {
    let mut points = Vec::new();
    for (name, cpus) in MACHINES {
        points.extend((0..).map(|k| 1u32 << k).take_while(|n| *n <= cpus).map(|n| (name, n)));
    }
    let changes: u64 = lab.pick(1_000, 50);
    let got: Vec<Outcome> = lab.points(&points, |&(name, n)| {
        let machine = machine::resolve(name)?;
        let costs = lab::costs(name)?;
        let lead = "loop { phase 1; run 500us; phase 0; run 500us }";
        let workload = lab::workload_of("phases", &team(n, lead, ""))?;
        let plan = lab::plan("gang", &machine, &[])?;
        let run =
            Run { duration_ns: Some(changes * 520_000), ..Run::new(&machine, &plan, &workload, &costs) };
        lab.run(&run, &mut ())
    })?;
    let us = |name: &str, n: u32| {
        let i = points.iter().position(|p| *p == (name, n)).expect("it was made");
        got[i].gangs.first().map_or(0.0, |g| g.phase_last_ns as f64 / 1e3)
    };
    let mut report = Report::default();
    let most = us("amd-8x4", 32);
    report.claims.push(Claim::new(
        "32 CPUs of amd-8x4: from the request to the program's answer",
        "E15: 24,535 cycles, 12 us",
        format!("{most:.2} us"),
        Judged::near(most, 12.3, 1.5, 3.0),
    ));
    let worst = MACHINES.iter().map(|(m, n)| us(m, *n) / us(m, 1) - 1.0).fold(0.0, f64::max);
    report.claims.push(
        Claim::new(
            "adding CPUs costs less than the one-CPU baseline",
            "E15: the single-core baseline exceeds the added cost of more cores",
            format!("all CPUs of a machine add at most {:.0} % of the baseline", 100.0 * worst),
            Judged::of(worst < 1.0, worst < 2.0, "less than 100 %; partly less than 200 %"),
        )
        .remark("two costs were set again after the first run, which had 220 %: see the experiment's page"),
    );
    let one = points.iter().zip(&got).all(|((_, n), o)| {
        o.gangs.first().is_some_and(|g| {
            // The last change may be under way.
            let each = 2 * u64::from(n - 1);
            g.messages <= each * g.phase_changes && g.messages + each >= each * g.phase_changes
        })
    });
    report.claims.push(Claim::new(
        "one message to each peer and one back; the program has one answer",
        "3.6: one aggregated reply",
        if one { "two messages for each peer and change" } else { "more or fewer messages" },
        Judged::of(one, one, "exactly"),
    ));
    let heads = ["machine", "cpus", "change_us", "longest_us", "changes", "messages"];
    let mut table = Table::new("data", &heads);
    for ((name, n), o) in points.iter().zip(&got) {
        let g = o.gangs.first().cloned().unwrap_or_default();
        table.row([
            (*name).to_string(),
            n.to_string(),
            format!("{:.3}", g.phase_last_ns as f64 / 1e3),
            format!("{:.3}", g.phase_max_ns as f64 / 1e3),
            g.phase_changes.to_string(),
            g.messages.to_string(),
        ]);
    }
    report.tables.push(table);
    let xs: Vec<String> = [1, 2, 4, 8, 16, 32].iter().map(u32::to_string).collect();
    let lines = (0..).zip(MACHINES).map(|(colour, (name, _))| Line {
        name: name.into(),
        points: points.iter().filter(|p| p.0 == name).map(|(m, n)| (n.to_string(), us(m, *n))).collect(),
        colour,
        dashed: false,
    });
    report.pictures.push(Picture::new("change", ("CPUs", "us"), false, &xs, lines.collect()));
    Ok(report)
}

/// Messages and slots, by time.
#[derive(Default)]
struct Story {
    messages: Vec<u64>,
    slots: Vec<u64>,
}

impl Observer for Story {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        match event {
            Event::MessageSent { .. } => self.messages.push(t),
            Event::GangSlot { begins: true, .. } => self.slots.push(t),
            _ => {}
        }
    }
}

fn trace(lab: &Lab<'_>) -> Done<Report> {
    let machine = machine::resolve("amd-2x2")?;
    let costs = lab::costs("amd-2x2")?;
    let plan = lab::plan("gang", &machine, &[])?;
    let load = "[[task]]\nname = \"load\"\ncount = 4\nprogram = [\"loop { run 10ms }\"]\n";
    let workload = lab::workload_of("trace", &team(4, "run 100ms; phase 1; loop { run 1ms }", load))?;
    let duration_ns = Some(lab.pick(10_000_000_000, 2_000_000_000));
    let made = lab.points(&[()], |()| {
        let mut story = Story::default();
        let run = Run { duration_ns, ..Run::new(&machine, &plan, &workload, &costs) };
        Ok((lab.run(&run, &mut story)?, story))
    })?;
    let Some((outcome, story)) = made.into_iter().next() else { return Err(Halt::Interrupted) };
    let gang = outcome.gangs.first().cloned().unwrap_or_default();
    let first = story.slots.first().copied().unwrap_or(0);
    let last = story.messages.last().copied().unwrap_or(0);
    let began = story.messages.first().copied().unwrap_or(0);
    let after = story.messages.iter().filter(|t| **t >= first).count();
    let mut report = Report::default();
    report.claims.push(Claim::new(
        "messages are sent at the change only",
        "E14: messages only at the change",
        format!(
            "{} messages within {:.1} us, the first slot {:.0} ms later; {after} in {} slots",
            story.messages.len(),
            (last - began) as f64 / 1e3,
            first.saturating_sub(last) as f64 / 1e6,
            story.slots.len()
        ),
        Judged::of(
            after == 0 && story.messages.len() == 6,
            after == 0,
            "six, and none after the first slot has begun; partly none after",
        ),
    ));
    report.claims.push(Claim::new(
        "slices are aligned after it",
        "E14: slices aligned",
        format!(
            "worst skew {:.2} us of slots of 80 ms; {} of {} slots without some member",
            gang.skew_max_ns as f64 / 1e3,
            gang.incomplete,
            gang.slots
        ),
        Judged::of(
            gang.skew_max_ns <= 80_000 && gang.incomplete == 0,
            gang.skew_max_ns <= 800_000,
            "at most 80 us, all members; partly at most 800 us",
        ),
    ));
    let mut table = Table::new("data", &["what", "at_ms"]);
    let ms = |t: &u64| format!("{:.6}", *t as f64 / 1e6);
    story.messages.iter().for_each(|t| table.row(["message".to_string(), ms(t)]));
    story.slots.iter().take(20).for_each(|t| table.row(["slot".to_string(), ms(t)]));
    report.tables.push(table);
    // What had been sent by the begin of each slot.
    let slots: Vec<&u64> = story.slots.iter().take(8).collect();
    let xs: Vec<String> = (1..=slots.len()).map(|n| n.to_string()).collect();
    let sent = |t: &u64| story.messages.iter().filter(|l| *l <= t).count() as f64;
    let points = xs.iter().cloned().zip(slots.into_iter().map(sent)).collect();
    let line = Line { name: "messages so far".into(), points, colour: 0, dashed: false };
    report.pictures.push(Picture::new("messages", ("slot", "messages"), false, &xs, vec![line]));
    Ok(report)
}
