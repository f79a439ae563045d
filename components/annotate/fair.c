/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * fair - keep the virtual time and lag of each task across CPUs
 *
 * class:    annotate
 * pipes:    none
 * listens:  -
 * answers:  FAIR: the address of the task's record (weir/kit/fair.h); in value2 the address of the queues' marks
 * params:   -
 * per-task: 96 bytes
 * cost:     O(1) per answer; no lock
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

WEIR_ENTRY int fair_construct(struct fair weir_mem *self)
{
	struct weir_fair_book weir_mem *book = &self->book;
	u64 nr = 64;

	/* Twice as many as CPUs: few queues share a place. */
	while (nr < 2 * (u64)weir_nr_cpus(book->inst.sched) && weir_loop)
		nr *= 2;
	book->mark = weir_instance_alloc(&book->inst, nr * sizeof(struct weir_fair_mark));
	book->nr = nr;
	return book->mark ? 0 : -WEIR_ENOMEM;
}

WEIR_ENTRY int fair_answer_fair(struct fair weir_mem *self, struct weir_msg *msg)
{
	if (!msg->task)
		return -WEIR_EINVAL;
	msg->value = (u64)weir_priv(&self->book.inst, msg->task);
	msg->value2 = (u64)self->book.mark;
	return 0;
}

WEIR_ENTRY void fair_take_state(struct fair weir_mem *self, struct fair weir_mem *old)
{
	struct weir_fair_book weir_mem *to = &self->book;
	struct weir_fair_book weir_mem *from = &old->book;

	for (u64 i = 0; i < to->nr && i < from->nr && weir_loop; i++) {
		to->mark[i].queue = from->mark[i].queue;
		to->mark[i].mean = from->mark[i].mean;
	}
}
