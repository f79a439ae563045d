// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The border for messages from outside: which topics a user may publish, and what such a message carries.
//!
//! Components trust what the runtime reports. A scenario and the control socket ask here first, and
//! nowhere else.

use std::fmt;

use crate::Topic;

/// Something that a message may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Never,
    May,
    Must,
}

/// What a message from outside has of the parts that a topic may ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    pub task: bool,
    pub cpu: bool,
    /// `None`: not given, which counts as 0.
    pub value: Option<u64>,
}

/// Why a message is refused, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub message: String,
    pub help: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.message, self.help)
    }
}

/// A rule for a topic: task, CPU, and the range of the value as a signed number.
type Rule = (Part, Part, i64, i64);

/// The publisher of a topic that users do not publish.
enum Owner {
    Runtime(&'static str),
    Answered,
}

/// Times of messages, ns: 146 years.
const LONG: i64 = 1 << 62;

fn rule(topic: Topic) -> Result<Rule, Owner> {
    use Part::{May, Must, Never};
    let any = (i64::MIN, i64::MAX);
    let own = |remedy| Err(Owner::Runtime(remedy));
    let (task, cpu, (least, most)) = match topic {
        Topic::Priority => (Must, Never, (i32::MIN.into(), i32::MAX.into())),
        Topic::Deadline | Topic::Job | Topic::Latency => (Must, Never, (0, LONG)),
        Topic::Isa => (Must, Never, (0, u16::MAX.into())),
        Topic::Policy => (Must, Never, (0, 6)),
        Topic::Criticality => (Must, Never, (0, 2)),
        Topic::Weight => (Must, Never, (1, 1 << 32)),
        Topic::Group => (May, Never, (0, u32::MAX.into())),
        Topic::Limit => (Never, Never, any),
        Topic::Memory => (Must, Never, (0, u16::MAX.into())),
        Topic::Uclamp => (May, Never, (0, (1024 << 32) | 1024)),
        Topic::Gang => (Must, Never, (0, u32::MAX.into())),
        Topic::GangSlot => (Never, May, (1, 4 << 32)),
        Topic::Power => (Never, Never, (0, 1)),
        // Absolute zero, and hotter than anything that computes.
        Topic::Thermal => (Never, May, (-273_150, 1_000_000)),
        Topic::Frequency => (Never, Must, (1, 1 << 40)),
        Topic::Burn => (Never, Never, (0, 1 << 32)),
        Topic::Marker => (May, May, any),
        Topic::Preempt | Topic::Kick => (Never, Must, any),
        Topic::Overload | Topic::Underload => (Never, May, (0, u32::MAX.into())),
        Topic::DeadlineMiss => (Must, Never, any),
        Topic::CpuStatus => {
            return own("write `cpu 3 online` or `cpu 3 offline`, or use the kernel's hotplug");
        }
        Topic::Affinity => return own("give the task its CPUs in the workload, or use taskset"),
        Topic::Admit
        | Topic::Dispatch
        | Topic::Relinquish
        | Topic::Block
        | Topic::Unblock
        | Topic::Exit
        | Topic::Tick
        | Topic::Counters
        | Topic::Tcb => return own("let the workload make it happen"),
        Topic::Fault | Topic::Withheld | Topic::Reconfigure => return own("rules may listen to it"),
        Topic::Slice
        | Topic::Lamport
        | Topic::Status
        | Topic::Executed
        | Topic::Budget
        | Topic::Penalty
        | Topic::Fair => return Err(Owner::Answered),
    };
    Ok((task, cpu, least, most))
}

impl Topic {
    /// Components ask for it; there are no messages.
    pub fn is_only_answered(self) -> bool {
        matches!(rule(self), Err(Owner::Answered))
    }

    /// It says what tasks and CPUs do all the time: components hear it, observers have events of their own for that.
    pub fn is_state(self) -> bool {
        matches!(
            self,
            Topic::Admit
                | Topic::Dispatch
                | Topic::Relinquish
                | Topic::Block
                | Topic::Unblock
                | Topic::Exit
                | Topic::Tick
        )
    }

    /// Topics that a user may publish.
    pub fn for_users() -> impl Iterator<Item = Topic> {
        Self::all().filter(|t| rule(*t).is_ok())
    }

    /// Whether a user may publish this, with these parts.
    ///
    /// # Errors
    /// Why not, and the remedy.
    pub fn admits(self, parts: &Parts) -> Result<(), Refusal> {
        let name = self.name();
        let no = |message: String, help: String| Err(Refusal { message, help });
        let (task, cpu, least, most) = match rule(self) {
            Ok(rule) => rule,
            Err(Owner::Runtime(remedy)) => {
                let rule = match self {
                    Topic::CpuStatus | Topic::Affinity | Topic::Tcb => "come only from the kernel",
                    Topic::Fault | Topic::Withheld | Topic::Reconfigure => "come only from the scheduler",
                    _ => "come only from the runtime: they report what a task or a CPU has just done",
                };
                return no(format!("messages of {name} {rule}"), remedy.into());
            }
            Err(Owner::Answered) => {
                let users: Vec<&str> = Self::for_users().map(Topic::name).collect();
                let help = format!("users may publish {}", users.join(", "));
                return no(format!("{name} is asked for by components, not published"), help);
            }
        };
        match (task, parts.task) {
            (Part::Must, false) => {
                return no(format!("a message of {name} is about a task, and none is named"), example(self));
            }
            (Part::Never, true) => {
                return no(format!("a message of {name} is not about a task"), example(self));
            }
            _ => {}
        }
        match (cpu, parts.cpu) {
            (Part::Must, false) => {
                return no(format!("a message of {name} is about a CPU, and none is named"), example(self));
            }
            (Part::Never, true) => {
                return no(format!("a message of {name} is not about a CPU"), example(self));
            }
            _ => {}
        }
        let value = parts.value.unwrap_or(0) as i64;
        if value < least || value > most || (self == Topic::Policy && value == 4) {
            let range = match (self, most) {
                (Topic::Policy, _) => "0, 1, 2, 3, 5 or 6, as in Linux".to_string(),
                (_, LONG) => "0 ns to 146 years".into(),
                _ => format!("{least} to {most}"),
            };
            return no(
                format!("the value {value} of {name} is out of range"),
                format!("it goes from {range}"),
            );
        }
        Ok(())
    }
}

/// How a message of the topic looks.
fn example(topic: Topic) -> String {
    let name = topic.name();
    match rule(topic) {
        Ok((Part::Must, _, least, _)) => format!("write `publish {name} = {} task NAME`", least.max(1)),
        Ok((_, Part::Must, ..)) => format!("write `publish {name} = 1 cpu 0`"),
        _ => format!("write `publish {name} = 1`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scenario that published KICK without a CPU, or DISPATCH without a task, ended the simulator by SIGSEGV.
    #[test]
    fn what_the_runtime_publishes_is_not_for_users() {
        for name in
            ["DISPATCH", "BLOCK", "RELINQUISH", "ADMIT", "UNBLOCK", "EXIT", "TICK", "COUNTERS", "FAULT"]
        {
            let topic = Topic::by_name(name).expect("a topic");
            for task in [false, true] {
                let parts = Parts { task, cpu: true, value: Some(1) };
                assert!(topic.admits(&parts).is_err(), "{name}");
            }
        }
        let none = Topic::Kick.admits(&Parts { value: Some(0), ..Parts::default() }).expect_err("no CPU");
        assert!(none.message.contains("none is named") && none.help.contains("cpu 0"), "{none}");
        Topic::Kick.admits(&Parts { cpu: true, ..Parts::default() }).expect("a CPU may be kicked");
    }

    #[test]
    fn values_have_ranges() {
        let power = |v: u64| Topic::Power.admits(&Parts { value: Some(v), ..Parts::default() });
        assert!(power(0).is_ok() && power(1).is_ok() && power(2).is_err());
        let priority =
            |v: i64| Topic::Priority.admits(&Parts { task: true, value: Some(v as u64), cpu: false });
        assert!(priority(-5).is_ok() && priority(i64::MAX).is_err());
        let policy = |v: u64| Topic::Policy.admits(&Parts { task: true, value: Some(v), cpu: false });
        assert!(policy(3).is_ok() && policy(4).is_err());
        assert!(Topic::Weight.admits(&Parts { task: true, ..Parts::default() }).is_err(), "a weight of 0");
    }

    #[test]
    fn each_refusal_has_a_remedy() {
        for topic in Topic::all() {
            for bits in 0..4 {
                let parts = Parts { task: bits & 1 != 0, cpu: bits & 2 != 0, value: Some(u64::MAX) };
                if let Err(r) = topic.admits(&parts) {
                    assert!(!r.message.is_empty() && !r.help.is_empty(), "{}", topic.name());
                }
            }
        }
    }
}
