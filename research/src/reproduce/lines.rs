// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Cache lines and messages between two CPUs of this computer, timed in C: what a line costs (E1), to share data or to ask a
//! server for it (E2, E3), UMP (E5); and the accesses of a notification between cores whose caches do not cohere (E6).
//! `experiments/multikernel-e1/lines.c` and `tests/multikernel/noncoherent.c` are part of the program.

use serde_json::Value;

use crate::reproduce::cc::{self, Bench};
use crate::reproduce::figures::{Figures, SOURCES, TIMED};
use crate::reproduce::lab::{Done, Lab};
use crate::reproduce::recorded;
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, FAR, Judged, Line, NEAR, Picture, Report, Table};

pub const LEVELS: Experiment = Experiment {
    id: "multikernel-e1",
    aliases: &["lines"],
    title: "what a cache line costs: from the own caches, and from another CPU that has written it",
    source: "Peter, 2012 (E1)",
    run: levels,
};

pub const UPDATES: Experiment = Experiment {
    id: "multikernel-e2",
    aliases: &["share-or-ask"],
    title: "to update shared lines, or to ask a server that owns them: cost by lines, on two CPUs",
    source: "Peter, 2012 (E2)",
    run: updates,
};

pub const CROSSING: Experiment = Experiment {
    id: "multikernel-e3",
    aliases: &["share-or-ask-2"],
    title: "from how many lines on asking a server is cheaper, on two CPUs",
    source: "Peter, 2012 (E3)",
    run: crossing,
};

pub const MESSAGES: Experiment = Experiment {
    id: "multikernel-e5",
    aliases: &["ump-cost"],
    title: "UMP between two CPUs: one way, and streamed",
    source: "Peter, 2012, 2.6 (E5)",
    run: messages,
};

pub const NOTIFY: Experiment = Experiment {
    id: "multikernel-e6",
    aliases: &["notification"],
    title: "notifying a core whose caches do not cohere: a ring against a tree",
    source: "Peter, 2012, 2.6 (E6)",
    run: notify,
};

/// What `lines.c` prints in these modes.
fn measure(lab: &Lab<'_>, modes: &[&str]) -> Done<Result<Figures, String>> {
    let rounds: u32 = lab.pick(2_000, 100);
    let runs: Vec<Vec<String>> = modes.iter().map(|m| vec![(*m).to_string(), rounds.to_string()]).collect();
    Figures::measure(lab, "lines", &runs)
}

/// What would help where nothing can be measured.
const HELP: &str = "it takes two CPUs that are not wholly taken, and a C compiler";

/// Within what the source's machines span, for figures of two or three digits.
fn spanned(here: f64, least: f64, most: f64) -> Judged {
    let within = |by: f64| here >= least / by && here <= most * by;
    Judged::of(
        within(NEAR),
        within(FAR),
        format!(
            "{least} to {most}, what the source's machines span, widened by 10 %; partly by a factor of {FAR}"
        ),
    )
}

fn levels(lab: &Lab<'_>) -> Done<Report> {
    let f = match measure(lab, &["levels"])? {
        Ok(f) => f,
        Err(why) => return recorded::instead(LEVELS.id, &why, HELP),
    };
    let cycles = |name: &str| f.of(name) / f.of("cycle");
    let (first, second, other) = (cycles("first"), cycles("second"), cycles("other"));
    let mut report = Report::default();
    let mut claim = |c: Claim| report.claims.push(c);
    claim(
        Claim::new(
            "a line that another CPU of the package has written costs tens of loads from the first cache",
            "E1: 80 cycles for 3, and 130 for 2: 27 and 65 times",
            format!("{other:.0} cycles for {first:.1}: {:.1} times", other / first),
            spanned(other / first, 27.0, 65.0),
        )
        .remark(
            "a load from the first cache takes more cycles than in 2007, so the ratio is of a larger unit",
        ),
    );
    claim(Claim::new(
        "… and several loads from the second",
        "E1: 80 cycles for 14, and 130 for 15: 5.7 and 8.7 times",
        format!("{other:.0} cycles for {second:.1}: {:.1} times", other / second),
        spanned(other / second, 5.7, 8.7),
    ));
    claim(Claim::new(
        "a load from the second cache, cycles",
        "E1: 14 and 15",
        format!("{second:.1}"),
        spanned(second, 14.0, 15.0),
    ));
    report.tables.push(f.table());
    report.notes.push(TIMED.into());
    report.notes.push(
        "Costs by hops between sockets (E1: 128 to 260 cycles, 60 to 70 a hop) cannot be shown on one socket.".into(),
    );
    let names = ["first", "second", "third", "other"];
    let xs = names.map(String::from);
    let points = names.iter().map(|n| ((*n).to_string(), f.of(n))).collect();
    let line = Line { name: "ns a load".into(), points, colour: 0, dashed: false };
    report.pictures.push(Picture::new("levels", ("where the line is", "ns"), false, &xs, vec![line]));
    f.judge(&mut report);
    Ok(report)
}

/// How much of the variance a straight line explains.
fn linear(points: &[(u32, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean = |of: fn(&(u32, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| f64::from(p.0)), mean(|p| p.1));
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| of(f64::from(p.0) - x, p.1 - y)).sum::<f64>();
    sum(&|a, b| a * b).powi(2) / (sum(&|a, _| a * a) * sum(&|_, b| b * b))
}

/// The curves of updates by lines.
fn curves(f: &Figures) -> Picture {
    let names = [("alone", "one CPU"), ("both", "both CPUs"), ("server", "a server, over UMP")];
    let xs: Vec<String> = f.series("both").iter().map(|p| p.0.to_string()).collect();
    let lines = (0..).zip(names).map(|(colour, (key, name))| Line {
        name: name.into(),
        points: f.series(key).into_iter().map(|(n, ns)| (n.to_string(), ns)).collect(),
        colour,
        dashed: false,
    });
    Picture::new("updates", ("lines", "ns an update"), false, &xs, lines.collect())
}

fn updates(lab: &Lab<'_>) -> Done<Report> {
    let f = match measure(lab, &["updates"])? {
        Ok(f) => f,
        Err(why) => return recorded::instead(UPDATES.id, &why, HELP),
    };
    let alone = |n: u32| f.at("alone", n) / f.of("cycle");
    let fit = linear(&f.series("both"));
    let grows = f.at("server", 8) / f.at("server", 1);
    let mut report = Report::default();
    let mut claim = |c: Claim| report.claims.push(c);
    claim(Claim::new(
        "an update of up to 8 lines takes less than 30 cycles where no other CPU has them",
        "E2: less than 30 cycles alone",
        format!("{:.0} cycles for one line, {:.0} for eight", alone(1), alone(8)),
        Judged::of(alone(1).max(alone(8)) < 30.0, alone(1) < 30.0, "less than 30 for eight; partly for one"),
    ));
    claim(Claim::new(
        "an update of shared lines costs more in proportion to the lines",
        "E2: linear in lines",
        format!(
            "{:.1} ns for one line, {:.1} for 64; a straight line explains {:.0} % of the variance",
            f.at("both", 1),
            f.at("both", 64),
            100.0 * fit
        ),
        Judged::of(fit >= 0.95, fit >= 0.8, "at least 95 % of the variance; partly 80 %"),
    ));
    claim(Claim::new(
        "a call to the server that owns them hardly depends on the lines",
        "E2: nearly independent of 1 to 8 lines",
        format!(
            "{:.0} ns for one line, {:.0} for eight: {grows:.2} times",
            f.at("server", 1),
            f.at("server", 8)
        ),
        Judged::of(grows <= NEAR, grows <= 1.5, "at most 10 % more for eight; partly 50 %"),
    ));
    report.tables.push(f.table());
    report.pictures.push(curves(&f));
    report.notes.push(TIMED.into());
    report.notes.push(
        "Growth with cores (about 12,000 cycles more at 16), calls that win from 4 lines on with 16 clients, and the server's \
         throughput against 16 sharing cores cannot be shown on two CPUs."
            .into(),
    );
    f.judge(&mut report);
    Ok(report)
}

fn crossing(lab: &Lab<'_>) -> Done<Report> {
    let f = match measure(lab, &["updates"])? {
        Ok(f) => f,
        Err(why) => return recorded::instead(CROSSING.id, &why, HELP),
    };
    let both = f.series("both");
    // From there on, not at some point only.
    let over = both.iter().rev().take_while(|(n, ns)| f.at("server", *n) < *ns);
    let from = over.last().map(|p| p.0);
    let most = both.last().map_or(0, |p| p.0);
    let mut report = Report::default();
    report.claims.push(Claim::new(
        "with two CPUs a call is cheaper than sharing from some number of lines on",
        "E3: from 12 lines on",
        match from {
            Some(n) => format!("from {n} lines on"),
            None => format!(
                "not up to {most}: there {:.0} ns shared, {:.0} ns by a call",
                f.at("both", most),
                f.at("server", most)
            ),
        },
        Judged::of(
            from.is_some_and(|n| (8..=16).contains(&n)),
            from.is_some(),
            format!(
                "from 8 to 16 lines on, the points of the sweep beside the source's; partly up to {most}"
            ),
        ),
    ));
    report.tables.push(f.table());
    report.pictures.push(curves(&f));
    report.notes.push(TIMED.into());
    report.notes.push("With 8 cores (E3: calls win almost at once) it cannot be shown on two CPUs.".into());
    f.judge(&mut report);
    Ok(report)
}

fn messages(lab: &Lab<'_>) -> Done<Report> {
    let f = match measure(lab, &["levels", "messages"])? {
        Ok(f) => f,
        Err(why) => return recorded::instead(MESSAGES.id, &why, HELP),
    };
    let (way, stream, other) = (f.of("one_way"), f.of("streamed"), f.of("other"));
    let mut report = Report::default();
    let mut claim = |c: Claim| report.claims.push(c);
    claim(Claim::new(
        "a message takes a few transfers of a line",
        "E5 over E1: 180 cycles for 80 (2.25 times) to 570 for 128 (4.45)",
        format!("{way:.0} ns one way, {other:.0} ns for a line of the other CPU: {:.2} times", way / other),
        spanned(way / other, 2.25, 4.45),
    ));
    claim(Claim::new(
        "a stream through 16 slots takes less a message than its latency",
        "E5: 1.49 to 2.16 messages in the time of one",
        format!("{stream:.0} ns a message streamed: {:.2} in the time of one", way / stream),
        Judged::of(
            way / stream >= 1.49,
            way / stream > 1.0,
            "at least 1.49, the least of the source's machines; partly more than 1",
        ),
    ));
    for (what, ns, bound) in [("one way", way, 120.0), ("streamed through 16 slots", stream, 40.0)] {
        claim(Claim::new(
            format!("a message {what} within {bound} ns"),
            "-",
            format!("{ns:.0} ns"),
            Judged::of(ns <= bound, ns <= 2.0 * bound, format!("at most {bound}; partly twice that")),
        ));
    }
    report.tables.push(f.table());
    let names = ["other", "one_way", "streamed"];
    let xs = names.map(String::from);
    let points = names.iter().map(|n| ((*n).to_string(), f.of(n))).collect();
    let line = Line { name: "ns".into(), points, colour: 0, dashed: false };
    report.pictures.push(Picture::new("messages", ("", "ns"), false, &xs, vec![line]));
    report.notes.push(TIMED.into());
    report.notes.push(
        "That a shared cache matters more than hops (E5) cannot be shown: both CPUs lie at one distance."
            .into(),
    );
    f.judge(&mut report);
    Ok(report)
}

fn notify(lab: &Lab<'_>) -> Done<Report> {
    let bench = match Bench::new(SOURCES)? {
        Ok(bench) => bench,
        Err(why) => return recorded::instead(NOTIFY.id, &why, HELP),
    };
    let program = bench.compile(lab, "noncoherent", &["-O2", "noncoherent.c", "port.c"])?;
    let orders: u32 = lab.pick(2_000, 50);
    let made = lab.one_by_one(&[orders], |n| cc::printed(lab, &program, &[n.to_string()]))?;
    let rows: Vec<Value> =
        made.iter().flatten().flat_map(|p| p.lines()).filter_map(|l| serde_json::from_str(l).ok()).collect();
    let heads = ["subject", "lines_read", "lines_written", "locks", "words_scanned"];
    let at = |subject: &str, field: &str| {
        let row = rows.iter().find(|r| r["subject"] == subject);
        row.and_then(|r| r[field].as_f64()).unwrap_or(f64::NAN)
    };
    let lines = |subject: &str| at(subject, "lines_read") + at(subject, "lines_written");
    let fewer = heads[1..].iter().filter(|h| at("ring", h) < at("tree", h)).count();
    let said = |subject: &str| {
        let of = |h| at(subject, h);
        format!("{} lines read, {} written, {:.1} words scanned", of(heads[1]), of(heads[2]), of(heads[4]))
    };
    let mut report = Report::default();
    report.claims.push(
        Claim::new(
            "a notification through the ring takes fewer accesses than one through the tree",
            "E6: the ring is faster (no figures)",
            format!("ring: {}; tree: {}", said("ring"), said("tree")),
            Judged::of(
                fewer == 4,
                lines("ring") < lines("tree"),
                "fewer lines read, lines written, locks taken and words scanned; partly fewer lines in all",
            ),
        )
        .remark(
            "counts of a notification, its receipt and the look that finds no more; no computer here lacks coherence, so no \
             time is claimed",
        ),
    );
    report.notes.push(format!(
        "Counted for 10,000 notifications of random channels, after {orders} random orders of three senders and a receiver had lost nothing."
    ));
    let mut table = Table::new("data", &heads);
    for r in &rows {
        let name = r[heads[0]].as_str().unwrap_or_default().to_string();
        table.row(std::iter::once(name).chain(heads[1..].iter().map(|h| r[*h].to_string())));
    }
    report.tables.push(table);
    let xs: Vec<String> = heads[1..].iter().map(|h| h.replace('_', " ")).collect();
    let bars = (0..).zip(["ring", "tree"]).map(|(colour, subject)| Line {
        name: subject.into(),
        points: xs.iter().cloned().zip(heads[1..].iter().map(|h| at(subject, h))).collect(),
        colour,
        dashed: false,
    });
    report.pictures.push(Picture::new("accesses", ("", "a notification"), false, &xs, bars.collect()));
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_explains_what_lies_on_it() {
        assert!((linear(&[(1, 3.0), (2, 5.0), (4, 9.0)]) - 1.0).abs() < 1e-9);
        assert!(linear(&[(1, 5.0), (2, 9.0), (3, 5.0)]) < 1e-9);
    }

    #[test]
    fn bounds_follow_what_the_source_spans() {
        use crate::reproduce::report::Verdict;
        let verdict = |here| spanned(here, 10.0, 20.0).verdict;
        assert_eq!([9.5, 21.9].map(verdict), [Verdict::Holds; 2]);
        assert_eq!([5.1, 39.0].map(verdict), [Verdict::Partly; 2]);
        assert_eq!([4.9, 41.0, f64::NAN].map(verdict), [Verdict::Fails; 3]);
    }
}
