/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * CPUs that come and go, or that a higher class keeps: what the kernel reports is noted, the next dispatch reports it to the
 * graph. docs/decisions/0016.
 */
#ifndef WEIR_LINUX_CPUS_H
#define WEIR_LINUX_CPUS_H

#include "tasks.h"

WEIR_INLINE u32 presence_of(u32 cpu)
{
	return weir_live_u32(presence[cpu & (WEIR_MAX_CPUS - 1)]);
}

/* A CPU came (1) or went (2): the next dispatch reports it. */
static void note_cpu(u32 cpu, u32 news)
{
	weir_store(&NEWS(cpu)->cpu, news);
	weir_fence();
	weir_live_u32(any_cpu_news) = 1;
}

#define FIRST_OF_OURS 100 /* prio of a task from which on it is of no higher class */

/*
 * When a higher class took a CPU: the kernel's own callbacks do not report one that was idle before. The loader
 * looks at it every now and then, and its doing so makes some CPU dispatch when this one is back. (A CPU on its way
 * out is not back: the thread that stops it is of a higher class, too.)
 */
static void note_class(u32 cpu, bool taken)
{
	struct weir_live_cpu *c = &weir_live.cpus[cpu & (WEIR_MAX_CPUS - 1)];

	if (taken == !!c->away_ns)
		return;
	/* A kick would have to wait for that class. The CPU looks for work, and announces itself again, when it is back. */
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
 * This CPU goes, or is not all there yet. Last of all it wakes the task that waits for its end, and by then it takes no
 * interrupts any more. The kernel kicks by one that a CPU sends to itself: it would be lost, and Linux 7.2 never sends another
 * one there, whatever asks it to: kicks, and the end of the scheduler. What is enqueued from such a CPU goes straight to the
 * kernel's own queue, which needs none.
 */
WEIR_INLINE bool cannot_kick(void)
{
	return presence_of(weir_port_cpu()) == GONE;
}

/*
 * A higher class holds a CPU for long: the graph is to look elsewhere. The fence pairs with the one in
 * note_class(): either we see that the CPU is back, or it sees that the graph has to know; both may report it.
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
 * A topology that follows no CPU_STATUS leaves tasks at the exit of a CPU that takes none, and the kernel waits for them before it
 * lets a CPU go. One CPU is looked at in a call, number @turn: it is reported if there are such tasks, else @cpu.
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

/* Nothing is left there. It does not wait for work; should it be back by now and do so, it looks again and says so itself. */
WEIR_INLINE void rescued(u32 gone)
{
	weir_mask_clear(SCHED->idle, gone);
	scx_bpf_kick_cpu(gone, SCX_KICK_IDLE);
}

/*
 * A CPU that came or went since: 1 if a report is under way. One CPU at a time reports, to the end: an older state must
 * not be reported after a newer one.
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
			/* It may have announced that it is idle before its absence was reported, which took that back. */
			if (news == 1)
				scx_bpf_kick_cpu(i, SCX_KICK_IDLE);
			report(WEIR_EVENT_ONLINE, i, WEIR_NO_TASK, 0, news == 1);
			return 1;
		}
		/* A swap took too long to wait for: the next dispatch tries again, unless there are newer news. */
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
		call_begins();
		weir_notify_end(SCHED);
		weir_linux_call_over(WEIR_CALL_NOTIFY);
		weir_fence();
		weir_live_u32(publishing_cpus) = 0;
	}
}

/* --- callbacks --- */

/* A task of a higher class takes the CPU: what the kernel has queued there already may go elsewhere. */
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

/* The graph is to hear whether the CPU takes tasks, if that is news. */
static void changes(u32 cpu, u32 how)
{
	bool was_here = presence_of(cpu) == HERE;

	weir_live_u32(presence[cpu & (WEIR_MAX_CPUS - 1)]) = how;
	if (how == HERE || was_here)
		note_cpu(cpu, how == HERE ? 1 : 2);
}

/* Somebody has to look: this CPU, once the thread that changes the machine waits. */
static void look(void)
{
	scx_bpf_kick_cpu(weir_port_cpu(), SCX_KICK_PREEMPT);
}

/*
 * The kernel is about to take a CPU down. At first it calls it inactive and waits for an RCU grace period, and only then notifies us.
 * Meanwhile the CPU dispatches, but what it chooses goes to the kernel's global queue if the kernel has it elsewhere: all other
 * CPUs serve that queue before the graph, and nobody is kicked for it. A task that yields, and that the graph puts back to the CPU where it
 * thinks that it ran, goes round and round that way and keeps them from the graph, and from the thread that ends the grace period.
 * So we go by the kernel's own step. The thread that takes it, on that CPU, waits next: the dispatch that follows reports it.
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

/* It may be refused, for the sake of threads with deadlines. */
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
