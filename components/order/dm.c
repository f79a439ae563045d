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
 *            takes the in-pipe lock and the out-pipe lock
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
	       .carries = WEIR_CARRIES_LOCKED, .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1,
	       .out_min = 1, .out_max = 1, .keyed_out = 1, .listens = WEIR_TOPIC_BIT(JOB),
	       .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(JOB));

WEIR_ENTRY int dm_update(struct dm weir_mem *self, struct weir_pipe weir_mem *in)
{
	return weir_fixed_update(&self->inst, in, WEIR_TOPIC_JOB);
}

WEIR_ENTRY int dm_on_job(struct dm weir_mem *self, const struct weir_msg *msg)
{
	return weir_fixed_on(&self->inst, msg);
}

WEIR_ENTRY int dm_follow_job(struct dm weir_mem *self, const struct weir_msg *msg,
			     struct weir_pipe weir_mem *in)
{
	return weir_fixed_follow(&self->inst, msg, in);
}
