/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * All that the adapter knows about the kernel: a few members of its types, found in the running kernel when the
 * object is loaded (CO-RE), and its functions, some of which have changed names. sched_ext does not promise
 * stability; all adaptations to kernel versions are here.
 */
#ifndef WEIR_KERNEL_H
#define WEIR_KERNEL_H

#include <weir/port.h>

#include "values.h"

#define SEC(name) __attribute__((section(name), used, visibility("default")))
/* Shared with the loader or with the kernel: not hidden like the rest of the unit. */
#define WEIR_VISIBLE __attribute__((visibility("default")))
#define __ksym	     __attribute__((section(".ksyms"), visibility("default")))
#define __ksym_weak  __attribute__((section(".ksyms"), weak, visibility("default")))

typedef _Bool bool;

/* --- types ----------------------------------------------------------------------------------------- */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_ext_entity {
	u32 flags;
	u64 slice;
};

/* Complete, because the kernel compares the types of its functions' arguments. */
struct cpumask {
	unsigned long bits[1];
};

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int prio; /* below 100: of a class above ours */
	int static_prio;
	unsigned int policy;
	int nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	unsigned short migration_disabled;
	struct sched_ext_entity scx;
	s32 pid;
	s32 tgid;
	char comm[16];
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
	struct cgroup *cgroup; /* only with CONFIG_EXT_GROUP_SCHED */
};

struct scx_cgroup_init_args {
	u32 weight;	  /* as in cpu.weight */
	u64 bw_period_us; /* the limit: from Linux 6.17 on */
	u64 bw_quota_us;
	u64 bw_burst_us;
};

struct scx_cpu_release_args;

enum scx_exit_kind { SCX_EXIT_NONE };

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
};

#pragma clang attribute pop

/* Steps of a CPU's way up and down (include/linux/cpuhotplug.h); their numbers differ from kernel to kernel. */
enum cpuhp_state { CPUHP_AP_ACTIVE = 1 };
#define weir_step_active()                                                        \
	((s32)__builtin_preserve_enum_value(*(enum cpuhp_state *)CPUHP_AP_ACTIVE, \
					    1 /* BPF_ENUMVAL_VALUE */))

/* The kernel's type has the member. */
#define weir_kernel_knows(member) __builtin_preserve_field_info(member, 2 /* BPF_FIELD_EXISTS */)

/*
 * Members that we set; libbpf matches them by name. The first ones depend on the kernel's configuration and version: the loader
 * clears members that the kernel does not have (crates/weir-linux/src/object.rs).
 */
struct sched_ext_ops {
	s32 (*cgroup_init)(struct cgroup *cgrp, struct scx_cgroup_init_args *args);
	void (*cgroup_exit)(struct cgroup *cgrp);
	void (*cgroup_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_set_weight)(struct cgroup *cgrp, u32 weight);
	void (*cgroup_set_bandwidth)(struct cgroup *cgrp, u64 period_us, u64 quota_us,
				     u64 burst_us);
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *mask);
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

/* --- helpers of BPF (include/uapi/linux/bpf.h, by number) -------------------------------------------- */

#define WEIR_BPF_HELPER(nr, type, name, ...) \
	static type (*const name)(__VA_ARGS__) __attribute__((unused)) = (type(*)(__VA_ARGS__))(nr)

WEIR_BPF_HELPER(1, void *, bpf_map_lookup_elem, void *map, const void *key);
WEIR_BPF_HELPER(2, long, bpf_map_update_elem, void *map, const void *key, const void *value,
		u64 flags);
WEIR_BPF_HELPER(3, long, bpf_map_delete_elem, void *map, const void *key);
WEIR_BPF_HELPER(5, u64, bpf_ktime_get_ns, void);
WEIR_BPF_HELPER(14, u64, bpf_get_current_pid_tgid, void);
WEIR_BPF_HELPER(55, long, bpf_perf_event_read_value, void *map, u64 index,
		struct bpf_perf_event_value *to, u32 bytes);
WEIR_BPF_HELPER(113, long, bpf_probe_read_kernel, void *to, u32 bytes, const void *from);
WEIR_BPF_HELPER(115, long, bpf_probe_read_kernel_str, void *to, u32 bytes, const void *from);
WEIR_BPF_HELPER(131, void *, bpf_ringbuf_reserve, void *ring, u64 bytes, u64 flags);
WEIR_BPF_HELPER(132, void, bpf_ringbuf_submit, void *record, u64 flags);
WEIR_BPF_HELPER(154, void *, bpf_this_cpu_ptr, const void *percpu);
WEIR_BPF_HELPER(156, void *, bpf_task_storage_get, void *map, struct task_struct *p, void *value,
		u64 flags);
WEIR_BPF_HELPER(169, long, bpf_timer_init, struct bpf_timer *timer, void *map, u64 flags);
WEIR_BPF_HELPER(170, long, bpf_timer_set_callback, struct bpf_timer *timer, void *callback);
WEIR_BPF_HELPER(171, long, bpf_timer_start, struct bpf_timer *timer, u64 ns, u64 flags);
WEIR_BPF_HELPER(177, long, bpf_trace_vprintk, const char *format, u32 bytes, const void *data,
		u32 data_bytes);

#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_F_TIMER_ABS		       1
#define CLOCK_MONOTONIC		       1
#define WEIR_TASK_DEAD		       0x80 /* in __state */

/* --- functions of the kernel ------------------------------------------------------------------------- */

/* Per CPU: how deep it is in interrupts. Linux 6.15 and later. */
extern const int __preempt_count __ksym_weak;
extern s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
extern void scx_bpf_dispatch_cancel(void) __ksym;
extern s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
extern bool scx_bpf_task_running(const struct task_struct *p) __ksym;
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask) __ksym;

/* Linux 6.14. */
extern void bpf_local_irq_save___compat(u64 *flags) __ksym_weak;
extern void bpf_local_irq_restore___compat(u64 *flags) __ksym_weak;
/* Linux 6.15; only to detect that version. (libbpf finds no function whose arguments have incomplete types here.) */
struct scx_event_stats {
	s64 SCX_EV_SELECT_CPU_FALLBACK;
};
extern void scx_bpf_events___compat(struct scx_event_stats *events, u64 bytes) __ksym_weak;
/* Linux 6.12: dispatch and consume; from 6.13 dsq_insert and dsq_move_to_local; from 6.19 and 7.1 a second version. */
extern void scx_bpf_dispatch___compat(struct task_struct *p, u64 dsq_id, u64 slice,
				      u64 enq_flags) __ksym_weak;
extern void scx_bpf_dsq_insert___compat(struct task_struct *p, u64 dsq_id, u64 slice,
					u64 enq_flags) __ksym_weak;
extern bool scx_bpf_dsq_insert___v2___compat(struct task_struct *p, u64 dsq_id, u64 slice,
					     u64 enq_flags) __ksym_weak;
extern bool scx_bpf_consume___compat(u64 dsq_id) __ksym_weak;
extern bool scx_bpf_dsq_move_to_local___compat(u64 dsq_id) __ksym_weak;
extern bool scx_bpf_dsq_move_to_local___v2___compat(u64 dsq_id, u64 enq_flags) __ksym_weak;
/* Linux 6.19; before, the member is written. */
extern bool scx_bpf_task_set_slice___compat(struct task_struct *p, u64 slice) __ksym_weak;
extern u32 scx_bpf_reenqueue_local___compat(void) __ksym_weak;
extern void scx_bpf_reenqueue_local___v2___compat(void) __ksym_weak;

/* Whether the kernel has the function; if not, the verifier drops the branch. */
#define weir_kernel_has(function) (!!(function))

/* (A function of its own: which of them the kernel has would wait in the frame of a dispatch.) */
__attribute__((noinline)) static void weir_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice,
						      u64 enq_flags)
{
	if (weir_kernel_has(scx_bpf_dsq_insert___v2___compat))
		scx_bpf_dsq_insert___v2___compat(p, dsq_id, slice, enq_flags);
	else if (weir_kernel_has(scx_bpf_dsq_insert___compat))
		scx_bpf_dsq_insert___compat(p, dsq_id, slice, enq_flags);
	else
		scx_bpf_dispatch___compat(p, dsq_id, slice, enq_flags);
}

WEIR_INLINE bool weir_dsq_move_to_local(u64 dsq_id)
{
	if (weir_kernel_has(scx_bpf_dsq_move_to_local___v2___compat))
		return scx_bpf_dsq_move_to_local___v2___compat(dsq_id, 0);
	if (weir_kernel_has(scx_bpf_dsq_move_to_local___compat))
		return scx_bpf_dsq_move_to_local___compat(dsq_id);
	return scx_bpf_consume___compat(dsq_id);
}

/* Whether it can be known that this is an interrupt. */
WEIR_INLINE bool weir_shows_interrupts(void)
{
	return weir_kernel_has(&__preempt_count);
}

/* Bits of __preempt_count: in an NMI, in an interrupt, serving a softirq. */
WEIR_INLINE bool weir_in_interrupt(void)
{
	return *(const int *)bpf_this_cpu_ptr(&__preempt_count) & 0xff0100;
}

WEIR_INLINE void weir_set_slice(struct task_struct *p, u64 slice)
{
	if (weir_kernel_has(scx_bpf_task_set_slice___compat))
		scx_bpf_task_set_slice___compat(p, slice);
	else
		p->scx.slice = slice;
}

WEIR_INLINE void weir_reenqueue_local(void)
{
	if (weir_kernel_has(scx_bpf_reenqueue_local___v2___compat))
		scx_bpf_reenqueue_local___v2___compat();
	else
		scx_bpf_reenqueue_local___compat();
}

#endif
