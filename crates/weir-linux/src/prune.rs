// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Which components go into the kernel. A program there has 256 functions at most (`BPF_MAX_SUBPROGS`), and the verifier
//! looks at each; older kernels grant a chain of calls eight. What a user needs is chosen when the scheduler is loaded, and
//! the calls of all other components' entry points go to `weir_absent()`. Nothing is compiled: a call's relocation gets another symbol.

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
/// What is called instead of a component that is left out.
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
    component: &'static str,
    info: usize,
    callee: usize,
}

/// What an object's functions call.
pub(crate) struct Calls {
    /// Callees by caller, but for entry points of components.
    plain: Vec<Vec<usize>>,
    /// These, by caller.
    switchable: Vec<Vec<Switchable>>,
    /// Functions that the kernel calls.
    programs: Vec<usize>,
    /// Number of the symbol `weir_absent`.
    absent: usize,
}

/// Of one function: section, bytes in it.
type Place = (usize, Range<u64>);

impl Calls {
    pub fn of(bytes: &[u8]) -> Result<Self> {
        let bug = |what: String| Error::bug(format!("the scheduler's object cannot be read: {what}"));
        let elf = ElfFile64::<LittleEndian>::parse(bytes).map_err(|e| bug(e.to_string()))?;
        let owner: BTreeMap<&str, &'static str> = ENTRIES.iter().map(|(c, f)| (*f, *c)).collect();
        let mut places: Vec<Place> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        let mut by_symbol: BTreeMap<usize, usize> = BTreeMap::new();
        let mut absent = None;
        for symbol in elf.symbols().filter(|s| s.kind() == SymbolKind::Text && s.is_definition()) {
            let Some(section) = symbol.section_index() else { continue };
            let name = symbol.name().map_err(|e| bug(e.to_string()))?;
            if name == ABSENT {
                absent = Some(symbol.index().0);
            }
            by_symbol.insert(symbol.index().0, places.len());
            places.push((section.0, symbol.address()..symbol.address() + symbol.size()));
            names.push(name);
        }
        let starts: BTreeMap<(usize, u64), usize> =
            places.iter().enumerate().map(|(f, (section, range))| ((*section, range.start), f)).collect();
        let at = |section: usize, address: u64| {
            let (_, &f) = starts.range(..=(section, address)).next_back()?;
            (places[f].0 == section && places[f].1.contains(&address)).then_some(f)
        };
        let mut calls = Self {
            plain: vec![Vec::new(); places.len()],
            switchable: places.iter().map(|_| Vec::new()).collect(),
            programs: Vec::new(),
            absent: absent.ok_or_else(|| bug(format!("it has no `{ABSENT}`")))?,
        };
        calls.programs = (0..places.len())
            .filter(|&f| {
                let section = elf.section_by_index(object::SectionIndex(places[f].0));
                section.is_ok_and(|s| s.name().is_ok_and(|n| n.starts_with("struct_ops")))
            })
            .collect();
        let mut relocated: BTreeSet<(usize, u64)> = BTreeSet::new();
        for section in elf.sections().filter(|s| s.elf_section_header().sh_type(LittleEndian) == SHT_REL) {
            let target = section.elf_section_header().sh_info(LittleEndian) as usize;
            let Some((start, size)) = section.file_range() else { continue };
            let Some((code, _)) =
                elf.section_by_index(object::SectionIndex(target)).ok().and_then(|s| s.file_range())
            else {
                continue;
            };
            for entry in (start as usize..(start + size) as usize).step_by(REL) {
                let (offset, info) = (word(bytes, entry), word(bytes, entry + 8));
                let (symbol, kind) = ((info >> 32) as usize, info as u32);
                let Some(caller) = at(target, offset) else { continue };
                relocated.insert((target, offset));
                let known =
                    elf.symbol_by_index(object::SymbolIndex(symbol)).map_err(|e| bug(e.to_string()))?;
                let callee = by_symbol.get(&symbol).copied().or_else(|| {
                    // A function of the file alone: the section, and in the instruction how far into it.
                    let within = known.section_index().filter(|_| known.kind() == SymbolKind::Section)?;
                    let imm = imm(bytes, (code + offset) as usize);
                    at(
                        within.0,
                        if kind == R_BPF_64_32.0 { (i64::from(imm) + 1) as u64 * INSN } else { imm as u64 },
                    )
                });
                let Some(callee) = callee else { continue };
                match owner.get(names[callee]) {
                    Some(component) => {
                        calls.switchable[caller].push(Switchable { component, info: entry + 8, callee });
                    }
                    None => calls.plain[caller].push(callee),
                }
            }
        }
        // Calls within a section that need no relocation.
        for (caller, (section, range)) in places.iter().enumerate() {
            let code = elf.section_by_index(object::SectionIndex(*section)).ok().and_then(|s| s.file_range());
            let Some((code, _)) = code else { continue };
            for offset in range.clone().step_by(INSN as usize) {
                let insn = (code + offset) as usize;
                let local = bytes[insn] == CALL && bytes[insn + 1] >> 4 == PSEUDO_CALL;
                if local && !relocated.contains(&(*section, offset)) {
                    let to = offset as i64 + (i64::from(imm(bytes, insn)) + 1) * INSN as i64;
                    calls.plain[caller].extend(at(*section, to as u64));
                }
            }
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
                    self.switchable[f].iter().partition(|c| components.contains(c.component));
                absent |= !left.is_empty();
                for callee in self.plain[f].iter().copied().chain(kept.iter().map(|c| c.callee)) {
                    if !std::mem::replace(&mut seen[callee], true) {
                        to_see.push(callee);
                    }
                }
            }
            nr + usize::from(absent)
        };
        self.programs.iter().map(count).max().unwrap_or(0)
    }

    /// Functions in the longest chain of calls from a program.
    fn frames(&self, components: &BTreeSet<&str>) -> usize {
        let mut known = vec![0; self.plain.len()];
        self.programs
            .iter()
            .map(|&program| self.frames_from(program, components, &mut known))
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
                below = below.max(match components.contains(call.component) {
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
                    "these topologies have {least} functions together, and a program in the kernel may have {MAX_FUNCTIONS}"
                ),
                "name fewer topologies at once",
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

    /// The object `bytes` with these components and no others.
    pub fn keep(&self, bytes: &[u8], components: &BTreeSet<&str>) -> Vec<u8> {
        let mut out = bytes.to_vec();
        for call in self.switchable.iter().flatten().filter(|c| !components.contains(c.component)) {
            let kind = word(bytes, call.info) & u64::from(u32::MAX);
            let info = (self.absent as u64) << 32 | kind;
            out[call.info..call.info + 8].copy_from_slice(&info.to_le_bytes());
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
