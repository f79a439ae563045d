/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A carried task in transit, from its entry to the pipe where it is linked (carry.c). The common case is inline, because each task that
 * enters takes this way; transit.c has the rest.
 */
#ifndef WEIR_TRANSIT_H
#define WEIR_TRANSIT_H

#include "internal.h"

/* @t arrives at the carried @pipe. 1: its receiver must take a step. If the pipe's lock is taken, the task waits in the inbox. */
int weir_arrive(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
		struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);
/* The receiver has taken its step, or failed: the task continues to the next one (ctx->given), is linked where its path ends, or stays here. */
void weir_arrived(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
		  struct weir_pipe weir_mem *pipe, int err);
/* Carry @t from @pipe on, at the beginning of a call or after steps. */
int weir_carry_from(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
		    struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t);
/* The receiver of @pipe has withheld @t, or failed. */
int weir_carried_badly(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
		       struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, int err);

/* The task that @ctx's call has brought to a receiver that takes a step. */
WEIR_INLINE int weir_is_arriving(const struct weir_ctx weir_mem *ctx,
				 const struct weir_task weir_mem *t)
{
	return ctx->carrying && ctx->arrival.task == t;
}

/* Neither the carried @entry nor the call has other work. */
WEIR_INLINE int weir_goes_straight(const struct weir_sched weir_mem *s,
				   const struct weir_ctx weir_mem *ctx,
				   const struct weir_pipe weir_mem *entry)
{
	return weir_carried(entry) & WEIR_CARRIED && !ctx->work_head && !ctx->nr_msgs &&
	       !(weir_solo(s) ? entry->rebuild || entry->nr_log : weir_pipe_has_news(entry));
}

#if WEIR_CARRY && WEIR_DEEP
/* Carry @t from the entry @pipe on when calls overlap and nothing is recorded: the common case without obstacles. */
WEIR_INLINE int weir_carry(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			   struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *put;
	u32 alone;
	int err;

	ctx->seen = weir_load(&s->changes);
	ctx->arrival.task = t;
	ctx->arrival.kind = WEIR_ADDED;
	do {
		alone = pipe->carried & WEIR_ALONE;
		if (alone && weir_unlikely(!weir_lock_at_once(&pipe->lock)))
			return weir_carry_from(s, ctx, pipe, t);
		ctx->put = 0;
		ctx->lands = 0;
		ctx->carrying = pipe;
		err = weir_class_step(pipe->to, pipe);
		put = ctx->lands ? ctx->lands : ctx->put;
		if (weir_unlikely(err || !put))
			return weir_carried_badly(s, ctx, pipe, t, err);
		if (ctx->lands) {
			err = weir_land(s, put, t);
			if (weir_unlikely(err))
				weir_fault(s, pipe->to->idx, err);
		}
		if (alone)
			weir_unlock(pipe);
		pipe = put;
	} while (put->carried & WEIR_CARRIED && weir_loop);
	ctx->lands = 0;
	ctx->carrying = 0;
	weir_light_fence();
	if (weir_unlikely(ctx->seen != weir_load(&s->changes)))
		weir_present_again(&s->graph->pipes[s->graph->cpus[weir_load(&t->entry_cpu)].entry],
				   t);
	return 0;
}
#endif

#endif
