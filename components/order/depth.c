/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * depth - be one stage of a chain, with a share of its work
 *
 * class:    order
 * pipes:    in 1, out 1
 * listens:  BURN: value is the new number of iterations; value2 is 1 + the instance, 0 means
 *           all
 * answers:  -
 * params:   iterations count 0 [0, 10000000]; iterations of the empty loop per step
 * cost:     the loop per change; no lock of its own
 * batch:    the out-pipe holds the tasks of the in-pipe, in its order
 * source:   CoBaS appendix A.1, component 0x05; 8.6
 *
 * Chains of these, with the same total of iterations, show the cost of one more stage. The
 * instance's name distinguishes the stages in traces and reports.
 *
 * example:  entry -> d1 :: depth(iterations = 600) -> d2 :: depth(iterations = 600) -> cpus;
 */
#include <weir/component.h>
#include <weir/kit/forward.h>

struct depth {
	struct weir_instance inst;
	u64 iterations; /* (a) */
};

WEIR_COMPONENT(depth, .summary = "be one stage of a chain, with a share of its work",
	       .cls = WEIR_ORDER, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1,
	       .out_max = 1, .listens = WEIR_TOPIC_BIT(BURN),
	       WEIR_PARAMS(depth, WEIR_PARAM(depth, iterations, COUNT, 0, 0, 10000000,
					     "iterations of the empty loop per step")));

WEIR_ENTRY u32 depth_step(struct depth weir_mem *self, u32 what, struct weir_task weir_mem *t,
			  struct weir_step weir_mem *s)
{
	weir_use(what);
	weir_use(t);
	weir_use(s);
	weir_burn(&self->inst, weir_load(&self->iterations));
	return 0;
}

WEIR_ENTRY int depth_on_burn(struct depth weir_mem *self, const struct weir_msg *msg)
{
	weir_burn_set(&self->inst, &self->iterations, msg);
	return 0;
}
