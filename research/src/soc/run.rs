// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A run of a system, and what came of it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use weir_core::event::Observer;

use crate::soc::build::Soc;
use crate::soc::error::{Error, ErrorKind, Result};
use crate::soc::events::Translator;

/// A CPU was in the kernel: clocks of its interrupt's rise (if one led there), of its first instruction there, of the first one of
/// a thread after it, and of the engine's last decision before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    pub cpu: u32,
    pub rise: Option<u64>,
    pub entry: u64,
    pub exit: u64,
    pub decided: Option<u64>,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// How long it lasted.
    pub clocks: u64,
    /// What the program gave to finish(); `None` if it did not come to its end.
    pub status: Option<u32>,
    /// Why it did not: `limit`, `trap`, `stopped`; else empty.
    pub ended: String,
    /// Figures that the program printed, in order.
    pub figures: Vec<(String, u64)>,
    /// Other lines that it printed.
    pub text: Vec<String>,
    /// Each stay of a CPU in the kernel.
    pub visits: Vec<Visit>,
    /// Events of each device.
    pub events: BTreeMap<u32, u64>,
    /// How old each event was when it was taken, clocks.
    pub ages: BTreeMap<u32, Vec<u32>>,
}

impl Outcome {
    /// A figure that the program printed.
    pub fn figure(&self, name: &str) -> Option<u64> {
        self.figures.iter().find(|(n, _)| n == name).map(|(_, v)| *v)
    }
}

/// Ends the simulator with its guard.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Soc {
    /// Simulate to the program's end. Clocks are `hz` a second for the observer. `stop` ends the run early.
    ///
    /// # Errors
    /// The simulator cannot be run.
    pub fn run(
        &self,
        hz: u64,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
        at: &dyn Fn(u64),
    ) -> Result<Outcome> {
        let mut command = Command::new(&self.simulator);
        command.arg(format!("+hex={}", self.image.display()));
        command.arg(format!("{:#x}", self.task_begin)).arg(self.limit.to_string());
        if !self.probes {
            command.arg("quiet");
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let child = command.spawn().map_err(|e| Error::io("run", &self.simulator, &e))?;
        let mut running = Running(child);
        let out = running.0.stdout.take().expect("it is piped");
        let mut translator = Translator::new(observer, self.cpus, hz);
        let mut outcome = Outcome { ended: "stopped".into(), ..Outcome::default() };
        for line in BufReader::new(out).lines() {
            let line = line.map_err(|e| Error::io("read from", &self.simulator, &e))?;
            if stop.load(Ordering::Relaxed) {
                break;
            }
            if let Some(ended) = take(&line, &mut translator, &mut outcome) {
                at(outcome.clocks);
                if ended {
                    break;
                }
            }
        }
        if outcome.ended == "stopped" && !stop.load(Ordering::Relaxed) {
            return Err(Error::new(
                ErrorKind::System,
                "the simulator ended without a result",
                "please report this, with the program",
            ));
        }
        Ok(outcome)
    }
}

/// One line of the simulator; whether it was the last. `None`: not understood.
fn take(line: &str, translator: &mut Translator<'_>, outcome: &mut Outcome) -> Option<bool> {
    let (kind, rest) = line.split_at_checked(2)?;
    if kind == "T " {
        let (clock, text) = rest.split_once(' ').unwrap_or((rest, ""));
        outcome.clocks = clock.parse().ok()?;
        let figure = text.strip_prefix("= ").and_then(|t| t.rsplit_once(' '));
        match figure.and_then(|(n, v)| Some((n, v.parse().ok()?))) {
            Some((name, value)) => outcome.figures.push((name.into(), value)),
            None => outcome.text.push(text.into()),
        }
        return Some(false);
    }
    if kind == "E " {
        let (clock, status) = rest.split_once(' ')?;
        outcome.clocks = clock.parse().ok()?;
        outcome.status = status.parse().ok();
        outcome.ended = if outcome.status.is_some() { String::new() } else { status.into() };
        return Some(true);
    }
    let mut numbers = rest.split(' ').map(str::parse::<u64>);
    let mut number = || numbers.next()?.ok();
    let first = number()?;
    match kind {
        "P " => {
            outcome.clocks = first;
            let (cpu, report, value) = (number()? as u32, number()? as u32, number()? as u32);
            translator.report(first, cpu, report, value);
        }
        "W " => translator.woken(first, number()? as u32),
        "D " => *outcome.events.entry(number()? as u32).or_default() += 1,
        "A " => {
            let (device, age) = (number()? as u32, number()? as u32);
            outcome.ages.entry(device).or_default().push(age);
        }
        "K " => {
            let (rise, entry, exit, decided) = (number()?, number()?, number()?, number()?);
            let some = |n: u64| (n != 0).then_some(n);
            let visit = Visit { cpu: first as u32, rise: some(rise), entry, exit, decided: some(decided) };
            outcome.clocks = exit;
            translator.kernel(exit, visit.cpu, exit - entry);
            outcome.visits.push(visit);
        }
        _ => return None,
    }
    Some(false)
}
