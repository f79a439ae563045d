/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lottery - draw the next task at random, with a probability by weight
 *
 * class:    order
 * pipes:    in 1, out 1, keyed
 * listens:  DISPATCH, on any CPU: the task has won the drawing
 * asks:     WEIGHT: the number of tickets, and EXECUTED: CPU time of the task; both needed
 * answers:  -
 * params:   quantum ns 3000000 [100000, 1000000000]; run time before the next drawing
 * per-task: 32 bytes
 * cost:     O(log n) per added task; no lock of its own
 * batch:    the out-pipe holds the tasks of the in-pipe, stably sorted by the time at which they win
 * source:   Waldspurger and Weihl, "Lottery scheduling: flexible proportional-share resource
 *           management", 1994; the order of exponential times: ours
 *
 * Shares are correct on average only, but no task starves and no history is kept. A task that used only
 * a part of its quantum wins correspondingly sooner the next time (compensation tickets).
 *
 * There is no central drawing: each task draws, when it arrives, the time at which it will win. Times are exponential
 * with the weight as rate, so each task comes first with a probability in proportion to its weight. Because the
 * distribution is memoryless, drawing again each time would change nothing.
 *
 * example:  annotate weight, executed; entry -> lottery -> cpus;
 */
#include <weir/component.h>

struct lottery {
	struct weir_instance inst;
	u64 quantum; /* (c) ns */
	u64 clock;   /* (a) when the last winner won */
};

struct lottery_task {
	u64 wins; /* (p) when it will win */
	u64 seen; /* (p) EXECUTED so far */
	u64 used; /* (p) ns that it ran when it had won last */
	u32 drew; /* (a) `wins` still counts */
	u32 unused;
};

WEIR_COMPONENT(lottery, .summary = "draw the next task at random, with a probability by weight",
	       .cls = WEIR_ORDER, .ordering = WEIR_TOTAL, .in_min = 1, .in_max = 1, .out_min = 1,
	       .out_max = 1, .keyed_out = 1, .listens = WEIR_TOPIC_BIT(DISPATCH),
	       .hears_all = WEIR_TOPIC_BIT(DISPATCH),
	       .asks = WEIR_TOPIC_BIT(WEIGHT) | WEIR_TOPIC_BIT(EXECUTED),
	       .needs = WEIR_TOPIC_BIT(WEIGHT) | WEIR_TOPIC_BIT(EXECUTED),
	       .per_task = sizeof(struct lottery_task),
	       WEIR_PARAMS(lottery, WEIR_PARAM(lottery, quantum, NS, 3000000, 100000, 1000000000,
					       "run time before the next drawing")));

/* An exponential time: the negative logarithm, to the base of 2, of a number between 0 and 1; in 2^-20. */
static u64 lottery_draw(struct weir_sched weir_mem *s)
{
	u64 x = weir_random(s) | 1, whole = 1, part = 0;

	while (!(x >> 63) && weir_loop) {
		x <<= 1;
		whole++;
	}
	/* What is left lies between 1 and 2: squared it gives one bit more of its logarithm. */
	x >>= 32;
	for (u32 i = 0; i < weir_unknown(20) && weir_loop; i++) {
		x = x * x >> 31;
		part = part << 1 | x >> 32;
		x >>= x >> 32;
	}
	return (whole << 20) - part;
}

/* When the task will win, counted from the last winner on. */
static u64 lottery_wait(struct lottery weir_mem *self, struct weir_task weir_mem *t,
			struct lottery_task weir_mem *p)
{
	u64 weight = weir_property(self->inst.sched, WEIR_TOPIC_WEIGHT, t);
	u64 wait = lottery_draw(self->inst.sched) * 1024 / (weight ? weight : 1024);

	if (!p->used || p->used >= self->quantum)
		return wait;
	/* In thousandths: it has had no more than this. */
	return wait * (p->used * 1000 / self->quantum + 1) / 1000;
}

WEIR_ENTRY u32 lottery_step(struct lottery weir_mem *self, u32 what, struct weir_task weir_mem *t,
			    struct weir_step weir_mem *s)
{
	struct lottery_task weir_mem *p = weir_priv(&self->inst, t);
	struct weir_msg ran = { .topic = WEIR_TOPIC_EXECUTED, .task = t };

	weir_use(what);
	if (s->runs)
		return 0;
	if (!weir_load(&p->drew)) {
		if (!weir_request(self->inst.sched, &ran)) {
			p->used = ran.value2 - p->seen;
			p->seen = ran.value2;
		}
		p->wins = weir_load(&self->clock) + lottery_wait(self, t, p);
		weir_store(&p->drew, 1);
	}
	weir_store(&t->slice_ns, self->quantum);
	s->key = p->wins;
	return 0;
}

WEIR_ENTRY int lottery_on_dispatch(struct lottery weir_mem *self, const struct weir_msg *msg)
{
	struct lottery_task weir_mem *p = weir_priv(&self->inst, msg->task);

	if (!weir_load(&p->drew))
		return 0;
	weir_store(&p->drew, 0);
	if (p->wins > weir_load(&self->clock))
		weir_store(&self->clock, p->wins);
	return 0;
}

WEIR_ENTRY void lottery_take_state(struct lottery weir_mem *self, struct lottery weir_mem *old)
{
	self->clock = old->clock;
}
