/* SPDX-License-Identifier: MIT */
/*
 * The whole set, weir_kernel: threads, mutexes, condition variables, interrupts and timers. A call is one read, which the bus makes
 * atomic. From a call that can block its thread, WEIR_KERNEL_BLOCKED means that it has: the thread gives up its CPU then (enters
 * the kernel, which saves its context and calls NEXT).
 */
#ifndef WEIR_KERNEL_H
#define WEIR_KERNEL_H
#include <stdint.h>
#include "weir_regs.h"

#define WEIR_KERNEL_BLOCKED 1u
#define WEIR_KERNEL_FAILED  0x80000000u

static inline volatile uint32_t *weir_kernel_address(uintptr_t window, uint32_t unit,
						     uint32_t command, uint32_t thread,
						     uint32_t argument)
{
	return (volatile uint32_t *)(window | WEIR_AT(WEIR_ADDRESS_KERNEL_UNIT, unit) |
				     WEIR_AT(WEIR_ADDRESS_KERNEL_COMMAND, command) |
				     WEIR_AT(WEIR_ADDRESS_KERNEL_THREAD, thread) |
				     WEIR_AT(WEIR_ADDRESS_KERNEL_ARGUMENT, argument));
}

/* What a call protects stays on its side of it: the compiler moves nothing across. */
static inline uint32_t weir_kernel_call(uintptr_t window, uint32_t unit, uint32_t command,
					uint32_t thread, uint32_t argument)
{
	uint32_t answer;

	__asm__ volatile("" ::: "memory");
	answer = *weir_kernel_address(window, unit, command, thread, argument);
	__asm__ volatile("" ::: "memory");
	return answer;
}

/* The calls of a unit by name: WEIR_KERNEL(window, MUTEXES, LOCK, thread, mutex). */
#define WEIR_KERNEL(window, unit, command, thread, argument) \
	weir_kernel_call(window, WEIR_UNIT_##unit, WEIR_##unit##_##command, thread, argument)

/* The thread's timer expires after so many clocks and wakes it; unless it is an alarm, the thread is blocked until then. */
static inline void weir_kernel_timer(uintptr_t window, uint32_t thread, uint32_t alarm,
				     uint32_t clocks)
{
	__asm__ volatile("" ::: "memory");
	*weir_kernel_address(window, WEIR_UNIT_TIMERS, WEIR_TIMERS_ADD, thread, alarm) = clocks;
	__asm__ volatile("" ::: "memory");
}

/* Of threads of one priority the one with the least key runs: its deadline, for instance. The set needs its parameter Keys. */
static inline void weir_kernel_key(uintptr_t window, uint32_t thread, uint32_t key)
{
	__asm__ volatile("" ::: "memory");
	*weir_kernel_address(window, WEIR_UNIT_LISTS, WEIR_LISTS_SET_KEY, thread, 0) = key;
	__asm__ volatile("" ::: "memory");
}
#endif
