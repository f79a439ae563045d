/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Steps shared by several components: burn time, order by a fixed number. */
#ifndef WEIR_FORWARD_H
#define WEIR_FORWARD_H

#include <weir/component.h>

/* Run an empty loop @n times, and report it to the cost model. */
WEIR_INLINE void weir_burn(struct weir_instance weir_mem *self, u64 n)
{
	/* The compiler must not see that the loop does nothing. */
	for (u64 i = 0; i < n && weir_loop; i++)
		__asm__ volatile("" ::: "memory");
	weir_note_burn(self, n);
}

/* BURN: a new number of iterations, for this instance or for all. */
WEIR_INLINE void weir_burn_set(const struct weir_instance weir_mem *self, u64 weir_mem *iterations,
			       const struct weir_msg *msg)
{
	if (!msg->value2 || msg->value2 == (u64)self->idx + 1)
		weir_store(iterations, msg->value);
}

/*
 * Fixed priorities: tasks are sorted by value2 of the responder of @topic, smaller is more urgent, and run without a slice. (What the
 * responder says counts: it may serve a task by other numbers than a message about it has.)
 */
WEIR_INLINE u32 weir_fixed_step(struct weir_instance weir_mem *self, struct weir_task weir_mem *t,
				struct weir_step weir_mem *s, u32 topic)
{
	struct weir_msg msg = { .topic = topic, .task = t };

	weir_store(&t->slice_ns, WEIR_SLICE_UNLIMITED);
	return weir_place_urgent(s, weir_key(weir_request(self->sched, &msg) ? 0 : msg.value2));
}

#endif
