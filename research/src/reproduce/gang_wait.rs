// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Waiting at barriers: blocking against spinning on this computer (E10), and how a program that meets often spends its time (E11).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use weir_model::Costs;

use crate::reproduce::lab::{self, Done, Halt, Lab, Run};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, Picture, Report, Table, short};
use weir::machine;

pub const BLOCK: Experiment = Experiment {
    id: "multikernel-e10",
    aliases: &["block-spin"],
    title: "handing over to another thread: blocked in the kernel against spinning, on this computer",
    source: "Peter, 2012, 3.3 (E10)",
    run: block,
};

pub const CLUSTER: Experiment = Experiment {
    id: "multikernel-e11",
    aliases: &["streamcluster"],
    title: "barriers of a program that meets every half millisecond",
    source: "Peter, 2012, 3.3 (E11)",
    run: cluster,
};

/// Hand-overs that are timed together.
const BLOCK_OF: u32 = 100;
/// Looks at the other thread's word after which it is taken for not running: hand-overs between CPUs take far fewer.
const LOOKS: u32 = 20_000;

/// Wait for a number, spinning or in the kernel.
fn wait(turn: &AtomicU32, wanted: u32, spin: bool) {
    let mut looks = 0u32;
    while turn.load(Ordering::Acquire) != wanted {
        if !spin {
            std::thread::park();
            continue;
        }
        looks += 1;
        if looks.is_multiple_of(LOOKS) {
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

/// Nanoseconds of a hand-over from one thread to the other: the 10th percentile of blocks of hand-overs.
fn hand_over(blocks: u32, spin: bool) -> f64 {
    let turn = Arc::new(AtomicU32::new(0));
    let (theirs, own) = (turn.clone(), std::thread::current());
    let total = blocks * BLOCK_OF;
    // Each waits for its number, and answers with the next one.
    let other = std::thread::spawn(move || {
        for i in 0..total {
            wait(&theirs, 2 * i + 1, spin);
            theirs.store(2 * i + 2, Ordering::Release);
            if !spin {
                own.unpark();
            }
        }
    });
    let mut times = Vec::new();
    for block in 0..blocks {
        let began = Instant::now();
        for i in block * BLOCK_OF..(block + 1) * BLOCK_OF {
            turn.store(2 * i + 1, Ordering::Release);
            if !spin {
                other.thread().unpark();
            }
            wait(&turn, 2 * i + 2, spin);
        }
        times.push(began.elapsed().as_nanos() as f64 / f64::from(2 * BLOCK_OF));
    }
    let _ = other.join();
    times.sort_by(f64::total_cmp);
    times[times.len() / 10]
}

/// A picture of a few figures.
fn bars(name: &str, unit: &str, figures: &[(&str, f64)]) -> Picture {
    let xs: Vec<String> = figures.iter().map(|(x, _)| (*x).to_string()).collect();
    let points = figures.iter().map(|(x, y)| ((*x).to_string(), *y)).collect();
    let line = Line { name: unit.into(), points, colour: 0, dashed: false };
    Picture::new(name, ("", unit), false, &xs, vec![line])
}

fn block(lab: &Lab<'_>) -> Done<Report> {
    // As many as in the source.
    let blocks = lab.pick(10_000 / BLOCK_OF, 20);
    let got = lab.one_by_one(&[true, false], |spin| Ok(hand_over(blocks, *spin)))?;
    let (spin, blocked) = (got[0], got[1]);
    let ratio = blocked / spin;
    let mut report = Report::default();
    report.claims.push(
        Claim::new(
            "a hand-over that blocks costs many times one that spins",
            "E10: 7.37 us against 40 ns, 184 times",
            format!("{:.2} us against {:.0} ns, {ratio:.0} times", blocked / 1e3, spin),
            Judged::of(ratio >= 10.0, ratio >= 3.0, "at least 10 times; partly at least 3"),
        )
        .remark("of this computer; 10th percentile of blocks of 100, so that other load counts little"),
    );
    let mut table = Table::new("data", &["way", "ns"]);
    table.row(["spin".to_string(), format!("{spin:.1}")]);
    table.row(["block".to_string(), format!("{blocked:.1}")]);
    report.tables.push(table);
    report.pictures.push(bars("hand_over", "ns", &[("spin", spin), ("block", blocked)]));
    Ok(report)
}

fn cluster(lab: &Lab<'_>) -> Done<Report> {
    let machine = machine::resolve("amd-4x4")?;
    let costs = Costs::default();
    let plan = lab::plan("gang", &machine, &[])?;
    // Uniform work from 303 us on: its mean is 403 us with a width of 200, and the last of 16 comes 88 us after the mean.
    let workload = lab::workload("team:threads=16,work=303us,imbalance=66%,spin=1s,pin=16")?;
    let seconds: u64 = lab.pick(3, 1);
    let made = lab.points(&[()], |()| {
        let duration_ns = Some(seconds * 1_000_000_000);
        lab.run(&Run { duration_ns, ..Run::new(&machine, &plan, &workload, &costs) }, &mut ())
    })?;
    let Some(out) = made.into_iter().next() else { return Err(Halt::Interrupted) };
    let rounds = out.barriers.first().map_or(0, |b| b.1);
    let meetings = (rounds * 16).max(1) as f64;
    let wait_us = out.spin_ns as f64 / meetings / 1e3;
    let work_us = out.busy_ns.saturating_sub(out.spin_ns) as f64 / meetings / 1e3;
    let in_3_s = rounds as f64 * 3.0 / seconds as f64;
    let mut report = Report::default();
    report.claims.push(
        Claim::new(
            "mean work and mean wait of a thread between two barriers",
            "E11: 403 us and 88 us",
            format!("{work_us:.0} us and {wait_us:.0} us"),
            Judged::near(wait_us / work_us, 88.0 / 403.0, 1.1, 1.5),
        )
        .fitted("work is uniform, with the mean and the width that give these figures"),
    );
    report.claims.push(
        Claim::new(
            "barriers in 3 s",
            "E11: 16,200",
            short(in_3_s),
            Judged::near(in_3_s, 16_200.0, 1.1, 3.0),
        )
        .remark(
            "403 us of work and 88 us of wait leave room for 6,110 barriers in 3 s: the source's figures do not fit each other",
        ),
    );
    let mut table = Table::new("data", &["barriers", "work_us", "wait_us"]);
    table.row([rounds.to_string(), format!("{work_us:.1}"), format!("{wait_us:.1}")]);
    report.tables.push(table);
    report.pictures.push(bars("between_barriers", "us", &[("work", work_us), ("wait", wait_us)]));
    Ok(report)
}
