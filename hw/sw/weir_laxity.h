/* SPDX-License-Identifier: MIT */
/*
 * The scheduling engine, weir_laxity: what a CPU does with its window. Include it where you have the window's address; times are in
 * ticks, except where a name says clocks. A system maps the windows of all CPUs to one address, so these functions ask for the
 * CPU that executes them.
 */
#ifndef WEIR_LAXITY_H
#define WEIR_LAXITY_H
#include <stdint.h>
#include "weir_regs.h"

struct weir_laxity_task {
	uint16_t period, wcet;
	uint16_t deadline; /* 0: the period */
	uint16_t phase;	   /* ticks by which the first release is delayed */
	uint8_t sporadic;  /* released by weir_laxity_release() only */
};

static inline uint32_t weir_laxity_read(uintptr_t window, uintptr_t offset)
{
	return *(volatile uint32_t *)(window + offset);
}

static inline void weir_laxity_write(uintptr_t window, uintptr_t offset, uint32_t value)
{
	*(volatile uint32_t *)(window + offset) = value;
}

/* One of WEIR_LAXITY_OP_*. 0: taken; -1: refused, nothing has changed. One CPU at a time configures. */
static inline int weir_laxity_command(uintptr_t window, uint32_t op, uint32_t task,
				      uint32_t sporadic)
{
	weir_laxity_write(window, WEIR_LAXITY_CMD,
			  WEIR_PUT(WEIR_LAXITY_CMD_OP, op) | WEIR_PUT(WEIR_LAXITY_CMD_TASK, task) |
				  WEIR_PUT(WEIR_LAXITY_CMD_SPORADIC, sporadic));
	return weir_laxity_read(window, WEIR_LAXITY_CMD) ? -1 : 0;
}

static inline int weir_laxity_set(uintptr_t window, uint32_t task, const struct weir_laxity_task *t)
{
	weir_laxity_write(window, WEIR_LAXITY_PARAM0,
			  WEIR_PUT(WEIR_LAXITY_PARAM0_PERIOD, t->period) |
				  WEIR_PUT(WEIR_LAXITY_PARAM0_WCET, t->wcet));
	weir_laxity_write(window, WEIR_LAXITY_PARAM1,
			  WEIR_PUT(WEIR_LAXITY_PARAM1_DEADLINE, t->deadline) |
				  WEIR_PUT(WEIR_LAXITY_PARAM1_PHASE, t->phase));
	return weir_laxity_command(window, WEIR_LAXITY_OP_SET, task, t->sporadic);
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

/* A word of STATE. */
static inline uint32_t weir_laxity_state(uintptr_t window, uint32_t task)
{
	return weir_laxity_read(window, WEIR_LAXITY_STATE + WEIR_LAXITY_STATE_STRIDE * task);
}
#endif
