/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The log of source 4, section 8: what each thread did to caches and branch predictors, from its fork to its end, in the kernel's
 * trace (trace_pipe of tracefs). Rates have ten fraction bits, are cut to one, and are added up once per stint; they are
 * printed when the thread stops for the last time, with how many of them were cut. (Combinations and penalties need no such
 * count: the policy's weights add up to one.) research/src/reproduce reads these lines.
 *
 * Without a level (weir_linux_log 0) the verifier drops all of this code.
 */
#ifndef WEIR_LINUX_LOG_H
#define WEIR_LINUX_LOG_H

#include "state.h"

/* (loader, before load) The cache whose misses are logged, 1 to 3; 0: no log. */
WEIR_VISIBLE const volatile u32 weir_linux_log SEC(".rodata");

#define LOG_ONE 1024ull

/* As the line of a thread's end has them. */
struct weir_linux_sums {
	u64 pid;
	u64 tgid;
	u64 cache;
	u64 branch;
	u64 penalty;
	u64 vcsw;
	u64 nvcsw;
	u64 schedules;
	u64 cache_cut;
	u64 branch_cut;
};

struct {
	int (*type)[29];     /* BPF_MAP_TYPE_TASK_STORAGE */
	int (*map_flags)[1]; /* BPF_F_NO_PREALLOC */
	int *key;
	struct weir_linux_sums *value;
} sums SEC(".maps");

static const char fork_line[] = "copy_process: [PMC_SCHED] pid=%d tgid=%d\n";
static const char exit_line[] = "do_exit: [PMC_SCHED] exit\n";
static const char free_line[] = "free_task: [PMC_SCHED] pid=%d tgid=%d cache=%lld branch=%lld "
				"penalty=%lld vcsw=%llu nvcsw=%llu schedules=%llu "
				"cache_cut=%llu branch_cut=%llu\n";

/* The running thread has forked @p. */
WEIR_INLINE void log_fork(struct task_struct *p)
{
	struct weir_linux_sums *sum;

	if (!weir_linux_log)
		return;
	sum = bpf_task_storage_get(&sums, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!sum)
		return;
	sum->pid = p->pid;
	sum->tgid = p->tgid;
	bpf_trace_vprintk(fork_line, sizeof(fork_line), sum, 2 * sizeof(u64));
}

/* Ten-bit fraction of @part in @whole, at most one; what is more is counted in @cut. */
static u64 log_rate(u64 part, u64 whole, u64 *cut)
{
	u64 rate = whole ? (part << 10) / whole : 0;

	if (rate <= LOG_ONE)
		return rate;
	(*cut)++;
	return LOG_ONE;
}

/* Whether the policy counts branches. The counters are then too few for loads of a line on its way to L1, which are
 * misses otherwise. Asked at each stint, as the policy may have changed. */
__attribute__((noinline)) static bool log_has_branches(void)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_PENALTY, .value = WEIR_PENALTY_BRANCHES };

	return !weir_ask(SCHED, weir_port_cpu(), &msg) && msg.value;
}

/* The rate of the level, by the policy's rule. */
static u64 log_cache(const struct weir_counters weir_mem *c, u64 *cut)
{
	u64 missed;

	if (weir_linux_log == 1) {
		missed = c->l1_misses + (log_has_branches() ? 0 : c->lfb_hits);
		return log_rate(missed, c->l1_hits + missed, cut);
	}
	if (weir_linux_log == 2)
		return log_rate(c->l2_misses, c->l2_hits + c->l2_misses, cut);
	return log_rate(c->l3_misses, c->l3_hits + c->l3_misses, cut);
}

/* The penalty that is in force; where only one of its two effects is, that one. */
__attribute__((noinline)) static u64 log_penalty(struct weir_task weir_mem *t)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_PENALTY, .task = t };

	if (weir_ask(SCHED, weir_port_cpu(), &msg))
		return 0;
	return msg.value ? msg.value : msg.value2;
}

/* A stint of @p has ended with these counts; @stays: it is still runnable. */
__attribute__((noinline)) static int log_stint(struct task_struct *p, struct weir_task weir_mem *t,
					       const struct weir_counters weir_mem *c, bool stays)
{
	struct weir_linux_sums *sum = bpf_task_storage_get(&sums, p, 0, 0);
	u64 branch;

	if (!sum)
		return 0;
	sum->cache += log_cache(c, &sum->cache_cut);
	branch = 10 * log_rate(c->mispredicts, c->branches, &sum->branch_cut);
	sum->branch += log_rate(branch, LOG_ONE, &sum->branch_cut);
	sum->penalty += log_penalty(t);
	sum->schedules++;
	if (stays)
		sum->nvcsw++;
	else
		sum->vcsw++;
	if (!stays && p->__state & WEIR_TASK_DEAD) {
		bpf_trace_vprintk(exit_line, sizeof(exit_line), 0, 0);
		bpf_trace_vprintk(free_line, sizeof(free_line), sum, sizeof(*sum));
	}
	return 0;
}

#endif
