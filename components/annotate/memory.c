/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * memory - store the NUMA node of each task's memory
 *
 * class:    annotate
 * pipes:    none
 * listens:  MEMORY: 1 + the number of the node, 0: unknown
 * answers:  MEMORY: the last value, 0 if unknown
 * params:   -
 * per-task: 8 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   Linux 6.12: the preferred node of NUMA balancing, which the kernel finds by page faults
 *
 * For `fair_balancer`, which prefers the CPUs of that node. Where the memory is must be said: nothing is measured here.
 *
 * example:  annotate affinity, weight, fair, memory; entry -> fair_balancer -> each cpu { eevdf -> cpu };
 */
#include <weir/component.h>

struct memory {
	struct weir_instance inst;
};

WEIR_COMPONENT(memory, .summary = "store the NUMA node of each task's memory", .cls = WEIR_ANNOTATE,
	       .plain = 1, .listens = WEIR_TOPIC_BIT(MEMORY), .answers = WEIR_TOPIC_BIT(MEMORY),
	       .per_task = sizeof(u64), .answer_at = 1);

WEIR_ENTRY int memory_on_memory(struct memory weir_mem *self, const struct weir_msg *msg)
{
	if (!msg->task || msg->value > WEIR_MAX_CPUS)
		return -WEIR_EINVAL;
	weir_store((u64 weir_mem *)weir_priv(&self->inst, msg->task), msg->value);
	return 0;
}

WEIR_ENTRY int memory_answer_memory(struct memory weir_mem *self, struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	msg->value = weir_load((u64 weir_mem *)weir_priv(&self->inst, msg->task));
	return 0;
}
