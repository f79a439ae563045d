// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! From tokens to the syntax tree. A statement with a mistake is reported and dropped; parsing
//! continues with the next one, so that one run shows all mistakes of a file.

mod chain;

use weir_core::Unit;

use crate::ast::*;
use crate::diag::{Sink, suggest};
use crate::lex::{Tok, Token, lex};
use crate::source::Span;

/// Deepest nesting of blocks.
pub(crate) const MAX_NESTING: usize = 32;

/// Parse source `src` of `sink`. `next_id` numbers the elements across all sources.
pub(crate) fn parse(src: u16, sink: &mut Sink, next_id: &mut u32) -> Vec<Item> {
    let text = sink.sources[src as usize].text.clone();
    let mut tokens = lex(&text, src, sink);
    tokens.retain(|t| !matches!(t.tok, Tok::LineComment | Tok::BlockComment));
    let mut p = Parser { text: &text, tokens, at: 0, sink, next_id, nesting: 0, gave_up: false };
    let mut items = Vec::new();
    while p.peek() != Tok::End && !p.sink.full() {
        let before = p.at;
        match p.item() {
            Ok(item) => items.extend(item),
            Err(Reported) => p.recover(),
        }
        if p.at == before {
            p.bump();
        }
    }
    items
}

/// Parse source `src` as nothing but a component: `fcfs` or `round_robin(slice = 1ms)`. `None` after a report.
pub(crate) fn component(src: u16, sink: &mut Sink, next_id: &mut u32) -> Option<Use> {
    alone(src, sink, next_id, |p| p.component_use())
}

/// Parse source `src` as nothing but a block: `{ in -> fifo -> out }`. `None` after a report.
pub(crate) fn body(src: u16, sink: &mut Sink, next_id: &mut u32) -> Option<Vec<Chain>> {
    alone(src, sink, next_id, |p| p.block())
}

/// A text that holds one thing.
fn alone<T>(
    src: u16,
    sink: &mut Sink,
    next_id: &mut u32,
    read: fn(&mut Parser<'_>) -> Parsed<T>,
) -> Option<T> {
    let text = sink.sources[src as usize].text.clone();
    let mut tokens = lex(&text, src, sink);
    tokens.retain(|t| !matches!(t.tok, Tok::LineComment | Tok::BlockComment));
    let mut p = Parser { text: &text, tokens, at: 0, sink, next_id, nesting: 0, gave_up: false };
    let thing = read(&mut p).ok()?;
    p.eat(Tok::Semi);
    if p.peek() != Tok::End {
        p.expected("nothing more", None);
        return None;
    }
    Some(thing)
}

/// A mistake was reported; the statement is lost.
struct Reported;
type Parsed<T> = Result<T, Reported>;

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    sink: &'a mut Sink,
    next_id: &'a mut u32,
    nesting: usize,
    /// The rest of the text was skipped.
    gave_up: bool,
}

impl Parser<'_> {
    fn token(&self) -> Token {
        self.tokens[self.at]
    }

    fn peek(&self) -> Tok {
        self.token().tok
    }

    fn peek_at(&self, ahead: usize) -> Tok {
        self.tokens.get(self.at + ahead).map_or(Tok::End, |t| t.tok)
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// Span of the token before the current one.
    fn last(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.tok != Tok::End {
            self.at += 1;
        }
        token
    }

    fn slice(&self, span: Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn word_is(&self, word: &str) -> bool {
        self.peek() == Tok::Word && self.slice(self.span()) == word
    }

    fn eat(&mut self, tok: Tok) -> bool {
        let hit = self.peek() == tok;
        if hit {
            self.bump();
        }
        hit
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let hit = self.word_is(word);
        if hit {
            self.bump();
        }
        hit
    }

    fn id(&mut self) -> u32 {
        *self.next_id += 1;
        *self.next_id
    }

    /// What stands at the current place, for messages.
    fn found(&self) -> String {
        match self.peek() {
            Tok::End => "the end of the file".into(),
            _ => {
                let shown: String = self.slice(self.span()).chars().take(30).collect();
                format!("`{shown}`")
            }
        }
    }

    /// Report that something else was expected here.
    fn expected(&mut self, what: &str, help: Option<&str>) -> Reported {
        let help = help.unwrap_or("`docs/language.md` has the grammar");
        let (span, found) = (self.span(), self.found());
        self.sink.error("syntax", span, format!("expected {what}, found {found}")).help(help);
        Reported
    }

    fn need(&mut self, tok: Tok, what: &str, help: Option<&str>) -> Parsed<Span> {
        if self.peek() == tok { Ok(self.bump().span) } else { Err(self.expected(what, help)) }
    }

    /// Skip to the end of the statement, over whole blocks.
    fn recover(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.peek() {
                Tok::End => return,
                Tok::Semi if depth == 0 => {
                    self.bump();
                    return;
                }
                Tok::CurlyOpen => depth += 1,
                Tok::CurlyClose if depth == 0 => return,
                Tok::CurlyClose => depth -= 1,
                _ => {}
            }
            self.bump();
        }
    }

    fn item(&mut self) -> Parsed<Option<Item>> {
        let start = self.span();
        if self.eat(Tok::Semi) {
            return Ok(None);
        }
        if self.peek() == Tok::CurlyClose {
            self.sink
                .error("syntax", start, "this `}` has no opening `{`")
                .help("remove it, or open the block before");
            self.bump();
            return Ok(None);
        }
        if self.eat_word("annotate") {
            let mut uses = Vec::new();
            loop {
                if self.peek() != Tok::Word {
                    return Err(self.expected("a component", Some("write `annotate affinity, lamport;`")));
                }
                uses.push(self.component_use()?);
                if !self.eat(Tok::Comma) {
                    break;
                }
            }
            self.end("annotate")?;
            return Ok(Some(Item::Annotate(uses)));
        }
        if self.eat_word("include") {
            let span =
                self.need(Tok::Text, "a file name in quotes", Some("write `include \"file.weir\";`"))?;
            let path = self.slice(span).trim_matches('"').to_string();
            self.end("include")?;
            return Ok(Some(Item::Include { path, span }));
        }
        if self.eat_word("leave") {
            let sel = self.cpus_of_statement(start, "leave")?;
            self.end("leave")?;
            return Ok(Some(Item::Leave(sel)));
        }
        if self.eat_word("param") {
            let formal = self.formal()?;
            if formal.default.is_none() {
                let span = formal.name.span;
                self.sink
                    .error(
                        "syntax",
                        span,
                        format!("parameter `{}` of the file has no value", formal.name.text),
                    )
                    .help("give it a default: `param pipes: count = 4;`");
            }
            self.end("param")?;
            return Ok(Some(Item::Param(formal)));
        }
        // No reserved words, so that they may name instances as well: no chain has two words in a row.
        if self.word_is("topology") && self.peek_at(1) == Tok::Word {
            self.bump();
            return self.topology().map(|t| Some(Item::Topology(t)));
        }
        if self.word_is("package") && self.peek_at(1) == Tok::Word {
            self.bump();
            return self.topology().map(|t| Some(Item::Package(t)));
        }
        if self.word_is("claim") && self.peek_at(1) == Tok::Word {
            self.bump();
            let sel = self.cpus_of_statement(start, "claim")?;
            self.end("claim")?;
            return Ok(Some(Item::Claim(sel)));
        }
        if self.word_is("needs") && self.peek_at(1) == Tok::Word {
            self.bump();
            return self.needs().map(Some);
        }
        if self.word_is("when") && self.peek_at(1) == Tok::Word {
            self.bump();
            return self.when(start).map(|w| Some(Item::When(w)));
        }
        let chain = self.chain()?;
        self.end("chain")?;
        Ok(Some(Item::Chain(chain)))
    }

    /// `cpus.online > 3 { ... } else when ... { ... } else { ... }` after `when`.
    fn when(&mut self, span: Span) -> Parsed<When> {
        let mut arms = Vec::new();
        loop {
            let condition = Some(self.condition()?);
            arms.push(Arm { condition, items: self.statements()? });
            if !self.eat_word("else") {
                break;
            }
            if !self.eat_word("when") {
                arms.push(Arm { condition: None, items: self.statements()? });
                break;
            }
        }
        self.eat(Tok::Semi);
        Ok(When { arms, span })
    }

    /// Terms joined by `and`, these joined by `or`.
    fn condition(&mut self) -> Parsed<Vec<Vec<Test>>> {
        let mut any = vec![vec![self.test()?]];
        loop {
            if self.eat_word("or") {
                any.push(vec![self.test()?]);
            } else if self.eat_word("and") {
                let test = self.test()?;
                any.last_mut().expect("it begins with one").push(test);
            } else {
                return Ok(any);
            }
        }
    }

    fn test(&mut self) -> Parsed<Test> {
        let help =
            Some("write `when cpus.online > 3 { ... }`, or a topic: `when POWER = 1 { ... } else { ... }`");
        let span = self.need(Tok::Word, "`cpus.online` or a topic", help)?;
        let subject = match self.slice(span) {
            "cpus" => {
                self.need(Tok::Dot, "`.online`", help)?;
                if !self.word_is("online") {
                    return Err(self.expected("`online`", help));
                }
                Word { text: "online".into(), span: span.to(self.bump().span) }
            }
            topic => Word { text: topic.to_string(), span },
        };
        let compare = match self.peek() {
            Tok::Equals | Tok::Compare => {
                let span = self.bump().span;
                self.slice(span).to_string()
            }
            _ => return Err(self.expected("`<`, `<=`, `>`, `>=` or `=`", help)),
        };
        let value = self.number("a number to compare with")?;
        Ok(Test { subject, compare, value })
    }

    /// The statements of an arm.
    fn statements(&mut self) -> Parsed<Vec<Item>> {
        let open = self.need(Tok::CurlyOpen, "`{`", Some("put the stages of this case in braces"))?;
        if self.nesting > 0 {
            self.sink
                .error("syntax", open, "a `when` is inside another one")
                .help("join the conditions by `and`");
            return Err(Reported);
        }
        self.nesting += 1;
        let mut items = Vec::new();
        let mut failed = false;
        while self.peek() != Tok::CurlyClose {
            if self.peek() == Tok::End || self.sink.full() {
                self.sink.error("syntax", open, "this block is never closed").help("close it with `}`");
                self.nesting -= 1;
                return Err(Reported);
            }
            let (before, at) = (self.at, self.span());
            match self.item() {
                Ok(Some(Item::Annotate(_) | Item::Chain(_)) | None) if self.at == before => {
                    self.bump();
                }
                Ok(Some(item @ (Item::Annotate(_) | Item::Chain(_)))) => items.push(item),
                Ok(None) => {}
                Ok(Some(_)) => {
                    self.sink
                        .error("syntax", at, "only chains and `annotate` depend on a condition")
                        .help("move the statement out of the block");
                    failed = true;
                }
                Err(Reported) => {
                    failed = true;
                    self.recover();
                }
            }
        }
        self.bump();
        self.nesting -= 1;
        if failed { Err(Reported) } else { Ok(items) }
    }

    /// `mine from "mine.so";` after `needs`.
    fn needs(&mut self) -> Parsed<Item> {
        let help = Some("write `needs mine from \"mine.so\";`");
        let component = self.name("the name of a component")?;
        if !self.eat_word("from") {
            return Err(self.expected("`from`", help));
        }
        let span = self.need(Tok::Text, "a file name in quotes", help)?;
        let file = self.slice(span).trim_matches('"').to_string();
        self.end("needs")?;
        Ok(Item::Needs { component, file, span })
    }

    /// `cpu 3` or `cpus in node 1` after the word of a statement.
    fn cpus_of_statement(&mut self, start: Span, word: &str) -> Parsed<CpuSel> {
        if self.eat_word("cpu") {
            let n = self.number("the number of a CPU")?;
            return Ok(CpuSel { list: vec![(n, n)], filters: Vec::new(), span: start.to(n.span) });
        }
        if self.eat_word("cpus") {
            return self.cpu_sel(start);
        }
        let help = format!("write `{word} cpu 3;` or `{word} cpus in node 1;`");
        Err(self.expected("`cpu` or `cpus`", Some(&help)))
    }

    /// The `;` after a statement; may be missing after `}` and at the end of a block or file.
    fn end(&mut self, what: &str) -> Parsed<()> {
        let after_block = self.tokens[self.at.saturating_sub(1)].tok == Tok::CurlyClose;
        // In an arm of a `when`, as in any block, the last statement needs none.
        if self.nesting > 0 && self.peek() == Tok::CurlyClose {
            return Ok(());
        }
        if self.eat(Tok::Semi) || (after_block && !matches!(self.peek(), Tok::Arrow | Tok::Later)) {
            return Ok(());
        }
        let last = self.last();
        let found = self.found();
        let help = match what {
            "annotate" => "separate names with `,` and end the statement with `;`",
            _ => "a statement ends with `;`; elements of a chain are joined by `->`",
        };
        // The next line goes on with a new statement: only the `;` is missing.
        let gap = &self.text[last.end as usize..self.span().start as usize];
        if gap.contains('\n') || self.peek() == Tok::End {
            self.sink.error("syntax", last.after(), "expected `;` at the end of the statement").help(help);
            return Ok(());
        }
        self.sink
            .error("syntax", self.tokens[self.at].span, format!("expected `;`, found {found}"))
            .help(help);
        Err(Reported)
    }

    fn topology(&mut self) -> Parsed<Topology> {
        let name = self.name("a name for the sub-topology")?;
        let mut formals = Vec::new();
        if self.eat(Tok::ParenOpen) {
            while self.peek() != Tok::ParenClose {
                formals.push(self.formal()?);
                if !self.eat(Tok::Comma) {
                    break;
                }
            }
            self.need(
                Tok::ParenClose,
                "`,` or `)`",
                Some("formals are written `(slice: ns = 3ms, work: count)`"),
            )?;
        }
        let body = self.block()?;
        self.eat(Tok::Semi);
        Ok(Topology { name, formals, body })
    }

    fn formal(&mut self) -> Parsed<Formal> {
        let name = self.name("the name of a parameter")?;
        let help = "write `name: unit = default`, with unit ns, count, pct, bytes or flag";
        self.need(Tok::Colon, "`:` and a unit", Some(help))?;
        let span = self.need(Tok::Word, "a unit", Some(help))?;
        let unit = match self.slice(span) {
            "ns" => Unit::Ns,
            "count" => Unit::Count,
            "pct" => Unit::Pct,
            "bytes" => Unit::Bytes,
            "flag" => Unit::Flag,
            other => {
                let help = suggest(other, &["ns", "count", "pct", "bytes", "flag"], "units");
                let message = format!("unknown unit `{other}`");
                self.sink.error("syntax", span, message).help(help);
                return Err(Reported);
            }
        };
        let default = if self.eat(Tok::Equals) { Some(self.value()?) } else { None };
        Ok(Formal { name, unit, default })
    }

    fn value(&mut self) -> Parsed<Value> {
        let token = self.token();
        match token.tok {
            Tok::Number | Tok::Word => {
                self.bump();
                let text = self.slice(token.span).to_string();
                let is_name = token.tok == Tok::Word && text != "true" && text != "false";
                Ok(Value { text, is_name, span: token.span })
            }
            _ => Err(self.expected(
                "a value",
                Some("values are written `3ms`, `50%`, `64KiB`, `7`, `true` or `false`"),
            )),
        }
    }

    /// A name that is not reserved.
    fn name(&mut self, what: &str) -> Parsed<Word> {
        let help = "write `component`, or `name :: component` to give the instance a name";
        let span = self.need(Tok::Word, what, Some(help))?;
        let text = self.slice(span).to_string();
        if RESERVED.contains(&text.as_str()) {
            self.sink
                .error("syntax", span, format!("`{text}` is a word of the language, not {what}"))
                .help("choose another name");
            return Err(Reported);
        }
        Ok(Word { text, span })
    }

    fn number(&mut self, what: &str) -> Parsed<Num> {
        let span = self.need(Tok::Number, what, Some("write a whole number, such as `3`"))?;
        match self.slice(span).replace('_', "").parse() {
            Ok(value) => Ok(Num { value, span }),
            Err(_) => {
                let message = format!("expected {what}, found `{}`", self.slice(span));
                self.sink.error("syntax", span, message).help("write a whole number without unit");
                Err(Reported)
            }
        }
    }

    /// Statements between braces; chains only.
    fn block(&mut self) -> Parsed<Vec<Chain>> {
        let open =
            self.need(Tok::CurlyOpen, "`{`", Some("put the repeated part in braces: `each cpu { ... }`"))?;
        if self.nesting == MAX_NESTING {
            self.sink
                .error("too-deep", open, format!("blocks are nested more than {MAX_NESTING} deep"))
                .help("move inner parts to a sub-topology of their own");
            self.at = self.tokens.len() - 1;
            self.gave_up = true;
            return Err(Reported);
        }
        self.nesting += 1;
        let mut chains = Vec::new();
        let mut failed = false;
        loop {
            match self.peek() {
                Tok::CurlyClose => {
                    self.bump();
                    break;
                }
                Tok::End => {
                    // After giving up nobody knows what is closed.
                    if !self.gave_up {
                        self.sink
                            .error("syntax", open, "this block is never closed")
                            .help("close it with `}`");
                    }
                    failed = true;
                    break;
                }
                Tok::Semi => {
                    self.bump();
                    continue;
                }
                _ => {}
            }
            for word in ["annotate", "include", "leave", "param", "when"] {
                if self.word_is(word) && !matches!(self.peek_at(1), Tok::Arrow | Tok::Later) {
                    let span = self.span();
                    self.sink
                        .error("syntax", span, format!("`{word}` is allowed at the top level of a file only"))
                        .help("move the statement out of the block");
                }
            }
            let before = self.at;
            match self.chain() {
                Ok(chain) => {
                    chains.push(chain);
                    if self.peek() != Tok::CurlyClose && self.end("chain").is_err() {
                        failed = true;
                        self.recover();
                    }
                }
                Err(Reported) => {
                    failed = true;
                    self.recover();
                }
            }
            if self.at == before {
                self.bump();
            }
        }
        self.nesting -= 1;
        if failed {
            return Err(Reported);
        }
        if chains.is_empty() {
            self.sink
                .error("syntax", open.to(self.last()), "this block is empty")
                .help("put a chain into it: `{ -> cpu }`");
            return Err(Reported);
        }
        Ok(chains)
    }
}
