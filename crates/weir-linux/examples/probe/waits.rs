// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! How long calls of the core take, and how late woken tasks are.

use serde_json::Value;

use crate::{Outcome, status, text};

/// A change of topology stops the other CPUs and is no call of a task's way.
const APART: &str = "swap";

/// No call of the core but [`APART`] took longer than `bound_us` since the attachment.
pub fn calls(bound_us: u64) -> Outcome {
    let s = status()?;
    let longest = s.longest_calls();
    let show = |(cpu, call): &(u32, &weir_linux::gauges::CallView)| {
        format!(
            "{} {} us on CPU {cpu} ({} of {} over 1 ms)",
            call.call,
            call.longest_ns / 1000,
            call.long,
            call.calls
        )
    };
    let all: Vec<String> = longest.iter().map(show).collect();
    println!("  longest calls: {}", all.join(", "));
    let locks = s.pipes.iter().max_by_key(|p| p.longest_lock_wait_ns);
    if let Some(p) = locks.filter(|p| p.lock_waits > 0) {
        let (us, given_up) = (p.longest_lock_wait_ns / 1000, s.totals.gave_up);
        println!("  longest wait for a lock: {us} us for {}; {given_up} waits given up", p.name);
    }
    let over = |(_, call): &&(u32, &weir_linux::gauges::CallView)| {
        call.call != APART && call.longest_ns > bound_us * 1000
    };
    match longest.iter().find(over) {
        Some(call) => Err(format!("{}: a call took longer than {bound_us} us: {}", s.topology, show(call))),
        None if longest.is_empty() => Err("no call was measured".into()),
        None => Ok(()),
    }
}

/// What `waits.c` wrote into `ours` is at most `times` as late as what it wrote into `usual`, and `ms` ms.
pub fn compare(usual: &str, ours: &str, times: u64, ms: u64) -> Outcome {
    let read = |path| serde_json::from_str::<Value>(&text(path)?).map_err(|e| format!("{path}: {e}"));
    let (usual, ours) = (read(usual)?, read(ours)?);
    let mut late = Vec::new();
    for kind in ["messages", "timers"] {
        let figure =
            |v: &Value, name: &str| v[kind][name].as_u64().ok_or_else(|| format!("no {kind}.{name}"));
        let mut line = format!("  {kind:<8} {:>6} times:", figure(&ours, "count")?);
        for name in ["p50_ns", "p99_ns", "max_ns"] {
            let (theirs, own) = (figure(&usual, name)?, figure(&ours, name)?);
            line += &format!(" {} {:.2} (usual {:.2}) ms", &name[..3], own as f64 / 1e6, theirs as f64 / 1e6);
            if own > theirs.saturating_mul(times) + ms * 1_000_000 {
                late.push(format!("{kind}.{name} is {own}, usual {theirs}"));
            }
        }
        println!("{line}");
        if figure(&ours, "count")? == 0 {
            late.push(format!("no {kind}"));
        }
    }
    if late.is_empty() { Ok(()) } else { Err(late.join(", ")) }
}
