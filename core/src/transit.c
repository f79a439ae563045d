/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A carried task goes from receiver to receiver, each of which takes a step, until it is linked: see transit.h and carry.c. */
#include "transit.h"

/*
 * @t arrives at the carried @pipe. 1: its receiver must take a step. If the pipe's lock is taken, the task waits in the inbox.
 */
WEIR_FLAT int weir_arrive(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			  struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	if (!pipe->from) {
		ctx->seen = weir_load(&s->changes);
		if (weir_solo(s)) {
			t->hooks[0].key = ++s->arrivals;
			weir_pass(s, pipe);
		}
	}
	ctx->given = 0;
	if (!weir_solo(s) && weir_carried(pipe) & WEIR_ALONE && weir_pipe_lock(pipe)) {
		ctx->entered = weir_post(pipe, t, 0);
		return 0;
	}
	/* Where calls do not overlap there is no lock: the step counts as made under it. */
	if (weir_solo(s))
		weir_note_locked(pipe);
	if (WEIR_OPLOG && s->oplog)
		weir_op(s, WEIR_OP_STEP, pipe->idx,
			(pipe->from ? 0 : WEIR_STEP_ENTERS) |
				(weir_carried(pipe) & WEIR_ALONE ? WEIR_STEP_ALONE : 0));
	ctx->arrival.task = t;
	ctx->arrival.kind = WEIR_ADDED;
	ctx->put = 0;
	ctx->lands = 0;
	ctx->carrying = pipe;
	return 1;
}

/* A receiver has taken its step: the task continues to the next one, is linked where its path ends, or stays here. */
WEIR_FLAT void weir_arrived(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			    struct weir_pipe weir_mem *pipe, int err)
{
	struct weir_task weir_mem *t = ctx->arrival.task;
	struct weir_pipe weir_mem *put = ctx->put;

	ctx->carrying = 0;
	if (ctx->lands) {
		int landed = weir_land(s, ctx->lands, t);

		put = ctx->lands;
		ctx->lands = 0;
		err = err ? err : landed;
	}
	if (!put) {
		weir_keep(s, pipe, err != 0);
		if (err)
			weir_put_off(s, pipe, err);
	}
	if (weir_solo(s)) {
		weir_note_unlocked(pipe);
		weir_op(s, WEIR_OP_STEP_END, pipe->to->idx, 0);
		pipe->to->nr_updates++;
	} else if (weir_carried(pipe) & WEIR_ALONE) {
		weir_pipe_unlock(pipe);
	}
	if (put && err)
		weir_fault(s, pipe->to->idx, err);
	if (put && weir_carried(put) & WEIR_CARRIED) {
		ctx->given = put;
		return;
	}
	/* Pairs with the fence after the change: either this CPU sees the change here, or the change's walk sees the task. */
	if (!s->exclusive)
		weir_light_fence();
	if (ctx->seen != weir_load(&s->changes)) {
		/* Receivers may have visited all tasks while this one was in transit. */
		weir_present_again(&s->graph->pipes[s->graph->cpus[weir_load(&t->entry_cpu)].entry],
				   t);
	}
}

#if WEIR_CARRY
/* What step_by_step() returns if the rest of the call remains to be done. */
#define MORE 1

/*
 * weir_drain() for @t, which arrives at the carried @pipe, when nothing else is pending: from step to step until the task is linked.
 */
WEIR_COLD static int step_by_step(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
				  struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	while (pipe && weir_loop) {
		if (!weir_arrive(s, ctx, pipe, t))
			break;
		weir_arrived(s, ctx, pipe, weir_class_step(pipe->to, pipe));
		pipe = ctx->given;
	}
	if (ctx->work_head || ctx->nr_msgs)
		return WEIR_DEEP ? weir_process(s, ctx) : MORE;
	ctx->draining = 0;
	return ctx->entered;
}

/* The same from @pipe on, after steps. */
WEIR_INLINE int begin_steps(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			    struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	ctx->lands = 0;
	ctx->carrying = 0;
	weir_begin_drain(ctx);
	ctx->given = 0;
	return step_by_step(s, ctx, pipe, t);
}

#if WEIR_DEEP
WEIR_COLD int weir_carry_from(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			      struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	return begin_steps(s, ctx, pipe, t);
}

/* The receiver of @pipe has withheld @t, or failed. */
WEIR_COLD int weir_carried_badly(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
				 struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
				 int err)
{
	weir_begin_drain(ctx);
	ctx->given = 0;
	weir_arrived(s, ctx, pipe, err);
	return step_by_step(s, ctx, ctx->given, t);
}
#else
/* Steps and the rest of the call, one after the other: neither is a frame below the other. */
WEIR_GLOBAL int weir_take_steps(struct weir_sched weir_mem *s weir_arg,
				struct weir_pipe weir_mem *pipe weir_arg,
				struct weir_task weir_mem *t weir_arg)
{
	return begin_steps(s, weir_ctx(s), pipe, t);
}

WEIR_GLOBAL int weir_after_steps(struct weir_sched weir_mem *s weir_arg)
{
	return weir_process(s, weir_ctx(s));
}

WEIR_FLAT int weir_carry_from(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			      struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	int err = weir_take_steps(s, pipe, t);

	return err == MORE ? weir_after_steps(s) : err;
}
#endif
#endif
