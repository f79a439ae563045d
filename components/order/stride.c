/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stride - give each task CPU time in proportion to its weight
 *
 * class:    order
 * pipes:    in 1, out 1, keyed
 * listens:  -
 * asks:     WEIGHT, and EXECUTED: CPU time of the task; both needed
 * answers:  -
 * params:   quantum ns 3000000 [100000, 1000000000]; run time before another task runs
 * per-task: 24 bytes
 * cost:     O(log n) per added task; no lock of its own
 * batch:    the out-pipe holds the tasks of the in-pipe, stably sorted by pass
 * source:   Waldspurger and Weihl, "Stride scheduling: deterministic proportional-share resource
 *           management", 1995
 *
 * Each task advances by its run time divided by its weight. The task with the least progress runs next, so all stay
 * together: on one CPU, among tasks that always compute, the ratio of any two is exact to one quantum. The share of a task in all
 * is not: a heavy one beside n light ones is up to n / 2 quanta away from it. On several CPUs a task whose share
 * exceeds one CPU gets a whole CPU, and the others share the rest. A blocked task keeps its lead over the others but loses its
 * lag, so it accumulates no credit, and a task that often sleeps gets less than its share. Where each CPU has a queue, a task
 * from another one begins where the tasks here are, plus its last turn, a quantum at most: they share no virtual time.
 * `cfs` extends this with slices that depend on the load and with credit for waking tasks.
 *
 * example:  annotate weight, executed; entry -> stride -> cpus;
 */
#include <weir/component.h>

struct stride {
	struct weir_instance inst;
	u64 quantum; /* (c) ns */
	u64 here;    /* (p) how far the running tasks have come */
};

/* How far a task has come; while it is away, how far it is ahead of the others. */
struct stride_task {
	u64 pass; /* (p) ns at weight 1024 */
	u64 seen; /* (p) EXECUTED so far */
	u32 here; /* (p) it takes part */
	u32 unused;
};

WEIR_COMPONENT(stride, .summary = "give each task CPU time in proportion to its weight",
	       .cls = WEIR_ORDER, .serial = 1, .ordering = WEIR_TOTAL, .in_min = 1, .in_max = 1,
	       .out_min = 1, .out_max = 1, .keyed_out = 1, .hears = WEIR_HEARS_LEFT,
	       .asks = WEIR_TOPIC_BIT(WEIGHT) | WEIR_TOPIC_BIT(EXECUTED),
	       .needs = WEIR_TOPIC_BIT(WEIGHT) | WEIR_TOPIC_BIT(EXECUTED),
	       .per_task = sizeof(struct stride_task),
	       WEIR_PARAMS(stride, WEIR_PARAM(stride, quantum, NS, 3000000, 100000, 1000000000,
					      "run time before another task runs")));

/* All that the task has run, ns. */
static u64 stride_ran(struct stride weir_mem *self, struct weir_task weir_mem *t)
{
	struct weir_msg ran = { .topic = WEIR_TOPIC_EXECUTED, .task = t };

	return weir_request(self->inst.sched, &ran) ? 0 : ran.value2;
}

/* Charge what the task has run since it was charged last. */
static void stride_walk(struct stride weir_mem *self, struct weir_task weir_mem *t,
			struct stride_task weir_mem *p)
{
	u64 ran = stride_ran(self, t), turn = ran > p->seen ? ran - p->seen : 0;
	u64 weight = weir_property(self->inst.sched, WEIR_TOPIC_WEIGHT, t);

	if (!turn)
		return;
	if (!p->here) {
		/* It ran elsewhere, and was ahead of the others there by its last turn. */
		p->pass = 0;
		if (turn > self->quantum)
			turn = self->quantum;
	} else if (p->pass > self->here) {
		/* The running task was the last of all, so the others are about where it started. */
		self->here = p->pass;
	}
	p->pass += turn * 1024 / (weight ? weight : 1024);
	p->seen = ran;
}

/* It is gone from here, and keeps how far it is ahead. */
static void stride_leave(struct stride weir_mem *self, struct weir_task weir_mem *t,
			 struct stride_task weir_mem *p)
{
	stride_walk(self, t, p);
	p->here = 0;
	/* Behind the others, because it had hardly been there: then it begins where they are. */
	p->pass = p->pass > self->here ? p->pass - self->here : 0;
}

WEIR_ENTRY u32 stride_step(struct stride weir_mem *self, u32 what, struct weir_task weir_mem *t,
			   struct weir_step weir_mem *s)
{
	struct stride_task weir_mem *p = weir_priv(&self->inst, t);

	if (what == WEIR_LEFT) {
		if (p->here && s->why != WEIR_WHY_AGAIN)
			stride_leave(self, t, p);
		return 0;
	}
	if (s->runs)
		return 0;
	stride_walk(self, t, p);
	if (!p->here) {
		p->here = 1;
		p->pass += self->here;
	}
	weir_store(&t->slice_ns, self->quantum);
	s->key = p->pass;
	return 0;
}

WEIR_ENTRY void stride_take_state(struct stride weir_mem *self, struct stride weir_mem *old)
{
	self->here = old->here;
}
