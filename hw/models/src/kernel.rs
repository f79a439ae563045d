// SPDX-License-Identifier: MIT OR GPL-2.0-only
//! A model of the whole set (`weir_kernel`), written after docs/hardware-registers.md: what each call answers,
//! and what follows from it.

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

/// The set with 256 threads and priorities, 64 mutexes and condition variables. Interrupts and timers come from outside: the
/// model receives the wake-ups that they make, and says whether they were due.
pub struct Kernel {
    threads: Vec<Thread>,
    /// Free numbers, the next one last.
    free: Vec<u8>,
    /// Threads that are ready, by priority, in order.
    ready: BTreeMap<u8, VecDeque<u8>>,
    current: Option<u8>,
    idle: u8,
    mutexes: Vec<Mutex>,
    conditions: Vec<VecDeque<u8>>,
}

impl Default for Kernel {
    fn default() -> Self {
        Self {
            threads: vec![Thread::default(); 256],
            free: (0..=255).rev().collect(),
            ready: BTreeMap::new(),
            current: None,
            idle: 0,
            mutexes: vec![Mutex::default(); 64],
            conditions: vec![VecDeque::new(); 64],
        }
    }
}

impl Kernel {
    /// The thread that runs; `None`: the idle one.
    pub fn current(&self) -> Option<u8> {
        self.current
    }

    /// It would be interrupted: something more urgent is ready, or anything while nothing runs.
    pub fn preempts(&self) -> bool {
        let top = self.ready.last_key_value().map(|(p, _)| *p);
        match (top, self.current) {
            (Some(top), Some(t)) => top > self.threads[usize::from(t)].priority,
            (top, _) => top.is_some(),
        }
    }

    /// It runs, and has neither ended nor been blocked.
    pub fn may_call(&self, t: u8) -> bool {
        let thread = &self.threads[usize::from(t)];
        self.current == Some(t) && thread.used && !thread.exited && !thread.blocked
    }

    /// Threads that exist and have not ended.
    pub fn alive(&self) -> Vec<u8> {
        (0..=255).filter(|t| self.lives(*t)).collect()
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
        let list = self.ready.entry(self.threads[usize::from(t)].priority).or_default();
        if front {
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
        if self.current == Some(t) { 0 } else { self.enqueue(t, false) }
    }

    fn block(&mut self, t: u8) -> u32 {
        if !self.lives(t) {
            return FAILED;
        }
        self.threads[usize::from(t)].blocked = true;
        if self.current == Some(t) { 0 } else { self.dequeue(t) }
    }

    fn release(&mut self, t: u8) {
        self.threads[usize::from(t)].used = false;
        self.free.push(t);
    }

    fn next(&mut self, front: bool) -> u32 {
        if let Some(t) = self.current {
            let thread = &self.threads[usize::from(t)];
            if !thread.blocked {
                self.enqueue(t, front);
            } else if thread.exited && thread.detached {
                self.release(t);
            }
        }
        let top = self.ready.last_key_value().map(|(p, l)| (*p, l[0]));
        self.current = top.map(|(_, t)| t);
        match top {
            Some((priority, t)) => {
                self.dequeue(t);
                lists::next::PRIORITY.put(priority.into()) | lists::next::THREAD.put(t.into())
            }
            None => FAILED | u32::from(self.idle),
        }
    }

    fn set_priority(&mut self, t: u8, priority: u8) {
        let queued = self.queued(t);
        if queued {
            self.dequeue(t);
        }
        self.threads[usize::from(t)].priority = priority;
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

    /// What a call answers; `None` for calls of interrupts and timers.
    pub fn call(&mut self, c: Call) -> Option<u32> {
        let t = c.thread;
        let at = usize::from(t);
        let current = self.current;
        let here = current == Some(t);
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
            (unit::LISTS, lists::SET_IDLE) => {
                self.idle = t;
                0
            }
            (unit::THREADS, threads::CREATE) => match self.free.pop() {
                None => FAILED,
                Some(t) => {
                    let thread = &mut self.threads[usize::from(t)];
                    *thread = Thread {
                        used: true,
                        detached: c.argument & 1 == 1,
                        priority: thread.priority,
                        ..Thread::default()
                    };
                    t.into()
                }
            },
            (unit::THREADS, threads::NEXT) => self.next(true),
            (unit::THREADS, threads::YIELD) => self.next(false),
            (unit::THREADS, threads::CLEAR) => {
                if !self.threads[at].used || here {
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
                        self.threads[usize::from(joiner)].blocked = false;
                        self.enqueue(joiner, false);
                    }
                    0
                }
            },
            (unit::THREADS, threads::JOIN) => {
                let thread = &self.threads[at];
                if thread.used && thread.exited && !here && !thread.detached {
                    self.release(t);
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
            (unit::THREADS, threads::BLOCK) => self.block(t),
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
                    self.block(t);
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
                    self.block(t);
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
        k.call(Call { unit, command, thread, argument }).expect("the model has it")
    }

    /// Thread 0 idles; 1 and 2 have priorities 1 and 2 and are ready.
    fn two() -> Kernel {
        let mut k = Kernel::default();
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
        assert!(!k.preempts());
        assert_eq!(call(&mut k, unit::MUTEXES, mutexes::UNLOCK, 1, 5), 0);
        assert!(k.preempts() && k.owns(2) == [5]);
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
            assert_eq!(k.preempts(), preempted);
            assert_eq!(call(&mut k, unit::MUTEXES, mutexes::UNLOCK, 1, 5), 0);
            assert_eq!(call(&mut k, unit::LISTS, lists::GET_PRIORITY, 1, 0), 1);
            assert!(k.preempts());
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
}
