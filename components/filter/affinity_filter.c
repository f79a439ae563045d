/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * affinity_filter - withhold tasks that may run on no CPU behind the filter
 *
 * class:     filter
 * pipes:     in 1, out 1
 * listens:   AFFINITY: pass or withhold the task. CPU_STATUS: check all tasks again
 * publishes: WITHHELD: the task is withheld
 * asks:      AFFINITY: where the task may run; needed
 * answers:   -
 * params:    -
 * cost:      O(1) per change, O(tasks) when a CPU goes offline or online; no lock of its own
 * batch:     the out-pipe holds those tasks of the in-pipe that may run on an online CPU behind it,
 *            in the in-pipe's order
 * source:    CoBaS 5.8.2, filtering
 *
 * Put it before a shared exit, whose CPUs would otherwise look repeatedly at tasks that none
 * of them may run. Distributors need no such filter: they withhold tasks themselves.
 *
 * example:   annotate affinity; entry -> affinity_filter -> head_queue -> cpus;
 */
#include <weir/component.h>

struct affinity_filter {
	struct weir_instance inst;
};

WEIR_COMPONENT(affinity_filter,
	       .summary = "withhold tasks that may run on no CPU behind the filter",
	       .cls = WEIR_FILTER, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1,
	       .out_max = 1, .listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS),
	       .reviews = WEIR_TOPIC_BIT(AFFINITY), .publishes = WEIR_TOPIC_BIT(WITHHELD),
	       .asks = WEIR_TOPIC_BIT(AFFINITY), .needs = WEIR_TOPIC_BIT(AFFINITY));

WEIR_ENTRY u32 affinity_filter_step(struct affinity_filter weir_mem *self, u32 what,
				    struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	int pass = weir_pipe_allows(out, weir_affinity(self->inst.sched, t));

	weir_use(s);
	return weir_send(&self->inst, what, t, pass ? out : 0);
}

WEIR_ENTRY int affinity_filter_on_cpu_status(struct affinity_filter weir_mem *self,
					     const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}
