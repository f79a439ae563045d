// SPDX-License-Identifier: MIT OR GPL-2.0-only
use weir_core::gang::WHOLE;
use weir_model::Costs;

use super::*;
use crate::latency::Latencies;

fn about(machine: &str) -> Base {
    let m = crate::machine::resolve(machine).expect("there");
    let mut base = Base::new().expect("memory");
    base.add_machine(&m, &Costs::default()).expect("the first");
    base
}

fn ask(base: &mut Base, name: &str, args: &[&str]) -> Table {
    let args: Vec<String> = args.iter().map(ToString::to_string).collect();
    base.ask(name, &args).expect("answered")
}

fn cell<'t>(table: &'t Table, row: usize, column: &str) -> &'t Value {
    let at = table.columns.iter().position(|c| c == column).expect("a column");
    &table.rows[row][at]
}

/// The view for one pair and the matrix for all of them are two forms of one rule; the machine's own description is the third.
#[test]
fn latencies_are_the_same_however_they_are_asked_for() {
    for machine in ["epyc-64", "opteron-64", "hybrid-8p16e", "cluster-4x8", "scc-48"] {
        let m = crate::machine::resolve(machine).expect("there");
        let foreseen = Latencies::foreseen(&m, &Costs::default());
        let mut base = about(machine);
        let all = base.latencies().expect("read");
        assert_eq!((&all.cpus, &all.one_way_ns), (&foreseen.cpus, &foreseen.one_way_ns), "{machine}");
        for a in [0, 1, m.nr_cpus() / 2, m.nr_cpus() - 1] {
            let row = base.select(&format!("SELECT ns FROM latency WHERE a = {a} ORDER BY b")).expect("read");
            let ns: Vec<f32> = row.rows.iter().map(|r| r[0].as_f64().expect("a number") as f32).collect();
            assert_eq!(ns, all.one_way_ns[a as usize], "{machine} from {a}");
        }
    }
}

#[test]
fn what_was_measured_or_stated_comes_first() {
    let mut base = about("smp-4");
    base.tell("facts", "INSERT INTO measured VALUES (0, 1, 900), (1, 0, 900), (0, 3, 5), (3, 0, 5)")
        .expect("told");
    assert_eq!(ask(&mut base, "near", &["0"]).numbers("cpu"), [3, 2, 1]);
    assert_eq!(*cell(&ask(&mut base, "latency", &["0", "1"]), 0, "measured"), 1);
    assert_eq!(base.layout(2).expect("enough").numbers("cpu"), [0, 3]);
    let whole = base.layout(4).expect("enough");
    assert_eq!(whole.numbers("cpu").len(), 4);
}

#[test]
fn cpus_that_share_a_cache_are_known() {
    let mut base = about("epyc-64");
    let shared = ask(&mut base, "share", &["0"]);
    assert_eq!(*cell(&shared, 0, "cpus"), "0,64");
    let llc = ask(&mut base, "share", &["5", "llc"]);
    assert_eq!((cell(&llc, 0, "cpus"), cell(&llc, 0, "count")), (&json!("0-7,64-71"), &json!(16)));
}

#[test]
fn a_layout_avoids_what_is_taken_and_stays_together() {
    let mut base = about("opteron-64");
    // Two gangs have four CPUs of the first node: the next one of eight gets a whole node, not the rest of two.
    for cpu in 0..4 {
        base.tell("facts", &format!("INSERT INTO gang_cpu VALUES ('a', {cpu}, {cpu})")).expect("told");
    }
    base.tell("facts", "INSERT INTO gang VALUES ('a', 4, 50.0, 0, 0)").expect("told");
    let eight = base.layout(8).expect("enough");
    let nodes = eight.numbers("node");
    assert!(nodes.iter().all(|n| *n == nodes[0] && *n != 0), "{eight:?}");
    // All are needed: those with the least to do, and then the others.
    let most = base.layout(62).expect("enough");
    assert_eq!(most.numbers("burden_percent").iter().filter(|b| **b == 50).count(), 2);
    assert!(base.layout(65).is_err() && base.layout(0).is_err());
    let apart = base.spread(8).expect("enough");
    let mut nodes = apart.numbers("node");
    nodes.sort_unstable();
    assert_eq!(nodes, [0, 1, 2, 3, 4, 5, 6, 7], "{apart:?}");
}

/// Every CPU is told exactly once, by one that was told before; far nodes are asked first.
#[test]
fn a_tree_reaches_all_cpus_once() {
    for (machine, root) in [("opteron-64", 0), ("opteron-64", 17), ("epyc-64", 3), ("smp-4", 2), ("smp-1", 0)]
    {
        let mut base = about(machine);
        let tree = ask(&mut base, "tree", &[&root.to_string()]);
        let mut told = vec![root];
        for (sender, receiver) in tree.numbers("sender").iter().zip(tree.numbers("receiver")) {
            assert!(told.contains(sender) && !told.contains(&receiver), "{machine}: {sender} to {receiver}");
            told.push(receiver);
        }
        assert_eq!(told.len(), about(machine).latencies().expect("read").cpus.len(), "{machine}");
        let heads: Vec<f64> = (0..tree.rows.len())
            .filter(|r| *cell(&tree, *r, "round") == 1)
            .map(|r| cell(&tree, r, "ns").as_f64().expect("a number"))
            .collect();
        assert!(heads.is_sorted_by(|a, b| a >= b), "{machine}: {heads:?}");
    }
}

#[test]
fn programs_are_found_and_idle_cpus_are_those_without() {
    let mut base = about("smp-4");
    let thread = |tid, cpu, state| Thread {
        tid,
        pid: 70,
        name: "worker".into(),
        state,
        cpu: Some(cpu),
        ..Thread::default()
    };
    let policy = Policy {
        pid: 60,
        kind: "served",
        name: "desk".into(),
        topology: "priority".into(),
        cpus: vec![0, 1],
        programs: vec![Program { pid: 70, name: "server".into() }],
        threads: vec![thread(71, 0, "running"), thread(72, 1, "blocked")],
        gangs: vec![Gang {
            name: "team".into(),
            threads: 2,
            cpus: vec![0, 1],
            phase: 1,
            length_ns: 5,
            period_ns: 10,
            ..Gang::default()
        }],
        ..Policy::default()
    };
    base.add_policy(&policy).expect("told");
    base.add_load(&[(2, 95.0), (1, 3.0)]).expect("told");
    for name in ["server", "worker", "70"] {
        assert_eq!(ask(&mut base, "where", &[name]).numbers("tid"), [71, 72], "{name}");
    }
    assert_eq!(ask(&mut base, "where", &["team"]).numbers("cpu"), [0, 1]);
    assert_eq!(ask(&mut base, "where", &["nobody"]).rows.len(), 0);
    assert_eq!(ask(&mut base, "idle", &["0", "9"]).numbers("cpu"), [1, 3]);
    assert_eq!(*cell(&ask(&mut base, "policies", &[]), 0, "cpus"), "0-1");
    assert_eq!(*cell(&ask(&mut base, "programs", &[]), 0, "threads"), 2);
    assert_eq!(ask(&mut base, "on", &["0"]).rows.len(), 3);
    // The policy has CPUs 0 and 1, something else keeps CPU 2 busy.
    assert_eq!(base.layout(1).expect("enough").numbers("cpu"), [3]);
    assert_eq!(*cell(&ask(&mut base, "room", &["45"]), 0, "cpus"), "2-3");
    assert_eq!(ask(&mut base, "load", &[]).numbers("burden_percent"), [150, 150, 95, 0]);
}

#[test]
fn admitted_gangs_are_facts() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("solver.manifest");
    std::fs::write(&file, "threads 2\nB 1\nH 40 80\n").expect("written");
    let options = crate::gang::GangOptions {
        files: vec![file.display().to_string()],
        machine: "smp-4".into(),
        cut: false,
    };
    let admission = crate::gang::admit(&options).expect("it fits");
    let mut base = about("smp-4");
    base.add_admission(&admission).expect("told");
    let gangs = ask(&mut base, "gangs", &[]);
    assert_eq!((gangs.rows.len(), cell(&gangs, 1, "slot_ns")), (2, &json!(40_000_000)));
    // The view and the controller book the same.
    let booked = base.select("SELECT percent FROM booked ORDER BY cpu").expect("read");
    let percent = |b: &crate::gang::Booked| json!((b.percent * f64::from(WHOLE)).round() / f64::from(WHOLE));
    assert_eq!(
        booked.rows.iter().map(|r| r[0].clone()).collect::<Vec<_>>(),
        admission.cpus.iter().map(percent).collect::<Vec<_>>()
    );
}

#[test]
fn a_query_changes_nothing_and_facts_reach_nothing_else() {
    let mut base = about("smp-2");
    for sql in [
        "DELETE FROM cpu",
        "UPDATE cpu SET core = 0 RETURNING cpu",
        "ATTACH 'x.db' AS x",
        "PRAGMA trusted_schema = 1",
        "VACUUM INTO 'x.db'",
        "CREATE TABLE t (a)",
        "SELECT 1; DELETE FROM cpu",
        "nonsense",
        "",
    ] {
        let fault = base.select(sql).expect_err(sql);
        assert!(fault.blame == crate::Blame::User && fault.diags[0].remedy().is_some(), "{sql}");
    }
    for sql in [
        "ATTACH 'x.db' AS x",
        "DROP TABLE cpu",
        "PRAGMA user_version = 9",
        "INSERT INTO load VALUES (0, 5); nonsense",
    ] {
        assert!(base.tell("facts", sql).is_err(), "{sql}");
    }
    assert_eq!(base.select("SELECT * FROM load").expect("read").rows.len(), 0, "all statements, or none");
    base.tell("facts", "INSERT INTO load VALUES (0, 50)").expect("still usable");
    assert_eq!(base.select("SELECT count(*) FROM cpu").expect("read").rows[0][0], 2);
}

#[test]
fn a_query_without_an_end_is_ended() {
    let mut base = about("smp-1");
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    let fault = base.select(endless).expect_err("endless");
    assert!(fault.to_string().contains("takes longer than"), "{fault}");
    assert_eq!(base.select("SELECT 1").expect("time again").rows.len(), 1);
}

#[test]
fn what_was_saved_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("machine.db");
    let mut base = about("amd-2x2");
    base.tell("facts", "INSERT INTO device VALUES ('eth0', 'network', 1)").expect("told");
    base.save(&file).expect("written");
    base.save(&file).expect("replaced");
    let mut again = Base::open(&file).expect("a base");
    assert_eq!(ask(&mut again, "devices", &["eth0"]).numbers("node"), [1]);
    assert_eq!(again.latencies().expect("read").one_way_ns, base.latencies().expect("read").one_way_ns);
    assert!(again.tell("facts", "DELETE FROM device").is_err(), "a saved base is read only");
    let other = folder.path().join("other");
    for text in [
        "",
        "no database at all, and longer than a header of one hundred bytes ................................",
    ] {
        std::fs::write(&other, text).expect("written");
        let fault = Base::open(&other).err().expect("not a base");
        assert!(fault.to_string().contains("is not a knowledge base"), "{fault}");
    }
    assert!(Base::open(&folder.path().join("missing")).is_err());
}

#[test]
fn every_query_answers_on_every_machine_and_says_what_is_wrong() {
    for machine in ["smp-1", "dual-socket", "accel-4x2", "hotplug", "numa-1024"] {
        let mut base = about(machine);
        for q in queries() {
            let args: Vec<String> = q
                .args
                .iter()
                .filter(|a| !a.optional)
                .map(|a| match a.name {
                    "N" | "PERCENT" => "1".into(),
                    "PROGRAM" => "x".into(),
                    _ => "0".to_string(),
                })
                .collect();
            let table = base.ask(q.name, &args).unwrap_or_else(|f| panic!("{machine}: {}: {f}", q.usage()));
            assert!(table.rows.iter().all(|r| r.len() == table.columns.len()));
        }
    }
    let mut base = about("smp-2");
    for (name, args, words) in [
        ("neer", &[][..], "there is no query called `neer`"),
        ("near", &[], "takes other arguments: 0"),
        ("near", &["2"], "there is no CPU 2 here"),
        ("near", &["x"], "`x` is no number of a CPU"),
        ("share", &["0", "llcs"], "is nothing that CPUs share"),
        ("layout", &["0"], "no number from 1 on"),
        ("layout", &["3"], "3 CPUs cannot be chosen from 2"),
        ("room", &["200"], "no number from 0 to 100"),
    ] {
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let fault = base.ask(name, &args).expect_err(name);
        assert!(fault.to_string().contains(words), "{fault}");
    }
}
