# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Masters of AXI4-Lite (cocotbext-axi), and of APB, Wishbone, OBI and TL-UL: one transfer at a time.

All outputs of these shells are of registers, so a master looks and acts at falling edges: what it sees then is what the rising edge
after it takes. `access` returns whether the transfer was served, and the data. Its further arguments are what a transfer may have
that is to be refused. With `dice` a master pauses at random, before a transfer and where it may leave an answer standing.
"""

import random

from cocotb.triggers import FallingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster, AxiProt, AxiResp
from cocotbext.axi.axil_channels import AxiLiteARBus, AxiLiteAWBus, AxiLiteBBus, AxiLiteRBus, AxiLiteWBus


def channel(kind, dut):
    """A channel of the master on ports that end in _i and _o; the master's own names have no endings."""
    both = {**dict.fromkeys(kind._signals), **dict.fromkeys(kind._optional_signals)}
    names = {s: s + ("_o" if hasattr(dut, s + "_o") else "_i") for s in both}
    return type(kind.__name__, (kind,), {"_signals": names, "_optional_signals": {}}).from_entity(dut)


class Axil:
    def __init__(self, dut):
        kinds = AxiLiteAWBus, AxiLiteWBus, AxiLiteBBus, AxiLiteARBus, AxiLiteRBus
        bus = AxiLiteBus.from_channels(*(channel(kind, dut) for kind in kinds))
        clock, reset = (dut.bus_clk_i, dut.bus_rst_ni) if hasattr(dut, "bus_clk_i") else (dut.clk_i, dut.rst_ni)
        self.master = AxiLiteMaster(bus, clock, reset, reset_active_level=False)
        for part in self.master.write_if, self.master.read_if:
            part.log.setLevel("WARNING")

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

    async def read(self, address):
        resp, value = await self.raw_read(address)
        return resp == AxiResp.OKAY, value

    async def write(self, address, value):
        return await self.raw_write(address, value) == AxiResp.OKAY, 0


class Master:
    def __init__(self, dut):
        self.dut, self.dice = dut, None

    async def read(self, address):
        return await self.access(address)

    async def write(self, address, data):
        return await self.access(address, data)

    async def clock(self):
        await FallingEdge(self.dut.clk_i)

    async def pause(self):
        while self.dice and self.dice.random() < 0.4:
            await self.clock()

    def drive(self, **values):
        for name, value in values.items():
            getattr(self.dut, name).value = value

    def see(self, name):
        return int(getattr(self.dut, name).value)

    async def until(self, *names):
        while not any(self.see(name) for name in names):
            await self.clock()

    async def left_standing(self, *names):
        """An answer that is not taken stays as it is."""
        seen = [self.see(name) for name in names]
        await self.pause()
        assert seen == [self.see(name) for name in names], f"{names} moved before they were taken"


class Apb(Master):
    irq = 0

    async def access(self, address, data=None, strb=0xF, prot=1):
        await self.pause()
        await self.clock()
        self.drive(psel_i=1, penable_i=0, pwrite_i=data is not None, paddr_i=address, pprot_i=prot, pwdata_i=data or 0, pstrb_i=strb)
        await self.clock()
        self.drive(penable_i=1)
        await self.until("pready_o")
        got = not self.see("pslverr_o"), self.see("prdata_o")
        await self.clock()
        self.drive(psel_i=0, penable_i=0)
        return got


class Wishbone(Master):
    irq = 1

    async def access(self, address, data=None, sel=0xF):
        await self.pause()
        await self.clock()
        self.drive(cyc_i=1, stb_i=1, we_i=data is not None, adr_i=address >> 2, sel_i=sel, dat_i=data or 0)
        await self.clock()
        await self.until("ack_o", "err_o")
        assert not (self.see("ack_o") and self.see("err_o"))
        got = bool(self.see("ack_o")), self.see("dat_o")
        await self.clock()
        self.drive(cyc_i=0, stb_i=0)
        return got

    async def give_up(self, address, clocks):
        """A read that ends after some clocks, whether it has its answer or not; True if it had."""
        await self.clock()
        self.drive(cyc_i=1, stb_i=1, we_i=0, adr_i=address >> 2, sel_i=0xF)
        seen = False
        for _ in range(clocks):
            await self.clock()
            seen = seen or bool(self.see("ack_o"))
        self.drive(cyc_i=0, stb_i=0)
        return seen


class Obi(Master):
    irq = 2

    async def access(self, address, data=None, be=0xF, prot=0b110):
        await self.pause()
        await self.clock()
        self.drive(obi_req_i=1, obi_addr_i=address, obi_we_i=data is not None, obi_be_i=be, obi_wdata_i=data or 0, obi_prot_i=prot)
        await self.until("obi_gnt_o")
        await self.clock()
        self.drive(obi_req_i=0)
        await self.until("obi_rvalid_o")
        await self.left_standing("obi_rvalid_o", "obi_rdata_o", "obi_err_o")
        got = not self.see("obi_err_o"), self.see("obi_rdata_o")
        self.drive(obi_rready_i=1)
        await self.clock()
        self.drive(obi_rready_i=0)
        return got


class TlUl(Master):
    irq = 3
    GET, PUT_FULL, PUT_PARTIAL = 4, 0, 1
    source = 0

    async def access(self, address, data=None, opcode=None, size=2, mask=0xF, corrupt=0):
        if opcode is None:
            opcode = self.GET if data is None else self.PUT_FULL
        self.source = (self.source + 37) % 256
        await self.pause()
        await self.clock()
        self.drive(tl_a_valid_i=1, tl_a_opcode_i=opcode, tl_a_size_i=size, tl_a_source_i=self.source, tl_a_address_i=address,
                   tl_a_mask_i=mask, tl_a_data_i=data or 0, tl_a_corrupt_i=corrupt)
        await self.until("tl_a_ready_o")
        await self.clock()
        self.drive(tl_a_valid_i=0)
        await self.until("tl_d_valid_o")
        answer = "opcode", "size", "source", "denied", "data", "corrupt"
        await self.left_standing("tl_d_valid_o", *(f"tl_d_{name}_o" for name in answer))
        got = {name: self.see(f"tl_d_{name}_o") for name in answer}
        assert (got["opcode"], got["size"], got["source"]) == (opcode == self.GET, size, self.source), f"{got}"
        assert got["corrupt"] == (got["denied"] and opcode == self.GET), f"{got}"
        self.drive(tl_d_ready_i=1)
        await self.clock()
        self.drive(tl_d_ready_i=0)
        return not got["denied"], got["data"]
