/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * NAME - remember the weight of each task
 *
 * class:    annotate
 * pipes:    none
 * listens:  WEIGHT: store the task's weight
 * answers:  WEIGHT: the task's weight, 1024 if none was ever reported
 * params:   -
 * per-task: 8 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   ours
 *
 * Say here what the number means, and who asks for it.
 *
 * example:  annotate NAME; entry -> fifo -> cpus;
 */
#include <weir/component.h>

/* The state of an instance. The framework's part comes first; parameters are u64 fields. */
struct NAME {
	struct weir_instance inst;
};

/* What it remembers of a task; zeroed when the task is created. Several CPUs use it: atomically. */
struct NAME_task {
	u64 weight; /* (a) 0: never reported */
};

/* The facts. Only one component of a topology may answer a topic. */
WEIR_COMPONENT(NAME, .summary = "remember the weight of each task", .cls = WEIR_ANNOTATE,
	       .listens = WEIR_TOPIC_BIT(WEIGHT), .answers = WEIR_TOPIC_BIT(WEIGHT),
	       .per_task = sizeof(struct NAME_task));

/* Somebody says what a task's weight is; a message without a task is none of our business. */
WEIR_ENTRY int NAME_on_weight(struct NAME weir_mem *self, const struct weir_msg *msg)
{
	struct NAME_task weir_mem *t;

	if (!msg->task)
		return 0;
	t = weir_priv(&self->inst, msg->task);
	weir_store(&t->weight, msg->value);
	return 0;
}

/* Somebody asks, perhaps in a step: take no lock but weir_instance_lock(). */
WEIR_ENTRY int NAME_answer_weight(struct NAME weir_mem *self, struct weir_msg *msg)
{
	struct NAME_task weir_mem *t;

	if (!msg->task)
		return -WEIR_EINVAL;
	t = weir_priv(&self->inst, msg->task);
	msg->value = weir_load(&t->weight);
	if (!msg->value)
		msg->value = 1024;
	return 0;
}
