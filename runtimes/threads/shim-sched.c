/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the program says to Linux's scheduler, and of signals. Priorities are the policy's; the kernel is not asked, so root is not needed.
 * Policies of Linux and sets of CPUs are remembered and returned, and have no effect: the policy places threads. That is said once.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"

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
	}
	if (s->param.sched_priority)
		shim_unheeded("priority");
}

/* 1 + an error number */
static int set(struct record *r, void *with)
{
	const struct setting *s = with;
	int err = -weir_thread_set(r->own, WEIR_PRIORITY, s->param.sched_priority, 0);

	if (err)
		return 1 + (r->own ? err : ESRCH);
	if (s->policy >= 0)
		r->policy = s->policy;
	r->at = s->param;
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

/* --- sets of CPUs ------------------------------------------------------------------------------------------------- */

/* A set of the size that the caller has. */
struct cpus {
	size_t bytes;
	cpu_set_t *to;
	const cpu_set_t *from;
};

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

/* --- signals ------------------------------------------------------------------------------------------------------- */

/*
 * SIGURG is the runtime's. A handler of the program does not run in the runtime, nor while its thread waits for a CPU: it might not return
 * there. It is put off until the thread goes on. Blocking the signals instead would have them handled by other threads than without us.
 */
#define NR_SIGNALS 65

static struct sigaction wanted[NR_SIGNALS]; /* by the program */

static __thread struct {
	unsigned nr;
	siginfo_t info[16];
} put_off;

void shim_urgent(void)
{
	sigaction(SIGURG, 0, &wanted[SIGURG]);
}

/* 0: there is no room. */
static int puts_off(const siginfo_t *info)
{
	unsigned room = sizeof(put_off.info) / sizeof(put_off.info[0]), at;
	sigset_t all, was;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &was);
	/* One of these at a time waits, in the kernel, too. */
	for (at = 0; at < put_off.nr; at++)
		if (info->si_signo < SIGRTMIN && put_off.info[at].si_signo == info->si_signo)
			break;
	if (at == put_off.nr && at < room)
		put_off.info[put_off.nr++] = *info;
	pthread_sigmask(SIG_SETMASK, &was, 0);
	weir_rt_deferred();
	return at < room;
}

/* For the runtime: the thread is not disabled any more. */
void weir_shim_raise(void)
{
	while (put_off.nr) {
		siginfo_t info = put_off.info[0];
		unsigned nr = put_off.nr - 1;
		sigset_t all, was;

		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &was);
		for (unsigned i = 0; i < nr; i++)
			put_off.info[i] = put_off.info[i + 1];
		put_off.nr = nr;
		syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), info.si_signo, &info);
		pthread_sigmask(SIG_SETMASK, &was, 0);
	}
}

static void run_handler(int sig, siginfo_t *info, void *context)
{
	const struct sigaction *w = &wanted[sig];

	if (w->sa_flags & SA_SIGINFO)
		w->sa_sigaction(sig, info, context);
	else if (w->sa_handler != SIG_DFL && w->sa_handler != SIG_IGN)
		w->sa_handler(sig);
}

static void relay(int sig, siginfo_t *info, void *context)
{
	if (weir_disabled() && shim_mine() && puts_off(info))
		return;
	run_handler(sig, info, context);
}

/* For the runtime's signal handler: the signal is not its own. */
void weir_shim_foreign(int sig, siginfo_t *info, void *context)
{
	relay(sig, info, context);
}

const sigset_t *shim_with_ours(const sigset_t *set, sigset_t *copy)
{
	if (!shim_active || !set)
		return set;
	*copy = *set;
	sigaddset(copy, SIGURG);
	return copy;
}

const sigset_t *shim_without_ours(const sigset_t *set, sigset_t *copy)
{
	if (!shim_active || !set)
		return set;
	*copy = *set;
	sigdelset(copy, SIGURG);
	return copy;
}

/* A program that blocks all signals could not be preempted. */
static const sigset_t *but_ours(int how, const sigset_t *set, sigset_t *copy)
{
	return how == SIG_UNBLOCK ? set : shim_without_ours(set, copy);
}

SHIM int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	REAL(pthread_sigmask);
	return real(how, but_ours(how, set, &copy), old);
}

SHIM int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t copy;

	REAL(sigprocmask);
	return real(how, but_ours(how, set, &copy), old);
}

static int goes_by_relay(int sig, const struct sigaction *act)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };

	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		if (sig == faults[i])
			return 0;
	/* One that is reset by the kernel when it is called could not be raised again. */
	return !(act->sa_flags & SA_RESETHAND) && act->sa_handler != SIG_DFL &&
	       act->sa_handler != SIG_IGN;
}

SHIM int sigaction(int sig, const struct sigaction *restrict act, struct sigaction *restrict old)
{
	static int (*real)(int, const struct sigaction *, struct sigaction *);
	struct sigaction copy, was;
	int relays, err;

	if (!real)
		real = (int (*)(int, const struct sigaction *, struct sigaction *))shim_next(
			"sigaction");
	if (!shim_active || sig <= 0 || sig >= NR_SIGNALS)
		return real(sig, act, old);
	if (sig == SIGURG) {
		was = wanted[sig];
		if (act)
			wanted[sig] = *act;
		/* Its handler is called by ours, and may want to be on the stack that it has set up for signals. */
		if (act && act->sa_flags & SA_ONSTACK && !real(sig, 0, &copy)) {
			copy.sa_flags |= SA_ONSTACK;
			real(sig, &copy, 0);
		}
		if (old)
			*old = was;
		return 0;
	}
	if (act) {
		copy = *act;
		sigdelset(&copy.sa_mask, SIGURG);
		relays = goes_by_relay(sig, act);
		if (relays) {
			copy.sa_sigaction = relay;
			copy.sa_flags |= SA_SIGINFO;
		}
	}
	was = wanted[sig];
	/* Before the kernel may call the relay. */
	if (act && relays)
		wanted[sig] = *act;
	err = real(sig, act ? &copy : 0, old);
	if (err) {
		wanted[sig] = was;
		return err;
	}
	if (old && old->sa_flags & SA_SIGINFO && old->sa_sigaction == relay)
		*old = was;
	return 0;
}

static sighandler_t by_signal(int sig, sighandler_t handler, int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags }, old;

	return sigaction(sig, &act, &old) ? SIG_ERR : old.sa_handler;
}

/* libc's are not made of a call that is caught. */
SHIM sighandler_t signal(int sig, sighandler_t handler)
{
	REAL(signal);
	return shim_active ? by_signal(sig, handler, SA_RESTART) : real(sig, handler);
}

SHIM sighandler_t sysv_signal(int sig, sighandler_t handler)
{
	REAL(sysv_signal);
	return shim_active ? by_signal(sig, handler, SA_RESETHAND | SA_NODEFER)
			   : real(sig, handler);
}

SHIM int signalfd(int fd, const sigset_t *set, int flags)
{
	sigset_t copy;

	REAL(signalfd);
	return real(fd, shim_without_ours(set, &copy), flags);
}
