// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! From a user's name to a workload: catalogue, file or generator.

use std::sync::Arc;

use super::build::{Limits, MAX_FILE};
use super::generate::{generate, generators};
use super::{Op, Shape, SimsoExtras, Workload, rtapp, sheet, simso, tomlfile};
use crate::Machine;
use crate::error::{Error, ErrorKind, nearest};

/// The formats of workload files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    RtApp,
    Simso,
    Toml,
    /// A table of a spreadsheet.
    Sheet,
}

/// Read a workload from text of a known format. `name` names the workload, `file` the text.
pub(crate) fn parse(
    format: Format,
    name: &str,
    file: &str,
    text: &str,
    limits: Limits,
    files: tomlfile::Files<'_>,
) -> Result<Workload, Error> {
    match format {
        Format::RtApp => rtapp::parse(name, file, text, limits),
        Format::Simso => simso::parse(name, file, text, limits),
        Format::Toml => tomlfile::parse(name, file, text, limits, files),
        Format::Sheet => sheet::parse(name, file, text, limits),
    }
}

/// The format that a text is in, by its first character that matters.
fn sniff(text: &str) -> Format {
    match text.trim_start_matches('\u{feff}').trim_start().chars().next() {
        Some('{' | '/') => Format::RtApp,
        Some('<') => Format::Simso,
        _ => Format::Toml,
    }
}

/// The part of a path that names the workload.
fn stem(path: &str) -> &str {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.rsplit_once('.').map_or(file, |s| s.0)
}

impl Workload {
    /// Find and read a workload. `spec` is a name in the catalogue, a file (`.json` rt-app, `.xml`
    /// SimSo, `.csv` a table of periodic tasks, `.toml`) or a generator call (`hackbench:groups=10,loops=100`). The catalogue holds pairs
    /// of a name (an extension does not matter) and a text; `read` reads files.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] where the file cannot be read, [`ErrorKind::Workload`] for everything else.
    pub fn resolve(
        spec: &str,
        seed: u64,
        read: &dyn Fn(&str) -> std::io::Result<Vec<u8>>,
        catalogue: &[(&str, &str)],
    ) -> Result<Workload, Error> {
        let spec = spec.trim();
        let limits = Limits::default();
        if let Some((name, text)) = catalogue.iter().find(|(name, _)| *name == spec || stem(name) == spec) {
            let none = |_: &str| Err(std::io::Error::from(std::io::ErrorKind::NotFound));
            let mut workload = parse(sniff(text), stem(name), name, text, limits, &none)?;
            workload.resolve_guests(seed, read, catalogue)?;
            return Ok(workload);
        }
        if let Some(result) = generate(spec, seed, limits) {
            return result;
        }
        let extension = spec.rsplit_once('.').map(|s| s.1.to_ascii_lowercase());
        let format = match extension.as_deref() {
            Some("json") => Format::RtApp,
            Some("xml") => Format::Simso,
            Some("toml") => Format::Toml,
            Some("csv") => Format::Sheet,
            _ => return Err(unknown(spec, catalogue)),
        };
        let bytes = read(spec).map_err(|e| Error::io(spec, "workload", &e))?;
        if bytes.len() > MAX_FILE {
            let message = format!("`{spec}` has {} MiB", bytes.len() >> 20);
            let help = format!("a workload file may have {} MiB", MAX_FILE >> 20);
            return Err(Error::new(ErrorKind::Workload, message).help(help));
        }
        let text = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            Error::workload(format!("`{spec}` is not UTF-8 text: byte {at} cannot be read"))
                .help("save it as UTF-8")
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let folder = spec.rfind(['/', '\\']).map_or("", |i| &spec[..=i]);
        let beside =
            |path: &str| if path.starts_with('/') { read(path) } else { read(&format!("{folder}{path}")) };
        let mut workload = parse(format, stem(spec), spec, text, limits, &beside)?;
        workload.resolve_guests(seed, &beside, catalogue)?;
        Ok(workload)
    }

    /// Read what other files and generators describe of the guests. Each guest's random numbers are its own.
    fn resolve_guests(
        &mut self,
        seed: u64,
        read: &dyn Fn(&str) -> std::io::Result<Vec<u8>>,
        catalogue: &[(&str, &str)],
    ) -> Result<(), Error> {
        for (i, guest) in (1..).zip(&mut self.guests) {
            let seed = seed.wrapping_add(i);
            match &guest.from {
                None => guest.workload.resolve_guests(seed, read, catalogue)?,
                Some(spec) => {
                    let mut inside = Workload::resolve(spec, seed, read, catalogue)?;
                    for (what, there) in [
                        ("machine events", !inside.machine_events.is_empty()),
                        ("a scenario", inside.scenario.is_some()),
                    ] {
                        if there {
                            let message =
                                format!("the workload `{spec}` of the guest `{}` has {what}", guest.name);
                            let help =
                                "guests have neither a scenario nor machine events: choose another workload";
                            return Err(Error::workload(message).help(help));
                        }
                    }
                    inside.name.clone_from(&guest.name);
                    guest.workload = inside;
                }
            }
            let of_guest = guest.workload.warnings.iter().map(|w| format!("guest `{}`: {w}", guest.name));
            self.warnings.extend(of_guest);
        }
        Ok(())
    }

    /// Whether the workload never ends by itself: some task loops for ever, and no duration is set.
    pub fn is_endless(&self) -> bool {
        self.duration_ns.is_none() && self.loops_forever()
    }

    /// Whether some task loops for ever, whatever the duration.
    pub fn loops_forever(&self) -> bool {
        // A guest of which one task never ends keeps its CPUs.
        if self.guests.iter().any(|g| g.workload.loops_forever()) {
            return true;
        }
        let mut last: *const Op = std::ptr::null();
        self.tasks.iter().any(|t| {
            // Instances follow each other and share their program: look at it once.
            let same = std::ptr::eq(last, t.program.as_ptr());
            last = t.program.as_ptr();
            !same && t.program.iter().any(|op| matches!(op, Op::Loop { count: None }))
        })
    }

    /// Turn work that is measured on `calibration_cpu` into work of a CPU of capacity 1024, once.
    ///
    /// # Errors
    /// The machine has no such CPU.
    pub fn calibrate(&mut self, shape: &weir_core::MachineShape) -> Result<(), Error> {
        let Some(cpu) = self.calibration_cpu else { return Ok(()) };
        let Some(measure) = shape.cpus.get(cpu as usize) else {
            return Err(Error::workload(format!(
                "`calibration` names CPU{cpu}, which the machine does not have"
            ))
            .help(format!("the machine has CPU0 to CPU{}", shape.nr_cpus().saturating_sub(1))));
        };
        self.calibration_cpu = None;
        let capacity = u128::from(measure.capacity);
        if capacity == 1024 {
            return Ok(());
        }
        let scale = |ns: &mut u64| *ns = (u128::from(*ns) * capacity / 1024) as u64;
        // Old and new program of the task before: instances go on sharing theirs.
        let mut done: Option<[Arc<[Op]>; 2]> = None;
        for task in &mut self.tasks {
            if let Some([old, new]) = &done
                && Arc::ptr_eq(old, &task.program)
            {
                task.program = new.clone();
                continue;
            }
            let mut ops = task.program.to_vec();
            for op in &mut ops {
                match op {
                    Op::Run { ns } => scale(ns),
                    Op::RunBetween { min_ns, max_ns } => {
                        scale(min_ns);
                        scale(max_ns);
                    }
                    Op::RunDrawn { .. } => unreachable!("rt-app, which calibrates, draws no times"),
                    _ => {}
                }
            }
            let old = std::mem::replace(&mut task.program, ops.into());
            done = Some([old, task.program.clone()]);
        }
        Ok(())
    }
}

impl SimsoExtras {
    /// The machine that the file describes: equal processors except for their speeds.
    pub fn machine(&self) -> Option<Machine> {
        if self.nr_cpus == 0 {
            return None;
        }
        let mut machine = Machine::smp(self.nr_cpus);
        let fastest = self.speeds.iter().copied().fold(1.0, f64::max);
        for (cpu, speed) in machine.shape.cpus.iter_mut().zip(&self.speeds) {
            cpu.capacity = ((speed / fastest * 1024.0).round() as u32).max(1);
        }
        if machine.shape.cpus.iter().any(|c| c.capacity != 1024) {
            machine.shape.name = format!("simso-{}", self.nr_cpus);
        }
        Some(machine)
    }
}

impl Workload {
    /// Turn the times of a SimSo file, which are those of a processor of speed 1, into times of the file's
    /// fastest one, if that is faster; for runs on the machine of the file.
    pub fn for_own_machine(&mut self) {
        let Some(simso) = &self.simso else { return };
        let fastest = simso.speeds.iter().copied().fold(1.0, f64::max);
        if fastest <= 1.0 {
            return;
        }
        let scale = |ns: u64| ((ns as f64 / fastest).round() as u64).max(u64::from(ns > 0));
        for task in &mut self.tasks {
            let mut ops = task.program.to_vec();
            for op in &mut ops {
                match op {
                    Op::Run { ns } => *ns = scale(*ns),
                    Op::RunDrawn { dist } => {
                        let mut drawn = (**dist).clone();
                        drawn.max_ns = scale(drawn.max_ns);
                        if let Shape::Normal { mean_ns, deviation_ns } = &mut drawn.shape {
                            *mean_ns = scale(*mean_ns);
                            *deviation_ns = scale(*deviation_ns);
                        }
                        *dist = Arc::new(drawn);
                    }
                    _ => {}
                }
            }
            task.program = ops.into();
            if let Some(timing) = &mut task.timing {
                timing.wcet_ns = scale(timing.wcet_ns);
            }
        }
    }
}

/// A spec that is neither in the catalogue, nor a generator, nor a file by its extension.
fn unknown(spec: &str, catalogue: &[(&str, &str)]) -> Error {
    let name = spec.split(':').next().unwrap_or(spec);
    if name != spec && catalogue.iter().any(|c| stem(c.0) == name) {
        let message = format!("`{name}` is a file of the catalogue and takes no parameters");
        return Error::workload(message).help(format!("name it alone: `{name}`; generators take parameters"));
    }
    let generators: Vec<&str> = generators().iter().map(|g| g.name).collect();
    let names = || catalogue.iter().map(|c| stem(c.0)).chain(generators.iter().copied());
    let help = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let files = "a file that ends in .json (rt-app), .xml (SimSo), .csv (a task set) or .toml";
            let list: Vec<&str> = catalogue.iter().map(|c| stem(c.0)).collect();
            let own = if list.is_empty() { String::new() } else { format!("one of {}, ", list.join(", ")) };
            format!("name {own}a generator ({}), or {files}", generators.join(", "))
        }
    };
    Error::workload(format!("unknown workload `{name}`")).help(help)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CATALOGUE: &[(&str, &str)] = &[
        ("blink.json", "// two\n{ \"tasks\" : { \"t\" : { \"run\" : 10, \"sleep\" : 90 } } }"),
        ("set", "[[task]]\nname = \"a\"\nprogram = [\"run 1ms\"]\n"),
    ];

    fn resolve(spec: &str) -> Result<Workload, Error> {
        let read = |path: &str| match path {
            "dir/x.toml" => Ok(CATALOGUE[1].1.as_bytes().to_vec()),
            "bad.json" => Ok(vec![b'{', 0xff]),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        };
        Workload::resolve(spec, 1, &read, CATALOGUE)
    }

    #[test]
    fn finds_each_kind() {
        let blink = resolve("blink").expect("in the catalogue");
        assert_eq!(blink.name, "blink");
        assert!(blink.is_endless());
        assert!(!resolve("set").expect("in the catalogue").is_endless());
        assert_eq!(resolve("dir/x.toml").expect("a file").name, "x");
        assert_eq!(resolve("compute:tasks=3").expect("a generator").tasks.len(), 3);
        assert_eq!(resolve("compute").expect("defaults").tasks.len(), 8);
    }

    #[test]
    fn unknown_names_get_suggestions() {
        assert!(resolve("blnik").unwrap_err().to_string().contains("did you mean `blink`?"));
        assert!(resolve("hackbensh:groups=1").unwrap_err().to_string().contains("did you mean `hackbench`?"));
        assert!(resolve("blink:tasks=3").unwrap_err().to_string().contains("takes no parameters"));
        assert!(resolve("quux").unwrap_err().to_string().contains("blink, set"));
        assert!(
            resolve("none.json").unwrap_err().to_string().contains("cannot read the workload `none.json`")
        );
        assert!(resolve("bad.json").unwrap_err().to_string().contains("UTF-8"));
    }

    #[test]
    fn calibration_scales_work_once() {
        let mut w = resolve("blink").expect("in the catalogue");
        let mut shape = weir_core::MachineShape::flat(2);
        shape.cpus[0].capacity = 512;
        w.calibrate(&shape).expect("CPU 0 exists");
        w.calibrate(&shape).expect("nothing to do");
        assert_eq!(w.tasks[0].program[1], Op::Run { ns: 5_000 });
    }
}
