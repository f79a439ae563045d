/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* weir_lists, clock by clock; see crates/weir-hw/src/verilated.rs. */
#include "model.h"

struct lists_in {
	uint32_t addr;
	uint8_t req;
};

struct lists_out {
	uint32_t rdata;
	uint8_t rvalid, irq;
};

extern "C" void WEIR_NAME(clock)(void *p, const lists_in *in, lists_out *out)
{
	auto *m = static_cast<model *>(p);
	auto &t = m->top;
	t.req_i = in->req;
	t.addr_i = in->addr >> 2;
	m->clock();
	out->rdata = t.rdata_o;
	out->rvalid = t.rvalid_o;
	out->irq = t.irq_o;
}
