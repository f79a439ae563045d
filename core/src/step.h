/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Steps: the updates of components that carry tasks (enum weir_carries), compiled once more for the case that one task arrives.
 *
 * The generated unit includes this file, and then each of these components again under other names. A component's calls for a task in
 * transit do less work here: there is one change, its task is in no pipe behind, and the list that gets the task is recorded, not
 * written: the caller of the step links the task where its path ends (transit.c). Everything not defined here, including
 * keyed pipes, is as elsewhere.
 */

/* The task that the calling CPU carries. */
WEIR_INLINE struct weir_ctx weir_mem *weir_step_ctx(const struct weir_sched weir_mem *s)
{
	return &s->ctx[weir_port_cpu()];
}

WEIR_INLINE int weir_step_put(struct weir_pipe weir_mem *pipe)
{
	weir_step_ctx(pipe->sched)->lands = pipe;
	return 0;
}

WEIR_INLINE int weir_step_route(struct weir_instance weir_mem *self, struct weir_task weir_mem *t,
				struct weir_pipe weir_mem *to)
{
	if (to)
		return weir_step_put(to);
	weir_publish(self, WEIR_TOPIC_WITHHELD, t, WEIR_NO_CPU, 0);
	return 0;
}

#if WEIR_DEEP
/* Most pipes lead to one CPU, and a balancer reads many of them. */
WEIR_INLINE int weir_step_allows(const struct weir_pipe weir_mem *pipe,
				 const struct weir_cpumask weir_mem *mask)
{
	return pipe->nr_cpus == 1 ? weir_one_allows(pipe, mask) : weir_pipe_allows(pipe, mask);
}

WEIR_INLINE u32 weir_step_load(const struct weir_pipe weir_mem *pipe, u32 *idle)
{
	return pipe->nr_cpus == 1 && !(WEIR_DOMAINS && pipe->outward) ? weir_one_load(pipe, idle)
								      : weir_pipe_load(pipe, idle);
}
#define weir_pipe_allows(pipe, mask) weir_step_allows(pipe, mask)
#define weir_pipe_load(pipe, idle)   weir_step_load(pipe, idle)
#endif

#undef weir_for_change
#define weir_for_change(c, in) \
	for (u32 once_ = 1; once_ && ((c) = &weir_step_ctx((in)->sched)->arrival, 1); once_ = 0)
#define weir_out_of(self, t)	      ((struct weir_pipe weir_mem *)((void)(t), (u64)0))
#define weir_pipe_mirror(pipe, t, in) ((void)(t), weir_step_put(pipe))
#define weir_route(self, in, t, to)   weir_step_route(self, t, to)

/* The descriptor exists already, and only the update is used of the entry points. */
#undef WEIR_COMPONENT
#define WEIR_COMPONENT(comp, ...) struct weir_step_nothing
#undef WEIR_ENTRY
#if WEIR_DEEP
/* Not inlined, so that the switch over them needs no frame. */
#define WEIR_ENTRY static __attribute__((unused, noinline))
#else
/* Part of the function that the generated switch calls. */
#define WEIR_ENTRY static __attribute__((unused, always_inline))
/* Verified at its one call: a step may not look at all arguments, and the verifier wants all of those of other functions. */
#undef WEIR_HELPER
#define WEIR_HELPER static __attribute__((unused, noinline))
#endif

/* Functions of the kit that contain such a loop. */
#undef WEIR_FORWARD_H
#undef WEIR_REVIEW_H
#define weir_forward	  weir_step_forward
#define weir_burn	  weir_step_burn
#define weir_burn_set	  weir_step_burn_set
#define weir_fixed_key	  weir_step_fixed_key
#define weir_fixed_update weir_step_fixed_update
#define weir_fixed_on	  weir_step_fixed_on
#define weir_fixed_follow weir_step_fixed_follow
#define weir_first_update weir_step_first_update
#define weir_first_review weir_step_first_review
#include <weir/kit/forward.h>
#include <weir/kit/review.h>
