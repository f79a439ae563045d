// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Gangs: slots of the common clock, phases, barriers at which tasks spin.

use proptest::prelude::*;
use weir_core::event::{Event, Observer};
use weir_sim::{Costs, Machine, Outcome, RunConfig};

use crate::common::*;

fn ganged(cpus: u32, text: &str, duration: u64) -> (Gantt, Outcome) {
    gantt(cpus, &catalogue("gang"), &toml(text), duration)
}

/// A member that requests phase 1, and others; all compute without end, beside more hogs than CPUs.
fn steady(members: u32, hogs: u32, manifest: &str) -> String {
    format!(
        "[[task]]\nname = \"lead\"\ngroup = \"team\"\nprogram = [\"phase 1; loop {{ run 1ms }}\"]\n\
         [[task]]\nname = \"rest\"\ngroup = \"team\"\ncount = {}\nprogram = [\"loop {{ run 1ms }}\"]\n\
         [[task]]\nname = \"hog\"\ncount = {hogs}\nprogram = [\"loop {{ run 1ms }}\"]\n\
         [[gang]]\ngroup = \"team\"\nmanifest = '''\n{manifest}'''\n",
        members - 1
    )
}

/// On 16 CPUs without costs: all members start each slot at its begin, to the nanosecond, and the phase change is all that
/// planners ever say.
#[test]
fn members_start_at_once_without_a_message() {
    let slots = 1_000;
    let text = steady(16, 40, "B 1\nH 0.1 0.25 0.1 1\n");
    let (_, out) = ganged(16, &text, 1_000_000 + slots * 250_000);
    let gang = &out.gangs[0];
    assert_eq!((gang.slots, gang.incomplete), (slots, 0));
    assert_eq!((gang.skew_max_ns, gang.late_max_ns), (0, 0));
    // 15 peers, a message and a reply each.
    assert_eq!((gang.phase_changes, gang.messages), (1, 30));
    assert!(out.warnings.is_empty(), "{:?}", out.warnings);
    assert!(out.faults.is_empty(), "{:?}", out.faults);
}

/// All tasks wait between their slots, so nothing but timers is queued then. The run ended as a standstill after some 1,600 slots.
#[test]
fn nobody_between_slots_is_no_standstill() {
    let text = steady(4, 1, "B 1\nH 0.1 0.25 0.1 1\noutside wait\n");
    let hog = text.find("[[task]]\nname = \"hog\"").expect("it has one");
    let gang = text.find("[[gang]]").expect("it is one");
    let text = text[..hog].to_string() + &text[gang..];
    let (_, out) = ganged(4, &text, 1_000_000 + 3_000 * 250_000);
    assert_eq!((out.gangs[0].slots, out.gangs[0].incomplete), (3_000, 0));
    assert!(out.warnings.is_empty(), "{:?}", out.warnings);
}

/// A long sleep is none, either, though a daemon begins and ends thousands of slots meanwhile.
#[test]
fn a_long_sleep_between_slots_is_no_standstill() {
    for way in ["locked", "central", "daemon", "slurm"] {
        let text = format!(
            "[[task]]\nname = \"late\"\ngroup = \"team\"\ncount = 4\nprogram = [\"sleep 10s; run 1ms\"]\n\
             [[gang]]\ngroup = \"team\"\nway = \"{way}\"\nmanifest = '''\nH 0.5 1\n'''\n"
        );
        let (g, out) = ganged(4, &text, 11_000 * MS);
        assert!(out.warnings.is_empty() && out.alive == 0, "{way}: {:?}", out.warnings);
        assert!(g.cpu(0).contains("late-0 10000-"), "{way}: {}", g.cpu(0));
    }
}

/// Members compete in phase 0 and until the release, 5 ms after the request at the start. From then on they have their CPUs in
/// their slots, and between slots those that wait do not run, even where a CPU is idle.
#[test]
fn slots_are_where_the_manifest_says() {
    let (g, out) = ganged(2, &steady(2, 1, "B 1\nH 2 10 2 5\noutside wait\n"), 31 * MS);
    assert_eq!(
        (&g.cpu(0)[..], &g.cpu(1)[..]),
        (
            "lead 0-3, hog 3-5, lead 5-7, hog 7-15, lead 15-17, hog 17-25, lead 25-27, hog 27-31",
            "rest 0-7, rest 15-17, rest 25-27",
        )
    );
    assert_eq!(out.gangs[0].cpus, [0, 1]);
}

/// Two gangs that want all the time are cut alike, and never overlap.
#[test]
fn gangs_share_cpus_in_turn() {
    let gang = |name: &str| {
        steady(2, 1, &format!("name {name}\nB 1\nH 5 10\noutside wait\n"))
            .replace("lead", &format!("{name}-lead"))
            .replace("rest", &format!("{name}-rest"))
            .replace("team", name)
            .replace("hog", &format!("{name}-hog"))
    };
    let (g, out) = ganged(2, &(gang("a") + &gang("b")), 50 * MS);
    assert_eq!(out.gangs.iter().map(|g| g.scale).collect::<Vec<_>>(), [900, 900]);
    assert!(out.gangs.iter().all(|g| g.skew_max_ns == 0 && g.incomplete == 0), "{:?}", out.gangs);
    let within = |name: &str| -> Vec<(u64, u64)> {
        g.bars.iter().filter(|b| b.0.starts_with(name) && b.2 >= 10 * MS).map(|b| (b.2, b.3)).collect()
    };
    for a in within("a-lead").iter().chain(&within("a-rest")) {
        for b in within("b-lead").iter().chain(&within("b-rest")) {
            assert!(a.1 <= b.0 || b.1 <= a.0, "{a:?} {b:?}");
        }
    }
}

#[test]
fn a_gang_that_does_not_fit_is_refused_with_the_reason() {
    let w = toml(&(steady(2, 1, "B 1\nH 95 100\n") + "cut = false\n"));
    let cfg = RunConfig { duration_ns: Some(MS), ..RunConfig::default() };
    let fault = run_on(&Machine::smp(2), &catalogue("gang"), &w, &Costs::zero(), cfg, &mut ())
        .unwrap_err()
        .to_string();
    assert!(
        fault.contains("gang `team` is not admitted") && fault.contains("95.0 % needed, 90.0 % left"),
        "{fault}"
    );
}

/// Under a topology without slots the members are ordinary tasks.
#[test]
fn other_topologies_run_them_as_ordinary_tasks() {
    let w = toml(&steady(2, 1, "B 1\nH 5 10\n"));
    let (_, out) = gantt(2, &catalogue("decentral"), &w, 20 * MS);
    assert!(out.gangs.is_empty());
    assert!(out.warnings.iter().any(|w| w.contains("no slots for gangs")), "{:?}", out.warnings);
}

/// Two cores of two threads. A gang with one member a core keeps the siblings idle in its slots; one of whole cores has members
/// on all; both share nothing with the hogs then. Between slots, and without `cores`, everybody shares.
#[test]
fn cores_can_be_for_members_alone() {
    let machine = "[[kind]]\nname = \"uniform\"\npoints = [{ clock = \"2GHz\", power = \"4W\" }]\n\n[[cpus]]\ncount = 4\nsmt = 2\nllc = 0\n";
    let machine = Machine::resolve("./smt.toml", &|_| Ok(machine.as_bytes().to_vec()), &[])
        .unwrap_or_else(|e| panic!("{e}"));
    let runs = |members: u32, cores: &str, way: &str| {
        let manifest = format!("outside wait\ncores {cores}\nB 1\nH 4 10 4 20\n");
        let w = toml(&(steady(members, 6, &manifest) + way));
        let mut seen = Gantt::default();
        let cfg = RunConfig { duration_ns: Some(70 * MS), ..RunConfig::default() };
        let out = run_on(&machine, &catalogue("gang"), &w, &Costs::zero(), cfg, &mut seen)
            .unwrap_or_else(|e| panic!("{e}"));
        let gang = &out.gangs[0];
        assert_eq!((gang.slots, gang.incomplete, gang.skew_max_ns), (5, 0, 0), "{cores}");
        // CPU time of hogs in slots, and between them, from the first one on.
        let (mut within, mut between) = (0, 0);
        for (_, _, from, to) in seen.bars.iter().filter(|b| b.0.starts_with("hog")) {
            for ms in 20..70 {
                let part = (to.min(&((ms + 1) * MS))).saturating_sub(*from.max(&(ms * MS)));
                *(if ms % 10 < 4 { &mut within } else { &mut between }) += part;
            }
        }
        (within, between, gang.cpus.clone())
    };
    let all = 4 * 5 * 6 * MS;
    assert_eq!(runs(2, "one", ""), (0, all, vec![0, 1, 2, 3]));
    assert_eq!(runs(4, "whole", ""), (0, all, vec![0, 1, 2, 3]));
    assert_eq!(runs(2, "one", "way = \"central\"\n"), (0, all, vec![0, 1, 2, 3]));
    // Three members need both cores; the CPU without one is idle.
    assert_eq!(runs(3, "whole", ""), (0, all, vec![0, 1, 2, 3]));
    // One core is kept; the other CPUs are the hogs' all the time.
    assert_eq!(runs(2, "whole", ""), (2 * 5 * 4 * MS, all, vec![0, 1]));
    assert_eq!(runs(2, "shared", ""), (2 * 5 * 4 * MS, all, vec![0, 1]));
}

/// A message that was sent: when, from which CPU, to which, and what about.
type Sent = (u64, u32, u32, &'static str);

/// What begins and ends slots of 20 ms, of four members beside hogs, at the calibrated costs.
fn by(way: &str) -> (Gantt, Outcome, Vec<Sent>) {
    #[derive(Default)]
    struct Seen(Gantt, Vec<Sent>);
    impl Observer for Seen {
        fn event(&mut self, now: u64, event: &Event<'_>) {
            if let Event::MessageSent { from, to, what, .. } = *event {
                self.1.push((now, from, to, what));
            }
            self.0.event(now, event);
        }
    }
    let w = toml(&(steady(4, 8, "H 20 40 20\n").replace("phase 1; ", "") + &format!("way = \"{way}\"\n")));
    let mut seen = Seen::default();
    let cfg = RunConfig { duration_ns: Some(1000 * MS), ..RunConfig::default() };
    let out = run_on(&Machine::smp(4), &catalogue("gang"), &w, &Costs::default(), cfg, &mut seen)
        .unwrap_or_else(|e| panic!("{e}"));
    (seen.0, out, seen.1)
}

/// Where a coordinator interrupts the others, each slot begins and ends by one interrupt to each; their sender pays for one after the
/// other. In the slot nobody's own timer matters: a member has its CPU from the begin to the end, though slices are 3 ms.
#[test]
fn a_coordinator_interrupts_and_local_timers_are_ignored() {
    let costs = Costs::default();
    let (g, out, sent) = by("central");
    let gang = &out.gangs[0];
    assert!(gang.slots >= 24 && gang.incomplete == 0, "{gang:?}");
    // Three other CPUs; the run may end between a slot's begin and its end.
    let each = gang.signals / 3;
    assert!(gang.signals % 3 == 0 && (2 * gang.slots..=2 * gang.slots + 1).contains(&each), "{gang:?}");
    assert_eq!(gang.carry_ns, each * (costs.timer_interrupt + 4 * costs.ipi_send));
    assert!(sent.iter().all(|s| s.1 == 0 && s.2 != 0 && s.3 == "central"));
    assert_eq!(sent.len() as u64, gang.signals);
    // The interrupt to the last CPU leaves after those to the others, and arrives after `wakeup_ipi`. The largest skew is the first
    // slot's: all twelve tasks come at 0, and CPU 0 pays for their admissions, some 0.8 us each, before it chooses its member; the others
    // are about 1.2 us.
    assert!(gang.skew_max_ns > 2 * costs.ipi_send && gang.skew_max_ns < 11_000, "{gang:?}");
    let bars = g.bars.iter().filter(|b| b.0.starts_with("rest") && b.2 % (40 * MS) < MS && b.3 < 990 * MS);
    let lengths: Vec<u64> = bars.map(|b| b.3 - b.2).collect();
    assert!(lengths.len() >= 60 && lengths.iter().all(|l| (19 * MS..21 * MS).contains(l)), "{lengths:?}");
}

/// Each CPU by its own clock sends nothing; a program and a network cost more, and more than a coordinator's interrupts.
#[test]
fn what_each_way_costs() {
    let (_, locked, sent) = by("locked");
    assert!(sent.is_empty() && locked.gangs[0].signals == 0 && locked.gangs[0].carry_ns == 0);
    let cost = |way: &str| {
        let (_, out, sent) = by(way);
        let gang = &out.gangs[0];
        assert!(gang.slots >= 24 && sent.iter().all(|s| s.3 == way) && sent.len() as u64 == gang.signals);
        (gang.skew_mean_ns, gang.carry_ns)
    };
    let (central, daemon, slurm) = (cost("central"), cost("daemon"), cost("slurm"));
    assert!(locked.gangs[0].skew_mean_ns <= central.0 && central.0 < daemon.0 && daemon.0 < slurm.0);
    assert!(central.1 < daemon.1 && daemon.1 < slurm.1);
    // 3.9: the daemon's own overhead is below 1 %.
    assert!(daemon.1 * 100 < 1000 * MS, "{daemon:?}");
}

/// Messages between planners take longer, and cost more, between CPUs that are farther apart.
#[test]
fn planners_messages_take_as_long_as_the_distance_says() {
    let none = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let machine = Machine::resolve("intel-2x4", &none, &[]).unwrap();
    let costs = Costs::resolve("intel-2x4", &none).unwrap();
    let change = |cpus: &str| {
        let w = toml(&steady(2, 1, &format!("cpus {cpus}\nB 1\nH 5 20 5 20\n")));
        let cfg = RunConfig { duration_ns: Some(100 * MS), ..RunConfig::default() };
        let out = run_on(&machine, &catalogue("gang"), &w, &costs, cfg, &mut ()).unwrap();
        assert_eq!((out.gangs[0].phase_changes, out.gangs[0].messages), (1, 2));
        out.gangs[0].phase_last_ns
    };
    // A common cache, and two packages: there and back.
    let (near, far) = (change("0-1"), change("0,4"));
    let latency = costs.message.remote - costs.message.l2;
    let each = costs.message_send.remote - costs.message_send.l2;
    assert!((2 * latency..=2 * latency + 4 * each).contains(&(far - near)), "{near} {far} {latency} {each}");
}

/// The source's own way: `H 80 160 80 480` as reservations of `rbed`, handed to each CPU when the phase changes, beside best effort that is
/// due earlier. Back in phase 0 the members are best effort again.
#[test]
fn slots_can_be_reservations() {
    let manifest = "B 1\nH 80 160 80 480\n";
    let text = steady(4, 6, manifest);
    let (g, out) = gantt(4, &catalogue("rbed"), &toml(&text), 2400 * MS);
    let gang = &out.gangs[0];
    assert_eq!((gang.slots, gang.incomplete, gang.skew_max_ns, gang.late_max_ns), (12, 0, 0, 0));
    assert_eq!((gang.phase_changes, gang.messages), (1, 6));
    assert!(out.warnings.is_empty(), "{:?}", out.warnings);
    // All the slot, and nothing between slots: their CPUs are the hogs'.
    let rest = g.bars.iter().filter(|b| b.0.starts_with("rest") && b.2 >= 480 * MS);
    assert!(rest.clone().count() >= 36);
    assert!(
        rest.clone().all(|b| b.2 % (160 * MS) == 0 && b.3 - b.2 == 80 * MS),
        "{:?}",
        rest.collect::<Vec<_>>()
    );

    let back = text.replace("phase 1; loop", "phase 1; run 600ms; phase 0; loop");
    let (g, out) = gantt(4, &catalogue("rbed"), &toml(&back), 4000 * MS);
    assert_eq!(out.gangs[0].phase_changes, 2);
    let late = g.bars.iter().filter(|b| b.0.starts_with("rest") && b.2 >= 2000 * MS && b.3 < 4000 * MS);
    assert!(late.clone().count() > 10 && late.clone().any(|b| b.2 % (160 * MS) != 0));

    let central = text + "way = \"central\"\n";
    let cfg = RunConfig { duration_ns: Some(MS), ..RunConfig::default() };
    let fault = run_on(&Machine::smp(4), &catalogue("rbed"), &toml(&central), &Costs::zero(), cfg, &mut ());
    assert!(fault.unwrap_err().to_string().contains("serves slots by reservations"));
}

/// How often `rbed` refused a task.
#[derive(Default)]
struct Refusals(u32);

impl Observer for Refusals {
    fn event(&mut self, _: u64, event: &Event<'_>) {
        self.0 += u32::from(matches!(event, Event::Message { topic: "OVERLOAD", .. }));
    }
}

/// Gangs, each with its number of members and its phases: slots of 20 us and more, periods that divide each other or do not, due at once or
/// later.
fn manifests() -> impl Strategy<Value = Vec<(u32, Vec<String>)>> {
    let period = prop_oneof![
        prop::sample::select(vec![1_000u64, 10_000, 20_000, 40_000, 80_000, 160_000]),
        prop::sample::select(vec![7_000u64, 12_340, 45_000, 99_990, 30_001]),
    ];
    let release = prop_oneof![Just(0u64), 0..4u64, 0..2_000u64, 0..200_000u64];
    let hard = (period, 1..=1000u64, 0..=1000u64, release).prop_map(|(period, wcet, later, release)| {
        let wcet = (period * wcet / 1000).max(20);
        let deadline = wcet + (period - wcet) * later / 1000;
        let ms = |us: u64| format!("{}.{:03}", us / 1000, us % 1000);
        format!("H {} {} {} {}\n", ms(wcet), ms(period), ms(deadline), ms(release))
    });
    prop::collection::vec((1..=2u32, prop::collection::vec(hard, 1..4)), 1..5)
}

proptest! {
    #![proptest_config(config(96))]

    /// What the controller admits can be served by reservations: `rbed` admits each member in each phase, however soon the first slot is due,
    /// beside slots that are under way, and on CPUs of 0.39 of the speed.
    #[test]
    fn admitted_gangs_are_not_refused(
        gangs in manifests(),
        hogs in 0..4u32,
        little in any::<bool>(),
        charged in any::<bool>(),
    ) {
        let mut text = String::new();
        for (n, (members, phases)) in gangs.iter().enumerate() {
            let turns: String = (1..=phases.len()).map(|p| format!("phase {p}; run {}ms; ", 7 * p + n)).collect();
            for m in 0..*members {
                let program = if m == 0 { turns.as_str() } else { "run 1ms" };
                text += &format!(
                    "[[task]]\nname = \"g{n}-{m}\"\ngroup = \"g{n}\"\nprogram = [\"loop {{ {program} }}\"]\n"
                );
            }
            let manifest = format!("name g{n}\nB 1\n{}", phases.concat());
            text += &format!("[[gang]]\ngroup = \"g{n}\"\nmanifest = '''\n{manifest}'''\n");
        }
        if hogs > 0 {
            text += &format!("[[task]]\nname = \"hog\"\ncount = {hogs}\nprogram = [\"loop {{ run 1ms }}\"]\n");
        }
        let capacity = if little { 400 } else { 1024 };
        let machine = format!(
            "[[kind]]\nname = \"uniform\"\ncapacity = {capacity}\npoints = [{{ clock = \"2GHz\", power = \"4W\" }}]\n\n\
             [[cpus]]\ncount = 2\nllc = 0\n"
        );
        let machine = Machine::resolve("./two.toml", &|_| Ok(machine.as_bytes().to_vec()), &[])
            .unwrap_or_else(|e| panic!("{e}"));
        let costs = if charged { Costs::default() } else { Costs::zero() };
        let cfg = RunConfig { duration_ns: Some(400 * MS), ..RunConfig::default() };
        let mut refusals = Refusals::default();
        match run_on(&machine, &catalogue("rbed"), &toml(&text), &costs, cfg, &mut refusals) {
            Ok(out) => prop_assert!(out.faults.is_empty(), "{:?}", out.faults),
            Err(e) => prop_assert!(e.to_string().contains("is not admitted"), "{e}"),
        }
        prop_assert_eq!(refusals.0, 0, "{}", text);
    }
}

/// A task spins at a barrier for as long as its step says, in CPU time, and blocks then; spinning uses its CPU.
#[test]
fn barriers_spin_then_block() {
    let meet = |late: &str| {
        toml(&format!(
            "[[task]]\nname = \"a\"\nprogram = [\"run 1ms; barrier b spin 2ms; run 1ms\"]\n\
             [[task]]\nname = \"b\"\nprogram = [\"run {late}; barrier b spin 2ms\"]\n"
        ))
    };
    let plain = "annotate affinity; entry -> load_balancer -> each cpu { round_robin -> cpu };";
    let (g, out) = gantt(2, plain, &meet("2500us"), 100 * MS);
    assert_eq!((out.spin_ns, g.ran("a"), out.end_ns), (1_500_000, 3_500_000, 3_500_000));
    assert_eq!(out.barriers, [("b".to_string(), 1)]);
    let (g, out) = gantt(2, plain, &meet("6ms"), 100 * MS);
    assert_eq!((out.spin_ns, g.ran("a"), out.end_ns), (2_000_000, 4_000_000, 7_000_000));
    // Counting takes time where the workload says so: one after the other in one word, a line for each that comes and goes.
    let mut costs = Costs::zero();
    costs.lock_handover.llc = 100;
    let rounds = |word: &str| {
        let w = toml(&format!(
            "[[task]]\nname = \"a\"\ncount = 16\nprogram = [\"loop 100 {{ run 1us; barrier b spin 2ms{word} }}\"]\n"
        ));
        let cfg = RunConfig::default();
        run_on(&Machine::smp(16), plain, &w, &costs, cfg, &mut ()).unwrap().end_ns
    };
    let (free, central, tree) = (rounds(""), rounds(" central"), rounds(" tree"));
    assert!((100 * US..=102 * US).contains(&free), "{free}");
    // A line for each member, one after the other, against four levels in and four out.
    assert!((250 * US..=350 * US).contains(&central), "{central}");
    assert!((170 * US..=190 * US).contains(&tree), "{tree}");
    // The last one neither spins nor blocks.
    let (g, out) = gantt(1, plain, &meet("1ms"), 100 * MS);
    assert_eq!((g.ran("b"), out.barriers[0].1), (1_000_000, 1));
}

/// A task that yields at a barrier keeps an idle CPU, and gives it to whoever wants it; a barrier that never opens is a standstill.
#[test]
fn barriers_are_waited_at_by_yields() {
    let meet = |late: &str, more: &str| {
        toml(&format!(
            "[[task]]\nname = \"a\"\nprogram = [\"run 1ms; barrier b yield 10us; run 1ms\"]\n\
             [[task]]\nname = \"b\"\nprogram = [\"sleep {late}; barrier b yield 10us\"]\n{more}"
        ))
    };
    let plain = "annotate affinity; entry -> fifo -> cpus;";
    let (g, out) = gantt(1, plain, &meet("5ms", ""), 100 * MS);
    // `b` gets the CPU when `a` yields for the first time. Woken, it waits for at most the 64 looks that stand for one.
    let woken = MS + 10 * US + 5 * MS;
    assert!((woken..=woken + 640 * US).contains(&(out.end_ns - MS)), "{}", out.end_ns);
    assert_eq!((out.spin_ns + 2 * MS, out.barriers[0].1), (g.ran("a"), 1));
    // Nobody but `c` runs while it has work, except for a look whenever it yields to `a` in turn.
    let hog = "[[task]]\nname = \"c\"\nprogram = [\"sleep 2ms; loop 100 { run 10us; yield }\"]\n";
    let (g, out) = gantt(1, plain, &meet("9ms", hog), 100 * MS);
    assert_eq!(g.ran("c"), MS);
    let woken = MS + 10 * US + 9 * MS;
    assert!((woken..=woken + 640 * US).contains(&(out.end_ns - MS)), "{}", out.end_ns);
    let alone = toml("barriers = { b = 2 }\n[[task]]\nname = \"a\"\nprogram = [\"barrier b yield 10us\"]\n");
    let (_, out) = gantt(1, plain, &alone, 100 * MS);
    assert!(out.warnings.iter().any(|w| w.starts_with("deadlock")), "{:?}", out.warnings);
    assert!(out.end_ns < MS, "{}", out.end_ns);
}

/// A gang of four that wants half of each 10 ms, 40 ms after the start, on CPUs with clocks of their own.
fn by_own_clocks(clocks: &str, duration: u64) -> Outcome {
    let text = format!(
        "[[kind]]\nname = \"uniform\"\npoints = [{{ clock = \"2GHz\", power = \"4W\" }}]\n\n[[cpus]]\ncount = 4\nllc = 0\n\n[clocks]\n{clocks}\n"
    );
    let machine = Machine::resolve("./own.toml", &|_| Ok(text.as_bytes().to_vec()), &[])
        .unwrap_or_else(|e| panic!("{e}"));
    let w = toml(&steady(4, 6, "B 1\nH 5 10 5 40\noutside wait\n"));
    let cfg = RunConfig { duration_ns: Some(duration), ..RunConfig::default() };
    run_on(&machine, &catalogue("gang"), &w, &Costs::zero(), cfg, &mut ()).unwrap()
}

/// Offsets of seconds, and no drift: one round makes the clocks equal, and slots begin everywhere at the same nanosecond.
#[test]
fn offsets_are_taken_out_by_one_round() {
    let out = by_own_clocks("offset = \"3s\"", 1000 * MS);
    let (clocks, gang) = (out.clocks.expect("it has clocks"), &out.gangs[0]);
    assert_eq!((clocks.rounds, clocks.failed, clocks.drifted, clocks.disabled), (1, 0, 0, false));
    // Four CPUs waited for the target, 80 ms ahead.
    assert_eq!((clocks.waited_ns, clocks.error_max_ns), (4 * 80 * MS, 0));
    assert!(gang.slots > 80, "{}", gang.slots);
    assert_eq!(gang.skew_max_ns, 0);
    // The request had to wait for its end, too.
    assert_eq!(gang.incomplete, 0);
}

/// Clocks that drift are compared each 100 ms; one that is off by 5 us asks for a new round, and members never start further apart
/// than that and what is gained until the next look.
#[test]
fn drift_is_watched_and_taken_out() {
    let out = by_own_clocks("offset = \"1ms\"\ndrift = 10\nwatch = \"100ms\"", 5000 * MS);
    let (clocks, gang) = (out.clocks.expect("it has clocks"), &out.gangs[0]);
    assert!(clocks.drifted >= 3 && clocks.failed == 0, "{clocks:?}");
    assert_eq!(clocks.rounds, clocks.drifted + 1);
    assert!((5_000..=6_000).contains(&clocks.error_max_ns), "{clocks:?}");
    assert!((1_000..=13_000).contains(&gang.skew_max_ns), "{gang:?}");
    // Nobody looks: the clocks run away.
    let out = by_own_clocks("offset = \"1ms\"\ndrift = 10\nwatch = \"3600s\"", 5000 * MS);
    assert!(out.gangs[0].skew_max_ns > 20_000, "{:?}", out.gangs[0]);
}

/// CPUs that look 100 ms late fail the first round, not the second, whose margin is twice as long. CPUs that look a second late
/// never make it: phase locking is disabled, and the gang is best effort.
#[test]
fn late_cpus_double_the_margin_until_it_is_given_up() {
    let out = by_own_clocks("offset = \"1ms\"\nlate = \"100ms\"", 1000 * MS);
    let clocks = out.clocks.expect("it has clocks");
    assert_eq!((clocks.rounds, clocks.failed, clocks.disabled), (2, 1, false));
    assert_eq!(out.gangs[0].skew_max_ns, 0);
    let out = by_own_clocks("offset = \"1ms\"\nlate = \"1s\"", 6000 * MS);
    let clocks = out.clocks.expect("it has clocks");
    assert_eq!((clocks.rounds, clocks.failed, clocks.disabled), (4, 4, true));
    assert!(out.warnings.iter().any(|w| w.contains("clocks could not be made equal")), "{:?}", out.warnings);
    assert!(out.gangs[0].slots > 500 && out.gangs[0].incomplete == out.gangs[0].slots, "{:?}", out.gangs);
}

/// Two groups have reservations of their own. A collector merges all members into one group, with the slots of another phase, and then
/// lets them go: they have the reservations again that they had before. Beside them each CPU but the collector's has a hog.
#[test]
fn a_collector_merges_all_groups_and_splits_them_again() {
    let task = |name: &str, count: u32, group: &str, steps: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\ngroup = \"{group}\"\ncount = {count}\nprogram = [\"{steps}\"]\n"
        )
    };
    let text = [
        task("collector", 1, "vm", "group 3; sleep 48ms; merge all 7 3; sleep 44ms; split 7; sleep 1s"),
        task("fast", 2, "vm", "group 1; phase 1; loop { run 1ms }"),
        task("slow", 2, "vm", "group 2; phase 2; loop { run 1ms }"),
        task("hog", 4, "other", "loop { run 1ms }"),
        "cpus = \"1-4\"\n".into(),
        "[[gang]]\ngroup = \"vm\"\nmanifest = \"B 1\\nH 2 10\\nH 1 10\\nH 4 10\\noutside wait\"\n".into(),
    ]
    .concat();
    let (g, out) = ganged(5, &text, 150 * MS);
    assert!(out.warnings.is_empty() && out.faults.is_empty(), "{:?} {:?}", out.warnings, out.faults);
    let both = |name: &str| -> u64 {
        let of = g.bars.iter().filter(|bar| bar.0.starts_with(name));
        of.map(|(_, _, from, to)| to - from).sum::<u64>() / MS
    };
    // Ten slots of their own, and five of the collector's, which runs only in these and ends the last one after 2 ms.
    assert_eq!((both("fast"), both("slow")), (2 * (10 * 2 + 4 * 4 + 2), 2 * (10 + 4 * 4 + 2)));
    let gang = &out.gangs[0];
    let groups: Vec<_> = gang.groups.iter().map(|g| (g.group, g.members, g.slots, g.incomplete)).collect();
    assert_eq!(groups, [(0, 5, 0, 0), (1, 2, 10, 0), (2, 2, 10, 0), (3, 1, 0, 0), (7, 5, 5, 0)]);
    assert_eq!((gang.slots, gang.skew_max_ns), (25, 0));
    // Four requests for a phase, a merge and a split, from and to four peers.
    assert_eq!((gang.phase_changes, gang.messages), (6, 48));
}

/// What a gang has not is refused before the run, with the reason.
#[test]
fn steps_of_groups_are_checked() {
    let text = |steps: &str, way: &str| {
        format!(
            "[[task]]\nname = \"a\"\ngroup = \"g\"\nprogram = [\"{steps}\"]\n\
             [[gang]]\ngroup = \"g\"\nmanifest = \"B 1\\nH 1 10\"\nway = \"{way}\"\n"
        )
    };
    for (steps, way, says) in [
        ("merge all 7 2; run 1ms", "locked", "requests phase 2"),
        ("merge 0,16 7; run 1ms", "locked", "merge: "),
        ("group 16; run 1ms", "locked", "group: "),
        ("split 7; run 1ms", "daemon", "`way = \"daemon\"`"),
    ] {
        let text = text(steps, way);
        let error = weir_sim::Workload::resolve("a.toml", 1, &|_| Ok(text.clone().into_bytes()), &[])
            .expect_err("it is refused");
        assert!(error.to_string().contains(says), "{steps}: {error}");
    }
    let alone = "[[task]]\nname = \"a\"\nprogram = [\"group 1; run 1ms\"]\n";
    let error = weir_sim::Workload::resolve("a.toml", 1, &|_| Ok(alone.as_bytes().to_vec()), &[])
        .expect_err("it is refused");
    assert!(error.to_string().contains("belongs to no gang"), "{error}");
}
