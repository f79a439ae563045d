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
 * cost:      O(1) per change; takes the in-pipe lock and the out-pipe lock
 * batch:     the out-pipe holds the tasks of the in-pipe, in its order
 * source:    CoBaS 5.1.2 and 6.3, overload and underload
 *
 * For components and programs that reshape the machine or the graph: if one part is overloaded and another idle, an
 * FPGA can be reconfigured or a CPU switched on. Each crossing is reported once, and at first what holds: right after the
 * topology is in force, a queue in which few tasks wait is reported (figure 6.4a: one part is idle from the start). An instance that
 * continues another one reports nothing anew. Running tasks do not count, because they are in no pipe.
 *
 * Takes no steps, so tasks are linked before it (docs/decisions/0050): it counts those that come
 * and those that leave.
 *
 * example:   annotate affinity; entry -> load_balancer -> each cpu { watermark(high = 4) -> cpu };
 */
#include <weir/component.h>

/* Somebody holds the in-pipe for long: look again. */
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
	u32 state; /* (p) what was reported last */
	u32 begun; /* (p) tasks that were there before have arrived: few are few */
};

WEIR_COMPONENT(watermark, .summary = "pass tasks on and report when many or few wait",
	       .cls = WEIR_ORDER, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1,
	       .out_max = 1, .change_kinds = WEIR_ADDED | WEIR_REMOVED | WEIR_MOVED,
	       .publishes = WEIR_TOPIC_BIT(OVERLOAD) | WEIR_TOPIC_BIT(UNDERLOAD),
	       WEIR_PARAMS(watermark,
			   WEIR_PARAM(watermark, high, COUNT, 8, 1, 1000000,
				      "number of waiting tasks that counts as many"),
			   WEIR_PARAM(watermark, low, COUNT, 1, 0, 999999,
				      "number that counts as few, below high")),
	       WEIR_RELATIONS(WEIR_RELATION(watermark, LESS, low, high,
					    "the same number would count as many and as few")));

/* The in-pipe is locked. */
static void watermark_report(struct watermark weir_mem *self, const struct weir_pipe weir_mem *in)
{
	u32 cpu = in->nr_cpus == 1 ? in->cpu : WEIR_NO_CPU;
	u32 nr = weir_pipe_nr(in);

	if (self->state != WATERMARK_MANY && nr >= self->high) {
		self->state = WATERMARK_MANY;
		weir_publish(&self->inst, WEIR_TOPIC_OVERLOAD, 0, cpu, nr);
	} else if (self->state != WATERMARK_FEW && self->begun && nr <= self->low) {
		self->state = WATERMARK_FEW;
		weir_publish(&self->inst, WEIR_TOPIC_UNDERLOAD, 0, cpu, nr);
	}
}

/* Messages of a graph that is being built reach nobody, so the first report waits for the timer. */
WEIR_ENTRY int watermark_construct(struct watermark weir_mem *self)
{
	weir_timer_begin(&self->inst, weir_now(self->inst.sched) + 1);
	return 0;
}

WEIR_ENTRY int watermark_update(struct watermark weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		if (c->kind == WEIR_REMOVED)
			continue;
		err = weir_pipe_mirror(out, c->task, in);
		if (err)
			return err;
	}
	watermark_report(self, in);
	return 0;
}

WEIR_ENTRY int watermark_on_timer(struct watermark weir_mem *self)
{
	struct weir_pipe weir_mem *in = weir_in(&self->inst, 0);

	if (weir_pipe_lock(in)) {
		weir_timer_set(&self->inst, weir_now(self->inst.sched) + WATERMARK_AGAIN_NS);
		return 0;
	}
	self->begun = 1;
	watermark_report(self, in);
	weir_pipe_unlock(in);
	return 0;
}

WEIR_ENTRY void watermark_take_state(struct watermark weir_mem *self,
				     struct watermark weir_mem *old)
{
	self->state = old->state;
	self->begun = old->begun;
}
