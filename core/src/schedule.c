/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The calls of a runtime about a task: each changes the task's state and an entry pipe, and propagates the change through the graph. In
 * the kernel they are inlined into their caller: the verifier checks their parts separately, and components are called with as few frames
 * above them as possible (docs/decisions/0012).
 */
#include "call.h"
#include "transit.h"

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

/* For calls with other work, or when operations are recorded. */
WEIR_COLD static int submit_slowly(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
				   struct weir_pipe weir_mem *entry, struct weir_task weir_mem *t)
{
#if WEIR_CARRY
	if (weir_goes_straight(s, ctx, entry))
		return weir_carry_from(s, ctx, entry, t);
#endif
	return entry->postponed ? weir_pipe_append(entry, t) : weir_drain(s, entry, t);
}

/* Add to the entry pipe of the calling CPU; the state is already schedulable. */
WEIR_INLINE int submit(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
		       struct weir_task weir_mem *t, u32 cpu)
{
	struct weir_graph weir_mem *g = s->graph;
	struct weir_pipe weir_mem *entry = &g->pipes[g->cpus[cpu].entry];

	weir_store(&t->entry_cpu, cpu);
	weir_store(&t->slice_ns, WEIR_SLICE_DEFAULT);
	weir_store(&t->key, WEIR_KEY_NONE);
#if WEIR_CARRY && WEIR_DEEP
	if (!s->exclusive && !s->oplog && weir_goes_straight(s, ctx, entry))
		return weir_carry(s, ctx, entry, t);
#endif
	return submit_slowly(s, ctx, entry, t);
}

void weir_off_cpu(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	u32 c = weir_load(&t->cpu);
	struct weir_cpu weir_mem *cpu;

	if (c >= s->nr_cpus)
		return;
	cpu = &s->cpus[c];
	if (weir_load(&cpu->curr) != t)
		return;
	/*
	 * A choosing CPU takes any arriving task, unless it was preempted for a task that still waits: then it counts as
	 * running that one (weir_preempt()).
	 */
	if (weir_load(&cpu->curr_key) == weir_load(&t->key))
		weir_store(&cpu->curr_key, WEIR_KEY_NONE);
	weir_store(&cpu->curr, 0);
}

/* @t, in state @from, becomes schedulable: once it is in a pipe, it may be chosen. */
WEIR_GLOBAL WEIR_RARE int weir_may_enter(struct weir_sched weir_mem *s weir_arg,
					 struct weir_task weir_mem *t weir_arg, u32 from)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	int err;

	/* The CPU that had claimed it when it was blocked has not finished, and may still fail to get a lock. */
	while (weir_load_acquire(&t->state) == WEIR_REVOKED && weir_loop) {
		if (!weir_wait(ctx->waited, s->patience)) {
			weir_give_up(s);
			return -WEIR_EAGAIN;
		}
	}
	err = weir_load(&t->torn) ? weir_task_withdraw(s, t, 0) : 0;
	if (err)
		return err;
	if (weir_cas(&t->state, from, WEIR_SCHEDULABLE) != from)
		return -WEIR_ESTATE;
	if (from == WEIR_RUNNING)
		weir_off_cpu(s, t);
	return 0;
}

/*
 * The same for the common case. Calls about one task do not overlap, and a picking CPU changes only schedulable tasks or tasks that it
 * has claimed: no other CPU writes the state now, unless runtimes call weir_decline().
 */
WEIR_INLINE int may_enter(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u32 from)
{
#if WEIR_CARRY && !WEIR_DECLINES
	/* In this order: the CPU whose claim was revoked reports last that it is done. */
	if (weir_load_acquire(&t->state) == from && !weir_load(&t->torn)) {
		weir_store_release(&t->state, WEIR_SCHEDULABLE);
		if (from == WEIR_RUNNING)
			weir_off_cpu(s, t);
		return 0;
	}
#endif
	return weir_may_enter(s, t, from);
}

WEIR_INLINE int make_schedulable(struct weir_sched weir_mem *s, u32 cpu,
				 struct weir_task weir_mem *t, u32 from, u32 topic)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	int err;

	if (!ctx)
		return -WEIR_EAGAIN;
	err = may_enter(s, t, from);
	if (!err) {
		err = submit(s, ctx, t, cpu);
		if (err)
			weir_store(&t->state, WEIR_UNCONSIDERED);
		else if (weir_is_heard(s, topic))
			weir_announce(s, topic, t, cpu);
	}
	weir_settle_call(s, ctx);
	weir_end_call(ctx);
	return err;
}

WEIR_FLAT int weir_admit(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	return make_schedulable(s, cpu, t, WEIR_UNCONSIDERED, WEIR_TOPIC_ADMIT);
}

WEIR_FLAT int weir_unblock(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	return make_schedulable(s, cpu, t, WEIR_UNCONSIDERED, WEIR_TOPIC_UNBLOCK);
}

WEIR_FLAT int weir_relinquish(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	return make_schedulable(s, cpu, t, WEIR_RUNNING, WEIR_TOPIC_RELINQUISH);
}

/*
 * Remove the task from all pipes or from its CPU; its state becomes @to. A CPU that has claimed it and is still removing it from the
 * pipes could also remove it from pipes that the task enters later, so the claim is revoked and that CPU completes the block: 1. 0: done.
 */
WEIR_GLOBAL int weir_retire(struct weir_sched weir_mem *s weir_arg,
			    struct weir_task weir_mem *t weir_arg, u32 to)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	while (weir_loop) {
		u32 state = weir_load_acquire(&t->state);

		if (state == WEIR_CLAIMED) {
			if (weir_cas(&t->state, WEIR_CLAIMED, WEIR_REVOKED) == WEIR_CLAIMED &&
			    to != WEIR_DEAD)
				return 1;
			continue;
		}
		if (state == WEIR_REVOKED && to == WEIR_DEAD) {
			if (weir_wait(ctx->waited, s->patience))
				continue;
			break;
		}
		if (state == WEIR_REVOKED || state == WEIR_FREE || state == WEIR_DEAD ||
		    state == WEIR_AWAY || (state == WEIR_UNCONSIDERED && to != WEIR_DEAD))
			return -WEIR_ESTATE;
		if (weir_cas(&t->state, state, to) != state)
			continue;
		if (state == WEIR_RUNNING)
			weir_off_cpu(s, t);
		if (state == WEIR_SCHEDULABLE || weir_load(&t->torn))
			weir_task_withdraw(s, t, 0);
		return 0;
	}
	weir_give_up(s);
	return -WEIR_EAGAIN;
}

WEIR_FLAT int weir_block(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	int err;

	if (!ctx)
		return -WEIR_EAGAIN;
	err = weir_retire(s, t, WEIR_UNCONSIDERED);
	if (!err)
		weir_announce(s, WEIR_TOPIC_BLOCK, t, cpu);
	weir_settle_call(s, ctx);
	weir_end_call(ctx);
	return err > 0 ? 0 : err;
}

/*
 * From @from, which is running or schedulable, to revoked. A schedulable task is revoked only where it is linked, under that pipe's lock:
 * before it is linked, the call that admits it is not complete, and would add it, or put it into the inbox, after this check.
 */
WEIR_GLOBAL int weir_revoke(struct weir_sched weir_mem *s weir_arg,
			    struct weir_task weir_mem *t weir_arg, u32 from)
{
	struct weir_pipe weir_mem *pipe = 0;
	u32 seen = WEIR_FREE;
	int err, linked;

	if (from == WEIR_SCHEDULABLE) {
		pipe = WEIR_CARRY && weir_load(&t->landing) ? weir_landing(s, t)
							    : weir_load_acquire(&t->hooks[0].pipe);
		if (!pipe)
			return -WEIR_ESTATE;
		err = weir_pipe_lock(pipe);
		if (err)
			return err;
	}
	linked = !pipe || weir_pipe_linked(pipe, t);
	if (linked)
		seen = weir_cas(&t->state, from, WEIR_REVOKED);
	if (pipe)
		weir_pipe_unlock(pipe);
	if (!linked)
		return -WEIR_EAGAIN;
	if (seen != from)
		return -WEIR_ESTATE;
	if (from == WEIR_RUNNING)
		weir_off_cpu(s, t);
	if (from == WEIR_SCHEDULABLE || weir_load(&t->torn))
		weir_task_withdraw(s, t, 0);
	return weir_announce(s, WEIR_TOPIC_BLOCK, t, weir_ctx(s)->cpu);
}

WEIR_FLAT int weir_decline(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t,
			   u32 from)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	int err;

	if (!ctx)
		return -WEIR_EAGAIN;
	err = weir_revoke(s, t, from);
	weir_settle_call(s, ctx);
	if (!err)
		weir_store_release(&t->state, WEIR_UNCONSIDERED);
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
	if (weir_distributed(s))
		weir_number_ended(s, t);
	return weir_task_put(s, t);
}

WEIR_FLAT int weir_exit(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	int err = 0;

	if (!ctx)
		return -WEIR_EAGAIN;
	/* A repeated call found it partly removed: its record must not be freed while a pipe has it. */
	if (weir_load(&t->state) != WEIR_DEAD || !weir_load(&t->torn))
		err = weir_retire(s, t, WEIR_DEAD);
	if (!err && weir_load(&t->torn))
		err = weir_task_withdraw(s, t, 0);
	if (!err) {
		weir_announce(s, WEIR_TOPIC_EXIT, t, cpu);
		weir_settle_call(s, ctx);
		weir_forget(s, t);
	} else {
		weir_settle_call(s, ctx);
	}
	weir_end_call(ctx);
	return err;
}
