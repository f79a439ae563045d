// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Keys without a value: `"suspend",` means the thread itself, as workgen reads it.
//!
//! That is not JSON. An empty string is inserted as the value before the text is parsed, and places in
//! the parsed text are mapped back to places in the file.

use std::ops::Range;

use super::events::event_name;

/// The text inserted behind a key without a value.
const VALUE: &str = ":\"\"";

/// The text to parse, and where it differs from the file.
pub(super) struct Filled {
    pub text: String,
    /// Offsets in the file behind which a value was put in, ascending.
    inserted: Vec<usize>,
}

impl Filled {
    /// Put in the missing values.
    pub fn new(file: &str) -> Self {
        let inserted = missing(file);
        let mut text = String::with_capacity(file.len() + inserted.len() * VALUE.len());
        let mut from = 0;
        for &at in &inserted {
            text.push_str(&file[from..at]);
            text.push_str(VALUE);
            from = at;
        }
        text.push_str(&file[from..]);
        Self { text, inserted }
    }

    /// A range of the parsed text as a range of the file.
    pub fn place(&self, range: Range<usize>) -> Range<usize> {
        self.offset(range.start)..self.offset(range.end)
    }

    fn offset(&self, parsed: usize) -> usize {
        // The k-th value stands at inserted[k] + k * VALUE.len() in the parsed text.
        let mut shift = 0;
        for &at in &self.inserted {
            let start = at + shift;
            if parsed < start {
                break;
            }
            if parsed < start + VALUE.len() {
                return at;
            }
            shift += VALUE.len();
        }
        parsed - shift
    }
}

/// Offsets behind keys that may lack a value, and do.
fn missing(file: &str) -> Vec<usize> {
    let bytes = file.as_bytes();
    let mut found = Vec::new();
    let mut open = Vec::new();
    // The last character that matters before the string in hand, and the string itself.
    let mut before = b' ';
    let mut string: Option<Range<usize>> = None;
    let mut i = 0;
    while i < bytes.len() {
        let c = bytes[i];
        match c {
            b'/' if bytes.get(i + 1) == Some(&b'/') => {
                i += bytes[i..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - i);
                continue;
            }
            b'/' if bytes.get(i + 1) == Some(&b'*') => {
                let end = bytes[i + 2..].windows(2).position(|w| w == b"*/");
                i = end.map_or(bytes.len(), |e| i + 2 + e + 2);
                continue;
            }
            b'"' => {
                let start = i + 1;
                i = start;
                while i < bytes.len() && bytes[i] != b'"' {
                    i += if bytes[i] == b'\\' { 2 } else { 1 };
                }
                // A second string in a row is an error that the parser will report.
                if string.is_some() {
                    before = b'"';
                }
                string = Some(start..i.min(bytes.len()));
            }
            c if c.is_ascii_whitespace() => {}
            _ => {
                if let Some(s) = string.take() {
                    let is_key = open.last() == Some(&b'{') && matches!(before, b'{' | b',');
                    let optional = |k: &str| matches!(event_name(k), Some("suspend" | "yield"));
                    if is_key && matches!(c, b',' | b'}') && optional(&file[s.clone()]) {
                        found.push(s.end + 1);
                    }
                }
                match c {
                    b'{' | b'[' => open.push(c),
                    b'}' | b']' => {
                        open.pop();
                    }
                    _ => {}
                }
                before = c;
            }
        }
        i += 1;
    }
    // An unterminated string at the end of the file is not followed by anything.
    found.retain(|&at| at <= bytes.len());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_keys_and_nothing_else() {
        let text = r#"{ "a" : { "suspend", /* "suspend", */ "run" : 1, "suspend" }, "l" : ["suspend", "yield"], "x":"suspend" }"#;
        let filled = Filled::new(text);
        let expected = r#"{ "a" : { "suspend":"", /* "suspend", */ "run" : 1, "suspend":"" }, "l" : ["suspend", "yield"], "x":"suspend" }"#;
        assert_eq!(filled.text, expected);
        let at = filled.text.find("\"l\"").expect("there");
        let place = filled.place(at..at + 3);
        assert_eq!(&text[place], "\"l\"");
    }

    #[test]
    fn any_text_is_safe() {
        for text in [
            "",
            "\"",
            "{\"suspend\"",
            "{\"suspend",
            "{\"suspend\\",
            "/*",
            "{ // \"\n",
            "{\"suspend\"}",
            "{\"ä\\\"",
            "}]",
        ] {
            let filled = Filled::new(text);
            for i in 0..filled.text.len() + 1 {
                assert!(filled.place(i..i).end <= text.len());
            }
        }
    }
}
