// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Whether the clocks of CPUs drift apart, on this computer (E13).

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::reproduce::lab::{Done, Lab};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, Picture, Report, Table};
use weir::latency::{stay_on, usable};

pub const EXPERIMENT: Experiment = Experiment {
    id: "multikernel-e13",
    aliases: &["clock-drift"],
    title: "do the clocks of CPUs drift apart, on this computer",
    source: "Peter, 2012, chapter 4 (E13)",
    run,
};

/// Samples of a pair of CPUs each second, of which the quickest counts.
const SAMPLES: u32 = 200;
const ASKED: u64 = 1;
const OVER: u64 = u64::MAX;

/// By how much the clock that CPU `b` reads is ahead of the one that CPU `a` reads, ns, and the round trip of the sample that
/// says so: the quickest. None where threads cannot be bound.
fn compare(a: usize, b: usize, epoch: Instant) -> Option<(f64, f64)> {
    let now = move || epoch.elapsed().as_nanos() as u64;
    // A question, and its answer: a time, 0 while there is none.
    let words = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
    let theirs = words.clone();
    let other = std::thread::spawn(move || {
        if !stay_on([b]) {
            theirs.1.store(OVER, Ordering::Release);
            return;
        }
        loop {
            match theirs.0.swap(0, Ordering::AcqRel) {
                0 => std::hint::spin_loop(),
                ASKED => theirs.1.store(now(), Ordering::Release),
                _ => return,
            }
        }
    });
    let own = std::thread::spawn(move || {
        let mut best: Option<(f64, f64)> = None;
        let mut bound = stay_on([a]);
        for _ in 0..SAMPLES {
            if !bound {
                break;
            }
            words.1.store(0, Ordering::Release);
            let sent = now();
            words.0.store(ASKED, Ordering::Release);
            let there = loop {
                match words.1.load(Ordering::Acquire) {
                    0 => std::hint::spin_loop(),
                    time => break time,
                }
            };
            let trip = (now() - sent) as f64;
            bound = there != OVER;
            if bound && best.is_none_or(|(_, t)| trip < t) {
                best = Some((there as f64 - sent as f64 - trip / 2.0, trip));
            }
        }
        words.0.store(OVER, Ordering::Release);
        best
    });
    let best = own.join().ok()?;
    other.join().ok()?;
    best
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let cpus = usable();
    let seconds: u64 = lab.pick(3_600, 5);
    let mut report = Report::default();
    let mut table = Table::new("data", &["second", "cpu", "offset_ns", "round_trip_ns"]);
    let samples = RefCell::new(Vec::new());
    let began = Instant::now();
    let epoch = began.checked_sub(Duration::from_secs(1)).unwrap_or(began);
    lab.one_by_one(&(0..seconds).collect::<Vec<u64>>(), |second| {
        while began.elapsed() < Duration::from_secs(*second) && !lab.stopped() {
            std::thread::sleep(Duration::from_millis(20));
        }
        for (i, pair) in (1..).zip(cpus.windows(2)) {
            if let Some((offset, trip)) = compare(pair[0], pair[1], epoch) {
                samples.borrow_mut().push((*second, i, offset, trip));
            }
        }
        Ok(())
    })?;
    // By CPU: the offsets to its neighbour, second by second.
    let mut offsets: Vec<Vec<f64>> = vec![Vec::new(); cpus.len()];
    for (second, i, offset, trip) in samples.take() {
        let of: &mut Vec<f64> = &mut offsets[i];
        of.push(offset);
        table.row([second.to_string(), cpus[i].to_string(), format!("{offset:.0}"), format!("{trip:.0}")]);
    }
    let measured = offsets.iter().any(|o| o.len() > 1);
    let worst = |f: fn(&[f64]) -> f64| offsets.iter().map(|o| f(o).abs()).fold(0.0, f64::max);
    let (slope, spread) = (worst(slope), worst(spread));
    let here = match measured {
        true => format!(
            "{slope:.2} ns a second at most over {seconds} s; the middle half of the offsets spans {spread:.0} ns"
        ),
        false => "this computer has one CPU for us".to_string(),
    };
    report.claims.push(
        Claim::new(
            "clocks of neighbouring CPUs do not drift apart",
            "E13: no growth in a day",
            here,
            Judged::of(
                measured && slope * 3_600.0 <= 5_000.0,
                measured && slope <= 100.0,
                "at most 5 us an hour; partly at most 100 ns a second",
            ),
        )
        .remark("of CLOCK_MONOTONIC; slopes are medians of pairs of samples, so that interrupted ones count little"),
    );
    report.tables.push(table);
    let step = (seconds as usize / 60).max(1);
    let xs: Vec<String> = (0..seconds as usize).step_by(step).map(|s| s.to_string()).collect();
    let lines = (0..).zip(offsets.iter().skip(1).take(8)).map(|(colour, o)| Line {
        name: format!("CPU {}", cpus.get(colour + 1).copied().unwrap_or(0)),
        points: xs.iter().cloned().zip(o.iter().copied().step_by(step)).collect(),
        colour,
        dashed: false,
    });
    report.pictures.push(Picture::new("offsets", ("second", "ns ahead"), false, &xs, lines.collect()));
    Ok(report)
}

/// Median slope between pairs of samples (Theil and Sen).
fn slope(offsets: &[f64]) -> f64 {
    let step = (offsets.len() / 200).max(1);
    let points: Vec<(f64, f64)> =
        (0u32..).zip(offsets).step_by(step).map(|(i, o)| (f64::from(i), *o)).collect();
    let mut slopes: Vec<f64> = points
        .iter()
        .enumerate()
        .flat_map(|(i, a)| points[i + 1..].iter().map(move |b| (b.1 - a.1) / (b.0 - a.0)))
        .collect();
    slopes.sort_by(f64::total_cmp);
    slopes.get(slopes.len() / 2).copied().unwrap_or(0.0)
}

/// Width of the middle half.
fn spread(offsets: &[f64]) -> f64 {
    let mut sorted = offsets.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |part: usize| sorted.get(sorted.len() * part / 4).copied().unwrap_or(0.0);
    at(3) - at(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_survives_outliers() {
        let mut offsets: Vec<f64> = (0..50).map(|i| 3.0 * f64::from(i) + 7.0).collect();
        offsets[10] = 9e9;
        assert!((slope(&offsets) - 3.0).abs() < 1e-9);
        assert!((spread(&[1.0, 2.0, 3.0, 4.0, 1000.0]) - 2.0).abs() < 1e-9);
        assert!(slope(&[]).abs() < 1e-9);
    }
}
