// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Components in Rust that are built to a shared object (source 0, 8.9).
//!
//! The author writes functions and a header; descriptor, state and entry points are generated from the header, what they call from the
//! framework's headers. The functions are compiled without a standard library and linked into the unit that every plugin has, so the
//! object is held to the same rules: no foreign symbols, nothing that runs by itself, every loop counted.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

use crate::plugin::Header;
use crate::source::{self, Finding};
use crate::{Component, ENTRIES};

/// The crate `weir` of such a component.
const SUPPORT: &str = include_str!("rust/support.rs");
/// Its C side.
pub(crate) const SHIMS: &str = include_str!("rust/shims.c");

/// A parameter, a word of the state, or of a task's private memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Param {
    name: String,
    unit: String,
    range: [String; 3],
    help: String,
}

/// What a header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    summary: String,
    class: String,
    ordering: String,
    ins: (String, String),
    outs: (String, String),
    keyed: &'static str,
    reviews: Vec<String>,
    publishes: Vec<String>,
    asks: Vec<String>,
    needs: Vec<String>,
    hears: Vec<String>,
    params: Vec<Param>,
    state: Vec<String>,
    per_task: Vec<String>,
}

/// Functions that the text has for the framework: `pub fn step(`.
pub(crate) fn entries(text: &str) -> Vec<String> {
    let mut found: Vec<String> = text
        .lines()
        .filter_map(|l| l.strip_prefix("pub fn "))
        .filter_map(|l| l.split(['(', '<']).next())
        .map(|name| name.trim().to_owned())
        .filter(|name| {
            ENTRIES.iter().any(|e| if e.by_topic { name.starts_with(e.function) } else { name == e.function })
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

/// The lines of a tag in the header: `params:` with what is indented below it.
fn tag<'t>(text: &'t str, name: &str) -> Vec<(&'t str, usize)> {
    let mut found = Vec::new();
    let (mut at, mut inside, mut begun) = (0, false, false);
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some(said) = line.trim_end().strip_prefix("//!") else {
            // The licence stands before it.
            if begun { break } else { continue }
        };
        begun = true;
        let body = said.strip_prefix(' ').unwrap_or(said);
        let begins = body
            .split_once(':')
            .filter(|(word, _)| !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
        let rest = match begins {
            Some((word, rest)) => {
                inside = word == name;
                rest
            }
            None if body.starts_with(' ') => body,
            None => {
                inside = false;
                body
            }
        };
        let rest = rest.trim();
        if inside && !rest.is_empty() && rest != "-" {
            found.push((rest, start + line.find(rest).unwrap_or(0)));
        }
    }
    found
}

fn error(text: &str, at: (&str, usize), message: impl Into<String>, help: impl Into<String>) -> Finding {
    let end = (at.1 + at.0.len()).min(text.len());
    Finding { at: at.1..end, message: message.into(), help: help.into(), warning: false, late: false }
}

fn names(list: &[(&str, usize)]) -> Vec<String> {
    let words = list.iter().flat_map(|(l, _)| l.split([',', ' ']));
    words.map(|w| w.trim().to_owned()).filter(|w| !w.is_empty()).collect()
}

/// Read the header.
///
/// # Errors
/// What is missing from it or cannot be read, at its place.
pub(crate) fn facts(name: &str, text: &str, topics: &[String]) -> Result<Facts, Vec<Finding>> {
    let mut bad = Vec::new();
    let first = text.lines().find_map(|l| l.strip_prefix("//!")).map_or("", str::trim);
    let top = (first, text.find(first).unwrap_or(0));
    let mut out = Facts::default();
    match first.split_once(" - ") {
        Some((n, summary)) if n.trim() == name => out.summary = summary.trim().to_owned(),
        _ => bad.push(error(
            text,
            top,
            "the header does not begin with the component's name and what it does",
            format!("write `//! {name} - order tasks by …` as its first line of documentation"),
        )),
    }
    let one_of = |tag_name: &str, words: &[(&str, &str)], default: &str, bad: &mut Vec<Finding>| {
        let found = tag(text, tag_name);
        let Some(at) = found.first().copied() else {
            if default.is_empty() {
                let help = format!("write `//! {tag_name}: …`, one of {}", list(words));
                bad.push(error(text, top, format!("the header has no `{tag_name}`"), help));
            }
            return default.to_owned();
        };
        match words.iter().find(|w| w.0 == at.0) {
            Some(w) => w.1.to_owned(),
            None => {
                bad.push(error(
                    text,
                    at,
                    format!("`{}` is no {tag_name}", at.0),
                    format!("it is one of {}", list(words)),
                ));
                String::new()
            }
        }
    };
    const CLASSES: [(&str, &str); 6] = [
        ("filter", "WEIR_FILTER"),
        ("order", "WEIR_ORDER"),
        ("distribute", "WEIR_DISTRIBUTE"),
        ("merge", "WEIR_MERGE"),
        ("annotate", "WEIR_ANNOTATE"),
        ("service", "WEIR_SERVICE"),
    ];
    out.class = one_of("class", &CLASSES, "", &mut bad);
    const ORDERINGS: [(&str, &str); 3] =
        [("keep", "WEIR_KEEPS"), ("stable", "WEIR_STABLE"), ("total", "WEIR_TOTAL")];
    out.ordering = one_of("ordering", &ORDERINGS, "WEIR_KEEPS", &mut bad);
    (out.ins, out.outs) = (("0".into(), "0".into()), ("0".into(), "0".into()));
    for at in tag(text, "pipes") {
        for part in at.0.split(',').map(str::trim) {
            let words: Vec<&str> = part.split_whitespace().collect();
            let range = match words.get(1) {
                Some(&"any") => Some(("1".to_owned(), "WEIR_ANY".to_owned())),
                Some(n) if n.parse::<u32>().is_ok() => Some(((*n).to_owned(), (*n).to_owned())),
                _ => None,
            };
            match (words.first(), range) {
                (Some(&"in"), Some(r)) => out.ins = r,
                (Some(&"out"), Some(r)) => out.outs = r,
                _ => bad.push(error(
                    text,
                    at,
                    format!("`{part}` is no number of pipes"),
                    "write `in 1, out 1`, or `any`",
                )),
            }
            for (word, keyed) in [("keyed", "1"), ("gated", "WEIR_GATED")] {
                out.keyed = if words.contains(&word) { keyed } else { out.keyed };
            }
        }
    }
    for (which, to) in [
        ("reviews", &mut out.reviews),
        ("publishes", &mut out.publishes),
        ("asks", &mut out.asks),
        ("needs", &mut out.needs),
    ] {
        for at in tag(text, which) {
            for topic in names(&[at]) {
                if topics.contains(&topic) {
                    to.push(topic);
                } else {
                    bad.push(error(
                        text,
                        at,
                        format!("there is no topic `{topic}`"),
                        nearest_topic(&topic, topics),
                    ));
                }
            }
        }
    }
    if let Some(at) = tag(text, "changes").first() {
        bad.push(of_old_form("changes:", at.1..at.1 + at.0.len()));
    }
    for at in tag(text, "hears") {
        for change in names(&[at]) {
            match change.as_str() {
                "picked" | "left" => out.hears.push(change.to_uppercase()),
                _ => bad.push(error(
                    text,
                    at,
                    format!("`{change}` is no change that a step hears"),
                    "write `picked`, `left` or both; it always hears arrivals and reviews",
                )),
            }
        }
    }
    out.state = names(&tag(text, "state"));
    out.per_task = names(&tag(text, "per-task"));
    for at in tag(text, "params") {
        match param(at.0) {
            Some(p) => out.params.push(p),
            None => bad.push(error(
                text,
                at,
                "this is no parameter",
                "write `slice ns 3000000 [100000, 1000000000]; what it means`: name, unit (ns, count, pct, bytes, flag), default, range",
            )),
        }
    }
    let mut fields: Vec<&str> = out.params.iter().map(|p| p.name.as_str()).collect();
    fields.extend(out.state.iter().map(String::as_str));
    fields.sort_unstable();
    if let Some(twice) = fields.windows(2).find(|w| w[0] == w[1]) {
        bad.push(error(
            text,
            top,
            format!("`{}` is declared twice", twice[0]),
            "parameters and words of the state share names",
        ));
    }
    if bad.is_empty() { Ok(out) } else { Err(bad) }
}

fn nearest_topic(word: &str, topics: &[String]) -> String {
    let near = weir_text::suggest::nearest(word, topics.iter().map(String::as_str));
    near.map_or_else(|| "docs/topics.md lists them".into(), |near| format!("did you mean `{near}`?"))
}

fn of_old_form(what: &str, at: std::ops::Range<usize>) -> Finding {
    let now = match what {
        "changes:" => "write `hears: picked, left` if it counts tasks, else nothing".into(),
        f if f.starts_with("follow_") => {
            let topic = f["follow_".len()..].to_uppercase();
            format!("its step looks at the task again if the header says `reviews: {topic}`")
        }
        _ => {
            "write `pub fn step(me: &mut State, what: What, task: Task, step: &mut Step) -> Port`".to_owned()
        }
    };
    source::of_old_form(what, at, &now)
}

/// What is wrong with the text of the component's file `name.rs`; `taken` are names that the program has already.
pub fn check(name: &str, text: &str, topics: &[&str], taken: &[&str]) -> Vec<Finding> {
    let topics: Vec<String> = topics.iter().map(|t| (*t).to_owned()).collect();
    for old in source::OLD_ENTRIES {
        let end = if old.ends_with('_') { "" } else { "(" };
        if let Some(at) = text.find(&format!("pub fn {old}{end}")) {
            let at = at + 7;
            let len = text[at..].find('(').unwrap_or(old.len());
            return vec![of_old_form(&text[at..at + len], at..at + len)];
        }
    }
    let mut found = facts(name, text, &topics).err().unwrap_or_default();
    let top = text.find("//!").unwrap_or(0);
    let at = ("//!", top);
    if taken.contains(&name) {
        found.push(error(
            text,
            at,
            format!("there is a component `{name}` already"),
            "choose another name for the file and in its header",
        ));
    }
    for function in entries(text) {
        let topic = ["on_", "answer_"].iter().find_map(|p| function.strip_prefix(p)).map(str::to_uppercase);
        let Some(topic) = topic.filter(|_| function != "on_idle" && function != "on_timer") else { continue };
        if !topics.contains(&topic) {
            let start = text.find(&format!("pub fn {function}")).map_or(0, |i| i + 7);
            found.push(error(
                text,
                (&function, start),
                format!("there is no topic {topic}"),
                nearest_topic(&topic, &topics),
            ));
        }
    }
    found
}

fn list(words: &[(&str, &str)]) -> String {
    words.iter().map(|w| w.0).collect::<Vec<_>>().join(", ")
}

fn param(line: &str) -> Option<Param> {
    let (facts, help) = line.split_once(';').unwrap_or((line, ""));
    let (head, range) = facts.split_once('[')?;
    let (least, most) = range.trim().strip_suffix(']')?.split_once(',')?;
    let mut words = head.split_whitespace();
    let (name, unit, default) = (words.next()?, words.next()?, words.next()?);
    let number = |t: &str| t.trim().parse::<u64>().ok().map(|n| format!("{n}ull"));
    let ident = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let known = ["ns", "count", "pct", "bytes", "flag"].contains(&unit);
    (ident && known && words.next().is_none()).then_some(())?;
    Some(Param {
        name: name.into(),
        unit: unit.to_uppercase(),
        range: [number(default)?, number(least)?, number(most)?],
        help: help.trim().into(),
    })
}

/// Standard topics in the order of their numbers, from `broker.h`.
pub(crate) fn topics(headers: &[Header<'_>]) -> Vec<String> {
    let text = headers.iter().find(|h| h.0 == "broker.h").map_or("", |h| h.1);
    let Some(body) =
        text.split("enum weir_topic_id {").nth(1).and_then(|t| t.split("WEIR_NR_STD_TOPICS").next())
    else {
        return Vec::new();
    };
    let words = body.lines().filter_map(|l| l.trim().strip_prefix("WEIR_TOPIC_"));
    words.filter_map(|w| w.split(',').next()).map(str::to_owned).collect()
}

fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// State and descriptor in C.
pub(crate) fn declarations(component: &Component, facts: &Facts) -> String {
    let n = &component.name;
    let mut out = format!("struct {n} {{\n\tstruct weir_instance inst;\n");
    for field in facts.params.iter().map(|p| &p.name).chain(&facts.state) {
        let _ = writeln!(out, "\tu64 {field};");
    }
    out.push_str("};\n");
    let bits = |topics: &[String]| match topics {
        [] => "0".to_owned(),
        _ => topics.iter().map(|t| format!("WEIR_TOPIC_BIT({t})")).collect::<Vec<_>>().join(" | "),
    };
    let of = |prefix: &str| component.topics(prefix).into_iter().map(|t| t.1).collect::<Vec<String>>();
    let listens = [of("on_"), facts.reviews.clone()].concat();
    let asks = [facts.asks.as_slice(), &facts.needs].concat();
    let _ = write!(
        out,
        "WEIR_COMPONENT({n}, .summary = {}, .cls = {}, .ordering = {}, .in_min = {}, .in_max = {}, .out_min = {}, .out_max = {}, \
         .keyed_out = {}, .per_task = {}, .listens = {}, .reviews = {}, .answers = {}, .publishes = {}, .asks = {}, .needs = {}",
        literal(&facts.summary),
        facts.class,
        facts.ordering,
        facts.ins.0,
        facts.ins.1,
        facts.outs.0,
        facts.outs.1,
        if facts.keyed.is_empty() { "0" } else { facts.keyed },
        facts.per_task.len() * 8,
        bits(&listens),
        bits(&facts.reviews),
        bits(&of("answer_")),
        bits(&facts.publishes),
        bits(&asks),
        bits(&facts.needs),
    );
    if !facts.hears.is_empty() {
        let kinds: Vec<String> = facts.hears.iter().map(|c| format!("WEIR_HEARS_{c}")).collect();
        let _ = write!(out, ", .hears = {}", kinds.join(" | "));
    }
    // Its steps may change it.
    if !facts.state.is_empty() {
        out.push_str(", .serial = 1");
    }
    if !facts.params.is_empty() {
        let one = |p: &Param| {
            let [default, least, most] = &p.range;
            format!(
                "WEIR_PARAM({n}, {}, {}, {default}, {least}, {most}, {})",
                p.name,
                p.unit,
                literal(&p.help)
            )
        };
        let _ = write!(
            out,
            ", WEIR_PARAMS({n}, {})",
            facts.params.iter().map(one).collect::<Vec<_>>().join(", ")
        );
    }
    out.push_str(");\n");
    out
}

/// The crate `weir`: what is written by hand, and what comes from the headers.
fn support(topics: &[String], instance_bytes: usize) -> String {
    let mut out = format!(
        "#![no_std]\n{SUPPORT}\n/// Bytes of `struct weir_instance`.\nconst INSTANCE_BYTES: usize = {instance_bytes};\n"
    );
    out.push_str("/// Numbers of the standard topics.\npub mod topic {\n");
    for (i, topic) in topics.iter().enumerate() {
        let _ = writeln!(out, "    pub const {topic}: u32 = {i};");
    }
    out + "}\n"
}

/// State and entry points in Rust, around the author's module.
fn root(component: &Component, facts: &Facts) -> String {
    let n = &component.name;
    let fields = |names: &mut dyn Iterator<Item = &String>| {
        names.fold(String::new(), |mut out, f| {
            let _ = writeln!(out, "    pub {f}: u64,");
            out
        })
    };
    let mut out = format!(
        "#![no_std]\n#![allow(dead_code)]\n#[path = {}]\nmod component;\nuse weir::*;\n\n/// State of an instance: its parameters, and what it keeps.\n\
         #[repr(C)]\npub struct State {{\n    instance: Instance,\n{}}}\n\
         impl core::ops::Deref for State {{\n    type Target = Instance;\n    fn deref(&self) -> &Instance {{ &self.instance }}\n}}\n\
         impl core::ops::DerefMut for State {{\n    fn deref_mut(&mut self) -> &mut Instance {{ &mut self.instance }}\n}}\n\
         impl weir::State for State {{}}\n\n/// What the component keeps of a task.\n#[repr(C)]\npub struct Private {{\n{}}}\n",
        literal(&component.path.display().to_string()),
        fields(&mut facts.params.iter().map(|p| &p.name).chain(&facts.state)),
        fields(&mut facts.per_task.iter()),
    );
    if !facts.per_task.is_empty() {
        out.push_str(
            "impl State {\n    /// What is kept of a task.\n    pub fn of(&mut self, task: Task) -> &mut Private {\n        \
             // SAFETY: the framework has that many bytes for each task.\n        unsafe { &mut *self.instance.private(task) }\n    }\n}\n",
        );
    }
    for function in &component.entries {
        let Some(e) = ENTRIES
            .iter()
            .find(|e| if e.by_topic { function.starts_with(e.function) } else { function == e.function })
        else {
            continue;
        };
        let (arguments, names) = match e.name {
            "step" => (", what: u32, task: Task, step: &mut Step", ", What::of(what), task, step"),
            "idle" => (", cpu: u32", ", cpu"),
            "task_init" | "task_exit" => (", task: Task", ", task"),
            "take_state" => (", old: &mut State", ", old"),
            "on" => (", msg: &Msg", ", msg"),
            "answer" => (", msg: &mut Msg", ", msg"),
            _ => ("", ""),
        };
        let call = format!("component::{function}(me{names})");
        let (result, body) = match e.name {
            "idle" => (" -> i32", format!("i32::from({call})")),
            "step" => (" -> u32", format!("port({call})")),
            _ if e.void => ("", call),
            _ => (" -> i32", format!("status({call})")),
        };
        let _ = writeln!(
            out,
            "#[unsafe(no_mangle)]\nextern \"C\" fn {n}_{function}(me: &mut State{arguments}){result} {{\n    {body}\n}}"
        );
    }
    out
}

const FLAGS: [&str; 15] = [
    "--edition=2024",
    "--error-format=short",
    "-Cpanic=abort",
    "-Copt-level=2",
    "-Crelocation-model=pic",
    "-Cdebuginfo=0",
    "-Cstrip=none",
    "-Coverflow-checks=on",
    "-Aunused",
    // Each block of the code calls `__sanitizer_cov_trace_pc`, as in C.
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=3",
    "-Cllvm-args=-sanitizer-coverage-trace-pc",
    // Also blocks that cannot be reached but by another counted one: an endless loop may be one.
    "-Cllvm-args=-sanitizer-coverage-prune-blocks=0",
    "-Ccodegen-units=1",
    "-Cforce-frame-pointers=no",
];

/// Compile the author's functions to an archive; what the compiler said if it did not. `folder` has the headers in `weir/`.
///
/// # Errors
/// The folder cannot be written, or there is no Rust compiler or no C compiler.
pub(crate) fn archive(
    component: &Component,
    facts: &Facts,
    headers: &[Header<'_>],
    folder: &Path,
    compiler: &str,
) -> io::Result<Result<std::path::PathBuf, String>> {
    let bytes = match instance_bytes(folder, compiler)? {
        Ok(bytes) => bytes,
        Err(said) => return Ok(Err(said)),
    };
    let (lib, top) = (folder.join("weir.rs"), folder.join("root.rs"));
    fs::write(&lib, support(&topics(headers), bytes))?;
    fs::write(&top, root(component, facts))?;
    let (rlib, archive) = (folder.join("libweir.rlib"), folder.join("libcomponent.a"));
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let run = |arguments: &mut dyn FnMut(&mut Command)| {
        let mut command = Command::new(&rustc);
        command.args(FLAGS);
        arguments(&mut command);
        let why = |e: io::Error| {
            io::Error::new(e.kind(), format!("`{rustc}`, which compiles components in Rust: {e}"))
        };
        command.output().map_err(why)
    };
    for done in [
        run(&mut |c| {
            c.args(["--crate-type=rlib", "--crate-name=weir", "-o"]).arg(&rlib).arg(&lib);
        })?,
        run(&mut |c| {
            c.args(["--crate-type=staticlib", "--crate-name=component", "--extern"]);
            c.arg(format!("weir={}", rlib.display())).arg("-o").arg(&archive).arg(&top);
        })?,
    ] {
        if !done.status.success() {
            return Ok(Err(plain(&String::from_utf8_lossy(&done.stderr))));
        }
    }
    Ok(Ok(archive))
}

/// The compiler's words as a C compiler has them: `FILE:LINE:COLUMN: error: TEXT`, without the error's number.
fn plain(said: &str) -> String {
    let one = |line: &str| match line.find("error[").and_then(|at| Some((at, line[at..].find(']')?))) {
        Some((at, end)) => format!("{}error{}", &line[..at], &line[at + end + 1..]),
        None => line.to_owned(),
    };
    said.lines().map(one).collect::<Vec<_>>().join("\n")
}

/// `sizeof(struct weir_instance)`, from the assembler text of an object of that size; or what the compiler said.
fn instance_bytes(folder: &Path, compiler: &str) -> io::Result<Result<usize, String>> {
    let (source, text) = (folder.join("size.c"), folder.join("size.s"));
    fs::write(
        &source,
        "#include <weir/component.h>\nchar weir_size_of_instance[sizeof(struct weir_instance)] = { 1 };\n",
    )?;
    let done = Command::new(compiler)
        .args(["-std=gnu11", "-ffreestanding", "-S", "-I"])
        .arg(folder)
        .arg("-o")
        .arg(&text)
        .arg(&source)
        .output()?;
    if !done.status.success() {
        return Ok(Err(String::from_utf8_lossy(&done.stderr).trim_end().to_owned()));
    }
    let text = fs::read_to_string(&text)?;
    let size = text.lines().find_map(|l| {
        let (head, number) = l.rsplit_once(',')?;
        (head.contains(".size") && head.contains("weir_size_of_instance"))
            .then(|| number.trim().parse().ok())?
    });
    Ok(size.ok_or_else(|| format!("`{compiler}` writes no sizes into its assembler text")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "// SPDX\n//! mine - order tasks\n//!\n//! class:    order\n//! ordering: total\n//! pipes:    in 1, out any\n\
        //! needs:    PRIORITY\n//! params:   scale count 1 [1, 1000]; by how much\n//!           slice ns 3000000 [1, 4]\n\
        //! state:    seen, last\n//! hears:    left\n//! per-task: stamp\n//!\n//! pipes: are things\nuse weir::*;\npub fn step(me: &mut State) {}\npub fn on_tick() {}\nfn own() {}\n";

    #[test]
    fn a_header_is_the_descriptor() {
        let topics = vec!["TICK".to_owned(), "PRIORITY".to_owned()];
        // Prose that looks like a tag is one: the last line is refused.
        let found = facts("mine", TEXT, &topics).expect_err("a wrong number of pipes");
        assert!(found.len() == 1 && found[0].message.contains("`are things`"), "{found:?}");
        let text = TEXT.replace("//! pipes: are things\n", "");
        let f = facts("mine", &text, &topics).expect("sound");
        assert_eq!((f.class.as_str(), f.ordering.as_str()), ("WEIR_ORDER", "WEIR_TOTAL"));
        assert_eq!(f.outs, ("1".into(), "WEIR_ANY".into()));
        assert_eq!(f.params.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["scale", "slice"]);
        assert_eq!((f.state.len(), f.per_task.len()), (2, 1));
        assert_eq!(entries(&text), ["on_tick", "step"]);
        for (old, new, part) in [
            ("class:    order", "class:    orders", "no class"),
            ("//! class:    order\n", "", "no `class`"),
            ("PRIORITY", "PRIORTY", "no topic `PRIORTY`"),
            ("[1, 1000]", "[1]", "no parameter"),
            ("mine - ", "other - ", "does not begin"),
            ("seen, last", "seen, scale", "declared twice"),
            ("hears:    left", "hears:    added", "`added` is no change"),
            ("hears:    left", "changes:  added", "interface before 1.0"),
        ] {
            let found = facts("mine", &text.replace(old, new), &topics).expect_err(new);
            assert!(found.iter().any(|f| f.message.contains(part) && !f.help.is_empty()), "{new}: {found:?}");
        }
    }

    #[test]
    fn one_of_the_old_form_is_told_so_once() {
        for (old, what) in [("update", "`update` is of"), ("follow_priority", "`follow_priority` is of")] {
            let text = TEXT.replace("pub fn step(", &format!("pub fn {old}("));
            let found = check("mine", &text, &["TICK", "PRIORITY"], &[]);
            assert!(found.len() == 1 && found[0].message.starts_with(what), "{found:?}");
            assert!(found[0].help.contains("step"), "{found:?}");
        }
    }

    #[test]
    fn errors_lose_their_numbers() {
        assert_eq!(plain("a.rs:1:2: error[E0308]: no"), "a.rs:1:2: error: no");
    }
}
