/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Work of a given length, for benchmarks. */
#ifndef BENCH_COMPUTE_H
#define BENCH_COMPUTE_H

#include <time.h>

static double at(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* By the thread's own clock: what others do to it does not make it shorter. */
static void compute(double us)
{
	double until = at(CLOCK_THREAD_CPUTIME_ID) + us * 1e-6;

	while (at(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

#endif
