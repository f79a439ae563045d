/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Rates of one CPU, booked and divided (weir/kit/rate_alloc.h). The lock of the steps is held. */
#include <weir/cpus.h>
#include <weir/kit/rate_alloc.h>

/* Rate of the CPUs behind the instance; of one CPU while all are offline. */
static u64 rate_full(struct weir_instance weir_mem *self)
{
	u64 capacity = weir_pipe_capacity(weir_out(self, 0));

	return WEIR_RATE_FULL * (capacity ? capacity : 1024) / 1024;
}

/* The part of @full that hard tasks and the floor leave to soft tasks. */
static u64 rate_room(const struct weir_rate_alloc weir_mem *all, u64 full)
{
	u64 taken = all->hard + full * all->floor / 100;

	return taken < full ? full - taken : 0;
}

/* Rate of all best-effort tasks together. */
static u64 rate_rest(struct weir_instance weir_mem *self,
		     const struct weir_rate_alloc weir_mem *all)
{
	u64 full = rate_full(self), room = rate_room(all, full);
	u64 least = full * all->floor / 100;
	u64 taken = all->hard + (all->soft < room ? all->soft : room);

	return taken + least < full ? full - taken : (least ? least : 1);
}

/*
 * What hard tasks may book, one more than now. Of a slower CPU's rates, work was rounded up and then the rate, and what is to be kept
 * free of its whole rate down: tasks that fill a CPU to the floor do so on a slower one as well.
 */
static u64 rate_most(const struct weir_rate_alloc weir_mem *all, u64 full)
{
	u64 most = full - full * all->floor / 100;

	return full < WEIR_RATE_FULL ? most + 2 * (all->nr_hard + 1) : most;
}

WEIR_GLOBAL int weir_rate_book(struct weir_instance weir_mem *self weir_arg,
			       struct weir_rate_alloc weir_mem *all weir_arg,
			       struct weir_rate_task weir_mem *p weir_arg, u32 kind, u64 rate)
{
	u64 full = rate_full(self);

	weir_rate_unbook(all, p);
	p->rate = rate;
	if (kind == WEIR_RATE_HARD && all->hard + rate > rate_most(all, full)) {
		kind = WEIR_RATE_BEST_EFFORT;
		p->used = p->budget = 0;
	}
	p->kind = kind;
	if (kind == WEIR_RATE_HARD) {
		all->hard += rate;
		all->nr_hard++;
	}
	if (kind == WEIR_RATE_SOFT)
		all->soft += rate;
	return kind != WEIR_RATE_BEST_EFFORT;
}

WEIR_GLOBAL int weir_rate_refuse(struct weir_rate_alloc weir_mem *all weir_arg,
				 struct weir_rate_task weir_mem *p weir_arg)
{
	weir_rate_unbook(all, p);
	p->kind = WEIR_RATE_BEST_EFFORT;
	p->used = p->budget = 0;
	return 0;
}

WEIR_GLOBAL u64 weir_rate_granted(struct weir_instance weir_mem *self weir_arg,
				  const struct weir_rate_alloc weir_mem *all weir_arg,
				  const struct weir_rate_task weir_mem *p weir_arg, u64 amount)
{
	u64 room;

	if (p->kind != WEIR_RATE_SOFT)
		return amount;
	room = rate_room(all, rate_full(self));
	if (all->soft <= room)
		return amount;
	return amount < WEIR_RATE_LONG ? amount * room / all->soft : amount / all->soft * room;
}

static u64 rate_weight(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	s64 weight = (s64)weir_property(s, WEIR_TOPIC_PRIORITY, t) + 21;

	return weight < 1 ? 1 : weight > 1000 ? 1000 : (u64)weight;
}

WEIR_GLOBAL int weir_rate_forget(struct weir_rate_alloc weir_mem *all weir_arg,
				 struct weir_rate_task weir_mem *p weir_arg)
{
	if (p->counted && p->weight) {
		all->waiting -= p->weight;
		all->nr_waiting--;
	}
	p->counted = 0;
	return 0;
}

WEIR_GLOBAL int weir_rate_mark(struct weir_instance weir_mem *self weir_arg,
			       struct weir_rate_alloc weir_mem *all weir_arg,
			       struct weir_task weir_mem *t weir_arg)
{
	struct weir_rate_task weir_mem *p = weir_rate_task_of(self, t);

	weir_rate_forget(all, p);
	p->counted = 1;
	p->weight = p->kind == WEIR_RATE_BEST_EFFORT ? rate_weight(self->sched, t) : 0;
	if (p->weight) {
		all->waiting += p->weight;
		all->nr_waiting++;
	}
	return 0;
}

WEIR_GLOBAL int weir_rate_take(struct weir_rate_alloc weir_mem *all weir_arg,
			       const struct weir_rate_alloc weir_mem *old weir_arg)
{
	all->hard = old->hard;
	all->soft = old->soft;
	all->nr_hard = old->nr_hard;
	all->chain = old->chain;
	all->epoch = old->epoch;
	return 0;
}

WEIR_GLOBAL int weir_rate_count(struct weir_instance weir_mem *self weir_arg,
				struct weir_rate_alloc weir_mem *all weir_arg,
				struct weir_task weir_mem *t weir_arg)
{
	const struct weir_rate_task weir_mem *p = weir_rate_task_of(self, t);
	const struct weir_pipe weir_mem *out = weir_out(self, 0);
	struct weir_sched weir_mem *s = self->sched;

	all->nr = all->nr_waiting;
	all->weights = all->waiting;
	if (p->counted && p->weight) {
		all->nr--;
		all->weights -= p->weight;
	}
	for (u32 w = out->word_lo; w <= out->word_hi && weir_loop; w++) {
		u64 bits = out->cpus->word[w] & weir_busy_word(s, w);

		while (bits && weir_loop) {
			struct weir_task weir_mem *curr =
				weir_cpu_curr(s, w * 64 + weir_lowest_bit(bits));

			bits &= bits - 1;
			if (!curr || curr == t ||
			    weir_rate_task_of(self, curr)->kind != WEIR_RATE_BEST_EFFORT)
				continue;
			all->weights += rate_weight(s, curr);
			all->nr++;
		}
	}
	return 0;
}

WEIR_GLOBAL int weir_rate_turn(struct weir_instance weir_mem *self weir_arg,
			       struct weir_rate_alloc weir_mem *all weir_arg,
			       struct weir_task weir_mem *t weir_arg, u64 now, u64 slice)
{
	struct weir_rate_task weir_mem *p = weir_rate_task_of(self, t);
	u64 weight = rate_weight(self->sched, t), rest = rate_rest(self, all), of_all;

	all->weights += weight;
	p->period = of_all = (all->nr + 1) * slice;
	if (of_all < WEIR_RATE_LONG)
		of_all = (of_all * rest + WEIR_RATE_FULL / 2) / WEIR_RATE_FULL;
	p->budget = (of_all * weight + all->weights / 2) / all->weights;
	if (!p->budget)
		p->budget = 1;
	p->used = 0;
	p->begun = 0;
	p->epoch = all->epoch;
	p->release = now;
	all->chain = (all->chain > now ? all->chain : now) + weir_rate_of(p->budget, rest);
	p->deadline = now + p->period;
	if (p->deadline < all->chain)
		p->deadline = all->chain;
	return 0;
}

WEIR_GLOBAL int weir_rate_stale(const struct weir_rate_alloc weir_mem *all weir_arg,
				const struct weir_rate_task weir_mem *p weir_arg, u64 now)
{
	return p->deadline <= now || p->epoch != all->epoch ||
	       weir_rate_of(p->budget - p->used, p->deadline - now) >
		       weir_rate_of(p->budget, p->period);
}

WEIR_GLOBAL int weir_rate_squeeze(struct weir_instance weir_mem *self weir_arg,
				  struct weir_rate_alloc weir_mem *all weir_arg,
				  struct weir_rate_task weir_mem *p weir_arg, u64 now)
{
	u64 left;

	if (p->used >= p->budget)
		return 0;
	if (p->kind == WEIR_RATE_BEST_EFFORT) {
		all->chain += weir_rate_of(p->budget - p->used, rate_rest(self, all));
		if (p->deadline < all->chain)
			p->deadline = all->chain;
	}
	if (p->kind != WEIR_RATE_SOFT || !p->begun)
		return 0;
	p->epoch = all->epoch;
	left = p->deadline > now ? p->deadline - now : 0;
	left = weir_rate_granted(self, all, p,
				 left < WEIR_RATE_LONG ? left * p->rate / WEIR_RATE_FULL : left);
	if (p->used + left >= p->budget)
		return 0;
	p->limit = p->budget = p->used + (left ? left : 1);
	return 1;
}

WEIR_GLOBAL int weir_rate_period(const struct weir_rate_alloc weir_mem *all weir_arg,
				 struct weir_rate_task weir_mem *p weir_arg, u64 declared,
				 u64 budget)
{
	if (!budget)
		budget = 1;
	if (!p->begun || declared > p->release) {
		p->begun = 1;
		p->epoch = all->epoch;
		p->release = declared;
		p->limit = budget;
		p->used = 0;
	}
	if (p->used >= p->limit) {
		p->release += p->period;
		p->used -= p->limit;
		p->limit = budget;
		p->release += p->used / budget * p->period;
		p->used %= budget;
	}
	p->budget = p->limit < budget ? p->limit : budget;
	if (p->used >= p->budget)
		p->limit = p->budget = p->used + 1;
	return 0;
}
