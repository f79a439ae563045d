// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Recordings of the same load by several tools, traces of our own, and files that are none.
//!
//! `recordings/` was made in a virtual machine with two CPUs: hackbench by trace-cmd 3.1.6 (version 6 without the parts that
//! are not read; version 7 with the packed events as written; its report) and by perf 6.1, rt-app by tracefs.

mod requests;
mod support;

use proptest::prelude::*;
use support::{FTRACE, PERF, REPORT, V6, V7, options};
use weir_model::Workload;
use weir_trace::{ErrorKind, Event, Mode, Recording, Source, Waker};

fn read(bytes: &[u8]) -> Recording {
    weir_trace::read(bytes).expect("a recording")
}

fn counts(r: &Recording) -> (usize, usize, usize, usize) {
    let of = |f: fn(&Event) -> bool| r.events.iter().filter(|e| f(&e.1)).count();
    (
        r.threads.len(),
        of(|e| matches!(e, Event::Run { .. })),
        of(|e| matches!(e, Event::Off { .. })),
        of(|e| matches!(e, Event::Ready { by: Some(_), .. })),
    )
}

#[test]
fn one_recording_in_three_formats_is_the_same() {
    let (six, seven, text) = (read(V6), read(V7), read(REPORT));
    assert_eq!((six.source, text.source), (Source::TraceCmd, Source::Text));
    assert_eq!(six.events, seven.events);
    assert_eq!(six.threads, seven.threads);
    assert_eq!((six.lost, six.mended, six.nr_cpus), (0, 0, 2));
    assert_eq!(counts(&six), counts(&text));
    // The text has microseconds.
    assert_eq!(six.duration_ns() / 10_000, text.duration_ns() / 10_000);
    // Threads that leave a CPU, by the lines of trace-cmd's own report.
    let switches = String::from_utf8_lossy(REPORT).lines().filter(|l| l.contains("sched_switch:")).count();
    let from_idle = String::from_utf8_lossy(REPORT).lines().filter(|l| l.contains("prev_pid=0 ")).count();
    assert_eq!(counts(&six).2, switches - from_idle);
}

#[test]
fn perf_and_ftrace_text() {
    let perf = read(PERF);
    assert_eq!((perf.source, perf.nr_cpus, perf.lost), (Source::Perf, 2, 0));
    let hackbench = perf.threads.iter().filter(|t| t.name == "hackbench").count();
    // Two senders, two receivers, and their parent.
    assert_eq!(hackbench, 5);
    let by_threads =
        perf.events.iter().filter(|e| matches!(e.1, Event::Ready { by: Some(Waker::Thread(_)), .. }));
    assert!(by_threads.count() > 10);
    let text = read(FTRACE);
    for name in ["ticker", "maker", "taker"] {
        assert_eq!(text.threads.iter().filter(|t| t.name.starts_with(name)).count(), 1, "{name}");
    }
    // `d.h` in the flags is an interrupt: the timers of rt-app.
    assert!(text.events.iter().any(|e| matches!(e.1, Event::Ready { by: Some(Waker::Interrupt), .. })));
}

/// Work and duration come back, and the workload is one that can be read.
#[test]
fn an_imported_workload_has_the_work_of_its_recording() {
    for bytes in [V6, V7, REPORT, PERF, FTRACE] {
        let recording = read(bytes);
        for mode in [Mode::Verbatim, Mode::Fit] {
            for anonymise in [false, true] {
                let imported =
                    weir_trace::import(&recording, &options(&recording, mode, anonymise)).expect("work");
                let workload = support::parse(&imported.text);
                assert_eq!(workload.duration_ns, Some(recording.duration_ns()));
                if mode == Mode::Verbatim {
                    assert_eq!(support::work_ns(&workload), support::ran_ns(&recording));
                }
                let names = ["hackbench", "rt-app", "ticker", "kworker"];
                let shows = names.iter().any(|n| imported.text.contains(n));
                assert_eq!(shows, !anonymise, "{}", imported.text);
            }
        }
    }
}

/// A part keeps what happened in it.
#[test]
fn a_span_is_a_recording() {
    let whole = read(V6);
    let (third, ran) = (whole.duration_ns() / 3, support::ran_ns(&whole));
    let parts: u64 = (0..3)
        .map(|i| {
            let to = if i == 2 { u64::MAX } else { (i + 1) * third };
            support::ran_ns(&whole.clone().span(i * third, to))
        })
        .sum();
    assert_eq!(parts, ran);
}

#[test]
fn planted_events_become_the_steps_that_they_are() {
    let recording = read(support::PLANTED.as_bytes());
    let imported = weir_trace::import(&recording, &options(&recording, Mode::Verbatim, false)).expect("work");
    // The server computes 1 ms when a client's wake-up comes; it is preempted once, which is not a step.
    let program = |name: &str| {
        let at = imported.text.find(&format!("name = \"{name}\"")).expect("the task");
        let rest = &imported.text[at..];
        rest[..rest.find("\n]").expect("a program")]
            .lines()
            .skip(1)
            .map(str::trim)
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert!(program("server-20").contains("run 1ms; read t"), "{}", imported.text);
    assert!(program("server-20").contains("run 2ms"), "{}", imported.text);
    assert!(program("client-10").contains("run 1ms; write t"), "{}", imported.text);
    assert!(program("client-10").contains("until 8ms"), "{}", imported.text);
    assert!(program("disk-30").contains("sleep 3ms"), "{}", imported.text);
    assert!(program("child-40").contains("template = true"), "{}", imported.text);
    assert!(program("client-10").contains("fork child-40"), "{}", imported.text);
    assert!(program("nice-50").contains("nice = 5"), "{}", imported.text);
}

#[test]
fn capacity_and_clock_scale_the_work() {
    let recording = read(support::CLOCKS.as_bytes());
    let mut o = options(&recording, Mode::Verbatim, false);
    o.speeds.capacity[1] = 512;
    let imported = weir_trace::import(&recording, &o).expect("work");
    // 4 ms on CPU 1 of half the capacity; 4 ms on CPU 0, of which 2 ms at half its clock.
    assert!(imported.text.contains("run 2ms") && imported.text.contains("run 3ms"), "{}", imported.text);
}

#[test]
fn perfetto_traces_plain_and_compact() {
    let text = read(support::PLANTED.as_bytes());
    let plain = read(&support::perfetto(support::PLANTED, support::Form::Plain));
    let packed = read(&support::perfetto(support::PLANTED, support::Form::Compressed));
    assert_eq!((plain.source, counts(&plain)), (Source::Perfetto, counts(&text)));
    assert_eq!((&plain.events, &plain.threads), (&packed.events, &packed.threads));
    assert_eq!(plain.events, text.events);
    let compact = read(&support::perfetto(support::PLANTED, support::Form::Compact));
    let ran = |r: &Recording| support::ran_ns(r);
    assert_eq!(ran(&compact), ran(&text));
}

#[test]
fn our_own_traces() {
    let text = read(support::PLANTED.as_bytes());
    let own = read(&support::own(&text));
    assert_eq!(own.source, Source::Runweir);
    assert_eq!((own.threads.len(), own.nr_cpus), (text.threads.len(), text.nr_cpus));
    assert_eq!(support::ran_ns(&own), support::ran_ns(&text));
    // With priorities and policies.
    let mut planted = text.clone();
    planted.threads[0].policy = 3;
    planted.threads[1].policy = 5;
    let own = read(&support::own(&planted));
    let urgencies = |r: &Recording| r.threads.iter().map(|t| (t.prio, t.policy)).collect::<Vec<_>>();
    assert_eq!(urgencies(&own), urgencies(&planted));
    assert!(own.threads.iter().any(|t| t.prio == 125), "{:?}", own.threads);
    assert!(!own.notes.iter().any(|n| n.contains("priorities")), "{:?}", own.notes);
    let workload = weir_trace::import(&own, &options(&own, Mode::Verbatim, false)).expect("a workload").text;
    for key in ["nice = 5\n", "policy = \"batch\"\n", "policy = \"idle\"\n"] {
        assert_eq!(workload.matches(key).count(), 1, "{key}{workload}");
    }
    support::parse(&workload);
}

/// With few jobs any shape is near the samples: the CPU time of such groups was off by half.
#[test]
fn small_groups_are_not_fitted() {
    let text = read(support::PLANTED.as_bytes());
    let of = |mode| weir_trace::import(&text, &options(&text, mode, false)).expect("a workload");
    let (fitted, verbatim) = (of(Mode::Fit), of(Mode::Verbatim));
    let work = |text: &str| support::work_ns(&support::parse(text));
    assert_eq!(work(&fitted.text), work(&verbatim.text), "{}", fitted.text);
    assert!(
        fitted.groups.iter().all(|g| (&*g.run, &*g.arrivals) == ("recorded", "times")),
        "{:?}",
        fitted.groups
    );
    assert!(
        fitted.notes.iter().any(|n| n.contains("fewer than 8 jobs") && n.contains("client")),
        "{:?}",
        fitted.notes
    );
}

/// Recordings by earlier versions, and traces of simulations.
#[test]
fn a_trace_without_priorities_says_so() {
    let own = read(&support::own_without_priorities(&read(support::PLANTED.as_bytes())));
    assert!(own.threads.iter().all(|t| t.prio == 120), "{:?}", own.threads);
    let workload = weir_trace::import(&own, &options(&own, Mode::Verbatim, false)).expect("a workload");
    let note = "priorities are not in this recording: every task has nice 0";
    assert!(workload.notes.iter().any(|n| n == note), "{:?}", workload.notes);
}

#[test]
fn what_is_no_recording_is_refused_with_its_remedy() {
    let kind = |bytes: &[u8]| weir_trace::read(bytes).expect_err("refused").kind;
    assert_eq!(kind(b""), ErrorKind::Broken);
    for foreign in
        [&b"hello\n"[..], b"\x7fELF....", b"{\"a\": 1}", b"\x1f\x8b\x08\0", &[0xff; 64], b"PK\x03\x04xx"]
    {
        assert_eq!(kind(foreign), ErrorKind::Foreign, "{foreign:?}");
    }
    assert_eq!(
        kind(b"# tracer: nop\n a-1 [000] 1.0: sched_waking: comm=b pid=2 prio=120 target_cpu=000\n"),
        ErrorKind::Lacking
    );
    assert_eq!(kind(b" a-1 [000] 1.0: sched_switch: what?\n"), ErrorKind::Broken);
    assert_eq!(kind(&V6[..200]), ErrorKind::Broken);
    assert_eq!(kind(&PERF[..100]), ErrorKind::Broken);
    let mut other = V6.to_vec();
    other[10] = b'5';
    assert_eq!(kind(&other), ErrorKind::Unsupported);
    assert!(weir_trace::read(b"{}").expect_err("refused").to_string().contains("perf.data"));
}

/// A waking that was recorded just before its thread went to sleep had been lost: its thread woke up for no known reason, and did not wait.
#[test]
fn a_waking_that_precedes_its_switch_is_the_wake_up() {
    let text = "\
  peer-1 [000] d..2. 1.000000: sched_switch: prev_comm=a prev_pid=9 prev_prio=120 prev_state=R ==> next_comm=peer next_pid=1 next_prio=120
  idle-0 [001] d..2. 1.000000: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=server next_pid=2 next_prio=120
  peer-1 [000] d..2. 1.001000: sched_waking: comm=server pid=2 prio=120 target_cpu=001
server-2 [001] d..2. 1.001010: sched_switch: prev_comm=server prev_pid=2 prev_prio=120 prev_state=S ==> next_comm=hog next_pid=3 next_prio=120
   hog-3 [001] d..2. 1.009010: sched_switch: prev_comm=hog prev_pid=3 prev_prio=120 prev_state=R ==> next_comm=server next_pid=2 next_prio=120
";
    let r = read(text.as_bytes());
    let number = |name: &str| r.threads.iter().position(|t| t.name == name).expect("it ran") as u32;
    let (server, peer) = (number("server"), number("peer"));
    let woken: Vec<_> = r
        .events
        .iter()
        .filter(|e| matches!(e.1, Event::Ready { thread, by: Some(_), .. } if thread == server))
        .collect();
    let by = Event::Ready { thread: server, by: Some(Waker::Thread(peer)), new: false };
    assert_eq!(woken, [&(1_001_010_000, by)], "8 ms before it runs");
    // What completes it, perhaps in an interrupt of its own CPU, does not change by whom it was.
    let done = "<idle>-0 [001] d.h2. 1.001020: sched_wakeup: comm=server pid=2 prio=120 target_cpu=001\n";
    let r = read(&[text, done].concat().into_bytes());
    assert!(r.events.contains(&(1_001_020_000, by)), "{:?}", r.events);
    // Nor is it another's: a second waking, while it sleeps, is the one.
    let second = " hog-3 [001] d..2. 1.005000: sched_waking: comm=server pid=2 prio=120 target_cpu=001\n";
    let r = read(&[text, second].concat().into_bytes());
    let by = Event::Ready { thread: server, by: Some(Waker::Thread(number("hog"))), new: false };
    assert!(r.events.contains(&(1_005_000_000, by)), "{:?}", r.events);
}

#[test]
fn a_clock_without_decimals_is_named() {
    let text = String::from_utf8_lossy(REPORT).replace('.', "");
    let e = weir_trace::read(text.as_bytes()).expect_err("refused");
    assert_eq!(e.kind, ErrorKind::Unsupported);
    assert!(e.message.contains("not in seconds") && e.help.contains("mono"), "{e}");
    let e = weir_trace::read(b"<!DOCTYPE html>\n<html><body>no trace</body></html>").expect_err("refused");
    assert!(e.message.contains("trace-data"), "{e}");
}

/// 200, or PROPTEST_CASES.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(200)
}

/// Up to 15 bytes, all but zero, with a liking for what stands around names.
fn name() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: [&[u8]; 30] = [
        b"[7]",
        b"[003] ",
        b"=",
        b" ",
        b"  ",
        b"->",
        b"-1",
        b"-12 [0] ",
        b"pid=",
        b" pid=1",
        b" prio=1",
        b"prev_pid=",
        b" prev_pid=3",
        b"next_comm=",
        b"==>",
        b" ==> ",
        b":1 [2]",
        b" R ",
        b"\n",
        b"\r\n",
        b"\xff",
        "\u{e9}".as_bytes(),
        b"#",
        b"\t",
        b"(1)",
        b"1.0: x: ",
        b"kworker/1",
        b"\\\"",
        b" #3",
        b"</x>",
    ];
    let piece = prop_oneof![
        3 => (0..PIECES.len()).prop_map(|i| PIECES[i].to_vec()),
        1 => proptest::collection::vec(1u8..=255, 1..4),
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|p| {
        let mut name = p.concat();
        name.truncate(15);
        name
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    /// Names are bytes of any kind, and what stands between names in a text can stand within one.
    #[test]
    fn one_history_is_one_workload_in_every_form(
        names in proptest::collection::vec(name(), 2..7),
        choices in proptest::collection::vec((any::<u8>(), 0u16..3000), 5..120),
    ) {
        use support::forms::{self, Packets, Text};
        let h = forms::play(names, &choices);
        let forms = [
            ("trace.dat", forms::trace_dat(&h)),
            ("ftrace", forms::text(&h, Text::Ftrace)),
            ("perf script", forms::text(&h, Text::Perf)),
            ("trace-cmd report", forms::text(&h, Text::Report)),
            ("trace-cmd report -R", forms::text(&h, Text::Raw)),
            ("systrace", forms::html(&h)),
            ("perf.data", forms::perf_data(&h, false)),
            ("perf.data -z", forms::perf_data(&h, true)),
            ("Perfetto", forms::perfetto(&h, Packets::Plain)),
            ("Perfetto, zlib", forms::perfetto(&h, Packets::Zlib)),
            ("Perfetto, zstd", forms::perfetto(&h, Packets::Zstd)),
        ];
        let mut first: Option<(Recording, String)> = None;
        // trace-cmd's short form is ambiguous where a name has a line that ends as an event does: `:12 [120]`.
        let ends_early = h.names.iter().any(|n| n.contains(&b']') && n.contains(&b'\n'));
        for (form, bytes) in forms.into_iter().filter(|f| f.0 != "trace-cmd report" || !ends_early) {
            let recording = weir_trace::read(&bytes);
            prop_assert!(recording.is_ok(), "{form}: {}", recording.expect_err("refused"));
            let recording = recording.expect("read");
            let imported = weir_trace::import(&recording, &options(&recording, Mode::Verbatim, false));
            // Only comments say which tool it was.
            let text = imported.expect("a workload").text;
            let text: String = text.lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
            match &first {
                None => {
                    support::parse(&text);
                    for (i, t) in h.names.iter().enumerate() {
                        let own = recording.threads.iter().find(|t| t.tid == 100 + i as i32);
                        let name = String::from_utf8_lossy(t);
                        prop_assert!(own.is_none_or(|o| o.name == name || t.is_empty()), "{own:?}, not {name:?}");
                    }
                    first = Some((recording, text));
                }
                Some((of, wanted)) => {
                    prop_assert_eq!(&of.threads, &recording.threads, "{}", form);
                    prop_assert_eq!(&of.events, &recording.events, "{}", form);
                    prop_assert_eq!(wanted, &text, "{}", form);
                }
            }
        }
    }

    /// Damaged files are read or refused; what is read makes a workload that can be read, or none.
    #[test]
    fn damaged_files_do_no_harm(
        which in 0usize..8,
        cut in proptest::option::of(0.0f64..1.0),
        damage in proptest::collection::vec((0.0f64..1.0, any::<u8>()), 0..12),
        at_head in any::<bool>(),
    ) {
        let mut bytes = match which {
            0 => V6.to_vec(),
            1 => V7.to_vec(),
            2 => REPORT.to_vec(),
            3 => PERF.to_vec(),
            4 => FTRACE.to_vec(),
            5 => support::perfetto(support::PLANTED, support::Form::Compact),
            6 => support::perfetto(support::PLANTED, support::Form::Plain),
            _ => support::own(&read(support::PLANTED.as_bytes())),
        };
        let reach = if at_head { bytes.len().min(600) } else { bytes.len() };
        for (place, byte) in damage {
            bytes[(place * reach as f64) as usize] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate((cut * bytes.len() as f64) as usize);
        }
        if let Ok(history) = weir_trace::history(&bytes) {
            for wait in weir_trace::causes::worst(&history, 20, &|_| true) {
                let account = weir_trace::causes::account(&history, wait.task, wait.to_ns - 1);
                let account = account.expect("the wait is in the history");
                prop_assert_eq!(account.causes.iter().map(|c| c.1).sum::<u64>(), wait.to_ns - wait.from_ns);
            }
        }
        let Ok(recording) = weir_trace::read(&bytes) else { return Ok(()) };
        prop_assert!(recording.events.windows(2).all(|w| w[0].0 <= w[1].0));
        for mode in [Mode::Verbatim, Mode::Fit] {
            if let Ok(imported) = weir_trace::import(&recording, &options(&recording, mode, false)) {
                let read = |_: &str| Ok(imported.text.clone().into_bytes());
                let parsed = Workload::resolve("x.toml", 1, &read, &[]);
                prop_assert!(parsed.is_ok(), "{}\n{}", parsed.expect_err("wrong"), imported.text);
            }
        }
    }
}
