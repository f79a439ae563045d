/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * bvt - share by weight, and let some tasks borrow from their future
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   -
 * publishes: PREEMPT: a CPU runs a task with more virtual time than a new one
 * asks:      WEIGHT, and EXECUTED: CPU time of the task; both needed. LATENCY: a task that requests short
 *            slices is warped. AFFINITY: which CPUs the task may take
 * answers:   -
 * kernel:    on request
 * params:    allowance ns 3000000 [100000, 1000000000]; run time before another task may preempt
 *            warp ns 20000000 [0, 10000000000]; advance of a warped task
 * per-task:  24 bytes
 * cost:      O(log n) per added task, plus a scan of the CPUs behind the out-pipe; no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe, stably sorted by effective virtual time
 * source:    Duda and Cheriton, "Borrowed-virtual-time (BVT) scheduling: supporting latency-sensitive threads
 *            in a general-purpose scheduler", 1999
 *
 * Run time over weight is a task's actual virtual time; the task with the least runs next. A task that wakes
 * gets at least the minimum of the others. A warped task counts with its virtual time reduced by `warp`: it runs
 * first when it wakes, and pays for it if it runs longer, because its actual virtual time is kept. Shares
 * remain those of the weights. Where each CPU has a queue, a task from another one begins at the minimum of the tasks here,
 * plus its last turn, one allowance at most: they share no virtual time. The limits on the duration of a warp are not implemented.
 *
 * example:   annotate affinity, weight, executed, latency; entry -> bvt(warp = 50ms) -> cpus;
 */
#include <weir/component.h>

struct bvt {
	struct weir_instance inst;
	u64 allowance; /* (c) ns */
	u64 warp;      /* (c) ns */
	/* (p) scheduler virtual time: the least of those that waited when one was chosen */
	u64 least;
};

struct bvt_task {
	u64 time; /* (p) actual virtual time, ns at weight 1024 */
	u64 seen; /* (p) EXECUTED so far */
	u32 here; /* (p) it waits here, or runs from here */
	u32 unused;
};

WEIR_COMPONENT(bvt, .summary = "share by weight, and let some tasks borrow from their future",
	       .cls = WEIR_ORDER, .serial = 1, .kernel = WEIR_KERNEL_ON_REQUEST,
	       .ordering = WEIR_TOTAL, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .keyed_out = 1, .hears = WEIR_HEARS_LEFT, .publishes = WEIR_TOPIC_BIT(PREEMPT),
	       .asks = WEIR_TOPIC_BIT(WEIGHT) | WEIR_TOPIC_BIT(EXECUTED) | WEIR_TOPIC_BIT(LATENCY) |
		       WEIR_TOPIC_BIT(AFFINITY),
	       .needs = WEIR_TOPIC_BIT(WEIGHT) | WEIR_TOPIC_BIT(EXECUTED),
	       .per_task = sizeof(struct bvt_task),
	       WEIR_PARAMS(bvt,
			   WEIR_PARAM(bvt, allowance, NS, 3000000, 100000, 1000000000,
				      "run time before another task may preempt"),
			   WEIR_PARAM(bvt, warp, NS, 20000000, 0, 10000000000ull,
				      "advance of a warped task")));

/* Charge a task that has run @ran in all. An arriving task does not start behind the others. */
static void bvt_charge(struct bvt weir_mem *self, struct bvt_task weir_mem *p, u64 ran, u64 weight,
		       u64 ahead)
{
	u64 turn = ran - p->seen;

	/* It was chosen because no task was further back. */
	if (p->here && p->time + ahead > self->warp + self->least)
		self->least = p->time + ahead - self->warp;
	/* It ran elsewhere, where the others have other times: it was ahead of them by its last turn. */
	if (!p->here && turn) {
		p->time = self->least;
		if (turn > self->allowance)
			turn = self->allowance;
	}
	p->time += turn * 1024 / (weight ? weight : 1024);
	p->seen = ran;
	p->here = 1;
	if (p->time < self->least)
		p->time = self->least;
}

/* All that the task has run, ns. */
WEIR_HELPER u64 bvt_ran(struct bvt weir_mem *self weir_arg, struct weir_task weir_mem *t weir_arg)
{
	struct weir_msg ran = { .topic = WEIR_TOPIC_EXECUTED, .task = t };

	return weir_request(self->inst.sched, &ran) ? 0 : ran.value2;
}

/* The effective virtual time of @t, which is charged unless it runs. */
WEIR_HELPER u64 bvt_effective(struct bvt weir_mem *self weir_arg,
			      struct weir_task weir_mem *t weir_arg, u32 runs)
{
	struct bvt_task weir_mem *p = weir_priv(&self->inst, t);
	u64 ran = runs ? 0 : bvt_ran(self, t);
	/* All but the warped are put forward, which is the same and needs no negative numbers. */
	u64 ahead = weir_property(self->inst.sched, WEIR_TOPIC_LATENCY, t) ? 0 : self->warp;

	if (!runs && (!p->here || ran > p->seen))
		bvt_charge(self, p, ran, weir_property(self->inst.sched, WEIR_TOPIC_WEIGHT, t),
			   ahead);
	return p->time + ahead;
}

WEIR_ENTRY u32 bvt_step(struct bvt weir_mem *self, u32 what, struct weir_task weir_mem *t,
			struct weir_step weir_mem *s)
{
	struct bvt_task weir_mem *p = weir_priv(&self->inst, t);

	if (what == WEIR_LEFT) {
		if (p->here && s->why != WEIR_WHY_AGAIN) {
			bvt_effective(self, t, 0);
			p->here = 0;
		}
		return 0;
	}
	weir_store(&t->slice_ns, self->allowance);
	return weir_place_urgent(s, bvt_effective(self, t, s->runs));
}

WEIR_ENTRY void bvt_take_state(struct bvt weir_mem *self, struct bvt weir_mem *old)
{
	self->least = old->least;
}
