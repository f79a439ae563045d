// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Writer of TOML machine files: what it writes reads back as the same machine.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use weir_core::CpuShape;
use weir_text::toml::quoted;

use super::{Machine, MachineEvent};
use crate::units::{self, CLOCK, POWER, SIZE, TIME};

/// How the number of one field goes on over a run of CPUs.
#[derive(Clone, Copy)]
struct Field {
    key: &'static str,
    /// Key of the run length; `None` for `core`, whose run length is `smt`, and for `first`.
    per_key: Option<&'static str>,
    get: fn(&Machine, usize) -> u32,
}

fn cpu(m: &Machine, i: usize) -> &CpuShape {
    &m.shape.cpus[i]
}

const FIELDS: [Field; 8] = [
    Field { key: "first", per_key: None, get: |m, i| cpu(m, i).os_index },
    Field { key: "core", per_key: None, get: |m, i| cpu(m, i).core },
    Field { key: "l2", per_key: Some("cpus_per_l2"), get: |m, i| m.l2_of[i] },
    Field { key: "llc", per_key: Some("cpus_per_llc"), get: |m, i| cpu(m, i).llc },
    Field { key: "node", per_key: Some("cpus_per_node"), get: |m, i| cpu(m, i).node },
    Field { key: "package", per_key: Some("cpus_per_package"), get: |m, i| cpu(m, i).package },
    Field { key: "domain", per_key: Some("cpus_per_domain"), get: |m, i| cpu(m, i).coherence },
    // Last: left out where clusters are the CPUs that share an L2.
    Field { key: "cluster", per_key: Some("cpus_per_cluster"), get: |m, i| cpu(m, i).cluster },
];

impl Machine {
    /// The machine as a TOML file that [`Machine::from_text`] reads back as the same machine
    /// (warnings apart).
    pub fn to_toml(&self) -> String {
        let mut out = String::new();
        self.write_toml(&mut out).expect("writing to a string cannot fail");
        out
    }

    fn write_toml(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "# {}", self.describe())?;
        writeln!(out, "name = {}", quoted(&self.shape.name))?;
        if self.shape.isas.len() > 1 || self.shape.isas[0] != "native" {
            let isas: Vec<String> = self.shape.isas.iter().map(|i| quoted(i)).collect();
            writeln!(out, "isas = [{}]", isas.join(", "))?;
        }
        if self.smt_pct != 100 {
            writeln!(out, "smt_speed = \"{}%\"", self.smt_pct)?;
        }
        writeln!(out, "llc_level = {}", self.llc_level)?;
        if self.distances.len() > 1 {
            writeln!(out, "distances = [")?;
            for row in &self.distances {
                let row: Vec<String> = row.iter().map(u32::to_string).collect();
                writeln!(out, "  [{}],", row.join(", "))?;
            }
            writeln!(out, "]")?;
        }
        if self.on_battery {
            writeln!(out, "battery = true")?;
        }
        if self.engine.is_some() {
            writeln!(out, "scheduler = \"engine\"")?;
        }
        if let Some(c) = &self.clocks {
            let show = |ns| units::show(ns, TIME);
            writeln!(out, "\n[clocks]\noffset = \"{}\"\ndrift = {}", show(c.offset_ns), c.drift_ppm)?;
            writeln!(out, "late = \"{}\"\nwatch = \"{}\"", show(c.late_ns), show(c.watch_ns))?;
        }
        if let Some(t) = &self.thermal {
            let (settle, sample) = (units::show(t.settle_ns, TIME), units::show(t.sample_ns, TIME));
            writeln!(out, "\n[thermal]\nambient = {}\nrise = {}", t.ambient_c, t.rise_per_w)?;
            writeln!(out, "settle = \"{settle}\"\nsample = \"{sample}\"")?;
            writeln!(out, "throttle = {}\nrelease = {}", t.throttle_c, t.release_c)?;
        }
        if let Some(e) = &self.engine {
            writeln!(out, "\n[engine]\ntasks = {}\nclock = \"{}\"", e.tasks, units::show(e.hz, CLOCK))?;
            writeln!(out, "select = {}", quoted(e.select.name()))?;
        }
        for (k, kind) in self.kinds.iter().enumerate() {
            writeln!(out, "\n[[kind]]\nname = {}", quoted(&kind.name))?;
            if let Some(i) = self.kind_of.iter().position(|&x| usize::from(x) == k) {
                writeln!(out, "capacity = {}", self.shape.cpus[i].capacity)?;
            }
            writeln!(out, "idle = \"{}\"\npoints = [", units::show(kind.idle_mw.into(), POWER))?;
            for p in &kind.points {
                let (clock, power) = (units::show(p.hz, CLOCK), units::show(p.busy_mw.into(), POWER));
                writeln!(out, "  {{ clock = \"{clock}\", power = \"{power}\" }},")?;
            }
            writeln!(out, "]")?;
        }
        let runs = self.runs();
        // A machine whose numbers go in no simple order: lists instead of hundreds of short runs.
        let as_lists = runs.len() > 16 && runs.len() > self.shape.cpus.len() / 8;
        if as_lists {
            for run in self.alike() {
                self.write_group(out, run, true)?;
            }
        } else {
            for run in runs {
                self.write_group(out, run, false)?;
            }
        }
        self.write_events(out)
    }

    /// The fields that are written.
    fn fields(&self) -> &'static [Field] {
        if self.has_clusters() { &FIELDS } else { &FIELDS[..FIELDS.len() - 1] }
    }

    /// Clusters are named by the machine's source, and are others than the CPUs that share an L2.
    pub(super) fn has_clusters(&self) -> bool {
        let pairs = || self.shape.cpus.iter().map(|c| c.cluster).zip(self.l2_of.iter().copied());
        let both: BTreeSet<(u32, u32)> = pairs().collect();
        let one = |f: &dyn Fn((u32, u32)) -> u32| pairs().map(f).collect::<BTreeSet<u32>>().len();
        both.len() != one(&|p| p.0) || both.len() != one(&|p| p.1)
    }

    /// What must be equal throughout a group.
    fn same_group(&self, a: usize, b: usize) -> bool {
        let (x, y) = (cpu(self, a), cpu(self, b));
        let size = |c: &CpuShape| self.llc_bytes[c.llc as usize];
        (self.kind_of[a], x.isa, x.host, x.online, size(x))
            == (self.kind_of[b], y.isa, y.host, y.online, size(y))
    }

    /// Longest runs of CPUs that are alike, whatever their numbers.
    fn alike(&self) -> Vec<Range<usize>> {
        let mut runs: Vec<Range<usize>> = Vec::new();
        for i in 0..self.shape.cpus.len() {
            match runs.last_mut() {
                Some(run) if self.same_group(run.start, i) => run.end = i + 1,
                _ => runs.push(i..i + 1),
            }
        }
        runs
    }

    /// Longest runs of CPUs that are alike and numbered regularly.
    fn runs(&self) -> Vec<Range<usize>> {
        let mut runs = Vec::new();
        for alike in self.alike() {
            let mut start = alike.start;
            while start < alike.end {
                let end = self
                    .fields()
                    .iter()
                    .map(|f| self.regular(f, start, alike.end))
                    .min()
                    .unwrap_or(alike.end);
                // Whole cores only; a core cut in two is written as single CPUs.
                let smt = self.period(&FIELDS[1], start, end);
                let whole = start + ((end - start) / smt * smt).max(1);
                runs.push(start..whole);
                start = whole;
            }
        }
        runs
    }

    /// CPUs from `start` on with the number of the first.
    fn period(&self, f: &Field, start: usize, end: usize) -> usize {
        let first = (f.get)(self, start);
        (start..end).take_while(|&i| (f.get)(self, i) == first).count().max(1)
    }

    /// Where the numbers of a field stop rising by one after every period.
    fn regular(&self, f: &Field, start: usize, end: usize) -> usize {
        let (first, period) = ((f.get)(self, start), self.period(f, start, end));
        let fits = |i: usize| (f.get)(self, i) == first + ((i - start) / period) as u32;
        (start..end).find(|&i| !fits(i)).unwrap_or(end)
    }

    fn write_group(&self, out: &mut String, run: Range<usize>, as_lists: bool) -> std::fmt::Result {
        let (start, count) = (run.start, run.len());
        let c = cpu(self, start);
        writeln!(out, "\n[[cpus]]\ncount = {count}")?;
        if self.kinds.len() > 1 {
            writeln!(out, "kind = {}", quoted(&self.kind(start as u32).name))?;
        }
        for f in self.fields() {
            if as_lists {
                let all: Vec<String> = run.clone().map(|i| (f.get)(self, i).to_string()).collect();
                writeln!(out, "{} = [{}]", f.key, all.join(", "))?;
                continue;
            }
            let period = self.period(f, start, run.end);
            if f.key == "core" && period > 1 {
                writeln!(out, "smt = {period}")?;
            }
            writeln!(out, "{} = {}", f.key, (f.get)(self, start))?;
            if let Some(key) = f.per_key.filter(|_| period < count) {
                writeln!(out, "{key} = {period}")?;
            }
        }
        let bytes = self.llc_bytes[c.llc as usize];
        if bytes > 0 {
            writeln!(out, "llc_size = \"{}\"", units::show(bytes, SIZE))?;
        }
        if c.isa != 0 {
            writeln!(out, "isa = {}", quoted(&self.shape.isas[usize::from(c.isa)]))?;
        }
        if let Some(h) = c.host {
            writeln!(out, "host = {}", cpu(self, h as usize).os_index)?;
        }
        if !c.online {
            writeln!(out, "online = false")?;
        }
        Ok(())
    }

    fn write_events(&self, out: &mut String) -> std::fmt::Result {
        for (t, event) in &self.events {
            writeln!(out, "\n[[event]]\nat = \"{}\"", units::show(*t, TIME))?;
            let os = |c: u32| cpu(self, c as usize).os_index;
            match *event {
                MachineEvent::Online(c) => writeln!(out, "online = {}", os(c))?,
                MachineEvent::Offline(c) => writeln!(out, "offline = {}", os(c))?,
                MachineEvent::Battery(on) => writeln!(out, "battery = {on}")?,
                MachineEvent::Frequency(c, hz) => {
                    writeln!(out, "cpus = {}\nclock = \"{}\"", os(c), units::show(hz, CLOCK))?;
                }
            }
        }
        Ok(())
    }
}
