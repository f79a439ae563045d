// SPDX-License-Identifier: MIT OR GPL-2.0-only
use super::{Rewrite, rewrite};
use crate::testcat::catalog;

/// The text after a change; `§` stands before the place in it.
fn after(text: &str, what: impl Fn(u32) -> Rewrite) -> String {
    try_after(text, what).expect("it can be done")
}

fn try_after(text: &str, what: impl Fn(u32) -> Rewrite) -> Result<String, String> {
    let at = text.find('§').unwrap_or(0);
    let text = text.replace('§', "");
    apply(&text, &what(at as u32))
}

fn apply(text: &str, what: &Rewrite) -> Result<String, String> {
    let mut out = text.to_string();
    for change in rewrite(text, what, &catalog())?.iter().rev() {
        out.replace_range(change.start..change.end, &change.text);
    }
    Ok(out)
}

fn set(param: &str, value: Option<&str>) -> impl Fn(u32) -> Rewrite {
    let (param, value) = (param.to_string(), value.map(String::from));
    move |at| Rewrite::Set { at, param: param.clone(), value: value.clone() }
}

#[test]
fn parameters_come_change_and_go() {
    let one = "entry -> §rr(slice = 3ms /* long */) -> cpus; // all\n";
    assert_eq!(
        after(one, set("slice", Some("5ms"))),
        "entry -> rr(slice = 5ms /* long */) -> cpus; // all\n"
    );
    assert_eq!(after(one, set("slice", None)), "entry -> rr -> cpus; // all\n");
    assert_eq!(
        after("entry -> §rr -> cpus;", set("slice", Some("1ms"))),
        "entry -> rr(slice = 1ms) -> cpus;"
    );
    assert_eq!(
        after("entry -> §q :: rr[0] -> cpus;", set("a", Some("1"))),
        "entry -> q :: rr(a = 1)[0] -> cpus;"
    );
    let two = "§rr(a = 1, b = 2);";
    assert_eq!(after(two, set("a", None)), "rr(b = 2);");
    assert_eq!(after(two, set("b", None)), "rr(a = 1);");
    assert_eq!(after(two, set("c", Some("3"))), "rr(a = 1, b = 2, c = 3);");
    let own = Rewrite::SetOwn { param: "n".into(), value: "8".into() };
    assert_eq!(
        apply("param n: count = 1; // how many\n", &own).unwrap(),
        "param n: count = 8; // how many\n"
    );
    assert!(apply("entry -> cpus;", &own).unwrap_err().contains("no parameter `n`"));
}

#[test]
fn what_is_removed_leaves_its_neighbours_joined() {
    let remove = |at| Rewrite::Remove { at };
    assert_eq!(after("entry -> §a -> b ~> cpus;", remove), "entry -> b ~> cpus;");
    assert_eq!(
        after("entry -> lb -> each cpu { §rr -> cpu };", remove),
        "entry -> lb -> each cpu { -> cpu };"
    );
    assert_eq!(
        after("entry -> lb -> each cpu { -> §rr -> cpu };", remove),
        "entry -> lb -> each cpu { -> cpu };"
    );
    assert_eq!(after("entry -> lb -> each cpu { rr -> §cpu };", remove), "entry -> lb -> each cpu { rr };");
    assert_eq!(after("// x\n§a :: fifo;\nentry -> cpus;\n", remove), "// x\nentry -> cpus;\n");
    assert_eq!(after("annotate a, §b, c;", remove), "annotate a, c;");
    assert_eq!(after("annotate §a, b;", remove), "annotate b;");
    assert_eq!(after("annotate §a;\nentry -> cpus;", remove), "entry -> cpus;");
    // Every mention goes.
    assert_eq!(after("entry -> §l :: lb;\nl[cpu 0] -> q -> cpu 0;\n", remove), "entry;\nq -> cpu 0;\n");
}

#[test]
fn what_is_inserted_stands_in_each_of_the_pipes() {
    let insert = |arrow| Rewrite::Insert { arrow, component: "fifo".into() };
    assert_eq!(after("entry §-> cpus;", insert), "entry -> fifo -> cpus;");
    assert_eq!(after("entry §~> all cpus;", insert), "entry -> fifo ~> all cpus;");
    assert_eq!(
        after("entry -> lb §-> each cpu { rr -> cpu };", insert),
        "entry -> lb -> each cpu { fifo -> rr -> cpu };"
    );
    assert_eq!(
        after("entry -> lb §-> each llc { -> each cpu { -> cpu } };", insert),
        "entry -> lb -> each llc { -> each cpu { -> fifo -> cpu } };"
    );
    assert_eq!(
        after("each cpu { entry -> q } §-> x -> cpus;", insert),
        "each cpu { entry -> q -> fifo } -> x -> cpus;"
    );
    assert!(
        try_after("entry §-> cpus;", |arrow| Rewrite::Insert { arrow, component: "nothing".into() }).is_err()
    );
}

#[test]
fn pipes_are_cut_joined_and_postponed() {
    assert_eq!(after("a §-> b;", |arrow| Rewrite::Cut { arrow }), "a; b;");
    assert_eq!(after("a §-> b;", |arrow| Rewrite::Postpone { arrow, postponed: true }), "a ~> b;");
    assert_eq!(after("a §~> b;", |arrow| Rewrite::Postpone { arrow, postponed: false }), "a -> b;");
    let join = |text: &str, from: &str, to: &str| {
        let at = |word: &str| text.find(word).expect("a word") as u32;
        apply(text, &Rewrite::Join { from: at(from), to: at(to) })
    };
    assert_eq!(
        join("x :: fifo;\ny :: rr; // two\nentry -> x;\n", "x ::", "y ::").unwrap(),
        "x :: fifo;\ny :: rr; // two\nx -> y;\nentry -> x;\n"
    );
    assert_eq!(
        join("entry -> fifo -> rr -> cpus;", "fifo", "rr").unwrap(),
        "entry -> fifo_a :: fifo -> rr_a :: rr -> cpus;\nfifo_a -> rr_a;"
    );
    assert_eq!(
        join("l :: lb; each cpu { q :: rr -> cpu };", "l ::", "q ::").unwrap(),
        "l :: lb; each cpu { q :: rr -> cpu; l -> q };"
    );
    assert_eq!(
        join("l :: lb; each cpu { q :: rr } -> x -> cpus;", "l ::", "q ::").unwrap(),
        "l :: lb; each cpu { l -> q; q :: rr } -> x -> cpus;"
    );
    assert!(
        join("each cpu { a :: rr } ; each cpu { b :: rr };", "a ::", "b ::")
            .unwrap_err()
            .contains("different blocks")
    );
    assert!(join("entry -> a -> cpus;", "entry", "a").unwrap_err().contains("one place"));
}

#[test]
fn names_and_components_are_exchanged() {
    let rename = |at| Rewrite::Rename { at, name: "q".into() };
    assert_eq!(after("entry -> §fifo -> cpus;", rename), "entry -> q :: fifo -> cpus;");
    assert_eq!(
        after("§a :: lb; a -> x; each cpu { a -> y }", rename),
        "q :: lb; q -> x; each cpu { q -> y }"
    );
    assert!(try_after("§a :: lb;", |at| Rewrite::Rename { at, name: "cpu".into() }).is_err());
    assert!(try_after("§a :: lb;", |at| Rewrite::Rename { at, name: "3".into() }).is_err());
    let fifo = |at| Rewrite::Exchange { at, component: "fifo".into() };
    assert_eq!(after("entry -> §q :: rr(slice = 3ms)[0] -> cpus;", fifo), "entry -> q :: fifo[0] -> cpus;");
}

#[test]
fn what_is_added_stands_alone() {
    let add = |c: &str| Rewrite::Add { component: c.into() };
    assert_eq!(apply("entry -> cpus;\n", &add("fifo")).unwrap(), "entry -> cpus;\nfifo_a :: fifo;\n");
    assert_eq!(apply("", &add("fifo")).unwrap(), "fifo_a :: fifo;\n");
    assert_eq!(apply("annotate a; // why\n", &add("affinity")).unwrap(), "annotate a, affinity; // why\n");
    assert_eq!(
        apply("// what\nentry -> cpus;\n", &add("affinity")).unwrap(),
        "// what\nannotate affinity;\nentry -> cpus;\n"
    );
}
