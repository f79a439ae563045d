/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * isa_demux - send each task to the pipe for its instruction set
 *
 * class:     distribute
 * pipes:     in 1.., out 1.., labelled with an instruction set
 * listens:   ISA: move the task
 * publishes: WITHHELD: no out-pipe is for the task's instruction set
 * asks:      ISA: the index of the task's instruction set; needed
 * answers:   -
 * params:    -
 * cost:      O(out-pipes) per added task; no lock of its own
 * batch:     each task is in the first out-pipe whose label is its instruction set, or is withheld
 *            if there is none; every out-pipe keeps the order of each in-pipe
 * source:    CoBaS 8.3 and appendix A.1, component 0x14
 *
 * The stages behind it decide which CPUs of the instruction set are online and allowed.
 * A withheld task continues when its instruction set changes to one that is served.
 *
 * example:   annotate isa, affinity; entry -> split :: isa_demux;
 *            split[native] -> load_balancer -> each cpu in native { -> cpu };
 */
#include <weir/component.h>

struct isa_demux {
	struct weir_instance inst;
};

WEIR_COMPONENT(isa_demux, .summary = "send each task to the pipe for its instruction set",
	       .cls = WEIR_DISTRIBUTE, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY,
	       .out_min = 1, .out_max = WEIR_ANY, .out_label = WEIR_BY_ISA,
	       .listens = WEIR_TOPIC_BIT(ISA), .reviews = WEIR_TOPIC_BIT(ISA),
	       .publishes = WEIR_TOPIC_BIT(WITHHELD), .asks = WEIR_TOPIC_BIT(ISA),
	       .needs = WEIR_TOPIC_BIT(ISA));

static struct weir_pipe weir_mem *isa_demux_choose(struct isa_demux weir_mem *self, u64 isa)
{
	for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);

		if (out->label == isa) {
			weir_note_scan(&self->inst, i + 1);
			return out;
		}
	}
	weir_note_scan(&self->inst, self->inst.nr_out);
	return 0;
}

WEIR_ENTRY u32 isa_demux_step(struct isa_demux weir_mem *self, u32 what,
			      struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	u64 isa = weir_property(self->inst.sched, WEIR_TOPIC_ISA, t);

	weir_use(s);
	return weir_send(&self->inst, what, t, isa_demux_choose(self, isa));
}
