// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Packets between two CPUs of this computer (E7), and a web server: its placement on the source's machine, simulated, and a page served by green threads
//! under a policy (E8). The page needs the built thread library, so `bench/threads/http.sh` measures it, and what it printed is judged here.

use serde_json::Value;

use crate::reproduce::figures::{Figures, TIMED};
use crate::reproduce::lab::{self, Done, Lab, Run};
use crate::reproduce::recorded;
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, FAR, Judged, Line, NEAR, Picture, Report, Table};
use weir::machine;
use weir_sim::Outcome;

pub const LOOPBACK: Experiment = Experiment {
    id: "multikernel-e7",
    aliases: &["loopback"],
    title: "packets between two CPUs: a bulk channel against the operating system's loopback",
    source: "Peter, 2012, 2.6.4, table 2.7 (E7)",
    run: loopback,
};

pub const WEB: Experiment = Experiment {
    id: "multikernel-e8",
    aliases: &["web-server"],
    title: "a web server: placement of its parts, the database as bottleneck, green threads against an event loop",
    source: "Peter, 2012, 2.6.4, table 2.8 (E8)",
    run: web,
};

/// What `bench/threads/http.sh` printed.
const PAGES: &str = include_str!("../../../experiments/multikernel-e8/measured.jsonl");

fn loopback(lab: &Lab<'_>) -> Done<Report> {
    let rounds: u32 = lab.pick(200, 10);
    let f = match Figures::measure(lab, "loopback", &[vec![rounds.to_string()]])? {
        Ok(f) => f,
        Err(why) => {
            let help = "it takes two CPUs, a C compiler and UDP on loopback";
            return recorded::instead(LOOPBACK.id, &why, help);
        }
    };
    let mbit = |name: &str| 8e3 * 1000.0 / f.of(name);
    let linux = mbit("udp").max(mbit("udp_poll"));
    let ratio = mbit("bulk") / linux;
    let mut report = Report::default();
    report.claims.push(
        Claim::new(
            "packets of 1,000 bytes: more through messages between user programs than through the kernel's loopback",
            "E7: 2,154 against 1,823 Mbit/s, 1.18 times",
            format!("{:.0} against {linux:.0} Mbit/s, {ratio:.2} times", mbit("bulk")),
            Judged::of(
                ratio >= 1.18 / NEAR,
                ratio > 1.0,
                "at least 1.18 times, less 10 %; partly more than once",
            ),
        )
        .remark(
            "the source has a whole IP stack at either end; here the packet's IPv4 and UDP headers and both checksums are written and checked, and nothing else. \
             Linux leaves out checksums on loopback",
        ),
    );
    report.tables.push(f.table());
    let names = ["bulk", "udp", "udp_poll"];
    let points = names.iter().map(|n| ((*n).to_string(), mbit(n))).collect();
    let line = Line { name: "Mbit/s".into(), points, colour: 0, dashed: false };
    let xs = names.map(String::from);
    report.pictures.push(Picture::new("throughput", ("", "Mbit/s"), false, &xs, vec![line]));
    report.notes.push(TIMED.into());
    report.notes.push(
        "Misses of caches and traffic between sockets (E7: 21 against 77 misses a packet, 3 to 11 % of the link) take performance counters and two \
         sockets, and cannot be shown here. The simulator moves no bytes between tasks, so it cannot show them, either."
            .into(),
    );
    f.judge(&mut report);
    Ok(report)
}

/// Requests outstanding: one for each client.
const CLIENTS: u64 = 17;
/// Time of a request, us: at the card's driver (an estimate of ours), and at the static server: the source's throughput.
const DRIVER: f64 = 20.0;
const STATIC: f64 = 1e6 / 18_697.0;
/// Of a dynamic one: at the server before and after the database (an estimate of ours), and at the database: the source's throughput.
const PARSE: f64 = 20.0;
const QUERY: f64 = 1e6 / 3_417.0;

/// Where driver, server and database are; `None`: wherever the policy puts them.
type Places = Option<[u32; 3]>;

/// The parts as tasks that pass requests on; the first also stands for the network.
fn parts(dynamic: bool, places: Places, requests: u64) -> String {
    let us = |x: f64| format!("run {}ns", (x * 1e3).round());
    let all = requests + CLIENTS;
    let task = |name: &str, place: usize, program: String| {
        let cpus = places.map_or(String::new(), |p| format!("cpus = \"{}\"\n", p[place]));
        format!("[[task]]\nname = \"{name}\"\n{cpus}program = [\"{program}\"]\n")
    };
    let pass = |from: &str, work: f64, to: &str| {
        format!("loop {all} {{ read {from} 1B; {}; write {to} 1B }}", us(work))
    };
    let driver = format!(
        "loop {CLIENTS} {{ write in 1B }}; loop {requests} {{ read out 1B; {}; write in 1B }}",
        us(DRIVER)
    );
    let mut text = task("driver", 0, driver);
    if dynamic {
        text += &task("server", 1, pass("in", PARSE, "query"));
        text += &task("answers", 1, pass("rows", PARSE, "out"));
        text += &task("database", 2, pass("query", QUERY, "rows"));
    } else {
        text += &task("server", 1, pass("in", STATIC, "out"));
    }
    text
}

/// Placements: the source's; others of separate CPUs; two parts on one CPU; left to the policy.
fn placements() -> Vec<(&'static str, Places)> {
    vec![
        ("source", Some([2, 3, 1])),
        ("two packages", Some([0, 3, 1])),
        ("one CPU", Some([3, 3, 1])),
        ("policy", None),
    ]
}

fn web(lab: &Lab<'_>) -> Done<Report> {
    let machine = machine::resolve("amd-2x2")?;
    let costs = lab::costs("amd-2x2")?;
    let plan = lab::plan("linux", &machine, &[])?;
    let requests: u64 = lab.pick(50_000, 2_000);
    let points: Vec<(bool, &str, Places)> = [false, true]
        .iter()
        .flat_map(|dynamic| placements().into_iter().map(|(name, places)| (*dynamic, name, places)))
        .collect();
    let got: Vec<Outcome> = lab.points(&points, |&(dynamic, _, places)| {
        let workload = lab::workload_of("web", &parts(dynamic, places, requests))?;
        lab.run(&Run::new(&machine, &plan, &workload, &costs), &mut ())
    })?;
    let at = |dynamic: bool, name: &str| {
        let i = points.iter().position(|p| p.0 == dynamic && p.1 == name).expect("it was made");
        &got[i]
    };
    let rate = |o: &Outcome| (requests + CLIENTS) as f64 * 1e9 / o.end_ns as f64;
    let busy = |o: &Outcome, cpu: usize| o.cpus[cpu].busy_ns as f64 / o.end_ns as f64;
    let source = rate(at(false, "source"));
    let best = placements().iter().map(|(name, _)| rate(at(false, name))).fold(0.0, f64::max);
    let mut report = Report::default();
    let mut claim = |c: Claim| report.claims.push(c);
    claim(
        Claim::new(
            "static page, simulated on amd-2x2, driver and server on two CPUs of a package: requests per second",
            "E8: 18,697",
            format!("{source:.0}"),
            Judged::near(source, 18_697.0, NEAR, FAR),
        )
        .fitted("the server's time of a request is the inverse of the source's throughput"),
    );
    let apart = rate(at(false, "two packages"));
    let placed = Claim::new(
        "… and no other placement serves more",
        "E8: the best performance of the placements tried",
        format!(
            "{:.1} % of the best of four; {apart:.0} requests per second on two packages",
            100.0 * source / best
        ),
        Judged::of(source >= 0.99 * best, source >= 0.95 * best, "at least 99 % of the best; partly 95 %"),
    );
    claim(match apart / source {
        same if same > 0.995 => placed
            .absent("the model has no cost of a message between two packages that a busy server would feel"),
        _ => placed,
    });
    let dynamic = at(true, "source");
    let (database, most) = (busy(dynamic, 1), busy(dynamic, 2).max(busy(dynamic, 3)));
    claim(
        Claim::new(
            "dynamic page: the database's CPU is the bottleneck",
            "E8: bottlenecked at the SQLite core",
            format!("{:.0} % busy; the busiest other CPU {:.0} %", 100.0 * database, 100.0 * most),
            Judged::of(
                database >= 0.95 && most <= 0.8,
                database > most,
                "at least 95 % busy and no other above 80 %; partly the busiest",
            ),
        )
        .fitted("the query's time is the inverse of the source's throughput"),
    );
    let rows: Vec<Value> = PAGES.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let median = |server: &str| {
        let mut all: Vec<f64> = rows
            .iter()
            .filter(|r| r["server"] == server)
            .filter_map(|r| r["requests_per_cpu_s"].as_f64())
            .collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let (threads, events) = (median("threads"), median("epoll"));
    let ratio = threads / events;
    claim(
        Claim::new(
            "static page, measured: in a second of CPU time, threads of a user-level scheduler serve more than a loop of events on Linux",
            "E8: 18,697 against 8,924 requests per second, 2.1 times",
            format!("{threads:.0} against {events:.0}, {ratio:.2} times"),
            Judged::of(
                ratio >= 2.1 / NEAR,
                ratio > 1.0,
                "at least 2.1 times, less 10 %; partly more than once",
            ),
        )
        .remark("both pass every packet through Linux's kernel; the source's gain was from avoiding that"),
    );
    claim(Claim::new(
        "… and no less than 0.9 times as much",
        "-",
        format!("{ratio:.2} times"),
        Judged::of(ratio >= 0.9, ratio >= 0.75, "at least 0.9; partly 0.75"),
    ));
    let heads = ["page", "placement", "requests_per_s", "busy_cpu0", "busy_cpu1", "busy_cpu2", "busy_cpu3"];
    let mut table = Table::new("data", &heads);
    for ((dynamic, name, _), outcome) in points.iter().zip(&got) {
        let page = if *dynamic { "dynamic" } else { "static" };
        let mut cells = vec![page.to_string(), (*name).to_string(), format!("{:.0}", rate(outcome))];
        cells.extend((0..4).map(|cpu| format!("{:.3}", busy(outcome, cpu))));
        table.row(cells);
    }
    report.tables.push(table);
    let mut table = Table::new("pages", &["server", "run", "requests_per_s", "requests_per_cpu_s"]);
    for r in &rows {
        let server = r["server"].as_str().unwrap_or_default().to_string();
        let number = |field: &str| r[field].to_string();
        table.row([server, number("run"), number("requests_per_s"), number("requests_per_cpu_s")]);
    }
    report.tables.push(table);
    let xs: Vec<String> = placements().iter().map(|(name, _)| (*name).to_string()).collect();
    let lines = [(0, false, "static"), (1, true, "dynamic")].map(|(colour, dynamic, name)| Line {
        name: name.into(),
        points: xs.iter().map(|x| (x.clone(), rate(at(dynamic, x)))).collect(),
        colour,
        dashed: false,
    });
    let titles = ("placement", "requests per second");
    report.pictures.push(Picture::new("placement", titles, false, &xs, lines.into()));
    report.notes.push(
        "Placement is simulated. The page is served on a computer of two CPUs, measured beforehand by `bench/threads/http.sh`: this command judges \
         that record. No network card and no second system are involved."
            .into(),
    );
    Ok(report)
}
