/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Change logs: what a receiver has not handled yet. */
#include "internal.h"

#define FIRST_LOG 8u

/* Squeeze cancelled records out; 1 if that made room. */
static int log_compact(struct weir_pipe weir_mem *pipe)
{
	u32 n = 0;

	weir_assert_locked(pipe);
	for (u32 i = 0; i < pipe->nr_log && weir_loop; i++) {
		struct weir_change weir_mem *c = &pipe->log[i];

		if (c->kind == WEIR_VOID)
			continue;
		pipe->log[n].task = c->task;
		pipe->log[n].kind = c->kind;
		pipe->log[n].handled = c->handled;
		n++;
		if (c->kind != WEIR_REMOVED && !c->handled)
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
	log = (struct weir_change weir_mem *)weir_alloc_here(pipe->sched,
							     cap * sizeof(struct weir_change));
	if (!log)
		return -WEIR_ENOMEM;
	for (u32 i = 0; i < pipe->nr_log && weir_loop; i++) {
		log[i].task = pipe->log[i].task;
		log[i].kind = pipe->log[i].kind;
		log[i].handled = pipe->log[i].handled;
	}
	weir_free_here(pipe->sched, pipe->log, pipe->cap_log * sizeof(struct weir_change));
	pipe->log = log;
	pipe->cap_log = cap;
	return 0;
}

/* The receiver has work: put the pipe on this CPU's worklist, once. */
WEIR_FLAT static void wake_receiver(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	weir_assert_locked(pipe);
	if (!pipe->news && !pipe->sched->exclusive)
		weir_store(&pipe->news, 1);
	if (pipe->pending) {
		/* Another CPU is responsible for the change, and may have stopped. */
		if (!pipe->postponed && !pipe->sched->exclusive &&
		    pipe->pending != weir_ctx(pipe->sched)->cpu + 1)
			weir_pipe_news(pipe, t);
		return;
	}
	pipe->pending = weir_ctx(pipe->sched)->cpu + 1;
	if (!pipe->postponed)
		weir_work_push(pipe->sched, pipe);
}

/* Record a change for the receiver. Without memory for the record, the next update is a rebuild. */
WEIR_FLAT void weir_log_change(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
			       u32 kind)
{
	struct weir_hook weir_mem *h = weir_hook(pipe, t);

	weir_assert_locked(pipe);
	if (h->change) {
		struct weir_change weir_mem *c = &pipe->log[h->change - 1];

		if (kind != WEIR_REMOVED)
			/* the receiver reads the place when it handles the pending record */
			return;
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
		pipe->rebuild |= 1;
		wake_receiver(pipe, t);
		return;
	}
	pipe->log[pipe->nr_log].task = t;
	pipe->log[pipe->nr_log].kind = kind;
	pipe->log[pipe->nr_log].handled = 0;
	pipe->nr_log++;
	if (kind == WEIR_REMOVED)
		weir_fetch_add(&t->refs, 1);
	else
		h->change = pipe->nr_log;
	wake_receiver(pipe, t);
}

/* Remove a member that was reported to the receiver, or is about to be. */
WEIR_COLD void weir_log_removed(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	weir_log_change(pipe, t, WEIR_REMOVED);
}

WEIR_FLAT struct weir_change weir_mem *weir_change_next(struct weir_pipe weir_mem *in, u32 *pos)
{
	if (WEIR_DEEP && weir_carried(in) & WEIR_CARRIED) {
		struct weir_ctx weir_mem *ctx = weir_ctx(in->sched);

		/* A step: one task arrives, and it is in no log. */
		if (ctx->carrying == in)
			return (*pos)++ ? 0 : &ctx->arrival;
	}
	weir_assert_locked(in);
	while (*pos < in->nr_log && weir_loop) {
		struct weir_change weir_mem *c = &in->log[(*pos)++];

		if (c->kind == WEIR_VOID)
			continue;
		if (c->kind != WEIR_REMOVED && !c->handled) {
			weir_hook(in, c->task)->change = 0;
			c->handled = 1;
		}
		return c;
	}
	return 0;
}

WEIR_GLOBAL int weir_pipe_consume(struct weir_pipe weir_mem *pipe weir_arg)
{
	weir_assert_locked(pipe);
	for (u32 i = 0; i < pipe->nr_log && weir_loop; i++) {
		struct weir_change weir_mem *c = &pipe->log[i];

		if (c->kind == WEIR_REMOVED)
			weir_task_put(pipe->sched, c->task);
		else if (c->kind != WEIR_VOID && !c->handled)
			weir_hook(pipe, c->task)->change = 0;
	}
	pipe->nr_log = 0;
	return 0;
}

WEIR_FLAT int weir_pipe_represent(struct weir_pipe weir_mem *pipe)
{
	struct weir_task weir_mem *t;
	int err = 0;

	weir_assert_locked(pipe);
	weir_pipe_consume(pipe);
	if (pipe->rebuild & WEIR_REBUILD_ALL && weir_carried(pipe) & WEIR_CARRIED)
		err = weir_recall_all(pipe);
	pipe->rebuild = 0;
	weir_for_task(t, pipe) {
		/* A pipe whose lock a preempted CPU holds must not delay the others. */
		if (weir_task_withdraw(pipe->sched, t, pipe->slot + 1))
			err = -WEIR_EAGAIN;
		else
			weir_log_change(pipe, t, WEIR_ADDED);
	}
	if (err)
		pipe->rebuild = 1;
	return err;
}

/* If it were called again here, a receiver that always fails would never end. */
WEIR_GLOBAL int weir_pipe_rebuild(struct weir_pipe weir_mem *pipe weir_arg)
{
	u32 was_pending = pipe->pending;
	int err;

	pipe->pending = weir_ctx(pipe->sched)->cpu + 1;
	err = weir_pipe_represent(pipe);
	pipe->pending = was_pending;
	return err;
}
