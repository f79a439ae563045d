/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * load FILE: run the threads that FILE describes, for the guest of record.sh.
 *
 *   for MS                                 how long all run
 *   group NAME WEIGHT                      a control group
 *   thread NAME COUNT KEY=VALUE... : STEP...   the steps, over and over
 *
 * Keys: policy (other, batch, idle, fifo, rr, deadline), nice, priority, slice (us), runtime, deadline, period (us),
 * start (us), group. Steps: r US computes, s US sleeps, p US sleeps to the next multiple, n NICE sets the nice value, a CPUS
 * (a mask) the affinity, c US starts a child that computes and ends, w N waits until another thread of the group does u N.
 *
 * The guest's clock counts instructions, 2 ns each, so that computing is counting: a round of the loop is two instructions.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST	      64
#define ROUNDS_PER_US 250

struct attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

struct step {
	char what;
	long value;
};

struct thread {
	char name[16], group[16];
	struct attr attr;
	long start;
	int nr;
	struct step step[MOST];
};

static struct thread threads[MOST];
static struct timespec begin;
static int nr_threads;
/* Of steps u and w. */
static sem_t signals[4];

static void fail(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void compute(long us)
{
	uint64_t n = (uint64_t)us * ROUNDS_PER_US;

	if (n)
		__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n));
}

static void until(long us)
{
	struct timespec at = begin;

	us += at.tv_sec * 1000000 + at.tv_nsec / 1000;
	at.tv_sec = us / 1000000;
	at.tv_nsec = us % 1000000 * 1000;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, 0);
}

static long elapsed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000;
}

static void *child(void *us)
{
	prctl(PR_SET_NAME, "child");
	compute((long)us);
	return 0;
}

static void act(const struct step *s)
{
	pthread_attr_t detached;
	cpu_set_t cpus;
	pthread_t t;

	switch (s->what) {
	case 'r':
		compute(s->value);
		break;
	case 's':
		until(elapsed() + s->value);
		break;
	case 'p':
		until((elapsed() / s->value + 1) * s->value);
		break;
	case 'n':
		if (setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), (int)s->value))
			fail("setpriority");
		break;
	case 'a':
		CPU_ZERO(&cpus);
		for (int i = 0; i < 32; i++)
			if (s->value >> i & 1)
				CPU_SET(i, &cpus);
		if (sched_setaffinity(0, sizeof(cpus), &cpus))
			fail("sched_setaffinity");
		break;
	case 'u':
		sem_post(&signals[s->value % 4]);
		break;
	case 'w':
		while (sem_wait(&signals[s->value % 4]))
			;
		break;
	case 'c':
		pthread_attr_init(&detached);
		pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
		if (pthread_create(&t, &detached, child, (void *)s->value))
			fail("pthread_create");
		break;
	}
}

static void *run(void *arg)
{
	struct thread *t = arg;

	prctl(PR_SET_NAME, t->name);
	t->attr.size = sizeof(t->attr);
	if (syscall(SYS_sched_setattr, 0, &t->attr, 0))
		fail(t->name);
	/* Alone, so that it owes nothing and is owed nothing when the load begins. */
	until(-500000 + 10000 * (t - threads));
	until(t->start);
	for (;;)
		for (int i = 0; i < t->nr; i++)
			act(&t->step[i]);
	return 0;
}

static uint32_t policy(const char *name)
{
	static const char *const names[] = {
		"other", "fifo", "rr", "batch", "", "idle", "deadline"
	};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return i;
	fprintf(stderr, "load: no policy %s\n", name);
	exit(1);
}

static void key(struct thread *t, char *word)
{
	char *value = strchr(word, '=');
	long n;

	if (!value)
		return;
	*value++ = 0;
	n = atol(value);
	if (!strcmp(word, "policy"))
		t->attr.policy = policy(value);
	else if (!strcmp(word, "nice"))
		t->attr.nice = (int)n;
	else if (!strcmp(word, "priority"))
		t->attr.priority = (uint32_t)n;
	else if (!strcmp(word, "slice") || !strcmp(word, "runtime"))
		t->attr.runtime = (uint64_t)n * 1000;
	else if (!strcmp(word, "deadline"))
		t->attr.deadline = (uint64_t)n * 1000;
	else if (!strcmp(word, "period"))
		t->attr.period = (uint64_t)n * 1000;
	else if (!strcmp(word, "start"))
		t->start = n;
	else if (!strcmp(word, "group"))
		snprintf(t->group, sizeof(t->group), "%s", value);
}

static void thread(char *line)
{
	char name[16] = "", *word = strtok(line, " \n"), *what;
	struct thread t = { 0 };
	int count = 1, steps = 0;

	snprintf(name, sizeof(name), "%s", word ? word : "");
	word = strtok(0, " \n");
	count = word ? atoi(word) : 1;
	while ((word = strtok(0, " \n"))) {
		if (*word == ':')
			steps = 1;
		else if (!steps)
			key(&t, word);
		else if (t.nr < MOST && (what = word, word = strtok(0, " \n")))
			t.step[t.nr++] = (struct step){ *what, strtol(word, 0, 0) };
	}
	for (int i = 0; i < count && nr_threads < MOST; i++) {
		threads[nr_threads] = t;
		snprintf(threads[nr_threads++].name, 16, "%.12s-%c", name, 'a' + i % 26);
	}
}

/* FILE of control group NAME := TEXT. */
static void put(const char *name, const char *file, const char *text)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", name);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s", name, file);
	f = fopen(path, "w");
	if (!f || fprintf(f, "%s\n", text) < 0 || fclose(f))
		fail(path);
}

/* The threads of a group, in a process that is a member. */
static void together(const char *name)
{
	pthread_t id;

	for (int i = 0; i < 4; i++)
		sem_init(&signals[i], 0, 0);
	if (*name)
		put(name, "cgroup.procs", "0");
	for (int i = 0; i < nr_threads; i++)
		if (!strcmp(threads[i].group, name) && pthread_create(&id, 0, run, &threads[i]))
			fail("pthread_create");
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	char line[512], weight[16], names[MOST][16] = { "" };
	int nr = 1;
	long ms = 1000;
	FILE *f = argc > 1 ? fopen(argv[1], "r") : 0;
	pid_t pids[MOST];

	if (!f)
		fail(argc > 1 ? argv[1] : "FILE is missing");
	while (fgets(line, sizeof(line), f)) {
		char *rest = strchr(line, ' ');

		if (!rest || *line == '#')
			continue;
		*rest++ = 0;
		if (!strcmp(line, "for")) {
			ms = atol(rest);
		} else if (!strcmp(line, "group")) {
			if (sscanf(rest, "%15s %15s", names[nr], weight) == 2)
				put(names[nr++], "cpu.weight", weight);
		} else if (!strcmp(line, "thread")) {
			thread(rest);
		}
	}
	fclose(f);
	/* Nothing may keep this thread from ending the others. */
	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &(struct sched_param){ 90 }))
		fail("sched_setscheduler");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	/* All threads are there by then. */
	begin.tv_sec++;
	for (int i = 0; i < nr; i++) {
		pids[i] = fork();
		if (!pids[i])
			together(names[i]);
	}
	until(ms * 1000);
	for (int i = 0; i < nr; i++) {
		kill(pids[i], 9);
		waitpid(pids[i], 0, 0);
	}
	return 0;
}
