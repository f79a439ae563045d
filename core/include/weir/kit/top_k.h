/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The few most urgent of many rows, for components with per-CPU assignment: a heap of bounded size with the
 * least urgent row at the root. A row's urgency is two of its words, smaller is more urgent; ties go to a row
 * with a CPU assigned, then to the earlier row.
 */
#ifndef WEIR_TOP_K_H
#define WEIR_TOP_K_H

#include <weir/kit/assign.h>

struct weir_top_k {
	u32 weir_mem *heap; /* (h) rows */
	u32 nr;		    /* (h) */
	u32 room;	    /* (h) most rows wanted */
	u32 word;	    /* (c) first of the two words */
	u32 unused;
};

/* Memory for as many rows as there are CPUs; in construct. */
int weir_top_k_construct(struct weir_instance weir_mem *self, struct weir_top_k weir_mem *top,
			 u32 word);

/* Start a new selection of at most @room rows. */
WEIR_INLINE void weir_top_k_clear(struct weir_top_k weir_mem *top, u32 room)
{
	top->nr = 0;
	top->room = room;
}

/* Consider @row for the selection. O(log room). */
int weir_top_k_offer(struct weir_top_k weir_mem *top, const struct weir_assign weir_mem *assign,
		     u32 row);

#endif
