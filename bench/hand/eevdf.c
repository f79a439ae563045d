/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The yardstick `hand-eevdf`: one CPU of the topology `eevdf` written by hand.
 *
 * Duties: tasks are charged by weight; the mean of the virtual times, whose sum is kept relative to a moving zero; the eligible task with the
 * earliest virtual deadline runs, found by one look at each that waits; a new turn begins when the last one is used up; a waking
 * task gets its place by the mean. No cgroups, penalties, latencies, ticks.
 */
#include "hand.h"

#define SLICE_NS 750000ull

struct eevdf_task {
	u32 id;
	u32 state;
	u32 weight;
	u32 waits;
	u64 vruntime;
	u64 deadline;
	u64 slice_ns;
	struct eevdf_task *next, *prev;
};

struct eevdf_hand {
	u32 lock;
	u32 nr;
	u32 kicks;
	u32 idle;
	u64 now;   /* ns; the runtime's clock */
	u64 began; /* when `curr` was charged last */
	u64 zero;
	s64 sum;  /* of weight * (vruntime - zero) of those that wait or run */
	u64 load; /* their weights */
	struct eevdf_task *head, *tail, *curr;
};

static u64 eevdf_hand_mean(const struct eevdf_hand *s)
{
	return s->load ? s->zero + (u64)(s->sum / (s64)s->load) : s->zero;
}

static u64 virtual_of(u64 ns, const struct eevdf_task *t)
{
	return ns * 1024 / t->weight;
}

/* The running task is charged up to now. */
static void charge(struct eevdf_hand *s)
{
	struct eevdf_task *t = s->curr;
	u64 by;

	if (!t)
		return;
	by = virtual_of(s->now - s->began, t);
	s->began = s->now;
	t->vruntime += by;
	s->sum += (s64)by * t->weight;
	if ((s64)(t->vruntime - t->deadline) >= 0)
		t->deadline = t->vruntime + virtual_of(SLICE_NS, t);
}

/* The sum stays small: the zero follows the mean. */
static void move_zero(struct eevdf_hand *s)
{
	u64 by = eevdf_hand_mean(s) - s->zero;

	s->zero += by;
	s->sum -= (s64)(by * s->load);
}

static void eevdf_hand_link(struct eevdf_hand *s, struct eevdf_task *t)
{
	t->next = 0;
	t->prev = s->tail;
	if (s->tail)
		s->tail->next = t;
	else
		s->head = t;
	s->tail = t;
	t->waits = 1;
	weir_store(&s->nr, s->nr + 1);
}

HAND_CALL int eevdf_hand_admit(struct eevdf_hand *s, struct eevdf_task *t)
{
	if (weir_cas(&t->state, WEIR_UNCONSIDERED, WEIR_SCHEDULABLE) != WEIR_UNCONSIDERED)
		return -1;
	hand_lock(&s->lock);
	charge(s);
	t->vruntime = eevdf_hand_mean(s);
	t->deadline = t->vruntime + virtual_of(SLICE_NS, t) / 2;
	s->sum += (s64)(t->vruntime - s->zero) * t->weight;
	s->load += t->weight;
	eevdf_hand_link(s, t);
	move_zero(s);
	s->kicks += s->idle;
	s->idle = 0;
	weir_spin_unlock(&s->lock);
	return 0;
}

HAND_CALL int eevdf_hand_relinquish(struct eevdf_hand *s, struct eevdf_task *t)
{
	if (weir_cas(&t->state, WEIR_RUNNING, WEIR_SCHEDULABLE) != WEIR_RUNNING)
		return -1;
	hand_lock(&s->lock);
	charge(s);
	s->curr = 0;
	eevdf_hand_link(s, t);
	move_zero(s);
	weir_spin_unlock(&s->lock);
	return 0;
}

HAND_CALL struct eevdf_task *eevdf_hand_pick(struct eevdf_hand *s)
{
	struct eevdf_task *t, *best = 0;
	u64 mean;

	hand_lock(&s->lock);
	mean = eevdf_hand_mean(s);
	for (t = s->head; t; t = t->next) {
		if (weir_load(&t->state) != WEIR_SCHEDULABLE)
			continue;
		if (!best) {
			best = t;
			continue;
		}
		/* Eligible ones by deadline, before the others by virtual time. */
		if ((s64)(t->vruntime - mean) > 0) {
			if ((s64)(best->vruntime - mean) > 0 &&
			    (s64)(t->vruntime - best->vruntime) < 0)
				best = t;
		} else if ((s64)(best->vruntime - mean) > 0 ||
			   (s64)(t->deadline - best->deadline) < 0) {
			best = t;
		}
	}
	if (best && weir_cas(&best->state, WEIR_SCHEDULABLE, HAND_CLAIMED) != WEIR_SCHEDULABLE)
		best = 0;
	if (best) {
		if (best->prev)
			best->prev->next = best->next;
		else
			s->head = best->next;
		if (best->next)
			best->next->prev = best->prev;
		else
			s->tail = best->prev;
		best->waits = 0;
		weir_store(&s->nr, s->nr - 1);
		s->curr = best;
		s->began = s->now;
		best->slice_ns = (best->deadline - best->vruntime) * best->weight / 1024 + 1;
		weir_store_release(&best->state, WEIR_RUNNING);
	} else {
		s->idle = 1;
	}
	weir_spin_unlock(&s->lock);
	return best;
}

u64 eevdf_hand_bytes(void)
{
	return sizeof(struct eevdf_hand);
}

void eevdf_hand_set_now(struct eevdf_hand *s, u64 now)
{
	s->now = now;
}

u64 eevdf_hand_task_bytes(void)
{
	return sizeof(struct eevdf_task);
}

void eevdf_hand_task_init(struct eevdf_task *t, u32 id, u32 weight)
{
	t->id = id;
	t->state = WEIR_UNCONSIDERED;
	t->weight = weight;
}
