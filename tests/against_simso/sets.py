# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Random task sets that both simulators can hold exactly.

SimSo keeps times in milliseconds as floating point numbers and turns them into whole cycles by cutting
off what is behind the point; Runweir keeps whole nanoseconds. Every time here is a multiple of 1/64 ms,
which is 15625 ns: a number that floating point holds exactly, as it does sums and products with a
million. So no difference between the two programs can come from rounding.
"""

import random
from dataclasses import dataclass, field

GRAIN_NS = 15625
CYCLES_PER_MS = 1_000_000


@dataclass
class Task:
    """A periodic task; times in nanoseconds, priority larger is more urgent."""

    name: str
    period: int
    deadline: int
    wcet: int
    offset: int = 0
    priority: int = 0


@dataclass
class TaskSet:
    """A set with the machine and the time that it is tried on."""

    seed: int
    cpus: int
    duration: int
    tasks: list = field(default_factory=list)
    abort: bool = False

    @property
    def utilization(self):
        return sum(t.wcet / t.period for t in self.tasks)


def uunifast_discard(dice, n, total):
    """Shares that sum up to `total`, none above 1 (Bini and Buttazzo 2005; Davis and Burns 2009)."""
    while True:
        shares, left = [], total
        for i in range(1, n):
            after = left * dice.random() ** (1.0 / (n - i))
            shares.append(left - after)
            left = after
        shares.append(left)
        if max(shares) <= 1.0:
            return shares


def grains(ns):
    return max(1, round(ns / GRAIN_NS)) * GRAIN_NS


def random_set(seed, cpus, tasks=None, load=None, whole_ms=False, abort=False):
    """A set for `cpus` processors.

    Utilization is drawn from 0.6 to 1.1 of the processors, so that about a third of the sets misses
    deadlines; deadlines are the period or shorter; half of the sets have offsets. `whole_ms` draws
    periods in milliseconds from a short list, so that equal deadlines are frequent.
    """
    dice = random.Random(f"{seed}/{cpus}/{whole_ms}")
    n = tasks or dice.randint(3 * cpus, 5 * cpus) + 1
    total = (load or dice.uniform(0.6, 1.1)) * cpus
    offsets = dice.random() < 0.5
    constrained = dice.random() < 0.5
    made = TaskSet(seed=seed, cpus=cpus, duration=0, abort=abort)
    for i, share in enumerate(uunifast_discard(dice, n, total)):
        if whole_ms:
            period = dice.choice([5, 8, 10, 12, 16, 20, 25, 40, 50]) * 1_000_000
        else:
            period = grains(dice.uniform(5e6, 50e6))
        wcet = min(grains(period * share), period)
        deadline = grains(dice.uniform(wcet, period)) if constrained else period
        deadline = max(deadline, wcet)
        offset = grains(dice.uniform(0, period)) if offsets else 0
        if whole_ms:
            deadline, offset = period, offset // 1_000_000 * 1_000_000
        made.tasks.append(Task(f"T{i}", period, deadline, wcet, offset))
    # The end lies between two grains: nothing happens at that very instant.
    longest = max(t.period for t in made.tasks)
    made.duration = 8 * longest // GRAIN_NS * GRAIN_NS + 7_000
    return made


def fair_set(seed, cpus):
    """A set that fair policies schedule: periods of whole milliseconds, times of half ones (whole quanta of
    both programs, and numbers that floating point holds), deadlines at the ends of periods, load at most that
    of the processors."""
    dice = random.Random(f"fair/{seed}/{cpus}")
    made = TaskSet(seed=seed, cpus=cpus, duration=0)
    half = 500_000
    total = dice.uniform(0.6, 1.0) * cpus
    for i, share in enumerate(uunifast_discard(dice, 3 * cpus + dice.randint(0, 2 * cpus), total)):
        period = dice.choice([5, 8, 10, 12, 16, 20, 25]) * 1_000_000
        wcet = min(max(1, round(period * share / half)) * half, period)
        if made.utilization + wcet / period > cpus:
            continue
        offset = dice.randint(0, 5) * 1_000_000 if seed % 2 else 0
        made.tasks.append(Task(f"T{i}", period, period, wcet, offset))
    made.duration = 3 * max(t.period for t in made.tasks) + 7_000
    return made


def deadline_monotonic(tasks):
    """Give the priorities that a shorter deadline deserves; equal deadlines share one."""
    ranks = {d: i for i, d in enumerate(sorted({t.deadline for t in tasks}, reverse=True), start=1)}
    for t in tasks:
        t.priority = ranks[t.deadline]


def ms(ns):
    """Milliseconds as SimSo reads them, without a trace of rounding."""
    text = f"{ns // 1_000_000}.{ns % 1_000_000:06d}"
    assert float(text) * 1e6 == ns
    return text


def to_xml(made, scheduler):
    """The set as a SimSo configuration; `scheduler` is the class name."""
    lines = [
        '<?xml version="1.0"?>',
        f'<simulation duration="{made.duration}" cycles_per_ms="{CYCLES_PER_MS}" etm="wcet"',
        '            penalty_preemption="0" penalty_migration="0">',
        f'  <sched class="{scheduler}" overhead="0" overhead_activate="0" overhead_terminate="0"/>',
        '  <caches memory_access_time="100"/>',
        "  <processors>",
    ]
    for i in range(made.cpus):
        lines.append(
            f'    <processor name="CPU {i + 1}" id="{i + 1}" cl_overhead="0" cs_overhead="0" speed="1.0"/>'
        )
    lines += ["  </processors>", "  <tasks>", '    <field name="priority" type="int"/>']
    abort = "yes" if made.abort else "no"
    for i, t in enumerate(made.tasks, start=1):
        lines.append(
            f'    <task name="{t.name}" id="{i}" task_type="Periodic" abort_on_miss="{abort}"'
            f' period="{ms(t.period)}" deadline="{ms(t.deadline)}" WCET="{ms(t.wcet)}" ACET="0"'
            f' et_stddev="0" activationDate="{ms(t.offset)}" list_activation_dates="" base_cpi="1.0"'
            f' instructions="0" mix="0.5" preemption_cost="0" priority="{t.priority}"/>'
        )
    lines += ["  </tasks>", "</simulation>", ""]
    return "\n".join(lines)
