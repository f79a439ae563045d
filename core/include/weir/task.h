/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks: what the framework knows of a process, thread, job or virtual machine.
 *
 * A task is linked once: in the pipe where its path ends, or in the in-pipe of the component that withholds it. It is a member of
 * all pipes on its way there.
 */
#ifndef WEIR_TASK_H
#define WEIR_TASK_H

#include <weir/cpumask.h>

#define WEIR_NO_TASK	     (~0u)
#define WEIR_KEY_NONE	     (~0ull) /* key of a task that no ordering stage has keyed */
#define WEIR_SLICE_DEFAULT   0	     /* the runtime chooses */
#define WEIR_SLICE_UNLIMITED (~0ull) /* until it blocks or is preempted */

/* Source 0, 5.1.1. The others are ours: an unused record, and one that waits until its home has let go of it. */
enum weir_task_state {
	WEIR_FREE = 0,
	WEIR_UNCONSIDERED = 1,
	WEIR_SCHEDULABLE = 2,
	WEIR_RUNNING = 3,
	WEIR_DEAD = 4,
	WEIR_AWAY = 7, /* sent to another coherence domain, which has not confirmed its arrival */
};

/*
 * The claim is one word, changed as one: how often the task has become schedulable, the CPU where it runs or ran last, and enum
 * weir_task_state. A pick claims only what has the number under which it was linked, so a task that was blocked and came back is never
 * claimed by an old place.
 */
#define WEIR_CLAIM_NO_CPU 0xffffull
#define weir_claim_word(number, cpu, state) \
	((u64)(number) << 24 | ((u64)(cpu) & 0xffff) << 8 | (u64)(state))
#define weir_claim_state(w)  ((u32)(w) & 0xff)
#define weir_claim_number(w) ((u32)((w) >> 24))
/* The same claim with another state; and the next one, of a task that has become schedulable. */
#define weir_claim_with(w, state) (((w) & ~0xffull) | (state))
#define weir_claim_next(w)	  (weir_claim_with(w, WEIR_SCHEDULABLE) + (1ull << 24))
/* The same, running on @cpu, which there is. */
#define weir_claim_on(w, cpu) (((w) & ~0xffffffull) | (u64)(cpu) << 8 | WEIR_RUNNING)
/* CPU numbers that no CPU has, the one for none among them, are not below the number of CPUs. */
#define weir_claim_raw_cpu(w) ((u32)((w) >> 8) & 0xffff)

WEIR_INLINE u32 weir_claim_cpu(u64 w)
{
	u64 cpu = w >> 8 & 0xffff;

	return cpu == WEIR_CLAIM_NO_CPU ? WEIR_NO_CPU : (u32)cpu;
}

struct weir_pipe;

/* Two cache lines. (h): under the lock of its home, or of the pipe that links it. */
struct weir_task {
	u32 id; /* (c) */
	/* (a) enum weir_pend: not 0: one inbox or one CPU has the task in work (core/src/home.c) */
	u32 pend;
	u64 claim;    /* (a) weir_claim_word() */
	u64 cookie;   /* (a) the runtime's own record; a reused record gets another */
	u64 slice_ns; /* (a) run time granted by the policy */
	u64 tie;      /* (h) among equal keys: the key of the ordering stage before the last one */
	u32 home; /* (a) 1 + the pipe whose lock guards what counts it, 0: none; written under that lock */
	u32 landing; /* (a) 1 + the pipe that links it, 0: none; likewise */
	u32 placed;  /* (h) number of its claim under which it was placed */
	u32 seq; /* (h) arrival: a Lamport stamp, so what came through one CPU is in order everywhere */
	u32 entry_cpu; /* (a) CPU through whose entry pipe it entered */
	u32 in_next; /* (t) next in an inbox, in the free list or in a CPU's list: 1 + number, 0: none */

	struct weir_task weir_mem *next;  /* (h) order within the pipe */
	struct weir_task weir_mem *prev;  /* (h) */
	struct weir_task weir_mem *left;  /* (h) keyed pipes: treap */
	struct weir_task weir_mem *right; /* (h) */
	struct weir_task weir_mem *up;	  /* (h) */
	u64 key; /* (a) urgency given by the last ordering stage, smaller is more urgent; of a running task, too */
	u64 gate;  /* (h) gated pipes: it is eligible from then on */
	u64 least; /* (h) gated pipes: the least gate in its part of the treap */
};

/* @a arrived before @b: by the stamp, and by number if they came through CPUs that knew nothing of each other. */
WEIR_INLINE int weir_came_before(const struct weir_task weir_mem *a,
				 const struct weir_task weir_mem *b)
{
	return a->seq != b->seq ? (s32)(a->seq - b->seq) < 0 : a->id < b->id;
}

WEIR_INLINE u32 weir_state(const struct weir_task weir_mem *t)
{
	return weir_claim_state(weir_load_acquire(&t->claim));
}

/* Where it runs or last ran; WEIR_NO_CPU: never ran. */
WEIR_INLINE u32 weir_last_cpu(const struct weir_task weir_mem *t)
{
	return weir_claim_cpu(weir_load(&t->claim));
}

/* It runs, as far as the core knows. */
WEIR_INLINE int weir_runs(const struct weir_task weir_mem *t)
{
	return weir_state(t) == WEIR_RUNNING;
}

#endif
