/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A module whose accesses are calls, clock by clock: weir_lists, weir_kernel, weir_unified. See hw/models/src/verilated.rs. */
#include "model.h"

struct call_in {
	uint32_t addr, wdata, lines;
	uint8_t req, we, cpu;
};

struct call_out {
	uint32_t rdata;
	uint8_t rvalid, irq, wake, wake_id;
};

/* A port that not every module has: what is set without it has no effect, what is read is 0. */
#define PORT(port)                                                                                                                     \
	template <class Top> static auto set_##port(Top &t, uint32_t value, int)->decltype(void(t.port = value)) { t.port = value; }    \
	template <class Top> static void set_##port(Top &, uint32_t, long) {}                                                          \
	template <class Top> static auto get_##port(const Top &t, int)->decltype(uint32_t(t.port)) { return t.port; }                  \
	template <class Top> static uint32_t get_##port(const Top &, long) { return 0; }
PORT(we_i)
PORT(wdata_i)
PORT(lines_i)
PORT(cpu_i)
PORT(wake_o)
PORT(wake_id_o)
#undef PORT

extern "C" void WEIR_NAME(clock)(void *p, const call_in *in, call_out *out)
{
	auto *m = static_cast<model *>(p);
	auto &t = m->top;
	t.req_i = in->req;
	t.addr_i = in->addr >> 2;
	set_we_i(t, in->we, 0);
	set_wdata_i(t, in->wdata, 0);
	set_lines_i(t, in->lines, 0);
	set_cpu_i(t, in->cpu, 0);
	m->clock();
	out->rdata = t.rdata_o;
	out->rvalid = t.rvalid_o;
	out->irq = t.irq_o;
	out->wake = get_wake_o(t, 0);
	out->wake_id = get_wake_id_o(t, 0);
}
