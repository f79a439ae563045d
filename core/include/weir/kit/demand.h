/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Whether the hard tasks of one CPU always meet their deadlines under EDF: the admission test for deadlines that may be
 * before the end of the period, where the sum of utilisations is not sufficient.
 *
 * EDF is optimal on one CPU (Dertouzos, 1974), so a set's demand exceeds the time of some interval exactly if its EDF
 * schedule misses a deadline. The schedule is drawn in three ways:
 *  - from now on, with the rest of the current jobs: earlier guarantees are kept;
 *  - all tasks released at once, up to the first idle instant: if that fits, any releases do, including sporadic ones (the
 *    processor demand of Baruah, Rosier and Howell, 1990);
 *  - by the phases of strictly periodic tasks, over two hyperperiods after the last first release (Leung and Merrill, 1980):
 *    then the set fits as long as no phase changes. Tasks that all have an execution time as long as their deadline are not
 *    drawn: no two may meet, modulo the common divisor of their periods.
 *
 * The private memory of a task holds its struct weir_demand_task at @offset, initially zero. The caller makes sure that only one CPU is
 * in a function: all state is under the lock that the instance's steps are taken under. Times are for the actual CPU, not for capacity 1024.
 */
#ifndef WEIR_DEMAND_H
#define WEIR_DEMAND_H

#include <weir/component.h>

/* Maximum number of tasks visited in one drawing; a set that needs more does not fit. */
#define WEIR_DEMAND_STEPS 65536u

struct weir_demand_task {
	struct weir_task weir_mem *next;
	struct weir_task weir_mem *prev;
	u64 wcet;     /* ns, in each period */
	u64 deadline; /* ns, relative */
	u64 period;   /* ns */
	u64 phase;    /* ns; of its releases in the period */
	u64 left;     /* for a drawing: ns left of the current job */
	u64 due;      /* that job's deadline, absolute */
	u64 at;	      /* the next release, absolute */
	u32 in;	      /* whether it is in the list */
	u32 unused;
};

/* Part of a component's state, after its struct weir_instance. */
struct weir_demand {
	struct weir_instance weir_mem *inst; /* (c) */
	struct weir_task weir_mem *first;    /* (h) */
	u64 idle;     /* (h) of the last drawing from now on: some task has work until then */
	u32 offset;   /* (c) of the struct weir_demand_task in the private memory */
	u32 nr;	      /* (h) tasks in the list */
	u32 nr_short; /* (h) of those, with a deadline before the end of the period */
	u32 unused;
};

WEIR_INLINE void weir_demand_init(struct weir_demand weir_mem *d,
				  struct weir_instance weir_mem *inst, u32 offset)
{
	d->inst = inst;
	d->offset = offset;
}

WEIR_INLINE struct weir_demand_task weir_mem *weir_demand_of(const struct weir_demand weir_mem *d,
							     const struct weir_task weir_mem *t)
{
	return (struct weir_demand_task
		weir_mem *)((char weir_mem *)weir_priv(d->inst, t) + d->offset);
}

/* Add @t, whose wcet, deadline, period and phase are set; or remove it. O(1). */
int weir_demand_add(struct weir_demand weir_mem *d, struct weir_task weir_mem *t);
int weir_demand_remove(struct weir_demand weir_mem *d, struct weir_task weir_mem *t);
/* 1: all deadlines from @now to the first idle instant are met. Starts from each task's `left`, `due` and `at`, and changes them. */
int weir_demand_now(struct weir_demand weir_mem *d, u64 now);
/* 1: deadlines are met for all releases at least a period apart. Changes the same fields. */
int weir_demand_any(struct weir_demand weir_mem *d);
/* 1: deadlines are always met if all tasks are released by their phases. Changes the same fields. */
int weir_demand_phases(struct weir_demand weir_mem *d);

#endif
