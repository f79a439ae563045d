// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What can go wrong, and how it is shown: one diagnostic with place, cause and remedy.
//!
//! A [`Fault`] is either the user's (exit status 2) or ours or the system's (exit status 1). The
//! libraries' errors become [`Diag`]s here and nowhere else.

use std::fmt;
use std::io::IsTerminal;
use std::ops::Range;
use std::process::ExitCode;

use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, Severity, SourceCode};

/// Whose fault it is; decides the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The user's input: exit status 2.
    User,
    /// Anything else (disk full, a bug, an interruption): exit status 1.
    System,
}

/// Why a command ends without success; one or more diagnostics.
#[derive(Debug)]
pub struct Fault {
    pub blame: Blame,
    pub diags: Vec<Diag>,
}

/// What commands return.
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

    /// Exit status of the contract.
    pub fn status(&self) -> ExitCode {
        match self.blame {
            Blame::User => ExitCode::from(2),
            Blame::System => ExitCode::from(1),
        }
    }
}

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

    /// Add the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Add the stable word for the rule that is broken.
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

/// True where colours help: the stream is a terminal and `NO_COLOR` is unset or empty.
fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Text of a diagnostic as it goes to stderr: `error[code]: message`, the place, the remedy.
pub fn render(diag: &Diag) -> String {
    let mut theme = if colours() { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let code = diag.code.as_ref().map(|c| format!("[{c}]")).unwrap_or_default();
    theme.characters.error = format!("error{code}:");
    theme.characters.warning = format!("warning{code}:");
    theme.characters.advice = "note:".into();
    let width = if std::io::stderr().is_terminal() { terminal_width() } else { 100 };
    let handler = GraphicalReportHandler::new_themed(theme).with_links(false).with_width(width);
    let mut text = String::new();
    if handler.render_report(&mut text, diag).is_err() {
        // The renderer refuses spans it cannot place; the message must not be lost for that.
        text = format!("error{code}: {diag}\n");
    }
    // The message stands at the margin, as in the errors about options.
    text.trim_start_matches([' ', '\n']).to_string()
}

/// Columns of the terminal as the shell exports them; 100 if unknown.
fn terminal_width() -> usize {
    std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok()).filter(|c| *c >= 40).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

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
