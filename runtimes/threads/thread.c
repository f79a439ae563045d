/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Threads: creation, exit, join. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "remote.h"

/* Valgrind takes a switch to a stack that it does not know for a large frame. */
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(start, end) 0
#endif

#define MIN_STACK     (32u << 10) /* a signal's frame with all vector registers, and room to work */
#define PAGE	      4096u
#define CACHED_STACKS 64u

/* --- records and stacks -------------------------------------------------------------------------------------- */

static u32 pool_lock;
static struct weir_thread *pool;
/* All records, in blocks; for status.c. A block's number of threads is BLOCK. */
#define BLOCK  64u
#define BLOCKS (1u << 20)
static struct weir_thread **blocks; /* (a) */
static u32 nr_blocks;		    /* (a) */
static struct {
	char *stack;
	size_t bytes;
} stacks[CACHED_STACKS];
static u32 nr_stacks;

/* Memory directly from the system: a thread that holds a CPU may not wait for malloc's lock. */
static void *fresh(size_t bytes)
{
	void *p = mmap(0, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? 0 : p;
}

/* The pool is locked. */
static void more_records(void)
{
	struct weir_thread *more;

	if (!blocks)
		blocks = fresh(BLOCKS * sizeof(struct weir_thread *));
	more = blocks && nr_blocks < BLOCKS ? fresh(BLOCK * sizeof(*more)) : 0;
	if (!more)
		return;
	blocks[nr_blocks] = more;
	__atomic_store_n(&nr_blocks, nr_blocks + 1, __ATOMIC_RELEASE);
	for (u32 i = 0; i < BLOCK; i++) {
		more[i].next_free = pool;
		pool = &more[i];
	}
}

struct weir_thread *record_at(u32 n)
{
	return n / BLOCK < __atomic_load_n(&nr_blocks, __ATOMIC_ACQUIRE)
		       ? &blocks[n / BLOCK][n % BLOCK]
		       : 0;
}

struct weir_thread *record_new(void)
{
	struct weir_thread *t;

	hold();
	spin(&pool_lock);
	if (!pool)
		more_records();
	t = pool;
	if (t)
		pool = t->next_free;
	unspin(&pool_lock);
	release();
	if (!t)
		return 0;
	/* Late threads may still read `park`, `lock` and the queue, so these keep their idle values. `task` is null since the last one ended. */
	t->gate = GATE_SHUT;
	t->linux_cpu = ~0u;
	t->cpu = -1;
	t->number = __atomic_add_fetch(&rt.nr_records, 1, __ATOMIC_RELAXED);
	t->name[0] = 0;
	t->attr = (struct weir_thread_attr){ 0 };
	t->changes = 0;
	t->gang = 0;
	t->like = 0;
	t->ended = 0;
	t->adopted = 0;
	t->on_cpu = 0;
	t->stack = 0;
	t->control = 0;
	t->client = 0;
	t->foreign = 0;
	t->context = 0;
	t->armed = 0;
	t->has_timer = 0;
	t->result = 0;
	t->deallocations = 0;
	t->run_ns = t->wait_ns = t->nr_runs = t->nr_migrations = 0;
	t->runs_since = t->waits_since = 0;
	t->last_cpu = 0;
	t->self = 0;
	t->astray = 0;
	t->waits_at = 0;
	t->reported = 0;
	t->leaves = 0;
	t->owners = 2;
	__atomic_store_n(&t->park, PARK_NONE, __ATOMIC_RELAXED);
	return t;
}

void record_drop(struct weir_thread *t)
{
	if (__atomic_sub_fetch(&t->owners, 1, __ATOMIC_ACQ_REL))
		return;
	hold();
	spin(&pool_lock);
	t->next_free = pool;
	pool = t;
	unspin(&pool_lock);
	release();
}

/* The child of a fork makes records and stacks of its own; another thread may have been in the middle of a change. */
void records_forked(void)
{
	pool_lock = 0;
	pool = 0;
	nr_stacks = 0;
	blocks = 0;
	nr_blocks = 0;
}

static char *stack_new(size_t bytes)
{
	char *stack = 0;

	hold();
	spin(&pool_lock);
	for (u32 i = nr_stacks; i-- > 0;)
		if (stacks[i].bytes == bytes) {
			stack = stacks[i].stack;
			stacks[i] = stacks[--nr_stacks];
			break;
		}
	unspin(&pool_lock);
	release();
	if (stack)
		return stack;
	stack = mmap(0, bytes + GUARD, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return 0;
	if (mprotect(stack, GUARD, PROT_NONE)) {
		munmap(stack, bytes + GUARD);
		return 0;
	}
	(void)VALGRIND_STACK_REGISTER(stack + GUARD, stack + GUARD + bytes);
	return stack;
}

static void stack_drop(char *stack, size_t bytes)
{
	int kept = 0;

	hold();
	spin(&pool_lock);
	if (nr_stacks < CACHED_STACKS) {
		stacks[nr_stacks].stack = stack;
		stacks[nr_stacks++].bytes = bytes;
		kept = 1;
	}
	unspin(&pool_lock);
	release();
	if (!kept)
		munmap(stack, bytes + GUARD);
}

/* --- attributes ------------------------------------------------------------------------------------------------ */

WEIR_API int weir_thread_set(weir_thread *t, enum weir_attribute what, int64_t value,
			     int64_t value2)
{
	int err;

	if (!t || what >= WEIR_NR_ATTRIBUTES)
		return -EINVAL;
	err = task_set(t, what, value, value2);
	if (err)
		return err;
	hold();
	spin(&t->lock);
	t->attr.given |= 1u << what;
	t->attr.value[what] = value;
	t->attr.value2[what] = value2;
	__atomic_store_n(&t->changes, t->changes + 1, __ATOMIC_RELEASE);
	unspin(&t->lock);
	release();
	return 0;
}

WEIR_API int weir_thread_like(const weir_thread *from)
{
	struct weir_thread *t = me()->thread, *other = (struct weir_thread *)from;
	struct weir_thread_attr attr;
	u32 changes;
	int err = 0;

	if (!t || !from || t == from)
		return -EINVAL;
	changes = __atomic_load_n(&from->changes, __ATOMIC_ACQUIRE);
	if (changes == (t->like == from ? t->like_changes : 0))
		return 0;
	hold();
	spin(&other->lock);
	attr = from->attr;
	changes = from->changes;
	unspin(&other->lock);
	release();
	for (u32 i = 0; i < WEIR_NR_ATTRIBUTES && !err; i++)
		if (attr.given & 1u << i)
			err = weir_thread_set(t, i, attr.value[i], attr.value2[i]);
	t->like = from;
	t->like_changes = changes;
	return err;
}

/* Create the policy's task for @t, with its attributes. */
static int begin_task(struct weir_thread *t, const struct weir_thread_attr *attr)
{
	int err = task_new(t);

	for (u32 i = 0; !err && attr && i < WEIR_NR_ATTRIBUTES; i++)
		if (attr->given & 1u << i)
			weir_thread_set(t, i, attr->value[i], attr->value2[i]);
	return err;
}

/* --- the end ------------------------------------------------------------------------------------------------------- */

static void wake_joiners(struct weir_thread *t)
{
	struct weir_waiter *w;

	/* Update the count before the exit is visible. */
	__atomic_fetch_sub(&rt.nr_threads, 1, __ATOMIC_RELAXED);
	hold();
	spin(&t->joiners.lock);
	__atomic_store_n(&t->ended, 1, __ATOMIC_RELEASE);
	while ((w = queue_pop(&t->joiners)))
		waiter_wake(w);
	unspin(&t->joiners.lock);
	release();
	record_drop(t);
}

/* A green thread has left its stack for good. Runs on the driver's stack, disabled. */
void thread_finish_exit(struct weir_thread *t)
{
	task_end(t);
	stack_drop(t->stack, t->stack_bytes);
	t->stack = 0;
	wake_joiners(t);
}

/* A bound thread gives up its CPU and leaves the runtime. */
static void bound_end(struct weir_thread *t)
{
	struct self *s = me();
	struct cpu *c;

	hold();
	c = s->cpu;
	/* Null: it was cancelled in a call that waits without a CPU. */
	s->away = 0;
	task_end(t);
	if (c && weir_load(&tracing) && !rt.joined)
		trace(c, 0, LEFT_ENDED);
	__atomic_store_n(&t->cpu, -1, __ATOMIC_RELAXED);
	s->cpu = 0;
	s->thread = 0;
	if (t->has_timer)
		timer_delete(t->timer);
	t->has_timer = 0;
	watch_leaves(t);
	if (c) {
		has_not(c, t);
		if (!rt.joined)
			cpu_give(c, cpu_choose(c));
	}
	release();
	wake_joiners(t);
}

int bound_leave(struct weir_thread *t)
{
	struct self *s = me();
	u32 cpu;
	int left;

	/* Only threads that the program made itself can go on without the runtime. */
	if (!t->adopted)
		return 0;
	cpu = core_enter();
	spin(&t->lock);
	left = weir_state(t->task) == WEIR_SCHEDULABLE;
	if (left) {
		weir_assert(!weir_exit(rt.sched, cpu, t->task));
		t->task = 0;
	}
	unspin(&t->lock);
	core_leave(cpu);
	if (!left)
		return 0;
	s->thread = 0;
	s->cpu = 0;
	if (t->has_timer)
		timer_delete(t->timer);
	t->has_timer = 0;
	watch_leaves(t);
	unpin(0);
	wake_joiners(t);
	return 1;
}

WEIR_API void weir_thread_exit(void *result)
{
	struct weir_thread *t = me()->thread;

	weir_assert(t && "weir_thread_exit() is called by a thread of the runtime");
	t->result = result;
	if (t->adopted)
		bound_end(t);
	if (t->kind == WEIR_GREEN) {
		switch_out(hold(), REQUEST_EXIT, LEFT_ENDED);
	} else {
		pthread_exit(0);
	}
	__builtin_trap();
}

/* --- the beginning ----------------------------------------------------------------------------------------------- */

static void green_main(void)
{
	struct self *s = me();
	struct weir_thread *t = s->thread;

	green_arrived();
	s->disabled = 0;
	if (s->pending)
		preempt_point();
	weir_thread_exit(t->run(t->arg));
}

/* The calling POSIX thread becomes @t, without a CPU yet. */
static int become(struct weir_thread *t)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = rt.signal };
	u64 set = 1ull << (rt.signal - 1);

	char name[sizeof(t->name)] = { 0 };

	prctl(PR_GET_NAME, name);
	__atomic_store_n(&t->tid, gettid(), __ATOMIC_RELAXED);
	hold();
	spin(&t->lock);
	t->number = (u32)t->tid;
	memcpy(t->name, name, sizeof(name));
	unspin(&t->lock);
	release();
	event._sigev_un._tid = t->tid;
	if (timer_create(CLOCK_MONOTONIC, &event, &t->timer))
		return -EAGAIN;
	t->has_timer = 1;
	t->self = me();
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, 0, sizeof(set));
	return 0;
}

static void begin(struct weir_thread *t)
{
	struct self *s = me();

	s->disabled = 1;
	bound_wait(t);
	s->disabled = 0;
	if (s->pending)
		preempt_point();
}

static void posix_gone(void *arg)
{
	bound_end(arg);
	__atomic_fetch_sub(&rt.nr_posix, 1, __ATOMIC_RELEASE);
	futex_wake(&rt.nr_posix, 1);
}

static void *bound_main(void *arg)
{
	struct weir_thread *t = arg;

	/* The thread admits itself: once admitted, it may get a CPU, so its gate must already be its own. */
	if (become(t) || task_admit(t)) {
		task_end(t);
		wake_joiners(t);
		__atomic_fetch_sub(&rt.nr_posix, 1, __ATOMIC_RELEASE);
		futex_wake(&rt.nr_posix, 1);
		return 0;
	}
	begin(t);
	pthread_cleanup_push(posix_gone, t);
	t->result = t->run(t->arg);
	pthread_cleanup_pop(1);
	return 0;
}

static int start_bound(struct weir_thread *t)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err = pthread_attr_init(&attr);

	if (err)
		return -err;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	err = pthread_attr_setstacksize(&attr, t->stack_bytes);
	__atomic_fetch_add(&rt.nr_posix, 1, __ATOMIC_RELAXED);
	if (!err)
		err = pthread_create(&thread, &attr, bound_main, t);
	pthread_attr_destroy(&attr);
	if (err)
		__atomic_fetch_sub(&rt.nr_posix, 1, __ATOMIC_RELAXED);
	return -err;
}

static int start_green(struct weir_thread *t)
{
	static u32 reported;

	if (!__atomic_exchange_n(&reported, 1, __ATOMIC_RELAXED))
		overflow_reported();
	t->stack = stack_new(t->stack_bytes);
	if (!t->stack)
		return -ENOMEM;
	t->sp = weir_first_frame(t->stack + GUARD + t->stack_bytes, green_main);
	return task_admit(t);
}

WEIR_API int weir_thread_create(weir_thread **thread, const struct weir_thread_attr *attr,
				void *(*run)(void *), void *arg)
{
	struct weir_thread *t;
	u32 kind = attr ? attr->kind : WEIR_BOUND;
	size_t bytes = attr && attr->stack_bytes ? attr->stack_bytes : rt.stack_bytes;
	int err;

	if (!__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE) || !run || kind > WEIR_GREEN)
		return -EINVAL;
#if !defined(__x86_64__)
	if (kind == WEIR_GREEN)
		return -ENOTSUP;
#endif
	/* Green threads need a driver, which is in another process. */
	if (kind == WEIR_GREEN && rt.joined)
		return -ENOTSUP;
	t = record_new();
	if (!t)
		return -ENOMEM;
	t->kind = kind;
	t->run = run;
	t->arg = arg;
	t->stack_bytes = ((bytes < MIN_STACK ? MIN_STACK : bytes) + PAGE - 1) & ~(size_t)(PAGE - 1);
	if (!thread)
		t->owners = 1;
	else
		*thread = t;
	__atomic_fetch_add(&rt.nr_threads, 1, __ATOMIC_RELAXED);
	err = begin_task(t, attr);
	if (!err)
		err = kind == WEIR_GREEN ? start_green(t) : start_bound(t);
	if (!err) {
		__atomic_fetch_add(&rt.created, 1, __ATOMIC_RELAXED);
		return 0;
	}
	task_end(t);
	if (t->stack)
		stack_drop(t->stack, t->stack_bytes);
	__atomic_fetch_sub(&rt.nr_threads, 1, __ATOMIC_RELAXED);
	t->owners = 1;
	record_drop(t);
	return err;
}

struct weir_thread *work_new(const struct weir_thread_attr *attr)
{
	struct weir_thread *t = record_new();

	if (!t)
		return 0;
	t->kind = WEIR_WORK;
	t->owners = 1;
	if (begin_task(t, attr)) {
		record_drop(t);
		return 0;
	}
	__atomic_fetch_add(&rt.nr_threads, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&rt.created, 1, __ATOMIC_RELAXED);
	return t;
}

void work_ended(struct weir_thread *t)
{
	wake_joiners(t);
}

WEIR_API int weir_thread_adopt(const struct weir_thread_attr *attr)
{
	struct weir_thread *t;
	int err;

	if (!__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE) || me()->thread)
		return -EINVAL;
	t = record_new();
	if (!t)
		return -ENOMEM;
	t->kind = WEIR_BOUND;
	t->adopted = 1;
	t->owners = 1;
	err = begin_task(t, attr);
	if (!err)
		err = become(t);
	if (!err)
		err = task_admit(t);
	if (err) {
		task_end(t);
		record_drop(t);
		return err;
	}
	__atomic_fetch_add(&rt.nr_threads, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&rt.created, 1, __ATOMIC_RELAXED);
	begin(t);
	return 0;
}

WEIR_API int weir_thread_leave(void)
{
	struct weir_thread *t = me()->thread;

	if (!t || !t->adopted)
		return -EINVAL;
	bound_end(t);
	return 0;
}

WEIR_API int weir_thread_join(weir_thread *t, void **result)
{
	if (!t || t == me()->thread)
		return -EINVAL;
	hold();
	spin(&t->joiners.lock);
	if (!__atomic_load_n(&t->ended, __ATOMIC_ACQUIRE)) {
		struct weir_waiter w = { 0 };

		queue_add(&t->joiners, &w);
		queue_wait(&t->joiners, &w, NEVER);
	} else {
		unspin(&t->joiners.lock);
	}
	release();
	if (result)
		*result = t->result;
	record_drop(t);
	return 0;
}

WEIR_API int weir_thread_detach(weir_thread *t)
{
	if (!t)
		return -EINVAL;
	record_drop(t);
	return 0;
}

WEIR_API weir_thread *weir_thread_self(void)
{
	return me()->thread;
}

WEIR_API int weir_thread_kind(const weir_thread *t)
{
	return (int)t->kind;
}

WEIR_API int weir_thread_cpu(const weir_thread *t)
{
	const struct control *b = __atomic_load_n(&t->control, __ATOMIC_RELAXED);

	return __atomic_load_n(b ? &b->cpu : &t->cpu, __ATOMIC_RELAXED);
}

WEIR_API uint64_t weir_thread_deallocations(const weir_thread *t)
{
	const struct control *b = __atomic_load_n(&t->control, __ATOMIC_RELAXED);

	return __atomic_load_n(b ? &b->deallocations : &t->deallocations, __ATOMIC_RELAXED);
}

/* --- giving up the CPU ------------------------------------------------------------------------------------------------- */

WEIR_API void weir_thread_yield(void)
{
	struct self *s = hold();

	if (s->disabled == 1 && s->thread && s->cpu) {
		count(&s->cpu->n.yields);
		s = switch_out(s, REQUEST_YIELD, LEFT_YIELD);
	}
	release_as(s);
}

/* The task is blocked; the thread now sleeps unless it has a permit. Its stack is not in use, or it is bound. */
void thread_finish_park(struct weir_thread *t)
{
	if (__sync_bool_compare_and_swap(&t->park, PARK_NONE, PARK_ASLEEP))
		return;
	__atomic_store_n(&t->park, PARK_NONE, __ATOMIC_RELEASE);
	task_unblock(t);
}

/* For threads of the runtime only. */
static void park(struct weir_thread *t)
{
	struct self *s = hold();

	if (__sync_bool_compare_and_swap(&t->park, PARK_PERMIT, PARK_NONE)) {
		release();
		return;
	}
	if (!s->cpu) {
		/* As above. It returns spuriously. */
		release();
		syscall(SYS_sched_yield);
		return;
	}
	count(&s->cpu->n.blocks);
	release_as(switch_out(s, REQUEST_PARK, LEFT_BLOCKED));
}

void unpark(struct weir_thread *t)
{
	u32 was = __atomic_load_n(&t->park, __ATOMIC_ACQUIRE);

	for (;;) {
		u32 to = was == PARK_ASLEEP ? PARK_NONE : PARK_PERMIT;

		if (was == PARK_PERMIT)
			return;
		if (__atomic_compare_exchange_n(&t->park, &was, to, 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			/* The caller alone has won the right to wake it. */
			if (was == PARK_ASLEEP)
				task_unblock(t);
			return;
		}
	}
}

/* As weir_thread_park(), but until time @at at the latest. */
void park_until(u64 at)
{
	struct weir_thread *t = me()->thread;

	if (at == NEVER) {
		park(t);
		return;
	}
	t->alarm.thread = t;
	timer_add(&t->alarm, at);
	park(t);
	timer_remove(&t->alarm);
}

WEIR_API void weir_thread_park(void)
{
	struct weir_thread *t = me()->thread;

	if (t)
		park(t);
}

WEIR_API void weir_thread_unpark(weir_thread *t)
{
	unpark(t);
}

WEIR_API int weir_thread_hand_over(weir_thread *to)
{
	struct weir_thread *t;
	struct self *s;
	int passed, won;

	s = hold();
	t = s->thread;
	if (!t || !s->cpu || !to || to == t) {
		release();
		weir_thread_yield();
		return 1;
	}
	/* Asleep: the caller wakes it. About to sleep: it gets a permit. Awake: it waits for a CPU or has one, which the core checks. */
	won = __sync_bool_compare_and_swap(&to->park, PARK_ASLEEP, PARK_NONE);
	passed = task_hand_over(s->cpu, t, to, won);
	if (passed && !won)
		unpark(to);
	if (!passed) {
		s->cpu->next = to;
		count(&s->cpu->n.handovers);
	}
	release_as(switch_out(s, REQUEST_NOTHING, LEFT_YIELD));
	if (rt.joined) {
		passed = join_passed(t);
		__atomic_fetch_add(&rt.cpus[0].n.handovers, !passed, __ATOMIC_RELAXED);
	}
	return passed;
}

/* --- around what blocks ------------------------------------------------------------------------------------------------- */

/* The preloaded library: the program waits for the runtime's signal itself, in a call or by a file; it has kept one for that (shim-signal.c). */
extern int weir_shim_waits(void) __attribute__((weak));
extern void weir_shim_gives(void) __attribute__((weak));

/* The signal is blocked: only the program's ones are to be pending. */
static void quiet(struct weir_thread *t, u64 set)
{
	static const struct itimerspec never;
	static const struct timespec at_once;
	siginfo_t info;

	t->armed = 0;
	timer_settime(t->timer, 0, &never, 0);
	while (syscall(SYS_rt_sigtimedwait, &set, &info, &at_once, sizeof(set)) > 0)
		if (!is_own(&info))
			weir_shim_urgent(&info, 0, 0);
	weir_shim_gives();
}

WEIR_API void weir_blocking_begin(void)
{
	struct weir_thread *t;
	struct self *s = me();
	u64 set = 1ull << (rt.signal - 1);
	struct weir_thread *next;
	struct cpu *c;
	int was = errno;

	t = s->thread;
	if (s->away) {
		s->away++;
		return;
	}
	if (!t || t->kind != WEIR_BOUND || !s->cpu || s->disabled)
		return;
	hold();
	/* It was astray, and has left the runtime. */
	if (!s->cpu) {
		release();
		return;
	}
	s->away = 1;
	/* The preemption signal must not interrupt a system call that waits without a CPU. */
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, &t->mask, sizeof(set));
	if (weir_shim_waits && weir_shim_waits())
		quiet(t, set);
	c = s->cpu;
	if (weir_load(&tracing) && !rt.joined)
		trace(c, 0, LEFT_BLOCKED);
	count(&c->n.blocks);
	__atomic_store_n(&t->deallocations, t->deallocations + 1, __ATOMIC_RELAXED);
	next = cpu_yield(c, t, LEFT_BLOCKED);
	__atomic_store_n(&t->cpu, -1, __ATOMIC_RELAXED);
	s->cpu = 0;
	has_not(c, t);
	cpu_leave(c, next);
	release();
	errno = was;
}

WEIR_API void weir_blocking_end(void)
{
	struct self *s = me();
	struct weir_thread *t = s->thread;
	int was = errno;
	u64 mask;

	if (s->away != 1) {
		s->away -= s->away != 0;
		return;
	}
	hold();
	s->away = 0;
	mask = t->mask;
	bound_return(t);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, sizeof(mask));
	release();
	errno = was;
}

WEIR_API int weir_blocking(void)
{
	return me()->away != 0;
}

WEIR_API void weir_disable(void)
{
	hold();
}

WEIR_API void weir_enable(void)
{
	release();
}

WEIR_API unsigned weir_disabled(void)
{
	return me()->disabled;
}

WEIR_API uint64_t weir_clock(void)
{
	return now();
}

WEIR_API void weir_sleep_until(uint64_t at)
{
	struct timespec t = { .tv_sec = (time_t)(at / 1000000000ull),
			      .tv_nsec = (long)(at % 1000000000ull) };

	if (!me()->thread) {
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0) == EINTR)
			;
		return;
	}
	while (now() < at)
		park_until(at);
}

WEIR_API void weir_sleep(uint64_t ns)
{
	u64 from = now();

	weir_sleep_until(ns > NEVER - 1 - from ? NEVER - 1 : from + ns);
}
