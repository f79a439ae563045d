/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * depth - be one stage of a chain, with a share of its work
 *
 * class:    order
 * pipes:    in 1, out 1
 * listens:  BURN: value is the new number of iterations; value2 is 1 + the instance, 0 means
 *           all
 * answers:  -
 * params:   iterations count 0 [0, 10000000]; iterations of the empty loop per update
 * cost:     the loop per update, O(1) per change; takes the in-pipe lock and the out-pipe lock
 * batch:    the out-pipe holds the tasks of the in-pipe, in its order
 * source:   CoBaS appendix A.1, component 0x05; 8.6
 *
 * Chains of these, with the same total of iterations, show the cost of one more stage. The
 * instance's name distinguishes the stages in traces and reports.
 *
 * example:  entry -> d1 :: depth(iterations = 600) -> d2 :: depth(iterations = 600) -> cpus;
 */
#include <weir/component.h>

struct depth {
	struct weir_instance inst;
	u64 iterations; /* (a) */
};

WEIR_COMPONENT(depth, .summary = "be one stage of a chain, with a share of its work",
	       .cls = WEIR_ORDER, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1,
	       .out_max = 1, .listens = WEIR_TOPIC_BIT(BURN),
	       WEIR_PARAMS(depth, WEIR_PARAM(depth, iterations, COUNT, 0, 0, 10000000,
					     "iterations of the empty loop per update")));

WEIR_ENTRY int depth_update(struct depth weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(&self->inst, 0);
	u64 n = weir_load(&self->iterations);
	struct weir_change weir_mem *c;
	int err;

	/* The compiler must not see that the loop does nothing. */
	for (u64 i = 0; i < n && weir_loop; i++)
		__asm__ volatile("" ::: "memory");
	weir_note_burn(&self->inst, n);
	weir_for_change(c, in) {
		err = weir_pipe_mirror(out, c->task, in);
		if (err)
			return err;
	}
	return 0;
}

WEIR_ENTRY int depth_on_burn(struct depth weir_mem *self, const struct weir_msg *msg)
{
	if (!msg->value2 || msg->value2 == (u64)self->inst.idx + 1)
		weir_store(&self->iterations, msg->value);
	return 0;
}
