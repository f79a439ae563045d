/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks ordered by a time and, among equal times, by a second one, the later first: a search tree, one node per
 * task. For components that ask for the first time after a given one; a weir_timerqueue finds the first of all
 * more cheaply.
 *
 * The private memory of a task holds its place in the tree, a u32 at @offset; zero: none. The place is
 * checked against the tree, so that memory inherited from another instance does no harm. All functions
 * take the instance's own lock; a home's lock may be held.
 */
#ifndef WEIR_TIMETREE_H
#define WEIR_TIMETREE_H

#include <weir/component.h>

struct weir_timetree_node {
	u64 at;	   /* ns */
	u64 until; /* ns; orders nodes of one time, the latest first */
	struct weir_task weir_mem *task;
	u32 left; /* places of other nodes, 0: none */
	u32 right;
	u32 up;
	u32 weight;
};

/* Part of a component's state, after its struct weir_instance. */
struct weir_timetree {
	struct weir_instance weir_mem *inst; /* (c) */
	struct weir_timetree_node
		weir_mem *node; /* (l) the instance's lock; place p is node[p - 1] */
	u32 root;		/* (l) */
	u32 unused;		/* (l) the first of the free nodes; the next one is its left */
	u32 nr;			/* (l) nodes ever used */
	u32 cap;		/* (l) */
	u32 offset;		/* (c) of the u32 in the private memory */
	u32 nr_added;		/* (l) */
};

/* In construct. */
WEIR_INLINE void weir_timetree_init(struct weir_timetree weir_mem *d,
				    struct weir_instance weir_mem *inst, u32 offset)
{
	d->inst = inst;
	d->offset = offset;
}

/* Set @t's times to @at and @until, ns, replacing any earlier ones. O(log n) expected. 0 or -WEIR_E…. */
int weir_timetree_set(struct weir_timetree weir_mem *d, struct weir_task weir_mem *t, u64 at,
		      u64 until);
/* Remove @t. O(log n) expected. */
int weir_timetree_clear(struct weir_timetree weir_mem *d, struct weir_task weir_mem *t);
/*
 * The earliest time after @bound of a task whose second time is after @now; 0: none. Other tasks found on the way are removed: set them
 * again when they return. O(log n) expected for each removed task, and once more. *@looked becomes the number of visited nodes.
 */
u64 weir_timetree_after(struct weir_timetree weir_mem *d, u64 now, u64 bound, u32 *looked);
/* In destroy. */
void weir_timetree_free(struct weir_timetree weir_mem *d);

#endif
