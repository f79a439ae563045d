/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Counters and the event ring: what the adapter reports to the loader. */
#ifndef WEIR_LINUX_REPORT_H
#define WEIR_LINUX_REPORT_H

#include "state.h"

WEIR_INLINE struct weir_live_cpu *counters(void)
{
	return &weir_live.cpus[weir_port_cpu() & (WEIR_MAX_CPUS - 1)];
}

#define COUNT(field) (counters()->field++)

#define GAUGE(cpu) IN_TABLE(struct weir_live_gauge, weir_live.gauges, cpu)

/* These come with each turn of a task: one in TIMED_EACH of a kind is timed. A reading of the clock takes as long as a stage. */
#define FREQUENT                                                                        \
	(1u << WEIR_CALL_UNBLOCK | 1u << WEIR_CALL_RELINQUISH | 1u << WEIR_CALL_BLOCK | \
	 1u << WEIR_CALL_PICK | 1u << WEIR_CALL_NOTIFY)
#define TIMED_EACH 64

/*
 * Measures how long calls of the core take, always. The start time is kept in memory: calls of one CPU do not overlap, and the code in
 * between has no stack to spare.
 */
WEIR_INLINE void call_begins(u32 call)
{
	struct weir_live_gauge weir_mem *gauge = GAUGE(weir_port_cpu());

	gauge->began_ns = (FREQUENT >> call & 1) && gauge->calls[call].nr % TIMED_EACH
				  ? 0
				  : bpf_ktime_get_ns();
}

WEIR_GLOBAL int weir_linux_call_over(u32 call)
{
	struct weir_live_gauge weir_mem *gauge = GAUGE(weir_port_cpu());
	struct weir_live_calls weir_mem *calls;
	u64 took;

	if (call >= WEIR_NR_CALLS)
		return 0;
	calls = &gauge->calls[call];
	weir_store(&calls->nr, calls->nr + 1);
	if (!gauge->began_ns)
		return 0;
	took = bpf_ktime_get_ns() - gauge->began_ns;
	weir_store(&calls->nr_timed, calls->nr_timed + 1);
	weir_store(&calls->total_ns, calls->total_ns + took);
	if (took > WEIR_LONG_CALL_NS)
		weir_store(&calls->nr_long, calls->nr_long + 1);
	if (took > weir_load(&calls->longest_ns))
		weir_store(&calls->longest_ns, took);
	return 0;
}

/* Evaluate @call, and count it as a call of its kind. */
#define TIMED(kind, call)                               \
	({                                              \
		call_begins(WEIR_CALL_##kind);          \
		__typeof__(call) made_ = (call);        \
		weir_linux_call_over(WEIR_CALL_##kind); \
		made_;                                  \
	})

WEIR_INLINE void note_failure(u32 call, int err, u32 state)
{
	COUNT(failures);
	counters()->failed = (u64)call | (u64)(u32)-err << 8 | (u64)state << 16;
}

/* The bucket of a time: see live.h. */
WEIR_INLINE u32 bucket_of(u64 ns)
{
	u64 units = ns >> WEIR_WAIT_UNIT_BITS, ones = units;
	u32 top;

	/* The highest bit, without a branch per bit. */
	ones |= ones >> 1;
	ones |= ones >> 2;
	ones |= ones >> 4;
	ones |= ones >> 8;
	ones |= ones >> 16;
	ones |= ones >> 32;
	top = weir_count_bits(ones >> 1);
	if (top < 3)
		return units;
	return (top - 2) * 8 + (units >> (top - 3) & 7);
}

/* A wait of this kind ended here. */
WEIR_GLOBAL int weir_linux_waited(u32 cpu, u32 kind, u64 ns)
{
	u32 bucket = bucket_of(ns);
	struct weir_live_waits weir_mem *waits;

	if (kind >= WEIR_NR_WAITS)
		return 0;
	if (bucket >= WEIR_WAIT_BUCKETS)
		bucket = WEIR_WAIT_BUCKETS - 1;
	waits = &GAUGE(cpu)->waits[kind];
	weir_store(&waits->nr[bucket], waits->nr[bucket] + 1);
	weir_store(&waits->total_ns, waits->total_ns + ns);
	if (ns > weir_load(&waits->longest_ns))
		weir_store(&waits->longest_ns, ns);
	return 0;
}

WEIR_INLINE struct weir_live_task weir_mem *live_task(u32 id)
{
	/* Numbers beyond the table share its last entry, which is not read. */
	return IN_TABLE(struct weir_live_task, weir_live.tasks,
			id < weir_live.max_tasks ? id : weir_live.max_tasks);
}

/* A record of the ring, to be submitted; null and counted if the ring is full. */
WEIR_INLINE struct weir_live_event *new_event(u32 kind, u32 cpu, u32 task, u32 pid, u64 value)
{
	struct weir_live_event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);

	if (!e) {
		COUNT(lost_events);
		return 0;
	}
	e->t_ns = bpf_ktime_get_ns();
	e->kind = kind;
	e->cpu = cpu;
	e->task = task;
	e->pid = pid;
	e->value = value;
	return e;
}

WEIR_GLOBAL int weir_linux_report(u32 kind, u32 cpu, u32 task, u32 pid, u64 value)
{
	struct weir_live_event *e = new_event(kind, cpu, task, pid, value);

	if (e)
		bpf_ringbuf_submit(e, 0);
	return 0;
}

WEIR_INLINE void report(u32 kind, u32 cpu, u32 task, u32 pid, u64 value)
{
	if (weir_live.recording)
		weir_linux_report(kind, cpu, task, pid, value);
}

/* Priority and policy of the task, as events have them. */
WEIR_INLINE u32 urgency_of(const struct task_struct *p)
{
	return (u32)p->static_prio | p->policy << 8;
}

static void report_task(struct task_struct *p, u32 task)
{
	struct weir_live_event *e;

	if (!weir_live.recording)
		return;
	e = new_event(WEIR_EVENT_TASK, 0, task, p->pid, (u64)urgency_of(p) << 32 | (u32)p->tgid);
	if (!e)
		return;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), p->comm);
	bpf_ringbuf_submit(e, 0);
}

#endif
