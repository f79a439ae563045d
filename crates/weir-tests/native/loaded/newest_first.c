/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * newest_first - the task that came last goes first
 *
 * class:     order
 * pipes:     in 1, out 1
 * listens:   -
 * answers:   -
 * params:    scale count 1 [1, 1000]; unused but by tests
 * cost:      O(1) per change; takes the in-pipe lock and the out-pipe lock
 * batch:     the out-pipe holds the tasks of the in-pipe, the one that came last first
 * source:    ours, an example of a component that is loaded
 */
#include <weir/component.h>

struct newest_first {
	struct weir_instance inst;
	u64 scale; /* (c) */
};

WEIR_COMPONENT(newest_first, .summary = "the task that came last goes first", .cls = WEIR_ORDER,
	       .ordering = WEIR_TOTAL, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       WEIR_PARAMS(newest_first, WEIR_PARAM(newest_first, scale, COUNT, 1, 1, 1000,
						    "unused but by tests")));

WEIR_ENTRY int newest_first_update(struct newest_first weir_mem *self,
				   struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		if (c->kind != WEIR_ADDED)
			continue;
		err = weir_pipe_prepend(out, c->task);
		if (err)
			return err;
	}
	return 0;
}
