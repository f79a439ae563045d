/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The one question of a runtime: what does this CPU run next? And the hand-over, which gives the answer with the question. */
#include "call.h"

/* A shared exit may hold tasks that must not run on this CPU. */
static int may_run(struct weir_sched weir_mem *s, const struct weir_pipe weir_mem *exit,
		   struct weir_task weir_mem *t, u32 cpu)
{
	const struct weir_cpumask weir_mem *mask;

	if (exit->nr_cpus == 1)
		return 1;
	mask = weir_affinity(s, t);
	return !mask || weir_mask_test(mask, cpu);
}

/*
 * @cpu runs @t, claimed at @exit. That is recorded under the exit's lock, so a CPU that puts a more urgent task there later sees it
 * (weir_preempt()).
 */
WEIR_INLINE void hold(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *exit,
		      struct weir_task weir_mem *t, u32 cpu)
{
	struct weir_cpu weir_mem *c = &s->cpus[cpu];

	weir_store(&t->cpu, cpu);
	weir_store(&c->curr_key, weir_load(&t->key));
	weir_store(&c->curr, t);
	if (!weir_mask_test(s->busy, cpu))
		weir_mask_set(s->busy, cpu);
	/* No other CPU can take it now; the walk through the other pipes does not need this lock. */
#if WEIR_CARRY
	weir_unlink(exit, t);
#else
	weir_pipe_take(exit, t);
#endif
}

/*
 * The context holds the progress of the search, as in weir_drain(), and the function to be called next.
 *
 * Update postponed pipes before the exit, then look at the exit. If it is empty, the CPU announces that it is idle and looks again,
 * because work that arrived in between saw no CPU to wake. If it is still empty, instances before the exit may fetch work from
 * elsewhere, until one succeeds.
 *
 * If there is no other work, this CPU processes changes on the way to the exit that are on another CPU's worklist, because that CPU may
 * have stopped.
 */
enum pick_stage {
	PICK_SETTLE,
	PICK_FIRST,
	PICK_AGAIN,
	PICK_FETCH,
	PICK_FETCHED,
	PICK_FOUND,
	PICK_REVOKED, /* the task was blocked before it was out of all pipes */
	PICK_NOTHING,
};

/*
 * The first task of the exit that this CPU wins; one atomic state change decides between CPUs. @announced: the CPU is in the idle set; if
 * it cannot look, it is marked, and the CPU that releases the lock always kicks it.
 */
WEIR_INLINE u64 claim(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *exit, u32 cpu,
		      int announced)
{
	struct weir_task weir_mem *t;

	/* A CPU that has announced that it is idle always takes the lock: see weir_kick_later(). */
	if (!weir_load(&exit->nr) && !weir_load(&exit->inbox) && (weir_solo(s) || !announced))
		return 0;
	if (announced && !s->exclusive)
		weir_store(&s->ctx[cpu].missed, 1);
	if (weir_lock(exit))
		return 0;
	if (announced && !s->exclusive)
		weir_store(&s->ctx[cpu].missed, 0);
	if (weir_load(&exit->inbox))
		weir_inbox_open(exit);
	weir_for_task(t, exit)
		if (may_run(s, exit, t, cpu) &&
		    weir_cas(&t->state, WEIR_SCHEDULABLE, WEIR_CLAIMED) == WEIR_SCHEDULABLE)
			break;
	if (t)
		hold(s, exit, t, cpu);
	weir_unlock(exit);
	return (u64)t;
}

WEIR_GLOBAL u64 weir_claim(struct weir_sched weir_mem *s weir_arg,
			   struct weir_pipe weir_mem *exit weir_arg, u32 cpu)
{
	return claim(s, exit, cpu, weir_ctx(s)->pick_stage != PICK_FIRST);
}

/* What to call next. */
enum pick_call { PICK_OVER, PICK_DRAIN, PICK_IDLE };

WEIR_FLAT static int pick_drain(struct weir_ctx weir_mem *ctx, struct weir_pipe weir_mem *pipe)
{
	ctx->pick_pipe = pipe;
	return PICK_DRAIN;
}

/* The next postponed pipe, or the end of this stage of the search: nothing left to drain. */
static int pick_catch_up(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			 const struct weir_plan_cpu weir_mem *pc)
{
	if (ctx->pick_at >= pc->nr_postponed)
		return PICK_OVER;
	return pick_drain(ctx,
			  &s->graph->pipes[s->graph->lists[pc->first_postponed + ctx->pick_at++]]);
}

#define FEW_PIPES 8u /* in-pipes of an instance that are searched for changes */

WEIR_GLOBAL u64 weir_unfinished(struct weir_sched weir_mem *s weir_arg,
				const struct weir_pipe weir_mem *exit weir_arg)
{
	struct weir_instance weir_mem *inst = exit->from;

	for (u32 depth = 0; inst && depth < s->graph->nr_slots && weir_loop; depth++) {
		struct weir_instance weir_mem *before = 0;

		for (u32 i = 0; i < inst->nr_in && i < weir_limit(FEW_PIPES) && weir_loop; i++) {
			struct weir_pipe weir_mem *pipe = inst->in[i];

			if (!pipe->postponed && weir_pipe_has_news(pipe))
				return (u64)pipe;
			if (!before)
				before = pipe->from;
		}
		inst = before;
	}
	return 0;
}

/* A change on the way to the exit that no CPU seems to process. */
static int pick_help(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
		     const struct weir_pipe weir_mem *exit)
{
	struct weir_pipe weir_mem *pipe;

	if (s->exclusive || ctx->pick_stage != PICK_AGAIN || ctx->helped >= s->graph->nr_slots)
		return PICK_OVER;
	pipe = (struct weir_pipe weir_mem *)weir_unfinished(s, exit);
	if (!pipe)
		return PICK_OVER;
	ctx->helped++;
	return pick_drain(ctx, pipe);
}

/* The CPU has no task. */
static int pick_nothing(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx, u32 target)
{
	ctx->pick_stage = PICK_NOTHING;
	weir_mask_clear(s->busy, target);
	weir_store(&s->cpus[target].curr_key, WEIR_KEY_NONE);
	/* Work may remain for other CPUs, which must be woken. */
	return ctx->nr_msgs ? pick_drain(ctx, 0) : PICK_OVER;
}

/* Whether no other pipe has @t, which was removed from @exit. */
WEIR_INLINE int is_out(const struct weir_pipe weir_mem *exit, const struct weir_task weir_mem *t)
{
	const struct weir_hook weir_mem *h = t->hooks;

	for (u32 n = exit->slot; n && weir_loop; n--, h++)
		if (weir_load(&h->pipe))
			return 0;
	return !weir_load(&t->torn) && !weir_load(&t->landing);
}

/* Remove @t, which was removed from @exit, from all other pipes. */
WEIR_INLINE void pull_out(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *exit,
			  struct weir_task weir_mem *t)
{
	if (weir_carried(exit) & (weir_solo(s) ? ~0u : WEIR_BEHIND_COUNTED))
		weir_leave(s, exit, t, 0);
	if (!WEIR_CARRY || !is_out(exit, t))
		weir_task_withdraw(s, t, 0);
}

/* The task is out of all pipes, and its DISPATCH was reported: it runs, unless it was blocked in the meantime. */
static int pick_keep(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	struct weir_task weir_mem *t = ctx->picked;

	/* From here on it may be blocked or destroyed by another CPU. */
	if (weir_cas(&t->state, WEIR_CLAIMED, WEIR_RUNNING) == WEIR_CLAIMED)
		return PICK_OVER;
	weir_off_cpu(s, t);
	ctx->pick_stage = PICK_REVOKED;
	weir_announce(s, WEIR_TOPIC_BLOCK, t, ctx->cpu);
	return pick_drain(ctx, 0);
}

static int pick_found(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx, u32 target)
{
	struct weir_pipe weir_mem *exit = &s->graph->pipes[s->graph->cpus[target].exit];

	ctx->pick_stage = PICK_FOUND;
	if (weir_mask_test(s->idle, target))
		weir_mask_clear(s->idle, target);
	pull_out(s, exit, ctx->picked);
	weir_announce(s, WEIR_TOPIC_DISPATCH, ctx->picked, target);
	return ctx->work_head || ctx->nr_msgs ? pick_drain(ctx, 0) : pick_keep(s, ctx);
}

WEIR_GLOBAL int weir_pick_next(struct weir_sched weir_mem *s weir_arg, u32 target)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	const struct weir_plan_cpu weir_mem *pc = &s->graph->cpus[target];

	if (ctx->pick_stage == PICK_NOTHING)
		return PICK_OVER;
	if (ctx->pick_stage == PICK_FOUND)
		return pick_keep(s, ctx);
	if (ctx->pick_stage == PICK_REVOKED) {
		weir_store_release(&ctx->picked->state, WEIR_UNCONSIDERED);
		ctx->picked = 0;
		ctx->pick_at = 0;
		ctx->pick_stage = PICK_SETTLE;
	}
	if (ctx->pick_stage == PICK_SETTLE) {
		ctx->pick_stage = PICK_FIRST;
		/* Work left by an earlier call of this CPU. */
		if (ctx->work_head || ctx->nr_msgs)
			return pick_drain(ctx, 0);
	}
	while (ctx->pick_stage != PICK_FETCH && weir_loop) {
		if (pc->exit != WEIR_NONE) {
			if (pick_catch_up(s, ctx, pc) ||
			    pick_help(s, ctx, &s->graph->pipes[pc->exit]))
				return PICK_DRAIN;
			ctx->picked = (struct weir_task
				       weir_mem *)weir_claim(s, &s->graph->pipes[pc->exit], target);
			if (ctx->picked)
				return pick_found(s, ctx, target);
		}
		ctx->pick_at = 0;
		if (ctx->pick_stage == PICK_FETCHED)
			return pick_nothing(s, ctx, target);
		if (ctx->pick_stage == PICK_FIRST) {
			weir_mask_set(s->idle, target);
			weir_barrier(s);
		}
		ctx->pick_stage++;
	}
	if (pc->exit == WEIR_NONE || ctx->pick_at >= pc->nr_puller)
		return pick_nothing(s, ctx, target);
	ctx->puller = s->graph->instances[s->graph->lists[pc->first_puller + ctx->pick_at++]];
	return PICK_IDLE;
}

/* Calls an instance that may fetch work. */
WEIR_FLAT static void pick_fetch(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
				 u32 target)
{
	int got = weir_class_idle(ctx->puller, target);

	if (got > 0) {
		ctx->pick_stage = PICK_FETCHED;
		ctx->pick_at = 0;
	}
	ctx->pick_pipe = 0;
}

/*
 * A call that looks for work for @target. If a swap holds it off for too long, the CPU sleeps and counts as idle: either this call sees
 * that the swap is over and tries again, or the end of the swap sees the CPU and kicks it (weir_start_readers()).
 */
WEIR_COLD static struct weir_ctx weir_mem *enter_to_pick(struct weir_sched weir_mem *s, u32 cpu,
							 u32 target)
{
	do {
		weir_store(&s->ctx[target].missed, 1);
		weir_mask_set(s->idle, target);
		weir_barrier(s);
		if (weir_load(&s->writer) || !s->graph)
			return 0;
	} while (weir_enter(s, cpu) && weir_loop);
	return weir_ctx(s);
}

#if WEIR_CARRY
/*
 * The search in the common case: there is no work before it, the exit has a task, and no message has a recipient. Null: another case;
 * then nothing was done, or the task is @found.
 */
WEIR_INLINE struct weir_task weir_mem *pick_at_once(struct weir_sched weir_mem *s,
						    struct weir_ctx weir_mem *ctx, u32 target,
						    struct weir_task weir_mem **found)
{
	const struct weir_plan_cpu weir_mem *pc = &s->graph->cpus[target];
	struct weir_pipe weir_mem *exit;
	struct weir_task weir_mem *t;

	if (ctx->work_head || ctx->nr_msgs || pc->nr_postponed || pc->exit == WEIR_NONE)
		return 0;
	exit = &s->graph->pipes[pc->exit];
	t = (struct weir_task weir_mem *)claim(s, exit, target, 0);
	if (!t)
		return 0;
	if (weir_mask_test(s->idle, target))
		weir_mask_clear(s->idle, target);
	pull_out(s, exit, t);
	/* Receivers may need to be notified, or releasing the exit's lock showed that other CPUs looked in vain. */
	if (!ctx->work_head && !ctx->nr_msgs && !weir_is_heard(s, WEIR_TOPIC_DISPATCH) &&
	    weir_cas(&t->state, WEIR_CLAIMED, WEIR_RUNNING) == WEIR_CLAIMED)
		return t;
	*found = t;
	return 0;
}
#endif

/* The full search, or the rest of it if a task was found. */
WEIR_FLAT WEIR_RARE static struct weir_task weir_mem *search(struct weir_sched weir_mem *s,
							     struct weir_ctx weir_mem *ctx,
							     u32 target,
							     struct weir_task weir_mem *found)
{
	ctx->pick_stage = PICK_SETTLE;
	ctx->pick_at = 0;
	ctx->helped = 0;
	ctx->picked = found;
	if (found) {
		ctx->pick_stage = PICK_FOUND;
		weir_announce(s, WEIR_TOPIC_DISPATCH, ctx->picked, target);
		weir_drain(s, 0, 0);
	}
	while (weir_loop) {
		int call = weir_pick_next(s, target);

		if (call == PICK_OVER)
			break;
		if (call == PICK_IDLE)
			pick_fetch(s, ctx, target);
		weir_drain(s, ctx->pick_pipe, 0);
	}
	return ctx->picked;
}

WEIR_FLAT struct weir_task weir_mem *weir_pick(struct weir_sched weir_mem *s, u32 cpu, u32 target)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	struct weir_task weir_mem *found = 0;
	struct weir_task weir_mem *t = 0;

	if (weir_unlikely(!ctx))
		ctx = enter_to_pick(s, cpu, target);
	if (weir_unlikely(!ctx))
		return 0;
#if WEIR_CARRY
	t = pick_at_once(s, ctx, target, &found);
#endif
	if (!t)
		t = search(s, ctx, target, found);
	weir_end_call(ctx);
	return t;
}

/*
 * Claim @to for @cpu, if it is in @exit and no task there that may run on this CPU is more urgent; 1: claimed. Earlier tasks of equal
 * urgency are passed over: that is the purpose of a hand-over.
 */
WEIR_GLOBAL int weir_claim_given(struct weir_sched weir_mem *s weir_arg,
				 struct weir_pipe weir_mem *exit weir_arg,
				 struct weir_task weir_mem *to weir_arg, u32 cpu)
{
	struct weir_task weir_mem *t;
	int claimed = 0;

	if (weir_pipe_lock(exit))
		return 0;
	if (weir_load(&exit->inbox))
		weir_inbox_open(exit);
	if (weir_pipe_holds(exit, to) && may_run(s, exit, to, cpu)) {
		u64 key = weir_load(&to->key);

		weir_for_task(t, exit)
			if (weir_load(&t->key) < key && weir_load(&t->state) == WEIR_SCHEDULABLE &&
			    may_run(s, exit, t, cpu))
				break;
		claimed = !t &&
			  weir_cas(&to->state, WEIR_SCHEDULABLE, WEIR_CLAIMED) == WEIR_SCHEDULABLE;
		if (claimed)
			hold(s, exit, to, cpu);
	}
	weir_pipe_unlock(exit);
	return claimed;
}

WEIR_FLAT int weir_hand_over(struct weir_sched weir_mem *s, u32 cpu,
			     struct weir_task weir_mem *from, struct weir_task weir_mem *to)
{
	struct weir_ctx weir_mem *ctx;
	u32 exit;
	int err = from ? weir_relinquish(s, cpu, from) : 0;
	u32 state = weir_load(&to->state);

	if (!err && (state == WEIR_UNCONSIDERED || state == WEIR_REVOKED))
		err = weir_unblock(s, cpu, to);
	if (err)
		return err;
	ctx = weir_begin_call(s, cpu);
	if (!ctx)
		return 1;
	exit = s->graph->cpus[cpu].exit;
	err = exit == WEIR_NONE || !weir_claim_given(s, &s->graph->pipes[exit], to, cpu);
	if (!err) {
		ctx->picked = to;
		/* Drained here, if there is anything to drain, and kept. */
		err = pick_found(s, ctx, cpu);
		if (err && ctx->pick_stage == PICK_FOUND) {
			weir_settle_call(s, ctx);
			err = pick_keep(s, ctx);
		}
		if (err) {
			weir_settle_call(s, ctx);
			weir_store_release(&to->state, WEIR_UNCONSIDERED);
			err = 1;
		}
	}
	weir_end_call(ctx);
	return err;
}
