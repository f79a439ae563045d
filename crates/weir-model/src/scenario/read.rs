// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Scenario files (TOML); `docs/scenarios.md` describes the format.

use super::{Back, Condition, Rule, Scenario, Step, Verb};
use crate::document::{Source, Table, Value};
use crate::error::{Error, ErrorKind, Result};
use crate::units::{self, UnitError};

/// Keys of the file that a scenario has beside its steps and rules: what to run it with.
const TOP: &[&str] =
    &["name", "description", "topology", "machine", "workload", "duration", "sample", "at", "rule"];
const AT: &[&str] = &["time", "do"];
const RULE: &[&str] = &["name", "when", "for", "do", "back", "back_for", "back_do", "cooldown", "window"];

/// Longest list of verbs, of steps, of rules.
const MAX: usize = 100_000;
/// How often rules look, if the file does not say it.
const SAMPLE_NS: u64 = 1_000_000;
const WINDOW_NS: u64 = 100_000_000;
const COOLDOWN_NS: u64 = 100_000_000;

/// A scenario and the run that its file suggests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    pub scenario: Scenario,
    pub topology: Option<String>,
    pub machine: Option<String>,
    pub workload: Option<String>,
    pub duration_ns: Option<u64>,
}

/// Read a scenario file. `name` names the scenario, `file` the text.
///
/// # Errors
/// The place, what is wrong and the remedy.
pub fn parse(name: &str, file: &str, text: &str) -> Result<File> {
    let source = Source { name: file, text, kind: ErrorKind::Scenario };
    let document = source.parse()?;
    let root = Table::new(source, document.get_ref(), 0..0, "the file", TOP)?;
    let word = |key: &'static str, example: &str| -> Result<Option<String>> {
        root.get(key).map(|v| v.str(example).map(str::to_string)).transpose()
    };
    word("description", "\"what it shows\"")?;
    let mut scenario = tables(source, &root)?;
    if scenario.is_empty() {
        return Err(source
            .error(0..0, "the scenario does nothing")
            .help("add `[[at]]` with `time = \"100ms\"` and `do = \"swap central\"`, or a `[[rule]]`"));
    }
    scenario.name = word("name", "\"night\"")?.unwrap_or_else(|| name.to_string());
    Ok(File {
        scenario,
        topology: word("topology", "\"decentral\"")?,
        machine: word("machine", "\"smp-8\"")?,
        workload: word("workload", "\"hotplug\"")?,
        duration_ns: root.get("duration").map(|v| v.quantity(units::TIME)).transpose()?,
    })
}

/// The steps and rules of a table that may have them: a scenario file or a workload.
pub(crate) fn tables(source: Source<'_>, root: &Table<'_, '_>) -> Result<Scenario> {
    let mut scenario = Scenario { sample_ns: SAMPLE_NS, ..Scenario::default() };
    if let Some(v) = root.get("sample") {
        scenario.sample_ns = v.quantity(units::TIME)?;
        if scenario.sample_ns < 1_000 {
            return Err(v.error("samples follow too closely").help("write at least \"1us\""));
        }
    }
    for table in root.tables("at", "[[at]]", AT)? {
        let at_ns = table.require("time", "\"100ms\"")?.quantity(units::TIME)?;
        let verbs = verbs(&table.require("do", "\"swap central\"")?)?;
        scenario.steps.push(Step { at_ns, verbs });
    }
    if let Some(twice) = scenario.steps.windows(2).find(|w| w[0].at_ns > w[1].at_ns) {
        let (first, second) =
            (units::show(twice[0].at_ns, units::TIME), units::show(twice[1].at_ns, units::TIME));
        return Err(source
            .error(0..0, format!("the step at {second} follows the one at {first}"))
            .help("write the steps in order of time"));
    }
    for (i, table) in root.tables("rule", "[[rule]]", RULE)?.iter().enumerate() {
        scenario.rules.push(rule(table, i)?);
    }
    if scenario.steps.len().max(scenario.rules.len()) > MAX {
        return Err(source
            .error(0..0, "the scenario is too long")
            .help(format!("at most {MAX} steps or rules")));
    }
    Ok(scenario)
}

fn rule(table: &Table<'_, '_>, index: usize) -> Result<Rule> {
    let time = |key: &'static str, default: u64| -> Result<u64> {
        table.get(key).map_or(Ok(default), |v| v.quantity(units::TIME))
    };
    let condition = |v: &Value<'_, '_>| -> Result<Condition> {
        Condition::parse(v.str("\"utilization > 80%\"")?).map_err(|e| at_value(v, e))
    };
    let when = condition(&table.require("when", "\"utilization > 80%\"")?)?;
    let hold_ns = time("for", 0)?;
    let name = match table.get("name") {
        Some(v) => v.str("\"overload\"")?.to_string(),
        None => format!("{}", index + 1),
    };
    let back = match table.get("back") {
        Some(v) => {
            let verbs = table.get("back_do").map_or_else(|| Ok(vec![Verb::Undo]), |v| verbs(&v))?;
            Some(Back { when: condition(&v)?, hold_ns: time("back_for", hold_ns)?, verbs })
        }
        None => {
            if let Some(v) = ["back_do", "back_for"].into_iter().find_map(|k| table.get(k)) {
                let message = format!("`{}` without a `back`", v.key);
                return Err(v
                    .error(message)
                    .help("add the condition of the way back, such as `back = \"ready < 2\"`"));
            }
            None
        }
    };
    let window_ns = time("window", WINDOW_NS)?;
    if window_ns == 0 {
        let v = table.require("window", "\"100ms\"")?;
        return Err(v
            .error("a window of 0")
            .help("write over how long metrics are taken, such as \"100ms\""));
    }
    let verbs = verbs(&table.require("do", "\"swap central\"")?)?;
    if verbs.contains(&Verb::Undo) {
        let v = table.require("do", "\"swap central\"")?;
        return Err(v.error("there is nothing to undo yet").help("`undo` belongs to `back_do`"));
    }
    let cooldown_ns = time("cooldown", COOLDOWN_NS)?;
    Ok(Rule { name, when, hold_ns, verbs, back, cooldown_ns, window_ns, begun: false, of_topology: false })
}

/// One verb or a list of them.
fn verbs(value: &Value<'_, '_>) -> Result<Vec<Verb>> {
    let example = "\"swap central\"";
    let items = if value.is_list() { value.list(example)? } else { vec![value.clone()] };
    let all: Result<Vec<Verb>> =
        items.iter().map(|v| Verb::parse(v.str(example)?).map_err(|e| at_value(v, e))).collect();
    let all = all?;
    if all.is_empty() {
        return Err(value.error("there is nothing to do").help(format!("write `do = {example}`")));
    }
    Ok(all)
}

fn at_value(value: &Value<'_, '_>, e: UnitError) -> Error {
    value.error(e.message).help(e.help)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Compare, Metric, Statistic, Term};

    const TEXT: &str = r#"
topology = "decentral"
machine = "smp-4"
duration = "2s"
sample = "2ms"

[[at]]
time = "100ms"
do = ["cpu 3 offline", "swap central"]

[[rule]]
name = "late"
when = "p99 wakeup_latency > 5ms"
for = "20ms"
do = "swap edf"
back = "p99 wakeup_latency < 1ms"
cooldown = "50ms"
"#;

    #[test]
    fn a_file_is_read() {
        let file = parse("night", "night.toml", TEXT).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((file.topology.as_deref(), file.duration_ns), (Some("decentral"), Some(2_000_000_000)));
        let s = file.scenario;
        assert_eq!((s.name.as_str(), s.sample_ns, s.steps.len()), ("night", 2_000_000, 1));
        assert_eq!(
            s.steps[0].verbs,
            [Verb::Cpu { cpu: 3, online: false }, Verb::Swap { topology: "central".into() }]
        );
        let rule = &s.rules[0];
        let metric = Metric::WakeupLatency(Statistic::Percentile(99));
        assert_eq!(rule.when.0, [[Term::Metric { metric, compare: Compare::More, limit: 5_000_000 }]]);
        let back = rule.back.as_ref().expect("a way back");
        assert_eq!((back.hold_ns, &back.verbs[..]), (20_000_000, &[Verb::Undo][..]));
        assert_eq!((rule.cooldown_ns, rule.window_ns), (50_000_000, WINDOW_NS));
    }

    #[test]
    fn mistakes_name_their_place() {
        for (text, part) in [
            ("[[at]]\ntime = \"1ms\"", "lacks `do`"),
            ("[[at]]\ndo = \"undo\"", "lacks `time`"),
            ("[[at]]\ntime = \"1ms\"\ndo = []", "nothing to do"),
            ("[[at]]\ntime = 1\ndo = \"undo\"", "no unit"),
            ("[[at]]\ntime = \"2ms\"\ndo = \"swp x\"", "unknown verb `swp`"),
            (
                "[[at]]\ntime = \"2ms\"\ndo = \"swap x\"\n[[at]]\ntime = \"1ms\"\ndo = \"swap x\"",
                "follows the one at",
            ),
            ("[[rule]]\nwhen = \"redy > 1\"\ndo = \"swap x\"", "unknown condition"),
            ("[[rule]]\nwhen = \"ready > 1\"\ndo = \"undo\"", "nothing to undo"),
            ("[[rule]]\nwhen = \"ready > 1\"\ndo = \"swap x\"\nback_for = \"1ms\"", "without a `back`"),
            ("[[rule]]\nwhen = \"ready > 1\"\ndo = \"swap x\"\nwindow = \"0\"", "window of 0"),
            ("name = \"x\"", "does nothing"),
            ("[[step]]", "unknown key `step`"),
        ] {
            let error = parse("t", "t.toml", text).expect_err(text);
            assert!(error.to_string().contains(part) && error.help.is_some(), "{text}: {error}");
        }
    }
}
