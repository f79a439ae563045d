/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * task_distributor - send each task to the first CPU that it may use
 *
 * class:     distribute
 * pipes:     in 1, out 1..
 * listens:   AFFINITY: move the task. CPU_STATUS: check all tasks again
 * publishes: WITHHELD: no CPU that the task may use is online
 * asks:      AFFINITY: where the task may run; needed
 * answers:   -
 * params:    -
 * cost:      O(out-pipes) per added task, O(tasks) when a CPU goes offline or online; no lock of
 *            its own
 * batch:     each task is in the first out-pipe that leads to an online CPU which it may use, or is
 *            withheld if there is none; every out-pipe
 *            keeps the in-pipe's order
 * source:    CoBaS appendix A.1, component 0x10
 *
 * The minimum for a machine with several CPUs: bound tasks reach their CPU, all others go
 * to the first one. A task whose CPU is offline waits for it.
 *
 * example:   annotate affinity; entry -> task_distributor -> each cpu { -> cpu };
 */
#include <weir/component.h>
#include <weir/kit/review.h>

struct task_distributor {
	struct weir_instance inst;
};

WEIR_COMPONENT(task_distributor, .summary = "send each task to the first CPU that it may use",
	       .cls = WEIR_DISTRIBUTE, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1,
	       .out_min = 1, .out_max = WEIR_ANY,
	       .listens = WEIR_TOPIC_BIT(AFFINITY) | WEIR_TOPIC_BIT(CPU_STATUS),
	       .reviews = WEIR_TOPIC_BIT(AFFINITY), .publishes = WEIR_TOPIC_BIT(WITHHELD),
	       .asks = WEIR_TOPIC_BIT(AFFINITY), .needs = WEIR_TOPIC_BIT(AFFINITY));

WEIR_ENTRY u32 task_distributor_step(struct task_distributor weir_mem *self, u32 what,
				     struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	weir_use(s);
	return weir_first_step(&self->inst, what, t);
}

WEIR_ENTRY int task_distributor_on_cpu_status(struct task_distributor weir_mem *self,
					      const struct weir_msg *msg)
{
	(void)msg;
	return weir_review_all(&self->inst);
}
