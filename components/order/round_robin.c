/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * round_robin - run tasks in turn, one slice each
 *
 * class:    order
 * pipes:    in 1, out 1
 * listens:  -
 * answers:  -
 * params:   slice ns 3000000 [100000, 1000000000]; run time before the task goes to the tail
 * cost:     O(1) per change; no lock of its own
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
	       .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       WEIR_PARAMS(round_robin,
			   WEIR_PARAM(round_robin, slice, NS, 3000000, 100000, 1000000000,
				      "run time before the task goes to the tail")));

WEIR_ENTRY u32 round_robin_step(struct round_robin weir_mem *self, u32 what,
				struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	weir_use(what);
	weir_use(s);
	weir_store(&t->slice_ns, self->slice);
	return 0;
}
