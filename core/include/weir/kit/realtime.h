/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Real-time priorities on the scale of urgency (component.h): fixed priorities behind all deadlines, and before everything else.
 * Linux's levels 1 to 99; the topic PRIORITY has them from 101 on.
 */
#ifndef WEIR_REALTIME_H
#define WEIR_REALTIME_H

#include <weir/component.h>

#define WEIR_REALTIME_LOWEST  101
#define WEIR_REALTIME_HIGHEST 199
/* A key is the level, then the place in the level's list. */
#define WEIR_REALTIME_PLACE_BITS 48
#define WEIR_REALTIME_PLACE_MASK ((1ull << WEIR_REALTIME_PLACE_BITS) - 1)

WEIR_INLINE int weir_is_realtime(u64 priority)
{
	return (s64)priority >= WEIR_REALTIME_LOWEST && (s64)priority <= WEIR_REALTIME_HIGHEST;
}

/* The first place of a level; those of tasks of other classes are behind all levels. */
WEIR_INLINE u64 weir_realtime_key(u64 priority)
{
	u64 level = weir_is_realtime(priority) ? WEIR_REALTIME_HIGHEST - priority
					       : WEIR_REALTIME_HIGHEST;

	return WEIR_KEY_FIXED + (level << WEIR_REALTIME_PLACE_BITS);
}

#endif
