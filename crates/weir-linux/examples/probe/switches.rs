// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Many switches under whatever load is there, and how long tasks waited meanwhile.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use weir_linux::client;
use weir_linux::protocol::Switch;

use crate::load::above_all;
use crate::{Outcome, socket, spread, status, text};

/// Threads that sleep for a moment again and again, and how late each was woken.
const SLEEPERS: usize = 4;
const NAP: Duration = Duration::from_millis(5);
/// How long a task may wait in the graph, and how late 99 of 100 of them may be, ns. Real-time threads of the load and of the loader
/// hold up a sleeper, too, and an emulated CPU has many of them.
const LIMIT_NS: u64 = 500_000_000;
/// How often the waiting tasks are looked at.
const LOOK: Duration = Duration::from_millis(50);

/// What one thread measures until it has to end.
fn measure(over: &Arc<AtomicBool>, take: impl Fn() -> Option<u64> + Send + 'static) -> JoinHandle<Vec<u64>> {
    let over = over.clone();
    std::thread::spawn(move || {
        let mut sample = Vec::new();
        while !over.load(Ordering::Relaxed) {
            sample.extend(take());
        }
        sample
    })
}

/// The longest that a task of the present moment has waited in the graph, ns.
fn longest_wait() -> Option<u64> {
    std::thread::sleep(LOOK);
    let s = status().ok()?;
    let since = s.tasks.iter().map(|t| t.waiting_since_ns).filter(|t| *t > 0);
    Some(since.map(|t| s.t_ns.saturating_sub(t)).max().unwrap_or(0))
}

fn oversleep() -> Option<u64> {
    let began = Instant::now();
    std::thread::sleep(NAP);
    Some(began.elapsed().saturating_sub(NAP).as_nanos() as u64)
}

/// Longest nap that the switching takes in between, µs; shorter ones follow from the turn.
const LONGEST_NAP_US: u64 = 16_000;

pub fn run(n: u64, topologies: &[&str]) -> Outcome {
    let mut wishes = Vec::new();
    for file in topologies {
        let name = Path::new(file).file_name().map(|f| f.to_string_lossy().into_owned());
        let wish = Switch { topology: name.unwrap_or_default(), source: text(file)?, ..Switch::default() };
        wishes.push(wish);
    }
    let before = status()?;
    let seq = text("/sys/kernel/sched_ext/enable_seq")?;
    let over = Arc::new(AtomicBool::new(false));
    let naps: Vec<_> = (0..SLEEPERS).map(|_| measure(&over, oversleep)).collect();
    // They are tasks of the topology. What asks and looks is not, or it would wait most of the time.
    above_all()?;
    let waits = measure(&over, longest_wait);

    let began = Instant::now();
    let (mut pauses, mut moved, mut at, mut result) = (Vec::new(), 0u64, before.topology.clone(), Ok(()));
    for turn in 0..n {
        let wish = &wishes[turn as usize % wishes.len()];
        let done = match client::switch(&socket(), wish) {
            Ok(done) => done.report,
            Err(e) => {
                result = Err(format!("switch {turn} to {}: {e}", wish.topology));
                break;
            }
        };
        let state = text("/sys/kernel/sched_ext/state")?;
        if done.from != at || state != "enabled" {
            result = Err(format!("switch {turn}: from {}, not {at}; sched_ext is {state}", done.from));
            break;
        }
        at = done.to;
        pauses.push(done.pause_ns);
        moved += u64::from(done.represented);
        std::thread::sleep(Duration::from_micros(turn * 7919 % LONGEST_NAP_US));
    }
    let took = began.elapsed();
    over.store(true, Ordering::Relaxed);
    let mut late: Vec<u64> = naps.into_iter().flat_map(|t| t.join().unwrap_or_default()).collect();
    let mut waited = waits.join().unwrap_or_default();
    println!("{} switches in {:.1} s, {moved} waiting tasks moved", pauses.len(), took.as_secs_f64());
    println!("pause, us:                            {}", spread(&mut pauses, 1000));
    println!("longest wait in the graph (seen), ms: {}", spread(&mut waited, 1_000_000));
    println!("wakeup after a nap, ms late:          {}", spread(&mut late, 1_000_000));
    result?;
    // Both are in order now.
    if waited.last().is_none_or(|longest| *longest > LIMIT_NS) {
        return Err(format!("a task waited more than {} ms", LIMIT_NS / 1_000_000));
    }
    if late.get(late.len() * 99 / 100).is_none_or(|p99| *p99 > LIMIT_NS) {
        return Err(format!("one wakeup in a hundred is more than {} ms late", LIMIT_NS / 1_000_000));
    }
    let after = status()?;
    if after.totals.swaps != before.totals.swaps + n {
        return Err(format!("{} switches are counted", after.totals.swaps - before.totals.swaps));
    }
    match text("/sys/kernel/sched_ext/enable_seq")? {
        now if now == seq => Ok(()),
        now => Err(format!("the default scheduler was in between: enable_seq went from {seq} to {now}")),
    }
}
