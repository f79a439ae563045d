/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * In the place of runtimes/linux/kernel.h (it is included first, under the same guard): the few types and functions of the kernel
 * that the adapter uses, made by kernel.c in an ordinary process.
 */
#ifndef WEIR_KERNEL_H
#define WEIR_KERNEL_H

#include <stdbool.h>
#include <string.h>
#include <weir/port.h>

#include "values.h"

#define SEC(name) __attribute__((unused))
#define WEIR_VISIBLE

struct sched_ext_entity {
	u32 flags;
	u64 slice;
};

struct cpumask {
	unsigned long bits[1];
};

/* What follows the adapter's part is the model's own. */
struct task_struct {
	unsigned int __state; /* 0: no task ends here by itself */
	unsigned int flags;
	int prio;
	int static_prio;
	unsigned int policy;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	unsigned short migration_disabled;
	struct sched_ext_entity scx;
	s32 pid;
	s32 tgid;
	char comm[16];
	struct model_task *model;
};

struct kernfs_node {
	u64 id;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct scx_init_task_args {
	bool fork;
	struct cgroup *cgroup;
};

struct scx_cgroup_init_args {
	u32 weight;
	u64 bw_period_us;
	u64 bw_quota_us;
	u64 bw_burst_us;
};

struct scx_exit_info {
	int kind;
	s64 exit_code;
	const char *reason;
	char *msg;
};

#define weir_step_active()	  1
#define weir_kernel_knows(member) 0
#define weir_kernel_has(function) 0

/* The table that the kernel finds the callbacks by; the model calls them by name. */
struct sched_ext_ops {
	void *cgroup_init, *cgroup_exit, *cgroup_move, *cgroup_set_weight, *cgroup_set_bandwidth,
		*select_cpu, *enqueue, *dispatch, *tick, *runnable, *running, *stopping, *quiescent,
		*yield, *set_weight, *set_cpumask, *cpu_release, *init_task, *enable, *disable,
		*cpu_online, *cpu_offline, *init, *exit;
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_F_TIMER_ABS		       1
#ifndef CLOCK_MONOTONIC
#define CLOCK_MONOTONIC 1
#define WEIR_TASK_DEAD	0x80
#endif

/* --- what the model has none of: maps but the tasks' storage, counters, timers, records of events --- */

#define bpf_map_lookup_elem(map, key)		     ((void)(map), (void)(key), (void *)0)
#define bpf_map_update_elem(map, key, value, flags)  ((void)(map), (void)(key), (void)(value), 0)
#define bpf_map_delete_elem(map, key)		     ((void)(map), (void)(key), 0)
#define bpf_trace_vprintk(format, bytes, data, room) ((void)(format), (void)(data))
#define bpf_perf_event_read_value(map, index, to, bytes) \
	((void)(map), (void)(index), (void)(to), -1)
#define bpf_ringbuf_reserve(ring, bytes, flags)	   ((void)(ring), (void *)0)
#define bpf_ringbuf_submit(record, flags)	   ((void)(record))
#define bpf_timer_init(timer, map, clock)	   ((void)(timer), (void)(map), 0)
#define bpf_timer_set_callback(timer, callback)	   ((void)(timer), (void)(callback), 0)
#define bpf_timer_start(timer, ns, flags)	   ((void)(timer), (void)(ns))
#define bpf_local_irq_save___compat(flags)	   ((void)(flags))
#define bpf_local_irq_restore___compat(flags)	   ((void)(flags))
#define bpf_probe_read_kernel(to, bytes, from)	   ((void)memcpy(to, from, bytes))
#define bpf_probe_read_kernel_str(to, bytes, from) ((void)strncpy(to, from, (bytes) - 1))
#define bpf_task_storage_get(map, p, value, flags) \
	((void)(map), (struct weir_linux_task *)model_storage(p))

/* --- the model --- */

static u64 weir_port_faults;
void *model_storage(struct task_struct *p);
u64 bpf_ktime_get_ns(void);
void scx_bpf_kick_cpu(s32 cpu, u64 flags);
void scx_bpf_dispatch_cancel(void);
s32 scx_bpf_task_cpu(const struct task_struct *p);
bool scx_bpf_task_running(const struct task_struct *p);
struct task_struct *bpf_task_from_pid(s32 pid);
void bpf_task_release(struct task_struct *p);
void weir_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags);
bool weir_dsq_move_to_local(u64 dsq_id);

static inline s32 scx_bpf_create_dsq(u64 dsq_id, s32 node)
{
	(void)dsq_id;
	(void)node;
	return 0;
}

static inline bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask)
{
	return __atomic_load_n(&mask->bits[0], __ATOMIC_RELAXED) >> cpu & 1;
}

/* Nothing is recorded. */
static inline bool weir_shows_interrupts(void)
{
	return false;
}

static inline bool weir_in_interrupt(void)
{
	return false;
}

u64 bpf_get_current_pid_tgid(void);

static inline void weir_set_slice(struct task_struct *p, u64 slice)
{
	p->scx.slice = slice;
}

static inline void weir_reenqueue_local(void)
{
}

#endif
