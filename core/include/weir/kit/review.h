/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* For distributors, when CPUs or affinities change: check each task, and move tasks that cannot stay. */
#ifndef WEIR_REVIEW_H
#define WEIR_REVIEW_H

#include <weir/component.h>

/*
 * Defines comp_review_all(self): calls comp_review(self, in, t, affinity) for the tasks of each in-pipe, which is locked meanwhile.
 * (A macro, because components have no function pointers.) 0 or the first error.
 */
#define WEIR_REVIEW_ALL(comp)                                                                    \
	static int comp##_review_pipe(struct comp weir_mem *self, struct weir_pipe weir_mem *in) \
	{                                                                                        \
		struct weir_task weir_mem *t;                                                    \
		int err;                                                                         \
                                                                                                 \
		if (weir_pipe_pass_by(in))                                                       \
			return 0;                                                                \
		err = weir_pipe_lock(in);                                                        \
		if (err)                                                                         \
			return err;                                                              \
		weir_for_member(t, in) {                                                         \
			err = comp##_review(self, in, t, weir_affinity(self->inst.sched, t));    \
			if (err)                                                                 \
				break;                                                           \
		}                                                                                \
		weir_pipe_unlock(in);                                                            \
		return err;                                                                      \
	}                                                                                        \
                                                                                                 \
	static int comp##_review_all(struct comp weir_mem *self)                                 \
	{                                                                                        \
		int err = 0;                                                                     \
                                                                                                 \
		for (u32 i = 0; i < self->inst.nr_in && !err && weir_loop; i++)                  \
			err = comp##_review_pipe(self, weir_in(&self->inst, i));                 \
		return err;                                                                      \
	}

/*
 * For distributors that leave a task in its out-pipe if it may stay, and otherwise ask comp_choose(self, t, affinity) for one (null:
 * withheld). Defines comp_place(self, in), the update, and comp_review() and comp_review_all(), which skip tasks that update has not
 * handled yet. @send(self, in, t, to) puts @t, which is in @in, into @to: weir_send(), unless the component records what it sends.
 */
#define WEIR_PLACE(comp, send)                                                                  \
	WEIR_FLAT static int comp##_review(                                                     \
		struct comp weir_mem *self, struct weir_pipe weir_mem *in,                      \
		struct weir_task weir_mem *t, const struct weir_cpumask weir_mem *mask)         \
	{                                                                                       \
		struct weir_pipe weir_mem *now = weir_out_of(&self->inst, t);                   \
		struct weir_pipe weir_mem *to;                                                  \
                                                                                                \
		if (weir_pending(in, t) || (now && weir_pipe_allows(now, mask)))                \
			return 0;                                                               \
		to = (struct weir_pipe weir_mem *)comp##_choose(self, t, mask);                 \
		return now == to ? 0 : send(self, in, t, to);                                   \
	}                                                                                       \
                                                                                                \
	WEIR_REVIEW_ALL(comp)                                                                   \
                                                                                                \
	WEIR_INLINE int comp##_place(struct comp weir_mem *self, struct weir_pipe weir_mem *in) \
	{                                                                                       \
		struct weir_change weir_mem *c;                                                 \
		int err;                                                                        \
                                                                                                \
		weir_for_change(c, in) {                                                        \
			struct weir_task weir_mem *t = c->task;                                 \
			const struct weir_cpumask weir_mem *mask =                              \
				weir_affinity(self->inst.sched, t);                             \
			struct weir_pipe weir_mem *to = weir_out_of(&self->inst, t);            \
                                                                                                \
			if (!to || !weir_pipe_allows(to, mask))                                 \
				to = (struct weir_pipe weir_mem *)comp##_choose(self, t, mask); \
			err = send(self, in, t, to);                                            \
			if (err)                                                                \
				return err;                                                     \
		}                                                                               \
		return 0;                                                                       \
	}

#define weir_send(self, in, t, to) weir_route(&(self)->inst, in, t, to)

/*
 * For distributors that use the first out-pipe allowed for a task: the update function, and the review of one task. A task that is in
 * the right place, or that update has not handled yet, is left alone.
 */
WEIR_INLINE int weir_first_update(struct weir_instance weir_mem *self,
				  struct weir_pipe weir_mem *in)
{
	struct weir_change weir_mem *c;
	int err;

	weir_for_change(c, in) {
		struct weir_task weir_mem *t = c->task;

		err = weir_route(self, in, t,
				 weir_first_allowed(self, weir_affinity(self->sched, t)));
		if (err)
			return err;
	}
	return 0;
}

WEIR_INLINE int weir_first_review(struct weir_instance weir_mem *self,
				  struct weir_pipe weir_mem *in, struct weir_task weir_mem *t,
				  const struct weir_cpumask weir_mem *mask)
{
	struct weir_pipe weir_mem *to = weir_first_allowed(self, mask);

	if (weir_pending(in, t) || to == weir_out_of(self, t))
		return 0;
	return weir_route(self, in, t, to);
}

#endif
