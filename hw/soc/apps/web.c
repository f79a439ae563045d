/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A server with a thread for each connection. Requests come from a device, about one in PERIOD clocks; the driver works on each for
 * DRIVER rounds where interrupts are served, a thread of its own then for WORK rounds. REQUESTS: how many come. A request that finds
 * no room in the device, or no thread, is lost.
 */
#include "os.h"

#ifndef PERIOD
#define PERIOD 20000
#endif
#ifndef REQUESTS
#define REQUESTS 200
#endif
#ifndef DRIVER
#define DRIVER 100
#endif
#ifndef WORK
#define WORK 400
#endif
/* Connections at a time: the memory that the server has for them. */
#ifndef CONNECTIONS
#define CONNECTIONS 64
#endif

static u32 came[256];
static volatile u32 head, tail, refused, completed;
static struct samples replies;
static u32 histogram[32], last;

static void service(u32 device)
{
	u32 age = device_take(device);

	/* The driver's and the protocol's part. */
	work(head, DRIVER);
	if (head - tail >= 256) {
		refused++;
		return;
	}
	came[head++ & 255] = now() - age;
	post(0);
}

static volatile u32 open;

static void connection(void *argument)
{
	u32 since = (u32)argument, took, bit = 0;

	work(since, WORK);
	took = now() - since;
	lock(0);
	sample(&replies, took);
	while (took >> 1 >> bit)
		bit++;
	histogram[bit]++;
	completed++;
	open--;
	last = now();
	unlock(0);
}

static void acceptor(void *unused)
{
	(void)unused;
	for (;;) {
		u32 since;

		take(0);
		since = came[tail++ & 255];
		lock(0);
		if (open >= CONNECTIONS ||
		    spawn_detached("connection", connection, (void *)since, MAIN_PRIORITY - 20) < 0)
			refused++;
		else
			open++;
		unlock(0);
	}
}

int main(void)
{
	u32 began, settled;
	u64 cumulated = 0;

	/* What has begun is finished first: more requests than can be served wait in the device, or are lost there, for nothing. */
	spawn_detached("acceptor", acceptor, 0, MAIN_PRIORITY - 22);
	on_interrupt(0, service, MAIN_PRIORITY - 25);
	began = now();
	device_set(0, PERIOD, 1, REQUESTS);
	/* The time in which the requests come, and as long again for those that wait. */
	sleep_until(began + REQUESTS * PERIOD);
	figure("completed_in_time", completed);
	/* Overloaded it may have completed none so far. */
	do {
		settled = completed + refused + device_dropped(0);
		sleep_until(now() + 20 * PERIOD + 100000);
	} while (settled != completed + refused + device_dropped(0));
	figure("requests", REQUESTS);
	figure("completed", completed);
	figure("refused", refused);
	figure("dropped", device_dropped(0));
	figure("span", last - began);
	figure_samples("reply", &replies);
	for (u32 bit = 0; bit < 32; bit++) {
		if (!histogram[bit])
			continue;
		cumulated += histogram[bit];
		print("= reply_below_");
		print_number(bit == 31 ? ~0u : 2u << bit);
		print(" ");
		print_number((u32)cumulated);
		print("\n");
	}
	return completed + refused + device_dropped(0) != REQUESTS;
}
