/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * criticality - store the criticality and the certified execution time of each task
 *
 * class:    annotate
 * pipes:    none
 * listens:  CRITICALITY: store the level, and the execution time under the assumptions of the high level, ns
 * answers:  CRITICALITY: the level (0 unknown, 1 low, 2 high); in value2 that execution time
 * params:   -
 * per-task: 16 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   Vestal, "Preemptive scheduling of multi-criticality systems with varying degrees of
 *           execution time assurance", 2007
 *
 * A task of high criticality has two execution times: the expected one, from JOB, and
 * the worst case under the assumptions of its level. The topology defines the meaning of a level:
 * edf_vd suspends tasks of the low level when one of the high level overruns; rbed treats the low level
 * as soft real time.
 *
 * example:  annotate criticality, deadline, job, executed; entry -> edf_vd -> cpus;
 */
#include <weir/component.h>

struct criticality_task {
	u64 level;   /* (a) enum weir_criticality */
	u64 wcet_hi; /* (a) ns at capacity 1024 */
};

struct criticality {
	struct weir_instance inst;
};

WEIR_COMPONENT(criticality,
	       .summary = "store the criticality and the certified execution time of each task",
	       .cls = WEIR_ANNOTATE, .plain = 1, .listens = WEIR_TOPIC_BIT(CRITICALITY),
	       .answers = WEIR_TOPIC_BIT(CRITICALITY), .per_task = sizeof(struct criticality_task),
	       WEIR_ANSWER_AT(criticality_task, level));

WEIR_ENTRY int criticality_on_criticality(struct criticality weir_mem *self,
					  const struct weir_msg *msg)
{
	struct criticality_task weir_mem *p;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	weir_store(&p->level, msg->value);
	weir_store(&p->wcet_hi, msg->value2);
	return 0;
}

WEIR_ENTRY int criticality_answer_criticality(struct criticality weir_mem *self,
					      struct weir_msg *msg)
{
	struct criticality_task weir_mem *p;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	msg->value = weir_load(&p->level);
	msg->value2 = weir_load(&p->wcet_hi);
	return 0;
}
