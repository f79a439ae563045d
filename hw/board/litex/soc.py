# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""A small LiteX SoC with the engine: soc.py FOLDER leaves weir_litex.v there, and addresses.h and program.ld for its program.

PicoRV32, 8 KiB of ROM (weir_litex_rom.init, which the caller writes), 4 KiB of RAM, 8 LEDs; tools/hw-cocotb.sh simulates it.
"""

import os
import sys
from pathlib import Path

from litex.build.generic_platform import Pins
from litex.build.sim import SimPlatform
from litex.gen import LiteXModule
from litex.soc.cores.gpio import GPIOOut
from litex.soc.integration.soc_core import SoCCore
from migen import ClockDomain
from weir_laxity import WeirLaxity

IO = [("sys_clk", 0, Pins(1)), ("sys_rst", 0, Pins(1)), ("leds", 0, Pins(8))]
ENGINE = 0x9000_0000


class Clocks(LiteXModule):
    def __init__(self, platform):
        self.cd_sys = ClockDomain()
        self.comb += self.cd_sys.clk.eq(platform.request("sys_clk")), self.cd_sys.rst.eq(platform.request("sys_rst"))


class Soc(SoCCore):
    def __init__(self, platform):
        super().__init__(
            platform, 25_000_000, cpu_type="picorv32", integrated_rom_size=0x2000, integrated_rom_init=[0], integrated_sram_size=0x1000,
            with_uart=False, with_timer=False, ident="",
        )
        self.crg = Clocks(platform)
        self.leds = GPIOOut(platform.request("leds"))
        self.laxity = WeirLaxity(platform, tasks=4, cpus=1)
        self.laxity.attach(self, "laxity", origin=ENGINE)


folder = Path(sys.argv[1]).resolve()
platform = SimPlatform("SIM", IO, name="weir_litex")
soc = Soc(platform)
soc.finalize()
os.chdir(folder)
platform.get_verilog(soc, name="weir_litex").write("weir_litex.v")
lines = [f"#define LAXITY {ENGINE:#x}u\n"]
for name, region in soc.csr.regions.items():
    lines += [f"#define {name.upper()}_{csr.name.upper()} {region.origin + 4 * n:#x}u\n" for n, csr in enumerate(region.obj)]
Path("addresses.h").write_text("".join(lines))
rom, ram = soc.bus.regions["rom"], soc.bus.regions["sram"]
Path("program.ld").write_text(f"""ENTRY(_start)
SECTIONS {{
	. = {rom.origin:#x};
	.text : {{ *(.text.boot) *(.text*) *(.rodata*) *(.srodata*) }}
	ASSERT(. <= {rom.origin + rom.size:#x}, "the program does not fit into the ROM")
	/DISCARD/ : {{ *(.data*) *(.sdata*) *(.bss*) *(.sbss*) }}
	stack = {ram.origin + ram.size:#x};
}}
""")
