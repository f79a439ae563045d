// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Which components go into the kernel. A program there has 256 functions at most (`BPF_MAX_SUBPROGS`), and the verifier
//! checks each; older kernels allow chains of eight calls. The needed components are chosen when the scheduler is loaded,
//! and calls of all other components' entry points go to `weir_absent()`. This needs no compiler: a call's relocation
//! gets another symbol.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use object::elf::{R_BPF_64_32, SHT_REL};
use object::read::elf::{ElfFile64, SectionHeader};
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, SymbolKind};

use crate::error::{Error, ErrorKind, Result};

/// Functions of a program.
pub(crate) const MAX_FUNCTIONS: usize = 256;
/// Functions of a chain of calls in kernels before [`DEEP_CHAINS`] (`MAX_CALL_FRAMES`), which count those that are verified by
/// themselves, too.
pub(crate) const MAX_FRAMES: usize = 8;
/// The version from which on these do not count.
pub(crate) const DEEP_CHAINS: (u32, u32) = (7, 2);
/// The function called instead of an omitted component.
const ABSENT: &str = "weir_absent";
/// Bytes of an instruction, and of a relocation.
const INSN: u64 = 8;
const REL: usize = 16;
/// `call` of a function of the same object: opcode and source register.
const CALL: u8 = 0x85;
const PSEUDO_CALL: u8 = 1;

/// Functions that the kernel side calls for a component, as (component, function): from the build script.
static ENTRIES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/entries.rs"));

/// A call of a component's entry point: where its relocation keeps the symbol's number.
struct Switchable {
    component: String,
    info: usize,
    callee: usize,
}

/// What of the kernel side itself leads to all components, and only some users need: each part is in a program of its own, where
/// the verifier would look at everything once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// Publishing TICK.
    Tick,
    /// Publishing COUNTERS.
    Counters,
    /// Timers of components.
    Timers,
}

/// The call that each part hangs on: function, and which one it calls.
const PARTS: [(Part, &str, &str); 3] = [
    (Part::Tick, "weir_tick", "weir_drain"),
    (Part::Counters, "weir_stopping", "weir_drain"),
    (Part::Timers, "timer_expired", "weir_drain"),
];

/// The calls of an object's functions.
pub(crate) struct Calls {
    /// Callees by caller, except entry points of components.
    plain: Vec<Vec<usize>>,
    /// Functions whose address is taken, by the function that takes it: the kernel calls them back, in a chain of their own.
    callbacks: Vec<Vec<usize>>,
    /// Entry points of components, by caller.
    switchable: Vec<Vec<Switchable>>,
    /// Where the relocations of the parts' calls keep the symbol's number.
    parts: Vec<(Part, usize)>,
    /// Functions that the kernel calls.
    programs: Vec<usize>,
    /// Number of the symbol `weir_absent`.
    absent: usize,
}

/// Of one function: section, bytes in it.
type Place = (usize, Range<u64>);

/// The object as it is read, and where its functions are.
struct Text<'a> {
    bytes: &'a [u8],
    elf: ElfFile64<'a, LittleEndian>,
    places: Vec<Place>,
    names: Vec<&'a str>,
    by_symbol: BTreeMap<usize, usize>,
    starts: BTreeMap<(usize, u64), usize>,
}

fn unreadable(e: object::Error) -> Error {
    Error::bug(format!("the scheduler's object cannot be read: {e}"))
}

impl<'a> Text<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self> {
        let elf = ElfFile64::<LittleEndian>::parse(bytes).map_err(unreadable)?;
        let (mut places, mut names) = (Vec::<Place>::new(), Vec::new());
        let mut by_symbol = BTreeMap::new();
        for symbol in elf.symbols().filter(|s| s.kind() == SymbolKind::Text && s.is_definition()) {
            let Some(section) = symbol.section_index() else { continue };
            by_symbol.insert(symbol.index().0, places.len());
            places.push((section.0, symbol.address()..symbol.address() + symbol.size()));
            names.push(symbol.name().map_err(unreadable)?);
        }
        let starts =
            places.iter().enumerate().map(|(f, (section, range))| ((*section, range.start), f)).collect();
        Ok(Self { bytes, elf, places, names, by_symbol, starts })
    }

    /// Number of the function that has this byte of a section.
    fn at(&self, section: usize, address: u64) -> Option<usize> {
        let (_, &f) = self.starts.range(..=(section, address)).next_back()?;
        (self.places[f].0 == section && self.places[f].1.contains(&address)).then_some(f)
    }

    /// Where the bytes of a section begin.
    fn section_at(&self, section: usize) -> Option<u64> {
        let section = self.elf.section_by_index(object::SectionIndex(section)).ok()?;
        section.file_range().map(|(start, _)| start)
    }

    /// Functions that the kernel calls.
    fn programs(&self) -> Vec<usize> {
        let is_program = |&f: &usize| {
            let section = self.elf.section_by_index(object::SectionIndex(self.places[f].0));
            section.is_ok_and(|s| s.name().is_ok_and(|n| n.starts_with("struct_ops")))
        };
        (0..self.places.len()).filter(is_program).collect()
    }

    /// What relocations lead from functions to anything.
    fn relocated(&self) -> Result<Vec<Reference>> {
        let mut all = Vec::new();
        for section in self.elf.sections().filter(|s| s.elf_section_header().sh_type(LittleEndian) == SHT_REL)
        {
            let target = section.elf_section_header().sh_info(LittleEndian) as usize;
            let (Some((start, size)), Some(code)) = (section.file_range(), self.section_at(target)) else {
                continue;
            };
            for entry in (start as usize..(start + size) as usize).step_by(REL) {
                all.extend(self.reference(entry, target, code)?);
            }
        }
        Ok(all)
    }

    /// The relocation at `entry` of the section `target`, whose bytes begin at `code`, if a function has it.
    fn reference(&self, entry: usize, target: usize, code: u64) -> Result<Option<Reference>> {
        let (offset, info) = (word(self.bytes, entry), word(self.bytes, entry + 8));
        let (symbol, is_call) = ((info >> 32) as usize, info as u32 == R_BPF_64_32.0);
        let Some(caller) = self.at(target, offset) else { return Ok(None) };
        let known = self.elf.symbol_by_index(object::SymbolIndex(symbol)).map_err(unreadable)?;
        let callee = self.by_symbol.get(&symbol).copied().or_else(|| {
            // A function of the file alone: the section, and in the instruction how far into it.
            let within = known.section_index().filter(|_| known.kind() == SymbolKind::Section)?;
            let imm = imm(self.bytes, (code + offset) as usize);
            self.at(within.0, if is_call { (i64::from(imm) + 1) as u64 * INSN } else { imm as u64 })
        });
        let place = (target, offset);
        Ok(Some(Reference { caller, callee, place, info: entry + 8, is_call }))
    }

    /// Calls within a section that need no relocation, as (caller, callee).
    fn local_calls(&self, relocated: &BTreeSet<(usize, u64)>) -> Vec<(usize, usize)> {
        let mut all = Vec::new();
        for (caller, (section, range)) in self.places.iter().enumerate() {
            let Some(code) = self.section_at(*section) else { continue };
            for offset in range.clone().step_by(INSN as usize) {
                let insn = (code + offset) as usize;
                let local = self.bytes[insn] == CALL && self.bytes[insn + 1] >> 4 == PSEUDO_CALL;
                if local && !relocated.contains(&(*section, offset)) {
                    let to = offset as i64 + (i64::from(imm(self.bytes, insn)) + 1) * INSN as i64;
                    all.extend(self.at(*section, to as u64).map(|callee| (caller, callee)));
                }
            }
        }
        all
    }
}

/// A function's mention of something.
struct Reference {
    caller: usize,
    /// The function, if it is one of the object's.
    callee: Option<usize>,
    /// Section and byte of the instruction.
    place: (usize, u64),
    /// Where the relocation keeps the symbol's number.
    info: usize,
    /// Or takes its address.
    is_call: bool,
}

impl Calls {
    /// What the object's functions call; `own` are the entry points of a component that it has beside the built-in ones.
    pub fn of(bytes: &[u8], own: &[(String, String)]) -> Result<Self> {
        let text = Text::of(bytes)?;
        let own = own.iter().map(|(c, f)| (f.as_str(), c.as_str()));
        let owner: BTreeMap<&str, &str> = ENTRIES.iter().map(|(c, f)| (*f, *c)).chain(own).collect();
        let absent =
            text.by_symbol.iter().find(|(_, f)| text.names[**f] == ABSENT).map(|(symbol, _)| *symbol);
        let nr = text.places.len();
        let mut calls = Self {
            plain: vec![Vec::new(); nr],
            callbacks: vec![Vec::new(); nr],
            switchable: (0..nr).map(|_| Vec::new()).collect(),
            parts: Vec::new(),
            programs: text.programs(),
            absent: absent.ok_or_else(|| Error::bug(format!("the scheduler's object has no `{ABSENT}`")))?,
        };
        let relocated = text.relocated()?;
        for r in &relocated {
            let Some(callee) = r.callee else { continue };
            let hangs = |p: &&(Part, &str, &str)| (p.1, p.2) == (text.names[r.caller], text.names[callee]);
            calls.parts.extend(PARTS.iter().find(hangs).map(|p| (p.0, r.info)));
            match owner.get(text.names[callee]) {
                Some(component) => {
                    let component = (*component).to_owned();
                    calls.switchable[r.caller].push(Switchable { component, info: r.info, callee });
                }
                None if r.is_call => calls.plain[r.caller].push(callee),
                None => calls.callbacks[r.caller].push(callee),
            }
        }
        for (caller, callee) in text.local_calls(&relocated.iter().map(|r| r.place).collect()) {
            calls.plain[caller].push(callee);
        }
        Ok(calls)
    }

    /// Functions of the largest program with these components.
    fn functions(&self, components: &BTreeSet<&str>) -> usize {
        let count = |&program: &usize| {
            let mut seen = vec![false; self.plain.len()];
            let mut to_see = vec![program];
            seen[program] = true;
            let mut nr = 0;
            let mut absent = false;
            while let Some(f) = to_see.pop() {
                nr += 1;
                let (kept, left): (Vec<_>, Vec<_>) =
                    self.switchable[f].iter().partition(|c| components.contains(c.component.as_str()));
                absent |= !left.is_empty();
                let plain = self.plain[f].iter().chain(&self.callbacks[f]).copied();
                for callee in plain.chain(kept.iter().map(|c| c.callee)) {
                    if !std::mem::replace(&mut seen[callee], true) {
                        to_see.push(callee);
                    }
                }
            }
            nr + usize::from(absent)
        };
        self.programs.iter().map(count).max().unwrap_or(0)
    }

    /// Functions in the longest chain of calls from a program or a callback.
    fn frames(&self, components: &BTreeSet<&str>) -> usize {
        let mut known = vec![0; self.plain.len()];
        self.programs
            .iter()
            .chain(self.callbacks.iter().flatten())
            .map(|&start| self.frames_from(start, components, &mut known))
            .max()
            .unwrap_or(0)
    }

    /// Likewise from a function; `known` has what was found for others, or 0. (There is no recursion: tools/test-ports.sh.)
    fn frames_from(&self, f: usize, components: &BTreeSet<&str>, known: &mut [usize]) -> usize {
        if known[f] == 0 {
            let mut below = 0;
            for &callee in &self.plain[f] {
                below = below.max(self.frames_from(callee, components, known));
            }
            for call in &self.switchable[f] {
                below = below.max(match components.contains(call.component.as_str()) {
                    true => self.frames_from(call.callee, components, known),
                    false => 1,
                });
            }
            known[f] = 1 + below;
        }
        known[f]
    }

    /// Functions of the largest program, with all components that it calls.
    #[cfg(test)]
    pub fn functions_of_all(&self) -> usize {
        self.functions(&ENTRIES.iter().map(|(c, _)| *c).collect())
    }

    /// The components of `wanted`, and of `others` as many as there is room for, the smallest first, in a kernel that grants
    /// a chain of calls `max_frames` functions.
    pub fn choose<'a>(
        &self,
        wanted: &BTreeSet<&'a str>,
        others: &[&'a str],
        max_frames: usize,
    ) -> Result<BTreeSet<&'a str>> {
        let mut chosen = wanted.clone();
        let least = self.functions(&chosen);
        if least > MAX_FUNCTIONS {
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "the components of these topologies have {least} functions together, and a program in the kernel may have {MAX_FUNCTIONS}"
                ),
                "name fewer topologies at once; one that has more by itself can only be simulated",
            ));
        }
        let frames = self.frames(&chosen);
        if frames > max_frames {
            let alone = |c: &&&str| self.frames(&BTreeSet::from([**c])) > max_frames;
            let deep: Vec<&str> = wanted.iter().filter(alone).copied().collect();
            let whose =
                if deep.is_empty() { "these topologies".into() } else { format!("`{}`", deep.join("`, `")) };
            return Err(Error::new(
                ErrorKind::Input,
                format!(
                    "{whose} would need chains of {frames} calls, and this kernel's verifier grants {max_frames}"
                ),
                format!(
                    "Linux {}.{} and later grant more; topologies of other components run here",
                    DEEP_CHAINS.0, DEEP_CHAINS.1
                ),
            ));
        }
        let with = |chosen: &BTreeSet<&'a str>, c: &'a str| {
            let mut more = chosen.clone();
            more.insert(c);
            more
        };
        let mut rest: Vec<(usize, &str)> =
            others.iter().map(|c| (self.functions(&with(&chosen, c)), *c)).collect();
        rest.sort();
        for (_, c) in rest {
            let more = with(&chosen, c);
            if self.functions(&more) <= MAX_FUNCTIONS && self.frames(&more) <= max_frames {
                chosen = more;
            }
        }
        Ok(chosen)
    }

    /// The object `bytes` with these components and parts, and no others.
    pub fn keep(&self, bytes: &[u8], components: &BTreeSet<&str>, parts: &BTreeSet<Part>) -> Vec<u8> {
        let mut out = bytes.to_vec();
        let left = self.switchable.iter().flatten().filter(|c| !components.contains(c.component.as_str()));
        let undone = self.parts.iter().filter(|(part, _)| !parts.contains(part));
        for at in left.map(|c| c.info).chain(undone.map(|(_, info)| *info)) {
            let kind = word(bytes, at) & u64::from(u32::MAX);
            let info = (self.absent as u64) << 32 | kind;
            out[at..at + 8].copy_from_slice(&info.to_le_bytes());
        }
        out
    }
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The number in the instruction at `at`.
fn imm(bytes: &[u8], at: usize) -> i32 {
    i32::from_le_bytes(bytes[at + 4..at + 8].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::OBJECT;

    /// Each part hangs on a call that is there, and is not when nobody needs the part.
    #[test]
    fn parts_are_left_out_one_by_one() {
        let calls = Calls::of(&OBJECT, &[]).expect("readable");
        let all: BTreeSet<Part> = PARTS.iter().map(|p| p.0).collect();
        assert_eq!(calls.parts.iter().map(|p| p.0).collect::<BTreeSet<_>>(), all);
        for part in &all {
            let kept = calls.keep(&OBJECT, &BTreeSet::from(["fcfs"]), &BTreeSet::from([*part]));
            let left = Calls::of(&kept, &[]).expect("readable").parts;
            assert!(!left.is_empty() && left.iter().all(|p| p.0 == *part), "{part:?}: {left:?}");
        }
    }
}
