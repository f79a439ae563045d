/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * throttle - withhold tasks without budget until it is replenished
 *
 * class:     filter
 * pipes:     in 1, out 1
 * listens:   JOB, DEADLINE: the task's parameters may have changed
 * publishes: WITHHELD: the task waits for budget, until then
 * asks:      BUDGET: whether the task may run, and when to ask again; needed
 * answers:   -
 * params:    -
 * per-task:  8 bytes
 * cost:      O(1) per change, O(log n) for a withheld task; no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe that have budget, in its order
 * source:    ours; Abeni and Buttazzo, 1998, and Sprunt, Sha and Lehoczky, 1989, for servers
 *
 * Servers such as `cbs` and `sporadic` account for budgets and end them by the slice. With this filter
 * a task without budget waits; without it, the task runs after the others. Put it before the
 * orders.
 *
 * example:   annotate affinity, job, cbs(hard = true); entry -> throttle -> edf -> cpus;
 */
#include <weir/kit/timerqueue.h>

struct throttle_task {
	u32 place; /* (l) in the heap */
	u32 unused;
};

struct throttle {
	struct weir_instance inst;
	struct weir_timerqueue held; /* tasks that are held back, by the time to ask again */
};

WEIR_COMPONENT(throttle, .summary = "withhold tasks without budget until it is replenished",
	       .cls = WEIR_FILTER, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1,
	       .out_max = 1, .listens = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE),
	       .reviews = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE),
	       .publishes = WEIR_TOPIC_BIT(WITHHELD), .asks = WEIR_TOPIC_BIT(BUDGET),
	       .needs = WEIR_TOPIC_BIT(BUDGET), .per_task = sizeof(struct throttle_task));

WEIR_ENTRY int throttle_construct(struct throttle weir_mem *self)
{
	weir_timerqueue_init(&self->held, &self->inst,
			     __builtin_offsetof(struct throttle_task, place));
	return 0;
}

/* A task that has passed runs until its slice ends. */
WEIR_ENTRY u32 throttle_step(struct throttle weir_mem *self, u32 what, struct weir_task weir_mem *t,
			     struct weir_step weir_mem *s)
{
	struct weir_msg budget = { .topic = WEIR_TOPIC_BUDGET, .task = t };

	weir_use(s);
	if (what == WEIR_REVIEW && !weir_withheld(&self->inst, t))
		return 0;
	if (weir_request(self->inst.sched, &budget) || budget.value) {
		weir_timerqueue_clear(&self->held, t);
		return 0;
	}
	/* Without memory to remember when to ask again it passes: a task is not lost. */
	if (weir_timerqueue_set(&self->held, t, budget.value2))
		return 0;
	return weir_withhold(&self->inst, what, t, budget.value2);
}

/* Budgets are filled again. */
WEIR_ENTRY int throttle_on_timer(struct throttle weir_mem *self)
{
	return weir_timerqueue_review(&self->held);
}

WEIR_ENTRY void throttle_task_exit(struct throttle weir_mem *self, struct weir_task weir_mem *t)
{
	weir_timerqueue_clear(&self->held, t);
}

WEIR_ENTRY void throttle_destroy(struct throttle weir_mem *self)
{
	weir_timerqueue_free(&self->held);
}
