/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Pipes: lists, change logs, and the rule that a task leaves all deeper pipes with the one it leaves. */
#include "internal.h"

#define FIRST_LOG 8u

/* The lock was taken for so long; @err: and still is. Others may count at the same time, without the lock. */
WEIR_FLAT static void lock_waited(struct weir_pipe weir_mem *pipe, u64 waited_ns, int err)
{
	weir_fetch_add(&pipe->lock_wait_ns, waited_ns);
	weir_fetch_add(&pipe->nr_lock_waits, 1);
	if (err)
		weir_fetch_add(&pipe->nr_lock_given_up, 1);
	if (waited_ns > weir_load(&pipe->longest_lock_wait_ns))
		weir_store(&pipe->longest_lock_wait_ns, waited_ns);
}

WEIR_GLOBAL int weir_pipe_lock(struct weir_pipe weir_mem *pipe weir_arg)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u64 waited_ns = 0;
	int err;

	weir_valid(s, pipe);
	if (WEIR_STRICT) {
		struct weir_ctx weir_mem *ctx = weir_ctx(s);

		/* Rank order: deeper than every lock held, so no two CPUs can wait for each other. */
		weir_assert(ctx->nr_held < WEIR_MAX_DEPTH);
		weir_assert(!ctx->nr_held || ctx->held[ctx->nr_held - 1] < pipe->slot);
		/* An update holds its in-pipe and one more (docs/decisions/0001). */
		weir_assert(ctx->nr_held < 2);
		ctx->held[ctx->nr_held++] = pipe->slot;
	}
	err = s->exclusive ? 0 : weir_impatient_lock(&pipe->lock, &waited_ns);
	if (waited_ns)
		lock_waited(pipe, waited_ns, err);
	if (err) {
		weir_give_up(s);
		if (WEIR_STRICT)
			weir_ctx(s)->nr_held--;
		return err;
	}
	weir_op(s, WEIR_OP_LOCK, pipe->idx, 0);
	return 0;
}

WEIR_FLAT void weir_pipe_unlock(struct weir_pipe weir_mem *pipe)
{
	weir_op(pipe->sched, WEIR_OP_UNLOCK, pipe->idx, 0);
	if (WEIR_STRICT) {
		struct weir_ctx weir_mem *ctx = weir_ctx(pipe->sched);

		weir_assert(ctx->nr_held && ctx->held[ctx->nr_held - 1] == pipe->slot);
		ctx->nr_held--;
	}
	if (!pipe->sched->exclusive)
		weir_spin_unlock(&pipe->lock);
}

/* --- change log ------------------------------------------------------------------------------ */

/* Squeeze cancelled records out; 1 if that made room. */
static int log_compact(struct weir_pipe weir_mem *pipe)
{
	u32 n = 0;

	for (u32 i = 0; i < pipe->nr_log && weir_loop; i++) {
		struct weir_change weir_mem *c = &pipe->log[i];

		if (c->kind == WEIR_VOID)
			continue;
		pipe->log[n].task = c->task;
		pipe->log[n].kind = c->kind;
		n++;
		if (c->kind != WEIR_REMOVED && weir_hook(pipe, c->task)->change == i + 1)
			weir_hook(pipe, c->task)->change = n;
	}
	if (n == pipe->nr_log)
		return 0;
	pipe->nr_log = n;
	return 1;
}

/* Room for one more record, or -WEIR_ENOMEM. */
WEIR_GLOBAL int weir_log_room(struct weir_pipe weir_mem *pipe weir_arg)
{
	u32 cap = pipe->cap_log ? 2 * pipe->cap_log : FIRST_LOG;
	struct weir_change weir_mem *log;

	if (log_compact(pipe))
		return 0;
	log = (struct weir_change weir_mem *)weir_alloc_here(pipe->sched, cap * sizeof(struct weir_change));
	if (!log)
		return -WEIR_ENOMEM;
	for (u32 i = 0; i < pipe->nr_log && weir_loop; i++) {
		log[i].task = pipe->log[i].task;
		log[i].kind = pipe->log[i].kind;
	}
	weir_free_here(pipe->sched, pipe->log, pipe->cap_log * sizeof(struct weir_change));
	pipe->log = log;
	pipe->cap_log = cap;
	return 0;
}

/* The receiver has something to do: put the pipe on this CPU's worklist, once. */
WEIR_FLAT static void wake_receiver(struct weir_pipe weir_mem *pipe)
{
	if (pipe->pending)
		return;
	pipe->pending = 1;
	if (!pipe->postponed)
		weir_work_push(pipe->sched, pipe);
}

/* Record a change for the receiver. A record that finds no memory makes the next update a rebuild. */
WEIR_FLAT static void log_change(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u32 kind)
{
	struct weir_hook weir_mem *h = weir_hook(pipe, t);

	if (h->change) {
		struct weir_change weir_mem *c = &pipe->log[h->change - 1];

		if (kind != WEIR_REMOVED)
			return; /* the receiver reads the place when it handles the pending record */
		h->change = 0;
		if (c->kind == WEIR_ADDED) {
			c->kind = WEIR_VOID;
			return;
		}
		c->kind = WEIR_VOID;
	}
	if (!(pipe->change_kinds & kind))
		return;
	if (pipe->nr_log == pipe->cap_log && weir_log_room(pipe)) {
		pipe->rebuild = 1;
		wake_receiver(pipe);
		return;
	}
	pipe->log[pipe->nr_log].task = t;
	pipe->log[pipe->nr_log].kind = kind;
	pipe->nr_log++;
	if (kind == WEIR_REMOVED)
		weir_fetch_add(&t->refs, 1);
	else
		h->change = pipe->nr_log;
	wake_receiver(pipe);
}

WEIR_FLAT struct weir_change weir_mem *weir_change_next(struct weir_pipe weir_mem *in, u32 *pos)
{
	while (*pos < in->nr_log && weir_loop) {
		struct weir_change weir_mem *c = &in->log[(*pos)++];

		if (c->kind == WEIR_VOID)
			continue;
		if (c->kind != WEIR_REMOVED)
			weir_hook(in, c->task)->change = 0;
		return c;
	}
	return 0;
}

WEIR_GLOBAL int weir_pipe_consume(struct weir_pipe weir_mem *pipe weir_arg)
{
	for (u32 i = 0; i < pipe->nr_log && weir_loop; i++) {
		struct weir_change weir_mem *c = &pipe->log[i];

		if (c->kind == WEIR_REMOVED)
			weir_task_put(pipe->sched, c->task);
		else if (c->kind != WEIR_VOID)
			weir_hook(pipe, c->task)->change = 0;
	}
	pipe->nr_log = 0;
	return 0;
}

WEIR_FLAT int weir_pipe_represent(struct weir_pipe weir_mem *pipe)
{
	struct weir_task weir_mem *t;

	weir_pipe_consume(pipe);
	pipe->rebuild = 0;
	weir_for_task(t, pipe) {
		if (weir_task_withdraw(pipe->sched, t, pipe->slot + 1)) {
			pipe->rebuild = 1;
			return -WEIR_EAGAIN;
		}
		log_change(pipe, t, WEIR_ADDED);
	}
	return 0;
}

/* A receiver that fails would never end if it got another turn of its own here. */
WEIR_GLOBAL int weir_pipe_rebuild(struct weir_pipe weir_mem *pipe weir_arg)
{
	u32 was_pending = pipe->pending;
	int err;

	pipe->pending = 1;
	err = weir_pipe_represent(pipe);
	pipe->pending = was_pending;
	return err;
}

/* --- members --------------------------------------------------------------------------------- */

/* The lock is held and @t is linked: make it a member. */
WEIR_FLAT static void joined(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	u32 nr = pipe->nr + 1;

	weir_store_release(&weir_hook(pipe, t)->pipe, pipe);
	weir_store(&pipe->nr, nr);
	weir_store(&pipe->nr_added, pipe->nr_added + 1);
	if (nr > pipe->max_nr)
		weir_store(&pipe->max_nr, nr);
	log_change(pipe, t, WEIR_ADDED);
	/* The way ends here, or goes on only when a CPU asks: somebody has to wake it. */
	if (pipe->postponed || !pipe->change_kinds)
		weir_kick_later(pipe, t);
}

WEIR_FLAT static void unlink_member(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	weir_op(pipe->sched, WEIR_OP_REMOVE, pipe->idx, 0);
	if (pipe->keyed)
		weir_keyed_remove(pipe, t);
	else
		weir_list_unlink(pipe, t);
	log_change(pipe, t, WEIR_REMOVED);
	weir_store(&pipe->nr, pipe->nr - 1);
	weir_store(&pipe->nr_removed, pipe->nr_removed + 1);
	weir_store_release(&weir_hook(pipe, t)->pipe, 0);
}

/* 1: already a member, 0: free to join, negative: in another pipe of this depth, which no component may do. */
WEIR_FLAT static int membership(const struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *holder = weir_load(&weir_hook(pipe, t)->pipe);

	weir_valid(pipe->sched, t);
	if (!holder)
		return 0;
	return holder == pipe ? 1 : -WEIR_EEXIST;
}

/* List pipes: add behind @after or, if @move, put a member there. The lock is held. */
WEIR_FLAT static int place(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, struct weir_task weir_mem *after,
		 int move)
{
	int member = membership(pipe, t);

	if (member < 0 || pipe->keyed)
		return member < 0 ? member : -WEIR_EINVAL;
	if (member && !move)
		return -WEIR_EEXIST;
	if (after && !weir_pipe_has(pipe, after))
		return -WEIR_ENOENT;
	if (!member) {
		weir_list_link(pipe, t, after);
		weir_op(pipe->sched, WEIR_OP_ADD, pipe->idx, 0);
		joined(pipe, t);
	} else if (weir_hook(pipe, t)->prev != after) {
		weir_list_unlink(pipe, t);
		weir_list_link(pipe, t, after);
		weir_op(pipe->sched, WEIR_OP_MOVE, pipe->idx, 0);
		log_change(pipe, t, WEIR_MOVED);
	}
	return 0;
}

WEIR_GLOBAL int weir_pipe_append(struct weir_pipe weir_mem *pipe weir_arg, struct weir_task weir_mem *t weir_arg)
{
	int err = weir_pipe_lock(pipe);

	if (err)
		return err;
	err = place(pipe, t, pipe->tail, 0);
	weir_pipe_unlock(pipe);
	return err;
}

WEIR_GLOBAL int weir_pipe_append_locked(struct weir_pipe weir_mem *pipe weir_arg, struct weir_task weir_mem *t weir_arg)
{
	return place(pipe, t, pipe->tail, 0);
}

WEIR_GLOBAL int weir_pipe_take(struct weir_pipe weir_mem *pipe weir_arg, struct weir_task weir_mem *t weir_arg)
{
	unlink_member(pipe, t);
	return 0;
}

WEIR_GLOBAL int weir_pipe_prepend(struct weir_pipe weir_mem *pipe weir_arg, struct weir_task weir_mem *t weir_arg)
{
	int err = weir_pipe_lock(pipe);

	if (err)
		return err;
	err = place(pipe, t, 0, 1);
	weir_pipe_unlock(pipe);
	return err;
}

WEIR_GLOBAL int weir_pipe_insert_after(struct weir_pipe weir_mem *pipe weir_arg, struct weir_task weir_mem *t weir_arg,
				       struct weir_task weir_mem *after weir_arg)
{
	int err = weir_pipe_lock(pipe);

	if (err)
		return err;
	err = after == t ? -WEIR_EINVAL : place(pipe, t, after, 1);
	weir_pipe_unlock(pipe);
	return err;
}

/* The nearest task before @t in @in that is in @pipe and has no pending change, or null. */
static struct weir_task weir_mem *settled_before(const struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
						 const struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *at = weir_pipe_prev(in, t);

	while (at && (weir_hook(in, at)->change || !weir_pipe_has(pipe, at)) && weir_loop)
		at = weir_pipe_prev(in, at);
	return at;
}

#define NEAR 64u /* steps that fairness among in-pipes is worth */

/*
 * What @t is to stand behind if @pipe holds tasks of other in-pipes too: as late as the order of its own
 * in-pipe lets it, so that it does not pass what came earlier from elsewhere.
 */
static struct weir_task weir_mem *behind_others(const struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
						const struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *at = weir_pipe_next(in, t);
	u32 n = 0;

	while (at && (weir_hook(in, at)->change || !weir_pipe_has(pipe, at)) && n < NEAR && weir_loop) {
		at = weir_pipe_next(in, at);
		n++;
	}
	if (n == NEAR)
		return settled_before(pipe, t, in);
	at = at ? weir_pipe_prev(pipe, at) : pipe->tail;
	return at == t ? weir_pipe_prev(pipe, t) : at;
}

/*
 * Members without a pending change stand in @pipe as in @in. Putting the task behind the nearest such
 * member keeps that true, whatever changes are still to come.
 */
WEIR_GLOBAL int weir_pipe_mirror(struct weir_pipe weir_mem *pipe weir_arg, struct weir_task weir_mem *t weir_arg,
				 struct weir_pipe weir_mem *in weir_arg)
{
	struct weir_task weir_mem *after;
	int err = weir_pipe_lock(pipe);

	if (err)
		return err;
	if (in->tail == t && !weir_pipe_has(pipe, t)) {
		after = pipe->tail;
	} else {
		if (pipe->from && pipe->from->nr_in > 1)
			after = behind_others(pipe, t, in);
		else
			after = settled_before(pipe, t, in);
	}
	err = place(pipe, t, after, 1);
	weir_pipe_unlock(pipe);
	return err;
}

WEIR_FLAT static int insert_keyed(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key,
			struct weir_pipe weir_mem *in)
{
	struct weir_task weir_mem *after = 0;
	int member = membership(pipe, t);
	int last = !in || in->tail == t;

	if (member < 0 || !pipe->keyed)
		return member < 0 ? member : -WEIR_EINVAL;
	if (member) {
		if (!in && weir_hook(pipe, t)->key == key)
			return 0;
		weir_keyed_remove(pipe, t);
	}
	if (!last) {
		after = weir_pipe_prev(in, t);
		while (after && weir_loop) {
			if (!weir_hook(in, after)->change && weir_pipe_has(pipe, after) && weir_hook(pipe, after)->key == key)
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
		log_change(pipe, t, WEIR_MOVED);
	else
		joined(pipe, t);
	return 0;
}

WEIR_GLOBAL int weir_pipe_insert(struct weir_pipe weir_mem *pipe weir_arg, struct weir_task weir_mem *t weir_arg, u64 key)
{
	int err = weir_pipe_lock(pipe);

	if (err)
		return err;
	err = insert_keyed(pipe, t, key, 0);
	weir_pipe_unlock(pipe);
	return err;
}

WEIR_GLOBAL int weir_pipe_insert_stable(struct weir_pipe weir_mem *pipe weir_arg, struct weir_task weir_mem *t weir_arg,
					u64 key, struct weir_pipe weir_mem *in weir_arg)
{
	int err = weir_pipe_lock(pipe);

	if (err)
		return err;
	err = insert_keyed(pipe, t, key, in);
	weir_pipe_unlock(pipe);
	return err;
}

/*
 * Shallow to deep, one lock at a time. Only the receiver of a shallower pipe that holds the task may put
 * it into a deeper one, and does so under that pipe's lock; once the task has left the shallower pipe
 * nobody can add it behind us (docs/decisions/0002).
 */
WEIR_FLAT static int withdraw(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u32 slot)
{
	u32 nr = s->graph->nr_slots;

	for (u32 i = slot; i < nr && weir_loop; i++) {
		struct weir_pipe weir_mem *pipe = weir_load_acquire(&t->hooks[i].pipe);
		int err;

		if (!pipe)
			continue;
		err = weir_pipe_lock(pipe);
		if (err)
			return err;
		if (weir_pipe_has(pipe, t))
			unlink_member(pipe, t);
		weir_pipe_unlock(pipe);
	}
	return 0;
}

WEIR_GLOBAL int weir_task_withdraw(struct weir_sched weir_mem *s weir_arg, struct weir_task weir_mem *t weir_arg,
				   u32 slot)
{
	int err = withdraw(s, t, slot);

	/* Nobody takes it meanwhile: it is in no state for that. Who owns it goes on later. */
	if (!slot && (err || weir_load(&t->torn)))
		weir_store(&t->torn, err != 0);
	return err;
}

WEIR_GLOBAL int weir_pipe_remove(struct weir_pipe weir_mem *pipe weir_arg, struct weir_task weir_mem *t weir_arg)
{
	return weir_pipe_has(pipe, t) ? withdraw(pipe->sched, t, pipe->slot) : 0;
}
