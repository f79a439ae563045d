/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * For `runweir threads POLICY -- COMMAND`: preloaded into an unmodified program. Its main thread and the threads that it makes become
 * bound threads of the runtime; calls that may block give up the CPU meanwhile. The program's own objects stay as they are: where
 * pthread_mutex_lock() has to wait, the real one waits, without a CPU. A thread that sleeps in a call that is not caught here (inside libc, a
 * system call of the program's own, a page fault) is noticed (watch.c).
 *
 * WEIR_THREADS_PLAN names the plan, which is removed after reading if WEIR_THREADS_UNLINK is set; WEIR_THREADS_STATS asks for a line of
 * counters at the end; WEIR_THREADS_TRACE, for a file of what ran where; WEIR_THREADS_GANGS names manifests, one per line, for OpenMP
 * teams; WEIR_THREADS_ATTRIBUTES, what all its threads begin with (`priority=3,weight=2048,group=1`).
 *
 * WEIR_THREADS_NO_FALLBACK: the policy to the letter, without WEIR_RT_FALLBACK. WEIR_THREADS_OVERSUBSCRIBE, for tests: the plan may have more CPUs than there are.
 *
 * Or WEIR_THREADS_JOIN names the policy of another process. Programs that this one starts join it, too. WEIR_THREADS_JOINED is set
 * for them: if they cannot, they run without a policy. docs/threads.md has the reasons.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "shim.h"

int shim_active;
cpu_set_t shim_whole;
int shim_clones;
static pthread_key_t ends;
static struct weir_thread_attr attributes; /* of new threads */
static __thread struct record *self;
static __thread int outside; /* it has left the policy */

static void *find(const char *name)
{
	/* libc has two versions of the condition functions; dlsym() would find the old ones. */
	void *f = !strncmp(name, "pthread_cond_", 13) ? dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2") : 0;

	return f ? f : dlsym(RTLD_NEXT, name);
}

void *shim_next(const char *name)
{
	void *f = find(name);

	if (!f) {
		static const char text[] =
			"runweir threads: libc lacks a function that is to be wrapped\n";

		(void)!write(2, text, sizeof(text) - 1);
		_exit(127);
	}
	return f;
}

extern const struct shim_real __start_shim_reals[] __attribute__((visibility("hidden")));
extern const struct shim_real __stop_shim_reals[] __attribute__((visibility("hidden")));

static void find_all(void)
{
	for (const struct shim_real *r = __start_shim_reals; r < __stop_shim_reals; r++)
		if (!*r->real)
			*r->real = find(r->name);
}

struct record *shim_self(void)
{
	return self;
}

int shim_mine(void)
{
	return shim_active && weir_thread_self() &&
	       (!shim_clones || (self && self->tid == (int)syscall(SYS_gettid)));
}

/* --- threads ------------------------------------------------------------------------------------------------ */

static weir_mutex list_lock;
static struct record *list;
static unsigned nr_program; /* (a) threads of the program */

/* The thread is not preempted meanwhile: it may be cancelled there. */
static void lock_list(void)
{
	weir_disable();
	weir_mutex_lock(&list_lock);
}

static void unlock_list(void)
{
	weir_mutex_unlock(&list_lock);
	weir_enable();
}

static void enlist(struct record *r)
{
	r->thread = pthread_self();
	r->own = weir_thread_self();
	r->tid = (int)syscall(SYS_gettid);
	self = r;
	lock_list();
	r->next = list;
	list = r;
	unlock_list();
}

int shim_on(pthread_t thread, int tid, int (*f)(struct record *r, void *with), void *with)
{
	int result = 0;

	lock_list();
	for (struct record *r = list; r; r = r->next)
		if (tid ? r->tid == tid : pthread_equal(r->thread, thread)) {
			result = f(r, with);
			break;
		}
	unlock_list();
	return result;
}

void shim_on_all(int (*f)(struct record *r, void *with), void *with)
{
	lock_list();
	for (struct record *r = list; r; r = r->next)
		f(r, with);
	unlock_list();
}

int shim_prioritise(struct record *r)
{
	int64_t own = attributes.given >> WEIR_PRIORITY & 1 ? attributes.value[WEIR_PRIORITY] : 0;

	return r->own ? -weir_thread_set(
				r->own, WEIR_PRIORITY,
				r->at.sched_priority ? r->at.sched_priority : own - r->nice, 0)
		      : 0;
}

/*
 * The destructor of our thread-specific data. The program's destructors are to run under the policy, and may use up all rounds that POSIX
 * allows, so the thread leaves in the last one. Drivers and other threads of the runtime do not keep a process alive: it ends with the
 * program's last thread, as without us.
 */
static void gone(void *arg)
{
	struct record *r = arg;
	int rest = PTHREAD_DESTRUCTOR_ITERATIONS - 1;

	if (r->rounds++ < (unsigned)rest && !pthread_setspecific(ends, r))
		return;
	lock_list();
	for (struct record **at = &list; *at; at = &(*at)->next)
		if (*at == r) {
			*at = r->next;
			break;
		}
	unlock_list();
	self = 0;
	weir_thread_leave();
	free(r);
	if (!__atomic_sub_fetch(&nr_program, 1, __ATOMIC_ACQ_REL))
		exit(0);
}

static void *begin(void *arg)
{
	struct record *r = arg;

	shim_block_urgent(r->blocks_urgent);
	if (r->outside) {
		self = r;
		outside = 1;
		pthread_setspecific(ends, r);
		return r->run(r->arg);
	}
	weir_thread_adopt(&attributes);
	enlist(r);
	shim_nice(r);
	pthread_setspecific(ends, r);
	return r->run(r->arg);
}

/* What a thread begins with: what its creator has, and what is given explicitly. */
static void inherit(struct record *r, const pthread_attr_t *attr)
{
	const struct record *from = shim_self();
	int inherits = PTHREAD_INHERIT_SCHED;
	sigset_t mask;

	r->outside = outside;
	r->blocks_urgent = shim_blocks_urgent();
	r->cpus = from ? from->cpus : shim_whole;
	r->policy = from ? from->policy : SCHED_OTHER;
	r->at = from ? from->at : (struct sched_param){ 0 };
	if (!attr)
		return;
	if (pthread_attr_getsigmask_np(attr, &mask) != PTHREAD_ATTR_NO_SIGMASK_NP)
		r->blocks_urgent = sigismember(&mask, SIGURG) == 1;
	pthread_attr_getinheritsched(attr, &inherits);
	if (inherits != PTHREAD_EXPLICIT_SCHED)
		return;
	pthread_attr_getschedpolicy(attr, &r->policy);
	pthread_attr_getschedparam(attr, &r->at);
}

/*
 * Where attributes ask for a policy of Linux or for CPUs, the thread gets attributes without them: they are the runtime's matter, and Linux
 * would want root for some. 0: @attr serves as it is.
 */
static const pthread_attr_t *plain(const pthread_attr_t *attr, pthread_attr_t *copy,
				   struct record *r)
{
	int inherits = PTHREAD_INHERIT_SCHED, state, scope;
	cpu_set_t cpus;
	size_t bytes;
	sigset_t mask;
	void *stack;

	if (!attr)
		return 0;
	pthread_attr_getinheritsched(attr, &inherits);
	memset(&cpus, 0xff, sizeof(cpus));
	if (pthread_attr_getaffinity_np(attr, sizeof(cpus), &cpus))
		return 0;
	CPU_AND(&cpus, &cpus, &shim_whole);
	if (!CPU_EQUAL(&cpus, &shim_whole) && CPU_COUNT(&cpus))
		r->cpus = cpus;
	else if (inherits != PTHREAD_EXPLICIT_SCHED)
		return 0;
	if (pthread_attr_init(copy))
		return 0;
	pthread_attr_getdetachstate(attr, &state);
	pthread_attr_setdetachstate(copy, state);
	pthread_attr_getscope(attr, &scope);
	pthread_attr_setscope(copy, scope);
	pthread_attr_getguardsize(attr, &bytes);
	pthread_attr_setguardsize(copy, bytes);
	/* An address that was never set is null, less the size. */
	pthread_attr_getstack(attr, &stack, &bytes);
	if (stack && (unsigned long)stack + bytes)
		pthread_attr_setstack(copy, stack, bytes);
	else
		pthread_attr_setstacksize(copy, bytes);
	if (pthread_attr_getsigmask_np(attr, &mask) != PTHREAD_ATTR_NO_SIGMASK_NP)
		pthread_attr_setsigmask_np(copy, &mask);
	return copy;
}

SHIM int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			void *arg)
{
	const pthread_attr_t *other;
	pthread_attr_t copy;
	struct record *r;
	int err;

	REAL(pthread_create);
	if (!shim_active)
		return real(thread, attr, run, arg);
	r = calloc(1, sizeof(*r));
	if (!r)
		return EAGAIN;
	r->run = run;
	r->arg = arg;
	inherit(r, attr);
	other = plain(attr, &copy, r);
	__atomic_fetch_add(&nr_program, 1, __ATOMIC_ACQ_REL);
	err = real(thread, other ? other : attr, begin, r);
	if (other)
		pthread_attr_destroy(&copy);
	if (err) {
		__atomic_fetch_sub(&nr_program, 1, __ATOMIC_ACQ_REL);
		free(r);
	}
	return err;
}

/* --- cancellation --------------------------------------------------------------------------------------------- */

/*
 * libc's asynchronous cancellation would unwind a thread in the middle of the runtime. So the thread stays deferred for libc, and the handler of
 * the runtime's signal acts where the thread may be preempted: it has its CPU then, and no lock.
 */
static int poke(struct record *r, void *with)
{
	(void)with;
	if (r->cancels)
		syscall(SYS_tgkill, getpid(), r->tid, SIGURG);
	return 1;
}

SHIM int pthread_cancel(pthread_t thread)
{
	int err;

	REAL(pthread_cancel);
	err = real(thread);
	if (!err && shim_active)
		shim_on(thread, 0, poke, 0);
	return err;
}

static void be(int type)
{
	REAL(pthread_setcanceltype);
	real(type, 0);
}

/* A thread that was cancelled ends in this call. */
void shim_asynchronous(void)
{
	be(PTHREAD_CANCEL_ASYNCHRONOUS);
}

void shim_deferred(void)
{
	be(PTHREAD_CANCEL_DEFERRED);
}

/* The thread gives up its CPU. Whether its cancellation is asynchronous. */
int shim_leaves(void)
{
	int cancels = self && self->cancels && !weir_disabled();

	weir_blocking_begin();
	return cancels;
}

/* For the runtime's signal handler (driver.c). @may_end: the thread may end here. Nonzero: ask again soon. */
int weir_shim_signalled(int may_end)
{
	if (!self || !self->cancels)
		return 0;
	if (may_end) {
		/* Clean-up handlers can be preempted as well. */
		shim_mask_urgent(SIG_UNBLOCK);
		shim_asynchronous();
		shim_deferred();
	}
	return !may_end;
}

SHIM int pthread_setcanceltype(int type, int *old)
{
	REAL(pthread_setcanceltype);
	if (!shim_active || !self)
		return real(type, old);
	if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS)
		return EINVAL;
	if (old)
		*old = self->cancels ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
	self->cancels = type == PTHREAD_CANCEL_ASYNCHRONOUS;
	if (self->cancels)
		pthread_testcancel();
	return 0;
}

SHIM int pthread_setcancelstate(int state, int *old)
{
	int err;

	REAL(pthread_setcancelstate);
	err = real(state, old);
	if (!err && state == PTHREAD_CANCEL_ENABLE && shim_active && self && self->cancels)
		pthread_testcancel();
	return err;
}

/* --- joining ---------------------------------------------------------------------------------------------------- */

SHIM int pthread_join(pthread_t thread, void **result)
{
	REAL(pthread_join);
	return BLOCKING(real(thread, result));
}

SHIM int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *t)
{
	REAL(pthread_timedjoin_np);
	return BLOCKING(real(thread, result, t));
}

SHIM int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
			      const struct timespec *t)
{
	REAL(pthread_clockjoin_np);
	return BLOCKING(real(thread, result, clock, t));
}

/* --- the same by C11's names: libc implements these with internal calls, which are not caught ---------------- */

struct c11 {
	thrd_start_t run;
	void *arg;
};

static void *begin_c11(void *arg)
{
	struct c11 c = *(struct c11 *)arg;

	free(arg);
	/* The result as thrd_join() reads it. */
	return (void *)(uintptr_t)(unsigned)c.run(c.arg);
}

static int c11_error(int err)
{
	return !err		  ? thrd_success
	       : err == ENOMEM	  ? thrd_nomem
	       : err == ETIMEDOUT ? thrd_timedout
	       : err == EBUSY	  ? thrd_busy
				  : thrd_error;
}

SHIM int thrd_create(thrd_t *thread, thrd_start_t run, void *arg)
{
	struct c11 *c;
	int err;

	REAL(thrd_create);
	if (!shim_active)
		return real(thread, run, arg);
	c = malloc(sizeof(*c));
	if (!c)
		return thrd_nomem;
	*c = (struct c11){ run, arg };
	err = pthread_create(thread, 0, begin_c11, c);
	if (err)
		free(c);
	return c11_error(err);
}

SHIM int thrd_join(thrd_t thread, int *result)
{
	REAL(thrd_join);
	return BLOCKING(real(thread, result));
}

SHIM void thrd_yield(void)
{
	sched_yield();
}

SHIM int thrd_sleep(const struct timespec *t, struct timespec *left)
{
	REAL(thrd_sleep);
	return BLOCKING(real(t, left));
}

/* The objects are POSIX's under other names. */
SHIM int mtx_lock(mtx_t *m)
{
	return c11_error(pthread_mutex_lock((pthread_mutex_t *)m));
}

SHIM int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict t)
{
	return c11_error(pthread_mutex_timedlock((pthread_mutex_t *)m, t));
}

SHIM int cnd_wait(cnd_t *c, mtx_t *m)
{
	return c11_error(pthread_cond_wait((pthread_cond_t *)c, (pthread_mutex_t *)m));
}

SHIM int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m, const struct timespec *restrict t)
{
	return c11_error(pthread_cond_timedwait((pthread_cond_t *)c, (pthread_mutex_t *)m, t));
}

/* --- the program's beginning and end ------------------------------------------------------------------------------------ */

/* One gang for each manifest. */
static int open_gangs(char *files)
{
	static char text[65536];

	for (char *name = strtok(files, "\n"); name; name = strtok(0, "\n")) {
		int fd = open(name, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

		if (fd >= 0)
			close(fd);
		if (n < 0) {
			fprintf(stderr, "runweir threads: %s: %s\n", name, strerror(errno));
			return 2;
		}
		if (weir_gang_open(text, (size_t)n) < 0) {
			fprintf(stderr, "runweir threads: %s: %s\n", name, weir_rt_error());
			return 2;
		}
	}
	return 0;
}

static int stats_file = -1; /* because programs close stderr before they end */
static int talks = -1;	    /* likewise */

/* `name=number,...` */
static int read_attributes(char *text)
{
	static const struct {
		const char *name;
		enum weir_attribute what;
	} known[] = { { "priority", WEIR_PRIORITY },
		      { "weight", WEIR_WEIGHT },
		      { "group", WEIR_GROUP } };

	for (char *part = strtok(text, ","); part; part = strtok(0, ",")) {
		char *value = strchr(part, '=');
		unsigned i = 0;

		while (i < sizeof(known) / sizeof(known[0]) &&
		       (!value || strncmp(part, known[i].name, (size_t)(value - part)) ||
			known[i].name[value - part]))
			i++;
		if (i == sizeof(known) / sizeof(known[0]))
			return 2;
		attributes.given |= 1u << known[i].what;
		attributes.value[known[i].what] = strtoll(value + 1, 0, 10);
	}
	return 0;
}

static void alone(const char *why)
{
	static const char rest[] = "; the program continues without a policy\n";

	if (talks < 0)
		return;
	(void)!syscall(SYS_write, talks, "runweir threads: ", 17);
	(void)!syscall(SYS_write, talks, why, strlen(why));
	(void)!syscall(SYS_write, talks, rest, sizeof(rest) - 1);
}

/* What the policy does not obey of what programs ask of Linux's scheduler: a line each, KIND=SENTENCE. Said once, or the end. */
static char *unheeded;
static int strictly;

void shim_unheeded(const char *kind)
{
	static const char begin[] = "runweir threads: ";
	size_t length = strlen(kind);
	char *line;

	line = unheeded;
	while (line && (strncmp(line, kind, length) || line[length] != '=')) {
		line = strchr(line, '\n');
		line = line ? line + 1 : 0;
	}
	/* Another thread may have asked at the same time. */
	if (!line || talks < 0 || __atomic_exchange_n(line, '-', __ATOMIC_ACQ_REL) != kind[0])
		return;
	line += length + 1;
	(void)!syscall(SYS_write, talks, begin, sizeof(begin) - 1);
	(void)!syscall(SYS_write, talks, line, strcspn(line, "\n"));
	(void)!syscall(SYS_write, talks, "\n", 1);
	if (strictly)
		_exit(2);
}

/* By hand: bash has an unsetenv() of its own, which before main() leaves what the programs that it starts will get. */
static void forget(const char *name)
{
	size_t n = strlen(name);
	char **to = environ;

	for (char **at = environ; *at; at++)
		if (strncmp(*at, name, n) || (*at)[n] != '=')
			*to++ = *at;
	*to = 0;
}

/* Take it out of the environment. */
static char *taken(const char *name)
{
	char *value = getenv(name);

	value = value ? strdup(value) : 0;
	forget(name);
	return value;
}

int shim_owns(int fd)
{
	return fd >= 0 && (fd == stats_file || fd == talks || weir_rt_owns(fd));
}

static int failed(const char *why)
{
	fprintf(stderr, "runweir threads: %s\n", why);
	_exit(2);
}

/* No signal of the program is for a thread of the runtime: one that all of the program's threads block waits for sigwait(). */
static int open_quietly(const struct weir_rt_config *config)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
	sigset_t all, was;
	int err;

	sigfillset(&all);
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&all, faults[i]);
	pthread_sigmask(SIG_BLOCK, &all, &was);
	err = weir_rt_open(config);
	pthread_sigmask(SIG_SETMASK, &was, 0);
	return err;
}

/* Programs that this one starts join as well; @follows: this is one. 0: it is not to have a policy. */
static int join_runtime(struct weir_rt_config *config, int follows)
{
	config->join = getenv("WEIR_THREADS_JOIN");
	config->alone = alone;
	if (open_quietly(config)) {
		if (!follows) {
			fprintf(stderr, "runweir threads: %s\n", weir_rt_error());
			fprintf(stderr, "help: `runweir threads POLICY --serve NAME` starts a "
					"policy that programs join\n");
			_exit(2);
		}
		return 0;
	}
	setenv("WEIR_THREADS_JOINED", "1", 1);
	return 1;
}

/* The calling thread, with the attributes that all have, and the settings @as that it has already. */
static int take_in(const struct record *as)
{
	struct record *r = calloc(1, sizeof(*r));

	if (!r || weir_thread_adopt(&attributes)) {
		free(r);
		return -1;
	}
	r->cpus = shim_whole;
	if (as) {
		r->cpus = as->cpus;
		r->policy = as->policy;
		r->at = as->at;
		memcpy(r->reservation, as->reservation, sizeof(r->reservation));
	}
	enlist(r);
	shim_nice(r);
	pthread_setspecific(ends, r);
	nr_program = 1;
	shim_active = 1;
	return 0;
}

/* In the child of a fork: it joins for itself. If it cannot, or there is nothing to join, it runs without a policy. */
static void follow(void)
{
	struct weir_rt_config config = { 0 };
	int blocked = shim_blocks_urgent();
	const struct record *was = outside ? 0 : self;

	shim_active = 0;
	shim_clones = 0;
	stats_file = -1;
	list = 0;
	self = 0;
	memset(&list_lock, 0, sizeof(list_lock));
	pthread_setspecific(ends, 0);
	if (!outside && getenv("WEIR_THREADS_JOINED") && join_runtime(&config, 1))
		take_in(was);
	if (!shim_active)
		shim_urgent_without_policy();
	if (!shim_active && was)
		weir_shim_call(SYS_sched_setaffinity, 0, sizeof(was->cpus), (long)&was->cpus);
	if (shim_active || !blocked)
		weir_rt_fork_done();
}

int shim_is_single(void)
{
	return __atomic_load_n(&nr_program, __ATOMIC_ACQUIRE) == 1;
}

void shim_leave(void)
{
	if (outside)
		return;
	outside = 1;
	if (!self)
		return;
	lock_list();
	self->own = 0;
	unlock_list();
	weir_thread_leave();
	weir_shim_call(SYS_sched_setaffinity, 0, sizeof(self->cpus), (long)&self->cpus);
	/* The last one can end as if there had been no runtime, by any call. */
	if (shim_is_single() && !weir_rt_close()) {
		shim_active = 0;
		shim_urgent_without_policy();
	}
}

void shim_follow(void)
{
	weir_rt_forked();
	follow();
}

/* Only our libraries leave the variable; others stay for the programs that this one starts. */
static void leave_preload(void)
{
	static const char *const ours[] = { "libweir_preload.so", "libweir_gomp.so" };
	char *value = getenv("LD_PRELOAD");
	char *copy = value ? strdup(value) : 0, *kept = copy ? calloc(1, strlen(copy) + 1) : 0;

	for (char *at, *part = kept ? strtok_r(copy, ": ", &at) : 0; part;
	     part = strtok_r(0, ": ", &at)) {
		const char *name = strrchr(part, '/');

		name = name ? name + 1 : part;
		if (!strcmp(name, ours[0]) || !strcmp(name, ours[1]))
			continue;
		if (*kept)
			strcat(kept, ":");
		strcat(kept, part);
	}
	/* In place, as in forget(). */
	if (kept && *kept)
		strcpy(value, kept);
	else
		forget("LD_PRELOAD");
	free(copy);
	free(kept);
}

/* What the user asks for before the program asks for anything. @joined: nobody has compared the attributes with the policy yet. */
static void first_wishes(int joined)
{
	int64_t priority = attributes.value[WEIR_PRIORITY];

	if (self->nice)
		shim_unheeded("nice");
	if (!joined)
		return;
	if (attributes.given >> WEIR_PRIORITY & 1)
		shim_unheeded(priority >= -19 && priority <= 20 ? "nice" : "priority");
	if (attributes.given >> WEIR_WEIGHT & 1)
		shim_unheeded("weight");
	if (attributes.given >> WEIR_GROUP & 1 && attributes.value[WEIR_GROUP])
		shim_unheeded("group");
}

__attribute__((constructor)) static void open_runtime(void)
{
	struct weir_rt_config config = { 0 };
	char *plan = taken("WEIR_THREADS_PLAN"), *unlinks = taken("WEIR_THREADS_UNLINK"),
	     *stats = taken("WEIR_THREADS_STATS"), *gangs = taken("WEIR_THREADS_GANGS"),
	     *trace = taken("WEIR_THREADS_TRACE"), *over = taken("WEIR_THREADS_OVERSUBSCRIBE"),
	     *letter = taken("WEIR_THREADS_NO_FALLBACK"), *cpus = taken("WEIR_THREADS_CPUS");
	const char *given = getenv("WEIR_THREADS_ATTRIBUTES");
	int follows = getenv("WEIR_THREADS_JOINED") != 0;
	char *strict;

	if (given && read_attributes(strdup(given)))
		failed("WEIR_THREADS_ATTRIBUTES: priority, weight and group are known, as "
		       "`priority=3`");
	if (plan || getenv("WEIR_THREADS_JOIN"))
		find_all();
	sched_getaffinity(0, sizeof(shim_whole), &shim_whole);
	shim_urgent();
	if (plan) {
		/* The program may limit its address space (RLIMIT_AS). */
		config.arena_bytes = 256u << 20;
		config.plan_file = plan;
		config.flags = WEIR_RT_WATCHDOG | (over ? WEIR_RT_OVERSUBSCRIBE : 0) |
			       (letter ? 0 : WEIR_RT_FALLBACK);
		if (weir_rt_place(cpus) || open_quietly(&config))
			failed(weir_rt_error());
		if (unlinks)
			unlink(plan);
		/* Programs that this one starts run without the runtime. */
		leave_preload();
	} else if (!getenv("WEIR_THREADS_JOIN") || !join_runtime(&config, follows)) {
		return;
	}
	if (stats)
		stats_file = fcntl(2, F_DUPFD_CLOEXEC, 100);
	unheeded = strdup(weir_rt_ignores());
	strict = taken("WEIR_THREADS_STRICT");
	strictly = strict != 0;
	talks = fcntl(2, F_DUPFD_CLOEXEC, 100);
	if (gangs && open_gangs(gangs))
		_exit(2);
	if (trace && weir_rt_trace(trace))
		failed(weir_rt_error());
	if (pthread_key_create(&ends, gone) || take_in(0) || pthread_atfork(0, 0, follow)) {
		fprintf(stderr, "runweir threads: the main thread cannot be taken in\n");
		_exit(1);
	}
	if (!follows)
		first_wishes(!plan);
	free(plan);
	free(cpus);
	free(unlinks);
	free(stats);
	free(gangs);
	free(trace);
	free(over);
	free(letter);
	free(strict);
}

__attribute__((destructor)) static void close_runtime(void)
{
	struct weir_rt_stats s;

	if (shim_active && weir_rt_trace_end() == -EIO)
		fprintf(stderr, "runweir threads: the trace could not be written\n");
	if (!shim_active || stats_file < 0)
		return;
	weir_rt_stats(&s);
	dprintf(stats_file,
		"{\"policy\":\"%s\",\"cpus\":%u,\"threads\":%llu,\"dispatches\":%llu,\"blocks\":%"
		"llu,\"preemptions\":%llu,"
		"\"expiries\":%llu,\"kicks\":%llu,\"sleeps\":%llu,\"idle_ns\":%llu,\"deadline_"
		"misses\":%llu}\n",
		weir_rt_policy(), s.cpus, (unsigned long long)s.created,
		(unsigned long long)s.dispatches, (unsigned long long)s.blocks,
		(unsigned long long)s.preemptions, (unsigned long long)s.expiries,
		(unsigned long long)s.kicks, (unsigned long long)s.sleeps,
		(unsigned long long)s.idle_ns, (unsigned long long)s.deadline_misses);
}
