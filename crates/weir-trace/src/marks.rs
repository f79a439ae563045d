// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a program says about itself in a recording: lines written to `trace_marker`, probes of user space (USDT, uprobes).
//!
//! Lines may be those of Android's atrace (`B|12|name`, `E|12`, `S|12|name|7`, `F|12|name|7`) or free text: a name, then a number or
//! another word. Of a probe, the name is the event's, and the number its first argument.

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Something of this name begins.
    Begin,
    /// It ends. Without a name: what the thread began last.
    End,
    /// A name by itself; what it means the reader knows.
    Word,
}

/// A mark of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    pub t_ns: u64,
    pub thread: u32,
    pub phase: Phase,
    pub name: Box<str>,
    /// What tells one from others of that name.
    pub id: Option<Box<str>>,
}

/// Phase, name and number of a line; `None` where it is none of these, such as a counter.
pub(crate) fn parse(text: &str) -> Option<(Phase, &str, Option<Box<str>>)> {
    let text = text.trim();
    let mut parts = text.split('|');
    match (parts.next()?, text.len() == 1 || text.as_bytes().get(1) == Some(&b'|')) {
        ("B", true) => Some((Phase::Begin, parts.nth(1)?, None)),
        ("E", true) => Some((Phase::End, "", None)),
        (kind @ ("S" | "F"), true) => {
            let (name, id) = (parts.nth(1)?, parts.next());
            let phase = if kind == "S" { Phase::Begin } else { Phase::End };
            Some((phase, name, id.map(Into::into)))
        }
        // Counters, instants, tracks.
        ("C" | "I" | "N" | "G" | "H", true) => None,
        _ => {
            let mut words = text.split_whitespace();
            let name = words.next()?.trim_end_matches([':', ',']);
            Some((Phase::Word, name, words.next().and_then(number)))
        }
    }
}

/// `42`, `id=42`, `arg1=0x2a`: the value, so that a number is written in one way.
fn number(word: &str) -> Option<Box<str>> {
    let value = word.rsplit_once('=').map_or(word, |w| w.1).trim_end_matches([',', ';']);
    let hex = value.strip_prefix("0x").and_then(|h| u64::from_str_radix(h, 16).ok());
    match hex {
        Some(n) => Some(n.to_string().into()),
        None => (!value.is_empty()).then(|| value.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_programs_write() {
        let of =
            |text: &'static str| parse(text).map(|(p, n, id)| (p, n, id.unwrap_or_default().to_string()));
        let some = |p, n: &'static str, id: &str| Some((p, n, id.to_string()));
        assert_eq!(of("B|12|draw frame\n"), some(Phase::Begin, "draw frame", ""));
        assert_eq!(of("E|12"), some(Phase::End, "", ""));
        assert_eq!(of("E"), some(Phase::End, "", ""));
        assert_eq!(of("S|12|get|7"), some(Phase::Begin, "get", "7"));
        assert_eq!(of("F|12|get|7"), some(Phase::End, "get", "7"));
        assert_eq!(of("C|12|queue|7"), None);
        assert_eq!(of("request_begin id=0x2a more"), some(Phase::Word, "request_begin", "42"));
        assert_eq!(of("done: 42,"), some(Phase::Word, "done", "42"));
        assert_eq!(of("Fine"), some(Phase::Word, "Fine", ""));
        assert_eq!(of(" "), None);
        assert_eq!(of("B"), None);
    }
}
