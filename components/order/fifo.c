/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fifo - run tasks to completion in order of arrival
 *
 * class:    order
 * pipes:    in 1, out 1
 * listens:  -
 * answers:  -
 * params:   -
 * cost:     O(1) per change; no lock of its own
 * batch:    the out-pipe holds the tasks of the in-pipe, in its order; none has a slice
 * source:   ours
 *
 * A task keeps its CPU until it blocks or ends. A task that arrives while a CPU is idle is dispatched at
 * once, because the end of the path wakes the CPU. It overtakes no task that could run there: a CPU is idle
 * only if none of the waiting tasks may run on it. A long task delays all tasks behind it; use round_robin
 * for interactive work.
 *
 * example:  entry -> fifo -> cpus;
 */
#include <weir/component.h>

struct fifo {
	struct weir_instance inst;
};

WEIR_COMPONENT(fifo, .summary = "run tasks to completion in order of arrival", .cls = WEIR_ORDER,
	       .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1);

WEIR_ENTRY u32 fifo_step(struct fifo weir_mem *self, u32 what, struct weir_task weir_mem *t,
			 struct weir_step weir_mem *s)
{
	weir_use(self);
	weir_use(what);
	weir_use(s);
	weir_store(&t->slice_ns, WEIR_SLICE_UNLIMITED);
	return 0;
}
