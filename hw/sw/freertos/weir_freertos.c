/* SPDX-License-Identifier: MIT */
/* The port layer: what the engine chooses becomes what FreeRTOS may run (portmacro.h). One CPU. */
#include "weir_freertos.h"

#if configUSE_PORT_OPTIMISED_TASK_SELECTION != 1 || configNUMBER_OF_CORES != 1
#error "The engine's choice needs configUSE_PORT_OPTIMISED_TASK_SELECTION 1, and one core."
#endif
#if weirFIRST_PRIORITY < 1 || weirFIRST_PRIORITY + weirTASKS > configMAX_PRIORITIES || \
	configMAX_PRIORITIES > 32
#error "weirFIRST_PRIORITY to weirFIRST_PRIORITY + weirTASKS - 1 are priorities of the engine's tasks: 1 to configMAX_PRIORITIES - 1, and 31."
#endif

#define BIT(task) ((UBaseType_t)1 << (weirFIRST_PRIORITY + (task)))
#define OTHERS	  (~((((UBaseType_t)2 << (weirTASKS - 1)) - 1) << weirFIRST_PRIORITY))

struct weir_task {
	WeirJob_t job;
	void *argument;
};

volatile UBaseType_t uxWeirMayRun = OTHERS;
static struct weir_task tasks[weirTASKS];
static UBaseType_t nr_tasks;

/* Each job, identified by its number: a task may be released again while it stays chosen, without any interrupt. */
static void loop(void *number)
{
	const uint32_t me = (uint32_t)(uintptr_t)number;
	uint32_t last = ~0u;

	/* FreeRTOS starts with the task of the greatest priority, whatever the engine says. */
	taskYIELD();
	for (;;) {
		const uint32_t state = weir_laxity_state(weirWINDOW, me),
			       job = WEIR_GET(state, WEIR_LAXITY_STATE_JOB);

		if (!(state & WEIR_LAXITY_STATE_READY_MASK) || job == last)
			continue;
		last = job;
		traceWEIR_JOB(me);
		tasks[me].job(tasks[me].argument);
		traceWEIR_DONE(me);
		weir_laxity_done(weirWINDOW, me, job);
	}
}

BaseType_t xWeirTaskCreate(WeirJob_t xJob, const char *pcName, configSTACK_DEPTH_TYPE uxStackDepth,
			   void *pvArgument, const struct weir_laxity_task *pxTimes)
{
	const UBaseType_t n = nr_tasks;

	if (n >= weirTASKS || weir_laxity_set(weirWINDOW, n, pxTimes))
		return -1;
	tasks[n] = (struct weir_task){ xJob, pvArgument };
	if (xTaskCreate(loop, pcName, uxStackDepth, (void *)(uintptr_t)n, weirFIRST_PRIORITY + n,
			NULL) != pdPASS) {
		weir_laxity_delete(weirWINDOW, n);
		return -1;
	}
	nr_tasks++;
	return (BaseType_t)n;
}

BaseType_t xWeirStart(uint32_t ulPolicy, uint32_t ulTickClocks)
{
	return weir_laxity_start(weirWINDOW, ulPolicy, ulTickClocks);
}

void vWeirInterrupt(void)
{
	const uint32_t sched = weir_laxity_claim(weirWINDOW);

	uxWeirMayRun = OTHERS;
	if (!(sched & WEIR_LAXITY_SCHED_IDLE_MASK))
		uxWeirMayRun |= BIT(WEIR_GET(sched, WEIR_LAXITY_SCHED_TASK));
	vTaskSwitchContext();
}
