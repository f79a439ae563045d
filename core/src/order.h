/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The one link of a task: a list, and for a keyed pipe a tree over it (order.c). The home's lock is held. */
#ifndef WEIR_ORDER_H
#define WEIR_ORDER_H

#include "internal.h"

/* In the tree and in the list; the number of steps down. */
u32 weir_tree_link(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t);
int weir_tree_unlink(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t);
/* By arrival: one that is reviewed may come in between. */
int weir_list_insert(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t);

WEIR_INLINE void weir_list_unlink(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t)
{
	struct weir_task weir_mem *prev = t->prev, *next = t->next;

	if (prev)
		prev->next = next;
	else
		p->head = next;
	if (next)
		next->prev = prev;
	else
		p->tail = prev;
}

/* Link @t into @p, where @place says; @last: it is the latest arrival. The number of steps down its tree. */
WEIR_INLINE u32 weir_link(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t,
			  const struct weir_step weir_mem *place, int last)
{
	u32 nr = weir_load(&p->nr) + 1, steps = 0;

	weir_store(&t->key, place->key);
	if (p->keyed) {
		t->gate = place->gate;
		t->tie = place->tie;
		steps = weir_tree_link(p, t);
	} else if (last) {
		struct weir_task weir_mem *after = p->tail;

		t->prev = after;
		t->next = 0;
		p->tail = t;
		if (after)
			after->next = t;
		else
			p->head = t;
	} else {
		weir_list_insert(p, t);
	}
	weir_store_release(&t->landing, p->mark);
	weir_store(&p->nr, nr);
	if (nr > p->max_nr)
		weir_store(&p->max_nr, nr);
	return steps;
}

/* @list: it is known to be no more than a list. */
WEIR_INLINE void weir_unlink(struct weir_pipe weir_mem *p, struct weir_task weir_mem *t, int list)
{
	if (!list && p->keyed)
		weir_tree_unlink(p, t);
	else
		weir_list_unlink(p, t);
	weir_store(&p->nr, weir_load(&p->nr) - 1);
	weir_store_release(&t->landing, 0);
}

#endif
