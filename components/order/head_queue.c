/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * head_queue - pass tasks on in order of arrival
 *
 * class:    order
 * pipes:    in 1, out 1
 * listens:  -
 * answers:  -
 * params:   -
 * cost:     O(1) per change; no lock of its own
 * batch:    the out-pipe holds the tasks of the in-pipe, in its order
 * source:   CoBaS 5.2 and appendix A.1, component 0x01
 *
 * The simplest component. A task that gives up its CPU returns to the tail of the
 * entry pipe, so with a runtime that has a default slice this behaves like round robin.
 *
 * example:  entry -> head_queue -> cpus;
 */
#include <weir/component.h>

struct head_queue {
	struct weir_instance inst;
};

WEIR_COMPONENT(head_queue, .summary = "pass tasks on in order of arrival", .cls = WEIR_ORDER,
	       .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1);

WEIR_ENTRY u32 head_queue_step(struct head_queue weir_mem *self, u32 what,
			       struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	weir_use(self);
	weir_use(what);
	weir_use(t);
	weir_use(s);
	return 0;
}
