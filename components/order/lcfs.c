/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lcfs - run the youngest task
 *
 * class:    order
 * pipes:    in 1, out 1, keyed
 * listens:  -
 * asks:     LAMPORT: number in order of creation; needed
 * answers:  -
 * params:   -
 * cost:     O(log n) per added task; no lock of its own
 * batch:    the out-pipe holds the tasks of the in-pipe, by creation stamp, greatest first
 * source:   CoBaS appendix A.1, component 0x03
 *
 * The reverse of fcfs: the youngest task that can run goes first. Useful if later stages of a
 * pipeline must catch up with earlier ones (CoBaS 8.8). Old tasks starve while young ones can run.
 *
 * example:  annotate lamport; entry -> lcfs -> cpus;
 */
#include <weir/component.h>

struct lcfs {
	struct weir_instance inst;
};

WEIR_COMPONENT(lcfs, .summary = "run the youngest task", .cls = WEIR_ORDER, .ordering = WEIR_TOTAL,
	       .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1, .keyed_out = 1,
	       .asks = WEIR_TOPIC_BIT(LAMPORT), .needs = WEIR_TOPIC_BIT(LAMPORT));

WEIR_ENTRY u32 lcfs_step(struct lcfs weir_mem *self, u32 what, struct weir_task weir_mem *t,
			 struct weir_step weir_mem *s)
{
	weir_use(what);
	s->key = ~weir_property(self->inst.sched, WEIR_TOPIC_LAMPORT, t);
	return 0;
}
