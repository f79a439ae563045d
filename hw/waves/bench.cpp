/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Runs weir_laxity_axil (4 tasks, 2 CPUs, serial selector) for the pictures of docs/hardware.md: a tick, a claim and two transfers.
 * Prints a line of names, then a line per clock: what the signals are when the clock rises.
 */
#include "Vweir_laxity_axil.h"
#include "Vweir_laxity_axil___024root.h"
#include "verilated.h"
#include "weir_regs.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace {

Vweir_laxity_axil top;
const char *part = "boot";

/* The window of CPU 1, and a register that this engine has not. */
constexpr uint16_t CPU1 = WEIR_LAXITY_WINDOW, HOLE = WEIR_LAXITY_HOLD;

void clock()
{
	const Vweir_laxity_axil___024root &in = *top.rootp;

	top.clk_i = 0;
	top.eval();
	std::printf("%s %d %d %d %d %d %d %d %d %d %d %d %x %d %d %x %d %x %d %d %d %d\n", part, in.weir_laxity_axil__DOT__u_engine__DOT__tick,
		    in.weir_laxity_axil__DOT__u_engine__DOT__ready, in.weir_laxity_axil__DOT__decided, in.weir_laxity_axil__DOT__busy,
		    in.weir_laxity_axil__DOT__task_no, top.irq_o, top.awvalid_i, top.awready_o, top.wvalid_i, top.wready_o, top.arvalid_i,
		    top.araddr_i, top.arready_o, top.rvalid_o, top.rdata_o, top.bvalid_o, top.wdata_i, top.rresp_o, top.bresp_o,
		    in.weir_laxity_axil__DOT__req, in.weir_laxity_axil__DOT__answered);
	top.clk_i = 1;
	top.eval();
}

void clocks(int n)
{
	while (n-- > 0)
		clock();
}

/* A write whose data come @later clocks after its address, and with @read also a read from the beginning. */
void transfer(bool write, uint16_t address, uint32_t data, int later, bool read, uint16_t from)
{
	bool answered = !write, got = !read, data_taken = !write;
	int left = 64;

	top.awvalid_i = write;
	top.awaddr_i = address;
	top.arvalid_i = read;
	top.araddr_i = from;
	for (; (!answered || !got) && left; left--) {
		if (!later-- && !data_taken) {
			top.wvalid_i = 1;
			top.wdata_i = data;
		}
		top.clk_i = 0;
		top.eval();
		const bool aw = top.awvalid_i && top.awready_o, w = top.wvalid_i && top.wready_o, ar = top.arvalid_i && top.arready_o;
		answered = answered || top.bvalid_o;
		got = got || top.rvalid_o;
		clock();
		if (aw)
			top.awvalid_i = 0;
		if (w) {
			top.wvalid_i = 0;
			data_taken = true;
		}
		if (ar)
			top.arvalid_i = 0;
	}
	if (!left) {
		std::fputs("waves: a transfer has no answer\n", stderr);
		std::exit(1);
	}
}

void write(uint16_t address, uint32_t data) { transfer(true, address, data, 0, false, 0); }
void read(uint16_t address) { transfer(false, 0, 0, 0, true, address); }

void set_task(uint32_t task, uint32_t period, uint32_t wcet)
{
	write(WEIR_LAXITY_PARAM0, WEIR_PUT(WEIR_LAXITY_PARAM0_PERIOD, period) | WEIR_PUT(WEIR_LAXITY_PARAM0_WCET, wcet));
	write(WEIR_LAXITY_PARAM1, 0);
	write(WEIR_LAXITY_CMD, WEIR_PUT(WEIR_LAXITY_CMD_OP, WEIR_LAXITY_OP_SET) | WEIR_PUT(WEIR_LAXITY_CMD_TASK, task));
}

} // namespace

int main()
{
	std::puts("part tick ready decided busy task irq awvalid awready wvalid wready arvalid araddr arready rvalid rdata bvalid wdata "
		  "rresp bresp req answered");
	top.wstrb_i = 15;
	top.bready_i = top.rready_i = 1;
	top.rst_ni = 0;
	clocks(4);
	top.rst_ni = 1;
	clocks(2);
	set_task(0, 6, 3);
	set_task(1, 4, 1);
	set_task(2, 8, 2);
	write(WEIR_LAXITY_TICK, 64);
	part = "tick";
	write(WEIR_LAXITY_CTRL, WEIR_LAXITY_CTRL_RUN_MASK);
	clocks(24);
	part = "claim";
	clocks(2);
	read(WEIR_LAXITY_SCHED);
	clocks(2);
	part = "rest";
	read(CPU1 | WEIR_LAXITY_SCHED);
	clocks(4);
	part = "transfer";
	clocks(1);
	transfer(true, WEIR_LAXITY_PARAM1, 0x2a, 2, true, HOLE);
	clocks(1);
	return 0;
}
