/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the three kernels share. They are our own, written after the description of the NAS parallel benchmarks (Bailey and others, RNR-94-007); what makes
 * their results comparable is in that report: the generator of random numbers, the problems' sizes, and the sums that verify them.
 */
#ifndef NPB_H
#define NPB_H

#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* x' = a x mod 2^46; the result is between 0 and 1. Whole numbers do what the report does in two halves of doubles. */
#define MASK46 ((1ull << 46) - 1)

static inline double next_random(uint64_t *x, uint64_t a)
{
	*x = (uint64_t)((unsigned __int128)*x * a & MASK46);
	return (double)*x * 0x1p-46;
}

/* a^n mod 2^46 */
static inline uint64_t random_power(uint64_t a, uint64_t n)
{
	uint64_t r = 1;

	for (; n; n >>= 1) {
		if (n & 1)
			r = (uint64_t)((unsigned __int128)r * a & MASK46);
		a = (uint64_t)((unsigned __int128)a * a & MASK46);
	}
	return r;
}

static inline double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void *room(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

	if (!p) {
		fprintf(stderr, "no memory\n");
		exit(1);
	}
	return p;
}

/* The class, and how often the whole is done, each time with its verification: the times of short ones say little. */
static int repeats = 1;

static inline char class_of(int argc, char **argv)
{
	if (argc > 2)
		repeats = atoi(argv[2]);
	if (argc < 2 || (argv[1][0] != 'S' && argv[1][0] != 'W') || argv[1][1] || repeats < 1) {
		fprintf(stderr, "usage: %s S|W [REPEATS]\n", argv[0]);
		exit(2);
	}
	return argv[1][0];
}

/* One JSON object, with the time of one repeat; the exit status is 1 where the sums are wrong. */
static inline int npb_report(const char *kernel, char class, double seconds, double cpu, int right)
{
	printf("{\"kernel\":\"%s\",\"class\":\"%c\",\"threads\":%d,\"seconds\":%.6f,\"cpu_"
	       "seconds\":%.6f,"
	       "\"verified\":%s}\n",
	       kernel, class, omp_get_max_threads(), seconds / repeats, cpu / repeats,
	       right ? "true" : "false");
	return right ? 0 : 1;
}

#endif
