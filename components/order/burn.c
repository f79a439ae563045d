/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * burn - pass tasks on after a busy loop
 *
 * class:    order
 * pipes:    in 1, out 1
 * listens:  BURN: value is the new number of iterations; value2 is 1 + the instance, 0 means
 *           all
 * answers:  -
 * params:   iterations count 500 [0, 10000000]; iterations of the empty loop per step
 * cost:     the loop per change; no lock of its own
 * batch:    the out-pipe holds the tasks of the in-pipe, in its order
 * source:   CoBaS appendix A.1, component 0x04; 8.5
 *
 * Models a policy that computes. In front of a pipe's lock it shows how the time under the lock
 * limits the number of CPUs that can share a pipe.
 *
 * example:  annotate affinity; entry -> burn(iterations = 1000) -> load_balancer -> each cpu { ->
 *           cpu };
 */
#include <weir/component.h>
#include <weir/kit/forward.h>

struct burn {
	struct weir_instance inst;
	u64 iterations; /* (a) */
};

WEIR_COMPONENT(burn, .summary = "pass tasks on after a busy loop", .cls = WEIR_ORDER,
	       .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .listens = WEIR_TOPIC_BIT(BURN),
	       WEIR_PARAMS(burn, WEIR_PARAM(burn, iterations, COUNT, 500, 0, 10000000,
					    "iterations of the empty loop per step")));

WEIR_ENTRY u32 burn_step(struct burn weir_mem *self, u32 what, struct weir_task weir_mem *t,
			 struct weir_step weir_mem *s)
{
	weir_use(what);
	weir_use(t);
	weir_use(s);
	weir_burn(&self->inst, weir_load(&self->iterations));
	return 0;
}

WEIR_ENTRY int burn_on_burn(struct burn weir_mem *self, const struct weir_msg *msg)
{
	weir_burn_set(&self->inst, &self->iterations, msg);
	return 0;
}
