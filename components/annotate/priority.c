/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * priority - store the priority of each task
 *
 * class:    annotate
 * pipes:    none
 * listens:  PRIORITY: store the task's priority, signed
 * answers:  PRIORITY: the task's priority, greater is more urgent; 0 if unknown
 * params:   -
 * per-task: 8 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   CoBaS 5.7.3
 *
 * The topology defines the meaning of the numbers; the runtime's nice values, for example, arrive
 * negated.
 *
 * example:  annotate priority; entry -> priority_order -> cpus;
 */
#include <weir/component.h>

struct priority {
	struct weir_instance inst;
};

WEIR_COMPONENT(priority, .summary = "store the priority of each task", .cls = WEIR_ANNOTATE,
	       .plain = 1, .listens = WEIR_TOPIC_BIT(PRIORITY), .answers = WEIR_TOPIC_BIT(PRIORITY),
	       .per_task = sizeof(u64), .answer_at = 1);

WEIR_ENTRY int priority_on_priority(struct priority weir_mem *self, const struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	weir_store((u64 weir_mem *)weir_priv(&self->inst, msg->task), msg->value);
	return 0;
}

WEIR_ENTRY int priority_answer_priority(struct priority weir_mem *self, struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	msg->value = weir_load((u64 weir_mem *)weir_priv(&self->inst, msg->task));
	return 0;
}
