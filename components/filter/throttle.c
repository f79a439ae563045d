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
 * cost:      O(1) per change, O(log n) for a withheld task; takes the in-pipe lock and the
 *            out-pipe lock
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
	       .cls = WEIR_FILTER, .carries = WEIR_CARRIES_LOCKED, .ordering = WEIR_KEEPS,
	       .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .listens = WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE),
	       .publishes = WEIR_TOPIC_BIT(WITHHELD), .asks = WEIR_TOPIC_BIT(BUDGET),
	       .needs = WEIR_TOPIC_BIT(BUDGET), .per_task = sizeof(struct throttle_task));

static int throttle_put(struct throttle weir_mem *self, struct weir_pipe weir_mem *in,
			struct weir_task weir_mem *t)
{
	struct weir_msg budget = { .topic = WEIR_TOPIC_BUDGET, .task = t };
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	int err;

	if (weir_request(self->inst.sched, &budget) || budget.value) {
		err = weir_timerqueue_clear(&self->held, t);
		return err ? err : weir_pipe_mirror(out, t, in);
	}
	err = weir_timerqueue_set(&self->held, t, budget.value2);
	if (!err)
		err = weir_pipe_remove(out, t);
	if (!err)
		weir_publish(&self->inst, WEIR_TOPIC_WITHHELD, t, WEIR_NO_CPU, budget.value2);
	return err;
}

WEIR_ENTRY int throttle_construct(struct throttle weir_mem *self)
{
	weir_timerqueue_init(&self->held, &self->inst,
			     __builtin_offsetof(struct throttle_task, place));
	return 0;
}

WEIR_ENTRY int throttle_update(struct throttle weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		err = throttle_put(self, in, c->task);
		if (err)
			return err;
	}
	return 0;
}

/* Only a withheld task: one that has passed runs until its slice ends. */
WEIR_INLINE int throttle_again(struct throttle weir_mem *self, const struct weir_msg *msg,
			       struct weir_pipe weir_mem *in)
{
	if (weir_pending(in, msg->task) || weir_pipe_has(weir_out(&self->inst, 0), msg->task))
		return 0;
	return throttle_put(self, in, msg->task);
}

WEIR_ENTRY int throttle_follow_job(struct throttle weir_mem *self, const struct weir_msg *msg,
				   struct weir_pipe weir_mem *in)
{
	return throttle_again(self, msg, in);
}

WEIR_ENTRY int throttle_follow_deadline(struct throttle weir_mem *self, const struct weir_msg *msg,
					struct weir_pipe weir_mem *in)
{
	return throttle_again(self, msg, in);
}

/* Budgets are filled again. */
WEIR_ENTRY int throttle_on_timer(struct throttle weir_mem *self)
{
	u64 now = weir_now(self->inst.sched);
	struct weir_pipe weir_mem *in;
	struct weir_task weir_mem *t;
	int err = 0;

	while (!err && weir_loop) {
		t = weir_timerqueue_pop_waiting(&self->held, now, &in);
		if (!t)
			break;
		err = throttle_put(self, in, t);
		weir_pipe_unlock(in);
	}
	return err;
}

WEIR_ENTRY void throttle_task_exit(struct throttle weir_mem *self, struct weir_task weir_mem *t)
{
	weir_timerqueue_clear(&self->held, t);
}

WEIR_ENTRY void throttle_destroy(struct throttle weir_mem *self)
{
	weir_timerqueue_free(&self->held);
}
