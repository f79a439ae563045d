/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fair - keep the virtual time and lag of each task across CPUs
 *
 * class:    annotate
 * pipes:    none
 * listens:  DISPATCH, RELINQUISH, BLOCK: the task starts or stops running, or has slept
 * answers:  FAIR: the address of the task's record (weir/kit/fair.h); in value2 the address of the queues' marks
 * params:   -
 * per-task: 128 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   ours
 *
 * An order such as `cfs` has an instance per CPU, and tasks migrate. With these records a
 * task costs the same memory on 256 CPUs as on one, and its virtual time survives a change of the graph.
 * All instances of a graph share the records: put only one fair order on the path of a task.
 *
 * Time is CPU time, independent of capacity: the shares are shares of time, not of work.
 *
 * example:  annotate affinity, weight, fair;
 *           entry -> weight_balancer -> each cpu { cfs -> cpu };
 */
#include <weir/kit/fair.h>
#include <weir/cpus.h>

struct fair {
	struct weir_fair_book book;
};

WEIR_COMPONENT(fair, .summary = "keep the virtual time and lag of each task across CPUs",
	       .cls = WEIR_ANNOTATE, .answers = WEIR_TOPIC_BIT(FAIR),
	       .per_task = sizeof(struct weir_fair));

WEIR_ENTRY int fair_answer_fair(struct fair weir_mem *self, struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	msg->value = (u64)weir_priv(&self->book.inst, msg->task);
	msg->value2 = 0;
	return 0;
}
