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
 *            takes the in-pipe lock and the out-pipe lock
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

struct rm {
	struct weir_instance inst;
};

WEIR_COMPONENT(rm, .summary = "run the task with the shortest period", .cls = WEIR_ORDER,
	       .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .keyed_out = 1, .listens = WEIR_TOPIC_BIT(DEADLINE),
	       .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(DEADLINE));

WEIR_ENTRY int rm_update(struct rm weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		struct weir_msg msg = { .topic = WEIR_TOPIC_DEADLINE, .task = c->task };
		u64 period = weir_request(self->inst.sched, &msg) ? 0 : msg.value2;

		weir_store(&c->task->slice_ns, WEIR_SLICE_UNLIMITED);
		err = weir_insert_urgent(&self->inst, c->task, weir_key(period), in);
		if (err)
			return err;
	}
	return 0;
}

WEIR_ENTRY int rm_on_deadline(struct rm weir_mem *self, const struct weir_msg *msg)
{
	if (msg->task)
		weir_rekey_running(&self->inst, weir_out(&self->inst, 0), msg->task,
				   weir_key(msg->value2));
	return 0;
}

/* A task that update has still to look at gets its key there. */
WEIR_ENTRY int rm_follow_deadline(struct rm weir_mem *self, const struct weir_msg *msg,
				  struct weir_pipe weir_mem *in)
{
	if (!weir_pipe_has(weir_out(&self->inst, 0), msg->task))
		return 0;
	return weir_insert_urgent(&self->inst, msg->task, weir_key(msg->value2), in);
}
