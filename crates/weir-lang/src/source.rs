// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Texts and places in them. The library reads no files itself: a [`Loader`] provides included files.

pub(crate) use weir_text::excerpt::line_column as line_col;

/// The text of a topology and what to call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Path or catalogue name; shown in diagnostics. Its stem names the topology.
    pub name: String,
    pub text: String,
}

impl Source {
    /// The name without folders and without `.weir`.
    pub fn stem(&self) -> &str {
        let base = self.name.rsplit(['/', '\\']).next().unwrap_or(&self.name);
        base.strip_suffix(".weir").unwrap_or(base)
    }
}

/// Finds the files that a topology includes.
pub trait Loader {
    /// Text of the file that `from` (a [`Source::name`]) includes as `include`.
    /// The error is a sentence for the user; it needs neither file name nor position.
    fn load(&self, from: &str, include: &str) -> Result<Source, String>;
}

/// Refuses every include: for topologies that stand alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoIncludes;

impl Loader for NoIncludes {
    fn load(&self, _: &str, _: &str) -> Result<Source, String> {
        Err("files cannot be included here".into())
    }
}

/// Largest text that is read, in bytes.
pub(crate) const MAX_SOURCE_BYTES: usize = 4 << 20;

/// A range of bytes in one of the sources of a compilation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Span {
    pub src: u16,
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// From the start of `self` to the end of `other`, which must be in the same source.
    pub fn to(self, other: Span) -> Span {
        Span { src: self.src, start: self.start, end: other.end.max(self.end) }
    }

    /// The empty place after the span.
    pub fn after(self) -> Span {
        Span { start: self.end, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_characters_from_one() {
        assert_eq!(line_col("ab\ncäd", 0), (1, 1));
        assert_eq!(line_col("ab\ncäd", 6), (2, 3));
        assert_eq!(line_col("ab", 99), (1, 3));
    }

    #[test]
    fn stems_lose_folder_and_suffix() {
        assert_eq!(Source { name: "a/b/dual.weir".into(), text: String::new() }.stem(), "dual");
        assert_eq!(Source { name: "dual".into(), text: String::new() }.stem(), "dual");
    }
}
