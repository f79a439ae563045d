/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Functions that assign.c and background.c share; under the lock that steps are taken under. */
#ifndef WEIR_BACKGROUND_H
#define WEIR_BACKGROUND_H

#include <weir/schedule.h>
#include <weir/kit/assign.h>

WEIR_INLINE struct weir_rt_task weir_mem *weir_assign_priv(const struct weir_instance
							   weir_mem *self,
							   const struct weir_task weir_mem *t)
{
	return (struct weir_rt_task weir_mem *)weir_priv(self, t);
}

/* @t is no longer a background task, or has reached the CPU that it was sent to. */
int weir_background_forget(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
			   struct weir_task weir_mem *t);
/* Keep an idle CPU for @t, its last one if possible; otherwise it stays in the in-pipe. The caller sees to @t. */
int weir_background_place(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
			  struct weir_task weir_mem *t);
/* @cpu is assigned, or goes offline: a background task on its way there looks for another CPU. */
int weir_background_evict(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
			  u32 cpu);
#endif
