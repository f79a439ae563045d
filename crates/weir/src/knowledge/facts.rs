// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! What becomes facts: a machine, its costs, measurements, devices, load, gangs, and policies with the programs that they schedule.

use std::fs;
use std::time::Duration;

use rusqlite::{Transaction, params};
use weir_model::{Costs, Distance, Machine};

use super::{Base, broken};
use crate::fault::Result;
use crate::gang::Admission;
use crate::latency::{Latencies, usable};

/// A policy that schedules the kernel's tasks, or threads of programs.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// The process that answers for it.
    pub pid: u32,
    /// `kernel`, `program` or `served`.
    pub kind: &'static str,
    /// Of that process, or the name by which programs join.
    pub name: String,
    pub topology: String,
    pub uptime_ns: u64,
    /// Linux's numbers.
    pub cpus: Vec<u32>,
    pub programs: Vec<Program>,
    pub threads: Vec<Thread>,
    pub gangs: Vec<Gang>,
}

/// A program under a policy.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub pid: u32,
    pub name: String,
}

/// A thread under a policy.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    pub tid: u32,
    pub pid: u32,
    pub name: String,
    pub state: &'static str,
    /// Linux's number of the CPU where it runs or ran last.
    pub cpu: Option<u32>,
    pub run_ns: u64,
    pub wait_ns: u64,
}

/// A gang that runs, in its phase.
#[derive(Clone, Debug, Default)]
pub struct Gang {
    pub name: String,
    pub threads: u32,
    /// Linux's numbers.
    pub cpus: Vec<u32>,
    pub phase: u32,
    pub offset_ns: u64,
    pub length_ns: u64,
    pub period_ns: u64,
}

impl Base {
    /// The machine by its description. For `host`, only CPUs that this process may use are usable.
    ///
    /// # Errors
    /// There is a machine already.
    pub fn add_machine(&mut self, m: &Machine, costs: &Costs) -> Result<()> {
        let allowed = (m.shape.name == "host").then(usable).filter(|all| !all.is_empty());
        self.add(|t| {
            t.execute(
                "INSERT INTO machine VALUES (?, ?, ?)",
                params![m.shape.name, m.describe(), m.smt_pct],
            )?;
            let mut add = t.prepare("INSERT INTO cpu VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)")?;
            for (cpu, c) in (0u32..).zip(&m.shape.cpus) {
                let may = allowed.as_ref().is_none_or(|all| all.contains(&(c.os_index as usize)));
                add.execute(params![
                    cpu,
                    c.os_index,
                    c.core,
                    m.l2_of[cpu as usize],
                    c.cluster,
                    c.llc,
                    c.node,
                    c.package,
                    c.coherence,
                    m.kind(cpu).name,
                    c.capacity,
                    m.top_hz(cpu),
                    m.shape.isas[usize::from(c.isa)],
                    c.host,
                    c.online,
                    c.online && may
                ])?;
            }
            let mut add = t.prepare("INSERT INTO cache VALUES (?, ?, ?)")?;
            if m.llc_level > 0 {
                for (llc, bytes) in (0u32..).zip(&m.llc_bytes) {
                    add.execute(params![llc, m.llc_level, (*bytes > 0).then_some(*bytes)])?;
                }
            }
            add_distances(t, m, costs)
        })
    }

    /// Latencies that were measured on this computer.
    ///
    /// # Errors
    /// A bug.
    pub fn add_latencies(&mut self, all: &Latencies) -> Result<()> {
        self.add(|t| {
            let mut add = t.prepare("INSERT OR REPLACE INTO measured VALUES (?, ?, ?)")?;
            for (a, row) in all.cpus.iter().zip(&all.one_way_ns) {
                for (b, ns) in all.cpus.iter().zip(row).filter(|(b, _)| *b != a) {
                    // Tenths: what the clock resolves.
                    add.execute(params![a, b, (f64::from(*ns) * 10.0).round() / 10.0])?;
                }
            }
            Ok(())
        })
    }

    /// Gangs that were admitted together.
    ///
    /// # Errors
    /// Two have the same name.
    pub fn add_admission(&mut self, admission: &Admission) -> Result<()> {
        self.add(|t| {
            for g in &admission.gangs {
                let share = g.phases.iter().filter(|p| p.period_ns > 0);
                let share =
                    share.map(|p| p.length_ns as f64 * 100.0 / p.period_ns as f64).fold(0.0, f64::max);
                t.execute("INSERT INTO gang VALUES (?, ?, ?, 0, 0)", params![g.name, g.threads, share])?;
                for (thread, cpu) in g.cpus.iter().enumerate() {
                    t.execute("INSERT INTO gang_cpu VALUES (?, ?, ?)", params![g.name, cpu, thread])?;
                }
                for (phase, p) in g.phases.iter().enumerate() {
                    let hard = p.length_ns > 0;
                    t.execute(
                        "INSERT INTO phase VALUES (?, ?, ?, ?, ?, ?, ?)",
                        params![
                            g.name,
                            phase,
                            (!hard).then_some(p.priority),
                            hard.then_some(p.length_ns),
                            hard.then_some(p.period_ns),
                            hard.then_some(p.offset_ns),
                            hard.then_some(p.release_ns)
                        ],
                    )?;
                }
            }
            Ok(())
        })
    }

    /// How busy CPUs are, by Linux's numbers, in percent.
    ///
    /// # Errors
    /// A bug.
    pub fn add_load(&mut self, load: &[(u32, f64)]) -> Result<()> {
        self.add(|t| {
            let mut add = t.prepare("INSERT OR REPLACE INTO load SELECT cpu, ? FROM cpu WHERE linux = ?")?;
            load.iter().try_for_each(|(linux, percent)| add.execute(params![percent, linux]).map(drop))
        })
    }

    /// What runs under a policy.
    ///
    /// # Errors
    /// A bug.
    pub fn add_policy(&mut self, p: &Policy) -> Result<()> {
        self.add(|t| {
            t.execute(
                "INSERT OR REPLACE INTO policy VALUES (?, ?, ?, ?, ?)",
                params![p.pid, p.kind, p.name, p.topology, p.uptime_ns],
            )?;
            for linux in &p.cpus {
                t.execute(
                    "INSERT OR IGNORE INTO policy_cpu SELECT ?, cpu FROM cpu WHERE linux = ?",
                    params![p.pid, linux],
                )?;
            }
            for program in &p.programs {
                t.execute(
                    "INSERT OR REPLACE INTO program VALUES (?, ?, ?)",
                    params![program.pid, program.name, p.pid],
                )?;
            }
            let mut add = t.prepare(
                "INSERT INTO thread VALUES (?, ?, ?, ?, ?, (SELECT cpu FROM cpu WHERE linux = ?), ?, ?)",
            )?;
            for r in &p.threads {
                add.execute(params![p.pid, r.tid, r.pid, r.name, r.state, r.cpu, r.run_ns, r.wait_ns])?;
            }
            p.gangs.iter().try_for_each(|g| add_gang(t, g))
        })
    }

    /// All of it, or nothing.
    pub(super) fn add(&mut self, what: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>) -> Result<()> {
        let told = self.db.transaction().and_then(|t| what(&t).and_then(|()| t.commit()));
        told.map_err(|e| broken(&e))
    }
}

fn add_distances(t: &Transaction<'_>, m: &Machine, costs: &Costs) -> rusqlite::Result<()> {
    let by = &costs.message;
    let mut add = t.prepare("INSERT INTO message VALUES (?, ?)")?;
    let fixed = [
        ("same", 0),
        ("sibling", by.sibling),
        ("l2", by.l2),
        ("llc", by.llc),
        ("node", by.node),
        ("domain", by.domain),
    ];
    fixed.iter().try_for_each(|(name, ns)| add.execute(params![name, ns]).map(drop))?;
    let mut add = t.prepare("INSERT INTO node_distance VALUES (?, ?, ?, ?)")?;
    for (a, row) in m.distances.iter().enumerate() {
        for (b, distance) in row.iter().enumerate() {
            // In proportion to the distance, but no node is nearer than the CPUs of the same one.
            let ns = if a == b { by.node } else { by.at(Distance::Remote(*distance)).max(by.node) };
            add.execute(params![a, b, distance, ns])?;
        }
    }
    Ok(())
}

fn add_gang(t: &Transaction<'_>, g: &Gang) -> rusqlite::Result<()> {
    let hard = g.length_ns > 0 && g.period_ns > 0;
    let share = if hard { g.length_ns as f64 * 100.0 / g.period_ns as f64 } else { 0.0 };
    t.execute(
        "INSERT OR REPLACE INTO gang VALUES (?, ?, ?, 1, ?)",
        params![g.name, g.threads, share, g.phase],
    )?;
    for (thread, linux) in g.cpus.iter().enumerate() {
        t.execute(
            "INSERT OR REPLACE INTO gang_cpu SELECT ?, cpu, ? FROM cpu WHERE linux = ?",
            params![g.name, thread, linux],
        )?;
    }
    t.execute(
        "INSERT OR REPLACE INTO phase VALUES (?, ?, NULL, ?, ?, ?, NULL)",
        params![
            g.name,
            g.phase,
            hard.then_some(g.length_ns),
            hard.then_some(g.period_ns),
            hard.then_some(g.offset_ns)
        ],
    )?;
    Ok(())
}

/// How busy the CPUs of this computer are within a span of time, by Linux's numbers, in percent; empty where Linux does not say.
pub fn busy(span: Duration) -> Vec<(u32, f64)> {
    let Some(before) = read_times() else { return Vec::new() };
    std::thread::sleep(span);
    let after = read_times().unwrap_or_default();
    let since = |(cpu, total, idle): &(u32, u64, u64)| {
        let (_, t, i) = after.iter().find(|(c, ..)| c == cpu)?;
        let (total, idle) = (t.checked_sub(*total)?, i.saturating_sub(*idle));
        (total > 0).then(|| (*cpu, (total.saturating_sub(idle) * 1000 / total) as f64 / 10.0))
    };
    before.iter().filter_map(since).collect()
}

/// Of each CPU, all ticks and idle ones.
fn read_times() -> Option<Vec<(u32, u64, u64)>> {
    Some(times(&fs::read_to_string("/proc/stat").ok()?))
}

fn times(text: &str) -> Vec<(u32, u64, u64)> {
    let line = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
        let cpu = words.next()?.parse().ok()?;
        // user nice system idle iowait irq softirq steal; what follows is part of the first two.
        let ticks: Vec<u64> = words.take(8).filter_map(|w| w.parse().ok()).collect();
        (ticks.len() >= 5).then(|| (cpu, ticks.iter().sum(), ticks[3] + ticks[4]))
    };
    text.lines().filter(|l| !l.starts_with("cpu ")).filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn ticks_of_each_cpu_are_read() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 10 0 5 80 5 0 0 0 3 0\ncpu12 1 1 1 1 1 1 1 1\nintr 5\ncpux 1 2 3 4 5\n";
        assert_eq!(times(text), [(0, 100, 85), (12, 8, 2)]);
    }
}
