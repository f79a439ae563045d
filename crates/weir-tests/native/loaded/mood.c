/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mood - report how a task feels, in a topic of its own
 *
 * class:     annotate
 * pipes:     none
 * listens:   MOOD: store it. PRIORITY: publish MOOD, of the priority
 * publishes: MOOD: joy, anger and the time
 * answers:   MOOD: the three words, joy also in `value`
 * params:    -
 * per-task:  24 bytes
 * cost:      O(1) per message and per answer; no lock
 * batch:     no pipes
 * source:    ours, an example of a component that brings a topic along
 */
#include <weir/component.h>

#define WEIR_TOPIC_MOOD WEIR_OWN(0)

/* What MOOD carries: more than fits into the numbers of a message. */
struct mood_record {
	u64 joy;
	u64 anger;
	u64 since_ns;
};

struct mood {
	struct weir_instance inst;
	struct mood_record said; /* what is being published; copied at once */
};

WEIR_COMPONENT(mood, .summary = "report how a task feels, in a topic of its own",
	       .cls = WEIR_ANNOTATE, .listens = WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(MOOD),
	       .publishes = WEIR_TOPIC_BIT(MOOD), .answers = WEIR_TOPIC_BIT(MOOD),
	       .per_task = sizeof(struct mood_record),
	       WEIR_TOPICS(WEIR_TOPIC_OF(MOOD, 0x51ab90c3d7e8f246ull, 1, sizeof(struct mood_record),
					 "joy anger since_ns",
					 WEIR_FROM_COMPONENTS | WEIR_FROM_USER,
					 "how a task feels")));

WEIR_ENTRY int mood_on_priority(struct mood weir_mem *self, const struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	for (u32 i = 0; i < 10; i++) {
		/* The record is used again for each message: the framework copies it. More messages than there is room for at first. */
		self->said.joy = msg->value + i;
		self->said.anger = 100 + i;
		self->said.since_ns = weir_now(self->inst.sched);
		weir_publish_data(&self->inst, WEIR_TOPIC_MOOD, msg->task, WEIR_NO_CPU,
				  &self->said);
	}
	self->said.joy = 0;
	return 0;
}

WEIR_ENTRY int mood_on_mood(struct mood weir_mem *self, const struct weir_msg *msg)
{
	const struct mood_record weir_mem *said = (const struct mood_record weir_mem *)msg->data;
	struct mood_record weir_mem *known;

	if (!msg->task || !said)
		return -WEIR_EINVAL;
	known = (struct mood_record weir_mem *)weir_priv(&self->inst, msg->task);
	/* Each message has its own payload: they come in order. */
	if (said->anger > 100 && said->anger < 110 && known->joy + 1 != said->joy)
		return -WEIR_EINVAL;
	known->joy = said->joy;
	known->anger = said->anger;
	known->since_ns = said->since_ns;
	return 0;
}

WEIR_ENTRY int mood_answer_mood(struct mood weir_mem *self, struct weir_msg *msg)
{
	struct mood_record weir_mem *known;

	if (!msg->task)
		return -WEIR_EINVAL;
	known = (struct mood_record weir_mem *)weir_priv(&self->inst, msg->task);
	msg->value = known->joy;
	msg->data = known;
	return 0;
}
