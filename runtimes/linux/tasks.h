/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The kernel's tasks and their records in the graph: how they correspond, and what is published about them. */
#ifndef WEIR_LINUX_TASKS_H
#define WEIR_LINUX_TASKS_H

#include "report.h"

WEIR_INLINE struct weir_linux_task *of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, 0, 0);
}

WEIR_INLINE struct weir_task weir_mem *task_of(const struct weir_linux_task *own)
{
	return (struct weir_task weir_mem *)own->task;
}

/* Whether it must not wait for any policy, because the kernel relies on it. */
WEIR_INLINE bool is_urgent(const struct task_struct *p)
{
	return p->flags & PF_KTHREAD && p->nr_cpus_allowed == 1;
}

WEIR_INLINE bool is_bound(const struct task_struct *p)
{
	return (u32)p->nr_cpus_allowed < weir_live.nr_cpus;
}

/* It is runnable from now on, unless it was before. */
WEIR_INLINE void now_ready(struct weir_live_task weir_mem *live, u32 as, u64 now)
{
	if (!live->ready_ns) {
		weir_store(&live->ready_as, as);
		weir_store(&live->ready_ns, now);
	}
}

/* Likewise, outside the graph. */
WEIR_INLINE void now_ready_aside(struct task_struct *p)
{
	struct weir_linux_task *own = of(p);

	if (!own || !own->task)
		return;
	now_ready(live_task(task_of(own)->id), WEIR_WAIT_ASIDE, bpf_ktime_get_ns());
	weir_store(&live_task(task_of(own)->id)->ready_as, WEIR_WAIT_ASIDE);
}

/* Run it outside the graph: in the queue of the CPU where the kernel has the task, which takes turns with the graph. */
static void run_aside(struct task_struct *p, u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);

	COUNT(aside);
	now_ready_aside(p);
	__sync_fetch_and_add(&aside_sent[cpu & (WEIR_MAX_CPUS - 1)], 1);
	weir_dsq_insert(p, ASIDE(cpu), weir_live.slice_ns, enq_flags);
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* A task that was sent there comes to CPU @cpu, which dispatches. */
WEIR_INLINE bool take_aside(u32 cpu)
{
	u32 *taken = &aside_taken[cpu & (WEIR_MAX_CPUS - 1)];

	if (weir_live_u32(aside_sent[cpu & (WEIR_MAX_CPUS - 1)]) == *taken ||
	    !weir_dsq_move_to_local(ASIDE(cpu)))
		return 0;
	++*taken;
	return 1;
}

/* Likewise, on any CPU that it may use. */
static void run_anywhere(struct task_struct *p)
{
	COUNT(aside);
	now_ready_aside(p);
	weir_dsq_insert(p, SCX_DSQ_GLOBAL, weir_live.slice_ns, 0);
}

/* Copy the kernel's set of CPUs at @from into the mask with which CPU @cpu publishes affinities. */
WEIR_GLOBAL int weir_linux_copy_mask(u32 cpu, u64 from)
{
	struct weir_cpumask weir_mem *mask = IN_TABLE(struct weir_cpumask, masks, cpu);
	u64 word;

	for (u32 w = 0; w < weir_load(&SCHED->mask_words) && weir_loop; w++) {
		word = 0;
		bpf_probe_read_kernel(&word, sizeof(word), (const void *)(from + w * 8));
		weir_store(&mask->word[w & (WEIR_MASK_WORDS - 1)], word);
	}
	return 0;
}

/* The CPUs on which the task may run. */
static void put_affinity(struct task_struct *p, struct weir_msg *msg)
{
	/* Read as a number: the verifier would follow a pointer through each iteration of a loop. */
	bpf_probe_read_kernel(&msg->value, sizeof(msg->value), &p->cpus_ptr);
	weir_linux_copy_mask(msg->cpu, msg->value);
	msg->topic = WEIR_TOPIC_AFFINITY;
	msg->mask = is_bound(p) ? IN_TABLE(struct weir_cpumask, masks, msg->cpu) : 0;
}

#define SCHED_IDLE   5
#define LEAST_URGENT (-20) /* of class idle: below nice 19 */

/* (The weight follows from it; the kernel does not update its own copy for this class.) */
WEIR_INLINE s32 negated_nice(const struct task_struct *p)
{
	return p->policy == SCHED_IDLE ? LEAST_URGENT : 120 - p->static_prio;
}

WEIR_INLINE int is_batch(const struct task_struct *p)
{
	return p->policy == WEIR_POLICY_BATCH;
}

static void put_priority(struct task_struct *p, struct weir_msg *msg)
{
	msg->topic = WEIR_TOPIC_PRIORITY;
	msg->value = (u64)(s64)negated_nice(p);
}

/* Publish one attribute of the task. (Not inline: the message would enlarge the frame of each enqueue.) */
__attribute__((noinline)) static int begin_change(struct task_struct *p,
						  struct weir_linux_task *own)
{
	struct weir_msg msg = { .cpu = weir_port_cpu(), .task = task_of(own) };
	u32 dirty = own->dirty;
	int err;

	if (own->dirty & DIRTY_AFFINITY) {
		own->dirty &= ~DIRTY_AFFINITY;
		put_affinity(p, &msg);
	} else if (own->dirty & DIRTY_GROUP) {
		own->dirty &= ~DIRTY_GROUP;
		msg.topic = WEIR_TOPIC_GROUP;
		msg.value = own->group;
	} else if (own->dirty & DIRTY_POLICY) {
		own->dirty &= ~DIRTY_POLICY;
		msg.topic = WEIR_TOPIC_POLICY;
		msg.value = p->policy == WEIR_POLICY_BATCH ? WEIR_POLICY_BATCH : WEIR_POLICY_OTHER;
	} else {
		own->dirty &= ~DIRTY_PRIORITY;
		put_priority(p, &msg);
	}
	err = weir_notify_begin(SCHED, msg.cpu, &msg);
	if (err == -WEIR_EAGAIN)
		own->dirty = dirty;
	return err;
}

/* Publish changes before the task enters the graph; if a swap prevents one, it is published next time. */
WEIR_INLINE void publish_changes(struct task_struct *p, struct weir_linux_task *own)
{
	int err = 0;

	while (own->dirty && err != -WEIR_EAGAIN && weir_loop) {
		call_begins(WEIR_CALL_NOTIFY);
		err = begin_change(p, own);
		if (!err)
			weir_notify_end(SCHED);
		weir_linux_call_over(WEIR_CALL_NOTIFY);
	}
}

/*
 * The task is out of the graph. 1: it was in, and the caller counts that; several CPUs may notice it at once. @now: 0 if the clock was not
 * read yet.
 */
static int is_out(struct weir_task weir_mem *t, u64 now)
{
	struct weir_live_task weir_mem *live = live_task(t->id);
	u64 since = weir_load(&live->since_ns);

	if (!since || weir_cas(&live->since_ns, since, 0) != since)
		return 0;
	live->wait_ns += (now ? now : bpf_ktime_get_ns()) - since;
	return 1;
}

/* And no CPU chose it. */
WEIR_INLINE void take_out(struct weir_task weir_mem *t, u64 now)
{
	if (is_out(t, now))
		COUNT(dequeues);
}

/*
 * The graph is about to get it. A CPU that had chosen and lost it may not have counted that yet; it then finds the new entry, and the
 * sum is the same.
 */
WEIR_INLINE void put_in(struct weir_task weir_mem *t, u64 now)
{
	take_out(t, now);
	weir_store(&live_task(t->id)->since_ns, now);
}

/*
 * The graph did not take it, or returns it before the enqueue is over. Another CPU may have found it in between and counted its removal;
 * then it was in the graph.
 */
WEIR_INLINE void not_in(struct weir_task weir_mem *t)
{
	struct weir_live_task weir_mem *live = live_task(t->id);
	u64 since = weir_load(&live->since_ns);

	if (!since || weir_cas(&live->since_ns, since, 0) != since)
		COUNT(enqueues);
}

#define AGAIN_NS 1000000ull

/*
 * Calls of this CPU gave up waiting for another one: it chooses again soon, and completes their work. Not at once each time: the
 * other CPU may have stopped for long, and kicks when it releases the lock (docs/decisions/0034).
 */
WEIR_INLINE void go_on(void)
{
	u32 cpu = weir_port_cpu();
	u64 now;

	if (!weir_gave_up(SCHED, cpu))
		return;
	COUNT(gave_up);
	now = bpf_ktime_get_ns();
	if (now < NEWS(cpu)->again_ns)
		return;
	NEWS(cpu)->again_ns = now + AGAIN_NS;
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/*
 * The CPU has nothing else to run, so the kernel lets @prev continue, which could not be put back: with a slice as others have, not the
 * kernel's of 20 ms. The CPU announced that it is idle, but a kick does not reach it (SCX_KICK_IDLE). If one is under way already, it
 * chooses again.
 */
WEIR_INLINE void continues(struct task_struct *prev, u32 cpu)
{
	weir_set_slice(prev, weir_live.slice_ns);
	if (!weir_mask_clear(SCHED->idle, cpu))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* The duration of a call of the core, if recorded. */
WEIR_INLINE void report_cost(u32 call, u32 task, u64 start)
{
	if (weir_live.recording)
		weir_linux_report(WEIR_EVENT_SCHED, weir_port_cpu(), task, call,
				  bpf_ktime_get_ns() - start);
}

/* The claim of @t, if a CPU has chosen it for @cpu, or it runs there; or 0. */
WEIR_INLINE u64 claim_on(struct weir_task weir_mem *t, s32 cpu)
{
	u64 claim = weir_load_acquire(&t->claim);

	return weir_claim_state(claim) == WEIR_RUNNING && weir_claim_cpu(claim) == (u32)cpu ? claim
											    : 0;
}

/*
 * Create a record for a task without one, as long as the loader's table has room; other tasks run outside the graph.
 * NEW stays set if the core gave up waiting, for another attempt.
 */
__attribute__((noinline)) static int get_to_know(struct task_struct *p, struct weir_linux_task *own)
{
	struct weir_live_task weir_mem *live;
	struct weir_task weir_mem *t = 0;

	own->flags = 0;
	if (weir_load(&SCHED->nr_tasks) < weir_live.max_tasks)
		t = TIMED(NEW, weir_task_new(SCHED, weir_port_cpu(), (u32)p->pid));
	if (!t && weir_gave_up(SCHED, weir_port_cpu())) {
		COUNT(gave_up);
		own->flags = NEW;
		return 0;
	}
	if (!t || t->id >= weir_live.max_tasks) {
		weir_fetch_add(&weir_live.no_memory, 1);
		return 0;
	}
	own->task = (u64)t;
	own->dirty = DIRTY_PRIORITY | (is_bound(p) ? DIRTY_AFFINITY : 0) |
		     (own->group ? DIRTY_GROUP : 0) | (is_batch(p) ? DIRTY_POLICY : 0);
	own->epoch = weir_live.swaps;
	live = live_task(t->id);
	live->tgid = p->tgid;
	live->since_ns = 0;
	live->run_ns = 0;
	live->wait_ns = 0;
	live->started_ns = 0;
	live->cpu = WEIR_NO_CPU;
	live->nr_runs = 0;
	live->nr_migrations = 0;
	live->withheld = 0;
	live->until_ns = 0;
	live->ready_ns = 0;
	{
		char comm[WEIR_LIVE_COMM] = {};
		u64 *from = (u64 *)comm;
		u64 weir_mem *to = (u64 weir_mem *)live->comm;

		bpf_probe_read_kernel_str(comm, sizeof(comm), p->comm);
		to[0] = from[0];
		to[1] = from[1];
	}
	weir_store(&live->pid, p->pid);
	weir_fetch_add(&weir_live.nr_tasks, 1);
	own->urgency = urgency_of(p);
	report_task(p, t->id);
	return 0;
}

/* A waiting task got a new priority. 0: a report is under way. */
__attribute__((noinline)) static int begin_priority_news(void)
{
	struct weir_linux_news weir_mem *news = NEWS(weir_port_cpu());
	struct task_struct *p = bpf_task_from_pid(weir_load(&news->priority));
	struct weir_linux_task *own;
	int err = -WEIR_ENOENT;

	weir_store(&news->priority, 0);
	if (!p)
		return err;
	own = of(p);
	if (own && own->task) {
		struct weir_msg msg = { .cpu = weir_port_cpu(), .task = task_of(own) };

		put_priority(p, &msg);
		err = weir_notify_begin(SCHED, msg.cpu, &msg);
	}
	bpf_task_release(p);
	return err;
}

/* The record of an ended task, or null; the next one in the list is kept in the pending reports. */
WEIR_GLOBAL u64 weir_linux_first_gone(u32 cpu)
{
	u32 id = weir_load(&NEWS(cpu)->gone);

	if (!id)
		return 0;
	/* Another task may get the number right after this. */
	weir_store(&NEWS(cpu)->next_gone, live_task(id - 1)->next_gone);
	report(WEIR_EVENT_EXIT, cpu, id - 1, 0, 0);
	return (u64)weir_task_get(SCHED, id - 1);
}

#define LAST_LATE (~0u)

/*
 * A component has no path for the task. The enqueue that lets it in sees this itself; if that gave up waiting for another CPU, or
 * the path was lost later, the next dispatch here lets the task run outside the graph.
 */
WEIR_INLINE void note_withheld(struct weir_task weir_mem *t)
{
	struct weir_live_task weir_mem *live = live_task(t->id);
	struct weir_linux_news weir_mem *news = NEWS(weir_port_cpu());

	weir_store(&live->withheld, 1);
	if (news->entering == t->id + 1 || weir_cas(&live->next_late, 0, LAST_LATE))
		return;
	if (news->late)
		weir_store(&live->next_late, news->late);
	weir_store(&news->late, t->id + 1);
	scx_bpf_kick_cpu(weir_port_cpu(), SCX_KICK_PREEMPT);
}

/* Remove the first task from the list of late ones; or null. */
WEIR_GLOBAL u64 weir_linux_first_late(u32 cpu)
{
	u32 id = weir_load(&NEWS(cpu)->late), next;

	if (!id)
		return 0;
	next = weir_load(&live_task(id - 1)->next_late);
	weir_store(&NEWS(cpu)->late, next == LAST_LATE ? 0 : next);
	weir_store(&live_task(id - 1)->next_late, 0);
	return (u64)weir_task_get(SCHED, id - 1);
}

/* Whether a task still waits where it has no path. */
static void let_out(struct weir_task weir_mem *t)
{
	struct task_struct *p = bpf_task_from_pid((s32)weir_load(&t->cookie));
	struct weir_linux_task *own;
	u64 claim;
	int err;

	if (!p)
		return;
	own = of(p);
	claim = weir_load_acquire(&t->claim);
	if (own && own->task == (u64)t && weir_claim_state(claim) == WEIR_SCHEDULABLE &&
	    weir_load(&live_task(t->id)->withheld)) {
		err = TIMED(BLOCK, weir_decline(SCHED, weir_port_cpu(), t, claim));
		if (!err) {
			take_out(t, 0);
			run_anywhere(p);
		} else if (err == -WEIR_EAGAIN) {
			/* Another CPU is about to put it into a pipe: try again. */
			note_withheld(t);
		}
	}
	bpf_task_release(p);
}

/* Serve late tasks, as many as one dispatch may insert; another dispatch serves the rest. */
WEIR_INLINE void serve_late(u32 cpu)
{
	for (u32 i = 0; i < weir_unknown(ASIDE_AT_ONCE) && weir_loop; i++) {
		u64 t = weir_linux_first_late(cpu);

		if (!t)
			return;
		let_out((struct weir_task weir_mem *)t);
	}
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* Free the records of ended tasks. */
WEIR_INLINE void serve_gone(u32 cpu)
{
	while (weir_loop) {
		u64 t = weir_linux_first_gone(cpu);

		if (!t || TIMED(EXIT, weir_exit(SCHED, cpu, (struct weir_task weir_mem *)t)) ==
				  -WEIR_EAGAIN)
			break;
		weir_store(&NEWS(cpu)->gone, weir_load(&NEWS(cpu)->next_gone));
	}
}

#endif
