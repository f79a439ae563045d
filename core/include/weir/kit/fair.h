/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What fair orders share: weights, virtual time, and a task's record, which follows it between queues.
 *
 * A task's virtual time is its run time times 1024 / weight, so it advances more slowly for heavier tasks. It
 * is meaningful only within one queue, an instance of an order; a task that changes queues keeps its distance
 * to the old queue's minimum, or its lag. So a task's record belongs not to an instance of an order, but to the responder
 * of FAIR: its state begins with struct weir_fair_book, its private memory of a task is a struct weir_fair.
 * Records are read there directly, without a request, because every event of a task needs them.
 *
 * The queue's order alone writes the record: it hears when a task gets a CPU and when it leaves (PICKED, LEFT), under the lock of its home.
 *
 * Times in ns. Source: the fair scheduling class of Linux 5.4, as the digest of counter-driven CFS
 * describes it (spec/4, section 5); Linux kernel, kernel/sched/fair.c, for the fixed-point format.
 */
#ifndef WEIR_FAIR_H
#define WEIR_FAIR_H

#include <weir/component.h>
#include <weir/cpus.h>

#define WEIR_WEIGHT_NICE_0 1024u
/* Weight of SCHED_IDLE, less than that of any nice value. */
#define WEIR_WEIGHT_IDLE 3u
#define WEIR_WEIGHT_MAX	 (1u << 20)
/* ns; a timer is not worth its cost for shorter turns. */
#define WEIR_FAIR_LEAST_TURN 10000u

enum weir_fair_flag {
	WEIR_FAIR_WAITS = 1,   /* it is counted in its queue, and waits */
	WEIR_FAIR_SLEPT = 2,   /* it has blocked since it last ran */
	WEIR_FAIR_RESCHED = 4, /* it runs, and its CPU was asked to reschedule */
	WEIR_FAIR_LAGS = 8,    /* eevdf: `lag` was set when it left its queue */
	WEIR_FAIR_RUNS = 16,   /* it is counted in its queue, and runs since `since` */
	WEIR_FAIR_KEPT =
		32, /* the instance that counted it is being replaced: it goes on in the same queue */
	WEIR_FAIR_DEBTOR = 64, /* eevdf: it sleeps, and its weight counts in its queue, at `slot` */
	WEIR_FAIR_STAYS = 128, /* eevdf: it waits, and goes on whoever else waits */
	WEIR_FAIR_PASSED = 256, /* eevdf: it runs, and its deadline has passed */
	WEIR_FAIR_ALONE = 512,	/* eevdf: it runs, and its turn is long until another task comes */
	WEIR_FAIR_SKIPPED =
		1024, /* cfs: with WEIR_FAIR_KEPT: it had yielded, and is passed over once */
};
#define WEIR_FAIR_HERE (WEIR_FAIR_WAITS | WEIR_FAIR_RUNS)

/* A task's record, written under the lock of its queue. */
struct weir_fair {
	u64 vruntime;
	u64 queue; /* the queue that `vruntime` belongs to, 0: none yet */
	u64 base; /* cfs: least virtual time of the queue when it left; eevdf: value of `turn` at which the timer of its turn expires */
	u64 since;    /* ns; it is charged up to here, if it runs */
	u64 turn;     /* ns that it has run since it got its CPU */
	u64 slice;    /* length of its turns */
	u64 deadline; /* eevdf: virtual */
	s64 lag;      /* eevdf: its lag when it left its queue, in virtual time */
	u64 protect;  /* eevdf: it runs, and is protected until this virtual time */
	u32 weight;   /* as in Linux, 1024 at nice 0 */
	u32 inverse;  /* 2^32 / weight */
	u32 flags;    /* enum weir_fair_flag */
	s32 stretch;  /* PENALTY when it got its CPU: of virtual time, 1/1024 */
	s32 shrink;   /* likewise, of the slice, 1/1024 */
	u32 slot;     /* eevdf: with WEIR_FAIR_DEBTOR */
};

/* What a queue of eevdf publishes while tasks sleep in debt there, for those that wake elsewhere. */
struct weir_fair_mark {
	u64 queue; /* (a) whose it is */
	u64 mean;  /* (a) of the virtual times, by weight */
};

/* The state of the responder of FAIR. Marks are indexed by queue number, modulo; a later mark may overwrite an earlier one. */
struct weir_fair_book {
	struct weir_instance inst;
	u64 nr;				      /* (c) marks, a power of two */
	struct weir_fair_mark weir_mem *mark; /* (c) */
};

/*
 * @delta times @weight over the weight that @inverse belongs to, as Linux computes it: 32 significant bits of
 * @weight * @inverse, rounded down. O(1).
 */
WEIR_INLINE u64 weir_fair_scale(u64 delta, u64 weight, u64 inverse)
{
	u64 fact = weight, high = delta >> 32;
	u32 shift = 32;

	while (fact >> 32 && weir_loop) {
		fact >>= 1;
		shift--;
	}
	fact *= inverse;
	while (fact >> 32 && weir_loop) {
		fact >>= 1;
		shift--;
	}
	delta = ((delta & 0xffffffffull) * fact) >> shift;
	return high ? delta + ((high * fact) << (32 - shift)) : delta;
}

/* 2^32 / @weight, for weights outside the table. */
WEIR_INLINE u64 weir_fair_inverse(u64 weight)
{
	return weight ? 0xffffffffull / weight : 0xffffffffull;
}

/* Virtual time that passes for the record's task in @delta. Exact at nice 0. */
WEIR_INLINE u64 weir_fair_virtual(u64 delta, const struct weir_fair weir_mem *f)
{
	return f->weight == WEIR_WEIGHT_NICE_0
		       ? delta
		       : weir_fair_scale(delta, WEIR_WEIGHT_NICE_0, f->inverse);
}

/* @part, signed, in 1/1024 of @whole, rounded to the nearest (spec/4, section 7). */
WEIR_INLINE s64 weir_fair_part(u64 whole, s64 part)
{
	return ((s64)whole * part + 512) >> 10;
}

/* Weight of a nice value, and 2^32 / weight; below -20 as -20, above 19 as SCHED_IDLE. O(1). */
u32 weir_fair_nice(s64 nice);
u32 weir_fair_nice_inverse(s64 nice);
/* Of the answer of WEIGHT, in value2: the weight changes without a message, so it is asked for at each turn. */
#define WEIR_FAIR_UNTOLD (1ull << 32)
/* The task's weight as reported now. 1: WEIR_FAIR_UNTOLD. O(1). */
int weir_fair_weigh(struct weir_sched weir_mem *s, struct weir_task weir_mem *t,
		    struct weir_fair weir_mem *f);
/* How long @t wants to run at a time, ns; 0: the default. O(1). */
u64 weir_fair_latency(struct weir_sched weir_mem *s, struct weir_task weir_mem *t);
/* Linux: a waking batch task preempts only SCHED_IDLE tasks. O(1), if POLICY has a responder. */
WEIR_INLINE int weir_fair_is_batch(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	return weir_subs(s, WEIR_TOPIC_POLICY)->responder &&
	       weir_property(s, WEIR_TOPIC_POLICY, t) == WEIR_POLICY_BATCH;
}

/* Its penalty, if PENALTY has a responder. O(1). */
int weir_fair_penalty(struct weir_sched weir_mem *s, struct weir_task weir_mem *t,
		      struct weir_fair weir_mem *f);

/* @f, whose task has got a CPU at @now, begins a turn: its penalty for the turn, and its state. */
WEIR_INLINE void weir_fair_begin(struct weir_sched weir_mem *s, struct weir_task weir_mem *t,
				 struct weir_fair weir_mem *f, u64 now)
{
	f->flags = WEIR_FAIR_RUNS;
	f->since = now;
	f->turn = 0;
	f->stretch = 0;
	f->shrink = 0;
	if (weir_unlikely(weir_subs(s, WEIR_TOPIC_PENALTY)->responder))
		weir_fair_penalty(s, t, f);
}

/* The responder of FAIR, or null. */
WEIR_INLINE struct weir_fair_book weir_mem *weir_fair_book(struct weir_sched weir_mem *s)
{
	return (struct weir_fair_book weir_mem *)weir_subs(s, WEIR_TOPIC_FAIR)->responder;
}

/* The record of @t; null if no instance keeps records. */
WEIR_INLINE struct weir_fair weir_mem *weir_fair_of(struct weir_sched weir_mem *s,
						    const struct weir_task weir_mem *t)
{
	struct weir_fair_book weir_mem *book = weir_fair_book(s);

	return book ? weir_priv(&book->inst, t) : 0;
}

/* Publish the queue's mark. */
WEIR_INLINE void weir_fair_publish(struct weir_sched weir_mem *s, u64 queue, u64 mean)
{
	struct weir_fair_book weir_mem *book = weir_fair_book(s);
	struct weir_fair_mark weir_mem *m;

	if (!book)
		return;
	m = &book->mark[queue & (book->nr - 1)];
	weir_store(&m->mean, mean);
	weir_store_release(&m->queue, queue);
}

/* The mark of @queue, or null: it has none, or another queue has overwritten it. */
WEIR_INLINE struct weir_fair_mark weir_mem *weir_fair_mark_of(struct weir_sched weir_mem *s,
							      u64 queue)
{
	struct weir_fair_book weir_mem *book = weir_fair_book(s);
	struct weir_fair_mark weir_mem *m;

	if (!book)
		return 0;
	m = &book->mark[queue & (book->nr - 1)];
	return weir_load_acquire(&m->queue) == queue ? m : 0;
}

/* --- a queue: the tasks of one instance, those that wait and those that run ----------------------------- */

struct weir_fair_queue {
	/* (c) unique; an instance that replaces this one inherits it */
	u64 id;
	u64 zero; /* (h) virtual time from which sums are counted */
	u64 load; /* (h) weights of all its tasks */
	u64 nr;	  /* (h) their number */
	s64 sum;  /* (h) their virtual times relative to `zero`, each times its weight */
};

/* Start value of a queue: keeps the virtual time of early arrivals from other queues positive. */
#define WEIR_FAIR_BASE (1ull << 40)

/* In construct. */
WEIR_INLINE void weir_fair_open(const struct weir_instance weir_mem *self,
				struct weir_fair_queue weir_mem *q)
{
	q->id = weir_random(self->sched) | 1ull << 63;
	q->zero = WEIR_FAIR_BASE;
}

/* It is counted in the queue. */
WEIR_INLINE int weir_fair_here(const struct weir_fair_queue weir_mem *q,
			       const struct weir_fair weir_mem *f)
{
	return f->queue == q->id && f->flags & WEIR_FAIR_HERE;
}

/* Charge the running @f up to @now. */
WEIR_INLINE void weir_fair_charge(struct weir_fair_queue weir_mem *q, struct weir_fair weir_mem *f,
				  u64 now)
{
	u64 ran, delta;

	if (!(f->flags & WEIR_FAIR_RUNS) || now <= f->since)
		return;
	ran = now - f->since;
	f->since = now;
	f->turn += ran;
	delta = weir_fair_virtual(ran, f);
	if (f->stretch)
		delta += (u64)weir_fair_part(delta, f->stretch);
	f->vruntime += delta;
	q->sum += (s64)(delta * f->weight);
}

/* The next CPU behind @out from @from on that runs or chooses a task, or WEIR_NO_CPU. */
WEIR_INLINE u32 weir_fair_busy(const struct weir_pipe weir_mem *out, u32 from)
{
	struct weir_sched weir_mem *s = out->sched;
	u32 w = from / 64;

	if (!out->nr_cpus)
		return WEIR_NO_CPU;
	if (w < out->word_lo) {
		w = out->word_lo;
		from = w * 64;
	}
	while (w <= out->word_hi && weir_loop) {
		u64 bits = out->cpus->word[w & (WEIR_MASK_WORDS - 1)] &
			   weir_busy_word(s, w & (WEIR_MASK_WORDS - 1));

		bits &= ~0ull << (from % 64);
		if (bits)
			return w * 64 + weir_lowest_bit(bits);
		w++;
		from = w * 64;
	}
	return WEIR_NO_CPU;
}

/* The queue's task that runs on @cpu, and its record; null: none. */
WEIR_INLINE struct weir_fair weir_mem *weir_fair_runs(const struct weir_instance weir_mem *self,
						      const struct weir_fair_queue weir_mem *q,
						      u32 cpu, struct weir_task weir_mem **task)
{
	struct weir_task weir_mem *t = weir_cpu_curr(self->sched, cpu);
	struct weir_fair weir_mem *f = t ? weir_fair_of(self->sched, t) : 0;

	*task = t;
	return f && f->queue == q->id && f->flags & WEIR_FAIR_RUNS ? f : 0;
}

/* Charge the queue's running tasks up to @now; the least virtual time of them, WEIR_KEY_NONE: none runs. O(CPUs behind). */
u64 weir_fair_look_all(struct weir_instance weir_mem *self, struct weir_fair_queue weir_mem *q,
		       u64 now);

WEIR_INLINE u64 weir_fair_look(struct weir_instance weir_mem *self,
			       struct weir_fair_queue weir_mem *q, u64 now)
{
	const struct weir_pipe weir_mem *out = weir_out(self, 0);
	struct weir_task weir_mem *t;
	struct weir_fair weir_mem *f;

	if (out->nr_cpus != 1)
		return weir_fair_look_all(self, q, now);
	f = weir_fair_runs(self, q, out->cpu, &t);
	if (!f)
		return WEIR_KEY_NONE;
	weir_fair_charge(q, f, now);
	return f->vruntime;
}

/*
 * Preempt the task that runs on @cpu for @t (null: for others that wait). If it runs by a real-time priority, an order behind decides, and
 * not this one about the places of equals there.
 */
int weir_fair_displace(struct weir_instance weir_mem *self,
		       const struct weir_fair_queue weir_mem *q, u32 cpu,
		       struct weir_task weir_mem *t);

/* @f is counted from now on, or no longer. */
WEIR_INLINE void weir_fair_enter(struct weir_fair_queue weir_mem *q,
				 const struct weir_fair weir_mem *f)
{
	q->load += f->weight;
	q->sum += (s64)((f->vruntime - q->zero) * f->weight);
	q->nr++;
}

WEIR_INLINE void weir_fair_leave(struct weir_fair_queue weir_mem *q,
				 const struct weir_fair weir_mem *f)
{
	q->load -= f->weight;
	q->sum -= (s64)((f->vruntime - q->zero) * f->weight);
	q->nr--;
}

/* No shorter than the timers of Linux; with ticks, up to the first one at which @turn is over. */
WEIR_INLINE u64 weir_fair_until(struct weir_sched weir_mem *s, u64 turn, u64 tick)
{
	u64 now;

	if (turn < WEIR_FAIR_LEAST_TURN)
		turn = WEIR_FAIR_LEAST_TURN;
	if (!tick)
		return turn;
	now = weir_now(s);
	return ((now + turn) / tick + 1) * tick - now;
}

/* 1 + log2 of the number of CPUs, at most 8: larger machines have longer turns. */
WEIR_INLINE u64 weir_fair_factor(const struct weir_sched weir_mem *s)
{
	return weir_nr_cpus(s) < 2 ? 1 : weir_nr_cpus(s) < 4 ? 2 : weir_nr_cpus(s) < 8 ? 3 : 4;
}

#endif
