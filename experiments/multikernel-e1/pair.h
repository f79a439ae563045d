/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What measurements between two CPUs of this computer share. Included after the headers of the channels; the file that includes it defines
 * _GNU_SOURCE first.
 */
#ifndef PAIR_H
#define PAIR_H

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* No end of a ring sleeps here. */
void ump_sleep(const void *word, u32 value)
{
	(void)word;
	(void)value;
}

void ump_wake(const void *word)
{
	(void)word;
}

/*
 * Ends this process by SIGALRM after the seconds in WEIR_PATIENCE: where other work has the CPUs, two threads that spin for each other may wait for a
 * time slice of it at each turn.
 */
static inline void be_patient(void)
{
	const char *seconds = getenv("WEIR_PATIENCE");

	if (seconds)
		alarm((unsigned)atoi(seconds));
}

/* A child of fork() ends with its parent. */
static inline void end_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static inline u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

/* To the n-th CPU that the process may use. */
static inline void stay_on(int n)
{
	cpu_set_t all, one;
	int seen = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		exit(2);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &all) || seen++ != n)
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			exit(2);
		return;
	}
	fprintf(stderr, "one CPU only\n");
	exit(3);
}

static inline void *pages(u64 bytes)
{
	void *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(2);
	return p;
}

#endif
