// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * A pipeline of N threads on one CPU that is worked through forward (thread 0, 1, ... N-1) and then backward. A thread
 * whose turn has not come spins; one that has had its turn in a phase sleeps until the phase is over. Between the phases
 * the program can tell the scheduler, through the control socket of `runweir live`, to replace the policy of the CPU.
 *
 *   pipeline THREADS ITERATIONS CPU [SOCKET COMPONENT-FORWARD COMPONENT-BACKWARD]
 *
 * One line of CSV: threads, iterations of a loop that a stage computes, times in us of the forward phase, of the
 * announcement (0 without a socket) and of the backward phase, turns on the CPU in each phase (context switches away from
 * the threads, voluntary and not). Exit status 1: the socket or the scheduler refused; 2: wrong arguments.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 256

static int nr_threads, cpu;
static long iterations;
static const char *socket_path;
static atomic_int turn;		      /* position in the phase whose turn it is */
static pthread_barrier_t gate;	      /* main and all threads: begin and end of a phase */
static long switches[2][MAX_THREADS]; /* of each thread in each phase */

static void die(int status, const char *what)
{
	fprintf(stderr, "pipeline: %s: %s\n", what, errno ? strerror(errno) : "failed");
	exit(status);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void pin(int to)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(to, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die(1, "pinning to the CPU");
}

static long switched(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

static void *stage(void *arg)
{
	long me = (long)arg;

	pin(cpu);
	for (int phase = 0; phase < 2; phase++) {
		int place = phase == 0 ? me : nr_threads - 1 - me;
		long before;

		pthread_barrier_wait(&gate);
		before = switched();
		while (atomic_load_explicit(&turn, memory_order_acquire) != place)
			;
		for (long i = 0; i < iterations; i++)
			__asm__ volatile("" ::: "memory");
		atomic_store_explicit(&turn, place + 1, memory_order_release);
		switches[phase][me] = switched() - before + 1;
		pthread_barrier_wait(&gate);
	}
	return NULL;
}

/* Have another component take the place of the instance `policy`. */
static void announce(const char *component)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char line[4096];
	size_t got = 0;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(at.sun_path, socket_path, sizeof(at.sun_path) - 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)))
		die(1, socket_path);
	dprintf(fd, "{\"verb\":\"replace\",\"instance\":\"policy\",\"component\":\"%s\"}\n",
		component);
	while (got < sizeof(line) - 1) {
		ssize_t n = read(fd, line + got, sizeof(line) - 1 - got);

		if (n <= 0)
			break;
		got += n;
		if (memchr(line, '\n', got))
			break;
	}
	line[got] = 0;
	close(fd);
	if (!strstr(line, "\"ok\":true")) {
		fprintf(stderr, "pipeline: the scheduler says: %s\n", line);
		exit(1);
	}
	if (getenv("PIPELINE_VERBOSE"))
		fprintf(stderr, "%s", line);
}

int main(int argc, char **argv)
{
	pthread_t threads[MAX_THREADS];
	double time[2], announced = 0;
	long turns[2] = { 0, 0 };

	if (argc != 4 && argc != 7)
		die(2, "wants THREADS ITERATIONS CPU [SOCKET FORWARD BACKWARD]");
	nr_threads = atoi(argv[1]);
	iterations = atol(argv[2]);
	cpu = atoi(argv[3]);
	if (nr_threads < 1 || nr_threads > MAX_THREADS)
		die(2, "1 to 256 threads");
	if (argc == 7)
		socket_path = argv[4];
	pin(cpu == 0 ? 1 : 0);
	pthread_barrier_init(&gate, NULL, nr_threads + 1);
	if (socket_path)
		announce(argv[5]);
	for (long i = 0; i < nr_threads; i++) {
		errno = pthread_create(&threads[i], NULL, stage, (void *)i);
		if (errno)
			die(1, "creating a thread");
	}
	for (int phase = 0; phase < 2; phase++) {
		double start;

		if (phase == 1 && socket_path) {
			start = now_us();
			announce(argv[6]);
			announced = now_us() - start;
		}
		atomic_store(&turn, 0);
		/* Let all threads reach the gate: no phase begins with some of them still being born. */
		usleep(20000);
		start = now_us();
		pthread_barrier_wait(&gate);
		pthread_barrier_wait(&gate);
		time[phase] = now_us() - start;
	}
	for (int i = 0; i < nr_threads; i++) {
		pthread_join(threads[i], NULL);
		turns[0] += switches[0][i];
		turns[1] += switches[1][i];
	}
	printf("%d,%ld,%.0f,%.0f,%.0f,%ld,%ld\n", nr_threads, iterations, time[0], announced,
	       time[1], turns[0], turns[1]);
	return 0;
}
