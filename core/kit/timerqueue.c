/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A heap of tasks by time (weir/kit/timerqueue.h). Children of entry i are 2i + 1 and 2i + 2. */
#include <weir/schedule.h>
#include <weir/kit/timerqueue.h>

#define WEIR_FIRST_DUE 16u

static u32 weir_mem *timerqueue_place_of(struct weir_timerqueue weir_mem *d,
					 struct weir_task weir_mem *t)
{
	return (u32 weir_mem *)((char weir_mem *)weir_priv(d->inst, t) + d->offset);
}

/* Index of @t, or the number of entries. */
static u32 timerqueue_index_of(struct weir_timerqueue weir_mem *d, struct weir_task weir_mem *t)
{
	u32 place = *timerqueue_place_of(d, t);

	return place && place <= d->nr && d->heap[place - 1].task == t ? place - 1 : d->nr;
}

static void timerqueue_put(struct weir_timerqueue weir_mem *d, u32 i, struct weir_task weir_mem *t,
			   u64 at)
{
	d->heap[i].task = t;
	d->heap[i].at = at;
	*timerqueue_place_of(d, t) = i + 1;
}

/* Entry @i is free: find the place for an entry with time @at, above or below, and shift the others. */
static u32 timerqueue_make_room(struct weir_timerqueue weir_mem *d, u32 i, u64 at)
{
	while (i > 0 && weir_loop) {
		u32 up = (i - 1) / 2;

		if (d->heap[up].at <= at)
			break;
		timerqueue_put(d, i, d->heap[up].task, d->heap[up].at);
		i = up;
	}
	while (weir_loop) {
		u32 child = 2 * i + 1;

		if (child >= d->nr)
			break;
		if (child + 1 < d->nr && d->heap[child + 1].at < d->heap[child].at)
			child++;
		if (d->heap[child].at >= at)
			break;
		timerqueue_put(d, i, d->heap[child].task, d->heap[child].at);
		i = child;
	}
	return i;
}

/* Remove entry @i; the last one takes its place. */
static void timerqueue_take(struct weir_timerqueue weir_mem *d, u32 i)
{
	struct weir_task weir_mem *last;
	u64 at;

	*timerqueue_place_of(d, d->heap[i].task) = 0;
	d->nr--;
	if (i == d->nr)
		return;
	last = d->heap[d->nr].task;
	at = d->heap[d->nr].at;
	timerqueue_put(d, timerqueue_make_room(d, i, at), last, at);
}

static int timerqueue_grow(struct weir_timerqueue weir_mem *d)
{
	struct weir_sched weir_mem *s = d->inst->sched;
	u32 cap = d->cap ? 2 * d->cap : WEIR_FIRST_DUE;
	struct weir_timerqueue_entry weir_mem *heap =
		weir_alloc(s, cap * sizeof(struct weir_timerqueue_entry));

	if (!heap)
		return -WEIR_ENOMEM;
	if (d->cap) {
		weir_copy(heap, d->heap, d->nr * sizeof(struct weir_timerqueue_entry));
		weir_free(s, d->heap, d->cap * sizeof(struct weir_timerqueue_entry));
	}
	d->heap = heap;
	d->cap = cap;
	return 0;
}

/* The timer is for the first entry; time 0 would disarm it. */
static void timerqueue_arm(struct weir_timerqueue weir_mem *d)
{
	u64 at = d->nr ? d->heap[0].at : 0;

	if (d->nr && !at)
		at = 1;
	if (weir_load(&d->inst->timer_ns) != at)
		weir_timer_set(d->inst, at);
}

WEIR_GLOBAL int weir_timerqueue_set(struct weir_timerqueue weir_mem *d weir_arg,
				    struct weir_task weir_mem *t weir_arg, u64 at)
{
	int err = weir_instance_lock(d->inst);
	u32 i;

	if (err)
		return err;
	i = timerqueue_index_of(d, t);
	if (i == d->nr && d->nr == d->cap)
		err = timerqueue_grow(d);
	if (!err) {
		if (i == d->nr)
			d->nr++;
		timerqueue_put(d, timerqueue_make_room(d, i, at), t, at);
		timerqueue_arm(d);
	}
	weir_instance_unlock(d->inst);
	return err;
}

WEIR_GLOBAL int weir_timerqueue_clear(struct weir_timerqueue weir_mem *d weir_arg,
				      struct weir_task weir_mem *t weir_arg)
{
	int err;
	u32 i;

	if (!weir_load(timerqueue_place_of(d, t)))
		return 0;
	err = weir_instance_lock(d->inst);
	if (err)
		return err;
	i = timerqueue_index_of(d, t);
	if (i < d->nr) {
		timerqueue_take(d, i);
		timerqueue_arm(d);
	}
	weir_instance_unlock(d->inst);
	return 0;
}

WEIR_FLAT struct weir_task weir_mem *weir_timerqueue_pop(struct weir_timerqueue weir_mem *d,
							 u64 now)
{
	struct weir_task weir_mem *t = 0;

	if (weir_instance_lock(d->inst))
		return 0;
	if (d->nr && d->heap[0].at <= now) {
		t = d->heap[0].task;
		timerqueue_take(d, 0);
	} else {
		timerqueue_arm(d);
	}
	weir_instance_unlock(d->inst);
	return t;
}

WEIR_GLOBAL int weir_timerqueue_review(struct weir_timerqueue weir_mem *d weir_arg)
{
	u64 now = weir_now(d->inst->sched);

	while (weir_loop) {
		struct weir_task weir_mem *t = weir_timerqueue_pop(d, now);

		if (!t)
			return 0;
		weir_review(d->inst, t);
	}
	return 0;
}

WEIR_FLAT void weir_timerqueue_free(struct weir_timerqueue weir_mem *d)
{
	if (d->cap)
		weir_free(d->inst->sched, d->heap, d->cap * sizeof(struct weir_timerqueue_entry));
	d->nr = 0;
	d->cap = 0;
}
