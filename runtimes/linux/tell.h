/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Counters and the event ring: what the adapter tells the loader. */
#ifndef WEIR_LINUX_TELL_H
#define WEIR_LINUX_TELL_H

#include "state.h"

WEIR_INLINE struct weir_live_cpu *counters(void)
{
	return &weir_live.cpus[weir_port_cpu() & (WEIR_MAX_CPUS - 1)];
}

#define COUNT(field) (counters()->field++)

WEIR_INLINE struct weir_live_task weir_mem *live_task(u32 id)
{
	/* Numbers beyond the table share its last entry, which nobody reads. */
	return IN_TABLE(struct weir_live_task, weir_live.tasks, id < weir_live.max_tasks ? id : weir_live.max_tasks);
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

WEIR_GLOBAL int weir_linux_tell(u32 kind, u32 cpu, u32 task, u32 pid, u64 value)
{
	struct weir_live_event *e = new_event(kind, cpu, task, pid, value);

	if (e)
		bpf_ringbuf_submit(e, 0);
	return 0;
}

WEIR_INLINE void tell(u32 kind, u32 cpu, u32 task, u32 pid, u64 value)
{
	if (weir_live.recording)
		weir_linux_tell(kind, cpu, task, pid, value);
}

static void tell_task(struct task_struct *p, u32 task)
{
	struct weir_live_event *e;

	if (!weir_live.recording)
		return;
	e = new_event(WEIR_EVENT_TASK, 0, task, p->pid, p->tgid);
	if (!e)
		return;
	bpf_probe_read_kernel_str(e->comm, sizeof(e->comm), p->comm);
	bpf_ringbuf_submit(e, 0);
}

#endif
