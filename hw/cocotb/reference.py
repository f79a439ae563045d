# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""What the engine decides and what SCHED hands over, tick by tick, after the rules of docs/hardware.md."""

from dataclasses import dataclass

from registers import POLICY_EDF as EDF
from registers import POLICY_EDZL as EDZL
from registers import POLICY_LLF as LLF
from registers import POLICY_MLLF as MLLF


@dataclass
class Task:
    """Parameters in ticks, and the present job."""

    period: int
    wcet: int
    deadline: int
    phase: int = 0
    sporadic: bool = False
    ready: bool = False
    job: int = 0
    due: int = 0  # tick of the deadline
    next: int = 0  # tick of the next release, of a sporadic task the earliest one
    left: int = 0
    asked: bool = False
    missed: bool = False


class Reference:
    def __init__(self, tasks, cpus, policy):
        self.tasks = [None] * tasks
        self.jobs = [0] * tasks  # job numbers outlive their tasks
        self.run = [None] * cpus  # the task that each CPU is to run
        self.held = [None] * cpus  # the context that each CPU holds
        self.policy = policy
        self.now = self.misses = 0
        self.again = 0  # MLLF: tick of the next decision if nothing happens
        self.happened = False

    # ------------------------------------------------------------------ between ticks
    def set(self, n, task):
        old = self.tasks[n]
        self.happened |= old is not None and old.ready
        task.job, task.missed = self.jobs[n], old is not None and old.missed
        task.next = self.now if task.sporadic else self.now + 1 + task.phase
        self.tasks[n] = task

    def release(self, n):
        self.tasks[n].asked |= self.tasks[n].sporadic

    def done(self, n, job):
        task = self.tasks[n]
        if task and task.ready and task.job == job:
            task.ready = False
            self.happened = True

    def claim(self, cpu):
        """A read of SCHED: what it returns as (task or None, wait, differs)."""
        task, differs = self.run[cpu], self.run[cpu] != self.held[cpu]
        wait = task is not None and any(h == task for c, h in enumerate(self.held) if c != cpu)
        self.held[cpu] = None if wait else task
        return task, wait, differs

    # ------------------------------------------------------------------ a tick
    def tick(self):
        self.now += 1
        for n, task in enumerate(self.tasks):
            if task is None:
                continue
            if task.ready and n in self.run:
                task.left -= 1
            if task.ready and task.left == 0:
                task.ready = False
                self.happened = True
            if task.ready and task.due == self.now:
                task.missed = True
                self.misses += 1
            if task.next <= self.now and (not task.sporadic or task.asked):
                task.ready, task.asked, task.left = True, False, task.wcet
                task.job = self.jobs[n] = (task.job + 1) % 256
                task.due, task.next = self.now + task.deadline, self.now + task.period
                self.happened = True
        if self.policy != MLLF or self.happened or self.now >= self.again:
            self.decide()

    def laxity(self, task):
        return task.due - self.now - task.left

    def urgency(self, n):
        """Smaller is more urgent. Of equals the one that was chosen before, then the least number."""
        task = self.tasks[n]
        lax, due = self.laxity(task), task.due
        first = {LLF: (0, lax), MLLF: (0, lax), EDF: (0, due), EDZL: (0, 0) if lax <= 0 else (1, due)}[self.policy]
        return *first, n not in self.run, n

    def decide(self):
        ready = [n for n, task in enumerate(self.tasks) if task and task.ready]
        chosen = sorted(ready, key=self.urgency)[: len(self.run)]
        # One that is chosen again stays where it is; the others go to the free CPUs, the most urgent one to the lowest.
        self.run = [n if n in chosen else None for n in self.run]
        for n in chosen:
            if n not in self.run:
                self.run[self.run.index(None)] = n
        wait = 1
        if ready:
            tasks = [self.tasks[n] for n in ready]
            wait = min(t.due for t in tasks) - self.now - min(self.laxity(t) for t in tasks)
        self.again = self.now + max(wait, 1)
        self.happened = False
