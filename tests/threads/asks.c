/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * asks SETTING - ask Linux's scheduler for something, in a program that `runweir threads` runs (docs/settings.md). Whether the policy obeys is
 * said once, at the first time; the settings are read back as they were set.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int policy(int policy, int priority)
{
	struct sched_param param = { .sched_priority = priority };

	for (int i = 0; i < 3; i++)
		if (pthread_setschedparam(pthread_self(), policy, &param))
			return 1;
	return 0;
}

static int affinity(void)
{
	cpu_set_t set, back;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	for (int i = 0; i < 3; i++)
		if (sched_setaffinity(0, sizeof(set), &set))
			return 1;
	return sched_getaffinity(0, sizeof(back), &back) || !CPU_EQUAL(&set, &back);
}

/* As chrt(1) does, whose call libc does not have everywhere. */
static int reservation(void)
{
	struct {
		unsigned bytes, policy;
		unsigned long long flags;
		int nice;
		unsigned priority;
		unsigned long long runtime, deadline, period;
	} set = { .bytes = sizeof(set),
		  .policy = 6,
		  .runtime = 1000000,
		  .deadline = 5000000,
		  .period = 10000000 },
	  back = { 0 };

	for (int i = 0; i < 3; i++)
		if (syscall(SYS_sched_setattr, 0, &set, 0))
			return 1;
	return syscall(SYS_sched_getattr, 0, &back, sizeof(back), 0) || back.policy != set.policy ||
	       back.deadline != set.deadline || sched_getscheduler(0) != 6;
}

static int niceness(void)
{
	int was = getpriority(PRIO_PROCESS, 0);

	for (int i = 1; i <= 3; i++)
		if (nice(1) != was + i || getpriority(PRIO_PROCESS, 0) != was + i)
			return 1;
	return setpriority(PRIO_PROCESS, 0, was + 5) || getpriority(PRIO_PROCESS, 0) != was + 5;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "priority"))
		return policy(SCHED_OTHER, 5);
	if (!strcmp(what, "fifo"))
		return policy(SCHED_FIFO, 5);
	if (!strcmp(what, "rr"))
		return policy(SCHED_RR, 5);
	if (!strcmp(what, "batch"))
		return policy(SCHED_BATCH, 0);
	if (!strcmp(what, "idle"))
		return policy(SCHED_IDLE, 0);
	if (!strcmp(what, "affinity"))
		return affinity();
	if (!strcmp(what, "deadline"))
		return reservation();
	if (!strcmp(what, "nice"))
		return niceness();
	fprintf(stderr, "asks: priority, nice, fifo, rr, batch, idle, deadline or affinity\n");
	return 1;
}
