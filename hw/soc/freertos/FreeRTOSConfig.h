/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * FreeRTOS on weir_soc with VexRiscv and the scheduling engine: priorities 0 to 7 are ordinary ones below the engine's tasks, 8 to 23
 * the engine's, 24 to 31 ordinary ones above. What FreeRTOS does is reported as the other systems report it.
 */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H
#include "io.h"

#define configCPU_CLOCK_HZ			50000000
#define configTICK_RATE_HZ			5000
#define configMTIME_BASE_ADDRESS		0x0200bff8
#define configMTIMECMP_BASE_ADDRESS		0x02004000
#define configISR_STACK_SIZE_WORDS		512
#define configMINIMAL_STACK_SIZE		256
#define configMAX_PRIORITIES			32
#define configMAX_TASK_NAME_LEN			16
#define configTOTAL_HEAP_SIZE			131072
#define configUSE_PREEMPTION			1
#define configUSE_PORT_OPTIMISED_TASK_SELECTION 1
#define configNUMBER_OF_CORES			1
#define configTICK_TYPE_WIDTH_IN_BITS		TICK_TYPE_WIDTH_32_BITS
#define configUSE_IDLE_HOOK			0
#define configUSE_TICK_HOOK			0
#define configUSE_MUTEXES			1
#define configUSE_TRACE_FACILITY		1
#define configCHECK_FOR_STACK_OVERFLOW		2
#define configSUPPORT_DYNAMIC_ALLOCATION	1
#define INCLUDE_vTaskDelay			1
#define INCLUDE_xTaskDelayUntil			1
#define INCLUDE_vTaskDelete			1

#define weirWINDOW	   SCHEDULER
#define weirTASKS	   16
#define weirFIRST_PRIORITY 8
/* One store after the other, without caches of data. */
#define WEIR_NO_FENCE

void assert_failed(const char *file, u32 line) __attribute__((noreturn));
#define configASSERT(holds)                                \
	do {                                               \
		if (!(holds))                              \
			assert_failed(__FILE__, __LINE__); \
	} while (0)

/* Task n of FreeRTOS is thread n of the reports; the idle task is what idles. */
#define NOBODY	   200
#define PROBED(of) ((of)->uxPriority ? (u32)(of)->uxTCBNumber : NOBODY)
void announce(u32 id, u32 priority, const char *name);
#define traceTASK_CREATE(of)                                                             \
	do {                                                                             \
		if ((of)->uxPriority)                                                    \
			announce((of)->uxTCBNumber, (of)->uxPriority, (of)->pcTaskName); \
	} while (0)
/* The task that runs: not all that is traced knows it. */
extern u32 running;
#define traceTASK_SWITCHED_IN()		      probe(P_RUN, running = PROBED(pxCurrentTCB))
#define traceTASK_DELAY()		      probe(P_BLOCK, running)
#define traceTASK_DELAY_UNTIL(until)	      traceTASK_DELAY()
#define traceBLOCKING_ON_QUEUE_RECEIVE(queue) traceTASK_DELAY()
#define traceBLOCKING_ON_QUEUE_SEND(queue)    traceTASK_DELAY()
#define traceMOVED_TASK_TO_READY_STATE(of)                    \
	do {                                                  \
		if ((of)->uxPriority && (of) != pxCurrentTCB) \
			probe(P_READY, PROBED(of));           \
	} while (0)
/* Threads of the reports that are the engine's tasks. */
extern u32 engine_ids[];
#define traceWEIR_JOB(task)  probe(P_JOB, engine_ids[task])
#define traceWEIR_DONE(task) probe(P_DONE, engine_ids[task])
#endif
