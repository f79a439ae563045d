/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Find an idle CPU near another one, as Linux does when a task wakes. Fully idle cores are preferred to cores with a
 * busy sibling; if CPUs differ in capacity, only CPUs that the task fits with a quarter to spare count. A CPU that has tasks of SCHED_IDLE
 * only is as good as an idle one for tasks that preempt them. Source: Linux 6.12, kernel/sched/fair.c, select_idle_sibling().
 */
#ifndef WEIR_IDLE_SIBLING_H
#define WEIR_IDLE_SIBLING_H

#include <weir/component.h>
#include <weir/cpus.h>

/* Whether the CPU is present and waits for work. */
WEIR_INLINE int weir_cpu_waits(const struct weir_sched weir_mem *s, u32 cpu)
{
	return weir_cpu_is_idle(s, cpu) && weir_cpu_is_online(s, cpu);
}

/* Whether the CPU is present and in @mask (null: any). */
WEIR_INLINE int weir_cpu_may(const struct weir_sched weir_mem *s, u32 cpu,
			     const struct weir_cpumask weir_mem *mask)
{
	return cpu < weir_nr_cpus(s) && weir_cpu_is_online(s, cpu) &&
	       (!mask || weir_mask_test(mask, cpu));
}

/* Which CPUs are near each other, so that a search visits no others. 16 bytes per CPU. */
struct weir_near {
	struct weir_instance weir_mem *inst; /* (c) */
	/* (c) by CPU: a mask of the other threads of its core, within its word of a set of CPUs */
	u64 weir_mem *threads;
	/* (c) by number of the cache, and of the node: the words of a set of CPUs between which its CPUs lie */
	struct weir_span weir_mem *llc;
	struct weir_span weir_mem *node;
	/* (a) by CPU: it has tasks, and all of them are of SCHED_IDLE; kept by whoever counts them */
	struct weir_cpumask lazy;
};

/* 1 + the first word and 1 + the last one; 0: it has no CPU. */
struct weir_span {
	u16 first;
	u16 last;
};

/* Whether a task of SCHED_IDLE, @idle, or of another policy finds nothing on the CPU that it would have to wait for. */
WEIR_INLINE int weir_cpu_free(const struct weir_sched weir_mem *s,
			      const struct weir_near weir_mem *near, u32 cpu, int idle)
{
	return weir_cpu_waits(s, cpu) ||
	       (!idle && weir_mask_test(&near->lazy, cpu) && weir_cpu_is_online(s, cpu));
}

/* In construct. 0 or -WEIR_ENOMEM. O(CPUs). */
int weir_near_construct(struct weir_instance weir_mem *self, struct weir_near weir_mem *near);

/*
 * Whether no thread of the CPU's core is busy. O(1): checks threads with neighbouring numbers, not threads numbered half
 * a machine apart.
 */
WEIR_INLINE int weir_core_idle(const struct weir_sched weir_mem *s,
			       const struct weir_near weir_mem *near, u32 cpu)
{
	return !(near->threads[cpu] & ~weir_idle_word(s, cpu / 64));
}

/*
 * An idle CPU of @target's cache that the task fits, one that the first in-pipe of the instance leads to: @target itself,
 * @prev, else any; with the largest capacity if it fits none; WEIR_NO_CPU: none is idle. @need: the smallest capacity
 * that the task fits (weir_uclamp_room()); 0: CPUs do not differ. Where they do, the CPUs of the node count too, after
 * those of the cache. With WEIR_SIBLING_WAITS, a CPU with tasks of SCHED_IDLE is not idle. (The kernel passes five arguments.)
 * O(idle CPUs of the cache, or of the node).
 */
#define WEIR_SIBLING_WAITS (1ull << 63)
u32 weir_idle_sibling(const struct weir_near weir_mem *near, u32 target, u32 prev, u64 need,
		      const struct weir_cpumask weir_mem *mask);

#endif
