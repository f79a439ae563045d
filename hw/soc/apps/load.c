/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A loop of fixed work beside interrupts that are less urgent than it. PERIOD: clocks between interrupts (0: none), ROUNDS: how
 * long the loop is, SERVICE: rounds of work that each interrupt needs, EDGES: 0 to keep the line off until a thread has served.
 */
#include "os.h"

#ifndef PERIOD
#define PERIOD 0
#endif
#ifndef ROUNDS
#define ROUNDS 40000
#endif
#ifndef SERVICE
#define SERVICE 20
#endif

#ifndef EDGES
#define EDGES 1
#endif

static volatile u32 served;

static void service(u32 device)
{
	device_take(device);
	work(served, SERVICE);
	served++;
}

int main(void)
{
	u32 began, during, sum;

	if (EDGES)
		on_each_interrupt(0, service, MAIN_PRIORITY - 10);
	else
		on_interrupt(0, service, MAIN_PRIORITY - 10);
	if (PERIOD)
		device_set(0, PERIOD, 1, 0);
	began = now();
	during = served;
	sum = work(1, ROUNDS);
	figure("loop", now() - began);
	figure("served_during", served - during);
	device_set(0, 0, 0, 1);
	figure("dropped", device_dropped(0));
	return sum == 0;
}
