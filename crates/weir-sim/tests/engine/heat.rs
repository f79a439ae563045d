// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Heat, power and clocks: what machines publish, and what components do with it. The expected times and energies were worked out
//! by hand from the formula in docs/machines.md.

use weir_core::event::{Event, Observer};
use weir_model::scenario::{self, Composer, Proposal, Verb};
use weir_sim::engine::Control;
use weir_sim::{Costs, Machine, MachineEvent, Op, RunConfig, Workload};

use crate::common::*;

const HOT: &str = "name = \"hot\"\n[thermal]\nambient = 45\nrise = 7\nsettle = \"100ms\"\nsample = \"2ms\"\nthrottle = 95\n\
                   release = 80\n[[kind]]\nname = \"core\"\nidle = \"0mW\"\npoints = [\n{ clock = \"1200MHz\", power = \"1500mW\" },\n\
                   { clock = \"2400MHz\", power = \"8W\" },\n]\n[[cpus]]\ncount = 1\n";

const PACED: &str = "name = \"paced\"\n[[kind]]\nname = \"core\"\nidle = \"100mW\"\npoints = [\n\
                     { clock = \"500MHz\", power = \"400mW\" },\n{ clock = \"1GHz\", power = \"1W\" },\n\
                     { clock = \"2GHz\", power = \"4W\" },\n]\n[[cpus]]\ncount = 1\n";

fn machine(text: &str) -> Machine {
    Machine::resolve("test.toml", &|_| Ok(text.as_bytes().to_vec()), &[]).unwrap_or_else(|e| panic!("{e}"))
}

/// Clocks and temperatures as they change.
#[derive(Default)]
struct Seen {
    clocks: Vec<(u64, u64)>,
    exits: Vec<u64>,
}

impl Observer for Seen {
    fn event(&mut self, t: u64, event: &Event<'_>) {
        match *event {
            Event::Frequency { hz, .. } => self.clocks.push((t / MS, hz / 1_000_000)),
            Event::TaskExit { .. } => self.exits.push(t),
            _ => {}
        }
    }
}

fn run(machine: &Machine, topology: &str, w: &Workload, end: Option<u64>) -> (Seen, weir_sim::Outcome) {
    let mut seen = Seen::default();
    let cfg = RunConfig { duration_ns: end, ..RunConfig::default() };
    let out = run_on(machine, topology, w, &Costs::zero(), cfg, &mut seen).unwrap();
    (seen, out)
}

/// 45 + 56 (1 - exp(-t / 100 ms)) reaches 95 degrees at 223.4 ms, seen at 224. From 95.04 towards 55.5 it is down at 80 after 47.9 ms,
/// seen at 272; from 79.97 towards 101 it is at 95 after 125.4 ms, seen at 398.
#[test]
fn a_hot_core_is_throttled_when_the_formula_says() {
    let w = workload(vec![task("a", vec![Op::Run { ns: 380 * MS }])]);
    let (seen, _) = run(&machine(HOT), "entry -> fifo -> cpus;", &w, None);
    assert_eq!(&seen.clocks[..3], [(224, 1200), (272, 2400), (398, 1200)]);
    // 224 ms at full speed, 48 at half of it (24), 126 at full speed: 374 at 398 ms, and 6 at half.
    assert_eq!(seen.exits, [410 * MS]);
}

/// What an event of the machine allows stays the limit when the core has cooled down.
#[test]
fn heat_does_not_lift_another_limit() {
    let mut machine = machine(HOT);
    machine.events = vec![(230 * MS, MachineEvent::Frequency(0, 1_200_000_000))];
    let w = workload(vec![task("a", vec![Op::Run { ns: 300 * MS }])]);
    let (seen, _) = run(&machine, "entry -> fifo -> cpus;", &w, None);
    assert!(seen.clocks.iter().all(|c| c.1 == 1200), "{:?}", seen.clocks);
    // 224 at full speed, 76 at half of it.
    assert_eq!(seen.exits, [(224 + 2 * 76) * MS]);
}

/// Two threads of a core warm it together, and are throttled together.
#[test]
fn threads_share_their_core_s_heat() {
    let two = HOT.replace("count = 1", "count = 2\nsmt = 2").replace("8W", "4W").replace("1500mW", "750mW");
    let w =
        workload(vec![task("a", vec![Op::Run { ns: 900 * MS }]), task("b", vec![Op::Run { ns: 900 * MS }])]);
    let (seen, _) = run(&machine(&two), "entry -> fifo -> cpus;", &w, Some(300 * MS));
    assert_eq!(&seen.clocks[..4], [(224, 1200), (224, 1200), (272, 2400), (272, 2400)]);
}

/// Jobs of 2.5 ms at the top every 10 ms need a quarter of 2 GHz, with a quarter more 625 MHz: the machine has 1 GHz. From the second
/// window on a job takes 5 ms, half of it, which asks for the same again.
#[test]
fn pace_asks_for_what_the_load_needs() {
    const NS: u64 = 2_500_000;
    let w = workload(vec![periodic("a", NS, 10 * MS, 0)]);
    let paced = "annotate pace(window = 10ms); entry -> fifo -> cpus;";
    let (seen, out) = run(&machine(PACED), paced, &w, Some(100 * MS));
    assert_eq!(seen.clocks, [(10, 1000)]);
    // 2.5 ms at 4 W, nine times 5 ms at 1 W, and 52.5 ms at 0.1 W, in microjoules; racing: ten times 2.5 ms at 4 W, 75 ms idle.
    assert_eq!(out.energy_uj, 10_000 + 45_000 + 5_250);
    let (_, race) = run(&machine(PACED), "entry -> fifo -> cpus;", &w, Some(100 * MS));
    assert_eq!(race.energy_uj, 100_000 + 7_500);
}

/// From 2.5 ms to 2.2 ms the load asks for 550 MHz instead of 625: the machine has 1 GHz for both and says nothing. The wish, which its
/// publisher hears as everybody does, was taken for the clock, and the next one was for half of it.
#[test]
fn a_wish_is_no_clock() {
    let release =
        Op::Release { offset_ns: 0, period_ns: 10 * MS, deadline_ns: 10 * MS, jitter_ns: 0, extra_ns: 0 };
    let mut program = repeat(Some(3), vec![release.clone(), Op::Run { ns: 2_500_000 }]);
    program.extend(repeat(None, vec![release, Op::Run { ns: 2_200_000 }]));
    let paced = "annotate pace(window = 10ms); entry -> fifo -> cpus;";
    let (seen, _) = run(&machine(PACED), paced, &workload(vec![task("a", program)]), Some(200 * MS));
    assert_eq!(seen.clocks, [(10, 1000)]);
}

/// A load that grows gets the top again: no window shows how much is missing once a CPU is always busy.
#[test]
fn pace_lets_go_when_there_is_no_time_left() {
    let burst = vec![Op::Run { ns: 2_500_000 }, Op::Sleep { ns: 17_500_000 }, Op::Run { ns: 100 * MS }];
    let (seen, _) = run(
        &machine(PACED),
        "annotate pace(window = 10ms); entry -> fifo -> cpus;",
        &workload(vec![task("a", burst)]),
        None,
    );
    assert_eq!(seen.clocks.first(), Some(&(10, 1000)));
    assert_eq!(seen.clocks.last().map(|c| c.1), Some(2000), "{:?}", seen.clocks);
}

/// A task that wakes on mains goes to the big core, on battery to the small one.
#[test]
fn the_battery_decides_where_tasks_go() {
    let text = "name = \"phone\"\n[[kind]]\nname = \"little\"\ncapacity = 512\nidle = \"0mW\"\npoints = [{ clock = \"1GHz\", power = \"100mW\" }]\n\
                [[kind]]\nname = \"big\"\nidle = \"0mW\"\npoints = [{ clock = \"2GHz\", power = \"1W\" }]\n[[cpus]]\ncount = 1\nkind = \"little\"\n\
                [[cpus]]\ncount = 1\nkind = \"big\"\n[[event]]\nat = \"15ms\"\nbattery = true\n";
    let w = workload(vec![periodic("a", 2 * MS, 10 * MS, 0)]);
    let thrifty = "annotate affinity; entry -> thrifty_balancer -> each cpu { fifo -> cpu };";
    let mut g = Gantt::default();
    let cfg = RunConfig { duration_ns: Some(40 * MS), ..RunConfig::default() };
    let out = run_on(&machine(text), thrifty, &w, &Costs::zero(), cfg, &mut g).unwrap();
    assert_eq!((g.cpu(1), g.cpu(0)), ("a 0-2, a 10-12".into(), "a 20-24, a 30-34".into()));
    // Twice 2 ms at 1 W, twice 4 ms at 0.1 W.
    assert_eq!(out.energy_uj, 4_000 + 800);
}

/// The rules here change no topology.
struct Nobody;

impl Composer for Nobody {
    fn compose(&self, _: &[Verb], _: Option<usize>) -> Result<Proposal, String> {
        Err("no rule asks for a topology".into())
    }

    fn accept(&self) -> Vec<String> {
        Vec::new()
    }

    fn reject(&self) {}
}

/// Rules hear what the machine says of its supply and its heat, from the start on; a machine that says nothing makes them senseless.
#[test]
fn rules_wait_for_what_the_machine_says() {
    let outcome = |head: &str, tail: &str, when: &str| {
        let text = format!("name = \"m\"\n{head}[[cpus]]\ncount = 2\n{tail}");
        let rule = format!("[[rule]]\nname = \"r\"\nwhen = \"{when}\"\ndo = \"cpu 1 offline\"\n");
        let file = scenario::parse("test", "test.toml", &rule).unwrap_or_else(|e| panic!("{e}"));
        let control = Some(Control { scenario: &file.scenario, composer: &Nobody });
        let cfg = RunConfig { duration_ns: Some(20 * MS), control, ..RunConfig::default() };
        let w = workload(vec![hog("a"), hog("b")]);
        run_on(&machine(&text), "entry -> fifo -> cpus;", &w, &Costs::zero(), cfg, &mut ())
            .map(|out| out.reconfigurations.iter().map(|r| r.at_ns).collect::<Vec<_>>())
    };
    let event = "[[event]]\nat = \"5ms\"\nbattery = true\n";
    assert_eq!(outcome("", event, "battery").expect("it comes"), [5 * MS]);
    assert_eq!(outcome("battery = true\n", "", "battery").expect("it is"), [0]);
    assert_eq!(outcome("", event, "mains").expect("it is at first"), [0]);
    // 5 W at 2 GHz: 40 + 10 * 5 (1 - exp(-t / 10 ms)) is beyond 70 degrees after 9.2 ms, published with the next sample.
    let thermal = "[thermal]\nambient = 40\nrise = 10\nsettle = \"10ms\"\nsample = \"1ms\"\n";
    assert_eq!(outcome(thermal, "", "THERMAL > 70000").expect("it gets warm"), [10 * MS]);
    let refused = outcome("", "", "battery").expect_err("nobody says so");
    assert!(refused.to_string().contains("never acts"), "{refused}");
}
