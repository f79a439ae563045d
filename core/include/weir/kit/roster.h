/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks that an instance must visit at some event, such as a change of mode: a set without order. Visiting all tasks of a
 * pipe costs O(n) per event; adding a task when it comes and dropping it when it leaves costs O(1).
 *
 * The private memory of a task holds its place, a u32 at @offset; zero: none. The place is checked against the
 * set, so that memory inherited from another instance does no harm. All state is under the lock that the instance's
 * steps are taken under. A roster is visited from its end, so the visited task may be dropped:
 *
 *	for (u32 i = r->nr; i > 0 && weir_loop;)
 *		t = r->task[--i];
 */
#ifndef WEIR_ROSTER_H
#define WEIR_ROSTER_H

#include <weir/component.h>

/* Part of a component's state, after its struct weir_instance. */
struct weir_roster {
	struct weir_instance weir_mem *inst;	   /* (c) */
	struct weir_task weir_mem *weir_mem *task; /* (h) */
	u32 nr;					   /* (h) */
	u32 cap;				   /* (h) */
	u32 offset;				   /* (c) of the u32 in the private memory */
	u32 unused;
};

/* In construct. */
WEIR_INLINE void weir_roster_init(struct weir_roster weir_mem *r,
				  struct weir_instance weir_mem *inst, u32 offset)
{
	r->inst = inst;
	r->offset = offset;
}

/* Add @t. 0 or -WEIR_ENOMEM. */
int weir_roster_add(struct weir_roster weir_mem *r, struct weir_task weir_mem *t);
/* Drop the task at index @i; the last one takes its place. 0. */
int weir_roster_drop_at(struct weir_roster weir_mem *r, u32 i);
/* Empty it. O(n). */
int weir_roster_clear(struct weir_roster weir_mem *r);
/* Drop @t if it is in the set; the last one takes its place. 0. */
int weir_roster_drop(struct weir_roster weir_mem *r, struct weir_task weir_mem *t);
/* In destroy. */
void weir_roster_free(struct weir_roster weir_mem *r);

#endif
