/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Pipes: ordered sets of tasks.
 *
 * A task is linked in one pipe only, where its path ends; it is a member of all pipes on its way. The order of a pipe is that of
 * arrival, or, in a *keyed* one, of (key, tie, arrival). A *gated* pipe is keyed, and each member has a gate: the first one is the member
 * with the least key whose gate is not beyond the pipe's `now`, so no task moves when time does.
 *
 * Homes: all pipes and instances whose ways lead to one exit belong to that exit's home, and its lock guards them. A pipe without a home
 * has a lock of its own, for tasks that its receiver withholds. Nobody waits long for these locks: a change that does not get one is left in
 * the home's inbox, and whoever has the lock carries it out before it is free. A *postponed* pipe is nothing but such an inbox: its changes
 * wait until a CPU behind it asks. Source: 0, 5.3 and 7.1.2.
 */
#ifndef WEIR_PIPE_H
#define WEIR_PIPE_H

#include <weir/task.h>

struct weir_sched;
struct weir_instance;

/* What comes next on a way. */
enum weir_pipe_kind {
	WEIR_AT_END,	/* nothing: an exit, or another domain */
	WEIR_AT_HOME,	/* a stage of the pipe's home */
	WEIR_AT_SHARED, /* a stage without a home */
	WEIR_AT_REST,	/* a stage, when a CPU asks: a postponed pipe */
};

/* A pipe begins at the start of a line; the first one has what arrivals, balancers and picks touch. */
struct weir_pipe {
	/*
	 * (a) of a home or a pipe without one: WEIR_LOCKED, WEIR_WANT, and from bit 32 on 1 + the task that came into the inbox last
	 * (core/src/home.c). Of a postponed pipe: the inbox only.
	 */
	u64 word;
	u32 nr;	  /* (a) tasks linked here; written under the lock */
	u32 held; /* (a) of a home: tasks that stages withhold, linked in its other pipes */
	struct weir_task weir_mem *head; /* (h) */
	struct weir_task weir_mem *tail; /* (h) */
	struct weir_task weir_mem *root; /* (h) treap of a keyed pipe */
	u64 nr_added;			 /* (a) since the graph was built; written under the lock */
	u64 now; /* (h) gated: members whose gate is not beyond are eligible */
	u32 max_nr; /* (a) most tasks that it, of a home: all its pipes, held at once; written under the lock */
	u32 stamp; /* (h) of a home: the latest arrival there */

	struct weir_sched weir_mem *sched;   /* (c) */
	struct weir_instance weir_mem *from; /* (b) null for an entry pipe */
	struct weir_instance weir_mem *to;   /* (b) */
	struct weir_pipe
		weir_mem *home; /* (c) the exit of its home, null: shared by several exits */
	struct weir_pipe weir_mem *holder; /* (c) whose lock guards it: its home, or itself */
	struct weir_pipe weir_mem
	*whole; /* (c) of a pipe that leads into one home: that; its tasks count as this one's */
	struct weir_cpumask weir_mem *cpus; /* (c) CPUs that can be reached through the pipe */
	u32 idx;			    /* (c) index in the graph */
	u32 mark;			    /* (c) 1 + that: how tasks name it */
	u32 depth;			    /* (c) longest distance from an entry */
	struct weir_cpu weir_mem
	*lone; /* (c) it leads to this CPU alone, which is of this domain; else null */
	/* (b) the same, and `tally` has its members; else null: see weir_out_load() */
	struct weir_cpu weir_mem *only;
	struct weir_pipe weir_mem
	*tally; /* (b) `nr` and `held` of this one are the members; null: they are to be counted */
	u32 keyed; /* (b) */
	u32 gated; /* (b) */

	u32 nr_cpus; /* (c) number of @cpus */
	u32 cpu;     /* (c) the lowest of them */
	u32 hears;   /* (b) what instances before it and its receiver hear: enum weir_hears */
	u32 kind;    /* (b) enum weir_pipe_kind */
	u32 stages;  /* (c) stages follow: its receiver has a step */
	struct weir_instance weir_mem
	*ear; /* (b) of an exit: the only instance before it that hears; null: none, or several ways or instances */
	u64 reviews;	 /* (b) topics on which an instance of the home before it reviews tasks */
	u64 reviews_far; /* (b) likewise, instances before the home */
	u32 postponed;	 /* (c) its changes wait until a CPU asks an exit behind it */
	u32 to_port;	 /* (c) */
	u32 from_port;	 /* (c) */
	u32 word_lo;	 /* (c) first and last used word of @cpus */
	u32 word_hi;	 /* (c) */
	u32 outward; /* (c) between coherence domains: 1 + the domain that it leads to (its tasks are sent there) */

	struct weir_pipe
		weir_mem *border; /* (c) of a home: its only pipe in, null: it has several */
	u32 simple;		  /* (h) an exit with one CPU, no more than a list, and not apart */
	u32 counted; /* (c) it is shared, and balancers ask what waits behind it: `behind` */
	u32 counts;  /* (c) what is linked here is counted by some pipe before it */
	u32 apart; /* (h) counts; or it is of a home in whose other pipes tasks were withheld, or one of these: weir_count_at() */
	u32 behind; /* (a) what waits behind it; of a postponed pipe: what waits for a CPU to ask */
	u32 way_in; /* (c) of a home: some pipe leads in */
	u64 label;  /* (c) port label of the writer: ISA index */
	/* Waits of CPUs that found the lock taken, since the graph was built; 0 if the runtime's port has no clock. (a) all */
	u64 lock_wait_ns;	  /* total time */
	u64 longest_lock_wait_ns; /* the longest wait */
	u64 nr_lock_waits;	  /* number of waits, including those given up */
	u64 nr_lock_given_up;	  /* waits given up: the caller left its change in the inbox */
	u32 inward;		  /* (c) 1 + the domain that it comes from */
	u32 sent;	  /* (o) outward: tasks sent so far; inward: tasks that arrived so far */
	u32 beyond;	  /* (a) outward: tasks that wait beyond it, as far as is known here */
	u32 reported;	  /* (o) inward: number of tasks last reported */
	u32 accepted;	  /* (o) inward: `sent` last reported */
	u32 next_in_home; /* (c) 1 + the next pipe of the same home; the exit is the first one */
	u32 len;	  /* for tools: members, when it was counted last */
	u32 tied;	  /* (b) keyed: among equal keys the tie decides */
	u64 room[5];
};

/* --- what a component may ask, under the lock that its steps are taken under ------------------------------------- */

/* The first that would be picked: of a gated pipe the least key whose gate is open, else the one whose gate opens first. O(log n). */
struct weir_task weir_mem *weir_pipe_first(const struct weir_pipe weir_mem *pipe);

/* Neighbours in the order of the pipe that links @t. */
WEIR_INLINE struct weir_task weir_mem *weir_pipe_next(const struct weir_pipe weir_mem *pipe,
						      const struct weir_task weir_mem *t)
{
	weir_use(pipe);
	return t->next;
}

/* Tasks linked in this very pipe: of an in-pipe, those that its receiver withholds; of an exit, those that wait there. */
#define weir_for_task(t, pipe) \
	for ((t) = (pipe)->head; (t) != 0 && weir_loop; (t) = weir_pipe_next((pipe), (t)))

/*
 * All members of @pipe that its home holds: those linked in it and in the pipes behind it, pipe by pipe. @after null: the first; the
 * address of the next one, 0: no more. (@after must not leave meanwhile: ask for it with weir_review(), which acts later.)
 */
u64 weir_member(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *after);
#define weir_for_member(t, pipe)                                                               \
	for ((t) = (struct weir_task weir_mem *)weir_member((pipe), 0); (t) != 0 && weir_loop; \
	     (t) = (struct weir_task weir_mem *)weir_member((pipe), (t)))

/* --- without a lock; the answer may be out of date at once ------------------------------------------------------ */

/* @t is linked in this very pipe. */
WEIR_INLINE int weir_pipe_holds(const struct weir_pipe weir_mem *pipe,
				const struct weir_task weir_mem *t)
{
	return weir_load_acquire(&t->landing) == pipe->idx + 1;
}

/* @t is a member: linked in @pipe or behind it. O(depth). */
int weir_pipe_has(const struct weir_pipe weir_mem *pipe, const struct weir_task weir_mem *t);

/* Members of a pipe that is not all of its home's way in. O(pipes). */
u32 weir_pipe_count(const struct weir_pipe weir_mem *pipe);

/* Tasks that are linked in pipes of home @h. */
WEIR_INLINE u32 weir_home_nr(const struct weir_pipe weir_mem *h)
{
	return weir_load(&h->nr) + weir_load(&h->held);
}

WEIR_INLINE u32 weir_pipe_nr(const struct weir_pipe weir_mem *pipe)
{
	return pipe->tally ? weir_home_nr(pipe->tally) : weir_pipe_count(pipe);
}

/* The most of them at one time since the graph was built. */
WEIR_INLINE u32 weir_pipe_max(const struct weir_pipe weir_mem *pipe)
{
	return pipe->tally ? weir_load(&pipe->tally->max_nr) : weir_load(&pipe->max_nr);
}

/* Arrivals since the graph was built, at the homes to which the pipe leads; a task that moves between two of them arrives twice. O(pipes). */
u64 weir_pipe_added(const struct weir_pipe weir_mem *pipe);

/* --- locks, outside of steps --------------------------------------------------------------------------------------- */

/*
 * The lock of the pipe's home, or its own if it has none. 0, or -WEIR_EAGAIN: after a bounded wait, and at once for a postponed pipe, whose
 * tasks are on their way and in no list. Hold one only; unlocking carries out what was left in the inbox meanwhile.
 */
int weir_pipe_lock(struct weir_pipe weir_mem *pipe);
int weir_pipe_unlock(struct weir_pipe weir_mem *pipe);

#endif
