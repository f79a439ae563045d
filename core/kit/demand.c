/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Draw the EDF schedule of the hard tasks of one CPU (weir/kit/demand.h). The lock of the steps is held. */
#include <weir/kit/demand.h>

#define DEMAND_NEVER (~0ull)
/* Limit for times, so that sums stay in 64 bits. */
#define DEMAND_LONGEST (1ull << 60)

WEIR_GLOBAL int weir_demand_add(struct weir_demand weir_mem *d weir_arg,
				struct weir_task weir_mem *t weir_arg)
{
	struct weir_demand_task weir_mem *p = weir_demand_of(d, t);

	if (p->in)
		return 0;
	p->in = 1;
	p->prev = 0;
	p->next = d->first;
	if (d->first)
		weir_demand_of(d, d->first)->prev = t;
	d->first = t;
	d->nr++;
	d->nr_short += p->deadline < p->period;
	return 0;
}

WEIR_GLOBAL int weir_demand_remove(struct weir_demand weir_mem *d weir_arg,
				   struct weir_task weir_mem *t weir_arg)
{
	struct weir_demand_task weir_mem *p = weir_demand_of(d, t);

	if (!p->in)
		return 0;
	p->in = 0;
	if (p->prev)
		weir_demand_of(d, p->prev)->next = p->next;
	else
		d->first = p->next;
	if (p->next)
		weir_demand_of(d, p->next)->prev = p->prev;
	d->nr--;
	d->nr_short -= p->deadline < p->period;
	return 0;
}

/* Start the jobs released by @now. Null: no task has work. *@next: the next release; 0: a job is unfinished at the next release of its task. */
static struct weir_task weir_mem *demand_first(struct weir_demand weir_mem *d, u64 now, u64 *next)
{
	struct weir_task weir_mem *t = d->first, *first = 0;
	u64 due = DEMAND_NEVER;

	*next = DEMAND_NEVER;
	while (t && weir_loop) {
		struct weir_demand_task weir_mem *p = weir_demand_of(d, t);

		if (p->at <= now) {
			/* A deadline is never after the end of its period. */
			if (p->left) {
				*next = 0;
				return t;
			}
			p->left = p->wcet;
			p->due = p->at + p->deadline;
			p->at += p->period;
		}
		if (p->left && p->due < due) {
			due = p->due;
			first = t;
		}
		if (p->at < *next)
			*next = p->at;
		t = p->next;
	}
	return first;
}

/* From @now to @end; to the first idle instant if @end is 0. 1: no deadline is missed. */
static int demand_draw(struct weir_demand weir_mem *d, u64 now, u64 end)
{
	u32 steps = 0;

	while (weir_loop) {
		struct weir_demand_task weir_mem *p;
		struct weir_task weir_mem *t;
		u64 next, run;

		steps += d->nr + 1;
		if (steps > WEIR_DEMAND_STEPS)
			return 0;
		t = demand_first(d, now, &next);
		weir_note_scan(d->inst, d->nr);
		if (!next)
			return 0;
		if (end ? now >= end : !t) {
			d->idle = now;
			return 1;
		}
		if (!t) {
			now = next;
			continue;
		}
		p = weir_demand_of(d, t);
		run = p->left < next - now ? p->left : next - now;
		if (now + run > p->due)
			return 0;
		p->left -= run;
		now += run;
	}
	return 0;
}

WEIR_GLOBAL int weir_demand_now(struct weir_demand weir_mem *d weir_arg, u64 now)
{
	return demand_draw(d, now, 0);
}

WEIR_GLOBAL int weir_demand_any(struct weir_demand weir_mem *d weir_arg)
{
	struct weir_task weir_mem *t = d->first;

	while (t && weir_loop) {
		struct weir_demand_task weir_mem *p = weir_demand_of(d, t);

		p->left = p->at = 0;
		t = p->next;
	}
	return demand_draw(d, 0, 0);
}

static u64 demand_common(u64 a, u64 b)
{
	while (b && weir_loop) {
		u64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static int demand_is_slot(const struct weir_demand_task weir_mem *p)
{
	return p->wcet >= p->deadline && p->phase < p->period;
}

/*
 * The newest task and all others have all the time up to their deadlines, and by their phases it meets none of the others. That these
 * do not meet each other was found when they were the newest ones. For periods whose hyperperiod is too long to be drawn.
 */
static int demand_apart(struct weir_demand weir_mem *d)
{
	struct weir_task weir_mem *t = d->first;
	struct weir_demand_task weir_mem *a;

	if (!t)
		return 1;
	a = weir_demand_of(d, t);
	if (!demand_is_slot(a))
		return 0;
	t = a->next;
	while (t && weir_loop) {
		struct weir_demand_task weir_mem *b = weir_demand_of(d, t);
		u64 g = demand_common(a->period, b->period), ahead;

		if (!demand_is_slot(b) || !g)
			return 0;
		ahead = (b->phase % g + g - a->phase % g) % g;
		if (a->deadline > ahead || b->deadline > g - ahead)
			return 0;
		t = b->next;
	}
	return 1;
}

WEIR_GLOBAL int weir_demand_phases(struct weir_demand weir_mem *d weir_arg)
{
	struct weir_task weir_mem *t = d->first;
	u64 hyper = 1, last = 0;

	if (demand_apart(d))
		return 1;
	while (t && weir_loop) {
		struct weir_demand_task weir_mem *p = weir_demand_of(d, t);
		u64 times;

		if (!p->period || p->phase >= p->period)
			return 0;
		times = p->period / demand_common(hyper, p->period);
		if (hyper > DEMAND_LONGEST / times)
			return 0;
		hyper *= times;
		if (p->phase > last)
			last = p->phase;
		p->left = 0;
		p->at = p->phase;
		t = p->next;
	}
	return last < DEMAND_LONGEST && demand_draw(d, 0, last + 2 * hyper);
}
