# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Calls of the whole set and of the unified controller through AXI4-Lite, APB and Wishbone: both windows, stores, interrupts, refusals."""

import os
import random

import cocotb
import registers as regs
from cocotb.clock import Clock
from cocotb.regression import TestFactory
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiResp
from masters import Apb, Axil, Wishbone

UNIFIED = os.environ["WEIR_UNIFIED"] == "1"
CPUS, WINDOW = (1, 1 << 28) if UNIFIED else (2, 1 << 25)
KINDS = [Axil, Apb, Wishbone]
TIMER = 200  # clocks, more than the calls take that follow


class Calls:
    def __init__(self, dut, kind):
        self.dut, self.bus, self.master = dut, KINDS.index(kind), kind(dut)

    async def reset(self):
        cocotb.start_soon(Clock(self.dut.clk_i, 40, units="ns").start())
        self.dut.rst_ni.value = 0
        await ClockCycles(self.dut.clk_i, 16)
        self.dut.rst_ni.value = 1
        await ClockCycles(self.dut.clk_i, 16)

    def irq(self, cpu=0):
        return int(self.dut.irq_o.value) >> CPUS * self.bus + cpu & 1

    async def interrupted(self, cpu=0):
        """True if the CPU is interrupted within the time of a timer."""
        for _ in range(2 * TIMER):
            if self.irq(cpu):
                return True
            await ClockCycles(self.dut.clk_i, 1)
        return False

    async def at(self, address, value=None):
        served, answer = await (self.master.read(address) if value is None else self.master.write(address, value))
        assert served, f"{address:#x} was refused"
        return answer

    async def refuses(self, *addresses):
        for address in addresses:
            if isinstance(self.master, Axil):
                # That master divides what goes beyond a word.
                length = 4 - address % 4
                resps = [(await self.master.raw_read(address, length))[0], await self.master.raw_write(address, 0, length)]
                served = AxiResp.OKAY in resps
            else:
                served = (await self.master.read(address))[0] or (await self.master.write(address, 0))[0]
            assert not served, f"{address:#x} was served"


async def begin(dut, kind, pauses):
    for name in [*dir(dut)]:
        if name.endswith("_i") and name not in ("clk_i", "rst_ni"):
            getattr(dut, name).value = 0
    calls = Calls(dut, kind)
    await calls.reset()
    if pauses and kind is Axil:
        calls.master.pauses(1)
    elif pauses:
        calls.master.dice = random.Random(1)
    return calls


def kernel_address(unit, command, thread=0, argument=0, cpu=0):
    return (cpu * WINDOW + regs.ADDRESS_KERNEL_UNIT.put(unit) + regs.ADDRESS_KERNEL_COMMAND.put(command)
            + regs.ADDRESS_KERNEL_THREAD.put(thread) + regs.ADDRESS_KERNEL_ARGUMENT.put(argument))


async def the_set(dut, kind, pauses):
    calls = await begin(dut, kind, pauses)

    async def call(unit, command, *rest, value=None, **more):
        return await calls.at(kernel_address(unit, command, *rest, **more), value)

    def runs(word):
        return None if regs.LISTS_NEXT_NONE.get(word) else regs.LISTS_NEXT_THREAD.get(word)

    low, high = [await call(regs.UNIT_THREADS, regs.THREADS_CREATE) for _ in range(2)]
    assert low != high
    for thread, level in (low, 3), (high, 9):
        await call(regs.UNIT_LISTS, regs.LISTS_SET_PRIORITY, thread, level)
        await call(regs.UNIT_THREADS, regs.THREADS_ADD, thread)
    # Each CPU calls in its own window: the more urgent thread runs where NEXT came first.
    assert runs(await call(regs.UNIT_THREADS, regs.THREADS_NEXT, cpu=1)) == high
    assert runs(await call(regs.UNIT_THREADS, regs.THREADS_NEXT)) == low
    for cpu, thread in enumerate((low, high)):
        word = await call(regs.UNIT_THREADS, regs.THREADS_CURRENT, cpu=cpu)
        assert regs.THREADS_CURRENT_THREAD.get(word) == thread and not regs.THREADS_CURRENT_NONE.get(word)
        await call(regs.UNIT_LISTS, regs.LISTS_PREEMPTION, 0, 1, cpu=cpu)
    # A store blocks the thread of CPU 1, which leaves it, and is interrupted when the time is over.
    await call(regs.UNIT_TIMERS, regs.TIMERS_ADD, high, value=TIMER, cpu=1)
    assert regs.THREADS_STATUS_BLOCKED.get(await call(regs.UNIT_THREADS, regs.THREADS_STATUS, high))
    assert runs(await call(regs.UNIT_THREADS, regs.THREADS_NEXT, cpu=1)) is None and not calls.irq(0) and not calls.irq(1)
    assert await calls.interrupted(1) and not calls.irq(0)
    assert runs(await call(regs.UNIT_THREADS, regs.THREADS_NEXT, cpu=1)) == high and not calls.irq(1)
    # A mutex goes from one thread to the other.
    assert await call(regs.UNIT_MUTEXES, regs.MUTEXES_LOCK, low, 1) == 0
    assert await call(regs.UNIT_MUTEXES, regs.MUTEXES_LOCK, high, 1, cpu=1) == 1
    await call(regs.UNIT_MUTEXES, regs.MUTEXES_UNLOCK, low, 1)
    assert await call(regs.UNIT_MUTEXES, regs.MUTEXES_OWNER, 0, 1) == high
    # What is refused makes no call: the threads stay where they are.
    call_of = kernel_address(regs.UNIT_THREADS, regs.THREADS_NEXT)
    await calls.refuses(CPUS * WINDOW + call_of, *([] if kind is Wishbone else [call_of + 1, call_of + 2]))
    assert runs(await call(regs.UNIT_THREADS, regs.THREADS_NEXT)) == low
    assert runs(await call(regs.UNIT_THREADS, regs.THREADS_NEXT, cpu=1)) == high


async def the_controller(dut, kind, pauses):
    calls = await begin(dut, kind, pauses)

    async def call(command, thread=0, priority=0, which=0, value=None):
        return await calls.at(regs.ADDRESS_UNIFIED_COMMAND.put(command) + regs.ADDRESS_UNIFIED_THREAD.put(thread)
                              + regs.ADDRESS_UNIFIED_PRIORITY.put(priority) + regs.ADDRESS_UNIFIED_WHICH.put(which), value)

    def runs(word):
        fields = regs.UNIFIED_NEXT_THREAD, regs.UNIFIED_NEXT_PRIORITY, regs.UNIFIED_NEXT_SOURCE, regs.UNIFIED_NEXT_WHICH
        return None if regs.UNIFIED_NEXT_NONE.get(word) else tuple(f.get(word) for f in fields)

    assert runs(await call(regs.UNIFIED_NEXT)) is None
    await call(regs.UNIFIED_SET_THREAD, 3, 7)
    assert await calls.interrupted()
    assert runs(await call(regs.UNIFIED_NEXT)) == (3, 7, 0, 0) and not calls.irq()
    await call(regs.UNIFIED_ADD_TIMER, 4, 9, 5, value=TIMER)
    assert 0 < await call(regs.UNIFIED_TIMER_STATUS, which=5) <= TIMER and not calls.irq()
    assert await calls.interrupted()
    assert runs(await call(regs.UNIFIED_NEXT)) == (4, 9, 1, 5)
    await call(regs.UNIFIED_ADD_TIMER, 4, 2, 5, value=TIMER)
    # What is refused makes no call. A window of 256 MiB leaves room for others.
    await calls.refuses(WINDOW, 15 * WINDOW, *([] if kind is Wishbone else [1, 2]))
    word = await call(regs.UNIFIED_CURRENT)
    assert (regs.UNIFIED_CURRENT_THREAD.get(word), regs.UNIFIED_CURRENT_PRIORITY.get(word)) == (4, 9)


tests = TestFactory(the_controller if UNIFIED else the_set)
tests.add_option("kind", KINDS)
tests.add_option("pauses", [False, True])
tests.generate_tests()
