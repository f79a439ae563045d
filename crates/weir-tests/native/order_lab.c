/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* One pipe and its tasks, outside of any graph: order.rs links and unlinks them and compares with a model. */
#include <stdlib.h>
#include "place.h"

#define TASKS 64u

struct order_lab {
	struct weir_sched sched;
	struct weir_pipe pipe;
	struct weir_task task[TASKS];
};

struct order_lab *order_new(u32 keyed, u32 gated)
{
	struct order_lab *lab = aligned_alloc(64, (sizeof(*lab) + 63) & ~63ul);

	for (u64 i = 0; i < sizeof(*lab); i++)
		((volatile char *)lab)[i] = 0;
	lab->pipe.sched = &lab->sched;
	lab->pipe.keyed = keyed;
	lab->pipe.tied = keyed;
	lab->pipe.gated = gated;
	for (u32 i = 0; i < TASKS; i++)
		lab->task[i].id = i;
	return lab;
}

void order_free(struct order_lab *lab)
{
	free(lab);
}

void order_link(struct order_lab *lab, u32 id, u64 key, u64 tie, u64 gate, u32 seq)
{
	struct weir_task *t = &lab->task[id];

	struct weir_step place = { .key = key, .tie = tie, .gate = gate };

	t->seq = seq;
	weir_link(&lab->pipe, t, &place, 0);
}

void order_unlink(struct order_lab *lab, u32 id)
{
	weir_unlink(&lab->pipe, &lab->task[id], 0);
}

/* 1 + the first task at @now, 0: there is none. */
u32 order_first(struct order_lab *lab, u64 now)
{
	struct weir_task *t;

	lab->pipe.now = now;
	t = weir_pipe_first(&lab->pipe);
	return t ? t->id + 1 : 0;
}

/* The tasks in order; ~0: list and tree are not what they are to be. */
u32 order_list(struct order_lab *lab, u32 *ids)
{
	struct weir_task *t, *prev = 0;
	u32 n = 0;

	weir_budget_reset();
	weir_for_task(t, &lab->pipe) {
		u64 least = t->gate;

		if (t->prev != prev || (t->left && t->left->up != t) ||
		    (t->right && t->right->up != t))
			return ~0u;
		if (t->left && t->left->least < least)
			least = t->left->least;
		if (t->right && t->right->least < least)
			least = t->right->least;
		if (lab->pipe.gated && t->least != least)
			return ~0u;
		ids[n++] = t->id;
		prev = t;
	}
	return lab->pipe.tail == prev && lab->pipe.nr == n ? n : ~0u;
}
