// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Where threads should be: choices among CPUs that need more than a statement of SQL.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;

use super::{Base, Table, broken};
use crate::fault::{Fault, Result};
use crate::latency::Latencies;
use crate::units::plural;

const UNITS: usize = 7;

/// What a distance depends on, of a CPU.
struct Place {
    domain: u32,
    core: u32,
    l2: u32,
    llc: u32,
    node: u32,
}

impl Base {
    /// `n` CPUs for threads that communicate, in the order in which the threads should take them: CPUs with the least to do
    /// already, near each other where there is a choice.
    ///
    /// # Errors
    /// There are not as many usable ones.
    pub fn layout(&self, n: usize) -> Result<Table> {
        let mut levels: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let all = self.usable()?;
        for (cpu, burden) in &all {
            levels.entry(*burden).or_default().push(*cpu);
        }
        let (mut fixed, mut pool) = (Vec::new(), Vec::new());
        for cpus in levels.into_values() {
            fixed.append(&mut pool);
            pool = cpus;
            if fixed.len() + pool.len() >= n {
                break;
            }
        }
        let pick = self.latencies()?.pick_from(&fixed, &pool, n)?;
        let burden: HashMap<u32, u32> = all.into_iter().collect();
        self.described(&pick.cpus, Order::ByPlace, &burden)
    }

    /// `n` CPUs for threads that need caches and memory for themselves: always the next one that shares least with those before it,
    /// so that the first ones of them share little, too.
    ///
    /// # Errors
    /// There are not as many usable ones.
    pub fn spread(&self, n: usize) -> Result<Table> {
        let mut all = self.usable()?;
        all.sort_by_key(|(cpu, burden)| (*burden, *cpu));
        if n == 0 || n > all.len() {
            return Err(Fault::user(
                format!("{} cannot be chosen from {}", plural(n, "CPU"), all.len()),
                format!("ask for 1 to {}", all.len()),
            ));
        }
        let units: Vec<[u32; UNITS]> = all
            .iter()
            .map(|(cpu, _)| self.units(*cpu))
            .collect::<rusqlite::Result<_>>()
            .map_err(|e| broken(&e))?;
        // With those chosen so far: the most that it shares with one of them, and with all together.
        let mut shares = vec![(0, 0); all.len()];
        let mut free: Vec<usize> = (0..all.len()).collect();
        let mut chosen = Vec::new();
        while chosen.len() < n {
            // Of equals the first: the one with the least to do.
            let Some(at) = (0..free.len()).min_by_key(|i| shares[free[*i]]) else { break };
            let next = free.remove(at);
            chosen.push(all[next].0);
            for i in &free {
                let common = units[*i].iter().zip(&units[next]).filter(|(a, b)| a == b).count();
                shares[*i] = (shares[*i].0.max(common), shares[*i].1 + common);
            }
        }
        self.described(&chosen, Order::AsGiven, &all.into_iter().collect())
    }

    /// CPUs that run native programs and that this process may use, with what they have to do already in percent.
    fn usable(&self) -> Result<Vec<(u32, u32)>> {
        let sql = "SELECT c.cpu, b.percent FROM cpu c JOIN burden b ON b.cpu = c.cpu
                   WHERE c.usable AND c.host IS NULL AND c.isa = (SELECT isa FROM cpu ORDER BY cpu LIMIT 1) ORDER BY c.cpu";
        let rows = self.table(sql, []).map_err(|e| broken(&e))?;
        Ok(rows.numbers("cpu").into_iter().zip(rows.numbers("percent")).collect())
    }

    /// Of all pairs: measured, else by the description. The view `latency` says the same of one pair, but not of millions in no time.
    ///
    /// # Errors
    /// A bug.
    pub fn latencies(&self) -> Result<Latencies> {
        self.read_latencies().map_err(|e| broken(&e))
    }

    fn read_latencies(&self) -> rusqlite::Result<Latencies> {
        let mut read = self.db.prepare("SELECT cpu, domain, core, l2, llc, node FROM cpu ORDER BY cpu")?;
        let place = |r: &rusqlite::Row<'_>| {
            let place =
                Place { domain: r.get(1)?, core: r.get(2)?, l2: r.get(3)?, llc: r.get(4)?, node: r.get(5)? };
            Ok((r.get::<_, u32>(0)?, place))
        };
        let places: Vec<(u32, Place)> = read.query_map([], place)?.collect::<rusqlite::Result<_>>()?;
        let mut read = self.db.prepare("SELECT distance, ns FROM message")?;
        let costs: HashMap<String, f32> =
            read.query_map([], |r| Ok((r.get(0)?, r.get(1)?)))?.collect::<rusqlite::Result<_>>()?;
        let cost = |name: &str| costs.get(name).copied().unwrap_or(0.0);
        let [sibling, l2, llc, node, domain] = ["sibling", "l2", "llc", "node", "domain"].map(cost);
        let mut read = self.db.prepare("SELECT a, b, ns FROM node_distance")?;
        let nodes: HashMap<(u32, u32), f32> = read
            .query_map([], |r| Ok(((r.get(0)?, r.get(1)?), r.get(2)?)))?
            .collect::<rusqlite::Result<_>>()?;
        let ns = |a: &Place, b: &Place| match () {
            () if a.domain != b.domain => domain,
            () if a.core == b.core => sibling,
            () if a.l2 == b.l2 => l2,
            () if a.llc == b.llc => llc,
            () if a.node == b.node => node,
            () => nodes.get(&(a.node, b.node)).copied().unwrap_or(node),
        };
        let row =
            |(a, x): &(u32, Place)| places.iter().map(|(b, y)| if a == b { 0.0 } else { ns(x, y) }).collect();
        let mut one_way_ns: Vec<Vec<f32>> = places.iter().map(row).collect();
        let at: HashMap<u32, usize> = places.iter().enumerate().map(|(i, (cpu, _))| (*cpu, i)).collect();
        let mut read = self.db.prepare("SELECT a, b, ns FROM measured")?;
        let mut rows = read.query([])?;
        let mut measured = false;
        while let Some(row) = rows.next()? {
            let (a, b): (u32, u32) = (row.get(0)?, row.get(1)?);
            if let (Some(a), Some(b)) = (at.get(&a), at.get(&b)) {
                one_way_ns[*a][*b] = row.get(2)?;
                measured = true;
            }
        }
        Ok(Latencies { cpus: places.iter().map(|(cpu, _)| *cpu).collect(), one_way_ns, measured })
    }

    /// What a CPU may share with others, from the largest on, and Linux's number, which it shares with none.
    fn units(&self, cpu: u32) -> rusqlite::Result<[u32; UNITS]> {
        let sql = "SELECT package, node, llc, cluster, l2, core, linux FROM cpu WHERE cpu = ?";
        let mut units = [0; UNITS];
        self.db.prepare(sql)?.query_row([cpu], |r| {
            units.iter_mut().enumerate().try_for_each(|(i, unit)| r.get(i).map(|n| *unit = n))
        })?;
        Ok(units)
    }

    /// The CPUs, one a thread.
    fn described(&self, cpus: &[u32], order: Order, burden: &HashMap<u32, u32>) -> Result<Table> {
        let place = |cpu: &u32| self.units(*cpu).map(|units| (units, *cpu));
        let mut all: Vec<([u32; UNITS], u32)> =
            cpus.iter().map(place).collect::<rusqlite::Result<_>>().map_err(|e| broken(&e))?;
        if let Order::ByPlace = order {
            // Neighbours in the order are neighbours in the machine.
            all.sort_unstable();
        }
        let columns = ["thread", "cpu", "linux", "core", "llc", "node", "burden_percent"];
        let row = |(thread, ([_, node, llc, _, _, core, linux], cpu)): (usize, ([u32; UNITS], u32))| {
            vec![
                json!(thread),
                json!(cpu),
                json!(linux),
                json!(core),
                json!(llc),
                json!(node),
                json!(burden[&cpu]),
            ]
        };
        Ok(Table {
            columns: columns.map(String::from).to_vec(),
            rows: all.into_iter().enumerate().map(row).collect(),
        })
    }
}

enum Order {
    AsGiven,
    ByPlace,
}
