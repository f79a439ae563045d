/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks ordered by the time at which an instance must handle them again: a binary heap, one entry per task.
 * For components whose decisions depend on time, such as laxities and budgets.
 *
 * The private memory of a task holds its place in the heap, a u32 at @offset; zero: none. The place is
 * checked against the heap, so that memory inherited from another instance does no harm. All functions
 * take the instance's own lock; a home's lock may be held.
 */
#ifndef WEIR_TIMERQUEUE_H
#define WEIR_TIMERQUEUE_H

#include <weir/component.h>

struct weir_timerqueue_entry {
	u64 at; /* ns */
	struct weir_task weir_mem *task;
};

/* Part of a component's state, after its struct weir_instance. */
struct weir_timerqueue {
	struct weir_instance weir_mem *inst;	     /* (c) */
	struct weir_timerqueue_entry weir_mem *heap; /* (l) the instance's lock */
	u32 nr;					     /* (l) */
	u32 cap;				     /* (l) */
	u32 offset;				     /* (c) of the u32 in the private memory */
};

/* In construct. */
WEIR_INLINE void weir_timerqueue_init(struct weir_timerqueue weir_mem *d,
				      struct weir_instance weir_mem *inst, u32 offset)
{
	d->inst = inst;
	d->offset = offset;
}

/*
 * Set @t's time to @at, ns, replacing any earlier setting, and arm the instance's timer if needed.
 * O(log n). 0 or -WEIR_ENOMEM.
 */
int weir_timerqueue_set(struct weir_timerqueue weir_mem *d, struct weir_task weir_mem *t, u64 at);
/* Remove @t. O(log n). */
int weir_timerqueue_clear(struct weir_timerqueue weir_mem *d, struct weir_task weir_mem *t);
/*
 * Remove the first task, if its time is not after @now. Null: none; then the instance's timer is set
 * for the next one. For on_timer. O(log n).
 */
struct weir_task weir_mem *weir_timerqueue_pop(struct weir_timerqueue weir_mem *d, u64 now);
/*
 * For on_timer: ask for each task whose time has come (weir_review()); those that have left meanwhile run or block, and are looked at when
 * they return. O(log n) a task.
 */
int weir_timerqueue_review(struct weir_timerqueue weir_mem *d);
/* In destroy. */
void weir_timerqueue_free(struct weir_timerqueue weir_mem *d);

#endif
