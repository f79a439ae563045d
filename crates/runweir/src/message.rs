// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir publish` and `runweir request`: a message for the scheduler in charge, and a question to it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use weir_core::STATUS_QUERIES;
use weir_linux::client;
use weir_linux::protocol::{Answered, Ask, Notify, Number, Request};

use crate::fault::{Fault, Result};
use crate::output;

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  sudo runweir publish TENANT task=4711 tenant=1
  sudo runweir publish MARKER value=3
  sudo runweir publish PRIORITY task=4711 value=-5

A message reaches all components of the running topology that listen to its topic. Which topics programs may
publish, and what such a message carries, is declared by the topic: docs/topics.md. Prints how many instances listen.")]
pub struct PublishArgs {
    /// Topic: MARKER, PRIORITY …, or one that a component brings along
    #[arg(value_name = "TOPIC", value_parser = Text::new())]
    pub topic: String,
    /// task=PID, cpu=N, value=N, value2=N, or a word of the topic's payload
    #[arg(value_name = "KEY=NUMBER", value_parser = Text::new())]
    pub parts: Vec<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Socket of `runweir live`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  sudo runweir request PRIORITY 4711
  sudo runweir request TENANT 4711 --json
  sudo runweir request STATUS what=NR_SCHEDULABLE
  sudo runweir request STATUS what=PIPE_NR object=2

The component of the running topology that answers for the topic is asked; `runweir components` says which one does.
STATUS takes what=PIPE_NR, PIPE_LOAD, PIPE_MAX, PIPE_ADDED, PIPE_REMOVED (object: a pipe's number), INSTANCE_UPDATES
(object: an instance's), NR_PIPES, NR_INSTANCES, NR_TASKS, NR_SCHEDULABLE, NR_RUNNING, NR_IDLE, NR_ONLINE, ARENA_USED or FAULTS.")]
pub struct RequestArgs {
    /// Topic: PRIORITY, AFFINITY, TCB, STATUS …, or one that a component brings along
    #[arg(value_name = "TOPIC", value_parser = Text::new())]
    pub topic: String,
    /// Thread of the request; cpu=N, value=N, value2=N; for STATUS what=NAME and object=N
    #[arg(value_name = "TASK|KEY=NUMBER", value_parser = Text::new())]
    pub parts: Vec<String>,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
    /// Socket of `runweir live`: $RUNWEIR_SOCKET, else /run/runweir/live.sock
    #[arg(long, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub socket: Option<PathBuf>,
}

/// What `KEY=NUMBER`s say.
#[derive(Default, Debug, PartialEq, Eq)]
struct Parts {
    task: Option<u32>,
    cpu: Option<u32>,
    value: Number,
    value2: Number,
    fields: BTreeMap<String, Number>,
}

impl Parts {
    fn of(topic: &str, words: &[String]) -> Result<Parts> {
        let mut parts = Parts::default();
        let mut seen = Vec::new();
        for word in words {
            let (key, text) = word.split_once('=').unwrap_or(("task", word));
            let wrong = |message: String, help: &str| Err(Fault::user(message, help));
            if seen.contains(&key) {
                return wrong(format!("`{key}` is given twice"), "give it once");
            }
            seen.push(key);
            if key == "what" && topic.eq_ignore_ascii_case("STATUS") {
                let at = STATUS_QUERIES.iter().position(|q| q.eq_ignore_ascii_case(text));
                let Some(at) = at else {
                    let help = format!("STATUS answers {}", STATUS_QUERIES.join(", "));
                    return wrong(format!("STATUS knows no `{text}`"), &help);
                };
                parts.value = Number::Unsigned(at as u64);
                continue;
            }
            let number = match text.parse::<u64>() {
                Ok(n) => Some(Number::Unsigned(n)),
                Err(_) => text.parse::<i64>().ok().map(Number::Signed),
            };
            let Some(number) = number else {
                let help = "write TASK, or KEY=NUMBER: task=4711, cpu=0, value=-5";
                return wrong(format!("`{word}`: `{text}` is not a whole number of 64 bits"), help);
            };
            let small = || match u32::try_from(number.bits()) {
                Ok(n) => Ok(Some(n)),
                Err(_) => Err(Fault::user(format!("`{word}`: there is no such {key}"), "give its number")),
            };
            match key {
                "task" => parts.task = small()?,
                "cpu" => parts.cpu = small()?,
                "value" => parts.value = number,
                "value2" => parts.value2 = number,
                "object" if topic.eq_ignore_ascii_case("STATUS") => parts.value2 = number,
                field => {
                    parts.fields.insert(field.into(), number);
                }
            }
        }
        Ok(parts)
    }
}

/// Have it published.
pub fn publish(args: &PublishArgs) -> Result<ExitCode> {
    let Parts { task, cpu, value, value2, fields } = Parts::of(&args.topic, &args.parts)?;
    let socket = client::socket_path(args.socket.as_deref());
    let wish = Notify { topic: args.topic.clone(), value, value2, cpu, task, fields };
    let done = client::ask(&socket, &Request::Notify(wish)).map_err(crate::live::fault)?;
    if args.json {
        output::print(&output::json(&done)?)?;
    } else if !args.quiet {
        let n = done["hearers"].as_u64().unwrap_or(0);
        let listen = if n == 1 { "listens" } else { "listen" };
        output::print(&format!(
            "published {}: {} {listen}\n",
            args.topic.to_uppercase(),
            crate::units::plural(n, "instance")
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Ask, and print what the component says.
pub fn request(args: &RequestArgs) -> Result<ExitCode> {
    let Parts { task, cpu, value, value2, fields } = Parts::of(&args.topic, &args.parts)?;
    if let Some(field) = fields.keys().next() {
        let help = "a question has a task, cpu=N, value=N and value2=N; for STATUS what=NAME and object=N";
        return Err(Fault::user(format!("a question has no `{field}`"), help));
    }
    let socket = client::socket_path(args.socket.as_deref());
    let wish = Ask { topic: args.topic.clone(), task, cpu, value, value2 };
    let answer = client::request(&socket, &wish).map_err(crate::live::fault)?;
    output::print(&if args.json { output::json(&answer)? } else { describe(&answer) })?;
    Ok(ExitCode::SUCCESS)
}

fn describe(answer: &Answered) -> String {
    let show = |n: Number| match n {
        Number::Unsigned(n) => n.to_string(),
        Number::Signed(n) => n.to_string(),
    };
    let mut out = answer.topic.clone();
    if let Some(task) = answer.task {
        let _ = write!(out, " of thread {task}");
    }
    out.push(':');
    match (&answer.cpus, answer.fields.is_empty()) {
        (Some(cpus), _) => {
            let _ = write!(out, " CPUs {cpus}");
        }
        (None, false) => {
            for (name, value) in &answer.fields {
                let _ = write!(out, " {name} {value}");
            }
        }
        (None, true) if answer.topic == "AFFINITY" => out.push_str(" all CPUs"),
        (None, true) => {
            let _ = write!(out, " {}", show(answer.value));
            if answer.value2.bits() != 0 {
                let _ = write!(out, ", {}", show(answer.value2));
            }
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(topic: &str, words: &[&str]) -> Result<Parts> {
        Parts::of(topic, &words.iter().map(|w| w.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn words_are_parts_of_a_message() {
        let p = parts("TENANT", &["task=4711", "tenant=2", "cpu=3", "value=-5"]).expect("sound");
        assert_eq!((p.task, p.cpu, p.value), (Some(4711), Some(3), Number::Signed(-5)));
        assert_eq!(p.fields["tenant"], Number::Unsigned(2));
        assert_eq!(parts("PRIORITY", &["4711"]).expect("sound").task, Some(4711));
        let status = parts("status", &["what=nr_tasks", "object=7"]).expect("sound");
        assert_eq!((status.value.bits(), status.value2.bits()), (8, 7));
        for wrong in
            [&["task=-1"][..], &["4711", "task=3"], &["value=a"], &["value=1", "value=1"], &["tenant="]]
        {
            parts("TENANT", wrong).expect_err(&wrong.join(" "));
        }
        parts("STATUS", &["what=EVERYTHING"]).expect_err("no such question");
    }

    #[test]
    fn answers_are_reported_in_a_line() {
        let of = |answer: Answered| describe(&answer);
        let base = Answered { topic: "TENANT".into(), task: Some(7), ..Answered::default() };
        assert_eq!(
            of(Answered { fields: [("tenant".into(), 3)].into(), ..base.clone() }),
            "TENANT of thread 7: tenant 3\n"
        );
        let base = Answered { topic: "AFFINITY".into(), ..base };
        assert_eq!(of(base.clone()), "AFFINITY of thread 7: all CPUs\n");
        assert_eq!(of(Answered { cpus: Some("0-1".into()), ..base }), "AFFINITY of thread 7: CPUs 0-1\n");
        let priority =
            Answered { topic: "PRIORITY".into(), value: Number::Signed(-5), ..Answered::default() };
        assert_eq!(of(priority), "PRIORITY: -5\n");
    }
}
