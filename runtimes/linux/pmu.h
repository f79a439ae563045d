/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Hardware counts for each stint of a task: perf events that the loader opened on each CPU, reported to the graph as
 * COUNTERS when the task stops. Without them (weir_linux_pmu 0) the verifier drops all of this code.
 *
 * A kernel that multiplexes its counters reports how long each event was counted: counts are scaled
 * up in proportion.
 */
#ifndef WEIR_LINUX_PMU_H
#define WEIR_LINUX_PMU_H

#include "log.h"
#include "report.h"

#define NR_COUNTED ((u32)(sizeof(struct weir_counters) / sizeof(u64)))

/* (loader, before load) 1: perf events exist, and a program like this may read them (Linux 6.15). */
WEIR_VISIBLE const volatile u32 weir_linux_pmu SEC(".rodata");

/* By field of struct weir_counters * CPUs + CPU. */
struct {
	int (*type)[4]; /* BPF_MAP_TYPE_PERF_EVENT_ARRAY */
	u32 *key;
	u32 *value;
	int (*max_entries)[NR_COUNTED]; /* the loader sets it */
} perf_events SEC(".maps");

/* State of one CPU; only that CPU writes it. */
struct weir_linux_pmu {
	struct weir_counters stint;
	struct bpf_perf_event_value start[NR_COUNTED];
	u64 began; /* 1: a stint began, and its start is known */
};

/* Address in the arena of struct weir_linux_pmu of each CPU. */
static u64 pmus;

static int make_pmus(u32 nr_cpus)
{
	if (weir_linux_pmu)
		pmus = weir_alloc_at(SCHED, nr_cpus * sizeof(struct weir_linux_pmu));
	return !weir_linux_pmu || pmus;
}

/* Events between two readings of a counter, which may have wrapped. */
static u64 counted(const struct bpf_perf_event_value weir_mem *from,
		   const struct bpf_perf_event_value *to)
{
	u64 events = (to->counter - from->counter) & ((1ull << WEIR_COUNTER_BITS) - 1);
	u64 enabled = to->enabled - from->enabled, running = to->running - from->running;

	if (!running)
		return 0;
	if (running < enabled)
		events = events * ((enabled << 10) / running) >> 10;
	return events;
}

/* If only all loads of a level can be counted, subtract the misses. */
static void take_off(u64 weir_mem *loads, u64 misses)
{
	*loads -= misses < *loads ? misses : *loads;
}

/* Read all counters of this CPU: the stint begins or, with @ends, ends. */
WEIR_GLOBAL int weir_linux_count(u32 cpu, u32 ends)
{
	struct weir_linux_pmu weir_mem *pmu = IN_TABLE(struct weir_linux_pmu, pmus, cpu);
	u64 weir_mem *stint = (u64 weir_mem *)&pmu->stint;
	struct bpf_perf_event_value now;
	u64 before = weir_linux_log ? bpf_ktime_get_ns() : 0;

	for (u32 i = 0; i < weir_unknown(NR_COUNTED) && weir_loop; i++) {
		struct bpf_perf_event_value weir_mem *start = &pmu->start[i];
		u64 events = 0;

		if (weir_live.counting >> i & 1 &&
		    !bpf_perf_event_read_value(&perf_events, i * weir_live.nr_cpus + cpu, &now,
					       sizeof(now))) {
			if (ends)
				events = counted(start, &now);
			start->counter = now.counter;
			start->enabled = now.enabled;
			start->running = now.running;
		}
		if (ends)
			stint[i] = events;
	}
	if (weir_linux_log) {
		counters()->count_ns += bpf_ktime_get_ns() - before;
		counters()->readings++;
	}
	if (ends && weir_live.counting & WEIR_COUNT_L1_LOADS)
		take_off(&pmu->stint.l1_hits, pmu->stint.l1_misses);
	if (ends && weir_live.counting & WEIR_COUNT_L3_LOADS)
		take_off(&pmu->stint.l3_hits, pmu->stint.l3_misses);
	return 0;
}

/* Whether a component of the present graph listens. */
WEIR_INLINE bool counters_wanted(void)
{
	return weir_linux_pmu && SCHED->graph && SCHED->graph->subs[WEIR_TOPIC_COUNTERS].nr;
}

WEIR_INLINE void stint_begins(u32 cpu)
{
	if (!counters_wanted())
		return;
	weir_linux_count(cpu, 0);
	IN_TABLE(struct weir_linux_pmu, pmus, cpu)->began = 1;
}

/* (Not inline: the message would enlarge the caller's frame.) */
__attribute__((noinline)) static int begin_stint_news(struct weir_task weir_mem *t)
{
	u32 cpu = weir_port_cpu();
	struct weir_linux_pmu weir_mem *pmu = IN_TABLE(struct weir_linux_pmu, pmus, cpu);
	struct weir_msg msg = { .topic = WEIR_TOPIC_COUNTERS, .cpu = cpu, .task = t };

	if (!pmu->began)
		return -WEIR_ENOENT;
	pmu->began = 0;
	weir_linux_count(cpu, 1);
	COUNT(stints);
	counters()->instructions += pmu->stint.instructions;
	msg.counters = &pmu->stint;
	return weir_notify_begin(SCHED, cpu, &msg);
}

/* The stint of @p, which is @t here, is over; @stays: it is still runnable. */
WEIR_INLINE void stint_ends(struct task_struct *p, struct weir_task weir_mem *t, bool stays)
{
	u32 cpu = weir_port_cpu();

	if (!counters_wanted())
		return;
	call_begins(WEIR_CALL_NOTIFY);
	if (!begin_stint_news(t)) {
		weir_notify_end(SCHED);
		weir_linux_call_over(WEIR_CALL_NOTIFY);
		if (weir_linux_log)
			log_stint(p, t, &IN_TABLE(struct weir_linux_pmu, pmus, cpu)->stint, stays);
	}
}

#endif
