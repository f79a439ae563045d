// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The `global` and `resources` sections.

use jsonc_parser::ast::{ObjectProp, Value};

use super::json::{Source, find, span};
use super::{sched, unknown_key};
use crate::error::{Error, did_you_mean};
use crate::workload::Policy;
use crate::workload::build::Builder;

/// What of `global` the simulation uses.
pub(super) struct Global {
    pub policy: Policy,
    /// ns per loop of the busy work: `run` is rounded down to whole loops, as rt-app does.
    pub ns_per_loop: Option<u64>,
    /// Mutexes hand on priorities: rt-app gives all of them the attribute `PTHREAD_PRIO_INHERIT`.
    pub inherit: bool,
}

const KEYS: &[&str] = &[
    "duration",
    "calibration",
    "default_policy",
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
];

/// Read `global`; without one, rt-app's defaults hold.
pub(super) fn parse<'a>(
    source: Source<'a>,
    builder: &mut Builder,
    property: Option<&ObjectProp<'a>>,
) -> Result<Global, Error> {
    let mut global = Global { policy: Policy::Other, ns_per_loop: None, inherit: false };
    builder.workload.calibration_cpu = Some(0);
    let Some(property) = property else { return Ok(global) };
    let object = source.object(&property.value, "global", "{ \"duration\" : 2 }")?;
    super::repeated_keys(builder, "`global`", object);
    for p in &object.properties {
        let key = p.name.as_str();
        match key {
            "logdir" | "log_basename" | "io_device" => {
                source.string(&p.value, key, "\"./\"")?;
            }
            "lock_pages" | "gnuplot" | "cumulative_slack" => {
                source.boolean(&p.value, key)?;
            }
            "mem_buffer_size" => {
                source.integer(&p.value, key, 1..=i64::from(i32::MAX), " of bytes")?;
            }
            _ if !KEYS.contains(&key) => unknown_key(builder, "`global`", key, KEYS.iter().copied()),
            _ => {}
        }
    }
    if let Some(p) = find(object, "duration") {
        // Up to 100,000 hours: what fits the clock with room to spare.
        let seconds = source.integer(&p.value, "duration", -1..=36_000_000, " of seconds, -1 for no end,")?;
        builder.workload.duration_ns = (seconds > 0).then(|| seconds as u64 * 1_000_000_000);
    }
    if let Some(p) = find(object, "default_policy") {
        global.policy = sched::policy_of(source, &p.value, "default_policy")?;
    }
    if let Some(p) = find(object, "pi_enabled") {
        global.inherit = source.boolean(&p.value, "pi_enabled")?;
    }
    if let Some(p) = find(object, "calibration") {
        calibration(source, builder, &mut global, &p.value)?;
    }
    Ok(global)
}

/// `"CPU0"`: the unit of work is that CPU's speed; a number: ns per loop, no CPU is measured.
fn calibration<'a>(
    source: Source<'a>,
    builder: &mut Builder,
    global: &mut Global,
    value: &Value<'a>,
) -> Result<(), Error> {
    let help =
        "write `\"CPU0\"` for the CPU that is the measure of `run`, or nanoseconds per loop such as `150`";
    if value.as_number_lit().is_some() {
        let ns = source.integer(value, "calibration", 0..=1_000_000_000, " of nanoseconds per loop")? as u64;
        // 0 asks rt-app to measure CPU 0.
        if ns > 0 {
            global.ns_per_loop = Some(ns);
            builder.workload.calibration_cpu = None;
        }
        return Ok(());
    }
    let text = source.string(value, "calibration", "\"CPU0\"")?;
    let cpu = text.strip_prefix("CPU").and_then(|n| n.parse::<u32>().ok());
    match cpu.filter(|&c| c < weir_core::cpuset::MAX_CPUS) {
        Some(cpu) => {
            builder.workload.calibration_cpu = Some(cpu);
            Ok(())
        }
        None => Err(source.error(span(value), format!("`{text}` is not a CPU to calibrate on"), help)),
    }
}

/// Read `resources`: rt-app makes resources as they are named, so that only types are checked.
pub(super) fn resources<'a>(
    source: Source<'a>,
    builder: &mut Builder,
    property: Option<&ObjectProp<'a>>,
) -> Result<(), Error> {
    const TYPES: &[&str] =
        &["mutex", "wait", "signal", "broadcast", "sleep", "run", "timer", "barrier", "io", "mem", "sem"];
    let Some(property) = property else { return Ok(()) };
    let Value::Object(object) = &property.value else {
        if property.value.as_number_lit().is_some() {
            builder.warn("`resources` as a number belongs to rt-app before version 1.0 and is ignored");
            return Ok(());
        }
        source.object(&property.value, "resources", "{ \"mutex0\" : { \"type\" : \"mutex\" } }")?;
        return Ok(());
    };
    for p in &object.properties {
        let name = p.name.as_str();
        let body = source.object(&p.value, name, "{ \"type\" : \"mutex\" }")?;
        for p in body.properties.iter().filter(|p| p.name.as_str() != "type") {
            let place = format!("resource `{name}`");
            if p.name.as_str() == "protocol" {
                builder.warn(format!(
                    "{place}: `protocol` is ignored, as in rt-app; `pi_enabled` in `global` gives all mutexes inheritance"
                ));
            } else {
                unknown_key(builder, &place, p.name.as_str(), ["type"].into_iter());
            }
        }
        if let Some(t) = find(body, "type") {
            let kind = source.string(&t.value, "type", "\"mutex\"")?;
            if !TYPES.contains(&kind) {
                return Err(source.error(
                    span(&t.value),
                    format!("unknown resource type `{kind}`"),
                    did_you_mean(kind, TYPES),
                ));
            }
        }
    }
    Ok(())
}
