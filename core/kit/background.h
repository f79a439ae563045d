/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What assign.c and background.c know of each other. The in-pipe is locked. */
#ifndef WEIR_BACKGROUND_H
#define WEIR_BACKGROUND_H

#include <weir/schedule.h>
#include <weir/kit/assign.h>

WEIR_INLINE struct weir_rt_task weir_mem *weir_assign_priv(const struct weir_instance weir_mem *self,
							 const struct weir_task weir_mem *t)
{
	return (struct weir_rt_task weir_mem *)weir_priv(self, t);
}

/* @t is no guest any more, or has come where it was sent. */
int weir_background_forget(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign, struct weir_task weir_mem *t);
/* Send a guest to a CPU that waits, the one where it ran last if possible; or it stays. */
int weir_background_place(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign, struct weir_pipe weir_mem *in,
		     struct weir_task weir_mem *t);
/* The CPU's seat is taken, or the CPU goes: whoever is on the way there without a seat looks elsewhere. */
int weir_background_evict(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign, struct weir_pipe weir_mem *in,
		     u32 cpu);
#endif
