/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What basic operations take: giving the CPU to another thread, from an interrupt to its service, and adding a thread.
 * N: how often each is measured.
 */
#include "os.h"

#ifndef N
#define N 1000
#endif

static struct samples schedule, interrupt, add, mutex;
static volatile u32 since, stop;

static void partner(void *unused)
{
	(void)unused;
	while (!stop) {
		sample(&schedule, now() - since);
		since = now();
		yield();
	}
}

static void service(u32 device)
{
	sample(&interrupt, device_take(device));
}

static void nothing(void *unused)
{
	(void)unused;
}

int main(void)
{
	int id = spawn("partner", partner, 0, MAIN_PRIORITY);

	since = now();
	for (u32 i = 0; i < N; i++) {
		yield();
		sample(&schedule, now() - since);
		since = now();
	}
	stop = 1;
	join(id);
	on_interrupt(0, service, MAIN_PRIORITY + 10);
	for (u32 i = 0; i < N; i++) {
		device_trigger(0);
		work(i, 100);
	}
	for (u32 i = 0; i < N; i++) {
		u32 t = now();

		id = spawn("nothing", nothing, 0, MAIN_PRIORITY - 10);
		sample(&add, now() - t);
		join(id);
	}
	for (u32 i = 0; i < N; i++) {
		u32 t = now();

		lock(0);
		unlock(0);
		sample(&mutex, now() - t);
	}
	figure_samples("schedule", &schedule);
	figure_samples("interrupt", &interrupt);
	figure_samples("add", &add);
	figure_samples("mutex", &mutex);
	return interrupt.count != N;
}
