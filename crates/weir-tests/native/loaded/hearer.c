/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * hearer - count in a task's slice which messages about it arrive
 *
 * class:    order
 * pipes:    in 1, out 1
 * listens:  BLOCK and DEADLINE: 1 ns for each that concerns a CPU to which it leads, 1 us for any other
 * asks:     -
 * answers:  -
 * params:   -
 * per-task: -
 * cost:     O(1) per change; no lock of its own
 * batch:    the out-pipe holds the tasks of the in-pipe, in its order
 * source:   ours, for a test
 *
 * The slice of a task is what a test can ask for without a responder.
 */
#include <weir/component.h>

struct hearer {
	struct weir_instance inst;
};

WEIR_COMPONENT(hearer, .summary = "count in a task's slice which messages about it arrive",
	       .cls = WEIR_ORDER, .in_min = 1, .in_max = 1, .out_min = 1, .out_max = 1,
	       .listens = WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(DEADLINE));

static int hearer_count(struct hearer weir_mem *self, struct weir_task weir_mem *t)
{
	u32 cpu = weir_last_cpu(t);
	int mine = cpu < WEIR_MAX_CPUS && weir_mask_test(weir_out(&self->inst, 0)->cpus, cpu);

	weir_store(&t->slice_ns, t->slice_ns + (mine ? 1 : 1000));
	return 0;
}

WEIR_ENTRY u32 hearer_step(struct hearer weir_mem *self, u32 what, struct weir_task weir_mem *t,
			   struct weir_step weir_mem *s)
{
	return 0;
}

WEIR_ENTRY int hearer_on_block(struct hearer weir_mem *self, const struct weir_msg *msg)
{
	return hearer_count(self, msg->task);
}

WEIR_ENTRY int hearer_on_deadline(struct hearer weir_mem *self, const struct weir_msg *msg)
{
	return hearer_count(self, msg->task);
}
