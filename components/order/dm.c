/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * dm - run the task with the shortest relative deadline
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   JOB: a waiting task is reordered; a running one is preempted if necessary
 * publishes: PREEMPT: a CPU runs a task with a longer relative deadline than a new one
 * asks:      JOB: the relative deadline in value2, ns, 0: none; needed. AFFINITY: which CPUs the task
 *            may take
 * answers:   -
 * params:    -
 * cost:      O(log n) per change, plus a scan of the CPUs behind the out-pipe for preemption;
 *            no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe, stably sorted by relative deadline, those
 *            without one last
 * source:    Leung and Whitehead, "On the complexity of fixed-priority scheduling of periodic,
 *            real-time tasks", 1982
 *
 * Deadline monotonic: optimal among fixed priorities on one CPU if deadlines are at most periods, and
 * equal to rm if they are the same.
 *
 * example:   annotate job; entry -> dm -> cpus;
 */
#include <weir/component.h>
#include <weir/kit/forward.h>

struct dm {
	struct weir_instance inst;
};

WEIR_COMPONENT(dm, .summary = "run the task with the shortest relative deadline", .cls = WEIR_ORDER,
	       .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .keyed_out = 1, .listens = WEIR_TOPIC_BIT(JOB), .reviews = WEIR_TOPIC_BIT(JOB),
	       .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(JOB));

WEIR_ENTRY u32 dm_step(struct dm weir_mem *self, u32 what, struct weir_task weir_mem *t,
		       struct weir_step weir_mem *s)
{
	weir_use(what);
	return weir_fixed_step(&self->inst, t, s, WEIR_TOPIC_JOB);
}
