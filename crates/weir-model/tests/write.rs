// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Workloads as files: what is written is read as the same.

use weir_model::Workload;

fn resolve(spec: &str, text: Option<&str>) -> Workload {
    let read = |_: &str| Ok(text.unwrap_or("").as_bytes().to_vec());
    Workload::resolve(spec, 7, &read, &[]).unwrap_or_else(|e| panic!("{spec}: {e}\n{}", text.unwrap_or("")))
}

/// Tasks, apart from how objects and instances are called.
fn back(w: &Workload) -> Workload {
    let text = w.to_toml().unwrap_or_else(|e| panic!("{e}"));
    resolve("x.toml", Some(&text))
}

fn same(w: &Workload, what: &str) {
    let b = back(w);
    assert_eq!(b.duration_ns, w.duration_ns, "{what}");
    assert_eq!(b.tasks.len(), w.tasks.len(), "{what}");
    for (x, y) in w.tasks.iter().zip(&b.tasks) {
        assert_eq!(
            (&x.group, x.start_ns, x.policy, x.priority),
            (&y.group, y.start_ns, y.policy, y.priority),
            "{what}"
        );
        assert_eq!((&x.cpus, &x.isa, x.timing, x.on_miss), (&y.cpus, &y.isa, y.timing, y.on_miss), "{what}");
    }
    assert_eq!(
        (&b.fairness, &b.criticality, &b.machine_events),
        (&w.fairness, &w.criticality, &w.machine_events),
        "{what}"
    );
    let sizes = |w: &Workload| {
        (w.channels.iter().map(|c| c.1).sum::<u64>(), w.barriers.iter().map(|b| b.1).sum::<u32>())
    };
    assert_eq!(sizes(&b), sizes(w), "{what}");
    // Objects may get other numbers, in the order of their first use; after one trip they stay.
    let again = back(&b);
    assert_eq!(again.tasks, b.tasks, "{what}");
    let ops = |w: &Workload| w.tasks.iter().map(|t| t.program.len()).sum::<usize>();
    assert_eq!(ops(&b), ops(w), "{what}");
}

#[test]
fn generators_and_the_catalogue() {
    for spec in ["hackbench:groups=2,fds=3,loops=4", "periodic:tasks=5,util=150%"] {
        same(&resolve(spec, None), spec);
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads");
    let (mut written, mut refused) = (0, Vec::new());
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("there").map(|f| f.expect("readable").path()).collect();
    files.sort();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("text");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let w = resolve(&name, Some(&text));
        match w.to_toml() {
            Ok(_) => {
                same(&w, &name);
                written += 1;
            }
            Err(e) => refused.push(format!("{name}: {}", e.message)),
        }
    }
    assert!(written >= 9, "{written} written; {refused:#?}");
}

#[test]
fn what_has_no_words_is_refused() {
    let text = "[[dag]]\nname = \"d\"\nperiod = \"10ms\"\nnodes = { a = \"1ms\", b = \"1ms\" }\nedges = [\"a -> b\"]\n";
    let e = resolve("x.toml", Some(text)).to_toml().expect_err("graphs");
    assert!(e.message.contains("graphs") && e.help.is_some(), "{e:?}");
}
