/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * merge - join several pipes, by arrival
 *
 * class:    merge
 * pipes:    in 1.., out 1
 * listens:  -
 * answers:  -
 * params:   -
 * cost:     O(1) per change; no lock of its own
 * batch:    the out-pipe holds the tasks of all in-pipes; those of one in-pipe in its order,
 *           and later arrivals behind earlier ones of other in-pipes
 * source:   CoBaS 5.8.2, consolidating
 *
 * CPUs can fill the in-pipes at the same time; they meet only at the out-pipe. If an in-pipe
 * inserts a task before others, the task precedes only those of its own pipe. For a fixed
 * precedence among the pipes use port_order.
 *
 * example:  entry each cpu -> merge -> cpus;
 */
#include <weir/component.h>

struct merge {
	struct weir_instance inst;
};

WEIR_COMPONENT(merge, .summary = "join several pipes, by arrival", .cls = WEIR_MERGE,
	       .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY, .out_min = 1, .out_max = 1);

WEIR_ENTRY u32 merge_step(struct merge weir_mem *self, u32 what, struct weir_task weir_mem *t,
			  struct weir_step weir_mem *s)
{
	weir_use(self);
	weir_use(what);
	weir_use(t);
	weir_use(s);
	return 0;
}
