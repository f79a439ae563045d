/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Foreign CPUs: processing elements of another instruction set, which Linux does not know. Such a CPU of the plan has no driver; a thread of the
 * program serves it, and asks for its tasks (source 0, 8.3 and listing 8.1). The task of a thread that asks for it goes there with a
 * context, while the thread itself waits for a CPU of its own kind; work without a thread begins and ends there.
 *
 * Calls about a foreign CPU are made in the name of the CPU that its server has, or, if it has none, of the one that runs nothing.
 */
#include "rt.h"

enum server { SERVER_NONE, SERVER_THERE, SERVER_CANCELLED };

static struct cpu *foreign_cpu(unsigned id)
{
	if (!__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE) || rt.joined || id >= rt.nr_cpus ||
	    !rt.cpus[id].isa)
		return 0;
	return &rt.cpus[id];
}

/* The same, if somebody serves it. */
static struct cpu *served_cpu(unsigned id)
{
	struct cpu *c = foreign_cpu(id);

	return c && __atomic_load_n(&c->server, __ATOMIC_ACQUIRE) != SERVER_NONE ? c : 0;
}

static int has_isa(unsigned isa)
{
	for (u32 i = 0; i < rt.nr_cpus; i++)
		if (rt.cpus[i].isa == isa)
			return 1;
	return 0;
}

/* @t is locked. */
static int tell(u32 cpu, struct weir_thread *t, u32 topic, u64 value)
{
	struct weir_msg msg = {
		.topic = topic, .cpu = WEIR_NO_CPU, .task = t->task, .value = value
	};

	return weir_notify(rt.sched, cpu, &msg) ? -EINVAL : 0;
}

/* What the policy says about @t, or @none. */
static u64 ask(u32 cpu, struct weir_thread *t, u32 topic, u64 none)
{
	struct weir_msg msg = { .topic = topic, .cpu = WEIR_NO_CPU, .task = t->task };

	return weir_ask(rt.sched, cpu, &msg) ? none : msg.value;
}

WEIR_API int weir_rt_isa(unsigned cpu)
{
	if (!__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE) || cpu >= rt.nr_cpus)
		return -EINVAL;
	return (int)rt.cpus[cpu].isa;
}

/* --- for the server ------------------------------------------------------------------------------------------- */

WEIR_API int weir_foreign_take(unsigned id)
{
	struct cpu *c = foreign_cpu(id);
	u32 none = SERVER_NONE;

	if (!c || (me()->thread && me()->thread->kind == WEIR_GREEN))
		return -EINVAL;
	if (!__atomic_compare_exchange_n(&c->server, &none, SERVER_THERE, 0, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST))
		return -EBUSY;
	return 0;
}

WEIR_API int weir_foreign_drop(unsigned id)
{
	struct cpu *c = served_cpu(id);

	if (!c)
		return -EINVAL;
	if (c->next)
		return -EBUSY;
	__atomic_store_n(&c->server, SERVER_NONE, __ATOMIC_RELEASE);
	return 0;
}

WEIR_API int weir_foreign_cancel(unsigned id)
{
	struct cpu *c = served_cpu(id);

	if (!c)
		return -EINVAL;
	__atomic_store_n(&c->server, SERVER_CANCELLED, __ATOMIC_SEQ_CST);
	kick(c);
	return 0;
}

/* Until there may be work, or @at. */
static void rest(struct cpu *c, u64 at)
{
	/* A thread of the runtime gives up its CPU meanwhile. */
	weir_blocking_begin();
	__atomic_store_n(&c->asleep, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&c->kicked, __ATOMIC_SEQ_CST))
		futex_wait(&c->kicked, 0, at);
	__atomic_store_n(&c->asleep, 0, __ATOMIC_SEQ_CST);
	weir_blocking_end();
}

/* The policy has claimed @t for @c. The caller is in the core. */
static void begin_work(struct cpu *c, u32 cpu, struct weir_thread *t, struct weir_work *work)
{
	u64 slice = weir_load(&t->task->slice_ns);

	spin(&t->lock);
	work->context = (void *)ask(cpu, t, WEIR_TOPIC_TCB, (u64)t->context);
	if (weir_load(&rt.has_slice))
		slice = ask(cpu, t, WEIR_TOPIC_SLICE, slice);
	unspin(&t->lock);
	work->thread = t->kind == WEIR_WORK ? 0 : t;
	work->slice_ns = slice ? slice : rt.slice_ns;
	c->next = t;
	c->slice_end = work->slice_ns > NEVER - now() ? NEVER : now() + work->slice_ns;
	__atomic_store_n(&t->cpu, (int)c->id, __ATOMIC_RELAXED);
	count(&c->n.dispatches);
	if (weir_load(&tracing))
		trace(c, t, LEFT_BEGIN);
}

WEIR_API int weir_foreign_pick(unsigned id, uint64_t at, struct weir_work *work)
{
	struct cpu *c = served_cpu(id);

	if (!c || !work || c->next)
		return -EINVAL;
	for (;;) {
		struct weir_thread *t;
		struct weir_task *task;
		u32 cpu;

		/* What comes from here on is seen below, or kicks again. */
		__atomic_store_n(&c->kicked, 0, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&c->server, __ATOMIC_SEQ_CST) == SERVER_CANCELLED) {
			__atomic_store_n(&c->server, SERVER_NONE, __ATOMIC_RELEASE);
			return -ECANCELED;
		}
		cpu = core_enter();
		__atomic_store_n(&c->resched, 0, __ATOMIC_SEQ_CST);
		task = weir_pick(rt.sched, cpu, c->id);
		t = task ? (struct weir_thread *)weir_load(&task->cookie) : 0;
		if (t && weir_load(&t->foreign) == c->isa)
			begin_work(c, cpu, t, work);
		else if (t)
			weir_assert(!weir_relinquish(rt.sched, cpu, t->task));
		core_leave(cpu);
		if (t)
			return c->next ? 0 : -EPROTO;
		if (at <= now())
			return -ETIMEDOUT;
		rest(c, at);
	}
}

WEIR_API int weir_foreign_must_go(unsigned id)
{
	struct cpu *c = served_cpu(id);

	return c && c->next &&
	       (__atomic_load_n(&c->resched, __ATOMIC_SEQ_CST) || now() >= c->slice_end);
}

WEIR_API int weir_foreign_give(unsigned id, int finished)
{
	struct cpu *c = served_cpu(id);
	struct weir_thread *t = c ? c->next : 0;
	u32 cpu;

	if (!t)
		return -EINVAL;
	cpu = core_enter();
	c->next = 0;
	if (weir_load(&tracing))
		trace(c, 0, finished ? LEFT_ENDED : LEFT_YIELD);
	__atomic_store_n(&t->cpu, -1, __ATOMIC_RELAXED); /* it is still the caller's */
	if (finished && t->kind == WEIR_WORK) {
		core_leave(cpu);
		task_end(t);
		work_ended(t);
		return 0;
	}
	count(&c->n.yields);
	spin(&t->lock);
	if (finished) {
		/* A running task's instruction set changes before it gives up its CPU. */
		t->foreign = 0;
		weir_assert(!tell(cpu, t, WEIR_TOPIC_ISA, 0));
	}
	weir_assert(!weir_relinquish(rt.sched, cpu, t->task));
	unspin(&t->lock);
	core_leave(cpu);
	return 0;
}

/* --- for what is to be done there ------------------------------------------------------------------------------ */

/* The instruction set of @t's task is @isa from now on. The caller is in the core; @t is locked. -ENOTSUP: the policy does not keep it. */
static int go_there(u32 cpu, struct weir_thread *t, unsigned isa, void *context)
{
	t->context = context;
	t->foreign = isa;
	if (!tell(cpu, t, WEIR_TOPIC_TCB, (u64)context) && !tell(cpu, t, WEIR_TOPIC_ISA, isa) &&
	    ask(cpu, t, WEIR_TOPIC_ISA, 0) == isa)
		return 0;
	t->foreign = 0;
	return -ENOTSUP;
}

WEIR_API int weir_thread_foreign(unsigned isa, void *context)
{
	struct weir_thread *t = me()->thread;
	struct cpu *c;
	int err;

	if (rt.joined)
		return -ENOTSUP;
	if (!t || me()->disabled || !me()->cpu || !isa || !has_isa(isa))
		return -EINVAL;
	hold();
	c = me()->cpu;
	spin(&t->lock);
	err = go_there(c->id, t, isa, context);
	unspin(&t->lock);
	if (!err) {
		count(&c->n.yields);
		switch_out(me(), REQUEST_YIELD, LEFT_YIELD);
		/* A policy that gives it a CPU of its own kind before the work is done does not go by instruction sets. */
		if (t->foreign) {
			u32 cpu = me()->cpu->id;

			spin(&t->lock);
			t->foreign = 0;
			tell(cpu, t, WEIR_TOPIC_ISA, 0);
			unspin(&t->lock);
			err = -ENOTSUP;
		}
	}
	release();
	return err;
}

WEIR_API int weir_foreign_submit(unsigned isa, void *context, const struct weir_thread_attr *attr)
{
	struct weir_thread *t;
	u32 cpu;
	int err;

	if (!__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE))
		return -EINVAL;
	if (rt.joined)
		return -ENOTSUP;
	if (!isa || !has_isa(isa))
		return -EINVAL;
	t = work_new(attr);
	if (!t)
		return -ENOMEM;
	cpu = core_enter();
	spin(&t->lock);
	err = go_there(cpu, t, isa, context);
	unspin(&t->lock);
	core_leave(cpu);
	if (!err)
		err = task_admit(t);
	if (err) {
		task_end(t);
		work_ended(t);
	}
	return err;
}
