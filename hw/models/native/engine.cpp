/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* weir_laxity, clock by clock; see hw/models/src/verilated.rs. */
#include "model.h"

struct engine_in {
	uint32_t wdata;
	uint16_t addr;
	uint8_t req, we, cpu;
};

struct engine_out {
	uint64_t task;
	uint32_t rdata;
	uint8_t rvalid, err, irq, decided, busy;
};

extern "C" void WEIR_NAME(clock)(void *p, const engine_in *in, engine_out *out)
{
	auto *m = static_cast<model *>(p);
	auto &t = m->top;
	t.req_i = in->req;
	t.we_i = in->we;
	t.cpu_i = in->cpu;
	t.addr_i = in->addr >> 2;
	t.wdata_i = in->wdata;
	m->clock();
	out->task = t.task_o;
	out->rdata = t.rdata_o;
	out->rvalid = t.rvalid_o;
	out->err = t.err_o;
	out->irq = t.irq_o;
	out->decided = t.decided_o;
	out->busy = t.busy_o;
}
