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
 *            no lock of its own
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
	       .cls = WEIR_ORDER, .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1, .out_min = 1,
	       .out_max = 1, .keyed_out = 1, .listens = WEIR_TOPIC_BIT(PRIORITY),
	       .reviews = WEIR_TOPIC_BIT(PRIORITY), .publishes = WEIR_TOPIC_BIT(PREEMPT),
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

WEIR_ENTRY u32 priority_order_step(struct priority_order weir_mem *self, u32 what,
				   struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	weir_use(what);
	weir_store(&t->slice_ns, self->slice ? self->slice : WEIR_SLICE_UNLIMITED);
	return weir_place_urgent(
		s, priority_order_key(weir_property(self->inst.sched, WEIR_TOPIC_PRIORITY, t)));
}
