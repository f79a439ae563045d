/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A task that leaves a pipe leaves all deeper pipes with it; one that was carried on is called back. */
#include "transit.h"

/*
 * Shallow to deep, one lock at a time. Only the receiver of a shallower pipe that holds the task may put
 * it into a deeper one, under the shallower pipe's lock; once the task has left that pipe, no CPU can add
 * it behind this walk (docs/decisions/0002).
 */
WEIR_FLAT static int withdraw(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u32 slot)
{
	u32 nr = s->graph->nr_slots;

	for (u32 i = slot; i < nr && weir_loop; i++) {
		struct weir_pipe weir_mem *pipe = weir_load_acquire(&t->hooks[i].pipe);
		int err;

		if (!pipe)
			continue;
		err = weir_pipe_lock(pipe);
		if (err)
			return err;
		if (weir_pipe_holds(pipe, t))
			weir_unlink(pipe, t);
		weir_pipe_unlock(pipe);
	}
	return 0;
}

/* The same for the pipe where a carried task is linked; it may be in transit from one to another. */
WEIR_FLAT static int withdraw_carried(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *pipe = weir_landing(s, t);
	int done = 0, err;

	while (pipe && !done && weir_loop) {
		if (weir_solo(s))
			weir_leave(s, pipe, t, 0);
		err = weir_pipe_lock(pipe);
		if (err)
			return err;
		done = weir_pipe_holds(pipe, t);
		if (done)
			weir_unlink(pipe, t);
		weir_pipe_unlock(pipe);
		if (done && !weir_solo(s))
			weir_leave(s, pipe, t, 0);
		pipe = weir_landing(s, t);
	}
	return 0;
}

WEIR_GLOBAL int weir_task_withdraw(struct weir_sched weir_mem *s weir_arg,
				   struct weir_task weir_mem *t weir_arg, u32 slot)
{
	int err = 0;

	if (WEIR_CARRY && !slot && weir_load(&t->landing))
		err = withdraw_carried(s, t);
	if (!err)
		err = withdraw(s, t, slot);
	/* No CPU can take it meanwhile: its state does not allow that. Its owner continues later. */
	if (!slot && (err || weir_load(&t->torn)))
		weir_store(&t->torn, err != 0);
	return err;
}

/* weir_recall(), without a frame of its own. */
WEIR_FLAT static int recall(struct weir_pipe weir_mem *in, struct weir_task weir_mem *t, u32 slot)
{
	struct weir_sched weir_mem *s = in->sched;
	struct weir_pipe weir_mem *pipe = 0;
	int err, done = 0;

	while (!done && weir_loop) {
		if (weir_pipe_holds(in, t))
			return 1;
		pipe = weir_landing(s, t);
		if (!pipe || !weir_passed(in, t))
			return 0;
		if (weir_solo(s))
			weir_leave(s, pipe, t, slot);
		err = weir_pipe_lock(pipe);
		if (err)
			return err;
		/* Once more: it may have returned by another path. */
		done = weir_pipe_holds(pipe, t) && weir_passed(in, t);
		if (done) {
			weir_link_carried(in, t);
			weir_unlink(pipe, t);
			if (weir_solo(s))
				in->through--;
			else
				weir_leave(s, pipe, t, in->slot);
		}
		weir_pipe_unlock(pipe);
	}
	err = withdraw(s, t, pipe->slot + 1);
	return err ? err : 1;
}

WEIR_GLOBAL int weir_recall(struct weir_pipe weir_mem *in weir_arg,
			    struct weir_task weir_mem *t weir_arg, u32 slot)
{
	weir_use(slot);
	return recall(in, t, slot);
}

WEIR_GLOBAL int weir_pipe_remove(struct weir_pipe weir_mem *pipe weir_arg,
				 struct weir_task weir_mem *t weir_arg)
{
	int err;

	if (!(weir_carried(pipe) & WEIR_FED))
		return weir_pipe_holds(pipe, t) ? withdraw(pipe->sched, t, pipe->slot) : 0;
	/* A task that has just arrived at the receiver is linked nowhere yet. */
	if (weir_is_arriving(weir_ctx(pipe->sched), t) || !weir_pipe_has(pipe, t))
		return 0;
	err = recall(pipe->from->in[0], t, pipe->slot);
	return err < 0 ? err : 0;
}
