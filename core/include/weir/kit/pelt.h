/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Load tracking by entity: how much of the recent past a task wanted to run, or ran. Time counts in periods of
 * 1,024 us, each of which weighs y times what the next one does, with y^32 = 1/2: half of an average is made by
 * the last 32 ms.
 *
 * A sum grows by 1,024 for each full period; its limit is WEIR_PELT_MAX. Averages are 1,024 for a task that
 * always runs. Integers only, as in Linux: the same numbers come out. Source: Linux, kernel/sched/pelt.c.
 */
#ifndef WEIR_PELT_H
#define WEIR_PELT_H

#include <weir/component.h>

/* Sum of 1024 y^n, n from 0 on, in the arithmetic below. */
#define WEIR_PELT_MAX 47742u

struct weir_pelt {
	u64 at;	      /* ns; up to here, in steps of 1024 ns */
	u64 load_sum; /* time that it was there, times the load that it had */
	u64 util_sum; /* time that it ran, times the CPU's capacity */
	u32 part;     /* of the present period, 1024 ns each */
	u32 unused;
};

/* @value after @n periods, rounded down. O(1). */
u64 weir_pelt_decay(u64 value, u64 n);

/*
 * Since it was looked at last it had the load @load, and ran on a CPU of @capacity (0: it did not run). @now in ns.
 * O(1).
 */
int weir_pelt_update(struct weir_pelt weir_mem *p, u64 now, u64 load, u64 capacity);

/* By what sums are divided, so that what is always there has its load as the average. */
WEIR_INLINE u64 weir_pelt_divider(const struct weir_pelt weir_mem *p)
{
	return WEIR_PELT_MAX - 1024 + p->part;
}

/* Mean load. */
WEIR_INLINE u64 weir_pelt_load(const struct weir_pelt weir_mem *p)
{
	return p->load_sum / weir_pelt_divider(p);
}

/* Part of a CPU of capacity 1024 that it uses, in 1/1024. */
WEIR_INLINE u64 weir_pelt_util(const struct weir_pelt weir_mem *p)
{
	return p->util_sum / weir_pelt_divider(p);
}

#endif
