/* SPDX-License-Identifier: MIT */
/*
 * FreeRTOS's RISC-V port with the scheduling engine: this folder comes before the port's in the list of folders with headers. All is
 * the port's, but for which task runs: of the priorities that belong to tasks of the engine, only that of its choice counts.
 */
#ifndef WEIR_FREERTOS_PORTMACRO_H
#define WEIR_FREERTOS_PORTMACRO_H
#include_next "portmacro.h"

/* A bit for each priority that may run now: all that are not the engine's, and its choice. Set by weir_freertos.c. */
extern volatile UBaseType_t uxWeirMayRun;

#undef portGET_HIGHEST_PRIORITY
#define portGET_HIGHEST_PRIORITY(uxTopPriority, uxReadyPriorities) \
	((uxTopPriority) = 31UL - (UBaseType_t)__builtin_clz((uxReadyPriorities) & uxWeirMayRun))
#endif
