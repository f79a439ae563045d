/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Waiting. A member that waits for others spins while they run, because the wait is short. When one of them has no CPU, spinning only
 * keeps it from getting one, so the waiter sleeps and the policy gets the CPU. Without a policy the library does not know which threads
 * run, and spins for a limited time.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "gomp.h"

/* Absent where the thread library is not in the process. */
#pragma weak weir_thread_self
#pragma weak weir_thread_cpu
#pragma weak weir_disable
#pragma weak weir_enable
#pragma weak weir_wait_on
#pragma weak weir_wake_on
#pragma weak weir_rt_stats

#define ROUND	   64u
#define CROWDED_NS 5000u /* with more threads than CPUs: the time of a system call or two */

u64 now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#else
	__asm__ volatile("" ::: "memory");
#endif
}

void fatal(const char *what)
{
	fprintf(stderr, "weir-gomp: %s\n", what);
	abort();
}

void *fresh(size_t bytes)
{
	void *p = 0;

	if (posix_memalign(&p, LINE, (bytes + LINE - 1) & ~(size_t)(LINE - 1)))
		fatal("no memory");
	memset(p, 0, bytes);
	return p;
}

weir_thread *own_thread(void)
{
	return weir_thread_self ? weir_thread_self() : 0;
}

/* The policy's CPUs, or those that the process may use. */
u32 nr_procs(void)
{
	cpu_set_t cpus;

	if (own_thread()) {
		struct weir_rt_stats s;

		weir_rt_stats(&s);
		if (s.cpus)
			return s.cpus;
	}
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 1;
	return (u32)CPU_COUNT(&cpus);
}

/* A thread preempted within a few instructions under a lock would make spinning threads wait for a slice. */
void keep_cpu(void)
{
	if (weir_disable)
		weir_disable();
}

void free_cpu(void)
{
	if (weir_enable)
		weir_enable();
}

static void sleep_on(u32 *word, u32 value)
{
	if (weir_wait_on)
		weir_wait_on(word, value, WEIR_FOREVER);
	else
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, 0, 0, 0);
}

static void wake_on(u32 *word, u32 n)
{
	if (weir_wake_on)
		weir_wake_on(word, n);
	else
		syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, 0, 0, 0);
}

void lock(u32 *word)
{
	u32 tries = 0;

	keep_cpu();
	while (__atomic_exchange_n(word, 1, __ATOMIC_ACQUIRE)) {
		while (glance(word)) {
			relax();
			if (++tries % 1024 == 0)
				syscall(SYS_sched_yield);
		}
	}
}

void unlock(u32 *word)
{
	set(word, 0);
	free_cpu();
}

/* 0: free, 1: taken, 2: taken and a thread may sleep. */
int mutex_trylock(u32 *word)
{
	u32 zero = 0;

	return cas(word, &zero, 1);
}

void mutex_lock(u32 *word)
{
	if (mutex_trylock(word))
		return;
	for (u32 i = 0; i < ROUND; i++) {
		relax();
		if (!glance(word) && mutex_trylock(word))
			return;
	}
	while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE))
		sleep_on(word, 2);
}

void mutex_unlock(u32 *word)
{
	if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
		wake_on(word, 1);
}

/*
 * Whether a member has not arrived and cannot, because it has no CPU. A member that waits for the same event does not count;
 * one whose event has come, but which has no CPU yet, does.
 */
static int someone_is_away(struct member *m, u32 seen)
{
	struct team *t = m->team;

	if (!glance(&m->thread))
		return 0;
	for (u32 i = 0; i < t->n; i++) {
		struct member *other = t->member[i];
		weir_thread *thread = glance(&other->thread);

		if (other != m && thread && weir_thread_cpu(thread) < 0 &&
		    !(glance(&other->waiting) && glance(&other->awaits) == seen))
			return 1;
	}
	return 0;
}

void event_wait(struct event *e, u32 seen, struct member *m)
{
	u64 limit = env.spin_ns, until = 0;

	if (limit > CROWDED_NS && env.policy <= 0 && !own_thread() && glance(&crowd) > env.procs)
		limit = CROWDED_NS;
	if (m) {
		__atomic_store_n(&m->awaits, seen, __ATOMIC_RELAXED);
		__atomic_store_n(&m->waiting, 1, __ATOMIC_RELAXED);
	}
	while (limit) {
		for (u32 i = 0; i < ROUND; i++) {
			if (get(&e->word) != seen)
				goto out;
			relax();
		}
		if (m && someone_is_away(m, seen))
			break;
		if (!until)
			until = limit == WEIR_FOREVER ? limit : now_ns() + limit;
		else if (until != WEIR_FOREVER && now_ns() >= until)
			break;
	}
	__atomic_fetch_add(&e->sleepers, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&e->word, __ATOMIC_SEQ_CST) == seen)
		sleep_on(&e->word, seen);
	__atomic_fetch_sub(&e->sleepers, 1, __ATOMIC_RELAXED);
out:
	if (m)
		__atomic_store_n(&m->waiting, 0, __ATOMIC_RELAXED);
}

void event_bump(struct event *e)
{
	__atomic_fetch_add(&e->word, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&e->sleepers, __ATOMIC_SEQ_CST))
		wake_on(&e->word, INT32_MAX);
}
