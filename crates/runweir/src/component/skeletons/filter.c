/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * NAME - hold back tasks of little priority
 *
 * class:     filter
 * pipes:     in 1, out 1
 * listens:   PRIORITY: the task passes from now on, or no longer
 * publishes: WITHHELD: a task is held back
 * asks:      PRIORITY: whether the task passes
 * answers:   -
 * params:    least count 1 [0, 1000]; least priority that passes
 * cost:      O(1) per change; no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe with at least that priority, in its order
 * source:    ours
 *
 * Say here what it promises, and when it is the wrong choice. A task that is held back does not run, even while CPUs are idle.
 *
 * example:   annotate priority; entry -> NAME(least = 3) -> fifo -> cpus;
 */
#include <weir/component.h>

/* The state of an instance. The framework's part comes first; parameters are u64 fields. */
struct NAME {
	struct weir_instance inst;
	u64 least; /* (c) */
};

/* The facts: what the language, the checker and the manual know. Topics that code uses are listed here. */
WEIR_COMPONENT(NAME, .summary = "hold back tasks of little priority", .cls = WEIR_FILTER,
	       .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .listens = WEIR_TOPIC_BIT(PRIORITY), .reviews = WEIR_TOPIC_BIT(PRIORITY),
	       .publishes = WEIR_TOPIC_BIT(WITHHELD), .asks = WEIR_TOPIC_BIT(PRIORITY),
	       .needs = WEIR_TOPIC_BIT(PRIORITY),
	       WEIR_PARAMS(NAME, WEIR_PARAM(NAME, least, COUNT, 1, 0, 1000,
					    "least priority that passes")));

/*
 * May @t pass, which comes, or whose priority has changed? The answer is the out-port, 0, or that it is withheld: it waits in the
 * in-pipe until something about it changes, or weir_review() asks for it.
 */
WEIR_ENTRY u32 NAME_step(struct NAME weir_mem *self, u32 what, struct weir_task weir_mem *t,
			 struct weir_step weir_mem *s)
{
	s64 priority = (s64)weir_property(self->inst.sched, WEIR_TOPIC_PRIORITY, t);

	weir_use(s);
	if (priority >= (s64)self->least)
		return 0;
	return weir_withhold(&self->inst, what, t, 0);
}
