/* SPDX-License-Identifier: MIT */
/*
 * The scheduling engine, weir_laxity: what a CPU does with its window. Include it where you have the window's address; times are in
 * ticks, except where a name says clocks. A system maps the windows of all CPUs to one address, so these functions ask for the
 * CPU that executes them. Define WEIR_READ and WEIR_WRITE before it where a word of a device is not accessed by a pointer.
 */
#ifndef WEIR_LAXITY_H
#define WEIR_LAXITY_H
#include <stdint.h>
#include "weir_regs.h"

#ifndef WEIR_READ
#define WEIR_READ(address)	   (*(volatile uint32_t *)(address))
#define WEIR_WRITE(address, value) (*(volatile uint32_t *)(address) = (value))
#endif

struct weir_laxity_task {
	uint16_t period, wcet;
	uint16_t deadline;  /* 0: the period */
	uint16_t phase;	    /* ticks by which the first release is delayed */
	uint8_t sporadic;   /* released by weir_laxity_release() only */
	uint8_t high;	    /* of high criticality; the engine needs its parameter Criticality */
	uint16_t wcet_high; /* then: execution time in the high mode */
	uint16_t virtual_deadline; /* then: relative deadline in the low mode, 0: its deadline */
	uint16_t budget; /* ticks of work until it is replenished, 0: no limit; parameter Budget */
	uint16_t replenish; /* then: ticks from one replenishment to the next */
};

static inline uint32_t weir_laxity_read(uintptr_t window, uintptr_t offset)
{
	return WEIR_READ(window + offset);
}

static inline void weir_laxity_write(uintptr_t window, uintptr_t offset, uint32_t value)
{
	WEIR_WRITE(window + offset, value);
}

/*
 * One of WEIR_LAXITY_OP_*, for SET with WEIR_LAXITY_CMD_SPORADIC_MASK and WEIR_LAXITY_CMD_HIGH_MASK. 0: taken; -1: refused, nothing
 * has changed. One CPU at a time configures.
 */
static inline int weir_laxity_command(uintptr_t window, uint32_t op, uint32_t task, uint32_t flags)
{
	weir_laxity_write(window, WEIR_LAXITY_CMD,
			  WEIR_PUT(WEIR_LAXITY_CMD_OP, op) | WEIR_PUT(WEIR_LAXITY_CMD_TASK, task) |
				  flags);
	return weir_laxity_read(window, WEIR_LAXITY_CMD) ? -1 : 0;
}

/* -1: refused, also a budget or a level of an engine that has none. */
static inline int weir_laxity_set(uintptr_t window, uint32_t task, const struct weir_laxity_task *t)
{
	uint32_t status = weir_laxity_read(window, WEIR_LAXITY_STATUS), flags = 0;

	if ((t->budget && !(status & WEIR_LAXITY_STATUS_BUDGET_MASK)) ||
	    (t->high && !(status & WEIR_LAXITY_STATUS_CRITICALITY_MASK)))
		return -1;
	if (t->sporadic)
		flags |= WEIR_LAXITY_CMD_SPORADIC_MASK;
	if (t->high) {
		flags |= WEIR_LAXITY_CMD_HIGH_MASK;
		weir_laxity_write(
			window, WEIR_LAXITY_PARAM2,
			WEIR_PUT(WEIR_LAXITY_PARAM2_WCET_HIGH, t->wcet_high) |
				WEIR_PUT(WEIR_LAXITY_PARAM2_VIRTUAL, t->virtual_deadline));
	}
	/* What was written for another task would count for this one. */
	if (status & WEIR_LAXITY_STATUS_BUDGET_MASK)
		weir_laxity_write(window, WEIR_LAXITY_PARAM3,
				  WEIR_PUT(WEIR_LAXITY_PARAM3_BUDGET, t->budget) |
					  WEIR_PUT(WEIR_LAXITY_PARAM3_REPLENISH, t->replenish));
	weir_laxity_write(window, WEIR_LAXITY_PARAM0,
			  WEIR_PUT(WEIR_LAXITY_PARAM0_PERIOD, t->period) |
				  WEIR_PUT(WEIR_LAXITY_PARAM0_WCET, t->wcet));
	weir_laxity_write(window, WEIR_LAXITY_PARAM1,
			  WEIR_PUT(WEIR_LAXITY_PARAM1_DEADLINE, t->deadline) |
				  WEIR_PUT(WEIR_LAXITY_PARAM1_PHASE, t->phase));
	return weir_laxity_command(window, WEIR_LAXITY_OP_SET, task, flags);
}

static inline int weir_laxity_delete(uintptr_t window, uint32_t task)
{
	return weir_laxity_command(window, WEIR_LAXITY_OP_DELETE, task, 0);
}

static inline int weir_laxity_release(uintptr_t window, uint32_t task)
{
	return weir_laxity_command(window, WEIR_LAXITY_OP_RELEASE, task, 0);
}

/*
 * Begin to tick, by one of WEIR_LAXITY_POLICY_*. -1: the policy is not built in, or the ticks are closer than a decision lasts;
 * then nothing runs.
 */
static inline int weir_laxity_start(uintptr_t window, uint32_t policy, uint32_t tick_clocks)
{
	uint32_t ctrl = WEIR_PUT(WEIR_LAXITY_CTRL_POLICY, policy);

	weir_laxity_write(window, WEIR_LAXITY_TICK, tick_clocks);
	weir_laxity_write(window, WEIR_LAXITY_CTRL, ctrl);
	if (weir_laxity_read(window, WEIR_LAXITY_TICK) != tick_clocks ||
	    weir_laxity_read(window, WEIR_LAXITY_CTRL) != ctrl)
		return -1;
	weir_laxity_write(window, WEIR_LAXITY_CTRL, ctrl | WEIR_LAXITY_CTRL_RUN_MASK);
	return 0;
}

/*
 * In the interrupt handler, after the context of the task that ran is in memory: hands it back, and claims that of the task to
 * run. Waits while another CPU holds it. The answer is a word of SCHED: WEIR_LAXITY_SCHED_IDLE_MASK, or task and job. Cores whose
 * stores are in memory in order may define WEIR_NO_FENCE.
 */
static inline uint32_t weir_laxity_claim(uintptr_t window)
{
	uint32_t sched;

#ifdef WEIR_NO_FENCE
	__asm__ volatile("" ::: "memory");
#else
	__sync_synchronize();
#endif
	do
		sched = weir_laxity_read(window, WEIR_LAXITY_SCHED);
	while (sched & WEIR_LAXITY_SCHED_WAIT_MASK);
	__asm__ volatile("" ::: "memory");
	return sched;
}

/* The job is complete. Then poll weir_laxity_state() of the same task for its next one. */
static inline void weir_laxity_done(uintptr_t window, uint32_t task, uint32_t job)
{
	weir_laxity_write(window, WEIR_LAXITY_DONE,
			  WEIR_PUT(WEIR_LAXITY_DONE_TASK, task) |
				  WEIR_PUT(WEIR_LAXITY_DONE_JOB, job));
}

/*
 * Begin (1) or end (0) a section in which the CPU keeps its task, whatever comes: it is not interrupted by the engine from the return
 * on, until the end. Sections of one task do not nest. The engine needs its parameter Hold.
 */
static inline void weir_laxity_hold(uintptr_t window, uint32_t on)
{
	__asm__ volatile("" ::: "memory");
	weir_laxity_write(window, WEIR_LAXITY_HOLD, WEIR_PUT(WEIR_LAXITY_HOLD_HOLD, on));
	/* An interrupt on its way has come by the time of an answer. */
	(void)weir_laxity_read(window, WEIR_LAXITY_HOLD);
	__asm__ volatile("" ::: "memory");
}

/*
 * The high mode begins at the next tick, whatever tasks have needed: low jobs are set aside. It ends as it always does. -1: the engine
 * has no levels.
 */
static inline int weir_laxity_raise(uintptr_t window)
{
	return weir_laxity_command(window, WEIR_LAXITY_OP_HIGH, 0, 0);
}

/* A word of MODE: WEIR_LAXITY_MODE_HIGH_MASK, and how often the high mode began. The engine needs its parameter Criticality. */
static inline uint32_t weir_laxity_mode(uintptr_t window)
{
	return weir_laxity_read(window, WEIR_LAXITY_MODE);
}

/* A word of STATE. */
static inline uint32_t weir_laxity_state(uintptr_t window, uint32_t task)
{
	return weir_laxity_read(window, WEIR_LAXITY_STATE + WEIR_LAXITY_STATE_STRIDE * task);
}
#endif
