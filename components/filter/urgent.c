/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * urgent - withhold tasks to which the stage before gave no urgency
 *
 * class:    filter
 * pipes:    in 1, out 1
 * listens:  -
 * answers:  -
 * params:   -
 * cost:     O(1) per change, more for a task that moves; no lock of its own
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
	       .cls = WEIR_FILTER, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1,
	       .out_max = 1);

WEIR_ENTRY u32 urgent_step(struct urgent weir_mem *self, u32 what, struct weir_task weir_mem *t,
			   struct weir_step weir_mem *s)
{
	weir_use(what);
	weir_use(t);
	return weir_in(&self->inst, 0)->keyed && s->key == WEIR_KEY_NONE ? WEIR_WITHHOLD : 0;
}
