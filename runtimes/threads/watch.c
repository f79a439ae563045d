/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Bound threads that sleep in the kernel without the runtime's knowledge: in a call that is not wrapped, a system call of the program's own, a page
 * fault. They must not keep their CPU (docs/decisions/0184).
 *
 * One thread looks at the holders of the CPUs every PERIOD_NS, by the clock of their CPU time, which one cheap call reads. A holder whose clock
 * stands since the last look, and of which the kernel says that it sleeps, loses the CPU: its task is blocked on its behalf, and
 * the next thread gets the CPU. It is *astray* from then on. It learns so when it enters the runtime the next time, and waits for a CPU; if
 * it runs and does not enter, the next look finds that, and a signal tells it. It is never signalled while it sleeps, so its call does not fail.
 *
 * Taking a CPU from a thread that does not take part: the taker announces itself in the thread's `lost`, and makes all processors pass a barrier. From
 * then on the thread either is in the runtime already (`disabled` is set: the taker goes back), or it finds `lost` set when it enters, and waits
 * until the taker is done.
 */
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "remote.h"

#define PERIOD_NS 4000000ull
#define LAZY	  16u /* looks in a row that find no holder; then it sleeps until there is one */
#define STACK	  (64u << 10)

static struct {
	u32 lock;   /* of threads' `self`: such a thread does not end */
	u32 asleep; /* (a) futex */
	u32 running;
	pthread_t thread;
} wa;

/* --- what the kernel says --------------------------------------------------------------------------------------- */

/* CPU time of a thread of this process, ns; 0: it is gone. */
static u64 clock_of(int tid)
{
	struct timespec t;
	clockid_t clock = (clockid_t)(~(u32)tid << 3 | 6u);

	if (clock_gettime(clock, &t))
		return 0;
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

/* The letter of /proc; 'X': it is gone. */
char state_of(int pid, int tid)
{
	char path[64], text[256];
	ssize_t n;
	char *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 'X';
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return 'X';
	text[n] = 0;
	end = strrchr(text, ')');
	return end && end[1] == ' ' ? end[2] : 'X';
}

static int sleeps(const struct weir_thread *t)
{
	char state = state_of(getpid(), t->tid);

	return state == 'S' || state == 'D' || state == 'I';
}

/* --- taking a CPU ------------------------------------------------------------------------------------------------ */

/* The thread has not been in the runtime since it saw `lost`. */
static __attribute__((noinline, no_sanitize("thread"))) int is_outside(const struct self *s,
								       const struct cpu *c)
{
	return !*(volatile const u32 *)&s->disabled && *(struct cpu *const volatile *)&s->cpu == c;
}

static __attribute__((noinline, no_sanitize("thread"))) void has_none(struct self *s)
{
	*(struct cpu *volatile *)&s->cpu = 0;
}

/* The caller acts for @t, which has @c and takes no part. */
static void take_for(struct weir_thread *t, struct cpu *c)
{
	static const struct itimerspec never;
	struct self *s = me();

	hold();
	s->cpu = c;
	/* The end of the slice would interrupt its call. */
	t->armed = 0;
	timer_settime(t->timer, 0, &never, 0);
	if (weir_load(&tracing) && !rt.joined)
		trace(c, 0, LEFT_BLOCKED);
	count(&c->n.blocks);
	count(&c->n.strays);
	__atomic_store_n(&t->deallocations, t->deallocations + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&t->astray, 1, __ATOMIC_SEQ_CST);
	task_block(c, t);
	__atomic_store_n(&t->cpu, -1, __ATOMIC_RELAXED);
	has_not(c, t);
	cpu_leave(c);
	s->cpu = 0;
	release();
}

static void take(struct weir_thread *t, struct cpu *c)
{
	struct self *s;

	hold();
	spin(&wa.lock);
	s = t->self;
	if (s && __atomic_load_n(&c->bound, __ATOMIC_SEQ_CST) == t) {
		__atomic_store_n(&s->lost, LOST_ASKED, __ATOMIC_SEQ_CST);
		syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
		if (is_outside(s, c) && sleeps(t)) {
			has_none(s);
			take_for(t, c);
			__atomic_store_n(&s->lost, LOST_TAKEN, __ATOMIC_SEQ_CST);
		} else {
			__atomic_store_n(&s->lost, LOST_NOT, __ATOMIC_SEQ_CST);
		}
	}
	unspin(&wa.lock);
	release();
}

/* The calling thread, which enters the runtime with `lost` set, and is disabled once. */
__attribute__((noinline)) void lost_point(void)
{
	struct self *s = me();
	struct weir_thread *t = s->thread;
	u32 spins = 0;

	while (__atomic_load_n(&s->lost, __ATOMIC_SEQ_CST) == LOST_ASKED)
		weir_port_relax(spins++);
	if (__atomic_load_n(&s->lost, __ATOMIC_SEQ_CST) != LOST_TAKEN)
		return;
	__atomic_store_n(&s->lost, LOST_NOT, __ATOMIC_SEQ_CST);
	s->cpu = 0;
	__atomic_store_n(&t->astray, 0, __ATOMIC_SEQ_CST);
	task_unblock(t);
	bound_wait(t);
}

/*
 * The end of the slice interrupts a call in which the caller sleeps: it gives up the CPU and goes back to sleep without one. Disabled, and has a
 * CPU.
 */
void go_astray(void)
{
	struct self *s = me();
	struct weir_thread *t = s->thread;
	struct cpu *c = s->cpu;

	if (weir_load(&tracing) && !rt.joined)
		trace(c, 0, LEFT_BLOCKED);
	count(&c->n.blocks);
	count(&c->n.strays);
	__atomic_store_n(&t->deallocations, t->deallocations + 1, __ATOMIC_RELAXED);
	t->ran = clock_of(t->tid);
	__atomic_store_n(&t->astray, 1, __ATOMIC_SEQ_CST);
	task_block(c, t);
	__atomic_store_n(&t->cpu, -1, __ATOMIC_RELAXED);
	has_not(c, t);
	s->cpu = 0;
	cpu_leave(c);
	__atomic_store_n(&s->lost, LOST_TAKEN, __ATOMIC_SEQ_CST);
	watch_wake_up();
}

void watch_leaves(struct weir_thread *t)
{
	hold();
	spin(&wa.lock);
	t->self = 0;
	unspin(&wa.lock);
	release();
}

/* --- looking ------------------------------------------------------------------------------------------------------- */

/* Whether the CPU has a bound thread. */
static int look_at(struct cpu *c)
{
	struct weir_thread *t = __atomic_load_n(&c->bound, __ATOMIC_SEQ_CST);
	u64 turn, ran;

	if (!t)
		return 0;
	turn = __atomic_load_n(&t->deallocations, __ATOMIC_RELAXED);
	ran = clock_of(t->tid);
	if (c->seen == t && c->seen_turn == turn && c->seen_ran == ran && ran && sleeps(t)) {
		t->ran = ran;
		take(t, c);
	}
	c->seen = t;
	c->seen_turn = turn;
	c->seen_ran = ran;
	return 1;
}

/* Threads without a CPU that run again. */
static int look_for_strays(void)
{
	struct weir_thread *t;
	int some = 0;

	for (u32 i = 0; (t = record_at(i)); i++) {
		u64 ran;

		if (!__atomic_load_n(&t->astray, __ATOMIC_SEQ_CST))
			continue;
		some = 1;
		ran = clock_of(t->tid);
		if (ran == t->ran || sleeps(t))
			continue;
		syscall(SYS_tgkill, getpid(), t->tid, rt.signal);
	}
	return some;
}

static void *watches(void *arg)
{
	u64 at = now();
	u32 idle = 0;

	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
	prctl(PR_SET_NAME, "weir-watch");
	while (!__atomic_load_n(&rt.stop, __ATOMIC_ACQUIRE)) {
		struct timespec t;
		int some;

		at = at + PERIOD_NS > now() ? at + PERIOD_NS : now() + PERIOD_NS / 2;
		t = (struct timespec){ .tv_sec = (time_t)(at / 1000000000ull),
				       .tv_nsec = (long)(at % 1000000000ull) };
		syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
		some = look_for_strays();
		for (u32 i = 0; i < rt.nr_cpus; i++)
			some |= look_at(&rt.cpus[i]);
		idle = some ? 0 : idle + 1;
		if (idle < LAZY)
			continue;
		idle = 0;
		__atomic_store_n(&wa.asleep, 1, __ATOMIC_SEQ_CST);
		some = look_for_strays();
		for (u32 i = 0; i < rt.nr_cpus; i++)
			some |= __atomic_load_n(&rt.cpus[i].bound, __ATOMIC_SEQ_CST) != 0;
		while (!some && __atomic_load_n(&wa.asleep, __ATOMIC_SEQ_CST) &&
		       !__atomic_load_n(&rt.stop, __ATOMIC_ACQUIRE))
			futex_wait(&wa.asleep, 1, NEVER);
		__atomic_store_n(&wa.asleep, 0, __ATOMIC_SEQ_CST);
	}
	return 0;
}

/* There is something to look at. */
void watch_wake_up(void)
{
	if (__atomic_load_n(&wa.asleep, __ATOMIC_SEQ_CST) &&
	    __atomic_exchange_n(&wa.asleep, 0, __ATOMIC_SEQ_CST))
		futex_wake(&wa.asleep, 1);
}

int watch_start(void)
{
	/* The sanitizer does not know the barrier, and takes what it orders for races. */
#if !defined(__SANITIZE_THREAD__)
	wa.asleep = 0;
	wa.running = !quiet_thread(&wa.thread, STACK, watches, 0);
	return wa.running ? 0 : -EAGAIN;
#else
	return 0;
#endif
}

/* rt.stop is set. */
void watch_stop(void)
{
	if (!wa.running)
		return;
	__atomic_store_n(&wa.asleep, 0, __ATOMIC_SEQ_CST);
	futex_wake(&wa.asleep, 1);
	pthread_join(wa.thread, 0);
	wa.running = 0;
}

void watch_forked(void)
{
	memset(&wa, 0, sizeof(wa));
}
