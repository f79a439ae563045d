/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * executed - measure the execution time of each job so far
 *
 * class:    annotate
 * pipes:    none
 * listens:  DISPATCH, RELINQUISH, BLOCK: the task starts or stops running. JOB: the next job starts at 0
 * answers:  EXECUTED: execution time of the task's job so far, as on a CPU of capacity 1024, ns; in value2
 *           the total since the task's creation
 * params:   -
 * per-task: 32 bytes
 * cost:     O(1) per message and per answer; no lock
 * batch:    no pipes
 * source:   ours; what laxities need (Mok and Dertouzos, 1978)
 *
 * Time on a CPU counts by the CPU's capacity. The current clock, a busy sibling thread, interrupts and the cost of
 * switching are not known and count as work. With a runtime that never publishes JOB, each task has one endless
 * job.
 *
 * example:  annotate job, deadline, executed; entry -> llf -> cpus;
 */
#include <weir/component.h>
#include <weir/cpus.h>

struct executed_task {
	u64 used;    /* (a) ns of work */
	u64 before;  /* (a) likewise, of earlier jobs */
	u64 since;   /* (a) ns; if it runs */
	u32 running; /* (a) the time since then is still to be charged */
	u32 unused;
};

struct executed {
	struct weir_instance inst;
};

WEIR_COMPONENT(executed, .summary = "measure the execution time of each job so far",
	       .cls = WEIR_ANNOTATE, .travels = 1,
	       .listens = WEIR_TOPIC_BIT(DISPATCH) | WEIR_TOPIC_BIT(RELINQUISH) |
			  WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(JOB),
	       .answers = WEIR_TOPIC_BIT(EXECUTED), .per_task = sizeof(struct executed_task));

/* Work done since the task was dispatched, ns. */
static u64 executed_open(struct weir_sched weir_mem *s, struct executed_task weir_mem *p,
			 struct weir_task weir_mem *t)
{
	u64 now = weir_now(s), since = weir_load(&p->since);
	u32 cpu = weir_last_cpu(t);

	if (now <= since || cpu >= weir_nr_cpus(s))
		return 0;
	return (now - since) * weir_cpu_capacity(s, cpu) >> 10;
}

/* Charge a task that runs no longer. Of two callers that notice it, one does it. */
static void executed_settle(struct executed weir_mem *self, struct executed_task weir_mem *p,
			    struct weir_task weir_mem *t)
{
	u64 open = executed_open(self->inst.sched, p, t);

	if (weir_load(&p->running) && weir_cas(&p->running, 1, 0))
		weir_store(&p->used, weir_load(&p->used) + open);
}

/* What the present job has run, with the time since it was dispatched if it runs. */
static u64 executed_so_far(struct executed weir_mem *self, struct executed_task weir_mem *p,
			   struct weir_task weir_mem *t)
{
	u64 used = weir_load(&p->used);

	return weir_load(&p->running) ? used + executed_open(self->inst.sched, p, t) : used;
}

WEIR_ENTRY int executed_on_dispatch(struct executed weir_mem *self, const struct weir_msg *msg)
{
	struct executed_task weir_mem *p = weir_priv(&self->inst, msg->task);

	executed_settle(self, p, msg->task);
	weir_store(&p->since, weir_now(self->inst.sched));
	weir_store(&p->running, 1);
	return 0;
}

/* The message may be late: the task has been seen to wait before, and perhaps runs again. */
WEIR_ENTRY int executed_on_relinquish(struct executed weir_mem *self, const struct weir_msg *msg)
{
	if (!weir_runs(msg->task))
		executed_settle(self, weir_priv(&self->inst, msg->task), msg->task);
	return 0;
}

WEIR_ENTRY int executed_on_block(struct executed weir_mem *self, const struct weir_msg *msg)
{
	executed_settle(self, weir_priv(&self->inst, msg->task), msg->task);
	return 0;
}

WEIR_ENTRY int executed_on_job(struct executed weir_mem *self, const struct weir_msg *msg)
{
	struct executed_task weir_mem *p;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	weir_store(&p->before, weir_load(&p->before) + executed_so_far(self, p, msg->task));
	weir_store(&p->since, weir_now(self->inst.sched));
	weir_store(&p->used, 0);
	return 0;
}

/* A component that gets the task back asks before the runtime's message has come round. */
WEIR_ENTRY int executed_answer_executed(struct executed weir_mem *self, struct weir_msg *msg)
{
	struct executed_task weir_mem *p;

	if (!msg->task)
		return -WEIR_EINVAL;
	p = weir_priv(&self->inst, msg->task);
	if (!weir_runs(msg->task))
		executed_settle(self, p, msg->task);
	msg->value = executed_so_far(self, p, msg->task);
	msg->value2 = weir_load(&p->before) + msg->value;
	return 0;
}
