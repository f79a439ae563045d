/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * cfs - run the task with the least weighted CPU time
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   TICK: the running task's slice may be over, or others far behind it. WEIGHT: of a waiting task
 * publishes: PREEMPT: a task that woke is far enough behind the running one, at its wake-up or at a tick
 * asks:      FAIR: the task's record, and WEIGHT; both needed. PENALTY: of its
 *            virtual time and its slice. AFFINITY: which CPUs the task may take.
 *            POLICY: a task of SCHED_BATCH that wakes preempts only SCHED_IDLE
 * answers:   -
 * params:    latency ns 6000000 [100000, 1000000000]; period in which every task runs once, if there are few
 *            granularity ns 750000 [10000, 1000000000]; minimum slice if there are many
 *            wakeup ns 1000000 [0, 1000000000]; lead that a task that woke needs to preempt
 *            scale flag 1 [0, 1]; multiply these three by 1 + log2 of the CPUs, 8 at most
 *            tick ns 0 [0, 1000000000]; slices end at multiples of this, 0: by a timer
 *            gentle flag 1 [0, 1]; sleepers get at most half the latency as credit, else all of it
 *            debit flag 1 [0, 1]; new tasks start one slice behind
 * cost:      O(log n) per change, plus a scan of the CPUs behind the out-pipe; O(n) if another stage follows; no
 *            lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe, stably sorted by virtual time; the one that yielded last,
 *            until another has run, by `wakeup` more
 * source:    Linux 5.4 as in spec/4, section 5; PENALTY: spec/4, sections 6 and 7
 * long:      virtual time, its limits and preemption are one rule each, and all of them use the
 *            same two sums
 *
 * The completely fair scheduler. Run time counts as virtual time, divided by the task's weight; the task
 * with the least runs next. A slice is the task's part, by weight, of a period in which every task runs once.
 * A task that wakes is placed at most half a period before the others, so sleeping accumulates little credit. A
 * migrated task keeps its distance to the minimum of its queue; for the time that it slept before, the queue counts
 * as having gone on with the load it had then.
 *
 * With one CPU behind each instance this is Linux's scheduler; several CPUs may also share one. Without ticks from the
 * runtime a slice ends by the timer only, with the length computed at its start. A task that yields is passed over
 * once, as by Linux's hint `skip`, if another is at most `wakeup` ahead of it; so is one that begins a late job in a
 * simulation. The hints `next` and `last` are not modelled. Groups: by weight, see `group_weight`.
 *
 * PENALTY is requested when a task gets its CPU, and applies until it gets the next: a slice is charged with the
 * penalty from before it.
 *
 * example:   annotate affinity, weight, fair;
 *            entry -> weight_balancer -> each cpu { cfs -> cpu };
 */
#include <weir/kit/fair.h>
#include <weir/cpus.h>

struct cfs {
	struct weir_instance inst;
	u64 latency;	 /* (c) ns */
	u64 granularity; /* (c) ns */
	u64 wakeup;	 /* (c) ns */
	u64 scale;	 /* (c) */
	u64 tick;	 /* (c) ns */
	u64 gentle;	 /* (c) */
	u64 debit;	 /* (c) */
	u64 few;	 /* (c) tasks that share `latency`; more lengthen the period */
	u64 least;	 /* (h) virtual time; never falls */
	u64 first;	 /* (h) least virtual time of those that wait, WEIR_KEY_NONE: none does */
	struct weir_task weir_mem *skip; /* (h) yielded, waits, and is passed over; null: none is */
	struct weir_fair_queue q;
};

WEIR_COMPONENT(
	cfs, .summary = "run the task with the least weighted CPU time", .cls = WEIR_ORDER,
	.ordering = WEIR_TOTAL, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	.keyed_out = 1, .serial = 1, .hears = WEIR_HEARS_PICKED | WEIR_HEARS_LEFT,
	.listens = WEIR_TOPIC_BIT(TICK) | WEIR_TOPIC_BIT(WEIGHT), .reviews = WEIR_TOPIC_BIT(WEIGHT),
	.publishes = WEIR_TOPIC_BIT(PREEMPT),
	.asks = WEIR_TOPIC_BIT(FAIR) | WEIR_TOPIC_BIT(WEIGHT) | WEIR_TOPIC_BIT(PENALTY) |
		WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(POLICY),
	.needs = WEIR_TOPIC_BIT(FAIR) | WEIR_TOPIC_BIT(WEIGHT),
	WEIR_PARAMS(cfs,
		    WEIR_PARAM(cfs, latency, NS, 6000000, 100000, 1000000000,
			       "period in which every task runs once, if there are few"),
		    WEIR_PARAM(cfs, granularity, NS, 750000, 10000, 1000000000,
			       "minimum slice if there are many"),
		    WEIR_PARAM(cfs, wakeup, NS, 1000000, 0, 1000000000,
			       "lead that a task that woke needs to preempt"),
		    WEIR_PARAM(cfs, scale, FLAG, 1, 0, 1,
			       "multiply these three by 1 + log2 of the CPUs, 8 at most"),
		    WEIR_PARAM(cfs, tick, NS, 0, 0, 1000000000,
			       "slices end at multiples of this, 0: by a timer"),
		    WEIR_PARAM(cfs, gentle, FLAG, 1, 0, 1,
			       "sleepers get at most half the latency as credit, else all of it"),
		    WEIR_PARAM(cfs, debit, FLAG, 1, 0, 1, "new tasks start one slice behind")));

/* The least virtual time of those that wait, WEIR_KEY_NONE: none does. O(1) before an exit, else O(n). */
WEIR_INLINE u64 cfs_first(const struct cfs weir_mem *self)
{
	struct weir_pipe weir_mem *home = self->inst.home;
	u64 first = WEIR_KEY_NONE;
	struct weir_task weir_mem *t;

	if (!home)
		return first;
	weir_for_member(t, weir_in(&self->inst, 0)) {
		const struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);

		if (f && weir_fair_here(&self->q, f) && f->vruntime < first)
			first = f->vruntime;
		if (home->from == &self->inst)
			break;
	}
	if (self->skip) {
		const struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, self->skip);

		if (f && f->vruntime < first)
			first = f->vruntime;
	}
	return first;
}

/*
 * Bring the queue's times up to date. The least virtual time follows the least of all tasks: those that wait, those that
 * run, and one at @own (WEIR_KEY_NONE: none), which is on its way from one to the other; it never falls.
 */
WEIR_HELPER int cfs_advance(struct cfs weir_mem *self weir_arg, u64 own, u64 now)
{
	u64 least = weir_fair_look(&self->inst, &self->q, now);

	self->first = cfs_first(self);
	if (self->first < least)
		least = self->first;
	if (own < least)
		least = own;
	if (least == WEIR_KEY_NONE || least <= self->least)
		return 0;
	self->least = least;
	/* The sum stays small. */
	self->q.sum -= (s64)((least - self->q.zero) * self->q.load);
	self->q.zero = least;
	return 0;
}

/*
 * The slice of a task of weight @weight among @nr tasks of weight @load, itself included. CPUs that share the
 * queue serve as many tasks at a time.
 */
WEIR_INLINE u64 cfs_turn(struct cfs weir_mem *self, u64 weight, u64 load, u64 nr)
{
	u64 cpus = weir_out(&self->inst, 0)->nr_cpus, period = self->latency, turn;

	if (cpus > 1)
		nr = (nr + cpus - 1) / cpus;
	if (nr > self->few)
		period = nr * self->granularity;
	turn = weir_fair_scale(period, weight, weir_fair_inverse(load));
	if (cpus > 1)
		turn *= cpus;
	return turn < period ? turn : period;
}

/* Of a task that waits or runs: less what its penalty takes. */
WEIR_INLINE u64 cfs_slice(struct cfs weir_mem *self, const struct weir_fair weir_mem *f)
{
	u64 turn = cfs_turn(self, f->weight, self->q.load, self->q.nr);

	return f->shrink ? turn - (u64)weir_fair_part(turn, f->shrink) : turn;
}

WEIR_INLINE void cfs_grant(struct cfs weir_mem *self, struct weir_task weir_mem *t,
			   struct weir_fair weir_mem *f)
{
	f->slice = weir_fair_until(self->inst.sched, cfs_slice(self, f), self->tick);
	weir_store(&t->slice_ns, f->slice);
}

/* The longest sleep that counts, ns; more than any credit. */
#define CFS_SLEEP (1ull << 40)

/* The least virtual time of the queue that it comes from, when it left; @now if it slept since then. */
WEIR_INLINE u64 cfs_origin(const struct weir_fair weir_mem *f, u64 now)
{
	u64 slept = now - f->since, load = (u64)f->lag;

	if (!(f->flags & WEIR_FAIR_SLEPT) || !load)
		return f->base;
	return f->base + (slept < CFS_SLEEP ? slept : CFS_SLEEP) * WEIR_WEIGHT_NICE_0 / load;
}

/* Its virtual time in this queue. It comes from elsewhere, has slept, or is new. */
WEIR_INLINE void cfs_place(struct cfs weir_mem *self, struct weir_fair weir_mem *f, u64 now)
{
	u64 v = f->vruntime, least = self->least;
	u64 bound = least - (self->gentle ? self->latency / 2 : self->latency);

	if (!f->queue) {
		v = least;
		if (self->debit)
			v += weir_fair_virtual(
				cfs_turn(self, f->weight, self->q.load + f->weight, self->q.nr + 1),
				f);
	} else if (f->queue != self->q.id) {
		v += least - cfs_origin(f, now);
		/* A task that is further ahead than there is room had been away for years. */
		if (v > 1ull << 62)
			v = bound;
	}
	if (f->flags & WEIR_FAIR_SLEPT && v < bound)
		v = bound;
	f->vruntime = v;
}

/* @t, which may run on @mask (null: everywhere), woke: the CPU whose task it preempts; WEIR_NO_CPU: none. */
WEIR_HELPER u32 cfs_victim(struct cfs weir_mem *self weir_arg,
			   struct weir_task weir_mem *t weir_arg,
			   const struct weir_cpumask weir_mem *mask weir_arg)
{
	struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u32 victim = WEIR_NO_CPU, nr = weir_nr_cpus(self->inst.sched);
	u64 lead;
	int batch;

	if (!f || f->weight == WEIR_WEIGHT_IDLE)
		return victim;
	if (out->nr_cpus > 1 && weir_idle_near(out, t, mask) != WEIR_NO_CPU)
		return victim;
	lead = weir_fair_virtual(self->wakeup, f);
	batch = weir_fair_is_batch(self->inst.sched, t);
	for (u32 cpu = weir_fair_busy(out, 0); cpu < nr && weir_loop;
	     cpu = weir_fair_busy(out, cpu + 1)) {
		struct weir_task weir_mem *runs;
		struct weir_fair weir_mem *r;
		u64 v;

		if (mask && !weir_mask_test(mask, cpu))
			continue;
		r = weir_fair_runs(&self->inst, &self->q, cpu, &runs);
		if (!r || r->flags & WEIR_FAIR_RESCHED || (batch && r->weight != WEIR_WEIGHT_IDLE))
			continue;
		v = r->weight == WEIR_WEIGHT_IDLE ? WEIR_KEY_NONE : r->vruntime;
		if (v > f->vruntime && v - f->vruntime > lead) {
			lead = v - f->vruntime;
			victim = cpu;
		}
	}
	return victim;
}

WEIR_ENTRY int cfs_construct(struct cfs weir_mem *self)
{
	u64 factor = self->scale ? weir_fair_factor(self->inst.sched) : 1;

	self->few = (self->latency + self->granularity - 1) / self->granularity;
	self->latency *= factor;
	self->granularity *= factor;
	self->wakeup *= factor;
	weir_fair_open(&self->inst, &self->q);
	self->least = self->q.zero;
	return 0;
}

/* @t comes from another queue or from sleep, or is new. */
WEIR_HELPER int cfs_came(struct cfs weir_mem *self weir_arg, struct weir_task weir_mem *t weir_arg,
			 struct weir_fair weir_mem *f weir_arg, u64 now)
{
	weir_fair_weigh(self->inst.sched, t, f);
	cfs_place(self, f, now);
	f->queue = self->q.id;
	weir_fair_enter(&self->q, f);
	return 0;
}

/* Another weight: its part of what comes is another. */
WEIR_HELPER int cfs_reweigh(struct cfs weir_mem *self weir_arg,
			    struct weir_task weir_mem *t weir_arg,
			    struct weir_fair weir_mem *f weir_arg)
{
	weir_fair_leave(&self->q, f);
	weir_fair_weigh(self->inst.sched, t, f);
	weir_fair_enter(&self->q, f);
	return 0;
}

/* It woke: it takes the CPU of a task that is far enough ahead of it. */
WEIR_HELPER int cfs_woke(struct cfs weir_mem *self weir_arg, struct weir_task weir_mem *t weir_arg)
{
	u32 victim = cfs_victim(
		self, t,
		weir_out(&self->inst, 0)->nr_cpus > 1 ? weir_affinity(self->inst.sched, t) : 0);

	if (victim != WEIR_NO_CPU)
		weir_fair_displace(&self->inst, &self->q, victim, t);
	return 0;
}

/* @f leaves the queue: what it needs to know of it to go on elsewhere. */
WEIR_INLINE void cfs_leave(struct cfs weir_mem *self, struct weir_fair weir_mem *f, u32 why,
			   u64 now)
{
	int went = why == WEIR_WHY_WENT || why == WEIR_WHY_AGAIN;

	cfs_advance(self, went ? f->vruntime : WEIR_KEY_NONE, now);
	weir_fair_leave(&self->q, f);
	f->base = self->least;
	f->since = now;
	f->lag = (s64)self->q.load;
	f->flags = why == WEIR_WHY_AGAIN ? WEIR_FAIR_KEPT : went ? 0 : WEIR_FAIR_SLEPT;
}

/* Whether the task of @f, which runs, gives up its CPU before its slice has ended, and nobody took it away. */
WEIR_INLINE int cfs_yields(const struct weir_fair weir_mem *f, u32 why)
{
	return why == WEIR_WHY_REQUEUED && f->flags & WEIR_FAIR_RUNS &&
	       !(f->flags & WEIR_FAIR_RESCHED) && f->turn < f->slice;
}

/* @t has got a CPU: who was passed over for it is not any more. */
WEIR_INLINE void cfs_skipped(struct cfs weir_mem *self, struct weir_task weir_mem *t)
{
	if (self->skip && self->skip != t)
		weir_review(&self->inst, self->skip);
	self->skip = 0;
}

/* @t waits from now on. */
WEIR_INLINE void cfs_arrive(struct cfs weir_mem *self, struct weir_task weir_mem *t,
			    struct weir_fair weir_mem *f, int kept, u64 now)
{
	/* The queue goes on, and is counted anew. */
	if (kept)
		weir_fair_enter(&self->q, f);
	else if (weir_fair_here(&self->q, f))
		cfs_reweigh(self, t, f);
	else
		cfs_came(self, t, f, now);
	f->flags = WEIR_FAIR_WAITS;
	cfs_grant(self, t, f);
}

/* @t runs from now on. */
WEIR_INLINE void cfs_run(struct cfs weir_mem *self, struct weir_task weir_mem *t,
			 struct weir_fair weir_mem *f, int kept, u64 now)
{
	if (kept) {
		weir_fair_enter(&self->q, f);
		f->flags = WEIR_FAIR_RUNS;
		return;
	}
	if (!weir_fair_here(&self->q, f))
		cfs_came(self, t, f, now);
	weir_fair_begin(self->inst.sched, t, f, now);
	cfs_grant(self, t, f);
}

WEIR_ENTRY u32 cfs_step(struct cfs weir_mem *self, u32 what, struct weir_task weir_mem *t,
			struct weir_step weir_mem *s)
{
	struct weir_fair weir_mem *f = weir_fair_of(self->inst.sched, t);
	u64 now = weir_now(self->inst.sched);
	int here, kept, woke, yields;

	if (!f)
		return weir_step_failed(&self->inst, t, -WEIR_EINVAL);
	here = weir_fair_here(&self->q, f);
	kept = f->queue == self->q.id && f->flags & WEIR_FAIR_KEPT && s->why == WEIR_WHY_AGAIN;
	woke = !f->queue || f->flags & WEIR_FAIR_SLEPT;
	if (here)
		weir_fair_charge(&self->q, f, now);
	if (what == WEIR_LEFT) {
		if (here)
			cfs_leave(self, f, s->why, now);
		if (self->skip == t) {
			self->skip = 0;
			if (f->flags & WEIR_FAIR_KEPT)
				f->flags |= WEIR_FAIR_SKIPPED;
		}
		return 0;
	}
	yields = what == WEIR_ARRIVED &&
		 (kept ? f->flags & WEIR_FAIR_SKIPPED : here && cfs_yields(f, s->why));
	cfs_advance(self, here ? f->vruntime : WEIR_KEY_NONE, now);
	if (what == WEIR_PICKED) {
		cfs_skipped(self, t);
		cfs_run(self, t, f, kept, now);
		return 0;
	}
	if (s->runs)
		return 0;
	if (what == WEIR_ARRIVED)
		cfs_arrive(self, t, f, kept, now);
	else if (here)
		cfs_reweigh(self, t, f);
	if (what == WEIR_REVIEW)
		cfs_grant(self, t, f);
	else if (woke)
		cfs_woke(self, t);
	if (yields) {
		cfs_skipped(self, t);
		self->skip = t;
	}
	s->key = f->vruntime + (self->skip == t ? weir_fair_virtual(self->wakeup, f) : 0);
	return 0;
}

/* The running task has used its slice, or a slice more than the task that waits longest. */
WEIR_ENTRY int cfs_on_tick(struct cfs weir_mem *self, const struct weir_msg *msg)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_fair weir_mem *f;
	struct weir_task weir_mem *t;
	u64 turn;

	if (msg->cpu >= weir_nr_cpus(self->inst.sched) || !out->nr_cpus ||
	    !weir_mask_test(out->cpus, msg->cpu) || !weir_pipe_nr(out) ||
	    weir_steps_lock(&self->inst))
		return 0;
	cfs_advance(self, WEIR_KEY_NONE, weir_now(self->inst.sched));
	f = weir_fair_runs(&self->inst, &self->q, msg->cpu, &t);
	if (f && self->first != WEIR_KEY_NONE && !(f->flags & WEIR_FAIR_RESCHED)) {
		turn = cfs_slice(self, f);
		if (f->turn > turn || (f->turn >= self->granularity && f->vruntime > self->first &&
				       f->vruntime - self->first > turn))
			weir_fair_displace(&self->inst, &self->q, msg->cpu, t);
	}
	weir_steps_unlock(&self->inst);
	return 0;
}

/* The queue goes on: tasks that wait are re-enqueued and keep their places. */
WEIR_ENTRY void cfs_take_state(struct cfs weir_mem *self, struct cfs weir_mem *old)
{
	self->q.id = old->q.id;
	self->q.zero = old->q.zero;
	self->least = old->least;
}
