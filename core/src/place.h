/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A task's way, step by step through the stages, to the place where it is linked: what each call goes through, inlined into it. Stages without a
 * home are walked without a lock, those of a home under its lock. What is rarely needed is in place.c.
 */
#ifndef WEIR_PLACE_H
#define WEIR_PLACE_H

#include "internal.h"

/* --- the one link of a task: a list, and for a keyed pipe a tree over it (order.c); the home's lock is held ------ */

WEIR_INLINE void list_unlink(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t)
{
	struct weir_task weir_mem *prev = t->prev, *next = t->next;

	if (prev)
		prev->next = next;
	else
		p->head = next;
	if (next)
		next->prev = prev;
	else
		p->tail = prev;
}

/* Link @t into @p, where @place says; @last: it is the latest arrival. The number of steps down its tree. */
WEIR_INLINE u32 weir_link(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t,
			  const struct weir_step weir_mem *place, int last)
{
	u32 nr, steps = 0;

	weir_store(&t->key, place->key);
	if (p->keyed) {
		t->gate = place->gate;
		t->tie = place->tie;
		steps = weir_tree_link(p, t);
	} else if (last) {
		struct weir_task weir_mem *after = p->tail;

		t->prev = after;
		t->next = 0;
		p->tail = t;
		if (after)
			after->next = t;
		else
			p->head = t;
	} else {
		weir_list_insert(p, t);
	}
	weir_store_release(&t->landing, p->mark);
	nr = weir_load(&p->nr) + 1;
	weir_store(&p->nr, nr);
	if (nr > p->max_nr)
		weir_store(&p->max_nr, nr);
	return steps;
}

/* weir_pipe_first(), which is called only for a gated one. */
WEIR_INLINE struct weir_task weir_mem *weir_first_of(const struct weir_pipe weir_mem *p)
{
	return p->gated ? weir_pipe_first(p) : p->head;
}

/* @list: it is known to be no more than a list. */
WEIR_INLINE void weir_unlink(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t, int list)
{
	if (!list && p->keyed)
		weir_tree_unlink(p, t);
	list_unlink(p, t);
	weir_store(&p->nr, weir_load(&p->nr) - 1);
	weir_store_release(&t->landing, 0);
}

/* --- its way ------------------------------------------------------------------------------------------------ */

/* A step for which more is to be done: several in-pipes, ties, a lock, a wish for a port, records. */
u32 weir_take_step(struct weir_ctx weir_mem *ctx, struct weir_instance weir_mem *inst,
		   struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u32 what);
/* @inst has answered with a port that it has not. */
u32 weir_no_port(struct weir_instance weir_mem *inst, u32 port);
/* @t was linked in @at of home @h (@by 1), by @steps down its tree, or is about to be unlinked (-1): what is recorded, and what others count. */
int weir_count_at(struct weir_pipe weir_mem *h, struct weir_pipe weir_mem *at,
		  struct weir_task weir_mem *t, u32 by, u32 steps);
/*
 * A review has brought @t, which is in the caller's hand or whose home is locked, through stages without a home to @end: that way is its way from
 * here on, and is counted if it is linked.
 */
int weir_go_by(struct weir_pipe weir_mem *end, struct weir_task weir_mem *t);
/* @t is linked at the exit @pipe: it may preempt, or several CPUs may take it, or the one that may is idle. */
int weir_attract(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
		 struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);

/* @t, which has come to @pipe, whose receiver is @inst: its answer, a port or WEIR_WITHHOLD. @careful: see weir_take_step(). */
WEIR_INLINE u32 weir_step_with(struct weir_ctx weir_mem *ctx, struct weir_instance weir_mem *inst,
			       struct weir_pipe weir_mem *pipe, u32 what,
			       struct weir_task weir_mem *t, u32 careful)
{
	u32 port;

	if (weir_unlikely(careful))
		return weir_take_step(ctx, inst, pipe, t, what);
	port = weir_class_step(inst, what, t, &ctx->step);
	return weir_unlikely(port >= inst->nr_out) ? weir_no_port(inst, port) : port;
}

WEIR_INLINE u32 weir_step_at(struct weir_ctx weir_mem *ctx, struct weir_instance weir_mem *inst,
			     struct weir_pipe weir_mem *pipe, u32 what,
			     struct weir_task weir_mem *t)
{
	return weir_step_with(ctx, inst, pipe, what, t, inst->careful);
}

/* @t arrives in @at: where the way through the shared stages stops. */
WEIR_PART u64 weir_walk_shared(struct weir_ctx weir_mem *ctx weir_arg,
			       struct weir_pipe weir_mem *at weir_arg,
			       struct weir_task weir_mem *t weir_arg)
{
	while (at->kind == WEIR_AT_SHARED && weir_loop) {
		struct weir_instance weir_mem *inst = at->to;
		u32 port = weir_step_at(ctx, inst, at, WEIR_ARRIVED, t);

		if (port == WEIR_WITHHOLD)
			break;
		at = inst->out[port];
	}
	return (u64)at;
}

/* @t is linked where the last step has placed it, in @at. */
WEIR_INLINE void weir_link_at(struct weir_pipe weir_mem *h, struct weir_ctx weir_mem *ctx,
			      struct weir_pipe weir_mem *at, struct weir_task weir_mem *t, int last)
{
	u32 steps = weir_link(at, t, &ctx->step, last);

	if (weir_unlikely(at->apart))
		weir_count_at(h, at, t, 1, steps);
}

WEIR_INLINE void weir_unlink_at(struct weir_pipe weir_mem *h, struct weir_pipe weir_mem *at,
				struct weir_task weir_mem *t, int list)
{
	if (!list && weir_unlikely(at->apart))
		weir_count_at(h, at, t, (u32)-1, 0);
	weir_unlink(at, t, list);
}

/*
 * @t is linked at @at: if that is an exit, its CPUs may want it. (Of an exit with one CPU that is awake, and of a task that preempts nobody, there is nothing
 * to do.)
 */
WEIR_INLINE void weir_call_for(struct weir_ctx weir_mem *ctx, struct weir_pipe weir_mem *at,
			       struct weir_task weir_mem *t)
{
	const struct weir_cpu weir_mem *lone = at->lone;

	if (weir_unlikely(!lone || ctx->step.urgent || weir_load(&lone->away)) &&
	    at->kind == WEIR_AT_END)
		weir_attract(at->sched, ctx, at, t);
}

/*
 * The steps of an arriving @t in a home, from @at on: where they place it. @late: @at may be a postponed pipe, which it has left. (The loop is
 * weir_walk_shared()'s; one function for both takes four instructions a stage more.)
 */
WEIR_PART u64 weir_steps_in(struct weir_ctx weir_mem *ctx weir_arg,
			    struct weir_pipe weir_mem *at weir_arg,
			    struct weir_task weir_mem *t weir_arg, int late)
{
	while ((at->kind == WEIR_AT_HOME || (late && at->kind == WEIR_AT_REST && at->home)) &&
	       weir_loop) {
		struct weir_instance weir_mem *inst = at->to;
		u32 port = weir_step_at(ctx, inst, at, WEIR_ARRIVED, t);

		if (port == WEIR_WITHHOLD)
			break;
		at = inst->out[port];
	}
	return (u64)at;
}

/* @t is in @h where the last step has placed it, in @at. @last: it is the latest arrival. */
WEIR_PART int weir_place_at(struct weir_ctx weir_mem *ctx weir_arg,
			    struct weir_pipe weir_mem *h weir_arg,
			    struct weir_pipe weir_mem *at weir_arg,
			    struct weir_task weir_mem *t weir_arg, int last)
{
	weir_link_at(h, ctx, at, t, last);
	weir_store_release(&t->home, h->mark);
	weir_call_for(ctx, at, t);
	return 0;
}

/* @t arrives in @h. @keeps: it was somewhere before, and keeps its order. */
WEIR_PART int weir_stamp_in(struct weir_ctx weir_mem *ctx weir_arg,
			    struct weir_pipe weir_mem *h weir_arg,
			    struct weir_task weir_mem *t weir_arg, int keeps)
{
	weir_store(&h->nr_added, weir_load(&h->nr_added) + 1);
	if (!keeps) {
		u32 stamp = h->stamp;

		if ((s32)(ctx->stamp - stamp) > 0)
			stamp = ctx->stamp;
		stamp++;
		t->seq = stamp;
		h->stamp = stamp;
		ctx->stamp = stamp;
	} else if ((s32)(t->seq - h->stamp) > 0) {
		h->stamp = t->seq;
	}
	return 0;
}

/* @h, the home of @at, is locked: @t is placed in it from there on, by number @number. */
WEIR_INLINE void weir_place_from(struct weir_ctx weir_mem *ctx, struct weir_pipe weir_mem *h,
				 struct weir_pipe weir_mem *at, struct weir_task weir_mem *t,
				 u32 number, int keeps, int late)
{
	weir_stamp_in(ctx, h, t, keeps);
	weir_store(&t->placed, number);
	at = (struct weir_pipe weir_mem *)weir_steps_in(ctx, at, t, late);
	weir_place_at(ctx, h, at, t, !keeps);
}

/* @ear alone hears that @t was picked. */
WEIR_PART int weir_tell_ear(struct weir_ctx weir_mem *ctx weir_arg,
			    struct weir_instance weir_mem *ear weir_arg,
			    struct weir_task weir_mem *t weir_arg)
{
	weir_step_at(ctx, ear, ear->in[0], WEIR_PICKED, t);
	return 0;
}

/* @t was picked at @exit, whose home is locked: the instances before it hear that. */
WEIR_INLINE void weir_tell_picked(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
				  struct weir_pipe weir_mem *exit, struct weir_task weir_mem *t)
{
	struct weir_instance weir_mem *ear;

	if (!(exit->hears & WEIR_HEARS_PICKED))
		return;
	ear = exit->ear;
	ctx->step.why = WEIR_WHY_NONE;
	ctx->step.runs = 0;
	if (ear)
		weir_tell_ear(ctx, ear, t);
	else
		weir_hear(s, exit, t, WEIR_PICKED, 0);
}

#endif
