// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Messages between two domains of one core of the bare kernel, by instructions (E4). It needs the emulator and the built kernel; without them the
//! recorded figures of the last full run are given.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::bare::{KERNEL, Program, Setup, StopWhy, image};
use weir::Fault;
use weir_core::planfile;
use weir_sim::Machine;

use crate::reproduce::lab::{self, Done, Halt, Lab};
use crate::reproduce::recorded;
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, FAR, Judged, Line, NEAR, Picture, Report, Table, short};

pub const EXPERIMENT: Experiment = Experiment {
    id: "multikernel-e4",
    aliases: &["lmp-cost"],
    title: "LMP between two programs on one core, by instructions of the bare kernel",
    source: "Peter, 2012, 2.8 (E4)",
    run,
};

/// Topologies of other kinds: a message that runs its receiver on the sender's time does not ask any of them.
const POLICIES: [&str; 5] = ["priority", "edf", "decentral", "linux", "lottery"];

/// How long a machine may take on this computer.
const LIMIT: Duration = Duration::from_secs(300);

/// Marks of the programs `lmp` and `ump`.
const ONE_WAY: u64 = 1;
const WITH_ANSWER: u64 = 2;
const SEND: u64 = 3;
const RECEIVE: u64 = 4;
const OFTEN: u64 = 10;
const SUM: u64 = 11;
const SQUARES: u64 = 12;
const KERNEL_ALONE: u64 = 13;
const BUSY: u64 = 14;
const BY_POLICY: u64 = 15;

/// What programs marked, by the marks' numbers, and what they printed.
struct Marks(Vec<(u64, u64)>, String);

impl Marks {
    fn of(&self, number: u64) -> Done<f64> {
        let found = self.0.iter().find(|m| m.0 == number).map(|m| m.1 as f64);
        found.ok_or_else(|| {
            failed(&format!("the programs left no mark {number}"), "`make bare` builds the present ones")
        })
    }
}

fn failed(what: &str, help: &str) -> Halt {
    Halt::Fault(Fault::system(what, help))
}

fn fault(e: crate::bare::Error) -> Halt {
    failed(&e.message, &e.help)
}

/// Boot a machine with programs, each a line of words, under a policy.
fn boot(lab: &Lab<'_>, folder: &Path, policy: &str, harts: u32, lines: &[String]) -> Done<Marks> {
    let plan = lab::plan(policy, &Machine::smp(1), &[])?;
    let program = |line: &String| -> Done<Program> {
        let arguments: Vec<String> = line.split(' ').map(String::from).collect();
        let image = image(folder, &arguments[0]).map_err(fault)?;
        Ok(Program { name: arguments[0].clone(), image, arguments })
    };
    let setup = Setup {
        harts,
        plan: planfile::flat(&plan, "").map_err(|e| failed(&e.message, "use another topology"))?,
        parallel: false,
        console_arguments: Vec::new(),
        trace: true,
        messages: false,
        // Turns of harts are interrupts: few of them.
        quantum_ns: if harts == 1 { 1_000_000 } else { 10_000 },
        duration_ns: None,
        seed: 1,
        monitor: image(folder, "monitor").map_err(fault)?,
        console: image(folder, "console").map_err(fault)?,
        programs: lines.iter().map(program).collect::<Done<Vec<_>>>()?,
    };
    lab.ran();
    let kernel = folder.join(KERNEL);
    let run = crate::bare::run(&kernel, &setup, lab.watch().stop(), LIMIT, &mut std::io::sink());
    if lab.stopped() {
        return Err(Halt::Interrupted);
    }
    let done = run.map_err(fault)?;
    if done.results.why != StopWhy::Done || done.results.failed > 0 {
        let said = String::from_utf8_lossy(&done.console).trim().to_string();
        let what = format!("{lines:?} under {policy} failed: {:?}: {said}", done.results.why);
        return Err(failed(&what, "run it with `runweir bare`"));
    }
    let marks = done.results.marks().into_iter().map(|m| (m.2, m.3)).collect();
    Ok(Marks(marks, String::from_utf8_lossy(&done.console).into_owned()))
}

/// The number before or behind a word that a program printed.
fn printed(text: &str, word: &str) -> Option<u64> {
    let rest = &text[text.find(word)? + word.len()..];
    rest.trim_start().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let found: crate::bare::Result<PathBuf> = crate::bare::emulator().and_then(|_| crate::bare::installed());
    match found {
        Ok(folder) => measure(lab, &folder),
        Err(e) => recorded::instead(EXPERIMENT.id, &e.message, &e.help),
    }
}

/// The least and the greatest.
fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::MAX, 0.0), |(least, most), v| (least.min(*v), v.max(most)))
}

fn measure(lab: &Lab<'_>, folder: &Path) -> Done<Report> {
    let n = lab.pick(20_000u32, 500);
    let policies = lab.pick(&POLICIES[..], &POLICIES[..2]);
    // Two programs, and two dispatchers of one program.
    let apart = [format!("lmp {n} call"), format!("lmp {n} serve")];
    let within = [format!("lmp {n}")];
    let grid: Vec<(&str, &str, &[String])> = policies
        .iter()
        .flat_map(|p| [(*p, "two programs", &apart[..]), (*p, "one program", &within[..])])
        .collect();
    let seen = lab.points(&grid, |(policy, _, lines)| boot(lab, folder, policy, 1, lines))?;
    let ump = boot(lab, folder, POLICIES[0], 2, &[format!("ump {}", lab.pick(20_000u32, 500))])?;

    let all = |number: u64| seen.iter().map(|m| m.of(number)).collect::<Done<Vec<f64>>>();
    let first = |number: u64| seen[0].of(number);
    let (one_way, kernel) = (first(ONE_WAY)?, first(KERNEL_ALONE)?);
    let (send, receive) = (ump.of(SEND)?, ump.of(RECEIVE)?);
    let mut report = Report::default();
    let mut claim = |c: Claim| report.claims.push(c);

    let (least, most) = range(&all(ONE_WAY)?);
    claim(Claim::new(
        "a message between two domains of a core, from the sender's call to the receiver's handler, within 150 instructions",
        "-",
        format!("{one_way:.0} instructions"),
        Judged::of(one_way <= 150.0, one_way <= 300.0, "at most 150; partly 300"),
    ));
    claim(
        Claim::new(
            "the receiver's activation and thread scheduler cost almost as much again as the kernel's part",
            "2.8: 757 cycles for 420 of raw IPC, 1.8 times (2x2 AMD)",
            format!(
                "{one_way:.0} instructions for {kernel:.0} of the kernel's: {:.2} times",
                one_way / kernel
            ),
            Judged::near(one_way / kernel, 757.0 / 420.0, NEAR, FAR),
        )
        .remark("the source's raw IPC is another kernel's, L4's, on the same processor"),
    );
    let ump_way = send + receive;
    claim(
        Claim::new(
            "a message within a core costs more than one between cores",
            "2.8: LMP 757 to 1,549 cycles, 1.4 to 4.7 times UMP on the same machine",
            format!(
                "LMP {one_way:.0} instructions, UMP {ump_way:.0} ({send:.0} to send and {receive:.0} to receive): {:.2} times",
                one_way / ump_way
            ),
            Judged::of(
                one_way >= 1.4 * ump_way,
                one_way > ump_way,
                "1.4 times at least, the least of the source's; partly more",
            ),
        )
        .remark("instructions only. The source's LMP pays for flushed TLBs and a trap's pipeline, its UMP for two transfers of a line; an emulator has none of these, so this says nothing about times"),
    );
    let deviation = |m: &Marks| -> Done<f64> {
        let (mean, squares) = (m.of(SUM)? / f64::from(n), m.of(SQUARES)? / f64::from(n));
        Ok((squares - mean * mean).max(0.0).sqrt() / mean)
    };
    let spread = seen.iter().map(deviation).collect::<Done<Vec<f64>>>()?;
    let (closest, widest) = range(&spread);
    let often = range(&all(OFTEN)?).0 / f64::from(n);
    claim(
        Claim::new(
            "messages differ little: standard deviation of one way",
            "2.8: 1.3 to 3.8 % of the mean",
            format!(
                "{:.1} to {:.1} % by policy; {:.2} % of {} messages or more take the minimum",
                100.0 * closest,
                100.0 * widest,
                100.0 * often,
                short(f64::from(n))
            ),
            Judged::of(widest <= 0.038, closest <= 0.038, "at most 3.8 % under each policy; partly under some"),
        )
        .remark("a message that the timer's interrupt hits pays for a decision of the policy; without caches nothing else makes a difference"),
    );
    let kept =
        seen.iter().all(|m| printed(&m.1, "buffered") == Some(16) && printed(&m.1, "refused") == Some(4));
    let busy = first(BUSY)?;
    claim(Claim::new(
        "a receiver that is not ready finds the message in a buffer that it polls; none is lost",
        "2.3, without figures",
        format!(
            "of 20 messages to a busy receiver 16 fill its buffer and are handled, 4 are refused to the sender; sending one takes {busy:.0} instructions"
        ),
        Judged::of(kept, false, "the buffer's 16 are handled, the other 4 refused, under each policy"),
    ));
    claim(Claim::new(
        "the policy has no part in a message: one way is the same under each",
        "-",
        format!("{least:.0} to {most:.0} instructions under {}", policies.join(", ")),
        Judged::of(least == most, most <= 1.1 * least, "equal; partly within 10 %"),
    ));
    let by_policy = all(BY_POLICY)?;
    let times = range(&by_policy).0 / one_way;
    claim(Claim::new(
        "to have the policy choose the receiver costs several times as much",
        "-",
        policies
            .iter()
            .zip(by_policy.iter().step_by(2))
            .map(|(p, i)| format!("{} ({p})", short(*i)))
            .collect::<Vec<_>>()
            .join(", ")
            + " instructions",
        Judged::of(times >= 3.0, times > 1.0, "three times at least under each policy; partly more"),
    ));

    let heads = [
        "policy",
        "between",
        "kernel",
        "one_way",
        "with_answer",
        "busy_receiver",
        "by_policy",
        "mean",
        "sigma_percent",
    ];
    let mut table = Table::new("data", &heads);
    for ((policy, between, _), m) in grid.iter().zip(&seen) {
        let numbers = [KERNEL_ALONE, ONE_WAY, WITH_ANSWER, BUSY, BY_POLICY].map(|k| m.of(k));
        let numbers = numbers.into_iter().collect::<Done<Vec<f64>>>()?;
        let cells = [(*policy).to_string(), (*between).to_string()].into_iter();
        let figures = numbers.into_iter().map(|v| format!("{v:.0}"));
        let spread = [format!("{:.2}", m.of(SUM)? / f64::from(n)), format!("{:.2}", 100.0 * deviation(m)?)];
        table.row(cells.chain(figures).chain(spread));
    }
    report.tables.push(table);
    let mut table = Table::new("ump", &["what", "instructions"]);
    table.row(["send".to_string(), format!("{send:.0}")]);
    table.row(["receive".to_string(), format!("{receive:.0}")]);
    report.tables.push(table);
    let names =
        ["the kernel alone", "LMP one way", "with the answer", "to a busy receiver", "by the policy", "UMP"];
    let values = [kernel, one_way, first(WITH_ANSWER)?, busy, by_policy[0], ump_way];
    let line = Line {
        name: format!("instructions, {}", POLICIES[0]),
        points: names.iter().zip(values).map(|(n, v)| ((*n).to_string(), v)).collect(),
        colour: 0,
        dashed: false,
    };
    report.pictures.push(Picture::new(
        "messages",
        ("message", "instructions"),
        true,
        &names.map(String::from),
        vec![line],
    ));
    report.notes.push(
        "Counted in QEMU: an instruction is exact, and is no time. An emulator has no caches, no TLB and no pipeline, and the kernel protects memory by regions and not by page tables; so the source's cycles and nanoseconds have no counterpart here."
            .into(),
    );
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_behind_their_words() {
        let text = "lmp: 9 calls, 0 wrong; buffered 16, refused 4\n";
        assert_eq!((printed(text, "buffered"), printed(text, "refused")), (Some(16), Some(4)));
        assert_eq!(printed(text, "lost"), None);
    }
}
