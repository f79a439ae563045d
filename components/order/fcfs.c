/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fcfs - run the oldest task
 *
 * class:    order
 * pipes:    in 1, out 1, keyed
 * listens:  -
 * asks:     LAMPORT: number in order of creation; needed
 * answers:  -
 * params:   -
 * cost:     O(log n) per added task; no lock of its own
 * batch:    the out-pipe holds the tasks of the in-pipe, by creation stamp, smallest first
 * source:   CoBaS appendix A.1, component 0x02
 *
 * The order is that of creation, not of arrival: a task that wakes, or that gave up
 * its CPU, returns to the place of its age. Young tasks starve while old ones can run.
 *
 * example:  annotate lamport; entry -> fcfs -> cpus;
 */
#include <weir/component.h>

struct fcfs {
	struct weir_instance inst;
};

WEIR_COMPONENT(fcfs, .summary = "run the oldest task", .cls = WEIR_ORDER, .ordering = WEIR_TOTAL,
	       .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1, .keyed_out = 1,
	       .asks = WEIR_TOPIC_BIT(LAMPORT), .needs = WEIR_TOPIC_BIT(LAMPORT));

WEIR_ENTRY u32 fcfs_step(struct fcfs weir_mem *self, u32 what, struct weir_task weir_mem *t,
			 struct weir_step weir_mem *s)
{
	weir_use(what);
	s->key = weir_property(self->inst.sched, WEIR_TOPIC_LAMPORT, t);
	return 0;
}
