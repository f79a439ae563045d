/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The few most urgent of many rows, for components with seats: a heap of bounded size with the least urgent
 * one at the root. A row's urgency is two of its words, the smaller the more urgent; among equals one that
 * has a seat, then the earlier row.
 */
#ifndef WEIR_BEST_H
#define WEIR_BEST_H

#include <weir/seats.h>

struct weir_best {
	u32 weir_mem *heap; /* (p) rows */
	u32 nr;		    /* (p) */
	u32 room;	    /* (p) most rows wanted */
	u32 word;	    /* (c) first of the two words */
	u32 unused;
};

/* Memory for as many rows as there are CPUs; in construct. */
int weir_best_construct(struct weir_instance weir_mem *self, struct weir_best weir_mem *best, u32 word);

/* Choose anew, at most @room rows. */
WEIR_INLINE void weir_best_clear(struct weir_best weir_mem *best, u32 room)
{
	best->nr = 0;
	best->room = room;
}

/* @row is among the rows to choose from. O(log room). */
int weir_best_offer(struct weir_best weir_mem *best, const struct weir_seats weir_mem *seats, u32 row);

#endif
