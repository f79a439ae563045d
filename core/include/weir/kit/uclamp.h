/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Utilisation clamps: what a task is to be taken to use of a CPU, at least and at most, whatever it uses. They choose the clock of its CPU
 * and the CPUs that it fits. In 1/1024 of a CPU of capacity 1024, two in one word, in which 0 means: no clamps. Source: Linux 6.12,
 * kernel/sched/core.c, uclamp_eff_get() and cpu_util_update_eff(); fair.c, util_fits_cpu().
 */
#ifndef WEIR_UCLAMP_H
#define WEIR_UCLAMP_H

#include <weir/component.h>

/* Of the word's halves, the lower one is the least, the upper one what the most is below 1024. */
WEIR_INLINE u64 weir_uclamp(u32 least, u32 most)
{
	return least | (u64)(1024 - most) << 32;
}

WEIR_INLINE u32 weir_uclamp_least(u64 clamps)
{
	return (u32)clamps;
}

WEIR_INLINE u32 weir_uclamp_most(u64 clamps)
{
	return 1024 - (u32)(clamps >> 32);
}

/* Whether both halves are within a CPU. */
WEIR_INLINE int weir_uclamp_valid(u64 clamps)
{
	return (u32)clamps <= 1024 && clamps >> 32 <= 1024;
}

/* The clamps of a group with @clamps in one with @outer: no more than that has, and the most caps the least. */
WEIR_INLINE u64 weir_uclamp_nested(u64 clamps, u64 outer)
{
	u32 least = weir_uclamp_least(clamps), most = weir_uclamp_most(clamps);

	least = least < weir_uclamp_least(outer) ? least : weir_uclamp_least(outer);
	most = most < weir_uclamp_most(outer) ? most : weir_uclamp_most(outer);
	return weir_uclamp(least < most ? least : most, most);
}

WEIR_INLINE u32 weir_uclamp_within(u32 util, u64 clamps)
{
	u32 least = weir_uclamp_least(clamps), most = weir_uclamp_most(clamps);

	return util > most ? most : util < least ? least : util;
}

/*
 * The smallest capacity of a CPU that a task fits which uses @util: a quarter more than that; or what it may use at most, because it is not
 * to have more; and what it is to have at least. Above 1024: it fits none.
 */
WEIR_PART u32 weir_uclamp_room(u64 util, u64 clamps)
{
	u32 room = (u32)util * 5 / 4 + 1, most = weir_uclamp_most(clamps);
	u32 least = weir_uclamp_least(clamps);

	if (most < 1024 && most < room)
		room = most;
	least = least < most ? least : most;
	return util < least && room < least ? least : room;
}

#endif
