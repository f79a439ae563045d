/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fifo - run tasks to completion in order of arrival, waking an idle CPU at once
 *
 * class:     order
 * pipes:     in 1, out 1
 * listens:   -
 * publishes: KICK: a CPU that waits for work gets the newcomer
 * asks:      AFFINITY: which of several idle CPUs may run the newcomer
 * answers:   -
 * params:    -
 * cost:      O(1) per change, plus the search for an idle CPU if the out-pipe leads to several;
 *            takes the in-pipe lock and the out-pipe lock
 * batch:     the out-pipe holds the tasks of the in-pipe, in its order; none has a slice
 * source:    ours
 *
 * The kick is sent before later stages and postponed pipes have seen the task. The newcomer is not put
 * ahead of others for that: a CPU is idle only if none of those that wait may run on it, so it is the
 * newcomer that the CPU finds. A long task delays all behind it; use round_robin for interactive work.
 *
 * example:   entry -> fifo -> cpus;
 */
#include <weir/component.h>

struct fifo {
	struct weir_instance inst;
};

WEIR_COMPONENT(fifo, .summary = "run tasks to completion in order of arrival, waking an idle CPU at once",
	       .cls = WEIR_ORDER, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .publishes = WEIR_TOPIC_BIT(KICK), .asks = WEIR_TOPIC_BIT(AFFINITY));

WEIR_ENTRY int fifo_update(struct fifo weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		weir_store(&c->task->slice_ns, WEIR_SLICE_UNLIMITED);
		err = weir_pipe_mirror(out, c->task, in);
		if (err)
			return err;
		if (c->kind == WEIR_ADDED)
			weir_kick_idle(&self->inst, out, c->task);
	}
	return 0;
}
