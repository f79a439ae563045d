/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Members of pipes and their order: what receivers call to add, place and move tasks. */
#include "transit.h"

/*
 * 1: already a member; 0: free to join; negative: in another pipe of this depth, which no component may do. A task that was in
 * the inbox joins like any other.
 */
WEIR_FLAT static int membership(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *holder = weir_load(&weir_hook(pipe, t)->pipe);

	weir_assert_locked(pipe);
	weir_valid(pipe->sched, t);
	if (!holder)
		return 0;
	if (holder == pipe && weir_is_boxed(pipe, t)) {
		weir_inbox_drop(pipe, t);
		return 0;
	}
	return holder == pipe ? 1 : -WEIR_EEXIST;
}

/* List pipes: add behind @after or, if @move, put a member there. The lock is held. */
WEIR_FLAT int weir_pipe_place(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
			      struct weir_task weir_mem *after, int move)
{
	int member = membership(pipe, t);

	weir_assert_locked(pipe);
	if (member < 0 || pipe->keyed)
		return member < 0 ? member : -WEIR_EINVAL;
	if (member && !move)
		return -WEIR_EEXIST;
	if (after && !weir_pipe_linked(pipe, after))
		return -WEIR_ENOENT;
	if (!member) {
		weir_list_link(pipe, t, after);
		weir_op(pipe->sched, WEIR_OP_ADD, pipe->idx, 0);
		weir_joined(pipe, t);
	} else if (weir_hook(pipe, t)->prev != after) {
		weir_list_unlink(pipe, t);
		weir_list_link(pipe, t, after);
		weir_op(pipe->sched, WEIR_OP_MOVE, pipe->idx, 0);
		weir_log_change(pipe, t, WEIR_MOVED);
	}
	return 0;
}

WEIR_GLOBAL int weir_pipe_append(struct weir_pipe weir_mem *pipe weir_arg,
				 struct weir_task weir_mem *t weir_arg)
{
	int err = weir_pipe_lock(pipe);

	if (err)
		return weir_post(pipe, t, 0);
	err = weir_pipe_place(pipe, t, pipe->tail, 0);
	weir_pipe_unlock(pipe);
	return err;
}

WEIR_GLOBAL int weir_pipe_append_locked(struct weir_pipe weir_mem *pipe weir_arg,
					struct weir_task weir_mem *t weir_arg)
{
	return weir_pipe_place(pipe, t, pipe->tail, 0);
}

WEIR_GLOBAL int weir_pipe_take(struct weir_pipe weir_mem *pipe weir_arg,
			       struct weir_task weir_mem *t weir_arg)
{
	weir_unlink(pipe, t);
	return 0;
}

WEIR_GLOBAL int weir_pipe_prepend(struct weir_pipe weir_mem *pipe weir_arg,
				  struct weir_task weir_mem *t weir_arg)
{
	int err = weir_pipe_lock(pipe);

	if (err)
		return weir_post(pipe, t, 0);
	err = weir_pipe_place(pipe, t, 0, 1);
	weir_pipe_unlock(pipe);
	return err;
}

WEIR_GLOBAL int weir_pipe_insert_after(struct weir_pipe weir_mem *pipe weir_arg,
				       struct weir_task weir_mem *t weir_arg,
				       struct weir_task weir_mem *after weir_arg)
{
	int err = weir_pipe_lock(pipe);

	if (err)
		return weir_post(pipe, t, 0);
	err = after == t ? -WEIR_EINVAL : weir_pipe_place(pipe, t, after, 1);
	weir_pipe_unlock(pipe);
	return err;
}

/* The nearest task before @t in @in that is in @pipe and has no pending change, or null. */
static struct weir_task weir_mem *settled_before(const struct weir_pipe weir_mem *pipe,
						 struct weir_task weir_mem *t,
						 const struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *at = weir_pipe_prev(in, t);

	while (at && (weir_hook(in, at)->change || !weir_pipe_linked(pipe, at)) && weir_loop)
		at = weir_pipe_prev(in, at);
	return at;
}

#define NEAR 64u /* steps spent on fairness among in-pipes */

/*
 * The task to put @t behind if @pipe also holds tasks of other in-pipes: as late as the order of its own
 * in-pipe allows, so that it does not overtake earlier tasks from elsewhere.
 */
static struct weir_task weir_mem *behind_others(const struct weir_pipe weir_mem *pipe,
						struct weir_task weir_mem *t,
						const struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *at = weir_pipe_next(in, t);
	u32 n = 0;

	while (at && (weir_hook(in, at)->change || !weir_pipe_linked(pipe, at)) && n < NEAR &&
	       weir_loop) {
		at = weir_pipe_next(in, at);
		n++;
	}
	if (n == NEAR)
		return settled_before(pipe, t, in);
	at = at ? weir_pipe_prev(pipe, at) : pipe->tail;
	return at == t ? weir_pipe_prev(pipe, t) : at;
}

/* Whether no member of a fed @pipe came through @in after @t, if calls do not overlap. (Only for the account of operations.) */
static int is_newest(const struct weir_pipe weir_mem *pipe, const struct weir_task weir_mem *t,
		     const struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *at = pipe->head;

	if (!WEIR_OPLOG || !pipe->sched->oplog)
		return 0;
	while (at && (weir_before(pipe, at) != in || weir_arrival(at) <= weir_arrival(t)) &&
	       weir_loop)
		at = weir_pipe_next(pipe, at);
	return !at;
}

/* The last member of a fed @pipe with this key that came through @in before @t, if calls do not overlap. */
static struct weir_task weir_mem *equal_before(const struct weir_pipe weir_mem *pipe,
					       const struct weir_task weir_mem *t, u64 key,
					       const struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *at = pipe->root, *last = 0;

	while (at && weir_loop) {
		if (weir_hook(pipe, at)->key <= key) {
			last = at;
			at = weir_hook(pipe, at)->right;
		} else {
			at = weir_hook(pipe, at)->left;
		}
	}
	for (; last && weir_hook(pipe, last)->key == key && weir_loop;
	     last = weir_pipe_prev(pipe, last))
		if (weir_before(pipe, last) == in && weir_arrival(last) < weir_arrival(t))
			return last;
	return 0;
}

WEIR_FLAT int weir_pipe_insert_keyed(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
				     u64 key, struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *after = 0;
	int member = membership(pipe, t);
	/* If calls overlap, carried tasks have no order before they arrive here. */
	int last = !in || (weir_carried(pipe) ? !weir_solo(pipe->sched) || is_newest(pipe, t, in)
					      : in->tail == t);

	if (member < 0 || !pipe->keyed)
		return member < 0 ? member : -WEIR_EINVAL;
	if (member) {
		if (!in && weir_hook(pipe, t)->key == key)
			return 0;
		weir_keyed_remove(pipe, t);
	}
	if (!last && weir_carried(pipe)) {
		after = equal_before(pipe, t, key, in);
	} else if (!last) {
		after = weir_pipe_prev(in, t);
		while (after && weir_loop) {
			if (!weir_hook(in, after)->change && weir_pipe_linked(pipe, after) &&
			    weir_hook(pipe, after)->key == key)
				break;
			after = weir_pipe_prev(in, after);
		}
	}
	if (last)
		weir_keyed_insert(pipe, t, key);
	else if (after)
		weir_keyed_insert_after(pipe, t, key, after);
	else
		weir_keyed_insert_first(pipe, t, key);
	weir_store(&t->key, key);
	if (member)
		weir_log_change(pipe, t, WEIR_MOVED);
	else
		weir_joined(pipe, t);
	return 0;
}

/*
 * Members without a pending change have the same order in @pipe as in @in. Putting the task behind the nearest
 * such member keeps that true, whatever changes follow.
 */
WEIR_GLOBAL int weir_pipe_mirror(struct weir_pipe weir_mem *pipe weir_arg,
				 struct weir_task weir_mem *t weir_arg,
				 struct weir_pipe weir_mem *in weir_arg)
{
	struct weir_task weir_mem *after;
	int err;

	if (weir_carried(pipe) & WEIR_FED)
		return weir_put_carried(pipe, t, 0, in, 0);
	err = weir_pipe_lock(pipe);
	if (err)
		return weir_post(pipe, t, 0);
	if (in->tail == t && !weir_pipe_linked(pipe, t)) {
		after = pipe->tail;
	} else {
		if (pipe->from && pipe->from->nr_in > 1)
			after = behind_others(pipe, t, in);
		else
			after = settled_before(pipe, t, in);
	}
	err = weir_pipe_place(pipe, t, after, 1);
	weir_pipe_unlock(pipe);
	return err;
}

WEIR_FLAT int weir_put_keyed(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key,
			     struct weir_pipe weir_mem *in)
{
	int err = weir_pipe_lock(pipe);

	if (err)
		return weir_post(pipe, t, key);
	err = weir_pipe_insert_keyed(pipe, t, key, in);
	weir_pipe_unlock(pipe);
	return err;
}

WEIR_GLOBAL int weir_pipe_insert(struct weir_pipe weir_mem *pipe weir_arg,
				 struct weir_task weir_mem *t weir_arg, u64 key)
{
	if (weir_carried(pipe) & WEIR_FED)
		return weir_put_carried(pipe, t, key, pipe->from->in[0], 1);
	return weir_put_keyed(pipe, t, key, 0);
}

WEIR_GLOBAL int weir_pipe_insert_stable(struct weir_pipe weir_mem *pipe weir_arg,
					struct weir_task weir_mem *t weir_arg, u64 key,
					struct weir_pipe weir_mem *in weir_arg)
{
	if (weir_carried(pipe) & WEIR_FED)
		return weir_put_carried(pipe, t, key, in, 1);
	return weir_put_keyed(pipe, t, key, in);
}
