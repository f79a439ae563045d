# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The engine in a LiteX SoC: hw/board/litex/tasks.c runs on its core, and says on the LEDs whether all was well."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles

LIMIT = 200_000  # clocks


@cocotb.test()
async def tasks_on_a_litex_soc(dut):
    dut.sys_rst.value = 1
    cocotb.start_soon(Clock(dut.sys_clk, 40, units="ns").start())
    await ClockCycles(dut.sys_clk, 8)
    dut.sys_rst.value = 0
    for _ in range(LIMIT // 100):
        await ClockCycles(dut.sys_clk, 100)
        if int(dut.leds.value):
            break
    assert int(dut.leds.value) == 0x55, f"LEDs: {int(dut.leds.value):#04x} (0: the program did not end)"
