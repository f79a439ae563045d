/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * slots - threads that read the clock all the time: when did each get its CPU?
 *
 *   slots THREADS SECONDS GAP_US    prints skews: how far apart the threads began, each time that all of them had been without a
 *                                   CPU for GAP_US or longer: `count p50 p99 worst`, microseconds, and how
 *                                   often a thread began without the others
 *   slots hogs N SECONDS            N processes that compute
 *   slots daemon PID…               the comparator: raise the threads of one process to a real-time class, 15 ms each in turn
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64
#define MAX_STARTS  65536
#define ROUND_NS \
	15000000 /* a round of the daemon: a mean slice of Linux, as its authors measured */

static uint64_t start[MAX_THREADS][MAX_STARTS];
static int nr_starts[MAX_THREADS];
static uint64_t end_ns, gap_ns;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void *watch(void *arg)
{
	int n = (int)(intptr_t)arg;
	uint64_t last = now_ns(), now;

	for (; (now = now_ns()) < end_ns; last = now)
		if (now - last >= gap_ns && nr_starts[n] < MAX_STARTS)
			start[n][nr_starts[n]++] = now;
	return 0;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The start of thread @n next to @at. */
static uint64_t next_to(int n, uint64_t at)
{
	uint64_t near = 0, least = ~0ull;

	for (int k = 0; k < nr_starts[n]; k++) {
		uint64_t a = start[n][k], d = a > at ? a - at : at - a;

		if (d < least) {
			least = d;
			near = a;
		}
	}
	return near;
}

/* Starts of the first thread, each with the next one of every other thread: the widest difference. Those without one within half a gap
 * are counted alone: a first or last one, or a thread that did not start. */
static int skews(int threads, uint64_t *out, int *alone)
{
	int nr = 0;

	*alone = 0;
	for (int i = 0; i < nr_starts[0]; i++) {
		uint64_t at = start[0][i], first = at, last = at;

		for (int n = 1; n < threads; n++) {
			uint64_t near = next_to(n, at);

			first = near < first ? near : first;
			last = near > last ? near : last;
		}
		if (last - first <= gap_ns / 2)
			out[nr++] = last - first;
		else
			++*alone;
	}
	return nr;
}

static int slots(int threads, double seconds, uint64_t gap)
{
	static uint64_t skew[MAX_STARTS];
	pthread_t thread[MAX_THREADS];
	int nr, alone;

	gap_ns = gap * 1000;
	end_ns = now_ns() + (uint64_t)(seconds * 1e9);
	for (int n = 1; n < threads; n++)
		pthread_create(&thread[n], 0, watch, (void *)(intptr_t)n);
	watch(0);
	for (int n = 1; n < threads; n++)
		pthread_join(thread[n], 0);
	nr = skews(threads, skew, &alone);
	qsort(skew, nr, sizeof(*skew), by_size);
	if (nr)
		printf("%d %.1f %.1f %.1f %d\n", nr, skew[nr / 2] / 1e3,
		       skew[(nr * 99 - 1) / 100] / 1e3, skew[nr - 1] / 1e3, alone);
	else
		printf("0 - - - %d\n", alone);
	return 0;
}

static int hogs(int nr, double seconds)
{
	for (int i = 0; i < nr; i++) {
		if (!fork()) {
			uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);

			while (now_ns() < end)
				for (volatile int k = 0; k < 10000; k++)
					;
			_exit(0);
		}
	}
	while (wait(0) > 0)
		;
	return 0;
}

/* All threads of a process into a class. */
static void put(const char *pid, int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };
	char path[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (atoi(entry->d_name) > 0)
			sched_setscheduler(atoi(entry->d_name), policy, &param);
	if (dir)
		closedir(dir);
}

static int daemon_of(int nr, char **pid)
{
	struct sched_param above = { .sched_priority = 2 };
	struct timespec round = { .tv_nsec = ROUND_NS };
	int last = -1;

	if (sched_setscheduler(0, SCHED_RR, &above))
		return 1;
	for (int at = 0;; at = (at + 1) % nr) {
		if (last >= 0)
			put(pid[last], SCHED_OTHER, 0);
		put(pid[at], SCHED_RR, 1);
		last = at;
		nanosleep(&round, 0);
	}
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "daemon"))
		return daemon_of(argc - 2, argv + 2);
	if (argc == 4 && !strcmp(argv[1], "hogs"))
		return hogs(atoi(argv[2]), atof(argv[3]));
	if (argc == 4 && atoi(argv[1]) > 0 && atoi(argv[1]) <= MAX_THREADS)
		return slots(atoi(argv[1]), atof(argv[2]), (uint64_t)atoll(argv[3]));
	fprintf(stderr, "slots THREADS SECONDS GAP_US | hogs N SECONDS | daemon PID…\n");
	return 2;
}
