// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Requests across threads: planted ones, by wake-ups and by marks, and a law over random histories.

use proptest::prelude::*;
use weir_trace::History;
use weir_trace::requests::{By, Doing, Request, Requests, requests};

use crate::support::{self, forms};

/// A client outside, two threads of a service, a hog. Times are in us.
///
/// 1000: the network wakes `web`, which asks `db`, which waits behind the hog for 190 us. 2000: `web` waits for a disk. 3000: `client` wakes `web`,
/// which wakes the client. 4000: not over at the end.
const SERVICE: &str = "\
<idle>-0 [001] d..2. 0.000500: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=hog next_pid=40 next_prio=120
<idle>-0 [000] d.h3. 0.001000: sched_waking: comm=web pid=20 prio=120 target_cpu=000
<idle>-0 [000] d..2. 0.001010: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=web next_pid=20 next_prio=120
web-20 [000] d..3. 0.001020: tracing_mark_write: request_begin 1
web-20 [000] d..3. 0.001110: sched_waking: comm=db pid=30 prio=120 target_cpu=001
web-20 [000] d..2. 0.001120: sched_switch: prev_comm=web prev_pid=20 prev_prio=120 prev_state=S ==> next_comm=idle next_pid=0 next_prio=120
hog-40 [001] d..2. 0.001300: sched_switch: prev_comm=hog prev_pid=40 prev_prio=120 prev_state=R ==> next_comm=db next_pid=30 next_prio=120
db-30 [001] d..3. 0.001400: sched_waking: comm=web pid=20 prio=120 target_cpu=000
<idle>-0 [000] d..2. 0.001405: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=web next_pid=20 next_prio=120
db-30 [001] d..2. 0.001410: sched_switch: prev_comm=db prev_pid=30 prev_prio=120 prev_state=S ==> next_comm=hog next_pid=40 next_prio=120
web-20 [000] d..3. 0.001440: tracing_mark_write: request_end 1
web-20 [000] d..2. 0.001450: sched_switch: prev_comm=web prev_pid=20 prev_prio=120 prev_state=S ==> next_comm=idle next_pid=0 next_prio=120
<idle>-0 [000] d.h3. 0.002000: sched_waking: comm=web pid=20 prio=120 target_cpu=000
<idle>-0 [000] d..2. 0.002000: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=web next_pid=20 next_prio=120
web-20 [000] d..3. 0.002010: tracing_mark_write: B|20|request
web-20 [000] d..2. 0.002050: sched_switch: prev_comm=web prev_pid=20 prev_prio=120 prev_state=D ==> next_comm=idle next_pid=0 next_prio=120
<idle>-0 [000] d.h3. 0.002550: sched_waking: comm=web pid=20 prio=120 target_cpu=000
<idle>-0 [000] d..2. 0.002550: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=web next_pid=20 next_prio=120
web-20 [000] d..3. 0.002560: tracing_mark_write: B|20|log
web-20 [000] d..3. 0.002570: tracing_mark_write: E|20
web-20 [000] d..3. 0.002590: tracing_mark_write: E|20
web-20 [000] d..2. 0.002600: sched_switch: prev_comm=web prev_pid=20 prev_prio=120 prev_state=S ==> next_comm=idle next_pid=0 next_prio=120
<idle>-0 [000] d.h3. 0.002900: sched_waking: comm=client pid=10 prio=120 target_cpu=000
<idle>-0 [000] d..2. 0.002905: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=client next_pid=10 next_prio=120
client-10 [000] d..3. 0.003000: sched_waking: comm=web pid=20 prio=120 target_cpu=000
client-10 [000] d..2. 0.003020: sched_switch: prev_comm=client prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=web next_pid=20 next_prio=120
web-20 [000] d..3. 0.003030: tracing_mark_write: request_begin 2
web-20 [000] d..3. 0.003080: sched_waking: comm=client pid=10 prio=120 target_cpu=000
web-20 [000] d..2. 0.003100: sched_switch: prev_comm=web prev_pid=20 prev_prio=120 prev_state=S ==> next_comm=client next_pid=10 next_prio=120
client-10 [000] d..3. 0.003150: tracing_mark_write: request_end 2
client-10 [000] d..3. 0.003160: tracing_mark_write: request_end 7
client-10 [000] d..2. 0.003200: sched_switch: prev_comm=client prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=idle next_pid=0 next_prio=120
<idle>-0 [000] d.h3. 0.004000: sched_waking: comm=web pid=20 prio=120 target_cpu=000
<idle>-0 [000] d..2. 0.004010: sched_switch: prev_comm=idle prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=web next_pid=20 next_prio=120
web-20 [000] d..3. 0.004015: tracing_mark_write: request_begin 3
hog-40 [001] d..2. 0.004020: sched_switch: prev_comm=hog prev_pid=40 prev_prio=120 prev_state=S ==> next_comm=idle next_pid=0 next_prio=120
";

fn history(bytes: &[u8]) -> History {
    weir_trace::history(bytes).expect("a recording")
}

fn by_wakeups(h: &History, takes: &str, works: &str) -> Requests {
    let of = |names: &str| -> Vec<bool> {
        h.tasks.iter().map(|t| names.split(',').any(|n| !n.is_empty() && t.name.starts_with(n))).collect()
    };
    requests(h, &By::Wakeups { takes: &of(takes), works: &of(works) })
}

/// Lengths, and ways as `name doing us`.
fn shown(h: &History, all: &[Request]) -> Vec<(u64, String)> {
    let one = |r: &Request| {
        let legs: Vec<String> = r
            .legs
            .iter()
            .map(|l| {
                let ns = l.to_ns - l.from_ns;
                format!("{} {:?} {}", h.tasks[l.task as usize].name, l.doing, ns / 1000)
            })
            .collect();
        ((r.to_ns - r.from_ns) / 1000, legs.join(", "))
    };
    all.iter().map(one).collect()
}

#[test]
fn a_request_goes_through_threads_and_waits() {
    let h = history(SERVICE.as_bytes());
    let found = by_wakeups(&h, "web", "db");
    assert_eq!(
        shown(&h, &found.all),
        [
            (450, "web Ready 10, web Runs 100, db Ready 190, db Runs 100, web Ready 5, web Runs 45".into()),
            (600, "web Runs 50, web Waits 500, web Runs 50".into()),
            (100, "web Ready 20, web Runs 80".into()),
        ]
    );
    assert_eq!((found.open, found.unseen, found.shared), (1, 0, 0));
    let outside: Vec<_> = found.outside.iter().map(|(t, n)| (&*h.tasks[*t as usize].name, *n)).collect();
    assert_eq!(outside, [("client", 1)]);
}

/// Whoever does not name the thread that works on requests is told of it: two requests, both too short.
#[test]
fn a_thread_that_is_not_named_is_reported() {
    let h = history(SERVICE.as_bytes());
    let found = by_wakeups(&h, "web", "");
    let lengths: Vec<u64> = shown(&h, &found.all).iter().map(|r| r.0).collect();
    assert_eq!(lengths, [120, 50, 600, 100]);
    let outside: Vec<_> = found.outside.iter().map(|(t, n)| (&*h.tasks[*t as usize].name, *n)).collect();
    assert!(outside.contains(&("db", 1)), "{outside:?}");
}

/// A wake-up that is missing begins nothing, and what hangs on it belongs to nothing.
#[test]
fn without_the_wake_up_there_is_no_request() {
    let cut: String = SERVICE
        .lines()
        .filter(|l| !l.contains("0.001000: sched_waking"))
        .fold(String::new(), |s, l| s + l + "\n");
    let h = history(cut.as_bytes());
    let found = by_wakeups(&h, "web", "db");
    let lengths: Vec<u64> = shown(&h, &found.all).iter().map(|r| r.0).collect();
    assert_eq!((lengths, found.unseen, found.stray), (vec![600, 100], 1, 1));
}

/// `db` wakes `web` for two requests in one go.
#[test]
fn a_thread_that_serves_two_at_once_is_reported() {
    let more = "\
db-30 [001] d..3. 0.001407: sched_waking: comm=web2 pid=21 prio=120 target_cpu=000
";
    let at = SERVICE.find("db-30 [001] d..2. 0.001410").expect("there");
    let text = format!("{}{more}{}", &SERVICE[..at], &SERVICE[at..]);
    let h = history(text.as_bytes());
    assert_eq!(by_wakeups(&h, "web", "db").shared, 1);
    assert_eq!(by_wakeups(&h, "web", "db").stray, 0);
}

#[test]
fn marks_by_number_and_by_thread() {
    for bytes in [
        SERVICE.as_bytes().to_vec(),
        support::perfetto(SERVICE, support::Form::Plain),
        support::perfetto(SERVICE, support::Form::Compressed),
        // As trace-cmd's report spells it.
        SERVICE.replace("tracing_mark_write: ", "print: tracing_mark_write: ").into_bytes(),
        // As probes: the name of the event, and the first argument.
        SERVICE
            .replace("tracing_mark_write: request_begin ", "sdt_web:request_begin: (55d0c1) arg1=0x")
            .replace("tracing_mark_write: request_end ", "sdt_web:request_end: (55d0c9) arg1=")
            .into_bytes(),
    ] {
        let h = history(&bytes);
        let found = requests(&h, &By::Marks { begin: "request_begin", end: "request_end" });
        assert_eq!(
            shown(&h, &found.all),
            [
                (420, "web Runs 90, db Ready 190, db Runs 100, web Ready 5, web Runs 35".into()),
                // It ends in another thread: the way goes on in the one that woke it.
                (120, "web Runs 50, client Ready 20, client Runs 50".into()),
            ]
        );
        assert_eq!((found.open, found.unmatched), (1, 1));
        // Within it, something else of the same thread begins and ends.
        let nested = requests(&h, &By::Marks { begin: "request", end: "request" });
        assert_eq!(shown(&h, &nested.all), [(580, "web Runs 40, web Waits 500, web Runs 40".to_string())]);
    }
}

#[test]
fn marks_of_a_part_of_the_recording() {
    let recording = weir_trace::read(SERVICE.as_bytes()).expect("a recording");
    let h = weir_trace::history::from_recording(&recording.span(1_000_000, u64::MAX));
    let found = requests(&h, &By::Marks { begin: "request_begin", end: "request_end" });
    assert_eq!((found.all.len(), found.open, found.unmatched), (1, 1, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// The way of each request has no gap and is as long as it; none ends before it begins; roles without threads have none.
    #[test]
    fn ways_are_whole(choices in prop::collection::vec((any::<u8>(), any::<u16>()), 10..200), roles in prop::collection::vec(0u8..3, 6)) {
        let names = (0..6).map(|i| format!("t{i}").into_bytes()).collect();
        let played = forms::play(names, &choices);
        let h = history(&forms::perfetto(&played, forms::Packets::Plain));
        let role = |n: u8| -> Vec<bool> { (0..h.tasks.len()).map(|i| roles[i % roles.len()] == n).collect() };
        let (takes, works) = (role(1), role(2));
        let found = requests(&h, &By::Wakeups { takes: &takes, works: &works });
        for r in &found.all {
            prop_assert!(r.from_ns <= r.to_ns && r.to_ns <= h.end_ns);
            prop_assert_eq!(r.legs.first().map(|l| l.from_ns), (r.to_ns > r.from_ns).then_some(r.from_ns));
            prop_assert_eq!(r.legs.last().map(|l| l.to_ns), (r.to_ns > r.from_ns).then_some(r.to_ns));
            for pair in r.legs.windows(2) {
                prop_assert_eq!(pair[0].to_ns, pair[1].from_ns);
            }
            for leg in &r.legs {
                prop_assert!(takes[leg.task as usize] || works[leg.task as usize], "{leg:?}");
                prop_assert!(leg.doing != Doing::Unknown, "{leg:?}");
            }
        }
        let none = vec![false; h.tasks.len()];
        let idle = requests(&h, &By::Wakeups { takes: &none, works: &works });
        prop_assert_eq!(idle.all.len() as u64 + idle.open, 0);
    }
}
