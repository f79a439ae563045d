/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Fluid shares in whole nanoseconds, for components with per-CPU assignment that cut time at deadlines.
 *
 * Between its release and its deadline a job should advance in proportion to time. Time is cut into slices
 * at all deadlines and expected releases; in a slice each job gets a lot, the time that it should run in
 * that slice. Lots are whole numbers: the jobs' ideal progress is summed up in the order of the rows, the
 * sums are rounded up, and a job's progress is the difference of two neighbouring sums. So a job has exactly
 * its execution time at its deadline, the lots of a slice never exceed the CPUs' time if the shares do not,
 * and no lot is longer than the slice as long as each job's share of a slice, and the rest of the slice,
 * are 2 ns or more; else a job may be late by a nanosecond.
 *
 * The slice ends at an unexpected release. The remaining lots are then spread evenly over the time until its
 * former end, which leaves the new job its full share. That holds for three nested releases of this kind;
 * further ones may finish late.
 *
 * Source: Levin, Funk, Sadowski, Pye and Brandt, "DP-FAIR: a simple model for understanding optimal
 * multiprocessor scheduling", 2010, for slices; the rounding is ours (docs/decisions/0013).
 */
#ifndef WEIR_FLUID_H
#define WEIR_FLUID_H

#include <weir/kit/assign.h>

/* Nested shortened slices that a row tracks. */
#define WEIR_FLUID_MAX_LEGS 3

/* Words of a row that the functions below use. Times in ns, absolute unless stated otherwise. */
enum weir_fluid_word {
	WEIR_FLUID_FROM,     /* when the job's time began */
	WEIR_FLUID_SPAN,     /* until it ends; 0: no job yet */
	WEIR_FLUID_BASE,     /* `used` when the slice began */
	WEIR_FLUID_LOT,	     /* time that it should run in the slice */
	WEIR_FLUID_LEG_FROM, /* when the first leg began, if there are any */
	WEIR_FLUID_LEG_BASE, /* `used` by then */
	/* legs back to the line from release to deadline, at most WEIR_FLUID_MAX_LEGS */
	WEIR_FLUID_LEGS,
	WEIR_FLUID_LEG, /* a pair per leg: when it ends, and the target of `used` there */
	WEIR_FLUID_WORDS = WEIR_FLUID_LEG + 2 * WEIR_FLUID_MAX_LEGS,
};

/* The slice; part of a component's state, under the lock that steps are taken under. */
struct weir_fluid {
	u64 start; /* (h) ns */
	u64 end;   /* (h) ns; 0: there has been none */
	u64 lots;  /* (h) their sum, ns */
	u64 jobs;  /* (h) rows with a lot */
};

/* Bits of a part: fractions count in 2^-31. */
#define WEIR_PART_BITS 31

/*
 * a * b / c without overflow, and the remainder's part of c in 2^-31, rounded down. @a is not above @c, which
 * is below 2^63 and not zero. O(1); the product of large numbers takes 64 steps.
 */
u64 weir_share(u64 a, u64 b, u64 c, u64 *part);

/*
 * A slice begins at @now: new jobs are started, each ready row gets its lot in WEIR_FLUID_LOT, and `end`
 * says when to call again, unless an event comes earlier. All flags of the rows except READY and RUNS are
 * cleared. Under the lock. O(rows).
 */
int weir_fluid_slice(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
		     struct weir_fluid weir_mem *fluid, u64 now);

/* The time that @r must still run in the slice; `used` is up to date. */
WEIR_INLINE u64 weir_fluid_left(const struct weir_rt weir_mem *r)
{
	u64 had = r->used - r->x[WEIR_FLUID_BASE];

	return r->state & WEIR_RT_READY && r->x[WEIR_FLUID_LOT] > had ? r->x[WEIR_FLUID_LOT] - had
								      : 0;
}

#endif
