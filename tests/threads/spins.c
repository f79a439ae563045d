/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads that spin until another one has done something, for the preloaded library: `spins HOW`. Under a policy without slices the other one
 * never runs, if nobody helps.
 *
 *   equals    as many spinners as CPUs and more; they pass a number on, from one to the next
 *   urgent    the spinners have a higher priority than the one that they wait for
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NR 6
static _Atomic int turn;
static _Atomic int done;

static void *passes_on(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < 5; i++) {
		while (turn % NR != me)
			;
		turn++;
	}
	return 0;
}

static void *waits_for_it(void *arg)
{
	struct sched_param p = { .sched_priority = 10 };

	(void)arg;
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &p);
	while (!done)
		;
	return 0;
}

static void *does_it(void *arg)
{
	(void)arg;
	for (volatile int i = 0; i < 1000000; i++)
		;
	usleep(1000);
	done = 1;
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t[64];
	int nr = 0;

	if (argc > 1 && !strcmp(argv[1], "equals"))
		for (; nr < NR; nr++)
			pthread_create(&t[nr], 0, passes_on, (void *)(long)nr);
	if (argc > 1 && !strcmp(argv[1], "urgent")) {
		pthread_create(&t[nr++], 0, does_it, 0);
		for (long i = 0; i < sysconf(_SC_NPROCESSORS_ONLN); i++)
			pthread_create(&t[nr++], 0, waits_for_it, 0);
	}
	for (int i = 0; i < nr; i++)
		pthread_join(t[i], 0);
	puts("spins: done");
	return 0;
}
