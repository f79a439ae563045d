// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The protocol of the control socket: a line of JSON each way. `docs/live.md` is the user's page.
//!
//! The other side is not trusted: a request is at most [`MAX_REQUEST`] bytes, unknown verbs and
//! fields are refused by name, and every number has a range.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_lang::{Diagnostic, Set, Severity};

use crate::error::{Error, ErrorKind, Result};
pub use crate::gangs::{GangName, GangView, GangWish, JoinWish, PhaseChanged, PhaseWish};

/// Longest request, bytes; a topology with all that it includes fits many times.
pub const MAX_REQUEST: usize = 4 << 20;
/// Longest answer, bytes: a status of 4,096 CPUs and very many tasks.
pub const MAX_ANSWER: usize = 256 << 20;

/// A wish.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "lowercase", deny_unknown_fields)]
pub enum Request {
    /// The present state; the result is a [`crate::Snapshot`].
    Status {},
    /// The topology in charge as text; the result is a [`TopologyText`].
    Topology {},
    /// Another topology; the result is a [`Switched`].
    Switch(Switch),
    /// Another component in the place of an instance; the result is a [`Switched`].
    Replace(Replace),
    /// A message for the components that listen to its topic.
    Notify(Notify),
    /// A question to the component that answers for a topic; the result is an [`Answered`].
    Request(Ask),
    /// Admit a program whose threads are to run at the same time; the result is a [`GangView`].
    Gang(GangWish),
    /// Processes or threads become members of a gang; the result is a [`GangView`].
    Join(JoinWish),
    /// A gang changes its phase; the result is a [`PhaseChanged`].
    Phase(PhaseWish),
    /// A gang is no more; the result is what it was.
    Leave(GangName),
    /// All gangs, as they are.
    Gangs {},
    /// Leave: the machine goes back to its default scheduler.
    Stop {},
}

/// A topology as text; it is compiled where it will run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Name of the text, for diagnostics; its stem is the topology's name. Empty: the topology in charge, and `verbs` say what changes.
    pub topology: String,
    pub source: String,
    /// Changes of parts of it, as in scenarios: `insert fifo at lb.out3`.
    #[serde(default)]
    pub verbs: Vec<String>,
    /// Files that it includes.
    #[serde(default)]
    pub files: Vec<File>,
    /// `--set` options.
    #[serde(default)]
    pub set: Vec<SetParam>,
    /// Only compile and check.
    #[serde(default)]
    pub dry_run: bool,
}

/// The topology in charge, read back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopologyText {
    /// Its name.
    pub topology: String,
    /// The machine that it was compiled for.
    pub machine: String,
    /// A text that compiles to what runs, and includes nothing.
    pub weir: String,
    pub origin: TextOrigin,
}

/// Where the text of a topology comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextOrigin {
    /// It is what was loaded.
    #[default]
    Written,
    /// Values and components that run now were put into what was loaded.
    Changed,
    /// It was made from the graph.
    Graph,
}

/// An included file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The file that includes it.
    pub from: String,
    /// The text in its `include`.
    pub include: String,
    /// Its name in diagnostics.
    pub name: String,
    pub text: String,
}

/// A `--set` option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetParam {
    pub component: String,
    pub param: String,
    pub value: String,
}

/// One instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replace {
    /// Its name, as `status` shows it.
    pub instance: String,
    /// Component that takes its place; its own, if left out.
    #[serde(default)]
    pub component: Option<String>,
    /// Parameters with their values as in a `.weir` text. Others keep theirs, or have their default
    /// where the component changes.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

/// A message of a topic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notify {
    /// Name as in `weir/broker.h`: `MARKER`, `PRIORITY` …
    pub topic: String,
    /// The topic defines its meaning; a negative number is the same as its two's complement.
    #[serde(default)]
    pub value: Number,
    #[serde(default)]
    pub value2: Number,
    #[serde(default)]
    pub cpu: Option<u32>,
    /// The thread that it is about.
    #[serde(default)]
    pub task: Option<u32>,
    /// The payload of a topic that a component brings along, by the names of its words; those left out are 0.
    #[serde(default)]
    pub fields: BTreeMap<String, Number>,
}

/// A question.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ask {
    pub topic: String,
    /// The thread that it is about.
    #[serde(default)]
    pub task: Option<u32>,
    #[serde(default)]
    pub cpu: Option<u32>,
    #[serde(default)]
    pub value: Number,
    #[serde(default)]
    pub value2: Number,
}

/// A reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    pub topic: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// The topic defines its meaning.
    pub value: Number,
    pub value2: Number,
    /// AFFINITY: the CPUs on which the task may run; left out: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<String>,
    /// COUNTERS, and topics that components bring along: the payload, by the names of its words.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, u64>,
}

/// A 64-bit number, signed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a number must be a whole one of 64 bits, signed or not")]
pub enum Number {
    Unsigned(u64),
    Signed(i64),
}

impl Default for Number {
    fn default() -> Self {
        Number::Unsigned(0)
    }
}

impl Number {
    pub fn bits(self) -> u64 {
        match self {
            Number::Unsigned(n) => n,
            Number::Signed(n) => n as u64,
        }
    }
}

/// An answer: either way `ok` says which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
}

/// Why not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub message: String,
    pub help: String,
    /// `input`: the request is wrong; `busy`, `internal` …: it could not be carried out.
    #[serde(default)]
    pub kind: String,
    /// The compiler's findings in the topology.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
}

/// A finding of the compiler, in transit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// An error, not a warning.
    pub error: bool,
    pub code: String,
    pub message: String,
    pub help: Option<String>,
    /// The setting that the topology does not obey, by its name; who shows the finding knows which topologies do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// Name and text of the source.
    pub source: Option<(String, String)>,
    /// Start and end in bytes, and a remark.
    pub labels: Vec<(usize, usize, String)>,
}

impl From<&Diagnostic> for Finding {
    fn from(d: &Diagnostic) -> Self {
        Finding {
            error: d.severity == Severity::Error,
            code: d.code.into(),
            message: d.message.clone(),
            help: d.help.clone(),
            setting: None,
            source: d.source.clone(),
            labels: d.labels.iter().map(|(r, t)| (r.start, r.end, t.clone())).collect(),
        }
    }
}

/// The result of `switch` or `replace`, done or tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Switched {
    /// Nothing was changed.
    pub dry_run: bool,
    pub report: crate::SwapReport,
    pub pipes: u32,
    pub instances: u32,
    pub warnings: Vec<Finding>,
}

impl Switch {
    pub fn sets(&self) -> Vec<Set> {
        let set = |s: &SetParam| Set {
            component: s.component.clone(),
            param: s.param.clone(),
            value: s.value.clone(),
        };
        self.set.iter().map(set).collect()
    }
}

/// A request from one line, without its end.
pub fn parse(line: &[u8]) -> Result<Request> {
    let input = |message: String, help: &str| Error::new(ErrorKind::Input, message, help);
    if line.len() > MAX_REQUEST {
        return Err(too_long());
    }
    let text = std::str::from_utf8(line).map_err(|e| {
        input(format!("the request is not UTF-8 from byte {} on", e.valid_up_to()), "send JSON")
    })?;
    serde_json::from_str(text).map_err(|e| {
        let help = "a request is one JSON object in a line, such as {\"verb\":\"status\"}; the verbs are \
                    status, topology, switch, replace, notify, request, gang, join, phase, leave, gangs and stop (docs/live.md)";
        input(format!("the request makes no sense: {e}"), help)
    })
}

/// The request is longer than any can be.
pub fn too_long() -> Error {
    Error::new(
        ErrorKind::Input,
        format!("the request is longer than {} MiB", MAX_REQUEST >> 20),
        "a request is one line; a topology is a short text",
    )
}

impl Answer {
    pub fn result<T: Serialize>(value: &T) -> Self {
        match serde_json::to_value(value) {
            Ok(v) => Answer { ok: true, result: Some(v), error: None },
            Err(e) => Answer::error(&Error::bug(format!("an answer cannot be written as JSON: {e}"))),
        }
    }

    pub fn error(e: &Error) -> Self {
        let kind = format!("{:?}", e.kind).to_lowercase();
        let failure =
            Failure { message: e.message.clone(), help: e.help.clone(), kind, findings: e.findings.clone() };
        Answer { ok: false, result: None, error: Some(failure) }
    }

    /// As a line.
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("strings, numbers and lists");
        line.push(b'\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    #[test]
    fn requests_are_understood() {
        assert_eq!(parse(br#"{"verb":"status"}"#).expect("a request"), Request::Status {});
        assert_eq!(parse(br#" {"verb":"stop"} "#).expect("a request"), Request::Stop {});
        let text = br#"{"verb":"switch","topology":"a.weir","source":"entry -> x;","dry_run":true}"#;
        let Request::Switch(s) = parse(text).expect("a request") else { panic!("a switch") };
        assert_eq!((s.topology.as_str(), s.dry_run, s.set.len()), ("a.weir", true, 0));
        let text = br#"{"verb":"notify","topic":"PRIORITY","value":-5,"task":77}"#;
        let Request::Notify(n) = parse(text).expect("a request") else { panic!("a message") };
        assert_eq!((n.value.bits() as i64, n.task, n.cpu), (-5, Some(77), None));
    }

    /// Wrong requests, one a line of the file, each with its diagnostic.
    #[test]
    fn wrong_requests_report_what_is_wrong() {
        let mut text = String::new();
        for line in include_str!("../tests/bad/request/requests.txt").lines() {
            let e = parse(line.as_bytes()).expect_err(line);
            writeln!(text, "{line}\n{e}\n").expect("memory");
        }
        let e = parse(b"{\"verb\":\"stat\xff\"}").expect_err("no UTF-8");
        writeln!(text, "(not UTF-8)\n{e}\n").expect("memory");
        let e = parse(&vec![b'['; MAX_REQUEST + 1]).expect_err("too long");
        writeln!(text, "(too long)\n{e}").expect("memory");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn answers_go_both_ways() {
        let answer = Answer::error(&Error::new(ErrorKind::Input, "a", "b"));
        let line = answer.line();
        assert_eq!(line.last(), Some(&b'\n'));
        assert_eq!(serde_json::from_slice::<Answer>(&line).expect("our own"), answer);
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn nearly_right_requests_are_answered(
            verb in "status|switch|stop|notify|request|replace|gang|join|phase|leave|[a-z]{0,9}",
            key in "topology|source|set|value|task|gang|manifest|process|phase|[a-z]{1,8}",
            value in "-?[0-9]{1,25}|\"[^\"]{0,20}\"|\\[\\]|\\{\\}|null|true|1e400",
            deep in 0usize..2000,
        ) {
            let nest = "[".repeat(deep);
            let _ = parse(format!("{{\"verb\":\"{verb}\",\"{key}\":{value}}}").as_bytes());
            let _ = parse(format!("{{\"verb\":\"{verb}\",\"{key}\":{nest}}}").as_bytes());
        }

        #[test]
        fn requests_go_both_ways(topology in ".{0,30}", source in ".{0,200}", dry_run: bool, value: i64) {
            let r = Request::Switch(Switch { topology: topology.clone(), source, dry_run, ..Switch::default() });
            prop_assert_eq!(parse(&serde_json::to_vec(&r).expect("plain")).expect("our own"), r);
            let n = Notify { topic: topology, value: Number::Signed(value), ..Notify::default() };
            let back = parse(&serde_json::to_vec(&Request::Notify(n)).expect("plain")).expect("our own");
            let Request::Notify(back) = back else { panic!("a message") };
            prop_assert_eq!(back.value.bits(), value as u64);
        }
    }
}
