// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `.wtest` files: a topology, a machine, and a script of what happens and what must be true then.
//! `docs/wtest.md` describes them.

use std::collections::BTreeMap;
use std::fmt;

use weir_core::{Clamps, Counters, CpuSet, Msg, OwnTopic, Picked, TaskId, Topic, catalog};
use weir_text::quantity::{self, TIME};

use crate::lab::compile;
use crate::{Lab, TARGET, TARGETS, machine};

/// Where and why a test failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// From 1; 0: the file as a whole.
    pub line: usize,
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// How a test came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Passed,
    /// `%targets` does not name the linked port.
    Skipped,
}

/// The parts of a file; each line with its number.
#[derive(Default)]
struct File<'a> {
    parts: BTreeMap<&'a str, Vec<(usize, &'a str)>>,
}

impl<'a> File<'a> {
    fn parse(text: &'a str) -> Result<Self, Failure> {
        const PARTS: [&str; 5] = ["info", "topology", "machine", "script", "targets"];
        let mut file = File::default();
        let mut now = None;
        for (i, line) in text.lines().enumerate() {
            let fail = |message: String| Failure { line: i + 1, message };
            if let Some(head) = line.strip_prefix('%') {
                let (name, rest) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
                if !PARTS.contains(&name) {
                    return Err(fail(format!("unknown part `%{name}`; there are %{}", PARTS.join(", %"))));
                }
                if file.parts.contains_key(name) {
                    return Err(fail(format!("`%{name}` is there twice")));
                }
                let lines = file.parts.entry(name).or_default();
                if !rest.trim().is_empty() {
                    lines.push((i + 1, rest));
                }
                now = Some(name);
            } else if let Some(part) = now {
                file.parts.entry(part).or_default().push((i + 1, line));
            } else if !line.trim().is_empty() && !line.starts_with("//") {
                return Err(fail("a file begins with `%info`".into()));
            }
        }
        for need in ["info", "topology", "script", "targets"] {
            if file.text(need).trim().is_empty() {
                return Err(Failure { line: 0, message: format!("`%{need}` is missing or empty") });
            }
        }
        Ok(file)
    }

    fn lines(&self, part: &str) -> &[(usize, &'a str)] {
        self.parts.get(part).map_or(&[], Vec::as_slice)
    }

    fn text(&self, part: &str) -> String {
        self.lines(part).iter().map(|(_, l)| format!("{l}\n")).collect()
    }
}

/// Run the text of a `.wtest` file with the linked port.
pub fn run(text: &str) -> Result<Outcome, Failure> {
    let file = File::parse(text)?;
    let whole = |message: String| Failure { line: file.lines("topology")[0].0, message };
    for target in file.text("targets").split_whitespace() {
        if !TARGETS.contains(&target) {
            return Err(Failure {
                line: file.lines("targets")[0].0,
                message: format!("unknown target `{target}`"),
            });
        }
    }
    if !file.text("targets").split_whitespace().any(|t| t == TARGET) {
        return Ok(Outcome::Skipped);
    }
    let words = file.text("machine");
    let words = if words.trim().is_empty() { "smp-2".into() } else { words };
    let shape = machine::parse(&words).map_err(whole)?;
    let text = file.text("topology");
    let plan = compile("test", &text, &shape).map_err(whole)?;
    let lab = Lab::new(plan, shape).map_err(whole)?;
    let bench = Bench { lab, tasks: BTreeMap::new(), last: None, now_ns: 0 };
    script(&file, bench)?;
    Ok(Outcome::Passed)
}

fn script(file: &File<'_>, mut bench: Bench) -> Result<(), Failure> {
    for (line, words) in file.lines("script") {
        let words = words.split('#').next().unwrap_or_default().trim();
        if !words.is_empty() {
            bench
                .step(words)
                .map_err(|message| Failure { line: *line, message: format!("{words}: {message}") })?;
        }
    }
    Ok(())
}

/// A lab whose tasks have names.
struct Bench {
    lab: Lab,
    tasks: BTreeMap<String, TaskId>,
    /// Result of the last `pick`.
    last: Option<Picked>,
    /// The clock that components read; only `wait` moves it.
    now_ns: u64,
}

type Step = Result<(), String>;

impl Bench {
    fn step(&mut self, line: &str) -> Step {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["wait", t] => {
                let end = self.now_ns.checked_add(time(t)?).ok_or("the clock would overflow")?;
                // A component may set its timer again for the same time: bounded, so that a broken one ends.
                for _ in 0..1_000_000 {
                    let Some((due, handle)) = self.lab.sched.next_timer().filter(|(due, _)| *due <= end)
                    else {
                        break;
                    };
                    self.now_ns = self.now_ns.max(due);
                    self.lab.sched.set_now(self.now_ns);
                    self.lab.timer(handle)?;
                }
                self.now_ns = end;
                self.lab.sched.set_now(end);
                Ok(())
            }
            ["new", names @ ..] => self.each_new(names, |_, _, _| Ok(())),
            ["admit", names @ ..] => self.each_new(names, |lab, cpu, t| lab.admit(cpu, t)),
            ["unblock", names @ ..] => {
                let (names, cpu) = split_on(names)?;
                names.iter().try_for_each(|n| {
                    let t = self.task(n)?;
                    self.lab.unblock(cpu, t)
                })
            }
            ["relinquish", names @ ..] => self.each(names, |lab, t| lab.relinquish(t)),
            ["block", names @ ..] => self.each(names, |lab, t| lab.block(t)),
            ["exit", names @ ..] => {
                self.each(names, |lab, t| lab.exit(t))?;
                for n in names {
                    self.tasks.remove(*n);
                }
                Ok(())
            }
            ["pick", cpu] => {
                self.last = self.lab.pick(number(cpu)?)?;
                Ok(())
            }
            ["pick", cpu, "=", want] => {
                self.last = self.lab.pick(number(cpu)?)?;
                let have = self.last.map_or("none".into(), |p| self.name(p.task));
                if have == *want { Ok(()) } else { Err(format!("it is {have}")) }
            }
            ["priority", t, v] => {
                let v: i64 = v.parse().map_err(|_| format!("`{v}` is not a number"))?;
                self.notify_value(Topic::Priority, t, v as u64)
            }
            ["weight", t, v] => self.notify_value(Topic::Weight, t, number(v)?),
            ["latency", t, v] => self.notify_value(Topic::Latency, t, time(v)?),
            ["group", t, v] => self.notify_value(Topic::Group, t, number(v)?),
            ["group", g, "weight", w] => {
                let msg = Msg { value: number(g)?, value2: number(w)?, ..Msg::default() };
                self.lab.notify(Topic::Group, &msg)
            }
            ["group", g, "in", parent, "weight", w] => {
                let value2 = number::<u64>(w)? | number::<u64>(parent)? << 32;
                self.lab.notify(Topic::Group, &Msg { value: number(g)?, value2, ..Msg::default() })
            }
            ["limit", g, quota, period] => self.limit(g, quota, "0", period),
            ["limit", g, quota, "burst", burst, period] => self.limit(g, quota, burst, period),
            ["uclamp", "group", g, least, most] => {
                let msg = Msg { value: clamps(least, most)?, value2: number(g)?, ..Msg::default() };
                self.lab.notify(Topic::Uclamp, &msg)
            }
            ["uclamp", t, least, most] => {
                let value = clamps(least, most)?;
                self.notify_value(Topic::Uclamp, t, value)
            }
            ["memory", t, v] => self.notify_value(Topic::Memory, t, number(v)?),
            ["gang", t, v] => self.notify_value(Topic::Gang, t, number(v)?),
            ["gang", t, v, "waits"] => self.publish_two(Topic::Gang, t, number(v)?, 1),
            ["slot", cpu, gang, offset, length, period, from, alone @ ..] => {
                let cpu = if *cpu == "all" { None } else { Some(number(cpu)?) };
                if !matches!(alone, [] | ["alone"]) {
                    return Err("write `slot CPU GANG OFFSET LENGTH PERIOD FROM [alone]`".into());
                }
                if !alone.is_empty() {
                    let value = number::<u64>(gang)? | 4 << 32;
                    self.lab.notify(Topic::GangSlot, &Msg { cpu, value, value2: 1, ..Msg::default() })?;
                }
                for (field, v) in [offset, period, length, from].into_iter().enumerate() {
                    let value = number::<u64>(gang)? | (field as u64) << 32;
                    let msg = Msg { cpu, value, value2: time(v)?, ..Msg::default() };
                    self.lab.notify(Topic::GangSlot, &msg)?;
                }
                Ok(())
            }
            ["tick", cpu] => self.lab.notify(Topic::Tick, &Msg { cpu: Some(number(cpu)?), ..Msg::default() }),
            ["deadline", t, v] => self.notify_value(Topic::Deadline, t, time(v)?),
            ["deadline", t, v, period] => self.publish_two(Topic::Deadline, t, time(v)?, time(period)?),
            ["job", t, wcet, relative] => self.publish_two(Topic::Job, t, time(wcet)?, time(relative)?),
            ["criticality", t, level, wcet] => {
                let level = ["none", "lo", "hi"].iter().position(|l| l == level);
                let level = level.ok_or("write `criticality TASK none|lo|hi WCET`")?;
                self.publish_two(Topic::Criticality, t, level as u64, time(wcet)?)
            }
            ["counters", t, counts @ ..] => {
                let t = self.task(t)?;
                let counts = counters(counts)?;
                self.lab.counters(t, &counts)
            }
            ["policy", t, name] => {
                let names = ["other", "fifo", "rr", "batch", "", "idle", "deadline"];
                let policy = names.iter().position(|n| n == name);
                let policy = policy.ok_or("write `policy TASK other|fifo|rr|batch|idle|deadline`")?;
                self.notify_value(Topic::Policy, t, policy as u64)
            }
            ["isa", t, v] => {
                let isa = self.isa(v)?;
                self.notify_value(Topic::Isa, t, isa)
            }
            ["publish", topic, t, fields @ ..] => {
                let own = self.own(topic)?;
                let task = Some(self.task(t)?);
                let field = |f: &&str| {
                    let (name, value) =
                        f.split_once('=').ok_or("write `publish TOPIC TASK FIELD=NUMBER …`")?;
                    Ok((name.to_owned(), number(value)?))
                };
                let fields: Vec<(String, u64)> = fields.iter().map(field).collect::<Result<_, String>>()?;
                let words = own.payload(&fields).map_err(|(message, help)| format!("{message}: {help}"))?;
                self.lab.publish(own, &Msg { task, ..Msg::default() }, &words)
            }
            ["tcb", t, v] => self.notify_value(Topic::Tcb, t, number(v)?),
            ["affinity", t, cpus] => {
                let mask = match *cpus {
                    "all" => CpuSet::new(),
                    list => machine::cpus_of(list, self.lab.shape.nr_cpus())?,
                };
                let t = self.task(t)?;
                self.lab.affinity(t, mask)
            }
            ["cpu", cpu, "online"] => self.lab.cpu_status(number(cpu)?, true),
            ["cpu", cpu, "offline"] => self.lab.cpu_status(number(cpu)?, false),
            ["burn", n] => self.lab.notify(Topic::Burn, &Msg { value: number(n)?, ..Msg::default() }),
            ["burn", n, inst] => {
                let value2 = u64::from(self.instance(inst)?) + 1;
                self.lab.notify(Topic::Burn, &Msg { value: number(n)?, value2, ..Msg::default() })
            }
            ["thermal", cpu, celsius] => {
                let value = 1_000 * number::<u64>(celsius)?;
                let cpu = Some(number(cpu)?);
                self.lab.notify(Topic::Thermal, &Msg { cpu, value, ..Msg::default() })
            }
            ["frequency", cpu, mhz] => {
                let value = 1_000_000 * number::<u64>(mhz)?;
                let cpu = Some(number(cpu)?);
                self.lab.notify(Topic::Frequency, &Msg { cpu, value, ..Msg::default() })
            }
            ["power", what @ ("battery" | "mains")] => {
                let value = u64::from(*what == "battery");
                self.lab.notify(Topic::Power, &Msg { value, ..Msg::default() })
            }
            ["marker", n] => self.lab.notify(Topic::Marker, &Msg { value: number(n)?, ..Msg::default() }),
            ["swap"] => self.lab.swap(self.lab.plan.clone()).map(|_| ()),
            ["replace", inst, class] => {
                let inst = self.instance(inst)?;
                self.lab.replace(inst, class, None).map(|_| ())
            }
            ["forget", "messages"] => {
                self.lab.messages.clear();
                Ok(())
            }
            ["expect", rest @ ..] => self.expect(rest),
            _ => Err("unknown statement; docs/wtest.md lists them".into()),
        }
    }

    fn expect(&mut self, words: &[&str]) -> Step {
        match words {
            ["pipe", name, want @ ..] => {
                let name = name.strip_suffix(':').ok_or("write `expect pipe NAME: TASK …`")?;
                let pipe = self.lab.pipe(name).ok_or_else(|| {
                    let all: Vec<&str> = self.lab.plan.pipes.iter().map(|p| p.name.as_str()).collect();
                    format!("no pipe `{name}`; there are {}", all.join(", "))
                })?;
                let have: Vec<String> = self.lab.tasks(pipe).iter().map(|t| self.name(*t)).collect();
                let want: Vec<&str> = want.iter().copied().filter(|w| *w != "-").collect();
                equal(&want.join(" "), &have.join(" "))
            }
            ["slice", want] => {
                let have = match self.last.ok_or("no task was picked")?.slice_ns {
                    None => "default".to_owned(),
                    Some(u64::MAX) => "unlimited".to_owned(),
                    Some(ns) => format!("{ns}ns"),
                };
                let want = if want.starts_with(|c: char| c.is_ascii_digit()) {
                    format!("{}ns", time(want)?)
                } else {
                    (*want).into()
                };
                equal(&want, &have)
            }
            ["state", t, want] => {
                let state = self.lab.sched.state(self.task(t)?);
                equal(want, ["gone", "unconsidered", "schedulable", "running"][state as usize & 3])
            }
            ["no", "message"] => {
                let all: Vec<String> = self.lab.messages.iter().map(|m| self.show(m)).collect();
                equal("", &all.join(", "))
            }
            ["message", want @ ..] => {
                let want = want.join(" ");
                let at = self.lab.messages.iter().position(|m| self.show(m) == want);
                let at = at.ok_or_else(|| {
                    let all: Vec<String> = self.lab.messages.iter().map(|m| self.show(m)).collect();
                    format!("there is: {}", if all.is_empty() { "none".into() } else { all.join(", ") })
                })?;
                self.lab.messages.remove(at);
                Ok(())
            }
            ["error", rest @ ..] => match self.step(&rest.join(" ")) {
                Ok(()) => Err("it went well".into()),
                Err(_) => Ok(()),
            },
            ["fault", want] => equal(want, &self.lab.sched.faults().0.to_string()),
            ["PENALTY", "counter", n, "=", want] => {
                let msg = Msg { value: number(n)?, ..Msg::default() };
                let have = self.lab.sched.request(0, Topic::Penalty, &msg).ok_or("nobody answers")?;
                equal(want, &have.value.to_string())
            }
            ["PENALTY", t, "=", runtime, slice] => {
                let t = self.task(t)?;
                let have = self.lab.ask(Topic::Penalty, t).ok_or("nobody answers")?;
                equal(&format!("{runtime} {slice}"), &format!("{} {}", have.value as i64, have.value2 as i64))
            }
            ["UCLAMP", t, "=", least, most] => {
                let t = self.task(t)?;
                let have = Clamps::of_word(self.lab.ask(Topic::Uclamp, t).ok_or("nobody answers")?.value);
                equal(&format!("{least} {most}"), &format!("{} {}", have.least, have.most))
            }
            ["COUNTERS", t, field @ .., "=", want] if !field.is_empty() => {
                let t = self.task(t)?;
                let name = field[field.len() - 1];
                let all = matches!(field, ["in", "all", _]);
                let (have, _) = self.lab.sched.ask_counters(0, t, all).ok_or("nobody answers")?;
                let at = Counters::NAMES.iter().position(|n| *n == name);
                equal(want, &have.to_array()[at.ok_or_else(|| format!("no counter `{name}`"))?].to_string())
            }
            [topic, t, "=", want @ ..] if Topic::by_name(topic).is_none() => {
                let own = self.own(topic)?;
                let msg = Msg { task: Some(self.task(t)?), ..Msg::default() };
                let id = self.lab.sched.topic_find(own).map_err(|e| e.to_string())?;
                let have = self.lab.sched.ask(0, id, &msg).map_err(|e| e.to_string())?;
                let show = |(f, v): (&String, &u64)| format!("{f}={v}");
                let have: Vec<String> = own.fields.iter().zip(&have.data).map(show).collect();
                equal(&want.join(" "), &have.join(" "))
            }
            [topic, t, "=", want] => {
                let topic = Topic::by_name(topic).ok_or_else(|| format!("no topic `{topic}`"))?;
                let id = self.task(t)?;
                let msg = self.lab.ask(topic, id).ok_or("nobody answers")?;
                let have = match topic {
                    Topic::Affinity => msg.mask.map_or("all".to_owned(), |m| show_cpus(&m)),
                    Topic::Priority => (msg.value as i64).to_string(),
                    _ => msg.value.to_string(),
                };
                let want = match topic {
                    Topic::Deadline | Topic::Job | Topic::Executed => time(want)?.to_string(),
                    Topic::Isa => self.isa(want)?.to_string(),
                    _ => (*want).to_owned(),
                };
                equal(&want, &have)
            }
            ["STATUS", what, object, "=", want] => {
                let msg = Msg { value: number(what)?, value2: number(object)?, ..Msg::default() };
                let have = self.lab.sched.request(0, Topic::Status, &msg).ok_or("nobody answers")?;
                equal(want, &have.value.to_string())
            }
            _ => Err("unknown expectation; docs/wtest.md lists them".into()),
        }
    }

    /// A topic that some instance has brought along.
    fn own(&self, name: &str) -> Result<&'static OwnTopic, String> {
        self.lab.plan.own_topic(name).ok_or_else(|| format!("no topic `{name}` in this topology"))
    }

    fn task(&self, name: &str) -> Result<TaskId, String> {
        self.tasks.get(name).copied().ok_or_else(|| format!("there is no task `{name}`"))
    }

    fn name(&self, t: TaskId) -> String {
        let named = self.tasks.iter().find(|(_, id)| **id == t);
        named.map_or_else(|| format!("?{}", t.0), |(n, _)| n.clone())
    }

    /// `KICK 1`, `WITHHELD a`, `PREEMPT 0 a`: topic, CPU, task, as far as there are.
    fn show(&self, m: &weir_core::OutMsg) -> String {
        let mut words = vec![m.topic.name().to_owned()];
        words.extend(m.cpu.map(|c| c.to_string()));
        words.extend(m.task.map(|t| self.name(t)));
        if m.topic == Topic::Frequency {
            words.push((m.value / 1_000_000).to_string());
        }
        words.join(" ")
    }

    fn instance(&self, name: &str) -> Result<u32, String> {
        let at = self.lab.plan.instances.iter().position(|i| i.name == name);
        at.map(|i| i as u32).ok_or_else(|| format!("no instance `{name}`"))
    }

    fn isa(&self, name: &str) -> Result<u64, String> {
        let at = self.lab.shape.isas.iter().position(|i| i == name);
        at.map(|i| i as u64)
            .or_else(|| name.parse().ok())
            .ok_or_else(|| format!("no instruction set `{name}`"))
    }

    fn limit(&mut self, g: &str, quota: &str, burst: &str, period: &str) -> Step {
        let us = |word: &str| if word == "0" { Ok(0) } else { time(word).map(|ns| ns / 1000) };
        let value = number::<u64>(g)? | us(period)? << 32;
        let value2 = us(quota)? | us(burst)? << 32;
        self.lab.notify(Topic::Limit, &Msg { value, value2, ..Msg::default() })
    }

    fn notify_value(&mut self, topic: Topic, t: &str, value: u64) -> Step {
        let t = self.task(t)?;
        self.lab.notify_value(topic, t, value)
    }

    fn publish_two(&mut self, topic: Topic, t: &str, value: u64, value2: u64) -> Step {
        let task = Some(self.task(t)?);
        self.lab.notify(topic, &Msg { task, value, value2, ..Msg::default() })
    }

    fn each(&mut self, names: &[&str], f: impl Fn(&mut Lab, TaskId) -> Step) -> Step {
        names.iter().try_for_each(|n| {
            let t = self.task(n)?;
            f(&mut self.lab, t)
        })
    }

    /// `NAME … [on CPU]`; tasks that do not exist yet are created.
    fn each_new(&mut self, names: &[&str], f: impl Fn(&mut Lab, u32, TaskId) -> Step) -> Step {
        let (names, cpu) = split_on(names)?;
        for n in names {
            let t = match self.tasks.get(*n) {
                Some(t) => *t,
                None => {
                    let t = self.lab.create(cpu)?;
                    self.tasks.insert((*n).into(), t);
                    t
                }
            };
            f(&mut self.lab, cpu, t)?;
        }
        Ok(())
    }
}

/// `l1_hits=90 l1_misses=10`; what is not named is 0.
fn counters(words: &[&str]) -> Result<Counters, String> {
    let mut all = Counters::default().to_array();
    for word in words {
        let (name, value) = word.split_once('=').ok_or("write `counters TASK NAME=NUMBER ...`")?;
        let at = Counters::NAMES.iter().position(|n| *n == name);
        all[at.ok_or_else(|| format!("no counter `{name}`"))?] = number(value)?;
    }
    Ok(Counters::from_array(all))
}

fn split_on<'a, 'b>(words: &'a [&'b str]) -> Result<(&'a [&'b str], u32), String> {
    match words {
        [names @ .., "on", cpu] => Ok((names, number(cpu)?)),
        names => Ok((names, 0)),
    }
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("`{word}` is not a number"))
}

/// Utilisation clamps as a message has them.
fn clamps(least: &str, most: &str) -> Result<u64, String> {
    let (least, most) = (number(least)?, number(most)?);
    if most > Clamps::WHOLE { Err("at most 1024".into()) } else { Ok(Clamps { least, most }.word()) }
}

/// Nanoseconds, with a unit.
fn time(word: &str) -> Result<u64, String> {
    quantity::parse(word, TIME).map_err(|e| format!("{}: a unit of time is ns, us, ms, s or min", e.message))
}

fn show_cpus(set: &CpuSet) -> String {
    set.iter().map(|c| c.to_string()).collect::<Vec<_>>().join(",")
}

fn equal(want: &str, have: &str) -> Step {
    let shown = |s: &str| if s.is_empty() { "nothing".to_owned() } else { s.to_owned() };
    if want == have { Ok(()) } else { Err(format!("expected {}, there is {}", shown(want), shown(have))) }
}

/// Every component and whether a test of its name lies beside it.
pub fn missing_tests(root: &std::path::Path) -> Vec<String> {
    let beside = |source: &str| root.join(source).with_extension("wtest").is_file();
    catalog().components.iter().filter(|c| !beside(&c.source)).map(|c| c.source.clone()).collect()
}
