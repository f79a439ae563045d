/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How one CPU is shared among hard, soft and best-effort tasks: the booked rates, and the time that a task may
 * still use in a period or turn. For components that decide by rates, such as rbed.
 *
 * Hard tasks book their rate or are refused. Soft tasks get their rate, or all the same fraction of it if they need more
 * than is left. Best-effort tasks get the rest, at least the floor, in turns: a turn's deadline is the time at which all
 * turns given so far are complete at that rate (the total bandwidth server of Spuri and Buttazzo, 1996). The rules are
 * those of Brandt, Banachowski, Lin and Bisson, "Dynamic integrated scheduling of hard real-time, soft real-time, and
 * non-real-time processes", 2003.
 *
 * All state is under the lock that the instance's steps are taken under; the CPUs are those behind out-pipe 0.
 */
#ifndef WEIR_RATE_ALLOC_H
#define WEIR_RATE_ALLOC_H

#include <weir/component.h>

/* Rate of one CPU of capacity 1024. */
#define WEIR_RATE_FULL 1000000ull
/* Longest time multiplied by a rate, ns: 4 hours. */
#define WEIR_RATE_LONG (1ull << 44)

enum weir_rate_kind { WEIR_RATE_NEW, WEIR_RATE_BEST_EFFORT, WEIR_RATE_SOFT, WEIR_RATE_HARD };

/* The first part of the private memory of a task. */
struct weir_rate_task {
	u64 release;  /* ns; of the period or turn */
	u64 deadline; /* ns, absolute */
	u64 period;   /* ns */
	u64 budget;   /* ns of work in the period or turn */
	u64 limit;    /* soft: no more than this, because rates have grown in this period */
	u64 used;     /* of the budget */
	u64 rate;     /* booked, WEIR_RATE_FULL: one CPU */
	u32 kind;     /* enum weir_rate_kind */
	u32 begun;    /* real time: `release` is known. Best effort: it has run in its turn */
	u32 epoch;    /* admissions that the turn or period accounts for */
	u32 counted;  /* it waits: it is in the count, with `weight` */
	u64 weight;   /* 0: not a best-effort task */
};

/* Part of a component's state. */
struct weir_rate_alloc {
	u64 floor; /* minimum of best effort, percent */
	u64 hard;  /* rates booked */
	u64 soft;
	u64 chain;   /* ns; until then the best-effort turns given so far use up their rate */
	u64 weights; /* of best-effort tasks except that of the turn, at the last count */
	u64 waiting; /* weights of best-effort tasks that wait */
	u32 nr_waiting;
	u32 nr;	     /* as `weights` */
	u32 epoch;   /* admissions so far */
	u32 nr_hard; /* tasks with a part of `hard` */
};

WEIR_INLINE struct weir_rate_task weir_mem *weir_rate_task_of(const struct weir_instance
							      weir_mem *self,
							      const struct weir_task weir_mem *t)
{
	return (struct weir_rate_task weir_mem *)weir_priv(self, t);
}

/* @part of @whole as a rate, rounded up; 0 if @whole is 0. */
WEIR_INLINE u64 weir_rate_of(u64 part, u64 whole)
{
	if (part > WEIR_RATE_LONG)
		part = WEIR_RATE_LONG;
	return whole ? (part * WEIR_RATE_FULL + whole - 1) / whole : 0;
}

/* Cancel the booking of @p's rate. */
WEIR_INLINE void weir_rate_unbook(struct weir_rate_alloc weir_mem *all,
				  const struct weir_rate_task weir_mem *p)
{
	if (p->kind == WEIR_RATE_HARD) {
		all->hard -= p->rate < all->hard ? p->rate : all->hard;
		all->nr_hard--;
	}
	if (p->kind == WEIR_RATE_SOFT)
		all->soft -= p->rate < all->soft ? p->rate : all->soft;
}

/*
 * Book @rate for @p, hard or soft (@kind), instead of its present booking, and make it that kind. 1: booked. 0: a hard
 * task would leave less than the floor; it becomes best effort and waits for its first turn.
 */
int weir_rate_book(struct weir_instance weir_mem *self, struct weir_rate_alloc weir_mem *all,
		   struct weir_rate_task weir_mem *p, u32 kind, u64 rate);
/* Cancel the booking of @p, which becomes best effort and waits for its first turn. */
int weir_rate_refuse(struct weir_rate_alloc weir_mem *all, struct weir_rate_task weir_mem *p);
/* @amount for a hard task; the granted part of it for a soft task. */
u64 weir_rate_granted(struct weir_instance weir_mem *self,
		      const struct weir_rate_alloc weir_mem *all,
		      const struct weir_rate_task weir_mem *p, u64 amount);
/* @t waits from now on, or its kind or PRIORITY has changed: it is in the count of waiting tasks. O(1). */
int weir_rate_mark(struct weir_instance weir_mem *self, struct weir_rate_alloc weir_mem *all,
		   struct weir_task weir_mem *t);
/* It does not wait any more. */
int weir_rate_forget(struct weir_rate_alloc weir_mem *all, struct weir_rate_task weir_mem *p);
/* In take_state: inherit the bookings of @old. Tasks are counted as they come. */
int weir_rate_take(struct weir_rate_alloc weir_mem *all,
		   const struct weir_rate_alloc weir_mem *old);
/* Count the instance's best-effort tasks except @t, waiting and running. O(CPUs that run tasks of the instance). */
int weir_rate_count(struct weir_instance weir_mem *self, struct weir_rate_alloc weir_mem *all,
		    struct weir_task weir_mem *t);
/*
 * @t, best effort, begins a turn @now. The period is @slice for each counted task and for itself; of best effort's part it
 * gets its share by weight, which is 21 plus its PRIORITY. All turns together use the rate of best effort up to the end of
 * the chain, so they never delay real-time tasks too long.
 */
int weir_rate_turn(struct weir_instance weir_mem *self, struct weir_rate_alloc weir_mem *all,
		   struct weir_task weir_mem *t, u64 now, u64 slice);
/* Whether the rest of a turn or period exceeds what its rate, as it is now, allows until the deadline. */
int weir_rate_stale(const struct weir_rate_alloc weir_mem *all,
		    const struct weir_rate_task weir_mem *p, u64 now);
/*
 * @p has less time left than before. The rest of a turn gets a later deadline. A soft task continues its period at its
 * new rate, because the rest is promised to other tasks; then this returns 1. `used` is up to date.
 */
int weir_rate_squeeze(struct weir_instance weir_mem *self, struct weir_rate_alloc weir_mem *all,
		      struct weir_rate_task weir_mem *p, u64 now);
/*
 * A real-time task's current period, and its remaining time there, with @budget in each period. Its job was released at
 * @declared. If `release` is after now, its budget is exhausted until then.
 */
int weir_rate_period(const struct weir_rate_alloc weir_mem *all, struct weir_rate_task weir_mem *p,
		     u64 declared, u64 budget);
#endif
