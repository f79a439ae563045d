/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * job - store the execution time and the relative deadline of each job
 *
 * class:    annotate
 * pipes:    none
 * listens:  JOB: store the worst-case execution time and the relative deadline, ns
 * answers:  JOB: the worst-case execution time in value, the relative deadline in value2; 0 if unknown
 * params:   -
 * per-task: 16 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   ours; Liu and Layland, 1973, for the task model
 *
 * The execution time is that on a CPU of capacity 1024 at its top clock. The runtime publishes it at each
 * release of a job, directly before the deadline. The release time is the absolute deadline minus the
 * relative one.
 *
 * example:  annotate job, deadline; entry -> llf -> cpus;
 */
#include <weir/component.h>

struct job_task {
	u64 wcet;     /* (a) ns; 0: unknown */
	u64 relative; /* (a) ns; 0: unknown */
};

struct job {
	struct weir_instance inst;
};

WEIR_COMPONENT(job, .summary = "store the execution time and the relative deadline of each job",
	       .cls = WEIR_ANNOTATE, .plain = 1, .listens = WEIR_TOPIC_BIT(JOB),
	       .answers = WEIR_TOPIC_BIT(JOB), .per_task = sizeof(struct job_task),
	       WEIR_ANSWER_AT(job_task, wcet));

WEIR_ENTRY int job_on_job(struct job weir_mem *self, const struct weir_msg *msg)
{
	struct job_task weir_mem *p;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	weir_store(&p->wcet, msg->value);
	weir_store(&p->relative, msg->value2);
	return 0;
}

WEIR_ENTRY int job_answer_job(struct job weir_mem *self, struct weir_msg *msg)
{
	struct job_task weir_mem *p;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	msg->value = weir_load(&p->wcet);
	msg->value2 = weir_load(&p->relative);
	return 0;
}
