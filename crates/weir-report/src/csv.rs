// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `tasks.csv`: one line per task, quoted as in RFC 4180, times in nanoseconds.

use crate::stats::Dist;
use crate::summary::Summary;
use std::borrow::Cow;
use std::fmt::Write;

const HEADER: &str = "id,name,group,jobs,jobs_completed,deadline_misses,preemptions,migrations,cpu_ns,wait_ns,\
    response_min_ns,response_mean_ns,response_p50_ns,response_p95_ns,response_p99_ns,response_max_ns,\
    wakeup_min_ns,wakeup_mean_ns,wakeup_p50_ns,wakeup_p95_ns,wakeup_p99_ns,wakeup_max_ns";

/// The tasks of a run. Lines end in a line feed; a field with a comma, quote or line break is quoted.
pub fn tasks_csv(summary: &Summary) -> String {
    let mut out = String::with_capacity(256 + 128 * summary.tasks.len());
    out.push_str(HEADER);
    out.push('\n');
    for t in &summary.tasks {
        write!(out, "{},", t.id).expect("writing to a string");
        out += &csv_field(&t.name);
        out.push(',');
        out += &csv_field(&t.group);
        write!(
            out,
            ",{},{},{},{},{},{},{}",
            t.jobs, t.jobs_completed, t.deadline_misses, t.preemptions, t.migrations, t.cpu_ns, t.wait_ns
        )
        .expect("writing to a string");
        for dist in [t.response_ns, t.wakeup_latency_ns] {
            let Dist { min, mean, p50, p95, p99, max, .. } = dist;
            match dist.is_empty() {
                // No value, which is not 0.
                true => out += ",,,,,,",
                false => write!(out, ",{min},{mean},{p50},{p95},{p99},{max}").expect("writing to a string"),
            }
        }
        out.push('\n');
    }
    out
}

/// What a formula begins with.
const SIGNS: [char; 10] = ['=', '+', '@', '-', '\t', '\r', '＝', '＋', '－', '＠'];

/// A text as a field, quoted where it has to be. Names can be a stranger's: a spreadsheet is not to take one for a formula, so that such a
/// text gets an apostrophe before it, nor a terminal for a command, so that control characters are written as `\u{1b}`. Wide forms of the
/// signs count, too, as does what stands behind a semicolon, at which some spreadsheets part cells.
pub fn csv_field(text: &str) -> Cow<'_, str> {
    let number = || text.parse::<f64>().is_ok();
    let formula = text.trim_start_matches(' ').starts_with(SIGNS) && text.len() > 1 && !number();
    let strange = |c: char| c.is_control() && c != '\n';
    if formula || text.contains(strange) {
        let mut plain = String::from(if formula { "'" } else { "" });
        for c in text.chars() {
            if strange(c) { plain.extend(c.escape_unicode()) } else { plain.push(c) }
        }
        return csv_field(&plain).into_owned().into();
    }
    if text.contains([',', ';', '"', '\n', '\r']) || text.trim() != text {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::TaskSummary;

    #[test]
    fn names_are_quoted() {
        let task = |name: &str| TaskSummary {
            name: name.into(),
            group: "g".into(),
            jobs: 3,
            ..TaskSummary::default()
        };
        let summary = Summary {
            tasks: [
                "plain",
                "a,b",
                "say \"hi\"",
                "two\nlines",
                "=1+1",
                " padded ",
                "-2",
                "-",
                "@x",
                "e\u{1b}[2J",
                " =3",
                "＝4",
                "a;=5",
            ]
            .map(task)
            .into(),
            ..Summary::default()
        };
        let csv = tasks_csv(&summary);
        let zeros = ",3,0,0,0,0,0,0,,,,,,,,,,,,\n";
        for want in [
            "0,plain,g",
            "0,\"a,b\",g",
            "0,\"say \"\"hi\"\"\",g",
            "0,\"two\nlines\",g",
            "0,'=1+1,g",
            "0,-2,g",
            "0,-,g",
            "0,'@x,g",
            "0,e\\u{1b}[2J,g",
            "0,\" padded \",g",
            "0,' =3,g",
            "0,'＝4,g",
            "0,\"a;=5\",g",
        ] {
            assert!(csv.contains(&format!("{want}{zeros}")), "{want} not in\n{csv}");
        }
        let header = csv.lines().next().unwrap();
        assert_eq!(header.split(',').count(), 22);
        assert!(!header.contains(' '));
    }
}
