/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * eevdf - run the eligible task with the earliest virtual deadline
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   TICK: the running task's slice may be over. WEIGHT: of a task that waits or runs
 * publishes: PREEMPT: a task that woke has an earlier deadline than the running one, or a slice ended at a tick
 * asks:      FAIR: the task's record, and WEIGHT; both needed. LATENCY: the slice
 *            that it requests. PENALTY: of its virtual time and its slice. AFFINITY: which CPUs the task may take.
 *            POLICY: a task of SCHED_BATCH that wakes preempts only SCHED_IDLE
 * answers:   -
 * params:    slice ns 750000 [10000, 1000000000]; length of a slice
 *            scale flag 1 [0, 1]; multiply the slice by 1 + log2 of the CPUs, 8 at most
 *            tick ns 0 [0, 1000000000]; slices end at multiples of this, 0: by a timer
 *            lag flag 1 [0, 1]; a task keeps its lag over a sleep
 *            delay flag 1 [0, 1]; negative lag of a sleeping task decays with time
 *            parity flag 1 [0, 1]; a task that has started its slice continues while it is eligible
 *            eager flag 1 [0, 1]; but is preempted by a waking task with shorter slices
 * cost:      O(log n) per change, plus a scan of the CPUs behind the out-pipe if there are several; no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe by virtual deadline, gated by virtual time: first is
 *            the first one that was eligible at the last event of the queue
 * source:    Stoica and Abdel-Wahab, "Earliest eligible virtual deadline first: a flexible and accurate
 *            mechanism for proportional share resource allocation", 1995; Linux 6.12, kernel/sched/fair.c
 * long:      lag, eligibility and slices are one definition: each function here uses the sums of
 *            the others
 *
 * Each task is entitled to a part of the elapsed time, by weight; its lag is this part less the time it has received. A task
 * with non-negative lag is eligible. The virtual deadline of a slice is the time by which the task, served by its weight,
 * would have received it. The length of the slice does not affect the share, but a task with short slices is served
 * sooner: this is how a task requests low latency. The lag of a task that always computes is bounded by the longest slice.
 *
 * If a task blocks with negative lag, the lag decays as time passes for the others, and is zero when
 * they have caught up or the queue is empty (delayed dequeue; in Linux the task's weight stays in the sum until
 * then, here it does not). A task with positive lag keeps it over a sleep of any length.
 *
 * A waiting task keeps its place when the mean moves: its virtual time is a gate, which is open if it is not beyond the mean. A
 * task that slept with negative lag and wakes in another queue starts without lag.
 *
 * example:   annotate affinity, weight, fair;
 *            entry -> weight_balancer -> each cpu { eevdf -> cpu };
 */
#include <weir/kit/fair.h>
#include <weir/cpus.h>

/* A tick of Linux at 250 Hz: lags are bounded by two slices or this. */
#define EEVDF_TICK_NS 4000000ull

struct eevdf {
	struct weir_instance inst;
	u64 slice;  /* (c) ns */
	u64 scale;  /* (c) */
	u64 tick;   /* (c) ns */
	u64 lag;    /* (c) */
	u64 delay;  /* (c) */
	u64 parity; /* (c) */
	u64 eager;  /* (c) */
	u64 empty;  /* (h) times that the queue ran empty */
	struct weir_fair_queue q;
};

WEIR_COMPONENT(
	eevdf, .summary = "run the eligible task with the earliest virtual deadline",
	.cls = WEIR_ORDER, .ordering = WEIR_TOTAL, .in_min = 1, .in_max = 1, .out_min = 1,
	.out_max = 1, .keyed_out = WEIR_GATED, .serial = 1,
	.hears = WEIR_HEARS_PICKED | WEIR_HEARS_LEFT,
	.listens = WEIR_TOPIC_BIT(TICK) | WEIR_TOPIC_BIT(WEIGHT), .reviews = WEIR_TOPIC_BIT(WEIGHT),
	.publishes = WEIR_TOPIC_BIT(PREEMPT),
	.asks = WEIR_TOPIC_BIT(FAIR) | WEIR_TOPIC_BIT(WEIGHT) | WEIR_TOPIC_BIT(LATENCY) |
		WEIR_TOPIC_BIT(PENALTY) | WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(POLICY),
	.needs = WEIR_TOPIC_BIT(FAIR) | WEIR_TOPIC_BIT(WEIGHT),
	WEIR_PARAMS(eevdf,
		    WEIR_PARAM(eevdf, slice, NS, 750000, 10000, 1000000000, "length of a slice"),
		    WEIR_PARAM(eevdf, scale, FLAG, 1, 0, 1,
			       "multiply the slice by 1 + log2 of the CPUs, 8 at most"),
		    WEIR_PARAM(eevdf, tick, NS, 0, 0, 1000000000,
			       "slices end at multiples of this, 0: by a timer"),
		    WEIR_PARAM(eevdf, lag, FLAG, 1, 0, 1, "a task keeps its lag over a sleep"),
		    WEIR_PARAM(eevdf, delay, FLAG, 1, 0, 1,
			       "negative lag of a sleeping task decays with time"),
		    WEIR_PARAM(eevdf, parity, FLAG, 1, 0, 1,
			       "a task that has started its slice continues while it is eligible"),
		    WEIR_PARAM(eevdf, eager, FLAG, 1, 0, 1,
			       "but is preempted by a waking task with shorter slices")));

/* Sum of signed numbers over a positive one, rounded down. */
WEIR_INLINE s64 eevdf_ratio(s64 sum, u64 load)
{
	return sum < 0 ? -(s64)(((u64)-sum + load - 1) / load) : (s64)((u64)sum / load);
}

/* The weighted mean of the virtual times, of all that wait or run: a task that is not beyond it is eligible. */
WEIR_INLINE u64 eevdf_mean(const struct eevdf weir_mem *self)
{
	return self->q.load ? self->q.zero + (u64)eevdf_ratio(self->q.sum, self->q.load)
			    : self->q.zero;
}

WEIR_INLINE int eevdf_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* A slice of the task in virtual time. */
WEIR_INLINE u64 eevdf_turn(const struct weir_fair weir_mem *f)
{
	u64 turn = f->slice;

	if (f->shrink)
		turn -= (u64)weir_fair_part(turn, f->shrink);
	return weir_fair_virtual(turn, f);
}

/* No task is owed more, or owes more, than two slices. */
WEIR_INLINE s64 eevdf_bounded(const struct eevdf weir_mem *self, const struct weir_fair weir_mem *f,
			      u64 lag)
{
	u64 tick = self->tick ? self->tick : EEVDF_TICK_NS;
	s64 most = (s64)weir_fair_virtual(2 * f->slice > tick ? 2 * f->slice : tick, f);

	return (s64)lag > most ? most : (s64)lag < -most ? -most : (s64)lag;
}

/* What the runtime's timer is set to: the time until the slice is over, and not a nanosecond less. */
WEIR_INLINE void eevdf_grant(struct eevdf weir_mem *self, struct weir_task weir_mem *t,
			     const struct weir_fair weir_mem *f)
{
	u64 left = eevdf_before(f->vruntime, f->deadline) ? f->deadline - f->vruntime : 1;

	left = (left * f->weight + 1023) / 1024 + f->weight / 1024 + 1;
	weir_store(&t->slice_ns, weir_fair_until(self->inst.sched, left, self->tick));
}

/* Gates are open up to the mean. */
WEIR_INLINE void eevdf_open(struct eevdf weir_mem *self)
{
	weir_out(&self->inst, 0)->now = self->q.zero;
	if (self->inst.home)
		self->inst.home->now = self->q.zero;
}

/* The queue's sums are up to date: they stay small, and gates open by the mean. */
WEIR_INLINE void eevdf_settle(struct eevdf weir_mem *self)
{
	u64 mean;

	/* (The mean is where it was.) */
	if ((u64)self->q.sum < self->q.load)
		return;
	mean = eevdf_mean(self);
	self->q.sum -= (s64)((mean - self->q.zero) * self->q.load);
	self->q.zero = mean;
	eevdf_open(self);
}

/* The lag of a task that comes from another queue, or from sleep. */
WEIR_INLINE s64 eevdf_owed(const struct eevdf weir_mem *self, const struct weir_fair weir_mem *f,
			   u64 mean)
{
	s64 lag;

	if (!f->queue || !self->lag || !(f->flags & WEIR_FAIR_LAGS))
		return 0;
	if (f->lag >= 0 || !self->delay || !(f->flags & WEIR_FAIR_SLEPT))
		return f->lag;
	/* It paid while the others caught up. */
	lag = f->queue == self->q.id && f->base == self->empty ? (s64)(mean - f->vruntime) : 0;
	return lag >= 0 ? 0 : lag > f->lag ? lag : f->lag;
}

/* @f joins those that compete: the mean stays what it is, and its lag what it was. */
WEIR_INLINE void eevdf_join(struct eevdf weir_mem *self, struct weir_fair weir_mem *f)
{
	u64 load = self->q.load, mean = eevdf_mean(self), turn = eevdf_turn(f);
	u64 ahead = f->deadline - f->vruntime;
	s64 lag = load ? eevdf_bounded(self, f, (u64)eevdf_owed(self, f, mean)) : 0;

	/* When it is in, the mean has moved towards it: by so much more it must be away. */
	if (lag)
		lag = eevdf_ratio(lag * (s64)(load + f->weight), load);
	f->vruntime = mean - (u64)lag;
	if (f->queue && !(f->flags & WEIR_FAIR_SLEPT) && ahead <= turn)
		turn = ahead;
	else if (!f->queue)
		turn /= 2; /* the others are, in the mean, in the middle of their slices */
	f->deadline = f->vruntime + turn;
	f->queue = self->q.id;
	weir_fair_enter(&self->q, f);
}

/* @f, which is eligible and has the earliest deadline, displaces what the record @r belongs to. */
WEIR_INLINE int eevdf_stronger(const struct eevdf weir_mem *self,
			       const struct weir_fair weir_mem *f,
			       const struct weir_fair weir_mem *r)
{
	int earlier = eevdf_before(f->deadline, r->deadline);

	if (r->flags & WEIR_FAIR_RESCHED)
		return 0;
	if (f->weight == WEIR_WEIGHT_IDLE || r->weight == WEIR_WEIGHT_IDLE)
		return f->weight != r->weight && r->weight == WEIR_WEIGHT_IDLE;
	if (eevdf_before(self->q.zero, r->vruntime))
		return 1;
	return earlier && (!self->parity || (self->eager && f->slice < r->slice));
}

/* @t, which may run on @mask (null: everywhere), woke and is the first that waits: the CPU that it takes, or WEIR_NO_CPU. */
WEIR_HELPER WEIR_RARE u32 eevdf_victim(struct eevdf weir_mem *self weir_arg,
				       struct weir_task weir_mem *t weir_arg,
				       const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u32 victim = WEIR_NO_CPU, nr = weir_nr_cpus(self->inst.sched);
	u64 latest = 0;
	int batch;

	if (!f || (out->nr_cpus > 1 && weir_idle_near(out, t, mask) != WEIR_NO_CPU))
		return victim;
	batch = weir_fair_is_batch(self->inst.sched, t);
	for (u32 cpu = weir_fair_busy(out, 0); cpu < nr && weir_loop;
	     cpu = weir_fair_busy(out, cpu + 1)) {
		struct weir_task weir_mem *runs;
		struct weir_fair weir_mem *r;

		if (mask && !weir_mask_test(mask, cpu))
			continue;
		r = weir_fair_runs(&self->inst, &self->q, cpu, &runs);
		if (batch && r && r->weight != WEIR_WEIGHT_IDLE)
			continue;
		if (r && eevdf_stronger(self, f, r) && r->deadline >= latest) {
			latest = r->deadline;
			victim = cpu;
		}
	}
	return victim;
}

/* @f has just come in: it is eligible, and goes before all that wait. */
WEIR_INLINE int eevdf_is_first(const struct eevdf weir_mem *self,
			       const struct weir_fair weir_mem *f)
{
	const struct weir_pipe weir_mem *home = self->inst.home;
	struct weir_task weir_mem *best = home ? weir_pipe_first(home) : 0;
	struct weir_fair weir_mem *b = best ? weir_fair_of(self->inst.sched, best) : 0;

	if (eevdf_before(self->q.zero, f->vruntime))
		return 0;
	return !best || (b && b->queue == self->q.id &&
			 (eevdf_before(self->q.zero, b->vruntime) ||
			  eevdf_before(f->deadline, b->deadline)));
}

/* It woke: it takes a CPU if it is the first, and stronger than what runs there. */
WEIR_HELPER WEIR_RARE int eevdf_woke(struct eevdf weir_mem *self weir_arg,
				     struct weir_task weir_mem *t weir_arg)
{
	struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);
	u32 victim;

	if (!f || !eevdf_is_first(self, f))
		return 0;
	victim = eevdf_victim(
		self, t,
		weir_out(&self->inst, 0)->nr_cpus > 1 ? weir_affinity(self->inst.sched, t) : 0);
	if (victim != WEIR_NO_CPU)
		weir_fair_displace(&self->inst, &self->q, victim, t);
	return 0;
}

/* @t comes from another queue or from sleep, or is new. */
WEIR_HELPER WEIR_RARE int eevdf_came(struct eevdf weir_mem *self weir_arg,
				     struct weir_task weir_mem *t weir_arg,
				     struct weir_fair weir_mem *f weir_arg)
{
	weir_fair_weigh(self->inst.sched, t, f);
	f->slice = weir_fair_latency(self->inst.sched, t);
	if (!f->slice)
		f->slice = self->slice;
	eevdf_join(self, f);
	return 0;
}

/* A task is owed what it was owed: its lag in time stays, and so in virtual time it changes. */
WEIR_HELPER WEIR_RARE int eevdf_reweigh(struct eevdf weir_mem *self weir_arg,
					struct weir_task weir_mem *t weir_arg,
					struct weir_fair weir_mem *f weir_arg)
{
	u32 old = f->weight;
	s64 lag = eevdf_bounded(self, f, eevdf_mean(self) - f->vruntime);

	weir_fair_leave(&self->q, f);
	weir_fair_weigh(self->inst.sched, t, f);
	if (f->weight != old) {
		f->vruntime = eevdf_mean(self) - (u64)eevdf_ratio(lag * (s64)old, f->weight);
		f->deadline = f->vruntime + eevdf_turn(f);
		eevdf_grant(self, t, f);
	}
	weir_fair_enter(&self->q, f);
	return 0;
}

WEIR_ENTRY int eevdf_construct(struct eevdf weir_mem *self)
{
	if (self->scale)
		self->slice *= weir_fair_factor(self->inst.sched);
	weir_fair_open(&self->inst, &self->q);
	eevdf_open(self);
	return 0;
}

/* @f is out of those that compete, with its lag. */
WEIR_INLINE void eevdf_left(struct eevdf weir_mem *self, struct weir_fair weir_mem *f, u32 why)
{
	weir_fair_leave(&self->q, f);
	if (!self->q.load)
		self->empty++;
	f->flags = WEIR_FAIR_LAGS;
	if (why == WEIR_WHY_AGAIN)
		f->flags |= WEIR_FAIR_KEPT;
	else if (why != WEIR_WHY_WENT)
		f->flags |= WEIR_FAIR_SLEPT;
}

/* @t comes, goes or is weighed anew, or its queue is counted anew: what is not a turn in a queue that knows it. 1: its place is to be found. */
WEIR_HELPER WEIR_RARE int eevdf_changed(struct eevdf weir_mem *self weir_arg,
					struct weir_task weir_mem *t weir_arg,
					struct weir_fair weir_mem *f weir_arg, u32 what, u32 why)
{
	int here = weir_fair_here(&self->q, f);

	if (what == WEIR_ARRIVED || what == WEIR_PICKED) {
		if (f->queue != self->q.id || !(f->flags & WEIR_FAIR_KEPT) ||
		    why != WEIR_WHY_AGAIN) {
			eevdf_came(self, t, f);
			return 1;
		}
		/* The queue goes on. */
		weir_fair_enter(&self->q, f);
		if (what == WEIR_ARRIVED)
			return 1;
		f->flags = WEIR_FAIR_RUNS;
		eevdf_settle(self);
		return 0;
	}
	if (!here)
		return 0;
	if (what == WEIR_LEFT) {
		f->lag = eevdf_bounded(self, f, eevdf_mean(self) - f->vruntime);
		f->base = self->empty;
		eevdf_left(self, f, why);
	} else {
		eevdf_reweigh(self, t, f);
	}
	eevdf_settle(self);
	return what != WEIR_LEFT;
}

WEIR_ENTRY u32 eevdf_step(struct eevdf weir_mem *self, u32 what, struct weir_task weir_mem *t,
			  struct weir_step weir_mem *s)
{
	struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);
	u64 now = weir_now(self->inst.sched);
	int here;

	if (!f)
		return weir_step_failed(&self->inst, t, -WEIR_EINVAL);
	weir_fair_look_beside(&self->inst, &self->q, t, now);
	here = weir_fair_here(&self->q, f);
	if (here)
		weir_fair_charge(&self->q, f, now);
	if (weir_unlikely(!here || what >= WEIR_LEFT) && !eevdf_changed(self, t, f, what, s->why))
		return 0;
	if (what == WEIR_PICKED) {
		weir_fair_begin(self->inst.sched, t, f, now);
		eevdf_settle(self);
		/* What it was granted on arrival ends with a tick, counted from now on. */
		if (weir_unlikely(!here || self->tick))
			eevdf_grant(self, t, f);
		return 0;
	}
	if (what == WEIR_ARRIVED) {
		if (here && !eevdf_before(f->vruntime, f->deadline))
			f->deadline = f->vruntime + eevdf_turn(f);
		f->flags = WEIR_FAIR_WAITS;
		eevdf_settle(self);
		eevdf_grant(self, t, f);
		if (s->why == WEIR_WHY_ADMITTED || s->why == WEIR_WHY_WOKE)
			eevdf_woke(self, t);
	}
	s->key = f->deadline;
	s->gate = f->vruntime;
	return 0;
}

/* The running task's turn is over. */
WEIR_ENTRY int eevdf_on_tick(struct eevdf weir_mem *self, const struct weir_msg *msg)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0), *home = self->inst.home;
	struct weir_fair weir_mem *f;
	struct weir_task weir_mem *t;

	if (msg->cpu >= weir_nr_cpus(self->inst.sched) || !out->nr_cpus || !home ||
	    !weir_mask_test(out->cpus, msg->cpu) || !weir_pipe_nr(home) ||
	    weir_steps_lock(&self->inst))
		return 0;
	weir_fair_look(&self->inst, &self->q, weir_now(self->inst.sched));
	eevdf_settle(self);
	f = weir_fair_runs(&self->inst, &self->q, msg->cpu, &t);
	if (f && !(f->flags & WEIR_FAIR_RESCHED) && !eevdf_before(f->vruntime, f->deadline))
		weir_fair_displace(&self->inst, &self->q, msg->cpu, t);
	weir_steps_unlock(&self->inst);
	return 0;
}

/* The queue goes on: tasks that wait are re-enqueued and keep their places. */
WEIR_ENTRY void eevdf_take_state(struct eevdf weir_mem *self, struct eevdf weir_mem *old)
{
	self->q.id = old->q.id;
	self->q.zero = old->q.zero;
	eevdf_open(self);
	self->empty = old->empty;
}
