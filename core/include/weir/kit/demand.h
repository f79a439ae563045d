/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Whether the hard tasks of one CPU always meet their deadlines by earliest deadline first: the admission test where a
 * deadline may be before the end of the period, so that the sum of the utilisations says too little.
 *
 * Earliest deadline first is optimal on one CPU (Dertouzos, 1974), so a set has more demand than time in some interval exactly
 * if its schedule misses a deadline. The schedule is drawn, in three ways:
 *  - from now on, with what is left of the jobs under way: nothing that was promised before is lost;
 *  - all tasks released at once, up to the first idle instant: if that fits, any releases do, also sporadic ones (the processor
 *    demand of Baruah, Rosier and Howell, 1990);
 *  - by the phases of strictly periodic tasks, over two hyperperiods behind the last first release (Leung and Merrill, 1980):
 *    then the set fits as long as nobody changes the phase.
 *
 * The private memory of a task holds its struct weir_demand_task at @offset, zero at first. The caller sees to it that only one CPU is in
 * a function: everything is under the lock of the instance's in-pipe. Times are those of the CPU, not of one of capacity 1024.
 */
#ifndef WEIR_DEMAND_H
#define WEIR_DEMAND_H

#include <weir/component.h>

/* Tasks that are looked at in one drawing; what takes more does not fit. */
#define WEIR_DEMAND_STEPS 65536u

struct weir_demand_task {
	struct weir_task weir_mem *next;
	struct weir_task weir_mem *prev;
	u64 wcet;     /* ns, in each period */
	u64 deadline; /* ns, relative */
	u64 period;   /* ns */
	u64 phase;    /* ns; of its releases in the period */
	u64 left;     /* for a drawing: ns of the job under way */
	u64 due;      /* its deadline, absolute */
	u64 at;	      /* the next release, absolute */
	u32 in;	      /* it is in the list */
	u32 unused;
};

/* Part of a component's state, after its struct weir_instance. */
struct weir_demand {
	struct weir_instance weir_mem *inst; /* (c) */
	struct weir_task weir_mem *first;    /* (p) */
	u64 idle;     /* (p) of the last drawing from now on: until then some task has work */
	u32 offset;   /* (c) of the struct weir_demand_task in the private memory */
	u32 nr;	      /* (p) tasks in the list */
	u32 nr_short; /* (p) of those, with a deadline before the end of the period */
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

/* @t, whose wcet, deadline, period and phase are set, counts from now on; or no more. O(1). */
int weir_demand_add(struct weir_demand weir_mem *d, struct weir_task weir_mem *t);
int weir_demand_remove(struct weir_demand weir_mem *d, struct weir_task weir_mem *t);
/* 1: all deadlines are met from @now to the first idle instant, by `left`, `due` and `at` of each task, which are changed. */
int weir_demand_now(struct weir_demand weir_mem *d, u64 now);
/* 1: they are met whenever the tasks are released, a period apart or more. Changes the same fields. */
int weir_demand_any(struct weir_demand weir_mem *d);
/* 1: they are met if all tasks are released by their phases for ever. Changes the same fields. */
int weir_demand_phases(struct weir_demand weir_mem *d);

#endif
