/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * NAME - count the markers that were passed
 *
 * class:    service
 * pipes:    none
 * listens:  MARKER: count it
 * answers:  STATUS: how many there were
 * params:   -
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   ours
 *
 * Say here what it does for others, and for whom.
 *
 * example:  annotate NAME; entry -> fifo -> cpus;
 */
#include <weir/component.h>

/* The state of an instance. The framework's part comes first; parameters are u64 fields. */
struct NAME {
	struct weir_instance inst;
	u64 nr; /* (a) markers passed */
};

/* The facts. Only one component of a topology may answer a topic. */
WEIR_COMPONENT(NAME, .summary = "count the markers that were passed", .cls = WEIR_SERVICE,
	       .listens = WEIR_TOPIC_BIT(MARKER), .answers = WEIR_TOPIC_BIT(STATUS));

/* Messages come from any CPU, with nothing locked. */
WEIR_ENTRY int NAME_on_marker(struct NAME weir_mem *self, const struct weir_msg *msg)
{
	(void)msg;
	weir_fetch_add(&self->nr, 1);
	return 0;
}

/* Somebody asks, perhaps in a step: take no lock but weir_instance_lock(). */
WEIR_ENTRY int NAME_answer_status(struct NAME weir_mem *self, struct weir_msg *msg)
{
	msg->value = weir_load(&self->nr);
	return 0;
}

/* It takes the place of an instance of its own class: go on counting. */
WEIR_ENTRY void NAME_take_state(struct NAME weir_mem *self, struct NAME weir_mem *old)
{
	self->nr = old->nr;
}
