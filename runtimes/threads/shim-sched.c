/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the program says to Linux's scheduler. Priorities are the policy's; the kernel is not asked, so root is not needed. Nice values are both's:
 * in Linux they divide the machine among programs, here a policy's CPUs among threads. Policies of Linux and sets of CPUs are
 * remembered and returned, and have no effect: the policy places threads. What has no effect is said once.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

/* --- policies and priorities ------------------------------------------------------------------------------------ */

struct setting {
	int policy; /* -1: as it was */
	struct sched_param param;
};

static int known(int policy, int priority, int lenient)
{
	policy &= ~SCHED_RESET_ON_FORK;
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		return priority >= 1 && priority <= 99;
	if (policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE)
		return lenient || !priority;
	return 0;
}

/* Say what of it has no effect. */
static void wishes(const struct setting *s)
{
	switch (s->policy & ~SCHED_RESET_ON_FORK) {
	case SCHED_FIFO:
		shim_unheeded("fifo");
		return;
	case SCHED_RR:
		shim_unheeded("rr");
		return;
	case SCHED_BATCH:
		shim_unheeded("batch");
		break;
	case SCHED_IDLE:
		shim_unheeded("idle");
		break;
	case SCHED_DEADLINE:
		shim_unheeded("deadline");
		return;
	}
	if (s->param.sched_priority)
		shim_unheeded("priority");
}

/* 1 + an error number */
static int set(struct record *r, void *with)
{
	const struct setting *s = with;
	const struct sched_param was = r->at;
	int err;

	r->at = s->param;
	err = r->own ? shim_prioritise(r) : ESRCH;
	if (err) {
		r->at = was;
		return 1 + err;
	}
	if (s->policy >= 0)
		r->policy = s->policy;
	wishes(s);
	return 1;
}

static int get(struct record *r, void *with)
{
	*(struct setting *)with = (struct setting){ r->policy, r->at };
	return 1;
}

/* 0: not a thread of the program. */
static int tid_of(pid_t pid)
{
	return pid ? pid : (int)syscall(SYS_gettid);
}

static int answer(int result)
{
	if (result == 1)
		return 0;
	errno = result - 1;
	return -1;
}

/* As before, any priority goes with SCHED_OTHER: it is what the policy orders by. */
SHIM int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param)
{
	struct setting s = { policy, *param };
	int found;

	REAL(pthread_setschedparam);
	if (!shim_active)
		return real(thread, policy, param);
	if (!known(policy, param->sched_priority, 1))
		return EINVAL;
	found = shim_on(thread, 0, set, &s);
	return found ? found - 1 : real(thread, policy, param);
}

SHIM int pthread_getschedparam(pthread_t thread, int *policy, struct sched_param *param)
{
	struct setting s;

	REAL(pthread_getschedparam);
	if (!shim_active || !shim_on(thread, 0, get, &s))
		return real(thread, policy, param);
	*policy = s.policy;
	*param = s.param;
	return 0;
}

SHIM int pthread_setschedprio(pthread_t thread, int priority)
{
	struct setting s = { -1, { .sched_priority = priority } };
	int found;

	REAL(pthread_setschedprio);
	found = shim_active ? shim_on(thread, 0, set, &s) : 0;
	return found ? found - 1 : real(thread, priority);
}

SHIM int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
	struct setting s = { .policy = policy, .param = { 0 } };
	int found;

	REAL(sched_setscheduler);
	if (!shim_active || pid < 0 || !param || !known(policy, param->sched_priority, 0))
		return real(pid, policy, param);
	s.param = *param;
	found = shim_on(0, tid_of(pid), set, &s);
	return found ? answer(found) : real(pid, policy, param);
}

SHIM int sched_setparam(pid_t pid, const struct sched_param *param)
{
	struct setting s, was;
	int found;

	REAL(sched_setparam);
	if (!shim_active || pid < 0 || !param || !shim_on(0, tid_of(pid), get, &was))
		return real(pid, param);
	if (!known(was.policy, param->sched_priority, 0)) {
		errno = EINVAL;
		return -1;
	}
	s = (struct setting){ -1, *param };
	found = shim_on(0, tid_of(pid), set, &s);
	return found ? answer(found) : real(pid, param);
}

SHIM int sched_getscheduler(pid_t pid)
{
	struct setting s;

	REAL(sched_getscheduler);
	if (!shim_active || pid < 0 || !shim_on(0, tid_of(pid), get, &s))
		return real(pid);
	return s.policy;
}

SHIM int sched_getparam(pid_t pid, struct sched_param *param)
{
	struct setting s;

	REAL(sched_getparam);
	if (!shim_active || pid < 0 || !param || !shim_on(0, tid_of(pid), get, &s))
		return real(pid, param);
	*param = s.param;
	return 0;
}

SHIM int sched_yield(void)
{
	REAL(sched_yield);
	/* The core's own spin loops call this, too. */
	if (!shim_mine() || weir_disabled())
		return real();
	weir_thread_yield();
	/* A thread that only yields is hardly ever where the signal's handler may end it. */
	if (shim_self() && shim_self()->cancels) {
		shim_asynchronous();
		shim_deferred();
	}
	return 0;
}

/* A ceiling is one of Linux's priorities, by which threads do not run here. */
SHIM int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
	pthread_mutexattr_t copy;
	int protocol;

	REAL(pthread_mutex_init);
	if (!shim_active || !attr || pthread_mutexattr_getprotocol(attr, &protocol) ||
	    protocol != PTHREAD_PRIO_PROTECT)
		return real(m, attr);
	copy = *attr;
	pthread_mutexattr_setprotocol(&copy, PTHREAD_PRIO_NONE);
	return real(m, &copy);
}

/* --- nice values ------------------------------------------------------------------------------------------------ */

void shim_nice(struct record *r)
{
	r->nice = getpriority(PRIO_PROCESS, 0);
	if (r->nice || r->at.sched_priority)
		shim_prioritise(r);
}

static int renice(struct record *r, void *with)
{
	int nice = getpriority(PRIO_PROCESS, (id_t)r->tid);

	(void)with;
	if (nice == r->nice)
		return 1;
	r->nice = nice;
	shim_prioritise(r);
	shim_unheeded("nice");
	return 1;
}

/* Of a thread, of a process group or of a user: whose it was is read back. */
SHIM int setpriority(__priority_which_t which, id_t who, int nice)
{
	int err;

	REAL(setpriority);
	err = real(which, who, nice);
	if (!err && shim_active)
		shim_on_all(renice, 0);
	return err;
}

SHIM int nice(int more)
{
	int was = errno, now;

	REAL(nice);
	errno = 0;
	now = real(more);
	if (now == -1 && errno)
		return -1;
	errno = was;
	if (shim_active)
		shim_on_all(renice, 0);
	return now;
}

/* --- all in one (sched_setattr(2), which chrt calls) --------------------------------------------------------------- */

/* The kernel's struct sched_attr as it was at first. Its header cannot be included beside sched.h everywhere. */
struct all {
	uint32_t bytes;
	uint32_t policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period; /* of SCHED_DEADLINE, ns */
};

enum {
	RESET_ON_FORK = 1,
	KEEP_POLICY = 8,
	KEEP_PARAMS = 16,
	WITH_CLAMPS = 32 | 64,
};

/* 1 + an error number */
static int set_reservation(struct record *r, const struct all *a)
{
	struct setting s = { SCHED_DEADLINE, { 0 } };
	int result;

	if (a->runtime < 1024 || a->runtime > a->deadline ||
	    (a->period && a->deadline > a->period) || a->priority)
		return 1 + EINVAL;
	result = set(r, &s);
	if (result != 1)
		return result;
	r->reservation[0] = a->runtime;
	r->reservation[1] = a->deadline;
	r->reservation[2] = a->period ? a->period : a->deadline;
	return 1;
}

static int set_all(struct record *r, void *with)
{
	const struct all *a = with;
	int policy = a->flags & KEEP_POLICY ? r->policy & ~SCHED_RESET_ON_FORK : (int)a->policy;
	struct setting s = { policy | (a->flags & RESET_ON_FORK ? SCHED_RESET_ON_FORK : 0),
			     { .sched_priority = (int)a->priority } };

	if (a->flags & KEEP_PARAMS)
		s.param = r->at;
	else if (policy == SCHED_DEADLINE)
		return set_reservation(r, a);
	if (policy != SCHED_DEADLINE && !known(policy, s.param.sched_priority, 0))
		return 1 + EINVAL;
	if ((policy == SCHED_OTHER || policy == SCHED_BATCH) && !(a->flags & KEEP_PARAMS)) {
		if (syscall(SYS_setpriority, PRIO_PROCESS, r->tid, a->nice))
			return 1 + errno;
		renice(r, 0);
	}
	return set(r, &s);
}

static int get_all(struct record *r, void *with)
{
	struct all *a = with;

	a->policy = (unsigned)(r->policy & ~SCHED_RESET_ON_FORK);
	a->flags = r->policy & SCHED_RESET_ON_FORK ? RESET_ON_FORK : 0;
	a->priority = (unsigned)r->at.sched_priority;
	if (a->policy == SCHED_DEADLINE) {
		a->runtime = r->reservation[0];
		a->deadline = r->reservation[1];
		a->period = r->reservation[2];
	}
	return 1;
}

/* Utilisation clamps are Linux's own matter, and with them all that comes in the same call. */
static int set_attributes(const long *a, long *result)
{
	pid_t pid = (pid_t)a[0];
	struct all *attr = (struct all *)a[1];
	int found;

	if (!shim_active || pid < 0 || !attr || a[2] || attr->flags & WITH_CLAMPS)
		return 0;
	found = shim_on(0, tid_of(pid), set_all, attr);
	if (found)
		*result = answer(found);
	return found;
}

/* A set of the size that the caller has. */
struct cpus {
	size_t bytes;
	cpu_set_t *to;
	const cpu_set_t *from;
};

static int get_cpus(struct record *r, void *with);

/* As many bytes as the kernel answers. */
static long cpus_by_call(const long *a)
{
	long bytes = weir_shim_call(SYS_sched_getaffinity, a[0], a[1], a[2]);
	struct cpus c = { .bytes = (size_t)bytes, .to = (cpu_set_t *)a[2] };

	if (shim_active && bytes > 0 && a[0] >= 0)
		shim_on(0, tid_of((pid_t)a[0]), get_cpus, &c);
	return bytes;
}

/* chrt makes system calls of its own, and so does numactl. */
int shim_scheduling(long number, const long *a, long *result)
{
	switch (number) {
	case SYS_sched_setattr:
		return set_attributes(a, result);
	case SYS_sched_setscheduler:
		*result = sched_setscheduler((pid_t)a[0], (int)a[1], (const void *)a[2]);
		return 1;
	case SYS_sched_setparam:
		*result = sched_setparam((pid_t)a[0], (const void *)a[1]);
		return 1;
	case SYS_sched_getscheduler:
		*result = sched_getscheduler((pid_t)a[0]);
		return 1;
	case SYS_sched_setaffinity:
		*result = sched_setaffinity((pid_t)a[0], (size_t)a[1], (const void *)a[2]);
		return 1;
	case SYS_sched_getaffinity:
		*result = cpus_by_call(a);
		return 1;
	case SYS_sched_getparam:
		*result = sched_getparam((pid_t)a[0], (void *)a[1]);
		return 1;
	}
	return 0;
}

/* After the kernel's answer, which has the rest. */
void shim_attributes_got(const long *a)
{
	pid_t pid = (pid_t)a[0];

	if (shim_active && pid >= 0 && a[1] && (unsigned long)a[2] >= sizeof(struct all))
		shim_on(0, tid_of(pid), get_all, (struct all *)a[1]);
}

/* libc has these two since 2.41, with a structure of its own. */
SHIM int set_by_call(pid_t pid, struct all *attr, unsigned flags) __asm__("sched_setattr");
SHIM int get_by_call(pid_t pid, struct all *attr, unsigned bytes,
		     unsigned flags) __asm__("sched_getattr");

int set_by_call(pid_t pid, struct all *attr, unsigned flags)
{
	return (int)syscall(SYS_sched_setattr, pid, attr, flags);
}

int get_by_call(pid_t pid, struct all *attr, unsigned bytes, unsigned flags)
{
	return (int)syscall(SYS_sched_getattr, pid, attr, bytes, flags);
}

/* --- sets of CPUs ------------------------------------------------------------------------------------------------- */

static int get_cpus(struct record *r, void *with)
{
	const struct cpus *c = with;

	memset(c->to, 0, c->bytes);
	memcpy(c->to, &r->cpus, c->bytes < sizeof(r->cpus) ? c->bytes : sizeof(r->cpus));
	return 1;
}

static int set_cpus(struct record *r, void *with)
{
	const struct cpus *c = with;
	cpu_set_t set, there;
	long nr = sysconf(_SC_NPROCESSORS_CONF);

	CPU_ZERO(&set);
	CPU_ZERO(&there);
	for (int i = 0; i < nr && i < CPU_SETSIZE; i++)
		CPU_SET(i, &there);
	memcpy(&set, c->from, c->bytes < sizeof(set) ? c->bytes : sizeof(set));
	CPU_AND(&set, &set, &there);
	if (!CPU_COUNT(&set))
		return 1 + EINVAL;
	r->cpus = set;
	CPU_AND(&there, &set, &shim_whole);
	if (!CPU_EQUAL(&there, &shim_whole))
		shim_unheeded("cpus");
	return 1;
}

SHIM int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	struct cpus c = { .bytes = bytes, .to = set };

	REAL(sched_getaffinity);
	if (!shim_active || pid < 0 || bytes < 8 || bytes % 8 ||
	    !shim_on(0, tid_of(pid), get_cpus, &c))
		return real(pid, bytes, set);
	return 0;
}

/* The runtime's own calls are direct system calls, or come from threads that are not the program's. */
SHIM int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
	struct cpus c = { .bytes = bytes, .from = set };
	int found;

	REAL(sched_setaffinity);
	found = shim_active && pid >= 0 && set ? shim_on(0, tid_of(pid), set_cpus, &c) : 0;
	return found ? answer(found) : real(pid, bytes, set);
}

SHIM int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *set)
{
	struct cpus c = { .bytes = bytes, .to = set };

	REAL(pthread_getaffinity_np);
	if (!shim_active || bytes < 8 || bytes % 8 || !shim_on(thread, 0, get_cpus, &c))
		return real(thread, bytes, set);
	return 0;
}

SHIM int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
	struct cpus c = { .bytes = bytes, .from = set };
	int found;

	REAL(pthread_setaffinity_np);
	found = shim_active ? shim_on(thread, 0, set_cpus, &c) : 0;
	return found ? found - 1 : real(thread, bytes, set);
}
