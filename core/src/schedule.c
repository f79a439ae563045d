/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The calls of a runtime about a task: each changes the task's claim, and then what homes have of it. In the kernel they are inlined into
 * their caller: the verifier checks their parts separately, and components are called with as few frames above them as possible
 * (docs/decisions/0012).
 */
#include "schedule.h"

struct weir_task weir_mem *weir_task_new(struct weir_sched weir_mem *s, u32 cpu, u64 cookie)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	struct weir_task weir_mem *t;

	if (!ctx)
		return 0;
	t = weir_task_open(s, cookie);
	weir_end_call(ctx);
	return t;
}

WEIR_GLOBAL WEIR_RARE int weir_leave_other(struct weir_sched weir_mem *s weir_arg,
					   struct weir_task weir_mem *t weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_pipe weir_mem *h = weir_home_of(s, t), *to = ctx->reached;

	if (!h || (h == weir_holder(to) && !to->postponed))
		return 0;
	if (weir_home_lock(s, h)) {
		weir_post(h, t, WEIR_HAND, 0);
		return 1;
	}
	if (ctx->step.why == WEIR_WHY_REQUEUED)
		ctx->step.why = WEIR_WHY_CAME;
	weir_only_now(s);
	weir_drop(s, h, t, WEIR_WHY_WENT);
	weir_home_unlock(s, h);
	return 0;
}

WEIR_GLOBAL WEIR_RARE int weir_submit_slowly(struct weir_sched weir_mem *s weir_arg,
					     struct weir_task weir_mem *t weir_arg, u32 number)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_pipe weir_mem *to = ctx->reached, *y = weir_holder(to);

	if (to->postponed) {
		if (weir_cas(&t->pend, 0, WEIR_TOKEN | WEIR_HAND))
			return weir_note(s, t, WEIR_HAND);
		return weir_put_off(s, to, t, 1);
	}
	if (weir_home_lock(s, y))
		return weir_post(
			y, t, y->home && (y->border != to || to->keyed) ? WEIR_HAND : WEIR_HERE, 0);
	weir_place_from(ctx, y, to, t, number, 0, 1);
	weir_home_unlock(s, y);
	return 0;
}

WEIR_INLINE int enter(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t, u32 why)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	int err;

	if (!ctx)
		return -WEIR_EAGAIN;
	err = weir_go_in(s, ctx, cpu, t, why, 0);
	weir_settle_call(s, ctx);
	weir_end_call(ctx);
	return err;
}

WEIR_FLAT int weir_admit(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	return enter(s, cpu, t, WEIR_WHY_ADMITTED);
}

WEIR_FLAT int weir_unblock(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	return enter(s, cpu, t, WEIR_WHY_WOKE);
}

WEIR_FLAT int weir_wakes_and_leaves(struct weir_sched weir_mem *s, u32 cpu, u32 leaves)
{
	weir_store(&s->cpus[cpu].leaves, leaves);
	return 0;
}

WEIR_FLAT int weir_relinquish(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	return enter(s, cpu, t, WEIR_WHY_REQUEUED);
}

WEIR_FLAT int weir_let_in(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t,
			  u32 why)
{
	return enter(s, cpu, t, why);
}

/*
 * This claim of @t, and no later one, is ended by a CPU whose task it need not be, with its place, under the lock of its home: whoever lets the task
 * in again finds neither, and no CPU picks it there meanwhile. A claim without a place is that of a call which is not complete: -WEIR_EAGAIN.
 */
WEIR_GLOBAL WEIR_RARE int weir_end_this_claim(struct weir_sched weir_mem *s weir_arg,
					      struct weir_task weir_mem *t weir_arg, u64 claim)
{
	struct weir_pipe weir_mem *h = weir_home_of(s, t);
	int err = -WEIR_EAGAIN;

	if (weir_load_acquire(&t->claim) != claim)
		return -WEIR_ESTATE;
	if (!h || weir_home_lock(s, h))
		return err;
	if (weir_load(&t->home) == h->mark && weir_place_valid(s, t, claim)) {
		err = weir_end_claim(s, t, claim, WEIR_UNCONSIDERED) == claim ? 0 : -WEIR_ESTATE;
		weir_only_now(s);
		weir_only_now(h);
		weir_only_now(t);
		if (!err)
			weir_drop(s, h, t, WEIR_WHY_BLOCKED);
	}
	weir_home_unlock(s, h);
	return err;
}

WEIR_FLAT int weir_block(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	int err;

	if (!ctx)
		return -WEIR_EAGAIN;
	err = weir_go_out(s, cpu, t, 0);
	weir_settle_call(s, ctx);
	weir_end_call(ctx);
	return err;
}

WEIR_FLAT int weir_decline(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t,
			   u64 claim)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	int err;

	if (!ctx)
		return -WEIR_EAGAIN;
	err = weir_end_this_claim(s, t, claim);
	if (!err)
		weir_announce(s, WEIR_TOPIC_BLOCK, t, cpu);
	weir_settle_call(s, ctx);
	weir_end_call(ctx);
	return err;
}

/* All recipients have been notified of its end. */
WEIR_GLOBAL int weir_forget(struct weir_sched weir_mem *s weir_arg,
			    struct weir_task weir_mem *t weir_arg)
{
	struct weir_graph weir_mem *g = s->graph;

	for (u32 i = 0; i < g->nr_task_init && weir_loop; i++)
		weir_class_task_exit(g->init_list[i], t);
	/* The last word: who has the task in work frees it. */
	return weir_note(s, t, WEIR_LOOK | WEIR_DIE);
}

WEIR_FLAT int weir_exit(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	int err;

	if (!ctx)
		return -WEIR_EAGAIN;
	err = weir_end_any_claim(s, t, WEIR_DEAD);
	if (!err) {
		weir_leave_home(s, t, WEIR_WHY_ENDED, 0);
		weir_announce(s, WEIR_TOPIC_EXIT, t, cpu);
		weir_settle_call(s, ctx);
		weir_forget(s, t);
	}
	weir_settle_call(s, ctx);
	weir_end_call(ctx);
	return err;
}
