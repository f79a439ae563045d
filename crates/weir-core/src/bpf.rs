// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The bytecode of the BPF port, interpreted: what the kernel gets is what tests run.
//!
//! With the feature `bpf` the core and the components are compiled for the kernel's virtual machine as the live scheduler has
//! them, and each call of schedule.h runs in this interpreter. Addresses of the arena are those of the process, so casts between
//! address spaces change nothing. The kernel's limits that can be seen at run time are enforced: frames of 512 bytes, the budget
//! of `may_goto`, no null pointers. What its verifier proves ahead is not: that needs a kernel (tests/live).
//!
//! Instructions: RFC 9669, and `may_goto` and `addr_space_cast` of Linux, Documentation/bpf/standardization.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use object::elf::{R_BPF_64_32, R_BPF_64_64};
use object::{Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SymbolKind};

use crate::ffi::{CMsg, CSched};

static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/weir_unit.bpf.o"));

/// Bytes of stack that one function may use (MAX_BPF_STACK).
const FRAME: usize = 512;
/// Calls within each other: as many as Linux 7.2 grants.
const MAX_FRAMES: usize = 16;
/// Turns of loops in one call from outside (BPF_MAX_LOOPS).
const MAX_TURNS: u64 = 8 << 20;

// What the bytecode calls and does not define (runtime.h).
unsafe extern "C" {
    fn weir_rt_now(s: *mut CSched) -> u64;
    fn weir_rt_message(s: *mut CSched, msg: *const CMsg);
    fn weir_rt_timer(s: *mut CSched, instance: u32, at_ns: u64);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outside {
    Now,
    Message,
    Timer,
}

#[derive(Clone, Copy, Debug)]
struct Insn {
    op: u8,
    dst: u8,
    src: u8,
    off: i16,
    imm: i32,
    /// Of a load of 64 bits: the value. Of a call: the first instruction of the function.
    wide: u64,
    outside: Option<Outside>,
}

struct Program {
    code: Vec<Insn>,
    functions: HashMap<String, usize>,
    /// Address of the counter of broken invariants.
    faults: u64,
}

fn program() -> &'static Program {
    static PROGRAM: OnceLock<Program> = OnceLock::new();
    PROGRAM.get_or_init(|| read(OBJECT))
}

/// The object, with its data in memory of this process and all references resolved.
fn read(bytes: &[u8]) -> Program {
    let elf = object::File::parse(bytes).expect("clang made it");
    let text = elf.section_by_name(".text").expect("it has code");
    let slot = |bytes: &[u8]| Insn {
        op: bytes[0],
        dst: bytes[1] & 15,
        src: bytes[1] >> 4,
        off: i16::from_le_bytes([bytes[2], bytes[3]]),
        imm: i32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
        wide: 0,
        outside: None,
    };
    let mut code: Vec<Insn> = text.data().expect("in the file").chunks_exact(8).map(slot).collect();

    // Data lives as long as the process: 8-byte words, for alignment.
    let mut data = HashMap::new();
    // The compiler keeps constants, such as a table for the lowest bit, in sections behind `.rodata`.
    let is_data = |name: &str| matches!(name, ".bss" | ".data") || name.starts_with(".rodata");
    for section in elf.sections().filter(|s| s.name().is_ok_and(is_data)) {
        let size = section.size() as usize;
        let words = Box::leak(vec![0u64; size.div_ceil(8)].into_boxed_slice());
        let at = words.as_mut_ptr() as u64;
        let bytes = section.data().expect("in the file");
        // SAFETY: the words have room for the section, and nobody else knows them yet.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len().min(size)) };
        data.insert(section.index(), at);
    }

    // Loads of 64 bits and calls as they stand; relocations follow.
    for pc in 0..code.len() {
        match code[pc] {
            Insn { op: 0x18, imm, .. } => {
                code[pc].wide = u64::from(imm as u32) | u64::from(code[pc + 1].imm as u32) << 32;
            }
            Insn { op: 0x85, src: 1, imm, .. } => {
                code[pc].wide = (pc as i64 + 1 + i64::from(imm)) as u64;
            }
            _ => {}
        }
    }
    for (offset, relocation) in text.relocations() {
        let pc = offset as usize / 8;
        let RelocationTarget::Symbol(symbol) = relocation.target() else {
            panic!("a relocation of no symbol")
        };
        let symbol = elf.symbol_by_index(symbol).expect("it is in the table");
        let RelocationFlags::Elf { r_type } = relocation.flags() else { panic!("it is an ELF file") };
        match r_type {
            R_BPF_64_32 if symbol.is_undefined() => {
                code[pc].outside = Some(match symbol.name().expect("it has a name") {
                    "weir_rt_now" => Outside::Now,
                    "weir_rt_message" => Outside::Message,
                    "weir_rt_timer" => Outside::Timer,
                    other => panic!("`{other}` is in no runtime.h"),
                });
            }
            // A section's symbol has the function's place in the instruction.
            R_BPF_64_32 if symbol.kind() == SymbolKind::Section => {
                code[pc].wide = (i64::from(code[pc].imm) + 1) as u64;
            }
            R_BPF_64_32 => code[pc].wide = symbol.address() / 8,
            R_BPF_64_64 => {
                let section = symbol.section_index().and_then(|s| data.get(&s)).expect("data of the unit");
                code[pc].wide += section + symbol.address();
            }
            other => panic!("relocation of type {other}"),
        }
    }
    let functions = elf
        .symbols()
        .filter(|s| s.is_definition() && s.kind() == SymbolKind::Text)
        .map(|s| (s.name().expect("functions have names").to_owned(), s.address() as usize / 8))
        .collect();
    let faults = elf.symbols().find(|s| s.name() == Ok("weir_port_faults")).expect("the port has it");
    let faults = data[&faults.section_index().expect("it is in .bss")] + faults.address();
    Program { code, functions, faults }
}

thread_local! {
    /// What `bpf_get_smp_processor_id()` says: the CPU in whose name this thread calls.
    static CPU: Cell<u32> = const { Cell::new(0) };
    /// What `bpf_ktime_get_ns()` says: it passes with each look, so that waits end.
    static CLOCK: Cell<u64> = const { Cell::new(1) };
    static STACK: RefCell<Vec<u64>> = RefCell::new(vec![0; MAX_FRAMES * FRAME / 8]);
}

/// Functions of schedule.h whose second argument is not a CPU.
const NO_CPU: [&str; 10] = [
    "weir_init",
    "weir_alloc_at",
    "weir_task_get",
    "weir_topic_register",
    "weir_topic_find",
    "weir_topic_for_users",
    "weir_payload_bytes",
    "weir_topic_hold",
    "weir_topic_release",
    "weir_topic_remove",
];

/// Call a function of the unit.
///
/// # Safety
/// As of the function in C.
pub(crate) unsafe fn call(name: &str, args: &[u64]) -> u64 {
    let program = program();
    if let Some(cpu) = args.get(1).filter(|_| name != "weir_topic_check" && !NO_CPU.contains(&name)) {
        CPU.set(*cpu as u32);
    }
    let entry = *program.functions.get(name).unwrap_or_else(|| panic!("the unit has no `{name}`"));
    let result = STACK.with_borrow_mut(|stack| {
        // SAFETY: the caller's; the stack is this thread's own.
        unsafe { run(program, entry, args, stack.as_mut_ptr() as u64) }
    });
    // SAFETY: a word of the unit's data.
    let faults = unsafe { word64(program.faults) }.load(Ordering::Relaxed);
    assert!(faults == 0, "{faults} broken invariants by the end of {name}()");
    result
}

/// # Safety
/// `at` is the address of such a word.
unsafe fn word64(at: u64) -> &'static AtomicU64 {
    // SAFETY: the caller's.
    unsafe { AtomicU64::from_ptr(at as *mut u64) }
}

struct Frame {
    back: usize,
    saved: [u64; 4],
}

/// # Safety
/// The function may be called with these arguments.
unsafe fn run(program: &Program, entry: usize, args: &[u64], stack: u64) -> u64 {
    let mut r = [0u64; 16];
    r[1..=args.len()].copy_from_slice(args);
    r[10] = stack + FRAME as u64;
    let mut frames: Vec<Frame> = Vec::with_capacity(MAX_FRAMES);
    let (mut pc, mut turns) = (entry, MAX_TURNS);
    loop {
        let insn = program.code[pc];
        let Insn { op, off, imm, .. } = insn;
        let (dst, src) = (usize::from(insn.dst), usize::from(insn.src));
        pc += 1;
        let jump = |pc: usize, by: i64| (pc as i64 + by) as usize;
        match op & 7 {
            // Loads of 64 bits.
            0 if op == 0x18 => {
                r[dst] = insn.wide;
                pc += 1;
            }
            // SAFETY: what the C code reads.
            1 => r[dst] = unsafe { load(op, address(r[src], off)) },
            // SAFETY: what the C code writes.
            2 => unsafe { store(op, address(r[dst], off), i64::from(imm) as u64) },
            3 if op & 0xe0 == 0xc0 => {
                // SAFETY: what the C code changes.
                let old = unsafe { atomic(op, imm, address(r[dst], off), r[src], r[0]) };
                match imm {
                    0xf1 => r[0] = old,
                    _ if imm & 1 == 1 => r[src] = old,
                    _ => {}
                }
            }
            // SAFETY: what the C code writes.
            3 => unsafe { store(op, address(r[dst], off), r[src]) },
            4 | 7 => {
                let wide = op & 7 == 7;
                let operand = if op & 8 == 8 { r[src] } else { i64::from(imm) as u64 };
                r[dst] = arithmetic(op, off, imm, r[dst], operand, wide);
            }
            _ if op == 0x85 => match (src, insn.outside) {
                (_, Some(outside)) => {
                    let s = r[1] as *mut CSched;
                    // SAFETY: the C code calls it with a valid scheduler and message.
                    r[0] = unsafe {
                        match outside {
                            Outside::Now => weir_rt_now(s),
                            Outside::Message => {
                                weir_rt_message(s, r[2] as *const CMsg);
                                0
                            }
                            Outside::Timer => {
                                weir_rt_timer(s, r[2] as u32, r[3]);
                                0
                            }
                        }
                    };
                }
                (0, None) => {
                    r[0] = match imm {
                        5 => CLOCK.replace(CLOCK.get() + 100),
                        8 => CPU.get().into(),
                        other => panic!("helper {other} of the kernel is not used by the core"),
                    };
                }
                _ => {
                    assert!(frames.len() + 1 < MAX_FRAMES, "more than {MAX_FRAMES} frames");
                    frames.push(Frame { back: pc, saved: [r[6], r[7], r[8], r[9]] });
                    r[10] += FRAME as u64;
                    pc = insn.wide as usize;
                }
            },
            _ if op == 0x95 => match frames.pop() {
                None => return r[0],
                Some(frame) => {
                    pc = frame.back;
                    r[6..10].copy_from_slice(&frame.saved);
                    r[10] -= FRAME as u64;
                }
            },
            // may_goto: leaves the loop when the budget is used up.
            _ if op == 0xe5 => match turns {
                0 => pc = jump(pc, off.into()),
                _ => turns -= 1,
            },
            _ if op == 0x05 => pc = jump(pc, off.into()),
            _ if op == 0x06 => pc = jump(pc, imm.into()),
            class => {
                let operand = if op & 8 == 8 { r[src] } else { i64::from(imm) as u64 };
                if holds(op, r[dst], operand, class == 5) {
                    pc = jump(pc, off.into());
                }
            }
        }
    }
}

fn address(base: u64, off: i16) -> u64 {
    let at = base.wrapping_add_signed(off.into());
    assert!(at >= 4096, "the address {at:#x}");
    at
}

/// # Safety
/// There is such memory.
unsafe fn load(op: u8, at: u64) -> u64 {
    // SAFETY: the caller's.
    unsafe {
        match op {
            0x61 => u64::from((at as *const u32).read_volatile()),
            0x69 => u64::from((at as *const u16).read_volatile()),
            0x71 => u64::from((at as *const u8).read_volatile()),
            0x79 => (at as *const u64).read_volatile(),
            _ => panic!("instruction {op:#x}"),
        }
    }
}

/// # Safety
/// There is such memory.
unsafe fn store(op: u8, at: u64, value: u64) {
    // SAFETY: the caller's.
    unsafe {
        match op {
            0x62 | 0x63 => (at as *mut u32).write_volatile(value as u32),
            0x6a | 0x6b => (at as *mut u16).write_volatile(value as u16),
            0x72 | 0x73 => (at as *mut u8).write_volatile(value as u8),
            0x7a | 0x7b => (at as *mut u64).write_volatile(value),
            _ => panic!("instruction {op:#x}"),
        }
    }
}

/// The old value. `expected`: of an exchange that compares.
///
/// # Safety
/// There is such a word.
unsafe fn atomic(op: u8, what: i32, at: u64, value: u64, expected: u64) -> u64 {
    // SAFETY: the caller's.
    let (word32, word64) = unsafe { (AtomicU32::from_ptr(at as *mut u32), word64(at)) };
    let order = Ordering::SeqCst;
    if op == 0xc3 {
        let (value, expected) = (value as u32, expected as u32);
        return u64::from(match what {
            0xe1 => word32.swap(value, order),
            0xf1 => word32.compare_exchange(expected, value, order, order).unwrap_or_else(|old| old),
            _ => match what & !1 {
                0x00 => word32.fetch_add(value, order),
                0x40 => word32.fetch_or(value, order),
                0x50 => word32.fetch_and(value, order),
                0xa0 => word32.fetch_xor(value, order),
                _ => panic!("atomic operation {what:#x}"),
            },
        });
    }
    match what {
        0xe1 => word64.swap(value, order),
        0xf1 => word64.compare_exchange(expected, value, order, order).unwrap_or_else(|old| old),
        _ => match what & !1 {
            0x00 => word64.fetch_add(value, order),
            0x40 => word64.fetch_or(value, order),
            0x50 => word64.fetch_and(value, order),
            0xa0 => word64.fetch_xor(value, order),
            _ => panic!("atomic operation {what:#x}"),
        },
    }
}

/// `a` op `b`; of 32 bits unless `wide`.
fn arithmetic(op: u8, off: i16, imm: i32, a: u64, b: u64, wide: bool) -> u64 {
    let signed = |v: u64| if wide { v as i64 } else { i64::from(v as i32) };
    let cut = |v: u64| if wide { v } else { u64::from(v as u32) };
    let (ua, ub) = (cut(a), cut(b));
    let (sa, sb) = (signed(a), signed(b));
    let bits = if wide { 63 } else { 31 };
    cut(match op & 0xf0 {
        0x00 => ua.wrapping_add(ub),
        0x10 => ua.wrapping_sub(ub),
        0x20 => ua.wrapping_mul(ub),
        0x30 if ub == 0 => 0,
        0x30 if off == 1 => sa.wrapping_div(sb) as u64,
        0x30 => ua / ub,
        0x40 => ua | ub,
        0x50 => ua & ub,
        0x60 => ua << (ub & bits),
        0x70 => ua >> (ub & bits),
        0x80 => ua.wrapping_neg(),
        0x90 if ub == 0 => ua,
        0x90 if off == 1 => sa.wrapping_rem(sb) as u64,
        0x90 => ua % ub,
        0xa0 => ua ^ ub,
        0xb0 => match off {
            8 => i64::from(b as i8) as u64,
            16 => i64::from(b as i16) as u64,
            32 => i64::from(b as i32) as u64,
            // Also a cast between address spaces (1), which are the same here.
            _ => ub,
        },
        0xc0 => (sa >> (ub & bits)) as u64,
        0xd0 => match imm {
            16 => u64::from((a as u16).swap_bytes()),
            32 => u64::from((a as u32).swap_bytes()),
            _ => a.swap_bytes(),
        },
        _ => panic!("instruction {op:#x}"),
    })
}

fn holds(op: u8, a: u64, b: u64, wide: bool) -> bool {
    let (ua, ub) = if wide { (a, b) } else { (u64::from(a as u32), u64::from(b as u32)) };
    let (sa, sb) = if wide { (a as i64, b as i64) } else { (i64::from(a as i32), i64::from(b as i32)) };
    match op & 0xf0 {
        0x10 => ua == ub,
        0x20 => ua > ub,
        0x30 => ua >= ub,
        0x40 => ua & ub != 0,
        0x50 => ua != ub,
        0x60 => sa > sb,
        0x70 => sa >= sb,
        0xa0 => ua < ub,
        0xb0 => ua <= ub,
        0xc0 => sa < sb,
        0xd0 => sa <= sb,
        _ => panic!("instruction {op:#x}"),
    }
}
