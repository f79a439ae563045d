// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Chains and what they consist of: elements, ports, groups, sets of CPUs.

use super::{Parsed, Parser, Reported};
use crate::ast::*;
use crate::lex::Tok;
use crate::source::Span;

impl Parser<'_> {
    fn arrow(&mut self) -> Option<Arrow> {
        let postponed = match self.peek() {
            Tok::Arrow => false,
            Tok::Later => true,
            _ => return None,
        };
        let span = self.bump().span;
        let all = self.eat_word("all");
        Some(Arrow { postponed, all, span })
    }

    pub(super) fn chain(&mut self) -> Parsed<Chain> {
        let lead = self.arrow();
        let first = self.elem()?;
        let mut rest = Vec::new();
        while let Some(arrow) = self.arrow() {
            rest.push((arrow, self.elem()?));
        }
        Ok(Chain { lead, first, rest })
    }

    fn elem(&mut self) -> Parsed<Elem> {
        let start = self.span();
        let id = self.id();
        if self.eat_word("entry") {
            let sel = if self.eat_word("each") {
                let group = self.group()?;
                EntrySel::Each(group, self.filters()?)
            } else if self.eat_word("cpu") {
                EntrySel::Cpu(self.number("the number of a CPU")?)
            } else if self.word_is("cpus") {
                let span = self.bump().span;
                EntrySel::Cpus(self.cpu_sel(span)?)
            } else {
                EntrySel::Scope
            };
            return Ok(Elem::Entry { id, sel, span: start.to(self.last()) });
        }
        if self.eat_word("each") {
            let group = self.group()?;
            let filters = self.filters()?;
            let span = start.to(self.last());
            let body = self.block()?;
            return Ok(Elem::Each(Each { group, filters, body, span }));
        }
        if self.eat_word("cpu") {
            let number =
                if self.peek() == Tok::Number { Some(self.number("the number of a CPU")?) } else { None };
            return Ok(Elem::Cpu { id, number, span: start.to(self.last()) });
        }
        if self.eat_word("cpus") {
            let sel = self.cpu_sel(start)?;
            return Ok(Elem::Cpus { id, sel, span: start.to(self.last()) });
        }
        if self.word_is("in") || self.word_is("out") {
            let is_in = self.word_is("in");
            self.bump();
            let port = if self.eat(Tok::SquareOpen) {
                let n = self.number("the number of a port")?;
                self.need(
                    Tok::SquareClose,
                    "`]`",
                    Some("ports are written `x[2]`, `x[cpu 0]` or `x[native]`"),
                )?;
                Some(n)
            } else {
                None
            };
            let span = start.to(self.last());
            return Ok(if is_in { Elem::In { port, span } } else { Elem::Out { port, span } });
        }
        let in_port = if self.peek() == Tok::SquareOpen { Some(self.port()?) } else { None };
        let mut used = self.component_use()?;
        used.in_port = in_port;
        if self.peek() == Tok::SquareOpen {
            used.out_port = Some(self.port()?);
        }
        Ok(Elem::Use(used))
    }

    /// `name`, `name :: class`, each with arguments.
    pub(super) fn component_use(&mut self) -> Parsed<Use> {
        let id = self.id();
        let start = self.span();
        if self.peek() != Tok::Word {
            let help =
                "a chain joins components: `entry -> load_balancer -> each cpu { head_queue -> cpu };`";
            return Err(self.expected("a component", Some(help)));
        }
        let word = self.name("the name of a component or instance")?;
        let class = if self.eat(Tok::Is) { Some(self.name("a component after `::`")?) } else { None };
        let mut args = Vec::new();
        if self.eat(Tok::ParenOpen) {
            while self.peek() != Tok::ParenClose {
                let help = "parameters are written `(slice = 3ms)`";
                let span = self.need(Tok::Word, "the name of a parameter", Some(help))?;
                let name = Word { text: self.slice(span).to_string(), span };
                self.need(Tok::Equals, "`=`", Some(help))?;
                args.push(Arg { name, value: self.value()? });
                if !self.eat(Tok::Comma) {
                    break;
                }
            }
            self.need(
                Tok::ParenClose,
                "`,` or `)`",
                Some("parameters are written `(slice = 3ms, other = 1)`"),
            )?;
        }
        Ok(Use { id, in_port: None, word, class, args, out_port: None, span: start.to(self.last()) })
    }

    fn port(&mut self) -> Parsed<Port> {
        let start = self.need(Tok::SquareOpen, "`[`", None)?;
        let sel = if self.peek() == Tok::Number {
            PortSel::Number(self.number("the number of a port")?.value)
        } else if self.eat_word("cpu") {
            PortSel::Cpu(self.number("the number of a CPU")?.value)
        } else if matches!(self.peek(), Tok::Word | Tok::Text) {
            let span = self.bump().span;
            PortSel::Isa(self.slice(span).trim_matches('"').to_string())
        } else {
            return Err(self.expected("a port", Some("ports are written `x[2]`, `x[cpu 0]` or `x[native]`")));
        };
        let end =
            self.need(Tok::SquareClose, "`]`", Some("ports are written `x[2]`, `x[cpu 0]` or `x[native]`"))?;
        Ok(Port { sel, span: start.to(end) })
    }

    fn group(&mut self) -> Parsed<Group> {
        let help = "write `each cpu`, `each core`, `each cluster`, `each llc`, `each node`, `each package`, `each 8 cpus` or `each part of 4`";
        if self.eat_word("part") {
            if !self.eat_word("of") {
                return Err(self.expected("`of`", Some(help)));
            }
            return Ok(Group::Parts(self.value()?));
        }
        if self.peek() == Tok::Word {
            let span = self.span();
            if let Some(level) = Level::from_word(self.slice(span)) {
                self.bump();
                return Ok(Group::Level(level));
            }
            let named_chunk = self.tokens.get(self.at + 1).is_some_and(|t| self.slice(t.span) == "cpus");
            if !named_chunk {
                return Err(self.expected("what to repeat for", Some(help)));
            }
        } else if self.peek() != Tok::Number {
            return Err(self.expected("what to repeat for", Some(help)));
        }
        let value = self.value()?;
        if !self.eat_word("cpus") {
            return Err(self.expected("`cpus`", Some(help)));
        }
        Ok(Group::Chunk(value))
    }

    /// `in X` and `except X`, any number of times.
    fn filters(&mut self) -> Parsed<Vec<Where>> {
        let mut filters = Vec::new();
        loop {
            let except = self.word_is("except");
            if !self.eat_word("in") && !self.eat_word("except") {
                return Ok(filters);
            }
            filters.push(Where { except, which: self.which()? });
        }
    }

    fn which(&mut self) -> Parsed<Which> {
        let span = self.span();
        if self.eat(Tok::Text) {
            let text = self.slice(span).trim_matches('"').to_string();
            return Ok(Which::Isa(Word { text, span }));
        }
        let help = "write `in native`, `in accel`, `in node 0`, `in cpus 0-3` or `except cpu 3`";
        self.need(Tok::Word, "an instruction set or a part of the machine", Some(help))?;
        let text = self.slice(span).to_string();
        Ok(match Level::from_word(&text) {
            Some(level) => Which::Level(level, self.number("a number")?),
            None if text == "cpus" => Which::List(self.cpu_list()?),
            None => Which::Isa(Word { text, span }),
        })
    }

    /// What follows `cpus`; `start` is where that word or its statement stands.
    pub(super) fn cpu_sel(&mut self, start: Span) -> Parsed<CpuSel> {
        let list = if self.peek() == Tok::Number { self.cpu_list()? } else { Vec::new() };
        let filters = self.filters()?;
        Ok(CpuSel { list, filters, span: start.to(self.last()) })
    }

    /// `0-3,8`
    fn cpu_list(&mut self) -> Parsed<Vec<(Num, Num)>> {
        let mut list = Vec::new();
        loop {
            let low = self.number("the number of a CPU")?;
            let high = if self.eat(Tok::Minus) { self.number("the last CPU of the range")? } else { low };
            if high.value < low.value {
                self.sink
                    .error("syntax", low.span.to(high.span), "this range runs backwards")
                    .help("write the lower CPU first");
                return Err(Reported);
            }
            list.push((low, high));
            if self.peek() != Tok::Comma || self.peek_at(1) != Tok::Number {
                return Ok(list);
            }
            self.bump();
        }
    }
}
