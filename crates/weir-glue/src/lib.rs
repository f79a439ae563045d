// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Finds the components and generates what joins them to the core: one translation unit with a
//! `switch` over class ids for every entry point. Nothing is listed by hand: a component is a file.

pub mod kernel;
pub mod plugin;
pub mod rust;
pub mod source;

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
    /// Names without the prefix: `step`, `on_priority` …
    pub entries: Vec<String>,
    /// Topics that it declares itself, with the component's numbers for them: `#define WEIR_TOPIC_X WEIR_OWN(0)`.
    pub own: Vec<(String, u32)>,
    /// Its descriptor says `.plain = 1`: no loops, functions of its own and clocks (what lives across their calls takes room in a
    /// frame).
    pub plain: bool,
    /// Its descriptor says `.kernel = WEIR_KERNEL_NEVER`.
    pub never_in_kernel: bool,
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

    fn in_kernel(&self) -> bool {
        !self.never_in_kernel
    }

    /// The name of the topic's number in C, the same in each component that declares it.
    fn number(&self, topic: &str) -> String {
        match self.own.iter().find(|o| o.0 == topic) {
            Some((_, n)) => format!("WEIR_OWN({n})"),
            None => format!("WEIR_TOPIC_{topic}"),
        }
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
                own: own_topics(&text),
                plain: plain(&path, &text)?,
                manual: manual(&text),
                name,
                path,
                language,
                never_in_kernel: never_in_kernel(&text),
            });
        }
    }
    if let Some(pair) = duplicate(&found) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, pair));
    }
    Ok(found)
}

/// Whether the descriptor says that the component is plain.
///
/// # Errors
/// It says so, but the file has what a plain one has not.
fn plain(path: &Path, text: &str) -> io::Result<bool> {
    if !text.contains(".plain = 1") {
        return Ok(false);
    }
    let not = ["weir_loop", "WEIR_HELPER", "weir_for_", "weir_now("].into_iter().find(|w| text.contains(w));
    match not {
        None => Ok(true),
        Some(word) => {
            let message =
                format!("{}: it says `.plain = 1`, but has `{word}`: take one of them out", path.display());
            Err(io::Error::new(io::ErrorKind::InvalidData, message))
        }
    }
}

/// Whether the descriptor says that the live kernel cannot have the component.
fn never_in_kernel(text: &str) -> bool {
    text.contains(".kernel = WEIR_KERNEL_NEVER")
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

/// `#define WEIR_TOPIC_X WEIR_OWN(n)`
pub(crate) fn own_topics(text: &str) -> Vec<(String, u32)> {
    let one = |line: &str| {
        let mut words = line.strip_prefix("#define")?.split_whitespace();
        let name = words.next()?.strip_prefix("WEIR_TOPIC_")?;
        let number = words.next()?.strip_prefix("WEIR_OWN(")?.split(')').next()?;
        Some((name.to_owned(), number.parse().ok()?))
    };
    text.lines().filter_map(one).collect()
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
        "/* Generated from the files in core/src, core/kit and components/. */\n#include \"internal.h\"\n\n",
    );
    // Class ids are the same for every target, so one plan fits all.
    out.push_str("enum weir_class_id {\n");
    for c in components {
        let _ = writeln!(out, "\tWEIR_CLASS_{},", c.name);
    }
    out.push_str("\tWEIR_NR_CLASSES,\n};\n\n#include <weir/component.h>\n");
    if target == Target::Process {
        out.push_str("#include <weir/plugin.h>\n");
    }
    for c in &usable {
        match c.language {
            Language::C => {
                // The dispatch jumps to a function, and does not contain it: it would save registers for all of them.
                let _ = writeln!(out, "struct {};", c.name);
                let mut apart = |result: &str, function: &str, args: &str| {
                    let _ = writeln!(
                        out,
                        "WEIR_ENTRY WEIR_STEP {result} {0}_{function}(struct {0} weir_mem *, {args});",
                        c.name
                    );
                };
                if c.has("step") {
                    apart("u32", "step", "u32, struct weir_task weir_mem *, struct weir_step weir_mem *");
                }
                if target != Target::Bpf {
                    for (function, _) in c.topics("on_") {
                        apart("int", &function, "const struct weir_msg *");
                    }
                }
                let _ = writeln!(out, "#include \"{}\"", c.path.display());
                for (topic, _) in &c.own {
                    let _ = writeln!(out, "#undef WEIR_TOPIC_{topic}");
                }
            }
            Language::Rust => foreign(&mut out, c),
        }
    }
    // What the verifier refuses is compiled, but no class leads to it.
    let dispatched: Vec<&Component> =
        usable.iter().copied().filter(|c| target != Target::Bpf || c.in_kernel()).collect();
    dispatch(&mut out, &dispatched, target);
    if target != Target::Bpf {
        descriptors(&mut out, &usable);
    }
    for file in framework(root)?.iter().filter(|p| p.extension().is_some_and(|e| e == "c")) {
        let _ = writeln!(out, "#include \"{}\"", file.display());
    }
    Ok(out)
}

/// The files of the core and of the kit that components share, as a unit includes them.
///
/// # Errors
/// A folder cannot be read.
pub fn framework(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for folder in ["core/src", "core/kit"] {
        let from = all.len();
        for entry in fs::read_dir(root.join(folder))? {
            all.push(entry?.path());
        }
        all[from..].sort();
    }
    Ok(all)
}

/// Declarations for a component that comes as an object; its state is the bare instance.
fn foreign(out: &mut String, c: &Component) {
    let n = &c.name;
    let _ = writeln!(out, "struct {n} {{ struct weir_instance inst; }};");
    let _ = writeln!(out, "extern const struct weir_descriptor {n}_descriptor;");
    let _ =
        writeln!(out, "u32 {n}_step(struct {n} *self, u32 what, struct weir_task *t, struct weir_step *s);");
}

/// A kind of entry point: `int weir_class_<name>(instance, args…)`.
struct Entry {
    name: &'static str,
    /// What the component's function is called, without the component's name; a prefix if it names a topic.
    function: &'static str,
    by_topic: bool,
    /// Type, with the verifier's annotation, and name of each argument after the instance.
    args: &'static [(&'static str, &'static str)],
    /// The component's function returns nothing.
    void: bool,
    /// Answer of a class without the function.
    none: &'static str,
    /// Type of the answer.
    result: &'static str,
}

const MSG: &str = "const struct weir_msg weir_mem *msg weir_arg";
const STEP: &str = "struct weir_step weir_mem *s weir_arg";
const TASK: &str = "struct weir_task weir_mem *t weir_arg";

const fn entry(
    name: &'static str,
    function: &'static str,
    args: &'static [(&'static str, &'static str)],
) -> Entry {
    Entry { name, function, by_topic: false, args, void: false, none: "0", result: "int" }
}

const ENTRIES: [Entry; 10] = [
    entry("construct", "construct", &[]),
    Entry {
        none: "WEIR_WITHHOLD",
        result: "u32",
        ..entry("step", "step", &[("u32 what", "what"), (TASK, "t"), (STEP, "s")])
    },
    entry("idle", "on_idle", &[("u32 cpu", "cpu")]),
    Entry { none: "-WEIR_ENOENT", ..entry("timer", "on_timer", &[]) },
    Entry { void: true, ..entry("task_init", "task_init", &[(TASK, "t")]) },
    Entry { void: true, ..entry("task_exit", "task_exit", &[(TASK, "t")]) },
    Entry { void: true, ..entry("destroy", "destroy", &[]) },
    Entry {
        void: true,
        ..entry(
            "take_state",
            "take_state",
            &[("struct weir_instance weir_mem *old weir_arg", "(void weir_mem *)old")],
        )
    },
    Entry { by_topic: true, ..entry("on", "on_", &[(MSG, "msg")]) },
    Entry {
        by_topic: true,
        none: "-WEIR_ENOENT",
        ..entry("answer", "answer_", &[("struct weir_msg *msg weir_arg_record", "msg")])
    },
];

/// The functions of a kind of entry point that a component has, each with its label in the `switch`.
fn functions(c: &Component, e: &Entry) -> Vec<(String, String)> {
    let n = &c.name;
    if e.by_topic {
        let label = |topic: &str| format!("WEIR_CLASS_{n} * WEIR_MAX_TOPICS + {}", c.number(topic));
        c.topics(e.function).into_iter().map(|(f, topic)| (f, label(&topic))).collect()
    } else if c.has(e.function) {
        vec![(e.function.to_owned(), format!("WEIR_CLASS_{n}"))]
    } else {
        Vec::new()
    }
}

/// For a loader that leaves components out: whose each function is that the kernel side's `switch`es call, as
/// (component, function).
///
/// # Errors
/// A component's file cannot be read.
pub fn kernel_entries(components: &[Component]) -> io::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for c in components.iter().filter(|c| c.language == Language::C && c.in_kernel() && !c.plain) {
        let mut add = |function: &str| found.push((c.name.clone(), format!("weir_{}_{function}", c.name)));
        for e in &ENTRIES {
            for (function, _) in functions(c, e) {
                add(&function);
            }
        }
    }
    Ok(found)
}

/// One `switch` per kind of entry point. In the kernel each function gets a frame that the verifier checks once; a program
/// has room for 256 of them (BPF_MAX_SUBPROGS), so plain components do without, except for the copy of a message.
fn dispatch(out: &mut String, all: &[&Component], target: Target) {
    for e in &ENTRIES {
        let names: String = e.args.iter().map(|(_, a)| format!(", {}", bare(a))).collect();
        let (mut cases, mut plain) = (String::new(), String::new());
        // A class has few topics: two short searches, where the verifier would walk through both.
        let nested = e.by_topic && target != Target::Bpf;
        for c in all {
            let n = &c.name;
            let mut topics = String::new();
            for (function, case) in functions(c, e) {
                let case = if nested { case.rsplit(" + ").next().unwrap_or(&case).to_owned() } else { case };
                let direct = call(c, e, &function, target);
                if target == Target::Bpf && !c.plain {
                    let _ = writeln!(
                        out,
                        "\nWEIR_GLOBAL {} weir_{n}_{function}({})\n{{",
                        e.result,
                        e.parameters()
                    );
                    // The compiler drops arguments that a function does not look at; the verifier wants them.
                    let uses: String =
                        e.args.iter().map(|(_, a)| format!("\tweir_use({});\n", bare(a))).collect();
                    let _ = writeln!(out, "{}\tweir_use(i);\n{uses}{direct}}}", e.copy(target));
                    let _ = writeln!(cases, "\tcase {case}:\n\t\treturn weir_{n}_{function}(i{names});");
                } else if nested {
                    let _ = write!(topics, "\t\tcase {case}:\n{}", direct.replace("\t", "\t\t\t"));
                } else {
                    let _ = write!(plain, "\tcase {case}:\n{}", direct.replace("\t", "\t\t"));
                }
            }
            if !topics.is_empty() {
                let _ = write!(
                    plain,
                    "\tcase WEIR_CLASS_{n}:\n\t\tswitch (weir_topic_number(i, msg->topic)) {{\n{topics}\t\t}}\n\t\tbreak;\n"
                );
            }
        }
        let on = if e.by_topic && !nested { "weir_topic_case(i, msg->topic)" } else { "i->class" };
        let none = plugin::fallback(target, e.name, &names, e.none);
        let mut switch = |word: &str, name: &str, begin: &str, cases: &str, none: &str| {
            let _ = writeln!(
                out,
                "\n{word} {} {name}({})\n{{\n{begin}\tswitch ({on}) {{\n{cases}\tdefault:\n\t\tbreak;\n\t}}\n\treturn {none};\n}}",
                e.result,
                e.parameters(),
            );
        };
        let class = format!("weir_class_{}", e.name);
        if e.name == "step" && target != Target::Bpf {
            steps(out, all, e, target);
        } else if e.copy(target).is_empty() {
            switch("WEIR_FLAT", &class, "", &(cases + &plain), &none);
        } else {
            let both = format!("weir_plain_{}", e.name);
            switch("WEIR_GLOBAL", &both, e.copy(target), &plain, &none);
            switch("WEIR_FLAT", &class, "", &cases, &format!("{both}(i{names})"));
        }
    }
}

/// Steps by class: where there are function pointers, no search is needed. (A class without one stands where paths end.)
fn steps(out: &mut String, all: &[&Component], e: &Entry, target: Target) {
    let (result, parameters) = (e.result, e.parameters());
    let loaded = if target == Target::Process { " + WEIR_MAX_LOADED" } else { "" };
    let _ = writeln!(out, "\n{result} (*const weir_steps[WEIR_NR_CLASSES{loaded}])({parameters}) = {{");
    for c in all.iter().filter(|c| c.has(e.function)) {
        let _ = writeln!(out, "\t[WEIR_CLASS_{0}] = (u32 (*)({parameters})){0}_step,", c.name);
    }
    if target == Target::Process {
        let _ = writeln!(
            out,
            "\t[WEIR_NR_CLASSES ... WEIR_NR_CLASSES + WEIR_MAX_LOADED - 1] = weir_loaded_step,"
        );
    }
    out.push_str("};\n");
}

impl Entry {
    /// Components take a message from memory of their own; in the kernel that is another kind of memory.
    fn copy(&self, target: Target) -> &'static str {
        match target {
            Target::Bpf if self.args.first().is_some_and(|a| *a == (MSG, "msg")) => {
                "\tstruct weir_msg own;\n\n\tweir_set_msg(&own, msg);\n"
            }
            _ => "",
        }
    }

    fn parameters(&self) -> String {
        let rest: String = self.args.iter().map(|(declaration, _)| format!(", {declaration}")).collect();
        format!("struct weir_instance weir_mem *i weir_arg{rest}")
    }
}

/// The name of an argument without a cast.
fn bare(argument: &str) -> &str {
    argument.trim_start_matches("(void weir_mem *)")
}

/// The call of a component's function and the return of its result.
fn call(c: &Component, e: &Entry, function: &str, target: Target) -> String {
    let n = &c.name;
    let copied = !e.copy(target).is_empty();
    let args: String =
        e.args.iter().map(|(_, a)| format!(", {}", if copied && *a == "msg" { "&own" } else { a })).collect();
    if e.void {
        format!("\t{n}_{function}((struct {n} weir_mem *)i{args});\n\treturn 0;\n")
    } else {
        format!("\treturn {n}_{function}((struct {n} weir_mem *)i{args});\n")
    }
}

/// Tables for tools: descriptors, and the core's part of them.
fn descriptors(out: &mut String, all: &[&Component]) {
    out.push_str("\nconst struct weir_descriptor *const weir_descriptors[WEIR_NR_CLASSES] = {\n");
    for c in all {
        let _ = writeln!(out, "\t[WEIR_CLASS_{0}] = &{0}_descriptor,", c.name);
    }
    out.push_str("};\nconst u32 weir_nr_descriptors = WEIR_NR_CLASSES;\n\n");
    out.push_str("/* Which entry points a class has, as bits. */\nconst struct weir_entries weir_entries[WEIR_NR_CLASSES] = {\n");
    for c in all {
        let _ = writeln!(out, "\t[WEIR_CLASS_{}] = {},", c.name, entries_of(c));
    }
    out.push_str("};\n\n");
}

/// The entry points of a class as an initialiser of `struct weir_entries`.
fn entries_of(c: &Component) -> String {
    let has = [
        ("construct", "CONSTRUCT"),
        ("on_idle", "IDLE"),
        ("on_timer", "TIMER"),
        ("task_init", "TASK_INIT"),
        ("task_exit", "TASK_EXIT"),
        ("take_state", "TAKE_STATE"),
        ("destroy", "DESTROY"),
        ("step", "STEP"),
    ];
    let bits = |prefix: &str| {
        let t: Vec<String> =
            c.topics(prefix).iter().map(|(_, t)| format!("1ull << {}", c.number(t))).collect();
        if t.is_empty() { "0".to_owned() } else { t.join(" | ") }
    };
    let mut flags: Vec<String> =
        has.iter().filter(|(e, _)| c.has(e)).map(|(_, f)| format!("WEIR_HAS_{f}")).collect();
    if flags.is_empty() {
        flags.push("0".into());
    }
    format!("{{ .has = {}, .on = {}, .answers = {} }}", flags.join(" | "), bits("on_"), bits("answer_"))
}

/// A component that stands alone: a file outside of the tree.
pub fn single(path: &Path) -> io::Result<Component> {
    let name = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned();
    let text = fs::read_to_string(path)?;
    let language = match path.extension().is_some_and(|e| e == "rs") {
        true => Language::Rust,
        false => Language::C,
    };
    Ok(Component {
        source: path.display().to_string(),
        path: fs::canonicalize(path)?,
        language,
        entries: match language {
            Language::C => entries(&name, &text, language),
            Language::Rust => rust::entries(&text),
        },
        own: own_topics(&text),
        plain: false,
        never_in_kernel: never_in_kernel(&text),
        manual: manual(&text),
        name,
    })
}

/// For a build script: write a generated file only if it changes, so that nothing is rebuilt without need.
pub fn write_if_changed(file: &Path, text: &str) {
    if fs::read_to_string(file).ok().as_deref() != Some(text) {
        fs::write(file, text).expect("OUT_DIR is writable");
    }
}

/// For a build script: run it again when a file below `dir` changes, appears or disappears.
pub fn watch(dir: &Path) {
    println!("cargo:rerun-if-changed={}", dir.display());
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            watch(&path);
        } else {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_prefix() {
        let text =
            "WEIR_ENTRY u32 rr_step(struct rr *s)\nstatic int rr_helper(void)\nWEIR_ENTRY int rr_on_tick(x)";
        assert_eq!(entries("rr", text, Language::C), ["on_tick", "step"]);
    }

    #[test]
    fn own_topics_are_found_with_their_numbers() {
        let text = "#define WEIR_TOPIC_TENANT WEIR_OWN(0)\n#define WEIR_TOPIC_QUOTA  WEIR_OWN(1) /* x */\n#define OTHER 3\n";
        assert_eq!(own_topics(text), [("TENANT".to_owned(), 0), ("QUOTA".to_owned(), 1)]);
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
            own: vec![],
            plain: false,
            never_in_kernel: false,
            manual: String::new(),
        };
        let message = duplicate(&[c("a/rr.c"), c("b/rr.c")]).expect("a diagnostic");
        assert!(message.contains("a/rr.c") && message.contains("rename"), "{message}");
    }
}
