/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * watermark - pass tasks on and report when many or few wait
 *
 * class:     order
 * pipes:     in 1, out 1
 * listens:   -
 * publishes: OVERLOAD: the number of waiting tasks has reached the high mark. UNDERLOAD: it has fallen to the low
 *            mark after that. The value is the number; the CPU is given if only one is behind
 * answers:   -
 * params:    high count 8 [1, 1000000]; number of waiting tasks that counts as many
 *            low count 1 [0, 999999]; number that counts as few, below high
 * cost:      O(1) per change; takes the in-pipe lock and the out-pipe lock
 * batch:     the out-pipe holds the tasks of the in-pipe, in its order
 * source:    CoBaS 5.1.2 and 6.3, overload and underload
 *
 * For components and programs that reshape the machine or the graph: if one part is overloaded and another idle, an
 * FPGA can be reconfigured or a CPU switched on. Each crossing is reported once. Running tasks do not
 * count, because they are in no pipe.
 *
 * Takes no steps, so tasks are linked before it (docs/decisions/0050): it counts those that come
 * and those that leave.
 *
 * example:   annotate affinity; entry -> load_balancer -> each cpu { watermark(high = 4) -> cpu };
 */
#include <weir/component.h>

struct watermark {
	struct weir_instance inst;
	u64 high; /* (c) */
	u64 low;  /* (c) */
	u32 over; /* (p) the high mark was reported last */
};

WEIR_COMPONENT(watermark, .summary = "pass tasks on and report when many or few wait",
	       .cls = WEIR_ORDER, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1,
	       .out_max = 1, .change_kinds = WEIR_ADDED | WEIR_REMOVED | WEIR_MOVED,
	       .publishes = WEIR_TOPIC_BIT(OVERLOAD) | WEIR_TOPIC_BIT(UNDERLOAD),
	       WEIR_PARAMS(watermark,
			   WEIR_PARAM(watermark, high, COUNT, 8, 1, 1000000,
				      "number of waiting tasks that counts as many"),
			   WEIR_PARAM(watermark, low, COUNT, 1, 0, 999999,
				      "number that counts as few, below high")));

WEIR_ENTRY int watermark_construct(struct watermark weir_mem *self)
{
	return self->low < self->high ? 0 : -WEIR_EPARAM;
}

WEIR_ENTRY int watermark_update(struct watermark weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u32 cpu = in->nr_cpus == 1 ? in->cpu : WEIR_NO_CPU;
	struct weir_change weir_mem *c;
	u32 nr = weir_pipe_nr(in);
	int err;

	weir_for_change(c, in) {
		if (c->kind == WEIR_REMOVED)
			continue;
		err = weir_pipe_mirror(out, c->task, in);
		if (err)
			return err;
	}
	if (!self->over && nr >= self->high) {
		self->over = 1;
		weir_publish(&self->inst, WEIR_TOPIC_OVERLOAD, 0, cpu, nr);
	} else if (self->over && nr <= self->low) {
		self->over = 0;
		weir_publish(&self->inst, WEIR_TOPIC_UNDERLOAD, 0, cpu, nr);
	}
	return 0;
}

WEIR_ENTRY void watermark_take_state(struct watermark weir_mem *self,
				     struct watermark weir_mem *old)
{
	self->over = old->over;
}
