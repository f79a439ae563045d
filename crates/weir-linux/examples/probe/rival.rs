// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A sched_ext scheduler of somebody else.

use std::time::Duration;

use libbpf_rs::{MapCore, MapType, ObjectBuilder};

use crate::Outcome;

/// Attach the first scheduler of a BPF object and stay until killed.
pub fn run(object: &str) -> Outcome {
    let errors = |e: libbpf_rs::Error| format!("{object}: {e}");
    let mut object = ObjectBuilder::default().open_file(object).and_then(|o| o.load()).map_err(errors)?;
    let mut ops = object
        .maps_mut()
        .find(|m| m.map_type() == MapType::StructOps)
        .ok_or("the object has no struct_ops map")?;
    let _link = ops.attach_struct_ops().map_err(errors)?;
    println!("attached");
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}
