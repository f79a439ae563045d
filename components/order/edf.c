/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * edf - run the task with the earliest deadline
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   DEADLINE: a waiting task is reordered; a running one is preempted if necessary
 * publishes: PREEMPT: a CPU runs a less urgent task than a new one
 * asks:      DEADLINE: absolute, ns, 0: none; needed. AFFINITY: which CPUs the task may take
 * answers:   -
 * params:    -
 * cost:      O(log n) per change, plus a scan of the CPUs behind the out-pipe for preemption;
 *            takes the in-pipe lock and the out-pipe lock
 * batch:     the out-pipe holds the tasks of the in-pipe, stably sorted by deadline, those without
 *            one last, with the urgency from the stage before
 * source:    Liu and Layland, "Scheduling algorithms for multiprogramming in a hard-real-time
 *            environment", 1973
 *
 * Earliest deadline first: optimal on one CPU up to full load; global on several CPUs if they share
 * the out-pipe. Under overload it can miss all deadlines in sequence, unless `cbs` replaces `deadline`
 * and postpones deadlines. Tasks without a deadline keep the order and the slice of the stage
 * before: behind `rt` and `round_robin` they form the lower classes.
 *
 * example:   annotate deadline; entry -> edf -> cpus;
 */
#include <weir/component.h>

struct edf {
	struct weir_instance inst;
};

WEIR_COMPONENT(edf, .summary = "run the task with the earliest deadline", .cls = WEIR_ORDER,
	       .carries = WEIR_CARRIES_LOCKED, .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1,
	       .out_min = 1, .out_max = 1, .keyed_out = 1, .listens = WEIR_TOPIC_BIT(DEADLINE),
	       .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(DEADLINE));

/* @deadline: of @t, 0 for none. */
static int edf_put(struct edf weir_mem *self, struct weir_pipe weir_mem *in,
		   struct weir_task weir_mem *t, u64 deadline)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);

	if (!deadline)
		return weir_pipe_insert_stable(out, t, weir_key_before(in, t), in);
	return weir_insert_urgent(&self->inst, t, deadline, in);
}

WEIR_ENTRY int edf_update(struct edf weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		u64 deadline = weir_property(self->inst.sched, WEIR_TOPIC_DEADLINE, c->task);

		if (deadline || weir_load(&c->task->slice_ns) == WEIR_SLICE_DEFAULT)
			weir_store(&c->task->slice_ns, WEIR_SLICE_UNLIMITED);
		err = edf_put(self, in, c->task, deadline);
		if (err)
			return err;
	}
	return 0;
}

/* The message has the job's deadline; the responder may know another one. */
WEIR_ENTRY int edf_on_deadline(struct edf weir_mem *self, const struct weir_msg *msg)
{
	if (msg->task)
		weir_rekey_running(
			&self->inst, weir_out(&self->inst, 0), msg->task,
			weir_key(weir_property(self->inst.sched, WEIR_TOPIC_DEADLINE, msg->task)));
	return 0;
}

/* A task that update has still to look at gets its key there. */
WEIR_ENTRY int edf_follow_deadline(struct edf weir_mem *self, const struct weir_msg *msg,
				   struct weir_pipe weir_mem *in)
{
	if (!weir_pipe_has(weir_out(&self->inst, 0), msg->task))
		return 0;
	return edf_put(self, in, msg->task,
		       weir_property(self->inst.sched, WEIR_TOPIC_DEADLINE, msg->task));
}
