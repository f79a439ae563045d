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
 *            no lock of its own
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
	       .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .keyed_out = 1, .listens = WEIR_TOPIC_BIT(DEADLINE),
	       .reviews = WEIR_TOPIC_BIT(DEADLINE), .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(DEADLINE));

WEIR_ENTRY u32 edf_step(struct edf weir_mem *self, u32 what, struct weir_task weir_mem *t,
			struct weir_step weir_mem *s)
{
	u64 deadline = weir_property(self->inst.sched, WEIR_TOPIC_DEADLINE, t);

	weir_use(what);
	if (deadline || weir_load(&t->slice_ns) == WEIR_SLICE_DEFAULT)
		weir_store(&t->slice_ns, WEIR_SLICE_UNLIMITED);
	if (deadline)
		return weir_place_urgent(s, deadline);
	/* (What an order before says of a running task of its own stands.) */
	if (s->runs)
		return s->urgent ? 0 : weir_place_urgent(s, WEIR_KEY_NONE);
	s->key = weir_key_before(s);
	return 0;
}
