/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * eevdf - run the eligible task with the earliest virtual deadline
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   BLOCK, RELINQUISH, EXIT: a task has left its CPU, which changes the lags of others.
 *            TICK: the running task's slice may be over. WEIGHT: of a waiting task
 * publishes: PREEMPT: a task that woke has an earlier deadline than the running one, or a slice ended at a tick
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
 * cost:      O(n log n) per change at worst, usually O(n), plus a scan of the CPUs behind the out-pipe;
 *            takes the in-pipe lock and the out-pipe lock
 * batch:     the out-pipe holds the tasks of the in-pipe: those that were eligible at the last event of
 *            the queue by virtual deadline, then the others by virtual time
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
 * A task that is alone gets a new deadline only at a tick or when another one arrives. docs/fair.md says what
 * equals the kernel.
 *
 * Takes no steps, so tasks are linked before it (docs/decisions/0050): it hears of tasks that
 * leave, and gives all that wait new places when the mean moves.
 *
 * example:   annotate affinity, weight, fair;
 *            entry -> weight_balancer -> each cpu { eevdf -> cpu };
 */
#include <weir/kit/fair.h>
#include <weir/cpus.h>

/* Keys of those that are not eligible, by virtual time; deadlines are below, and the key of a task that stays is 0. */
#define EEVDF_LATE (1ull << 59)
/* A tick of Linux at 250 Hz. */
#define EEVDF_TICK_NS 4000000ull
/* ns of run time; a slice with less left is over: each charge rounds down, and no timer is that short. */
#define EEVDF_ROUNDING 1000ull
/* Sleepers with negative lag in a queue. A power of two, 32 at most. */
#define EEVDF_DEBTORS 32u

/* A task that sleeps with negative lag, as it was when it blocked. */
struct eevdf_debtor {
	u64 vruntime; /* (p) */
	u64 deadline; /* (p) */
	u64 slice;    /* (p) */
	u32 task;     /* (p) number */
	u32 weight;   /* (p) */
};

struct eevdf {
	struct weir_instance inst;
	u64 slice;  /* (c) ns */
	u64 scale;  /* (c) */
	u64 tick;   /* (c) ns */
	u64 lag;    /* (c) */
	u64 delay;  /* (c) */
	u64 parity; /* (c) */
	u64 eager;  /* (c) */
	u64 rules;  /* (c) */
	/*
	 * (p) with `placed`: no waiting task is eligible with a virtual time after `reach`, and none is late with one before `late`.
	 * As long as the mean stays between the two, all have their places.
	 */
	u64 reach;
	u64 late;
	u64 placed;
	u64 was;      /* (p) rules of 6.12: the mean before tasks came */
	u64 shortest; /* (p) slice of a task in the queue, as found by eevdf_measure() */
	u64 longest;  /* (p) */
	u32 mixed;    /* (p) some slices may differ from `slice`; 0: none does */
	u32 turns;    /* (p) turns that have begun, and 1 */
	u32 owing; /* (p) bits: places of `debtor` in use; their weights are in the sums of `q` */
	u32 unused;
	struct eevdf_debtor debtor[EEVDF_DEBTORS];
	struct weir_fair_queue q;
};

WEIR_COMPONENT(
	eevdf, .summary = "run the eligible task with the earliest virtual deadline",
	.cls = WEIR_ORDER, .ordering = WEIR_TOTAL, .in_min = 1, .in_max = 1, .out_min = 1,
	.out_max = 1, .keyed_out = 1, .change_kinds = WEIR_ADDED | WEIR_REMOVED | WEIR_MOVED,
	.listens = WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(RELINQUISH) | WEIR_TOPIC_BIT(EXIT) |
		   WEIR_TOPIC_BIT(TICK) | WEIR_TOPIC_BIT(WEIGHT),
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
			       "a task that sleeps with negative lag competes until this is paid"),
		    WEIR_PARAM(eevdf, parity, FLAG, 1, 0, 1,
			       "a task that has started its slice continues while it is eligible"),
		    WEIR_PARAM(eevdf, eager, FLAG, 1, 0, 1,
			       "but is preempted by a waking task with shorter slices"),
		    WEIR_PARAM(eevdf, rules, COUNT, 7, 6, 7,
			       "of Linux 6.12 (6), or of 6.17 and later (7)")));

/* Sum of signed numbers over a positive one, rounded down. */
WEIR_INLINE u64 eevdf_ratio(u64 sum, u64 load)
{
	return (s64)sum < 0 ? -((-sum + load - 1) / load) : sum / load;
}

/* The weighted mean of the virtual times, of all that wait or run: a task that is not beyond it is eligible. */
WEIR_INLINE u64 eevdf_mean(const struct eevdf weir_mem *self)
{
	u64 load = self->q.load + self->q.run_load;

	return load ? self->q.zero + eevdf_ratio(self->q.sum + self->q.run_sum, load)
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

/*
 * What the runtime's timer is set to: the time until the slice is over. Only what is left of a slice may be shorter than other
 * turns.
 */
WEIR_INLINE void eevdf_grant(struct eevdf weir_mem *self, struct weir_task weir_mem *t,
			     const struct weir_fair weir_mem *f, u32 stays)
{
	/* Alone after its deadline: were another one to arrive now, a whole slice would begin. */
	u64 left =
		eevdf_before(f->vruntime, f->deadline) ? f->deadline - f->vruntime : eevdf_turn(f);

	/* As virtual time is computed, rounded up. */
	left = ((left << 22) + f->inverse - 1) / f->inverse;
	if (!stays || self->tick)
		left = weir_fair_until(self->inst.sched, left, self->tick);
	weir_store(&t->slice_ns, left);
}

/* Charge the running tasks, sum them up, and begin new slices where the deadline has passed. @in is locked. O(CPUs behind). */
WEIR_HELPER int eevdf_look(struct eevdf weir_mem *self weir_arg,
			   const struct weir_pipe weir_mem *in weir_arg)
{
	const struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_fair_queue weir_mem *q = &self->q;
	u32 nr = weir_nr_cpus(self->inst.sched);

	q->run_load = 0;
	q->run_nr = 0;
	q->run_sum = 0;
	for (u32 cpu = weir_fair_busy(out, 0); cpu < nr && weir_loop;
	     cpu = weir_fair_busy(out, cpu + 1)) {
		struct weir_task weir_mem *t;
		struct weir_fair weir_mem *f = weir_fair_runs(&self->inst, q, in, cpu, &t);
		u64 before, v;

		if (!f)
			continue;
		before = f->vruntime;
		weir_fair_charge(self->inst.sched, t, f);
		v = weir_load(&f->vruntime);
		if (v != before && !eevdf_before(v, f->deadline)) {
			f->deadline = v + eevdf_turn(f);
			f->flags |= WEIR_FAIR_PASSED;
		}
		q->run_nr++;
		q->run_load += f->weight;
		q->run_sum += (v - q->zero) * f->weight;
	}
	weir_note_scan(&self->inst, out->nr_cpus);
	return 0;
}

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

/* Find the shortest and the longest slice in the queue. O(n); not needed while all are equal. */
WEIR_INLINE void eevdf_measure(struct eevdf weir_mem *self, const struct weir_pipe weir_mem *in)
{
	const struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u32 nr = weir_nr_cpus(self->inst.sched);
	struct weir_task weir_mem *t;

	self->shortest = WEIR_KEY_NONE;
	self->longest = 0;
	weir_for_task(t, in) {
		struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);

		if (f && weir_fair_waits(&self->q, f))
			eevdf_span(self, f->slice);
	}
	for (u32 cpu = weir_fair_busy(out, 0); cpu < nr && weir_loop;
	     cpu = weir_fair_busy(out, cpu + 1)) {
		struct weir_fair weir_mem *f = weir_fair_runs(&self->inst, &self->q, in, cpu, &t);

		if (f)
			eevdf_span(self, f->slice);
	}
	for (u32 bits = self->owing; bits && weir_loop; bits &= bits - 1)
		eevdf_span(self, eevdf_debtor(self, bits)->slice);
	if (!self->longest) {
		self->shortest = self->slice;
		self->longest = self->slice;
	}
	self->mixed = self->shortest != self->slice || self->longest != self->slice;
	weir_note_scan(&self->inst, weir_pipe_nr(in));
}

/* The debtor at @slot competes no longer. */
WEIR_INLINE void eevdf_release(struct eevdf weir_mem *self, u32 slot)
{
	const struct eevdf_debtor weir_mem *d = &self->debtor[slot & (EEVDF_DEBTORS - 1)];

	self->q.load -= d->weight;
	self->q.sum -= (d->vruntime - self->q.zero) * d->weight;
	self->owing &= ~(1u << (slot & (EEVDF_DEBTORS - 1)));
}

/* @f, whose weight was @old, has another one: its lag and what is left of its slice stay the same in time. */
WEIR_INLINE void eevdf_reweigh(struct weir_fair weir_mem *f, u32 old, u64 mean)
{
	s64 lag = (s64)(mean - f->vruntime), ahead = (s64)(f->deadline - f->vruntime);

	weir_store(&f->vruntime, mean - eevdf_ratio((u64)(lag * (s64)old), f->weight));
	f->deadline = f->vruntime + eevdf_ratio((u64)(ahead * (s64)old), f->weight);
}

/* The lag of a task that comes from another queue, or from sleep; @before: its virtual time before it was charged. */
WEIR_INLINE s64 eevdf_owed(struct eevdf weir_mem *self, const struct weir_fair weir_mem *f,
			   u64 before)
{
	struct weir_fair_mark weir_mem *mark;
	u64 load, mean;
	s64 lag;

	if (!f->queue || !self->lag)
		return 0;
	if (f->flags & WEIR_FAIR_LAGS && !(f->flags & WEIR_FAIR_DEBTOR))
		return f->lag;
	/* It has paid. */
	if (f->queue == self->q.id)
		return 0;
	mark = weir_fair_mark_of(self->inst.sched, f->queue);
	if (!mark)
		return f->flags & WEIR_FAIR_LAGS ? f->lag : 0;
	mean = weir_load(&mark->least);
	load = weir_load(&mark->waiting);
	if (f->flags & WEIR_FAIR_LAGS) {
		lag = (s64)(mean - f->vruntime);
		return lag < 0 ? (lag > f->lag ? lag : f->lag) : 0;
	}
	/* It ran there until now, and the mean has followed since that queue was looked at. */
	if (load)
		mean += (f->vruntime - before) * f->weight / load;
	return eevdf_bounded(self, f, mean - f->vruntime);
}

/*
 * @f is back from a CPU of this queue. WEIR_FAIR_STAYS: a timer ended its turn, and its slice is not over, or nobody else is
 * here; then Linux does not look.
 */
WEIR_INLINE u32 eevdf_resume(struct eevdf weir_mem *self, struct weir_fair weir_mem *f)
{
	u64 left = eevdf_before(f->vruntime, f->deadline) ? f->deadline - f->vruntime : 0;
	int timer = !(f->flags & WEIR_FAIR_RESCHED) && weir_load(&f->seen) >= f->base;

	if (timer && left * f->weight < EEVDF_ROUNDING * 1024)
		left = 0;
	if (timer && (left || !(self->q.load + self->q.run_load)))
		return WEIR_FAIR_STAYS;
	if (!left)
		f->deadline = f->vruntime + eevdf_turn(f);
	return 0;
}

/* @f, from elsewhere, joins those that compete: the mean stays what it is, and its lag what it was. */
WEIR_INLINE void eevdf_place(struct eevdf weir_mem *self, struct weir_fair weir_mem *f, u64 before)
{
	u64 load = self->q.load + self->q.run_load, mean = eevdf_mean(self);
	u64 turn = eevdf_turn(f), ahead = f->deadline - f->vruntime;
	s64 lag = load ? eevdf_owed(self, f, before) : 0;

	/* When it is in, the mean has moved towards it: by so much more it must be away. */
	if (lag)
		lag = (s64)eevdf_ratio((u64)(lag * (s64)(load + f->weight)), load);
	weir_store(&f->vruntime, mean - (u64)lag);
	if (f->queue && !(f->flags & WEIR_FAIR_SLEPT) && ahead <= turn)
		turn = ahead;
	else if (!f->queue)
		turn /= 2; /* the others are, in the mean, in the middle of their slices */
	f->deadline = f->vruntime + turn;
}

/* @t, which waits in @in, has its place for this mean. */
WEIR_INLINE int eevdf_seat(struct eevdf weir_mem *self, struct weir_pipe weir_mem *in,
			   struct weir_task weir_mem *t, u64 mean)
{
	struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u64 key;

	if (!f || !weir_fair_waits(&self->q, f) || weir_pending(in, t))
		return 0;
	if (!(f->flags & WEIR_FAIR_STAYS) && eevdf_before(mean, f->vruntime)) {
		key = EEVDF_LATE + f->vruntime;
		if (eevdf_before(f->vruntime, self->late))
			self->late = f->vruntime;
	} else {
		key = f->flags & WEIR_FAIR_STAYS ? 0 : f->deadline;
		if (eevdf_before(self->reach, f->vruntime))
			self->reach = f->vruntime;
	}
	if (key == f->key && weir_pipe_has(out, t))
		return 0;
	f->key = key;
	return weir_pipe_insert_stable(out, t, key, in);
}

/* Further from the mean than any task is. */
#define EEVDF_FAR (1ull << 62)

/*
 * The queue's sums are up to date: a waiting task gets a new place if it has become eligible, or is no longer.
 * Only @came (null: none) has no place yet. O(n) if another task needs a new one. @in is locked.
 */
WEIR_HELPER int eevdf_settle(struct eevdf weir_mem *self weir_arg,
			     struct weir_pipe weir_mem *in weir_arg,
			     struct weir_task weir_mem *came weir_arg)
{
	u64 mean = eevdf_mean(self);
	struct weir_task weir_mem *t;
	int err = 0;

	if (self->placed && !eevdf_before(mean, self->reach) && eevdf_before(mean, self->late)) {
		if (came)
			err = eevdf_seat(self, in, came, mean);
	} else {
		self->reach = mean - EEVDF_FAR;
		self->late = mean + EEVDF_FAR;
		weir_for_task(t, in) {
			err = eevdf_seat(self, in, t, mean);
			if (err)
				break;
		}
	}
	self->placed = !err;
	weir_note_scan(&self->inst, weir_pipe_nr(in));
	self->q.sum -= (mean - self->q.zero) * self->q.load;
	self->q.run_sum -= (mean - self->q.zero) * self->q.run_load;
	self->q.zero = mean;
	weir_fair_publish(self->inst.sched, self->q.id, mean, self->q.load + self->q.run_load);
	return err;
}

/* The best of those that wait and are eligible, or null. */
WEIR_INLINE struct weir_task weir_mem *eevdf_first(const struct eevdf weir_mem *self)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_task weir_mem *t;
	struct weir_fair weir_mem *f;

	if (weir_pipe_lock(out))
		return 0;
	t = out->head;
	weir_pipe_unlock(out);
	f = t ? weir_fair_of(self->inst.sched, t) : 0;
	return f && f->key < EEVDF_LATE ? t : 0;
}

/* The debtor that is eligible and would be chosen before @head (null: before all): the lowest bit of what is returned. 0: none. O(debtors). */
WEIR_INLINE u32 eevdf_paid(struct eevdf weir_mem *self, const struct weir_fair weir_mem *head)
{
	u64 mean = eevdf_mean(self), due = head ? head->deadline : 0;
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
 * The debtor leaves that would be chosen before those that wait and the running task @r (null: none); @look: it would, but stays.
 * 0: there is none.
 */
WEIR_HELPER int eevdf_absolve(struct eevdf weir_mem *self weir_arg,
			      const struct weir_fair weir_mem *r weir_arg, u32 look)
{
	struct weir_task weir_mem *t = eevdf_first(self);
	const struct weir_fair weir_mem *head = t ? weir_fair_of(self->inst.sched, t) : 0;
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

/* A choice follows: all such debtors leave. The sums are up to date, and all have their places, before and after. */
WEIR_INLINE int eevdf_clear(struct eevdf weir_mem *self, struct weir_pipe weir_mem *in,
			    const struct weir_fair weir_mem *r)
{
	int err = 0;

	while (self->owing && !err && weir_loop) {
		if (!eevdf_absolve(self, r, 0))
			break;
		err = eevdf_settle(self, in, 0);
	}
	return err;
}

/* How a task came; bits. */
enum { EEVDF_WOKE = 1, EEVDF_NEW = 2, EEVDF_BATCH = 4, EEVDF_CROWD = 8, EEVDF_SHADED = 16 };

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
WEIR_INLINE int eevdf_yields(struct eevdf weir_mem *self, struct weir_fair weir_mem *r,
			     const struct weir_fair weir_mem *first,
			     const struct weir_fair weir_mem *came, u32 how)
{
	int eligible = !eevdf_before(self->q.zero, r->vruntime);
	int safe = eevdf_before(r->vruntime, r->protect);
	int later = !eligible || (first && !eevdf_before(r->deadline, first->deadline));
	int due = how & EEVDF_CROWD && eevdf_due(self, r);
	int brief;
	u64 until;

	r->flags &= ~WEIR_FAIR_PASSED;
	if (r->flags & WEIR_FAIR_RESCHED)
		return 0;
	if (due)
		return first && later;
	if (!came)
		return 0;
	if (came->weight == WEIR_WEIGHT_IDLE || r->weight == WEIR_WEIGHT_IDLE)
		return came->weight != r->weight && r->weight == WEIR_WEIGHT_IDLE;
	if (how & EEVDF_BATCH)
		return 0;
	brief = self->eager && came->slice < r->slice;
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
WEIR_HELPER u32 eevdf_victim(struct eevdf weir_mem *self weir_arg,
			     struct weir_task weir_mem *t weir_arg,
			     struct weir_task weir_mem *first weir_arg,
			     const struct weir_cpumask weir_mem *mask weir_arg, u32 how)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0), *in = weir_in(&self->inst, 0);
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
		r = weir_fair_runs(&self->inst, &self->q, in, cpu, &runs);
		if (r && eevdf_yields(self, r, head, f, how) && r->deadline >= latest) {
			latest = r->deadline;
			victim = cpu;
		}
	}
	return victim;
}

WEIR_ENTRY int eevdf_construct(struct eevdf weir_mem *self)
{
	if (self->scale)
		self->slice *= weir_fair_factor(self->inst.sched);
	self->shortest = self->slice;
	self->longest = self->slice;
	self->turns = 1;
	weir_fair_open(&self->inst, &self->q);
	return 0;
}

/* What became of tasks that left or came; bits. */
enum { EEVDF_ANEW = 1, EEVDF_EVENT = 2, EEVDF_BEGAN = 4 };

/* @f leaves those that compete, with its lag; it is summed up in `run_` or not at all. */
WEIR_INLINE void eevdf_part(struct eevdf weir_mem *self, struct weir_fair weir_mem *f, u64 mean)
{
	f->lag = eevdf_bounded(self, f, mean - f->vruntime);
	f->flags |= WEIR_FAIR_LAGS;
}

/* @t begins its turn. A task that goes on after its turn is not protected again. */
WEIR_INLINE void eevdf_begin(struct eevdf weir_mem *self, struct weir_task weir_mem *t,
			     struct weir_fair weir_mem *f)
{
	u32 stays = f->flags & WEIR_FAIR_STAYS;

	if (f->turn != self->turns) {
		f->turn = ++self->turns;
		f->protect = self->parity ? f->deadline : f->vruntime;
		if (self->rules >= 7 && self->shortest < f->slice) {
			u64 until = f->vruntime + weir_fair_virtual(self->shortest, f);

			if (eevdf_before(until, f->protect))
				f->protect = until;
		}
	}
	weir_fair_begin(self->inst.sched, t, f);
	eevdf_grant(self, t, f, stays);
	f->base = f->began + weir_load(&t->slice_ns);
}

/* @t has left the in-pipe: for a CPU of ours, where its turn is to begin, or elsewhere. */
WEIR_INLINE int eevdf_left(struct eevdf weir_mem *self, struct weir_task weir_mem *t,
			   struct weir_fair weir_mem *f)
{
	if (!weir_fair_waits(&self->q, f))
		return EEVDF_ANEW;
	if (!weir_fair_claimed(&self->inst, t)) {
		if (weir_load(&t->state) == WEIR_SCHEDULABLE)
			return EEVDF_ANEW;
		eevdf_part(self, f, eevdf_mean(self));
		f->flags &= ~WEIR_FAIR_WAITS;
		return EEVDF_ANEW | EEVDF_EVENT;
	}
	weir_fair_leave(&self->q, f);
	return EEVDF_EVENT | EEVDF_BEGAN;
}

/* @f, whose weight was @old, wakes where it left a debt, which is not paid yet: it goes on where it was. 0: no. */
WEIR_INLINE int eevdf_reopen(struct eevdf weir_mem *self, const struct weir_task weir_mem *t,
			     struct weir_fair weir_mem *f, u32 old)
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
		eevdf_reweigh(f, old, mean);
	return 1;
}

/*
 * @t, whose virtual time was @before until it was charged, and whose weight was @old, has arrived. It gets its place when all is
 * summed up. Returns how it came; 0: it was here.
 */
WEIR_HELPER u32 eevdf_came(struct eevdf weir_mem *self weir_arg,
			   struct weir_task weir_mem *t weir_arg,
			   struct weir_fair weir_mem *f weir_arg, u64 before, u32 old)
{
	u32 stays = 0, how = 0;

	if (!f->slice)
		f->slice = self->slice;
	if (f->slice != self->slice)
		self->mixed = 1;
	eevdf_span(self, f->slice);
	if (f->queue == self->q.id && !(f->flags & WEIR_FAIR_SLEPT)) {
		if (f->weight != old) {
			u64 load = self->q.load + self->q.run_load + old;
			u64 sum =
				self->q.sum + self->q.run_sum + (f->vruntime - self->q.zero) * old;

			eevdf_reweigh(f, old, self->q.zero + eevdf_ratio(sum, load));
		}
		stays = eevdf_resume(self, f);
	} else {
		how = f->queue ? EEVDF_WOKE : EEVDF_WOKE | EEVDF_NEW;
		f->turn = 0;
		if (!(f->flags & WEIR_FAIR_DEBTOR) || !eevdf_reopen(self, t, f, old)) {
			if (f->flags & WEIR_FAIR_LAGS && f->weight != old)
				f->lag = (s64)eevdf_ratio((u64)(f->lag * (s64)old), f->weight);
			eevdf_place(self, f, before);
		}
	}
	f->queue = self->q.id;
	f->flags = WEIR_FAIR_WAITS | stays;
	f->key = WEIR_KEY_NONE;
	weir_fair_enter(&self->q, f);
	eevdf_grant(self, t, f, stays);
	return how;
}

/* The debtors are summed up. */
WEIR_INLINE void eevdf_owe(struct eevdf weir_mem *self)
{
	for (u32 bits = self->owing; bits && weir_loop; bits &= bits - 1) {
		const struct eevdf_debtor weir_mem *d = eevdf_debtor(self, bits);

		self->q.load += d->weight;
		self->q.sum += (d->vruntime - self->q.zero) * d->weight;
	}
}

/* Sum up again those that compete and do not run. */
WEIR_INLINE void eevdf_recount(struct eevdf weir_mem *self, struct weir_pipe weir_mem *in)
{
	weir_fair_recount(&self->inst, &self->q, in);
	eevdf_owe(self);
}

/* @t has arrived, @how: a running task may have to go. */
WEIR_INLINE int eevdf_arrived(struct eevdf weir_mem *self, struct weir_pipe weir_mem *in,
			      struct weir_task weir_mem *t, u32 how)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	const struct weir_cpumask weir_mem *mask = 0;
	struct weir_task weir_mem *first;
	u32 victim;

	/* Debtors leave when Linux chooses; from 6.17 on also when it looks who would be chosen. */
	if (self->owing && out->nr_cpus == 1) {
		struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);
		struct weir_fair weir_mem *r =
			weir_fair_runs(&self->inst, &self->q, in, weir_fair_busy(out, 0), &first);

		if (f && r &&
		    ((how & EEVDF_CROWD && eevdf_due(self, r)) ||
		     (self->rules >= 7 &&
		      (eevdf_before(self->q.zero, r->vruntime) ||
		       !eevdf_before(r->vruntime, r->protect) || f->slice < r->slice))))
			eevdf_clear(self, in, r);
	}
	first = eevdf_first(self);
	if (out->nr_cpus > 1) {
		mask = weir_affinity(self->inst.sched, t);
		if (first != t || weir_idle_near(out, t, mask) != WEIR_NO_CPU)
			return 0;
	}
	if (self->owing && self->rules < 7 && eevdf_absolve(self, 0, 1))
		how |= EEVDF_SHADED;
	if (weir_fair_is_batch(self->inst.sched, t))
		how |= EEVDF_BATCH;
	victim = eevdf_victim(self, t, first, mask, how);
	if (victim != WEIR_NO_CPU)
		weir_fair_displace(&self->inst, &self->q, in, victim, first ? first : t);
	return 0;
}

WEIR_ENTRY int eevdf_update(struct eevdf weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_task weir_mem *woken = 0, *came = 0;
	struct weir_change weir_mem *c;
	u32 what = 0, how = 0, crowd, old;
	int err;

	eevdf_look(self, in);
	if (self->mixed)
		eevdf_measure(self, in);
	crowd = self->q.load ? EEVDF_CROWD : 0;
	if (self->rules < 7)
		self->was = eevdf_mean(self);
	weir_for_change(c, in) {
		struct weir_task weir_mem *t = c->task;
		struct weir_fair weir_mem *f;
		u64 before;

		f = weir_fair_of(self->inst.sched, t);
		if (!f)
			return -WEIR_EINVAL;
		if (c->kind == WEIR_REMOVED) {
			int left = eevdf_left(self, t, f);

			if (left & EEVDF_BEGAN)
				eevdf_begin(self, t, f);
			what |= left;
			continue;
		}
		if (weir_fair_waits(&self->q, f)) {
			/* The law: an order that is re-enqueued is the same, whatever the time. */
			self->placed = 0;
			err = weir_pipe_insert_stable(out, t, f->key, in);
			if (err)
				return err;
			continue;
		}
		before = f->vruntime;
		weir_fair_charge(self->inst.sched, t, f);
		old = f->weight;
		weir_fair_weigh(self->inst.sched, t, f);
		f->slice = weir_fair_latency(self->inst.sched, t);
		how = eevdf_came(self, t, f, before, old);
		if (how)
			woken = t;
		/* Several stand in the order of the in-pipe. */
		if (came)
			self->placed = 0;
		came = t;
		what |= EEVDF_EVENT;
	}
	if (what & EEVDF_ANEW || self->q.nr != weir_pipe_nr(in))
		eevdf_recount(self, in);
	if (!(what & EEVDF_EVENT))
		return 0;
	err = eevdf_settle(self, in, came);
	if (!err && self->owing && came && (!woken || !self->q.run_nr))
		err = eevdf_clear(self, in, 0);
	if (err || !woken || !self->q.run_nr)
		return err;
	return eevdf_arrived(self, in, woken, how | crowd);
}

/* The CPU where @t was is one of ours, and the in-pipe is locked; null: it is none. */
WEIR_INLINE struct weir_fair weir_mem *eevdf_lock(struct eevdf weir_mem *self,
						  struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u32 cpu = weir_load(&t->cpu);
	struct weir_fair weir_mem *f;

	if (cpu >= weir_nr_cpus(self->inst.sched) || !out->nr_cpus ||
	    !weir_mask_test(out->cpus, cpu))
		return 0;
	f = weir_fair_of(self->inst.sched, t);
	if (!f || weir_pipe_lock(weir_in(&self->inst, 0)))
		return 0;
	return f;
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

/* A task that ran here waits for something: its lag is what it is now. */
WEIR_ENTRY int eevdf_on_block(struct eevdf weir_mem *self, const struct weir_msg *msg)
{
	struct weir_fair weir_mem *f = eevdf_lock(self, msg->task);
	struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	int err = 0;

	if (!f)
		return 0;
	if (f->queue == self->q.id && !(f->flags & (WEIR_FAIR_WAITS | WEIR_FAIR_LAGS))) {
		weir_fair_charge(self->inst.sched, msg->task, f);
		if (!eevdf_before(f->vruntime, f->deadline))
			f->deadline = f->vruntime + eevdf_turn(f);
		eevdf_look(self, in);
		weir_fair_enter(&self->q, f);
		eevdf_part(self, f, eevdf_mean(self));
		eevdf_rest(self, msg->task, f);
		err = eevdf_settle(self, in, 0);
		if (!err && self->owing)
			err = eevdf_clear(self, in, 0);
	}
	weir_pipe_unlock(in);
	return err;
}

/* It competes here no longer. */
static int eevdf_gone(struct eevdf weir_mem *self, struct weir_task weir_mem *t, int elsewhere)
{
	struct weir_fair weir_mem *f = eevdf_lock(self, t);
	struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);
	int err = 0;

	if (!f)
		return 0;
	if ((f->queue != self->q.id) == elsewhere) {
		eevdf_look(self, in);
		err = eevdf_settle(self, in, 0);
		if (!err && self->owing)
			err = eevdf_clear(self, in, 0);
	}
	weir_pipe_unlock(in);
	return err;
}

WEIR_ENTRY int eevdf_on_relinquish(struct eevdf weir_mem *self, const struct weir_msg *msg)
{
	return eevdf_gone(self, msg->task, 1);
}

WEIR_ENTRY int eevdf_on_exit(struct eevdf weir_mem *self, const struct weir_msg *msg)
{
	return eevdf_gone(self, msg->task, 0);
}

/* The running task's deadline may have passed, or its protection be over. */
WEIR_ENTRY int eevdf_on_tick(struct eevdf weir_mem *self, const struct weir_msg *msg)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0), *in = weir_in(&self->inst, 0);
	struct weir_task weir_mem *t, *first;
	struct weir_fair weir_mem *f;
	int err = 0;

	if (msg->cpu >= weir_nr_cpus(self->inst.sched) || !out->nr_cpus ||
	    !weir_mask_test(out->cpus, msg->cpu) || weir_pipe_lock(in))
		return 0;
	eevdf_look(self, in);
	/* Alone, it has a new deadline by now if it needs one. */
	if (self->q.load) {
		err = eevdf_settle(self, in, 0);
		self->was = self->q.zero;
		f = weir_fair_runs(&self->inst, &self->q, in, msg->cpu, &t);
		if (f && self->owing && eevdf_due(self, f))
			err = eevdf_clear(self, in, f);
		first = eevdf_first(self);
		if (f && eevdf_yields(self, f, first ? weir_fair_of(self->inst.sched, first) : 0, 0,
				      EEVDF_CROWD))
			weir_fair_displace(&self->inst, &self->q, in, msg->cpu, first);
	}
	weir_pipe_unlock(in);
	return err;
}

/* A waiting task is owed what it was owed. */
WEIR_ENTRY int eevdf_follow_weight(struct eevdf weir_mem *self, const struct weir_msg *msg,
				   struct weir_pipe weir_mem *in)
{
	struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, msg->task);
	u64 mean;
	u32 old;

	if (!f || !weir_fair_waits(&self->q, f) || weir_pending(in, msg->task))
		return 0;
	eevdf_look(self, in);
	old = f->weight;
	mean = eevdf_mean(self);
	weir_fair_weigh(self->inst.sched, msg->task, f);
	if (f->weight != old)
		eevdf_reweigh(f, old, mean);
	eevdf_recount(self, in);
	eevdf_grant(self, msg->task, f, 0);
	self->placed = 0;
	return eevdf_settle(self, in, 0);
}

/* The queue goes on: tasks that wait are re-enqueued and keep their places. */
WEIR_ENTRY void eevdf_take_state(struct eevdf weir_mem *self, struct eevdf weir_mem *old)
{
	self->q.id = old->q.id;
	self->q.zero = old->q.zero;
	self->turns = old->turns;
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
	}
	eevdf_owe(self);
}
