/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program that knows nothing of Runweir, for the preloaded library: `program`. Its threads wait in every way that POSIX offers. It prints how many
 * rounds they made, and one line at the end. `program wait`: it starts three threads, prints a line, and waits for ever.
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
#include <threads.h>
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

/* --- with a time limit, and by the names of C11 ----------------------------------------------------------------- */

static struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

/* What main holds cannot be had in time. */
static void *is_late(void *arg)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 5), u = in_ms(CLOCK_MONOTONIC, 5);

	REQUIRE(pthread_mutex_timedlock(&mutex, &t) == ETIMEDOUT);
	REQUIRE(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &u) == ETIMEDOUT);
	REQUIRE(pthread_rwlock_timedrdlock(&rwlock, &t) == ETIMEDOUT);
	REQUIRE(pthread_rwlock_timedwrlock(&rwlock, &t) == ETIMEDOUT);
	REQUIRE(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &u) == ETIMEDOUT);
	REQUIRE(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, &u) == ETIMEDOUT);
	REQUIRE(sem_clockwait(&sem, CLOCK_MONOTONIC, &u) == -1 && errno == ETIMEDOUT);
	return arg;
}

static void time_limits(void)
{
	struct timespec t;
	void *result;
	pthread_t r;

	pthread_mutex_lock(&mutex);
	pthread_rwlock_wrlock(&rwlock);
	REQUIRE(!pthread_create(&r, 0, is_late, (void *)4));
	t = in_ms(CLOCK_REALTIME, 60000);
	REQUIRE(!pthread_timedjoin_np(r, &result, &t) && result == (void *)4);
	pthread_mutex_unlock(&mutex);
	pthread_rwlock_unlock(&rwlock);
	t = in_ms(CLOCK_REALTIME, 60000);
	REQUIRE(!pthread_mutex_timedlock(&mutex, &t) && !pthread_mutex_unlock(&mutex));
	REQUIRE(!pthread_rwlock_timedwrlock(&rwlock, &t) && !pthread_rwlock_unlock(&rwlock));
}

static mtx_t c11_mutex;
static cnd_t c11_cond;
static int c11_turn;

static int takes_turns(void *arg)
{
	int me = (int)(long)arg;

	for (int i = 0; i < 50; i++) {
		REQUIRE(mtx_lock(&c11_mutex) == thrd_success);
		while (c11_turn % 3 != me)
			REQUIRE(cnd_wait(&c11_cond, &c11_mutex) == thrd_success);
		c11_turn++;
		cnd_broadcast(&c11_cond);
		mtx_unlock(&c11_mutex);
		thrd_yield();
	}
	thrd_sleep(&(struct timespec){ .tv_nsec = 1000000 }, 0);
	return -me;
}

static void c11(void)
{
	struct timespec t = in_ms(CLOCK_REALTIME, 5);
	thrd_t thread[3];
	int result;

	REQUIRE(mtx_init(&c11_mutex, mtx_timed) == thrd_success);
	REQUIRE(cnd_init(&c11_cond) == thrd_success);
	for (long i = 0; i < 3; i++)
		REQUIRE(thrd_create(&thread[i], takes_turns, (void *)i) == thrd_success);
	for (int i = 0; i < 3; i++)
		REQUIRE(thrd_join(thread[i], &result) == thrd_success && result == -i);
	REQUIRE(c11_turn == 150);
	REQUIRE(mtx_timedlock(&c11_mutex, &t) == thrd_success);
	REQUIRE(cnd_timedwait(&c11_cond, &c11_mutex, &t) == thrd_timedout);
	mtx_unlock(&c11_mutex);
}

static void *pauses(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[NR], r;
	struct timespec at;
	cpu_set_t set;
	void *result;
	int status;
	pid_t child;

	if (argc > 1 && !strcmp(argv[1], "wait")) {
		for (int i = 0; i < 3; i++)
			REQUIRE(!pthread_create(&r, 0, pauses, 0));
		puts("program: waits");
		fflush(stdout);
		pauses(0);
	}
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
	child = fork();
	if (!child) {
		REQUIRE(!pthread_create(&r, 0, ends, (void *)3) && !pthread_join(r, &result) &&
			result == (void *)3);
		_exit(5);
	}
	REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		WEXITSTATUS(status) == 5);
	time_limits();
	c11();
	/* Behind the fork: AddressSanitizer of gcc 12 leaves its allocator locked in the child if another thread is in it, under Linux as well. */
	for (int i = 0; i < 20; i++)
		REQUIRE(!pthread_create(&r, 0, ends, 0) && !pthread_detach(r));
	(void)order;
	puts("program: done");
	return 0;
}
