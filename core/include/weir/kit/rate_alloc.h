/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How one CPU is shared among hard, soft and best-effort tasks: the rates that are booked, and how much of a
 * period or turn a task may still use. For components that decide by rates, as rbed does.
 *
 * Hard tasks book their rate or are refused. Soft ones get theirs, or all the same part of it if together they need
 * more than is left. Best effort has the rest, at least the floor, in turns: each has as its deadline the time by which all turns
 * given out are done at that rate (the total bandwidth server of Spuri and Buttazzo, 1996). The rules are those of Brandt,
 * Banachowski, Lin and Bisson, "Dynamic integrated scheduling of hard real-time, soft real-time, and non-real-time
 * processes", 2003.
 *
 * Everything is under the lock of the instance's in-pipe; the CPUs are those behind the out-pipe with number 0.
 */
#ifndef WEIR_RATE_ALLOC_H
#define WEIR_RATE_ALLOC_H

#include <weir/component.h>

/* Rate of one CPU of capacity 1024. */
#define WEIR_RATE_FULL 1000000ull
/* Longest time that is multiplied by a rate, ns: 4 hours. */
#define WEIR_RATE_LONG (1ull << 44)

enum weir_rate_kind { WEIR_RATE_NEW, WEIR_RATE_BEST_EFFORT, WEIR_RATE_SOFT, WEIR_RATE_HARD };

/* The first part of the private memory of a task. */
struct weir_rate_task {
	u64 release;  /* ns; of the period or turn */
	u64 deadline; /* ns, absolute */
	u64 period;   /* ns */
	u64 budget;   /* ns of work in the period or turn */
	u64 limit;    /* soft: no more than this, because rates have grown in this period */
	u64 used;     /* of it */
	u64 rate;     /* booked, WEIR_RATE_FULL: one CPU */
	u32 kind;     /* enum weir_rate_kind */
	u32 begun;    /* real time: `release` is known. Best effort: it has run in its turn */
	u32 epoch;    /* admissions that the turn or period accounts for */
	u32 counted;  /* the count, `weir_rate_alloc.count`, that it is in; 0: none */
	u64 weight;   /* in that count; 0: it is no best-effort task */
};

/* Part of a component's state. */
struct weir_rate_alloc {
	u64 floor; /* percent that best effort has at least */
	u64 hard;  /* rates booked */
	u64 soft;
	u64 chain;   /* ns; until then the best-effort turns given out keep their rate busy */
	u64 weights; /* of best-effort tasks other than that of the turn, as counted last */
	u64 waiting; /* weights of those that wait */
	u32 nr_waiting;
	u32 nr;	     /* as `weights` */
	u32 epoch;   /* admissions so far */
	u32 members; /* tasks of the in-pipe that are in the count, of all kinds */
	u32 count;   /* number of the count: a task that is in an older one is in none */
	u32 unused;
};

WEIR_INLINE struct weir_rate_task weir_mem *weir_rate_task_of(const struct weir_instance
							      weir_mem *self,
							      const struct weir_task weir_mem *t)
{
	return (struct weir_rate_task weir_mem *)weir_priv(self, t);
}

/* @part of @whole as a rate, rounded up; 0 of nothing. */
WEIR_INLINE u64 weir_rate_of(u64 part, u64 whole)
{
	if (part > WEIR_RATE_LONG)
		part = WEIR_RATE_LONG;
	return whole ? (part * WEIR_RATE_FULL + whole - 1) / whole : 0;
}

/* The rate of @p is not booked any more. */
WEIR_INLINE void weir_rate_unbook(struct weir_rate_alloc weir_mem *all,
				  const struct weir_rate_task weir_mem *p)
{
	if (p->kind == WEIR_RATE_HARD)
		all->hard -= p->rate < all->hard ? p->rate : all->hard;
	if (p->kind == WEIR_RATE_SOFT)
		all->soft -= p->rate < all->soft ? p->rate : all->soft;
}

/*
 * Book @rate instead of what @p has booked, hard or soft (@kind), and let it be of that kind. 1: booked. 0: a hard
 * one would leave less than the floor; it is best effort, its first turn is to come.
 */
int weir_rate_book(struct weir_instance weir_mem *self, struct weir_rate_alloc weir_mem *all,
		   struct weir_rate_task weir_mem *p, u32 kind, u64 rate);
/* What @p has booked is given back; it is best effort, its first turn is to come. */
int weir_rate_refuse(struct weir_rate_alloc weir_mem *all, struct weir_rate_task weir_mem *p);
/* @amount for a hard task; the part that a soft one gets of it. */
u64 weir_rate_granted(struct weir_instance weir_mem *self,
		      const struct weir_rate_alloc weir_mem *all,
		      const struct weir_rate_task weir_mem *p, u64 amount);
/* @t came to @in, left it, or changed its kind or PRIORITY: the count of those that wait follows. O(1). */
int weir_rate_mark(struct weir_instance weir_mem *self, struct weir_rate_alloc weir_mem *all,
		   struct weir_pipe weir_mem *in, struct weir_task weir_mem *t);
/* The same for all tasks that the receiver of @in has still to look at; the descriptor names WEIR_REMOVED. */
int weir_rate_mark_changes(struct weir_instance weir_mem *self,
			   struct weir_rate_alloc weir_mem *all, struct weir_pipe weir_mem *in);
/* @t exits. */
int weir_rate_forget(struct weir_rate_alloc weir_mem *all, struct weir_rate_task weir_mem *p);
/* In take_state: go on with the books of @old. Its count is of another pipe. */
int weir_rate_take(struct weir_rate_alloc weir_mem *all,
		   const struct weir_rate_alloc weir_mem *old);
/*
 * Count the best-effort tasks of the instance other than @t, those that wait in @in and those that run. All changes of @in
 * are marked. O(CPUs that run tasks of the instance); O(n) where records of changes were lost.
 */
int weir_rate_count(struct weir_instance weir_mem *self, struct weir_rate_alloc weir_mem *all,
		    struct weir_pipe weir_mem *in, struct weir_task weir_mem *t);
/*
 * @t, best effort, begins a turn @now: @slice for each that was counted and for itself is the period, and by weight,
 * 21 and its PRIORITY, it gets its part of the rest of it. All turns together use the rate of best effort up to the end of
 * the chain, so real-time tasks never wait for them too long.
 */
int weir_rate_turn(struct weir_instance weir_mem *self, struct weir_rate_alloc weir_mem *all,
		   struct weir_task weir_mem *t, u64 now, u64 slice);
/* What is left of a turn or period is more than its rate allows until the deadline, as rates are now. */
int weir_rate_stale(const struct weir_rate_alloc weir_mem *all,
		    const struct weir_rate_task weir_mem *p, u64 now);
/*
 * Less is left to @p than before. What is left of a turn has a later deadline. In its period a soft task goes on by
 * its new rate, because others have been promised the rest, and 1 says so. `used` is up to date.
 */
int weir_rate_squeeze(struct weir_instance weir_mem *self, struct weir_rate_alloc weir_mem *all,
		      struct weir_rate_task weir_mem *p, u64 now);
/*
 * The period that a real-time task is in, and what it may still run in it: @budget in each. Its job was released at
 * @declared. `release` after now: its budget is used up until then.
 */
int weir_rate_period(const struct weir_rate_alloc weir_mem *all, struct weir_rate_task weir_mem *p,
		     u64 declared, u64 budget);
#endif
