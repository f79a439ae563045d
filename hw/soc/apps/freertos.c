/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * FreeRTOS with periodic tasks that the engine schedules, beside ordinary ones of FreeRTOS: an urgent one that receives what their jobs
 * send, one that sleeps, and one that has the time that is left. All is counted and checked. TICK: clocks between ticks of the engine,
 * TICKS: when to stop, LOAD: per cent of the CPU that the jobs may take, OVERRUN: 1 for jobs that take twice what they may.
 */
#include "FreeRTOS.h"
#include "queue.h"
#include "semphr.h"
#include "task.h"
#include "weir_freertos.h"
#include "board.h"

#ifndef TICK
#define TICK 10000
#endif
#ifndef TICKS
#define TICKS 1000
#endif
#ifndef LOAD
#define LOAD 80
#endif
/* 0: jobs do not hold the CPU while they change what they share. */
#ifndef HOLD
#define HOLD 1
#endif
#ifndef OVERRUN
#define OVERRUN 0
#endif

/* Ticks until the first jobs: FreeRTOS has started by then. */
#define PHASE 20

static struct periodic {
	const char *name;
	u32 period, wcet, rounds, expected, jobs, wrong, received;
} periodics[] = {
	{ .name = "control", .period = 5 },
	{ .name = "vision", .period = 12 },
};
#define NR (sizeof periodics / sizeof periodics[0])

static QueueHandle_t done;
static SemaphoreHandle_t console;
static volatile u32 left_over, naps;
/* Changed by all jobs, one after the other, slowly: equal unless a job is preempted by another within its section. */
static volatile u32 shared[2], torn;
static u32 section_rounds, section_expected;

static void job(void *of)
{
	struct periodic *p = of;

	p->jobs++;
	if (work(p->period, p->rounds) != p->expected)
		p->wrong++;
#if HOLD
	vWeirEnterSection();
#endif
	if (shared[0] != shared[1])
		torn++;
	shared[0]++;
	if (work(1, section_rounds) != section_expected)
		p->wrong++;
	shared[1]++;
#if HOLD
	vWeirExitSection();
#endif
	/* Does not wait: there is room, since the receiver runs before. */
	if (xQueueSend(done, &p, 0) != pdTRUE)
		p->wrong++;
}

static void receive(void *unused)
{
	struct periodic *p;

	(void)unused;
	for (;;)
		if (xQueueReceive(done, &p, portMAX_DELAY) == pdTRUE)
			p->received++;
}

static void use_the_rest(void *unused)
{
	(void)unused;
	for (;;) {
		xSemaphoreTake(console, portMAX_DELAY);
		left_over++;
		xSemaphoreGive(console);
	}
}

static void end(void)
{
	const u32 ticks = weir_laxity_read(weirWINDOW, WEIR_LAXITY_TICKS),
		  misses = weir_laxity_read(weirWINDOW, WEIR_LAXITY_MISSES);
	u32 bad = misses;

	for (u32 i = 0; i < NR; i++) {
		const struct periodic *p = &periodics[i];

		/* The last one may be under way. */
		const u32 released = (ticks - 1 - PHASE) / p->period + 1;

		bad += p->wrong + (p->received > p->jobs || p->received + 1 < p->jobs);
		bad += p->jobs > released || p->jobs + 1 < released;
		print("= jobs_");
		print(p->name);
		print(" ");
		print_number(p->jobs);
		print("\n");
	}
	bad += !left_over || !naps || torn;
	figure("torn", torn);
	figure("ticks", ticks);
	figure("misses", misses);
	figure("naps", naps);
	figure("left_over", left_over);
	figure("wrong", bad);
	finish(bad != 0);
}

static void nap(void *unused)
{
	TickType_t at = xTaskGetTickCount();

	(void)unused;
	while (weir_laxity_read(weirWINDOW, WEIR_LAXITY_TICKS) < TICKS) {
		const TickType_t before = xTaskGetTickCount();

		vTaskDelayUntil(&at, 3);
		naps++;
		/* It runs before all others: not before its time, and not a tick late. */
		if (xTaskGetTickCount() != at || at < before)
			finish(2);
	}
	end();
}

int main(void)
{
	u32 clocks = now();

	(void)work(1, 1000);
	clocks = now() - clocks;
	section_rounds = (u32)((u64)TICK * 500 / clocks);
	section_expected = work(1, section_rounds);
	done = xQueueCreate(8, sizeof(struct periodic *));
	console = xSemaphoreCreateMutex();
	for (u32 i = 0; i < NR; i++) {
		struct periodic *p = &periodics[i];

		p->wcet = p->period * LOAD / (100 * NR);
		const struct weir_laxity_task times = { .period = (uint16_t)p->period,
							.wcet = (uint16_t)p->wcet,
							.phase = PHASE };
		/* Jobs take three fifths of what they may, a section of half a tick included: switches and other tasks are to fit beside them. */
		p->rounds = (u32)((u64)p->wcet * TICK * (OVERRUN ? 2000 : 600) / clocks);
		if (p->rounds <= section_rounds)
			finish(3);
		p->rounds -= section_rounds;
		p->expected = work(p->period, p->rounds);
		if (xWeirTaskCreate(job, p->name, 256, p, &times) < 0)
			finish(3);
	}
	if (xTaskCreate(receive, "receive", 256, 0, 24, 0) != pdPASS ||
	    xTaskCreate(nap, "nap", 256, 0, 25, 0) != pdPASS ||
	    xTaskCreate(use_the_rest, "rest", 256, 0, 1, 0) != pdPASS)
		finish(3);
	if (xWeirStart(WEIR_LAXITY_POLICY_LLF, TICK))
		finish(4);
	vTaskStartScheduler();
	return 5;
}
