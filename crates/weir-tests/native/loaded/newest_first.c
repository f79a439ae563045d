/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * newest_first - the newest task goes first
 *
 * class:     order
 * pipes:     in 1, out 1, keyed
 * listens:   -
 * answers:   -
 * params:    scale count 1 [1, 1000]; unused but by tests
 * cost:      O(1) per change; no lock of its own
 * batch:     the out-pipe holds the tasks of the in-pipe, the one with the greatest number first
 * source:    ours, an example of a component that is loaded
 */
#include <weir/component.h>

struct newest_first {
	struct weir_instance inst;
	u64 scale; /* (c) */
};

WEIR_COMPONENT(newest_first, .summary = "the newest task goes first", .cls = WEIR_ORDER,
	       .ordering = WEIR_TOTAL, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .keyed_out = 1,
	       WEIR_PARAMS(newest_first, WEIR_PARAM(newest_first, scale, COUNT, 1, 1, 1000,
						    "unused but by tests")));

WEIR_ENTRY u32 newest_first_step(struct newest_first weir_mem *self, u32 what,
				 struct weir_task weir_mem *t, struct weir_step weir_mem *s)
{
	s->key = ~(u64)t->id;
	return 0;
}
