/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rm - run the task with the shortest period
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   DEADLINE: a waiting task is reordered; a running one is preempted if necessary
 * publishes: PREEMPT: a CPU runs a task with a longer period than a new one
 * asks:      DEADLINE: the period in value2, ns, 0: none; needed. AFFINITY: which CPUs the task may take
 * answers:   -
 * params:    -
 * cost:      O(log n) per change, plus a scan of the CPUs behind the out-pipe for preemption;
 *            no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe, stably sorted by period, those without one last
 * source:    Liu and Layland, "Scheduling algorithms for multiprogramming in a hard-real-time
 *            environment", 1973
 *
 * Rate monotonic: optimal among fixed priorities on one CPU if deadlines equal periods; n tasks meet all deadlines
 * up to a load of n (2^(1/n) - 1). On several CPUs a light task can make another one miss
 * (Dhall and Liu, 1978). Use dm if deadlines are shorter than periods, edf for a higher load.
 *
 * example:   annotate deadline; entry -> rm -> cpus;
 */
#include <weir/component.h>
#include <weir/kit/forward.h>

struct rm {
	struct weir_instance inst;
};

WEIR_COMPONENT(rm, .summary = "run the task with the shortest period", .cls = WEIR_ORDER,
	       .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .keyed_out = 1, .listens = WEIR_TOPIC_BIT(DEADLINE),
	       .reviews = WEIR_TOPIC_BIT(DEADLINE), .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(DEADLINE));

WEIR_ENTRY u32 rm_step(struct rm weir_mem *self, u32 what, struct weir_task weir_mem *t,
		       struct weir_step weir_mem *s)
{
	weir_use(what);
	return weir_fixed_step(&self->inst, t, s, WEIR_TOPIC_DEADLINE);
}
