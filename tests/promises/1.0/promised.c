/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * promised - run the task with the greatest priority first
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   PRIORITY: re-sort the task
 * publishes: PREEMPT: a CPU behind the out-pipe runs a task of less priority
 * asks:      PRIORITY: where the task stands
 * answers:   -
 * params:    slice ns 5000000 [100000, 10000000000]; for how long a task runs at a time
 * cost:      O(log n) per change; takes the in-pipe lock and the out-pipe lock
 * batch:     the out-pipe holds the tasks of the in-pipe, the greatest priority first, equals in its order
 * source:    ours
 *
 * What `component new` wrote in this version.
 *
 * example:   annotate priority; entry -> promised -> cpus;
 */
#include <weir/component.h>

/* The state of an instance. The framework's part comes first; parameters are u64 fields. */
struct promised {
	struct weir_instance inst;
	u64 slice; /* (c) ns */
};

/* The facts: what the language, the checker and the manual know. Topics that code uses are listed here. */
WEIR_COMPONENT(promised, .summary = "run the task with the greatest priority first",
	       .cls = WEIR_ORDER, .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1, .out_min = 1,
	       .out_max = 1, .keyed_out = 1, .listens = WEIR_TOPIC_BIT(PRIORITY),
	       .publishes = WEIR_TOPIC_BIT(PREEMPT), .asks = WEIR_TOPIC_BIT(PRIORITY),
	       .needs = WEIR_TOPIC_BIT(PRIORITY),
	       WEIR_PARAMS(promised,
			   WEIR_PARAM(promised, slice, NS, 5000000, 100000, 10000000000ull,
				      "for how long a task runs at a time")));

/* The key of a task: the out-pipe is sorted by it, the smallest first. Priorities are signed. */
static u64 promised_key(u64 priority)
{
	return (1ull << 63) - 1 - priority;
}

/* The in-pipe has changed, and is locked: give each task that is new there its place in the out-pipe. */
WEIR_ENTRY int promised_update(struct promised weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		u64 priority = weir_property(self->inst.sched, WEIR_TOPIC_PRIORITY, c->task);

		weir_store(&c->task->slice_ns, self->slice);
		err = weir_insert_urgent(&self->inst, c->task, promised_key(priority), in);
		if (err)
			return err;
	}
	return 0;
}

/* A task that waits here has another priority; the in-pipe that holds it is locked. */
WEIR_ENTRY int promised_follow_priority(struct promised weir_mem *self, const struct weir_msg *msg,
					struct weir_pipe weir_mem *in)
{
	/* Update has not seen it yet, and will ask. */
	if (!weir_pipe_has(weir_out(&self->inst, 0), msg->task))
		return 0;
	return weir_insert_urgent(&self->inst, msg->task, promised_key(msg->value), in);
}
