/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A set of tasks without order (weir/kit/roster.h). */
#include <weir/schedule.h>
#include <weir/kit/roster.h>

#define WEIR_FIRST_ROSTER 16u

static u32 weir_mem *roster_place_of(struct weir_roster weir_mem *r, struct weir_task weir_mem *t)
{
	return (u32 weir_mem *)((char weir_mem *)weir_priv(r->inst, t) + r->offset);
}

/* Index of @t, or the number of tasks. */
static u32 roster_index_of(struct weir_roster weir_mem *r, struct weir_task weir_mem *t)
{
	u32 place = *roster_place_of(r, t);

	return place && place <= r->nr && r->task[place - 1] == t ? place - 1 : r->nr;
}

static int roster_grow(struct weir_roster weir_mem *r)
{
	struct weir_sched weir_mem *s = r->inst->sched;
	u32 cap = r->cap ? 2 * r->cap : WEIR_FIRST_ROSTER;
	struct weir_task weir_mem *weir_mem *task = weir_alloc(s, cap * sizeof(*task));

	if (!task)
		return -WEIR_ENOMEM;
	if (r->cap) {
		weir_copy(task, r->task, r->nr * sizeof(*task));
		weir_free(s, r->task, r->cap * sizeof(*task));
	}
	r->task = task;
	r->cap = cap;
	return 0;
}

WEIR_GLOBAL int weir_roster_add(struct weir_roster weir_mem *r weir_arg,
				struct weir_task weir_mem *t weir_arg)
{
	int err;

	if (roster_index_of(r, t) < r->nr)
		return 0;
	err = r->nr == r->cap ? roster_grow(r) : 0;
	if (err)
		return err;
	r->task[r->nr++] = t;
	*roster_place_of(r, t) = r->nr;
	return 0;
}

WEIR_GLOBAL int weir_roster_drop_at(struct weir_roster weir_mem *r weir_arg, u32 i)
{
	struct weir_task weir_mem *t;

	if (i >= r->nr)
		return 0;
	t = r->task[i];
	if (roster_index_of(r, t) == i)
		*roster_place_of(r, t) = 0;
	r->nr--;
	if (i < r->nr) {
		r->task[i] = r->task[r->nr];
		*roster_place_of(r, r->task[i]) = i + 1;
	}
	return 0;
}

WEIR_GLOBAL int weir_roster_drop(struct weir_roster weir_mem *r weir_arg,
				 struct weir_task weir_mem *t weir_arg)
{
	return weir_roster_drop_at(r, roster_index_of(r, t));
}

WEIR_GLOBAL int weir_roster_clear(struct weir_roster weir_mem *r weir_arg)
{
	for (u32 i = 0; i < r->nr && weir_loop; i++)
		if (roster_index_of(r, r->task[i]) == i)
			*roster_place_of(r, r->task[i]) = 0;
	r->nr = 0;
	return 0;
}

WEIR_FLAT void weir_roster_free(struct weir_roster weir_mem *r)
{
	if (r->cap)
		weir_free(r->inst->sched, r->task, r->cap * sizeof(*r->task));
	r->nr = 0;
	r->cap = 0;
}
