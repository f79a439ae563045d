/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * urgent - withhold tasks to which the stage before gave no urgency
 *
 * class:    filter
 * pipes:    in 1, out 1
 * listens:  -
 * answers:  -
 * params:   -
 * cost:     O(1) per change, more for a task that moves; takes the in-pipe lock and the out-pipe lock
 * batch:    the out-pipe holds the tasks of the in-pipe that have a key, in its order; all of them if
 *           the in-pipe is not sorted by key
 * source:   ours; for Peter, 2012, 3.6.4: real-time tasks without budget do not get idle time
 *
 * An order with budgets or modes puts tasks without a current claim last, without a key.
 * With this filter behind it they wait, even while CPUs are idle;
 * without it they run in the remaining time.
 *
 * example:  annotate affinity, deadline, job, executed, priority;
 *           entry -> partition -> each cpu { rbed -> urgent -> cpu };
 */
#include <weir/component.h>

struct urgent {
	struct weir_instance inst;
};

WEIR_COMPONENT(urgent, .summary = "withhold tasks to which the stage before gave no urgency",
	       .cls = WEIR_FILTER, .carries = WEIR_CARRIES, .ordering = WEIR_KEEPS, .in_min = 1,
	       .in_max = 1, .out_min = 1, .out_max = 1);

WEIR_ENTRY int urgent_update(struct urgent weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		if (in->keyed && c->task->hooks[in->slot].key == WEIR_KEY_NONE)
			err = weir_pipe_remove(out, c->task);
		else
			err = weir_pipe_mirror(out, c->task, in);
		if (err)
			return err;
	}
	return 0;
}
