// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Flat plans for runtimes without Rust: the file that `runtimes/multikernel/plan.c` loads (docs/plan-files.md).

use crate::catalog::Unit;
use crate::classes;
use crate::ffi::CPlanInstance;
use crate::plan::Plan;
use crate::sched::Error;
use crate::tables::{Tables, as_bytes};

const MAGIC: [u8; 8] = *b"WEIRPLAN";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 88;
/// The checksum covers what follows it.
const CHECKED_FROM: usize = 32;

/// The plan as a file. The components must be built in and written in C. `ignores`: what programs may ask of Linux's scheduler that the
/// topology does not obey, a line each, `KIND=SENTENCE` (`weir_plan_ignores()` has the kinds).
pub fn flat(plan: &Plan, ignores: &str) -> Result<Vec<u8>, Error> {
    let built_in = classes::built_in();
    let has: Vec<u32> = built_in.iter().map(|c| c.has).collect();
    if let Some(i) = plan.instances.iter().find(|i| i.class as usize >= has.len()) {
        return Err(refused(format!("the component of `{}` was loaded at run time", i.name)));
    }
    let tables = Tables::new(plan, &has, &[])?;
    let mut text = Text::default();
    let name = text.add(&plan.name);
    let ignores = text.add(ignores);
    let mut ids: Vec<u32> = tables.instances.iter().map(|i| i.class).collect();
    ids.sort_unstable();
    ids.dedup();
    let mut class_bytes = Vec::new();
    for id in &ids {
        let info = classes::catalog().class(*id as u16).expect("a built-in component");
        if !info.source.ends_with(".c") {
            return Err(refused(format!("the component `{}` is not written in C", info.name)));
        }
        let units = info.params.iter().map(|p| (p.name.as_str(), unit(p.unit)));
        class_bytes.extend(text.add(&info.name).to_le_bytes());
        class_bytes.extend((info.params.len() as u32).to_le_bytes());
        class_bytes.extend(signature(units, info.keyed_out).to_le_bytes());
    }
    let instances: Vec<CPlanInstance> = tables
        .instances
        .iter()
        .map(|i| CPlanInstance { class: ids.binary_search(&i.class).expect("listed above") as u32, ..*i })
        .collect();
    let names: Vec<u32> = plan.instances.iter().map(|i| text.add(&i.name)).collect();
    let mask_words = plan.exits.len().div_ceil(64);
    let masks: Vec<u64> = tables.masks.iter().flat_map(|m| m.word[..mask_words].to_vec()).collect();
    let parts: [&[u8]; 10] = [
        &class_bytes,
        as_bytes(&tables.pipes),
        as_bytes(&instances),
        as_bytes(&names),
        as_bytes(&tables.cpus),
        as_bytes(&tables.links),
        as_bytes(&tables.lists),
        as_bytes(&tables.params),
        as_bytes(&masks),
        text.bytes.as_bytes(),
    ];
    let bytes = HEADER_BYTES + parts.iter().map(|p| p.len().next_multiple_of(8)).sum::<usize>();
    let mut out = Vec::with_capacity(bytes);
    out.extend(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend((HEADER_BYTES as u32).to_le_bytes());
    out.extend((bytes as u64).to_le_bytes());
    out.extend([0; 8]);
    for n in [
        tables.pipes.len(),
        instances.len(),
        tables.cpus.len(),
        tables.nr_slots as usize,
        tables.masks.len(),
        tables.nr_domains as usize,
        tables.links.len(),
        tables.lists.len(),
        tables.params.len(),
        ids.len(),
        mask_words,
        text.bytes.len(),
        name as usize,
        ignores as usize,
    ] {
        out.extend((n as u32).to_le_bytes());
    }
    debug_assert_eq!(out.len(), HEADER_BYTES);
    for part in parts {
        out.extend_from_slice(part);
        out.resize(out.len().next_multiple_of(8), 0);
    }
    let sum = fnv(FNV_BASIS, &out[CHECKED_FROM..]);
    out[CHECKED_FROM - 8..CHECKED_FROM].copy_from_slice(&sum.to_le_bytes());
    Ok(out)
}

fn refused(message: String) -> Error {
    Error { code: 2, message }
}

/// Strings, each ended by a zero byte.
#[derive(Default)]
struct Text {
    bytes: String,
}

impl Text {
    fn add(&mut self, s: &str) -> u32 {
        let at = self.bytes.len() as u32;
        self.bytes.extend(s.chars().filter(|c| *c != '\0'));
        self.bytes.push('\0');
        at
    }
}

/// As `enum weir_unit`.
fn unit(unit: Unit) -> u8 {
    match unit {
        Unit::Ns => 0,
        Unit::Count => 1,
        Unit::Pct => 2,
        Unit::Bytes => 3,
        Unit::Flag => 4,
    }
}

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, 64 bits.
/// FNV-1a of some bytes: a byte that has changed is noticed for certain.
pub fn checksum(bytes: &[u8]) -> u64 {
    fnv(FNV_BASIS, bytes)
}

fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// What `weir_plan_signature()` finds for the same component.
fn signature<'a>(params: impl Iterator<Item = (&'a str, u8)>, keyed_out: bool) -> u64 {
    let all = params.fold(FNV_BASIS, |h, (name, unit)| fnv(fnv(fnv(h, name.as_bytes()), &[0]), &[unit]));
    fnv(all, if keyed_out { b"k" } else { b"l" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published test vectors of FNV-1a (Fowler, Noll, Vo; RFC 9923).
    #[test]
    fn the_checksum_is_fnv_1a() {
        assert_eq!(fnv(FNV_BASIS, b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(FNV_BASIS, b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv(FNV_BASIS, b"foobar"), 0x8594_4171_f739_67e8);
    }
}
