/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * latency - store the slice length that each task requests
 *
 * class:    annotate
 * pipes:    none
 * listens:  LATENCY: the length of a slice, ns; 0: the default
 * answers:  LATENCY: the last value, 0 if unknown
 * params:   -
 * per-task: 8 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   Linux 6.12: the runtime of a fair task in sched_setattr()
 *
 * Under `eevdf` a task with short slices gets the same share of the CPU, but is served sooner.
 *
 * example:  annotate weight, executed, fair, latency; entry -> eevdf -> cpus;
 */
#include <weir/component.h>

struct latency {
	struct weir_instance inst;
};

WEIR_COMPONENT(latency, .summary = "store the slice length that each task requests",
	       .cls = WEIR_ANNOTATE, .plain = 1, .listens = WEIR_TOPIC_BIT(LATENCY),
	       .answers = WEIR_TOPIC_BIT(LATENCY), .per_task = sizeof(u64), .answer_at = 1);

/* Between a tenth and a hundred milliseconds, as Linux has it. */
WEIR_ENTRY int latency_on_latency(struct latency weir_mem *self, const struct weir_msg *msg)
{
	u64 turn = msg->value;

	if (!msg->task)
		return -WEIR_EINVAL;
	if (turn && turn < 100000)
		turn = 100000;
	if (turn > 100000000)
		turn = 100000000;
	weir_store((u64 weir_mem *)weir_priv(&self->inst, msg->task), turn);
	return 0;
}

WEIR_ENTRY int latency_answer_latency(struct latency weir_mem *self, struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	msg->value = weir_load((u64 weir_mem *)weir_priv(&self->inst, msg->task));
	return 0;
}
