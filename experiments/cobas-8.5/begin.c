/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * begin - what hackbench's children compute before they are ready, beside what their creation takes
 *
 * As hackbench does it: the parent forks all children; each closes what it does not need, reports that it is ready, and
 * waits for the start. CPU times of 400 children; the first pages that a child writes to are copied for it.
 *
 *   cc -O2 -static begin.c -o begin && ./begin      without shared libraries, as the source's Busybox
 *   cc -O2 begin.c -o begin && ./begin              with them
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN 400

static long long used_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void child(const int ready[2], const int start[2], int times)
{
	struct pollfd released = { start[0], POLLIN, 0 };
	long long used;

	close(ready[0]);
	close(start[1]);
	if (write(ready[1], "", 1) != 1)
		_exit(1);
	used = used_ns();
	if (write(times, &used, sizeof(used)) != sizeof(used))
		_exit(1);
	poll(&released, 1, -1);
	_exit(0);
}

static int by_size(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return x < y ? -1 : x > y;
}

static void print(const char *what, long long *times)
{
	qsort(times, CHILDREN, sizeof(*times), by_size);
	printf("%s: median %.1f us, a tenth below %.1f, a tenth above %.1f\n", what,
	       times[CHILDREN / 2] / 1e3, times[CHILDREN / 10] / 1e3,
	       times[CHILDREN * 9 / 10] / 1e3);
}

int main(void)
{
	static long long created[CHILDREN], began[CHILDREN];
	int ready[2], start[2], times[2];

	if (pipe(ready) || pipe(start) || pipe(times))
		return 1;
	for (int i = 0; i < CHILDREN; i++) {
		long long before = used_ns();
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (!pid)
			child(ready, start, times[1]);
		created[i] = used_ns() - before;
	}
	for (int i = 0; i < CHILDREN; i++)
		if (read(times[0], &began[i], sizeof(began[i])) != sizeof(began[i]))
			return 1;
	if (write(start[1], "", 1) != 1)
		return 1;
	while (wait(0) > 0)
		;
	print("creation", created);
	print("until ready", began);
	return 0;
}
