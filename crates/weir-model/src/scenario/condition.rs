// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a rule waits for: `p99 wakeup_latency > 5ms and utilization > 80%`, `OVERLOAD on cpu 3`, `battery`.

use std::fmt;

use weir_core::{Topic, catalog};

use super::Subject;

use crate::error::did_you_mean;
use crate::units::{self, UnitError};

/// Terms joined by `and`, these joined by `or`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition(pub Vec<Vec<Term>>);

/// Something that is the case or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// A number of the run, against a limit (ns, percent or a count).
    Metric { metric: Metric, compare: Compare, limit: u64 },
    /// The topic's last message had such a value.
    Value { topic: Subject, cpu: Option<u32>, compare: Compare, limit: u64 },
    /// OVERLOAD and UNDERLOAD: this was published last of the two. Other topics: there was a message within the window.
    Heard { topic: Subject, cpu: Option<u32> },
    /// `not POWER = 1`: also where nothing was said yet.
    Not(Box<Term>),
}

impl Term {
    /// The topic whose messages it waits for.
    pub fn topic(&self) -> Option<Subject> {
        match self {
            Term::Metric { .. } => None,
            Term::Value { topic, .. } | Term::Heard { topic, .. } => Some(*topic),
            Term::Not(term) => term.topic(),
        }
    }
}

/// The quantity measured over the window; `Ready` and `Online` are present values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    WakeupLatency(Statistic),
    Response(Statistic),
    /// Percent of the time of the CPUs that were online.
    Utilization,
    Misses,
    Jobs,
    Preemptions,
    Migrations,
    Switches,
    /// Schedulable tasks.
    Ready,
    /// CPUs online.
    Online,
}

/// Of all that were measured within the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// In percent: 50, 95, 99, and 100 for the largest.
    Percentile(u8),
    Mean,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Less,
    AtMost,
    More,
    AtLeast,
    Equal,
}

impl Compare {
    pub fn holds(self, value: u64, limit: u64) -> bool {
        match self {
            Compare::Less => value < limit,
            Compare::AtMost => value <= limit,
            Compare::More => value > limit,
            Compare::AtLeast => value >= limit,
            Compare::Equal => value == limit,
        }
    }

    fn sign(self) -> &'static str {
        match self {
            Compare::Less => "<",
            Compare::AtMost => "<=",
            Compare::More => ">",
            Compare::AtLeast => ">=",
            Compare::Equal => "=",
        }
    }
}

const COUNTS: [(&str, Metric); 8] = [
    ("utilization", Metric::Utilization),
    ("misses", Metric::Misses),
    ("jobs", Metric::Jobs),
    ("preemptions", Metric::Preemptions),
    ("migrations", Metric::Migrations),
    ("switches", Metric::Switches),
    ("ready", Metric::Ready),
    ("online", Metric::Online),
];
const STATISTICS: [(&str, Statistic); 6] = [
    ("p50", Statistic::Percentile(50)),
    ("p95", Statistic::Percentile(95)),
    ("p99", Statistic::Percentile(99)),
    ("max", Statistic::Percentile(100)),
    ("mean", Statistic::Mean),
    ("p90", Statistic::Percentile(90)),
];

fn wrong<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, UnitError> {
    Err(UnitError { message: message.into(), help: help.into() })
}

impl Condition {
    /// Read a condition.
    ///
    /// # Errors
    /// Message and remedy.
    pub fn parse(text: &str) -> Result<Condition, UnitError> {
        // Signs are words of their own.
        let mut spaced = String::new();
        for (i, c) in text.char_indices() {
            let sign = |c| matches!(c, '<' | '>' | '=');
            let before = text[..i].chars().next_back();
            if sign(c) && !before.is_some_and(sign) || !sign(c) && before.is_some_and(sign) {
                spaced.push(' ');
            }
            spaced.push(c);
        }
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let mut any = Vec::new();
        for clause in words.split(|w| *w == "or") {
            let all: Result<Vec<Term>, UnitError> = clause.split(|w| *w == "and").map(term).collect();
            any.push(all?);
        }
        Ok(Condition(any))
    }

    /// The opposite.
    pub fn negated(&self) -> Condition {
        let not = |t: &Term| match t {
            Term::Not(t) => (**t).clone(),
            t => Term::Not(Box::new(t.clone())),
        };
        // One term of each clause fails.
        let mut any = vec![Vec::new()];
        for clause in &self.0 {
            any = any
                .iter()
                .flat_map(|before: &Vec<Term>| {
                    clause.iter().map(move |t| [before.as_slice(), &[not(t)]].concat())
                })
                .collect();
        }
        Condition(any)
    }

    /// Both.
    pub fn and(&self, other: &Condition) -> Condition {
        let both = |a: &Vec<Term>| {
            other.0.iter().map(move |b| [a.as_slice(), b.as_slice()].concat()).collect::<Vec<_>>()
        };
        Condition(self.0.iter().flat_map(both).collect())
    }

    /// Its terms.
    pub fn terms(&self) -> impl Iterator<Item = &Term> {
        self.0.iter().flatten()
    }
}

fn term(words: &[&str]) -> Result<Term, UnitError> {
    let help = "write `p99 wakeup_latency > 5ms`, `utilization > 80%`, `OVERLOAD on cpu 3`, `POWER = 1`, `battery`; join them by `and` and `or`";
    let Some(first) = words.first() else { return wrong("a condition is empty", help) };
    if *first == "not" {
        return term(&words[1..]).map(|t| Term::Not(Box::new(t)));
    }
    match *first {
        "battery" | "mains" if words.len() == 1 => {
            let limit = u64::from(*first == "battery");
            return Ok(Term::Value {
                topic: Subject::Standard(Topic::Power),
                cpu: None,
                compare: Compare::Equal,
                limit,
            });
        }
        _ => {}
    }
    if let Some(topic) = Subject::by_name(first) {
        heard(topic)?;
        return hearing(topic, &words[1..], help);
    }
    let (metric, rest) = match STATISTICS.iter().find(|s| s.0 == *first) {
        Some((_, s)) => match words.get(1) {
            Some(&"wakeup_latency") => (Metric::WakeupLatency(*s), &words[2..]),
            Some(&"response") => (Metric::Response(*s), &words[2..]),
            other => {
                let message = format!("`{first}` of what? `{}` is not measured", other.unwrap_or(&""));
                return wrong(message, "write `wakeup_latency` or `response` behind it");
            }
        },
        None => match COUNTS.iter().find(|c| c.0 == *first) {
            Some((_, metric)) => (*metric, &words[1..]),
            None => {
                let mut names: Vec<&str> =
                    STATISTICS.iter().map(|s| s.0).chain(COUNTS.iter().map(|c| c.0)).collect();
                names.extend(["battery", "mains"]);
                names.extend(catalog().topic_names());
                return wrong(format!("unknown condition `{first}`"), did_you_mean(first, &names));
            }
        },
    };
    let [sign, limit] = rest else {
        return wrong(format!("`{}` is compared with one value", words.join(" ")), help);
    };
    let compare = compare(sign, help)?;
    let limit = match metric {
        Metric::WakeupLatency(_) | Metric::Response(_) => units::parse(limit, units::TIME)?,
        Metric::Utilization => units::parse(limit, units::PERCENT)?,
        _ => match limit.parse() {
            Ok(n) => n,
            Err(_) => return wrong(format!("`{limit}` is not a whole number"), help),
        },
    };
    Ok(Term::Metric { metric, compare, limit })
}

/// There are messages of the topic: a rule that waits for others never fires.
fn heard(topic: Subject) -> Result<(), UnitError> {
    match topic {
        Subject::Standard(topic) if topic.is_only_answered() => wrong(
            format!(
                "there are no messages of {}: components ask for it, and nobody publishes it",
                topic.name()
            ),
            "wait for another topic, or for a metric",
        ),
        Subject::Standard(topic) if topic.is_state() => wrong(
            format!("rules hear no messages of {}: it says what each task does all the time", topic.name()),
            "wait for a metric: `jobs > 10`, `switches > 1000`, `ready > 4`",
        ),
        _ => Ok(()),
    }
}

/// `on cpu 3` and a comparison, both optional.
fn hearing(topic: Subject, mut rest: &[&str], help: &str) -> Result<Term, UnitError> {
    let mut cpu = None;
    if let ["on", "cpu", n, ..] = rest {
        let Ok(n) = n.parse() else { return wrong(format!("`{n}` is not a CPU number"), help) };
        (cpu, rest) = (Some(n), &rest[3..]);
    }
    match rest {
        [] => Ok(Term::Heard { topic, cpu }),
        [sign, limit] => match limit.parse() {
            Ok(limit) => Ok(Term::Value { topic, cpu, compare: compare(sign, help)?, limit }),
            Err(_) => wrong(format!("`{limit}` is not a whole number"), help),
        },
        _ => wrong(format!("`{}` behind a topic is not understood", rest.join(" ")), help),
    }
}

fn compare(sign: &str, help: &str) -> Result<Compare, UnitError> {
    Ok(match sign {
        "<" => Compare::Less,
        "<=" => Compare::AtMost,
        ">" => Compare::More,
        ">=" => Compare::AtLeast,
        "=" | "==" => Compare::Equal,
        _ => return wrong(format!("`{sign}` is not a comparison"), help),
    })
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = |terms: &Vec<Term>| terms.iter().map(Term::to_string).collect::<Vec<_>>().join(" and ");
        f.write_str(&self.0.iter().map(all).collect::<Vec<_>>().join(" or "))
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |cpu: &Option<u32>| cpu.map_or(String::new(), |c| format!(" on cpu {c}"));
        match self {
            Term::Not(term) => write!(f, "not {term}"),
            Term::Metric { metric, compare, limit } => {
                let statistic = |s: &Statistic| STATISTICS.iter().find(|x| x.1 == *s).map_or("", |x| x.0);
                let (name, limit) = match metric {
                    Metric::WakeupLatency(s) => {
                        (format!("{} wakeup_latency", statistic(s)), units::show(*limit, units::TIME))
                    }
                    Metric::Response(s) => {
                        (format!("{} response", statistic(s)), units::show(*limit, units::TIME))
                    }
                    Metric::Utilization => ("utilization".into(), format!("{limit}%")),
                    other => {
                        let name = COUNTS.iter().find(|c| c.1 == *other).map_or("", |c| c.0);
                        (name.to_string(), limit.to_string())
                    }
                };
                write!(f, "{name} {} {limit}", compare.sign())
            }
            Term::Value { topic, cpu, compare, limit } => {
                write!(f, "{}{} {} {limit}", topic.name(), on(cpu), compare.sign())
            }
            Term::Heard { topic, cpu } => write!(f, "{}{}", topic.name(), on(cpu)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_alike() {
        for text in [
            "p99 wakeup_latency > 5ms",
            "mean response <= 1500us and utilization > 80%",
            "misses >= 3 or ready > 20 and online = 4",
            "OVERLOAD on cpu 3 and UNDERLOAD on cpu 2",
            "POWER = 1",
            "DEADLINE_MISS",
        ] {
            let read = Condition::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
            assert_eq!(Condition::parse(&read.to_string()), Ok(read.clone()), "{text}");
        }
        assert_eq!(Condition::parse("battery"), Condition::parse("POWER = 1"));
        assert_eq!(Condition::parse("mains"), Condition::parse("POWER==0"));
        assert_eq!(Condition::parse("ready>=2").unwrap().to_string(), "ready >= 2");
    }

    #[test]
    fn mistakes_have_a_remedy() {
        for (text, part) in [
            ("", "empty"),
            ("p99", "of what"),
            ("p99 wakeup_latency > 5", "no unit"),
            ("utilisation > 80%", "unknown condition"),
            ("utilization 80%", "compared with one value"),
            ("ready ~ 3", "not a comparison"),
            ("ready > many", "not a whole number"),
            ("OVERLOAD at cpu 3", "not understood"),
            ("OVERLOAD on cpu x", "not a CPU number"),
            ("ready > 1 and", "empty"),
        ] {
            let error = Condition::parse(text).expect_err(text);
            assert!(error.message.contains(part) && !error.help.is_empty(), "{text}: {error:?}");
        }
    }
}
