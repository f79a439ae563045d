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
#define UNUSED_NS \
	8000000ull /* a thread has waited so long beside an idle CPU: it is placed there */
#define STARVED_NS 2000000000ull /* it is reported, and runs without the policy */
#define LAZY	   16u /* looks in a row that find no holder; then it sleeps until there is one */
#define STACK	   (64u << 10)

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
	struct weir_thread *next;
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
	next = cpu_yield(c, t, LEFT_BLOCKED);
	__atomic_store_n(&t->cpu, -1, __ATOMIC_RELAXED);
	has_not(c, t);
	cpu_leave(c, next);
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
	int was = get_errno();
	u32 spins = 0;

	while (__atomic_load_n(&s->lost, __ATOMIC_SEQ_CST) == LOST_ASKED)
		weir_port_relax(spins++);
	if (__atomic_load_n(&s->lost, __ATOMIC_SEQ_CST) != LOST_TAKEN)
		return;
	__atomic_store_n(&s->lost, LOST_NOT, __ATOMIC_SEQ_CST);
	s->cpu = 0;
	__atomic_store_n(&t->astray, 0, __ATOMIC_SEQ_CST);
	bound_return(t);
	set_errno(was);
}

int watch_runs(void)
{
	return (int)wa.running;
}

/*
 * The end of the slice interrupts a call in which the caller sleeps: it gives up the CPU and goes back to sleep without one. Disabled, and has a
 * CPU.
 */
void go_astray(void)
{
	struct self *s = me();
	struct weir_thread *t = s->thread, *next;
	struct cpu *c = s->cpu;

	if (weir_load(&tracing) && !rt.joined)
		trace(c, 0, LEFT_BLOCKED);
	count(&c->n.blocks);
	count(&c->n.strays);
	__atomic_store_n(&t->deallocations, t->deallocations + 1, __ATOMIC_RELAXED);
	t->ran = clock_of(t->tid);
	__atomic_store_n(&t->astray, 1, __ATOMIC_SEQ_CST);
	next = cpu_yield(c, t, LEFT_BLOCKED);
	__atomic_store_n(&t->cpu, -1, __ATOMIC_RELAXED);
	has_not(c, t);
	s->cpu = 0;
	cpu_leave(c, next);
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
		return __atomic_load_n(&c->remote, __ATOMIC_SEQ_CST) != 0;
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
		send_own(getpid(), t->tid);
	}
	return some;
}

/* --- threads that wait in vain ------------------------------------------------------------------------------------ */

/* The thread is locked. Name of the pipe in which it waits; returns a CPU that takes from it. */
static u32 pipe_of(const struct weir_thread *t, char *name, size_t room)
{
	u32 cpu = weir_last_cpu(t->task);
	u32 landing = weir_load(&t->task->landing);
	const struct weir_pipe *p = landing ? &rt.sched->graph->pipes[landing - 1] : 0;

	if (p && p->from)
		snprintf(name, room, "%s.out%u", weir_plan_instance(rt.blob, p->from->idx),
			 p->from_port);
	else
		snprintf(name, room, "%s", p ? "entry" : "no pipe");
	for (u32 i = 0; p && i < rt.nr_cpus; i++)
		if (weir_mask_test(p->cpus, i) &&
		    !(cpu < rt.nr_cpus && weir_mask_test(p->cpus, cpu)))
			cpu = i;
	return cpu;
}

/* Whose CPU it waits for, as words. */
static void holder_of(u32 cpu, char *text, size_t room)
{
	struct weir_thread *h = 0;
	char name[16] = "";
	int tid = 0;

	if (cpu < rt.nr_cpus) {
		h = __atomic_load_n(&rt.cpus[cpu].bound, __ATOMIC_SEQ_CST);
		if (!h)
			h = __atomic_load_n(&rt.cpus[cpu].remote, __ATOMIC_SEQ_CST);
	}
	/* It may end at this moment; its record stays. */
	if (h) {
		tid = h->tid;
		memcpy(name, h->name, sizeof(name));
		name[sizeof(name) - 1] = 0;
	}
	if (tid)
		snprintf(text, room, "thread %d (%s) has CPU %u", tid, name, cpu);
	else
		snprintf(text, room, "no thread has CPU %u", cpu);
}

static void report(struct weir_thread *t, u64 waited)
{
	char pipe[128], holder[96], text[512];
	u32 cpu;
	int n;

	weir_mutex_lock(swap_lock());
	hold();
	spin(&t->lock);
	if (!t->task || weir_state(t->task) != WEIR_SCHEDULABLE) {
		unspin(&t->lock);
		release();
		weir_mutex_unlock(swap_lock());
		return;
	}
	cpu = pipe_of(t, pipe, sizeof(pipe));
	unspin(&t->lock);
	release();
	holder_of(cpu, holder, sizeof(holder));
	n = snprintf(text, sizeof(text),
		     "runweir threads: thread %d (%s) has waited %.1f s for a CPU, in %s of policy "
		     "%s; %s%s\n",
		     t->tid, t->name, (double)waited * 1e-9, pipe, weir_rt_policy(), holder,
		     rt.fallback ? (t->kind == WEIR_REMOTE
					    ? "; its program continues without the policy"
					    : "; it continues without the policy")
				 : "");
	weir_mutex_unlock(swap_lock());
	t->reported = 1;
	if (rt.says)
		(void)!syscall(SYS_write, rt.says, text, (size_t)n);
}

static void starves(struct weir_thread *t, u64 waited)
{
	report(t, waited);
	if (!t->reported || !rt.fallback)
		return;
	if (t->kind == WEIR_REMOTE) {
		remote_give_up(t);
		return;
	}
	__atomic_store_n(&t->leaves, 1, __ATOMIC_SEQ_CST);
	futex_wake(&t->gate, 1);
}

/* A CPU that has had nothing to do since the last look. */
static struct cpu *unused_cpu(u64 at)
{
	for (u32 i = 0; i < rt.nr_cpus; i++) {
		u64 since = __atomic_load_n(&rt.cpus[i].idle_since, __ATOMIC_RELAXED);

		if (since && since + PERIOD_NS < at &&
		    (__atomic_load_n(&rt.cpus[i].asleep, __ATOMIC_RELAXED) ||
		     __atomic_load_n(&rt.cpus[i].vacant, __ATOMIC_RELAXED)))
			return &rt.cpus[i];
	}
	return 0;
}

/* Policies with a queue for each CPU and `annotate affinity` place a thread anew when its set of CPUs changes. Others have no such queue, or do not hear. */
static void place(struct weir_thread *t, struct cpu *c)
{
	struct weir_cpumask mask = { 0 };
	struct weir_msg msg = { .topic = WEIR_TOPIC_AFFINITY, .cpu = WEIR_NO_CPU, .mask = &mask };
	u32 own = core_enter();

	mask.word[c->id / 64] = 1ull << c->id % 64;
	spin(&t->lock);
	if (t->task && weir_state(t->task) == WEIR_SCHEDULABLE) {
		msg.task = t->task;
		if (!weir_notify(rt.sched, own, &msg)) {
			msg.mask = 0;
			weir_notify(rt.sched, own, &msg);
		}
	}
	unspin(&t->lock);
	core_leave(own);
}

static int look_for_waiting(u64 at)
{
	struct weir_thread *t;
	struct cpu *unused = 0;
	int some = 0, searched = 0;

	for (u32 i = 0; (t = record_at(i)); i++) {
		u64 turn, waited;
		int waits = 0;

		if ((t->kind != WEIR_BOUND && t->kind != WEIR_REMOTE) || !weir_load(&t->task))
			continue;
		hold();
		spin(&t->lock);
		waits = t->task && weir_state(t->task) == WEIR_SCHEDULABLE;
		unspin(&t->lock);
		release();
		turn = __atomic_load_n(&t->deallocations, __ATOMIC_RELAXED);
		if (!waits || !t->waits_at || t->waits_turn != turn) {
			t->waits_at = waits ? at : 0;
			t->waits_turn = turn;
			some |= waits;
			continue;
		}
		some = 1;
		waited = at - t->waits_at;
		if (waited >= STARVED_NS && !t->reported && rt.watchdog) {
			starves(t, waited);
		} else if (waited >= UNUSED_NS && rt.fallback && !rt.has_slots) {
			if (!searched++)
				unused = unused_cpu(at);
			if (unused)
				place(t, unused);
			unused = 0;
		}
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
	be_prompt(1);
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
		if (!rt.joined)
			some |= look_for_waiting(now());
		idle = some ? 0 : idle + 1;
		if (idle < LAZY)
			continue;
		idle = 0;
		__atomic_store_n(&wa.asleep, 1, __ATOMIC_SEQ_CST);
		some = look_for_strays();
		for (u32 i = 0; i < rt.nr_cpus; i++)
			some |= __atomic_load_n(&rt.cpus[i].bound, __ATOMIC_SEQ_CST) ||
				__atomic_load_n(&rt.cpus[i].remote, __ATOMIC_SEQ_CST);
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

/* The sanitizer does not know the barrier, and takes what it orders for races. */
#if defined(__SANITIZE_THREAD__)
#define LOOKS 0
#else
#define LOOKS 1
#endif

int watch_start(void)
{
	if (!LOOKS)
		return 0;
	rt.says = rt.watchdog ? fcntl(2, F_DUPFD_CLOEXEC, 200) : 0;
	if (rt.says < 0)
		rt.says = 0;
	wa.asleep = 0;
	wa.running = !quiet_thread(&wa.thread, STACK, watches, 0);
	return wa.running ? 0 : -EAGAIN;
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
	if (rt.says)
		close(rt.says);
	rt.says = 0;
}

void watch_forked(void)
{
	if (rt.says)
		close(rt.says);
	memset(&wa, 0, sizeof(wa));
}
