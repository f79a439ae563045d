/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Even out load between groups of CPUs: what a busy CPU takes from another one. The groups are the threads of a core, the cores of a
 * cache, the caches of a node and the nodes, a level each. Source: Linux, kernel/sched/fair.c, find_busiest_group(),
 * calculate_imbalance(), detach_tasks().
 *
 * A group is overloaded if it has more tasks than CPUs and they use it up. A busy CPU takes from an overloaded group only, from that with
 * most load for its capacity:
 *
 * - If its own group has room: tasks until both have equally many, or from another cache what fits into the room.
 * - Else load: as much as brings neither group past the mean of all. Of five equal tasks on four CPUs none may move by this, so each
 *   attempt that found no task doubles the load that may move. In the end it does, and the tasks take turns.
 *
 * CPUs are visited in the order of the machine, groups in one piece. Attempts come at random times, or one CPU of
 * several that tick together would always be first.
 */
#ifndef WEIR_SPREAD_H
#define WEIR_SPREAD_H

#include <weir/kit/rq_load.h>

/* Levels by weir_distance() of their groups' CPUs. */
#define WEIR_SPREAD_LEVELS 4u

/* Of a limit: the task's utilisation counts, not its load. */
#define WEIR_SPREAD_BY_UTIL (1ull << 63)
/* Any task may move. */
#define WEIR_SPREAD_ANY (WEIR_SPREAD_BY_UTIL - 1)

struct weir_spread_group {
	u64 load;     /* mean load */
	u64 capacity; /* of its CPUs */
	u64 wanted;   /* what its tasks would use on as many CPUs as they need, in capacity */
	u64 most;     /* load for its capacity of out-pipe @from - 1 */
	u32 nr;	      /* runnable tasks */
	u32 cpus;
	u32 from; /* 1 + the out-pipe with most load that can spare a task; 0: none */
	u32 unused;
};

/* What the CPU behind an out-pipe knows. (o): of the CPU that holds @busy. */
struct weir_spread_cpu {
	/* (o) its own, and two others in turn: the one that is counted, and the one with most load so far */
	struct weir_spread_group group[3];
	u64 load;			/* (o) of all groups */
	u64 capacity;			/* (o) of all groups */
	u64 limit;			/* (o) what may move: see weir_spread_find() */
	u64 next[WEIR_SPREAD_LEVELS];	/* (o) ns; when it looks again */
	u32 failed[WEIR_SPREAD_LEVELS]; /* (o) attempts without a task since the last move */
	/* (c) 1; then by level, the out-pipes of its own and the other groups */
	u32 span[WEIR_SPREAD_LEVELS + 1];
	u32 first[WEIR_SPREAD_LEVELS]; /* (c) by level: where they begin in the order */
	u32 busy; /* (a) a CPU looks; of several behind an out-pipe one at a time */
};

struct weir_spread {
	struct weir_rq_loads weir_mem *loads; /* (c) */
	struct weir_spread_cpu weir_mem *cpu; /* (c) by port */
	u32 weir_mem *order;		      /* (c) ports: by node, cache, core */
};

/* In construct. 0 or -WEIR_ENOMEM. O(out-pipes). */
int weir_spread_construct(struct weir_spread weir_mem *spread,
			  struct weir_rq_loads weir_mem *loads);

/* Whether @level has several groups for the CPU: then it may take from another one. */
WEIR_INLINE int weir_spread_has(const struct weir_spread_cpu weir_mem *me, u32 level)
{
	return me->span[level + 1] > me->span[level];
}

/*
 * For the busy @cpu, which leads to an out-pipe: 1 + the out-pipe that it may take a task from, of another group of the @level; 0: it
 * takes none. @imbalance in percent: how much more load than its own is worth a move. The limit for
 * weir_spread_suits() is left in its record. O(out-pipes that are compared).
 */
u32 weir_spread_find(struct weir_spread weir_mem *spread, u32 cpu, u32 level, u64 imbalance);

/* Whether a task that waits may move by @limit. */
WEIR_INLINE int weir_spread_suits(const struct weir_rq_load_task weir_mem *p, u64 limit)
{
	u64 has = limit & WEIR_SPREAD_BY_UTIL ? weir_pelt_util(&p->pelt)
					      : weir_rq_load_mean(p, weir_rq_load_weight(p));

	return has <= (limit & WEIR_SPREAD_ANY);
}

#endif
