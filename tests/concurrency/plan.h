/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Plans for tests in C: instances and pipes are named one after the other, the tables follow from them.
 * An instance is made before those that its pipes lead to. Anything wrong ends the program.
 */
#ifndef PLAN_H
#define PLAN_H

#include <weir/schedule.h>

#define PLAN_MAX 160

struct plan {
	struct weir_plan tables;
	struct weir_plan_pipe pipes[PLAN_MAX];
	struct weir_plan_instance instances[PLAN_MAX];
	struct weir_plan_cpu cpus[PLAN_MAX];
	struct weir_cpumask masks[PLAN_MAX]; /* by pipe */
	u32 links[2 * PLAN_MAX];
	u32 lists[PLAN_MAX * PLAN_MAX];
	u64 params[PLAN_MAX * WEIR_MAX_PARAMS];
};

/* Id of the component called @name. */
u32 plan_class(const char *name);
/* An empty plan for @nr_cpus CPUs, all of one node, each with its own core; pairs of CPUs share an LLC. */
void plan_begin(struct plan *p, u32 nr_cpus);
/* An instance of the component with its default parameters. */
u32 plan_instance(struct plan *p, const char *component);
/* A pipe to the next in-port of @to, from the next out-port of @from; WEIR_NONE: an entry pipe. */
u32 plan_pipe(struct plan *p, u32 from, u32 to);
/* Depths, CPUs behind each pipe, ports, and what stands before each exit. */
const struct weir_plan *plan_end(struct plan *p);

/* A scheduler with an arena of its own and every component; @seed for weir_random(). */
struct weir_sched *plan_sched(u32 nr_cpus, u64 arena_bytes, u64 seed);

#endif
