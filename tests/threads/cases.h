/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What programs of small cases have in common: rare.c and seldom.c. */
#ifndef CASES_H
#define CASES_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#define REQUIRE(cond)                                                                            \
	do {                                                                                     \
		if (!(cond)) {                                                                   \
			fprintf(stderr, "%s: line %d: %s (%m)\n", program_invocation_short_name, \
				__LINE__, #cond);                                                \
			exit(1);                                                                 \
		}                                                                                \
	} while (0)

static volatile int stop;

/* This computer, or this user, cannot have the case. */
static void skip(const char *why)
{
	printf("skip: %s\n", why);
	exit(0);
}

static void *computes(void *arg)
{
	for (volatile unsigned long n = 0; !stop; n++)
		;
	return arg;
}

/* So many threads compute from now on. */
static void busy(int n)
{
	pthread_t t;

	while (n--)
		REQUIRE(!pthread_create(&t, 0, computes, 0) && !pthread_detach(t));
}

/* Its exit status, or 1000 + the signal that ended it. */
static int status_of(pid_t child)
{
	int status;

	REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

#endif
