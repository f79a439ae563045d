// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The RTL of `hw/rtl`, simulated by Verilator: one clock at a time.

use std::ffi::{CString, c_char, c_void};
use std::path::Path;

/// Inputs of `weir_laxity` in a clock.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct EngineIn {
    pub wdata: u32,
    pub addr: u16,
    pub req: u8,
    pub we: u8,
    pub cpu: u8,
}

/// Its outputs after the clock.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct EngineOut {
    pub task: u64,
    pub rdata: u32,
    pub rvalid: u8,
    pub err: u8,
    pub irq: u8,
    pub decided: u8,
    pub busy: u8,
}

/// Inputs of a priority queue in a clock.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct QueueIn {
    pub key: u64,
    pub push: u8,
    pub pop: u8,
    pub remove: u8,
    pub id: u8,
}

/// Its outputs after the clock.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct QueueOut {
    pub key: u64,
    pub ready: u8,
    pub full: u8,
    pub valid: u8,
    pub id: u8,
}

/// Inputs in a clock of a module whose accesses are calls: `weir_lists`, `weir_kernel`, `weir_unified`. What a module does not have,
/// a store or lines, has no effect.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CallIn {
    /// Byte address: the call, as [`crate::regs::lists_call`], [`crate::kernel::Call::address`] and [`crate::regs::unified_call`] make
    /// it; held until its answer.
    pub addr: u32,
    pub wdata: u32,
    /// Interrupt lines.
    pub lines: u32,
    pub req: u8,
    pub we: u8,
    /// The CPU that calls, of `weir_kernel` with several.
    pub cpu: u8,
}

/// Its outputs after the clock, `irq` with a bit for each CPU; `wake` and `wake_id` of `weir_kernel`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CallOut {
    pub rdata: u32,
    pub rvalid: u8,
    pub irq: u8,
    pub wake: u8,
    pub wake_id: u8,
}

/// A module with certain parameters, as build.rs makes it.
pub struct Kind<I, O> {
    pub name: &'static str,
    /// Tasks, or entries of a queue.
    pub tasks: usize,
    /// CPUs; 0 for what has none.
    pub cpus: usize,
    /// Of an engine: there are a counter for releases, sections that are not preempted, and the policy MLLF. Else: threads have keys.
    pub full: bool,
    new: unsafe extern "C" fn() -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    trace: unsafe extern "C" fn(*mut c_void, *const c_char),
    clock: unsafe extern "C" fn(*mut c_void, *const I, *mut O),
}

/// An instance: its registers and memories.
pub struct Model<I: 'static, O: 'static> {
    kind: &'static Kind<I, O>,
    model: *mut c_void,
    /// Clocks since reset.
    pub clocks: u64,
}

pub type EngineKind = Kind<EngineIn, EngineOut>;
pub type Engine = Model<EngineIn, EngineOut>;
pub type CallKind = Kind<CallIn, CallOut>;
pub type Queue = Model<QueueIn, QueueOut>;
/// `weir_lists`, `weir_kernel` or `weir_unified`.
pub type Calls = Model<CallIn, CallOut>;

impl<I: Default, O: Default> Model<I, O> {
    /// After reset.
    pub fn new(kind: &'static Kind<I, O>) -> Self {
        // SAFETY: makes an object of its own.
        Model { kind, model: unsafe { (kind.new)() }, clocks: 0 }
    }

    /// One clock with these inputs.
    pub fn clock(&mut self, input: I) -> O {
        let mut out = O::default();
        // SAFETY: the model lives until drop; both structs have the layout of the shim.
        unsafe { (self.kind.clock)(self.model, &input, &mut out) };
        self.clocks += 1;
        out
    }

    /// Write a waveform (FST) from here on, or no longer.
    pub fn trace(&mut self, path: Option<&Path>) {
        let path =
            path.map(|p| CString::new(p.as_os_str().as_encoded_bytes()).expect("a path has no zero byte"));
        // SAFETY: the model lives; the string lives during the call.
        unsafe { (self.kind.trace)(self.model, path.as_ref().map_or(std::ptr::null(), |p| p.as_ptr())) };
    }
}

impl<I, O> Drop for Model<I, O> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, freed once.
        unsafe { (self.kind.free)(self.model) }
    }
}

macro_rules! models {
    ($($kind:ident $name:literal $tasks:literal $cpus:literal $full:literal $in:ident $out:ident
       $new:ident $free:ident $trace:ident $clock:ident;)*) => {
        unsafe extern "C" {
            $(fn $new() -> *mut c_void;
              fn $free(model: *mut c_void);
              fn $trace(model: *mut c_void, path: *const c_char);
              fn $clock(model: *mut c_void, input: *const $in, output: *mut $out);)*
        }
        $(pub static $kind: Kind<$in, $out> = Kind {
            name: $name, tasks: $tasks, cpus: $cpus, full: $full,
            new: $new, free: $free, trace: $trace, clock: $clock,
        };)*
    };
}

models! {
    ENGINE_8X2 "engine_8x2" 8 2 true EngineIn EngineOut
        engine_8x2_new engine_8x2_free engine_8x2_trace engine_8x2_clock;
    ENGINE_5X3 "engine_5x3" 5 3 true EngineIn EngineOut
        engine_5x3_new engine_5x3_free engine_5x3_trace engine_5x3_clock;
    ENGINE_16X1 "engine_16x1" 16 1 true EngineIn EngineOut
        engine_16x1_new engine_16x1_free engine_16x1_trace engine_16x1_clock;
    ENGINE_64X8 "engine_64x8" 64 8 false EngineIn EngineOut
        engine_64x8_new engine_64x8_free engine_64x8_trace engine_64x8_clock;
    ARRAY_16 "array_16" 16 0 false QueueIn QueueOut array_16_new array_16_free array_16_trace array_16_clock;
    SYSTOLIC_16 "systolic_16" 16 0 false QueueIn QueueOut
        systolic_16_new systolic_16_free systolic_16_trace systolic_16_clock;
    KERNEL_256 "kernel_256" 256 1 false CallIn CallOut
        kernel_256_new kernel_256_free kernel_256_trace kernel_256_clock;
    KERNEL_256X3 "kernel_256x3" 256 3 false CallIn CallOut
        kernel_256x3_new kernel_256x3_free kernel_256x3_trace kernel_256x3_clock;
    KERNEL_32X2_KEYS "kernel_32x2_keys" 32 2 true CallIn CallOut
        kernel_32x2_keys_new kernel_32x2_keys_free kernel_32x2_keys_trace kernel_32x2_keys_clock;
    ORDERED_16 "ordered_16" 16 1 true CallIn CallOut ordered_16_new ordered_16_free ordered_16_trace ordered_16_clock;
    UNIFIED_256 "unified_256" 256 0 false CallIn CallOut
        unified_256_new unified_256_free unified_256_trace unified_256_clock;
    LISTS_256 "lists_256" 256 0 false CallIn CallOut lists_256_new lists_256_free lists_256_trace lists_256_clock;
}

/// All engines that are built.
pub static ENGINES: &[&EngineKind] = &[&ENGINE_8X2, &ENGINE_5X3, &ENGINE_16X1, &ENGINE_64X8];

impl Calls {
    /// A call, held until its answer: that, and the clocks until it came. `each` sees the outputs of each clock.
    ///
    /// # Panics
    /// After `latest` clocks without an answer.
    pub fn call(&mut self, input: CallIn, latest: u64, mut each: impl FnMut(CallOut)) -> (u32, u64) {
        let asked = self.clocks;
        let mut out = self.clock(CallIn { req: 1, ..input });
        each(out);
        while out.rvalid == 0 {
            assert!(self.clocks - asked < latest, "call {:#x} is not answered", input.addr);
            out = self.clock(CallIn { req: 0, ..input });
            each(out);
        }
        (out.rdata, self.clocks - asked)
    }
}

impl Engine {
    /// A write, and the clocks until it has taken effect.
    pub fn write(&mut self, cpu: usize, addr: u16, wdata: u32) -> EngineOut {
        self.clock(EngineIn { wdata, addr, req: 1, we: 1, cpu: cpu as u8 });
        self.clock(EngineIn::default())
    }

    /// A read; takes two clocks.
    pub fn read(&mut self, cpu: usize, addr: u16) -> u32 {
        self.clock(EngineIn { wdata: 0, addr, req: 1, we: 0, cpu: cpu as u8 });
        let out = self.clock(EngineIn::default());
        debug_assert_eq!(out.rvalid, 1);
        out.rdata
    }

    /// Whether a request is answered with an error.
    pub fn errs(&mut self, cpu: usize, addr: u16, store: Option<u32>) -> bool {
        let (we, wdata) = (u8::from(store.is_some()), store.unwrap_or(0));
        self.clock(EngineIn { wdata, addr, req: 1, we, cpu: cpu as u8 });
        let out = self.clock(EngineIn::default());
        debug_assert_eq!(out.rvalid, 1);
        out.err == 1
    }

    /// What each CPU is to run, by the outputs.
    pub fn cpus(&self, out: &EngineOut) -> Vec<Option<usize>> {
        let bits = (self.kind.tasks - 1).ilog2() + 1;
        (0..self.kind.cpus)
            .map(|c| {
                let task = out.task >> (bits * c as u32) & ((1 << bits) - 1);
                (out.busy >> c & 1 == 1).then_some(task as usize)
            })
            .collect()
    }
}
