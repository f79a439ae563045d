// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Finds the components and generates what joins them to the core: one translation unit with a
//! `switch` over class ids for every entry point. Nothing is listed by hand: a component is a file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Folders searched below `components/`, in class-id order; `local` is a user's own.
const FOLDERS: [&str; 7] = ["annotate", "distribute", "filter", "local", "merge", "order", "service"];

/// A component file and the entry points it defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    pub name: String,
    /// Absolute path.
    pub path: PathBuf,
    /// Path below the repository root.
    pub source: String,
    pub language: Language,
    /// Names without the prefix: `update`, `on_priority` …
    pub entries: Vec<String>,
    /// Header comment without the comment marks.
    pub manual: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    C,
    /// Linked as an object; exists only where Rust does.
    Rust,
}

impl Component {
    fn has(&self, entry: &str) -> bool {
        self.entries.iter().any(|e| e == entry)
    }

    /// Topics of the entries that begin with `prefix`, upper case.
    fn topics(&self, prefix: &str) -> Vec<(String, String)> {
        let special = ["on_idle", "on_timer"];
        self.entries
            .iter()
            .filter(|e| !special.contains(&e.as_str()))
            .filter_map(|e| e.strip_prefix(prefix).map(|t| (e.clone(), t.to_uppercase())))
            .collect()
    }
}

/// All components below `root/components`, sorted by folder and name, so that class ids are stable.
pub fn scan(root: &Path) -> io::Result<Vec<Component>> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let dir = root.join("components").join(folder);
        let Ok(list) = fs::read_dir(&dir) else { continue };
        let mut files: Vec<PathBuf> = list.filter_map(|e| e.ok().map(|e| e.path())).collect();
        files.sort();
        for path in files {
            let language = match path.extension().and_then(|e| e.to_str()) {
                Some("c") => Language::C,
                Some("rs") => Language::Rust,
                _ => continue,
            };
            let name = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned();
            let text = fs::read_to_string(&path)?;
            found.push(Component {
                source: format!(
                    "components/{folder}/{}",
                    path.file_name().unwrap_or_default().to_string_lossy()
                ),
                entries: entries(&name, &text, language),
                manual: manual(&text),
                name,
                path,
                language,
            });
        }
    }
    if let Some(pair) = duplicate(&found) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, pair));
    }
    Ok(found)
}

fn duplicate(found: &[Component]) -> Option<String> {
    let mut names: Vec<(&str, &str)> = found.iter().map(|c| (c.name.as_str(), c.source.as_str())).collect();
    names.sort();
    names.windows(2).find(|w| w[0].0 == w[1].0).map(|w| {
        format!("two components are called `{}`: {} and {}; rename one file", w[0].0, w[0].1, w[1].1)
    })
}

/// Entry points are functions marked `WEIR_ENTRY` (C) or `extern "C"` (Rust) whose name begins with
/// the component's.
fn entries(name: &str, text: &str, language: Language) -> Vec<String> {
    let mark = match language {
        Language::C => "WEIR_ENTRY",
        Language::Rust => "extern \"C\" fn",
    };
    let prefix = format!("{name}_");
    let mut found = Vec::new();
    for (at, _) in text.match_indices(mark) {
        let rest = &text[at + mark.len()..];
        let Some(open) = rest.find('(') else { continue };
        let Some(word) =
            rest[..open].split(|c: char| !c.is_alphanumeric() && c != '_').rfind(|w| !w.is_empty())
        else {
            continue;
        };
        if let Some(entry) = word.strip_prefix(&prefix) {
            found.push(entry.to_owned());
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The second comment of a C file, or the `//!` lines of a Rust file.
fn manual(text: &str) -> String {
    if text.contains("\n//! ") {
        let lines = text.lines().filter_map(|l| l.strip_prefix("//!"));
        return lines.map(|l| l.strip_prefix(' ').unwrap_or(l)).collect::<Vec<_>>().join("\n") + "\n";
    }
    let Some(start) = text.find("/*\n") else { return String::new() };
    let Some(len) = text[start..].find("*/") else { return String::new() };
    let mut out = String::new();
    for line in text[start + 3..start + len].lines() {
        let line = line.trim_start();
        let line = line.strip_prefix("* ").or_else(|| line.strip_prefix('*')).unwrap_or(line);
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.trim_end().to_owned() + "\n"
}

/// Target of a generated unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Native and strict: with the descriptor table.
    Process,
    /// BPF: C components only, no descriptors.
    Bpf,
    /// As `Process`, for programs without Rust: C components only, null where another language is needed.
    Plain,
}

/// One translation unit: core, components, dispatch.
pub fn unit(root: &Path, components: &[Component], target: Target) -> io::Result<String> {
    let usable: Vec<&Component> =
        components.iter().filter(|c| target == Target::Process || c.language == Language::C).collect();
    let mut out = String::from(
        "/* Generated from the files in core/src and components/. */\n#include \"internal.h\"\n\n",
    );
    // Class ids are the same for every target, so one plan fits all.
    out.push_str("enum weir_class_id {\n");
    for c in components {
        let _ = writeln!(out, "\tWEIR_CLASS_{},", c.name);
    }
    out.push_str("\tWEIR_NR_CLASSES,\n};\n\n#include <weir/component.h>\n");
    for c in &usable {
        match c.language {
            Language::C => {
                let _ = writeln!(out, "#include \"{}\"", c.path.display());
            }
            Language::Rust => foreign(&mut out, c),
        }
    }
    dispatch(&mut out, &usable);
    if target != Target::Bpf {
        descriptors(&mut out, &usable);
    }
    let mut core: Vec<PathBuf> =
        fs::read_dir(root.join("core/src"))?.filter_map(|e| e.ok().map(|e| e.path())).collect();
    core.sort();
    for file in core.iter().filter(|p| p.extension().is_some_and(|e| e == "c")) {
        let _ = writeln!(out, "#include \"{}\"", file.display());
    }
    Ok(out)
}

/// Declarations for a component that comes as an object; its state is the bare instance.
fn foreign(out: &mut String, c: &Component) {
    let n = &c.name;
    let _ = writeln!(out, "struct {n} {{ struct weir_instance inst; }};");
    let _ = writeln!(out, "extern const struct weir_descriptor {n}_descriptor;");
    let _ = writeln!(out, "int {n}_update(struct {n} *self, struct weir_pipe *in);");
}

/// One `switch` per kind of entry point.
fn dispatch(out: &mut String, all: &[&Component]) {
    let one = |out: &mut String, head: &str, entry: &str, args: &str, ret: &str| {
        let _ = writeln!(out, "\n{head}\n{{\n\tswitch (i->class) {{");
        for c in all.iter().filter(|c| c.has(entry)) {
            let call = format!("{0}_{entry}((struct {0} weir_mem *)i{args})", c.name);
            if ret.is_empty() {
                let _ = writeln!(out, "\tcase WEIR_CLASS_{}:\n\t\t{call};\n\t\tbreak;", c.name);
            } else {
                let _ = writeln!(out, "\tcase WEIR_CLASS_{}:\n\t\treturn {call};", c.name);
            }
        }
        let _ = writeln!(out, "\tdefault:\n\t\t{};\n\t}}\n}}", if ret.is_empty() { "break" } else { ret });
    };
    let inst = "struct weir_instance weir_mem *i";
    one(out, &format!("int weir_class_construct({inst})"), "construct", "", "return 0");
    one(
        out,
        &format!("int weir_class_update({inst}, struct weir_pipe weir_mem *in)"),
        "update",
        ", in",
        "return -WEIR_EINVAL",
    );
    one(out, &format!("int weir_class_idle({inst}, u32 cpu)"), "on_idle", ", cpu", "return 0");
    one(out, &format!("int weir_class_timer({inst})"), "on_timer", "", "return -WEIR_ENOENT");
    one(
        out,
        &format!("void weir_class_task_init({inst}, struct weir_task weir_mem *t)"),
        "task_init",
        ", t",
        "",
    );
    one(
        out,
        &format!("void weir_class_task_exit({inst}, struct weir_task weir_mem *t)"),
        "task_exit",
        ", t",
        "",
    );
    one(out, &format!("void weir_class_destroy({inst})"), "destroy", "", "");
    let _ = writeln!(out, "\nvoid weir_class_take_state({inst}, struct weir_instance weir_mem *old)");
    out.push_str("{\n\tswitch (i->class) {\n");
    for c in all.iter().filter(|c| c.has("take_state")) {
        let n = &c.name;
        let _ = writeln!(out, "\tcase WEIR_CLASS_{n}:");
        let _ = writeln!(
            out,
            "\t\t{n}_take_state((struct {n} weir_mem *)i, (struct {n} weir_mem *)old);\n\t\tbreak;"
        );
    }
    out.push_str("\tdefault:\n\t\tbreak;\n\t}\n}\n");
    by_topic(
        out,
        all,
        "on_",
        &format!("int weir_class_on({inst}, const struct weir_msg *msg)"),
        "msg",
        "return 0",
    );
    by_topic(
        out,
        all,
        "follow_",
        &format!("int weir_class_follow({inst}, const struct weir_msg *msg, struct weir_pipe weir_mem *in)"),
        "msg, in",
        "return 0",
    );
    by_topic(
        out,
        all,
        "answer_",
        &format!("int weir_class_answer({inst}, struct weir_msg *msg)"),
        "msg",
        "return -WEIR_ENOENT",
    );
}

/// Class and topic choose the function; both fit one `switch`.
fn by_topic(out: &mut String, all: &[&Component], prefix: &str, head: &str, args: &str, none: &str) {
    let _ = writeln!(out, "\n{head}\n{{\n\tswitch (i->class * WEIR_MAX_TOPICS + msg->topic) {{");
    for c in all {
        for (entry, topic) in c.topics(prefix) {
            let n = &c.name;
            let _ = writeln!(out, "\tcase WEIR_CLASS_{n} * WEIR_MAX_TOPICS + WEIR_TOPIC_{topic}:");
            let _ = writeln!(out, "\t\treturn {n}_{entry}((struct {n} weir_mem *)i, {args});");
        }
    }
    let _ = writeln!(out, "\tdefault:\n\t\t{none};\n\t}}\n}}");
}

/// Tables for tools: descriptors, and the core's part of them.
fn descriptors(out: &mut String, all: &[&Component]) {
    out.push_str("\nconst struct weir_descriptor *const weir_descriptors[WEIR_NR_CLASSES] = {\n");
    for c in all {
        let _ = writeln!(out, "\t[WEIR_CLASS_{0}] = &{0}_descriptor,", c.name);
    }
    out.push_str("};\nconst u32 weir_nr_descriptors = WEIR_NR_CLASSES;\n\n");
    out.push_str("/* Which entry points a class has, as bits. */\nconst struct weir_entries weir_entries[WEIR_NR_CLASSES] = {\n");
    let has = [
        ("construct", "CONSTRUCT"),
        ("on_idle", "IDLE"),
        ("on_timer", "TIMER"),
        ("task_init", "TASK_INIT"),
        ("task_exit", "TASK_EXIT"),
        ("take_state", "TAKE_STATE"),
        ("destroy", "DESTROY"),
        ("update", "UPDATE"),
    ];
    for c in all {
        let bits = |prefix: &str| {
            let t: Vec<String> =
                c.topics(prefix).iter().map(|(_, t)| format!("WEIR_TOPIC_BIT({t})")).collect();
            if t.is_empty() { "0".to_owned() } else { t.join(" | ") }
        };
        let mut flags: Vec<String> =
            has.iter().filter(|(e, _)| c.has(e)).map(|(_, f)| format!("WEIR_HAS_{f}")).collect();
        if flags.is_empty() {
            flags.push("0".into());
        }
        let _ = writeln!(
            out,
            "\t[WEIR_CLASS_{}] = {{ .has = {}, .on = {}, .follows = {}, .answers = {} }},",
            c.name,
            flags.join(" | "),
            bits("on_"),
            bits("follow_"),
            bits("answer_")
        );
    }
    out.push_str("};\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_prefix() {
        let text = "WEIR_ENTRY int rr_update(struct rr *s)\nstatic int rr_helper(void)\nWEIR_ENTRY int rr_on_tick(x)";
        assert_eq!(entries("rr", text, Language::C), ["on_tick", "update"]);
    }

    #[test]
    fn the_manual_is_the_second_comment() {
        let text = "/* SPDX */\n/*\n * rr - order\n *\n * cost: low\n */\n#include <x>\n";
        assert_eq!(manual(text), "rr - order\n\ncost: low\n");
    }

    #[test]
    fn two_files_of_one_name_are_refused() {
        let c = |source: &str| Component {
            name: "rr".into(),
            path: PathBuf::new(),
            source: source.into(),
            language: Language::C,
            entries: vec![],
            manual: String::new(),
        };
        let message = duplicate(&[c("a/rr.c"), c("b/rr.c")]).expect("a diagnostic");
        assert!(message.contains("a/rr.c") && message.contains("rename"), "{message}");
    }
}
