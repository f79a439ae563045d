// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Interface files in TOML.

use weir_model::document::{Source, Table, Value};
use weir_model::error::did_you_mean;
use weir_model::{ErrorKind, Result};

use crate::interface::{Field, Interface, Item, Message, Record, Scalar, Side, Type};

/// A message has at most so many bytes: both ends keep room for two.
pub const MOST_BYTES: u64 = 1 << 20;
/// Numbers of messages have fourteen bits.
const MOST_MESSAGES: usize = (1 << 14) - 1;

/// Words that mean something in C or Rust, or that the stubs use themselves.
const RESERVED: &[&str] = &[
    "abstract",
    "alignas",
    "alignof",
    "as",
    "asm",
    "async",
    "auto",
    "await",
    "b",
    "become",
    "bool",
    "box",
    "break",
    "c",
    "case",
    "char",
    "const",
    "constexpr",
    "continue",
    "crate",
    "ctx",
    "default",
    "do",
    "double",
    "dyn",
    "else",
    "enum",
    "err",
    "extern",
    "false",
    "final",
    "float",
    "fn",
    "for",
    "gen",
    "goto",
    "if",
    "impl",
    "in",
    "inline",
    "int",
    "let",
    "long",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "nullptr",
    "out",
    "override",
    "priv",
    "pub",
    "ref",
    "register",
    "restrict",
    "return",
    "self",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "super",
    "switch",
    "then",
    "thread_local",
    "trait",
    "true",
    "try",
    "type",
    "typedef",
    "typeof",
    "union",
    "unsafe",
    "unsigned",
    "unsized",
    "use",
    "virtual",
    "void",
    "volatile",
    "where",
    "while",
    "yield",
];

/// Read an interface file.
///
/// # Errors
/// What is wrong, where, and how to mend it.
pub fn read(name: &str, text: &str) -> Result<Interface> {
    let source = Source { name, text, kind: ErrorKind::Interface };
    let document = source.parse()?;
    let known = ["interface", "version", "about", "record", "message", "call"];
    let top = Table::new(source, document.get_ref(), 0..0, "the interface", &known)?;
    let title = identifier(&top.require("interface", "\"files\"")?)?;
    let version = top.require("version", "1")?.int((1, u64::from(u32::MAX)))? as u32;
    let about = text_of(&top, "about")?;

    let mut records: Vec<Record> = Vec::new();
    for t in top.tables("record", "a record", &["name", "about", "fields"])? {
        let name = t.require("name", "\"stat\"")?;
        let title = identifier(&name)?;
        if records.iter().any(|r| r.name == title) || Scalar::ALL.iter().any(|(n, _)| *n == title) {
            return Err(name
                .error(format!("there is a type `{title}` already"))
                .help("give each record a name of its own"));
        }
        let list = t.require("fields", "[\"size: u64\"]")?;
        let mut fields: Vec<(String, Scalar)> = Vec::new();
        for item in list.list("[\"size: u64\"]")? {
            let (field, kind) = halves(&item)?;
            if fields.iter().any(|(n, _)| *n == field) {
                return Err(twice(&item, &field));
            }
            let Some((_, s)) = Scalar::ALL.iter().find(|(n, _)| *n == kind) else {
                let names: Vec<_> = Scalar::ALL.iter().map(|(n, _)| *n).collect();
                return Err(item
                    .error(format!("a field of a record is a scalar, not `{kind}`"))
                    .help(did_you_mean(kind, &names)));
            };
            fields.push((field, *s));
        }
        if fields.is_empty() {
            return Err(list.error(format!("the record `{title}` has no fields")).help("give it one"));
        }
        records.push(Record { name: title, about: text_of(&t, "about")?, fields });
    }

    // In the order of the text, whatever kind they are of: their numbers go by it.
    let mut found = Vec::new();
    for t in top.tables("message", "a message", &["name", "about", "from", "args"])? {
        found.push((t, false));
    }
    for t in top.tables("call", "a call", &["name", "about", "args", "returns"])? {
        found.push((t, true));
    }
    found.sort_by_key(|(t, _)| t.span().start);
    let mut messages: Vec<Message> = Vec::new();
    for (t, call) in found {
        let name = t.require("name", "\"open\"")?;
        let title = identifier(&name)?;
        let about = text_of(&t, "about")?;
        let mut add = |title: String, about: String, from, args| {
            if messages.iter().any(|m| m.name == title) {
                return Err(name
                    .error(format!("there is a message `{title}` already"))
                    .help("a call `x` also has the message `x_reply`; give each a name of its own"));
            }
            let number = messages.len() as u32 + 1;
            messages.push(Message { name: title, about, from, args, number });
            Ok(())
        };
        if call {
            let number = || Field { name: "call".into(), kind: Type::One(Item::Scalar(Scalar::U32)) };
            let with = |key, taken: &[&str]| -> Result<Vec<Field>> {
                let mut args = vec![number()];
                args.extend(fields(&t, key, &records, taken)?);
                Ok(args)
            };
            let reply = format!("{title}_reply");
            let what = format!("The answer to the `{title}` with the same number `call`.");
            add(title, about, Side::Client, with("args", &["call"])?)?;
            add(reply, what, Side::Server, with("returns", &["call"])?)?;
        } else {
            add(title, about, side(&t)?, fields(&t, "args", &records, &[])?)?;
        }
    }
    if messages.is_empty() {
        return Err(source
            .error(0..0, format!("the interface `{title}` has no messages"))
            .help("add a table `[[message]]` with a name"));
    }
    if messages.len() > MOST_MESSAGES {
        return Err(source
            .error(0..0, format!("{} messages, and there are numbers for {MOST_MESSAGES}", messages.len()))
            .help("divide the interface"));
    }
    let interface = Interface { name: title, version, about, records, messages };
    if interface.longest() > MOST_BYTES {
        return Err(source
            .error(0..0, format!("a message can have {} bytes, more than {MOST_BYTES}", interface.longest()))
            .help("lower the bounds of its texts and lists; large data go through a bulk channel (bulk.h)"));
    }
    Ok(interface)
}

fn text_of(t: &Table<'_, '_>, key: &'static str) -> Result<String> {
    t.get(key)
        .map_or(Ok(String::new()), |v| v.str("\"what it is for\"").map(|s| s.trim().replace("*/", "* /")))
}

fn side(t: &Table<'_, '_>) -> Result<Side> {
    let Some(from) = t.get("from") else { return Ok(Side::Both) };
    match from.str("\"client\"")? {
        "client" => Ok(Side::Client),
        "server" => Ok(Side::Server),
        "both" => Ok(Side::Both),
        other => Err(from
            .error(format!("a message comes from the client, the server or both, not from `{other}`"))
            .help(did_you_mean(other, &["client", "server", "both"]))),
    }
}

/// A name that C and Rust take.
fn identifier(v: &Value<'_, '_>) -> Result<String> {
    check_name(v, v.str("\"open\"")?)
}

fn check_name(v: &Value<'_, '_>, word: &str) -> Result<String> {
    let right = word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.len() <= 48
        && !word.ends_with('_')
        && !word.contains("__")
        && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !right {
        return Err(v.error(format!("`{word}` is not a name")).help(
            "a name has a to z, 0 to 9 and single `_` between them, begins with a letter, and has at most 48 characters",
        ));
    }
    if RESERVED.contains(&word) {
        return Err(v
            .error(format!("`{word}` means something else in C, in Rust or in the stubs"))
            .help("take another name, as `its_…`"));
    }
    Ok(word.to_string())
}

fn twice(v: &Value<'_, '_>, name: &str) -> weir_model::Error {
    v.error(format!("`{name}` occurs twice")).help("give each a name of its own")
}

/// `name: type` of a text.
fn halves<'d>(v: &Value<'d, '_>) -> Result<(String, &'d str)> {
    let text = v.str("\"size: u64\"")?;
    let Some((name, kind)) = text.split_once(':') else {
        return Err(v
            .error(format!("`{text}` is not `name: type`"))
            .help("write, for example, \"size: u64\""));
    };
    Ok((check_name(v, name.trim())?, kind.trim()))
}

fn fields<'d>(t: &Table<'d, '_>, key: &'d str, records: &[Record], taken: &[&str]) -> Result<Vec<Field>> {
    let Some(list) = t.get(key) else { return Ok(Vec::new()) };
    let mut all: Vec<Field> = Vec::new();
    for v in list.list("[\"path: text[256]\", \"flags: u32\"]")? {
        let (name, kind) = halves(&v)?;
        if all.iter().any(|f| f.name == name) || taken.contains(&name.as_str()) {
            return Err(twice(&v, &name));
        }
        // A length travels beside each list; its argument in C has the name with `_len`.
        let length_of = |long: &str, short: &str| long.strip_suffix("_len") == Some(short);
        if let Some(f) = all.iter().find(|f| length_of(&f.name, &name) || length_of(&name, &f.name)) {
            return Err(v
                .error(format!("`{name}` and `{}`: in C the length of one has the other's name", f.name))
                .help("take another name; a list and a text bring their length along"));
        }
        all.push(Field { name, kind: type_of(&v, kind, records)? });
    }
    Ok(all)
}

fn type_of(v: &Value<'_, '_>, kind: &str, records: &[Record]) -> Result<Type> {
    let (word, most) = match kind.split_once('[') {
        None => (kind, None),
        Some((word, rest)) => {
            let number = rest.strip_suffix(']').and_then(|n| n.trim().parse::<u32>().ok());
            match number {
                Some(n) if n > 0 => (word.trim(), Some(n)),
                _ => {
                    return Err(v
                        .error(format!("`{kind}` has no bound"))
                        .help("write how many there are at most, as `u32[16]` or `text[256]`"));
                }
            }
        }
    };
    let item = Scalar::ALL
        .iter()
        .find(|(n, _)| *n == word)
        .map(|(_, s)| Item::Scalar(*s))
        .or_else(|| records.iter().position(|r| r.name == word).map(Item::Record));
    match (item, word, most) {
        (_, "text", Some(n)) => Ok(Type::Text(n)),
        (_, "text", None) => {
            Err(v.error("a text needs a bound").help("write how many bytes it has at most, as `text[256]`"))
        }
        (Some(i), _, None) => Ok(Type::One(i)),
        (Some(i), _, Some(n)) => Ok(Type::List(i, n)),
        (None, ..) => {
            let mut names: Vec<&str> = Scalar::ALL.iter().map(|(n, _)| *n).collect();
            names.push("text");
            names.extend(records.iter().map(|r| r.name.as_str()));
            Err(v.error(format!("there is no type `{word}`")).help(did_you_mean(word, &names)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        read("x.toml", text).map_or_else(|e| e.to_string(), |i| panic!("accepted: {i}"))
    }

    #[test]
    fn an_interface_is_read() {
        let i = read(
            "f.toml",
            "interface = 'files'\nversion = 2\n[[record]]\nname = 'stat'\nfields = ['kind: u8', 'size: u64']\n\
             [[call]]\nname = 'look'\nargs = ['path: text[64]']\nreturns = ['all: stat[4]', 'ok: bool']\n\
             [[message]]\nname = 'bye'\nfrom = 'client'\n",
        )
        .expect("right");
        assert_eq!(
            i.to_string(),
            "files 2\nrecord stat kind: u8, size: u64\n1 Client look call: u32 path: text[64]\n\
             2 Server look_reply call: u32 all: stat[4] ok: bool\n3 Client bye\n"
        );
        assert_eq!((i.records[0].bytes(), i.records[0].offsets()), (16, vec![0, 8]));
        // Descriptions do not travel.
        let with = read("g.toml", "interface = 'a'\nversion = 1\nabout = 'x'\n[[message]]\nname = 'm'\n")
            .expect("right");
        let without =
            read("g.toml", "interface = 'a'\nversion = 1\n[[message]]\nname = 'm'\n").expect("right");
        assert_eq!(with.hash(), without.hash());
    }

    #[test]
    fn mistakes_are_named_with_place_and_remedy() {
        let head = "interface = 'a'\nversion = 1\n";
        insta::assert_snapshot!(
            [
                String::from("interface = 'a'\n"),
                head.into(),
                format!("{head}[[message]]\nname = 'Open'\n"),
                format!("{head}[[message]]\nname = 'int'\n"),
                format!("{head}[[message]]\nname = 'm'\nfrom = 'sever'\n"),
                format!("{head}[[message]]\nname = 'm'\nargs = ['x: u23']\n"),
                format!("{head}[[message]]\nname = 'm'\nargs = ['x: text']\n"),
                format!("{head}[[message]]\nname = 'm'\nargs = ['x: u32[0]']\n"),
                format!("{head}[[message]]\nname = 'm'\nargs = ['x u32']\n"),
                format!("{head}[[message]]\nname = 'm'\nargs = ['x: u32[2]', 'x_len: u8']\n"),
                format!("{head}[[message]]\nname = 'm'\nargs = ['x: u64[200000]']\n"),
                format!("{head}[[message]]\nname = 'm'\n[[message]]\nname = 'm'\n"),
                format!("{head}[[call]]\nname = 'm'\nargs = ['call: u8']\n"),
                format!("{head}[[record]]\nname = 'u8'\nfields = ['x: u8']\n"),
                format!("{head}[[record]]\nname = 'r'\nfields = ['x: text[3]']\n"),
            ]
            .iter()
            .map(|t| fault(t))
            .collect::<Vec<_>>()
            .join("\n\n")
        );
    }
}
