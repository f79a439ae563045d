/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * promised - run the task with the greatest priority first
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   PRIORITY: the task gets another place
 * publishes: PREEMPT: a CPU behind the out-pipe runs a task of less priority
 * asks:      PRIORITY: where the task stands
 * answers:   -
 * params:    slice ns 5000000 [100000, 10000000000]; for how long a task runs at a time
 * cost:      O(log n) per change; no lock of its own
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
	       .reviews = WEIR_TOPIC_BIT(PRIORITY), .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(PRIORITY), .needs = WEIR_TOPIC_BIT(PRIORITY),
	       WEIR_PARAMS(promised,
			   WEIR_PARAM(promised, slice, NS, 5000000, 100000, 10000000000ull,
				      "for how long a task runs at a time")));

/* The key of a task: the out-pipe is sorted by it, the smallest first. Priorities are signed. */
static u64 promised_key(u64 priority)
{
	return (1ull << 63) - 1 - priority;
}

/*
 * Where does @t go, which comes, or whose priority has changed? The answer is the out-port, 0; its place there and its urgency are in
 * @s. A CPU that runs a less urgent task is preempted.
 */
WEIR_ENTRY u32 promised_step(struct promised weir_mem *self, u32 what, struct weir_task weir_mem *t,
			     struct weir_step weir_mem *s)
{
	u64 priority = weir_property(self->inst.sched, WEIR_TOPIC_PRIORITY, t);

	weir_use(what);
	weir_store(&t->slice_ns, self->slice);
	return weir_place_urgent(s, promised_key(priority));
}
