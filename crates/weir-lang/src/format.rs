// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The canonical layout of a text: one statement per line, blocks indented by four, short blocks on
//! one line, spaces where they help. Comments and single blank lines stay.

use std::fmt::Write;

use crate::diag::{Diagnostic, Sink};
use crate::lex::{Tok, Token, lex};
use crate::parse::parse;
use crate::source::Source;

/// Longest line that is not broken.
const WIDTH: usize = 100;
const INDENT: usize = 4;

/// Lay `src` out. Formatting twice gives the same as formatting once, and no token is changed apart
/// from `;` at the ends of statements. A text with syntax errors is left alone.
pub fn format(src: &Source) -> Result<String, Vec<Diagnostic>> {
    let mut sink = Sink::default();
    let index = sink.add_source(src.clone());
    parse(index, &mut sink, &mut 0);
    if sink.has_errors() {
        return Err(sink.finish());
    }
    let tokens = lex(&src.text, index, &mut Sink::default());
    let mut reader = Reader { text: &src.text, tokens: &tokens, at: 0 };
    let body = reader.body(true);
    let mut out = String::new();
    print_body(&body, 0, &mut out);
    Ok(out)
}

/// A comment with the question whether a blank line stands before it.
struct Comment<'a> {
    text: &'a str,
    blank: bool,
}

/// A part of a statement.
enum Part<'a> {
    Token(Tok, &'a str),
    Comment(&'a str),
    Block(Body<'a>),
}

/// A statement with the comments that belong to it.
struct Stmt<'a> {
    leading: Vec<Comment<'a>>,
    blank: bool,
    parts: Vec<Part<'a>>,
    trailing: Vec<&'a str>,
}

/// Statements, and comments after the last of them.
struct Body<'a> {
    stmts: Vec<Stmt<'a>>,
    dangling: Vec<Comment<'a>>,
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token],
    at: usize,
}

impl<'a> Reader<'a> {
    fn tok(&self) -> Tok {
        self.tokens[self.at].tok
    }

    fn str(&self, i: usize) -> &'a str {
        let span = self.tokens[i].span;
        self.text[span.start as usize..span.end as usize].trim_end()
    }

    /// Text between the token before `i` and `i`.
    fn gap(&self, i: usize) -> &'a str {
        let from = if i == 0 { 0 } else { self.tokens[i - 1].span.end as usize };
        &self.text[from..self.tokens[i].span.start as usize]
    }

    fn blank_before(&self, i: usize) -> bool {
        self.gap(i).matches('\n').count() > 1
    }

    fn is_comment(tok: Tok) -> bool {
        matches!(tok, Tok::LineComment | Tok::BlockComment)
    }

    /// The next token that is not a comment.
    fn next_real(&self) -> Tok {
        self.tokens[self.at..].iter().map(|t| t.tok).find(|t| !Self::is_comment(*t)).unwrap_or(Tok::End)
    }

    /// Another case of a `when` follows.
    fn goes_on(&self) -> bool {
        let real = (self.at..self.tokens.len()).find(|i| !Self::is_comment(self.tokens[*i].tok));
        real.is_some_and(|i| self.tokens[i].tok == Tok::Word && self.str(i) == "else")
    }

    fn body(&mut self, top: bool) -> Body<'a> {
        let mut body = Body { stmts: Vec::new(), dangling: Vec::new() };
        loop {
            let mut leading = Vec::new();
            while Self::is_comment(self.tok()) || self.tok() == Tok::Semi {
                if self.tok() != Tok::Semi {
                    leading.push(Comment { text: self.str(self.at), blank: self.blank_before(self.at) });
                }
                self.at += 1;
            }
            if self.tok() == Tok::End || (self.tok() == Tok::CurlyClose && !top) {
                body.dangling = leading;
                return body;
            }
            body.stmts.push(self.stmt(leading));
        }
    }

    fn stmt(&mut self, leading: Vec<Comment<'a>>) -> Stmt<'a> {
        let mut stmt =
            Stmt { leading, blank: self.blank_before(self.at), parts: Vec::new(), trailing: Vec::new() };
        loop {
            match self.tok() {
                Tok::End | Tok::CurlyClose => break,
                Tok::Semi => {
                    self.at += 1;
                    break;
                }
                Tok::CurlyOpen => {
                    self.at += 1;
                    stmt.parts.push(Part::Block(self.body(false)));
                    if self.tok() == Tok::CurlyClose {
                        self.at += 1;
                    }
                    if !matches!(self.next_real(), Tok::Arrow | Tok::Later | Tok::Semi) && !self.goes_on() {
                        break;
                    }
                }
                t if Self::is_comment(t) => {
                    stmt.parts.push(Part::Comment(self.str(self.at)));
                    self.at += 1;
                }
                t => {
                    stmt.parts.push(Part::Token(t, self.str(self.at)));
                    self.at += 1;
                }
            }
        }
        // Comments before the end of the statement move behind it.
        let real = stmt.parts.iter().rposition(|p| !matches!(p, Part::Comment(_))).map_or(0, |i| i + 1);
        for part in stmt.parts.drain(real..) {
            if let Part::Comment(text) = part {
                stmt.trailing.push(text);
            }
        }
        while Self::is_comment(self.tok()) && !self.gap(self.at).contains('\n') {
            stmt.trailing.push(self.str(self.at));
            self.at += 1;
        }
        stmt
    }
}

/// Is there a space between two tokens?
fn spaced(a: Tok, b: Tok) -> bool {
    let tight = matches!(
        (a, b),
        (_, Tok::Comma | Tok::Semi | Tok::ParenClose | Tok::SquareClose | Tok::Colon | Tok::Minus)
            | (Tok::ParenOpen | Tok::SquareOpen | Tok::Minus | Tok::Dot, _)
            | (_, Tok::Dot)
            | (Tok::Word, Tok::ParenOpen)
            | (Tok::Word | Tok::ParenClose, Tok::SquareOpen)
            | (Tok::SquareClose, Tok::Word)
    );
    !tight
}

/// The statement on one line without its `;`, if it may stand on one.
fn flat(parts: &[Part]) -> Option<String> {
    let mut out = String::new();
    let mut last: Option<Tok> = None;
    for part in parts {
        match part {
            Part::Token(tok, text) => {
                if last.is_some_and(|l| spaced(l, *tok)) {
                    out.push(' ');
                }
                out.push_str(text);
                last = Some(*tok);
            }
            Part::Comment(text) => {
                if text.starts_with("//") || text.contains('\n') {
                    return None;
                }
                if last.is_some() {
                    out.push(' ');
                }
                out.push_str(text);
                last = Some(Tok::BlockComment);
            }
            Part::Block(body) => {
                let [only] = &body.stmts[..] else { return None };
                if !body.dangling.is_empty() || !only.leading.is_empty() || !only.trailing.is_empty() {
                    return None;
                }
                out.push_str(" { ");
                out.push_str(&flat(&only.parts)?);
                out.push_str(" }");
                last = Some(Tok::CurlyClose);
            }
        }
    }
    Some(out)
}

fn print_body(body: &Body, indent: usize, out: &mut String) {
    let pad = " ".repeat(indent);
    let mut first = true;
    let comment = |c: &Comment, first: &mut bool, out: &mut String| {
        if c.blank && !*first {
            out.push('\n');
        }
        *first = false;
        out.push_str(&pad);
        out.push_str(c.text);
        out.push('\n');
    };
    for stmt in &body.stmts {
        stmt.leading.iter().for_each(|c| comment(c, &mut first, out));
        if stmt.blank && !first {
            out.push('\n');
        }
        first = false;
        out.push_str(&pad);
        let ends_in_block = matches!(stmt.parts.last(), Some(Part::Block(_)));
        let is_topology = ends_in_block
            && matches!(stmt.parts[..], [Part::Token(Tok::Word, "topology"), Part::Token(Tok::Word, _), ..]);
        let is_when = ends_in_block && is_when(&stmt.parts);
        let end = if is_topology || is_when { "" } else { ";" };
        match flat(&stmt.parts).filter(|_| !is_when) {
            Some(line) if indent + line.chars().count() + end.len() <= WIDTH => out.push_str(&line),
            _ => broken(&stmt.parts, indent, out),
        }
        out.push_str(end);
        // A line comment ends the line; what follows it gets lines of its own.
        let mut fresh = false;
        for text in &stmt.trailing {
            out.push_str(if fresh { "\n" } else { " " });
            if fresh {
                out.push_str(&pad);
            }
            out.push_str(text);
            fresh |= text.starts_with("//");
        }
        out.push('\n');
    }
    body.dangling.iter().for_each(|c| comment(c, &mut first, out));
}

/// `when …`: its cases stand on lines of their own.
fn is_when(parts: &[Part]) -> bool {
    matches!(parts, [Part::Token(Tok::Word, "when"), Part::Token(Tok::Word, _), ..])
}

/// Width of a chain's next element, with the blank before it.
fn until_arrow(parts: &[Part]) -> usize {
    let end = parts.iter().position(|p| matches!(p, Part::Token(Tok::Arrow | Tok::Later, _)));
    flat(&parts[..end.unwrap_or(parts.len())]).map_or(0, |s| s.chars().count() + 1)
}

/// The statement on several lines: long chains are filled, blocks opened.
fn broken(parts: &[Part], indent: usize, out: &mut String) {
    let deeper = indent + INDENT;
    // One block is opened; of several, short ones keep their line and the chain is filled.
    let blocks = parts.iter().filter(|p| matches!(p, Part::Block(_))).count();
    let fits = |s: &[Part]| flat(s).is_some_and(|s| s.chars().count() + deeper + 4 <= WIDTH);
    let fill = blocks == 0
        || blocks > 1
            && !is_when(parts)
            && parts.split(|p| matches!(p, Part::Token(Tok::Arrow | Tok::Later, _))).all(fits);
    let mut last: Option<Tok> = None;
    // The next token begins a line, as a line comment ended the last one.
    let mut fresh = false;
    for (i, part) in parts.iter().enumerate() {
        match part {
            Part::Token(tok, text) => {
                let arrow = matches!(tok, Tok::Arrow | Tok::Later);
                let column = out.chars().rev().take_while(|c| *c != '\n').count();
                let long = || column + 2 + until_arrow(&parts[i + 1..]) + text.len() > WIDTH;
                if fresh || (arrow && fill && last.is_some() && long()) {
                    if !fresh {
                        out.push('\n');
                    }
                    out.push_str(&" ".repeat(deeper));
                } else if last.is_some_and(|l| spaced(l, *tok)) {
                    out.push(' ');
                }
                fresh = false;
                out.push_str(text);
                last = Some(*tok);
            }
            Part::Comment(text) => {
                if fresh {
                    out.push_str(&" ".repeat(deeper));
                } else if last.is_some() {
                    out.push(' ');
                }
                fresh = false;
                out.push_str(text);
                if text.starts_with("//") {
                    out.push('\n');
                    fresh = true;
                }
                last = Some(Tok::BlockComment);
            }
            Part::Block(body) => {
                if fresh {
                    out.push_str(&" ".repeat(deeper));
                } else {
                    out.push(' ');
                }
                fresh = false;
                match body.stmts.first().and_then(|s| flat(&s.parts)) {
                    Some(line) if fill => {
                        let _ = write!(out, "{{ {line} }}");
                    }
                    _ => {
                        out.push_str("{\n");
                        print_body(body, deeper, out);
                        out.push_str(&" ".repeat(indent));
                        out.push('}');
                    }
                }
                last = Some(Tok::CurlyClose);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fmt(text: &str) -> String {
        let once = format(&Source { name: "t.weir".into(), text: text.into() }).expect("parses");
        let twice = format(&Source { name: "t.weir".into(), text: once.clone() }).expect("still parses");
        assert_eq!(once, twice, "idempotent");
        once
    }

    #[test]
    fn spaces_and_lines() {
        assert_eq!(
            fmt("annotate   a ,b(x=3ms);entry->lb :: load_balancer ;lb[ cpu 0 ]~>[1]x[2] -> cpus 0 - 3,8;"),
            "annotate a, b(x = 3ms);\nentry -> lb :: load_balancer;\nlb[cpu 0] ~> [1]x[2] -> cpus 0-3, 8;\n"
        );
    }

    #[test]
    fn blocks_break_when_they_must() {
        assert_eq!(fmt("each cpu{entry->rr->cpu}"), "each cpu { entry -> rr -> cpu };\n");
        assert_eq!(fmt("each cpu{entry->rr; rr->cpu}"), "each cpu {\n    entry -> rr;\n    rr -> cpu;\n};\n");
        assert_eq!(fmt("topology t(s:ns=1ms){in->out}"), "topology t(s: ns = 1ms) { in -> out }\n");
    }

    #[test]
    fn comments_stay() {
        assert_eq!(
            fmt("// head\n\n\n\n// more\na -> b; // tail\n\n\n/* x */ c /* y */ -> d; // z\n// end"),
            "// head\n\n// more\na -> b; // tail\n\n/* x */\nc /* y */ -> d; // z\n// end\n"
        );
        assert_eq!(
            fmt("each cpu { // why\n a -> b // what\n }"),
            "each cpu {\n    // why\n    a -> b; // what\n};\n"
        );
        assert_eq!(fmt("a // one\n-> b;"), "a // one\n    -> b;\n");
        assert_eq!(fmt("a -> b // one\n/* two */; // three\n"), "a -> b; // one\n/* two */\n// three\n");
    }

    #[test]
    fn long_chains_break_before_arrows() {
        let long = format!("entry -> {} -> cpus;", ["depth(iterations = 1000)"; 6].join(" -> "));
        let out = fmt(&long);
        assert!(out.lines().count() == 2 && out.lines().all(|l| l.len() <= WIDTH), "{out}");
    }

    #[test]
    fn chains_of_short_blocks_are_filled() {
        let text = "each cpu { entry -> balancer :: load_balancer } ~> all each cpu { inbox :: task_mux -> head_queue -> cpu };";
        assert_eq!(fmt(text), text.replace("} ~>", "}\n    ~>") + "\n");
    }

    #[test]
    fn cases_stand_on_lines_of_their_own() {
        assert_eq!(
            fmt(
                "when cpus . online>3{annotate a;entry->b->cpus}else when POWER=1 and cpus.online<2 {entry->c->cpus;} else{entry->cpus};a->b;"
            ),
            "when cpus.online > 3 {\n    annotate a;\n    entry -> b -> cpus;\n} else when POWER = 1 and cpus.online < 2 {\n    entry -> c -> cpus;\n} else {\n    entry -> cpus;\n}\na -> b;\n"
        );
    }

    #[test]
    fn refuses_what_does_not_parse() {
        assert!(format(&Source { name: "t.weir".into(), text: "a -> ;".into() }).is_err());
    }
}
