/* SPDX-License-Identifier: MIT */
/*
 * Threads of Zephyr that the engine schedules (weir_laxity). All have the priority CONFIG_WEIR_LAXITY_PRIORITY, and at most one of them
 * is ready: that of the task which the engine has chosen. Threads of smaller numbers run before it, threads of greater ones when the
 * engine has chosen none. One CPU, the first node of the devicetree that is compatible with runweir,laxity.
 *
 * A job must not block: a task of the engine that waits for another one gives its turn to threads of less priority.
 */
#ifndef WEIR_ZEPHYR_H
#define WEIR_ZEPHYR_H
#include <zephyr/devicetree.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/sys_io.h>
#define WEIR_READ(address)	   sys_read32(address)
#define WEIR_WRITE(address, value) sys_write32(value, address)
#include "weir_laxity.h"

#define WEIR_ZEPHYR_WINDOW ((uintptr_t)DT_REG_ADDR(DT_INST(0, runweir_laxity)))

/* Called once for each job, with the argument of the task. */
typedef void (*weir_job)(void *argument);

/*
 * Before weir_start(), from one thread: a task of the engine, times in the engine's ticks. Its number there; -ENOMEM: there is no room
 * for it; -EINVAL: the engine refuses the times. The thread exists then, and waits for the engine.
 */
int weir_task_create(struct k_thread *thread, k_thread_stack_t *stack, size_t stack_size,
		     weir_job job, void *argument, const struct weir_laxity_task *times);

/* After the tasks: begins to tick. -EINVAL: as weir_laxity_start(). */
int weir_start(uint32_t policy, uint32_t tick_clocks);

/*
 * In a job: from the first to the second no other task of the engine runs, while more urgent threads and interrupts do. They do not
 * nest. The engine needs its parameter Hold.
 */
static inline void weir_section_enter(void)
{
	weir_laxity_hold(WEIR_ZEPHYR_WINDOW, 1);
}
static inline void weir_section_exit(void)
{
	weir_laxity_hold(WEIR_ZEPHYR_WINDOW, 0);
}
#endif
