# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""An engine behind any bus, and random decisions of it compared with the reference."""

import os
import random

import cocotb
import registers as regs
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from reference import Reference, Task
from registers import (
    CMD, COUNTERS, COUNTERS_STRIDE, CTRL, DONE, MISSED, MISSES, PARAM0, PARAM1, PEEK, READY, SCHED, TICK, TICKS, WINDOW,
)

DECISIONS = int(os.environ["WEIR_DECISIONS"])
TASKS, CPUS = int(os.environ["WEIR_TASKS"]), int(os.environ["WEIR_CPUS"])
PRIVILEGED_ONLY = os.environ["WEIR_PRIVILEGED_ONLY"] == "1"
READ_BACK = os.environ["WEIR_READ_BACK"] == "1"
DECISION_CLOCKS = int(os.environ["WEIR_DECISION_CLOCKS"])
BUS_PERIOD = 40  # ns


class Bench:
    """`master` has read(address) and write(address, data); each returns whether it was served, and the data."""

    def __init__(self, dut, master, irq, period=BUS_PERIOD):
        """`irq()` has the bits of the CPUs' interrupts; `period` is that of the engine's clock."""
        self.dut, self.master, self.irq, self.period = dut, master, irq, period
        # Room in a tick for all transfers of a decision, which take longer where they cross to another clock.
        self.tick_clocks = 480 if period == BUS_PERIOD else 480 * max(3, 8 * BUS_PERIOD // (3 * period))

    async def reset(self):
        resets = [self.dut.rst_ni]
        cocotb.start_soon(Clock(self.dut.clk_i, self.period, units="ns").start())
        if hasattr(self.dut, "bus_clk_i"):
            resets.append(self.dut.bus_rst_ni)
            cocotb.start_soon(Clock(self.dut.bus_clk_i, BUS_PERIOD, units="ns").start())
        for reset in resets:
            reset.value = 0
        await ClockCycles(self.dut.clk_i, 16)
        for reset in resets:
            reset.value = 1
        await ClockCycles(self.dut.clk_i, 16)

    async def read(self, address, cpu=0):
        served, value = await self.master.read(cpu * WINDOW + address)
        assert served, f"read of {address:#x} refused"
        return value

    async def write(self, address, value, cpu=0):
        served, _ = await self.master.write(cpu * WINDOW + address, value)
        assert served, f"write to {address:#x} refused"

    async def command(self, op, n, sporadic=False):
        """True if it was taken."""
        await self.write(CMD, regs.CMD_OP.put(op) | regs.CMD_SPORADIC.put(sporadic) | regs.CMD_TASK.put(n))
        return await self.read(CMD) == 0

    async def set(self, n, task):
        await self.write(PARAM0, regs.PARAM0_PERIOD.put(task.period) | regs.PARAM0_WCET.put(task.wcet))
        await self.write(PARAM1, regs.PARAM1_DEADLINE.put(task.deadline) | regs.PARAM1_PHASE.put(task.phase))
        return await self.command(regs.OP_SET, n, task.sporadic)


def some_task(dice):
    period = dice.randint(3, 24)
    wcet = dice.randint(1, max(1, min(period - 1, period * 2 * CPUS // TASKS)))
    return Task(period, wcet, dice.randint(wcet, period), dice.randint(0, 6), dice.random() < 0.25)


def answer(word):
    """Task, whether its context is held elsewhere, whether it is another one than before."""
    task = None if regs.SCHED_IDLE.get(word) else regs.SCHED_TASK.get(word)
    return task, bool(regs.SCHED_WAIT.get(word)), bool(regs.SCHED_CHANGE.get(word))


async def compare(bench, model):
    """The whole state that programs see."""
    for cpu, task in enumerate(model.run):
        word = await bench.read(PEEK, cpu)
        wait = task is not None and any(h == task for c, h in enumerate(model.held) if c != cpu)
        got = answer(word)
        assert got == (task, wait, task != model.held[cpu]), f"tick {model.now}, CPU {cpu}: {got}, expected task {task} ({model.run})"
        assert task is None or regs.SCHED_JOB.get(word) == model.tasks[task].job
    irq = [model.run[c] != model.held[c] for c in range(CPUS)]
    assert bench.irq() == sum(r << c for c, r in enumerate(irq)), f"tick {model.now}: {bench.irq():#b}, {irq}"
    assert await bench.read(MISSES) == model.misses, f"tick {model.now}"
    ready = missed = 0
    for n, task in enumerate(model.tasks):
        ready |= (task is not None and task.ready) << n
        missed |= (task is not None and task.missed) << n
    assert await bench.read(READY) == ready and await bench.read(MISSED) == missed, f"tick {model.now}"
    n = model.now % TASKS
    if (task := model.tasks[n]) is not None and task.ready:
        word = await bench.read(COUNTERS + COUNTERS_STRIDE * n)
        shown = regs.COUNTERS_DEADLINE.put(task.due - model.now) | regs.COUNTERS_LEFT.put(task.left) if READ_BACK else 0
        assert word == shown, f"tick {model.now}, task {n}: {word:#x}"


async def decisions(bench, policy, seed):
    """Random tasks, reports early, late and of other jobs, claims in any order, all through the bus."""
    dice = random.Random(seed)
    model = Reference(TASKS, CPUS, policy)
    for n in range(TASKS):
        task = some_task(dice)
        assert await bench.set(n, task)
        model.set(n, task)
    await bench.write(TICK, bench.tick_clocks)
    await bench.write(CTRL, regs.CTRL_POLICY.put(policy) | regs.CTRL_RUN.put(1))
    claims = waits = reports = 0
    for _ in range(DECISIONS):
        while await bench.read(TICKS) == model.now:
            pass
        model.tick()
        await ClockCycles(bench.dut.clk_i, DECISION_CLOCKS + 2)
        await compare(bench, model)
        for cpu in dice.sample(range(CPUS), dice.randint(0, CPUS)):
            word = await bench.read(SCHED, cpu)
            task, wait, differs = model.claim(cpu)
            assert answer(word) == (task, wait, differs), f"tick {model.now}, CPU {cpu}: {word:#x}"
            claims, waits = claims + 1, waits + wait
        for task in set(model.run) - {None}:
            if dice.random() < 0.2:
                job = (model.tasks[task].job + dice.choice([0, 0, 0, 1, -1])) % 256
                await bench.write(DONE, regs.DONE_JOB.put(job) | regs.DONE_TASK.put(task), dice.randrange(CPUS))
                model.done(task, job)
                reports += 1
        n = dice.randrange(TASKS)
        if model.tasks[n].sporadic and dice.random() < 0.5:
            assert await bench.command(regs.OP_RELEASE, n)
            model.release(n)
        elif dice.random() < 0.02:
            task = some_task(dice)
            assert await bench.set(n, task)
            model.set(n, task)
        assert await bench.read(TICKS) == model.now, "the bench is slower than a tick: raise tick_clocks"
    cocotb.log.info(f"{DECISIONS} decisions, {claims} claims, {waits} of them wait, {reports} reports, {model.misses} misses: as in the reference")
    # Bits of misses are cleared one by one.
    await bench.write(CTRL, regs.CTRL_POLICY.put(policy))
    missed = await bench.read(MISSED)
    await bench.write(MISSED, 0x55555555)
    assert await bench.read(MISSED) == missed & 0xAAAAAAAA
