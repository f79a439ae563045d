/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * weight - store the weight of each task
 *
 * class:     annotate
 * pipes:     none
 * listens:   PRIORITY: the weight of that nice value. WEIGHT: any other weight; the last message counts
 * publishes: WEIGHT: the weight of a nice value that was published
 * answers:   WEIGHT: the task's weight, 1024 if unknown; in value2 2^32 divided by the weight
 * params:    -
 * per-task:  8 bytes
 * cost:      O(1) per message and per answer; no lock
 * batch:     no pipes
 * source:    weights of Linux, spec/4 section 5
 *
 * Priorities arrive as negated nice values: 20 is nice -20 and -19 is nice 19. -20, the value of SCHED_IDLE, has
 * weight 3; values above 20, real-time priorities, count as nice -20. One step of nice changes the CPU share between
 * two tasks by about ten percent, so the weights are powers of 1.25, rounded as in Linux.
 *
 * example:   annotate weight, fair; entry -> cfs -> cpus;
 */
#include <weir/kit/fair.h>

struct weight {
	struct weir_instance inst;
};

struct weight_task {
	u32 weight;  /* (a) 0: never set */
	u32 inverse; /* (a) */
};

WEIR_COMPONENT(weight, .summary = "store the weight of each task", .cls = WEIR_ANNOTATE, .plain = 1,
	       .listens = WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(WEIGHT),
	       .publishes = WEIR_TOPIC_BIT(WEIGHT), .answers = WEIR_TOPIC_BIT(WEIGHT),
	       .per_task = sizeof(struct weight_task));

WEIR_ENTRY int weight_on_priority(struct weight weir_mem *self, const struct weir_msg *msg)
{
	struct weight_task weir_mem *p;
	u32 weight;

	if (!msg->task)
		return -WEIR_EINVAL;
	weight = weir_fair_nice(-(s64)msg->value);
	p = weir_priv(&self->inst, msg->task);
	if (weir_load(&p->weight) == weight ||
	    (!weir_load(&p->weight) && weight == WEIR_WEIGHT_NICE_0))
		return 0;
	weir_store(&p->inverse, weir_fair_nice_inverse(-(s64)msg->value));
	weir_store(&p->weight, weight);
	weir_publish(&self->inst, WEIR_TOPIC_WEIGHT, msg->task, WEIR_NO_CPU, weight);
	return 0;
}

/* Also what we published, which is known already. */
WEIR_ENTRY int weight_on_weight(struct weight weir_mem *self, const struct weir_msg *msg)
{
	struct weight_task weir_mem *p;

	if (!msg->task || !msg->value || msg->value > WEIR_WEIGHT_MAX)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	if (weir_load(&p->weight) == msg->value)
		return 0;
	weir_store(&p->inverse, (u32)weir_fair_inverse(msg->value));
	weir_store(&p->weight, (u32)msg->value);
	return 0;
}

WEIR_ENTRY int weight_answer_weight(struct weight weir_mem *self, struct weir_msg *msg)
{
	struct weight_task weir_mem *p;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	msg->value = weir_load(&p->weight);
	msg->value2 = weir_load(&p->inverse);
	if (!msg->value) {
		msg->value = WEIR_WEIGHT_NICE_0;
		msg->value2 = 1u << 22;
	}
	return 0;
}
