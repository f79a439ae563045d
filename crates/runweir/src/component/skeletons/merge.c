/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * NAME - join several pipes, the lower ports first
 *
 * class:    merge
 * pipes:    in 1.., out 1, keyed
 * listens:  -
 * answers:  -
 * params:   -
 * cost:     O(log n) per change; takes one in-pipe lock and the out-pipe lock
 * batch:    the out-pipe holds the tasks of in-port 0 in their order, then those of in-port 1, and so on
 * source:   ours
 *
 * Say here what it promises, and when it is the wrong choice: the upper ports wait while the lower ones have work.
 *
 * example:  entry each cpu -> NAME -> cpus;
 */
#include <weir/component.h>

/* The state of an instance. The framework's part comes first; parameters are u64 fields. */
struct NAME {
	struct weir_instance inst;
};

/* The facts: what the language, the checker and the manual know. */
WEIR_COMPONENT(NAME, .summary = "join several pipes, the lower ports first", .cls = WEIR_MERGE,
	       .ordering = WEIR_STABLE, .in_min = 1, .in_max = WEIR_ANY, .out_min = 1, .out_max = 1,
	       .keyed_out = 1);

/* One of the in-pipes has changed, and is locked. The key is its port; among equals tasks stand as in it. */
WEIR_ENTRY int NAME_update(struct NAME weir_mem *self, struct weir_pipe weir_mem *in)
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
