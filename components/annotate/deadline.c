/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * deadline - store the deadline of each task
 *
 * class:    annotate
 * pipes:    none
 * listens:  DEADLINE: store the absolute deadline and the period, ns
 * answers:  DEADLINE: the absolute deadline in value, 0 if unknown; the period in value2
 * params:   -
 * per-task: 16 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   ours; Liu and Layland, 1973, for the task model
 *
 * The runtime publishes the new deadline when a job is released, before it wakes the task.
 *
 * example:  annotate deadline; entry -> edf -> cpus;
 */
#include <weir/component.h>

struct deadline_task {
	u64 deadline; /* (a) ns, absolute; 0: none */
	u64 period;   /* (a) ns; 0: none */
};

struct deadline {
	struct weir_instance inst;
};

WEIR_COMPONENT(deadline, .summary = "store the deadline of each task", .cls = WEIR_ANNOTATE,
	       .plain = 1, .listens = WEIR_TOPIC_BIT(DEADLINE), .answers = WEIR_TOPIC_BIT(DEADLINE),
	       .per_task = sizeof(struct deadline_task), WEIR_ANSWER_AT(deadline_task, deadline));

WEIR_ENTRY int deadline_on_deadline(struct deadline weir_mem *self, const struct weir_msg *msg)
{
	struct deadline_task weir_mem *p;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	weir_store(&p->deadline, msg->value);
	weir_store(&p->period, msg->value2);
	return 0;
}

WEIR_ENTRY int deadline_answer_deadline(struct deadline weir_mem *self, struct weir_msg *msg)
{
	struct deadline_task weir_mem *p;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	msg->value = weir_load(&p->deadline);
	msg->value2 = weir_load(&p->period);
	return 0;
}
