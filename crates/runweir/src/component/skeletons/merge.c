/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * NAME - join several pipes, the lower ports first
 *
 * class:    merge
 * pipes:    in 1.., out 1, keyed
 * listens:  -
 * answers:  -
 * params:   -
 * cost:     O(log n) per change; no lock of its own
 * batch:    the out-pipe holds the tasks of in-port 0 in their order, then those of in-port 1, and so on
 * source:   ours
 *
 * Say here what it promises, and when it is the wrong choice: the upper ports wait while the lower ones have work.
 *
 * example:  entry each cpu -> NAME -> cpus;
 */
#include <weir/component.h>

/* The state of an instance. The framework's part comes first; parameters are u64 fields. */
struct NAME {
	struct weir_instance inst;
};

/* The facts: what the language, the checker and the manual know. */
WEIR_COMPONENT(NAME, .summary = "join several pipes, the lower ports first", .cls = WEIR_MERGE,
	       .ordering = WEIR_STABLE, .in_min = 1, .in_max = WEIR_ANY, .out_min = 1, .out_max = 1,
	       .keyed_out = 1);

/* Where does @t go? The key is the port by which it came; among equals the order of arrival stays. */
WEIR_ENTRY u32 NAME_step(struct NAME weir_mem *self, u32 what, struct weir_task weir_mem *t,
			 struct weir_step weir_mem *s)
{
	weir_use(self);
	weir_use(what);
	weir_use(t);
	s->key = s->in;
	return 0;
}
