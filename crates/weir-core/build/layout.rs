// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Layouts of the structs that Rust mirrors, for the test that compares them with C's: the fields are read from the Rust
//! files, and a C table and a Rust table with sizes and offsets are made of them. A field that C has not is an error of
//! the C compiler.

use std::fmt::Write as _;
use std::path::Path;

/// Rust's file, module path and struct, C's struct, and whether only its beginning is mirrored.
const MIRRORS: &[(&str, &str, &str, &str, bool)] = &[
    ("ffi.rs", "crate::ffi", "CConfig", "weir_config", false),
    ("ffi.rs", "crate::ffi", "COpLog", "weir_oplog", false),
    ("ffi.rs", "crate::ffi", "CClass", "weir_class", false),
    ("ffi.rs", "crate::ffi", "CClassTopic", "weir_class_topic", false),
    ("ffi.rs", "crate::ffi", "COwnTopic", "weir_own_topic", false),
    ("ffi.rs", "crate::ffi", "CPlan", "weir_plan", false),
    ("ffi.rs", "crate::ffi", "CPlanPipe", "weir_plan_pipe", false),
    ("ffi.rs", "crate::ffi", "CPlanInstance", "weir_plan_instance", false),
    ("ffi.rs", "crate::ffi", "CPlanCpu", "weir_plan_cpu", false),
    ("ffi.rs", "crate::ffi", "CMask", "weir_cpumask", false),
    ("ffi.rs", "crate::ffi", "CMsg", "weir_msg", false),
    ("ffi.rs", "crate::ffi", "CSwapStats", "weir_swap_stats", false),
    ("ffi.rs", "crate::ffi", "CReplacement", "weir_replacement", false),
    ("ffi.rs", "crate::ffi", "CTask", "weir_task", false),
    ("ffi.rs", "crate::ffi", "CParam", "weir_param", false),
    ("ffi.rs", "crate::ffi", "CRelation", "weir_relation", false),
    ("ffi.rs", "crate::ffi", "CDescriptor", "weir_descriptor", false),
    ("ffi.rs", "crate::ffi", "CEntries", "weir_entries", false),
    ("ffi.rs", "crate::ffi", "CPlugin", "weir_plugin", true),
    ("ffi.rs", "crate::ffi", "CCrash", "weir_crash", false),
    ("ffi.rs", "crate::ffi", "CMemory", "weir_host_memory", false),
    ("sched.rs", "crate::sched", "OpRecord", "weir_op", false),
    ("counters.rs", "crate", "Counters", "weir_counters", false),
    ("raw.rs", "crate::raw", "Sched", "weir_sched", true),
    ("raw.rs", "crate::raw", "Cpu", "weir_cpu", false),
    ("raw.rs", "crate::raw", "Graph", "weir_graph", true),
    ("raw.rs", "crate::raw", "Pipe", "weir_pipe", false),
    ("raw.rs", "crate::raw", "Task", "weir_task", false),
];

/// Fields with another name in C: keywords, and what C has in a struct within.
const RENAMED: &[(&str, &str, &str)] = &[
    ("weir_crash", "class", "where.class"),
    ("weir_crash", "instance", "where.instance"),
    ("weir_crash", "entry", "where.entry"),
    ("weir_crash", "topic", "where.topic"),
    ("weir_crash", "task", "where.task"),
    ("weir_crash", "unused", "where.unused"),
    ("weir_crash", "cookie", "where.cookie"),
];

/// The C file and the Rust file.
pub fn tables(src: &Path) -> (String, String) {
    let mut c = String::from(
        "#include \"internal.h\"\n#include <weir/plugin.h>\n#include \"guard.h\"\n#include \"host.h\"\n\
         const u32 weir_layout[] = {\n",
    );
    let mut rust = String::from(
        "/// C's struct, whether only its beginning is mirrored, and size and offsets by name.\n\
         type Layout = (&'static str, bool, Vec<(&'static str, usize)>);\n\
         fn layouts() -> Vec<Layout> {\n    vec![\n",
    );
    for (file, module, name, in_c, beginning) in MIRRORS {
        let text = std::fs::read_to_string(src.join(file)).expect("our own source is readable");
        let fields = fields(&text, name).unwrap_or_else(|| panic!("{file} has no struct {name}"));
        assert!(!fields.is_empty(), "{file}: no field of {name} was found");
        writeln!(c, "\tsizeof(struct {in_c}),").expect("to memory");
        write!(rust, "        ({in_c:?}, {beginning}, vec![(\"\", size_of::<{module}::{name}>())")
            .expect("to memory");
        for field in fields {
            let there = RENAMED.iter().find(|r| r.0 == *in_c && r.1 == field).map_or(field.as_str(), |r| r.2);
            writeln!(c, "\t__builtin_offsetof(struct {in_c}, {there}),").expect("to memory");
            write!(rust, ", ({field:?}, std::mem::offset_of!({module}::{name}, {field}))")
                .expect("to memory");
        }
        rust.push_str("]),\n");
    }
    c.push_str("};\nconst u32 weir_layout_len = sizeof(weir_layout) / sizeof(u32);\n");
    rust.push_str("    ]\n}\n");
    (c, rust)
}

/// Names of the fields of a struct, in order: `pub struct NAME { pub field: type, … }`, or `"c_name" NAME { field: type, … }`
/// in a macro.
fn fields(text: &str, name: &str) -> Option<Vec<String>> {
    let head = [format!("pub struct {name} {{"), format!("\" {name} {{")];
    let at = head.iter().find_map(|h| text.find(h.as_str()).map(|i| i + h.len()))?;
    let body = &text[at..at + text[at..].find('}')?];
    let field = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("pub ").unwrap_or(line);
        let (name, _) = line.split_once(": ")?;
        let is_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        is_name.then(|| name.to_string())
    };
    Some(body.lines().filter(|l| !l.trim_start().starts_with("//")).filter_map(field).collect())
}
