// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Stubs in Rust: a module with the messages of an interface, over [`crate::wire`].

use std::fmt::Write as _;

use crate::interface::{Interface, Item, Message, Record, Scalar, Side, Type};

/// `one_word` as `OneWord`.
fn camel(name: &str) -> String {
    name.split('_')
        .map(|w| {
            let mut letters = w.chars();
            letters.next().map_or(String::new(), |c| c.to_uppercase().chain(letters).collect())
        })
        .collect()
}

fn item(interface: &Interface, item: Item) -> String {
    match item {
        Item::Scalar(s) => s.name().to_string(),
        Item::Record(r) => camel(&interface.records[r].name),
    }
}

/// A list of bytes is borrowed, others are decoded.
fn kind(interface: &Interface, kind: Type) -> String {
    match kind {
        Type::One(i) => item(interface, i),
        Type::List(Item::Scalar(Scalar::U8), _) => "&'a [u8]".into(),
        Type::List(i, _) => format!("Vec<{}>", item(interface, i)),
        Type::Text(_) => "&'a str".into(),
    }
}

fn about(out: &mut String, indent: &str, text: &str) {
    if !text.is_empty() {
        let _ = writeln!(out, "{indent}/// {}", text.split_whitespace().collect::<Vec<_>>().join(" "));
    }
}

fn put(s: Scalar, value: &str) -> String {
    match s {
        Scalar::Bool => format!("to.put([u8::from({value})]);"),
        _ => format!("to.put({value}.to_le_bytes());"),
    }
}

fn get(s: Scalar) -> String {
    match s {
        Scalar::Bool => "from.truth()?".into(),
        _ => format!("{}::from_le_bytes(from.get()?)", s.name()),
    }
}

/// A module's text.
pub fn emit(interface: &Interface) -> String {
    let mut out = String::from("// Made by `runweir stubs`. Change the interface file instead.\n");
    let title = camel(&interface.name);
    let borrows =
        interface.messages.iter().flat_map(|m| &m.args).any(|a| kind(interface, a.kind).starts_with('&'));
    let _ = writeln!(
        out,
        "//! {}\n\n#![allow(dead_code, clippy::all, clippy::pedantic)]\n\n\
         use weir_stubs::wire::{{End, Interface, Malformed, Reader, TooLong, Writer}};\n\n\
         pub const VERSION: u32 = {};\n",
        if interface.about.is_empty() { &interface.name } else { &interface.about },
        interface.version
    );
    for r in &interface.records {
        record(&mut out, r);
    }
    out.push_str("/// The messages, in the order of their numbers.\n#[derive(Clone, Debug, PartialEq)]\npub enum Message<'a> {\n");
    for m in &interface.messages {
        variant(&mut out, interface, m);
    }
    if !borrows {
        // The lifetime is there for every interface, so that all are used alike.
        out.push_str(
            "    #[doc(hidden)]\n    Never(std::convert::Infallible, std::marker::PhantomData<&'a ()>),\n",
        );
    }
    let _ = writeln!(
        out,
        "}}\n\n/// The interface.\n#[derive(Debug)]\npub struct {title};\n\nimpl Interface for {title} {{\n    \
         const HASH: u64 = 0x{:016x};\n    const BYTES: usize = {};\n    type Message<'a> = Message<'a>;\n\n    \
         fn number(message: &Message<'_>) -> u32 {{\n        match message {{",
        interface.hash(),
        interface.longest().next_multiple_of(8)
    );
    let dots = |m: &Message| if m.args.is_empty() { "" } else { " { .. }" };
    for m in &interface.messages {
        let _ = writeln!(out, "            Message::{}{} => {},", camel(&m.name), dots(m), m.number);
    }
    let never = |out: &mut String| {
        if !borrows {
            out.push_str("            Message::Never(never, _) => match *never {},\n");
        }
    };
    never(&mut out);
    out.push_str(
        "        }\n    }\n\n    fn sent_by(number: u32, end: End) -> bool {\n        match number {\n",
    );
    for m in &interface.messages {
        let handler = match m.from {
            Side::Client => "end == End::Client",
            Side::Server => "end == End::Server",
            Side::Both => "true",
        };
        let _ = writeln!(out, "            {} => {handler},", m.number);
    }
    out.push_str(
        "            _ => false,\n        }\n    }\n\n    \
         fn encode(message: &Message<'_>, to: &mut Writer<'_>) -> Result<(), TooLong> {\n        match message {\n",
    );
    for m in &interface.messages {
        encode(&mut out, interface, m);
    }
    never(&mut out);
    out.push_str(
        "        }\n        Ok(())\n    }\n\n    \
         fn decode<'a>(number: u32, from: &mut Reader<'a>) -> Result<Message<'a>, Malformed> {\n        Ok(match number {\n",
    );
    for m in &interface.messages {
        decode(&mut out, interface, m);
    }
    out.push_str("            _ => return Err(Malformed),\n        })\n    }\n}\n");
    out
}

fn record(out: &mut String, r: &Record) {
    about(out, "", &r.about);
    let name = camel(&r.name);
    let _ = writeln!(out, "#[derive(Clone, Copy, Debug, Default, PartialEq)]\npub struct {name} {{");
    for (field, s) in &r.fields {
        let _ = writeln!(out, "    pub {field}: {},", s.name());
    }
    let _ = writeln!(
        out,
        "}}\n\nimpl {name} {{\n    fn encode(&self, to: &mut Writer<'_>) {{\n        to.align({});",
        r.align()
    );
    for (field, s) in &r.fields {
        let _ = writeln!(out, "        {}", put(*s, &format!("self.{field}")));
    }
    let _ = writeln!(
        out,
        "        to.align({0});\n    }}\n\n    fn decode(from: &mut Reader<'_>) -> Result<Self, Malformed> {{\n        \
         from.align({0})?;\n        let all = Self {{",
        r.align()
    );
    for (field, s) in &r.fields {
        let _ = writeln!(out, "            {field}: {},", get(*s));
    }
    let _ = writeln!(out, "        }};\n        from.align({})?;\n        Ok(all)\n    }}\n}}\n", r.align());
}

fn variant(out: &mut String, interface: &Interface, m: &Message) {
    let from = match m.from {
        Side::Client => "The client's. ",
        Side::Server => "The server's. ",
        Side::Both => "",
    };
    about(out, "    ", &format!("{from}{}", m.about));
    if m.args.is_empty() {
        let _ = writeln!(out, "    {},", camel(&m.name));
        return;
    }
    let args: Vec<_> = m.args.iter().map(|a| format!("{}: {}", a.name, kind(interface, a.kind))).collect();
    let _ = writeln!(out, "    {} {{ {} }},", camel(&m.name), args.join(", "));
}

fn encode(out: &mut String, interface: &Interface, m: &Message) {
    let names: Vec<_> = m.args.iter().map(|a| a.name.as_str()).collect();
    let name = camel(&m.name);
    if names.is_empty() {
        let _ = writeln!(out, "            Message::{name} => {{}}");
        return;
    }
    let _ = writeln!(out, "            Message::{name} {{ {} }} => {{", names.join(", "));
    for a in &m.args {
        let arg = &a.name;
        let _ = match a.kind {
            Type::One(Item::Scalar(Scalar::Bool)) => {
                writeln!(out, "                to.put([u8::from(*{arg})]);")
            }
            Type::One(Item::Scalar(s)) => writeln!(out, "                {}", put(s, arg)),
            Type::One(Item::Record(_)) => writeln!(out, "                {arg}.encode(to);"),
            Type::List(Item::Scalar(Scalar::U8), n) => {
                writeln!(out, "                to.bytes(\"{arg}\", {arg}, {n})?;")
            }
            Type::List(i, n) => {
                let each = match i {
                    Item::Scalar(s) => put(s, "*item").replace("*item.", "item."),
                    Item::Record(_) => "item.encode(to);".into(),
                };
                writeln!(
                    out,
                    "                to.length(\"{arg}\", {arg}.len(), {n})?;\n                \
                     to.align({align});\n                for item in {arg} {{\n                    {each}\n                }}",
                    align = interface.item_align(i)
                )
            }
            Type::Text(n) => writeln!(out, "                to.text(\"{arg}\", {arg}, {n})?;"),
        };
    }
    out.push_str("            }\n");
}

fn decode(out: &mut String, interface: &Interface, m: &Message) {
    let name = camel(&m.name);
    if m.args.is_empty() {
        let _ = writeln!(out, "            {} => Message::{name},", m.number);
        return;
    }
    // Fields of a literal are evaluated in the order in which they are written.
    let _ = writeln!(out, "            {} => Message::{name} {{", m.number);
    for a in &m.args {
        let value = match a.kind {
            Type::One(Item::Scalar(s)) => get(s),
            Type::One(Item::Record(r)) => format!("{}::decode(from)?", camel(&interface.records[r].name)),
            Type::List(Item::Scalar(Scalar::U8), n) => format!("from.bytes({n})?"),
            Type::List(i, n) => {
                let one = match i {
                    Item::Scalar(s) => get(s),
                    Item::Record(r) => format!("{}::decode(from)?", camel(&interface.records[r].name)),
                };
                let align = interface.item_align(i);
                format!(
                    "{{\n                    let n = from.length({n})?;\n                    from.align({align})?;\n                    \
                     (0..n).map(|_| Ok({one})).collect::<Result<Vec<_>, Malformed>>()?\n                }}"
                )
            }
            Type::Text(n) => format!("from.text({n})?"),
        };
        let _ = writeln!(out, "                {}: {value},", a.name);
    }
    out.push_str("            },\n");
}
