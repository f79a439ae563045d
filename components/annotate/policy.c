/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * policy - store the scheduling policy that each task requests
 *
 * class:    annotate
 * pipes:    none
 * listens:  POLICY: store it
 * answers:  POLICY: Linux's number of the policy; 0 (other) if unknown
 * params:   -
 * per-task: 8 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   POSIX.1-2017, sched.h; Linux, sched(7)
 *
 * Only a request: `rt` distinguishes FIFO and round robin by it, and `cbs` can serve the deadline policy only.
 * The runtime publishes it when the task is created.
 *
 * example:  annotate affinity, executed, policy, priority; entry -> rt -> cpus;
 */
#include <weir/component.h>

struct policy {
	struct weir_instance inst;
};

WEIR_COMPONENT(policy, .summary = "store the scheduling policy that each task requests",
	       .cls = WEIR_ANNOTATE, .plain = 1, .listens = WEIR_TOPIC_BIT(POLICY),
	       .answers = WEIR_TOPIC_BIT(POLICY), .per_task = sizeof(u64), .answer_at = 1);

WEIR_ENTRY int policy_on_policy(struct policy weir_mem *self, const struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	weir_store((u64 weir_mem *)weir_priv(&self->inst, msg->task), msg->value);
	return 0;
}

WEIR_ENTRY int policy_answer_policy(struct policy weir_mem *self, struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	msg->value = weir_load((u64 weir_mem *)weir_priv(&self->inst, msg->task));
	return 0;
}
