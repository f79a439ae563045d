# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""weir_laxity_axil as an SoC sees it: an AXI4-Lite master of the cocotb ecosystem, and a reference in Python."""

import os
import random

import cocotb
import registers as regs
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiProt, AxiResp
from cocotbext.axi.axil_channels import AxiLiteARBus, AxiLiteAWBus, AxiLiteBBus, AxiLiteRBus, AxiLiteWBus
from reference import Reference, Task
from registers import (
    CLOCKS, CMD, COUNTERS, COUNTERS_STRIDE, CPU, CTRL, DONE, HOLD, MISSED, MISSES, MODE, PARAM0, PARAM1, PARAM2, PARAM3, PEEK, READY,
    SCHED, STATE, STATE_STRIDE, STATUS, TICK, TICKS, WINDOW,
)

READY1, MISSED1 = READY + regs.READY_STRIDE, MISSED + regs.MISSED_STRIDE

DECISIONS = int(os.environ["WEIR_DECISIONS"])
TASKS, CPUS = int(os.environ["WEIR_TASKS"]), int(os.environ["WEIR_CPUS"])
PRIVILEGED_ONLY = os.environ["WEIR_PRIVILEGED_ONLY"] == "1"
DECISION_CLOCKS = int(os.environ["WEIR_DECISION_CLOCKS"])
TICK_CLOCKS = 480


def channel(kind, dut):
    """A channel of the master on ports that end in _i and _o; the master's own names have no endings."""
    both = {**dict.fromkeys(kind._signals), **dict.fromkeys(kind._optional_signals)}
    names = {s: s + ("_o" if hasattr(dut, s + "_o") else "_i") for s in both}
    return type(kind.__name__, (kind,), {"_signals": names, "_optional_signals": {}}).from_entity(dut)


class Bench:
    def __init__(self, dut):
        self.dut = dut
        kinds = AxiLiteAWBus, AxiLiteWBus, AxiLiteBBus, AxiLiteARBus, AxiLiteRBus
        bus = AxiLiteBus.from_channels(*(channel(kind, dut) for kind in kinds))
        self.master = AxiLiteMaster(bus, dut.clk_i, dut.rst_ni, reset_active_level=False)
        for part in self.master.write_if, self.master.read_if:
            part.log.setLevel("WARNING")

    async def reset(self):
        cocotb.start_soon(Clock(self.dut.clk_i, 40, units="ns").start())
        self.dut.rst_ni.value = 0
        await ClockCycles(self.dut.clk_i, 4)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 2)

    def pauses(self, seed):
        """The master makes wait, and waits, at random."""
        write, read = self.master.write_if, self.master.read_if
        for n, part in enumerate((write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel)):
            dice = random.Random(seed + n)
            part.set_pause_generator(iter(lambda d=dice: d.random() < 0.4, None))

    async def raw_read(self, address, length=4, prot=AxiProt.PRIVILEGED):
        got = await self.master.read(address, length, prot)
        return got.resp, int.from_bytes(got.data, "little")

    async def raw_write(self, address, value, length=4, prot=AxiProt.PRIVILEGED):
        return (await self.master.write(address, value.to_bytes(length, "little"), prot)).resp

    async def read(self, address, cpu=0):
        resp, value = await self.raw_read(cpu * WINDOW + address)
        assert resp == AxiResp.OKAY, f"read of {address:#x}: {resp!r}"
        return value

    async def write(self, address, value, cpu=0):
        resp = await self.raw_write(cpu * WINDOW + address, value)
        assert resp == AxiResp.OKAY, f"write to {address:#x}: {resp!r}"

    async def command(self, op, n, sporadic=False):
        """True if it was taken."""
        await self.write(CMD, regs.CMD_OP.put(op) | regs.CMD_SPORADIC.put(sporadic) | regs.CMD_TASK.put(n))
        return await self.read(CMD) == 0

    async def set(self, n, task):
        await self.write(PARAM0, regs.PARAM0_PERIOD.put(task.period) | regs.PARAM0_WCET.put(task.wcet))
        await self.write(PARAM1, regs.PARAM1_DEADLINE.put(task.deadline) | regs.PARAM1_PHASE.put(task.phase))
        return await self.command(regs.OP_SET, n, task.sporadic)


async def begin(dut):
    bench = Bench(dut)
    await bench.reset()
    return bench


@cocotb.test()
async def registers_after_reset(dut):
    bench = await begin(dut)
    status = await bench.read(STATUS)
    assert (regs.STATUS_TASKS.get(status), regs.STATUS_CPUS.get(status)) == (TASKS, CPUS), f"{status:#x}"
    assert regs.STATUS_POLICIES.get(status) == 0xF, "all policies"
    for part, built in (regs.STATUS_SEPARATION, 1), (regs.STATUS_READ_BACK, 1), (regs.STATUS_HOLD, 0), (regs.STATUS_BUDGET, 0), (regs.STATUS_CRITICALITY, 0):
        assert part.get(status) == built, f"{status:#x}"
    assert f"{regs.STATUS_MAJOR.get(status)}.{regs.STATUS_MINOR.get(status)}" == os.environ["WEIR_VERSION"], f"{status:#x}"
    for cpu in range(CPUS):
        assert await bench.read(CPU, cpu) == cpu
        assert await bench.read(SCHED, cpu) == regs.SCHED_IDLE.put(1) == await bench.read(PEEK, cpu), "idle"
    clocks = await bench.read(CLOCKS)
    assert regs.CLOCKS_DECISION.get(clocks) == DECISION_CLOCKS, f"{clocks:#x}"
    assert await bench.read(TICK) == 4800
    for address in CTRL, PARAM0, PARAM1, CMD, TICKS, MISSES, READY, READY1, MISSED, MISSED1:
        assert await bench.read(address) == 0, f"{address:#x}"
    for n in range(TASKS):
        assert await bench.read(STATE + STATE_STRIDE * n) == n and await bench.read(COUNTERS + COUNTERS_STRIDE * n) == 0
    assert dut.irq_o.value == 0


@cocotb.test()
async def refusals(dut):
    """What is refused has its answer, and no effect."""
    bench = await begin(dut)
    await bench.write(PARAM0, 0x00020005)

    async def refused(resp, address, **how):
        for got in await bench.raw_read(address, **how), (await bench.raw_write(address, 0, **how), 0):
            assert got == (resp, 0), f"{address:#x}: {got[0]!r}, {got[1]:#x}"

    # What is not built, holes, an address within a word, beyond the last window.
    absent = HOLD, PARAM2, PARAM3, MODE, STATE + STATE_STRIDE * TASKS, COUNTERS + COUNTERS_STRIDE * TASKS
    for address in *absent, STATE - 4, WINDOW - 4:
        await refused(AxiResp.SLVERR, address)
    for address in PARAM0 + 1, PARAM0 + 2, PARAM0 + 3:
        await refused(AxiResp.SLVERR, address, length=1)
    for address in CPUS * WINDOW + PARAM0, 0xF800, 0xFFFC:
        await refused(AxiResp.DECERR, address)
    # Less than a word, what is read only, what is written only.
    assert await bench.raw_write(PARAM0, 0, length=2) == AxiResp.SLVERR
    for address in SCHED, PEEK, CPU, STATUS, TICKS, MISSES, READY, READY1, CLOCKS, STATE, COUNTERS:
        assert await bench.raw_write(address, 1) == AxiResp.SLVERR, f"{address:#x}"
    assert await bench.raw_read(DONE) == (AxiResp.SLVERR, 0)
    # Without privilege.
    user = AxiProt.NONSECURE
    if PRIVILEGED_ONLY:
        await refused(AxiResp.SLVERR, PARAM0, prot=user)
    else:
        assert await bench.raw_read(PARAM0, prot=user) == (AxiResp.OKAY, 0x00020005)
        assert await bench.raw_write(PARAM0, 0x00020005, prot=user) == AxiResp.OKAY
    assert await bench.read(PARAM0) == 0x00020005
    # A transfer after a refused one is as any other.
    assert regs.STATUS_TASKS.get(await bench.read(STATUS)) == TASKS

    # Commands, a policy number and ticks that cannot be: OKAY, CMD reads 1, nothing changes.
    good = {"period": 10, "wcet": 3, "deadline": 8}
    for bad in {"wcet": 0}, {"wcet": 10, "deadline": 10}, {"wcet": 9}, {"deadline": 11}, {"phase": 65535}:
        assert not await bench.set(1, Task(**{**good, **bad})), f"{bad} was taken"
    assert not await bench.set(TASKS, Task(**good)) and not await bench.command(regs.OP_DELETE, TASKS)
    for op in 0, regs.OP_HIGH, 15:
        assert not await bench.command(op, 1)
    assert await bench.read(STATE + STATE_STRIDE) == 1
    least = regs.CLOCKS_LEAST.get(await bench.read(CLOCKS))
    for ticks in 0, least - 1, 1 << 24:
        await bench.write(TICK, ticks)
        assert await bench.read(CMD) == 1 and await bench.read(TICK) == 4800, f"{ticks}"
    await bench.write(TICK, least)
    assert await bench.read(CMD) == 0 and await bench.read(TICK) == least
    assert await bench.set(1, Task(**good)) and await bench.read(STATE + STATE_STRIDE) == regs.STATE_EXISTS.put(1) | 1


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
    assert int(bench.dut.irq_o.value) == sum(r << c for c, r in enumerate(irq)), f"tick {model.now}: {bench.dut.irq_o.value}, {irq}"
    assert await bench.read(MISSES) == model.misses, f"tick {model.now}"
    ready = missed = 0
    for n, task in enumerate(model.tasks):
        ready |= (task is not None and task.ready) << n
        missed |= (task is not None and task.missed) << n
    assert await bench.read(READY) == ready and await bench.read(MISSED) == missed, f"tick {model.now}"
    n = model.now % TASKS
    if (task := model.tasks[n]) is not None and task.ready:
        word = await bench.read(COUNTERS + COUNTERS_STRIDE * n)
        assert word == regs.COUNTERS_DEADLINE.put(task.due - model.now) | regs.COUNTERS_LEFT.put(task.left), f"tick {model.now}, task {n}: {word:#x}"


async def decisions(dut, policy, pauses):
    """Random tasks, reports early, late and of other jobs, claims in any order, all through the bus."""
    seed = 100 * TASKS + 10 * policy + pauses
    dice = random.Random(seed)
    bench = await begin(dut)
    if pauses:
        bench.pauses(seed)
    model = Reference(TASKS, CPUS, policy)
    for n in range(TASKS):
        task = some_task(dice)
        assert await bench.set(n, task)
        model.set(n, task)
    await bench.write(TICK, TICK_CLOCKS)
    await bench.write(CTRL, regs.CTRL_POLICY.put(policy) | regs.CTRL_RUN.put(1))
    claims = waits = reports = 0
    for _ in range(DECISIONS):
        while await bench.read(TICKS) == model.now:
            pass
        model.tick()
        await ClockCycles(dut.clk_i, DECISION_CLOCKS + 2)
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
        assert await bench.read(TICKS) == model.now, "the bench is slower than a tick: raise TICK_CLOCKS"
    cocotb.log.info(f"{DECISIONS} decisions, {claims} claims, {waits} of them wait, {reports} reports, {model.misses} misses: as in the reference")
    # Bits of misses are cleared one by one.
    await bench.write(CTRL, regs.CTRL_POLICY.put(policy))
    missed = await bench.read(MISSED)
    await bench.write(MISSED, 0x55555555)
    assert await bench.read(MISSED) == missed & 0xAAAAAAAA


@cocotb.test()
async def least_laxity(dut):
    await decisions(dut, regs.POLICY_LLF, pauses=False)


@cocotb.test()
async def earliest_deadline(dut):
    await decisions(dut, regs.POLICY_EDF, pauses=False)


@cocotb.test()
async def zero_laxity(dut):
    await decisions(dut, regs.POLICY_EDZL, pauses=False)


@cocotb.test()
async def modified_least_laxity(dut):
    await decisions(dut, regs.POLICY_MLLF, pauses=False)


@cocotb.test()
async def least_laxity_with_pauses(dut):
    await decisions(dut, regs.POLICY_LLF, pauses=True)
