/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What threads cost on this machine: `weir-doctor` prints one JSON object, which `runweir doctor` explains. Medians, in ns, of the mechanisms
 * that the thread library is made of; a figure is null where the machine has only one CPU.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rt.h"

#define SAMPLES 400u

u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

static int cpus[2];
static u64 samples[SAMPLES];

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static double percentile(u32 n, u32 p)
{
	qsort(samples, n, sizeof(*samples), by_value);
	return n ? (double)samples[(u64)(n - 1) * p / 100] : 0;
}

static int first = 1;

static void figure(const char *name, double value, int known)
{
	printf(first ? "{\"%s\":" : ",\"%s\":", name);
	if (known)
		printf("%.1f", value);
	else
		printf("null");
	first = 0;
}

/* --- one CPU ------------------------------------------------------------------------------------------------ */

static void *here, *there;

static void other_stack(void)
{
	for (;;)
		weir_switch(&there, here);
}

static double switch_cost(void)
{
	enum { N = 200000 };
	char *stack = aligned_alloc(64, 65536);
	u64 from;

	there = stack ? weir_first_frame(stack + 65536, other_stack) : 0;
	if (!there)
		return 0;
	from = now();
	for (int i = 0; i < N; i++)
		weir_switch(&here, there);
	return (double)(now() - from) / N / 2;
}

static double clock_cost(void)
{
	enum { N = 200000 };
	u64 from = now();

	for (int i = 0; i < N; i++)
		(void)now();
	return (double)(now() - from) / N;
}

static volatile u64 fired;

static void on_expiry(int sig)
{
	(void)sig;
	fired = now();
}

static timer_t make_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG };
	struct sigaction action = { .sa_handler = on_expiry, .sa_flags = SA_RESTART };
	timer_t t;

	event._sigev_un._tid = gettid();
	sigaction(SIGURG, &action, 0);
	if (timer_create(CLOCK_MONOTONIC, &event, &t))
		abort();
	return t;
}

static void set_timer(timer_t timer, u64 in)
{
	struct itimerspec t = { .it_value = { .tv_sec = (time_t)(in / 1000000000ull),
					      .tv_nsec = (long)(in % 1000000000ull) } };

	timer_settime(timer, 0, &t, 0);
}

static double arming_cost(timer_t timer)
{
	enum { N = 5000 };
	u64 from = now();

	for (u64 i = 0; i < N; i++)
		set_timer(timer, 1000000000ull + i);
	from = now() - from;
	set_timer(timer, 0);
	return (double)from / N;
}

/* A loop only reads the clock: the gap between two readings in which the timer fired. */
static void expiry(timer_t timer, double *stolen, double *late)
{
	static u64 lates[SAMPLES];
	u32 n = 0;

	for (u32 i = 0; i < SAMPLES; i++) {
		u64 at, was, seen;

		fired = 0;
		at = now() + 1000000;
		set_timer(timer, 1000000);
		was = now();
		for (;;) {
			seen = now();
			if (fired || seen > at + 50000000)
				break;
			was = seen;
		}
		/* It came before or after the clock was read, so the gap is from the reading before to one after it. */
		seen = now();
		if (!fired)
			continue;
		lates[n] = fired > at ? fired - at : 0;
		samples[n++] = seen - was;
	}
	*stolen = percentile(n, 50);
	for (u32 i = 0; i < n; i++)
		samples[i] = lates[i];
	*late = percentile(n, 99);
}

/* --- between threads -------------------------------------------------------------------------------------------- */

static u32 word, answer, quit;
static u64 woken_at;

static void wait_on(u32 *w, u32 value)
{
	syscall(SYS_futex, w, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, 0, 0, 0);
}

static void wake_on(u32 *w)
{
	syscall(SYS_futex, w, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0);
}

static void *sleeper(void *arg)
{
	pin_to(*(int *)arg);
	for (u32 i = 0;; i++) {
		while (__atomic_load_n(&word, __ATOMIC_ACQUIRE) == i)
			wait_on(&word, i);
		woken_at = now();
		if (__atomic_load_n(&quit, __ATOMIC_ACQUIRE))
			return 0;
		__atomic_store_n(&answer, i + 1, __ATOMIC_RELEASE);
		wake_on(&answer);
	}
}

static void wake_up(int cpu, double *latency, double *price)
{
	static u64 prices[SAMPLES];
	pthread_t t;
	u32 i;

	word = answer = quit = 0;
	pthread_create(&t, 0, sleeper, &cpu);
	for (i = 0; i < SAMPLES; i++) {
		struct timespec pause = { .tv_nsec = 200000 };
		u64 from;

		nanosleep(&pause, 0); /* until it sleeps */
		from = now();
		__atomic_store_n(&word, i + 1, __ATOMIC_RELEASE);
		wake_on(&word);
		prices[i] = now() - from;
		while (__atomic_load_n(&answer, __ATOMIC_ACQUIRE) == i)
			wait_on(&answer, i);
		samples[i] = woken_at > from ? woken_at - from : 0;
	}
	quit = 1;
	__atomic_store_n(&word, i + 1, __ATOMIC_RELEASE);
	wake_on(&word);
	pthread_join(t, 0);
	*latency = percentile(SAMPLES, 50);
	for (i = 0; i < SAMPLES; i++)
		samples[i] = prices[i];
	*price = percentile(SAMPLES, 50);
}

static struct {
	u64 to __attribute__((aligned(64)));
	u64 back __attribute__((aligned(64)));
} lines;

#define ROUNDS 20000ull

static void *poller(void *arg)
{
	pin_to(*(int *)arg);
	for (u64 i = 1; i <= ROUNDS; i++) {
		u32 spins = 0;

		while (__atomic_load_n(&lines.to, __ATOMIC_ACQUIRE) != i)
			if (++spins % 4096 == 0)
				sched_yield();
		__atomic_store_n(&lines.back, i, __ATOMIC_RELEASE);
	}
	return 0;
}

static double message(void)
{
	pthread_t t;
	u64 best = ~0ull;

	pthread_create(&t, 0, poller, &cpus[1]);
	for (u64 i = 1; i <= ROUNDS; i++) {
		u64 from = i % 1000 == 1 ? now() : 0;
		u32 spins = 0;
		static u64 began;

		if (from)
			began = from;
		__atomic_store_n(&lines.to, i, __ATOMIC_RELEASE);
		while (__atomic_load_n(&lines.back, __ATOMIC_ACQUIRE) != i)
			if (++spins % 4096 == 0)
				sched_yield();
		if (i % 1000 == 0 && now() - began < best)
			best = now() - began;
	}
	pthread_join(t, 0);
	return (double)best / 1000 / 2;
}

int main(void)
{
	double stolen, late, latency = 0, price = 0, same, same_price;
	cpu_set_t set;
	timer_t timer;
	int nr = 0;

	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &set)) {
			if (nr < 2)
				cpus[nr] = i;
			nr++;
		}
	pin_to(cpus[0]);
	prctl(PR_SET_TIMERSLACK, 1);
	timer = make_timer();
	figure("cpus", nr, 1);
	figure("clock_ns", clock_cost(), 1);
	figure("switch_ns", switch_cost(), 1);
	figure("arm_ns", arming_cost(timer), 1);
	expiry(timer, &stolen, &late);
	timer_delete(timer);
	figure("expiry_ns", stolen, 1);
	figure("expiry_late_p99_ns", late, 1);
	wake_up(cpus[0], &same, &same_price);
	figure("wake_same_cpu_ns", same, 1);
	if (nr > 1)
		wake_up(cpus[1], &latency, &price);
	figure("wake_other_cpu_ns", latency, nr > 1);
	figure("wake_price_ns", price, nr > 1);
	figure("message_ns", nr > 1 ? message() : 0, nr > 1);
	printf("}\n");
	return 0;
}
