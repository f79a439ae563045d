# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The board as one sees it: what comes from the serial port, and which LEDs light."""

import os

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge, First

BIT_CLOCKS = int(os.environ["WEIR_BIT_CLOCKS"])
TICKS = int(os.environ["WEIR_TICKS"])
LIMIT = 3_000_000  # clocks


async def character(dut):
    await FallingEdge(dut.ftdi_rxd)
    await ClockCycles(dut.clk_25mhz, BIT_CLOCKS + BIT_CLOCKS // 2)
    got = 0
    for bit in range(8):
        got |= int(dut.ftdi_rxd.value) << bit
        await ClockCycles(dut.clk_25mhz, BIT_CLOCKS)
    assert dut.ftdi_rxd.value == 1, "no stop bit"
    return chr(got)


@cocotb.test()
async def periodic_tasks_on_the_board(dut):
    dut.btn_fire1.value = 0
    cocotb.start_soon(Clock(dut.clk_25mhz, 40, units="ns").start())
    seen = {0: set(), 1: set()}

    async def watch():
        """Presses FIRE1 now and then, and notes the tasks that the LEDs show."""
        while True:
            await ClockCycles(dut.clk_25mhz, 2000)
            dut.btn_fire1.value = 1
            await ClockCycles(dut.clk_25mhz, 4)
            shown = int(dut.led.value)
            for cpu in seen:
                seen[cpu].add(shown >> 4 * cpu & 0xF)
            dut.btn_fire1.value = 0
            await ClockCycles(dut.clk_25mhz, 4)
            assert not int(dut.led.value) & 0xC0, "the program failed, or a CPU stopped"

    async def listen():
        text = ""
        while "= misses " not in text or not text.endswith("\n"):
            text += await character(dut)
        return text

    cocotb.start_soon(watch())
    text = cocotb.start_soon(listen())
    await First(text, ClockCycles(dut.clk_25mhz, LIMIT))
    assert text.done(), f"the program did not end in {LIMIT} clocks"
    figures = {name: int(value) for _, name, value in (line.split(" ") for line in text.result().splitlines())}
    cocotb.log.info(f"{figures}; tasks seen on LEDs: {seen}")
    assert figures["jobs"] > 0 and figures["wrong"] == 0 and figures["ticks"] >= TICKS, text.result()
    assert all(len(tasks) > 2 for tasks in seen.values()), f"{seen}: hardly any task was shown"
    await ClockCycles(dut.clk_25mhz, 2 * BIT_CLOCKS)
    dut.btn_fire1.value = 0
    await ClockCycles(dut.clk_25mhz, 8)
    assert int(dut.led.value) & 0xE8 == 0x20, f"LEDs at the end: {int(dut.led.value):#04x}"
