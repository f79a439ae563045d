/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * CPUs, and the threads that hold them.
 *
 * One POSIX thread at a time holds each CPU of the policy: a bound thread, or the CPU's driver, which is pinned to it and runs green
 * threads or idles. Only the holder calls the core in the CPU's name. A holder that gives up the CPU chooses the next thread and opens
 * its gate. Threads that hold no CPU take turns to call in the name of one more CPU, which runs nothing.
 *
 * A thread is preempted by a signal: from its holder's timer when its slice is over, from another thread when the policy says so. The
 * handler gives up the CPU right there: the registers, floating-point and vector ones included, lie in the kernel's frame on the thread's own
 * stack, and the return from the handler restores them on whichever CPU the thread resumes. While `disabled` is set, or in code
 * that may not be interrupted, the signal only sets `pending`; the thread checks that when it clears `disabled`.
 */
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "remote.h"

#define FAULT_STACK (32u << 10) /* a frame with all vector registers, and room to print */
#define RETRY_NS    100000ull	/* until another attempt at a thread that could not be preempted, */
#define RETRIES	    6u		/* doubled with each further one, this often at most */
/* A timer that was due so long ago has fired, and a handler of the program has not returned to ours, or took its place. */
#define LOST_NS 100000000ull
#define WINDOW_NS \
	20000u	  /* what a wake-up costs: polling for as long costs at most twice the best */
#define PROBE 64u /* sleeps before polling is tried again after it found nothing */

struct rt rt;
static __thread struct self self;

/* A thread may return from any call that switches on another CPU, so the address is not kept across such a call. */
__attribute__((noinline)) struct self *me(void)
{
	__asm__ volatile("");
	return &self;
}

u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

static int word_wait(u32 *word, u32 value, u64 at, int flags)
{
	struct timespec t = { .tv_sec = (time_t)(at / 1000000000ull),
			      .tv_nsec = (long)(at % 1000000000ull) };

	if (syscall(SYS_futex, word, FUTEX_WAIT_BITSET | flags, value, at == NEVER ? 0 : &t, 0,
		    FUTEX_BITSET_MATCH_ANY))
		return -errno;
	return 0;
}

/* Wait until the word differs from @value, a wake, a signal or @at (NEVER: no limit). */
int futex_wait(u32 *word, u32 value, u64 at)
{
	return word_wait(word, value, at, FUTEX_PRIVATE_FLAG);
}

int shared_wait(u32 *word, u32 value, u64 at)
{
	return word_wait(word, value, at, 0);
}

void shared_wake(u32 *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, 0, 0, 0);
}

void futex_wake(u32 *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n, 0, 0, 0);
}

void spin(u32 *lock)
{
	weir_spin_lock(lock);
}

void unspin(u32 *lock)
{
	weir_spin_unlock(lock);
}

/* errno has another address on another CPU. */
__attribute__((noinline)) void set_errno(int value)
{
	__asm__ volatile("");
	errno = value;
}

__attribute__((noinline)) int get_errno(void)
{
	__asm__ volatile("");
	return errno;
}

void release_as(struct self *s)
{
	__asm__ volatile("" ::: "memory");
	if (--s->disabled == 0 && s->pending)
		preempt_point();
}

void release(void)
{
	release_as(me());
}

u32 core_enter(void)
{
	struct self *s = hold();

	if (s->cpu)
		return s->cpu->id;
	spin(&rt.out_lock);
	return rt.nr_cpus;
}

void core_leave(u32 cpu)
{
	if (cpu == rt.nr_cpus)
		unspin(&rt.out_lock);
	release();
}

/* --- what the core calls ---------------------------------------------------------------------------------- */

u64 weir_rt_now(struct weir_sched *s)
{
	(void)s;
	return now();
}

/* The CPU, which the caller has, is the driver's. */
static void drive(struct cpu *c, struct weir_thread *next)
{
	c->next = next;
	__atomic_store_n(&c->holder, c->driver, __ATOMIC_SEQ_CST);
	__atomic_store_n(&c->gate, 1, __ATOMIC_RELEASE);
	futex_wake(&c->gate, 1);
}

static void is_idle(struct cpu *c, u64 from)
{
	__atomic_store_n(&c->idle_since, from, __ATOMIC_RELAXED);
}

static void was_idle(struct cpu *c)
{
	u64 from = __atomic_load_n(&c->idle_since, __ATOMIC_RELAXED);

	is_idle(c, 0);
	__atomic_store_n(&c->n.idle_ns, c->n.idle_ns + (now() - from), __ATOMIC_RELAXED);
}

/* 1: nobody had it, and the caller has it now. */
static int take_vacant(struct cpu *c)
{
	u32 vacant = 1;

	if (!__atomic_load_n(&c->vacant, __ATOMIC_SEQ_CST) ||
	    !__atomic_compare_exchange_n(&c->vacant, &vacant, 0, 0, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		return 0;
	was_idle(c);
	return 1;
}

void kick(struct cpu *c)
{
	if (__atomic_exchange_n(&c->kicked, 1, __ATOMIC_SEQ_CST))
		return;
	__atomic_fetch_add(&c->n.kicks, 1, __ATOMIC_RELAXED);
	if (take_vacant(c)) {
		struct self *s = me();

		if (s->returns && !s->took)
			s->took = c;
		else
			drive(c, 0);
		return;
	}
	if (__atomic_load_n(&c->asleep, __ATOMIC_SEQ_CST))
		futex_wake(&c->kicked, 1);
}

void send_own(int pid, int tid)
{
	siginfo_t info = { .si_signo = rt.signal, .si_code = SI_QUEUE };

	info.si_pid = getpid();
	info.si_value.sival_ptr = OWN_MARK;
	syscall(SYS_rt_tgsigqueueinfo, pid, tid, rt.signal, &info);
}

/* The CPU is to choose again: signal its holder; a thread that gets the CPU meanwhile sees `resched`. */
void interrupt(struct cpu *c)
{
	struct self *s = me();

	__atomic_store_n(&c->resched, 1, __ATOMIC_SEQ_CST);
	if (c->isa)
		return; /* its server asks for it */
	if (__atomic_load_n(&c->remote, __ATOMIC_SEQ_CST))
		remote_interrupt(c);
	else if (s->cpu == c)
		s->pending = 1;
	else
		send_own(getpid(), __atomic_load_n(&c->holder, __ATOMIC_SEQ_CST));
}

void weir_rt_message(struct weir_sched *s, const struct weir_msg *msg)
{
	(void)s;
	if (msg->topic == WEIR_TOPIC_DEADLINE_MISS) {
		__atomic_fetch_add(&rt.misses, 1, __ATOMIC_RELAXED);
		return;
	}
	if (msg->cpu >= rt.nr_cpus)
		return;
	if (msg->topic == WEIR_TOPIC_KICK)
		kick(&rt.cpus[msg->cpu]);
	else if (msg->topic == WEIR_TOPIC_PREEMPT)
		interrupt(&rt.cpus[msg->cpu]);
}

/* --- signals of an unmodified program ---------------------------------------------------------------------------- */

/* The preloaded library: a thread may be cancelled (shim.c). Null elsewhere. */
extern int weir_shim_signalled(int may_end) __attribute__((weak));

/*
 * It sends again what it has put off because the thread was disabled. If @later, all signals are blocked from then on: the return from the handler of
 * the runtime's signal unblocks them, and they interrupt the program where that one did.
 */
extern void weir_shim_raise(int later) __attribute__((weak));

/* A signal of the program came while the thread is disabled. */
WEIR_API void weir_rt_deferred(void)
{
	me()->raises = 1;
	me()->pending = 1;
}

/* --- dispatching ---------------------------------------------------------------------------------------------- */

static void arm(timer_t timer, u64 *armed, u64 at)
{
	struct itimerspec t = { .it_value = { .tv_sec = (time_t)(at / 1000000000ull),
					      .tv_nsec = (long)(at % 1000000000ull) } };

	*armed = at;
	timer_settime(timer, TIMER_ABSTIME, &t, 0);
}

#if defined(__x86_64__)
static u64 counter(void)
{
	return __builtin_ia32_rdtsc();
}

void counter_start(void)
{
	u32 a, b, c, d;

	__asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0x80000000u), "c"(0));
	if (a < 0x80000007u)
		return;
	__asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(0x80000007u), "c"(0));
	if (!(d >> 8 & 1))
		return;
	rt.clock_at = now();
	rt.counter_at = counter();
}
#else
static u64 counter(void)
{
	return 0;
}

void counter_start(void)
{
}
#endif

/* Compute the end of a slice that began by the counter. Its rate follows from the advance of counter and clock since the runtime opened. */
static void slice_settle(struct cpu *c, u64 at)
{
	u64 count = counter(), gone;

	if (c->slice_end)
		return;
	gone = count > c->slice_from && count > rt.counter_at
		       ? (u64)((unsigned __int128)(count - c->slice_from) * (at - rt.clock_at) /
			       (count - rt.counter_at))
		       : 0;
	if (gone > at)
		gone = at;
	c->slice_end = c->slice_ns > NEVER - at ? NEVER : at - gone + c->slice_ns;
}

/* A timer that fires earlier is enough: its handler arms it again. That saves a system call per switch. */
static void arm_by(struct cpu *c, struct weir_thread *t, u64 from)
{
	u64 at = weir_load(&rt.has_tick) && c->next_tick < c->slice_end ? c->next_tick
									: c->slice_end;
	u64 *armed = t->kind == WEIR_GREEN ? &c->armed : &t->armed;

	/* The driver of a thread of another process waits itself. */
	if (at == NEVER || t->kind == WEIR_REMOTE ||
	    (*armed && *armed <= at && *armed + LOST_NS > from) ||
	    (t->kind == WEIR_GREEN && !rt.preemptive))
		return;
	if (t->kind == WEIR_GREEN)
		c->armed_for = at > from ? at - from : 0;
	arm(t->kind == WEIR_GREEN ? c->timer : t->timer, armed, at);
}

/* The policy answers for each turn of @t how long it may be; @slice: it does not for this one. */
WEIR_RARE static u64 slice_asked(struct cpu *c, struct weir_thread *t, u64 slice)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_SLICE, .cpu = c->id, .task = t->task };

	return weir_ask(rt.sched, c->id, &msg) ? slice : msg.value;
}

/* The slice of @t begins by the clock, and its end is known. */
WEIR_RARE static void slice_begin(struct cpu *c, struct weir_thread *t, u64 slice)
{
	u64 from = now();

	c->slice_end = slice > NEVER - from ? NEVER : from + slice;
	if (weir_load(&rt.has_tick) && c->next_tick <= from)
		c->next_tick = from + TICK_NS;
	arm_by(c, t, from);
}

/* The policy has claimed @t for @c: its turn begins, and may be so long. */
WEIR_INLINE u64 turn_begins(struct cpu *c, struct weir_thread *t)
{
	u64 slice = weir_load(&t->task->slice_ns);

	count(&c->n.dispatches);
	if (weir_unlikely(weir_load(&tracing)))
		trace(c, t, LEFT_BEGIN);
	if (weir_unlikely(weir_load(&rt.has_slice)))
		slice = slice_asked(c, t, slice);
	if (!slice)
		slice = rt.slice_ns;
	if (weir_unlikely(slice == WEIR_SLICE_UNLIMITED) && rt.fallback)
		slice = FALLBACK_NS;
	return slice;
}

void cpu_begin(struct cpu *c, struct weir_thread *t)
{
	slice_begin(c, t, turn_begins(c, t));
}

/*
 * Before the policy is asked. An exchange costs as much as half a choice, and the word is rarely set: if another CPU sets it after the look, it
 * stays set, as if that had come after the exchange.
 */
static void clear(u32 *word)
{
	if (__atomic_load_n(word, __ATOMIC_ACQUIRE))
		__atomic_store_n(word, 0, __ATOMIC_SEQ_CST);
}

WEIR_INLINE struct weir_thread *thread_of(struct weir_task *task)
{
	return task ? (struct weir_thread *)weir_load(&task->cookie) : 0;
}

/* See chosen(): for a thread that is not green, which may be gone by now. */
WEIR_RARE static struct weir_thread *chosen_other(struct cpu *c, struct weir_task *task)
{
	struct weir_thread *t;
	int there;

	for (;; task = weir_pick(rt.sched, c->id, c->id)) {
		t = thread_of(task);
		if (t && t->kind == WEIR_WORK) {
			/* A policy that does not go by instruction sets, since a swap: nobody can do this here. */
			spin(&t->lock);
			weir_assert(!weir_relinquish(rt.sched, c->id, task));
			unspin(&t->lock);
			return 0;
		}
		if (!t || t->kind != WEIR_BOUND || !rt.fallback)
			return t;
		/* It may have left at this moment (bound_leave()). */
		spin(&t->lock);
		there = t->task == task && weir_runs(task) && weir_last_cpu(task) == c->id;
		unspin(&t->lock);
		if (there)
			return t;
	}
}

/* The policy has chosen @task, or nothing: the thread whose turn it is. */
WEIR_INLINE struct weir_thread *chosen(struct cpu *c, struct weir_task *task)
{
	struct weir_thread *t = thread_of(task);

	return !t || t->kind == WEIR_GREEN ? t : chosen_other(c, task);
}

/* (Where it is inlined, a yield pays for its registers.) */
__attribute__((noinline)) struct weir_thread *cpu_choose(struct cpu *c)
{
	clear(&c->resched);
	return chosen(c, weir_pick(rt.sched, c->id, c->id));
}

WEIR_RARE void wait_for_call(struct weir_thread *t)
{
	u32 spins = 0;

	do
		weir_port_relax(spins++);
	while (__atomic_load_n(&t->lock, __ATOMIC_ACQUIRE));
}

/* See cpu_yield(): the policy is in this process. */
WEIR_INLINE struct weir_thread *yielded(struct cpu *c, struct weir_thread *t, int blocks)
{
	struct weir_task *next;

	clear(&c->resched);
	leaves(t);
	call_over(t);
	weir_assert(!weir_yield(rt.sched, c->id, t->task, blocks, &next));
	return chosen(c, next);
}

struct weir_thread *cpu_yield(struct cpu *c, struct weir_thread *t, enum left why)
{
	int blocks = why == LEFT_BLOCKED;

	if (!rt.joined)
		return yielded(c, t, blocks);
	if (blocks)
		join_block(t);
	else
		join_yield(t, why == LEFT_PREEMPTED);
	return 0;
}

/* The program is told another set, the one that it asked for. */
void set_cpus(int tid, const cpu_set_t *set)
{
	if (weir_shim_call)
		weir_shim_call(SYS_sched_setaffinity, tid, sizeof(*set), (long)set);
	else
		syscall(SYS_sched_setaffinity, tid, sizeof(*set), set);
}

void pin(int tid, u32 linux_cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(linux_cpu, &set);
	set_cpus(tid, &set);
}

/* The caller holds @c no longer. */
void cpu_give(struct cpu *c, struct weir_thread *next)
{
	__atomic_store_n(&c->bound, 0, __ATOMIC_RELAXED);
	if (next && next->kind == WEIR_BOUND) {
		__atomic_store_n(&next->cpu, (int)c->id, __ATOMIC_RELAXED);
		/* Pin it before waking it: else it would wait for the CPU that it ran on last, only to leave it. */
		if (next->linux_cpu != c->linux_cpu) {
			pin(next->tid, c->linux_cpu);
			next->linux_cpu = c->linux_cpu;
		}
		__atomic_store_n(&c->holder, next->tid, __ATOMIC_SEQ_CST);
		__atomic_store_n(&next->gate, c->id + 1, __ATOMIC_RELEASE);
		futex_wake(&next->gate, 1);
		return;
	}
	drive(c, next);
}

void cpu_leave(struct cpu *c, struct weir_thread *next)
{
	/* The driver is in another process, which knows already. */
	if (rt.joined)
		return;
	if (!next && __atomic_load_n(&c->kicked, __ATOMIC_ACQUIRE)) {
		clear(&c->kicked);
		next = cpu_choose(c);
	}
	if (next) {
		cpu_give(c, next);
		return;
	}
	__atomic_store_n(&c->bound, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&c->holder, c->driver, __ATOMIC_SEQ_CST);
	count(&c->n.sleeps);
	is_idle(c, now());
	__atomic_store_n(&c->vacant, 1, __ATOMIC_SEQ_CST);
	/* What came before anybody could see that it has to be taken. */
	if (__atomic_load_n(&c->kicked, __ATOMIC_SEQ_CST) && take_vacant(c))
		drive(c, 0);
}

/* A thread whose policy is in another process: its timer ends its slice. */
static void joined_arm(struct weir_thread *t)
{
	if (t->slice_end != NEVER && (!t->armed || t->armed > t->slice_end))
		arm(t->timer, &t->armed, t->slice_end);
}

static void has(struct cpu *c, struct weir_thread *t)
{
	__atomic_store_n(&c->bound, t, __ATOMIC_SEQ_CST);
	watch_wake_up();
}

static void joined_wait(struct weir_thread *t)
{
	struct self *s = me();
	struct cpu *c = &rt.cpus[join_wait(t)];

	s->thread = t;
	s->cpu = c;
	has(c, t);
	count(&c->n.dispatches);
	if (weir_load(&tracing))
		trace(c, t, LEFT_BEGIN);
	t->slice_end = weir_load(&t->control->slice_end);
	joined_arm(t);
	if (join_must_go(t))
		s->pending = 1;
}

/* @t is the caller, and @c is its. */
static void begins(struct cpu *c, struct weir_thread *t)
{
	struct self *s = me();

	s->cpu = c;
	has(c, t);
	cpu_begin(c, t);
	/* A request that the policy made since it chose us was signalled to the previous thread. */
	if (__atomic_load_n(&c->resched, __ATOMIC_SEQ_CST))
		s->pending = 1;
}

/* @t is the caller: wait until it is given a CPU. */
void bound_wait(struct weir_thread *t)
{
	struct self *s = me();
	u32 gate;

	if (rt.joined) {
		joined_wait(t);
		return;
	}
	while (!(gate = __atomic_load_n(&t->gate, __ATOMIC_ACQUIRE))) {
		if (__atomic_load_n(&t->leaves, __ATOMIC_SEQ_CST) && bound_leave(t))
			return;
		futex_wait(&t->gate, GATE_SHUT, NEVER);
	}
	__atomic_store_n(&t->gate, GATE_SHUT, __ATOMIC_RELAXED);
	s->thread = t;
	begins(&rt.cpus[gate - 1], t);
}

void bound_return(struct weir_thread *t)
{
	struct self *s = me();
	struct weir_thread *next;
	struct cpu *c;

	s->returns = !rt.joined;
	task_unblock(t);
	s->returns = 0;
	c = s->took;
	s->took = 0;
	if (c) {
		__atomic_store_n(&c->holder, t->tid, __ATOMIC_SEQ_CST);
		s->cpu = c;
		clear(&c->kicked);
		next = cpu_choose(c);
		if (next == t) {
			__atomic_store_n(&t->cpu, (int)c->id, __ATOMIC_RELAXED);
			if (t->linux_cpu != c->linux_cpu) {
				pin(t->tid, c->linux_cpu);
				t->linux_cpu = c->linux_cpu;
			}
			begins(c, t);
			return;
		}
		/* Another one was there before, or has @t. */
		s->cpu = 0;
		cpu_give(c, next);
	}
	bound_wait(t);
}

/* --- green threads ------------------------------------------------------------------------------------------------ */

/* The policy has claimed @t, whose stack is not in use. What follows is the switch to it. */
WEIR_INLINE void green_begin(struct self *s, struct cpu *c, struct weir_thread *t)
{
	u64 slice = turn_begins(c, t);

	__atomic_store_n(&t->on_cpu, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&t->cpu, (int)c->id, __ATOMIC_RELAXED);
	/* The timer fires before this slice ends, so the end is not needed yet; reading the clock costs as much as the choice. */
	if (rt.counter_at && c->armed && slice >= c->armed_for && !weir_load(&rt.has_tick)) {
		c->slice_ns = slice;
		c->slice_from = counter();
		c->slice_end = 0;
	} else {
		slice_begin(c, t, slice);
	}
	s->thread = t;
	if (__atomic_load_n(&c->resched, __ATOMIC_SEQ_CST))
		s->pending = 1;
}

/* On the stack of a green thread that has got the CPU: if another one switched to it, that one's stack is free now. As whom the thread goes on. */
WEIR_INLINE struct self *arrived(void)
{
	struct self *s = me();
	struct cpu *c = s->cpu;
	struct weir_thread *before = c->leaving;

	if (before) {
		c->leaving = 0;
		__atomic_store_n(&before->on_cpu, 0, __ATOMIC_RELEASE);
		if (weir_unlikely(c->request == REQUEST_PARK))
			thread_finish_park(before);
	}
	return s;
}

void green_arrived(void)
{
	arrived();
}

/* The policy is in this process. @t, which has @c, gives it up, if it has not done that yet (REQUEST_NOTHING): who is next? */
WEIR_INLINE struct weir_thread *successor(struct cpu *c, struct weir_thread *t,
					  enum request request, enum left why)
{
	struct weir_thread *next = c->next;

	if (weir_unlikely(next)) {
		c->next = 0;
		return next;
	}
	return request == REQUEST_NOTHING ? cpu_choose(c) : yielded(c, t, why == LEFT_BLOCKED);
}

/*
 * The green thread @t yields, or parks: switch to the next thread directly, without the driver. Its stack may still be in use on a CPU that, in
 * turn, waits for this one: that is the driver's case, as it waits on a stack of its own.
 */
static struct self *green_next(struct self *s, struct weir_thread *t, enum request request,
			       enum left why)
{
	struct cpu *c = s->cpu;
	struct weir_thread *next;
	u32 depth = s->disabled;
	int was = *s->error;

	next = successor(c, t, request, why);
	c->request = request;
	if (next == t) {
		green_begin(s, c, t);
	} else if (next && next->kind == WEIR_GREEN &&
		   !__atomic_load_n(&next->on_cpu, __ATOMIC_ACQUIRE)) {
		green_begin(s, c, next);
		c->leaving = t;
		weir_switch(&t->sp, next->sp);
	} else {
		c->next = next;
		weir_switch(&t->sp, c->sp);
	}
	s = arrived();
	s->disabled = depth;
	*s->error = was;
	return s;
}

struct self *switch_out(struct self *s, enum request request, enum left why)
{
	struct weir_thread *t = s->thread;
	struct cpu *c = s->cpu;

	__atomic_store_n(&t->deallocations, t->deallocations + 1, __ATOMIC_RELAXED);
	if (weir_unlikely(weir_load(&tracing)) && !rt.joined)
		trace(c, 0, why);
	if (t->kind == WEIR_GREEN) {
		if (request == REQUEST_EXIT) {
			leaves(t);
			c->request = request;
			weir_switch(&t->sp, c->sp);
			__builtin_trap();
		}
		return green_next(s, t, request, why);
	}
	if (rt.joined) {
		if (request != REQUEST_NOTHING)
			cpu_yield(c, t, why);
		if (request == REQUEST_PARK)
			thread_finish_park(t);
		has_not(c, t);
		s->cpu = 0;
	} else {
		struct weir_thread *next = successor(c, t, request, why);

		if (request == REQUEST_PARK)
			thread_finish_park(t);
		if (next == t) {
			__atomic_store_n(&t->cpu, (int)c->id, __ATOMIC_RELAXED);
			cpu_begin(c, t);
			return s;
		}
		s->cpu = 0;
		cpu_give(c, next);
	}
	bound_wait(t);
	return s;
}

/* --- the driver ------------------------------------------------------------------------------------------------- */

static void make_timer(timer_t *timer, int tid)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = rt.signal };

	event._sigev_un._tid = tid;
	weir_assert(!timer_create(CLOCK_MONOTONIC, &event, timer));
}

/* Run @t, and the green threads that follow it without the driver, until one of them leaves the CPU to the driver. */
static void run_green(struct cpu *c, struct weir_thread *t)
{
	struct self *s = me();
	u32 spins = 0;

	/* From now on it does a program's work. */
	if (!c->works) {
		c->works = 1;
		be_prompt(0);
		make_timer(&c->timer, c->driver);
	}
	/* Another CPU may not have left the thread's stack yet; it leaves it without waiting for another CPU. */
	while (__atomic_load_n(&t->on_cpu, __ATOMIC_ACQUIRE))
		weir_port_relax(spins++);
	green_begin(s, c, t);
	weir_switch(&c->sp, t->sp);
	t = s->thread;
	s->thread = 0;
	s->disabled = 1;
	__atomic_store_n(&t->on_cpu, 0, __ATOMIC_RELEASE);
	if (c->request == REQUEST_PARK)
		thread_finish_park(t);
	else if (c->request == REQUEST_EXIT)
		thread_finish_exit(t);
}

/* Nothing to run: poll if polling has paid lately, then sleep. */
static void idle(struct cpu *c)
{
	u64 from = now();
	u32 spins = 0;

	is_idle(c, from);
	while (c->window && !__atomic_load_n(&c->kicked, __ATOMIC_ACQUIRE) &&
	       now() - from < c->window) {
		for (u32 i = 0; i < 16; i++)
			weir_port_relax(0);
		spins++;
	}
	if (__atomic_load_n(&c->kicked, __ATOMIC_ACQUIRE)) {
		if (spins) {
			count(&c->n.polls_hit);
			c->misses = 0;
		}
	} else {
		c->misses++;
		count(&c->n.sleeps);
		__atomic_store_n(&c->asleep, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&c->kicked, __ATOMIC_SEQ_CST))
			futex_wait(&c->kicked, 0, NEVER);
		__atomic_store_n(&c->asleep, 0, __ATOMIC_SEQ_CST);
	}
	/* After three polls in a row that found nothing, stop polling, except for one attempt in every PROBE sleeps. */
	c->window = rt.nr_cpus > 1 && (c->misses < 3 || c->misses % PROBE == 0) ? WINDOW_NS : 0;
	was_idle(c);
}

static void *driver(void *arg)
{
	struct cpu *c = arg;
	struct self *s = me();
	char faults[FAULT_STACK];

	overflow_stack(faults, sizeof(faults));
	s->disabled = 1;
	s->cpu = c;
	s->home = c;
	s->error = &errno;
	/* For libc, a green thread is this thread: it must not end it. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, 0);
	pin(0, c->linux_cpu);
	prctl(PR_SET_TIMERSLACK, 1);
	prctl(PR_SET_NAME, "weir-driver");
	be_prompt(1);
	c->driver = gettid();
	__atomic_store_n(&c->holder, c->driver, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&rt.stop, __ATOMIC_ACQUIRE)) {
		struct weir_thread *t = c->next;

		c->next = 0;
		if (!t) {
			clear(&c->kicked);
			t = cpu_choose(c);
		}
		if (!t) {
			idle(c);
			continue;
		}
		if (t->kind == WEIR_GREEN) {
			run_green(c, t);
			continue;
		}
		if (t->kind == WEIR_REMOTE) {
			remote_run(c, t);
			continue;
		}
		s->cpu = 0;
		cpu_give(c, t);
		while (!__atomic_load_n(&c->gate, __ATOMIC_ACQUIRE))
			futex_wait(&c->gate, 0, NEVER);
		__atomic_store_n(&c->gate, 0, __ATOMIC_RELAXED);
		s->cpu = c;
	}
	if (c->works)
		timer_delete(c->timer);
	return 0;
}

int drivers_start(void)
{
	for (u32 i = 0; i < rt.nr_cpus; i++)
		if (!rt.cpus[i].isa && pthread_create(&rt.cpus[i].thread, 0, driver, &rt.cpus[i]))
			return -EAGAIN;
	return 0;
}

void drivers_stop(void)
{
	__atomic_store_n(&rt.stop, 1, __ATOMIC_SEQ_CST);
	for (u32 i = 0; i < rt.nr_cpus; i++) {
		if (!rt.cpus[i].thread)
			continue;
		kick(&rt.cpus[i]);
		pthread_join(rt.cpus[i].thread, 0);
	}
}

/* --- preemption ---------------------------------------------------------------------------------------------------- */

/* Whether the CPU's thread is to give it up; handles the tick, too. */
static int must_go(struct cpu *c, struct weir_thread *t)
{
	u64 at = now();

	if (rt.joined) {
		if (join_must_go(t) || (at >= t->slice_end && !weir_load(&rt.alone)))
			return 1;
		if (!weir_load(&rt.alone))
			joined_arm(t);
		return 0;
	}
	slice_settle(c, at);
	if (weir_load(&rt.has_tick) && at >= c->next_tick) {
		struct weir_msg msg = { .topic = WEIR_TOPIC_TICK, .cpu = c->id };

		c->next_tick = at + TICK_NS;
		weir_notify(rt.sched, c->id, &msg);
	}
	if (__atomic_load_n(&c->resched, __ATOMIC_SEQ_CST) || at >= c->slice_end)
		return 1;
	arm_by(c, t, at);
	return 0;
}

/* The running thread goes back into the policy's queue. */
static void give_way(struct self *s)
{
	count(&s->cpu->n.preemptions);
	switch_out(s, REQUEST_YIELD, LEFT_PREEMPTED);
}

static void raise_deferred(struct self *s, int later)
{
	if (!s->raises)
		return;
	s->raises = 0;
	weir_shim_raise(later);
}

/* Disabled once. What was asked for meanwhile. */
static void obey(void)
{
	struct self *s = me();

	while (s->pending) {
		s->pending = 0;
		if (!s->cpu || !s->thread)
			return;
		if (__atomic_load_n(&s->lost, __ATOMIC_RELAXED))
			lost_point();
		else if (must_go(s->cpu, s->thread))
			give_way(s);
		s = me();
	}
}

/* `disabled` is clear again: handle what came while it was set. */
void preempt_point(void)
{
	struct self *s = me();

	while (s->pending && !s->disabled) {
		raise_deferred(s, 0);
		s->disabled = 1;
		__asm__ volatile("" ::: "memory");
		obey();
		s = me();
		/* Those that came since. */
		if (s->raises)
			s->pending = 1;
		s->disabled = 0;
		__asm__ volatile("" ::: "memory");
	}
}

/*
 * Where the code of this library is linked; objcopy names its section. There is no code between it and libc's: a thread that left its CPU on the way there, as
 * in a linkage table (build.sh), would come back with the addresses of another CPU.
 */
extern const char __start_weir_text[] __attribute__((weak, visibility("hidden")));
extern const char __stop_weir_text[] __attribute__((weak, visibility("hidden")));

static int may_leave(u64 pc)
{
	if (pc >= (u64)__start_weir_text && pc < (u64)__stop_weir_text)
		return 0;
	for (u32 i = 0; i < rt.nr_keep; i++)
		if (pc >= rt.keep[i].from && pc < rt.keep[i].to)
			return 0;
	return 1;
}

static u64 pc_of(const void *context)
{
#if defined(__x86_64__)
	return (u64)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#else
	(void)context;
	return 0;
#endif
}

/*
 * Whether the signal interrupted a system call: the kernel goes back to the instruction (0f 05), or the call returns EINTR. A thread that is just about
 * to make a call looks the same, and is only found running a little later (watch.c).
 */
static int was_asleep(const void *context)
{
#if defined(__x86_64__)
	const greg_t *regs = ((const ucontext_t *)context)->uc_mcontext.gregs;
	const u8 *pc = (const u8 *)regs[REG_RIP];

	return (pc[0] == 0x0f && pc[1] == 0x05) ||
	       (regs[REG_RAX] == -EINTR && pc[-2] == 0x0f && pc[-1] == 0x05);
#else
	(void)context;
	return 0;
#endif
}

/* The handler has done its work, and is disabled. */
static void handled(void)
{
	struct self *s;

	obey();
	s = me();
	s->disabled = 0;
	if (weir_shim_signalled)
		weir_shim_signalled(1);
	raise_deferred(s, 1);
	if (s->pending)
		preempt_point();
}

/* Nested ones are harmless: each has its frame on the stack of the thread that it interrupts. */
void on_signal(int sig, siginfo_t *info, void *context)
{
	struct self *s = me();
	const struct cpu *home = s->home;
	int was = errno;

	(void)sig;
	if (weir_shim_urgent)
		weir_shim_urgent(info, context, is_own(info));
	if (info->si_code == SI_TIMER) {
		if (s->home)
			s->home->armed = 0;
		else if (s->thread)
			s->thread->armed = 0;
	}
	if (__atomic_load_n(&s->lost, __ATOMIC_SEQ_CST) && !s->disabled) {
		s->disabled = 1;
		lost_point();
		handled();
		set_errno(was);
		return;
	}
	if (!s->cpu) {
		/* It has given up the CPU since. */
		if (s->thread && weir_shim_signalled && weir_shim_signalled(0))
			arm(s->thread->timer, &s->thread->armed, now() + RETRY_NS);
		set_errno(was);
		return;
	}
	if (info->si_code == SI_TIMER)
		count(&s->cpu->n.expiries);
	if (s->disabled || !s->thread) {
		count(&s->cpu->n.deferred);
		s->pending = 1;
		/* No expiry is lost: the thread checks `pending` when it clears `disabled`. Code that keeps it set for long needs no timer. */
		if (s->thread && weir_shim_signalled && weir_shim_signalled(0))
			arm(s->thread->timer, &s->thread->armed, now() + RETRY_NS);
		set_errno(was);
		return;
	}
	if (s->thread->kind == WEIR_GREEN && !may_leave(pc_of(context))) {
		u64 set = 1ull << (rt.signal - 1), wait = RETRY_NS << s->cpu->retries;

		/*
		 * Where instructions take long (a debugger, an emulator, a host that took the processor away), the next attempt would come before
		 * this one is over, and so on: it is blocked until this handler returns, and leaves the thread some time then.
		 */
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, 0, sizeof(set));
		count(&s->cpu->n.deferred);
		s->cpu->retries += s->cpu->retries < RETRIES;
		s->cpu->armed_for = wait;
		arm(s->cpu->timer, &s->cpu->armed, now() + wait);
		set_errno(was);
		return;
	}
	s->disabled = 1;
	__asm__ volatile("" ::: "memory");
	if (s->thread->kind == WEIR_GREEN)
		s->cpu->retries = 0;
	if (__atomic_load_n(&s->lost, __ATOMIC_SEQ_CST)) {
		lost_point();
	} else if (must_go(s->cpu, s->thread)) {
		/* Where nobody looks for strays (ThreadSanitizer), it would run on beside the policy. */
		if (s->thread->kind == WEIR_BOUND && watch_runs() && was_asleep(context))
			go_astray();
		else
			give_way(s);
	}
	handled();
	/* The return sets the alternate stack for signals to that of the POSIX thread where the handler began. */
	if (me()->home != home)
		syscall(SYS_sigaltstack, 0, &((ucontext_t *)context)->uc_stack);
	set_errno(was);
}
