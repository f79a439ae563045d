/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * watermark - pass tasks on and report when many or few wait
 *
 * class:     order
 * pipes:     in 1, out 1
 * listens:   -
 * publishes: OVERLOAD: the number of waiting tasks has reached the high mark. UNDERLOAD: it has fallen to the low
 *            mark, or was not above it from the beginning. The value is the number; the CPU is given if only one is behind
 * answers:   -
 * params:    high count 8 [1, 1000000]; number of waiting tasks that counts as many
 *            low count 1 [0, 999999]; number that counts as few, below high
 * per-task:  8 bytes
 * cost:      O(1) per change; no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe, in its order
 * source:    CoBaS 5.1.2 and 6.3, overload and underload
 *
 * For components and programs that reshape the machine or the graph: if one part is overloaded and another idle, an
 * FPGA can be reconfigured or a CPU switched on. Each crossing is reported once, and at first what holds: right after the
 * topology is in force, a queue in which few tasks wait is reported (figure 6.4a: one part is idle from the start). An instance that
 * continues another one reports nothing anew. Running tasks do not count, because they are in no pipe.
 *
 * example:   annotate affinity; entry -> load_balancer -> each cpu { watermark(high = 4) -> cpu };
 */
#include <weir/component.h>

/* Somebody holds the lock for long: look again. */
#define WATERMARK_AGAIN_NS 100000

enum watermark_state {
	WATERMARK_NOTHING, /* was reported yet */
	WATERMARK_MANY,
	WATERMARK_FEW,
};

struct watermark {
	struct weir_instance inst;
	u64 high;  /* (c) */
	u64 low;   /* (c) */
	u32 state; /* (h) what was reported last */
	u32 begun; /* (h) tasks that were there before have arrived: few are few */
	u32 nr;	   /* (h) waiting tasks */
};

struct watermark_task {
	u64 waits; /* (h) 1: it is one of them */
};

WEIR_COMPONENT(watermark, .summary = "pass tasks on and report when many or few wait",
	       .cls = WEIR_ORDER, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1,
	       .out_max = 1, .hears = WEIR_HEARS_PICKED | WEIR_HEARS_LEFT, .serial = 1,
	       .per_task = sizeof(struct watermark_task),
	       .publishes = WEIR_TOPIC_BIT(OVERLOAD) | WEIR_TOPIC_BIT(UNDERLOAD),
	       WEIR_PARAMS(watermark,
			   WEIR_PARAM(watermark, high, COUNT, 8, 1, 1000000,
				      "number of waiting tasks that counts as many"),
			   WEIR_PARAM(watermark, low, COUNT, 1, 0, 999999,
				      "number that counts as few, below high")),
	       WEIR_RELATIONS(WEIR_RELATION(watermark, LESS, low, high,
					    "the same number would count as many and as few")));

static void watermark_report(struct watermark weir_mem *self, u32 state)
{
	struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);

	self->state = state;
	weir_publish(&self->inst,
		     state == WATERMARK_MANY ? WEIR_TOPIC_OVERLOAD : WEIR_TOPIC_UNDERLOAD, 0,
		     in->nr_cpus == 1 ? in->cpu : WEIR_NO_CPU, self->nr);
}

static void watermark_look_for_few(struct watermark weir_mem *self)
{
	if (self->state != WATERMARK_FEW && self->begun && self->nr <= self->low)
		watermark_report(self, WATERMARK_FEW);
}

/* Messages of a graph that is being built reach nobody, so the first report waits for the timer. */
WEIR_ENTRY int watermark_construct(struct watermark weir_mem *self)
{
	weir_timer_begin(&self->inst, weir_now(self->inst.sched) + 1);
	return 0;
}

/* Those that a new instance finds do not fall to the low mark on their way in, nor when the old one gives them up. */
WEIR_ENTRY u32 watermark_step(struct watermark weir_mem *self, u32 what,
			      struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	struct watermark_task weir_mem *p = weir_priv(&self->inst, t);

	if (what == WEIR_ARRIVED && !p->waits) {
		p->waits = 1;
		self->nr++;
		if (self->state != WATERMARK_MANY && self->nr >= self->high)
			watermark_report(self, WATERMARK_MANY);
	} else if ((what == WEIR_PICKED || what == WEIR_LEFT) && p->waits) {
		p->waits = 0;
		self->nr--;
		if (s->why != WEIR_WHY_AGAIN)
			watermark_look_for_few(self);
	}
	return 0;
}

WEIR_ENTRY int watermark_on_timer(struct watermark weir_mem *self)
{
	if (weir_steps_lock(&self->inst)) {
		weir_timer_set(&self->inst, weir_now(self->inst.sched) + WATERMARK_AGAIN_NS);
		return 0;
	}
	self->begun = 1;
	watermark_look_for_few(self);
	weir_steps_unlock(&self->inst);
	return 0;
}

WEIR_ENTRY void watermark_take_state(struct watermark weir_mem *self,
				     struct watermark weir_mem *old)
{
	self->state = old->state;
	self->begun = old->begun;
}
