// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The queries that have a name. Most are a statement of SQL; its parameters are the arguments in their order.

use rusqlite::types::Value as Sql;
use weir_text::suggest::nearest;

use super::{Base, Table, broken};
use crate::fault::{Fault, Result};

/// A query by name.
pub struct Query {
    pub name: &'static str,
    pub args: &'static [Arg],
    pub summary: &'static str,
    how: How,
}

/// An argument: its name as help shows it, what it is, and whether it may be left out.
pub struct Arg {
    pub name: &'static str,
    kind: Kind,
    pub optional: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// The number of a CPU of the machine.
    Cpu,
    /// A number from 1 on.
    Count,
    Percent,
    /// Something that CPUs share.
    Unit,
    Text,
}

enum How {
    Sql(&'static str),
    Code(fn(&Base, usize) -> Result<Table>),
}

const fn arg(name: &'static str, kind: Kind) -> Arg {
    Arg { name, kind, optional: false }
}

const fn optional(name: &'static str, kind: Kind) -> Arg {
    Arg { name, kind, optional: true }
}

const UNITS: [&str; 7] = ["core", "l2", "cluster", "llc", "node", "package", "domain"];

const ALL: [Query; 16] = [
    Query {
        name: "share",
        args: &[arg("CPU", Kind::Cpu), optional("UNIT", Kind::Unit)],
        summary: "which CPUs share a core, a cache, a node … with this one",
        how: How::Sql(
            "SELECT unit, count(*) AS count, cpus(other) AS cpus FROM shared
             WHERE cpu = ?1 AND (?2 IS NULL OR unit = ?2) GROUP BY unit ORDER BY rank",
        ),
    },
    Query {
        name: "latency",
        args: &[arg("A", Kind::Cpu), arg("B", Kind::Cpu)],
        summary: "how long a message takes from CPU A to CPU B",
        how: How::Sql("SELECT a, b, distance, ns, measured FROM latency WHERE a = ?1 AND b = ?2"),
    },
    Query {
        name: "near",
        args: &[arg("CPU", Kind::Cpu), optional("N", Kind::Count)],
        summary: "the other CPUs, nearest first; at most N",
        how: How::Sql(
            "SELECT b AS cpu, distance, ns, measured FROM latency WHERE a = ?1 AND b <> ?1 ORDER BY ns, b
             LIMIT coalesce(?2, -1)",
        ),
    },
    Query {
        name: "idle",
        args: &[arg("CPU", Kind::Cpu), optional("N", Kind::Count)],
        summary: "the nearest idle CPU, or the N nearest",
        how: How::Sql(
            "SELECT l.b AS cpu, l.distance, l.ns, (SELECT busy_percent FROM load WHERE cpu = l.b) AS busy_percent
             FROM latency l JOIN idle i ON i.cpu = l.b WHERE l.a = ?1 ORDER BY l.ns, l.b LIMIT coalesce(?2, 1)",
        ),
    },
    Query {
        name: "layout",
        args: &[arg("N", Kind::Count)],
        summary: "N CPUs for a gang or for threads that communicate, in order: little to do, and near each other",
        how: How::Code(Base::layout),
    },
    Query {
        name: "spread",
        args: &[arg("N", Kind::Count)],
        summary: "N CPUs for threads that share nothing: far from each other",
        how: How::Code(Base::spread),
    },
    Query {
        name: "tree",
        args: &[arg("ROOT", Kind::Cpu)],
        summary: "who sends to whom so that a message reaches all CPUs: one of each node, farthest first, then its node",
        how: How::Sql(
            "WITH head AS (
                 SELECT b, node_b, ns FROM (
                     SELECT l.b, c.node AS node_b, l.ns, row_number() OVER (PARTITION BY c.node ORDER BY l.ns, l.b) AS nth
                     FROM latency l JOIN cpu c ON c.cpu = l.b JOIN cpu r ON r.cpu = l.a
                     WHERE l.a = ?1 AND c.node <> r.node AND c.online)
                 WHERE nth = 1),
             step AS (
                 SELECT 1 AS round, ?1 AS sender, b AS receiver, ns, 0 AS own FROM head
                 UNION ALL
                 SELECT 1, ?1, c.cpu, l.ns, 1 FROM cpu r JOIN cpu c ON c.node = r.node JOIN latency l ON l.a = ?1 AND l.b = c.cpu
                 WHERE r.cpu = ?1 AND c.cpu <> ?1 AND c.online
                 UNION ALL
                 SELECT 2, h.b, c.cpu, l.ns, 0 FROM head h JOIN cpu c ON c.node = h.node_b JOIN latency l ON l.a = h.b AND l.b = c.cpu
                 WHERE c.cpu <> h.b AND c.online)
             SELECT round, sender, receiver, ns FROM step ORDER BY round, sender, own, ns DESC, receiver",
        ),
    },
    Query {
        name: "where",
        args: &[arg("PROGRAM", Kind::Text)],
        summary: "where a program, thread or gang is: by name or number",
        how: How::Sql(
            "SELECT 'thread' AS what, p.name AS program, t.pid, t.tid, t.name, t.state, t.cpu, c.node, y.topology AS policy
             FROM thread t JOIN policy y ON y.pid = t.policy LEFT JOIN program p ON p.pid = t.pid LEFT JOIN cpu c ON c.cpu = t.cpu
             WHERE ?1 IN (p.name, t.name, CAST(t.pid AS TEXT), CAST(t.tid AS TEXT))
             UNION ALL
             SELECT 'gang', g.gang, NULL, g.thread, NULL, 'slot', g.cpu, c.node, NULL
             FROM gang_cpu g JOIN cpu c ON c.cpu = g.cpu WHERE g.gang = ?1
             ORDER BY 1, 3, 4",
        ),
    },
    Query {
        name: "on",
        args: &[arg("CPU", Kind::Cpu)],
        summary: "what is placed on a CPU: threads, gangs, policies, devices",
        how: How::Sql(
            "SELECT 'thread' AS what, t.name, t.state AS detail FROM thread t WHERE t.cpu = ?1
             UNION ALL SELECT 'gang', g.gang, printf('%.1f %%', a.share_percent)
                 FROM gang_cpu g JOIN gang a ON a.name = g.gang WHERE g.cpu = ?1
             UNION ALL SELECT 'policy', p.topology, p.kind || ' ' || p.name
                 FROM policy_cpu c JOIN policy p ON p.pid = c.policy WHERE c.cpu = ?1
             UNION ALL SELECT 'device', d.name, d.class
                 FROM device_cpu c JOIN device d ON d.name = c.device WHERE c.cpu = ?1
             ORDER BY 1, 2",
        ),
    },
    Query {
        name: "load",
        args: &[],
        summary: "what each CPU has to do: busy, booked by gangs, policies, running threads",
        how: How::Sql(
            "SELECT c.cpu, l.busy_percent, b.percent AS booked_percent,
                 (SELECT count(*) FROM policy_cpu p WHERE p.cpu = c.cpu) AS policies,
                 (SELECT count(*) FROM thread t WHERE t.cpu = c.cpu AND t.state = 'running') AS running,
                 u.percent AS burden_percent
             FROM cpu c JOIN booked b ON b.cpu = c.cpu JOIN burden u ON u.cpu = c.cpu LEFT JOIN load l ON l.cpu = c.cpu
             ORDER BY c.cpu",
        ),
    },
    Query {
        name: "room",
        args: &[arg("PERCENT", Kind::Percent)],
        summary: "CPUs on which a gang can still book so much; 10 % stay for best effort",
        how: How::Sql(
            "SELECT count(*) AS count, cpus(c.cpu) AS cpus FROM cpu c JOIN booked b ON b.cpu = c.cpu
             WHERE c.online AND b.percent + ?1 <= 90.0",
        ),
    },
    Query {
        name: "gangs",
        args: &[],
        summary: "gangs: their CPUs, and the slots of each phase",
        how: How::Sql(
            "SELECT g.name, g.threads, (SELECT cpus(cpu) FROM gang_cpu c WHERE c.gang = g.name) AS cpus, g.running,
                 p.phase, p.priority, p.slot_ns, p.period_ns, p.offset_ns
             FROM gang g LEFT JOIN phase p ON p.gang = g.name ORDER BY g.name, p.phase",
        ),
    },
    Query {
        name: "policies",
        args: &[],
        summary: "policies that run, with their CPUs and programs",
        how: How::Sql(
            "SELECT p.pid, p.kind, p.name, p.topology, (SELECT cpus(cpu) FROM policy_cpu c WHERE c.policy = p.pid) AS cpus,
                 (SELECT count(*) FROM program g WHERE g.policy = p.pid) AS programs,
                 (SELECT count(*) FROM thread t WHERE t.policy = p.pid) AS threads
             FROM policy p ORDER BY p.pid",
        ),
    },
    Query {
        name: "programs",
        args: &[],
        summary: "programs under a policy, and where their threads are",
        how: How::Sql(
            "SELECT g.pid, g.name, p.topology AS policy, count(t.tid) AS threads, cpus(t.cpu) AS cpus
             FROM program g JOIN policy p ON p.pid = g.policy LEFT JOIN thread t ON t.pid = g.pid AND t.policy = g.policy
             GROUP BY g.pid ORDER BY g.pid",
        ),
    },
    Query {
        name: "devices",
        args: &[optional("NAME", Kind::Text)],
        summary: "devices, and the CPUs near them, for their drivers",
        how: How::Sql(
            "SELECT d.name, d.class, d.node, (SELECT cpus(cpu) FROM device_cpu c WHERE c.device = d.name) AS cpus
             FROM device d WHERE ?1 IS NULL OR d.name = ?1 ORDER BY d.name",
        ),
    },
    Query {
        name: "fast",
        args: &[optional("N", Kind::Count)],
        summary: "the fastest CPUs, with kind and clock",
        how: How::Sql(
            "SELECT cpu, kind, capacity, hz, isa FROM cpu WHERE online ORDER BY capacity DESC, hz DESC, cpu LIMIT coalesce(?1, -1)",
        ),
    },
];

/// All queries that have a name.
pub fn all() -> &'static [Query] {
    &ALL
}

impl Query {
    /// As one writes it: `near CPU [N]`.
    pub fn usage(&self) -> String {
        let word = |a: &Arg| if a.optional { format!(" [{}]", a.name) } else { format!(" {}", a.name) };
        self.name.to_string() + &self.args.iter().map(word).collect::<String>()
    }
}

pub(super) fn answer(base: &mut Base, name: &str, args: &[String]) -> Result<Table> {
    let Some(query) = ALL.iter().find(|q| q.name == name) else {
        let near = nearest(name, ALL.iter().map(|q| q.name));
        let near = near.map_or(String::new(), |n| format!("did you mean `{n}`? "));
        return Err(Fault::user(
            format!("there is no query called `{}`", name.escape_debug()),
            format!("{near}`runweir ask` lists them; a query in SQL begins with SELECT or WITH"),
        ));
    };
    let least = query.args.iter().filter(|a| !a.optional).count();
    if args.len() < least || args.len() > query.args.len() {
        return Err(Fault::user(
            format!("`{name}` takes other arguments: {}", args.len()),
            format!("write: runweir ask {}", query.usage()),
        ));
    }
    let mut values = Vec::new();
    for (i, a) in query.args.iter().enumerate() {
        values.push(args.get(i).map_or(Ok(Sql::Null), |text| value(base, query, a, text))?);
    }
    match query.how {
        How::Code(run) => {
            let n = match values.first() {
                Some(Sql::Integer(n)) => usize::try_from(*n).unwrap_or(0),
                _ => 0,
            };
            run(base, n)
        }
        How::Sql(sql) => base.table(sql, rusqlite::params_from_iter(values)).map_err(|e| broken(&e)),
    }
}

/// An argument as the statement takes it.
fn value(base: &Base, query: &Query, arg: &Arg, text: &str) -> Result<Sql> {
    let wrong = |what: &str| {
        Fault::user(
            format!("{} of `{}`: `{}` is {what}", arg.name, query.name, text.escape_debug()),
            format!("write: runweir ask {}", query.usage()),
        )
    };
    match arg.kind {
        Kind::Text => Ok(Sql::Text(text.into())),
        Kind::Unit => match UNITS.contains(&text) {
            true => Ok(Sql::Text(text.into())),
            false => Err(wrong(&format!("nothing that CPUs share: {}", UNITS.join(", ")))),
        },
        Kind::Count => match text.parse::<u32>() {
            Ok(n) if n > 0 => Ok(Sql::Integer(n.into())),
            _ => Err(wrong("no number from 1 on")),
        },
        Kind::Percent => match text.trim_end_matches('%').parse::<f64>() {
            Ok(p) if (0.0..=100.0).contains(&p) => Ok(Sql::Real(p)),
            _ => Err(wrong("no number from 0 to 100")),
        },
        Kind::Cpu => {
            let cpu: u32 = text.parse().map_err(|_| wrong("no number of a CPU"))?;
            let known = base.table("SELECT max(cpu) AS last, sum(cpu = ?1) AS there FROM cpu", [cpu]);
            let known = known.map_err(|e| broken(&e))?;
            match (known.numbers("there").first(), known.numbers("last").first()) {
                (Some(1..), _) => Ok(Sql::Integer(cpu.into())),
                (_, Some(last)) => Err(Fault::user(
                    format!("there is no CPU {cpu} here"),
                    format!("name one of 0 to {last}"),
                )),
                _ => Err(Fault::user("there are no CPUs among the facts", "name a machine: --machine M")),
            }
        }
    }
}
