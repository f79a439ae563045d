/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * NAME - let only the first tasks pass
 *
 * class:    filter
 * pipes:    in 1, out 1
 * listens:  -
 * answers:  -
 * params:   limit count 4 [1, 65536]; tasks that pass at most
 * cost:     O(limit) per update; takes the in-pipe lock and the out-pipe lock
 * batch:    the out-pipe holds the first tasks of the in-pipe, at most the limit, in its order
 * source:   ours
 *
 * Say here what it promises, and when it is the wrong choice. Every task must come to pass some day.
 *
 * example:  entry -> NAME(limit = 8) -> fifo -> cpus;
 */
#include <weir/component.h>

/* The state of an instance. The framework's part comes first; parameters are u64 fields. */
struct NAME {
	struct weir_instance inst;
	u64 limit; /* (c) */
};

/* The facts. It counts, so it wants to hear of tasks that leave the in-pipe, too. */
WEIR_COMPONENT(NAME, .summary = "let only the first tasks pass", .cls = WEIR_FILTER,
	       .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .change_kinds = WEIR_ADDED | WEIR_REMOVED | WEIR_MOVED,
	       WEIR_PARAMS(NAME,
			   WEIR_PARAM(NAME, limit, COUNT, 4, 1, 65536, "tasks that pass at most")));

/*
 * The in-pipe has changed, and is locked. Tasks that moved step out first, so that those which stay stand as in the
 * in-pipe; one walk over the first tasks puts in what is missing and takes out what has become too much.
 */
WEIR_ENTRY int NAME_update(struct NAME weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_task weir_mem *t, *before = 0;
	struct weir_change weir_mem *c;
	u64 n = 0;
	int err;

	weir_for_change(c, in) {
		err = c->kind == WEIR_MOVED ? weir_pipe_remove(out, c->task) : 0;
		if (err)
			return err;
	}
	weir_for_task(t, in) {
		if (n >= self->limit && weir_pipe_nr(out) <= self->limit)
			break;
		if (n >= self->limit)
			err = weir_pipe_remove(out, t);
		else if (weir_pipe_has(out, t))
			err = 0;
		else
			err = before ? weir_pipe_insert_after(out, t, before)
				     : weir_pipe_prepend(out, t);
		if (err)
			return err;
		before = t;
		n++;
	}
	return 0;
}
