// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! The C interface, declared once. Layouts are compared with C's by a test (layout.rs).

use std::ffi::{c_char, c_int, c_void};

/// `struct weir_sched`: the arena's first bytes; never looked into from here.
#[repr(C)]
pub struct CSched {
    _opaque: [u8; 0],
}

#[repr(C)]
pub struct CConfig {
    pub arena_bytes: u64,
    pub seed: u64,
    pub nr_cpus: u32,
    pub nr_classes: u32,
    pub unused: [u32; 2],
    pub patience: u64,
    pub classes: *const CClass,
}

#[repr(C)]
pub struct COpLog {
    pub nr: u32,
    pub cap: u32,
    pub ops: *mut crate::sched::OpRecord,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CClass {
    pub size: u32,
    pub per_task: u32,
    pub hears: u32,
    pub keyed_out: u32,
    pub has: u32,
    pub nr_params: u32,
    pub on: u64,
    pub reviews: u64,
    pub hears_all: u64,
    pub answers: u64,
    pub param_offset: [u32; 8],
    pub nr_topics: u32,
    pub serial: u32,
    pub ordering: u32,
    pub answer_at: u32,
    pub topics: [CClassTopic; 4],
}

/// `struct weir_class_topic`
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CClassTopic {
    pub uuid: u64,
    pub version: u32,
    pub bytes: u32,
    pub from: u32,
    pub unused: u32,
    pub name: [u8; 24],
}

/// `struct weir_own_topic`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct COwnTopic {
    pub name: *const c_char,
    pub fields: *const c_char,
    pub help: *const c_char,
    pub uuid: u64,
    pub version: u32,
    pub bytes: u32,
    pub from: u32,
    pub unused: u32,
}

#[repr(C)]
pub struct CPlan {
    pub nr_pipes: u32,
    pub nr_instances: u32,
    pub nr_cpus: u32,
    pub nr_slots: u32,
    pub pipes: *const CPlanPipe,
    pub instances: *const CPlanInstance,
    pub cpus: *const CPlanCpu,
    pub links: *const u32,
    pub lists: *const u32,
    pub params: *const u64,
    pub masks: *const CMask,
    pub nr_masks: u32,
    pub nr_domains: u32,
    pub epoch: u32,
    pub unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CPlanPipe {
    pub slot: u32,
    pub keyed: u32,
    pub postponed: u32,
    pub from: u32,
    pub to: u32,
    pub to_port: u32,
    pub mask: u32,
    pub home: u32,
    pub label: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CPlanInstance {
    pub class: u32,
    pub nr_in: u32,
    pub nr_out: u32,
    pub first_in: u32,
    pub first_out: u32,
    pub first_param: u32,
    pub keep: u32,
    pub domain: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct CPlanCpu {
    pub entry: u32,
    pub exit: u32,
    pub first_postponed: u32,
    pub nr_postponed: u32,
    pub first_puller: u32,
    pub nr_puller: u32,
    pub core: u32,
    pub llc: u32,
    pub node: u32,
    pub isa: u32,
    pub capacity: u32,
    pub domain: u32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CMask {
    pub word: [u64; 64],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CMsg {
    pub topic: u32,
    pub cpu: u32,
    pub task: *mut CTask,
    pub value: u64,
    pub value2: u64,
    pub mask: *const CMask,
}

#[repr(C)]
#[derive(Default)]
pub struct CSwapStats {
    pub represented: u32,
    pub built: u32,
    pub kept: u32,
    pub refused: u32,
    pub pause_ns: u64,
}

#[repr(C)]
pub struct CReplacement {
    pub instance: u32,
    pub class: u32,
    pub params: *const u64,
}

#[repr(C)]
pub struct CTask {
    pub id: u32,
    pub pend: u32,
    pub claim: u64,
    pub cookie: u64,
    pub slice_ns: u64,
    pub tie: u64,
    pub home: u32,
    pub landing: u32,
    pub placed: u32,
    pub seq: u32,
    pub entry_cpu: u32,
    pub in_next: u32,
    pub next: u64,
    pub prev: u64,
    pub left: u64,
    pub right: u64,
    pub up: u64,
    pub key: u64,
    pub gate: u64,
    pub least: u64,
}

#[repr(C)]
pub struct CParam {
    pub name: *const c_char,
    pub unit: u32,
    pub offset: u32,
    pub def: u64,
    pub min: u64,
    pub max: u64,
    pub help: *const c_char,
}

/// `struct weir_relation`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CRelation {
    pub kind: u32,
    pub a: u32,
    pub b: u32,
    pub unused: u32,
    pub why: *const c_char,
}

#[repr(C)]
pub struct CDescriptor {
    pub name: *const c_char,
    pub summary: *const c_char,
    pub cls: u32,
    pub ordering: u32,
    pub in_min: u32,
    pub in_max: u32,
    pub out_min: u32,
    pub out_max: u32,
    pub out_label: u32,
    pub keyed_out: u32,
    pub kernel: u32,
    pub plain: u32,
    pub hears: u32,
    pub size: u32,
    pub per_task: u32,
    pub nr_params: u32,
    pub listens: u64,
    pub reviews: u64,
    pub hears_all: u64,
    pub publishes: u64,
    pub asks: u64,
    pub needs: u64,
    pub answers: u64,
    pub answer_at: u32,
    pub params: *const CParam,
    pub topics: *const COwnTopic,
    pub nr_topics: u32,
    pub serial: u32,
    pub travels: u32,
    pub nr_relations: u32,
    pub relations: *const CRelation,
}

// SAFETY: descriptors are constants; their pointers lead to constants.
unsafe impl Sync for CDescriptor {}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct CEntries {
    pub has: u32,
    pub on: u64,
    pub answers: u64,
}

/// The head of `struct weir_plugin`; behind it stand functions, which only C calls.
#[repr(C)]
pub struct CPlugin {
    pub magic: u64,
    pub abi: u64,
    pub descriptor: *const CDescriptor,
    pub manual: *const c_char,
    pub entries: CEntries,
    pub imports: *mut *const c_void,
    pub nr_imports: u64,
}

/// `struct weir_crash` of the native port, `struct weir_where` inside it.
#[repr(C)]
pub struct CCrash {
    pub kind: u32,
    pub inside: u32,
    pub class: u32,
    pub instance: u32,
    pub entry: u32,
    pub topic: u32,
    pub task: u32,
    pub unused: u32,
    pub cookie: u64,
    pub detail: u64,
    pub text: [u8; 64],
}

#[repr(C)]
#[derive(Default)]
pub struct CMemory {
    pub used: u64,
    pub per_task: u64,
    pub faults: u64,
    pub lost_messages: u64,
    pub nr_tasks: u32,
    pub nr_slots: u32,
    pub nr_away: u32,
    pub unused: u32,
}

/// `struct weir_remote_msg`; its words follow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CRemoteMsg {
    pub kind: u32,
    pub from: u32,
    pub to: u32,
    pub task: u32,
    pub pipe: u32,
    pub epoch: u32,
    pub cpu: u32,
    pub call: u32,
    pub reported: u32,
    pub nr_words: u32,
    pub cookie: u64,
    pub uuid: u64,
    pub version: u64,
    pub value: u64,
    pub value2: u64,
}

#[cfg(feature = "strict")]
unsafe extern "C" {
    pub fn weir_strict_impatience(of_1024: u32, seed: u64);
}

/// The functions of schedule.h: those of the C code that is linked, or, with the feature `bpf`, those of the bytecode.
macro_rules! core_functions {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        #[cfg(not(feature = "bpf"))]
        unsafe extern "C" {
            $(pub fn $name($($arg: $ty),*) $(-> $ret)?;)*
        }
        $(
            /// # Safety
            /// As of the function in C.
            #[cfg(feature = "bpf")]
            pub unsafe extern "C" fn $name($($arg: $ty),*) $(-> $ret)? {
                // SAFETY: the caller's.
                unsafe { crate::bpf::call(stringify!($name), &[$($arg as u64),*]) as _ }
            }
        )*
    };
}

core_functions! {
    fn weir_init(mem: *mut CSched, config: *const CConfig) -> c_int;
    fn weir_alloc_at(s: *mut CSched, bytes: u64) -> u64;
    fn weir_task_new(s: *mut CSched, cpu: u32, cookie: u64) -> *mut CTask;
    fn weir_task_get(s: *mut CSched, id: u32) -> *mut CTask;
    fn weir_admit(s: *mut CSched, cpu: u32, t: *mut CTask) -> c_int;
    fn weir_unblock(s: *mut CSched, cpu: u32, t: *mut CTask) -> c_int;
    fn weir_wakes_and_leaves(s: *mut CSched, cpu: u32, leaves: u32) -> c_int;
    fn weir_relinquish(s: *mut CSched, cpu: u32, t: *mut CTask) -> c_int;
    fn weir_block(s: *mut CSched, cpu: u32, t: *mut CTask) -> c_int;
    fn weir_exit(s: *mut CSched, cpu: u32, t: *mut CTask) -> c_int;
    fn weir_gave_up(s: *mut CSched, cpu: u32) -> c_int;
    fn weir_pick(s: *mut CSched, cpu: u32, target: u32) -> *mut CTask;
    fn weir_notify(s: *mut CSched, cpu: u32, msg: *const CMsg) -> c_int;
    fn weir_ask(s: *mut CSched, cpu: u32, msg: *mut CMsg) -> c_int;
    fn weir_timer_expired(s: *mut CSched, cpu: u32, instance: u32) -> c_int;
    fn weir_topic_register(s: *mut CSched, topic: *const CClassTopic) -> c_int;
    fn weir_topic_find(s: *mut CSched, uuid: u64, version: u32) -> c_int;
    fn weir_topic_for_users(s: *mut CSched, topic: u32) -> c_int;
    fn weir_payload_bytes(s: *const CSched, topic: u32) -> u64;
    fn weir_topic_check(s: *mut CSched, topic: u32, uuid: u64, version: u32) -> c_int;
    fn weir_topic_hold(s: *mut CSched, topic: u32) -> c_int;
    fn weir_topic_release(s: *mut CSched, topic: u32) -> c_int;
    fn weir_topic_remove(s: *mut CSched, topic: u32) -> c_int;
    fn weir_swap(s: *mut CSched, cpu: u32, plan: *const CPlan, stats: *mut CSwapStats) -> c_int;
    fn weir_swap_instance(
        s: *mut CSched,
        cpu: u32,
        with: *const CReplacement,
        stats: *mut CSwapStats,
    ) -> c_int;
    fn weir_check(s: *mut CSched) -> c_int;
}

unsafe extern "C" {
    pub static weir_descriptors: [*const CDescriptor; 0];
    pub static weir_nr_descriptors: u32;
    pub static weir_entries: [CEntries; 0];

    pub fn weir_remote_init(s: *mut CSched, domain: u32);
    pub fn weir_remote_next(s: *mut CSched, cpu: u32) -> *const CRemoteMsg;
    pub fn weir_remote_taken(s: *mut CSched);
    pub fn weir_remote_accept(s: *mut CSched, cpu: u32, p: *const CRemoteMsg) -> c_int;

    pub static weir_exports: [*const c_void; 0];
    pub static weir_nr_exports: u32;
    pub static weir_abi: u64;

    pub fn weir_guard_install();
    pub fn weir_guard_call(
        call: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
        crash: *mut CCrash,
    ) -> c_int;

    pub fn weir_host_classes(out: *mut CClass);
    pub fn weir_host_plugin(slot: u32, plugin: *const CPlugin);
    pub fn weir_host_class_of(d: *const CDescriptor, e: *const CEntries, out: *mut CClass);
    pub fn weir_host_learn_class(s: *mut CSched, id: u32, class: *const CClass);
    pub fn weir_host_setup(s: *mut CSched, cookie: u64, rt_topics: u64);
    pub fn weir_host_alone();
    pub fn weir_host_threads();
    pub fn weir_host_oplog(s: *mut CSched, log: *mut COpLog);
    pub fn weir_host_record(s: *mut CSched, on: u32);
    pub fn weir_host_soon(s: *const CSched, cpu: u32);
    pub fn weir_host_now(s: *const CSched, cpu: u32);
    pub fn weir_host_pipe_len(s: *const CSched, pipe: u32) -> u32;
    pub fn weir_host_other_len(s: *const CSched, known: *mut u32, nr: u32, from: u32) -> u32;
    pub fn weir_host_stands(s: *const CSched, task: u32) -> u32;
    pub fn weir_host_pipe_tasks(s: *const CSched, pipe: u32, ids: *mut u32, cap: u32) -> u32;
    pub fn weir_host_memory(s: *const CSched, m: *mut CMemory);
    pub fn weir_host_topic(s: *const CSched, topic: u32, version: *mut u32) -> u64;
    pub fn weir_host_updates(s: *const CSched, instance: u32) -> u64;
}
