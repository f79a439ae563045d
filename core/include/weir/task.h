/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks: what the framework knows of a process, thread, job or virtual machine.
 *
 * A task is in at most one pipe of each depth (a pipe's depth is its longest distance from an
 * entry), so a task needs one hook per depth, however many pipes the machine has.
 */
#ifndef WEIR_TASK_H
#define WEIR_TASK_H

#include <weir/cpumask.h>

#define WEIR_NO_TASK	     (~0u)
#define WEIR_KEY_NONE	     (~0ull) /* key of a task that no ordering stage has keyed */
#define WEIR_SLICE_DEFAULT   0	     /* the runtime chooses */
#define WEIR_SLICE_UNLIMITED (~0ull) /* until it blocks or is preempted */

/*
 * Source 0, 5.1.1. The others are ours: an unused record; a record that waits for its last reference; a task that
 * weir_pick() has claimed and is removing from the pipes; and a task blocked during that: the CPU that picks it
 * completes the block.
 */
enum weir_task_state {
	WEIR_FREE = 0,
	WEIR_UNCONSIDERED = 1,
	WEIR_SCHEDULABLE = 2,
	WEIR_RUNNING = 3,
	WEIR_DEAD = 4,
	WEIR_CLAIMED = 5,
	WEIR_REVOKED = 6,
	WEIR_AWAY = 7, /* sent to another coherence domain, which has not confirmed its arrival */
};

struct weir_pipe;
struct weir_task;

/* Membership of one task in the pipe of one depth. */
struct weir_hook {
	struct weir_pipe weir_mem *pipe;  /* (a) holder, written under its lock; null: in none */
	struct weir_task weir_mem *next;  /* (p) order within the pipe */
	struct weir_task weir_mem *prev;  /* (p); the task itself while it is in the pipe's inbox */
	u64 key;			  /* (p) keyed pipes: sort key */
	struct weir_task weir_mem *left;  /* (p) keyed pipes: treap */
	struct weir_task weir_mem *right; /* (p) */
	struct weir_task weir_mem *up;	  /* (p) */
	u32 weight;			  /* (p) keyed pipes: heap order of the treap */
	/* (p) 1 + index of the pending record in the pipe's log, 0: none */
	u32 change;
};

struct weir_task {
	u32 id;	   /* (c) */
	u32 state; /* (a) enum weir_task_state */
	/* (a) the runtime's own record; a reused record gets another */
	u64 cookie;
	struct weir_hook weir_mem *hooks; /* (b) one per depth of the current graph */
	u32 refs;      /* (a) one while alive, one per REMOVED record that refers to it */
	u32 cpu;       /* (a) where it runs or last ran; WEIR_NO_CPU: never ran */
	u32 entry_cpu; /* (a) CPU through whose entry pipe it entered */
	u32 next_free; /* (t) free list */
	/* (o) 1: removed, but a lock could not be taken: it may still be in pipes */
	u32 torn;
	/* (a) 1 + index of the pipe that links it, if it was carried there (carry.c); 0: none */
	u32 landing;
	u64 slice_ns; /* (a) run time granted by the policy */
	/* (a) urgency given by the last ordering stage, smaller is more urgent */
	u64 key;
};

#endif
