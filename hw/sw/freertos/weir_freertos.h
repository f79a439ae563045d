/* SPDX-License-Identifier: MIT */
/*
 * Tasks of FreeRTOS that the engine schedules (weir_laxity). Each has a priority of its own, from weirFIRST_PRIORITY on. Tasks of
 * greater priority run before those of the engine, tasks of less when none of the engine's is chosen. FreeRTOSConfig.h defines:
 *
 *   weirWINDOW          address of the engine's window
 *   weirTASKS           how many tasks the engine may have here
 *   weirFIRST_PRIORITY  1 or more; with weirTASKS at most configMAX_PRIORITIES, which is 32 at most
 *
 * A job must not block: a task of the engine that waits for another one gives its turn to tasks of less priority.
 */
#ifndef WEIR_FREERTOS_H
#define WEIR_FREERTOS_H
#include "FreeRTOS.h"
#include "task.h"
#include "weir_laxity.h"

/* Called once for each job, with the argument of the task. */
typedef void (*WeirJob_t)(void *pvArgument);

/*
 * Before vTaskStartScheduler(): a task of the engine, times in the engine's ticks. Its number there, or -1: there is no room, no
 * memory, or the engine refuses the times.
 */
BaseType_t xWeirTaskCreate(WeirJob_t xJob, const char *pcName, configSTACK_DEPTH_TYPE uxStackDepth,
			   void *pvArgument, const struct weir_laxity_task *pxTimes);

/* After the tasks, before vTaskStartScheduler(): as weir_laxity_start(). */
BaseType_t xWeirStart(uint32_t ulPolicy, uint32_t ulTickClocks);

/*
 * In a job: from the first to the second no other task of the engine runs, while more urgent tasks of FreeRTOS and interrupts do. They
 * do not nest. The engine needs its parameter Hold.
 */
static inline void vWeirEnterSection(void)
{
	weir_laxity_hold(weirWINDOW, 1);
}
static inline void vWeirExitSection(void)
{
	weir_laxity_hold(weirWINDOW, 0);
}

/*
 * In freertos_risc_v_application_interrupt_handler(), while the engine's interrupt stands: hands the context back, claims the
 * choice, and lets FreeRTOS switch to it.
 */
void vWeirInterrupt(void);
#endif
