// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! From text to tokens. Comments are kept for the formatter; the parser skips them.

use crate::diag::Sink;
use crate::source::Span;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tok {
    /// Letters, digits and underscores, beginning with a letter or underscore.
    Word,
    /// A number with the letters or the percent sign that follow it without a gap.
    Number,
    /// `"..."`, on one line, no escapes.
    Text,
    /// `->`
    Arrow,
    /// `~>`
    Later,
    /// `::`
    Is,
    Colon,
    Comma,
    Semi,
    Equals,
    Minus,
    /// `.`, only between `when` and its block.
    Dot,
    /// `<`, `>`, `<=`, `>=`, only there.
    Compare,
    ParenOpen,
    ParenClose,
    SquareOpen,
    SquareClose,
    CurlyOpen,
    CurlyClose,
    /// `// ...` without the line end.
    LineComment,
    /// `/* ... */`
    BlockComment,
    /// After the last token.
    End,
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub tok: Tok,
    pub span: Span,
}

/// Split `text` (source number `src` of `sink`) into tokens; what is not a token is reported and skipped.
pub(crate) fn lex(text: &str, src: u16, sink: &mut Sink) -> Vec<Token> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    let mut bad: Option<Span> = None;
    // Between `when` and its block.
    let mut condition = false;
    while at < bytes.len() && !sink.full() {
        let start = at;
        let c = bytes[at];
        let next = bytes.get(at + 1).copied().unwrap_or(0);
        let span = |end: usize| Span { src, start: start as u32, end: end as u32 };
        let tok = match c {
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            b'/' if next == b'/' => {
                at = text[at..].find('\n').map_or(bytes.len(), |i| at + i);
                Tok::LineComment
            }
            b'/' if next == b'*' => match text[at + 2..].find("*/") {
                Some(i) => {
                    at += i + 4;
                    Tok::BlockComment
                }
                None => {
                    sink.error("syntax", span(start + 2), "this comment never ends")
                        .help("close it with `*/`");
                    at = bytes.len();
                    Tok::BlockComment
                }
            },
            b'"' => match text[at + 1..].find(['"', '\n']) {
                Some(i) if bytes[at + 1 + i] == b'"' => {
                    at += i + 2;
                    Tok::Text
                }
                found => {
                    at = found.map_or(bytes.len(), |i| at + 1 + i);
                    sink.error("syntax", span(at), "this text never ends")
                        .help("close it with `\"` on the same line");
                    Tok::Text
                }
            },
            b'-' if next == b'>' => two(&mut at, Tok::Arrow),
            b'~' if next == b'>' => two(&mut at, Tok::Later),
            b':' if next == b':' => two(&mut at, Tok::Is),
            b':' => one(&mut at, Tok::Colon),
            b',' => one(&mut at, Tok::Comma),
            b';' => {
                condition = false;
                one(&mut at, Tok::Semi)
            }
            b'=' => one(&mut at, Tok::Equals),
            b'-' => one(&mut at, Tok::Minus),
            b'(' => one(&mut at, Tok::ParenOpen),
            b')' => one(&mut at, Tok::ParenClose),
            b'[' => one(&mut at, Tok::SquareOpen),
            b']' => one(&mut at, Tok::SquareClose),
            b'{' => {
                condition = false;
                one(&mut at, Tok::CurlyOpen)
            }
            b'}' => one(&mut at, Tok::CurlyClose),
            b'.' if condition => one(&mut at, Tok::Dot),
            b'<' | b'>' if condition && next == b'=' => two(&mut at, Tok::Compare),
            b'<' | b'>' if condition => one(&mut at, Tok::Compare),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
                condition |= &text[start..at] == "when";
                Tok::Word
            }
            b'0'..=b'9' => {
                while at < bytes.len() && (bytes[at].is_ascii_digit() || bytes[at] == b'_') {
                    at += 1;
                }
                let digit = |i: usize| bytes.get(i).is_some_and(|b| b.is_ascii_digit());
                if bytes.get(at) == Some(&b'.') && digit(at + 1) {
                    at += 1;
                    while digit(at) {
                        at += 1;
                    }
                }
                if bytes.get(at) == Some(&b'%') {
                    at += 1;
                } else {
                    while at < bytes.len() && bytes[at].is_ascii_alphanumeric() {
                        at += 1;
                    }
                }
                Tok::Number
            }
            _ => {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
                let here = span(at);
                if c == b'#' {
                    // Meant as a comment: what follows on the line is not our text.
                    at = text[at..].find('\n').map_or(bytes.len(), |i| at + i);
                }
                // Neighbouring strangers make one finding.
                match &mut bad {
                    Some(b) if b.end == here.start => b.end = here.end,
                    _ => {
                        report(sink, text, bad.replace(here));
                    }
                }
                continue;
            }
        };
        tokens.push(Token { tok, span: span(at) });
    }
    report(sink, text, bad);
    let end = bytes.len() as u32;
    tokens.push(Token { tok: Tok::End, span: Span { src, start: end, end } });
    tokens
}

fn one(at: &mut usize, tok: Tok) -> Tok {
    *at += 1;
    tok
}

fn two(at: &mut usize, tok: Tok) -> Tok {
    *at += 2;
    tok
}

/// Report a run of characters that belong to no token.
fn report(sink: &mut Sink, text: &str, bad: Option<Span>) {
    let Some(span) = bad else { return };
    let shown: String = text[span.start as usize..span.end as usize].chars().take(12).collect();
    let help = match shown.as_str() {
        "~" => "a postponed pipe is written `~>`",
        ">" => "a pipe is written `->`",
        "#" => "a comment begins with `//`",
        "|" | "&" | "." => "elements are joined by `->`, statements end with `;`",
        _ => "only ASCII words, numbers and punctuation stand outside comments",
    };
    sink.error("syntax", span, format!("unexpected {:?}", shown)).help(help);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Source;

    fn toks(text: &str) -> (Vec<Tok>, usize) {
        let mut sink = Sink::default();
        sink.add_source(Source { name: "t".into(), text: text.into() });
        let tokens = lex(text, 0, &mut sink);
        (tokens.iter().map(|t| t.tok).collect(), sink.all.len())
    }

    #[test]
    fn distinguishes_numbers_from_ranges_and_arrows() {
        use Tok::*;
        assert_eq!(toks("1.5ms 0-3->x 50%").0, [Number, Number, Minus, Number, Arrow, Word, Number, End]);
        assert_eq!(toks("a::b ~> c").0, [Word, Is, Word, Later, Word, End]);
    }

    #[test]
    fn conditions_have_tokens_of_their_own() {
        use Tok::*;
        assert_eq!(
            toks("when cpus.online >= 3 {").0,
            [Word, Word, Dot, Word, Compare, Number, CurlyOpen, End]
        );
        assert_eq!(toks("a > b").1, 1, "a pipe is written `->`");
    }

    #[test]
    fn reports_strangers_once_a_run() {
        assert_eq!(toks("a §§ b ~ c").1, 2);
        assert_eq!(toks("a # b § c\n§").1, 2);
        assert_eq!(toks("/* x").1, 1);
        assert_eq!(toks("include \"x\n;").1, 1);
    }
}
