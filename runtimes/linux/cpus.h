/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * CPUs that go online or offline, or that a higher class keeps: the kernel's reports are recorded, and the next dispatch reports
 * them to the graph. docs/decisions/0016.
 */
#ifndef WEIR_LINUX_CPUS_H
#define WEIR_LINUX_CPUS_H

#include "tasks.h"

WEIR_INLINE u32 presence_of(u32 cpu)
{
	return weir_live_u32(presence[cpu & (WEIR_MAX_CPUS - 1)]);
}

/* A task can be sent to it: it is online, and no higher class has it. */
WEIR_INLINE bool takes_tasks(u32 cpu)
{
	return presence_of(cpu) == HERE &&
	       !weir_live_u64(weir_live.cpus[cpu & (WEIR_MAX_CPUS - 1)].away_ns);
}

/* A CPU went online (1) or offline (2): the next dispatch reports it. */
static void note_cpu(u32 cpu, u32 news)
{
	weir_store(&NEWS(cpu)->cpu, news);
	weir_fence();
	weir_live_u32(any_cpu_news) = 1;
}

#define FIRST_OF_OURS 100 /* lowest prio value that belongs to no higher class */

/*
 * When a higher class took a CPU: the kernel's callbacks do not report a CPU that was idle before. The loader checks
 * it from time to time, which makes some CPU dispatch when this one is back. (A CPU that is going offline is not
 * back: the thread that stops it is of a higher class, too.)
 */
static void note_class(u32 cpu, bool taken)
{
	struct weir_live_cpu *c = &weir_live.cpus[cpu & (WEIR_MAX_CPUS - 1)];

	if (taken == !!c->away_ns)
		return;
	/* A kick would have to wait for that class. When the CPU is back, it looks for work and announces itself again. */
	if (taken && weir_mask_test(SCHED->idle, cpu))
		weir_mask_clear(SCHED->idle, cpu);
	weir_live_u64(c->away_ns) = taken ? bpf_ktime_get_ns() : 0;
	weir_fence();
	if (!taken && weir_live_u64(c->reported_away)) {
		weir_live_u64(c->reported_away) = 0;
		if (presence_of(cpu) == HERE)
			note_cpu(cpu, 1);
	}
}

/* The task changed its class while it ran. */
static void note_class_of(struct task_struct *p)
{
	if (scx_bpf_task_running(p))
		note_class(scx_bpf_task_cpu(p), p->prio < FIRST_OF_OURS);
}

/*
 * This CPU is going offline or is not fully online yet. Its last act is to wake the task that waits for its end, when it no longer
 * takes interrupts. The kernel kicks by an interrupt that a CPU sends to itself: it would be lost, and Linux 7.2 never sends another
 * one there, neither for kicks nor for the end of the scheduler. Tasks enqueued from such a CPU go directly to the kernel's own
 * queue, which needs no interrupt.
 */
WEIR_INLINE bool cannot_kick(void)
{
	return presence_of(weir_port_cpu()) == GONE;
}

/*
 * A higher class has held a CPU for long: the graph must look elsewhere. The fence pairs with the one in
 * note_class(): either this code sees that the CPU is back, or the CPU sees that it must report; both may report.
 */
static int report_away(u32 cpu)
{
	struct weir_live_cpu *c = &weir_live.cpus[cpu & (WEIR_MAX_CPUS - 1)];

	note_cpu(cpu, 2);
	weir_live_u64(c->reported_away) = 1;
	weir_fence();
	if (!weir_live_u64(c->away_ns) && presence_of(cpu) == HERE) {
		weir_live_u64(c->reported_away) = 0;
		note_cpu(cpu, 1);
	}
	return 0;
}

/*
 * A topology that does not listen to CPU_STATUS leaves tasks at the exit of an unavailable CPU, and the kernel waits for them before
 * it takes the CPU offline. Each call checks one CPU, number @turn: it is reported if there are such tasks, else @cpu.
 */
WEIR_GLOBAL u32 weir_linux_abandoned(u32 cpu, u32 turn)
{
	struct weir_sched weir_mem *s = SCHED;
	struct weir_graph weir_mem *g = s->graph;
	struct weir_pipe weir_mem *exit;
	u32 gone = s->nr_cpus ? turn % s->nr_cpus : 0;

	if (!g || weir_load(&s->cpus[gone].online) || g->cpus[gone].exit == WEIR_NONE)
		return cpu;
	exit = &g->pipes[g->cpus[gone].exit];
	NEWS(cpu)->rescued = 0;
	return weir_pipe_nr(exit) && !weir_pipe_allows(exit, 0) ? gone : cpu;
}

/* No task is left there. It does not wait for work; if it is back and does wait, it looks again and announces that itself. */
WEIR_INLINE void rescued(u32 gone)
{
	weir_mask_clear(SCHED->idle, gone);
	scx_bpf_kick_cpu(gone, SCX_KICK_IDLE);
}

/*
 * Report a CPU that went online or offline: 1 if a report is under way. Only one CPU at a time reports, until it is done, because an
 * older state must not be reported after a newer one.
 */
WEIR_GLOBAL int weir_linux_begin_cpu_news(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_CPU_STATUS };

	if (weir_cas(&publishing_cpus, 0, 1))
		return 0;
	weir_live_u32(any_cpu_news) = 0;
	weir_fence();
	for (u32 i = 0; i < weir_load(&s->nr_cpus) && weir_loop; i++) {
		u32 news = weir_load(&NEWS(i)->cpu);

		if (!news || weir_cas(&NEWS(i)->cpu, news, 0) != news)
			continue;
		/* There may be more. */
		weir_live_u32(any_cpu_news) = 1;
		msg.cpu = i;
		msg.value = news == 1;
		if (!weir_notify_begin(s, weir_port_cpu(), &msg)) {
			weir_live_u32(some_gone) = 1;
			/* It may have announced that it is idle before the report of its absence, which cancelled that. */
			if (news == 1)
				scx_bpf_kick_cpu(i, SCX_KICK_IDLE);
			report(WEIR_EVENT_ONLINE, i, WEIR_NO_TASK, 0, news == 1);
			return 1;
		}
		/* A swap took too long: the next dispatch tries again, unless there is a newer report. */
		weir_cas(&NEWS(i)->cpu, 0, news);
		break;
	}
	weir_fence();
	weir_live_u32(publishing_cpus) = 0;
	return 0;
}

WEIR_INLINE void serve_cpus(void)
{
	while (weir_live_u32(any_cpu_news) && weir_linux_begin_cpu_news(SCHED) && weir_loop) {
		call_begins(WEIR_CALL_NOTIFY);
		weir_notify_end(SCHED);
		weir_linux_call_over(WEIR_CALL_NOTIFY);
		weir_fence();
		weir_live_u32(publishing_cpus) = 0;
	}
}

/* --- callbacks --- */

/* A task of a higher class takes the CPU: tasks that the kernel has already queued there may go elsewhere. */
SEC("struct_ops/weir_cpu_release")
int weir_cpu_release(u64 *ctx)
{
	weir_reenqueue_local();
	return 0;
}

SEC("tp_btf/sched_switch")
int weir_switched(u64 *ctx)
{
	const struct task_struct *next = (const struct task_struct *)ctx[2];

	IN_ARENA;
	note_class(weir_port_cpu(), next->prio < FIRST_OF_OURS);
	return 0;
}

/* Report to the graph whether the CPU takes tasks, if that has changed. */
static void changes(u32 cpu, u32 how)
{
	bool was_here = presence_of(cpu) == HERE;

	weir_live_u32(presence[cpu & (WEIR_MAX_CPUS - 1)]) = how;
	if (how == HERE || was_here)
		note_cpu(cpu, how == HERE ? 1 : 2);
}

/* A dispatch is needed: on this CPU, once the thread that changes the machine waits. */
static void look(void)
{
	scx_bpf_kick_cpu(weir_port_cpu(), SCX_KICK_PREEMPT);
}

/*
 * The kernel is about to take a CPU offline. First it marks the CPU inactive and waits for an RCU grace period; only then it notifies us.
 * Meanwhile the CPU dispatches, but a task that it chooses goes to the kernel's global queue if the kernel has the task elsewhere. All
 * other CPUs serve that queue before the graph, and none is kicked for it. A yielding task that the graph returns to the CPU where it
 * supposedly ran then circulates, and keeps the CPUs from the graph and from the thread that ends the grace period.
 * So we follow the kernel's own step. The thread that takes it, on that CPU, waits next: the following dispatch reports it.
 */
SEC("tp_btf/cpuhp_enter")
int weir_cpu_changes(u64 *ctx)
{
	u32 cpu = ctx[0];
	s32 target = ctx[1], step = ctx[2];

	IN_ARENA;
	if (step != weir_step_active() || target >= step)
		return 0;
	changes(cpu, GOING);
	return 0;
}

/* The step may be refused because of threads with deadlines. */
SEC("tp_btf/cpuhp_exit")
int weir_cpu_changed(u64 *ctx)
{
	u32 cpu = ctx[0];
	s32 step = ctx[2], err = ctx[3];

	IN_ARENA;
	if (step != weir_step_active() || !err || presence_of(cpu) != GOING)
		return 0;
	changes(cpu, HERE);
	return 0;
}

SEC("struct_ops/weir_cpu_offline")
int weir_cpu_offline(u64 *ctx)
{
	IN_ARENA;
	changes(ctx[0], GONE);
	look();
	return 0;
}

SEC("struct_ops/weir_cpu_online")
int weir_cpu_online(u64 *ctx)
{
	IN_ARENA;
	changes(ctx[0], HERE);
	look();
	return 0;
}

#endif
