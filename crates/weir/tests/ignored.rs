// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What is said to be obeyed is obeyed, and what is said to be ignored changes nothing: each setting under each topology of the
//! catalogue, with and without it, by simulation. The claim is made from descriptors; the runs know nothing of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use weir::catalogue::TOPOLOGIES;
use weir::{RunOptions, Setting, Unwatched};
use weir_report::Summary;

/// A setting in a workload: the file with it, the same without it, and what obeying means.
struct Trial {
    setting: &'static str,
    value: Option<&'static str>,
    machine: &'static str,
    with: &'static str,
    without: &'static str,
    /// `None`: that it changes something, in one of the setting's trials.
    obeyed: Option<fn(&Summary) -> bool>,
}

fn cpu_ns(s: &Summary, name: &str) -> f64 {
    s.tasks.iter().filter(|t| *t.name == *name).map(|t| t.cpu_ns as f64).sum()
}

/// CPU time of `a` as a multiple of that of `b`.
fn ratio(s: &Summary, a: &str, b: &str) -> f64 {
    cpu_ns(s, a) / cpu_ns(s, b).max(1.0)
}

const HOG: &str = "program = [\"run 10ms\"]\nloop = \"forever\"\n";

/// `@` is a program that never ends.
const TRIALS: &[Trial] = &[
    Trial {
        setting: "nice",
        value: None,
        machine: "smp-1",
        with: "[[task]]\nname = \"a\"\nnice = -5\n@[[task]]\nname = \"b\"\nnice = 5\n@",
        without: "[[task]]\nname = \"a\"\n@[[task]]\nname = \"b\"\n@",
        obeyed: Some(|s| ratio(s, "a", "b") > 2.0),
    },
    Trial {
        setting: "weight",
        value: None,
        machine: "smp-1",
        with: "[[task]]\nname = \"a\"\nweight = 4096\n@[[task]]\nname = \"b\"\nweight = 1024\n@",
        without: "[[task]]\nname = \"a\"\n@[[task]]\nname = \"b\"\n@",
        obeyed: Some(|s| (2.0..8.0).contains(&ratio(s, "a", "b"))),
    },
    Trial {
        setting: "policy",
        value: Some("SCHED_FIFO"),
        machine: "smp-1",
        with: "[[task]]\nname = \"a\"\n@[[task]]\nname = \"b\"\npolicy = \"fifo\"\npriority = 20\nstart = \"5ms\"\n@",
        without: "[[task]]\nname = \"a\"\n@[[task]]\nname = \"b\"\nstart = \"5ms\"\n@",
        obeyed: Some(|s| cpu_ns(s, "a") < 20e6),
    },
    Trial {
        setting: "policy",
        value: Some("SCHED_RR"),
        machine: "smp-1",
        with: "[[task]]\nname = \"a\"\npolicy = \"rr\"\npriority = 20\n@[[task]]\nname = \"b\"\npolicy = \"rr\"\npriority = 20\n@[[task]]\nname = \"c\"\n@",
        without: "[[task]]\nname = \"a\"\n@[[task]]\nname = \"b\"\n@[[task]]\nname = \"c\"\n@",
        obeyed: Some(|s| (0.5..2.0).contains(&ratio(s, "a", "b")) && cpu_ns(s, "c") < 20e6),
    },
    Trial {
        setting: "policy",
        value: Some("SCHED_DEADLINE"),
        machine: "smp-1",
        with: "[[task]]\nname = \"a\"\nrun = \"2ms\"\nperiod = \"10ms\"\npolicy = \"deadline\"\n[[task]]\nname = \"b\"\n@",
        without: "[[task]]\nname = \"a\"\nrun = \"2ms\"\nperiod = \"10ms\"\n[[task]]\nname = \"b\"\n@",
        obeyed: Some(|s| s.totals.deadline_misses == 0),
    },
    Trial {
        setting: "policy",
        value: Some("SCHED_BATCH"),
        machine: "smp-1",
        with: "[[task]]\nname = \"a\"\n@[[task]]\nname = \"b\"\npolicy = \"batch\"\nprogram = [\"run 100us\", \"sleep 3ms\"]\nloop = \"forever\"\n",
        without: "[[task]]\nname = \"a\"\n@[[task]]\nname = \"b\"\nprogram = [\"run 100us\", \"sleep 3ms\"]\nloop = \"forever\"\n",
        obeyed: None,
    },
    Trial {
        setting: "policy",
        value: Some("SCHED_IDLE"),
        machine: "smp-1",
        with: "[[task]]\nname = \"a\"\n@[[task]]\nname = \"b\"\npolicy = \"idle\"\n@",
        without: "[[task]]\nname = \"a\"\n@[[task]]\nname = \"b\"\n@",
        obeyed: Some(|s| ratio(s, "b", "a") < 0.1),
    },
    Trial {
        setting: "slice",
        value: None,
        machine: "smp-1",
        with: "[[task]]\nname = \"a\"\nslice = \"100us\"\nprogram = [\"run 1ms\", \"sleep 200us\"]\nloop = \"forever\"\n[[task]]\nname = \"b\"\nslice = \"20ms\"\n@",
        without: "[[task]]\nname = \"a\"\nprogram = [\"run 1ms\", \"sleep 200us\"]\nloop = \"forever\"\n[[task]]\nname = \"b\"\n@",
        obeyed: None,
    },
    // A light task, which fits any CPU and any clock.
    Trial {
        setting: "clamps",
        value: None,
        machine: "hybrid-2p2e",
        with: "[[task]]\nname = \"a\"\nutil_min = 1024\nprogram = [\"run 1ms\", \"sleep 9ms\"]\nloop = \"forever\"\n[[task]]\nname = \"b\"\nutil_max = 200\n@",
        without: "[[task]]\nname = \"a\"\nprogram = [\"run 1ms\", \"sleep 9ms\"]\nloop = \"forever\"\n[[task]]\nname = \"b\"\n@",
        obeyed: None,
    },
    Trial {
        setting: "group weight",
        value: None,
        machine: "smp-1",
        with: "[[group]]\nname = \"one\"\n[[group]]\nname = \"many\"\n[[task]]\nname = \"a\"\ngroup = \"one\"\n@[[task]]\nname = \"b\"\ngroup = \"many\"\ncount = 4\n@",
        without: "[[task]]\nname = \"a\"\n@[[task]]\nname = \"b\"\ncount = 4\n@",
        obeyed: Some(|s| (150e6..250e6).contains(&cpu_ns(s, "a"))),
    },
    Trial {
        setting: "group limit",
        value: None,
        machine: "smp-1",
        with: "[[group]]\nname = \"g\"\nquota = \"20ms\"\n[[task]]\nname = \"a\"\ngroup = \"g\"\n@[[task]]\nname = \"b\"\n@",
        without: "[[task]]\nname = \"a\"\n@[[task]]\nname = \"b\"\n@",
        obeyed: Some(|s| cpu_ns(s, "a") < 100e6),
    },
    Trial {
        setting: "affinity",
        value: None,
        machine: "smp-2",
        with: "[[task]]\nname = \"a\"\ncpus = \"0\"\n@[[task]]\nname = \"b\"\ncpus = \"0\"\n@",
        without: "[[task]]\nname = \"a\"\n@[[task]]\nname = \"b\"\n@",
        obeyed: Some(|s| s.cpus.last().is_some_and(|c| c.busy_ns == 0)),
    },
    Trial {
        setting: "deadline",
        value: None,
        machine: "smp-1",
        with: "[[task]]\nname = \"a\"\nrun = \"40ms\"\nwcet = \"40ms\"\nperiod = \"100ms\"\n[[task]]\nname = \"b\"\nrun = \"2ms\"\nwcet = \"2ms\"\nperiod = \"10ms\"\noffset = \"5ms\"\n",
        without: "[[task]]\nname = \"a\"\nrun = \"40ms\"\nwcet = \"40ms\"\nperiod = \"100ms\"\ndeadline = \"90ms\"\n[[task]]\nname = \"b\"\nrun = \"2ms\"\nwcet = \"2ms\"\nperiod = \"10ms\"\noffset = \"5ms\"\ndeadline = \"9ms\"\n",
        obeyed: Some(|s| s.totals.deadline_misses == 0),
    },
    // An overload, where soft tasks make way; and a certified time that no job takes, for which virtual deadlines provide.
    Trial {
        setting: "criticality",
        value: None,
        machine: "smp-1",
        with: "[[task]]\nname = \"a\"\nrun = \"6ms\"\nperiod = \"10ms\"\ncriticality = \"lo\"\n[[task]]\nname = \"b\"\nrun = \"6ms\"\nperiod = \"10ms\"\ncriticality = \"hi\"\n",
        without: "[[task]]\nname = \"a\"\nrun = \"6ms\"\nperiod = \"10ms\"\n[[task]]\nname = \"b\"\nrun = \"6ms\"\nperiod = \"10ms\"\n",
        obeyed: None,
    },
    Trial {
        setting: "criticality",
        value: None,
        machine: "smp-1",
        with: "[[task]]\nname = \"a\"\nrun = \"6ms\"\nperiod = \"10ms\"\ncriticality = \"lo\"\n[[task]]\nname = \"b\"\nrun = \"3ms\"\nwcet = \"3ms\"\nperiod = \"10ms\"\ncriticality = \"hi\"\nwcet_hi = \"5ms\"\n",
        without: "[[task]]\nname = \"a\"\nrun = \"6ms\"\nperiod = \"10ms\"\n[[task]]\nname = \"b\"\nrun = \"3ms\"\nwcet = \"3ms\"\nperiod = \"10ms\"\n",
        obeyed: None,
    },
];

/// One run; `None` where the topology is not for the machine.
fn run(topology: &str, machine: &str, file: &Path, strict: bool) -> Result<Summary, weir::Fault> {
    let options = RunOptions {
        topology: Some(topology.into()),
        setting: Setting {
            machine: Some(machine.into()),
            workload: Some(file.to_string_lossy().into_owned()),
            duration_ns: Some(400_000_000),
            costs: Some("zero".into()),
            strict,
            ..Setting::default()
        },
        ..RunOptions::default()
    };
    weir::run(&options, &Unwatched).map(|done| done.summary)
}

/// All that happened, without what was said.
fn facts(s: &Summary) -> String {
    let tasks = s
        .tasks
        .iter()
        .map(|t| (&t.name, t.jobs, t.cpu_ns, t.wait_ns, t.preemptions, t.switches, &t.response_ns));
    let cpus = s.cpus.iter().map(|c| (c.busy_ns, c.idle_ns, c.switches));
    format!("{:?} {:?}", tasks.collect::<Vec<_>>(), cpus.collect::<Vec<_>>())
}

#[test]
fn claims_hold_in_simulation() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut wrong = String::new();
    let (mut obeyed, mut ignored, mut changed, mut refused) = (0, 0, 0, 0);
    let mut matters: BTreeMap<(&str, &str), bool> = BTreeMap::new();
    for (number, trial) in TRIALS.iter().enumerate() {
        let file = |name: &str, text: &str| {
            let path = dir.path().join(format!("{number}-{name}.toml"));
            std::fs::write(&path, text.replace('@', HOG)).expect("written");
            path
        };
        let (with_file, without_file) = (file("with", trial.with), file("without", trial.without));
        for topology in TOPOLOGIES.iter().map(|t| t.name) {
            // What is not for this machine cannot be tried here.
            let Ok(with) = run(topology, trial.machine, &with_file, false) else {
                refused += 1;
                continue;
            };
            let without =
                run(topology, trial.machine, &without_file, false).expect("it ran with the setting");
            let said =
                with.ignored.iter().find(|i| i.setting == trial.setting && i.value.as_deref() == trial.value);
            let what = format!("{} {:?} under {topology}", trial.setting, trial.value);
            let strict = run(topology, trial.machine, &with_file, true);
            // What is refused in the course of a run is known at its end: the command line makes an error of it.
            let at_once = with.ignored.iter().any(|i| i.effect != "refused");
            if at_once == strict.is_ok() {
                let _ = writeln!(wrong, "{what}: --strict does not agree with {:?}", with.ignored);
            }
            match said.map(|i| i.effect.as_str()) {
                None => {
                    obeyed += 1;
                    if trial.obeyed.is_none() {
                        *matters.entry((trial.setting, topology)).or_default() |=
                            facts(&with) != facts(&without);
                    }
                    if trial.obeyed.is_some_and(|holds| !holds(&with)) {
                        let _ = writeln!(wrong, "{what}: said to be obeyed, but is not: {}", facts(&with));
                    }
                }
                Some("ignored") => {
                    ignored += 1;
                    if facts(&with) != facts(&without) {
                        let _ = writeln!(
                            wrong,
                            "{what}: said to be ignored, but matters:\n  {}\n  {}",
                            facts(&with),
                            facts(&without)
                        );
                    }
                }
                Some(_) => changed += 1,
            }
        }
    }
    for ((setting, topology), _) in matters.iter().filter(|m| !m.1) {
        let _ = writeln!(wrong, "{setting} under {topology}: said to be obeyed, but changes nothing");
    }
    println!(
        "obeyed {obeyed}, ignored and said {ignored}, changed or partly and said {changed}, not for the machine {refused}"
    );
    assert!(wrong.is_empty(), "{wrong}");
    assert!(obeyed > 100 && ignored > 100 && changed > 20, "{obeyed} {ignored} {changed}");
}

/// The topologies that are named do obey.
#[test]
fn named_topologies_obey() {
    let dir = tempfile::tempdir().expect("a folder");
    for (number, trial) in TRIALS.iter().enumerate() {
        let path = dir.path().join(format!("{number}.toml"));
        std::fs::write(&path, trial.with.replace('@', HOG)).expect("written");
        let summary = run("fifo", trial.machine, &path, false).expect("fifo runs anywhere");
        let said =
            summary.ignored.iter().find(|i| i.setting == trial.setting && i.value.as_deref() == trial.value);
        let Some(said) = said else { continue };
        assert!(!said.topologies.is_empty(), "{}: nobody obeys", trial.setting);
        for name in &said.topologies {
            let Ok(other) = run(name, trial.machine, &path, false) else { continue };
            let still =
                other.ignored.iter().any(|i| i.setting == trial.setting && i.value.as_deref() == trial.value);
            assert!(!still, "{name} is named for {}", trial.setting);
        }
    }
}
