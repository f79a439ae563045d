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

use crate::{Component, ENTRIES, Target, call};

/// Headers for those who run a scheduler: inline functions of others need their structs, but their functions are no
/// component's business.
const FOR_RUNTIMES: [&str; 3] = ["runtime.h", "schedule.h", "topology.h"];

/// Headers that a component may include, by their names below `weir/`; those of the kit are `kit/…`.
///
/// # Errors
/// A folder cannot be read.
pub fn header_names(root: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for folder in ["", "kit/"] {
        for entry in fs::read_dir(root.join("core/include/weir").join(folder))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".h") {
                names.push(format!("{folder}{name}"));
            }
        }
    }
    names.sort();
    Ok(names)
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
    for (name, text) in headers.iter().filter(|h| h.0 != "plugin.h" && !FOR_RUNTIMES.contains(&h.0)) {
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
                found.extend(declaration(&statement));
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

/// `int weir_pipe_append(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t); `
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

/// A number that two builds share only if their headers are the same (FNV-1a).
pub fn abi(headers: &[Header<'_>]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for (name, text) in headers {
        for byte in name.bytes().chain([0]).chain(text.bytes()).chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// Part of the host's unit: addresses of the functions, in the order of the ABI.
pub fn exports(headers: &[Header<'_>]) -> String {
    let all = functions(headers);
    let mut out =
        String::from("\n/* What components that are loaded may call. */\nvoid *const weir_exports[] = {\n");
    for f in &all {
        let _ = writeln!(out, "\t(void *){},", f.name);
    }
    let _ = writeln!(
        out,
        "}};\nconst u32 weir_nr_exports = {};\nconst u64 weir_abi = {:#x}ull;",
        all.len(),
        abi(headers)
    );
    out
}

/// The translation unit of a plugin.
pub fn unit(component: &Component, headers: &[Header<'_>]) -> String {
    let all = functions(headers);
    let n = &component.name;
    let mut out = String::from(
        "/* Generated. */\n#include <weir/plugin.h>\n#include <weir/runtime.h>\n#include <weir/schedule.h>\n",
    );
    for (header, _) in headers {
        let _ = writeln!(out, "#include <weir/{header}>");
    }
    let _ = writeln!(out, "\nstatic void *imports[{}];\n", all.len());
    for (i, f) in all.iter().enumerate() {
        let (result, arguments) = (&f.result, &f.arguments);
        let give = if result == "void" { "" } else { "return " };
        let names = f.names.join(", ");
        let _ = writeln!(
            out,
            "{result} {}({arguments})\n{{\n\t{give}(({result} (*)({arguments}))imports[{i}])({names});\n}}\n",
            f.name
        );
    }
    let _ = writeln!(out, "#include \"{}\"\n", component.path.display());
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
        let _ = writeln!(out, "static int plugin_{}({})\n{{", e.name, e.parameters());
        if e.by_topic {
            out.push_str("\tswitch (msg->topic) {\n");
            for (function, topic) in found {
                let _ = write!(
                    out,
                    "\tcase WEIR_TOPIC_{topic}:\n{}",
                    call(component, e, &function, Target::Process)
                );
            }
            let _ = writeln!(out, "\tdefault:\n\t\treturn {};\n\t}}\n}}\n", e.none);
        } else {
            let _ = writeln!(out, "{}}}\n", call(component, e, &found[0].0, Target::Process));
        }
        let _ = writeln!(fields, "\t.{0} = plugin_{0},", e.name);
    }
    let _ = writeln!(out, "static const char manual[] =\n{}\t;\n", text(&component.manual));
    let _ = writeln!(
        out,
        "extern const struct weir_plugin weir_plugin;\n__attribute__((visibility(\"default\"))) const struct weir_plugin weir_plugin = {{"
    );
    let _ = writeln!(out, "\t.magic = WEIR_PLUGIN_MAGIC,\n\t.abi = {:#x}ull,", abi(headers));
    let _ = writeln!(out, "\t.descriptor = &{n}_descriptor,\n\t.manual = manual,");
    let _ = writeln!(out, "\t.entries = {},", crate::entries_of(component));
    let _ = writeln!(out, "\t.imports = imports,\n\t.nr_imports = {},\n{fields}}};", all.len());
    out
}

/// What the compiler said, and whether it was content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiled {
    pub ok: bool,
    pub said: String,
}

/// Compile a component to a shared object at `output`; `folder` takes headers and unit. `compiler` is called as a C compiler.
///
/// # Errors
/// The source cannot be read, the folder cannot be written, or there is no such compiler.
pub fn build(
    source: &Path,
    headers: &[Header<'_>],
    folder: &Path,
    output: &Path,
    compiler: &str,
) -> io::Result<Compiled> {
    let component = crate::single(source)?;
    fs::create_dir_all(folder.join("weir/kit"))?;
    for (header, text) in headers {
        fs::write(folder.join("weir").join(header), text)?;
    }
    let file = folder.join("plugin.c");
    fs::write(&file, unit(&component, headers))?;
    let done = Command::new(compiler)
        .args(["-std=gnu11", "-O2", "-fPIC", "-shared", "-ffreestanding", "-fvisibility=hidden", "-nostdlib"])
        .args([
            "-fno-stack-protector",
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
            "-Wno-unused-function",
            "-I",
        ])
        .arg(folder)
        .arg("-o")
        .args([output, &file])
        .output()?;
    Ok(Compiled {
        ok: done.status.success(),
        said: String::from_utf8_lossy(&done.stderr).trim_end().to_string(),
    })
}

/// A text as C literals, a line each.
fn text(manual: &str) -> String {
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
int weir_pipe_append(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);
struct weir_change weir_mem *weir_change_next(struct weir_pipe weir_mem *in,
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
        assert_eq!(names, ["weir_pipe_append", "weir_change_next", "weir_nothing"]);
        assert_eq!(
            (found[1].result.as_str(), &found[1].names[..]),
            ("struct weir_change weir_mem *", &["in".to_string(), "pos".into()][..])
        );
        assert!(found[2].names.is_empty());
    }

    #[test]
    fn another_header_is_another_abi() {
        let one = abi(&[("a.h", "int x;")]);
        assert_eq!(one, abi(&[("a.h", "int x;")]));
        assert_ne!(one, abi(&[("a.h", "int y;")]));
        assert_ne!(one, abi(&[("b.h", "int x;")]));
    }

    #[test]
    fn a_plugin_names_what_it_has() {
        let component = Component {
            name: "mine".into(),
            path: "/x/mine.c".into(),
            source: "mine.c".into(),
            language: crate::Language::C,
            entries: vec!["on_priority".into(), "update".into()],
            plain: false,
            manual: "mine - say \"hello\"\n".into(),
        };
        let text = unit(&component, &[("pipe.h", PIPE)]);
        assert!(
            text.contains(".update = plugin_update,") && text.contains("case WEIR_TOPIC_PRIORITY:"),
            "{text}"
        );
        assert!(!text.contains("plugin_idle") && text.contains(r#"say \"hello\""#), "{text}");
    }
}
