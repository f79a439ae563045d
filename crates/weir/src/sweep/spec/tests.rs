// SPDX-License-Identifier: MIT OR GPL-2.0-only

use super::*;

const GRID: &str = r#"
topology = ["edf", { name = "llf slow", topology = "llf", set = { "llf.tick" = "1ms" } }]
machine = ["smp-2", "smp-4"]
workload = "periodic:pmin=5ms"
costs = "zero"
seeds = { first = 10, count = 3 }
duration = "100ms"
[keys]
util = { from = "150%", to = "200%", step = "25%" }
tasks = 8
"#;

fn parse(text: &str) -> Result<Spec> {
    Spec::parse("s/grid.toml", text, &["preemptions", "migrations"])
}

fn refused(from: &str, to: &str) -> String {
    assert!(GRID.contains(from), "{from}");
    parse(&GRID.replacen(from, to, 1)).expect_err(to).to_string()
}

#[test]
fn a_grid_is_the_product_of_its_axes() {
    let spec = parse(GRID).expect("right");
    assert_eq!(spec.name, "grid");
    assert_eq!(spec.seeds, [10, 11, 12]);
    assert_eq!(spec.nr_points(), 2 * 2 * 3);
    assert_eq!(spec.values(0), ["edf", "smp-2", "periodic:pmin=5ms", "zero", "150%", "8"]);
    assert_eq!(spec.values(11), ["llf slow", "smp-4", "periodic:pmin=5ms", "zero", "200%", "8"]);
    assert_eq!(spec.variants[1].sets, ["llf.tick=1ms"]);
    assert_eq!(spec.plot, PlotSpec { x: Some("keys.util".into()), y: vec!["success".into()] });
    assert!(!spec.stop_at_miss && spec.duration_ns == Some(100_000_000));
}

#[test]
fn settings_may_be_dotted() {
    let spec = parse(&format!("{GRID}[set]\nllf.tick = [\"1ms\", \"2ms\"]\n\"edf.x\" = 1\n")).expect("right");
    let columns: Vec<&str> = spec.axes.iter().map(|a| a.column.as_str()).collect();
    assert_eq!(columns[6..], ["set.llf.tick", "set.edf.x"]);
    assert_eq!(spec.nr_points(), 24);
}

#[test]
fn every_mistake_has_a_place_and_a_remedy() {
    for (from, to, says) in [
        ("machine =", "mashine =", "did you mean `machine`?"),
        ("util =", "utli =", "did you mean `util`?"),
        ("costs = \"zero\"", "costs = []", "empty list"),
        ("tasks = 8", "pmin = \"1ms\"", "given in `periodic:pmin=5ms` already"),
        ("periodic:pmin=5ms", "avionics", "not a generator"),
        ("100ms", "100", "has no unit"),
        ("topology = [\"edf\", ", "topology = [\"edf\", \"edf\", ", "two topologies are called `edf`"),
        ("\"llf.tick\" = \"1ms\"", "tick = \"1ms\"", "does not say whose parameter it is"),
        ("{ first = 10, count = 3 }", "[1, 1]", "a seed twice"),
        ("{ first = 10, count = 3 }", "0", "outside"),
        ("[keys]", "[plot]\nx = \"keys.utl\"\n[keys]", "did you mean `keys.util`?"),
        ("[keys]", "[plot]\ny = \"preemtions\"\n[keys]", "did you mean `preemptions`?"),
        ("machine = [\"smp-2\", \"smp-4\"]", "", "lacks `machine`"),
        ("step = \"25%\"", "step = \"0.0001%\"", "too many steps"),
    ] {
        let error = refused(from, to);
        assert!(error.contains(says) && error.contains("help:"), "{to}: {error}");
    }
}

#[test]
fn the_size_is_bounded() {
    let error = refused("tasks = 8", "tasks = { from = 1, to = 90000, step = 1 }");
    assert!(error.contains("more than 100000 points"), "{error}");
    let error = refused("{ first = 10, count = 3 }", "10000000");
    assert!(error.contains("more than 20000000 runs"), "{error}");
}
