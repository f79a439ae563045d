/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The policy's side of a thread: its task. The core is called about it, or, if the policy is in another process, that one is told (join.c).
 */
#include "remote.h"

static const u32 topics[WEIR_NR_ATTRIBUTES] = {
	[WEIR_PRIORITY] = WEIR_TOPIC_PRIORITY, [WEIR_DEADLINE] = WEIR_TOPIC_DEADLINE,
	[WEIR_WEIGHT] = WEIR_TOPIC_WEIGHT,     [WEIR_GROUP] = WEIR_TOPIC_GROUP,
	[WEIR_JOB] = WEIR_TOPIC_JOB,	       [WEIR_LATENCY] = WEIR_TOPIC_LATENCY,
};

static void woken(struct weir_thread *t)
{
	if (weir_load(&tracing) & TRACING_WATCHED)
		watch_wake(t);
}

int task_new(struct weir_thread *t)
{
	struct weir_task *task;
	u32 cpu;

	if (rt.joined)
		return join_new(t);
	cpu = core_enter();
	task = weir_task_new(rt.sched, cpu, (u64)t);
	/* From here on, others may find the thread. */
	spin(&t->lock);
	t->task = task;
	unspin(&t->lock);
	core_leave(cpu);
	return task ? 0 : -ENOMEM;
}

int task_admit(struct weir_thread *t)
{
	u32 cpu;
	int err;

	if (rt.joined) {
		join_admit(t);
		return 0;
	}
	cpu = core_enter();
	woken(t);
	spin(&t->lock);
	err = weir_admit(rt.sched, cpu, t->task);
	unspin(&t->lock);
	core_leave(cpu);
	return err ? -ENOMEM : 0;
}

void task_end(struct weir_thread *t)
{
	u32 cpu;

	if (rt.joined) {
		if (t->control && me()->thread == t && me()->cpu)
			join_exit(t);
		else if (t->control)
			join_end(t);
		return;
	}
	cpu = core_enter();
	spin(&t->lock);
	if (t->task)
		weir_assert(!weir_exit(rt.sched, cpu, t->task));
	t->task = 0;
	unspin(&t->lock);
	core_leave(cpu);
}

int task_set(struct weir_thread *t, enum weir_attribute what, int64_t value, int64_t value2)
{
	struct weir_msg msg = { .topic = topics[what],
				.cpu = WEIR_NO_CPU,
				.value = (u64)value,
				.value2 = (u64)value2 };
	int err = -ESRCH;
	u32 cpu;

	if (rt.joined)
		return join_set(t, what, value, value2);
	cpu = core_enter();
	spin(&t->lock);
	if (t->task && !__atomic_load_n(&t->ended, __ATOMIC_RELAXED)) {
		msg.task = t->task;
		err = weir_notify(rt.sched, cpu, &msg) ? -EINVAL : 0;
	}
	unspin(&t->lock);
	core_leave(cpu);
	return err;
}

void task_unblock(struct weir_thread *t)
{
	u32 cpu;

	if (rt.joined) {
		join_wake(t);
		return;
	}
	woken(t);
	cpu = core_enter();
	spin(&t->lock);
	weir_assert(!weir_unblock(rt.sched, cpu, t->task));
	unspin(&t->lock);
	core_leave(cpu);
}

void task_relinquish(struct cpu *c, struct weir_thread *t, int preempted)
{
	if (rt.joined) {
		join_yield(t, preempted);
		return;
	}
	spin(&t->lock);
	weir_assert(!weir_relinquish(rt.sched, c->id, t->task));
	unspin(&t->lock);
}

void task_block(struct cpu *c, struct weir_thread *t)
{
	if (rt.joined) {
		join_block(t);
		return;
	}
	spin(&t->lock);
	weir_assert(!weir_block(rt.sched, c->id, t->task));
	unspin(&t->lock);
}

int task_hand_over(struct cpu *c, struct weir_thread *t, struct weir_thread *to, int woken)
{
	struct weir_thread *first = t < to ? t : to, *second = t < to ? to : t;
	int passed = 1;

	if (rt.joined) {
		join_hand_over(t, to, woken);
		return 1;
	}
	spin(&first->lock);
	spin(&second->lock);
	if (to->task && (woken || weir_state(to->task) == WEIR_SCHEDULABLE)) {
		__atomic_store_n(&c->resched, 0, __ATOMIC_SEQ_CST);
		passed = weir_hand_over(rt.sched, c->id, t->task, to->task);
		weir_assert(passed >= 0);
	} else {
		weir_assert(!weir_relinquish(rt.sched, c->id, t->task));
	}
	unspin(&second->lock);
	unspin(&first->lock);
	return passed;
}
