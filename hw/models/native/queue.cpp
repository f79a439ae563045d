/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* weir_pq_array and weir_pq_systolic, clock by clock; see hw/models/src/verilated.rs. */
#include "model.h"

struct queue_in {
	uint64_t key;
	uint8_t push, pop, remove, id;
};

struct queue_out {
	uint64_t key;
	uint8_t ready, full, valid, id;
};

extern "C" void WEIR_NAME(clock)(void *p, const queue_in *in, queue_out *out)
{
	auto *m = static_cast<model *>(p);
	auto &t = m->top;
	t.push_i = in->push;
	t.pop_i = in->pop;
	t.remove_i = in->remove;
	t.id_i = in->id;
	t.key_i = in->key;
	m->clock();
	out->key = t.key_o;
	out->ready = t.ready_o;
	out->full = t.full_o;
	out->valid = t.valid_o;
	out->id = t.id_o;
}
