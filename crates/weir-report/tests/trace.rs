// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Traces of random histories, decoded with types of our own and checked against the reference.

use crate::support::perfetto;
use crate::support::{Paint, Reference, Step, meta, play, steps};
use proptest::prelude::*;
use prost::Message;
use std::collections::BTreeMap;
use std::io::{self, Write};
use weir_core::event::{Call, Event, Observer, Stop};
use weir_report::{InMemory, Trace};

fn record(run: impl FnOnce(&mut Trace) -> u64) -> Vec<u8> {
    let out = InMemory::default();
    let mut trace = Trace::new(meta(), Box::new(out.clone()));
    let end = run(&mut trace);
    trace.finish(end).unwrap();
    out.take()
}

#[derive(Debug, PartialEq)]
struct Slice {
    name: String,
    begin: u64,
    end: u64,
    depth: usize,
}

/// A trace as a viewer understands it.
#[derive(Default)]
struct Decoded {
    /// Track name with its process' name in front, by uuid.
    tracks: BTreeMap<u64, String>,
    slices: BTreeMap<String, Vec<Slice>>,
    instants: BTreeMap<String, Vec<(u64, String)>>,
    counters: BTreeMap<String, Vec<(u64, i64)>>,
}

fn decode(bytes: &[u8]) -> Decoded {
    let trace = perfetto::Trace::decode(bytes).unwrap();
    let first = &trace.packet[0];
    assert_eq!((first.sequence_flags, first.first_packet_on_sequence), (Some(1), Some(true)));
    let clock = first.trace_packet_defaults.as_ref().unwrap().timestamp_clock_id;
    assert_eq!(trace.packet[1].clock_snapshot.as_ref().unwrap().primary_trace_clock, clock);

    let mut names: BTreeMap<u64, String> = BTreeMap::new();
    let mut notes: BTreeMap<u64, String> = BTreeMap::new();
    let mut d = Decoded::default();
    let mut open: BTreeMap<u64, Vec<(u64, String)>> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for p in trace.packet {
        assert_eq!(p.trusted_packet_sequence_id, Some(1));
        for n in p.interned_data.iter().flat_map(|i| &i.event_names) {
            assert_eq!(names.insert(n.iid.unwrap(), n.name.clone().unwrap()), None, "interned twice");
        }
        for n in p.interned_data.iter().flat_map(|i| &i.debug_annotation_names) {
            assert_eq!(notes.insert(n.iid.unwrap(), n.name.clone().unwrap()), None, "interned twice");
        }
        if let Some(t) = p.track_descriptor {
            let name = match t.process {
                Some(process) => {
                    assert!(process.pid.unwrap() > 0 && t.child_ordering == Some(3));
                    process.process_name.unwrap().split(':').next().unwrap().to_string()
                }
                None => {
                    assert_eq!(t.sibling_merge_behavior, Some(2));
                    format!("{}/{}", d.tracks[&t.parent_uuid.unwrap()], t.name.unwrap())
                }
            };
            assert_eq!(d.tracks.insert(t.uuid.unwrap(), name), None, "a track described twice");
        }
        let Some(e) = p.track_event else { continue };
        assert_eq!(p.sequence_flags, Some(2));
        assert!(
            e.debug_annotations
                .iter()
                .all(|a| notes.contains_key(&a.name_iid.unwrap()) && a.uint_value.is_some())
        );
        let t = p.timestamp.unwrap();
        let uuid = e.track_uuid.unwrap();
        let track = d.tracks.get(&uuid).expect("tracks are described before their first event").clone();
        let name =
            e.name_iid.map(|iid| names.get(&iid).expect("names are interned before their use").clone());
        if e.r#type != Some(3) {
            let last = last.entry(uuid).or_default();
            assert!(t >= *last, "{track} goes back from {last} to {t}");
            *last = t;
        }
        match e.r#type.unwrap() {
            1 => open.entry(uuid).or_default().push((t, name.unwrap())),
            2 => {
                let stack = open.get_mut(&uuid).unwrap();
                let (begin, name) = stack.pop().expect("an end without a begin");
                d.slices.entry(track).or_default().push(Slice { name, begin, end: t, depth: stack.len() });
            }
            3 => d.instants.entry(track).or_default().push((t, name.unwrap())),
            4 => d.counters.entry(track).or_default().push((t, e.counter_value.unwrap())),
            other => panic!("event type {other}"),
        }
    }
    assert!(open.values().all(Vec::is_empty), "slices left open: {open:?}");
    d
}

/// Names of the toy's tasks as the trace shows them.
const NAMES: [&str; 5] = ["plain", "<script>", "a,b\"c", "", "täsk"];

fn check(d: &Decoded, r: &Reference) {
    for (cpu, line) in ["CPUs/P 0", "CPUs/P 1", "CPUs/E 2"].iter().zip(&r.cpus) {
        let mut painted = vec![Paint::Idle; r.end as usize];
        let mut slices: Vec<&Slice> = d.slices.get(*cpu).into_iter().flatten().collect();
        slices.sort_by_key(|s| s.depth);
        for s in slices {
            let paint = match s.name.as_str() {
                "pick" | "unblock" | "lock wait (sum)" => Paint::Sched,
                "offline" => Paint::Offline,
                name => Paint::Busy(NAMES.iter().position(|n| *n == name).unwrap() as u32),
            };
            painted[s.begin as usize..s.end as usize].fill(paint);
        }
        assert_eq!(&painted, line, "{cpu}");
    }
    for (task, name) in (0u32..).zip(NAMES) {
        let slices = d.slices.get(&format!("Tasks/{name} #{task}")).into_iter().flatten();
        let mut waited = 0;
        let mut at = None;
        for s in slices {
            assert_eq!(s.depth, 0);
            assert!(at.is_none_or(|end| s.begin == end), "a task's states follow each other");
            at = Some(s.end);
            waited += if s.name == "runnable" { s.end - s.begin } else { 0 };
        }
        assert_eq!(waited, r.waits.get(&task).copied().unwrap_or(0), "waiting of {name}");
    }
    let misses = d.instants.get("Scheduler/Deadline misses").map_or(0, Vec::len);
    assert_eq!(misses as u64, r.counts.misses);
}

proptest! {
    #[test]
    fn trace_shows_what_happened(steps in steps()) {
        let mut reference = None;
        let bytes = record(|trace| {
            let r = play(&steps, trace);
            let end = r.end;
            reference = Some(r);
            end
        });
        check(&decode(&bytes), &reference.unwrap());
    }
}

#[test]
fn equal_streams_give_equal_traces() {
    let steps: Vec<Step> =
        (0..400u32).map(|i| ((i * 7 % 12) as u8, (i * 11) as u8, (i % 13) as u16, (i * 31) as u16)).collect();
    let make = || record(|trace| play(&steps, trace).end);
    assert!(make() == make());
}

#[test]
fn only_the_last_depth_of_an_instant_is_written() {
    let bytes = record(|t| {
        for (at, depth) in [(5, 1), (5, 2), (5, 1), (9, 3), (9, 1), (12, 0)] {
            t.event(at, &Event::PipeDepth { pipe: 1, depth });
        }
        20
    });
    assert_eq!(decode(&bytes).counters["Pipes/lb.out0"], [(5, 1), (12, 0)]);
}

#[test]
fn a_call_that_claims_too_much_time_stays_within_its_place() {
    let bytes = record(|t| {
        t.event(0, &Event::TaskNew { task: 0, name: "a", group: "" });
        t.event(
            10,
            &Event::Run { task: 0, cpu: 0, migrated: false, switched: true, wakeup: true, waited_ns: 0 },
        );
        t.event(12, &Event::Sched { cpu: 0, call: Call::Timer, ns: 50, lock_wait_ns: 70 });
        t.event(14, &Event::Off { task: 0, cpu: 0, why: Stop::Block, ran_ns: 2 });
        20
    });
    let slices: Vec<_> =
        decode(&bytes).slices["CPUs/P 0"].iter().map(|s| (s.name.clone(), s.begin, s.end)).collect();
    let slice = |name: &str, begin, end| (name.to_string(), begin, end);
    assert_eq!(slices, [slice("lock wait (sum)", 10, 12), slice("timer", 10, 12), slice("a", 10, 14)]);
}

/// A runtime that takes a task back reports it off only when it knows the next task, and the calls in
/// between when the CPU is through with both of them.
#[test]
fn late_reports_are_put_where_they_belong() {
    let bytes = record(|t| {
        t.event(0, &Event::TaskNew { task: 0, name: "a", group: "" });
        t.event(
            0,
            &Event::Run { task: 0, cpu: 0, migrated: false, switched: true, wakeup: true, waited_ns: 0 },
        );
        t.event(130, &Event::Off { task: 0, cpu: 0, why: Stop::SliceEnd, ran_ns: 100 });
        t.event(130, &Event::Ready { task: 0, wakeup: false });
        t.event(150, &Event::Sched { cpu: 1, call: Call::Timer, ns: 1, lock_wait_ns: 0 });
        t.event(150, &Event::Sched { cpu: 0, call: Call::Relinquish, ns: 30, lock_wait_ns: 0 });
        t.event(150, &Event::Sched { cpu: 0, call: Call::Pick, ns: 20, lock_wait_ns: 0 });
        t.event(
            150,
            &Event::Run { task: 0, cpu: 0, migrated: false, switched: false, wakeup: false, waited_ns: 50 },
        );
        160
    });
    let decoded = decode(&bytes);
    let of = |track: &str| -> Vec<_> {
        decoded.slices[track].iter().map(|s| (s.name.clone(), s.begin, s.end)).collect()
    };
    let slice = |name: &str, begin, end| (name.to_string(), begin, end);
    assert_eq!(
        of("CPUs/P 0"),
        [slice("a", 0, 100), slice("relinquish", 100, 130), slice("pick", 130, 150), slice("a", 150, 160)]
    );
    assert_eq!(
        of("Tasks/a #0"),
        [slice("running", 0, 100), slice("runnable", 100, 150), slice("running", 150, 160)]
    );
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::new(io::ErrorKind::StorageFull, "full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut trace = Trace::new(meta(), Box::new(Full));
    trace.event(1, &Event::Marker { text: "x" });
    assert_eq!(trace.finish(2).unwrap_err().kind(), io::ErrorKind::StorageFull);
}
