/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Per-entity load tracking: the part of the recent past in which a task was runnable, or ran. Time is counted in
 * periods of 1,024 us; each has y times the weight of the next one, with y^32 = 1/2, so the last 32 ms make half of
 * an average.
 *
 * A sum grows by 1,024 for each full period; its limit is WEIR_PELT_MAX. Averages are 1,024 for a task that
 * always runs. Integers only, with the same results as Linux. Source: Linux, kernel/sched/pelt.c.
 */
#ifndef WEIR_PELT_H
#define WEIR_PELT_H

#include <weir/component.h>

/* Sum of 1024 y^n, n from 0 on, in the arithmetic below. */
#define WEIR_PELT_MAX 47742u

struct weir_pelt {
	u64 at;	      /* ns; time of the last update, in steps of 1024 ns */
	u64 load_sum; /* time that it was runnable, times its load */
	u64 util_sum; /* time that it ran, times the CPU's capacity */
	u32 part;     /* of the present period, 1024 ns each */
	u32 unused;
};

/* @value after @n periods, rounded down. O(1). */
u64 weir_pelt_decay(u64 value, u64 n);

/*
 * Since the last update it had the load @load, and ran on a CPU of @capacity (0: it did not run). @now in ns. O(1).
 */
int weir_pelt_update(struct weir_pelt weir_mem *p, u64 now, u64 load, u64 capacity);

/* The divisor of sums: the average of an always runnable entity is its load. */
WEIR_INLINE u64 weir_pelt_divider(const struct weir_pelt weir_mem *p)
{
	return WEIR_PELT_MAX - 1024 + p->part;
}

/* Mean load. */
WEIR_INLINE u64 weir_pelt_load(const struct weir_pelt weir_mem *p)
{
	return p->load_sum / weir_pelt_divider(p);
}

/* The part that it uses of a CPU of capacity 1024, in 1/1024. */
WEIR_INLINE u64 weir_pelt_util(const struct weir_pelt weir_mem *p)
{
	return p->util_sum / weir_pelt_divider(p);
}

#endif
