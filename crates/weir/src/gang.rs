// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Would these manifests be admitted together, and where would their slots be?

use std::path::Path;

use serde::Serialize;
use weir_core::CpuSet;
use weir_core::gang::{Controller, MAX_CPUS, Manifest, Phase, Refusal, WHOLE};
use weir_model::Machine;

use crate::fault::{Diag, Fault, Result};
use crate::{input, machine};

/// The query.
#[derive(Clone, Debug, Default)]
pub struct GangOptions {
    /// Manifests, in the order in which their programs come.
    pub files: Vec<String>,
    pub machine: String,
    /// Cut all in equal proportion where one does not fit.
    pub cut: bool,
}

/// Manifests that are admitted together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Admission {
    pub machine: String,
    pub gangs: Vec<Admitted>,
    pub cpus: Vec<Booked>,
    /// What is unlikely to be meant, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Admitted {
    pub file: String,
    pub name: String,
    pub threads: u32,
    /// By thread.
    pub cpus: Vec<u32>,
    /// In its slots nobody else runs on the cores of these CPUs.
    pub alone: bool,
    /// The remaining part of its execution times, in 1000ths.
    pub scale: u32,
    /// Members wait between slots.
    pub waits: bool,
    pub phases: Vec<Slots>,
}

/// A phase; all 0: best effort. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Slots {
    pub priority: i32,
    pub offset_ns: u64,
    pub length_ns: u64,
    pub period_ns: u64,
    pub release_ns: u64,
}

/// What gangs have of a CPU at most, whatever their phases.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Booked {
    pub cpu: u32,
    pub percent: f64,
}

/// Read a manifest; the diagnostic points into it.
pub fn manifest(file: &str) -> Result<Manifest> {
    parse(file, &input::read_text(file).map_err(|e| Fault::user(e.message, e.help))?)
}

/// The same of a text.
pub fn parse(name: &str, text: &str) -> Result<Manifest> {
    Manifest::parse(text).map_err(|fault| {
        let line: usize = text.split_inclusive('\n').take(fault.line as usize - 1).map(str::len).sum();
        let start = line + fault.column as usize - 1;
        let end = start + (fault.length as usize).max(1);
        Diag::error(format!("{name}:{}:{}: {}", fault.line, fault.column, fault.what))
            .help(fault.remedy)
            .source(name, text)
            .label(start..end, None)
            .into()
    })
}

/// Admit the manifests on an empty machine, one after the other.
///
/// # Errors
/// An invalid manifest, an unknown machine, or a refused gang, with the reason.
pub fn admit(options: &GangOptions) -> Result<Admission> {
    let machine = machine::resolve(&options.machine)?;
    let mut manifests = Vec::new();
    for file in &options.files {
        let mut m = manifest(file)?;
        if m.name().is_empty() {
            m.set_name(Path::new(file).file_stem().and_then(|s| s.to_str()).unwrap_or("gang"));
        }
        manifests.push(m);
    }
    admit_on(&machine, &options.files, &manifests, options.cut)
}

fn admit_on(machine: &Machine, files: &[String], manifests: &[Manifest], cut: bool) -> Result<Admission> {
    let nr = machine.shape.nr_cpus();
    let Some(mut controller) = Controller::new(nr) else {
        return Err(Fault::user(
            format!("machine `{}` has {}", machine.shape.name, crate::units::plural(nr, "CPU")),
            format!("gangs are placed on up to {MAX_CPUS} CPUs"),
        ));
    };
    for (c, cpu) in (0..).zip(&machine.shape.cpus) {
        controller.set_core(c, cpu.core);
        controller.set_cpu(c, cpu.online && cpu.isa == 0, 0);
    }
    let mut numbers = Vec::new();
    for (file, m) in files.iter().zip(manifests) {
        numbers.push(controller.admit(m, 0, cut).map_err(|why| refused(file, m, &why))?);
    }
    debug_assert!(controller.verify(), "what was admitted fits");
    let gangs = files.iter().zip(&numbers).map(|(file, n)| {
        let gang = controller.gang(*n).expect("it was admitted");
        let phases = gang.manifest.phases().into_iter().zip(&gang.rows).map(|(phase, row)| match phase {
            Phase::BestEffort { priority } => Slots { priority, ..Slots::default() },
            Phase::Hard { release_ns, .. } => Slots {
                priority: 0,
                offset_ns: row.offset_ns,
                length_ns: row.length_ns,
                period_ns: row.period_ns,
                release_ns,
            },
        });
        Admitted {
            file: file.clone(),
            name: gang.manifest.name().to_string(),
            threads: gang.threads,
            cpus: (0..gang.threads).filter_map(|nth| controller.member_cpu(*n, nth)).collect(),
            alone: gang.manifest.alone(),
            scale: gang.scale,
            waits: gang.manifest.waits(),
            phases: phases.collect(),
        }
    });
    let percent = |c: u32| f64::from(controller.booked(c)) * 100.0 / f64::from(WHOLE);
    Ok(Admission {
        machine: machine.shape.name.clone(),
        gangs: gangs.collect(),
        notes: files.iter().zip(manifests).filter_map(|(file, m)| missing(machine, file, m)).collect(),
        cpus: (0..nr).map(|cpu| Booked { cpu, percent: percent(cpu) }).collect(),
    })
}

/// CPUs that a manifest allows and the machine lacks.
fn missing(machine: &Machine, file: &str, m: &Manifest) -> Option<String> {
    let nr = machine.shape.nr_cpus();
    let lacking: CpuSet = m.cpus()?.iter().filter(|c| *c >= nr).collect();
    let name = &machine.shape.name;
    (!lacking.is_empty())
        .then(|| format!("{file}: `cpus` has CPUs {lacking}, but {name} has only 0-{}", nr - 1))
}

fn refused(file: &str, m: &Manifest, why: &Refusal) -> Fault {
    Fault::user(format!("{file}: gang `{}` is not admitted: {}", m.name(), why.text()), why.remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(cpus: &str, texts: &[&str], cut: bool) -> Result<Admission> {
        let files: Vec<String> = (0..texts.len()).map(|i| format!("{i}.manifest")).collect();
        let mut manifests = Vec::new();
        for (file, text) in files.iter().zip(texts) {
            manifests.push(parse(file, text)?);
        }
        admit_on(&machine::resolve(cpus)?, &files, &manifests, cut)
    }

    #[test]
    fn two_gangs_of_half_the_machine_are_refused_or_cut() {
        let gang = "B 1\nH 80 160 80 480\n";
        let [a, b] = [format!("name a\n{gang}"), format!("name b\n{gang}")];
        let fault = on("smp-4", &[&a, &b], false).expect_err("they are too much");
        let text = fault.to_string();
        assert!(
            text.starts_with("1.manifest: gang `b` is not admitted")
                && text.contains("50.0 % needed, 40.0 % left"),
            "{text}"
        );
        let both = on("smp-4", &[&a, &b], true).expect("both are cut");
        assert_eq!(both.gangs.iter().map(|g| g.scale).collect::<Vec<_>>(), [900, 900]);
        assert_eq!(both.gangs[1].phases[1].length_ns, 72_000_000);
        assert!(both.cpus.iter().all(|c| (c.percent - 90.0).abs() < 1e-6));
    }

    #[test]
    fn cpus_that_are_not_there_are_noted() {
        let notes = |text: &str| on("smp-4", &[text], false).expect("it fits").notes;
        assert_eq!(
            notes("cpus 2-9,20\nthreads 2\nB 1\nH 1 2\n"),
            ["0.manifest: `cpus` has CPUs 4-9,20, but smp-4 has only 0-3"]
        );
        assert!(notes("cpus 0-3\nB 1\nH 1 2\n").is_empty() && notes("B 1\n").is_empty());
    }

    #[test]
    fn a_mistake_is_shown_at_its_place() {
        let fault = on("smp-4", &["name a\nH 80 16\n"], false).expect_err("the period is too short");
        assert_eq!(fault.to_string(), "0.manifest:2:6: the period is shorter than the execution time");
        assert!(fault.blame == crate::Blame::User);
        for text in ["H 80", "\n\nB", "x", "H 1 2 é", ""] {
            assert!(on("smp-1", &[text], false).is_err(), "{text}");
        }
    }
}
