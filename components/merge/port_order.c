/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * port_order - join several pipes, all of the first before any of the second
 *
 * class:    merge
 * pipes:    in 1.., out 1, keyed
 * listens:  -
 * answers:  -
 * params:   -
 * cost:     O(log n) per change; takes one in-pipe lock and the out-pipe lock
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
	       .cls = WEIR_MERGE, .carries = WEIR_CARRIES_LOCKED, .ordering = WEIR_STABLE,
	       .in_min = 1, .in_max = WEIR_ANY, .out_min = 1, .out_max = 1, .keyed_out = 1);

WEIR_ENTRY int port_order_update(struct port_order weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		err = weir_pipe_insert_stable(out, c->task, in->to_port, in);
		if (err)
			return err;
	}
	return 0;
}
