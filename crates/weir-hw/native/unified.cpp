/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* weir_unified, clock by clock; see crates/weir-hw/src/verilated.rs. */
#include "model.h"

struct unified_in {
	uint32_t addr, wdata, lines;
	uint8_t req, we;
};

struct unified_out {
	uint32_t rdata;
	uint8_t rvalid, irq;
};

extern "C" void WEIR_NAME(clock)(void *p, const unified_in *in, unified_out *out)
{
	auto *m = static_cast<model *>(p);
	auto &t = m->top;
	t.req_i = in->req;
	t.we_i = in->we;
	t.addr_i = in->addr >> 2;
	t.wdata_i = in->wdata;
	t.lines_i = in->lines;
	m->clock();
	out->rdata = t.rdata_o;
	out->rvalid = t.rvalid_o;
	out->irq = t.irq_o;
}
