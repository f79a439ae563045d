// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! `runweir ask`: the knowledge base about a machine and what runs on it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser as Text;
use clap::{Args, ValueHint};
use serde_json::{Value, json};
use weir::knowledge::{self, Base, Gang, Policy, Program, Table, Thread};
use weir_linux::clock::thread_name;
use weir_linux::{Snapshot, TaskState, client};

use crate::fault::{Fault, Result};
use crate::output::{self, pairs, screen};
use crate::progress::Counter;
use crate::{input, machine, stop};

/// For how long CPUs are observed to find out how busy they are.
const OBSERVED: Duration = Duration::from_millis(100);
/// Widest column of a table, in cells.
const WIDEST: usize = 48;

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  runweir ask                                    which queries and facts there are
  runweir ask near 0 4                           the four CPUs nearest to CPU 0 of this computer
  runweir ask idle 0                             the idle CPU nearest to CPU 0
  runweir ask where nginx                        where the threads of a program under a policy are
  runweir ask layout 8 -m epyc-64 --json         eight CPUs for threads that communicate
  runweir ask layout 8 -m smp-16 --manifest solver.manifest
  runweir ask latency 0 1 --measure              measured here, not taken from the costs
  runweir ask 'SELECT node, count(*) FROM cpu GROUP BY node'
  runweir ask --measure --save host.db           once; then: runweir ask tree 0 --base host.db

A query is a name with arguments, or SQL in quotes, which can only read. docs/knowledge.md describes the facts.")]
pub struct AskArgs {
    /// Query: a name with its arguments, or a statement of SQL; without one, queries and facts are listed
    #[arg(value_name = "QUERY", value_parser = Text::new())]
    pub query: Vec<String>,
    /// Machine: a preset, an hwloc XML file, a TOML file, or `host`
    #[arg(short, long, value_name = "M", value_parser = Text::new(), default_value = "host", value_hint = ValueHint::FilePath)]
    pub machine: String,
    /// Table of costs, for latencies that were not measured: default, zero, or a file
    #[arg(long, value_name = "COSTS", value_parser = Text::new(), default_value = "default", value_hint = ValueHint::FilePath)]
    pub costs: String,
    /// Measure the latency of a message between each pair of CPUs first; for `host` only, a millisecond per pair
    #[arg(long)]
    pub measure: bool,
    /// A gang on the machine (docs/gangs.md has the format; repeatable): admitted in this order
    #[arg(long, value_name = "FILE", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub manifest: Vec<String>,
    /// More facts, or corrections: a file of INSERT, UPDATE and DELETE statements (repeatable)
    #[arg(long, value_name = "FILE", value_parser = Text::new(), value_hint = ValueHint::FilePath)]
    pub facts: Vec<String>,
    /// Take all facts from this file, which --save wrote
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    #[arg(conflicts_with_all = ["machine", "costs", "measure", "manifest", "facts", "save"])]
    pub base: Option<PathBuf>,
    /// Write the facts into this file, an SQLite database
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub save: Option<PathBuf>,
    /// Print as JSON; latencies in ns
    #[arg(long)]
    pub json: bool,
}

/// Collect the facts, and answer.
pub fn ask(args: &AskArgs) -> Result<ExitCode> {
    let mut base = match &args.base {
        Some(file) => Base::open(file)?,
        None => collected(args)?,
    };
    if let Some(file) = &args.save {
        base.save(file)?;
        if args.query.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
    }
    let Some((name, rest)) = args.query.split_first() else { return listed(&mut base, args.json) };
    let table = match is_sql(name) {
        true => base.select(&args.query.join(" "))?,
        false => base.ask(name, rest)?,
    };
    if args.json {
        output::print(&output::json(&json!({
            "query": name, "arguments": rest, "columns": table.columns, "answer": table.objects()
        }))?)?;
    } else {
        output::print(&shown(&table))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Names of queries have no blanks, and no query is called as a statement begins.
fn is_sql(word: &str) -> bool {
    let first = word.split_whitespace().next().unwrap_or_default();
    word.trim().contains(char::is_whitespace)
        || ["select", "with", "values"].iter().any(|s| first.eq_ignore_ascii_case(s))
}

fn collected(args: &AskArgs) -> Result<Base> {
    let m = machine::resolve(&args.machine)?;
    output::warn(m.warnings.iter());
    let mut base = Base::new()?;
    base.add_machine(&m, &machine::costs(&args.costs)?)?;
    base.add_devices(&args.machine)?;
    if args.measure {
        if args.machine != "host" {
            return Err(Fault::user(
                format!("`{}` cannot be measured: it is a description", m.shape.name),
                "measure `host`; without --measure, latencies come from the description and a table of costs",
            ));
        }
        stop::install_saying("ending the measurement")?;
        let progress = Counter::new(0, 0, true);
        let all = weir::latency::Latencies::measure(&m, &progress);
        progress.finish();
        base.add_latencies(&all?)?;
    }
    if !args.manifest.is_empty() {
        let options = weir::gang::GangOptions {
            files: args.manifest.clone(),
            machine: args.machine.clone(),
            cut: false,
        };
        base.add_admission(&weir::gang::admit(&options)?)?;
    }
    if args.machine == "host" {
        base.add_load(&knowledge::busy(OBSERVED))?;
        running().iter().try_for_each(|policy| base.add_policy(policy))?;
    }
    for file in &args.facts {
        let text = input::read_text(file).map_err(|e| Fault::user(e.message, e.help))?;
        base.tell(file, &text)?;
    }
    Ok(base)
}

/// Policies that run on this computer and answer to this user.
pub fn running() -> Vec<Policy> {
    let kernel = client::socket_path(None);
    let live = client::status(&kernel).ok().map(|s| {
        let pid = client::process_at(&kernel).unwrap_or(0);
        policy(&s, pid, "kernel", String::from("runweir live"))
    });
    let of_program = |(pid, name): (u32, String)| {
        let s = client::status(&client::program_socket(pid)).ok()?;
        let served = s.program.as_ref().and_then(|p| p.served.clone());
        Some(match served {
            Some(name) => policy(&s, pid, "served", name),
            None => policy(&s, pid, "program", name),
        })
    };
    live.into_iter().chain(client::programs().into_iter().filter_map(of_program)).collect()
}

/// What a scheduler says of itself, as facts.
fn policy(s: &Snapshot, pid: u32, kind: &'static str, name: String) -> Policy {
    // A program's policy has CPUs of its own numbers.
    let linux = |cpu: u32| s.cpus.iter().find(|c| c.cpu == cpu).map_or(cpu, |c| c.linux_cpu.unwrap_or(cpu));
    let mut programs: BTreeMap<u32, String> = BTreeMap::new();
    for task in &s.tasks {
        programs
            .entry(task.tgid)
            .or_insert_with(|| thread_name(task.tgid).unwrap_or_else(|| task.comm.clone()));
    }
    let thread = |t: &weir_linux::TaskView| Thread {
        tid: t.pid,
        pid: t.tgid,
        name: t.comm.clone(),
        state: match t.state {
            TaskState::Blocked => "blocked",
            TaskState::Waiting => "waiting",
            TaskState::Running => "running",
        },
        cpu: t.cpu.map(linux),
        run_ns: t.run_ns,
        wait_ns: t.wait_ns,
    };
    let gang = |g: &weir_linux::protocol::GangView| Gang {
        name: g.name.clone(),
        threads: g.cpus.len() as u32,
        cpus: g.cpus.clone(),
        phase: g.phase,
        offset_ns: g.offset_ns,
        length_ns: g.length_ns,
        period_ns: g.period_ns,
    };
    Policy {
        pid,
        kind,
        name,
        topology: s.topology.clone(),
        uptime_ns: s.uptime_ns,
        cpus: s.cpus.iter().filter(|c| c.online).map(|c| linux(c.cpu)).collect(),
        programs: programs.into_iter().map(|(pid, name)| Program { pid, name }).collect(),
        threads: s.tasks.iter().map(thread).collect(),
        gangs: s.gangs.iter().map(gang).collect(),
    }
}

/// Queries by name, and facts.
fn listed(base: &mut Base, as_json: bool) -> Result<ExitCode> {
    let tables = base.tables()?;
    if as_json {
        let query =
            |q: &knowledge::Query| json!({ "name": q.name, "usage": q.usage(), "summary": q.summary });
        let queries: Vec<Value> = knowledge::queries().iter().map(query).collect();
        let facts: Vec<Value> =
            tables.iter().map(|(name, columns)| json!({ "name": name, "columns": columns })).collect();
        output::print(&output::json(&json!({ "queries": queries, "facts": facts }))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let queries: Vec<_> = knowledge::queries().iter().map(|q| (q.usage(), q.summary.to_string())).collect();
    let facts: Vec<_> = tables.into_iter().map(|(name, columns)| (name, columns.join(", "))).collect();
    output::print(&format!(
        "queries:\n{}\nfacts, for queries in SQL:\n{}",
        pairs(&queries, &screen()),
        pairs(&facts, &screen())
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// For people: numbers to the right, a column's name above it.
fn shown(table: &Table) -> String {
    let word = |v: &Value| match v {
        Value::Null => "-".to_string(),
        Value::String(s) => weir_report::clip(s, WIDEST),
        Value::Number(n) if n.is_f64() => format!("{:.1}", n.as_f64().unwrap_or_default()),
        other => other.to_string(),
    };
    let cells: Vec<Vec<String>> = table.rows.iter().map(|r| r.iter().map(word).collect()).collect();
    let numeric = |i: usize| table.rows.iter().all(|r| r[i].is_number() || r[i].is_null());
    let width = |i: usize| {
        let longest = cells.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
        longest.max(table.columns[i].chars().count())
    };
    let columns: Vec<(usize, bool)> = (0..table.columns.len()).map(|i| (width(i), numeric(i))).collect();
    let line = |words: &[String]| {
        let mut text = String::new();
        for (word, (width, numeric)) in words.iter().zip(&columns) {
            // Writing to memory does not fail.
            let _ =
                if *numeric { write!(text, "{word:>width$}  ") } else { write!(text, "{word:<width$}  ") };
        }
        text.trim_end().to_string() + "\n"
    };
    if table.rows.is_empty() {
        return "nothing\n".into();
    }
    line(&table.columns) + &cells.iter().map(|r| line(r)).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_from_names() {
        for sql in ["SELECT 1", "with x as (select 1) select * from x", "select", "\nvalues (1)"] {
            assert!(is_sql(sql), "{sql}");
        }
        assert!(!is_sql("near") && !is_sql("layout "));
    }

    #[test]
    fn tables_are_aligned() {
        let table = Table {
            columns: vec!["cpu".into(), "name".into(), "ns".into()],
            rows: vec![vec![json!(10), json!("a"), json!(1.25)], vec![json!(2), json!(null), json!(100.0)]],
        };
        assert_eq!(shown(&table), "cpu  name     ns\n 10  a       1.2\n  2  -     100.0\n");
        assert_eq!(shown(&Table::default()), "nothing\n");
    }

    #[test]
    fn a_programs_cpus_are_linuxs() {
        let cpu = |cpu, linux| weir_linux::CpuView {
            cpu,
            online: true,
            linux_cpu: Some(linux),
            ..Default::default()
        };
        let task =
            weir_linux::TaskView { pid: 5, tgid: 4, comm: "x".into(), cpu: Some(1), ..Default::default() };
        let s = Snapshot { cpus: vec![cpu(0, 6), cpu(1, 7)], tasks: vec![task], ..Snapshot::default() };
        let p = policy(&s, 4, "program", "x".into());
        assert_eq!((p.cpus, p.threads[0].cpu), (vec![6, 7], Some(7)));
    }
}
