/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Arrays that grow as they fill, for collections of the kit. */
#ifndef WEIR_KIT_GROW_H
#define WEIR_KIT_GROW_H

#include <weir/component.h>

/*
 * Twice the room for the array @field of @d, which has @d->nr entries and room for @d->cap; at first @first. 0 or -WEIR_ENOMEM, which
 * changes nothing. The lock that guards @d is held. (A macro, because entries are of any type.)
 */
#define weir_grow(d, field, first)                                                         \
	({                                                                                 \
		struct weir_sched weir_mem *s_ = (d)->inst->sched;                         \
		u32 cap_ = (d)->cap ? 2 * (d)->cap : (first);                              \
		__typeof__((d)->field + 0) more_ =                                         \
			(__typeof__((d)->field + 0))weir_alloc(s_, cap_ * sizeof(*more_)); \
		if (more_) {                                                               \
			if ((d)->cap) {                                                    \
				weir_copy(more_, (d)->field, (d)->nr * sizeof(*more_));    \
				weir_free(s_, (d)->field, (d)->cap * sizeof(*more_));      \
			}                                                                  \
			(d)->field = more_;                                                \
			(d)->cap = cap_;                                                   \
		}                                                                          \
		more_ ? 0 : -WEIR_ENOMEM;                                                  \
	})

#endif
