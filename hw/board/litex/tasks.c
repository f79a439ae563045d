/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Two periodic tasks on the engine of a LiteX SoC (soc.py), without a kernel: what the engine chooses is counted, and reported
 * complete at once. The LEDs show the result: 0x55 all is well, otherwise 0x80 and the number of the check that failed.
 */
#include "addresses.h"
/* One store after the other, without caches. */
#define WEIR_NO_FENCE
#include "weir_laxity.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))

enum { TICK_CLOCKS = 600, JOBS = 30 };

static uint32_t check(void)
{
	const struct weir_laxity_task tasks[] = { { .period = 3, .wcet = 1 },
						  { .period = 5, .wcet = 2 } };
	uint32_t jobs[2] = { 0, 0 }, ticks;

	if (WEIR_GET(weir_laxity_read(LAXITY, WEIR_LAXITY_STATUS), WEIR_LAXITY_STATUS_TASKS) != 4)
		return 1;
	for (uint32_t t = 0; t < 2; t++)
		if (weir_laxity_set(LAXITY, t, &tasks[t]))
			return 2;
	if (weir_laxity_start(LAXITY, WEIR_LAXITY_POLICY_LLF, TICK_CLOCKS))
		return 3;
	while (jobs[0] + jobs[1] < JOBS) {
		uint32_t sched, task;

		/* The level of the interrupt, as LiteX's event manager shows it. */
		while (!REGISTER(LAXITY_EV_STATUS))
			;
		sched = weir_laxity_claim(LAXITY);
		if (sched & WEIR_LAXITY_SCHED_IDLE_MASK)
			continue;
		task = WEIR_GET(sched, WEIR_LAXITY_SCHED_TASK);
		if (task > 1)
			return 4;
		jobs[task]++;
		weir_laxity_done(LAXITY, task, WEIR_GET(sched, WEIR_LAXITY_SCHED_JOB));
	}
	ticks = weir_laxity_read(LAXITY, WEIR_LAXITY_TICKS);
	/* A job a period and task, none lost: the first ones are released at the first tick, and the last ones may be under way. */
	for (uint32_t t = 0; t < 2; t++)
		if (jobs[t] > (ticks - 1) / tasks[t].period + 1 ||
		    jobs[t] + 1 < (ticks - 1) / tasks[t].period)
			return 5;
	return weir_laxity_read(LAXITY, WEIR_LAXITY_MISSES) ? 6 : 0;
}

void begin(void)
{
	uint32_t failed = check();

	REGISTER(LEDS_OUT) = failed ? 0x80 | failed : 0x55;
	for (;;)
		;
}

__asm__(".section .text.boot\n"
	"	.globl	_start\n"
	"_start:	la	sp, stack\n"
	"	j	begin\n");
