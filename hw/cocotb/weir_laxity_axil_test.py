# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""weir_laxity_axil as an SoC sees it, and weir_laxity_axil_cross: an AXI4-Lite master of the cocotb ecosystem, and a reference in Python."""

import os

import cocotb
import registers as regs
from bench import BUS_PERIOD, CPUS, DECISION_CLOCKS, PRIVILEGED_ONLY, READ_BACK, TASKS, Bench, decisions
from cocotb.regression import TestFactory
from cocotbext.axi import AxiProt, AxiResp
from masters import Axil
from reference import Task
from registers import (
    CLOCKS, CMD, COUNTERS, COUNTERS_STRIDE, CPU, CTRL, DONE, HOLD, MISSED, MISSES, MODE, PARAM0, PARAM1, PARAM2, PARAM3, PEEK, READY,
    SCHED, STATE, STATE_STRIDE, STATUS, TICK, TICKS, WINDOW,
)

READY1, MISSED1 = READY + regs.READY_STRIDE, MISSED + regs.MISSED_STRIDE

# Periods of the engine's clock, ns: that of the bus, or some that it has no common edges with.
PERIODS = [int(p) for p in os.environ["WEIR_PERIODS"].split(",")]


async def begin(dut, period=PERIODS[0]):
    bench = Bench(dut, Axil(dut), lambda: int(dut.irq_o.value), period)
    await bench.reset()
    return bench


@cocotb.test()
async def registers_after_reset(dut):
    bench = await begin(dut)
    status = await bench.read(STATUS)
    assert (regs.STATUS_TASKS.get(status), regs.STATUS_CPUS.get(status)) == (TASKS, CPUS), f"{status:#x}"
    assert regs.STATUS_POLICIES.get(status) == 0xF, "all policies"
    assert regs.STATUS_SEPARATION.get(status) == 1 and regs.STATUS_READ_BACK.get(status) == READ_BACK, f"{status:#x}"
    for part in regs.STATUS_HOLD, regs.STATUS_BUDGET, regs.STATUS_CRITICALITY:
        assert part.get(status) == 0, f"{status:#x}"
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
        for got in await bench.master.raw_read(address, **how), (await bench.master.raw_write(address, 0, **how), 0):
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
    assert await bench.master.raw_write(PARAM0, 0, length=2) == AxiResp.SLVERR
    for address in SCHED, PEEK, CPU, STATUS, TICKS, MISSES, READY, READY1, CLOCKS, STATE, COUNTERS:
        assert await bench.master.raw_write(address, 1) == AxiResp.SLVERR, f"{address:#x}"
    assert await bench.master.raw_read(DONE) == (AxiResp.SLVERR, 0)
    # Without privilege.
    user = AxiProt.NONSECURE
    if PRIVILEGED_ONLY:
        await refused(AxiResp.SLVERR, PARAM0, prot=user)
    else:
        assert await bench.master.raw_read(PARAM0, prot=user) == (AxiResp.OKAY, 0x00020005)
        assert await bench.master.raw_write(PARAM0, 0x00020005, prot=user) == AxiResp.OKAY
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


async def random_decisions(dut, policy, pauses, period):
    seed = 100 * TASKS + 10 * policy + pauses
    bench = await begin(dut, period)
    if pauses:
        bench.master.pauses(seed)
    await decisions(bench, policy, seed)


def generate(pauses, policies, postfix):
    tests = TestFactory(random_decisions)
    tests.add_option("policy", policies)
    tests.add_option("pauses", [pauses])
    tests.add_option("period", PERIODS)
    tests.generate_tests(postfix=postfix)


generate(False, [regs.POLICY_LLF, regs.POLICY_EDF, regs.POLICY_EDZL, regs.POLICY_MLLF], "")
generate(True, [regs.POLICY_LLF], "_with_pauses")
