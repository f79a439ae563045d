/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * An idle CPU near another one, as Linux looks for it when a task wakes. A core of which no thread is busy comes
 * before one whose sibling is; where CPUs differ in capacity only those count that the task fits, with a quarter to
 * spare. Source: Linux 6.12, kernel/sched/fair.c, select_idle_sibling().
 */
#ifndef WEIR_IDLE_SIBLING_H
#define WEIR_IDLE_SIBLING_H

#include <weir/component.h>
#include <weir/cpus.h>

/* The CPU is there and waits for work. */
WEIR_INLINE int weir_cpu_waits(const struct weir_sched weir_mem *s, u32 cpu)
{
	return weir_cpu_is_idle(s, cpu) && weir_cpu_is_online(s, cpu);
}

/* The CPU is there, and @mask (null: any) has it. */
WEIR_INLINE int weir_cpu_may(const struct weir_sched weir_mem *s, u32 cpu,
			     const struct weir_cpumask weir_mem *mask)
{
	return cpu < weir_nr_cpus(s) && weir_cpu_is_online(s, cpu) &&
	       (!mask || weir_mask_test(mask, cpu));
}

/* No thread of the CPU's core is busy. O(64): threads that are numbered as neighbours are looked at. */
int weir_core_idle(const struct weir_sched weir_mem *s, u32 cpu);

/*
 * An idle CPU of @target's cache that the task fits, one that the first in-pipe of @self leads to: @target itself,
 * @prev, else any; with the largest capacity if it fits none; WEIR_NO_CPU: none is idle. @need: 1 + what the task
 * used of late, in 1/1024 of a CPU of capacity 1024; 0: CPUs do not differ. Where they do, the CPUs of a node are as
 * good as those of one cache. O(idle CPUs).
 */
u32 weir_idle_sibling(struct weir_instance weir_mem *self, u32 target, u32 prev, u64 need,
		      const struct weir_cpumask weir_mem *mask);

#endif
