/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lamport - number the tasks in order of creation
 *
 * class:    annotate
 * pipes:    none
 * listens:  -
 * answers:  LAMPORT: the task's stamp, from 1
 * params:   -
 * per-task: 8 bytes
 * cost:     O(1) per created task and per answer; no lock
 * batch:    no pipes
 * source:   CoBaS appendix A.1, component 0x21
 *
 * The counter continues across reconfigurations. Tasks from before the first
 * instance are stamped with their task number.
 *
 * example:  annotate lamport; entry -> fcfs -> cpus;
 */
#include <weir/component.h>

struct lamport {
	struct weir_instance inst;
	u64 last; /* (a) stamp given last */
};

WEIR_COMPONENT(lamport, .summary = "number the tasks in order of creation", .cls = WEIR_ANNOTATE,
	       .travels = 1, .plain = 1, .answers = WEIR_TOPIC_BIT(LAMPORT),
	       .per_task = sizeof(u64));

WEIR_ENTRY int lamport_answer_lamport(struct lamport weir_mem *self, struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	msg->value = weir_load((u64 weir_mem *)weir_priv(&self->inst, msg->task));
	return 0;
}

WEIR_ENTRY void lamport_task_init(struct lamport weir_mem *self, struct weir_task weir_mem *t)
{
	weir_store((u64 weir_mem *)weir_priv(&self->inst, t), weir_fetch_add(&self->last, 1) + 1);
}

WEIR_ENTRY void lamport_take_state(struct lamport weir_mem *self, struct lamport weir_mem *old)
{
	self->last = old->last;
}
