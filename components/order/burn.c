/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * burn - pass tasks on after a busy loop
 *
 * class:    order
 * pipes:    in 1, out 1
 * listens:  BURN: value is the new number of iterations; value2 is 1 + the instance, 0 means
 *           all
 * answers:  -
 * params:   iterations count 500 [0, 10000000]; iterations of the empty loop per update
 * cost:     the loop per update, O(1) per change; takes the in-pipe lock and the out-pipe lock
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
	       .carries = WEIR_CARRIES, .ordering = WEIR_KEEPS, .in_min = 1, .in_max = 1,
	       .out_min = 1, .out_max = 1, .listens = WEIR_TOPIC_BIT(BURN),
	       WEIR_PARAMS(burn, WEIR_PARAM(burn, iterations, COUNT, 500, 0, 10000000,
					    "iterations of the empty loop per update")));

WEIR_ENTRY int burn_update(struct burn weir_mem *self, struct weir_pipe weir_mem *in)
{
	weir_burn(&self->inst, weir_load(&self->iterations));
	return weir_forward(&self->inst, in);
}

WEIR_ENTRY int burn_on_burn(struct burn weir_mem *self, const struct weir_msg *msg)
{
	weir_burn_set(&self->inst, &self->iterations, msg);
	return 0;
}
