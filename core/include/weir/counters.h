/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A task's hardware counters: the payload of COUNTERS. Shared with Rust.
 *
 * Whenever a task leaves its CPU or the CPU chooses again, the runtime publishes the task's counts since the
 * previous message. The loads are counted as on Intel's Haswell (source 4, section 2): a load that misses a level is
 * counted once for its line; further loads of a line that is already being fetched are `lfb_hits`. Counts that a
 * runtime does not have are 0. No field exceeds 48 bits, so that it may be shifted by 10 without loss.
 */
#ifndef WEIR_COUNTERS_H
#define WEIR_COUNTERS_H

#include <weir/port.h>

struct weir_counters {
	u64 instructions;
	u64 cycles;
	u64 l1_hits;
	u64 l1_misses;
	u64 lfb_hits; /* misses of L1 whose line another miss fetches */
	u64 l2_hits;
	u64 l2_misses;
	u64 l3_hits;
	u64 l3_misses;
	u64 branches;
	u64 mispredicts;
};

#define WEIR_COUNTER_BITS 48

/* @part of @whole in 1/1024, rounded down, at most 1024; 0 if @whole is 0. */
WEIR_INLINE u64 weir_share_q10(u64 part, u64 whole)
{
	if (!whole)
		return 0;
	return part >= whole ? 1024 : (part << 10) / whole;
}

#endif
