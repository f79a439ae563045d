// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! No input makes the compiler panic or hang, and what compiles once compiles the same again.

use crate::common::{machine, testcat, topologies, weir_files};
use proptest::prelude::*;
use weir_lang::{NoIncludes, Source, compile, draw, format};

/// Run everything that takes a text.
fn all(text: &str, m: &str) {
    let source = Source { name: "f.weir".into(), text: text.into() };
    let shape = machine(m);
    match compile(&source, &NoIncludes, &testcat::catalog(), &shape, &[]) {
        Ok(compiled) => {
            let again =
                compile(&source, &NoIncludes, &testcat::catalog(), &shape, &[]).expect("it did before");
            assert_eq!(compiled.plan, again.plan);
            draw::svg(&compiled.graph, &draw::SvgOptions::default());
            draw::dot(&compiled.graph);
            draw::mermaid(&compiled.graph);
            // The layout of the text does not change its meaning.
            let formatted = format(&source).expect("it compiled");
            let source = Source { text: formatted, ..source };
            let moved =
                compile(&source, &NoIncludes, &testcat::catalog(), &shape, &[]).expect("it did before");
            assert_eq!(compiled.plan, moved.plan);
        }
        Err(findings) => {
            assert!(!findings.is_empty());
            for f in findings {
                assert!(!f.to_string().is_empty());
                assert!(f.help.is_some(), "without help: {f}");
            }
        }
    }
    if let Ok(once) = format(&source_of(text)) {
        let twice = format(&source_of(&once)).expect("formatted text parses");
        assert_eq!(once, twice, "formatting is idempotent");
    }
}

fn source_of(text: &str) -> Source {
    Source { name: "f.weir".into(), text: text.into() }
}

const WORDS: [&str; 71] = [
    "annotate",
    "entry",
    "each",
    "cpu",
    "cpus",
    "core",
    "llc",
    "cluster",
    "node",
    "package",
    "in",
    "out",
    "include",
    "topology",
    "leave",
    "param",
    "all",
    "except",
    "part",
    "of",
    "true",
    "native",
    "accel",
    "->",
    "~>",
    "::",
    ":",
    ",",
    ";",
    ";",
    ";",
    "=",
    "-",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "{",
    "}",
    "0",
    "1",
    "2",
    "3ms",
    "50%",
    "4KiB",
    "count",
    "ns",
    "x",
    "y",
    "lb",
    "t",
    "affinity",
    "isa",
    "lamport",
    "load_balancer",
    "isa_demux",
    "head_queue",
    "fcfs",
    "round_robin",
    "task_mux",
    "termination",
    "// c\n",
    "/* d */",
    "\"s\"",
    "\n",
    "\n\n",
    "§",
    "#",
    "99999999999999999999",
];

/// Pieces that are well-formed, so that soup of them gets past the parser.
const PIECES: [&str; 34] = [
    "annotate affinity;",
    "annotate affinity, lamport, isa;",
    "leave cpu 1;",
    "param k: count = 2;",
    "topology t(s: ns = 1ms) { in -> round_robin(slice = s) -> out }",
    "topology u { in -> t -> t -> out }",
    "topology w { in[0] -> out[1]; in[1] -> out[0] }",
    "entry -> ",
    "entry each cpu -> ",
    "entry each part of k -> ",
    "entry each 2 cpus in native -> ",
    "lb :: load_balancer -> ",
    "load_balancer -> ",
    "load_balancer ~> all ",
    "lb -> ",
    "lb[cpu 0] -> ",
    "lb[1] -> ",
    "[0]lb -> ",
    "x :: isa_demux -> ",
    "x[native] -> ",
    "x[accel] -> ",
    "head_queue -> ",
    "fcfs -> ",
    "t -> ",
    "u(s = 2ms) -> ",
    "w -> ",
    "y :: w; y -> [1]y; lb -> y; y[1] -> ",
    "each cpu { entry -> round_robin -> cpu };",
    "each cpu { -> cpu };",
    "each llc { task_mux -> each cpu { head_queue -> cpu } };",
    "each cpu in accel { head_queue ~> cpu };",
    "cpus;",
    "cpu 0;",
    "each cpu except cpu 0 { entry -> head_queue } -> ",
];

/// Number of random texts of each kind; `PROPTEST_CASES` sets another for long runs.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes(data in proptest::collection::vec(any::<u8>(), 0..300)) {
        all(&String::from_utf8_lossy(&data), "smp-2");
    }

    #[test]
    fn words(picks in proptest::collection::vec(0..WORDS.len(), 0..80)) {
        let text: Vec<&str> = picks.iter().map(|i| WORDS[*i]).collect();
        all(&text.join(" "), "accel");
    }

    #[test]
    fn pieces(picks in proptest::collection::vec(0..PIECES.len(), 0..14), m in 0..5usize) {
        let text: String = picks.iter().map(|i| PIECES[*i]).collect();
        all(&text, ["smp-1", "smp-2", "accel", "llcs", "islands"][m]);
    }

    /// Settings are texts of the user as well.
    #[test]
    fn settings(component in "[a-z@0-9. §]{0,12}|round_robin|lb|f", param in "[a-z§]{0,6}|slice|k", value in "\\PC{0,12}|[0-9]{1,25}(ms|s|%|KiB)?") {
        let text = "param k: count = 1; annotate affinity; entry each part of k -> lb :: load_balancer -> each cpu { round_robin -> cpu };";
        let sets = [weir_lang::Set { component, param, value }];
        match compile(&source_of(text), &NoIncludes, &testcat::catalog(), &machine("smp-2"), &sets) {
            Ok(c) => assert!(c.warnings.is_empty()),
            Err(findings) => findings.iter().for_each(|f| assert!(!f.to_string().is_empty() && f.help.is_some())),
        }
    }

    /// One word of a good topology is changed, dropped or doubled.
    #[test]
    fn slips(file in 0..32usize, at in 0..400usize, what in 0..WORDS.len(), how in 0..3u8) {
        let files = weir_files(&topologies());
        let (_, text) = &files[file % files.len()];
        let body: String = text.lines().filter(|l| !l.starts_with("//")).collect::<Vec<_>>().join("\n");
        let mut words: Vec<&str> = body.split_inclusive(char::is_whitespace).collect();
        let at = at % words.len().max(1);
        match how {
            0 => words[at] = WORDS[what],
            1 => drop(words.remove(at)),
            _ => words.insert(at, WORDS[what]),
        }
        all(&words.concat(), ["smp-2", "smp-4", "accel", "llcs"][what % 4]);
    }
}

/// Shapes that once were dangerous in such parsers: depth, width, growth.
#[test]
fn hostile_texts_end_soon() {
    let doubling = |n: usize| -> String {
        let mut text = "topology t0 { in -> head_queue -> out }\n".to_string();
        for i in 1..n {
            text += &format!("topology t{i} {{ in -> t{} -> t{} -> out }}\n", i - 1, i - 1);
        }
        text + &format!("entry -> t{} -> cpus;", n - 1)
    };
    let empty_doubling: String = (1..30)
        .map(|i| format!("topology t{i} {{ each cpu {{ t{0}; t{0} }} }}\n", i - 1))
        .collect::<String>()
        + "topology t0 { each cpu { each cpu { head_queue } } }\nt29;";
    let texts = [
        "{".repeat(100_000),
        "each cpu {".repeat(50_000),
        "each cpu { each llc {".repeat(31) + " -> cpu " + &"}".repeat(62),
        "a -> ".repeat(100_000),
        "a(".repeat(100_000),
        "x[".repeat(100_000),
        "a::".repeat(100_000),
        "/*".repeat(100_000),
        "}".repeat(100_000),
        "a;".repeat(50_000),
        "\"".repeat(100_000),
        "annotate ".to_string() + &"affinity,".repeat(20_000),
        "x".repeat(1_000_000),
        "9".repeat(100_000),
        "topology t { in -> t -> out } entry -> t -> cpus;".into(),
        doubling(20),
        doubling(200),
        empty_doubling,
        "each cpu { entry -> load_balancer }".to_string()
            + &" -> all each cpu { task_mux }".repeat(60)
            + "-> each cpu { -> cpu };",
    ];
    for text in texts {
        let start: String = text.chars().take(40).collect();
        let began = std::time::Instant::now();
        all(&text, "llcs");
        println!("{start:?}: {:?}", began.elapsed());
        assert!(began.elapsed().as_secs() < 100, "{start} took {:?}", began.elapsed());
    }
}

/// One block too many gave a diagnostic for each block around it, too.
#[test]
fn blocks_nested_too_deep_give_one_diagnostic() {
    let text = format!(
        "entry -> lb :: load_balancer -> {}round_robin -> cpu;{}",
        "each cpu { ".repeat(33),
        " }".repeat(33)
    );
    let source = Source { name: "t.weir".into(), text };
    let found =
        weir_lang::compile(&source, &weir_lang::NoIncludes, &testcat::catalog(), &machine("smp-2"), &[])
            .expect_err("too deep");
    let codes: Vec<&str> = found.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["too-deep"]);
}

/// Each finding has a copy of its source: 4 MB of `/*` took 800 MB and six seconds.
#[test]
fn large_nonsense_gives_few_findings() {
    let source = Source { name: "t.weir".into(), text: "/*".repeat(2_000_000) };
    let found =
        weir_lang::compile(&source, &weir_lang::NoIncludes, &testcat::catalog(), &machine("smp-2"), &[])
            .expect_err("nonsense");
    assert!((1..=4).contains(&found.len()), "{} findings", found.len());
}
