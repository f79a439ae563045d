// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Steps: the update functions of components that carry tasks, compiled once more for the arrival of one task
//! (`core/src/step.h`, docs/decisions/0050). The files are included a second time, and their functions and types get other names.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::{fs, io};

use crate::{Component, Language, Target};

/// Functions that the kit's macros (`WEIR_PLACE`, `WEIR_REVIEW_ALL`) define for a component.
const MADE: [&str; 4] = ["place", "review", "review_all", "review_pipe"];

/// The steps of all that carry tasks, and the `switch` over them: the last part of a unit.
///
/// # Errors
/// A component's file cannot be read.
pub fn steps(out: &mut String, all: &[&Component], target: Target) -> io::Result<()> {
    out.push_str("\n/* Steps. */\n#include \"step.h\"\n");
    let mut cases = String::new();
    for c in all {
        let Some(text) = carrying(c)? else { continue };
        let names = names(&c.name, &text);
        for name in &names {
            let _ = writeln!(out, "#define {name} step_{name}");
        }
        let _ = writeln!(out, "#include \"{}\"", c.path.display());
        for name in names.iter().map(String::as_str).chain(c.own.iter().map(|o| o.0.as_str())) {
            let topic = if names.contains(name) { "" } else { "WEIR_TOPIC_" };
            let _ = writeln!(out, "#undef {topic}{name}");
        }
        let n = &c.name;
        if target == Target::Bpf && !c.plain {
            let _ = writeln!(
                out,
                "\nWEIR_GLOBAL int weir_{n}_step(struct weir_instance weir_mem *i weir_arg, struct weir_pipe weir_mem *in weir_arg)\n\
                 {{\n\tweir_use(i);\n\tweir_use(in);\n\treturn step_{n}_update((struct step_{n} weir_mem *)i, in);\n}}"
            );
            let _ = writeln!(cases, "\tcase WEIR_CLASS_{n}:\n\t\treturn weir_{n}_step(i, in);");
            continue;
        }
        let _ = writeln!(
            cases,
            "\tcase WEIR_CLASS_{n}:\n\t\treturn step_{n}_update((struct step_{n} weir_mem *)i, in);"
        );
    }
    let _ = writeln!(
        out,
        "\n{} int weir_class_step(struct weir_instance weir_mem *i, struct weir_pipe weir_mem *in)\n{{\n\tswitch (i->class) {{\n\
         {cases}\tdefault:\n\t\treturn {};\n\t}}\n}}",
        if target == Target::Bpf { "WEIR_FLAT" } else { "" },
        if target == Target::Bpf { "-WEIR_EINVAL" } else { "weir_class_update(i, in)" }
    );
    Ok(())
}

/// The text of a component that carries tasks.
pub fn carrying(c: &Component) -> io::Result<Option<String>> {
    if c.language != Language::C || !c.has("update") {
        return Ok(None);
    }
    let text = fs::read_to_string(&c.path)?;
    Ok(text.contains(".carries = WEIR_CARRIES").then_some(text))
}

/// The names in a component's file that begin with its own: types, functions and enumerators.
fn names(component: &str, text: &str) -> BTreeSet<String> {
    let upper = component.to_uppercase();
    let own = |word: &str, prefix: &str| {
        word.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    // A macro may be defined twice in the same words.
    let is_macro = |word: &str| text.contains(&format!("#define {word}"));
    let mut all: BTreeSet<String> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| own(word, component) || (own(word, &upper) && !is_macro(word)))
        .map(str::to_owned)
        .collect();
    all.extend(MADE.iter().map(|made| format!("{component}_{made}")));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_components_names_are_its_own() {
        let text = "#define RR_MOST 3\nenum { RR_NEW, RR_OLD = RR_MOST };\nstruct rr { u64 slice; };\n\
                    int rr_update(struct rr *self) { return rrr(self, other_rr); }";
        let found = names("rr", text);
        let expected = [
            "RR_NEW",
            "RR_OLD",
            "rr",
            "rr_place",
            "rr_review",
            "rr_review_all",
            "rr_review_pipe",
            "rr_update",
        ];
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), expected);
    }
}
