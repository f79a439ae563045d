/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the calls of a runtime about a task (schedule.c, pick.c) do to it: its claim, then what homes have of it. Inlined into each of them; what is rarely
 * needed is in schedule.c.
 */
#ifndef WEIR_SCHEDULE_INSIDE_H
#define WEIR_SCHEDULE_INSIDE_H

#include "place.h"
#include "settle.h"

/*
 * CPU @c, whose own call this is, runs @t no longer: it does not choose meanwhile, and others let go of its task under the lock of the home from
 * which it was picked. (But it may be choosing if a task may be declined.) @chooses: the call goes on with a choice, which says whether it runs one.
 */
WEIR_INLINE void leave_cpu(struct weir_cpu weir_mem *c, struct weir_task weir_mem *t, int chooses)
{
	if (WEIR_DECLINES)
		(void)weir_cas(&c->curr, t, 0);
	else
		weir_store(&c->curr, 0);
	if (!chooses)
		weir_store(&c->runs, 0);
}

/*
 * From state @from, which is not schedulable, to schedulable. Calls about one task do not overlap, and a pick changes schedulable tasks
 * only, so nobody else writes the word now, unless runtimes decline tasks.
 */
WEIR_INLINE int make_schedulable(struct weir_sched weir_mem *s, struct weir_task weir_mem *t,
				 u32 from, u32 *number, int chooses)
{
	u64 w = weir_load_acquire(&t->claim), to;
	u32 cpu = weir_claim_raw_cpu(w);

	if (weir_claim_state(w) != from)
		return -WEIR_ESTATE;
	to = weir_claim_next(w);
	*number = weir_claim_number(to);
	if (!WEIR_DECLINES)
		weir_store_release(&t->claim, to);
	else if (weir_cas(&t->claim, w, to) != w)
		return -WEIR_ESTATE;
	if (from == WEIR_RUNNING &&
	    !weir_unlikely(cpu >= s->nr_cpus || weir_load(&s->cpus[cpu].curr) != t)) {
		struct weir_cpu weir_mem *c = &s->cpus[cpu];

		/*
		 * A choosing CPU takes any arriving task, unless it was preempted for a task that still waits: then it counts as
		 * running that one (weir_attract()).
		 */
		if (weir_load(&c->curr_key) == weir_load(&t->key))
			weir_store(&c->curr_key, WEIR_KEY_NONE);
		leave_cpu(c, t, chooses);
	}
	return 0;
}

/* What is not the common case of submit(). */
WEIR_INLINE void submit_slowly(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			       struct weir_pipe weir_mem *to, struct weir_task weir_mem *t,
			       u32 number)
{
	ctx->reached = to;
	if (!weir_leave_other(s, t))
		weir_submit_slowly(s, t, number);
}

/*
 * Place @t, which has just become schedulable, from the entry of @cpu on; @pend: what was noted of it before that. 1: it has come to @keep (null: no home),
 * whose lock the caller has now; nothing else is left to do.
 */
WEIR_INLINE int submit(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
		       struct weir_task weir_mem *t, u32 cpu, u32 number, u32 pend, u32 why,
		       struct weir_pipe weir_mem *keep)
{
	u32 seen = weir_load(&s->changes), home;
	struct weir_pipe weir_mem *to, *y;

	weir_store(&t->slice_ns, WEIR_SLICE_DEFAULT);
	/* (One that still waits in a postponed pipe stays there.) */
	if (weir_unlikely(pend)) {
		/* Somebody has it in work: it goes on there. */
		weir_note(s, t, WEIR_HAND);
		return 0;
	}
	weir_store(&t->entry_cpu, cpu);
	/* Its CPU has chosen again since, and all stages have heard that it left. */
	if (WEIR_DECLINES && why == WEIR_WHY_REQUEUED && !weir_load(&t->home))
		why = WEIR_WHY_CAME;
	weir_begin_steps(ctx, why);
	to = (struct weir_pipe weir_mem *)weir_walk_shared(ctx, ctx->entry, t);
	y = weir_holder(to);
	if (weir_unlikely(to->kind == WEIR_AT_REST || weir_home_lock(s, y))) {
		submit_slowly(s, ctx, to, t, number);
	} else {
		home = weir_load(&t->home);
		/* (Somebody who looked at it meanwhile may have found that it ran here no longer.) */
		if (why == WEIR_WHY_REQUEUED && weir_unlikely(!home))
			ctx->step.why = WEIR_WHY_CAME;
		if (weir_unlikely(home && home != y->mark)) {
			/* It leaves another home first, and no call holds two locks. */
			weir_home_unlock(s, y);
			submit_slowly(s, ctx, to, t, number);
		} else {
			weir_place_from(ctx, y, to, t, number, 0, 0);
			/* (One that this home counted is never in hand, see weir_in_hand().) */
			if (y == keep && home && !ctx->todo && seen == weir_load(&s->changes))
				return 1;
			weir_home_unlock(s, y);
		}
	}
	/*
	 * Unlocking was a barrier, as all is that leaves a task to others. It pairs with the one after the change: either this CPU sees the
	 * change here, or the review of all tasks sees this one.
	 */
	if (weir_unlikely(seen != weir_load(&s->changes)))
		weir_note(s, t, WEIR_AFRESH);
	return 0;
}

WEIR_INLINE u32 entered_as(u32 why)
{
	return why == WEIR_WHY_REQUEUED ? WEIR_TOPIC_RELINQUISH
	       : why == WEIR_WHY_WOKE	? WEIR_TOPIC_UNBLOCK
					: WEIR_TOPIC_ADMIT;
}

/* @t becomes schedulable. 1: see submit(). */
WEIR_INLINE int weir_go_in(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx, u32 cpu,
			   struct weir_task weir_mem *t, u32 why, struct weir_pipe weir_mem *keep)
{
	/* Before the claim: what is noted later is noted of a schedulable task. */
	u32 pend = weir_load_acquire(&t->pend), number;
	int err =
		make_schedulable(s, t, why == WEIR_WHY_REQUEUED ? WEIR_RUNNING : WEIR_UNCONSIDERED,
				 &number, keep != 0);

	if (err)
		return err;
	if (submit(s, ctx, t, cpu, number, pend, why, keep))
		return 1;
	weir_only_now(why);
	if (weir_is_heard(s, entered_as(why)))
		weir_announce(s, entered_as(why), t, cpu);
	return 0;
}

/* @t, which has just stopped waiting or running, is taken from its home. 1: that is @keep (null: no home), and the caller has its lock now. */
WEIR_INLINE int weir_leave_home(struct weir_sched weir_mem *s, struct weir_task weir_mem *t,
				u32 why, const struct weir_pipe weir_mem *keep)
{
	struct weir_pipe weir_mem *h;

	/* Asked before the home: who has it in work looks at the claim after this note, or has placed it before. */
	if (weir_unlikely(weir_load_acquire(&t->pend))) {
		weir_note(s, t, WEIR_LOOK);
		return 0;
	}
	h = weir_home_of(s, t);
	if (!h)
		return 0;
	if (weir_home_lock(s, h)) {
		weir_post(h, t, WEIR_LOOK, 0);
		return 0;
	}
	weir_drop(s, h, t, why);
	if (h == keep && !weir_ctx(s)->todo)
		return 1;
	weir_home_unlock(s, h);
	return 0;
}

/* The claim of @t, which was @w, gets state @to, by one change. What it was then: @w, or another one, and nothing was done. */
WEIR_INLINE u64 weir_end_claim(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u64 w,
			       u32 to)
{
	u32 cpu = weir_claim_cpu(w);
	u64 seen = weir_cas(&t->claim, w, weir_claim_word(weir_claim_number(w), cpu, to));

	/* Its CPU chooses next; another one may have it by now. */
	if (seen == w && weir_claim_state(w) == WEIR_RUNNING && cpu < s->nr_cpus &&
	    weir_load(&s->cpus[cpu].curr) == t) {
		if (weir_load(&s->cpus[cpu].curr_key) == weir_load(&t->key))
			weir_store(&s->cpus[cpu].curr_key, WEIR_KEY_NONE);
		if (weir_cas(&s->cpus[cpu].curr, t, 0) == t)
			weir_store(&s->cpus[cpu].runs, 0);
	}
	return seen;
}

/* The same whatever the claim is, if the task lives (and, to block it, is not blocked). 0, or -WEIR_ESTATE. */
WEIR_INLINE int weir_end_any_claim(struct weir_sched weir_mem *s, struct weir_task weir_mem *t,
				   u32 to)
{
	u64 w = weir_load_acquire(&t->claim), seen;

	while (weir_loop) {
		u32 state = weir_claim_state(w);

		if (state == WEIR_FREE || state == WEIR_DEAD || state == WEIR_AWAY ||
		    (state == WEIR_UNCONSIDERED && to != WEIR_DEAD))
			return -WEIR_ESTATE;
		seen = weir_end_claim(s, t, w, to);
		if (seen == w)
			return 0;
		w = seen;
	}
	return -WEIR_EAGAIN;
}

/* @t blocks. 1: see weir_leave_home(). */
WEIR_INLINE int weir_go_out(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t,
			    const struct weir_pipe weir_mem *keep)
{
	int err = weir_end_any_claim(s, t, WEIR_UNCONSIDERED);

	if (err)
		return err;
	if (weir_leave_home(s, t, WEIR_WHY_BLOCKED, keep))
		return 1;
	weir_announce(s, WEIR_TOPIC_BLOCK, t, cpu);
	return 0;
}

#endif
