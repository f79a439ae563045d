// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What a workload asks for and a topology does not obey (DESIGN D21). Who obeys what is [`weir_core::heed`]'s to say; here is what
//! workloads ask for, which topologies of the catalogue would obey, and how it is said.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, OnceLock};

use weir_core::{Clamps, Heed, MachineShape, Plan, Setting, Topic};
use weir_model::Workload;
use weir_model::scenario::Subject;
use weir_model::workload::{Op, Policy, TaskSpec};
use weir_report::{Ignored, Summary};

use crate::catalogue::TOPOLOGIES;
use crate::fault::{Diag, Fault, Result};
use crate::topology;

/// Topologies named in a message; the results have all.
const NAMED: usize = 4;

/// Something that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wish {
    Setting(Setting),
    /// A message on a topic, by its name.
    Message(String),
}

/// How many ask for it, and one of them.
#[derive(Clone, Debug)]
struct Asked {
    count: u64,
    example: String,
}

impl Wish {
    fn heed(&self, plan: &Plan) -> Heed {
        match self {
            Self::Setting(setting) => plan.heed(*setting),
            Self::Message(name) => {
                let heard = match Topic::by_name(name) {
                    Some(topic) => plan.listens_to(topic),
                    None => plan.own_topic(name).is_some(),
                };
                if heard { Heed::Obeyed } else { Heed::Ignored }
            }
        }
    }

    fn lack(&self) -> &'static str {
        match self {
            Self::Setting(setting) => setting.lack(),
            Self::Message(_) => "no component listens to the topic",
        }
    }
}

/// What a workload asks for on a machine of so many CPUs.
fn asked(workload: &Workload, nr_cpus: u32) -> BTreeMap<Wish, Asked> {
    let mut all: BTreeMap<Wish, Asked> = BTreeMap::new();
    let mut add = |wish: Wish, example: &str| {
        all.entry(wish).or_insert_with(|| Asked { count: 0, example: example.to_string() }).count += 1;
    };
    let binds = |set: &weir_core::CpuSet| (0..nr_cpus).any(|c| !set.contains(c));
    // Instances share programs.
    let mut programs: BTreeMap<*const Op, BTreeSet<Wish>> = BTreeMap::new();
    for (i, task) in (0..).zip(&workload.tasks) {
        let mut wishes = of_task(task);
        if let Some(simso) = &workload.simso {
            // Data for a scheduler of fixed priorities; SimSo's others do not look at it either.
            let named = |s: &String| s.rsplit('.').next() == Some("FP");
            let given = wishes.remove(&Wish::Setting(Setting::Nice))
                || wishes.remove(&Wish::Setting(Setting::Priority));
            if given && simso.scheduler.as_ref().is_some_and(named) {
                wishes.insert(Wish::Setting(Setting::Priority));
            }
        }
        if task.cpus.as_ref().is_some_and(binds) {
            wishes.insert(Wish::Setting(Setting::Affinity));
        }
        if let Some(fair) = workload.fairness.tasks.get(&i) {
            if fair.weight.is_some() {
                wishes.remove(&Wish::Setting(Setting::Nice));
                wishes.insert(Wish::Setting(Setting::Weight));
            }
            wishes.extend(fair.slice_ns.map(|_| Wish::Setting(Setting::Slice)));
            if fair.clamps != Clamps::default() {
                wishes.insert(Wish::Setting(Setting::Clamps));
            }
        }
        if workload.criticality.contains_key(&i) {
            wishes.insert(Wish::Setting(Setting::Criticality));
        }
        let of_program =
            programs.entry(Arc::as_ptr(&task.program).cast()).or_insert_with(|| in_program(task, &binds));
        wishes.extend(of_program.iter().cloned());
        for wish in wishes {
            add(wish, &task.name);
        }
    }
    // A group asks for something once somebody is in it.
    let mut used: HashSet<u32> = HashSet::new();
    for fair in workload.fairness.tasks.values() {
        let mut group = fair.group;
        while group != 0 && used.insert(group) {
            group = workload.fairness.groups[group as usize - 1].parent;
        }
    }
    let groups = (1..).zip(&workload.fairness.groups).filter(|(number, _)| used.contains(number));
    for (_, group) in groups {
        add(Wish::Setting(Setting::GroupWeight), &group.name);
        if group.quota_ns > 0 {
            add(Wish::Setting(Setting::GroupLimit), &group.name);
        }
        if group.clamps != Clamps::default() {
            add(Wish::Setting(Setting::Clamps), &group.name);
        }
    }
    for gang in &workload.gangs {
        add(Wish::Setting(Setting::Gang), gang.manifest.name());
    }
    all
}

/// What a task asks for from its beginning.
fn of_task(task: &TaskSpec) -> BTreeSet<Wish> {
    let mut wishes = BTreeSet::new();
    let mut add = |setting| {
        wishes.insert(Wish::Setting(setting));
    };
    match task.policy {
        Policy::Other => {}
        Policy::Batch => add(Setting::Batch),
        Policy::Idle => add(Setting::Idle),
        Policy::Fifo => add(Setting::Fifo),
        Policy::RoundRobin => add(Setting::RoundRobin),
        Policy::Deadline { .. } => add(Setting::DeadlinePolicy),
    }
    if matches!(task.policy, Policy::Other | Policy::Batch) {
        add_nice(&mut wishes, task.priority);
    }
    if task.isa.is_some() {
        wishes.insert(Wish::Setting(Setting::Isa));
    }
    wishes
}

/// A priority on the common scale: a nice value, or a fixed priority.
fn add_nice(wishes: &mut BTreeSet<Wish>, priority: i32) {
    match priority {
        0 => {}
        -19..=20 => {
            wishes.insert(Wish::Setting(Setting::Nice));
        }
        _ => {
            wishes.insert(Wish::Setting(Setting::Priority));
        }
    }
}

/// What a task asks for in the course of its program.
fn in_program(task: &TaskSpec, binds: &impl Fn(&weir_core::CpuSet) -> bool) -> BTreeSet<Wish> {
    let mut wishes = BTreeSet::new();
    let recurs = |op: &Op| match op {
        Op::Release { deadline_ns, .. } | Op::Arrive { deadline_ns, .. } => *deadline_ns != u64::MAX,
        Op::Await { .. } => task.timing.is_some(),
        _ => false,
    };
    for op in task.program.iter() {
        match op {
            Op::SetPriority { priority } if *priority != task.priority && (-19..=20).contains(priority) => {
                wishes.insert(Wish::Setting(Setting::Nice));
            }
            Op::SetAffinity { cpus: Some(cpus) } if binds(cpus) => {
                wishes.insert(Wish::Setting(Setting::Affinity));
            }
            Op::SetIsa { isa: Some(_) } => {
                wishes.insert(Wish::Setting(Setting::Isa));
            }
            Op::Publish { what } => {
                let name = match what.topic {
                    Subject::Standard(topic) => topic.name().to_string(),
                    Subject::Own(own) => own.name.clone(),
                };
                wishes.insert(Wish::Message(name));
            }
            // Those of the policy are its own affair.
            op if recurs(op) && !matches!(task.policy, Policy::Deadline { .. }) => {
                wishes.insert(Wish::Setting(Setting::Deadline));
            }
            _ => {}
        }
    }
    wishes
}

/// What `plan` does not obey of what `workload` asks for, on a machine of so many CPUs.
pub fn ignored(plan: &Plan, workload: &Workload, nr_cpus: u32) -> Vec<Ignored> {
    let asked = asked(workload, nr_cpus);
    let unheeded: Vec<(&Wish, &Asked, Heed)> = asked
        .iter()
        .map(|(wish, asked)| (wish, asked, wish.heed(plan)))
        .filter(|(_, _, heed)| *heed != Heed::Obeyed)
        .collect();
    if unheeded.is_empty() {
        return Vec::new();
    }
    let wishes: Vec<&Wish> = asked.keys().collect();
    let one = |(wish, asked, heed): (&Wish, &Asked, Heed)| entry(plan, wish, asked, heed, &wishes);
    unheeded.into_iter().map(one).collect()
}

/// The same of settings that a user gives for a program's threads.
pub fn of_program(plan: &Plan, settings: &[Setting]) -> Vec<Ignored> {
    let wishes: Vec<Wish> = settings.iter().map(|s| Wish::Setting(*s)).collect();
    let all: Vec<&Wish> = wishes.iter().collect();
    let nobody = Asked { count: 0, example: String::new() };
    let unheeded = wishes.iter().map(|w| (w, w.heed(plan))).filter(|(_, heed)| *heed != Heed::Obeyed);
    unheeded.map(|(wish, heed)| entry(plan, wish, &nobody, heed, &all)).collect()
}

/// One wish that a topology does not obey, of all that are asked for.
fn entry(plan: &Plan, wish: &Wish, asked: &Asked, heed: Heed, all: &[&Wish]) -> Ignored {
    let (setting, value) = match wish {
        Wish::Setting(setting) => (setting.name(), setting.value().map(str::to_string)),
        Wish::Message(topic) => ("message", Some(topic.clone())),
    };
    let (effect, why) = match heed {
        Heed::Changed(why) => ("changed", why.to_string()),
        Heed::Partly(cpus) => {
            let cpus: weir_core::CpuSet = cpus.into_iter().collect();
            ("partly", format!("on CPUs {cpus} {}", wish.lack()))
        }
        Heed::Obeyed | Heed::Ignored => ("ignored", wish.lack().to_string()),
    };
    Ignored {
        topology: plan.name.clone(),
        setting: setting.into(),
        value,
        count: asked.count,
        example: asked.example.clone(),
        effect: effect.into(),
        why,
        topologies: obeying(wish, all),
        guest: None,
    }
}

/// The catalogue's topologies as plans, each for a small machine, or the one that its example uses.
fn catalogue() -> &'static [(&'static str, Plan)] {
    static PLANS: OnceLock<Vec<(&'static str, Plan)>> = OnceLock::new();
    PLANS.get_or_init(|| {
        let plan = |name: &'static str| {
            let source = topology::source(name).ok()?;
            let small = topology::compile(&source, &MachineShape::flat(4), &[]);
            let done = small.or_else(|_| {
                let machine = topology::default_machine(&source)?;
                topology::compile(&source, &machine.shape, &[])
            });
            Some((name, done.ok()?.plan))
        };
        TOPOLOGIES.iter().filter_map(|t| plan(t.name)).collect()
    })
}

/// Topologies that obey `wish`, those first that obey most of `all`.
fn obeying(wish: &Wish, all: &[&Wish]) -> Vec<String> {
    let obeys = |plan: &Plan, wish: &Wish| wish.heed(plan) == Heed::Obeyed;
    let mut found: Vec<(usize, &str)> = catalogue()
        .iter()
        .filter(|(_, plan)| obeys(plan, wish))
        .map(|(name, plan)| (all.iter().filter(|w| !obeys(plan, w)).count(), *name))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name.to_string()).collect()
}

/// Which topologies obey a setting, given by its name, in words.
pub fn obeyed_by(name: &str) -> String {
    let of = |s: Setting| obeying(&Wish::Setting(s), &[]);
    remedy(&Setting::ALL.into_iter().find(|s| s.name() == name).map(of).unwrap_or_default())
}

/// What is asked for, in words: `SCHED_FIFO of 3 tasks such as `a``.
fn what(one: &Ignored) -> String {
    let kind = match (one.setting.as_str(), &one.value) {
        ("nice", _) => "nice values".to_string(),
        ("weight", _) => "weights".to_string(),
        ("priority", _) => "fixed priorities".to_string(),
        ("slice", _) => "requested slices".to_string(),
        ("clamps", _) => "utilisation clamps".to_string(),
        ("group weight", _) => "weights of groups".to_string(),
        ("group limit", _) => "limits of groups".to_string(),
        ("affinity", _) => "affinities".to_string(),
        ("deadline", _) => "deadlines".to_string(),
        ("instruction set", _) => "instruction sets".to_string(),
        ("gang", _) => "gangs".to_string(),
        ("admission", _) => "reservations".to_string(),
        ("message", Some(topic)) => format!("messages of {topic}"),
        (_, Some(value)) => value.clone(),
        (other, None) => other.to_string(),
    };
    let things = match one.setting.as_str() {
        "group weight" | "group limit" => "group",
        "gang" => "gang",
        "clamps" => "task or group",
        _ => "task",
    };
    match one.count {
        0 => kind,
        1 => format!("{kind} ({things} `{}`)", one.example),
        n => format!("{kind} ({n} {things}s, such as `{}`)", one.example),
    }
}

/// One sentence: what a topology does not obey.
pub fn sentence(one: &Ignored) -> String {
    let (what, topology) = (what(one), &one.topology);
    let guest = one.guest.as_ref().map_or(String::new(), |g| format!("guest `{g}`: "));
    match one.effect.as_str() {
        "changed" => format!("{guest}`{topology}` changes the meaning of {what}: {}", one.why),
        "refused" => format!("{guest}`{topology}` refuses {what}: {}", one.why),
        "partly" => format!("{guest}`{topology}` obeys {what} on some CPUs only: {}", one.why),
        _ => format!("{guest}`{topology}` ignores {what}: {}", one.why),
    }
}

/// Which topologies would obey.
fn remedy(topologies: &[String]) -> String {
    let names: Vec<String> = topologies.iter().take(NAMED).map(|n| format!("`{n}`")).collect();
    match (names.is_empty(), topologies.len() > NAMED) {
        (true, _) => "no topology of the catalogue obeys it".into(),
        (false, true) => {
            format!("topologies that obey: {} and {} more", names.join(", "), topologies.len() - NAMED)
        }
        (false, false) => format!("topologies that obey: {}", names.join(", ")),
    }
}

/// What was refused in the course of a run: it is known only then.
pub fn refused(summary: &Summary) -> Vec<String> {
    summary.ignored.iter().filter(|i| i.effect == "refused").map(sentence).collect()
}

/// What to tell the user before a run.
pub fn warnings(all: &[Ignored]) -> Vec<Diag> {
    let one = |one: &Ignored| Diag::warning(sentence(one)).help(remedy(&one.topologies)).code("ignored");
    all.iter().map(one).collect()
}

/// What `plan` does not obey of what `workload` asks for; an error where nothing may be ignored.
///
/// # Errors
/// The user's, if `strict`: there is something.
pub fn allowed(plan: &Plan, workload: &Workload, nr_cpus: u32, strict: bool) -> Result<Vec<Ignored>> {
    let found = ignored(plan, workload, nr_cpus);
    refusal(&found).filter(|_| strict).map_or(Ok(found), Err)
}

/// Add what is not among them yet: the same of a topology and a guest is said once.
pub fn merge(all: &mut Vec<Ignored>, more: impl IntoIterator<Item = Ignored>) {
    for one in more {
        let same = |o: &Ignored| {
            (&o.topology, &o.setting, &o.value, &o.guest)
                == (&one.topology, &one.setting, &one.value, &one.guest)
        };
        if !all.iter().any(same) {
            all.push(one);
        }
    }
}

/// The same as one error, where nothing may be ignored.
pub fn refusal(all: &[Ignored]) -> Option<Fault> {
    let first = all.first()?;
    let sentences: Vec<String> = all.iter().map(sentence).collect();
    let every: Vec<&String> =
        first.topologies.iter().filter(|t| all.iter().all(|o| o.topologies.contains(t))).collect();
    let help = match every.as_slice() {
        [] => {
            let each = all.iter().map(|one| format!("{}: {}", what(one), remedy(&one.topologies)));
            format!(
                "no topology of the catalogue obeys all; {}; or leave `--strict` out",
                each.collect::<Vec<_>>().join("; ")
            )
        }
        all => {
            let names: Vec<String> = all.iter().take(NAMED).map(|n| format!("`{n}`")).collect();
            format!("topologies that obey: {}; or leave `--strict` out", names.join(", "))
        }
    };
    Some(Fault::from(Diag::error(sentences.join("; ")).help(help).code("ignored")))
}

/// Where a setting comes from in each runtime, and who keeps it there: simulated, live, in a program's threads, from recordings.
fn runtimes(setting: Setting) -> [&'static str; 4] {
    let simulated = "workload";
    match setting {
        Setting::Nice => [simulated, "system", "program", "recording"],
        Setting::GroupWeight => [simulated, "system", "program", "none"],
        Setting::Affinity => [simulated, "system", "said", "none"],
        Setting::Batch | Setting::Idle => [simulated, "system", "said", "recording"],
        Setting::GroupLimit => [simulated, "system", "none", "none"],
        Setting::Fifo => [simulated, "kernel", "program", "recording"],
        Setting::RoundRobin => [simulated, "kernel", "said", "recording"],
        Setting::DeadlinePolicy => [simulated, "kernel", "said", "said"],
        Setting::Weight | Setting::Slice | Setting::Deadline => [simulated, "none", "program", "none"],
        Setting::Priority => [simulated, "none", "program", "recording"],
        Setting::Gang => [simulated, "program", "program", "none"],
        Setting::Isa | Setting::Criticality | Setting::Clamps => [simulated, "none", "none", "none"],
    }
}

/// The page before its tables of settings.
const PAGE_HEAD: &str = "# Settings and who obeys them

A workload or the system may ask for settings that a topology does not obey. Each such setting is reported once on stderr, with topologies that obey it.
With `--strict` it is an error before anything runs, with exit status 2.

`summary.json`, `compare.json` (for each run), `sweep.json`, `tune.json`, and the JSON output of `guard` and `analyze` list these settings in `ignored`:

| field | meaning |
|---|---|
| `topology` | the topology that does not obey |
| `setting`, `value` | the kind of setting and its value, such as `policy` and `SCHED_FIFO`, or `message` and its topic |
| `count`, `example` | how many tasks or groups ask for it, and the name of one of them |
| `effect` | one of the words below |
| `why` | the reason |
| `topologies` | topologies of the catalogue that obey it; those that obey most of the workload's settings come first |
| `guest` | the guest with this topology; absent for the machine's topology |

- `ignored`: the setting changes nothing.
- `changed`: it has another effect than it means.
- `partly`: some CPUs obey it.
- `refused`: this was found in the course of the run, such as a reservation that does not fit (`setting` is `admission`).

`make docs` makes this page from the components' descriptors. `crates/weir/tests/ignored.rs` tests the topologies in simulation;
`crates/runweir/tests/cli/settings.rs` and `tests/threads/asks.c` test the runtimes.

## Runtimes

- `workload`: the workload file asks for it, and the topology obeys or is reported.
- `system`: the kernel's setting is published to the topology, which obeys or is reported.
- `program`: the program asks for it by its own calls.
- `kernel`: the kernel obeys it, under any topology.
- `recording`: a recording contains it, and the workload made from it asks for it.
- `said`: it has no effect under any topology, and this is reported.
- `none`: there is no way to ask for it.

| setting | run, compare, sweep, tune, guard, analyze, mcp, studio, Python | live, switch | threads | import |
|---|---|---|---|---|
";

/// `docs/settings.md`: every setting under every topology of the catalogue, and where it comes from in each runtime.
pub fn page() -> String {
    let mut text = String::from(PAGE_HEAD);
    let title = |s: Setting| s.value().map_or_else(|| s.name().to_string(), str::to_string);
    for setting in Setting::ALL {
        let cells = runtimes(setting).join(" | ");
        text += &format!("| {} | {cells} |\n", title(setting));
    }
    text += "\n## Topologies\n\n`●` obeyed, `~` changed and named, `◐` on some CPUs, and named, `·` ignored and named.\n\n| topology |";
    let heads: Vec<String> = Setting::ALL.into_iter().map(|s| title(s).replace("SCHED_", "")).collect();
    text += &format!(" {} |\n|---|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for (name, plan) in catalogue() {
        let cell = |s: Setting| match plan.heed(s) {
            Heed::Obeyed => "●",
            Heed::Partly(_) => "◐",
            Heed::Changed(_) => "~",
            Heed::Ignored => "·",
        };
        let cells: Vec<&str> = Setting::ALL.into_iter().map(cell).collect();
        text += &format!("| `{name}` | {} |\n", cells.join(" | "));
    }
    text
}
