// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The compiler's reports: where, what, why, and how to fix it.

use std::fmt;
use std::ops::Range;

use weir_text::excerpt;

use crate::source::{Source, Span, line_col};

/// Errors stop; warnings explain themselves and let the topology run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
}

/// One finding about a topology.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    pub severity: Severity,
    /// Stable word for the rule that is broken; `docs/language-checks.md` lists them.
    pub code: &'static str,
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Name and text of the source that the labels point into.
    pub source: Option<(String, String)>,
    /// Byte ranges with a remark each; the first is the place of the finding.
    pub labels: Vec<(Range<usize>, String)>,
}

impl Diagnostic {
    /// Line and column (from 1) of the first label, if there is one.
    pub fn position(&self) -> Option<(usize, usize)> {
        let (_, text) = self.source.as_ref()?;
        self.labels.first().map(|(range, _)| line_col(text, range.start))
    }
}

/// `file:line:col: error: message`, the line with the place marked, the help; no colours.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((name, _)) = &self.source {
            write!(f, "{name}:")?;
            if let Some((line, col)) = self.position() {
                write!(f, "{line}:{col}:")?;
            }
            f.write_str(" ")?;
        }
        let kind = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, "{kind}: {} [{}]", self.message, self.code)?;
        if let Some((_, text)) = &self.source {
            let mut shown = (0, 0);
            for (range, remark) in &self.labels {
                shown = excerpt::write(f, text, range, remark, shown)?;
            }
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// Number of findings after which no more are kept.
const MAX_FINDINGS: usize = 100;
/// A finding has a copy of its source: of a large one fewer are kept, so many bytes of copies in all.
const MAX_COPIES: usize = 16 << 20;

/// Collects findings and knows the sources they point into.
#[derive(Default)]
pub(crate) struct Sink {
    pub sources: Vec<Source>,
    pub all: Vec<Diagnostic>,
}

impl Sink {
    /// Register a source; spans carry the index.
    pub fn add_source(&mut self, source: Source) -> u16 {
        self.sources.push(source);
        (self.sources.len() - 1) as u16
    }

    pub fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> Note<'_> {
        self.push(Severity::Error, code, span, message.into())
    }

    pub fn warning(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> Note<'_> {
        self.push(Severity::Warning, code, span, message.into())
    }

    pub fn has_errors(&self) -> bool {
        self.all.iter().any(|d| d.severity == Severity::Error)
    }

    /// No more findings are kept: there is no use in looking further.
    pub fn full(&self) -> bool {
        let longest = self.sources.iter().map(|s| s.text.len()).max().unwrap_or(0).max(1);
        self.all.len() >= (MAX_COPIES / longest).clamp(3, MAX_FINDINGS)
    }

    /// `file:line:col` of a span, for remarks about another file.
    pub fn place(&self, span: Span) -> String {
        let source = &self.sources[span.src as usize];
        let (line, col) = line_col(&source.text, span.start as usize);
        format!("{}:{line}:{col}", source.name)
    }

    /// Keep a finding unless the same rule has already spoken about the same place: a block that is
    /// repeated for 4,096 CPUs gives one diagnostic, not 4,096.
    fn push(&mut self, severity: Severity, code: &'static str, span: Span, message: String) -> Note<'_> {
        let source = &self.sources[span.src as usize];
        let len = source.text.len();
        let range = (span.start as usize).min(len)..(span.end as usize).min(len);
        let known = self.all.iter().any(|d| {
            d.code == code
                && d.labels.first().is_some_and(|l| l.0 == range)
                && d.source.as_ref().is_some_and(|s| s.0 == source.name)
        });
        let index = (!known && !self.full()).then(|| {
            self.all.push(Diagnostic {
                severity,
                code,
                message,
                help: None,
                source: Some((source.name.clone(), source.text.clone())),
                labels: vec![(range, String::new())],
            });
            self.all.len() - 1
        });
        Note { sink: self, index, src: span.src }
    }

    /// Findings in order of place, errors of one place before warnings.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        let order: Vec<String> = self.sources.iter().map(|s| s.name.clone()).collect();
        let rank = |d: &Diagnostic| {
            let name = d.source.as_ref().map(|s| s.0.as_str()).unwrap_or("");
            let source = order.iter().position(|n| n == name).unwrap_or(usize::MAX);
            (source, d.labels.first().map_or(0, |l| l.0.start), d.severity)
        };
        self.all.sort_by_key(rank);
        self.all
    }
}

/// A finding that is being written; does nothing if it was said before.
pub(crate) struct Note<'a> {
    sink: &'a mut Sink,
    index: Option<usize>,
    src: u16,
}

impl Note<'_> {
    pub fn help(self, text: impl Into<String>) -> Self {
        if let Some(i) = self.index {
            self.sink.all[i].help = Some(text.into());
        }
        self
    }

    /// Remark at the place of the finding.
    pub fn label(self, text: impl Into<String>) -> Self {
        if let Some(i) = self.index {
            self.sink.all[i].labels[0].1 = text.into();
        }
        self
    }

    /// Remark at another place of the same source; places in other sources are left to the message.
    pub fn also(self, span: Span, text: impl Into<String>) -> Self {
        if let Some(i) = self.index
            && span.src == self.src
        {
            self.sink.all[i].labels.push((span.start as usize..span.end as usize, text.into()));
        }
        self
    }
}

pub(crate) use weir_text::suggest::nearest;

/// "did you mean `x`?", or what there is.
pub(crate) fn suggest(word: &str, candidates: &[&str], what: &str) -> String {
    match nearest(word, candidates.iter().copied()) {
        Some(c) => format!("did you mean `{c}`?"),
        None if candidates.is_empty() => format!("there is no {what}"),
        None => {
            let mut names = candidates.to_vec();
            names.sort_unstable();
            names.dedup();
            let more = names.len().saturating_sub(30);
            let list = names[..names.len() - more].join(", ");
            format!("{what}: {list}{}", if more > 0 { format!(" and {more} more") } else { String::new() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sink(text: &str) -> Sink {
        let mut sink = Sink::default();
        sink.add_source(Source { name: "t.weir".into(), text: text.into() });
        sink
    }

    #[test]
    fn prints_place_excerpt_and_help() {
        let mut sink = sink("annotate x;\nentry -> lb;\n");
        let span = Span { src: 0, start: 21, end: 23 };
        sink.error("unknown-component", span, "unknown component `lb`").label("here").help("declare it");
        let text = sink.finish()[0].to_string();
        assert_eq!(
            text,
            "t.weir:2:10: error: unknown component `lb` [unknown-component]\n    2 | entry -> lb;\n      |          ^^ here\n  help: declare it"
        );
    }

    #[test]
    fn says_a_thing_once() {
        let mut sink = sink("abc");
        let span = Span { src: 0, start: 0, end: 1 };
        for _ in 0..5 {
            sink.error("x", span, "same");
        }
        assert_eq!(sink.all.len(), 1);
    }

    #[test]
    fn suggests_slips_only() {
        assert_eq!(nearest("load_balancr", ["load_balancer", "fcfs"]), Some("load_balancer"));
        assert_eq!(nearest("lcsf", ["lcfs", "fcfs"]), Some("lcfs"));
        assert_eq!(nearest("edf", ["lcfs", "fcfs"]), None);
    }
}
