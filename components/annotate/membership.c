/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * membership - store which gang each task belongs to
 *
 * class:    annotate
 * pipes:    none
 * listens:  GANG: the task's gang, 0: none, and what it does between slots
 * answers:  GANG: the same
 * params:   -
 * per-task: 16 bytes
 * cost:     O(1) per message and per answer, no lock
 * batch:    no pipes
 * source:   Peter, 2012, 3.3 (joining); the topic: ours
 *
 * For `gang`, which asks at every change. A task without a message belongs to no gang.
 *
 * example:  annotate affinity, membership;
 *           entry -> load_balancer -> each cpu { gang -> urgent -> cpu };
 */
#include <weir/component.h>

struct membership {
	struct weir_instance inst;
};

struct membership_task {
	u64 gang;    /* (a) */
	u64 outside; /* (a) enum weir_gang_outside */
};

WEIR_COMPONENT(membership, .summary = "store which gang each task belongs to", .cls = WEIR_ANNOTATE,
	       .listens = WEIR_TOPIC_BIT(GANG), .answers = WEIR_TOPIC_BIT(GANG),
	       .per_task = sizeof(struct membership_task));

WEIR_ENTRY int membership_on_gang(struct membership weir_mem *self, const struct weir_msg *msg)
{
	struct membership_task weir_mem *p;

	if (!msg->task || msg->value2 > WEIR_GANG_WAIT)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	weir_store(&p->gang, msg->value);
	weir_store(&p->outside, msg->value2);
	return 0;
}

WEIR_ENTRY int membership_answer_gang(struct membership weir_mem *self, struct weir_msg *msg)
{
	struct membership_task weir_mem *p;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	msg->value = weir_load(&p->gang);
	msg->value2 = weir_load(&p->outside);
	return 0;
}
