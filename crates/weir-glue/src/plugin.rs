// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Components that are built to a shared object of their own, and what such an object may use of the framework.
//!
//! The functions of the framework that headers declare are the ABI. A plugin has a stub for each, which jumps through a
//! table that the loader fills in, so it has no undefined symbols of ours and the framework exports none. Both sides
//! hold a hash of the headers, without which struct layouts might differ.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{fs, io};

use crate::source::Finding;
use crate::{Component, ENTRIES, Language, Target, call, rust};

/// Headers for programs that run a scheduler: inline functions of others need their structs, but their functions are no
/// component's business.
const FOR_RUNTIMES: [&str; 3] = ["runtime.h", "schedule.h", "topology.h"];

/// What components have from there nevertheless: memory of their own beside that of the instance, and what inline functions call.
const OF_RUNTIMES: [&str; 3] = ["weir_ctx", "weir_alloc_at", "weir_free"];

/// Headers that a component may include, by their names below `weir/`; those of the kit are `kit/…`.
///
/// # Errors
/// A folder cannot be read.
pub fn header_names(root: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    collect_headers(&root.join("core/include/weir"), "", &mut names)?;
    names.sort();
    Ok(names)
}

fn collect_headers(folder: &Path, below: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect_headers(&entry.path(), &format!("{name}/"), names)?;
        } else if name.ends_with(".h") {
            names.push(name);
        }
    }
    Ok(())
}

/// A header by its name, with its text.
pub type Header<'a> = (&'a str, &'a str);

/// A function of the framework.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// `int`, `struct weir_pipe weir_mem *`
    result: String,
    /// As in the header.
    arguments: String,
    /// Names of the arguments.
    names: Vec<String>,
}

/// Functions that the headers declare, in their order. What stands behind "for the framework" is none of a component's business.
pub fn functions(headers: &[Header<'_>]) -> Vec<Function> {
    let mut found = Vec::new();
    for (name, text) in headers.iter().filter(|h| h.0 != "plugin.h") {
        let text = text.split("/* --- for the framework").next().unwrap_or(text);
        let mut statement = String::new();
        for line in without_comments(text).lines() {
            let begins = line.starts_with(|c: char| c.is_ascii_lowercase())
                && line.contains("weir_")
                && line.contains('(');
            if statement.is_empty() && !begins {
                continue;
            }
            statement.push_str(line.trim());
            statement.push(' ');
            if line.trim_end().ends_with(';') {
                let of_runtimes = FOR_RUNTIMES.contains(name);
                found.extend(
                    declaration(&statement)
                        .filter(|f| !of_runtimes || OF_RUNTIMES.contains(&f.name.as_str())),
                );
                statement.clear();
            } else if line.contains('{') || line.is_empty() {
                statement.clear();
            }
        }
        debug_assert!(statement.is_empty(), "{name} ends within a declaration");
    }
    found
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("/*") {
        out.push_str(&rest[..at]);
        let end = rest[at..].find("*/").map_or(rest.len(), |e| at + e + 2);
        rest = &rest[end..];
    }
    out + rest
}

/// `int weir_review(struct weir_instance weir_mem *self, struct weir_task weir_mem *t); `
fn declaration(text: &str) -> Option<Function> {
    let text = text.trim().strip_suffix(';')?;
    let open = text.find('(')?;
    let arguments = text[open + 1..].strip_suffix(')')?;
    let head = &text[..open];
    let at = head.rfind(|c: char| !c.is_alphanumeric() && c != '_')? + 1;
    let (result, name) = head.split_at(at);
    if head.contains("WEIR_INLINE")
        || head.contains('=')
        || head.starts_with("typedef")
        || !name.starts_with("weir_")
    {
        return None;
    }
    let last = |a: &str| {
        let at = a.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |i| i + 1);
        a[at..].to_string()
    };
    let list: Vec<&str> = arguments.split(',').map(str::trim).filter(|a| *a != "void").collect();
    Some(Function {
        name: name.into(),
        result: result.trim().into(),
        arguments: arguments.into(),
        names: list.into_iter().map(last).collect(),
    })
}

/// A number that two builds share only if their headers declare the same (FNV-1a). Comments and blanks do not count, so that a release
/// which words a comment better still loads what was built before it.
pub fn abi(headers: &[Header<'_>]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut take = |word: &str| {
        for byte in word.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for (name, text) in headers {
        take(name);
        without_comments(text).split_whitespace().for_each(&mut take);
    }
    hash
}

/// Part of the host's unit: addresses of the functions, in the order of the ABI.
pub fn exports(headers: &[Header<'_>]) -> String {
    let all = functions(headers);
    let mut out =
        String::from("\n/* What components that are loaded may call. */\nvoid *const weir_exports[] = {\n");
    for f in &all {
        let name = match GUARDED.contains(&f.name.as_str()) {
            true => f.name.replacen("weir_", "weir_guarded_", 1),
            false => f.name.clone(),
        };
        let _ = writeln!(out, "\t(void *){name},");
    }
    // Behind them: what a component calls at every step, so that an endless loop is noticed.
    let _ = writeln!(
        out,
        "\t(void *)weir_guard_step,\n}};\nconst u32 weir_nr_exports = {};\nconst u64 weir_abi = {:#x}ull;",
        all.len() + 1,
        abi(headers)
    );
    out
}

/// Functions that the host replaces for loaded components by `weir_guarded_…`, which note what they are about.
const GUARDED: [&str; 4] = ["weir_pipe_lock", "weir_pipe_unlock", "weir_steps_lock", "weir_steps_unlock"];

/// The translation unit of a plugin. `text` is that of the component's file, whose path is `component.path`; of one in Rust, what its
/// header says.
fn unit(component: &Component, text: &str, facts: Option<&rust::Facts>, headers: &[Header<'_>]) -> String {
    let all = functions(headers);
    let n = &component.name;
    let mut out = String::from(
        "/* Generated. */\n#include <weir/plugin.h>\n#include <weir/runtime.h>\n#include <weir/schedule.h>\n",
    );
    for (header, _) in headers {
        let _ = writeln!(out, "#include <weir/{header}>");
    }
    let _ = writeln!(out, "\nvoid *weir_plugin_imports[{}];\n", all.len() + 1);
    for (i, f) in all.iter().enumerate() {
        let (result, arguments) = (&f.result, &f.arguments);
        let give = if result == "void" { "" } else { "return " };
        let names = f.names.join(", ");
        let _ = writeln!(
            out,
            "{result} {}({arguments})\n{{\n\t{give}(({result} (*)({arguments}))weir_plugin_imports[{i}])({names});\n}}\n",
            f.name
        );
    }
    prototypes(&mut out, component);
    match facts {
        Some(facts) => out += &(rust::declarations(component, facts) + rust::SHIMS),
        None => {
            let _ = writeln!(out, "#include \"{}\"\n", component.path.display());
            assertions(&mut out, component, text);
        }
    }
    let mut fields = String::new();
    for e in &ENTRIES {
        let found: Vec<(String, String)> = if e.by_topic {
            component.topics(e.function)
        } else if component.has(e.function) {
            vec![(e.function.to_owned(), String::new())]
        } else {
            Vec::new()
        };
        if found.is_empty() {
            continue;
        }
        let _ = writeln!(out, "static {} plugin_{}({})\n{{", e.result, e.name, e.parameters());
        if e.by_topic {
            out.push_str(
                "\tswitch (msg->topic < WEIR_OWN_FIRST && msg->topic >= WEIR_NR_STD_TOPICS ? weir_own_topic_at(i, msg->topic) : msg->topic) {\n",
            );
            for (function, topic) in found {
                let _ = write!(
                    out,
                    "\tcase {}:\n{}",
                    component.number(&topic),
                    call(component, e, &function, Target::Process)
                );
            }
            let _ = writeln!(out, "\tdefault:\n\t\treturn {};\n\t}}\n}}\n", e.none);
        } else {
            let _ = writeln!(out, "{}}}\n", call(component, e, &found[0].0, Target::Process));
        }
        let _ = writeln!(fields, "\t.{0} = plugin_{0},", e.name);
    }
    let _ = writeln!(out, "static const char manual[] =\n{}\t;\n", literals(&component.manual));
    let _ = writeln!(
        out,
        "extern const struct weir_plugin weir_plugin;\n__attribute__((visibility(\"default\"))) const struct weir_plugin weir_plugin = {{"
    );
    let _ = writeln!(out, "\t.magic = WEIR_PLUGIN_MAGIC,\n\t.abi = {:#x}ull,", abi(headers));
    let _ = writeln!(out, "\t.descriptor = &{n}_descriptor,\n\t.manual = manual,");
    let _ = writeln!(out, "\t.entries = {},", crate::entries_of(component));
    let _ =
        writeln!(out, "\t.imports = weir_plugin_imports,\n\t.nr_imports = {},\n{fields}}};", all.len() + 1);
    out
}

/// Entry points are declared before they are defined, so that a wrong one is an error in the author's file.
fn prototypes(out: &mut String, component: &Component) {
    let n = &component.name;
    let _ = writeln!(out, "struct {n};");
    for function in &component.entries {
        let declared = crate::source::signature(n, function);
        if !declared.is_empty() {
            let _ = writeln!(out, "{declared};");
        }
    }
}

/// What begins the message of an assertion of ours.
const OURS: &str = "weir: ";

/// Parameters are checked where the author wrote them: column for column.
fn assertions(out: &mut String, component: &Component, text: &str) {
    let n = &component.name;
    for p in crate::source::Text::of(text).params {
        let line = text[..p.field.at.start].matches('\n').count() + 1;
        let column = p.field.at.start - text[..p.field.at.start].rfind('\n').map_or(0, |e| e + 1);
        let (f, [default, least, most]) = (&p.field.text, &p.range);
        for (condition, message) in [
            (
                format!("__builtin_types_compatible_p(__typeof__(((struct {n} *)0)->{f}), u64)"),
                format!("the parameter `{f}` is not a u64; declare it as `u64 {f};` in `struct {n}`"),
            ),
            (
                format!("({least}) <= ({default}) && ({default}) <= ({most})"),
                format!("the default of `{f}` is out of its range; let it lie between {least} and {most}"),
            ),
        ] {
            let blanks = " ".repeat(column);
            let path = component.path.display();
            let _ = writeln!(
                out,
                "#line {line} \"{path}\"\n{blanks}_Static_assert({condition}, \"{OURS}{message}\");"
            );
        }
    }
    let _ = writeln!(out, "#line 1 \"generated\"");
}

/// What came of compiling a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compiled {
    /// What the compiler found, at places in the author's file: errors first stop it, warnings do not.
    pub findings: Vec<Finding>,
    /// All that the compiler said, for what has no place.
    pub said: String,
    pub ok: bool,
}

/// How every part is compiled.
const FLAGS: [&str; 15] = [
    "-std=gnu11",
    "-O2",
    "-fPIC",
    "-ffreestanding",
    "-fvisibility=hidden",
    "-fno-stack-protector",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Wno-unused-function",
    "-Werror=implicit-function-declaration",
    "-Werror=incompatible-pointer-types",
    "-Werror=int-conversion",
    "-Werror=return-type",
    "-ftabstop=1",
];

/// Compile a component to a shared object at `output`; `folder` takes headers and unit. `compiler` is called as a C compiler.
/// With `kernel`, that file becomes a part of the object that a process does not map.
///
/// # Errors
/// The source cannot be read, the folder cannot be written, or there is no such compiler.
pub fn build(
    source: &Path,
    headers: &[Header<'_>],
    folder: &Path,
    output: &Path,
    compiler: &str,
    kernel: Option<&KernelPart<'_>>,
) -> io::Result<Compiled> {
    let component = crate::single(source)?;
    let text = fs::read_to_string(source)?;
    fs::create_dir_all(folder.join("weir"))?;
    for (header, text) in headers {
        let file = folder.join("weir").join(header);
        fs::create_dir_all(file.parent().expect("it has the folder"))?;
        fs::write(file, text)?;
    }
    let (file, steps, counted) = (folder.join("plugin.c"), folder.join("steps.c"), folder.join("steps.o"));
    let facts = match component.language {
        Language::C => None,
        Language::Rust => match rust::facts(&component.name, &text, &rust::topics(headers)) {
            Ok(facts) => Some(facts),
            Err(findings) => return Ok(Compiled { findings, ..Compiled::default() }),
        },
    };
    let archive = match &facts {
        None => None,
        Some(facts) => match rust::archive(&component, facts, headers, folder, compiler)? {
            Ok(archive) => Some(archive),
            Err(said) => {
                return Ok(Compiled { findings: findings(&component, &text, &said), said, ok: false });
            }
        },
    };
    let mut unit = unit(&component, &text, facts.as_ref(), headers);
    if let Some(part) = kernel {
        unit.push_str(&part.section());
    }
    fs::write(&file, unit)?;
    fs::write(&steps, steps_unit(functions(headers).len()))?;
    let call = |arguments: &mut dyn FnMut(&mut Command)| {
        let mut command = Command::new(compiler);
        command.env("LC_ALL", "C").args(FLAGS);
        arguments(&mut command);
        command.output()
    };
    let steps = call(&mut |c| {
        c.arg("-c").arg(&steps).arg("-o").arg(&counted);
    })?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_string();
    if !steps.status.success() {
        return Ok(Compiled { said: said(&steps.stderr), ..Compiled::default() });
    }
    // Each block of the code calls `__sanitizer_cov_trace_pc`, which counts.
    let done = call(&mut |c| {
        c.args(["-shared", "-nostdlib", "-fsanitize-coverage=trace-pc", "-I"]).arg(folder);
        c.arg("-o").arg(output).arg(&file).arg(&counted);
        if let Some(archive) = &archive {
            // Of its own library only what is used, and nothing of it to be seen.
            c.arg(archive).args(["-Wl,--gc-sections", "-Wl,--exclude-libs,ALL"]);
        }
    })?;
    let said = said(&done.stderr);
    Ok(Compiled { findings: findings(&component, &text, &said), said, ok: done.status.success() })
}

/// The function that instrumented code calls; in a unit of its own, which is not instrumented.
fn steps_unit(nr: usize) -> String {
    format!(
        "extern void *weir_plugin_imports[];\nvoid __sanitizer_cov_trace_pc(void);\nvoid __sanitizer_cov_trace_pc(void)\n{{\n\t((void (*)(void))weir_plugin_imports[{nr}])();\n}}\n"
    )
}

/// A scheduler for the kernel that has the component as well.
#[derive(Clone, Copy, Debug)]
pub struct KernelPart<'a> {
    pub object: &'a Path,
    /// A line for each function of the component that the kernel side calls.
    pub entries: &'a Path,
}

/// Where the shared object keeps its [`KernelPart`]; sections that are not mapped.
pub const KERNEL_SECTION: &str = ".weir.kernel";
pub const KERNEL_ENTRIES: &str = ".weir.entries";

impl KernelPart<'_> {
    fn section(&self) -> String {
        let mut out = String::new();
        for (section, file) in [(KERNEL_SECTION, self.object), (KERNEL_ENTRIES, self.entries)] {
            let _ = writeln!(
                out,
                "__asm__(\".pushsection {section},\\\"\\\",@progbits\\n.incbin \\\"{}\\\"\\n.popsection\");",
                file.display()
            );
        }
        out
    }
}

/// A line of a compiler's output: `FILE:LINE:COLUMN: KIND: TEXT`.
struct Remark<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    kind: &'a str,
    text: &'a str,
}

impl<'a> Remark<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let kind = ["fatal error", "error", "warning", "note"]
            .into_iter()
            .filter_map(|k| Some((line.find(&format!(": {k}: "))?, k)))
            .min()?;
        let (place, text) = (&line[..kind.0], &line[kind.0 + kind.1.len() + 4..]);
        let (rest, column) = place.rsplit_once(':')?;
        let (file, number) = rest.rsplit_once(':')?;
        Some(Self { file, line: number.parse().ok()?, column: column.parse().ok()?, kind: kind.1, text })
    }

    /// Its place in the text of the file.
    fn at(&self, text: &str) -> std::ops::Range<usize> {
        let start: usize = text.split_inclusive('\n').take(self.line.saturating_sub(1)).map(str::len).sum();
        let line = text[start..].lines().next().unwrap_or_default();
        let skipped: usize = line
            .chars()
            .take(self.column.saturating_sub(1))
            .map(char::len_utf8)
            .sum::<usize>()
            .min(line.len());
        let at = start + skipped;
        let word = line[skipped..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(line.len() - skipped);
        at..at + word.max(1).min(text.len() - at)
    }
}

/// The compiler's errors and warnings at their places in the author's file: one for each line of it.
pub(crate) fn findings(component: &Component, text: &str, said: &str) -> Vec<Finding> {
    let path = component.path.display().to_string();
    let mut remarks: Vec<Remark<'_>> = said.lines().filter_map(Remark::of).collect();
    // A return that could not be understood is not a return: that follows from the error before.
    let follows = |r: &Remark<'_>| r.text.contains("[-Werror=return-type]");
    if remarks.iter().any(|r| r.kind == "error" && !follows(r)) {
        remarks.retain(|r| !follows(r));
    }
    let mut found: Vec<(usize, Finding)> = Vec::new();
    for (i, r) in remarks.iter().enumerate().filter(|(_, r)| r.kind != "note") {
        let warning = r.kind == "warning";
        // A macro of ours went wrong: the notes behind say where the author used it.
        let notes = remarks[i + 1..].iter().take_while(|n| n.kind == "note");
        let place = std::iter::once(r).chain(notes).find(|n| n.file == path);
        let Some(place) = place else {
            if !warning {
                found.push((
                    0,
                    Finding {
                        at: 0..0,
                        message: r.text.into(),
                        help: GENERATED.into(),
                        warning,
                        late: false,
                    },
                ));
            }
            continue;
        };
        let errors_first = |(line, f): &(usize, Finding)| *line == place.line && f.warning <= warning;
        if found.iter().any(errors_first) {
            continue;
        }
        let (message, help) = translated(component, r.text);
        found.push((place.line, Finding { at: place.at(text), message, help, warning, late: false }));
    }
    found.sort_by_key(|(line, f)| (f.warning, *line));
    // What has no place follows from what has one.
    if found.iter().any(|(line, f)| *line > 0 && !f.warning) {
        found.retain(|(line, _)| *line > 0);
    }
    found.into_iter().map(|(_, f)| f).collect()
}

const GENERATED: &str = "the compiler found this in what joins the component to the framework; does the file begin with \
                         `#include <weir/component.h>`?";

/// The compiler's words, or ours where they are about what only we know.
fn translated(component: &Component, text: &str) -> (String, String) {
    let name = &component.name;
    if let Some(at) = text.find(OURS) {
        let ours = text[at + OURS.len()..].trim_end_matches('"');
        let (message, help) = ours.split_once("; ").unwrap_or((ours, ""));
        return (message.into(), help.into());
    }
    // gcc quotes with typewriter quotes in the C locale, clang always.
    let quoted = text.split('\'').nth(1).unwrap_or_default();
    let function = quoted.strip_prefix(name.as_str()).and_then(|r| r.strip_prefix('_')).unwrap_or_default();
    if component.entries.iter().any(|e| e == function)
        && (text.contains("conflicting types") || text.contains("static declaration"))
    {
        let message = format!("`{quoted}` is not declared as the framework calls it");
        return (message, format!("write: {}", crate::source::signature(name, function)));
    }
    let text = text.split(" [-W").next().unwrap_or(text);
    if text.starts_with("implicit declaration of function") || text.contains("undeclared function") {
        if let Some(help) = crate::source::replaced(quoted) {
            return (format!("there is no function `{quoted}`"), help);
        }
        let help = text.split("did you mean '").nth(1).and_then(|t| t.split('\'').next()).map_or_else(
            || "components call nothing but their own functions and those of <weir/…>".into(),
            |near| format!("did you mean `{near}`?"),
        );
        return (format!("there is no function `{quoted}`"), help);
    }
    (text.to_owned(), String::new())
}

/// A text as C literals, a line each.
fn literals(manual: &str) -> String {
    manual.lines().fold(String::from("\t\"\"\n"), |mut out, line| {
        let _ = writeln!(out, "\t\"{}\\n\"", line.replace('\\', "\\\\").replace('"', "\\\""));
        out
    })
}

/// The host's dispatch comes with classes that it does not know to the loaded ones.
pub(crate) fn fallback(target: Target, entry: &str, arguments: &str, none: &str) -> String {
    match target {
        Target::Process => {
            format!("i->class >= WEIR_NR_CLASSES ? weir_loaded_{entry}(i{arguments}) : ({none})")
        }
        _ => none.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: &str = "\
#ifndef X
/* One (two), weir_three(4); */
struct weir_pipe {
\tu32 nr; /* weir_no(x) */
};
int weir_steps_lock(struct weir_instance weir_mem *self);
struct weir_task weir_mem *weir_pipe_first(const struct weir_pipe weir_mem *in,
\t\t\t\t\t      u32 *pos);
WEIR_INLINE int weir_pipe_has(const struct weir_pipe *pipe)
{
\treturn weir_load(&pipe->nr);
}
u64 weir_nothing(void);
/* --- for the framework --- */
int weir_pipe_lock(struct weir_pipe *pipe);
#endif
";

    #[test]
    fn declarations_are_found() {
        let found = functions(&[("pipe.h", PIPE)]);
        let names: Vec<&str> = found.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["weir_steps_lock", "weir_pipe_first", "weir_nothing"]);
        assert_eq!(
            (found[1].result.as_str(), &found[1].names[..]),
            ("struct weir_task weir_mem *", &["in".to_string(), "pos".into()][..])
        );
        assert!(found[2].names.is_empty());
    }

    #[test]
    fn another_header_is_another_abi() {
        let one = abi(&[("a.h", "int x;")]);
        assert_eq!(one, abi(&[("a.h", "int x;")]));
        assert_ne!(one, abi(&[("a.h", "int y;")]));
        assert_ne!(one, abi(&[("b.h", "int x;")]));
        assert_eq!(one, abi(&[("a.h", "/* A number. */\nint  x;\n")]));
    }

    #[test]
    fn a_plugin_names_what_it_has() {
        let component = Component {
            name: "mine".into(),
            path: "/x/mine.c".into(),
            source: "mine.c".into(),
            language: crate::Language::C,
            entries: vec!["on_priority".into(), "step".into()],
            own: vec![],
            plain: false,
            never_in_kernel: false,
            manual: "mine - say \"hello\"\n".into(),
        };
        let text = unit(&component, "", None, &[("pipe.h", PIPE)]);
        assert!(
            text.contains(".step = plugin_step,") && text.contains("case WEIR_TOPIC_PRIORITY:"),
            "{text}"
        );
        assert!(!text.contains("plugin_idle") && text.contains(r#"say \"hello\""#), "{text}");
    }

    #[test]
    fn what_a_compiler_says_gets_its_place() {
        let component = Component {
            name: "mine".into(),
            path: "/x/mine.c".into(),
            source: "mine.c".into(),
            language: crate::Language::C,
            entries: vec!["step".into()],
            own: vec![],
            plain: false,
            never_in_kernel: false,
            manual: String::new(),
        };
        let text = "one\ntwo three\nfour mine_step(x)\nWEIR_PARAM(a)\n";
        let said = "In file included from plugin.c:9:\n\
                    /x/mine.c:2:5: error: 'three' undeclared (first use in this function)\n    2 | two three\n\
                    /x/mine.c:2:5: note: each undeclared identifier\n\
                    /x/mine.c:3:6: error: conflicting types for 'mine_step'; have 'int(void)'\n\
                    weir/component.h:80:9: error: no member named 'a'\n\
                    /x/mine.c:4:1: note: in expansion of macro 'WEIR_PARAM'\n\
                    plugin.c:70:1: error: follows from the others\n\
                    /x/mine.c:1:1: warning: unused 'one' [-Wunused]\n";
        let found = findings(&component, text, said);
        let seen: Vec<(&str, &str, bool)> =
            found.iter().map(|f| (&text[f.at.clone()], f.message.as_str(), f.warning)).collect();
        assert_eq!(
            seen,
            [
                ("three", "'three' undeclared (first use in this function)", false),
                ("mine_step", "`mine_step` is not declared as the framework calls it", false),
                ("WEIR_PARAM", "no member named 'a'", false),
                ("one", "unused 'one'", true),
            ]
        );
        assert!(found[1].help.contains("struct weir_step weir_mem *s"), "{found:?}");
        assert!(
            translated(&component, "implicit declaration of function 'weir_route'").1.contains("weir_send(")
        );
    }
}
