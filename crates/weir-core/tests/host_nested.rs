// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A swap that is asked for from inside a call: the core refuses it (WEIR_EDEADLK), and so does the handle for several threads.

use std::cell::RefCell;
use std::sync::{Mutex, OnceLock};

use weir_core::ffi::{self, CMsg, CPlan, CReplacement, CSched, CSwapStats};
use weir_core::host::{Host, Runtime};
use weir_core::runtime::{Head, Ops, runtime_topics};
use weir_core::tables::Tables;
use weir_core::{Config, MachineShape, OutMsg, Plan, Sched};
use weir_lang::{NoIncludes, Source};

/// `weir/error.h`.
const EDEADLK: i32 = 8;

fn plan(text: &str) -> Plan {
    let source = Source { name: "test.weir".into(), text: text.into() };
    weir_lang::compile(&source, &NoIncludes, weir_core::catalog(), &MachineShape::flat(1), &[])
        .expect("right")
        .plan
}

fn config() -> Config {
    Config { nr_cpus: 2, arena_bytes: 64 << 20, checks: false, oplog: false, seed: 1 }
}

/// A runtime in C's terms that asks for swaps whenever it gets a message.
#[repr(C)]
struct Impatient {
    head: Head,
    s: *mut CSched,
    plan: CPlan,
    codes: RefCell<Vec<(i32, i32)>>,
}

static OPS: Ops = Ops { now, message, timer };

unsafe extern "C" fn now(_: *mut Head) -> u64 {
    0
}

unsafe extern "C" fn message(head: *mut Head, _: *const CMsg) {
    // SAFETY: the cookie is that of an `Impatient`, which lives as long as the scheduler is called.
    let this = unsafe { &*head.cast::<Impatient>() };
    let mut stats = CSwapStats::default();
    let params = [0u64; 8];
    let with = CReplacement { instance: 0, class: 0, params: params.as_ptr() };
    // SAFETY: the core looks whether it is inside a call before it reads anything else.
    let codes = unsafe {
        (
            ffi::weir_swap(this.s, 0, &this.plan, &mut stats),
            ffi::weir_swap_instance(this.s, 0, &with, &mut stats),
        )
    };
    this.codes.borrow_mut().push(codes);
}

unsafe extern "C" fn timer(_: *mut Head, _: u32, _: u64) {}

#[test]
fn the_core_refuses_a_swap_from_inside_a_call() {
    let (first, second) =
        (plan("entry -> q :: fifo -> cpus;"), plan("entry -> q :: lcfs -> cpus; annotate lamport;"));
    let mut config = config();
    config.nr_cpus = 1;
    let mut sched = Sched::new(&config).expect("memory");
    sched.load(&first).expect("right");
    // An idle CPU gets a KICK when a task comes.
    assert!(sched.pick(0, 0).is_none());
    let has: Vec<u32> = weir_core::class_table().iter().map(|c| c.has).collect();
    let tables = Tables::new(&second, &has, &[]).expect("right");
    let s = sched.address() as *mut CSched;
    let impatient =
        Box::new(Impatient { head: Head { ops: &OPS }, s, plan: tables.as_c(), codes: RefCell::default() });
    let t = sched.task_new(0, 7).expect("memory");
    // SAFETY: the record lives to the end of the test, and the scheduler is not called after that.
    unsafe { ffi::weir_host_setup(s, std::ptr::from_ref(&*impatient) as u64, runtime_topics()) };
    // SAFETY: valid scheduler and task; not through the handle, whose runtime it no longer has.
    assert_eq!(unsafe { ffi::weir_admit(s, 0, ffi::weir_task_get(s, t.0)) }, 0);
    let codes = impatient.codes.borrow().clone();
    assert!(!codes.is_empty(), "no message came");
    assert!(codes.iter().all(|c| *c == (-EDEADLK, -EDEADLK)), "{codes:?}");
    // SAFETY: as above. Outside a call the same swap is done, and the task is in the new graph.
    unsafe {
        let mut stats = CSwapStats::default();
        assert_eq!(ffi::weir_swap(s, 0, &impatient.plan, &mut stats), 0);
        assert_eq!(stats.represented, 1);
        assert_eq!(ffi::weir_check(s), 0);
    }
}

/// The same for the handle.
struct Asks {
    codes: Mutex<Vec<i32>>,
}

static HOST: OnceLock<(Host<Asks>, Plan)> = OnceLock::new();

impl Runtime for Asks {
    fn now(&self) -> u64 {
        0
    }

    fn message(&self, _: OutMsg) {
        let Some((host, plan)) = HOST.get() else { return };
        let mut other = host.cpu(1).expect("nobody has it");
        let refused = other.swap(plan).expect_err("it is inside a call");
        self.codes.lock().expect("no panic").push(refused.code);
    }

    fn timer(&self, _: u32, _: u64) {}
}

#[test]
fn the_handle_refuses_a_swap_from_inside_a_call() {
    let shape = MachineShape::flat(2);
    let source = Source { name: "test.weir".into(), text: "entry -> q :: fifo -> cpus;".into() };
    let two =
        weir_lang::compile(&source, &NoIncludes, weir_core::catalog(), &shape, &[]).expect("right").plan;
    let host = Host::new(&config(), Asks { codes: Mutex::default() }).expect("memory");
    let (host, plan) = HOST.get_or_init(|| (host, two));
    let mut cpu = host.cpu(0).expect("nobody has it");
    cpu.swap(plan).expect("right");
    assert!(cpu.pick().expect("a topology").is_none());
    let t = cpu.task_new(7).expect("memory");
    cpu.admit(t).expect("new");
    let codes = host.runtime().codes.lock().expect("no panic").clone();
    assert!(!codes.is_empty() && codes.iter().all(|c| *c == EDEADLK), "{codes:?}");
    cpu.swap(plan).expect("outside it is allowed");
    assert_eq!(cpu.pick().expect("a topology").map(|p| p.task), Some(t));
}
