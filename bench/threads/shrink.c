/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program of short parallel regions: `shrink WORK_US FROM SECONDS`. From FROM seconds on it enters regions for so many SECONDS; each has WORK_US of
 * CPU time, which its team divides. One JSON object: how many regions there were in each second, the size of the teams, and the
 * CPU time, which waiting at the end of regions is part of.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "compute.h"

#define MOST 64

int main(int argc, char **argv)
{
	double us, begin, from, seconds;
	long rounds[MOST] = { 0 }, members[MOST] = { 0 }, sum = 0;

	if (argc != 4 || atof(argv[3]) > MOST) {
		fprintf(stderr, "usage: shrink WORK_US FROM SECONDS\n");
		return 2;
	}
	us = atof(argv[1]);
	from = atof(argv[2]);
	seconds = atof(argv[3]);
	begin = at(CLOCK_MONOTONIC);
	nanosleep(&(struct timespec){ (time_t)from, (long)((from - (time_t)from) * 1e9) }, 0);
	for (;;) {
		double now = at(CLOCK_MONOTONIC) - begin - from;
		int n = 1;

		if (now >= seconds)
			break;
#pragma omp parallel
		{
#pragma omp master
			n = omp_get_num_threads();
			compute(us / omp_get_num_threads());
		}
		rounds[(int)now]++;
		members[(int)now] += n;
		sum++;
	}
	printf("{\"regions\":%ld,\"cpu_seconds\":%.3f,\"by_second\":[", sum,
	       at(CLOCK_PROCESS_CPUTIME_ID));
	for (int i = 0; i < seconds; i++)
		printf("%s%ld", i ? "," : "", rounds[i]);
	printf("],\"threads\":[");
	for (int i = 0; i < seconds; i++)
		printf("%s%.2f", i ? "," : "",
		       rounds[i] ? (double)members[i] / (double)rounds[i] : 0);
	printf("]}\n");
	return 0;
}
