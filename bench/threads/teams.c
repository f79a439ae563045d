/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Teams that share CPUs: `teams TEAMS THREADS WORK_US SECONDS`. Each team is led by a thread of its own and meets at a barrier after each piece of work.
 * One JSON object: rounds a second of each team, and the CPU time of a round.
 */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "compute.h"

static int threads;
static double work_us, seconds;
static long rounds[64];

static void *lead(void *arg)
{
	long own = (long)arg, n = 0;
	int over = 0;
	double end = at(CLOCK_MONOTONIC) + seconds;

#pragma omp parallel num_threads(threads)
	{
		while (!over) {
			compute(work_us);
#pragma omp barrier
#pragma omp master
			{
				n++;
				over = at(CLOCK_MONOTONIC) >= end;
			}
#pragma omp barrier
		}
	}
	rounds[own] = n;
	return 0;
}

int main(int argc, char **argv)
{
	int teams = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t t[64];
	double cpu, sum = 0;

	threads = argc > 2 ? atoi(argv[2]) : 2;
	work_us = argc > 3 ? atof(argv[3]) : 50;
	seconds = argc > 4 ? atof(argv[4]) : 1;
	if (teams < 1 || teams > 64 || threads < 1) {
		fprintf(stderr, "usage: teams TEAMS THREADS WORK_US SECONDS\n");
		return 2;
	}
	for (long i = 0; i < teams; i++)
		if (pthread_create(&t[i], 0, lead, (void *)i))
			return 1;
	for (int i = 0; i < teams; i++)
		pthread_join(t[i], 0);
	cpu = at(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < teams; i++)
		sum += (double)rounds[i];
	printf("{\"teams\":%d,\"threads\":%d,\"work_us\":%.1f,\"rounds_per_s\":[", teams, threads,
	       work_us);
	for (int i = 0; i < teams; i++)
		printf("%s%.1f", i ? "," : "", (double)rounds[i] / seconds);
	printf("],\"cpu_us_per_round\":%.2f}\n", cpu / sum * 1e6);
	return 0;
}
