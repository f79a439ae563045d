/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The policy's side of a thread: its task. The core is called about it, or, if the policy is in another process, that one is told (join.c).
 */
#include <string.h>

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

/* The topic of this name that components brought along, or null. The caller is in the core. */
static const struct weir_topic *own_topic(const char *name, u32 *place)
{
	for (u32 i = WEIR_NR_STD_TOPICS; i < WEIR_OWN_FIRST; i++) {
		const struct weir_topic *t = &rt.sched->topics[i];

		*place = i;
		if (weir_load(&t->uuid) && !strcmp(t->name, name))
			return t;
	}
	return 0;
}

/* What is published or asked is about @t: its task, if it is still there. @t is locked, or null. */
static int about(struct weir_thread *t, struct weir_msg *msg)
{
	if (!t)
		return 0;
	if (!t->task || __atomic_load_n(&t->ended, __ATOMIC_RELAXED))
		return -ESRCH;
	msg->task = t->task;
	return 0;
}

/* No topic comes or goes and no component's memory moves until core_settled(): topologies are exchanged under this lock. */
static u32 core_settle(struct weir_thread *t)
{
	u32 cpu = core_enter();

	if (cpu != rt.nr_cpus)
		spin(&rt.out_lock);
	if (t)
		spin(&t->lock);
	return cpu;
}

static void core_settled(struct weir_thread *t, u32 cpu)
{
	if (t)
		unspin(&t->lock);
	if (cpu != rt.nr_cpus)
		unspin(&rt.out_lock);
	core_leave(cpu);
}

WEIR_API int weir_thread_publish(weir_thread *t, const char *name, const uint64_t *words,
				 unsigned nr)
{
	struct weir_msg msg = { .cpu = WEIR_NO_CPU };
	const struct weir_topic *topic;
	int err;
	u32 cpu;

	if (!name || (nr && !words))
		return -EINVAL;
	if (rt.joined)
		return -ENOTSUP;
	if (!__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE))
		return -EINVAL;
	cpu = core_settle(t);
	topic = own_topic(name, &msg.topic);
	err = !topic ? -ENOENT : about(t, &msg);
	if (!err && !(topic->from & WEIR_FROM_USER))
		err = -EPERM;
	/* A topic without a payload has a value. */
	if (!err && nr != (topic->bytes ? topic->bytes / 8 : 1))
		err = -EINVAL;
	if (!err) {
		msg.value = words[0];
		msg.data = topic->bytes ? words : 0;
		err = weir_notify(rt.sched, cpu, &msg) ? -EINVAL : 0;
	}
	core_settled(t, cpu);
	return err;
}

WEIR_API int weir_thread_request(weir_thread *t, const char *name, uint64_t *words, unsigned nr)
{
	struct weir_msg msg = { .cpu = WEIR_NO_CPU };
	const struct weir_topic *topic;
	int err, there = 1;
	u32 cpu;

	if (!name || (nr && !words))
		return -EINVAL;
	if (rt.joined)
		return -ENOTSUP;
	if (!__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE))
		return -EINVAL;
	cpu = core_settle(t);
	topic = own_topic(name, &msg.topic);
	err = !topic ? -ENOENT : about(t, &msg);
	if (!err) {
		err = weir_ask(rt.sched, cpu, &msg);
		err = !err ? 0 : err == -WEIR_ENOENT ? -ENOENT : -EINVAL;
	}
	if (!err && msg.data)
		there = (int)(topic->bytes / 8);
	for (unsigned i = 0; !err && i < nr && i < (unsigned)there; i++)
		words[i] = msg.data ? weir_load(&((const u64 *)msg.data)[i]) : msg.value;
	core_settled(t, cpu);
	return err ? err : there;
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

int task_hand_over(struct cpu *c, struct weir_thread *t, struct weir_thread *to, int woken)
{
	int passed = 1;

	if (rt.joined) {
		join_hand_over(t, to, woken);
		return 1;
	}
	leaves(t);
	call_over(t);
	spin(&to->lock);
	__atomic_store_n(&c->resched, 0, __ATOMIC_SEQ_CST);
	if (to->task && woken) {
		passed = weir_hand_over(rt.sched, c->id, t->task, to->task);
		weir_assert(passed >= 0);
	} else {
		weir_assert(!weir_relinquish(rt.sched, c->id, t->task));
		/* It may run or block meanwhile: then it is not given. */
		if (to->task)
			passed = !weir_give(rt.sched, c->id, c->id, to->task);
	}
	unspin(&to->lock);
	return passed;
}
