// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Topologies that depend on conditions (`when`): rules that change which case is in force.

use weir_lang::When;
use weir_model::scenario::{Condition, Rule};
use weir_model::{Scenario, Verb};

use crate::fault::{Fault, Result};

/// A case rests for so long before it is left again, ns.
const COOLDOWN_NS: u64 = 1_000_000;
/// Interval at which conditions are checked, ns; after a message they are checked at once.
const SAMPLE_NS: u64 = 1_000_000;

/// The rules of a topology; `None` where it depends on nothing, or where settings say which cases are in force.
///
/// # Errors
/// A condition that rules cannot wait for.
pub fn adaptive(whens: &[When]) -> Result<Option<Scenario>> {
    let mut rules = Vec::new();
    for when in whens.iter().filter(|w| !w.said) {
        // What was not the case before.
        let mut rest: Option<Condition> = None;
        for (i, case) in when.cases.iter().enumerate() {
            let own = case.as_ref().map(|text| Condition::parse(text));
            let own = own.transpose().map_err(|e| Fault::user(e.message, e.help))?;
            let condition = match (&rest, &own) {
                (Some(rest), Some(own)) => own.and(rest),
                (None, Some(own)) => own.clone(),
                (Some(rest), None) => rest.clone(),
                (None, None) => break,
            };
            if let Some(own) = own {
                rest = Some(rest.map_or_else(|| own.negated(), |r| r.and(&own.negated())));
            }
            let set =
                Verb::Set { component: "topology".into(), param: when.param.clone(), value: i.to_string() };
            rules.push(Rule {
                name: format!("{} case {i}", when.param),
                when: condition,
                hold_ns: 0,
                verbs: vec![set],
                back: None,
                cooldown_ns: COOLDOWN_NS,
                window_ns: COOLDOWN_NS,
                begun: i == when.case,
                of_topology: true,
            });
        }
    }
    Ok((!rules.is_empty()).then(|| Scenario { rules, sample_ns: SAMPLE_NS, ..Scenario::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_case_at_a_time() {
        let when = When {
            param: "when1".into(),
            cases: vec![Some("online > 3".into()), Some("POWER = 1 and online > 1".into()), None],
            case: 2,
            said: false,
        };
        let found = adaptive(std::slice::from_ref(&when)).expect("sound").expect("rules");
        let rules: Vec<(String, bool)> = found.rules.iter().map(|r| (r.when.to_string(), r.begun)).collect();
        assert_eq!(rules[0], ("online > 3".into(), false));
        assert_eq!(rules[1], ("POWER = 1 and online > 1 and not online > 3".into(), false));
        let last = "not online > 3 and not POWER = 1 or not online > 3 and not online > 1";
        assert_eq!(rules[2], (last.into(), true));
        assert!(
            found.rules.iter().all(|r| Condition::parse(&r.when.to_string()).expect("readable") == r.when)
        );
        assert_eq!(adaptive(&[When { said: true, ..when }]).expect("sound"), None);
        assert_eq!(adaptive(&[]).expect("sound"), None);
    }
}
