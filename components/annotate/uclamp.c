/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * uclamp - store the utilisation clamps of tasks and of their groups
 *
 * class:    annotate
 * pipes:    none
 * listens:  UCLAMP: the least and the most that a task, or without a task the members of a group, count as using. GROUP: the task's
 *           group; without a task, a group's parent
 * answers:  UCLAMP: the task's clamps, within those of its groups
 * params:   -
 * per-task: 16 bytes
 * cost:     O(1) per message, O(depth of the groups) per answer; no lock
 * batch:    no pipes
 * source:   Linux 6.12: uclamp_min and uclamp_max of sched_setattr(), cpu.uclamp.min and cpu.uclamp.max
 *
 * For `pace`, which chooses clocks, and `fair_balancer`, which chooses CPUs that a task fits. A task with a large least runs on
 * a fast CPU at once, before it has shown what it uses. A task with a small most stays on small CPUs and at low clocks, however
 * much it computes. Clamps change no shares and take no CPU time away.
 *
 * As in Linux, a group within another one has no more than that one, neither as the least nor as the most, and a most caps the least. A task
 * in a group counts as using what it requests, within the clamps of the group. A group of which nothing is said has a least of 0, so what
 * its inner groups ask for as the least has no effect. Group 0, the root, clamps nothing; numbers go up to 255, parents before their
 * children, up to eight deep. Unlike Linux's, real-time tasks have no least of their own.
 *
 * example:  annotate affinity, weight, fair, uclamp, pace; entry -> fair_balancer -> each cpu { eevdf -> cpu };
 */
#include <weir/kit/uclamp.h>

#define UCLAMP_GROUPS 256u
#define UCLAMP_DEPTH  8u

struct uclamp_task {
	u64 clamps; /* (a) as requested */
	u64 group;  /* (a) */
};

struct uclamp_group {
	u64 clamps; /* (a) as requested */
	u64 parent; /* (a) less than its own number */
};

struct uclamp {
	struct weir_instance inst;
	struct uclamp_group group[UCLAMP_GROUPS]; /* (a) */
};

WEIR_COMPONENT(uclamp, .summary = "store the utilisation clamps of tasks and of their groups",
	       .cls = WEIR_ANNOTATE, .listens = WEIR_TOPIC_BIT(UCLAMP) | WEIR_TOPIC_BIT(GROUP),
	       .answers = WEIR_TOPIC_BIT(UCLAMP), .per_task = sizeof(struct uclamp_task));

WEIR_ENTRY int uclamp_on_uclamp(struct uclamp weir_mem *self, const struct weir_msg *msg)
{
	struct uclamp_task weir_mem *p;

	if (!weir_uclamp_valid(msg->value))
		return -WEIR_EINVAL;
	if (msg->task) {
		p = weir_priv(&self->inst, msg->task);
		weir_store(&p->clamps, msg->value);
		return 0;
	}
	if (!msg->value2 || msg->value2 >= UCLAMP_GROUPS)
		return -WEIR_EINVAL;
	weir_store(&self->group[msg->value2 & (UCLAMP_GROUPS - 1)].clamps, msg->value);
	return 0;
}

WEIR_ENTRY int uclamp_on_group(struct uclamp weir_mem *self, const struct weir_msg *msg)
{
	struct uclamp_task weir_mem *p;
	u64 parent = msg->value2 >> 32;

	if (msg->value >= UCLAMP_GROUPS)
		return -WEIR_EINVAL;
	if (msg->task) {
		p = weir_priv(&self->inst, msg->task);
		weir_store(&p->group, msg->value);
		return 0;
	}
	if (!msg->value || parent >= msg->value)
		return -WEIR_EINVAL;
	weir_store(&self->group[msg->value & (UCLAMP_GROUPS - 1)].parent, parent);
	return 0;
}

WEIR_ENTRY int uclamp_answer_uclamp(struct uclamp weir_mem *self, struct weir_msg *msg)
{
	u64 number, within = weir_uclamp(1024, 1024);
	struct uclamp_task weir_mem *p;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	msg->value = weir_load(&p->clamps);
	number = weir_load(&p->group);
	if (!number)
		return 0;
	/* Least and most of nested groups do not depend on the order in which they are taken together. */
	for (u32 depth = 0; number && depth < weir_unknown(UCLAMP_DEPTH) && weir_loop; depth++) {
		struct uclamp_group weir_mem *g = &self->group[number & (UCLAMP_GROUPS - 1)];

		within = weir_uclamp_nested(weir_load(&g->clamps), within);
		number = weir_load(&g->parent);
	}
	msg->value = weir_uclamp(weir_uclamp_within(weir_uclamp_least(msg->value), within),
				 weir_uclamp_within(weir_uclamp_most(msg->value), within));
	return 0;
}

WEIR_ENTRY void uclamp_take_state(struct uclamp weir_mem *self, struct uclamp weir_mem *old)
{
	for (u32 i = 0; i < weir_unknown(UCLAMP_GROUPS) && weir_loop; i++) {
		self->group[i].clamps = weir_load(&old->group[i].clamps);
		self->group[i].parent = weir_load(&old->group[i].parent);
	}
}
