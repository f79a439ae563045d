/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Energy-aware placement: while no CPU is near its capacity, a task goes to the smallest CPU that it fits. Small CPUs need less energy for the
 * same work, and a task that fits loses nothing there. Source: Linux 6.12, kernel/sched/fair.c, find_energy_efficient_cpu(), whose
 * model of the energy at each clock is replaced by the order of capacities.
 */
#ifndef WEIR_FRUGAL_H
#define WEIR_FRUGAL_H

#include <weir/kit/rq_load.h>
#include <weir/kit/uclamp.h>

/*
 * A CPU whose tasks use more than four fifths of its capacity is beyond the tipping point, unless the task that ran last is not to have more
 * anyway. (Linux takes the largest clamp of all tasks that wait.)
 */
WEIR_PART int weir_frugal_full(const struct weir_rq_loads weir_mem *loads weir_arg, u32 cpu,
			       u64 used)
{
	u32 port = cpu < loads->map.nr ? loads->map.port[cpu] : 0, spared;

	spared = port ? weir_load(&loads->port[port - 1].spared) : 0;
	return weir_uclamp_room(used, (u64)spared << 32) >
	       weir_cpu_capacity(loads->inst->sched, cpu);
}

/* What the task that @cpu runs from now on may use at most. */
WEIR_INLINE void weir_frugal_runs(struct weir_rq_loads weir_mem *loads, u32 cpu, u64 clamps)
{
	u32 port = cpu < loads->map.nr ? loads->map.port[cpu] : 0;

	if (port)
		weir_store(&loads->port[port - 1].spared, (u32)(clamps >> 32));
}

/*
 * Where a waking task of @util goes, which was on @prev: to the smallest CPU that it fits by its clamps beside the tasks there; among equals
 * to @prev, else to the one with most room. WEIR_NO_CPU: it fits none, or a CPU is beyond the tipping point. O(CPUs).
 */
u32 weir_frugal_cpu(struct weir_rq_loads weir_mem *loads, u32 prev, u64 util, u64 clamps,
		    const struct weir_cpumask weir_mem *mask);

#endif
