/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Carried tasks in pipes (carry.c, docs/decisions/0050): one that is a member of a pipe without being linked there is moved on, called
 * back, or kept where it is.
 */
#include "transit.h"

WEIR_FLAT void weir_link_carried(struct weir_pipe weir_mem *in, struct weir_task weir_mem *t)
{
	struct weir_task weir_mem *after = in->tail;

	if (weir_solo(in->sched) && weir_ctx(in->sched)->chained == in) {
		weir_settle_in(in, t);
		return;
	}
	while (weir_solo(in->sched) && after && weir_arrival(after) > weir_arrival(t) && weir_loop)
		after = weir_pipe_prev(in, after);
	weir_list_link(in, t, after);
	weir_settle_in(in, t);
}

/* It has been linked further on; a pending record is void. */
WEIR_FLAT static void unlink_carried(struct weir_pipe weir_mem *in, struct weir_task weir_mem *t)
{
	struct weir_hook weir_mem *h = weir_hook(in, t);

	if (weir_is_boxed(in, t)) {
		weir_inbox_drop(in, t);
		return;
	}
	if (h->change) {
		in->log[h->change - 1].kind = WEIR_VOID;
		h->change = 0;
	}
	if (!weir_solo(in->sched) || weir_ctx(in->sched)->chained != in)
		weir_list_unlink(in, t);
	weir_store(&in->nr, in->nr - 1);
	weir_depart(in, t);
}

/* In a fed list: behind the tasks that came before @t through @in, as in weir_pipe_mirror(). */
static struct weir_task weir_mem *arrived_before(const struct weir_pipe weir_mem *pipe,
						 const struct weir_task weir_mem *t,
						 const struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *at = pipe->tail, *next = 0;

	if (!weir_solo(pipe->sched))
		return at;
	for (; at && weir_loop; at = weir_pipe_prev(pipe, at)) {
		if (weir_before(pipe, at) != in)
			continue;
		if (weir_arrival(at) < weir_arrival(t))
			break;
		next = at;
	}
	return next ? weir_pipe_prev(pipe, next) : pipe->tail;
}

/*
 * @t does not arrive, but is a member of @in, which is locked: put it into @pipe, or change its key there. If it was linked further on, it
 * may have left meanwhile, and even have returned by another path.
 */
WEIR_COLD static int move_on(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key,
			     struct weir_pipe weir_mem *in, int keyed)
{
	struct weir_sched weir_mem *s = pipe->sched;
	int linked, err;

	if (!weir_pipe_holds(pipe, t) && weir_pipe_has(pipe, t)) {
		/* It is already further on, in the same place. */
		weir_op(s, WEIR_OP_LOCK, pipe->idx, 0);
		weir_op(s, WEIR_OP_UNLOCK, pipe->idx, 0);
		return 0;
	}
	linked = weir_pipe_holds(in, t);
	err = weir_pipe_lock(pipe);
	if (err) {
		if (!linked)
			return weir_pipe_holds(pipe, t) ? err : 0;
		err = weir_post(pipe, t, key);
	} else if (weir_pipe_holds(pipe, t)) {
		err = keyed ? weir_pipe_insert_keyed(pipe, t, key, in) : 0;
		weir_pipe_unlock(pipe);
		return err;
	} else {
		/* A CPU has taken a task that is linked nowhere. */
		if (linked)
			err = keyed ? weir_pipe_insert_keyed(pipe, t, key, in)
				    : weir_pipe_place(pipe, t, arrived_before(pipe, t, in), 0);
		weir_pipe_unlock(pipe);
	}
	if (!linked || err)
		return err;
	unlink_carried(in, t);
	if (weir_solo(s))
		in->through++;
	else if (weir_carried(in) & WEIR_COUNTED)
		weir_fetch_add(&in->through, 1);
	return 0;
}

WEIR_FLAT int weir_put_carried(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
			       u64 key, struct weir_pipe weir_mem *in, int keyed)
{
	struct weir_sched weir_mem *s = pipe->sched;
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	/* Without WEIR_DEEP a step only notes the list (step.h). */
	if (!weir_is_arriving(ctx, t) || (!WEIR_DEEP && !keyed))
		return move_on(pipe, t, key, in, keyed);
	ctx->put = pipe;
	return keyed ? weir_put_keyed(pipe, t, key, 0) : weir_land(s, pipe, t);
}

WEIR_GLOBAL int weir_keep(struct weir_sched weir_mem *s weir_arg,
			  struct weir_pipe weir_mem *pipe weir_arg, u32 pending)
{
	struct weir_task weir_mem *t = weir_ctx(s)->arrival.task;

	if (weir_solo(s)) {
		pipe->through--;
	} else if (weir_carried(pipe) & WEIR_COUNTED) {
		weir_fetch_add(&pipe->through, (u32)-1);
	}
	if (!(weir_carried(pipe) & WEIR_ALONE) && !weir_solo(s) && weir_pipe_lock(pipe))
		return weir_post(pipe, t, 0);
	weir_link_carried(pipe, t);
	if (!weir_solo(s))
		weir_store(&pipe->nr_added, pipe->nr_added + 1);
	if (pending)
		weir_log_change(pipe, t, WEIR_ADDED);
	if (!(weir_carried(pipe) & WEIR_ALONE) && !weir_solo(s))
		weir_pipe_unlock(pipe);
	return 0;
}

WEIR_GLOBAL int weir_present_again(struct weir_pipe weir_mem *entry weir_arg,
				   struct weir_task weir_mem *t weir_arg)
{
	int err = weir_pipe_lock(entry);

	if (err) {
		weir_store(&entry->rebuild, 1 | WEIR_REBUILD_ALL);
		weir_store(&entry->news, 1);
		return err;
	}
	if (weir_recall(entry, t, entry->slot + 1) == 1)
		weir_log_change(entry, t, WEIR_ADDED);
	weir_pipe_unlock(entry);
	return 0;
}
