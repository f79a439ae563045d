// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Components that the running program has never seen: built, looked at, loaded, used in a live topology, unloaded again; bad
//! ones are refused with their reason (source 0, 7.4.1). Plugins are for the native port.

#![cfg(not(feature = "strict"))]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_core::{HEADERS, MachineShape, Msg, OWN_TOPICS, OwnTopic, Topic, catalog, crash, loaded};
use weir_glue::{plugin, source};
use weir_tests::lab::compile;
use weir_tests::trial::{self, Effort};
use weir_tests::wtest::{self, Outcome};
use weir_tests::{Lab, root};

/// What is loaded belongs to the whole program: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn example() -> PathBuf {
    root().join("crates/weir-tests/native/loaded/newest_first.c")
}

/// The example with a change, built with these headers.
fn variant(
    folder: &Path,
    name: &str,
    change: impl Fn(String) -> String,
    headers: &[(&str, &str)],
) -> PathBuf {
    let source = folder.join(format!("{name}.c"));
    let text =
        std::fs::read_to_string(example()).expect("the example is there").replace("newest_first", name);
    std::fs::write(&source, change(text)).expect("writable");
    let object = folder.join(format!("{name}.so"));
    let done =
        plugin::build(&source, headers, &folder.join(name), &object, "cc", None).expect("a C compiler");
    assert!(done.ok, "{}", done.said);
    object
}

fn refused(object: &Path, part: &str) {
    let error = loaded::load(object).expect_err("it is bad");
    assert!(error.message.contains(part) && !error.help.is_empty(), "{}: {error:?}", object.display());
}

const BEFORE: &str = "annotate affinity; entry -> policy :: head_queue -> cpus;";
const WITH: &str = "annotate affinity; entry -> policy :: newest_first(scale = 2) -> cpus;";

#[test]
fn a_component_comes_into_a_live_topology_and_leaves() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let object = weir_tests::plugin::build(&example(), folder.path());
    let shape = MachineShape::flat(1);
    let mut lab = Lab::from_text(BEFORE, shape.clone()).expect("sound");
    let tasks: Vec<_> = (0..4).map(|_| lab.create(0).expect("memory")).collect();
    tasks.iter().for_each(|t| lab.admit(0, *t).expect("new"));
    assert!(compile("with", WITH, &shape).is_err(), "nobody knows it yet");

    let info = loaded::load(&object).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((info.name.as_str(), info.params.len()), ("newest_first", 1));
    assert!(info.not_in_kernel().is_some() && info.manual.contains("the one with the greatest number first"));
    assert!(loaded::is_loaded(info.id) && !loaded::is_loaded(0));
    let stats = lab.swap(compile("with", WITH, &shape).expect("sound")).expect("it takes over");
    assert_eq!(stats.represented, 4);
    let order = |lab: &mut Lab| lab.tasks(lab.plan.exits[0].expect("an exit"));
    assert_eq!(order(&mut lab), tasks.iter().rev().copied().collect::<Vec<_>>());
    refused_unload("newest_first", "a topology uses");

    // In the place of one instance as well, and out again.
    lab.swap(compile("before", BEFORE, &shape).expect("sound")).expect("it takes over");
    assert_eq!(order(&mut lab), tasks);
    let policy = lab.plan.instances.iter().position(|i| i.name == "policy").expect("it is there") as u32;
    lab.replace(policy, "newest_first", None).expect("in its place");
    let picked = lab.pick(0).expect("a CPU").expect("a task");
    assert_eq!(picked.task, tasks[3]);
    refused_unload("newest_first", "a topology uses");
    lab.replace(policy, "head_queue", None).expect("in its place");
    loaded::unload("newest_first").unwrap_or_else(|e| panic!("{e}"));
    assert!(catalog().get("newest_first").is_none());
    assert!(compile("with", WITH, &shape).is_err(), "nobody knows it any more");
    refused_unload("newest_first", "no component `newest_first` was loaded");
    refused_unload("head_queue", "no component");

    // A plan of former days does not bring back what is gone.
    let again = loaded::load(&object).unwrap_or_else(|e| panic!("{e}"));
    let old = compile("with", WITH, &shape).expect("sound");
    loaded::unload(&again.name).unwrap_or_else(|e| panic!("{e}"));
    assert!(lab.swap(old).expect_err("gone").contains("not loaded any more"));
    assert_eq!(order(&mut lab).len(), 3);
}

fn refused_unload(name: &str, part: &str) {
    let error = loaded::unload(name).expect_err(name);
    assert!(error.message.contains(part), "{error:?}");
}

#[test]
fn a_bad_one_is_refused_with_its_reason() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let dir = folder.path();
    let same = |text: String| text;

    let text = dir.join("text.so");
    std::fs::write(&text, "no ELF").expect("writable");
    refused(&text, "not a 64-bit ELF file");
    refused(&dir.join("missing.so"), "cannot read");
    refused(&std::env::current_exe().expect("a program"), "at most 16 MiB");

    let foreign = |t: String| {
        format!("int printf(const char *, ...);\n{}", t.replace("s->key =", "printf(\"x\");\n\ts->key ="))
    };
    refused(&variant(dir, "chatty", foreign, HEADERS), "it uses `printf`");
    let own = |t: String| {
        format!("int weir_secret(void);\n{}", t.replace("s->key =", "weir_secret();\n\ts->key ="))
    };
    refused(&variant(dir, "curious", own, HEADERS), "it uses `weir_secret`");
    let runs =
        |t: String| t + "\n__attribute__((constructor)) static void runs(void) { __asm__ volatile(\"\"); }\n";
    refused(&variant(dir, "eager", runs, HEADERS), "runs by itself");

    let with = |name: &str, more: &str| {
        let changed: Vec<(&str, String)> = HEADERS
            .iter()
            .map(|(n, t)| (*n, if *n == "component.h" { format!("{t}{more}\n") } else { t.to_string() }))
            .collect();
        let changed: Vec<(&str, &str)> = changed.iter().map(|(n, t)| (*n, t.as_str())).collect();
        variant(dir, name, same, &changed)
    };
    refused(&with("older", "int weir_older(void);"), "another version of the component interface");
    // Before 1.0 the word in front of the hash was another one.
    let mut before = std::fs::read(variant(dir, "before", same, HEADERS)).expect("built");
    let word = before.windows(8).position(|w| w == b"WPLUGIN2").expect("it begins so");
    before[word + 7] = b'1';
    let old = dir.join("updates.so");
    std::fs::write(&old, before).expect("writable");
    refused(&old, "that before 1.0, with update functions in place of a step");
    loaded::load(&with("remarked", "/* a comment changes nothing */")).unwrap_or_else(|e| panic!("{e}"));
    loaded::unload("remarked").unwrap_or_else(|e| panic!("{e}"));

    let listens =
        |t: String| t.replace(".cls = WEIR_ORDER,", ".cls = WEIR_ORDER, .listens = WEIR_TOPIC_BIT(TICK),");
    refused(
        &variant(dir, "liar", listens, HEADERS),
        "says that it listens to TICK, but there is no function `liar_on_tick`",
    );
    // It would keep every task that comes to it.
    let lazy = |t: String| {
        t.replace("WEIR_ENTRY u32 lazy_step(", "static __attribute__((unused)) u32 lazy_forgotten(")
    };
    refused(&variant(dir, "lazy", lazy, HEADERS), "no function `lazy_step` that fills them");
    refused(&variant(dir, "fifo", same, HEADERS), "there is a component `fifo` already");

    let mut bytes = std::fs::read(variant(dir, "cut", same, HEADERS)).expect("built");
    bytes.truncate(bytes.len() / 3);
    let cut = dir.join("half.so");
    std::fs::write(&cut, bytes).expect("writable");
    assert!(loaded::load(&cut).is_err());
    assert_eq!(
        catalog().components.iter().filter(|c| loaded::is_loaded(c.id) && !c.name.is_empty()).count(),
        0
    );
}

/// A component in Rust is one like the others (source 0, 8.9): what it is stands in its header, its layout comes from the framework's
/// headers, its mistakes have a place, and an endless loop of it is noticed.
#[test]
fn a_component_in_rust_is_built_and_loaded() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let example = root().join("crates/weir-tests/native/loaded/later_first.rs");
    let info =
        loaded::load(&weir_tests::plugin::build(&example, folder.path())).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(
        (info.summary.as_str(), info.params[0].max),
        ("the newest task goes first, written in Rust", 1000)
    );
    assert_eq!(
        (info.listens.as_slice(), info.asks.as_slice(), info.per_task),
        (&["PRIORITY".to_owned()][..], &["PRIORITY".to_owned()][..], 8)
    );
    // It obeys the law as those in C do, and one whose order depends on what came and went is found.
    let effort = Effort { cpus: 4, cases: 8, steps: 60, seed: None };
    trial::law(&info, effort).unwrap_or_else(|e| panic!("{e}"));
    let lawless = folder.path().join("lawless.rs");
    let turns = "step.key = if me.seen % 2 == 0 { me.seen } else { !me.seen };";
    let text = std::fs::read_to_string(&example).expect("there").replace("later_first", "lawless");
    std::fs::write(&lawless, text.replace("step.key = !u64::from(task.id());", turns)).expect("writable");
    let other =
        loaded::load(&weir_tests::plugin::build(&lawless, folder.path())).unwrap_or_else(|e| panic!("{e}"));
    trial::law(&other, effort).expect_err("its order depends on the past");
    loaded::unload("lawless").unwrap_or_else(|e| panic!("{e}"));

    let shape = MachineShape::flat(1);
    let with = "annotate affinity, priority; entry -> policy :: later_first(scale = 2) -> cpus;";
    let mut lab = Lab::from_text(with, shape.clone()).expect("sound");
    let tasks: Vec<_> = (0..5).map(|_| lab.create(0).expect("memory")).collect();
    tasks.iter().for_each(|t| lab.admit(0, *t).expect("new"));
    lab.notify_value(Topic::Priority, tasks[1], 3).expect("delivered");
    let order = |lab: &mut Lab| lab.tasks(lab.plan.exits[0].expect("an exit"));
    assert_eq!(order(&mut lab), tasks.iter().rev().copied().collect::<Vec<_>>());
    lab.swap(lab.plan.clone()).expect("the same topology");
    lab.sched.check().expect("sound");
    drop(lab);
    loaded::unload("later_first").unwrap_or_else(|e| panic!("{e}"));

    let text = std::fs::read_to_string(&example).expect("there");
    let built = |name: &str, change: &dyn Fn(String) -> String| {
        let source = folder.path().join(format!("{name}.rs"));
        std::fs::write(&source, change(text.replace("later_first", name))).expect("writable");
        let object = source.with_extension("so");
        let work = folder.path().join(name);
        let done = plugin::build(&source, HEADERS, &work, &object, "cc", None).expect("compilers");
        (done, object)
    };
    let (done, _) = built("typed", &|t| t.replace("me.seen += 1;", "me.sen += 1;"));
    assert!(!done.ok && done.findings[0].message.contains("no field `sen`"), "{done:?}");
    let (done, _) = built("classed", &|t| t.replace("class:    order", "class:    orders"));
    assert!(!done.ok && done.findings[0].message.contains("`orders` is no class"), "{done:?}");
    let (done, _) = built("odd", &|t| {
        t.replace("pub fn construct(me: &mut State)", "pub fn construct(me: &State, x: u32)")
    });
    assert!(!done.ok && !done.said.is_empty(), "{done:?}");
    // What it does wrong while it runs stops it, not the program.
    for (name, wrong) in [
        ("endless", "while me.seen < u64::MAX { me.seen = 0; }"),
        ("bounds", "let _ = [1, 2][me.seen as usize + 2];"),
    ] {
        let (done, object) = built(name, &|t| t.replace("me.seen += 1;", wrong));
        assert!(done.ok, "{}", done.said);
        loaded::load(&object).unwrap_or_else(|e| panic!("{name}: {e}"));
        let text = format!("entry -> policy :: {name} -> cpus;").replace("entry", "annotate priority; entry");
        let mut lab = Lab::from_text(&text, shape.clone()).expect("sound");
        let t = lab.create(0).expect("memory");
        let ended = crash::catch(|| lab.admit(0, t).expect("new"));
        let why = ended.expect_err("it is noticed").to_string();
        assert!(why.contains(name), "{why}");
        std::mem::forget(lab);
    }
}

/// What only the constructor can know: the refusal has instance and parameter.
#[test]
fn a_constructor_that_refuses_names_its_parameter() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let picky = |t: String| {
        t.replacen(
            "WEIR_ENTRY u32",
            "WEIR_ENTRY int picky_construct(struct picky weir_mem *self)\n\
             {\n\treturn self->scale == 7 ? WEIR_REFUSE(picky, scale) : self->scale == 8 ? -WEIR_EPORTS : 0;\n}\n\n\
             WEIR_ENTRY u32",
            1,
        )
    };
    loaded::load(&variant(folder.path(), "picky", picky, HEADERS)).unwrap_or_else(|e| panic!("{e}"));
    let shape = MachineShape::flat(1);
    let with = |n: u32| {
        let text = format!("annotate affinity; entry -> policy :: picky(scale = {n}) -> cpus;");
        compile("with", &text, &shape).expect("in its range")
    };
    let mut lab = Lab::from_text(BEFORE, shape.clone()).expect("sound");
    let why = lab.swap(with(7)).expect_err("it refuses");
    assert!(why.contains("`policy` (picky) refuses the value of its parameter `scale`"), "{why}");
    let why = lab.swap(with(8)).expect_err("it refuses");
    assert!(why.contains("`policy` (picky) refuses the number or kind of its pipes"), "{why}");
    lab.swap(with(6)).expect("it takes over");
    let wrong = with(7).instances.iter().find(|i| i.name == "policy").expect("it is there").clone();
    let at = lab.plan.instances.iter().position(|i| i.name == "policy").expect("it is there") as u32;
    let why = lab.sched.swap_instance(at, wrong.class, &wrong.params).expect_err("it refuses").message;
    assert!(why.contains("`policy` (picky) refuses the value of its parameter `scale`"), "{why}");
    lab.swap(compile("before", BEFORE, &shape).expect("sound")).expect("it takes over");
    loaded::unload("picky").unwrap_or_else(|e| panic!("{e}"));
}

/// A component's text under another name: the component, its state, and its functions.
fn renamed(text: &str, old: &str, new: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    let (mut rest, mut before) = (text, String::new());
    while let Some(start) = rest.find(is_word) {
        let end = rest[start..].find(|c| !is_word(c)).map_or(rest.len(), |e| start + e);
        let (gap, word) = (&rest[..start], &rest[start..end]);
        out.push_str(gap);
        let of_it = word.strip_prefix(old).is_some_and(|r| r.starts_with('_'));
        let itself = word == old
            && (before == "struct"
                || [
                    "WEIR_COMPONENT",
                    "WEIR_PARAMS",
                    "WEIR_PARAM",
                    "WEIR_RELATION",
                    "WEIR_REVIEW_ALL",
                    "WEIR_PLACE",
                ]
                .contains(&before.as_str()));
        if of_it || itself {
            out.push_str(new);
            out.push_str(&word[old.len()..]);
        } else {
            out.push_str(word);
        }
        before = word.to_owned();
        rest = &rest[end..];
    }
    out + rest
}

/// The `.wtest` of a component for the one of another name.
fn renamed_script(text: &str, old: &str, new: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut part = String::new();
    let mut out = String::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix('%') {
            part = head.split_whitespace().next().unwrap_or_default().to_owned();
        }
        let replaced = match part.as_str() {
            "topology" => {
                let mut done = String::new();
                let mut rest = line;
                while let Some(at) = rest.find(old) {
                    let (head, tail) = (&rest[..at], &rest[at + old.len()..]);
                    let whole = !head.ends_with(is_word) && !tail.starts_with(is_word);
                    done.push_str(head);
                    done.push_str(if whole { new } else { old });
                    rest = tail;
                }
                done + rest
            }
            "script" if line.trim_start().starts_with("replace ") => line.replace(old, new),
            _ => line.to_owned(),
        };
        out.push_str(&replaced);
        out.push('\n');
    }
    out
}

/// A component of the catalogue, under another name, as one that is loaded: how it fails.
fn as_a_loaded_one(info: &weir_core::ComponentInfo, folder: &Path, cases: u32) -> Result<usize, String> {
    let (old, new) = (info.name.as_str(), format!("my_{}", info.name));
    let file = root().join(&info.source);
    let text = renamed(&std::fs::read_to_string(&file).expect("readable"), old, &new);
    let topics: Vec<&str> = Topic::all().map(Topic::name).collect();
    let taken: Vec<&str> = catalog().components.iter().map(|c| c.name.as_str()).collect();
    let found = source::check(&new, &text, &topics, &taken);
    if !found.is_empty() {
        return Err(format!("refused: {found:?}"));
    }
    let path = folder.join(format!("{new}.c"));
    let object = folder.join(format!("{new}.so"));
    std::fs::write(&path, text).expect("writable");
    let done = plugin::build(&path, HEADERS, &folder.join(&new), &object, "cc", None).expect("a C compiler");
    if !done.ok || !done.said.is_empty() {
        return Err(format!("does not compile: {}", done.said));
    }
    let loaded = loaded::load(&object).map_err(|e| e.message)?;
    let tried = (|| {
        let mut scripts = 0;
        for entry in std::fs::read_dir(file.parent().expect("a folder")).expect("readable").flatten() {
            let script = entry.path();
            let stem = script.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
            let of_it = stem.strip_prefix(old).is_some_and(|r| r.is_empty() || r.starts_with('_'));
            let own = stem == old || !script.with_extension("c").exists();
            if script.extension().is_some_and(|e| e == "wtest") && of_it && own {
                let text = renamed_script(&std::fs::read_to_string(&script).expect("readable"), old, &new);
                let ran = crash::catch(|| wtest::run(&text)).map_err(|c| format!("{stem}: {c}"))?;
                let ran = ran.map_err(|e| format!("{stem}.wtest: {e}"))?;
                assert_eq!(ran, Outcome::Passed, "{stem}");
                scripts += 1;
            }
        }
        let effort = Effort { cpus: 4, cases, steps: 60, seed: None };
        trial::law(&loaded, effort).map_err(|e| e.to_string())?;
        Ok(scripts)
    })();
    loaded::unload(&new).map_err(|e| e.message)?;
    tried
}

/// Whatever the interface offers is there for components outside of the tree, too: those of the catalogue, renamed, build,
/// load, pass their scripts and obey the law. `LOADED=all` takes all of them, and more histories; without it every sixth.
#[test]
fn the_catalogue_could_have_been_written_outside() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let all = std::env::var("LOADED").is_ok_and(|v| v == "all");
    let written: Vec<_> = catalog().components.iter().filter(|c| c.source.ends_with(".c")).cloned().collect();
    assert!(written.len() > 50, "{}", written.len());
    let (mut failed, mut tried) = (Vec::new(), 0);
    for info in written.iter().step_by(if all { 1 } else { 6 }) {
        let done = as_a_loaded_one(info, folder.path(), if all { 24 } else { 4 });
        println!(
            "{}: {}",
            info.name,
            done.as_ref().map_or_else(String::clone, |n| format!("{n} scripts, the law"))
        );
        tried += 1;
        if let Err(e) = done {
            failed.push(format!("{}: {e}", info.name));
        }
    }
    println!("{tried} of {} components, {} failed", written.len(), failed.len());
    assert!(failed.is_empty(), "\n{}", failed.join("\n"));
}

/// And none is refused: this much costs little for all of them.
#[test]
fn no_component_of_the_catalogue_is_refused_by_its_text() {
    let topics: Vec<&str> = Topic::all().map(Topic::name).collect();
    for info in catalog().components.iter().filter(|c| c.source.ends_with(".c")) {
        let text = std::fs::read_to_string(root().join(&info.source)).expect("readable");
        let found = source::check(&info.name, &text, &topics, &[]);
        assert_eq!(found, [], "{}", info.source);
    }
}

fn mood() -> PathBuf {
    root().join("crates/weir-tests/native/loaded/mood.c")
}

/// A topic that nobody foresaw: it comes with the graph that has its owner and goes with it, carries what its owner says, is
/// heard, published, asked and answered, and takes messages only from the callers that it names.
#[test]
fn a_component_brings_a_topic_along() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    loaded::load(&weir_tests::plugin::build(&mood(), folder.path())).unwrap_or_else(|e| panic!("{e}"));
    let topic = catalog().own_topic("MOOD").expect("it was brought along").clone();
    assert_eq!((topic.fields.len(), topic.bytes, topic.from_users), (3, 24, true));

    let shape = MachineShape::flat(2);
    let with = "annotate mood, priority, affinity; entry -> policy :: head_queue -> cpus;";
    let mut lab =
        Lab::from_text("annotate priority, affinity; entry -> policy :: head_queue -> cpus;", shape.clone())
            .expect("sound");
    let t = lab.create(0).expect("memory");
    lab.admit(0, t).expect("new");
    let about = Msg { task: Some(t), ..Msg::default() };
    let code = |r: Result<(), weir_core::Error>| r.expect_err("refused").code;
    assert_eq!(code(lab.sched.publish_own(0, &topic, &about, &[1, 2, 3])), 5, "nobody has it yet");

    // Without a restart of anything, and with the task in the graph.
    lab.swap(compile("with", with, &shape).expect("sound")).expect("it takes over");
    let id = lab.sched.topic_find(&topic).expect("it is there");
    lab.publish(&topic, &about, &[1, 2, u64::MAX]).expect("a program may");
    let asked = |lab: &mut Lab| lab.sched.ask(1, id, &about).expect("an answer");
    assert_eq!(asked(&mut lab).data, [1, 2, u64::MAX]);
    // Published by the component itself, ten times in a call; what it publishes is copied.
    lab.notify_value(Topic::Priority, t, 40).expect("sound");
    assert_eq!((asked(&mut lab).value, asked(&mut lab).data[1]), (49, 109));
    assert_eq!(lab.sched.faults(), (0, 0));

    assert_eq!(code(lab.sched.publish_own(0, &topic, &about, &[1, 2])), 9, "a payload of another length");
    let newer = OwnTopic { version: 2, ..topic.clone() };
    assert_eq!(code(lab.sched.publish_own(0, &newer, &about, &[1, 2, 3])), 9, "another version");
    let task_of_nobody = lab.sched.ask(0, id, &Msg::default());
    assert_eq!(task_of_nobody.expect_err("the component refuses").code, 2);
    assert_eq!(lab.sched.ask(0, Topic::Deadline as u32, &about).expect_err("nobody answers").code, 5);

    // A swap keeps what is known, and goes with another place in the table if it must.
    lab.swap(lab.plan.clone()).expect("the same topology");
    assert_eq!(asked(&mut lab).value, 49);

    // Removal waits for the users: the graph that has the topic, and the runtime that holds it.
    assert_eq!(lab.sched.topic_register(&topic).expect("the same"), id);
    lab.sched.topic_hold(id, true).expect("there");
    assert_eq!(code(lab.sched.topic_remove(id)), 7, "in use");
    lab.swap(
        compile("without", "annotate affinity, priority; entry -> policy :: fifo -> cpus;", &shape)
            .expect("sound"),
    )
    .expect("it takes over");
    assert_eq!(lab.sched.topic_find(&topic).expect("held still"), id);
    lab.sched.topic_hold(id, false).expect("there");
    assert_eq!(lab.sched.topic_find(&topic).expect_err("gone with its last user").code, 5);
    assert_eq!(code(lab.sched.publish_own(0, &topic, &about, &[1, 2, 3])), 5);
    // What was registered stays without users until it is removed.
    let id = lab.sched.topic_register(&topic).expect("room");
    lab.swap(compile("with", with, &shape).expect("sound")).expect("it takes over");
    lab.swap(compile("without", "entry -> fifo -> cpus;", &shape).expect("sound")).expect("it takes over");
    assert_eq!(lab.sched.topic_find(&topic).expect("there"), id);
    lab.sched.topic_remove(id).expect("nobody uses it");
    assert_eq!(lab.sched.topic_find(&topic).expect_err("removed").code, 5);
    drop(lab);
    loaded::unload("mood").expect("nobody uses it");
}

/// The bug: the page said 19 topics, 17 fitted, and the error of the 18th was `the arena is full`.
#[test]
fn as_many_topics_fit_as_the_page_says() {
    let page = std::fs::read_to_string(root().join("docs/topics.md")).expect("the page is there");
    assert!(
        page.contains(&format!("has room for {OWN_TOPICS} such topics")),
        "docs/topics.md says another number"
    );
    let mut lab =
        Lab::from_text("annotate tenant; entry -> fifo -> cpus;", MachineShape::flat(1)).expect("sound");
    let tenant = catalog().own_topic("TENANT").expect("there").clone();
    let topic =
        |n: usize| OwnTopic { name: format!("TOPIC_{n}"), uuid: 0xf00d_0000 + n as u64, ..tenant.clone() };
    for n in 1..OWN_TOPICS {
        lab.sched.topic_register(&topic(n)).unwrap_or_else(|e| panic!("{n}: {e}"));
    }
    let one_more = lab.sched.topic_register(&topic(OWN_TOPICS)).expect_err("no room");
    assert!(one_more.code == 13 && one_more.message.contains(&format!("{OWN_TOPICS} topics")), "{one_more}");
    // The same when a topology brings it.
    let shape = MachineShape::flat(1);
    lab.swap(compile("without", "entry -> fifo -> cpus;", &shape).expect("sound")).expect("it takes over");
    lab.sched.topic_register(&topic(OWN_TOPICS)).expect("the place of TENANT");
    let why = lab.swap(compile("with", "annotate tenant; entry -> fifo -> cpus;", &shape).expect("sound"));
    let why = why.expect_err("no room");
    assert!(why.contains(&format!("{OWN_TOPICS} topics")) && !why.contains("arena"), "{why}");
}

/// The callers that may publish a topic are declared with it.
#[test]
fn a_topic_of_components_takes_nothing_from_programs() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("sulk.c");
    let text =
        std::fs::read_to_string(mood()).expect("there").replace("mood", "sulk").replace("MOOD", "SULK");
    let text = text
        .replace("WEIR_FROM_COMPONENTS | WEIR_FROM_USER", "WEIR_FROM_COMPONENTS")
        .replace("0x51ab", "0x61ab");
    std::fs::write(&file, text).expect("writable");
    loaded::load(&weir_tests::plugin::build(&file, folder.path())).unwrap_or_else(|e| panic!("{e}"));
    let topic = catalog().own_topic("SULK").expect("there").clone();
    let shape = MachineShape::flat(1);
    let mut lab = Lab::from_text("annotate sulk; entry -> fifo -> cpus;", shape).expect("sound");
    let t = lab.create(0).expect("memory");
    let about = Msg { task: Some(t), ..Msg::default() };
    assert_eq!(lab.sched.publish_own(0, &topic, &about, &[1, 2, 3]).expect_err("not from here").code, 12);
    lab.notify_value(Topic::Priority, t, 7).expect("sound");
    let id = lab.sched.topic_find(&topic).expect("there");
    assert_eq!(lab.sched.ask(0, id, &about).expect("an answer").value, 16);
    drop(lab);
    loaded::unload("sulk").expect("nobody uses it");
}

/// Descriptions of topics that cannot be meant.
#[test]
fn topics_that_make_no_sense_are_refused() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(mood()).expect("there");
    for (name, old, new, part) in [
        ("mood_a", "0x51ab90c3d7e8f246ull", "9", "standard topics"),
        ("mood_b", "\"joy anger since_ns\"", "\"joy anger\"", "names 2 words of 24 bytes"),
        ("mood_c", "\"joy anger since_ns\"", "\"\"", "whose words have no names"),
        ("mood_d", "WEIR_FROM_COMPONENTS | WEIR_FROM_USER", "0", "nobody may publish"),
        ("mood_e", "MOOD", "TENANT", "is not the TENANT of `tenant`"),
        ("mood_f", "sizeof(struct mood_record),\n\t\t\t\t\t \"joy", "72,\n\t\t\t\t\t \"joy", "72 bytes"),
        (
            "mood_g",
            "MOOD, 0x51ab90c3d7e8f246ull",
            "MOOD, 0x9c1f3b7ae24d5680ull",
            "is not the TENANT of `tenant`",
        ),
    ] {
        let changed = text.replace(old, new);
        assert_ne!(changed, text, "{name}");
        // Functions are called by the component and the topic.
        let (topic, changed) =
            (if new == "TENANT" { "tenant" } else { "mood" }, changed.replace("mood", name));
        let changed = ["on", "answer"].iter().fold(changed, |text, entry| {
            text.replace(&format!("{name}_{entry}_{name}"), &format!("{name}_{entry}_{topic}"))
        });
        let file = folder.path().join(format!("{name}.c"));
        std::fs::write(&file, changed).expect("writable");
        let object = folder.path().join(format!("{name}.so"));
        let done = plugin::build(&file, HEADERS, &folder.path().join(name), &object, "cc", None)
            .expect("a C compiler");
        assert!(done.ok, "{name}: {}", done.said);
        refused(&object, part);
    }
}
