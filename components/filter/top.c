/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * top - pass only the first tasks
 *
 * class:    filter
 * pipes:    in 1, out 1
 * listens:  -
 * answers:  -
 * params:   limit count 1 [1, 65536]; largest number of tasks that pass
 * per-task: 24 bytes
 * cost:     O(limit) per change; no lock of its own
 * batch:    the out-pipe holds the first tasks of the in-pipe, at most the limit, in its order
 * source:   CoBaS 5.8.2, filtering; 5.8.1, absolute decisions
 *
 * Passes only the most urgent tasks to the stages behind it, which then order or place a few tasks
 * instead of all. As tasks leave, the next ones follow. A stage behind it may order them by keys of
 * its own: the order before it decides who passes.
 *
 * example:  annotate priority; entry -> priority_order -> top(limit = 8) -> head_queue -> cpus;
 */
#include <weir/component.h>

struct top {
	struct weir_instance inst;
	u64 limit;  /* (c) */
	u64 passed; /* (h) tasks that have passed and wait */
};

struct top_task {
	u64 passed; /* (h) 1: it is one of them */
	/* (h) Its place in the in-pipe: a stage behind may have ordered it by another one since. */
	u64 key;
	u64 tie;
};

WEIR_COMPONENT(top, .summary = "pass only the first tasks", .cls = WEIR_FILTER,
	       .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .serial = 1, .hears = WEIR_HEARS_PICKED | WEIR_HEARS_LEFT,
	       .per_task = sizeof(struct top_task),
	       WEIR_PARAMS(top, WEIR_PARAM(top, limit, COUNT, 1, 1, 65536,
					   "largest number of tasks that pass")));

/* Of two that have passed, @a goes before @b in the in-pipe. */
WEIR_INLINE int top_before(struct top weir_mem *self, struct weir_pipe weir_mem *in,
			   struct weir_task weir_mem *a, struct weir_task weir_mem *b)
{
	const struct top_task weir_mem *p = weir_priv(&self->inst, a);
	const struct top_task weir_mem *q = weir_priv(&self->inst, b);

	if (in->keyed && p->key != q->key)
		return p->key < q->key;
	if (in->tied && p->tie != q->tie)
		return p->tie < q->tie;
	return weir_came_before(a, b);
}

/* The last of those that have passed and wait, except @t; null: none. O(limit). */
static struct weir_task weir_mem *top_last(struct top weir_mem *self, struct weir_pipe weir_mem *in,
					   struct weir_task weir_mem *except)
{
	struct weir_task weir_mem *t, *last = 0;

	weir_for_member(t, weir_out(&self->inst, 0))
		if (t != except && (!last || top_before(self, in, last, t)))
			last = t;
	weir_note_scan(&self->inst, self->passed);
	return last;
}

WEIR_ENTRY u32 top_step(struct top weir_mem *self, u32 what, struct weir_task weir_mem *t,
			struct weir_step weir_mem *s)
{
	struct top_task weir_mem *p = weir_priv(&self->inst, t);
	struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	struct weir_task weir_mem *last, *next = in->head;

	/* What it was before counts no longer. */
	self->passed -= p->passed;
	p->passed = 0;
	p->key = s->key;
	p->tie = s->tie;
	if (what == WEIR_LEFT || what == WEIR_PICKED || s->runs) {
		if (self->passed < self->limit && next)
			weir_review(&self->inst, next);
		return WEIR_WITHHOLD;
	}
	p->passed = self->passed < self->limit &&
		    !(next && next != t && weir_step_after(s, in, t, next));
	/* A full house: the last of them makes room for one that goes before it. */
	last = self->passed >= self->limit ? top_last(self, in, t) : 0;
	if (last && top_before(self, in, t, last))
		p->passed = 1;
	self->passed += p->passed;
	/* One after the other: each is asked for when the one before has made room. */
	if (self->passed > self->limit && !p->passed)
		last = top_last(self, in, t);
	if (self->passed > self->limit && last)
		weir_review(&self->inst, last);
	if (!p->passed && self->passed < self->limit && next && next != t)
		weir_review(&self->inst, next);
	return p->passed ? 0 : WEIR_WITHHOLD;
}
