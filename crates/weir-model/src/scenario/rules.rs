// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! When rules act: conditions that have held for long enough, ways back, and rests (docs/scenarios.md, "Rules").

use super::{Condition, Rule, Verb};

/// The state of a rule.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// It has acted, and waits for the way back; without one, for its condition to end.
    acted: bool,
    /// Since when the condition it waits for has held.
    since: Option<u64>,
    /// It rests until then.
    rests_until: u64,
}

/// The rules of a scenario, by index. Times are ns of any one clock.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<State>);

/// A rule's present action, and which of its two actions that is.
#[derive(Clone, Debug, PartialEq)]
pub struct Action<'s> {
    pub rule: usize,
    pub verbs: &'s [Verb],
    /// `rule late`, `rule late, back`.
    pub cause: String,
    back: bool,
}

impl Rules {
    /// None of `rules` has acted yet, except those with `begun`.
    pub fn new(rules: &[Rule]) -> Self {
        Self(rules.iter().map(|r| State { acted: r.begun, ..State::default() }).collect())
    }

    /// What rule number `index` is to do now, if anything. `holds` says whether a condition does.
    pub fn due<'s>(
        &mut self,
        index: usize,
        rule: &'s Rule,
        now_ns: u64,
        holds: impl Fn(&Condition) -> bool,
    ) -> Option<Action<'s>> {
        let state = &mut self.0[index];
        let (met, hold_ns) = match (&rule.back, state.acted) {
            (_, false) => (holds(&rule.when), rule.hold_ns),
            (Some(back), true) => (holds(&back.when), back.hold_ns),
            (None, true) => {
                // It acts again only after its condition has ended in between.
                state.acted = holds(&rule.when);
                return None;
            }
        };
        if !met {
            state.since = None;
            return None;
        }
        let since = *state.since.get_or_insert(now_ns);
        if now_ns - since < hold_ns || now_ns < state.rests_until {
            return None;
        }
        let (verbs, cause) = match &rule.back {
            Some(way) if state.acted => (&way.verbs, format!("rule {}, back", rule.name)),
            _ => (&rule.verbs, format!("rule {}", rule.name)),
        };
        Some(Action { rule: index, verbs, cause, back: state.acted })
    }

    /// The action was tried at `now_ns`. One that was refused is tried again after the rule's rest.
    pub fn acted(&mut self, action: &Action<'_>, rule: &Rule, now_ns: u64, done: bool) {
        let state = &mut self.0[action.rule];
        state.since = None;
        state.rests_until = now_ns + rule.cooldown_ns;
        if done {
            state.acted = !action.back;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Back;

    fn rule(back: bool) -> Rule {
        let condition = |text| Condition::parse(text).expect("sound");
        Rule {
            name: "r".into(),
            when: condition("ready > 5"),
            hold_ns: 10,
            verbs: Vec::new(),
            back: back.then(|| Back { when: condition("ready < 2"), hold_ns: 20, verbs: Vec::new() }),
            cooldown_ns: 100,
            window_ns: 1,
            begun: false,
            of_topology: false,
        }
    }

    /// What the rule does as time passes, if what it does works as `done` says.
    fn story(rule: &Rule, done: bool, moments: &[(u64, &str)]) -> Vec<(u64, String)> {
        let mut rules = Rules::new(std::slice::from_ref(rule));
        let mut fired = Vec::new();
        for (now, holding) in moments {
            if let Some(action) = rules.due(0, rule, *now, |c| c.to_string() == *holding) {
                rules.acted(&action, rule, *now, done);
                fired.push((*now, action.cause));
            }
        }
        fired
    }

    #[test]
    fn a_condition_has_to_hold_on() {
        let moments = [(0, "ready > 5"), (9, "ready > 5"), (10, ""), (11, "ready > 5"), (20, "ready > 5")];
        assert_eq!(story(&rule(true), true, &moments), []);
        assert_eq!(story(&rule(true), true, &[(0, "ready > 5"), (10, "ready > 5")]), [(10, "rule r".into())]);
    }

    #[test]
    fn it_rests_before_it_goes_back() {
        let back = |t| (t, "ready < 2");
        let moments = [(0, "ready > 5"), (10, "ready > 5"), back(11), back(31), back(109), back(110)];
        assert_eq!(story(&rule(true), true, &moments), [(10, "rule r".into()), (110, "rule r, back".into())]);
    }

    #[test]
    fn without_a_way_back_it_acts_once_a_time() {
        let on = |t| (t, "ready > 5");
        let moments = [on(0), on(10), on(200), (300, ""), on(400), on(410)];
        assert_eq!(story(&rule(false), true, &moments), [(10, "rule r".into()), (410, "rule r".into())]);
    }

    #[test]
    fn what_is_the_case_at_the_beginning_is_not_done_again() {
        let on = |t| (t, "ready > 5");
        let begun = Rule { begun: true, ..rule(false) };
        assert_eq!(story(&begun, true, &[on(0), on(20), (30, ""), on(40), on(50)]), [(50, "rule r".into())]);
    }

    #[test]
    fn what_was_refused_is_tried_again_after_a_rest() {
        let on = |t| (t, "ready > 5");
        let moments = [on(0), on(10), on(20), on(109), on(110)];
        assert_eq!(story(&rule(true), false, &moments), [(10, "rule r".into()), (110, "rule r".into())]);
    }
}
