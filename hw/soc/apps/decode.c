/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A frame is decoded in each PERIOD, urgently, beside CONNECTS less urgent threads that sleep for random times (connections that
 * time out) and a device whose interrupts are less urgent as well. FRAMES: how many; ROUNDS: work of a frame; NETWORK: clocks
 * between interrupts.
 */
#include "os.h"

#ifndef PERIOD
#define PERIOD 100000
#endif
#ifndef FRAMES
#define FRAMES 50
#endif
#ifndef ROUNDS
#define ROUNDS 500
#endif
#ifndef CONNECTS
#define CONNECTS 8
#endif
#ifndef NETWORK
#define NETWORK 15000
#endif

static u32 seeds[CONNECTS];

static void connector(void *argument)
{
	u32 *seed = argument;

	for (;;) {
		*seed = *seed * 1103515245u + 12345u;
		sleep_until(now() + 4000 + (*seed >> 16) % 40000);
		work(*seed, 20);
	}
}

static void service(u32 device)
{
	device_take(device);
	work(device, 60);
}

static struct samples frames, starts;
static volatile int done;

static void decoder(void *unused)
{
	u32 next = now() + PERIOD, sum = 0;

	(void)unused;
	for (u32 f = 0; f < FRAMES; f++) {
		u32 began;

		sleep_until(next);
		began = now();
		sample(&starts, began - next);
		sum ^= work(f, ROUNDS);
		sample(&frames, now() - began);
		next += PERIOD;
	}
	done = 1;
	mark(sum & 1);
}

int main(void)
{
	int id;

	for (u32 c = 0; c < CONNECTS; c++) {
		seeds[c] = 77 * c + 1;
		spawn_detached("connector", connector, &seeds[c], MAIN_PRIORITY - 20);
	}
	on_interrupt(0, service, MAIN_PRIORITY - 10);
	device_set(0, NETWORK, 1, 0);
	id = spawn("decoder", decoder, 0, MAIN_PRIORITY + 10);
	join(id);
	figure_samples("frame", &frames);
	figure_samples("start", &starts);
	return frames.count != FRAMES;
}
