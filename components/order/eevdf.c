/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * eevdf - run the eligible task with the earliest virtual deadline
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   TICK: the running task's slice may be over. WEIGHT, LATENCY: of a task that waits or runs
 * publishes: PREEMPT: a task that woke has an earlier deadline than the running one, or a slice ended at a tick. SLICE:
 *            the running task was alone and is not any more
 * asks:      FAIR: the task's record, and WEIGHT; both needed. LATENCY: the slice
 *            that it requests. PENALTY: of its virtual time and its slice. AFFINITY: which CPUs the task may take.
 *            POLICY: a task of SCHED_BATCH that wakes preempts only SCHED_IDLE
 * answers:   -
 * params:    slice ns 750000 [10000, 1000000000]; length of a slice
 *            scale flag 1 [0, 1]; multiply the slice by 1 + log2 of the CPUs, 8 at most
 *            tick ns 0 [0, 1000000000]; slices end at multiples of this, 0: by a timer
 *            lag flag 1 [0, 1]; a task keeps its lag over a sleep
 *            delay flag 1 [0, 1]; a task that sleeps with negative lag competes until this is paid
 *            parity flag 1 [0, 1]; a task that has started its slice continues while it is eligible
 *            eager flag 1 [0, 1]; but is preempted by a waking task with shorter slices
 *            rules count 7 [6, 7]; of Linux 6.12 (6), or of 6.17 and later (7)
 * cost:      O(log n) per change, O(n) while tasks of the queue request different slices, and O(sleepers in debt) when the
 *            CPU is to choose; plus a scan of the CPUs behind the out-pipe if there are several; no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe by virtual deadline, gated by virtual time: first is
 *            the first one that was eligible at the last event of the queue
 * source:    Stoica and Abdel-Wahab, "Earliest eligible virtual deadline first: a flexible and accurate
 *            mechanism for proportional share resource allocation", 1995; Linux 6.12 to 7.2, kernel/sched/fair.c
 * long:      lag, eligibility and slices are one definition: each function here uses the sums of
 *            the others
 *
 * Each task is entitled to a part of the elapsed time, by weight; its lag is this part less the time it has received. A task
 * with non-negative lag is eligible. The virtual deadline of a slice is the time by which the task, served by its weight,
 * would have received it. The length of the slice does not affect the share, but a task with short slices is served
 * sooner: this is how a task requests low latency. The lag of a task that always computes is bounded by the longest slice.
 *
 * A task that gets the CPU from another one is protected: while it is eligible, nobody preempts it. By the rules of 6.12 that
 * lasts for its slice, and ends early when a task wakes that is eligible, has shorter slices, and is due before it or finds
 * it ineligible. By the rules of 7.x it lasts for the shortest slice in the queue, and a task with shorter slices that wakes
 * is compared without it. A task that goes on after its slice is not protected again. When the protection is over, each tick
 * and each wake-up compares the running task with the best of those that wait (6.12: if it is not eligible any more).
 *
 * If a task blocks with negative lag, its weight stays in the sums, and its deadline competes, until it would
 * be chosen; then it leaves with lag zero. If it wakes before, it goes on where it was, with its old deadline (delayed dequeue; of
 * more than 32 such sleepers in a queue the others leave at once and keep their lag). A task with positive lag keeps it over a
 * sleep of any length. A new weight scales lag and deadline.
 *
 * A task that is alone gets a new deadline only at a tick or when another one arrives. Where the runtime can shorten the turn of a
 * running task (SLICE), no timer ends its slices until then. docs/fair.md says what equals the kernel.
 *
 * A waiting task keeps its place when the mean moves: its virtual time is a gate, which is open if it is not beyond the mean.
 *
 * example:   annotate affinity, weight, fair;
 *            entry -> weight_balancer -> each cpu { eevdf -> cpu };
 */
#include <weir/kit/fair.h>
#include <weir/cpus.h>

/* A tick of Linux at 250 Hz. */
#define EEVDF_TICK_NS 4000000ull
/* ns of run time; a slice with less left is over: each charge rounds down, and no timer is that short. */
#define EEVDF_ROUNDING 1000ull
/*
 * ns; the turn of a task that is alone: long, but not without end, because annotators charge and grant by turns, and because another
 * policy may replace this one meanwhile.
 */
#define EEVDF_ALONE_NS 100000000ull
/* Sleepers with negative lag in a queue. A power of two, 32 at most. */
#define EEVDF_DEBTORS 32u

/* A task that sleeps with negative lag, as it was when it blocked. */
struct eevdf_debtor {
	u64 vruntime; /* (h) */
	u64 deadline; /* (h) */
	u64 slice;    /* (h) */
	u32 task;     /* (h) number */
	u32 weight;   /* (h) */
};

struct eevdf {
	struct weir_instance inst;
	u64 slice;    /* (c) ns */
	u64 scale;    /* (c) */
	u64 tick;     /* (c) ns */
	u64 lag;      /* (c) */
	u64 delay;    /* (c) */
	u64 parity;   /* (c) */
	u64 eager;    /* (c) */
	u64 rules;    /* (c) */
	u64 was;      /* (h) rules of 6.12: the mean before a task came */
	u64 shortest; /* (h) slice of a task in the queue, as found by eevdf_measure() */
	u64 longest;  /* (h) */
	u32 mixed;    /* (h) some slices may differ from `slice`; 0: none does */
	u32 last;     /* (h) 1 + number of the task whose turn began last, 0: it has left since */
	u32 owing;  /* (h) bits: places of `debtor` in use; their weights are in the sums of `q` */
	u32 untold; /* (h) weights change without messages */
	struct weir_fair_queue
		q; /* of those that wait, those that run, and debtors, which `nr` leaves out */
	struct eevdf_debtor debtor[EEVDF_DEBTORS];
};

WEIR_COMPONENT(
	eevdf, .summary = "run the eligible task with the earliest virtual deadline",
	.cls = WEIR_ORDER, .ordering = WEIR_TOTAL, .in_min = 1, .in_max = 1, .out_min = 1,
	.out_max = 1, .keyed_out = WEIR_GATED, .serial = 1,
	.hears = WEIR_HEARS_PICKED | WEIR_HEARS_LEFT,
	.listens = WEIR_TOPIC_BIT(TICK) | WEIR_TOPIC_BIT(WEIGHT) | WEIR_TOPIC_BIT(LATENCY),
	.reviews = WEIR_TOPIC_BIT(WEIGHT) | WEIR_TOPIC_BIT(LATENCY),
	.publishes = WEIR_TOPIC_BIT(PREEMPT) | WEIR_TOPIC_BIT(SLICE),
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
			       "a task that sleeps with negative lag competes until this is paid"),
		    WEIR_PARAM(eevdf, parity, FLAG, 1, 0, 1,
			       "a task that has started its slice continues while it is eligible"),
		    WEIR_PARAM(eevdf, eager, FLAG, 1, 0, 1,
			       "but is preempted by a waking task with shorter slices"),
		    WEIR_PARAM(eevdf, rules, COUNT, 7, 6, 7,
			       "of Linux 6.12 (6), or of 6.17 and later (7)")));

/* --- sums ------------------------------------------------------------------------------------------------ */

/* Sum of signed numbers over a positive one, rounded down. */
WEIR_INLINE s64 eevdf_ratio(s64 sum, u64 load)
{
	return sum < 0 ? -(s64)(((u64)-sum + load - 1) / load) : (s64)((u64)sum / load);
}

/* The weighted mean of the virtual times, of all that compete: a task that is not beyond it is eligible. */
WEIR_INLINE u64 eevdf_mean(const struct eevdf weir_mem *self)
{
	return self->q.load ? self->q.zero + (u64)eevdf_ratio(self->q.sum, self->q.load)
			    : self->q.zero;
}

WEIR_INLINE int eevdf_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

/* Gates are open up to the mean. */
WEIR_INLINE void eevdf_open(struct eevdf weir_mem *self)
{
	weir_out(&self->inst, 0)->now = self->q.zero;
	if (self->inst.home)
		self->inst.home->now = self->q.zero;
}

/* The queue's sums are up to date: they stay small, and gates open by the mean. From here on that is q.zero. */
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

/* A slice of the task in virtual time. */
WEIR_INLINE u64 eevdf_turn(const struct weir_fair weir_mem *f)
{
	u64 turn = f->slice;

	if (f->shrink)
		turn -= (u64)weir_fair_part(turn, f->shrink);
	return weir_fair_virtual(turn, f);
}

/* Time until the slice is over. */
WEIR_INLINE u64 eevdf_rest_of(const struct weir_fair weir_mem *f)
{
	/* Alone after its deadline: were another one to arrive now, a whole slice would begin. */
	u64 left =
		eevdf_before(f->vruntime, f->deadline) ? f->deadline - f->vruntime : eevdf_turn(f);

	/* As virtual time is computed, rounded up. */
	if (f->weight != WEIR_WEIGHT_NICE_0)
		left = ((left << 22) + f->inverse - 1) / f->inverse;
	return left;
}

/*
 * What the runtime's timer is set to: the time until the slice is over. Only what is left of a slice may be shorter than other
 * turns.
 */
WEIR_INLINE void eevdf_grant(struct eevdf weir_mem *self, struct weir_task weir_mem *t,
			     struct weir_fair weir_mem *f, u32 stays)
{
	u64 left = eevdf_rest_of(f);

	if (!stays || self->tick)
		left = weir_fair_until(self->inst.sched, left, self->tick);
	f->base = left;
	weir_store(&t->slice_ns, left);
}

/*
 * @t, which begins its turn, is alone: nothing is to be decided when its slice is over, so Linux sets no timer either. Not where
 * something else has set its turn, or a turn is what its weight or its penalty is for.
 */
WEIR_INLINE void eevdf_lift(struct eevdf weir_mem *self, struct weir_task weir_mem *t,
			    struct weir_fair weir_mem *f)
{
	struct weir_sched weir_mem *s = self->inst.sched;

	if (!(s->rt_topics >> WEIR_TOPIC_SLICE & 1) || self->tick || self->untold ||
	    weir_out(&self->inst, 0)->nr_cpus != 1 || f->base >= EEVDF_ALONE_NS ||
	    weir_load(&t->slice_ns) != f->base || weir_subs(s, WEIR_TOPIC_SLICE)->responder ||
	    weir_subs(s, WEIR_TOPIC_PENALTY)->responder)
		return;
	f->flags |= WEIR_FAIR_ALONE;
	f->base = EEVDF_ALONE_NS;
	weir_store(&t->slice_ns, EEVDF_ALONE_NS);
}

/* @t, which runs on the queue's only CPU, was alone and is not any more: from now on its slice ends by the timer. */
WEIR_INLINE void eevdf_crowd(struct eevdf weir_mem *self, struct weir_task weir_mem *t,
			     struct weir_fair weir_mem *f)
{
	u64 left = eevdf_rest_of(f), granted = weir_load(&t->slice_ns);

	f->flags &= ~(u32)WEIR_FAIR_ALONE;
	f->base = f->turn + left;
	/* Its CPU is about to choose; or an annotator has shortened the turn (to what is left of a quota), and that end comes first. */
	if (f->flags & WEIR_FAIR_RESCHED || (granted < EEVDF_ALONE_NS && granted <= f->base))
		return;
	weir_store(&t->slice_ns, left);
	weir_publish(&self->inst, WEIR_TOPIC_SLICE, t, weir_out(&self->inst, 0)->cpu, left);
}

/* Charge the queue's task that runs on @cpu, and begin a new slice if the deadline has passed. */
WEIR_INLINE struct weir_fair weir_mem *eevdf_watch(struct eevdf weir_mem *self, u32 cpu, u64 now)
{
	struct weir_task weir_mem *t;
	struct weir_fair weir_mem *f = weir_fair_runs(&self->inst, &self->q, cpu, &t);
	u64 before;

	if (!f)
		return 0;
	before = f->vruntime;
	weir_fair_charge(&self->q, f, now);
	if (f->vruntime != before && !eevdf_before(f->vruntime, f->deadline)) {
		f->deadline = f->vruntime + eevdf_turn(f);
		f->flags |= WEIR_FAIR_PASSED;
	}
	return f;
}

/* All that run; their number. O(CPUs behind). */
WEIR_HELPER WEIR_RARE u32 eevdf_watch_all(struct eevdf weir_mem *self weir_arg, u64 now)
{
	const struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u32 nr = weir_nr_cpus(self->inst.sched), running = 0;

	for (u32 cpu = weir_fair_busy(out, 0); cpu < nr && weir_loop;
	     cpu = weir_fair_busy(out, cpu + 1))
		running += eevdf_watch(self, cpu, now) != 0;
	weir_note_scan(&self->inst, out->nr_cpus);
	eevdf_settle(self);
	return running;
}

/* The same but for @t, which is seen to. */
WEIR_INLINE void eevdf_look(struct eevdf weir_mem *self, const struct weir_task weir_mem *t,
			    u64 now)
{
	const struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	const struct weir_task weir_mem *runs;

	if (out->nr_cpus == 1) {
		runs = weir_cpu_curr(self->inst.sched, out->cpu);
		if (!runs || runs == t)
			return;
	}
	eevdf_watch_all(self, now);
}

/* --- lengths of slices ------------------------------------------------------------------------------------ */

WEIR_INLINE void eevdf_span(struct eevdf weir_mem *self, u64 slice)
{
	if (slice < self->shortest)
		self->shortest = slice;
	if (slice > self->longest)
		self->longest = slice;
}

/*
 * The debtor of the lowest bit of @bits. Loops go through the bits: the kernel's verifier remembers each value of a counter that
 * something found with it depends on.
 */
WEIR_INLINE struct eevdf_debtor weir_mem *eevdf_debtor(struct eevdf weir_mem *self, u32 bits)
{
	return &self->debtor[weir_lowest_bit(bits) & (EEVDF_DEBTORS - 1)];
}

/* Find the shortest and the longest slice in the queue, that of the task in hand, @slice, among them. O(n). */
WEIR_HELPER WEIR_RARE int eevdf_measure(struct eevdf weir_mem *self weir_arg, u64 slice)
{
	const struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u32 nr = weir_nr_cpus(self->inst.sched);
	struct weir_task weir_mem *t;
	u32 n = 0;

	self->shortest = slice;
	self->longest = slice;
	if (self->inst.home)
		weir_for_member(t, weir_in(&self->inst, 0)) {
			struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);

			if (f && weir_fair_here(&self->q, f))
				eevdf_span(self, f->slice);
			n++;
		}
	for (u32 cpu = weir_fair_busy(out, 0); cpu < nr && weir_loop;
	     cpu = weir_fair_busy(out, cpu + 1)) {
		struct weir_fair weir_mem *f = weir_fair_runs(&self->inst, &self->q, cpu, &t);

		if (f)
			eevdf_span(self, f->slice);
	}
	for (u32 bits = self->owing; bits && weir_loop; bits &= bits - 1)
		eevdf_span(self, eevdf_debtor(self, bits)->slice);
	self->mixed = self->shortest != self->slice || self->longest != self->slice;
	weir_note_scan(&self->inst, n);
	return 0;
}

/* No task is owed more, or owes more, than two of its slices; by the rules of 7.x, than the longest slice and a tick. */
WEIR_INLINE s64 eevdf_bounded(const struct eevdf weir_mem *self, const struct weir_fair weir_mem *f,
			      u64 lag)
{
	u64 tick = self->tick ? self->tick : EEVDF_TICK_NS;
	u64 time = (self->longest > f->slice ? self->longest : f->slice) + tick;
	s64 most;

	if (self->rules < 7)
		time = 2 * f->slice > tick ? 2 * f->slice : tick;
	most = (s64)weir_fair_virtual(time, f);
	return (s64)lag > most ? most : (s64)lag < -most ? -most : (s64)lag;
}

/* --- who is chosen ---------------------------------------------------------------------------------------- */

/* The place of a waiting task among those that are eligible. */
WEIR_INLINE u64 eevdf_key(const struct weir_fair weir_mem *f)
{
	return f->flags & WEIR_FAIR_STAYS ? 0 : f->deadline;
}

/* It waits here, and is eligible. */
WEIR_INLINE int eevdf_fit(const struct eevdf weir_mem *self, const struct weir_fair weir_mem *f)
{
	return f->queue == self->q.id && f->flags & WEIR_FAIR_WAITS &&
	       (f->flags & WEIR_FAIR_STAYS || !eevdf_before(self->q.zero, f->vruntime));
}

/* The address of the first of those that wait and are eligible; 0: none. Where other orders follow: O(n). */
WEIR_HELPER WEIR_RARE u64 eevdf_first_of_all(struct eevdf weir_mem *self weir_arg)
{
	struct weir_task weir_mem *t, *best = 0;
	u64 least = WEIR_KEY_NONE;
	u32 n = 0;

	weir_for_member(t, weir_in(&self->inst, 0)) {
		const struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);

		n++;
		if (!f || !eevdf_fit(self, f) ||
		    (best && (eevdf_key(f) > least ||
			      (eevdf_key(f) == least && weir_came_before(best, t)))))
			continue;
		best = t;
		least = eevdf_key(f);
	}
	weir_note_scan(&self->inst, n);
	return (u64)best;
}

/* The best of those that wait and are eligible, @t (null: none) among them, which has just come and has no place yet; null: none. */
WEIR_INLINE struct weir_task weir_mem *eevdf_first(struct eevdf weir_mem *self,
						   struct weir_task weir_mem *t)
{
	const struct weir_pipe weir_mem *home = self->inst.home;
	struct weir_task weir_mem *best = 0;
	struct weir_fair weir_mem *b, *f;

	if (home && home->from == &self->inst)
		best = weir_pipe_first(home);
	else if (home)
		best = (struct weir_task weir_mem *)eevdf_first_of_all(self);
	b = best ? weir_fair_of(self->inst.sched, best) : 0;
	if (b && !eevdf_fit(self, b))
		b = 0;
	f = t ? weir_fair_of(self->inst.sched, t) : 0;
	if (f && eevdf_fit(self, f) && (!b || eevdf_key(f) < eevdf_key(b)))
		return t;
	return b ? best : 0;
}

/* --- debtors ---------------------------------------------------------------------------------------------- */

/* The debtor at @slot competes no longer. */
WEIR_INLINE void eevdf_release(struct eevdf weir_mem *self, u32 slot)
{
	const struct eevdf_debtor weir_mem *d = &self->debtor[slot & (EEVDF_DEBTORS - 1)];

	self->q.load -= d->weight;
	self->q.sum -= (s64)((d->vruntime - self->q.zero) * d->weight);
	self->owing &= ~(1u << (slot & (EEVDF_DEBTORS - 1)));
}

/* The debtor that is eligible and would be chosen before @head (null: before all): the lowest bit of what is returned. 0: none. O(debtors). */
WEIR_INLINE u32 eevdf_paid(struct eevdf weir_mem *self, const struct weir_fair weir_mem *head)
{
	u64 mean = self->q.zero, due = head ? head->deadline : 0;
	u32 best = 0;
	int any = head != 0;

	for (u32 bits = self->owing; bits && weir_loop; bits &= bits - 1) {
		const struct eevdf_debtor weir_mem *d = eevdf_debtor(self, bits);

		if (eevdf_before(mean, d->vruntime) || (any && !eevdf_before(d->deadline, due)))
			continue;
		best = bits;
		due = d->deadline;
		any = 1;
	}
	return best;
}

/*
 * The debtor leaves that would be chosen before those that wait, @t (see eevdf_first()) among them, and the running task @r (null: none);
 * @look: it would, but stays. 0: there is none.
 */
WEIR_FLAT WEIR_RARE static int eevdf_absolve(struct eevdf weir_mem *self,
					     const struct weir_fair weir_mem *r,
					     struct weir_task weir_mem *t, u32 look)
{
	struct weir_task weir_mem *first = eevdf_first(self, t);
	const struct weir_fair weir_mem *head = first ? weir_fair_of(self->inst.sched, first) : 0;
	u32 paid;

	if (r && !eevdf_before(self->q.zero, r->vruntime) &&
	    (!head || eevdf_before(r->deadline, head->deadline)))
		head = r;
	paid = eevdf_paid(self, head);
	if (!paid)
		return 0;
	if (!look)
		eevdf_release(self, weir_lowest_bit(paid));
	return 1;
}

/* A choice follows: all such debtors leave. The sums are up to date before and after; those that wake elsewhere learn of the mean. */
WEIR_HELPER WEIR_RARE int eevdf_clear(struct eevdf weir_mem *self weir_arg,
				      const struct weir_fair weir_mem *r weir_arg,
				      struct weir_task weir_mem *t weir_arg)
{
	while (self->owing && weir_loop) {
		if (!eevdf_absolve(self, r, t, 0))
			break;
		eevdf_settle(self);
	}
	weir_fair_publish(self->inst.sched, self->q.id, self->q.zero);
	return 0;
}

/* @t, which blocks and is counted, leaves the queue, or stays in the sums while it owes. */
WEIR_INLINE void eevdf_rest(struct eevdf weir_mem *self, const struct weir_task weir_mem *t,
			    struct weir_fair weir_mem *f)
{
	struct eevdf_debtor weir_mem *d;
	u32 slot;

	if (!self->delay || !self->lag || f->lag >= 0 || self->owing == ~0u) {
		weir_fair_leave(&self->q, f);
		return;
	}
	slot = weir_lowest_bit(self->owing ^ ~0u) & (EEVDF_DEBTORS - 1);
	d = &self->debtor[slot];
	d->vruntime = f->vruntime;
	d->deadline = f->deadline;
	d->slice = f->slice;
	d->task = t->id;
	d->weight = f->weight;
	self->owing |= 1u << slot;
	f->slot = slot;
	f->flags |= WEIR_FAIR_DEBTOR;
	self->q.nr--;
}

/* @f, whose weight was @old, has another one: its lag and what is left of its slice stay the same in time. */
WEIR_INLINE void eevdf_rescale(struct weir_fair weir_mem *f, u32 old, u64 mean)
{
	s64 lag = (s64)(mean - f->vruntime), ahead = (s64)(f->deadline - f->vruntime);
	s64 safe = (s64)(f->protect - f->vruntime);

	f->vruntime = mean - (u64)eevdf_ratio(lag * (s64)old, f->weight);
	f->deadline = f->vruntime + (u64)eevdf_ratio(ahead * (s64)old, f->weight);
	f->protect = f->vruntime + (u64)(safe > 0 ? eevdf_ratio(safe * (s64)old, f->weight) : 0);
}

/* @f, whose weight was @old, wakes where it left a debt, which is not paid yet: it goes on where it was. 0: no. */
WEIR_PART int eevdf_reopen(struct eevdf weir_mem *self weir_arg,
			   const struct weir_task weir_mem *t weir_arg,
			   struct weir_fair weir_mem *f weir_arg, u32 old)
{
	u32 slot = f->slot & (EEVDF_DEBTORS - 1);
	const struct eevdf_debtor weir_mem *d = &self->debtor[slot];
	u64 mean;

	if (f->queue != self->q.id || !(self->owing >> slot & 1) || d->task != t->id ||
	    d->vruntime != f->vruntime)
		return 0;
	mean = eevdf_mean(self);
	eevdf_release(self, slot);
	if (eevdf_before(f->vruntime, mean))
		return 0;
	if (f->weight != old)
		eevdf_rescale(f, old, mean);
	return 1;
}

/* --- arrivals --------------------------------------------------------------------------------------------- */

/* The lag of a task that comes from another queue, or from sleep. */
WEIR_INLINE s64 eevdf_owed(struct eevdf weir_mem *self, const struct weir_fair weir_mem *f)
{
	struct weir_fair_mark weir_mem *mark;
	s64 lag;

	if (!f->queue || !self->lag || !(f->flags & WEIR_FAIR_LAGS))
		return 0;
	if (!(f->flags & WEIR_FAIR_DEBTOR))
		return f->lag;
	/* It has paid. */
	if (f->queue == self->q.id)
		return 0;
	mark = weir_fair_mark_of(self->inst.sched, f->queue);
	if (!mark)
		return f->lag;
	lag = (s64)(weir_load(&mark->mean) - f->vruntime);
	return lag < 0 ? (lag > f->lag ? lag : f->lag) : 0;
}

/* @f, from elsewhere, joins those that compete: the mean stays what it is, and its lag what it was. */
WEIR_PART int eevdf_join(struct eevdf weir_mem *self weir_arg,
			 struct weir_fair weir_mem *f weir_arg)
{
	u64 load = self->q.load, mean = eevdf_mean(self), turn = eevdf_turn(f);
	u64 ahead = f->deadline - f->vruntime;
	s64 lag = load ? eevdf_owed(self, f) : 0;

	/* When it is in, the mean has moved towards it: by so much more it must be away. */
	if (lag)
		lag = eevdf_ratio(lag * (s64)(load + f->weight), load);
	f->vruntime = mean - (u64)lag;
	if (f->queue && !(f->flags & WEIR_FAIR_SLEPT) && ahead <= turn)
		turn = ahead;
	else if (!f->queue)
		turn /= 2; /* the others are, in the mean, in the middle of their slices */
	f->deadline = f->vruntime + turn;
	return 0;
}

/* The slice that @t requests. */
WEIR_INLINE void eevdf_request(struct eevdf weir_mem *self, struct weir_task weir_mem *t,
			       struct weir_fair weir_mem *f)
{
	f->slice = weir_fair_latency(self->inst.sched, t);
	if (!f->slice)
		f->slice = self->slice;
	if (f->slice != self->slice)
		self->mixed = 1;
	if (self->mixed)
		eevdf_measure(self, f->slice);
}

/* @t comes from another queue or from sleep, or is new. */
WEIR_FLAT WEIR_RARE static int eevdf_came(struct eevdf weir_mem *self, struct weir_task weir_mem *t,
					  struct weir_fair weir_mem *f)
{
	u32 old = f->weight;

	self->untold = (u32)weir_fair_weigh(self->inst.sched, t, f);
	eevdf_request(self, t, f);
	if (self->last == t->id + 1)
		self->last = 0;
	if (!(f->flags & WEIR_FAIR_DEBTOR) || !eevdf_reopen(self, t, f, old)) {
		if (f->flags & WEIR_FAIR_LAGS && f->weight != old)
			f->lag = eevdf_ratio(f->lag * (s64)old, f->weight);
		eevdf_join(self, f);
	}
	f->queue = self->q.id;
	weir_fair_enter(&self->q, f);
	return 0;
}

/* @t, which is counted here, may have another weight. */
WEIR_FLAT WEIR_RARE static int eevdf_reweigh(struct eevdf weir_mem *self,
					     struct weir_task weir_mem *t,
					     struct weir_fair weir_mem *f)
{
	u64 mean = eevdf_mean(self);
	u32 old = f->weight;

	weir_fair_leave(&self->q, f);
	self->untold = (u32)weir_fair_weigh(self->inst.sched, t, f);
	if (f->weight != old)
		eevdf_rescale(f, old, mean);
	weir_fair_enter(&self->q, f);
	return 0;
}

/* How a task came; bits. */
enum { EEVDF_NEW = 1, EEVDF_BATCH = 2, EEVDF_CROWD = 4, EEVDF_SHADED = 8 };

/* Whether Linux reschedules the CPU of @r, beside which others wait, because of @r alone. */
WEIR_INLINE int eevdf_due(const struct eevdf weir_mem *self, const struct weir_fair weir_mem *r)
{
	if (r->flags & WEIR_FAIR_PASSED)
		return 1;
	if (eevdf_before(r->vruntime, r->protect))
		return 0;
	return self->rules >= 7 || eevdf_before(self->was, r->vruntime);
}

/*
 * Whether the running task @r has to go, as @first is the best of those that wait, and @came (null: nobody) has just arrived, @how.
 * EEVDF_CROWD: others waited already. EEVDF_SHADED: a debtor would be chosen before @first.
 */
WEIR_PART int eevdf_yields(struct eevdf weir_mem *self weir_arg,
			   struct weir_fair weir_mem *r weir_arg,
			   const struct weir_fair weir_mem *first weir_arg,
			   const struct weir_fair weir_mem *came weir_arg, u32 how)
{
	int eligible = !eevdf_before(self->q.zero, r->vruntime);
	int safe = eevdf_before(r->vruntime, r->protect);
	int later = !eligible || (first && !eevdf_before(r->deadline, first->deadline));
	int due = how & EEVDF_CROWD && eevdf_due(self, r);
	int brief;
	u64 until;

	r->flags &= ~(u32)WEIR_FAIR_PASSED;
	if (r->flags & WEIR_FAIR_RESCHED)
		return 0;
	if (due)
		return first && later;
	weir_only_now(r);
	weir_only_now(self);
	if (!came)
		return 0;
	if (came->weight == WEIR_WEIGHT_IDLE || r->weight == WEIR_WEIGHT_IDLE)
		return came->weight != r->weight && r->weight == WEIR_WEIGHT_IDLE;
	if (how & EEVDF_BATCH)
		return 0;
	weir_only_now(came);
	weir_only_now(r);
	brief = self->eager && came->slice < r->slice;
	weir_only_now(came);
	weir_only_now(r);
	weir_only_now(self);
	if (self->rules >= 7) {
		if (how & EEVDF_NEW && !brief)
			return 0;
		if (first == came && later && (brief || !safe || !eligible))
			return 1;
		if (brief) {
			until = came->slice < self->shortest ? came->slice : self->shortest;
			until = r->vruntime + weir_fair_virtual(until, r);
			if (eevdf_before(until, r->protect))
				r->protect = until;
		}
		return 0;
	}
	if (brief && !eevdf_before(self->q.zero, came->vruntime) &&
	    (!eligible || eevdf_before(came->deadline, r->deadline))) {
		r->protect = r->vruntime;
		safe = 0;
	}
	return first == came && later && (!safe || !eligible) && !(how & EEVDF_SHADED);
}

/*
 * @t, which may run on @mask (null: everywhere), has arrived, @how, and @first is the first that waits: the CPU that is to choose,
 * or WEIR_NO_CPU.
 */
WEIR_HELPER WEIR_RARE u32 eevdf_victim(struct eevdf weir_mem *self weir_arg,
				       struct weir_task weir_mem *t weir_arg,
				       struct weir_task weir_mem *first weir_arg,
				       const struct weir_cpumask weir_mem *mask weir_arg, u32 how)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t), *head;
	u32 victim = WEIR_NO_CPU, nr = weir_nr_cpus(self->inst.sched);
	u64 latest = 0;

	if (!f)
		return victim;
	head = first ? weir_fair_of(self->inst.sched, first) : 0;
	for (u32 cpu = weir_fair_busy(out, 0); cpu < nr && weir_loop;
	     cpu = weir_fair_busy(out, cpu + 1)) {
		struct weir_task weir_mem *runs;
		struct weir_fair weir_mem *r;

		if (mask && !weir_mask_test(mask, cpu))
			continue;
		r = weir_fair_runs(&self->inst, &self->q, cpu, &runs);
		if (r && eevdf_yields(self, r, head, f, how) && r->deadline >= latest) {
			latest = r->deadline;
			victim = cpu;
		}
	}
	return victim;
}

/* The only CPU chooses, or Linux looks who would be chosen, now that @f has come, @how: debtors leave then. */
WEIR_INLINE int eevdf_chooses(const struct eevdf weir_mem *self, const struct weir_fair weir_mem *f,
			      const struct weir_fair weir_mem *r, u32 how)
{
	if (how & EEVDF_CROWD && eevdf_due(self, r))
		return 1;
	/* From 6.17 on. */
	return self->rules >= 7 && (eevdf_before(self->q.zero, r->vruntime) ||
				    !eevdf_before(r->vruntime, r->protect) || f->slice < r->slice);
}

/* @t, which may run on @mask (null: everywhere), has come, @how, and others run: one may have to go. The sums are up to date. */
WEIR_HELPER WEIR_RARE int eevdf_woke(struct eevdf weir_mem *self weir_arg,
				     struct weir_task weir_mem *t weir_arg,
				     const struct weir_cpumask weir_mem *mask weir_arg, u32 how)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t), *r;
	struct weir_task weir_mem *first;
	u32 victim;

	if (!f)
		return 0;
	if (self->owing && out->nr_cpus == 1) {
		r = weir_fair_runs(&self->inst, &self->q, out->cpu, &first);
		if (r && eevdf_chooses(self, f, r, how))
			eevdf_clear(self, r, t);
	}
	first = eevdf_first(self, t);
	if (out->nr_cpus > 1 && (first != t || weir_idle_near(out, t, mask) != WEIR_NO_CPU))
		return 0;
	if (self->owing && self->rules < 7 && eevdf_absolve(self, 0, t, 1))
		how |= EEVDF_SHADED;
	victim = eevdf_victim(self, t, first, mask, how);
	if (victim != WEIR_NO_CPU)
		weir_fair_displace(&self->inst, &self->q, victim, first ? first : t);
	return 0;
}

/* @t comes from another queue or from sleep, or is new, and waits from now on. */
WEIR_FLAT WEIR_RARE static int eevdf_arrive(struct eevdf weir_mem *self,
					    struct weir_task weir_mem *t,
					    struct weir_fair weir_mem *f, u64 now)
{
	u32 running = eevdf_watch_all(self, now), how = f->queue ? 0 : EEVDF_NEW;
	const struct weir_cpumask weir_mem *mask = 0;
	struct weir_task weir_mem *runs;
	struct weir_fair weir_mem *r;

	if (self->q.nr > running || self->owing)
		how |= EEVDF_CROWD;
	self->was = self->q.zero;
	eevdf_came(self, t, f);
	f->flags = WEIR_FAIR_WAITS;
	eevdf_settle(self);
	eevdf_grant(self, t, f, 0);
	if (!running) {
		if (self->owing)
			eevdf_clear(self, 0, t);
		return 0;
	}
	/* (What is asked is asked here, for chains of calls to be short in the kernel.) */
	if (weir_out(&self->inst, 0)->nr_cpus > 1)
		mask = weir_affinity(self->inst.sched, t);
	if (weir_fair_is_batch(self->inst.sched, t))
		how |= EEVDF_BATCH;
	eevdf_woke(self, t, mask, how);
	if (weir_out(&self->inst, 0)->nr_cpus != 1)
		return 0;
	r = weir_fair_runs(&self->inst, &self->q, weir_out(&self->inst, 0)->cpu, &runs);
	if (r && r->flags & WEIR_FAIR_ALONE)
		eevdf_crowd(self, runs, r);
	return 0;
}

/* The graph or the instance is a new one, but the queue goes on, and @f is counted anew. */
WEIR_INLINE void eevdf_resume(struct eevdf weir_mem *self, struct weir_fair weir_mem *f, u32 state)
{
	weir_fair_enter(&self->q, f);
	f->flags = state | (f->flags & (WEIR_FAIR_STAYS | WEIR_FAIR_RESCHED | WEIR_FAIR_PASSED |
					WEIR_FAIR_ALONE));
	eevdf_settle(self);
}

/* --- turns ------------------------------------------------------------------------------------------------ */

/*
 * @f is back from a CPU of this queue. WEIR_FAIR_STAYS: a timer ended its turn, and its slice is not over, or nobody else is
 * here; then Linux does not look.
 */
WEIR_PART u32 eevdf_over(struct eevdf weir_mem *self weir_arg,
			 struct weir_fair weir_mem *f weir_arg)
{
	int timer = !(f->flags & WEIR_FAIR_RESCHED) && f->turn >= f->base;

	if (weir_unlikely(timer) && weir_unlikely(self->q.load == f->weight))
		return WEIR_FAIR_STAYS;
	if (eevdf_before(f->vruntime, f->deadline)) {
		if (!timer)
			return 0;
		if ((f->deadline - f->vruntime) * f->weight >= EEVDF_ROUNDING * 1024)
			return WEIR_FAIR_STAYS;
	}
	f->deadline = f->vruntime + eevdf_turn(f);
	return 0;
}

/* @t, which is counted here, waits again. */
WEIR_INLINE void eevdf_requeue(struct eevdf weir_mem *self, struct weir_task weir_mem *t,
			       struct weir_fair weir_mem *f)
{
	u32 stays;

	if (weir_unlikely(self->untold))
		eevdf_reweigh(self, t, f);
	stays = eevdf_over(self, f);
	f->flags = WEIR_FAIR_WAITS | stays;
	eevdf_settle(self);
	if (weir_unlikely(self->owing))
		eevdf_clear(self, 0, t);
	eevdf_grant(self, t, f, stays);
}

/* By the rules of 7.x the protection lasts for the shortest slice in the queue. */
WEIR_HELPER WEIR_RARE int eevdf_protect(struct eevdf weir_mem *self weir_arg,
					struct weir_fair weir_mem *f weir_arg)
{
	u64 until;

	eevdf_measure(self, f->slice);
	if (self->rules < 7 || self->shortest >= f->slice)
		return 0;
	until = f->vruntime + weir_fair_virtual(self->shortest, f);
	if (eevdf_before(until, f->protect))
		f->protect = until;
	return 0;
}

/* @t begins its turn. A task that goes on after its turn is not protected again. */
WEIR_INLINE void eevdf_begin(struct eevdf weir_mem *self, struct weir_task weir_mem *t,
			     struct weir_fair weir_mem *f, u64 now)
{
	u32 stays = f->flags & WEIR_FAIR_STAYS;

	if (self->last != t->id + 1) {
		self->last = t->id + 1;
		f->protect = self->parity ? f->deadline : f->vruntime;
		if (weir_unlikely(self->mixed))
			eevdf_protect(self, f);
	}
	weir_fair_begin(self->inst.sched, t, f, now);
	/* What it was granted on arrival ends with a tick, counted from now on. */
	if (weir_unlikely(self->tick))
		eevdf_grant(self, t, f, stays);
}

/* @t leaves, with its lag. */
WEIR_PART int eevdf_leave(struct eevdf weir_mem *self weir_arg,
			  struct weir_task weir_mem *t weir_arg,
			  struct weir_fair weir_mem *f weir_arg, u32 why)
{
	u32 ran = f->flags & WEIR_FAIR_RUNS;

	if (self->mixed)
		eevdf_measure(self, f->slice);
	f->lag = eevdf_bounded(self, f, eevdf_mean(self) - f->vruntime);
	if (why == WEIR_WHY_AGAIN) {
		f->flags &=
			WEIR_FAIR_STAYS | WEIR_FAIR_RESCHED | WEIR_FAIR_PASSED | WEIR_FAIR_ALONE;
		f->flags |= WEIR_FAIR_LAGS | WEIR_FAIR_KEPT;
		weir_fair_leave(&self->q, f);
		return 0;
	}
	f->flags = why == WEIR_WHY_WENT ? WEIR_FAIR_LAGS : WEIR_FAIR_LAGS | WEIR_FAIR_SLEPT;
	if (why == WEIR_WHY_BLOCKED && ran) {
		if (!eevdf_before(f->vruntime, f->deadline))
			f->deadline = f->vruntime + eevdf_turn(f);
		eevdf_rest(self, t, f);
	} else {
		weir_fair_leave(&self->q, f);
	}
	eevdf_settle(self);
	if (self->owing && ran)
		eevdf_clear(self, 0, 0);
	return 0;
}

/* Another weight, or another slice. */
WEIR_INLINE void eevdf_review(struct eevdf weir_mem *self, struct weir_task weir_mem *t,
			      struct weir_fair weir_mem *f)
{
	u32 old = f->weight;

	eevdf_reweigh(self, t, f);
	eevdf_request(self, t, f);
	if (f->weight != old && f->flags & WEIR_FAIR_WAITS)
		eevdf_grant(self, t, f, 0);
	eevdf_settle(self);
}

/* @t comes, goes or is weighed anew, or its queue is counted anew: what is not a turn in a queue that knows it. */
WEIR_FLAT WEIR_RARE static int eevdf_changed(struct eevdf weir_mem *self,
					     struct weir_task weir_mem *t,
					     struct weir_fair weir_mem *f, u32 what, u32 why)
{
	u64 now = weir_now(self->inst.sched);

	if (what == WEIR_ARRIVED || what == WEIR_PICKED) {
		if (f->queue == self->q.id && f->flags & WEIR_FAIR_KEPT && why == WEIR_WHY_AGAIN) {
			eevdf_resume(self, f,
				     what == WEIR_PICKED ? WEIR_FAIR_RUNS : WEIR_FAIR_WAITS);
		} else if (what == WEIR_ARRIVED) {
			eevdf_arrive(self, t, f, now);
		} else {
			eevdf_came(self, t, f);
			eevdf_begin(self, t, f, now);
			eevdf_settle(self);
			eevdf_grant(self, t, f, 0);
		}
	} else if (weir_fair_here(&self->q, f)) {
		if (what == WEIR_LEFT)
			eevdf_leave(self, t, f, why);
		else
			eevdf_review(self, t, f);
	}
	return 0;
}

/* --- entries ---------------------------------------------------------------------------------------------- */

WEIR_ENTRY int eevdf_construct(struct eevdf weir_mem *self)
{
	if (self->scale)
		self->slice *= weir_fair_factor(self->inst.sched);
	self->shortest = self->slice;
	self->longest = self->slice;
	/* Not known yet. */
	self->untold = 1;
	weir_fair_open(&self->inst, &self->q);
	eevdf_open(self);
	return 0;
}

WEIR_ENTRY u32 eevdf_step(struct eevdf weir_mem *self, u32 what, struct weir_task weir_mem *t,
			  struct weir_step weir_mem *s)
{
	struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);
	u64 now = weir_now(self->inst.sched);
	int here;

	if (!f)
		return weir_step_failed(&self->inst, t, -WEIR_EINVAL);
	eevdf_look(self, t, now);
	here = weir_fair_here(&self->q, f);
	if (what == WEIR_PICKED && here) {
		eevdf_begin(self, t, f, now);
		if (self->q.load == f->weight)
			eevdf_lift(self, t, f);
		return 0;
	}
	if (here)
		weir_fair_charge(&self->q, f, now);
	if (what == WEIR_ARRIVED && here)
		eevdf_requeue(self, t, f);
	else
		eevdf_changed(self, t, f, what, s->why);
	/* (What it hears while another step is under way leaves that alone.) */
	if (what == WEIR_PICKED || what == WEIR_LEFT)
		return 0;
	s->key = f->deadline;
	s->gate = f->vruntime;
	if (weir_unlikely(f->flags & WEIR_FAIR_STAYS)) {
		s->key = 0;
		s->gate = 0;
	}
	return 0;
}

/* The running task's deadline may have passed, or its protection be over. */
WEIR_ENTRY int eevdf_on_tick(struct eevdf weir_mem *self, const struct weir_msg *msg)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_task weir_mem *t, *first;
	struct weir_fair weir_mem *f;
	u32 running;

	if (msg->cpu >= weir_nr_cpus(self->inst.sched) || !out->nr_cpus ||
	    !weir_mask_test(out->cpus, msg->cpu) || weir_steps_lock(&self->inst))
		return 0;
	running = eevdf_watch_all(self, weir_now(self->inst.sched));
	/* Alone, it has a new deadline by now if it needs one. */
	if (self->q.nr > running || self->owing) {
		self->was = self->q.zero;
		f = weir_fair_runs(&self->inst, &self->q, msg->cpu, &t);
		if (f && self->owing && eevdf_due(self, f))
			eevdf_clear(self, f, 0);
		first = eevdf_first(self, 0);
		if (f && eevdf_yields(self, f, first ? weir_fair_of(self->inst.sched, first) : 0, 0,
				      EEVDF_CROWD))
			weir_fair_displace(&self->inst, &self->q, msg->cpu, first);
	}
	weir_steps_unlock(&self->inst);
	return 0;
}

/* The queue goes on: tasks that wait are re-enqueued and keep their places. */
WEIR_ENTRY void eevdf_take_state(struct eevdf weir_mem *self, struct eevdf weir_mem *old)
{
	self->q.id = old->q.id;
	self->q.zero = old->q.zero;
	self->last = old->last;
	self->mixed = 1;
	self->owing = old->owing;
	for (u32 bits = self->owing; bits && weir_loop; bits &= bits - 1) {
		const struct eevdf_debtor weir_mem *from = eevdf_debtor(old, bits);
		struct eevdf_debtor weir_mem *to = eevdf_debtor(self, bits);

		to->vruntime = from->vruntime;
		to->deadline = from->deadline;
		to->slice = from->slice;
		to->task = from->task;
		to->weight = from->weight;
		self->q.load += to->weight;
		self->q.sum += (s64)((to->vruntime - self->q.zero) * to->weight);
	}
	eevdf_open(self);
}
