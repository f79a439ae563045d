/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A stateless model checker for the core: logical threads run the real functions, and every order of
 * their atomic accesses is tried, each from the same initial state.
 *
 * Two searches. *Bounded* (Musuvathi and Qadeer, "Iterative context bounding for systematic testing of
 * multithreaded programs", 2007): all schedules with at most so many switches away from a thread that
 * could go on, nothing left out. *Complete*: one schedule of each set that differ only in the order of
 * accesses that commute, by dynamic partial-order reduction (Flanagan and Godefroid, 2005) with sleep
 * sets (Godefroid, 1996). The latter takes for granted that memory which is not accessed atomically is
 * guarded by locks; the stress test under ThreadSanitizer looks for that. A third search lets stores wait
 * in buffers, by the same reduction; there it is known to leave out some orders, so it searches and proves
 * nothing.
 *
 * Scenarios of their own have a CPU that stops (docs/decisions/0034): the first thread takes no step after the n-th, for each n, and
 * the others have to come to their end without it. A wait for what it holds ends when nobody else can go on. Then it
 * goes on, and everything has to be put right.
 */
#ifndef MODEL_H
#define MODEL_H

#include "../plan.h"

#define MODEL_MAX_THREADS 3

struct scenario {
	const char *name;
	u32 nr_threads;
	void (*setup)(void);			 /* once */
	void (*thread[MODEL_MAX_THREADS])(void); /* every schedule */
	void (*check)(void);			 /* after every schedule */
	/* Not null: the first thread stops somewhere, and the others have to come to their end; then this has to hold. */
	void (*stopped)(void);
};

/* What a scenario learns; zeroed before each schedule. */
struct outcome {
	struct weir_task *picked[MODEL_MAX_THREADS];
	int err[MODEL_MAX_THREADS];
	u32 kicks[4];
	struct weir_task *kicked_for[4]; /* by the last of them */
	u32 preempts[4];
};

extern struct weir_sched *sched;
extern struct outcome outcome;

#define REQUIRE(cond) ((cond) ? (void)0 : model_fail(#cond, __FILE__, __LINE__))
void model_fail(const char *what, const char *file, u32 line) __attribute__((noreturn));

extern const struct scenario scenarios[];
extern const u32 nr_scenarios;

#endif
