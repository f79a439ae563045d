// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Schedulers within schedulers (source 0, chapter 2: batch jobs, processes, threads, virtual machines, nested; nothing is
//! measured there): what the two sides cost each other, and what of that a gang or news across the boundary cures.

use weir_core::event::{Event, Observer};
use weir_model::Costs;
use weir_model::workload::GuestSpec;
use weir_sim::{Inside, Outcome};

use crate::reproduce::lab::{self, Done, Lab, Run};
use crate::reproduce::registry::Experiment;
use crate::reproduce::report::{Claim, Judged, Line, Picture, Report, Table};
use weir::machine;

pub const EXPERIMENT: Experiment = Experiment {
    id: "nested",
    aliases: &["guests", "lock-holder"],
    title: "schedulers within schedulers: lock holders that the host displaces, and what cures it",
    source: "ours; source 0, chapter 2, asks for nesting",
    run,
};

/// A virtual machine whose kernel takes one spin lock, on as many CPUs as it believes to have.
fn virtual_machine(n: u32, inform: &str, batch: bool, gang: bool) -> String {
    let mut text = format!(
        "mutexes = {{ kernel = \"spin\" }}\n[[guest]]\nname = \"vm\"\ncpus = {n}\ntopology = \"decentral\"\n\
         enter = \"2us\"\ninform = \"{inform}\"\n\
         [[task]]\nname = \"server\"\nguest = \"vm\"\ncount = {n}\nloop = \"forever\"\n\
         program = \"run {}us..{}us; lock kernel; run 18us..22us; unlock kernel\"\n",
        // The lock is in use for four fifths of the time, however many there are.
        20 * n - 10,
        20 * n + 10,
    );
    if batch {
        text += &format!(
            "[[task]]\nname = \"batch\"\ncount = {n}\nloop = \"forever\"\nprogram = \"run 4ms..12ms; sleep 700us\"\n"
        );
    }
    if gang {
        text += "[[gang]]\ngroup = \"vm\"\nmanifest = \"H 10 20\"\n";
    }
    text
}

/// A guest with an urgent periodic task and a batch task, beside a batch task of the host, all for one CPU.
fn urgent(inform: &str) -> String {
    format!(
        "[[guest]]\nname = \"vm\"\ntopology = \"rt-rr\"\ninform = \"{inform}\"\nenter = \"2us\"\n\
         [[task]]\nname = \"control\"\nguest = \"vm\"\npolicy = \"fifo\"\npriority = 50\nloop = \"forever\"\n\
         program = \"run 200us; timer 5ms absolute\"\n\
         [[task]]\nname = \"inside\"\nguest = \"vm\"\nloop = \"forever\"\nprogram = \"run 10ms\"\n\
         [[task]]\nname = \"outside\"\nloop = \"forever\"\nprogram = \"run 10ms\"\n"
    )
}

/// The longest time from when a job in a guest was due to its end, ns.
#[derive(Default)]
struct Longest(u64);

impl Observer for Longest {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        if let Event::Guest { event: Event::JobDone { response_ns, .. }, .. } = event {
            self.0 = self.0.max(*response_ns);
        }
    }
}

/// The outcome of the guest, and its longest response.
fn measure(lab: &Lab<'_>, topology: &str, n: u32, text: &str, ms: u64) -> Done<(Outcome, u64)> {
    let machine = machine::resolve(&format!("smp-{n}"))?;
    let costs = Costs::default();
    let plan = lab::plan(topology, &machine, &[])?;
    let workload = lab::workload_of("nested", text)?;
    let inside = |(_, guest): (_, &GuestSpec)| -> Done<Inside> {
        let machine = Inside::machine(guest);
        let plan = lab::plan(&guest.topology, &machine, &[])?;
        Ok(Inside { machine, plan })
    };
    let inside = workload.all_guests().into_iter().map(inside).collect::<Done<Vec<_>>>()?;
    let mut longest = Longest::default();
    let mut run = Run::new(&machine, &plan, &workload, &costs);
    run.duration_ns = Some(ms * 1_000_000);
    run.inside = &inside;
    let mut outcome = lab.run(&run, &mut longest)?;
    Ok((outcome.guests.remove(0).outcome, longest.0))
}

fn run(lab: &Lab<'_>) -> Done<Report> {
    let sizes: &[u32] = lab.pick(&[2, 4, 8, 16], &[2, 4]);
    let ms = lab.pick(4_000, 500);
    // Way, topology of the host, what passes the boundary, others on the host, a gang.
    const WAYS: [(&str, &str, &str, bool, bool); 4] = [
        ("alone", "decentral", "none", false, false),
        ("beside", "decentral", "none", true, false),
        ("gang", "gang", "none", true, true),
        ("informed", "decentral", "cpus", true, false),
    ];
    let grid: Vec<(u32, usize)> = sizes.iter().flat_map(|n| (0..WAYS.len()).map(|w| (*n, w))).collect();
    let seen = lab.points(&grid, |(n, way)| {
        let (_, topology, inform, batch, gang) = WAYS[*way];
        measure(lab, topology, *n, &virtual_machine(*n, inform, batch, gang), ms).map(|m| m.0)
    })?;
    let share = |o: &Outcome| o.spin_ns as f64 / o.busy_ns.max(1) as f64;
    let useful = |o: &Outcome| o.busy_ns.saturating_sub(o.spin_ns) as f64 / (ms as f64 * 1e6);
    let of = |n: u32, way: usize| {
        let at = grid.iter().position(|g| *g == (n, way)).expect("it was run");
        &seen[at]
    };
    let mut report = Report::default();
    let each = |f: &dyn Fn(u32) -> String| sizes.iter().map(|n| f(*n)).collect::<Vec<_>>().join(", ");
    let shares = |a: usize, b: usize| {
        each(&|n| format!("{:.1} instead of {:.1} % ({n})", 100.0 * share(of(n, a)), 100.0 * share(of(n, b))))
    };
    let all = |f: &dyn Fn(u32) -> bool| sizes.iter().all(|n| f(*n));
    let any = |f: &dyn Fn(u32) -> bool| sizes.iter().any(|n| f(*n));
    report.claims.push(
        Claim::new(
            "a host that displaces lock holders has the guest's other CPUs spin: part of the guest's CPU time, beside batch tasks instead of alone (virtual CPUs)",
            "-",
            shares(1, 0),
            Judged::of(
                all(&|n| share(of(n, 1)) >= 2.0 * share(of(n, 0))),
                any(&|n| share(of(n, 1)) >= 2.0 * share(of(n, 0))),
                "twice as much at least, with every number; partly with some",
            ),
        )
        .own(),
    );
    report.claims.push(
        Claim::new(
            "a gang of virtual CPUs, which all run or none, cures it: the same part (virtual CPUs)",
            "-",
            shares(2, 1),
            Judged::of(
                all(&|n| share(of(n, 2)) <= share(of(n, 1)) / 3.0),
                all(&|n| share(of(n, 2)) < share(of(n, 1))),
                "a third at most, with every number; partly less with every number",
            ),
        )
        .own()
        .remark(
            "half of the time is booked; in between, the virtual CPUs run as others do, and spin as they do",
        ),
    );
    report.claims.push(
        Claim::new(
            "a guest that knows which CPUs it has cures it, too: it takes the holder to a CPU that runs (virtual CPUs)",
            "-",
            shares(3, 1),
            Judged::of(
                all(&|n| share(of(n, 3)) <= share(of(n, 1)) / 3.0),
                all(&|n| share(of(n, 3)) < share(of(n, 1))),
                "a third at most, with every number; partly less with every number",
            ),
        )
        .own()
        .remark(
            "the holder then waits in the guest's queue behind tasks that spin for it, for a slice of the guest: a spin lock wants to be continued first, which no component here does",
        ),
    );
    let times = ["none", "priority"];
    let urgent_ms = lab.pick(2_000, 500);
    let late =
        lab.points(&times, |inform| measure(lab, "rt-rr", 1, &urgent(inform), urgent_ms).map(|m| m.1))?;
    report.claims.push(
        Claim::new(
            "priorities that pass the boundary: the longest response of an urgent task in a guest, beside a batch task of the host",
            "-",
            format!("{:.3} ms instead of {:.3}", late[1] as f64 / 1e6, late[0] as f64 / 1e6),
            Judged::of(late[1] * 5 <= late[0], late[1] < late[0], "a fifth at most; partly less"),
        )
        .own(),
    );
    let heads = ["virtual_cpus", "way", "busy_ms", "spin_ms", "kernel_ms", "useful_cpus"];
    let mut table = Table::new("data", &heads);
    for ((n, way), o) in grid.iter().zip(&seen) {
        table.row([
            n.to_string(),
            WAYS[*way].0.to_string(),
            format!("{:.3}", o.busy_ns as f64 / 1e6),
            format!("{:.3}", o.spin_ns as f64 / 1e6),
            format!("{:.3}", o.kernel_ns as f64 / 1e6),
            format!("{:.3}", useful(o)),
        ]);
    }
    report.tables.push(table);
    let xs: Vec<String> = sizes.iter().map(u32::to_string).collect();
    let line = |way: usize| Line {
        name: WAYS[way].0.into(),
        points: sizes.iter().map(|n| (n.to_string(), 100.0 * share(of(*n, way)))).collect(),
        colour: way,
        dashed: false,
    };
    report.pictures.push(Picture::new(
        "spinning",
        ("virtual CPUs", "CPU time spent spinning, %"),
        false,
        &xs,
        (0..WAYS.len()).map(line).collect(),
    ));
    Ok(report)
}
