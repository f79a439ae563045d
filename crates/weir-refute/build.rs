// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Copies of the analyses with an error in each, as modules: the refuter has to find them.

use std::fmt::Write as _;
use std::path::Path;

/// A copy: its module, the file with the error, what stands there, and what stands there in the copy.
type Plant = (&'static str, &'static str, &'static str, &'static str);

/// Of the schedulability tests.
const TESTS: [Plant; 5] = [
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

/// Of the forecasts for other sizes.
const FORECASTS: [Plant; 3] = [
    // Forecasts reach far beyond what was simulated, and nothing speaks against them.
    ("reach", "mod.rs", "let why = tests.against(f.cpus, foreseen)?;", "let why = None::<String>?;"),
    // Only waits count against the limit.
    ("share", "mod.rs", "Measure::Share => sample.share()", "Measure::Share => sample.wait_share()"),
    // Larger sizes within the limit are those beyond it.
    ("again", "mod.rs", "s.cpus > n) && measure.of(s) <= share", "s.cpus > n) && measure.of(s) > share"),
];

/// Of the map of gangs.
const MAPS: [Plant; 3] = [
    // The quotient is upside down.
    (
        "quotient",
        "gang_map.rs",
        "(under > 0.0).then(|| together / under)",
        "(under > 0.0).then(|| under / together)",
    ),
    // Five periods are looked at, the beginning.
    ("short", "gang_map.rs", "(40 * grain_ns).clamp(periods * PERIOD, 100 * PERIOD)", "5 * PERIOD"),
    // Members compute between slots, too.
    ("outside", "gang_map.rs", ",outside=wait\"", ",outside=run\""),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let mut out = String::new();
    for plant in TESTS {
        folder(&mut out, plant, "../weir-analysis/src", "lib.rs", &format!("crate::planted::{}::", plant.0));
    }
    for plant in FORECASTS {
        folder(&mut out, plant, "../weir/src/analyze/contention", "mod.rs", "weir::");
    }
    for plant in MAPS {
        file(&mut out, plant, "../weir/src", "weir::");
    }
    let dir = std::env::var("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&dir).join("planted.rs"), out).expect("writable");
}

/// A file without its tests, with the error if it is in this one.
fn copy(path: &Path, (module, file, good, bad): Plant, root: &str) -> String {
    println!("cargo:rerun-if-changed={}", path.display());
    let mut text = std::fs::read_to_string(path).expect("readable");
    text.truncate(text.find("#[cfg(test)]").unwrap_or(text.len()));
    if path.ends_with(file) {
        assert_eq!(text.matches(good).count(), 1, "{file}: the place of the error `{module}` has changed");
        text = text.replace(good, bad);
    }
    text.replace("crate::", root)
}

/// Open the copy's module.
fn begin(out: &mut String, module: &str) {
    let _ = writeln!(out, "#[allow(clippy::all, dead_code, unused)]\npub mod {module} {{");
}

/// A file that is a module of its own.
fn file(out: &mut String, plant: Plant, dir: &str, root: &str) {
    begin(out, plant.0);
    let _ = writeln!(out, "{}\n}}", copy(&Path::new(dir).join(plant.1), plant, root));
}

/// A folder of modules; those of its root stay where they are named.
fn folder(out: &mut String, plant: Plant, dir: &str, root_file: &str, root: &str) {
    let dir = Path::new(dir);
    println!("cargo:rerun-if-changed={}", dir.display());
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .expect("the analysis is beside this crate")
        .map(|e| e.expect("readable").file_name().into_string().expect("a plain name"))
        .filter(|n| n.ends_with(".rs") && n != root_file)
        .collect();
    names.sort();
    begin(out, plant.0);
    let own = copy(&dir.join(root_file), plant, root);
    let modules = |l: &&str| !(l.ends_with(';') && (l.starts_with("mod ") || l.starts_with("pub mod ")));
    for line in own.lines().filter(modules) {
        let _ = writeln!(out, "{}", line.replace("pub use ", "pub use self::"));
    }
    for name in &names {
        let text = copy(&dir.join(name), plant, root);
        let _ = writeln!(out, "pub mod {} {{\n{text}\n}}", name.trim_end_matches(".rs"));
    }
    out.push_str("}\n");
}
