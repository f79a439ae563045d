# SPDX-License-Identifier: MIT OR GPL-2.0-only
"""Masters of APB, Wishbone, OBI and TL-UL for weir_shells: one transfer at a time.

All outputs of the shells are of registers, so a master looks and acts at falling edges: what it sees then is what the rising edge
after it takes. `access` returns whether the transfer was served, and the data. Its further arguments are what a transfer may have
that is to be refused. With `dice` a master pauses at random, before a transfer and where it may leave an answer standing.
"""

from cocotb.triggers import FallingEdge


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
