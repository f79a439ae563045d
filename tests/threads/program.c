/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program that knows nothing of Runweir, for the preloaded library: `program`. Its threads wait in every way that POSIX offers. It prints how many
 * rounds they made, and one line at the end.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REQUIRE(cond)                                                               \
	do {                                                                        \
		if (!(cond)) {                                                      \
			fprintf(stderr, "program: line %d: %s\n", __LINE__, #cond); \
			exit(1);                                                    \
		}                                                                   \
	} while (0)

#define NR     8
#define ROUNDS 300

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static int turn, pair[2];
static long plain, order;
static __thread long own;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void spin_for(double s)
{
	double until = seconds() + s;

	while (seconds() < until)
		;
}

static void *work(void *arg)
{
	long me = (long)arg;

	for (long i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != me)
			pthread_cond_wait(&cond, &mutex);
		turn = (turn + 1) % NR;
		plain++;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&mutex);
		own += me;
		if (i % 50 == me) {
			char *memory = malloc(1000);

			usleep(100);
			sched_yield();
			free(memory);
		}
	}
	REQUIRE(own == me * ROUNDS);
	pthread_barrier_wait(&barrier);
	sem_post(&sem);
	return (void *)own;
}

static void *reader(void *arg)
{
	char c;

	REQUIRE(read(pair[0], &c, 1) == 1 && c == 'x');
	return arg;
}

/* One that never gives way, and one that has to come in nevertheless. */
static void *computes(void *arg)
{
	spin_for(0.2);
	return arg;
}

static void *ends(void *arg)
{
	pthread_exit(arg);
}

int main(void)
{
	pthread_t t[NR], r;
	struct timespec at;
	cpu_set_t set;
	void *result;
	int status;
	pid_t child;

	REQUIRE(!sched_getaffinity(0, sizeof(set), &set) &&
		CPU_COUNT(&set) == sysconf(_SC_NPROCESSORS_ONLN));
	REQUIRE(!pthread_barrier_init(&barrier, 0, NR) && !sem_init(&sem, 0, 0));
	for (long i = 0; i < NR; i++)
		REQUIRE(!pthread_create(&t[i], 0, work, (void *)i));
	for (int i = 0; i < NR; i++)
		sem_wait(&sem);
	for (long i = 0; i < NR; i++)
		REQUIRE(!pthread_join(t[i], &result) && result == (void *)(i * ROUNDS));
	REQUIRE(plain == NR * ROUNDS);

	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	REQUIRE(!pthread_create(&r, 0, reader, (void *)7));
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_create(&t[i], 0, computes, 0));
	usleep(1000);
	REQUIRE(write(pair[1], "x", 1) == 1);
	REQUIRE(!pthread_join(r, &result) && result == (void *)7);
	for (int i = 0; i < 3; i++)
		REQUIRE(!pthread_join(t[i], 0));

	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_nsec += 5000000;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	pthread_mutex_lock(&mutex);
	REQUIRE(pthread_cond_timedwait(&cond, &mutex, &at) == ETIMEDOUT);
	pthread_mutex_unlock(&mutex);
	REQUIRE(sem_trywait(&sem) == -1 && errno == EAGAIN);
	/* An end by pthread_exit(), and threads that nobody joins. */
	REQUIRE(!pthread_create(&r, 0, ends, (void *)9) && !pthread_join(r, &result) &&
		result == (void *)9);
	for (int i = 0; i < 20; i++)
		REQUIRE(!pthread_create(&r, 0, ends, 0) && !pthread_detach(r));
	child = fork();
	if (!child) {
		REQUIRE(!pthread_create(&r, 0, ends, (void *)3) && !pthread_join(r, &result) &&
			result == (void *)3);
		_exit(5);
	}
	REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		WEXITSTATUS(status) == 5);
	(void)order;
	puts("program: done");
	return 0;
}
