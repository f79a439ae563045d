// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! One program on machines that communicate differently (E19): a solver with the communication of NAS's LU, over three transports on this computer, and simulated
//! on the source's two machines. `experiments/multikernel-e19/solver.c` is part of the program.

use crate::reproduce::figures::{Figures, TIMED};
use crate::reproduce::lab::{self, Done, Lab, Run};
use crate::reproduce::recorded;
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, NEAR, Picture, Report, Table};
use weir::machine;

pub const EXPERIMENT: Experiment = Experiment {
    id: "multikernel-e19",
    aliases: &["agility"],
    title: "the same solver over coherent memory, without coherence, and over the operating system's messages",
    source: "Peter, 2012, 4.1.4 (E19)",
    run,
};

const TRANSPORTS: [&str; 3] = ["ump", "ncp", "socket"];
/// The source's machines, each with the most processes that are a power of two.
const MACHINES: [(&str, u32); 2] = [("amd-4x4", 16), ("scc-48", 32)];
/// A thread manager that leaves each CPU to itself, and the native one.
const POLICIES: [&str; 2] = ["decentral", "linux"];
const PLANES: u32 = 64;
/// Class A on one core of amd-4x4: 119.75 s for 250 steps of two sweeps over 62 planes, us.
const PLANE: f64 = 119.75e6 / 250.0 / 2.0 / 62.0;

/// Processes in a row that pass planes on, up and down; each then waits for its neighbours only. They poll for messages, as RCCE and OpenMPI do,
/// the source's libraries on its two machines.
fn wavefront(processes: u32, steps: u32) -> String {
    let work = (PLANE * 1e3 / f64::from(processes)).round();
    format!("lu:threads={processes},steps={steps},planes={PLANES},work={work}ns,spin=true")
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let (size, steps, rounds): (u32, u32, u32) = lab.pick((64, 20, 15), (16, 2, 3));
    let args = [size, steps, rounds].map(|n| n.to_string()).to_vec();
    let f = match Figures::measure(lab, "solver", &[args])? {
        Ok(f) => f,
        Err(why) => return recorded::instead(EXPERIMENT.id, &why, "it takes two CPUs and a C compiler"),
    };
    let mut report = Report::default();
    let mut claim = |c: Claim| report.claims.push(c);
    let same = TRANSPORTS.iter().filter(|t| f.of(&format!("same_{t}")) == 1.0).count();
    claim(Claim::new(
        "the solver is not changed for a transport, and its solution has the same bits over each as on one CPU",
        "E19: only drivers were changed",
        format!("over {same} of 3"),
        Judged::of(same == 3, same > 0, "all three; partly one"),
    ));
    for (name, what) in [("ump", "coherent memory"), ("ncp", "the transport for memory that does not cohere")]
    {
        let ratio = f.of(name) / f.of("socket");
        claim(Claim::new(
            format!(
                "two processes, measured: over {what} in the time of the operating system's own messages"
            ),
            "E19: performance is similar",
            format!("{:.1} ms against {:.1} ms: {ratio:.2} times", f.of(name) / 1e6, f.of("socket") / 1e6),
            Judged::of(ratio <= NEAR, ratio <= 1.5, "at most 1.1 times; partly 1.5"),
        ));
    }

    report.tables.push(f.table());
    report.notes.push(TIMED.into());
    f.judge(&mut report);

    let simulated: u32 = lab.pick(10, 1);
    let points: Vec<(&str, u32, &str)> = MACHINES
        .iter()
        .flat_map(|(machine, most)| {
            let counts = (0..=most.ilog2()).map(|n| 1 << n);
            counts.flat_map(move |p| POLICIES.map(|policy| (*machine, p, policy)))
        })
        .collect();
    let seconds: Vec<f64> = lab.points(&points, |&(name, processes, policy)| {
        let machine = machine::resolve(name)?;
        let costs = lab::costs(name)?;
        let plan = lab::plan(policy, &machine, &[])?;
        let workload = lab::workload(&wavefront(processes, simulated))?;
        let run = Run::new(&machine, &plan, &workload, &costs);
        Ok(lab.run(&run, &mut ())?.end_ns as f64 / 1e9)
    })?;
    let at = |machine: &str, processes: u32, policy: &str| {
        let i = points.iter().position(|p| *p == (machine, processes, policy)).expect("it was made");
        seconds[i]
    };
    for (machine, most) in MACHINES {
        let counts = || (0..=most.ilog2()).map(|n| 1u32 << n);
        let ratios = counts().map(|p| at(machine, p, POLICIES[0]) / at(machine, p, POLICIES[1]));
        let off = ratios.map(|r| r.max(1.0 / r)).fold(1.0, f64::max);
        let gain = |policy| at(machine, 1, policy) / at(machine, most, policy);
        report.claims.push(Claim::new(
            format!(
                "simulated on {machine}, 1 to {most} processes: time and scaling as under the native scheduler"
            ),
            "E19: performance and scalability are similar in both cases",
            format!(
                "at most {:.1} % apart; {most} processes are {:.1} and {:.1} times as fast as one",
                100.0 * (off - 1.0),
                gain(POLICIES[0]),
                gain(POLICIES[1])
            ),
            Judged::of(off <= NEAR, off <= 1.5, "within 10 % at each count; partly 50 %"),
        ));
    }
    let mut table = Table::new("simulated", &["machine", "processes", "policy", "seconds"]);
    for ((machine, processes, policy), s) in points.iter().zip(&seconds) {
        table.row([(*machine).to_string(), processes.to_string(), (*policy).to_string(), format!("{s:.4}")]);
    }
    report.tables.push(table);
    let xs: Vec<String> = (0..6).map(|n| (1u32 << n).to_string()).collect();
    let both = MACHINES.iter().flat_map(|m| POLICIES.map(|p| (*m, p)));
    let lines = (0..).zip(both).map(|(n, ((machine, most), policy))| Line {
        name: format!("{machine}, {policy}"),
        points: (0..=most.ilog2())
            .map(|n| 1u32 << n)
            .map(|p| (p.to_string(), at(machine, p, policy)))
            .collect(),
        colour: n,
        dashed: policy == POLICIES[1],
    });
    let titles = ("processes", "seconds");
    report.pictures.push(Picture::new("scaling", titles, true, &xs, lines.collect()));
    report.notes.push(
        "No computer here lacks coherence: behind the calls of the second transport is ordinary memory. Its cost on the SCC, the library of that chip and MPI \
         are not shown; nor do messages of the simulated solver cost anything."
            .into(),
    );
    Ok(report)
}
