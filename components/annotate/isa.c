/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * isa - store the instruction set of each task
 *
 * class:    annotate
 * pipes:    none
 * listens:  ISA: store the index of the instruction set
 * answers:  ISA: the index; 0, the machine's native one, if unknown
 * params:   -
 * per-task: 8 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   CoBaS 8.3
 *
 * If a running task changes its instruction set, the message comes before the task gives up its CPU.
 *
 * example:  annotate isa; entry -> isa_demux -> each cpu { -> cpu };
 */
#include <weir/component.h>

struct isa {
	struct weir_instance inst;
};

WEIR_COMPONENT(isa, .summary = "store the instruction set of each task", .cls = WEIR_ANNOTATE,
	       .plain = 1, .listens = WEIR_TOPIC_BIT(ISA), .answers = WEIR_TOPIC_BIT(ISA),
	       .per_task = sizeof(u64), .answer_at = 1);

WEIR_ENTRY int isa_on_isa(struct isa weir_mem *self, const struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	weir_store((u64 weir_mem *)weir_priv(&self->inst, msg->task), msg->value);
	return 0;
}

WEIR_ENTRY int isa_answer_isa(struct isa weir_mem *self, struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	msg->value = weir_load((u64 weir_mem *)weir_priv(&self->inst, msg->task));
	return 0;
}
