/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * team - an OpenMP program that knows nothing of gangs: a parallel loop again and again, with the barrier at its end
 *
 *   OMP_NUM_THREADS=4 OMP_WAIT_POLICY=active GOMP_SPINCOUNT=infinite team SECONDS WORK_US
 *
 * Prints how many rounds it made a second. What the runtime library does at the barrier is its business: with these settings it spins.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* About so many nanoseconds of work, by a count that was fitted once: time that others take does not count. */
static void work(uint64_t turns)
{
	for (volatile uint64_t i = 0; i < turns; i++)
		;
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	double us = argc > 2 ? atof(argv[2]) : 50;
	uint64_t best = ~0ull, began, end, turns, rounds = 0;

	for (int i = 0; i < 5; i++) {
		began = now_ns();
		work(20000);
		if (now_ns() - began < best)
			best = now_ns() - began;
	}
	turns = (uint64_t)(us * 1000 * 20000 / (double)(best ? best : 1));
	began = now_ns();
	end = began + (uint64_t)(seconds * 1e9);
	while (now_ns() < end) {
#pragma omp parallel
		work(turns);
		rounds++;
	}
	printf("%.0f\n", (double)rounds * 1e9 / (double)(now_ns() - began));
	return 0;
}
