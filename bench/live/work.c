/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Loads of a fixed amount of work: `work spin|forks|messages`. Prints how long it took, ns. Where the clock counts
 * instructions that is the work of all CPUs together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPINNERS 8
#define PAIRS	 4
#define ROUNDS	 500
#define DEPTH	 6

static void compute(long turns)
{
	for (volatile long i = 0; i < turns; i++)
		;
}

static pid_t child(void)
{
	pid_t pid = fork();

	if (pid < 0) {
		perror("work: fork");
		exit(1);
	}
	return pid;
}

static void wait_for_all(void)
{
	while (wait(0) > 0)
		;
}

static void spin(void)
{
	for (int i = 0; i < SPINNERS; i++) {
		if (!child()) {
			compute(12000000);
			_exit(0);
		}
	}
	wait_for_all();
}

/* Each process has two children, @depth levels of them. */
static void forks(int depth)
{
	for (int i = 0; depth && i < 2; i++) {
		if (!child()) {
			forks(depth - 1);
			_exit(0);
		}
	}
	compute(20000);
	wait_for_all();
}

static void pass(int in, int out, int first)
{
	char c = 0;

	for (int i = 0; i < ROUNDS; i++) {
		if (!first && read(in, &c, 1) != 1)
			_exit(1);
		compute(2000);
		if (write(out, &c, 1) != 1)
			_exit(1);
		if (first && read(in, &c, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static void messages(void)
{
	for (int i = 0; i < PAIRS; i++) {
		int there[2], back[2];

		if (pipe(there) || pipe(back)) {
			perror("work: pipe");
			exit(1);
		}
		if (!child())
			pass(back[0], there[1], 1);
		if (!child())
			pass(there[0], back[1], 0);
	}
	wait_for_all();
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";
	long long began = now();

	if (!strcmp(what, "spin"))
		spin();
	else if (!strcmp(what, "forks"))
		forks(DEPTH);
	else if (!strcmp(what, "messages"))
		messages();
	else
		return fprintf(stderr, "usage: work spin|forks|messages\n"), 2;
	printf("%lld\n", now() - began);
	return 0;
}
