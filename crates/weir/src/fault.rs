// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What can go wrong, and how it is shown: one diagnostic with place, cause and remedy.
//!
//! A [`Fault`] is the user's, ours or the system's. The libraries'
//! errors become [`Diag`]s only here.

use std::fmt;
use std::ops::Range;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, NamedSource,
    Severity, SourceCode, SourceSpan, SpanContents,
};

/// Whose fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The user's input.
    User,
    /// Anything else: disk full, a bug, an interruption.
    System,
}

/// Why a function ends without success; one or more diagnostics.
#[derive(Debug)]
pub struct Fault {
    pub blame: Blame,
    pub diags: Vec<Diag>,
}

/// The result type of this library's functions.
pub type Result<T> = std::result::Result<T, Fault>;

impl Fault {
    /// The user's input is wrong: `message` says what, `help` how to mend it.
    pub fn user(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { blame: Blame::User, diags: vec![Diag::error(message).help(help)] }
    }

    /// The system is in the way.
    pub fn system(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { blame: Blame::System, diags: vec![Diag::error(message).help(help)] }
    }

    /// The same with a remark after it.
    #[must_use]
    pub fn note(mut self, text: String) -> Self {
        self.diags.push(Diag::advice(text));
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diag) in self.diags.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { "; " })?;
            diag.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

impl From<Diag> for Fault {
    fn from(diag: Diag) -> Self {
        Self { blame: Blame::User, diags: vec![diag] }
    }
}

/// One diagnostic.
#[derive(Debug, Clone)]
pub struct Diag {
    severity: Severity,
    message: String,
    code: Option<String>,
    help: Option<String>,
    source: Option<NamedSource<String>>,
    labels: Vec<LabeledSpan>,
}

impl Diag {
    /// An error without place or remedy yet.
    pub fn error(message: impl Into<String>) -> Self {
        Self::new(Severity::Error, message)
    }

    /// A warning without place or remedy yet.
    pub fn warning(message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, message)
    }

    /// A remark on the diagnostics before it.
    pub fn advice(message: impl Into<String>) -> Self {
        Self::new(Severity::Advice, message)
    }

    fn new(severity: Severity, message: impl Into<String>) -> Self {
        Self { severity, message: message.into(), code: None, help: None, source: None, labels: Vec::new() }
    }

    /// What to do about it.
    pub fn remedy(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Add the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Add the stable name of the broken rule.
    #[must_use]
    pub fn code(mut self, code: &str) -> Self {
        self.code = Some(code.to_string());
        self
    }

    /// Add the text at fault.
    #[must_use]
    pub fn source(mut self, name: &str, text: &str) -> Self {
        self.source = Some(NamedSource::new(name, text.to_string()));
        self
    }

    /// Point at bytes of the source; any range is safe.
    #[must_use]
    pub fn label(mut self, span: Range<usize>, text: Option<String>) -> Self {
        let length = self.source.as_ref().map_or(0, |s| s.inner().len());
        let start = span.start.min(length);
        let end = span.end.clamp(start, length);
        self.labels.push(LabeledSpan::new(text, start, end - start));
        self
    }
}

impl fmt::Display for Diag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Diag {}

impl miette::Diagnostic for Diag {
    fn severity(&self) -> Option<Severity> {
        Some(self.severity)
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source.as_ref().map(|s| s as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.labels.is_empty() { None } else { Some(Box::new(self.labels.iter().cloned())) }
    }
}

/// Widest line of a source that is shown whole, in characters; of longer ones a window is shown.
const EXCERPT: usize = 240;

/// A source with its long lines cut: the renderer draws lines whole, and fails beyond column 65,535.
struct Window {
    text: NamedSource<String>,
    /// Bytes that are missing before the first label, in its line.
    cut: usize,
}

impl SourceCode for Window {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> std::result::Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let part = self.text.read_span(span, before, after)?;
        // Without lines around it, it is asked for the place that the header names.
        let cut = if before == 0 && after == 0 { self.cut } else { 0 };
        Ok(Box::new(MietteSpanContents::new_named(
            self.text.name().into(),
            part.data(),
            *part.span(),
            part.line(),
            part.column() + cut,
            part.line_count(),
        )))
    }
}

/// Cut the long lines of a diagnostic's source, each around the first label in it.
fn cut_lines(source: &NamedSource<String>, labels: &[LabeledSpan]) -> Option<(Window, Vec<LabeledSpan>)> {
    let text = source.inner();
    if text.lines().all(|l| l.len() <= EXCERPT) {
        return None;
    }
    let mut out = String::new();
    // Ranges of the source that are kept, and where each begins in the new text.
    let mut kept: Vec<(Range<usize>, usize)> = Vec::new();
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        let range = begin..begin + line.len();
        begin = range.end;
        let body = line.trim_end_matches(['\n', '\r']);
        let width = body.chars().count();
        if width <= EXCERPT {
            kept.push((range, out.len()));
            out.push_str(line);
            continue;
        }
        let first = labels.iter().map(LabeledSpan::offset).filter(|at| range.contains(at)).min();
        // The window begins a third of its width before the label.
        let at = first.map_or(0, |at| body.char_indices().take_while(|(i, _)| range.start + i < at).count());
        let skip = at.saturating_sub(EXCERPT / 3).min(width - EXCERPT);
        let byte = |chars: usize| body.char_indices().nth(chars).map_or(body.len(), |(i, _)| i);
        let (from, to) = (byte(skip), byte(skip + EXCERPT));
        if from > 0 {
            out.push('…');
        }
        kept.push((range.start + from..range.start + to, out.len()));
        out.push_str(&body[from..to]);
        if to < body.len() {
            out.push('…');
        }
        out.push_str(&line[body.len()..]);
    }
    let moved = |at: usize| match kept.iter().rev().find(|(r, _)| r.start <= at) {
        Some((r, new)) => new + at.min(r.end) - r.start,
        None => 0,
    };
    let column = |text: &str, at: usize| at - text[..at].rfind('\n').map_or(0, |i| i + 1);
    let cut = labels.first().map_or(0, |l| {
        let at = l.offset().min(text.len());
        column(text, at).saturating_sub(column(&out, moved(at)))
    });
    let labels = labels
        .iter()
        .map(|l| {
            let start = moved(l.offset());
            let end = moved(l.offset() + l.len()).max(start);
            LabeledSpan::new(l.label().map(String::from), start, end - start)
        })
        .collect();
    let name = source.name().to_string();
    Some((Window { text: NamedSource::new(name, out), cut }, labels))
}

/// A diagnostic as the renderer takes it.
struct Shown<'a> {
    diag: &'a Diag,
    cut: Option<(Window, Vec<LabeledSpan>)>,
}

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diag.fmt(f)
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.diag, f)
    }
}

impl std::error::Error for Shown<'_> {}

impl miette::Diagnostic for Shown<'_> {
    fn severity(&self) -> Option<Severity> {
        self.diag.severity()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.diag.help()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        match &self.cut {
            Some((window, _)) => Some(window),
            None => self.diag.source_code(),
        }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        match &self.cut {
            Some((_, labels)) if !labels.is_empty() => Some(Box::new(labels.iter().cloned())),
            _ => self.diag.labels(),
        }
    }
}

/// Text of a diagnostic for a reader: `error[code]: message`, the place, the remedy; at most `width` columns where the
/// source's lines allow it.
pub fn render(diag: &Diag, colours: bool, width: usize) -> String {
    let mut theme = if colours { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let code = diag.code.as_ref().map(|c| format!("[{c}]")).unwrap_or_default();
    theme.characters.error = format!("error{code}:");
    theme.characters.warning = format!("warning{code}:");
    theme.characters.advice = "note:".into();
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_width(width)
        // Options and names stay whole, to be copied.
        .with_word_splitter(textwrap::WordSplitter::NoHyphenation);
    let mut text = String::new();
    let cut =
        diag.source.as_ref().filter(|_| !diag.labels.is_empty()).and_then(|s| cut_lines(s, &diag.labels));
    if handler.render_report(&mut text, &Shown { diag, cut }).is_err() {
        // The renderer refuses spans it cannot place; the message must not be lost for that.
        text = format!("error{code}: {diag}\n");
    }
    // The message stands at the margin, as in the errors about options.
    text.trim_start_matches([' ', '\n']).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(diag: &Diag) -> String {
        super::render(diag, false, 100)
    }

    /// `--allow-code` was parted at the end of a line, so that it could neither be copied nor found.
    #[test]
    fn options_stay_whole() {
        for n in 60..100 {
            let diag = Diag::error(format!("{} --allow-code", "x".repeat(n)))
                .help(format!("{} --allow-code", "y".repeat(n)));
            assert_eq!(render(&diag).matches("--allow-code").count(), 2, "{n}: {}", render(&diag));
        }
    }

    /// A place at column 65,536 or later ended the program: the renderer aligns by a 16-bit width.
    #[test]
    fn places_far_to_the_right_are_shown() {
        for before in [65_534, 65_535, 65_536, 200_000] {
            let text = format!("ok = 1\n{}WRONG{}\nnext", "ä".repeat(before / 2), "b".repeat(70_000));
            let at = text.find("WRONG").expect("it is there");
            let diag = Diag::error("wrong").source("a.toml", &text).label(at..at + 5, Some("here".into()));
            let shown = render(&diag);
            let column = at - text.find('\n').expect("two lines");
            assert!(shown.contains(&format!("[a.toml:2:{column}]")), "{shown}");
            assert!(shown.contains("WRONG") && shown.contains("here") && shown.contains("…"), "{shown}");
            assert!(shown.lines().all(|l| l.chars().count() <= 2 * EXCERPT), "{shown}");
        }
    }

    #[test]
    fn labels_far_apart_in_a_long_line_are_kept() {
        let text = "x".repeat(300_000);
        let diag =
            Diag::error("wrong").source("a.toml", &text).label(5..6, None).label(299_000..300_000, None);
        assert!(render(&diag).contains("wrong"));
        let diag = Diag::error("wrong").source("a.toml", &text).label(0..300_000, None);
        assert!(render(&diag).contains("[a.toml:1:1]"));
    }

    #[test]
    fn any_span_renders() {
        let text = "first\nsecönd\n";
        for start in 0..20 {
            for end in 0..20 {
                let diag = Diag::error("wrong").source("a.weir", text).label(start..end, None);
                assert!(render(&diag).contains("wrong"));
            }
        }
    }
}
