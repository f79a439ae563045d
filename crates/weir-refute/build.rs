// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Copies of the analysis with an error in each, as modules: the refuter has to find them.

use std::fmt::Write as _;
use std::path::Path;

/// Name, file, what stands there, and what stands there in the copy.
const PLANTED: [(&str, &str, &str, &str); 5] = [
    // Under inheritance one section of all blocks, as under a ceiling.
    (
        "inheritance",
        "locks.rs",
        "sections.into_iter().fold(0, u64::saturating_add)",
        "sections.into_iter().max().unwrap_or(0)",
    ),
    // More urgent tasks come without jitter.
    ("jitter", "uni_fixed.rs", "let jobs = (w + u128::from(t.jitter))", "let jobs = w"),
    // Sections do not block intervals under EDF.
    ("demand", "uni_edf.rs", "u128::from(sections) + self.declared(t)", "self.declared(t)"),
    // A task's own sleep takes no time where others are deferred.
    ("sleep", "uni_fixed.rs", "first: 0, each: each.saturating_add(own.sleep)", "first: 0, each"),
    // What breaks an assumption changes nothing.
    (
        "assumptions",
        "assume.rs",
        "if !breaks || found.broken.contains(&feature)",
        "if breaks || !found.broken.contains(&feature)",
    ),
];

fn main() {
    let src = Path::new("../weir-analysis/src");
    println!("cargo:rerun-if-changed={}", src.display());
    println!("cargo:rerun-if-changed=build.rs");
    let mut names: Vec<String> = std::fs::read_dir(src)
        .expect("the analysis is beside this crate")
        .map(|e| e.expect("readable").file_name().into_string().expect("a plain name"))
        .filter(|n| n.ends_with(".rs"))
        .collect();
    names.sort();
    let mut out = String::new();
    for (module, file, good, bad) in PLANTED {
        let _ = writeln!(out, "#[allow(clippy::all, dead_code, unused)]\npub mod {module} {{");
        for name in &names {
            let mut text = std::fs::read_to_string(src.join(name)).expect("readable");
            if name == file {
                assert_eq!(
                    text.matches(good).count(),
                    1,
                    "{file}: the place of the error `{module}` has changed"
                );
                text = text.replace(good, bad);
            }
            text.truncate(text.find("#[cfg(test)]").unwrap_or(text.len()));
            let text = text.replace("crate::", &format!("crate::planted::{module}::"));
            if name == "lib.rs" {
                let uses = text.lines().filter(|l| l.starts_with("pub use "));
                uses.for_each(|l| out.push_str(&format!("{}\n", l.replace("pub use ", "pub use self::"))));
            } else {
                let _ = writeln!(out, "pub mod {} {{\n{text}\n}}", name.trim_end_matches(".rs"));
            }
        }
        out.push_str("}\n");
    }
    let dir = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&dir).join("planted.rs"), out).expect("writable");
}
