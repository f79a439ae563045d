// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A model of the whole set (`weir_kernel`), written after docs/hardware-registers.md: what each call answers,
//! and what follows from it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};

use crate::map::{conditions, lists, mutexes, threads, unit};
use crate::regs;

/// Bit 31 of an answer.
pub const FAILED: u32 = 1 << 31;

/// A call: what is in the address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub unit: u32,
    pub command: u32,
    pub thread: u8,
    pub argument: u8,
}

impl Call {
    /// Its byte address in the window.
    pub fn address(self) -> u32 {
        regs::call(self.unit, self.command, self.thread, self.argument)
    }
}

#[derive(Clone, Default)]
struct Thread {
    used: bool,
    exited: bool,
    detached: bool,
    blocked: bool,
    joiner: Option<u8>,
    priority: u8,
    key: u32,
}

#[derive(Clone, Default)]
struct Mutex {
    owner: Option<u8>,
    recursive: bool,
    count: u32,
    waiters: VecDeque<u8>,
    /// The owner has this priority at least; 0: none.
    ceiling: u8,
    /// The priority that it had before.
    saved: u8,
}

/// What a CPU does.
#[derive(Clone, Default)]
struct Cpu {
    current: Option<u8>,
    idle: u8,
    /// It may be interrupted.
    preemption: bool,
    /// Another CPU has blocked its thread.
    stop: bool,
}

/// How urgent a thread is: by priority, and by key where threads have them.
type Rank = (u8, Reverse<u32>);

/// The set with 256 priorities, 64 mutexes and condition variables. Interrupts and timers come from outside: the
/// model receives the wake-ups that they make, and says whether they were due.
pub struct Kernel {
    threads: Vec<Thread>,
    /// Free numbers, the next one last.
    free: Vec<u8>,
    /// Threads that are ready, the most urgent last: by rank, then those that were preempted (with keys only), in order.
    ready: BTreeMap<(Rank, bool), VecDeque<u8>>,
    /// Threads have keys.
    keys: bool,
    cpus: Vec<Cpu>,
    mutexes: Vec<Mutex>,
    conditions: Vec<VecDeque<u8>>,
}

impl Kernel {
    /// With so many CPUs and threads, after reset.
    pub fn new(cpus: usize, threads: usize, keys: bool) -> Self {
        Self {
            threads: vec![Thread::default(); threads],
            free: (0..threads).rev().map(|t| t as u8).collect(),
            ready: BTreeMap::new(),
            keys,
            cpus: vec![Cpu::default(); cpus],
            mutexes: vec![Mutex::default(); 64],
            conditions: vec![VecDeque::new(); 64],
        }
    }

    /// The thread that the CPU runs; `None`: its idle one.
    pub fn current(&self, cpu: usize) -> Option<u8> {
        self.cpus[cpu].current
    }

    /// A CPU runs it.
    pub fn runs(&self, t: u8) -> bool {
        self.on(t).is_some()
    }

    fn on(&self, t: u8) -> Option<usize> {
        self.cpus.iter().position(|c| c.current == Some(t))
    }

    /// How urgent what the CPU runs is, of all that would have to make room; `None`: it runs nothing, or must not.
    fn runs_at(&self, cpu: usize) -> Option<Rank> {
        let cpu = &self.cpus[cpu];
        cpu.current.filter(|_| !cpu.stop).map(|t| self.rank(t))
    }

    fn rank(&self, t: u8) -> Rank {
        let thread = &self.threads[usize::from(t)];
        (thread.priority, Reverse(thread.key))
    }

    /// It would be interrupted: its thread must leave, or something more urgent is ready than it runs, and no other CPU runs less.
    pub fn interrupts(&self, cpu: usize) -> bool {
        let room =
            (0..self.cpus.len()).filter(|c| self.cpus[*c].preemption).min_by_key(|c| (self.runs_at(*c), *c));
        let top = self.ready.last_key_value().map(|((rank, _), _)| *rank);
        self.cpus[cpu].preemption && (self.cpus[cpu].stop || (room == Some(cpu) && top > self.runs_at(cpu)))
    }

    /// The CPU's thread has been blocked or has ended: it has to give up the CPU.
    pub fn must_leave(&self, cpu: usize) -> bool {
        self.cpus[cpu].current.is_some_and(|t| self.threads[usize::from(t)].blocked)
    }

    /// Threads that exist and have not ended.
    pub fn alive(&self) -> Vec<u8> {
        (0..self.threads.len()).map(|t| t as u8).filter(|t| self.lives(*t)).collect()
    }

    fn lives(&self, t: u8) -> bool {
        let thread = &self.threads[usize::from(t)];
        thread.used && !thread.exited
    }

    /// It waits for a mutex or a condition variable.
    pub fn waits(&self, t: u8) -> bool {
        self.mutexes.iter().any(|m| m.waiters.contains(&t)) || self.conditions.iter().any(|c| c.contains(&t))
    }

    pub fn queued(&self, t: u8) -> bool {
        self.ready.values().any(|l| l.contains(&t))
    }

    fn enqueue(&mut self, t: u8, front: bool) -> u32 {
        if self.queued(t) {
            return 1;
        }
        // Of a list the first one is taken; with keys those that were preempted have a list of their own.
        let list = self.ready.entry((self.rank(t), front && self.keys)).or_default();
        if front && !self.keys {
            list.push_front(t)
        } else {
            list.push_back(t)
        }
        0
    }

    fn dequeue(&mut self, t: u8) -> u32 {
        let was = self.queued(t);
        self.ready.values_mut().for_each(|l| l.retain(|x| *x != t));
        self.ready.retain(|_, l| !l.is_empty());
        u32::from(!was)
    }

    /// What the other units do to a thread.
    pub fn wake(&mut self, t: u8) -> u32 {
        if !self.lives(t) {
            return FAILED;
        }
        self.threads[usize::from(t)].blocked = false;
        match self.on(t) {
            Some(cpu) => {
                self.cpus[cpu].stop = false;
                0
            }
            None => self.enqueue(t, false),
        }
    }

    /// What the other units do to the thread that calls them, or BLOCK of another CPU to any.
    pub fn block(&mut self, t: u8, by: Option<usize>) -> u32 {
        if !self.lives(t) {
            return FAILED;
        }
        self.threads[usize::from(t)].blocked = true;
        match self.on(t) {
            Some(cpu) => {
                self.cpus[cpu].stop |= by.is_some_and(|by| by != cpu);
                0
            }
            None => self.dequeue(t),
        }
    }

    fn release(&mut self, t: u8) {
        self.threads[usize::from(t)].used = false;
        self.free.push(t);
    }

    fn next(&mut self, cpu: usize, front: bool) -> u32 {
        if let Some(t) = self.cpus[cpu].current {
            let thread = &self.threads[usize::from(t)];
            if !thread.blocked {
                self.enqueue(t, front);
            } else if thread.exited && thread.detached {
                self.release(t);
            }
        }
        let top = self.ready.last_key_value().map(|(((priority, _), _), l)| (*priority, l[0]));
        self.cpus[cpu].current = top.map(|(_, t)| t);
        self.cpus[cpu].stop = false;
        match top {
            Some((priority, t)) => {
                self.dequeue(t);
                lists::next::PRIORITY.put(priority.into()) | lists::next::THREAD.put(t.into())
            }
            None => FAILED | u32::from(self.cpus[cpu].idle),
        }
    }

    fn set_priority(&mut self, t: u8, priority: u8) {
        self.moves(t, |thread| thread.priority = priority);
    }

    /// A store. 0: the thread goes behind its equals of now.
    pub fn set_key(&mut self, t: u8, key: u32) -> u32 {
        self.moves(t, |thread| thread.key = key);
        0
    }

    fn moves(&mut self, t: u8, change: impl FnOnce(&mut Thread)) {
        let queued = self.queued(t);
        if queued {
            self.dequeue(t);
        }
        change(&mut self.threads[usize::from(t)]);
        if queued {
            self.enqueue(t, false);
        }
    }

    /// At least this priority; the one before.
    fn raise(&mut self, t: u8, priority: u8) -> u8 {
        let before = self.threads[usize::from(t)].priority;
        if before < priority {
            self.set_priority(t, priority);
        }
        before
    }

    /// What a call of a CPU answers; `None` for calls of interrupts and timers.
    pub fn call(&mut self, cpu: usize, c: Call) -> Option<u32> {
        let t = c.thread;
        let at = usize::from(t);
        let current = self.cpus[cpu].current;
        let (here, runs) = (current == Some(t), self.runs(t));
        Some(match (c.unit, c.command) {
            (unit::LISTS, lists::SET_PRIORITY) => {
                self.set_priority(t, c.argument);
                0
            }
            (unit::LISTS, lists::RAISE) => self.raise(t, c.argument).into(),
            (unit::THREADS, threads::RAISE | threads::LOWER) if !self.lives(t) => FAILED,
            (unit::THREADS, threads::RAISE) => self.raise(t, c.argument).into(),
            (unit::THREADS, threads::LOWER) => {
                self.set_priority(t, c.argument);
                0
            }
            (unit::LISTS, lists::IS_QUEUED) | (unit::THREADS, threads::IS_QUEUED) => {
                u32::from(self.queued(t))
            }
            (unit::LISTS, lists::GET_PRIORITY) => u32::from(self.threads[at].priority),
            (unit::LISTS, lists::GET_KEY) => self.threads[at].key,
            (unit::LISTS, lists::SET_IDLE) => {
                self.cpus[cpu].idle = t;
                0
            }
            (unit::LISTS, lists::PREEMPTION) => {
                std::mem::replace(&mut self.cpus[cpu].preemption, c.argument & 1 == 1).into()
            }
            (unit::THREADS, threads::CURRENT) => {
                current.map_or(threads::current::NONE.put(1), |t| threads::current::THREAD.put(t.into()))
            }
            (unit::THREADS, threads::CREATE) => match self.free.pop() {
                None => FAILED,
                Some(t) => {
                    let thread = &mut self.threads[usize::from(t)];
                    *thread = Thread {
                        used: true,
                        detached: c.argument & 1 == 1,
                        priority: thread.priority,
                        key: thread.key,
                        ..Thread::default()
                    };
                    t.into()
                }
            },
            (unit::THREADS, threads::NEXT) => self.next(cpu, true),
            (unit::THREADS, threads::YIELD) => self.next(cpu, false),
            (unit::THREADS, threads::CLEAR) => {
                if !self.threads[at].used || runs {
                    return Some(FAILED);
                }
                self.dequeue(t);
                self.release(t);
                0
            }
            (unit::THREADS, threads::EXIT) => match current {
                None => FAILED,
                Some(t) => {
                    let thread = &mut self.threads[usize::from(t)];
                    thread.exited = true;
                    thread.blocked = true;
                    if let Some(joiner) = thread.joiner {
                        self.wake(joiner);
                    }
                    0
                }
            },
            (unit::THREADS, threads::JOIN) => {
                let thread = &self.threads[at];
                if thread.used && thread.exited && !here && !thread.detached {
                    // Its number is free when it has left its CPU.
                    if runs {
                        self.threads[at].detached = true
                    } else {
                        self.release(t)
                    }
                    return Some(0);
                }
                let may =
                    thread.used && !thread.exited && !here && !thread.detached && thread.joiner.is_none();
                match current.filter(|_| may) {
                    None => FAILED,
                    Some(caller) => {
                        self.threads[at].joiner = Some(caller);
                        self.threads[usize::from(caller)].blocked = true;
                        1
                    }
                }
            }
            (unit::THREADS, threads::ADD) => self.wake(t),
            (unit::THREADS, threads::BLOCK) => self.block(t, Some(cpu)),
            (unit::THREADS, threads::STATUS) => {
                let x = &self.threads[at];
                let bits = [x.used, x.exited, x.joiner.is_some(), x.detached, x.blocked];
                bits.iter().enumerate().map(|(i, b)| u32::from(*b) << i).sum()
            }
            (unit::MUTEXES, command) => self.mutex(command, t, usize::from(c.argument) % 64),
            (unit::CONDITIONS, conditions::WAIT) => {
                self.conditions[usize::from(c.argument) % 64].push_back(t);
                0
            }
            (unit::CONDITIONS, conditions::SLEEP) => {
                let waits = self.conditions.iter().any(|c| c.contains(&t));
                if waits {
                    self.block(t, None);
                }
                waits.into()
            }
            (unit::CONDITIONS, conditions::SIGNAL | conditions::BROADCAST) => {
                let list = &mut self.conditions[usize::from(c.argument) % 64];
                let count = if c.command == conditions::SIGNAL { list.len().min(1) } else { list.len() };
                let woken: Vec<u8> = list.drain(..count).collect();
                woken.iter().for_each(|t| _ = self.wake(*t));
                count as u32
            }
            _ => return None,
        })
    }

    fn mutex(&mut self, command: u32, t: u8, m: usize) -> u32 {
        let mutex = &mut self.mutexes[m];
        let mine = mutex.owner == Some(t);
        match command {
            mutexes::LOCK | mutexes::TRY_LOCK => {
                if mutex.owner.is_none() {
                    self.takes(m, t);
                    0
                } else if mine && mutex.recursive {
                    mutex.count += 1;
                    0
                } else if command == mutexes::TRY_LOCK {
                    1
                } else if mine {
                    FAILED
                } else {
                    mutex.waiters.push_back(t);
                    self.block(t, None);
                    1
                }
            }
            mutexes::UNLOCK if !mine => FAILED,
            mutexes::UNLOCK => {
                mutex.count -= 1;
                if mutex.count == 0 {
                    mutex.owner = None;
                    let (next, saved) = (mutex.waiters.pop_front(), mutex.saved);
                    if mutex.ceiling != 0 && self.lives(t) {
                        self.set_priority(t, saved);
                    }
                    if let Some(next) = next {
                        self.takes(m, next);
                        self.wake(next);
                    }
                }
                0
            }
            mutexes::OWNER => mutex.owner.map_or(FAILED, u32::from),
            mutexes::KIND => {
                let before = mutex.recursive;
                if mutex.owner.is_none() {
                    mutex.recursive = t & 1 == 1;
                }
                before.into()
            }
            mutexes::CEILING => {
                let before = mutex.ceiling;
                if mutex.owner.is_none() {
                    mutex.ceiling = t;
                }
                before.into()
            }
            mutexes::COUNT => mutex.count,
            _ => u32::MAX,
        }
    }

    /// The thread owns the mutex from now on, once.
    fn takes(&mut self, m: usize, t: u8) {
        let ceiling = self.mutexes[m].ceiling;
        if ceiling != 0 {
            self.mutexes[m].saved = self.raise(t, ceiling);
        }
        (self.mutexes[m].owner, self.mutexes[m].count) = (Some(t), 1);
    }

    /// Which mutexes a thread owns.
    pub fn owns(&self, t: u8) -> Vec<u8> {
        (0..64).filter(|m| self.mutexes[usize::from(*m)].owner == Some(t)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(k: &mut Kernel, unit: u32, command: u32, thread: u8, argument: u8) -> u32 {
        k.call(0, Call { unit, command, thread, argument }).expect("the model has it")
    }

    /// Thread 0 idles; 1 and 2 have priorities 1 and 2 and are ready.
    fn two() -> Kernel {
        let mut k = Kernel::new(1, 256, false);
        call(&mut k, unit::LISTS, lists::PREEMPTION, 0, 1);
        for t in 0..3 {
            assert_eq!(call(&mut k, unit::THREADS, threads::CREATE, 0, 0), u32::from(t));
            call(&mut k, unit::LISTS, lists::SET_PRIORITY, t, t);
        }
        call(&mut k, unit::THREADS, threads::ADD, 1, 0);
        call(&mut k, unit::THREADS, threads::ADD, 2, 0);
        k
    }

    #[test]
    fn a_mutex_goes_to_who_waits_and_wakes_it() {
        let mut k = two();
        assert_eq!(call(&mut k, unit::THREADS, threads::NEXT, 0, 0), 2 << 8 | 2);
        assert_eq!(call(&mut k, unit::MUTEXES, mutexes::LOCK, 1, 5), 0);
        assert_eq!(call(&mut k, unit::MUTEXES, mutexes::LOCK, 2, 5), 1);
        // Blocked, it is not put back.
        assert_eq!(call(&mut k, unit::THREADS, threads::NEXT, 0, 0), 1 << 8 | 1);
        assert!(!k.interrupts(0));
        assert_eq!(call(&mut k, unit::MUTEXES, mutexes::UNLOCK, 1, 5), 0);
        assert!(k.interrupts(0) && k.owns(2) == [5]);
    }

    /// With a ceiling, no thread up to it preempts the owner; without, the lock delays the urgent one by what is in between.
    #[test]
    fn the_owner_has_the_ceiling_of_its_mutex() {
        for (ceiling, preempted) in [(2, false), (0, true)] {
            let mut k = two();
            call(&mut k, unit::THREADS, threads::NEXT, 0, 0);
            call(&mut k, unit::THREADS, threads::BLOCK, 2, 0);
            call(&mut k, unit::THREADS, threads::NEXT, 0, 0);
            assert_eq!(call(&mut k, unit::MUTEXES, mutexes::CEILING, ceiling, 5), 0);
            assert_eq!(call(&mut k, unit::MUTEXES, mutexes::LOCK, 1, 5), 0);
            // It stays what it is while the mutex is locked.
            assert_eq!(call(&mut k, unit::MUTEXES, mutexes::CEILING, 9, 5), u32::from(ceiling));
            assert_eq!(call(&mut k, unit::LISTS, lists::GET_PRIORITY, 1, 0), u32::from(ceiling.max(1)));
            call(&mut k, unit::THREADS, threads::ADD, 2, 0);
            assert_eq!(k.interrupts(0), preempted);
            assert_eq!(call(&mut k, unit::MUTEXES, mutexes::UNLOCK, 1, 5), 0);
            assert_eq!(call(&mut k, unit::LISTS, lists::GET_PRIORITY, 1, 0), 1);
            assert!(k.interrupts(0));
        }
    }

    #[test]
    fn a_wake_up_before_the_switch_is_not_lost() {
        let mut k = two();
        call(&mut k, unit::THREADS, threads::NEXT, 0, 0);
        call(&mut k, unit::CONDITIONS, conditions::WAIT, 2, 3);
        assert_eq!(call(&mut k, unit::CONDITIONS, conditions::SIGNAL, 0, 3), 1);
        // Signalled before it sleeps: it does not.
        assert_eq!(call(&mut k, unit::CONDITIONS, conditions::SLEEP, 2, 3), 0);
        call(&mut k, unit::CONDITIONS, conditions::WAIT, 2, 3);
        assert_eq!(call(&mut k, unit::CONDITIONS, conditions::SLEEP, 2, 3), 1);
        // Woken between sleeping and the switch: it goes on.
        call(&mut k, unit::CONDITIONS, conditions::BROADCAST, 0, 3);
        assert_eq!(call(&mut k, unit::THREADS, threads::NEXT, 0, 0), 2 << 8 | 2);
    }

    #[test]
    fn a_number_is_free_when_its_thread_is_gone() {
        let mut k = two();
        call(&mut k, unit::THREADS, threads::NEXT, 0, 0);
        assert_eq!(call(&mut k, unit::THREADS, threads::JOIN, 1, 0), 1);
        call(&mut k, unit::THREADS, threads::NEXT, 0, 0);
        // Thread 1 ends; the thread that joined it runs, and frees its number.
        call(&mut k, unit::THREADS, threads::EXIT, 0, 0);
        assert_eq!(call(&mut k, unit::THREADS, threads::NEXT, 0, 0), 2 << 8 | 2);
        assert_eq!(call(&mut k, unit::THREADS, threads::JOIN, 1, 0), 0);
        assert_eq!(call(&mut k, unit::THREADS, threads::CREATE, 0, 0), 1);
    }

    fn on(k: &mut Kernel, cpu: usize, command: u32, thread: u8) -> u32 {
        k.call(cpu, Call { unit: unit::THREADS, command, thread, argument: 0 }).expect("the model has it")
    }

    /// Two CPUs; threads 1 to 4 have their number as their priority, and 3 and 4 run on CPU 0 and CPU 1.
    fn two_cpus() -> Kernel {
        let mut k = Kernel::new(2, 256, false);
        for t in 0..5 {
            assert_eq!(on(&mut k, 0, threads::CREATE, 0), u32::from(t));
            call(&mut k, unit::LISTS, lists::SET_PRIORITY, t, t);
        }
        for (cpu, t) in [(0, 3), (1, 4)] {
            k.call(cpu, Call { unit: unit::LISTS, command: lists::PREEMPTION, thread: 0, argument: 1 });
            on(&mut k, 0, threads::ADD, t);
            on(&mut k, cpu, threads::NEXT, 0);
        }
        assert_eq!([k.current(0), k.current(1)], [Some(3), Some(4)]);
        k
    }

    #[test]
    fn of_one_priority_the_least_key_goes_first() {
        let mut k = Kernel::new(1, 4, true);
        call(&mut k, unit::LISTS, lists::PREEMPTION, 0, 1);
        for t in 0..4 {
            call(&mut k, unit::THREADS, threads::CREATE, 0, 0);
            k.set_key(t, [50, 30, 20, 20][usize::from(t)]);
            on(&mut k, 0, threads::ADD, t);
        }
        assert_eq!(on(&mut k, 0, threads::NEXT, 0), 2);
        assert!(!k.interrupts(0));
        // Queued, it gets an earlier deadline; the one that it preempts goes before its equal.
        k.set_key(1, 10);
        assert!(k.interrupts(0));
        assert_eq!(on(&mut k, 0, threads::NEXT, 0), 1);
        on(&mut k, 0, threads::BLOCK, 1);
        assert_eq!(on(&mut k, 0, threads::NEXT, 0), 2);
        // But no key comes before a priority.
        call(&mut k, unit::LISTS, lists::SET_PRIORITY, 0, 1);
        assert!(k.interrupts(0));
    }

    #[test]
    fn the_least_urgent_cpu_makes_room() {
        let mut k = two_cpus();
        on(&mut k, 0, threads::ADD, 2);
        assert!(!k.interrupts(0) && !k.interrupts(1));
        call(&mut k, unit::LISTS, lists::SET_PRIORITY, 2, 9);
        assert!(k.interrupts(0) && !k.interrupts(1));
        // In a section, it is the other one.
        call(&mut k, unit::LISTS, lists::PREEMPTION, 0, 0);
        assert!(!k.interrupts(0) && k.interrupts(1));
        assert_eq!(on(&mut k, 1, threads::NEXT, 0), 9 << 8 | 2);
    }

    #[test]
    fn a_thread_that_another_cpu_blocks_leaves() {
        let mut k = two_cpus();
        assert_eq!(on(&mut k, 0, threads::BLOCK, 4), 0);
        assert!(k.interrupts(1) && !k.interrupts(0));
        // Woken again, it stays.
        assert_eq!(on(&mut k, 0, threads::ADD, 4), 0);
        assert!(!k.interrupts(1));
        on(&mut k, 0, threads::BLOCK, 4);
        assert_eq!(on(&mut k, 1, threads::NEXT, 0), FAILED);
        assert!(!k.interrupts(1) && !k.queued(4));
    }

    /// The thread that joins is awake before the one that has ended has left its CPU: nobody gets its number before that.
    #[test]
    fn a_number_is_not_free_before_its_thread_has_left_its_cpu() {
        let mut k = two_cpus();
        assert_eq!(on(&mut k, 0, threads::JOIN, 4), 1);
        assert_eq!(on(&mut k, 1, threads::EXIT, 0), 0);
        // It had not left its CPU: it goes on there.
        assert!(!k.must_leave(0) && !k.queued(3));
        assert_eq!(on(&mut k, 0, threads::JOIN, 4), 0);
        assert_eq!(on(&mut k, 0, threads::CREATE, 0), 5);
        on(&mut k, 1, threads::NEXT, 0);
        assert_eq!(on(&mut k, 0, threads::CREATE, 0), 4);
    }
}
