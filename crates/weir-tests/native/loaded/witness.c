/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * witness - count the private data of tasks that come and go
 *
 * class:     annotate
 * pipes:     in 0, out 0
 * listens:   -
 * answers:   MARKER: how many tasks have private data now; value2: how many had it ever
 * params:    -
 * per-task:  8 bytes
 * cost:      O(1) per created task; no lock
 * batch:     no pipes
 * source:    ours, for a test
 *
 * Two for one task, or an end without a beginning, are broken invariants. The counts are the program's,
 * not the instance's, as the test asks over all instances there ever were.
 */
#include <weir/component.h>

struct witness {
	struct weir_instance inst;
};

WEIR_COMPONENT(witness, .summary = "count the private data of tasks that come and go",
	       .cls = WEIR_ANNOTATE, .answers = WEIR_TOPIC_BIT(MARKER), .per_task = sizeof(u64));

static u64 witness_begun, witness_ended;

WEIR_ENTRY int witness_answer_marker(struct witness weir_mem *self, struct weir_msg *msg)
{
	msg->value = witness_begun - witness_ended;
	msg->value2 = witness_begun;
	return 0;
}

WEIR_ENTRY void witness_task_init(struct witness weir_mem *self, struct weir_task weir_mem *t)
{
	u64 weir_mem *mark = weir_priv(&self->inst, t);

	weir_assert(*mark == 0);
	*mark = 1;
	witness_begun++;
}

WEIR_ENTRY void witness_task_exit(struct witness weir_mem *self, struct weir_task weir_mem *t)
{
	u64 weir_mem *mark = weir_priv(&self->inst, t);

	weir_assert(*mark == 1);
	*mark = 0;
	witness_ended++;
}
