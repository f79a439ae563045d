/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* For distributors: a task that is looked at again stays where it is if it may. */
#ifndef WEIR_REVIEW_H
#define WEIR_REVIEW_H

#include <weir/cpus.h>

/* REVIEW: the port by which @t went, if it may stay there (@mask: where it may run); else WEIR_WITHHOLD. */
WEIR_INLINE u32 weir_stays(const struct weir_instance weir_mem *self, u32 what,
			   const struct weir_task weir_mem *t,
			   const struct weir_cpumask weir_mem *mask)
{
	u32 port = what == WEIR_REVIEW ? weir_port_of(self, t) : WEIR_WITHHOLD;

	return port != WEIR_WITHHOLD && weir_out_allows(weir_out(self, port), mask) ? port
										    : WEIR_WITHHOLD;
}

/*
 * Defines comp_place(self, what, t), the step of a distributor that leaves a waiting task in its out-pipe if it may stay, and otherwise asks
 * comp_choose(self, t, affinity) for one (null: withheld). (A macro, because components have no function pointers.)
 */
#define WEIR_PLACE(comp)                                                                       \
	WEIR_INLINE u32 comp##_place(struct comp weir_mem *self, u32 what,                     \
				     struct weir_task weir_mem *t)                             \
	{                                                                                      \
		const struct weir_cpumask weir_mem *mask = weir_affinity(self->inst.sched, t); \
		u32 port = weir_stays(&self->inst, what, t, mask);                             \
                                                                                               \
		if (port != WEIR_WITHHOLD)                                                     \
			return port;                                                           \
		return weir_send(&self->inst, what, t,                                         \
				 (struct weir_pipe weir_mem *)comp##_choose(self, t, mask));   \
	}

/* For distributors that use the first out-pipe allowed for a task. */
WEIR_INLINE u32 weir_first_step(struct weir_instance weir_mem *self, u32 what,
				struct weir_task weir_mem *t)
{
	return weir_send(self, what, t, weir_first_allowed(self, weir_affinity(self->sched, t)));
}

#endif
