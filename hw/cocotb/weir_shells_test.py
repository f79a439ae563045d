# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The engine behind APB, Wishbone, OBI and TL-UL: what each shell refuses, and random decisions compared with the reference."""

import random

import cocotb
import registers as regs
from bench import CPUS, PRIVILEGED_ONLY, TASKS, Bench, decisions
from cocotb.regression import TestFactory
from masters import Apb, Obi, TlUl, Wishbone
from registers import CPU, DONE, PARAM0, PEEK, STATE, STATE_STRIDE, STATUS, WINDOW

KEPT = 0x00020005


async def begin(dut, kind):
    for name in [*dir(dut)]:
        if name.endswith("_i") and name not in ("clk_i", "rst_ni"):
            getattr(dut, name).value = 0
    master = kind(dut)
    bench = Bench(dut, master, lambda: int(dut.irq_o.value) >> CPUS * kind.irq & (1 << CPUS) - 1)
    await bench.reset()
    return bench


async def refusals(dut, kind, refused):
    """Each is answered with an error, and has no effect; the next transfer is as any other."""
    bench = await begin(dut, kind)
    await bench.write(PARAM0, KEPT)
    for how in refused:
        how = {"address": PARAM0, "data": 0, **how}
        served, _ = await bench.master.access(**how)
        assert not served, f"{how} was served"
        assert await bench.read(PARAM0) == KEPT, f"{how} had an effect"
    # What the engine refuses: what is read only, written only, or not there.
    for address, data in (STATUS, 0), (PEEK, 0), (DONE, None), (STATE + STATE_STRIDE * TASKS, None), (WINDOW - 4, 0):
        assert (await bench.master.access(address, data)) == (False, 0), f"{address:#x}"
    for cpu in range(CPUS):
        assert await bench.read(CPU, cpu) == cpu
    assert regs.STATUS_TASKS.get(await bench.read(STATUS)) == TASKS and await bench.read(PARAM0) == KEPT


@cocotb.test()
async def apb_refusals(dut):
    user = [{"prot": 0}, {"prot": 0, "data": None}] if PRIVILEGED_ONLY else []
    await refusals(dut, Apb, [
        *({"address": PARAM0 + n} for n in (1, 2, 3)), *({"strb": 0xF ^ 1 << n} for n in range(4)), {"address": CPUS * WINDOW + PARAM0},
        {"address": 0xF800 + PARAM0, "data": None}, *user,
    ])


@cocotb.test()
async def wishbone_refusals(dut):
    await refusals(dut, Wishbone, [
        *({"sel": 0xF ^ 1 << n} for n in range(4)), {"address": CPUS * WINDOW + PARAM0}, {"address": 0xF800 + PARAM0, "data": None},
    ])


@cocotb.test()
async def obi_refusals(dut):
    user = [{"prot": 0b000}, {"prot": 0b001, "data": None}] if PRIVILEGED_ONLY else []
    await refusals(dut, Obi, [
        *({"address": PARAM0 + n} for n in (1, 2, 3)), *({"be": 0xF ^ 1 << n, "data": d} for n in range(4) for d in (0, None)),
        {"address": CPUS * WINDOW + PARAM0}, {"address": 0x8000_0000 + PARAM0}, *user,
    ])


@cocotb.test()
async def tlul_refusals(dut):
    await refusals(dut, TlUl, [
        *({"address": PARAM0 + n} for n in (1, 2, 3)), *({"mask": 0xF ^ 1 << n, "data": d} for n in range(4) for d in (0, None)),
        *({"size": n, "data": d} for n in (0, 1, 3) for d in (0, None)), *({"opcode": n} for n in (2, 3, 5, 6, 7)), {"corrupt": 1},
        {"address": CPUS * WINDOW + PARAM0}, {"address": 0x8000_0000 + PARAM0},
    ])


@cocotb.test()
async def both_puts(dut):
    bench = await begin(dut, TlUl)
    for opcode, value in (TlUl.PUT_FULL, KEPT), (TlUl.PUT_PARTIAL, KEPT + 1):
        assert await bench.master.access(PARAM0, value, opcode=opcode) == (True, 0)
        assert await bench.read(PARAM0) == value


@cocotb.test()
async def a_wishbone_master_gives_up(dut):
    """At each clock of a read; the next read has its own answer."""
    bench = await begin(dut, Wishbone)
    await bench.write(PARAM0, KEPT)
    seen = []
    for clocks in range(1, 8):
        seen.append(await bench.master.give_up(PARAM0, clocks))
        assert await bench.read(CPU, CPUS - 1) == CPUS - 1, f"the answer to a read that ended after {clocks} clocks"
    assert not seen[0] and seen[-1], f"{seen}"


async def random_decisions(dut, kind, policy, pauses):
    seed = 1000 * kind.irq + 100 * TASKS + 10 * policy + pauses
    bench = await begin(dut, kind)
    bench.master.dice = random.Random(seed) if pauses else None
    await decisions(bench, policy, seed)


tests = TestFactory(random_decisions)
tests.add_option("kind", [Apb, Wishbone, Obi, TlUl])
tests.add_option(("policy", "pauses"), [(regs.POLICY_LLF, False), (regs.POLICY_EDZL, True)])
tests.generate_tests()
