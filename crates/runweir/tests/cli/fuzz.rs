// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A structural fuzzer over every kind of input: the catalogue's files and the wrong ones of the tests, torn apart into
//! words, numbers and punctuation, changed, joined with others of their kind, and given to the program.
//!
//! Whatever it is given, the program ends with status 0, 1 or 2, within a time or soon after SIGTERM, with a diagnostic
//! where it is not 0, without a panic, and leaves no hidden folder behind. Where a run succeeds, its files agree.
//!
//! The short form is part of the tests. For longer ones:
//!
//!     RUNWEIR_FUZZ_SECONDS=7200 RUNWEIR_FUZZ_SEED=7 cargo test -p runweir --test cli fuzz -- --nocapture
//!
//! A case that fails is kept in a folder whose name is printed, with the command that shows it again.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{json, program};

/// Cases of the short form.
const CASES: u64 = 160;
/// After so long a run is asked to end, and so long it may take then.
const PATIENCE: Duration = Duration::from_secs(20);
const GRACE: Duration = Duration::from_secs(30);
/// Longer seeds are cut, bytes.
const LONGEST: usize = 20_000;

/// SplitMix64: the same cases in every run.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// A kind of input: where its seeds are, and what is done with a file of it.
struct Kind {
    name: &'static str,
    folders: &'static [&'static str],
    ending: &'static str,
    /// More seeds, for kinds that the catalogue has no files of.
    texts: &'static [&'static str],
    /// `FILE` stands for the input.
    commands: &'static [&'static [&'static str]],
}

const RUN: &str = "-d 3ms --json --out out";

const KINDS: &[Kind] = &[
    Kind {
        name: "topology",
        folders: &["topologies", "crates/weir-lang/tests/bad/weir", "packages"],
        ending: "weir",
        texts: &[],
        commands: &[
            &["check", "FILE", "--machine", "smp-4"],
            &["run", "-t", "FILE", "-m", "smp-3", "-w", "avionics", RUN],
            &["run", "-t", "FILE", "-m", "cluster-4x2", "-w", "compute:tasks=5", RUN],
            &["graph", "FILE", "-m", "smp-4", "-o", "g.svg"],
            &["fmt", "FILE", "--check"],
        ],
    },
    Kind {
        name: "machine",
        folders: &["machines", "crates/weir-model/tests/bad/machine-toml"],
        ending: "toml",
        texts: &[],
        commands: &[
            &["machines", "FILE"],
            &["run", "-t", "linux", "-m", "FILE", "-w", "compute:tasks=5", RUN],
        ],
    },
    Kind {
        name: "hwloc",
        folders: &["crates/weir-model/tests/bad/machine-xml"],
        ending: "xml",
        texts: &[],
        commands: &[&["machines", "FILE"], &["run", "-t", "edf", "-m", "FILE", "-w", "avionics", RUN]],
    },
    Kind {
        name: "workload",
        folders: &["workloads", "crates/weir-model/tests/bad/toml"],
        ending: "toml",
        texts: &[],
        commands: &[
            &["run", "-t", "edf", "-m", "smp-2", "-w", "FILE", RUN],
            &["run", "-t", "linux", "-m", "smp-4", "-w", "FILE", "--checks", RUN],
            &["analyze", "--schedulability", "rm", "-m", "smp-2", "-w", "FILE"],
        ],
    },
    Kind {
        name: "rt-app",
        folders: &["workloads", "crates/weir-model/tests/bad/rt-app"],
        ending: "json",
        texts: &[],
        commands: &[&["run", "-t", "decentral", "-m", "smp-2", "-w", "FILE", RUN]],
    },
    Kind {
        name: "simso",
        folders: &["workloads", "crates/weir-model/tests/bad/simso"],
        ending: "xml",
        texts: &[],
        commands: &[&["run", "-w", "FILE", RUN], &["run", "-t", "rm", "-m", "smp-2", "-w", "FILE", RUN]],
    },
    Kind {
        name: "scenario",
        folders: &["scenarios"],
        ending: "toml",
        texts: &[],
        commands: &[
            &["run", "-t", "decentral", "-m", "smp-4", "-w", "compute:tasks=6", "--scenario", "FILE", RUN],
            &["run", "-t", "sporadic", "-m", "smp-2", "-w", "avionics", "--scenario", "FILE", RUN],
            &[
                "run",
                "-t",
                "decentral",
                "-m",
                "smp-4",
                "-w",
                "compute:tasks=6",
                "--scenario",
                "FILE",
                "--dry-run",
            ],
        ],
    },
    Kind {
        name: "costs",
        folders: &["crates/weir-model/tests/bad/costs"],
        ending: "toml",
        texts: &[],
        commands: &[&["run", "-t", "fifo", "-m", "smp-4", "-w", "compute:tasks=6", "--costs", "FILE", RUN]],
    },
    Kind {
        name: "manifest",
        folders: &[],
        ending: "manifest",
        texts: &[
            "# iterates\nname solver\nthreads 16\nB 1 # reads\nH 40 80 40 160 # iterates\n",
            "name b\nthreads 2\ncpus 0-3,8\noutside wait\nprogram llama-server\nH 0.5 10\nH 2 20 15\nB -3\n",
            "name c\nthreads 4\noutside run\ncgroup system.slice/c.service\nH 5 50 40 3.25\n",
        ],
        commands: &[
            &["gang", "check", "FILE", "-m", "smp-16"],
            &["gang", "check", "FILE", "FILE", "-m", "smp-16", "--cut", "--json"],
        ],
    },
    Kind {
        name: "sweep",
        folders: &[],
        ending: "toml",
        texts: &[
            "topology = [\"edf\", \"pd2\"]\nmachine = \"smp-2\"\nworkload = \"periodic\"\ncosts = \"zero\"\nseeds = 2\nduration = \"3ms\"\nstop_at_miss = true\n\n[keys]\ntasks = 3\nunit = \"1ms\"\nutil = { from = \"100%\", to = \"200%\", step = \"50%\" }\n",
            "name = \"slices\"\ndescription = \"d\"\ntopology = { name = \"short\", topology = \"decentral\", set = { \"round_robin.slice\" = \"1ms\" } }\nmachine = [\"smp-1\", \"smp-2\"]\nworkload = \"compute:tasks=3\"\nseeds = { first = 7, count = 2 }\nduration = \"2ms\"\n[set]\n\"round_robin.slice\" = [\"1ms\", \"3ms\"]\n[plot]\nx = \"machine\"\ny = [\"success\"]\n",
        ],
        commands: &[&["sweep", "FILE", "--dry-run"], &["sweep", "FILE", "--out", "swept"]],
    },
    Kind {
        name: "guard",
        folders: &[],
        ending: "toml",
        texts: &[
            "machine = \"smp-2\"\nworkload = \"avionics\"\nduration = \"3ms\"\nseeds = 2\n\n[[check]]\nname = \"quick\"\ntopology = \"edf\"\nmetric = \"wakeup_latency_ns.p99\"\nmax = \"2ms\"\n\n[[check]]\ntopology = \"rm\"\nbase = \"edf\"\nover = \"max\"\nmetric = \"totals.context_switches\"\nmax_increase = \"5%\"\n",
            "machine = \"smp-1\"\nworkload = \"compute:tasks=3\"\nduration = \"2ms\"\nset = [\"round_robin.slice=1ms\"]\n[[check]]\ntopology = \"decentral\"\nmetric = \"cpus.0.busy_ns\"\nmin = 3\n",
        ],
        commands: &[&["guard", "FILE", "--junit", "r.xml"], &["guard", "FILE", "--json"]],
    },
    Kind {
        name: "recording",
        folders: &["crates/weir-trace/tests/recordings"],
        ending: "txt",
        texts: &[],
        commands: &[
            &["import", "FILE", "-o", "app.toml"],
            &["import", "FILE", "-o", "app.toml", "--fit"],
            &["explain", "FILE"],
        ],
    },
    Kind {
        name: "component",
        folders: &["components/order", "components/annotate", "components/filter", "components/service"],
        ending: "c",
        texts: &[],
        commands: &[&["component", "build", "FILE", "-o", "case.so"]],
    },
];

/// Lines that a scenario of the fuzzer may have.
const VERBS: &[&str] = &[
    "cpu 1 offline",
    "cpu 1 online",
    "swap central",
    "swap linux",
    "swap instance round_robin = fifo",
    "set round_robin.slice = 1ms",
    "undo",
    "publish KICK = 0",
    "publish KICK = 4 cpu 1",
    "publish DISPATCH",
    "publish BLOCK = 1",
    "publish RELINQUISH = 1",
    "publish PRIORITY = 3 task compute-0",
    "publish POWER = 1",
    "publish ISA = 9 task compute-0",
    "publish AFFINITY task compute-0",
    "publish BURN = 99",
    "publish THERMAL = 90000 cpu 0",
    "merge npu at entry",
    "load none.so",
];

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "64",
    "255",
    "4096",
    "65535",
    "65536",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e400",
    "NaN",
    "0.1",
    "-0.0",
    "1ns",
    "1us",
    "1ms",
    "1s",
    "0ms",
    "100%",
    "1e9",
    "0x10",
    "٣",
];

const ODD: &[&str] = &[
    "", " ", "\t", "\r\n", "\0", "\u{feff}", "ä", "\u{202e}", "\"", "'", "`", "/*", "*/", "//", "#", "{",
    "}", "[", "]", "(", ")", "<!--", "&x;", "\\",
];

/// A text as words, numbers, single marks and spaces.
fn pieces(text: &str) -> Vec<String> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '.' => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    let mut out: Vec<String> = Vec::new();
    let mut last = 0;
    for c in text.chars() {
        let now = class(c);
        match out.last_mut() {
            Some(piece) if now == last && now != 0 => piece.push(c),
            _ => out.push(c.into()),
        }
        last = now;
    }
    out
}

/// Change a text in some places.
fn mutate(dice: &mut Dice, seeds: &[String]) -> String {
    let mut all = pieces(dice.of::<String>(seeds));
    for _ in 0..dice.below(6) {
        if all.is_empty() {
            break;
        }
        let at = dice.below(all.len());
        match dice.below(12) {
            0 => drop(all.remove(at)),
            1 => all.insert(at, all[at].clone()),
            2 => {
                let other = dice.below(all.len());
                all.swap(at, other);
            }
            3 | 4 => {
                // A number, wherever one is.
                let is_number = |p: &String| p.starts_with(|c: char| c.is_ascii_digit());
                let near = all.iter().skip(at).position(is_number).map_or(at, |i| at + i);
                all[near] = (*dice.of(NUMBERS)).into();
            }
            5 => all.insert(at, (*dice.of(ODD)).into()),
            6 => {
                let other = pieces(dice.of::<String>(seeds));
                if !other.is_empty() {
                    all[at] = dice.of(&other).clone();
                }
            }
            7 => {
                let other = pieces(dice.of::<String>(seeds));
                let from = dice.below(other.len());
                let part: Vec<String> = other.into_iter().skip(from).take(40).collect();
                all.splice(at..at, part);
            }
            8 => {
                let end = (at + 1 + dice.below(30)).min(all.len());
                let part: Vec<String> = all[at..end].to_vec();
                for _ in 0..1 + dice.below(40) {
                    all.splice(at..at, part.iter().cloned());
                }
            }
            9 => all.truncate(at),
            // Never more than some megabytes.
            10 => all[at] = all[at].repeat(1 + dice.below(70_000).min(4_000_000 / all[at].len().max(1))),
            _ => drop(all.drain(at..(at + 1 + dice.below(20)).min(all.len()))),
        }
        all.truncate(200_000);
    }
    all.concat()
}

/// A scenario made of verbs, so that more than its syntax is tried.
fn scenario(dice: &mut Dice) -> String {
    let mut text = String::new();
    for _ in 0..1 + dice.below(3) {
        let verbs: Vec<String> = (0..1 + dice.below(2)).map(|_| format!("{:?}", dice.of(VERBS))).collect();
        let time = dice.of(&["0ms", "1us", "1ms", "2ms", "2999us"]);
        text += &format!("[[at]]\ntime = \"{time}\"\ndo = [{}]\n", verbs.join(", "));
    }
    text
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn seeds(kind: &Kind) -> Vec<String> {
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in kind.folders {
        let Ok(entries) = fs::read_dir(root().join(folder)) else { continue };
        files.extend(entries.filter_map(Result::ok).map(|e| e.path()));
    }
    files.retain(|f| f.extension().is_some_and(|e| e == kind.ending));
    files.sort();
    let mut all: Vec<String> = files.iter().filter_map(|f| fs::read_to_string(f).ok()).collect();
    for text in all.iter_mut().filter(|t| t.len() >= LONGEST) {
        // The head of it, by lines.
        *text = text.split_inclusive('\n').take(LONGEST / 200).collect();
    }
    all.extend(kind.texts.iter().map(|&t| t.into()));
    all.retain(|t| t.len() < LONGEST);
    all
}

/// What is wrong with how the program took an input.
fn tried(dir: &Path, args: &[&str]) -> Result<(), String> {
    let mut command = program(dir);
    command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| e.to_string())?;
    let reader = |mut from: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            let _ = from.read_to_end(&mut text);
            String::from_utf8_lossy(&text).into_owned()
        })
    };
    let stdout = reader(Box::new(child.stdout.take().expect("piped")));
    let stderr = reader(Box::new(child.stderr.take().expect("piped")));
    let began = Instant::now();
    let mut asked = false;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|e| e.to_string())? {
            break status;
        }
        if began.elapsed() > PATIENCE && !asked {
            asked = true;
            let _ = std::process::Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status();
        }
        if began.elapsed() > PATIENCE + GRACE {
            let _ = child.kill();
            let _ = child.wait();
            return Err("it does not end, even after SIGTERM".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    let head: String = stderr.chars().take(600).collect();
    let Some(code) = status.code() else {
        // A command that runs nothing need not catch the signal.
        return if asked { Ok(()) } else { Err(format!("it ended by {status}: {head}")) };
    };
    if !(0..=2).contains(&code) || stderr.contains("panicked at") {
        return Err(format!("status {code}: {head}"));
    }
    if code != 0 && !asked && stderr.trim().is_empty() && stdout.trim().is_empty() {
        return Err(format!("status {code} without a word"));
    }
    let entries = fs::read_dir(dir).map_err(|e| e.to_string())?.filter_map(Result::ok);
    let hidden: Vec<_> =
        entries.filter(|e| e.file_name().to_string_lossy().starts_with(".runweir-")).collect();
    if !hidden.is_empty() {
        return Err(format!("{:?} is left behind", hidden[0].file_name()));
    }
    if code == 0 && args.contains(&"--json") && dir.join("out/jobs.csv").exists() {
        let summary = json(&stdout);
        let text = fs::read_to_string(dir.join("out/jobs.csv")).map_err(|e| e.to_string())?;
        let jobs = summary["totals"]["jobs"].as_u64().unwrap_or(0);
        // Names of tasks may hold line breaks, which stand in quotes.
        let lines = text
            .lines()
            .filter(|l| l.ends_with("done") || l.ends_with("open") || l.ends_with("dropped"))
            .count();
        if lines as u64 != jobs {
            return Err(format!("{lines} jobs in jobs.csv, {jobs} in the totals"));
        }
    }
    Ok(())
}

#[test]
fn every_input_ends_with_a_status_and_a_word() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let seconds = number("RUNWEIR_FUZZ_SECONDS");
    let seed = number("RUNWEIR_FUZZ_SEED").unwrap_or(1);
    let corpora: Vec<Vec<String>> = KINDS.iter().map(seeds).collect();
    for (kind, corpus) in KINDS.iter().zip(&corpora) {
        assert!(!corpus.is_empty(), "no seeds for {}", kind.name);
    }
    let began = Instant::now();
    let mut failures = Vec::new();
    let mut case = 0;
    while match seconds {
        Some(s) => began.elapsed().as_secs() < s,
        None => case < CASES,
    } {
        let mut dice = Dice(seed << 32 | case);
        let which = case as usize % KINDS.len();
        let kind = &KINDS[which];
        let text = match kind.name {
            "scenario" if dice.below(2) == 0 => scenario(&mut dice),
            _ => mutate(&mut dice, &corpora[which]),
        };
        let dir = tempfile::Builder::new().prefix("runweir-fuzz-").tempdir().expect("a folder");
        let file = format!("case.{}", kind.ending);
        fs::write(dir.path().join(&file), &text).expect("writable");
        let words = dice.of(kind.commands).iter().flat_map(|w| w.split(' '));
        let args: Vec<&str> = words.map(|w| if w == "FILE" { file.as_str() } else { w }).collect();
        if let Err(why) = tried(dir.path(), &args) {
            let kept = dir.keep();
            let line = format!(
                "case {case} of seed {seed}: cd {} && runweir {}\n  {why}",
                kept.display(),
                args.join(" ")
            );
            println!("{line}");
            failures.push(line);
        }
        case += 1;
    }
    println!("{case} cases, {} failures, {:?}", failures.len(), began.elapsed());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
