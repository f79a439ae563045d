/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * priority_order - run the task with the highest priority, equals in order of arrival
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   PRIORITY: a waiting task is reordered; a running one is preempted if necessary
 * publishes: PREEMPT: a CPU runs a less urgent task than a new one
 * asks:      PRIORITY: greater is more urgent; needed. AFFINITY: which CPUs the task may take
 * answers:   -
 * params:    slice ns 0 [0, 10000000000]; slice among equals, 0: run until it blocks
 * cost:      O(log n) per change, plus a scan of the CPUs behind the out-pipe for preemption;
 *            takes the in-pipe lock and the out-pipe lock
 * batch:     the out-pipe holds the tasks of the in-pipe, stably sorted by decreasing priority
 * source:    CoBaS 5.7
 *
 * Fixed priorities: an urgent task that never blocks starves all below it. The sort is stable, so the order of
 * an earlier stage is kept among equals (CoBaS 5.8.1, refinement).
 *
 * example:   annotate priority; entry -> priority_order -> cpus;
 */
#include <weir/component.h>

struct priority_order {
	struct weir_instance inst;
	u64 slice; /* (c) ns, 0: unlimited */
};

WEIR_COMPONENT(priority_order,
	       .summary = "run the task with the highest priority, equals in order of arrival",
	       .cls = WEIR_ORDER, .carries = WEIR_CARRIES_LOCKED, .ordering = WEIR_STABLE,
	       .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1, .keyed_out = 1,
	       .listens = WEIR_TOPIC_BIT(PRIORITY), .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(PRIORITY),
	       WEIR_PARAMS(priority_order,
			   WEIR_PARAM(priority_order, slice, NS, 0, 0, 10000000000ull,
				      "slice among equals, 0: run until it blocks")));

/* Greater priorities, signed, become smaller keys, unsigned. */
static u64 priority_order_key(u64 priority)
{
	return (1ull << 63) - 1 - priority;
}

WEIR_ENTRY int priority_order_update(struct priority_order weir_mem *self,
				     struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		u64 priority = weir_property(self->inst.sched, WEIR_TOPIC_PRIORITY, c->task);

		weir_store(&c->task->slice_ns, self->slice ? self->slice : WEIR_SLICE_UNLIMITED);
		err = weir_insert_urgent(&self->inst, c->task, priority_order_key(priority), in);
		if (err)
			return err;
	}
	return 0;
}

WEIR_ENTRY int priority_order_on_priority(struct priority_order weir_mem *self,
					  const struct weir_msg *msg)
{
	if (msg->task)
		weir_rekey_running(&self->inst, weir_out(&self->inst, 0), msg->task,
				   priority_order_key(msg->value));
	return 0;
}

/* A task that update has still to look at gets its key there. */
WEIR_ENTRY int priority_order_follow_priority(struct priority_order weir_mem *self,
					      const struct weir_msg *msg,
					      struct weir_pipe weir_mem *in)
{
	if (!weir_pipe_has(weir_out(&self->inst, 0), msg->task))
		return 0;
	return weir_insert_urgent(&self->inst, msg->task, priority_order_key(msg->value), in);
}
