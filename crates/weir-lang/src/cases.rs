// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `when cpus.online > 3 { … } else { … }`: topologies that depend on the CPUs that are online, or on topics.
//!
//! A text with such statements describes several topologies, one for each combination of their cases. Which case of the first
//! statement is in force is the file's parameter `when1`, of the second `when2`: the runtime of the topology changes it when the
//! conditions change ([`When`]).

use weir_core::{Catalog, MachineShape, Topic, Unit};

use crate::Set;
use crate::ast::{Formal, Item, Test, Value, Word};
use crate::diag::{Sink, suggest};

/// Most combinations of cases: each is compiled.
const MAX_CASES: usize = 64;

/// A `when` statement of a topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct When {
    /// The parameter that holds the number of its case: `when1`.
    pub param: String,
    /// The condition of each case, in the words of a scenario's rules: `online > 3 and POWER = 1`. `None`: otherwise.
    pub cases: Vec<Option<String>>,
    /// The case that was compiled.
    pub case: usize,
    /// A setting said so, not the conditions.
    pub said: bool,
}

/// What became of the statements of a text.
pub(crate) struct Chosen {
    pub items: Vec<Item>,
    pub whens: Vec<When>,
    /// A setting selected the case: the others are ignored.
    pub said: bool,
}

/// Keep of `items` what is in force.
pub(crate) fn choose(
    items: Vec<Item>,
    stem: &str,
    sets: &[Set],
    catalog: &Catalog,
    shape: &MachineShape,
    sink: &mut Sink,
) -> Chosen {
    let mut out = Chosen { items: Vec::new(), whens: Vec::new(), said: false };
    for item in items {
        let Item::When(mut when) = item else {
            out.items.push(item);
            continue;
        };
        when.arms
            .iter()
            .flat_map(|a| a.condition.iter().flatten().flatten())
            .for_each(|t| known(t, catalog, sink));
        let mut cases: Vec<Option<String>> =
            when.arms.iter().map(|a| a.condition.as_ref().map(|any| words(any))).collect();
        if cases.last().is_some_and(Option::is_some) {
            cases.push(None);
        }
        let param = format!("when{}", out.whens.len() + 1);
        let fits = |any: &Vec<Vec<Test>>| any.iter().any(|all| all.iter().all(|t| holds(t, shape)));
        let now = when.arms.iter().position(|a| a.condition.as_ref().is_none_or(fits));
        let mut case = now.unwrap_or(cases.len() - 1);
        let mut said = false;
        let mine = |s: &&Set| (s.component == stem || s.component == "topology") && s.param == param;
        if let Some(set) = sets.iter().rev().find(mine) {
            (out.said, said) = (true, true);
            match set.value.parse() {
                Ok(n) if n < cases.len() => case = n,
                _ => {
                    sink.error(
                        "out-of-range",
                        when.span,
                        format!("there is no case {} of this `when`", set.value),
                    )
                    .help(format!("its cases are 0 to {}", cases.len() - 1));
                }
            }
        }
        // For the runtime, which sets it.
        let value = Value { text: case.to_string(), is_name: false, span: when.span };
        let name = Word { text: param.clone(), span: when.span };
        out.items.push(Item::Param(Formal { name, unit: Unit::Count, default: Some(value) }));
        if case < when.arms.len() {
            out.items.append(&mut when.arms.swap_remove(case).items);
        }
        out.whens.push(When { param, cases, case, said });
        if out.whens.iter().map(|w| w.cases.len()).product::<usize>() > MAX_CASES {
            sink.error("too-big", when.span, format!("the cases combine in more than {MAX_CASES} ways"))
                .help("join conditions, or split the topology");
            out.said = true;
        }
    }
    out
}

/// All combinations of the cases but the one that `whens` has, as settings.
pub(crate) fn others(whens: &[When]) -> Vec<Vec<Set>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for w in whens {
        all = all
            .iter()
            .flat_map(|before| (0..w.cases.len()).map(move |c| [before.as_slice(), &[c]].concat()))
            .collect();
    }
    all.retain(|cases| !cases.iter().zip(whens).all(|(c, w)| *c == w.case));
    let sets = |cases: Vec<usize>| {
        let set = |(case, when): (usize, &When)| Set {
            component: "topology".into(),
            param: when.param.clone(),
            value: case.to_string(),
        };
        cases.into_iter().zip(whens).map(set).collect()
    };
    all.into_iter().map(sets).collect()
}

/// A combination of cases for people: `cpus.online > 3; otherwise`.
pub(crate) fn name(sets: &[Set], whens: &[When]) -> String {
    let case =
        |(set, when): (&Set, &When)| match set.value.parse::<usize>().ok().and_then(|c| when.cases.get(c)) {
            Some(Some(condition)) => format!("when {}", condition.replace("online", "cpus.online")),
            _ => "otherwise".to_string(),
        };
    sets.iter().zip(whens).map(case).collect::<Vec<_>>().join(", and ")
}

/// The subject is something that can change.
fn known(test: &Test, catalog: &Catalog, sink: &mut Sink) {
    let name = &test.subject.text;
    let standard = Topic::by_name(name).filter(|t| !t.is_only_answered() && !t.is_state());
    if name == "online" || standard.is_some() || catalog.own_topic(name).is_some() {
        return;
    }
    if Topic::by_name(name).is_some() {
        sink.error("unknown-topic", test.subject.span, format!("no topology can depend on {name}"))
            .help("it is not a state of the machine or a program; docs/topics.md lists who publishes what");
        return;
    }
    let mut names = catalog.topic_names();
    names.push("cpus.online");
    sink.error("unknown-topic", test.subject.span, format!("there is no topic `{name}`")).help(suggest(
        name,
        &names,
        "a topology may depend on",
    ));
}

/// Does it hold when the machine starts? Nothing was said in any topic then.
fn holds(test: &Test, shape: &MachineShape) -> bool {
    if test.subject.text != "online" {
        return false;
    }
    let online = shape.cpus.iter().filter(|c| c.online).count() as u64;
    let limit = u64::from(test.value.value);
    match test.compare.as_str() {
        "<" => online < limit,
        "<=" => online <= limit,
        ">" => online > limit,
        ">=" => online >= limit,
        _ => online == limit,
    }
}

fn words(any: &[Vec<Test>]) -> String {
    let one = |t: &Test| format!("{} {} {}", t.subject.text, t.compare, t.value.value);
    let all = |tests: &Vec<Test>| tests.iter().map(one).collect::<Vec<_>>().join(" and ");
    any.iter().map(all).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use weir_core::MachineShape;

    use crate::testcat::catalog;
    use crate::{Compiled, NoIncludes, Set, Source, compile};

    const TEXT: &str = "annotate affinity; \
        when cpus.online > 3 { entry -> load_balancer -> each cpu { round_robin -> cpu } } \
        else when POWER = 1 and cpus.online > 1 { entry -> fifo -> cpus } \
        else { entry -> head_queue -> cpus }";

    fn built(text: &str, online: usize, sets: &[(&str, &str)]) -> Result<Compiled, Vec<crate::Diagnostic>> {
        let mut shape = MachineShape::flat(4);
        shape.cpus.iter_mut().skip(online).for_each(|c| c.online = false);
        let set = |(p, v): &(&str, &str)| Set {
            component: "topology".into(),
            param: (*p).into(),
            value: (*v).into(),
        };
        let sets: Vec<Set> = sets.iter().map(set).collect();
        compile(&Source { name: "t.weir".into(), text: text.into() }, &NoIncludes, &catalog(), &shape, &sets)
    }

    fn has(compiled: &Compiled, component: &str) -> bool {
        compiled.graph.nodes.iter().any(|n| n.component == component)
    }

    #[test]
    fn the_case_that_fits_is_built() {
        let four = built(TEXT, 4, &[]).expect("sound");
        assert!(has(&four, "load_balancer") && !has(&four, "head_queue"));
        let two = built(TEXT, 2, &[]).expect("sound");
        assert!(!has(&two, "load_balancer") && has(&two, "head_queue"), "nobody has said POWER");
        let when = &two.whens[0];
        assert_eq!((when.param.as_str(), when.case, when.cases.len()), ("when1", 2, 3));
        assert_eq!(when.cases[1].as_deref(), Some("POWER = 1 and online > 1"));
        let said = built(TEXT, 4, &[("when1", "1")]).expect("sound");
        assert!(has(&said, "fifo") && said.whens[0].case == 1);
    }

    #[test]
    fn every_case_is_checked() {
        let text = TEXT.replace("head_queue", "headqueue");
        let found = built(&text, 4, &[]).expect_err("the last case is wrong");
        assert!(found.iter().any(|d| d.message.contains("headqueue")), "{found:?}");
        assert!(found.iter().any(|d| d.help.as_ref().is_some_and(|h| h.contains("otherwise"))), "{found:?}");
        // Rules about whole networks as well: in one case nobody reaches CPU 3.
        let text = TEXT.replace("entry -> fifo -> cpus", "entry -> fifo -> cpus 0-2");
        built(&text, 4, &[]).expect_err("a CPU is left out in one case");
    }

    #[test]
    fn conditions_name_what_can_change() {
        for (old, new, part) in [
            ("POWER", "PWOER", "no topic `PWOER`"),
            ("POWER", "SLICE", "depend on SLICE"),
            ("cpus.online > 3", "cpus.offline > 3", "`online`"),
            ("> 3", "-> 3", "`<`, `<=`"),
            ("else { entry", "else { when cpus.online > 1 { entry -> cpus } entry", "another one"),
            ("else { entry", "else { leave cpu 1; entry", "only chains"),
        ] {
            let found = built(&TEXT.replacen(old, new, 1), 4, &[]).expect_err(new);
            assert!(found.iter().any(|d| d.message.contains(part)), "{new}: {found:?}");
        }
        assert!(
            built(TEXT, 4, &[("when1", "3")]).expect_err("no such case")[0].message.contains("no case 3")
        );
        assert!(built(TEXT, 4, &[("when2", "0")]).is_err());
    }
}
