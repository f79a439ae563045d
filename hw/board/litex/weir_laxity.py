# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""The scheduling engine as a module of LiteX: weir_laxity_axil on the bus of a SoC, with its interrupt.

    from weir_laxity import WeirLaxity

    self.laxity = WeirLaxity(platform, tasks=16, cpus=1)
    self.laxity.attach(self, "laxity", origin=0x9000_0000)

Programs use hw/sw/weir_laxity.h with the region's address. The region is uncached: reading SCHED hands over a context.
"""

from pathlib import Path

from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect.axi import AXILiteInterface
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
from migen import ClockSignal, Instance, ResetSignal, Signal

RTL = Path(__file__).resolve().parents[2] / "rtl"


class WeirLaxity(LiteXModule):
    """CPU 0 gets the interrupt through LiteX's event manager; `irq` has a line for each CPU.

    LiteX's bridges drive PROT with 0, transfers without privilege, so PrivilegedOnly stays 0.
    """

    def __init__(self, platform, tasks=16, cpus=1, select=0, policies=0b1111, hold=False, budget=False, criticality=False, rtl=RTL):
        self.windows = cpus * 0x800
        self.irq = Signal(cpus)
        self.bus = bus = AXILiteInterface(data_width=32, address_width=32)
        self.ev = EventManager()
        self.ev.switch = EventSourceLevel(description="CPU 0 has to run another task.")
        self.ev.finalize()
        self.comb += self.ev.switch.trigger.eq(self.irq[0])

        ports = {"i_clk_i": ClockSignal("sys"), "i_rst_ni": ~ResetSignal("sys"), "o_irq_o": self.irq}
        for name in "aw", "w", "b", "ar", "r":
            channel = getattr(bus, name)
            # b and r are from the engine to the bus.
            out, back = ("i", "o") if name not in "br" else ("o", "i")
            ports[f"{out}_{name}valid_{out}"] = channel.valid
            ports[f"{back}_{name}ready_{back}"] = channel.ready
            for field, width in channel.description.payload_layout:
                signal = getattr(channel, field)
                ports[f"{out}_{name}{field}_{out}"] = signal[:16] if field == "addr" else signal
        self.specials += Instance(
            "weir_laxity_axil", **ports,
            p_NumTasks=tasks, p_NumCpus=cpus, p_Select=select, p_Policies=policies, p_Hold=int(hold),
            p_Budget=int(budget), p_Criticality=int(criticality),
        )
        for file in (rtl / "weir.f").read_text().split():
            platform.add_source(str(rtl / file))

    def attach(self, soc, name, origin):
        """On the bus, and to an interrupt of the CPU if it has any. The engine sees the 16 low bits of addresses."""
        if origin % 0x10000:
            raise ValueError(f"{name}: origin is {origin:#x}; the engine's window begins at a multiple of 64 KiB")
        size = 1 << (self.windows - 1).bit_length()
        soc.bus.add_slave(name, self.bus, SoCRegion(origin=origin, size=size, cached=False))
        if soc.irq.enabled:
            soc.irq.add(name, use_loc_if_exists=True)
