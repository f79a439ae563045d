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
 * cost:     O(log n) per added task; takes the in-pipe lock and the out-pipe lock
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

WEIR_COMPONENT(fcfs, .summary = "run the oldest task", .cls = WEIR_ORDER, .carries = WEIR_CARRIES,
	       .ordering = WEIR_TOTAL, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .keyed_out = 1, .change_kinds = WEIR_ADDED, .asks = WEIR_TOPIC_BIT(LAMPORT),
	       .needs = WEIR_TOPIC_BIT(LAMPORT));

WEIR_ENTRY int fcfs_update(struct fcfs weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		u64 stamp = weir_property(self->inst.sched, WEIR_TOPIC_LAMPORT, c->task);

		err = weir_pipe_insert(out, c->task, stamp);
		if (err)
			return err;
	}
	return 0;
}
