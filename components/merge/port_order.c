/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * port_order - join several pipes, all of the first before any of the second
 *
 * class:    merge
 * pipes:    in 1.., out 1, keyed
 * listens:  -
 * answers:  -
 * params:   -
 * cost:     O(log n) per change; no lock of its own
 * batch:    the out-pipe holds the tasks of in-port 0 in their order, then those of in-port 1, and
 *           so on
 * source:   CoBaS 5.8.2, consolidating
 *
 * Strict classes of service: tasks from lower ports always go first. The upper ports starve
 * while the lower ones have work; use merge if all should get a share. Nothing is preempted.
 *
 * example:  annotate isa; entry -> s :: isa_demux; p :: port_order; s[native] -> p; s[accel] -> p;
 *           p -> cpus;
 */
#include <weir/component.h>

struct port_order {
	struct weir_instance inst;
};

WEIR_COMPONENT(port_order,
	       .summary = "join several pipes, all of the first before any of the second",
	       .cls = WEIR_MERGE, .ordering = WEIR_STABLE, .in_min = 1, .in_max = WEIR_ANY,
	       .out_min = 1, .out_max = 1, .keyed_out = 1);

WEIR_ENTRY u32 port_order_step(struct port_order weir_mem *self, u32 what,
			       struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	weir_use(self);
	weir_use(what);
	weir_use(t);
	s->key = s->in;
	return 0;
}
