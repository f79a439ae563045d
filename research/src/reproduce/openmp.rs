// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! OpenMP kernels and teams under a policy of the thread library, against libgomp (E16, and E9's collapse in real threads). They need gcc, the built
//! library and minutes of a quiet machine, so `bench/threads/openmp.sh` measures, and what it printed is judged here.

use serde_json::Value;

use crate::reproduce::lab::{Done, Lab};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, Picture, Report, Table};

/// What `bench/threads/openmp.sh 9` printed.
const MEASURED: &str = include_str!("../../../experiments/multikernel-e16/measured.jsonl");

pub const EXPERIMENT: Experiment = Experiment {
    id: "multikernel-e16",
    aliases: &["e16", "openmp", "npb"],
    title: "CG, FT and IS with libgomp and under a policy; teams that spin, on shared CPUs",
    source: "Peter, 2012, chapter 4 (E16, E9)",
    run,
};

const BASE: &str = "libgomp";
const POLICY: &str = "decentral";
const SUBJECTS: [&str; 3] = [BASE, "ours", POLICY];

const JUDGED: &str =
    "Measured beforehand by `bench/threads/openmp.sh`; this command judges the record and measures nothing.";

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or(f64::NAN)
}

fn run(_: &Lab<'_>) -> Done<Report> {
    let rows: Vec<Value> = MEASURED.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let kernels: Vec<&Value> = rows.iter().filter(|r| r["kernel"].is_string()).collect();
    let teams: Vec<&Value> = rows.iter().filter(|r| r["teams"].is_number()).collect();
    let mut report = Report::default();
    let mut claim = |c: Claim| report.claims.push(c);

    let right = kernels.iter().filter(|r| r["verified"] == true).count();
    claim(Claim::new(
        "CG, FT and IS, classes S and W, built by gcc -fopenmp, give the published sums",
        "E16: the kernels run",
        format!("{right} of {} subjects and sizes", kernels.len()),
        Judged::of(right == kernels.len() && right == 18, right * 2 > kernels.len(), "all; partly half"),
    ));
    for (class, bound, source) in [("S", 1.3, "-"), ("W", 1.15, "E16: comparable to GOMP, little penalty")] {
        let ratios: Vec<(&str, f64)> = kernels
            .iter()
            .filter(|r| r["class"] == class && r["subject"] == POLICY)
            .map(|r| (r["kernel"].as_str().unwrap_or_default(), number(r, "ratio")))
            .collect();
        let list: Vec<String> = ratios.iter().map(|(k, r)| format!("{k} {r:.2}")).collect();
        let within = ratios.iter().filter(|(_, r)| *r <= bound).count();
        claim(Claim::new(
            format!("class {class} under `{POLICY}`: within {bound} times libgomp's time"),
            source,
            list.join(", "),
            Judged::of(
                within == ratios.len() && within == 3,
                within > 0,
                format!("at most {bound} each; partly one of them"),
            ),
        ));
    }
    let rate = |work: f64, subject: &str| {
        teams
            .iter()
            .find(|r| number(r, "work_us") == work && r["subject"] == subject)
            .map_or(f64::NAN, |r| number(r, "rounds_per_s"))
    };
    let gain = |work: f64, subject: &str| rate(work, subject) / rate(work, BASE);
    for (subject, what) in [(POLICY, "turns under a policy"), ("gang", "slots of gangs")] {
        let (at, list) = (
            gain(50.0, subject),
            [10.0, 50.0, 200.0].map(|w| format!("{:.2} ({w} us)", gain(w, subject))).join(", "),
        );
        claim(
            Claim::new(
                format!("two teams that spin on shared CPUs: {what} give a third more rounds than libgomp at 50 us of work"),
                "E9: rounds collapse where spinning members lack CPUs",
                list,
                Judged::of(at >= 4.0 / 3.0, at > 1.1, "4/3 at 50 us at least; partly 1.1"),
            )
            .own(),
        );
    }

    let mut table = Table::new(
        "data",
        &["kernel", "class", "threads", "subject", "runs", "seconds", "cpu_seconds", "ratio", "cpu_ratio"],
    );
    for r in &kernels {
        let word = |f: &str| r[f].as_str().unwrap_or_default().to_string();
        let mut cells = vec![
            word("kernel"),
            word("class"),
            r["threads"].to_string(),
            word("subject"),
            r["runs"].to_string(),
        ];
        cells.extend(["seconds", "cpu_seconds"].map(|f| format!("{:.6}", number(r, f))));
        cells.extend(["ratio", "cpu_ratio"].map(|f| format!("{:.3}", number(r, f))));
        table.row(cells);
    }
    report.tables.push(table);
    let mut table = Table::new(
        "teams",
        &["teams", "threads", "work_us", "subject", "runs", "rounds_per_s", "cpu_us_per_round"],
    );
    for r in &teams {
        let subject = r["subject"].as_str().unwrap_or_default().to_string();
        let whole = |f: &str| r[f].to_string();
        table.row([
            whole("teams"),
            whole("threads"),
            whole("work_us"),
            subject,
            whole("runs"),
            format!("{:.0}", number(r, "rounds_per_s")),
            format!("{:.2}", number(r, "cpu_us_per_round")),
        ]);
    }
    report.tables.push(table);

    let label = |r: &Value| {
        format!("{} {}", r["kernel"].as_str().unwrap_or_default(), r["class"].as_str().unwrap_or_default())
    };
    let mut xs: Vec<String> = Vec::new();
    for r in &kernels {
        if !xs.contains(&label(r)) {
            xs.push(label(r));
        }
    }
    let lines = (0..).zip(SUBJECTS).map(|(colour, subject)| Line {
        name: subject.into(),
        points: kernels
            .iter()
            .filter(|r| r["subject"] == subject)
            .map(|r| (label(r), number(r, "ratio")))
            .collect(),
        colour,
        dashed: subject == BASE,
    });
    report.pictures.push(Picture::new(
        "kernels",
        ("kernel and class", "time over libgomp's"),
        false,
        &xs,
        lines.collect(),
    ));
    report.notes.push(JUDGED.into());
    Ok(report)
}
