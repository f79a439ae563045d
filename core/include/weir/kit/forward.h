/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Updates shared by several components: pass tasks on in order, sort them by a fixed number, burn time. */
#ifndef WEIR_FORWARD_H
#define WEIR_FORWARD_H

#include <weir/component.h>

/* Each added or moved task gets the place in the only out-pipe that it has in @in. @in is locked. */
WEIR_INLINE int weir_forward(struct weir_instance weir_mem *self, struct weir_pipe weir_mem *in)
{
	struct weir_pipe weir_mem *out = weir_out(self, 0);
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		err = weir_pipe_mirror(out, c->task, in);
		if (err)
			return err;
	}
	return 0;
}

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

/* What the responder says counts: it may serve a task by other numbers than a message about it has. */
WEIR_INLINE u64 weir_fixed_key(struct weir_instance weir_mem *self, struct weir_task weir_mem *t,
			       u32 topic)
{
	struct weir_msg msg = { .topic = topic, .task = t };

	return weir_key(weir_request(self->sched, &msg) ? 0 : msg.value2);
}

/*
 * Fixed priorities: tasks are sorted by value2 of the responder of @topic, smaller is more urgent, and run without a slice.
 */
WEIR_INLINE int weir_fixed_update(struct weir_instance weir_mem *self,
				  struct weir_pipe weir_mem *in, u32 topic)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		weir_store(&c->task->slice_ns, WEIR_SLICE_UNLIMITED);
		err = weir_insert_urgent(self, c->task, weir_fixed_key(self, c->task, topic), in);
		if (err)
			return err;
	}
	return 0;
}

/* A message of the topic about a task that may be running. */
WEIR_INLINE int weir_fixed_on(struct weir_instance weir_mem *self, const struct weir_msg *msg)
{
	if (msg->task)
		weir_rekey_running(self, weir_out(self, 0), msg->task,
				   weir_fixed_key(self, msg->task, msg->topic));
	return 0;
}

/* A message of the topic about a waiting task. A task that update has not handled yet gets its key there. */
WEIR_INLINE int weir_fixed_follow(struct weir_instance weir_mem *self, const struct weir_msg *msg,
				  struct weir_pipe weir_mem *in)
{
	if (!weir_pipe_has(weir_out(self, 0), msg->task))
		return 0;
	return weir_insert_urgent(self, msg->task, weir_fixed_key(self, msg->task, msg->topic), in);
}

#endif
