/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tcb - keep a reference to the runtime's data for each task
 *
 * class:    annotate
 * pipes:    none
 * listens:  TCB: store the reference and the size of the data, 0 if it must not be read
 * answers:  TCB: the reference in value and the size in value2; if value2 of the request is the
 *           address of a buffer of that size, the data is copied there as well
 * params:   -
 * per-task: 16 bytes
 * cost:     O(1), O(bytes) for a deep copy; no lock
 * batch:    no pipes
 * source:   CoBaS 8.3 and appendix A.1, component 0x23
 *
 * A shallow request returns the reference; a deep one copies the data: the copy is
 * independent of later changes by the runtime. Data for deep copies is in memory that the
 * framework can read, at most 4096 bytes. A runtime for tasks of a foreign instruction set finds
 * here what to run.
 *
 * example:  annotate tcb;
 */
#include <weir/component.h>

#define TCB_MAX_BYTES 4096u

struct tcb_task {
	u64 ref;   /* (a) address of the data */
	u64 bytes; /* (a) 0: shallow only */
};

struct tcb {
	struct weir_instance inst;
};

WEIR_COMPONENT(tcb, .summary = "keep a reference to the runtime's data for each task",
	       .cls = WEIR_ANNOTATE, .listens = WEIR_TOPIC_BIT(TCB), .answers = WEIR_TOPIC_BIT(TCB),
	       .per_task = sizeof(struct tcb_task));

WEIR_ENTRY int tcb_on_tcb(struct tcb weir_mem *self, const struct weir_msg *msg)
{
	struct tcb_task weir_mem *p;

	if (!msg->task || msg->value2 > TCB_MAX_BYTES)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	weir_store(&p->ref, msg->value);
	weir_store(&p->bytes, msg->value2);
	return 0;
}

WEIR_ENTRY int tcb_answer_tcb(struct tcb weir_mem *self, struct weir_msg *msg)
{
	struct tcb_task weir_mem *p;
	u64 bytes;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	bytes = weir_load(&p->bytes);
	msg->value = weir_load(&p->ref);
	if (msg->value2) {
		const volatile char weir_mem *from = (const volatile char weir_mem *)msg->value;
		volatile char weir_mem *to = (volatile char weir_mem *)msg->value2;

		for (u64 i = 0; i < bytes && weir_loop; i++)
			to[i] = from[i];
	}
	msg->value2 = bytes;
	return 0;
}
