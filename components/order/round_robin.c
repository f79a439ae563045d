/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * round_robin - run tasks in turn, one slice each
 *
 * class:    order
 * pipes:    in 1, out 1
 * listens:  -
 * answers:  -
 * params:   slice ns 3000000 [100000, 1000000000]; run time before the task goes to the tail
 * cost:     O(1) per change; takes the in-pipe lock and the out-pipe lock
 * batch:    the out-pipe holds the tasks of the in-pipe, in its order; each has the slice
 * source:   CoBaS 5.2
 *
 * The framework has no timer for this: the runtime receives the slice and takes the CPU away when it
 * ends. Fair only among tasks that use their full slice; a task that blocks early loses the rest
 * of it.
 *
 * example:  entry -> round_robin(slice = 2ms) -> cpus;
 */
#include <weir/component.h>

struct round_robin {
	struct weir_instance inst;
	u64 slice; /* (c) ns */
};

WEIR_COMPONENT(round_robin, .summary = "run tasks in turn, one slice each", .cls = WEIR_ORDER,
	       .carries = WEIR_CARRIES, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1,
	       .out_min = 1, .out_max = 1,
	       WEIR_PARAMS(round_robin,
			   WEIR_PARAM(round_robin, slice, NS, 3000000, 100000, 1000000000,
				      "run time before the task goes to the tail")));

WEIR_ENTRY int round_robin_update(struct round_robin weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		weir_store(&c->task->slice_ns, self->slice);
		err = weir_pipe_mirror(out, c->task, in);
		if (err)
			return err;
	}
	return 0;
}
