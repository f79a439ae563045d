/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The one question of a runtime: what does this CPU run next? And the hand-over, which gives the answer with the question. */
#include "schedule.h"

/* A shared exit may hold tasks that must not run on this CPU. */
WEIR_INLINE int may_run(struct weir_sched weir_mem *s, const struct weir_pipe weir_mem *exit,
			struct weir_task weir_mem *t, u32 cpu)
{
	const struct weir_cpumask weir_mem *mask;

	if (exit->nr_cpus == 1)
		return 1;
	mask = weir_affinity(s, t);
	return !mask || weir_mask_test(mask, cpu);
}

/*
 * One atomic change: only what is schedulable by the number under which it was linked. The exit's home is locked.
 *
 * What the CPU runs is recorded before the change: so whoever ends the claim finds it there and takes it back, and need not get this lock for
 * that. And it is recorded under the lock, so a CPU that puts a more urgent task there later sees it.
 */
WEIR_INLINE int claim(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *exit,
		      struct weir_task weir_mem *t, u32 cpu, int simple)
{
	struct weir_cpu weir_mem *c = &s->cpus[cpu];
	u64 w = weir_load(&t->claim), was;

	if (weir_claim_state(w) != WEIR_SCHEDULABLE || weir_claim_number(w) != t->placed)
		return 0;
	was = weir_load(&c->curr_key);
	weir_store(&c->curr_key, weir_load(&t->key));
	weir_store(&c->curr, t);
	if (weir_unlikely(weir_cas(&t->claim, w, weir_claim_on(w, cpu)) != w)) {
		weir_store(&c->curr, 0);
		weir_store(&c->curr_key, was);
		return 0;
	}
	if (weir_unlikely(!weir_load(&c->runs)))
		weir_store(&c->runs, 1);
	weir_unlink_at(exit, exit, t, simple);
	return 1;
}

/* @t, null: none, was taken at the exit, whose home is locked: the instances before it hear that, and the lock is given back. */
WEIR_INLINE struct weir_task weir_mem *taken(struct weir_sched weir_mem *s,
					     struct weir_ctx weir_mem *ctx,
					     struct weir_pipe weir_mem *exit,
					     struct weir_task weir_mem *t)
{
	if (t)
		weir_tell_picked(s, ctx, exit, t);
	weir_home_unlock(s, exit);
	return t;
}

/* Not the first one. */
WEIR_GLOBAL WEIR_RARE u64 weir_take_other(struct weir_sched weir_mem *s weir_arg,
					  struct weir_pipe weir_mem *exit weir_arg, u32 cpu)
{
	struct weir_task weir_mem *t;

	/* Gates are open or closed; among those of one kind the order of the pipe decides. */
	for (u32 closed = 0; closed <= exit->gated && closed < 2 && weir_loop; closed++)
		weir_for_task(t, exit)
			if ((exit->gated && t->gate > exit->now) == closed &&
			    may_run(s, exit, t, cpu) && claim(s, exit, t, cpu, 0))
				return (u64)t;
	return 0;
}

WEIR_INLINE u64 take_first(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *exit, u32 cpu,
			   int simple)
{
	struct weir_task weir_mem *t = simple ? exit->head : weir_first_of(exit);

	if (!t)
		return 0;
	if ((simple || may_run(s, exit, t, cpu)) && claim(s, exit, t, cpu, simple))
		return (u64)t;
	return weir_take_other(s, exit, cpu);
}

/* The first task of the exit that this CPU may and can have; its home is locked. */
WEIR_PART u64 weir_take(struct weir_sched weir_mem *s weir_arg,
			struct weir_pipe weir_mem *exit weir_arg, u32 cpu)
{
	return exit->simple ? take_first(s, exit, cpu, 1) : take_first(s, exit, cpu, 0);
}

/* What is on the way to the exit, in postponed pipes, comes into this CPU's hand and goes on. 1: something does. */
WEIR_GLOBAL int weir_catch_up(struct weir_sched weir_mem *s weir_arg, u32 target)
{
	const struct weir_plan_cpu weir_mem *pc = &s->graph->cpus[target];

	for (u32 i = 0; i < pc->nr_postponed && weir_loop; i++)
		weir_recall_from(&s->graph->pipes[s->graph->lists[pc->first_postponed + i]], 1);
	return weir_ctx(s)->own_first != 0;
}

/* @cpu has found nothing, and is about to look again. */
WEIR_INLINE void announce(struct weir_sched weir_mem *s, u32 cpu)
{
	weir_store(&s->cpus[cpu].runs, 0);
	weir_fetch_or(&s->cpus[cpu].away, (u32)WEIR_CPU_SLEEPS);
	weir_mask_set(s->idle, cpu);
}

/*
 * @cpu has a task of the exit, whose home is locked, and counts as idle no more; @idle: it did when it looked. A kick that has hit it
 * meanwhile was for a task that may be left there: it is passed on.
 */
WEIR_INLINE void wake(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *exit, u32 cpu,
		      int idle)
{
	weir_fetch_and(&s->cpus[cpu].away, ~(u32)WEIR_CPU_SLEEPS);
	weir_mask_set(s->busy, cpu);
	if (idle && !weir_mask_clear(s->idle, cpu) && weir_load(&exit->nr))
		weir_kick(exit, weir_pipe_first(exit));
}

/* The same, if it counts as idle. */
WEIR_INLINE void awake(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *exit, u32 cpu,
		       int idle)
{
	if (weir_load(&s->cpus[cpu].away) & WEIR_CPU_SLEEPS)
		wake(s, exit, cpu, idle);
}

/*
 * The CPU has announced that it is idle; it looks again: what arrived in between saw no CPU to wake. If another CPU has the lock, it leaves
 * its wish there, and is kicked if something waits: 0. Else the lock is its.
 */
WEIR_GLOBAL int weir_lock_or_want(struct weir_sched weir_mem *s weir_arg,
				  struct weir_pipe weir_mem *exit weir_arg)
{
	u64 w = 0, seen;

	while (weir_loop) {
		seen = weir_cas(&exit->word, w,
				w & ~WEIR_RECORDED ? w | WEIR_WANT : w | WEIR_LOCKED);
		if (seen == w)
			break;
		w = seen;
	}
	if (w & ~WEIR_RECORDED)
		return 0;
	weir_note_locked(s, exit);
	if (w)
		weir_op(s, WEIR_OP_LOCK, exit->idx, 0);
	return 1;
}

/* A CPU without a task. */
static void nothing(struct weir_sched weir_mem *s, u32 target)
{
	weir_mask_clear(s->busy, target);
	weir_store(&s->cpus[target].curr_key, WEIR_KEY_NONE);
}

/*
 * The context holds the progress of the search. Look at the exit; if it is empty, announce that the CPU is idle and look again; if it is
 * still empty, instances before the exit may fetch work from elsewhere, until one succeeds. Before each look what was postponed goes on,
 * between two stages. When it is over with a task, the exit's home is left locked.
 */
enum pick_stage {
	PICK_BEGIN,
	PICK_FIRST,
	PICK_ANNOUNCE,
	PICK_AGAIN,
	PICK_FETCH,
	PICK_OVER,
};

/* Another CPU has given @target a task since it began to choose (weir_give()). Certain under the lock of the exit's home. */
WEIR_INLINE int is_given(const struct weir_sched weir_mem *s, u32 target)
{
	return WEIR_DECLINES && weir_load(&s->cpus[target].curr);
}

/* The home of the exit is locked, and is left so if it had a task for @target, in the context: 1. @announced: @target is, or was, in the idle set. */
WEIR_INLINE int take_locked(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			    struct weir_pipe weir_mem *exit, u32 target, int announced)
{
	ctx->picked =
		is_given(s, target) ? 0 : (struct weir_task weir_mem *)weir_take(s, exit, target);
	if (!ctx->picked) {
		weir_home_unlock(s, exit);
		return 0;
	}
	awake(s, exit, target, announced);
	return 1;
}

WEIR_GLOBAL u32 weir_pick_next(struct weir_sched weir_mem *s weir_arg, u32 target)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	const struct weir_plan_cpu weir_mem *pc = &s->graph->cpus[target];
	struct weir_pipe weir_mem *exit;

	if (is_given(s, target))
		return PICK_OVER;
	if (pc->exit == WEIR_NONE) {
		announce(s, target);
		nothing(s, target);
		return PICK_OVER;
	}
	exit = &s->graph->pipes[pc->exit];
	if (ctx->pick_stage == PICK_BEGIN) {
		/* Once for each of them: what was put off in one pipe may be put off in the next. */
		if (ctx->pick_at < pc->nr_postponed) {
			ctx->pick_at++;
			if (weir_catch_up(s, target))
				return PICK_BEGIN;
		}
		ctx->pick_at = 0;
	}
	if (ctx->pick_stage <= PICK_FIRST) {
		if (!weir_load(&exit->nr) || weir_home_lock(s, exit))
			return PICK_ANNOUNCE;
		return take_locked(s, ctx, exit, target, weir_mask_test(s->idle, target))
			       ? PICK_OVER
			       : PICK_ANNOUNCE;
	}
	if (ctx->pick_stage == PICK_FETCH) {
		if (ctx->pick_at >= pc->nr_puller) {
			nothing(s, target);
			return PICK_OVER;
		}
		ctx->puller =
			s->graph->instances[s->graph->lists[pc->first_puller + ctx->pick_at++]];
		return PICK_FETCH;
	}
	if (ctx->pick_stage == PICK_ANNOUNCE) {
		announce(s, target);
		if (pc->nr_postponed && weir_catch_up(s, target))
			return PICK_AGAIN;
	}
	if (!weir_lock_or_want(s, exit))
		return PICK_FETCH;
	/* (A kick that came since then is spent on it, though its bit is gone.) */
	return take_locked(s, ctx, exit, target, 1) ? PICK_OVER : PICK_FETCH;
}

/* @target has found nothing, and perhaps announced that it is idle, but another CPU has given it a task meanwhile: that, unless it is gone again. */
WEIR_GLOBAL WEIR_RARE u64 weir_given(struct weir_sched weir_mem *s weir_arg, u32 target)
{
	u32 no = s->graph->cpus[target].exit;
	struct weir_pipe weir_mem *exit;
	struct weir_task weir_mem *t;

	if (no == WEIR_NONE)
		return 0;
	exit = &s->graph->pipes[no];
	if (weir_home_lock(s, exit))
		return 0;
	t = weir_load(&s->cpus[target].curr);
	if (t) {
		weir_store(&s->cpus[target].curr_key, weir_load(&t->key));
		wake(s, exit, target, 1);
	}
	weir_home_unlock(s, exit);
	return (u64)t;
}

/* The full search. */
WEIR_FLAT WEIR_RARE static struct weir_task weir_mem *search(struct weir_sched weir_mem *s,
							     struct weir_ctx weir_mem *ctx,
							     u32 target)
{
	ctx->pick_stage = PICK_BEGIN;
	ctx->pick_at = 0;
	ctx->picked = 0;
	ctx->puller = 0;
	weir_settle_call(s, ctx);
	while (ctx->pick_stage != PICK_OVER && weir_loop) {
		weir_only_now(ctx);
		ctx->pick_stage = weir_pick_next(s, target);
		if (ctx->picked)
			return taken(s, ctx, &s->graph->pipes[s->graph->cpus[target].exit],
				     ctx->picked);
		if (ctx->pick_stage == PICK_FETCH && ctx->puller) {
			int got = weir_class_idle(ctx->puller, target);

			ctx->puller = 0;
			if (got > 0)
				ctx->pick_stage = PICK_ANNOUNCE;
		}
		weir_settle_call(s, ctx);
	}
	return is_given(s, target) ? (struct weir_task weir_mem *)weir_given(s, target) : 0;
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
		announce(s, target);
		weir_fence();
		if (weir_load(&s->writer))
			return 0;
	} while (weir_enter(s, cpu) && weir_loop);
	return weir_ctx(s);
}

/*
 * The search in the common case: the exit has a task. Null: another case; then nothing was done. @exit: that, whose home is locked, of a CPU that has just
 * given up its task and so is awake; or null.
 */
WEIR_INLINE struct weir_task weir_mem *pick_at_once(struct weir_sched weir_mem *s,
						    struct weir_ctx weir_mem *ctx, u32 target,
						    struct weir_pipe weir_mem *exit)
{
	struct weir_task weir_mem *t;
	u32 away = 0;
	int idle;

	if (!exit) {
		exit = s->ctx[target].exit;
		if (weir_unlikely(!exit || ctx->todo || !weir_load(&exit->nr) ||
				  weir_home_lock(s, exit)))
			return 0;
		away = weir_load(&s->cpus[target].away);
	}
	if (is_given(s, target)) {
		weir_home_unlock(s, exit);
		return 0;
	}
	if (weir_unlikely(away)) {
		idle = weir_mask_test(s->idle, target);
		t = (struct weir_task weir_mem *)weir_take(s, exit, target);
		if (t)
			awake(s, exit, target, idle);
	} else {
		t = (struct weir_task weir_mem *)weir_take(s, exit, target);
	}
	return taken(s, ctx, exit, t);
}

/*
 * @cpu chooses again, and its last task was not taken from it: it could not run that, or runs it outside the graph. No home counts the task any more,
 * whatever the runtime does with it.
 */
WEIR_GLOBAL WEIR_RARE int weir_leave_behind(struct weir_sched weir_mem *s weir_arg, u32 cpu)
{
	struct weir_task weir_mem *t = weir_load(&s->cpus[cpu].curr);

	if (!t || weir_cas(&s->cpus[cpu].curr, t, 0) != t)
		return 0;
	weir_store(&s->cpus[cpu].curr_key, WEIR_KEY_NONE);
	weir_store(&s->cpus[cpu].runs, 0);
	return weir_note(s, t, WEIR_LOOK);
}

WEIR_INLINE void chooses(struct weir_sched weir_mem *s, u32 cpu)
{
	if (WEIR_DECLINES && weir_unlikely(weir_load(&s->cpus[cpu].curr)))
		weir_leave_behind(s, cpu);
}

/* @t runs on @cpu. */
WEIR_INLINE void picked(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			struct weir_task weir_mem *t, u32 cpu)
{
	if (t && weir_is_heard(s, WEIR_TOPIC_DISPATCH))
		weir_announce(s, WEIR_TOPIC_DISPATCH, t, cpu);
	weir_settle_call(s, ctx);
}

/* What @target runs next, and the end of the call. @exit: its exit, whose home is locked; or null. */
WEIR_INLINE struct weir_task weir_mem *choose(struct weir_sched weir_mem *s,
					      struct weir_ctx weir_mem *ctx, u32 target,
					      struct weir_pipe weir_mem *exit)
{
	struct weir_task weir_mem *t;

	chooses(s, target);
	t = pick_at_once(s, ctx, target, exit);
	if (weir_unlikely(!t))
		t = search(s, ctx, target);
	picked(s, ctx, t, target);
	weir_end_call(ctx);
	return t;
}

WEIR_FLAT struct weir_task weir_mem *weir_pick(struct weir_sched weir_mem *s, u32 cpu, u32 target)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);

	if (weir_unlikely(!ctx))
		ctx = enter_to_pick(s, cpu, target);
	if (weir_unlikely(!ctx))
		return 0;
	return choose(s, ctx, target, 0);
}

WEIR_FLAT int weir_yield(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t,
			 int blocks, struct weir_task weir_mem **next)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	u32 topic = blocks ? WEIR_TOPIC_BLOCK : WEIR_TOPIC_RELINQUISH;
	struct weir_pipe weir_mem *exit;
	int locked;

	if (weir_unlikely(!ctx))
		return -WEIR_EAGAIN;
	/* Who hears of it hears before the choice. */
	exit = weir_is_heard(s, topic) ? 0 : ctx->exit;
	locked = blocks ? weir_go_out(s, cpu, t, exit)
			: weir_go_in(s, ctx, cpu, t, WEIR_WHY_REQUEUED, exit);
	weir_settle_call(s, ctx);
	if (weir_unlikely(locked < 0)) {
		weir_end_call(ctx);
		return locked;
	}
	*next = choose(s, ctx, cpu, locked ? exit : 0);
	return 0;
}

/*
 * Claim @to for @cpu, if that has no task, @to is in @exit and no task there that may run on this CPU is more urgent; 1: claimed, and the home of @exit is
 * still locked. Earlier tasks of equal urgency are passed over: that is the purpose of a hand-over.
 */
WEIR_GLOBAL int weir_claim_given(struct weir_sched weir_mem *s weir_arg,
				 struct weir_pipe weir_mem *exit weir_arg,
				 struct weir_task weir_mem *to weir_arg, u32 cpu)
{
	struct weir_task weir_mem *t = 0;
	int idle, claimed = 0;

	if (weir_home_lock(s, exit))
		return 0;
	idle = weir_mask_test(s->idle, cpu);
	if (!weir_load(&s->cpus[cpu].curr) && weir_pipe_holds(exit, to) &&
	    may_run(s, exit, to, cpu)) {
		u64 key = weir_load(&to->key);

		weir_for_task(t, exit)
			if (weir_load(&t->key) < key && weir_state(t) == WEIR_SCHEDULABLE &&
			    may_run(s, exit, t, cpu))
				break;
		claimed = !t && claim(s, exit, to, cpu, 0);
		/* It may have gone idle meanwhile: then it sees the task there, or its mark is seen here. */
		if (claimed)
			awake(s, exit, cpu, idle || weir_mask_test(s->idle, cpu));
	}
	if (!claimed)
		weir_home_unlock(s, exit);
	return claimed;
}

/* @to is @target's from now on, if the policy allows it: 1. */
WEIR_INLINE int give(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx, u32 target,
		     struct weir_task weir_mem *to)
{
	u32 exit = s->graph->cpus[target].exit;

	if (exit == WEIR_NONE || !weir_claim_given(s, &s->graph->pipes[exit], to, target))
		to = 0;
	else
		taken(s, ctx, &s->graph->pipes[exit], to);
	picked(s, ctx, to, target);
	return to != 0;
}

WEIR_FLAT int weir_give(struct weir_sched weir_mem *s, u32 cpu, u32 target,
			struct weir_task weir_mem *t)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	int given;

	if (!ctx)
		return 0;
	given = give(s, ctx, target, t);
	weir_end_call(ctx);
	return given;
}

WEIR_FLAT int weir_hand_over(struct weir_sched weir_mem *s, u32 cpu,
			     struct weir_task weir_mem *from, struct weir_task weir_mem *to)
{
	struct weir_ctx weir_mem *ctx;
	int err = from ? weir_relinquish(s, cpu, from) : 0;

	if (!err && weir_state(to) == WEIR_UNCONSIDERED)
		err = weir_unblock(s, cpu, to);
	if (err)
		return err;
	ctx = weir_begin_call(s, cpu);
	if (!ctx)
		return 1;
	chooses(s, cpu);
	err = !give(s, ctx, cpu, to);
	weir_end_call(ctx);
	return err;
}
