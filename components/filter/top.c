/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * top - pass only the first tasks
 *
 * class:    filter
 * pipes:    in 1, out 1
 * listens:  -
 * answers:  -
 * params:   limit count 1 [1, 65536]; largest number of tasks that pass
 * cost:     O(limit) per update; takes the in-pipe lock and the out-pipe lock
 * batch:    the out-pipe holds the first tasks of the in-pipe, at most the limit, in its order
 * source:   CoBaS 5.8.2, filtering; 5.8.1, absolute decisions
 *
 * Passes only the most urgent tasks to the stages behind it, which then order or place a few tasks
 * instead of all. As tasks leave, the next ones follow.
 *
 * Takes no steps, so tasks are linked before it (docs/decisions/0050): which tasks pass depends on
 * those before them.
 *
 * example:  annotate priority; entry -> priority_order -> top(limit = 8) -> head_queue -> cpus;
 */
#include <weir/component.h>

struct top {
	struct weir_instance inst;
	u64 limit; /* (c) */
};

WEIR_COMPONENT(top, .summary = "pass only the first tasks", .cls = WEIR_FILTER,
	       .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .change_kinds = WEIR_ADDED | WEIR_REMOVED | WEIR_MOVED,
	       WEIR_PARAMS(top, WEIR_PARAM(top, limit, COUNT, 1, 1, 65536,
					   "largest number of tasks that pass")));

/*
 * Moved tasks step out first, so those that stay stand as in the in-pipe. One walk over the first
 * tasks then puts in what is missing; what has too many tasks in front of it now follows directly
 * behind.
 */
WEIR_ENTRY int top_update(struct top weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_task weir_mem *t, *before = 0;
	struct weir_change weir_mem *c;
	u64 n = 0;
	int err;

	weir_for_change(c, in) {
		if (c->kind != WEIR_MOVED)
			continue;
		err = weir_pipe_remove(out, c->task);
		if (err)
			return err;
	}
	weir_for_task(t, in) {
		if (n >= self->limit && weir_pipe_nr(out) <= self->limit)
			break;
		err = 0;
		if (n >= self->limit)
			err = weir_pipe_remove(out, t);
		else if (!weir_pipe_has(out, t))
			err = before ? weir_pipe_insert_after(out, t, before)
				     : weir_pipe_prepend(out, t);
		if (err)
			return err;
		before = t;
		n++;
	}
	return 0;
}
