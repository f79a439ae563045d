/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the yardsticks share: schedulers as one would write them by hand, each with the duties of one topology and nothing else. No
 * components, no swap, no logs, no counters. They use the port's atomics and locks, as the core does, and are compiled with its flags.
 */
#ifndef WEIR_BENCH_HAND_H
#define WEIR_BENCH_HAND_H

#include <weir/cpumask.h>
#include <weir/port.h>
#include <weir/task.h>

#define HAND_MAX_CPUS 64u
/* A call stands alone, as a call of the core does. */
#define HAND_CALL __attribute__((noinline)) __attribute__((visibility("default")))

/* A task that a CPU has chosen and not yet recorded. */
#define HAND_CLAIMED 8u

WEIR_INLINE void hand_lock(u32 *lock)
{
	while (!weir_try_lock(lock))
		weir_port_relax(0);
}

WEIR_INLINE int hand_has(const u64 *set, u32 cpu)
{
	return weir_load(set) >> cpu & 1;
}

WEIR_INLINE void hand_add(u64 *set, u32 cpu)
{
	(void)weir_fetch_or(set, 1ull << cpu);
}

/* 1: it was in the set. */
WEIR_INLINE int hand_drop(u64 *set, u32 cpu)
{
	return weir_fetch_and(set, ~(1ull << cpu)) >> cpu & 1;
}

#endif
