/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Energy-aware placement: while no CPU is near its capacity, a task goes to the smallest CPU that it fits. Small CPUs need less energy for the
 * same work, and a task that fits loses nothing there. Source: Linux 6.12, kernel/sched/fair.c, find_energy_efficient_cpu(), whose
 * model of the energy at each clock is replaced by the order of capacities.
 */
#ifndef WEIR_FRUGAL_H
#define WEIR_FRUGAL_H

#include <weir/kit/rq_load.h>

/* A CPU that uses more than four fifths of its capacity is beyond the tipping point. */
WEIR_INLINE int weir_frugal_full(const struct weir_sched weir_mem *s, u32 cpu, u64 util)
{
	return util * 5 / 4 >= weir_cpu_capacity(s, cpu);
}

/*
 * Where a waking task of @util goes, which was on @prev: to the smallest CPU that it fits; among equals to @prev, else to the one with most
 * room. WEIR_NO_CPU: it fits none, or a CPU is beyond the tipping point, which *@tipped says. O(CPUs).
 */
u32 weir_frugal_cpu(struct weir_rq_loads weir_mem *loads, u32 prev, u64 util,
		    const struct weir_cpumask weir_mem *mask, u32 weir_mem *tipped);

#endif
