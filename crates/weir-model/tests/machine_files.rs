// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Machine and cost files from the outside: the diagnostics of every wrong file in `tests/bad`, and
//! readers that neither panic nor hang whatever they are given.

// As in the library: a diagnostic carries its source text, and errors are rare.
#![allow(clippy::result_large_err)]

use std::path::PathBuf;
use std::sync::OnceLock;

use proptest::prelude::*;
use weir_model::{Costs, Error, Machine};

fn folder(kind: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/bad").join(kind)
}

/// Name and text of every file of a folder, by name.
fn files(kind: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = std::fs::read_dir(folder(kind))
        .expect("the folder exists")
        .map(|entry| {
            let path = entry.expect("the folder can be read").path();
            let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("it is text"))
        })
        .collect();
    all.sort();
    assert!(all.len() >= 10, "only {} wrong files of kind {kind}", all.len());
    all
}

fn diagnostics<T: std::fmt::Debug>(kind: &str, read: impl Fn(&str, &str) -> Result<T, Error>) -> String {
    let one = |(name, text): &(String, String)| {
        let error = read(name, text).expect_err(name);
        assert!(error.help.is_some(), "{name}: no remedy");
        assert!(error.span.is_some(), "{name}: no place");
        error.to_string()
    };
    files(kind).iter().map(one).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn wrong_hwloc_files() {
    insta::assert_snapshot!(diagnostics("machine-xml", |name, text| Machine::from_text(name, text, "x")));
}

#[test]
fn wrong_toml_machines() {
    insta::assert_snapshot!(diagnostics("machine-toml", |name, text| Machine::from_text(name, text, "x")));
}

#[test]
fn wrong_cost_files() {
    insta::assert_snapshot!(diagnostics("costs", Costs::from_toml));
}

/// One change of a text.
#[derive(Clone, Debug)]
enum Edit {
    Remove(usize, usize),
    Insert(usize, String),
    /// Copy a part to another place.
    Copy(usize, usize, usize),
    Cut(usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let word = prop_oneof![
        Just("\"".to_string()),
        Just("99999999999".to_string()),
        Just("-1".to_string()),
        Just("[".to_string()),
        Just("<object type=\"PU\" os_index=\"1048575\"/>".to_string()),
        Just("</object>".to_string()),
        Just("0xf...f".to_string()),
        Just(",,,,".to_string()),
        Just("é".to_string()),
        Just("\n[[cpus]]\ncount = 4096\n".to_string()),
        "[ -~]{0,6}",
    ];
    prop_oneof![
        (any::<usize>(), 0usize..200).prop_map(|(a, n)| Edit::Remove(a, n)),
        (any::<usize>(), word).prop_map(|(a, w)| Edit::Insert(a, w)),
        (any::<usize>(), 0usize..300, any::<usize>()).prop_map(|(a, n, b)| Edit::Copy(a, n, b)),
        any::<usize>().prop_map(Edit::Cut),
    ]
}

/// A position in `text`, at a character boundary.
fn position(text: &str, at: usize) -> usize {
    let mut i = at % (text.len() + 1);
    while !text.is_char_boundary(i) {
        i -= 1;
    }
    i
}

fn apply(text: &mut String, edit: &Edit) {
    match edit {
        Edit::Remove(a, n) => {
            let start = position(text, *a);
            let end = position(text, start.saturating_add(*n).min(text.len()));
            text.replace_range(start..end.max(start), "");
        }
        Edit::Insert(a, word) => {
            let at = position(text, *a);
            text.insert_str(at, word);
        }
        Edit::Copy(a, n, b) => {
            let start = position(text, *a);
            let end = position(text, start.saturating_add(*n).min(text.len())).max(start);
            let part = text[start..end].to_string();
            let at = position(text, *b);
            text.insert_str(at, &part);
        }
        Edit::Cut(a) => {
            let at = position(text, *a);
            text.truncate(at);
        }
    }
}

/// Texts to begin with: written machines and all wrong files.
fn seeds() -> &'static [String] {
    static SEEDS: OnceLock<Vec<String>> = OnceLock::new();
    SEEDS.get_or_init(|| {
        let no_file = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let preset = |name: &str| Machine::resolve(name, &no_file, &[]).expect("a preset");
        let mut all: Vec<String> = ["i7-2600", "hybrid-2p4e", "opteron-64", "accel-4x2", "cluster-2x3"]
            .iter()
            .map(|name| preset(name))
            .flat_map(|m| [m.to_toml(), m.to_hwloc_xml()])
            .collect();
        all.extend(["machine-xml", "machine-toml"].iter().flat_map(|k| files(k)).map(|(_, text)| text));
        all
    })
}

/// Number of cases: enough for every build; `PROPTEST_CASES` asks for more, to fuzz for minutes.
fn cases() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(1000), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    /// Mutated files are read or refused, and what is read is sound enough to be described and written.
    #[test]
    fn mutated_machines_never_panic(seed in 0usize..1000, edits in prop::collection::vec(edit(), 1..6)) {
        let mut text = seeds()[seed % seeds().len()].clone();
        edits.iter().for_each(|e| apply(&mut text, e));
        match Machine::from_text("x", &text, "x") {
            Ok(mut m) => {
                m.warnings.clear();
                prop_assert!(m.nr_cpus() >= 1 && m.nr_cpus() <= 4096);
                let _ = m.describe();
                let back = Machine::from_text("back.toml", &m.to_toml(), "x");
                prop_assert_eq!(back, Ok(m));
            }
            Err(e) => prop_assert!(!e.to_string().is_empty() && e.help.is_some(), "{e}"),
        }
    }

    #[test]
    fn mutated_costs_never_panic(edits in prop::collection::vec(edit(), 1..6)) {
        let mut text = Costs::default().to_toml();
        edits.iter().for_each(|e| apply(&mut text, e));
        match Costs::from_toml("x", &text) {
            Ok(c) => prop_assert_eq!(Costs::from_toml("back", &c.to_toml()), Ok(c)),
            Err(e) => prop_assert!(e.help.is_some(), "{e}"),
        }
    }
}

/// Files that are all size: each is refused with its reason, long before memory or patience run out.
#[test]
fn monstrous_files_are_refused() {
    let topology = |inside: String| format!("<topology version=\"2.0\">{inside}</topology>");
    let pu = |i: u32| format!("<object type=\"PU\" os_index=\"{i}\"/>");
    let machine =
        |inside: String| topology(format!("<object type=\"Machine\" os_index=\"0\">{inside}</object>"));
    let deep = 100_000;
    let cases: Vec<(&str, String)> = vec![
        ("nested deeper", topology("<object type=\"Group\">".repeat(deep) + &"</object>".repeat(deep))),
        ("has 5000 CPUs", machine((0..5_000).map(pu).collect())),
        ("more than 65536 CPUs", machine((0..70_000).map(pu).collect())),
        (
            "more than 4096 NUMA nodes",
            machine((0..5_000).map(|i| format!("<object type=\"NUMANode\" os_index=\"{i}\"/>")).collect()),
        ),
        (
            "longer than",
            machine(pu(0)).replacen(
                "<object",
                &format!("<object allowed_cpuset=\"{}\"", ",".repeat(1_000_000)),
                1,
            ),
        ),
        ("not below 1000000", machine(pu(4_000_000_000))),
        ("nodes", machine("<info/>".repeat(2_100_000))),
        ("more than 4096 CPUs", "[[cpus]]\ncount = 4096\n".repeat(1_000)),
        (
            "names",
            format!(
                "[[cpus]]\ncount = 1\n[[event]]\nat = \"1s\"\noffline = \"{}\"",
                "0-999999,".repeat(100_000)
            ),
        ),
        ("at most 256 kinds", (0..5_000).map(|i| format!("[[kind]]\nname = \"{i}\"\n")).collect()),
        ("this is not TOML", format!("cpus = {}", "[".repeat(100_000))),
    ];
    let started = std::time::Instant::now();
    for (reason, text) in cases {
        let error = Machine::from_text("huge", &text, "huge").expect_err(reason);
        assert!(error.message.contains(reason), "{reason}: {}", error.message);
    }
    assert!(started.elapsed().as_secs() < 120, "{:?}", started.elapsed());
}
