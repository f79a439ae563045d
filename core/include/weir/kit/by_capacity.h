/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A choice among idle CPUs by their size: for balancers on machines whose CPUs differ in capacity. */
#ifndef WEIR_KIT_BY_CAPACITY_H
#define WEIR_KIT_BY_CAPACITY_H

#include <weir/component.h>

/* Behind all pipes with an idle CPU; more than any capacity. */
#define WEIR_ALL_BUSY (1ull << 32)

/*
 * Defines comp_best(self, t, mask, small): the out-pipe for @t of those that @mask allows, nr_out: there is none. Of pipes with an idle CPU
 * the one with the smallest CPUs (@small) or the largest, otherwise the one with the least load, in tasks per capacity; the last one among
 * equals. `self` has the capacity of a CPU behind each out-pipe in `mean`, and `map`. O(out-pipes). (A macro, so that it is compiled with
 * the component's steps, core/src/step.h.)
 */
#define WEIR_BY_CAPACITY(comp)                                                                \
	WEIR_INLINE u64 comp##_score(struct comp weir_mem *self, u32 i, int small)            \
	{                                                                                     \
		struct weir_pipe weir_mem *out = weir_out(&self->inst, i);                    \
		u64 mean = self->mean[i];                                                     \
		u32 idle, load = weir_pipe_load(out, &idle);                                  \
                                                                                              \
		if (idle)                                                                     \
			return small ? mean : WEIR_ALL_BUSY - 1 - mean;                       \
		return WEIR_ALL_BUSY + (((u64)load + 1) << 20) / (mean * out->nr_cpus + 1);   \
	}                                                                                     \
                                                                                              \
	WEIR_INLINE u32 comp##_best(struct comp weir_mem *self, struct weir_task weir_mem *t, \
				    const struct weir_cpumask weir_mem *mask, int small)      \
	{                                                                                     \
		struct weir_pipe weir_mem *last =                                             \
			weir_port_to(&self->inst, &self->map, weir_load(&t->cpu));            \
		u32 best = self->inst.nr_out;                                                 \
		u64 least = ~0ull;                                                            \
                                                                                              \
		for (u32 i = 0; i < self->inst.nr_out && weir_loop; i++) {                    \
			struct weir_pipe weir_mem *out = weir_out(&self->inst, i);            \
			u64 score;                                                            \
                                                                                              \
			if (!weir_pipe_allows(out, mask))                                     \
				continue;                                                     \
			score = comp##_score(self, i, small);                                 \
			if (score < least || (score == least && out == last)) {               \
				least = score;                                                \
				best = i;                                                     \
			}                                                                     \
		}                                                                             \
		weir_note_scan(&self->inst, self->inst.nr_out);                               \
		return best;                                                                  \
	}

#endif
