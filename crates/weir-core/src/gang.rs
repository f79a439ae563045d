// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! Gangs: the resource service in `runtimes/multikernel/`, which every runtime shares. `docs/gangs.md` has the rules.

use std::ffi::{CStr, c_char, c_int};

use crate::CpuSet;

/// Most gangs, groups and phases of one, and CPUs.
pub const MAX_GANGS: usize = 64;
pub const MAX_GROUPS: usize = 16;
pub const MAX_PHASES: usize = 16;
pub const MAX_CPUS: usize = 1024;
/// A share of 1, and what of each CPU is kept for best effort.
pub const WHOLE: u32 = 1_000_000;
pub const FLOOR: u32 = 100_000;

const NONE: u32 = u32::MAX;

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CCpus([u64; MAX_CPUS / 64]);

impl CCpus {
    fn set(&self) -> CpuSet {
        (0..MAX_CPUS as u32).filter(|c| self.0[*c as usize / 64] >> (c % 64) & 1 == 1).collect()
    }
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CPhase {
    kind: u32,
    priority: i32,
    wcet: u64,
    period: u64,
    deadline: u64,
    release: u64,
    line: u32,
    unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CManifest {
    name: [u8; 32],
    threads: u32,
    withheld: u32,
    any_cpu: u32,
    nr_phases: u32,
    cores: u32,
    unused: u32,
    cpus: CCpus,
    phase: [CPhase; MAX_PHASES],
    program: [u8; 16],
    group: [u8; 128],
}

#[repr(C)]
#[derive(Default)]
struct CFault {
    code: u32,
    line: u32,
    column: u32,
    length: u32,
}

/// Slots: at all times of the common clock that are `offset_ns` modulo `period_ns`. A length of 0 is best effort.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub offset_ns: u64,
    pub length_ns: u64,
    pub period_ns: u64,
}

#[repr(C)]
struct CGang {
    used: u32,
    threads: u32,
    scale: u32,
    alone: u32,
    version: u64,
    cpus: CCpus,
    members: CCpus,
    manifest: CManifest,
    row: [Row; MAX_PHASES],
}

#[repr(C)]
#[derive(Default)]
struct CRefusal {
    code: u32,
    phase: u32,
    cpu: u32,
    other: u32,
    needed: u64,
    available: u64,
}

/// What a planner sends to a peer when a phase changes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseMessage {
    pub gang: u32,
    pub phase: u32,
    pub time_ns: u64,
    pub coordinator: u32,
    pub sequence: u32,
    change: u32,
    group: u32,
    groups: u32,
    unused: u32,
}

/// What a member asks of the planner of its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// Its group enters a phase.
    Phase(u32),
    /// Groups, a bit each, merge into one, which enters a phase (`None`: stays in its own).
    Merge { groups: u32, into: u32, phase: Option<u32> },
    /// The groups that were merged into this one leave it.
    Split(u32),
}

/// What the peer answers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseReply {
    pub gang: u32,
    pub sequence: u32,
    pub cpu: u32,
    pub status: u32,
}

/// The aggregated answer: the worst status (0: done), and how many CPUs are in the group concerned.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PhaseResult {
    pub status: u32,
    pub count: u32,
}

/// For the scheduler of a CPU: a gang's slots there from a time on.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Submit {
    pub gang: u32,
    pub priority: i32,
    pub from_ns: u64,
    pub row: Row,
}

#[repr(C)]
struct CController {
    _opaque: [u8; 0],
}

#[repr(C)]
struct CPlanner {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn mk_manifest_parse(text: *const c_char, bytes: u64, m: *mut CManifest, fault: *mut CFault) -> c_int;
    fn mk_manifest_what(code: u32) -> *const c_char;
    fn mk_manifest_remedy(code: u32) -> *const c_char;
    fn mk_refusal_what(code: u32) -> *const c_char;
    fn mk_refusal_remedy(code: u32) -> *const c_char;
    fn mk_controller_bytes() -> u64;
    fn mk_controller_init(c: *mut CController, nr_cpus: u32) -> c_int;
    fn mk_set_cpu(c: *mut CController, cpu: u32, online: u32, load: u32) -> c_int;
    fn mk_set_core(c: *mut CController, cpu: u32, core: u32) -> c_int;
    fn mk_gang_at(c: *const CController, gang: u32) -> *const CGang;
    fn mk_admit(
        c: *mut CController,
        m: *const CManifest,
        at: u64,
        cut: c_int,
        gang: *mut u32,
        why: *mut CRefusal,
    ) -> c_int;
    fn mk_leave(c: *mut CController, gang: u32) -> c_int;
    fn mk_member_cpu(c: *const CController, gang: u32, nr: u32) -> u32;
    fn mk_booked(c: *const CController, cpu: u32) -> u32;
    fn mk_verify(c: *const CController) -> c_int;
    fn mk_next_slot(row: *const Row, at: u64) -> u64;
    fn mk_planner_bytes() -> u64;
    fn mk_planner_init(p: *mut CPlanner, cpu: u32);
    fn mk_planner_learn(p: *mut CPlanner, gang: u32, g: *const CGang, now: u64, submit: *mut Submit)
    -> c_int;
    fn mk_planner_push(
        p: *mut CPlanner,
        gang: u32,
        phase: u32,
        version: u64,
        row: *const Row,
        now: u64,
        submit: *mut Submit,
    ) -> c_int;
    fn mk_planner_forget(p: *mut CPlanner, gang: u32, now: u64, submit: *mut Submit) -> c_int;
    fn mk_planner_change(
        p: *mut CPlanner,
        gang: u32,
        phase: u32,
        now: u64,
        out: *mut PhaseMessage,
        submit: *mut Submit,
        result: *mut PhaseResult,
    ) -> c_int;
    fn mk_planner_merge(
        p: *mut CPlanner,
        gang: u32,
        groups: u32,
        into: u32,
        phase: u32,
        now: u64,
        out: *mut PhaseMessage,
        submit: *mut Submit,
        result: *mut PhaseResult,
    ) -> c_int;
    fn mk_planner_split(
        p: *mut CPlanner,
        gang: u32,
        group: u32,
        now: u64,
        out: *mut PhaseMessage,
        submit: *mut Submit,
        result: *mut PhaseResult,
    ) -> c_int;
    fn mk_planner_join(p: *mut CPlanner, gang: u32, group: u32, now: u64, submit: *mut Submit) -> c_int;
    fn mk_planner_group(p: *const CPlanner, gang: u32) -> u32;
    fn mk_planner_receive(
        p: *mut CPlanner,
        msg: *const PhaseMessage,
        submit: *mut Submit,
        reply: *mut PhaseReply,
    ) -> c_int;
    fn mk_planner_reply(p: *mut CPlanner, reply: *const PhaseReply, result: *mut PhaseResult) -> c_int;
}

/// A text of the service; they are all static.
fn text(at: *const c_char) -> &'static str {
    // SAFETY: the service's texts are constants that end with a zero.
    unsafe { CStr::from_ptr(at) }.to_str().unwrap_or("?")
}

/// A text of a manifest, which has ASCII only.
fn until_zero(bytes: &[u8]) -> &str {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(0);
    std::str::from_utf8(&bytes[..end]).unwrap_or("")
}

/// What is wrong with a manifest; line and column count from 1, columns in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub line: u32,
    pub column: u32,
    pub length: u32,
    pub what: &'static str,
    pub remedy: &'static str,
}

/// A phase of a manifest; times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    BestEffort { priority: i32 },
    Hard { wcet_ns: u64, period_ns: u64, deadline_ns: u64, release_ns: u64 },
}

/// A manifest that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manifest(CManifest);

impl Manifest {
    /// Read a manifest.
    ///
    /// # Errors
    /// Where it is wrong, why, and how to mend it.
    pub fn parse(source: &str) -> Result<Self, Fault> {
        // SAFETY: all zeroes are a value of each of the fields.
        let mut m: CManifest = unsafe { std::mem::zeroed() };
        let mut fault = CFault::default();
        // SAFETY: the text is as long as said, and both records have C's layout.
        let err =
            unsafe { mk_manifest_parse(source.as_ptr().cast(), source.len() as u64, &mut m, &mut fault) };
        if err == 0 {
            return Ok(Self(m));
        }
        // SAFETY: functions of a number.
        let (what, remedy) = unsafe { (mk_manifest_what(fault.code), mk_manifest_remedy(fault.code)) };
        let CFault { line, column, length, .. } = fault;
        Err(Fault { line, column, length, what: text(what), remedy: text(remedy) })
    }

    /// Empty: it says none.
    pub fn name(&self) -> &str {
        until_zero(&self.0.name)
    }

    /// Processes of this program join by themselves; empty: none do.
    pub fn program(&self) -> &str {
        until_zero(&self.0.program)
    }

    /// Likewise those of this control group, a path below the root of their file system.
    pub fn group(&self) -> &str {
        until_zero(&self.0.group)
    }

    /// 0: as many as there are CPUs.
    pub fn threads(&self) -> u32 {
        self.0.threads
    }

    /// Where it says nothing of that: so many.
    pub fn set_threads(&mut self, threads: u32) {
        self.0.threads = threads;
    }

    /// Where it says nothing of that: this name, as far as it is one.
    pub fn set_name(&mut self, name: &str) {
        let fits = |b: &u8| b.is_ascii_alphanumeric() || b"_-.".contains(b);
        self.0.name = [0; 32];
        for (to, from) in self.0.name.iter_mut().take(31).zip(name.bytes().filter(fits)) {
            *to = from;
        }
    }

    /// CPUs that members may get; none: all.
    pub fn cpus(&self) -> Option<CpuSet> {
        (self.0.any_cpu == 0).then(|| self.0.cpus.set())
    }

    /// Members wait between their slots.
    pub fn waits(&self) -> bool {
        self.0.withheld != 0
    }

    /// It wants whole cores: in its slots nobody else runs on them.
    pub fn alone(&self) -> bool {
        self.0.cores != 0
    }

    pub fn phases(&self) -> Vec<Phase> {
        self.0.phase[..self.0.nr_phases as usize]
            .iter()
            .map(|p| match p.kind {
                0 => Phase::BestEffort { priority: p.priority },
                _ => Phase::Hard {
                    wcet_ns: p.wcet,
                    period_ns: p.period,
                    deadline_ns: p.deadline,
                    release_ns: p.release,
                },
            })
            .collect()
    }
}

/// Why a gang is not admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub what: &'static str,
    pub remedy: &'static str,
    pub cpu: Option<u32>,
    pub phase: Option<u32>,
    /// Name and number of the gang that is in the way.
    pub other: Option<(u32, String)>,
    /// CPUs, a share of [`WHOLE`], or ns.
    pub needed: u64,
    pub available: u64,
}

impl Refusal {
    /// What is in the way, with its numbers.
    pub fn text(&self) -> String {
        let pct = |n: u64| n as f64 * 100.0 / f64::from(WHOLE);
        let more = match (self.cpu, &self.other) {
            (Some(cpu), _) => {
                format!(" (CPU {cpu}: {:.1} % needed, {:.1} % left)", pct(self.needed), pct(self.available))
            }
            (None, Some((_, other))) => format!(" (`{other}`)"),
            (None, None) if self.available > 0 => {
                format!(" ({} needed, {} there)", self.needed, self.available)
            }
            (None, None) => String::new(),
        };
        format!("{}{more}", self.what)
    }
}

/// Memory of the service, aligned as C wants it.
struct Block(Vec<u64>);

impl Block {
    fn new(bytes: u64) -> Self {
        Self(vec![0; bytes.div_ceil(8) as usize])
    }
}

/// An admitted gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gang {
    pub manifest: Manifest,
    /// CPUs with slots: those of members, and, where it is alone on its cores, their siblings.
    pub cpus: CpuSet,
    pub threads: u32,
    /// What is left of its execution times, in 1000ths.
    pub scale: u32,
    pub version: u64,
    /// By phase.
    pub rows: Vec<Row>,
}

/// The placement controller.
pub struct Controller(Block);

impl Controller {
    /// `None`: more CPUs than it can place gangs on, or none.
    pub fn new(nr_cpus: u32) -> Option<Self> {
        // SAFETY: a function without arguments.
        let mut block = Block::new(unsafe { mk_controller_bytes() });
        // SAFETY: the memory is as large as C says, and ours.
        let err = unsafe { mk_controller_init(block.0.as_mut_ptr().cast(), nr_cpus) };
        (err == 0).then_some(Self(block))
    }

    fn raw(&self) -> *const CController {
        self.0.0.as_ptr().cast()
    }

    fn gang_at(&self, number: u32) -> Option<&CGang> {
        // SAFETY: the controller was initialised; what it points to lives as long as it does, and is shared.
        unsafe { mk_gang_at(self.raw(), number).as_ref() }
    }

    /// A gang by its number.
    pub fn gang(&self, number: u32) -> Option<Gang> {
        let g = self.gang_at(number)?;
        Some(Gang {
            manifest: Manifest(g.manifest),
            cpus: g.cpus.set(),
            threads: g.threads,
            scale: g.scale,
            version: g.version,
            rows: g.row[..g.manifest.nr_phases as usize].to_vec(),
        })
    }

    /// Whether a CPU is online, and how much of it others use, of [`WHOLE`]. `false`: there is no such CPU.
    pub fn set_cpu(&mut self, cpu: u32, online: bool, load: u32) -> bool {
        // SAFETY: as for `admit`.
        unsafe { mk_set_cpu(self.0.0.as_mut_ptr().cast(), cpu, online.into(), load) == 0 }
    }

    /// CPUs with the same `core` are threads of one core. `false`: there is no such CPU, or the number is too large.
    pub fn set_core(&mut self, cpu: u32, core: u32) -> bool {
        // SAFETY: as for `admit`.
        unsafe { mk_set_core(self.0.0.as_mut_ptr().cast(), cpu, core) == 0 }
    }

    /// Admit a program whose first phase with slots is asked for at `at_ns`, with equal cuts if it does not fit: its number.
    ///
    /// # Errors
    /// Why not; then nothing has changed.
    pub fn admit(&mut self, manifest: &Manifest, at_ns: u64, cut: bool) -> Result<u32, Refusal> {
        let (mut number, mut why) = (0, CRefusal::default());
        // SAFETY: the controller was initialised and is borrowed for us alone; the records have C's layout.
        let err = unsafe {
            mk_admit(self.0.0.as_mut_ptr().cast(), &manifest.0, at_ns, cut.into(), &mut number, &mut why)
        };
        if err == 0 {
            return Ok(number);
        }
        let some = |n: u32| (n != NONE).then_some(n);
        // SAFETY: functions of a number.
        let (what, remedy) = unsafe { (mk_refusal_what(why.code), mk_refusal_remedy(why.code)) };
        let name =
            |n: u32| self.gang_at(n).map_or(String::new(), |g| Manifest(g.manifest).name().to_string());
        Err(Refusal {
            what: text(what),
            remedy: text(remedy),
            cpu: some(why.cpu),
            phase: some(why.phase),
            other: some(why.other).map(|n| (n, name(n))),
            needed: why.needed,
            available: why.available,
        })
    }

    /// `false`: there is no such gang.
    pub fn leave(&mut self, gang: u32) -> bool {
        // SAFETY: as for `admit`.
        unsafe { mk_leave(self.0.0.as_mut_ptr().cast(), gang) == 0 }
    }

    /// The CPU of a gang's thread.
    pub fn member_cpu(&self, gang: u32, thread: u32) -> Option<u32> {
        // SAFETY: the controller was initialised.
        let cpu = unsafe { mk_member_cpu(self.raw(), gang, thread) };
        (cpu != NONE).then_some(cpu)
    }

    /// What gangs have booked of a CPU at most, of [`WHOLE`].
    pub fn booked(&self, cpu: u32) -> u32 {
        // SAFETY: the controller was initialised; a number of a CPU that it has not is compared only.
        unsafe { mk_booked(self.raw(), cpu) }
    }

    /// No combination of phases overcommits a CPU.
    pub fn verify(&self) -> bool {
        // SAFETY: the controller was initialised.
        unsafe { mk_verify(self.raw()) != 0 }
    }
}

impl Row {
    /// Begin of the first slot at or after `at_ns`; `None`: there are none.
    pub fn next(&self, at_ns: u64) -> Option<u64> {
        // SAFETY: a function of a record with C's layout, whose period is not 0.
        (self.length_ns > 0 && self.period_ns > 0).then(|| unsafe { mk_next_slot(self, at_ns) })
    }
}

/// What a scheduler has to know of a row that is in force from a time on, as fields of GANG_SLOT with their values, in the order in
/// which they are announced.
pub fn row_fields(row: &Row, from_ns: u64, alone: bool) -> impl Iterator<Item = (u64, u64)> {
    let fields = [(0, row.offset_ns), (1, row.period_ns), (2, row.length_ns)];
    fields.into_iter().chain(alone.then_some((4, 1))).chain([(3, from_ns)])
}

/// The planner of one CPU.
pub struct Planner(Block);

impl Planner {
    pub fn new(cpu: u32) -> Self {
        // SAFETY: a function without arguments.
        let mut block = Block::new(unsafe { mk_planner_bytes() });
        // SAFETY: the memory is as large as C says, and ours.
        unsafe { mk_planner_init(block.0.as_mut_ptr().cast(), cpu) };
        Self(block)
    }

    fn raw(&mut self) -> *mut CPlanner {
        self.0.0.as_mut_ptr().cast()
    }

    /// Take over what the controller has of a gang, all rows at once: what is to be handed on, if this CPU is one of it.
    pub fn replicate(&mut self, controller: &Controller, gang: u32, now_ns: u64) -> Option<Submit> {
        let g = controller.gang_at(gang)?;
        let (mut submit, mut is_ours) = (Submit::default(), false);
        // SAFETY: planner and gang were initialised; the record has C's layout.
        unsafe { mk_planner_learn(self.raw(), gang, g, now_ns, &mut submit) };
        for phase in 0..g.manifest.nr_phases {
            let row = &g.row[phase as usize];
            // SAFETY: as above.
            is_ours |=
                unsafe { mk_planner_push(self.raw(), gang, phase, g.version, row, now_ns, &mut submit) != 0 };
        }
        is_ours.then_some(submit)
    }

    /// The gang has left: what is to be handed on, if this CPU was one of it.
    pub fn forget(&mut self, gang: u32, now_ns: u64) -> Option<Submit> {
        let mut submit = Submit::default();
        // SAFETY: the planner was initialised; the record has C's layout.
        let was_ours = unsafe { mk_planner_forget(self.raw(), gang, now_ns, &mut submit) };
        (was_ours != 0).then_some(submit)
    }

    /// The members of this CPU are in a group from now on: what is to be handed on, if that changes something here.
    ///
    /// # Errors
    /// There is no such gang or group here.
    pub fn join(&mut self, gang: u32, group: u32, now_ns: u64) -> Result<Option<Submit>, crate::Error> {
        let mut submit = Submit::default();
        // SAFETY: the planner was initialised; the record has C's layout.
        let changed = unsafe { mk_planner_join(self.raw(), gang, group, now_ns, &mut submit) };
        if changed < 0 {
            return Err(crate::Error::of(changed, "join a group of a gang"));
        }
        Ok((changed != 0).then_some(submit))
    }

    /// The group in which this CPU is; `None`: the gang is not here.
    pub fn group(&self, gang: u32) -> Option<u32> {
        // SAFETY: the planner was initialised.
        let group = unsafe { mk_planner_group(self.0.0.as_ptr().cast(), gang) };
        (group != NONE).then_some(group)
    }

    /// This CPU coordinates a change: the message to each peer, what is to be handed on here, and the answer if there are
    /// no peers.
    ///
    /// # Errors
    /// There is no such gang, phase or merged group here, or replies to the last change are missing.
    pub fn change(
        &mut self,
        gang: u32,
        what: Change,
        now_ns: u64,
    ) -> Result<(PhaseMessage, Submit, Option<PhaseResult>), crate::Error> {
        let (mut out, mut submit, mut result) =
            (PhaseMessage::default(), Submit::default(), PhaseResult::default());
        let (p, o, s, r) = (self.raw(), &raw mut out, &raw mut submit, &raw mut result);
        // SAFETY: the planner was initialised; the records have C's layout.
        let peers = unsafe {
            match what {
                Change::Phase(phase) => mk_planner_change(p, gang, phase, now_ns, o, s, r),
                Change::Merge { groups, into, phase } => {
                    mk_planner_merge(p, gang, groups, into, phase.unwrap_or(NONE), now_ns, o, s, r)
                }
                Change::Split(group) => mk_planner_split(p, gang, group, now_ns, o, s, r),
            }
        };
        if peers < 0 {
            return Err(crate::Error::of(peers, "change the phase or the groups of a gang"));
        }
        Ok((out, submit, (peers == 0).then_some(result)))
    }

    /// A peer's part: what is to be handed on here, and the reply.
    pub fn receive(&mut self, msg: &PhaseMessage) -> (Option<Submit>, PhaseReply) {
        let (mut submit, mut reply) = (Submit::default(), PhaseReply::default());
        // SAFETY: as for `change`.
        let applied = unsafe { mk_planner_receive(self.raw(), msg, &mut submit, &mut reply) };
        ((applied != 0).then_some(submit), reply)
    }

    /// A reply came: the aggregated answer if it was the last one.
    pub fn reply(&mut self, reply: &PhaseReply) -> Option<PhaseResult> {
        let mut result = PhaseResult::default();
        // SAFETY: as for `change`.
        let last = unsafe { mk_planner_reply(self.raw(), reply, &mut result) };
        (last != 0).then_some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gang_is_read_admitted_and_changes_its_phase() {
        let text = "name solver\nthreads 3\noutside wait\nB 1\nH 80 160 80 480\n";
        let m = Manifest::parse(text).expect("it is right");
        assert_eq!((m.name(), m.threads(), m.waits()), ("solver", 3, true));
        let ms = 1_000_000;
        let hard =
            Phase::Hard { wcet_ns: 80 * ms, period_ns: 160 * ms, deadline_ns: 80 * ms, release_ns: 480 * ms };
        assert_eq!(m.phases(), [Phase::BestEffort { priority: 1 }, hard]);
        let joined =
            Manifest::parse("B 1\nprogram llama-server\ncgroup inference.slice/a@1\n").expect("it is right");
        assert_eq!((joined.program(), joined.group()), ("llama-server", "inference.slice/a@1"));
        let fault = Manifest::parse("B 1\nH 3 2\n").expect_err("the period is too short");
        assert_eq!((fault.line, fault.column, fault.length), (2, 5, 1));
        assert!(fault.what.contains("period") && fault.remedy.contains("raise"));
        let fault = Manifest::parse("B 1\nH 3 8 2\n").expect_err("the deadline is too early");
        assert_eq!((fault.line, fault.column, fault.length), (2, 7, 1));
        assert!(fault.what.contains("deadline") && fault.remedy.contains("raise"));

        let mut c = Controller::new(4).expect("four CPUs");
        let n = c.admit(&m, 5, false).expect("there is room");
        let gang = c.gang(n).expect("it is there");
        let row = Row { offset_ns: 5, length_ns: 80 * ms, period_ns: 160 * ms };
        assert_eq!((gang.rows[1], gang.threads, gang.cpus.len(), gang.scale), (row, 3, 3, 1000));
        assert_eq!(row.next(6), Some(160 * ms + 5));
        assert!(c.set_cpu(3, true, 0) && !c.set_cpu(4, true, 0));
        assert!(c.set_core(3, 3) && !c.set_core(4, 0) && !c.set_core(3, 5000));
        assert_eq!((c.booked(0), c.booked(3), c.verify()), (WHOLE / 2, 0, true));
        let why = c.admit(&m, 0, true).expect_err("the name is taken");
        assert_eq!(why.other, Some((n, "solver".to_string())));

        let mut planners: Vec<Planner> = (0..4).map(Planner::new).collect();
        let known: Vec<bool> = planners.iter_mut().map(|p| p.replicate(&c, n, 0).is_some()).collect();
        assert_eq!(known, [true, true, true, false]);
        let (msg, here, alone) = planners[1].change(n, Change::Phase(1), 100).expect("it knows the gang");
        assert_eq!((here.row, here.from_ns, alone), (row, 480 * ms + 100, None));
        assert!(planners[1].change(n, Change::Phase(0), 101).is_err());
        let (submit, first) = planners[0].receive(&msg);
        assert_eq!(submit.map(|s| s.row), Some(row));
        let (_, second) = planners[2].receive(&msg);
        assert_eq!(planners[1].reply(&first), None);
        assert_eq!(planners[1].reply(&second), Some(PhaseResult { status: 0, count: 3 }));
        // Its CPU leaves for another group, which is in phase 0, and comes back with all others.
        assert_eq!(planners[2].join(n, 3, 150).expect("it is there").map(|s| s.row.length_ns), Some(0));
        assert!(planners[2].join(n, 16, 150).is_err() && planners[3].join(n, 1, 150).is_err());
        assert_eq!(
            (planners[2].group(n), planners[1].group(n), planners[3].group(n)),
            (Some(3), Some(0), None)
        );
        let all = Change::Merge { groups: 0xffff, into: 0, phase: None };
        let (msg, ..) = planners[1].change(n, all, 160).expect("it knows the gang");
        assert_eq!(planners[2].receive(&msg).0.map(|s| s.row), Some(row));
        assert!(planners[0].change(n, Change::Split(7), 170).is_err());
        assert_eq!(planners[1].forget(n, 200).map(|s| s.row.length_ns), Some(0));
        assert_eq!(planners[3].forget(n, 200), None);
        assert!(c.leave(n) && !c.leave(n) && c.gang(n).is_none());

        // Two cores of two threads: one member a core.
        (0..4).for_each(|cpu| assert!(c.set_core(cpu, cpu / 2)));
        let m = Manifest::parse("threads 1\ncores one\nH 1 10\n").expect("it is right");
        let n = c.admit(&m, 0, false).expect("there is room");
        let gang = c.gang(n).expect("it is there");
        assert_eq!((m.alone(), gang.cpus.iter().collect::<Vec<_>>()), (true, vec![0, 1]));
        assert_eq!((c.member_cpu(n, 0), c.member_cpu(n, 1)), (Some(0), None));
        assert!(Controller::new(0).is_none() && Controller::new(5000).is_none());
    }
}
