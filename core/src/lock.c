/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Locks and inboxes of pipes.
 *
 * No CPU waits for a pipe's lock without bound, because the CPU that holds it may have stopped (docs/decisions/0034). While the
 * lock is taken,
 *
 * - a task to be added goes into the inbox and counts as a member from then on. The receiver, or the CPU that claims from
 *   the pipe, links the tasks in the inbox;
 * - any other caller gives up and sets `wanted`.
 *
 * Each writes first and then checks the lock once more; the CPU that releases the lock checks both words afterwards. Both sides have
 * a full barrier in between, so one of them sees the other and kicks a sleeping CPU behind the pipe.
 */
#include "internal.h"

/* Take all tasks from the inbox, the latest first. */
WEIR_FLAT static struct weir_task weir_mem *inbox_take(struct weir_pipe weir_mem *pipe)
{
	u64 at = weir_load(&pipe->inbox), seen;

	while (at && weir_loop) {
		seen = weir_cas(&pipe->inbox, at, 0);
		if (seen == at)
			break;
		at = seen;
	}
	return (struct weir_task weir_mem *)at;
}

WEIR_FLAT static void inbox_put(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	weir_stack_push(&pipe->inbox, weir_hook(pipe, t)->next, (u64)t);
}

/* Reverse a list of the inbox. */
WEIR_FLAT static struct weir_task weir_mem *inbox_reverse(const struct weir_pipe weir_mem *pipe,
							  struct weir_task weir_mem *t)
{
	struct weir_task weir_mem *first = 0;

	while (t && weir_loop) {
		struct weir_task weir_mem *next = weir_hook(pipe, t)->next;

		weir_hook(pipe, t)->next = first;
		first = t;
		t = next;
	}
	return first;
}

/* The lock is held: link the tasks that arrived while it was taken, in order of arrival. */
WEIR_GLOBAL int weir_inbox_open(struct weir_pipe weir_mem *pipe weir_arg)
{
	struct weir_task weir_mem *first = inbox_reverse(pipe, inbox_take(pipe)), *t;

	weir_assert_locked(pipe);
	while (first && weir_loop) {
		t = first;
		first = weir_hook(pipe, t)->next;
		if (pipe->keyed)
			weir_keyed_insert(pipe, t, weir_hook(pipe, t)->key);
		else
			weir_list_link(pipe, t, pipe->tail);
		weir_joined(pipe, t);
	}
	return 0;
}

/* The lock is held: @t, which is in the inbox, leaves the pipe. O(tasks in the inbox). */
WEIR_GLOBAL int weir_inbox_drop(struct weir_pipe weir_mem *pipe weir_arg,
				struct weir_task weir_mem *t weir_arg)
{
	struct weir_task weir_mem *at = inbox_reverse(pipe, inbox_take(pipe));

	weir_assert_locked(pipe);
	while (at && weir_loop) {
		struct weir_task weir_mem *next = weir_hook(pipe, at)->next;

		if (at != t)
			inbox_put(pipe, at);
		at = next;
	}
	weir_hook(pipe, t)->next = 0;
	weir_hook(pipe, t)->prev = 0;
	weir_depart(pipe, t);
	return 0;
}

/* The wait was given up: set `wanted`, then try once more. */
static int leave_word(struct weir_pipe weir_mem *pipe)
{
	weir_store(&pipe->wanted, 1);
	weir_barrier(pipe->sched);
	return weir_try_lock(&pipe->lock) ? 0 : -WEIR_EAGAIN;
}

/* Another CPU has the lock: wait a bounded time for it, and count the wait. */
WEIR_FLAT static int wait_for_lock(struct weir_pipe weir_mem *pipe)
{
	u64 began = weir_port_clock(), ns;
	int err = weir_lock_word(pipe->sched, &pipe->lock);

	if (err)
		err = leave_word(pipe);
	if (!began)
		return err;
	ns = weir_port_clock() - began;
	weir_fetch_add(&pipe->lock_wait_ns, ns);
	weir_fetch_add(&pipe->nr_lock_waits, 1);
	if (err)
		weir_fetch_add(&pipe->nr_lock_given_up, 1);
	if (ns > weir_load(&pipe->longest_lock_wait_ns))
		weir_store(&pipe->longest_lock_wait_ns, ns);
	return err;
}

WEIR_GLOBAL int weir_pipe_lock(struct weir_pipe weir_mem *pipe weir_arg)
{
	struct weir_sched weir_mem *s = pipe->sched;

	weir_valid(s, pipe);
	weir_note_locked(pipe);
	if (!s->exclusive && !weir_lock_at_once(&pipe->lock) && wait_for_lock(pipe)) {
		weir_note_unlocked(pipe);
		return -WEIR_EAGAIN;
	}
	weir_op(s, WEIR_OP_LOCK, pipe->idx, 0);
	return 0;
}

int weir_pipe_pass_by(struct weir_pipe weir_mem *pipe)
{
	if (!weir_solo(pipe->sched) || weir_pipe_nr(pipe))
		return 0;
	weir_op(pipe->sched, WEIR_OP_LOCK, pipe->idx, 0);
	weir_op(pipe->sched, WEIR_OP_UNLOCK, pipe->idx, 0);
	return 1;
}

WEIR_FLAT void weir_pipe_unlock(struct weir_pipe weir_mem *pipe)
{
	struct weir_sched weir_mem *s = pipe->sched;
	u32 wanted;

	weir_op(s, WEIR_OP_UNLOCK, pipe->idx, 0);
	weir_note_unlocked(pipe);
	if (s->exclusive)
		return;
	if (!WEIR_IMPATIENT && !s->patience) {
		weir_spin_unlock(&pipe->lock);
		return;
	}
	wanted = weir_load(&pipe->wanted);
	if (wanted)
		weir_store(&pipe->wanted, 0);
	weir_unlock_fenced(&pipe->lock);
	wanted |= weir_load(&pipe->wanted);
	/* A CPU that looked in vain also takes tasks from the inbox, and wakes other CPUs for the rest. */
	if (wanted || weir_load(&pipe->inbox))
		weir_pipe_news(pipe,
			       wanted ? 0 : (struct weir_task weir_mem *)weir_load(&pipe->inbox));
}

/*
 * The lock of @pipe could not be taken: @t, which is in no pipe of this depth, joins through the inbox: last in a list, by
 * @key in a keyed pipe. -WEIR_EAGAIN: it is in a pipe of this depth.
 */
WEIR_FLAT int weir_post(struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t, u64 key)
{
	struct weir_cpu weir_mem *cpu = &pipe->sched->cpus[weir_ctx(pipe->sched)->cpu];
	struct weir_hook weir_mem *h = weir_hook(pipe, t);

	if (weir_load(&h->pipe))
		return -WEIR_EAGAIN;
	weir_store(&cpu->nr_inboxed, cpu->nr_inboxed + 1);
	h->key = key;
	h->prev = t;
	if (pipe->keyed)
		weir_store(&t->key, key);
	if (weir_carried(pipe))
		weir_store(&t->landing, pipe->idx + 1);
	weir_store_release(&h->pipe, pipe);
	inbox_put(pipe, t);
	/* Still taken: the holder checks when it releases the lock. */
	if (!weir_load(&pipe->lock))
		weir_pipe_news(pipe, t);
	return 0;
}
