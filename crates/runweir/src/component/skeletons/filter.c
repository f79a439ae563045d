/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * NAME - hold back tasks that no CPU behind it may run
 *
 * class:     filter
 * pipes:     in 1, out 1
 * listens:   AFFINITY: the task passes from now on, or no longer. CPU_STATUS: look at all tasks again
 * publishes: WITHHELD: a task is held back
 * asks:      AFFINITY: where the task may run; needed
 * answers:   -
 * params:    -
 * cost:      O(1) per change, O(tasks) when a CPU comes or goes; no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe that an online CPU behind it may run, in its order
 * source:    ours
 *
 * Say here what it promises, and when it is the wrong choice. Every task must come to pass some day.
 *
 * example:   annotate affinity; entry -> NAME -> fifo -> cpus;
 */
#include <weir/component.h>

/* The state of an instance. The framework's part comes first; parameters are u64 fields. */
struct NAME {
	struct weir_instance inst;
};

/* The facts: what the language, the checker and the manual know. Topics that code uses are listed here. */
WEIR_COMPONENT(NAME, .summary = "hold back tasks that no CPU behind it may run", .cls = WEIR_FILTER,
	       .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS),
	       .reviews = WEIR_TOPIC_BIT(AFFINITY), .publishes = WEIR_TOPIC_BIT(WITHHELD),
	       .asks = WEIR_TOPIC_BIT(AFFINITY), .needs = WEIR_TOPIC_BIT(AFFINITY));

/*
 * May @t pass, which comes, or whose affinity has changed? The answer is the out-port, 0, or that it is withheld: it waits in the
 * in-pipe until it is looked at again. (A filter that counts those that pass sets .hears and .serial, too.)
 */
WEIR_ENTRY u32 NAME_step(struct NAME weir_mem *self, u32 what, struct weir_task weir_mem *t,
			 struct weir_step weir_mem *s)
{
	weir_use(s);
	if (weir_pipe_allows(weir_out(&self->inst, 0), weir_affinity(self->inst.sched, t)))
		return 0;
	return weir_withhold(&self->inst, what, t, 0);
}

/* A CPU comes or goes: the step is asked about all tasks once more. */
WEIR_ENTRY int NAME_on_cpu_status(struct NAME weir_mem *self, const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}
