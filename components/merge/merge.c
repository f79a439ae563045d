/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * merge - join several pipes, by arrival
 *
 * class:    merge
 * pipes:    in 1.., out 1
 * listens:  -
 * answers:  -
 * params:   -
 * cost:     O(1) per change; takes one in-pipe lock and the out-pipe lock
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
#include <weir/kit/forward.h>

struct merge {
	struct weir_instance inst;
};

WEIR_COMPONENT(merge, .summary = "join several pipes, by arrival", .cls = WEIR_MERGE,
	       .carries = WEIR_CARRIES, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = WEIR_ANY,
	       .out_min = 1, .out_max = 1);

WEIR_ENTRY int merge_update(struct merge weir_mem *self, struct weir_pipe weir_mem *in)
{
	return weir_forward(&self->inst, in);
}
