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
	u64 lot;			     /* (c) drawn, see weir_lot() */
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

/*
 * The place of @cpu among CPUs that are equally good, 24 bits; the largest is taken. Numbers are names, so who asks has an order of all CPUs
 * that was drawn by lot, and keeps it: a task that leaves its CPU again and again goes to the same ones. Of any two, each is as likely to be first.
 */
WEIR_INLINE u64 weir_lot_of(u64 lot, u32 cpu)
{
	return (cpu ^ lot) * 0x9e3779b97f4a7c15ull >> 40;
}

/* The lot of @by. */
WEIR_INLINE u64 weir_lot(const struct weir_near weir_mem *near, u64 by)
{
	return near->lot + by * 0xbf58476d1ce4e5b9ull;
}

/* What a search compares: @rank, then the lot, with the CPU. */
WEIR_INLINE u64 weir_ranked(u64 rank, u64 lot, u32 cpu)
{
	return rank << 40 | weir_lot_of(lot, cpu) << 16 | cpu;
}

/* The CPU, WEIR_NO_CPU if its rank is 0. */
WEIR_INLINE u32 weir_ranked_cpu(u64 best)
{
	return best >> 40 ? best & 0xffff : WEIR_NO_CPU;
}

/* Less than any with a rank. */
#define WEIR_RANKED_NONE ((1ull << 40) - 1)

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
 * that the task fits (weir_uclamp_room()); 0: CPUs do not differ. Where they do, the CPUs of a node are as
 * good as those of one cache. Added to it: WEIR_SIBLING_WAITS, if a CPU with tasks of SCHED_IDLE is not idle, and WEIR_SIBLING_BY(the task's
 * number), whose lot decides. (The kernel passes five arguments.) O(idle CPUs of the cache, or of the node).
 */
#define WEIR_SIBLING_WAITS  (1ull << 63)
#define WEIR_SIBLING_BY(id) ((u64)(id) << 24)
#define WEIR_SIBLING_NEED   ((1ull << 24) - 1)
u32 weir_idle_sibling(const struct weir_near weir_mem *near, u32 target, u32 prev, u64 need,
		      const struct weir_cpumask weir_mem *mask);

#endif
