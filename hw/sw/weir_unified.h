/* SPDX-License-Identifier: MIT */
/*
 * The unified controller, weir_unified: software keeps the lists of ready threads and reports the head of each; the controller
 * compares threads, interrupts and timers. A call is one read, which the bus makes atomic.
 */
#ifndef WEIR_UNIFIED_H
#define WEIR_UNIFIED_H
#include <stdint.h>
#include "weir_regs.h"

static inline volatile uint32_t *weir_unified_address(uintptr_t window, uint32_t command,
						      uint32_t thread, uint32_t priority,
						      uint32_t which)
{
	return (volatile uint32_t *)(window | WEIR_AT(WEIR_ADDRESS_UNIFIED_COMMAND, command) |
				     WEIR_AT(WEIR_ADDRESS_UNIFIED_THREAD, thread) |
				     WEIR_AT(WEIR_ADDRESS_UNIFIED_PRIORITY, priority) |
				     WEIR_AT(WEIR_ADDRESS_UNIFIED_WHICH, which));
}

/* `which`: a line, a timer, or for SET_THREAD 1 if the level is empty. */
static inline uint32_t weir_unified_call(uintptr_t window, uint32_t command, uint32_t thread,
					 uint32_t priority, uint32_t which)
{
	uint32_t answer;

	__asm__ volatile("" ::: "memory");
	answer = *weir_unified_address(window, command, thread, priority, which);
	__asm__ volatile("" ::: "memory");
	return answer;
}

/* The calls by name: WEIR_UNIFIED(window, ASSOCIATE, thread, priority, line). */
#define WEIR_UNIFIED(window, command, thread, priority, which) \
	weir_unified_call(window, WEIR_UNIFIED_##command, thread, priority, which)

/* The timer expires after so many clocks; the thread is what NEXT then gives at this priority. */
static inline void weir_unified_timer(uintptr_t window, uint32_t thread, uint32_t priority,
				      uint32_t timer, uint32_t clocks)
{
	__asm__ volatile("" ::: "memory");
	*weir_unified_address(window, WEIR_UNIFIED_ADD_TIMER, thread, priority, timer) = clocks;
	__asm__ volatile("" ::: "memory");
}
#endif
