/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * edzl - run by deadline, tasks with zero laxity first
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   DEADLINE, JOB: a waiting task is reordered; a running one is preempted if necessary
 * publishes: PREEMPT: a CPU runs a less urgent task than a new one or one with zero laxity
 * asks:      DEADLINE: absolute, ns, 0: none; JOB: the worst-case execution time; EXECUTED: execution time
 *            so far; all needed. AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    -
 * per-task:  8 bytes
 * cost:      O(log n) per change and per task that runs out of laxity, plus a scan of the CPUs behind
 *            the out-pipe for preemption; takes the instance's own lock
 * batch:     the out-pipe holds the tasks of the in-pipe: first those whose laxity has reached zero in
 *            this job, then the others stably sorted by deadline, those without one last
 * source:    Lee, "On-line multiprocessor scheduling algorithms for real-time tasks", 1994
 *
 * Earliest deadline until zero laxity; laxity is the time to the deadline less the remaining work. It
 * schedules every task set that global edf schedules, and more, with few additional switches. A job that reached zero
 * laxity keeps its rank until the next release, also when it is late. If there are more such jobs than CPUs, one
 * must miss its deadline; running ones continue, and the others follow in the order of the in-pipe.
 *
 * example:   annotate deadline, job, executed; entry -> edzl -> cpus;
 */
#include <weir/kit/timerqueue.h>
#include <weir/kit/laxity.h>

struct edzl_task {
	u32 place;  /* (l) in the heap */
	u32 urgent; /* (a) the job has had no laxity */
};

struct edzl {
	struct weir_instance inst;
	struct weir_timerqueue
		zero_laxity; /* waiting tasks by the time at which their laxity ends */
};

WEIR_COMPONENT(edzl, .summary = "run by deadline, tasks with zero laxity first", .cls = WEIR_ORDER,
	       .kernel = WEIR_KERNEL_ON_REQUEST, .ordering = WEIR_STABLE, .in_min = 1, .in_max = 1,
	       .out_min = 1, .out_max = 1, .keyed_out = 1,
	       .listens = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB),
	       .reviews = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB),
	       .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(EXECUTED) |
		       WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(EXECUTED),
	       .per_task = sizeof(struct edzl_task));

WEIR_ENTRY int edzl_construct(struct edzl weir_mem *self)
{
	weir_timerqueue_init(&self->zero_laxity, &self->inst,
			     __builtin_offsetof(struct edzl_task, place));
	return 0;
}

/* While a task runs, its laxity stays as it is. */
WEIR_ENTRY u32 edzl_step(struct edzl weir_mem *self, u32 what, struct weir_task weir_mem *t,
			 struct weir_step weir_mem *s)
{
	struct edzl_task weir_mem *p = weir_priv(&self->inst, t);
	struct weir_sched weir_mem *sched = self->inst.sched;
	u64 latest = weir_latest_start(sched, t);
	u64 key;
	int err;

	weir_use(what);
	weir_store(&t->slice_ns, WEIR_SLICE_UNLIMITED);
	if (!s->runs && latest <= weir_now(sched))
		weir_store(&p->urgent, 1);
	key = weir_load(&p->urgent) ? 0 : weir_key(weir_property(sched, WEIR_TOPIC_DEADLINE, t));
	if (!s->runs && key && latest != WEIR_KEY_NONE)
		err = weir_timerqueue_set(&self->zero_laxity, t, latest);
	else
		err = weir_timerqueue_clear(&self->zero_laxity, t);
	/* Without memory for the time it is found without laxity when it is looked at for another reason. */
	if (err)
		weir_step_failed(&self->inst, t, err);
	return weir_place_urgent(s, key);
}

/* Another job. */
WEIR_ENTRY int edzl_on_deadline(struct edzl weir_mem *self, const struct weir_msg *msg)
{
	struct edzl_task weir_mem *p;

	if (!msg->task)
		return 0;
	p = weir_priv(&self->inst, msg->task);
	weir_store(&p->urgent, 0);
	return 0;
}

/* Those that have left in the meantime run or block; they are looked at when they come back. */
WEIR_ENTRY int edzl_on_timer(struct edzl weir_mem *self)
{
	return weir_timerqueue_review(&self->zero_laxity);
}

WEIR_ENTRY void edzl_task_exit(struct edzl weir_mem *self, struct weir_task weir_mem *t)
{
	weir_timerqueue_clear(&self->zero_laxity, t);
}

WEIR_ENTRY void edzl_destroy(struct edzl weir_mem *self)
{
	weir_timerqueue_free(&self->zero_laxity);
}
