// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `soc`: what is listed and refused. That systems run is tested by tools/test-soc.sh, which needs Verilator and a compiler.

use super::{good, json, runweir};

#[test]
fn the_programs_are_listed_with_their_systems() {
    let text = good(&["soc"]);
    for name in ["base", "hackbench", "web", "periodic"] {
        assert!(text.contains(name), "{text}");
    }
    let list = json(&good(&["soc", "--json"]));
    let list = list.as_array().expect("a list");
    let of = |name: &str| list.iter().find(|a| a["name"] == name).expect("it is listed");
    assert_eq!(of("periodic")["systems"], serde_json::json!(["tick", "engine"]));
    assert_eq!(of("freertos")["systems"], serde_json::json!(["freertos"]));
    assert_eq!(of("base")["systems"], serde_json::json!(["software", "threaded", "unified", "hardware"]));
    assert!(list.iter().all(|a| a["summary"].as_str().is_some_and(|s| s.len() > 20)), "{list:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    for (args, says) in [
        (&["soc", "--", "no-such-program"][..], "no program `no-such-program`"),
        (&["soc", "--system", "engine", "--", "base"], "does not run on the system `engine`"),
        (&["soc", "--system", "freertos", "--", "periodic"], "does not run on the system `freertos`"),
        (&["soc", "--system", "engine", "--", "freertos"], "does not run on the system `engine`"),
        (
            &["soc", "--system", "unified", "--cpus", "2", "--", "base"],
            "leave --cpus out, or choose `hardware`",
        ),
        (&["soc", "--system", "freertos", "--cpus", "2", "--", "freertos"], "has one CPU"),
        (&["soc", "--system", "nonsense", "--", "base"], "nonsense"),
        (&["soc", "--", "base", "N"], "`N` is not a setting"),
        (&["soc", "--", "base", "N=x y"], "`N=x y` is not a setting"),
        (&["soc", "--out", "x"], "no program is named"),
    ] {
        let ran = runweir(args);
        assert_eq!(ran.status, 2, "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn without_the_tools_it_says_how_to_get_them() {
    for (system, app, variable, what) in [
        ("hardware", "base", "WEIR_PICORV32", "PicoRV32"),
        ("freertos", "freertos", "WEIR_VEXRISCV", "VexRiscv"),
        ("freertos", "freertos", "WEIR_FREERTOS", "no FreeRTOS"),
    ] {
        let dir = super::temp();
        let ran: super::Ran = super::program(dir.path())
            .env(variable, "/nonexistent")
            .args(["soc", "--system", system, "--", app])
            .output()
            .expect("the program starts")
            .into();
        assert_eq!(ran.status, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(what) && ran.stderr.contains("make hw-setup"), "{}", ran.stderr);
        assert!(ran.stderr.contains(variable), "{}", ran.stderr);
    }
}
