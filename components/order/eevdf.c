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
 *            delay flag 1 [0, 1]; negative lag of a sleeping task decays with time
 *            parity flag 1 [0, 1]; a task that has started its slice continues while it is eligible
 *            eager flag 1 [0, 1]; but is preempted by a waking task with shorter slices
 * cost:      O(n log n) per change at worst, usually O(n), plus a scan of the CPUs behind the out-pipe;
 *            takes the in-pipe lock and the out-pipe lock
 * batch:     the out-pipe holds the tasks of the in-pipe: those that were eligible at the last event of
 *            the queue by virtual deadline, then the others by virtual time
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
 * Takes no steps, so tasks are linked before it (docs/decisions/0050): it hears of tasks that
 * leave, and gives all that wait new places when the mean moves.
 *
 * example:   annotate affinity, weight, fair;
 *            entry -> weight_balancer -> each cpu { eevdf -> cpu };
 */
#include <weir/kit/fair.h>
#include <weir/cpus.h>

/* Keys of those that are not eligible, by virtual time; deadlines are below. */
#define EEVDF_LATE (1ull << 59)
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
	u64 empty;  /* (p) times that the queue ran empty */
	/*
	 * (p) with `placed`: no waiting task is eligible with a virtual time after `reach`, and none is late with one before `late`.
	 * As long as the mean stays between the two, all have their places.
	 */
	u64 reach;
	u64 late;
	u64 placed;
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
			       "negative lag of a sleeping task decays with time"),
		    WEIR_PARAM(eevdf, parity, FLAG, 1, 0, 1,
			       "a task that has started its slice continues while it is eligible"),
		    WEIR_PARAM(eevdf, eager, FLAG, 1, 0, 1,
			       "but is preempted by a waking task with shorter slices")));

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

/* The lag of a task that comes from another queue, or from sleep; @before: its virtual time before it was charged. */
WEIR_INLINE s64 eevdf_owed(struct eevdf weir_mem *self, const struct weir_fair weir_mem *f,
			   u64 before, u64 mean)
{
	struct weir_fair_mark weir_mem *mark;
	u64 load;
	s64 lag;

	if (!f->queue || !self->lag)
		return 0;
	if (f->flags & WEIR_FAIR_LAGS && (f->lag >= 0 || !self->delay))
		return f->lag;
	if (f->queue == self->q.id) {
		/* It paid while the others caught up. */
		lag = f->base == self->empty ? (s64)(mean - f->vruntime) : 0;
		return lag < 0 ? (lag > f->lag ? lag : f->lag) : 0;
	}
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

/* @f joins those that compete: the mean stays what it is, and its lag what it was. */
WEIR_INLINE void eevdf_place(struct eevdf weir_mem *self, struct weir_fair weir_mem *f, u64 before)
{
	u64 load = self->q.load + self->q.run_load, mean = eevdf_mean(self);
	u64 turn = eevdf_turn(f), ahead = f->deadline - f->vruntime;
	int awake = f->queue && !(f->flags & WEIR_FAIR_SLEPT);
	s64 lag;

	if (awake && f->queue == self->q.id) {
		if (!eevdf_before(f->vruntime, f->deadline))
			f->deadline = f->vruntime + turn;
		return;
	}
	lag = load ? eevdf_bounded(self, f, (u64)eevdf_owed(self, f, before, mean)) : 0;
	/* When it is in, the mean has moved towards it: by so much more it must be away. */
	if (lag)
		lag = (s64)eevdf_ratio((u64)(lag * (s64)(load + f->weight)), load);
	weir_store(&f->vruntime, mean - (u64)lag);
	if (awake && ahead <= turn)
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
	if (eevdf_before(mean, f->vruntime)) {
		key = EEVDF_LATE + f->vruntime;
		if (eevdf_before(f->vruntime, self->late))
			self->late = f->vruntime;
	} else {
		key = f->deadline;
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
WEIR_HELPER u32 eevdf_victim(struct eevdf weir_mem *self weir_arg,
			     struct weir_pipe weir_mem *in weir_arg,
			     struct weir_task weir_mem *t weir_arg,
			     const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u32 victim = WEIR_NO_CPU, nr = weir_nr_cpus(self->inst.sched);
	u64 latest = 0;
	int batch;

	if (!f || f->key >= EEVDF_LATE)
		return victim;
	if (out->nr_cpus > 1 && weir_idle_near(out, t, mask) != WEIR_NO_CPU)
		return victim;
	batch = weir_fair_is_batch(self->inst.sched, t);
	for (u32 cpu = weir_fair_busy(out, 0); cpu < nr && weir_loop;
	     cpu = weir_fair_busy(out, cpu + 1)) {
		struct weir_task weir_mem *runs;
		struct weir_fair weir_mem *r;

		if (mask && !weir_mask_test(mask, cpu))
			continue;
		r = weir_fair_runs(&self->inst, &self->q, in, cpu, &runs);
		if (batch && r && r->weight != WEIR_WEIGHT_IDLE)
			continue;
		if (r && eevdf_stronger(self, f, r) && r->deadline >= latest) {
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
	weir_fair_open(&self->inst, &self->q);
	return 0;
}

/* What became of tasks that left or came; bits. */
enum { EEVDF_ANEW = 1, EEVDF_EVENT = 2, EEVDF_BEGAN = 4 };

/* @f leaves those that compete, with its lag; it is summed up in `run_` or not at all. */
WEIR_INLINE void eevdf_part(struct eevdf weir_mem *self, struct weir_fair weir_mem *f, u64 mean)
{
	f->lag = eevdf_bounded(self, f, mean - f->vruntime);
	f->base = self->empty;
	f->flags |= WEIR_FAIR_LAGS;
}

/* @t has left the in-pipe: for a CPU of ours, where its turn is to begin, or elsewhere. */
WEIR_HELPER int eevdf_left(struct eevdf weir_mem *self weir_arg,
			   struct weir_task weir_mem *t weir_arg,
			   struct weir_fair weir_mem *f weir_arg)
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

/*
 * @t, whose virtual time was @before until it was charged, has arrived. It gets its place when all is summed up. 1: it
 * woke.
 */
WEIR_HELPER int eevdf_came(struct eevdf weir_mem *self weir_arg,
			   struct weir_task weir_mem *t weir_arg,
			   struct weir_fair weir_mem *f weir_arg, u64 before)
{
	int woke = !f->queue || f->flags & WEIR_FAIR_SLEPT;

	eevdf_place(self, f, before);
	f->queue = self->q.id;
	f->flags = WEIR_FAIR_WAITS;
	f->key = WEIR_KEY_NONE;
	weir_fair_enter(&self->q, f);
	eevdf_grant(self, t, f);
	return woke;
}

WEIR_ENTRY int eevdf_update(struct eevdf weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_task weir_mem *woken = 0, *came = 0;
	struct weir_change weir_mem *c;
	u32 victim, what = 0;
	int err;

	weir_fair_look(&self->inst, &self->q, in);
	weir_for_change(c, in) {
		struct weir_task weir_mem *t = c->task;
		struct weir_fair weir_mem *f;
		u64 before;

		f = weir_fair_of(self->inst.sched, t);
		if (!f)
			return -WEIR_EINVAL;
		if (c->kind == WEIR_REMOVED) {
			int left = eevdf_left(self, t, f);

			if (left & EEVDF_BEGAN) {
				weir_fair_begin(self->inst.sched, t, f);
				eevdf_grant(self, t, f);
			}
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
		weir_fair_weigh(self->inst.sched, t, f);
		f->slice = weir_fair_latency(self->inst.sched, t);
		if (!f->slice)
			f->slice = self->slice;
		if (eevdf_came(self, t, f, before))
			woken = t;
		/* Several stand in the order of the in-pipe. */
		if (came)
			self->placed = 0;
		came = t;
		what |= EEVDF_EVENT;
	}
	if (what & EEVDF_ANEW || self->q.nr != weir_pipe_nr(in))
		weir_fair_recount(&self->inst, &self->q, in);
	if (!(what & EEVDF_EVENT))
		return 0;
	err = eevdf_settle(self, in, came);
	if (err || !woken || weir_pipe_lock(out))
		return err;
	if (out->head != woken)
		woken = 0;
	weir_pipe_unlock(out);
	if (!woken)
		return 0;
	victim = eevdf_victim(self, in, woken,
			      out->nr_cpus > 1 ? weir_affinity(self->inst.sched, woken) : 0);
	if (victim != WEIR_NO_CPU)
		weir_fair_displace(&self->inst, &self->q, in, victim, woken);
	return 0;
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
		weir_fair_look(&self->inst, &self->q, in);
		weir_fair_enter(&self->q, f);
		eevdf_part(self, f, eevdf_mean(self));
		weir_fair_leave(&self->q, f);
		if (!(self->q.load + self->q.run_load))
			self->empty++;
		err = eevdf_settle(self, in, 0);
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
		weir_fair_look(&self->inst, &self->q, in);
		if (!(self->q.load + self->q.run_load))
			self->empty++;
		err = eevdf_settle(self, in, 0);
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

/* The running task's turn is over. */
WEIR_ENTRY int eevdf_on_tick(struct eevdf weir_mem *self, const struct weir_msg *msg)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0), *in = weir_in(&self->inst, 0);
	struct weir_fair weir_mem *f;
	struct weir_task weir_mem *t;
	int err;

	if (msg->cpu >= weir_nr_cpus(self->inst.sched) || !out->nr_cpus ||
	    !weir_mask_test(out->cpus, msg->cpu) || !weir_pipe_nr(in) || weir_pipe_lock(in))
		return 0;
	weir_fair_look(&self->inst, &self->q, in);
	err = eevdf_settle(self, in, 0);
	f = weir_fair_runs(&self->inst, &self->q, in, msg->cpu, &t);
	if (f && !(f->flags & WEIR_FAIR_RESCHED) && !eevdf_before(f->vruntime, f->deadline))
		weir_fair_displace(&self->inst, &self->q, in, msg->cpu, t);
	weir_pipe_unlock(in);
	return err;
}

/* A waiting task is owed what it was owed: its lag in time stays, and so in virtual time it changes. */
WEIR_ENTRY int eevdf_follow_weight(struct eevdf weir_mem *self, const struct weir_msg *msg,
				   struct weir_pipe weir_mem *in)
{
	struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, msg->task);
	u32 old;
	s64 lag;

	if (!f || !weir_fair_waits(&self->q, f) || weir_pending(in, msg->task))
		return 0;
	weir_fair_look(&self->inst, &self->q, in);
	old = f->weight;
	lag = eevdf_bounded(self, f, eevdf_mean(self) - f->vruntime);
	weir_fair_weigh(self->inst.sched, msg->task, f);
	weir_store(&f->vruntime, eevdf_mean(self) - eevdf_ratio((u64)(lag * (s64)old), f->weight));
	f->deadline = f->vruntime + eevdf_turn(f);
	weir_fair_recount(&self->inst, &self->q, in);
	eevdf_grant(self, msg->task, f);
	self->placed = 0;
	return eevdf_settle(self, in, 0);
}

/* The queue goes on: tasks that wait are re-enqueued and keep their places. */
WEIR_ENTRY void eevdf_take_state(struct eevdf weir_mem *self, struct eevdf weir_mem *old)
{
	self->q.id = old->q.id;
	self->q.zero = old->q.zero;
	self->empty = old->empty;
}
