// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What an experiment hands back: claims with their verdicts, tables, pictures; and how they are written.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use weir_report::{Curve, Plot, Spot, csv_field};

use weir::fault::Result;
use weir::outdir::OutDir;
use weir::text::json;

/// Whether a claim of the source is true here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    #[serde(rename = "holds")]
    Holds,
    #[serde(rename = "partly")]
    Partly,
    #[serde(rename = "does not hold")]
    Fails,
    /// It holds because a cost or a parameter was fitted to it: no finding.
    #[serde(rename = "calibrated")]
    Calibrated,
    /// It holds because the effect that it limits is absent here: no finding.
    #[serde(rename = "vacuous")]
    Vacuous,
    /// It is not a source's but ours; [`Claim::met`] says whether it holds.
    #[serde(rename = "own")]
    Own,
    /// Nothing was measured; [`Claim::here`] says why.
    #[serde(rename = "not judged")]
    Unjudged,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Partly => "partly",
            Verdict::Fails => "does not hold",
            Verdict::Calibrated => "calibrated",
            Verdict::Vacuous => "vacuous",
            Verdict::Own => "own",
            Verdict::Unjudged => "not judged",
        }
    }
}

/// A verdict, and the bound that it applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub verdict: Verdict,
    /// When it holds, and when partly, in words.
    pub bound: String,
}

impl Judged {
    /// `Holds` where `all`, `Partly` where only `some`; `bound` says when that is.
    pub fn of(all: bool, some: bool, bound: impl Into<String>) -> Self {
        let verdict = match (all, some) {
            (true, _) => Verdict::Holds,
            (false, true) => Verdict::Partly,
            (false, false) => Verdict::Fails,
        };
        Self { verdict, bound: bound.into() }
    }

    /// `Holds` within `near` of the expected value, `Partly` within `far`; both as factors above 1.
    pub fn near(here: f64, expected: f64, near: f64, far: f64) -> Self {
        let off = if here > expected { here / expected } else { expected / here };
        let factor = |f: f64| {
            if f < 1.5 { format!("{:.0} %", 100.0 * (f - 1.0)) } else { format!("a factor of {f}") }
        };
        let bound = format!("within {} of the source; partly within {}", factor(near), factor(far));
        Self::of(off <= near, off <= far, bound)
    }
}

/// The figures of sources have two or three digits and come from single runs without intervals: what is to have the source's
/// size holds within a tenth, and partly within a factor of two.
pub const NEAR: f64 = 1.1;
pub const FAR: f64 = 2.0;

/// A statement of the source, tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The statement.
    pub claim: String,
    /// Its figure in the source, with unit.
    pub source: String,
    /// The figure measured here.
    pub here: String,
    pub verdict: Verdict,
    /// What a claim of our own came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<Verdict>,
    /// The bound that the verdict applied, which was stated before the measurement.
    #[serde(default)]
    pub bound: String,
    /// What one should know to judge it; may be empty.
    #[serde(default)]
    pub remark: String,
}

impl Claim {
    /// A claim with the source's figure, `-` if it has none, and ours.
    pub fn new(
        claim: impl Into<String>,
        source: impl Into<String>,
        here: impl Into<String>,
        judged: Judged,
    ) -> Self {
        let (claim, source, here) = (claim.into(), source.into(), here.into());
        let Judged { verdict, bound } = judged;
        let ours = source == "-";
        let claim = Self { claim, source, here, verdict, met: None, bound, remark: String::new() };
        if ours { claim.own() } else { claim }
    }

    /// Something was fitted to this figure, as the remark says: that it holds is not a finding.
    #[must_use]
    pub fn fitted(mut self, remark: impl Into<String>) -> Self {
        if self.verdict == Verdict::Holds {
            self.verdict = Verdict::Calibrated;
        }
        self.remark(remark)
    }

    /// What the claim limits does not happen here, as the remark says: that it holds is not a finding.
    #[must_use]
    pub fn absent(mut self, remark: impl Into<String>) -> Self {
        if self.verdict == Verdict::Holds {
            self.verdict = Verdict::Vacuous;
        }
        self.remark(remark)
    }

    /// No source claims this; so it is, too, where the source is given as `-`.
    #[must_use]
    pub fn own(mut self) -> Self {
        if self.verdict == Verdict::Own {
            return self;
        }
        self.met = Some(std::mem::replace(&mut self.verdict, Verdict::Own));
        self
    }

    /// Nothing was measured, because of this: no figure of it says anything.
    #[must_use]
    pub fn unjudged(self, why: &str) -> Self {
        Self { here: why.into(), verdict: Verdict::Unjudged, met: None, ..self }
    }

    /// The verdict for people: `holds`, `own: holds`.
    pub fn word(&self) -> String {
        match self.met {
            Some(met) => format!("{}: {}", self.verdict.word(), met.word()),
            None => self.verdict.word().into(),
        }
    }

    #[must_use]
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.remark = text.into();
        self
    }
}

/// Data of an experiment; becomes `NAME.csv`.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub name: String,
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(name: &str, heads: &[&str]) -> Self {
        let heads = heads.iter().map(|h| (*h).to_string()).collect();
        Self { name: name.into(), heads, rows: Vec::new() }
    }

    pub fn row<S: ToString>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(|c| c.to_string()).collect());
    }

    pub fn csv(&self) -> String {
        let line = |cells: &[String]| cells.iter().map(|c| csv_field(c)).collect::<Vec<_>>().join(",") + "\n";
        let rows: String = self.rows.iter().map(|r| line(r)).collect();
        line(&self.heads) + &rows
    }
}

/// A picture; becomes `NAME.svg`.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub name: String,
    pub plot: Plot,
}

/// A line of a picture: its name, its points by value of the horizontal axis, and whether it is the source's.
pub struct Line {
    pub name: String,
    pub points: Vec<(String, f64)>,
    pub colour: usize,
    pub dashed: bool,
}

impl Picture {
    /// Lines over the horizontal values that any of them has, in the order given.
    pub fn new(name: &str, titles: (&str, &str), log: bool, xs: &[String], lines: Vec<Line>) -> Self {
        let curve = |line: Line| {
            let spot = |(at, y): &(String, f64)| xs.iter().position(|x| x == at).map(|x| Spot::at(x, *y));
            let spots = line.points.iter().filter_map(spot).collect();
            Curve { name: line.name, spots, colour: Some(line.colour), dashed: line.dashed }
        };
        let curves = lines.into_iter().map(curve).filter(|c| !c.spots.is_empty()).collect();
        let plot = Plot {
            x_title: titles.0.into(),
            y_title: titles.1.into(),
            x_values: xs.to_vec(),
            percent: false,
            log,
            curves,
        };
        Self { name: name.into(), plot }
    }
}

/// The outcome of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    pub claims: Vec<Claim>,
    pub tables: Vec<Table>,
    pub pictures: Vec<Picture>,
    /// Pictures that an experiment draws itself: name and SVG.
    pub drawings: Vec<(String, String)>,
    /// Paragraphs for the reader.
    pub notes: Vec<String>,
    /// Simulations made.
    pub runs: u64,
}

/// What is kept of an experiment between runs of the program: `result.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub runweir: String,
    pub id: String,
    pub title: String,
    pub source: String,
    /// A reduced sweep.
    pub quick: bool,
    pub claims: Vec<Claim>,
    #[serde(default)]
    pub notes: Vec<String>,
    #[serde(default)]
    pub runs: u64,
    /// Files beside it.
    #[serde(default)]
    pub files: Vec<String>,
}

impl Record {
    /// `3 hold, 1 partly, 0 do not`, and `1 calibrated`, `1 vacuous`, `1 not judged`, `2 own (1 holds)` where there are such.
    pub fn verdicts(&self) -> String {
        verdicts(self.claims.iter())
    }

    /// The claims as text for people.
    pub fn text(&self) -> String {
        let quick = if self.quick { " (reduced sweep)" } else { "" };
        let mut text = format!("{}: {}{quick}\n  {}\n", self.id, self.title, self.source);
        for c in &self.claims {
            let _ = write!(text, "\n  {:<14}{}\n", c.word(), c.claim);
            let _ = write!(text, "  {:<14}source: {}\n  {:<14}here:   {}\n", "", c.source, "", c.here);
            if !c.bound.is_empty() {
                let _ = writeln!(text, "  {:<14}bound:  {}", "", c.bound);
            }
            if !c.remark.is_empty() {
                let _ = writeln!(text, "  {:<14}{}", "", c.remark);
            }
        }
        for note in &self.notes {
            let _ = write!(text, "\n  {note}\n");
        }
        let _ = write!(text, "\n{} of {} claims: {}\n", self.id, self.claims.len(), self.verdicts());
        text
    }

    /// The claims as a table in Markdown.
    pub fn markdown(&self) -> String {
        let cell = |s: &str| s.replace('|', "\\|");
        let mut text = String::from("| claim | source | here | bound | verdict |\n|---|---|---|---|---|\n");
        for c in &self.claims {
            let remark = if c.remark.is_empty() { String::new() } else { format!(": {}", cell(&c.remark)) };
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | **{}**{remark} |",
                cell(&c.claim),
                cell(&c.source),
                cell(&c.here),
                cell(&c.bound),
                c.word()
            );
        }
        text
    }
}

/// Claims by verdict, in words; the kinds that are no findings of a source where there are any.
pub fn verdicts<'a>(claims: impl Iterator<Item = &'a Claim> + Clone) -> String {
    let count = |v: Verdict| claims.clone().filter(|c| c.verdict == v).count();
    let mut text = format!(
        "{} hold, {} partly, {} do not",
        count(Verdict::Holds),
        count(Verdict::Partly),
        count(Verdict::Fails)
    );
    for kind in [Verdict::Calibrated, Verdict::Vacuous, Verdict::Unjudged] {
        if count(kind) > 0 {
            let _ = write!(text, ", {} {}", count(kind), kind.word());
        }
    }
    let own = count(Verdict::Own);
    if own > 0 {
        let met = claims.filter(|c| c.met == Some(Verdict::Holds)).count();
        let _ = write!(text, ", {own} own ({met} hold{})", if met == 1 { "s" } else { "" });
    }
    text
}

/// Write data, pictures and the record into `folder` (empty, or ending with a slash) of `out`.
pub fn write(out: &OutDir, folder: &str, report: &Report, record: &Record) -> Result<()> {
    for table in &report.tables {
        out.write(&format!("{folder}{}.csv", table.name), table.csv().as_bytes())?;
    }
    for picture in &report.pictures {
        out.write(&format!("{folder}{}.svg", picture.name), picture.plot.svg().as_bytes())?;
    }
    for (name, svg) in &report.drawings {
        out.write(&format!("{folder}{name}.svg"), svg.as_bytes())?;
    }
    out.write(&format!("{folder}result.json"), json(record)?.as_bytes())
}

/// Names of the files that [`write`] makes, without the record.
pub fn files(report: &Report) -> Vec<String> {
    let tables = report.tables.iter().map(|t| format!("{}.csv", t.name));
    let pictures = report.pictures.iter().map(|p| &p.name).chain(report.drawings.iter().map(|d| &d.0));
    tables.chain(pictures.map(|name| format!("{name}.svg"))).collect()
}

/// A number with about three significant digits.
pub fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        v if v >= 100.0 => group(&format!("{value:.0}")),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        v if v >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.2e}"),
    }
}

/// Thousands set apart.
fn group(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |d| ("-", d));
    let mut out = String::from(sign);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(
            [0.0, 0.0215, 1.0, 12.34, 130.2, 32508.0, -1234567.0].map(short),
            ["0", "0.021", "1.00", "12.3", "130", "32,508", "-1,234,567"]
        );
    }

    #[test]
    fn nearness_is_a_factor_either_way() {
        let near = |here| Judged::near(here, 10.0, 1.2, 2.0).verdict;
        assert_eq!(near(11.0), Verdict::Holds);
        let bound = Judged::near(11.0, 10.0, NEAR, FAR).bound;
        assert_eq!(bound, "within 10 % of the source; partly within a factor of 2");
        // What was fitted is not a finding where it holds, and one where it does not.
        let fitted =
            |yes| Claim::new("a", "b", "c", Judged::of(yes, false, "d")).fitted("it was fitted").verdict;
        assert_eq!((fitted(true), fitted(false)), (Verdict::Calibrated, Verdict::Fails));
        assert_eq!([6.0, 21.0, 0.0].map(near), [Verdict::Partly, Verdict::Fails, Verdict::Fails]);
        // What is absent is not a finding, either; and what is ours says whether it holds.
        let absent = Claim::new("a", "b", "c", Judged::of(true, false, "d")).absent("none");
        assert_eq!(absent.verdict, Verdict::Vacuous);
        let own = Claim::new("a", "-", "c", Judged::of(false, true, "d")).own();
        assert_eq!((own.word().as_str(), own.met), ("own: partly", Some(Verdict::Partly)));
        assert_eq!(
            verdicts([&absent, &own].into_iter()),
            "0 hold, 0 partly, 0 do not, 1 vacuous, 1 own (0 hold)"
        );
        // What was not measured holds in no way, whoever claims it.
        let none = [absent, own].map(|c| c.unjudged("busy"));
        assert_eq!(verdicts(none.iter()), "0 hold, 0 partly, 0 do not, 2 not judged");
    }

    #[test]
    fn data_that_needs_quotes_gets_them() {
        let mut t = Table::new("t", &["a", "b"]);
        t.row(["1", "x,y"]);
        assert_eq!(t.csv(), "a,b\n1,\"x,y\"\n");
    }
}
