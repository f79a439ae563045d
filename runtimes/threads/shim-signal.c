/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The program's signals.
 *
 * SIGURG is the runtime's. A handler of the program does not run in the runtime, nor while its thread waits for a CPU: it might not return
 * there. It is put off until the thread goes on. Blocking the signals instead would have them handled by other threads than without us.
 *
 * A program may block SIGURG, and take it by sigwait() or a file (PostgreSQL does). For the kernel it stays unblocked then. One that comes is
 * kept until the thread waits; it is blocked for the kernel, too, while a thread waits, so there the kept one is sent again.
 */
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"

#define NR_SIGNALS 65

static struct sigaction wanted[NR_SIGNALS]; /* by the program */

static __thread struct {
	unsigned nr;
	siginfo_t info[16];
} put_off;

static __thread struct {
	volatile int blocked; /* by the program */
	volatile int kept;    /* one came meanwhile: */
	int waited_for;	      /* in the present call */
	siginfo_t info;
} urgent;
static int urgent_file; /* (a) some file is to report it */

int shim_blocks_urgent(void)
{
	return urgent.blocked;
}

void shim_block_urgent(int blocked)
{
	urgent.blocked = blocked;
}

void shim_urgent(void)
{
	sigset_t set;

	sigaction(SIGURG, 0, &wanted[SIGURG]);
	urgent.blocked = !pthread_sigmask(SIG_BLOCK, 0, &set) && sigismember(&set, SIGURG) == 1;
}

int weir_shim_waits(void)
{
	return urgent.waited_for || __atomic_load_n(&urgent_file, __ATOMIC_RELAXED);
}

/* One that is pending for the kernel again. */
static void give(void)
{
	urgent.kept = 0;
	syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGURG, &urgent.info);
}

/* The caller is about to wait; it does not handle the signal meanwhile. */
void weir_shim_gives(void)
{
	if (urgent.kept)
		give();
}

void shim_urgent_without_policy(void)
{
	sigset_t set;

	if (!urgent.blocked)
		return;
	urgent.blocked = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	pthread_sigmask(SIG_BLOCK, &set, 0);
	weir_shim_gives();
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
	if (!urgent.blocked) {
		relay(sig, info, context);
		return;
	}
	urgent.info = *info;
	urgent.kept = 1;
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
static int change_mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set,
		       sigset_t *old)
{
	int has = set && sigismember(set, SIGURG) == 1, was = urgent.blocked, err;
	sigset_t copy;

	if (!shim_active || !shim_mine())
		return real(how, how == SIG_UNBLOCK ? set : shim_without_ours(set, &copy), old);
	if (set && (has || how == SIG_SETMASK))
		urgent.blocked = how != SIG_UNBLOCK && has;
	err = real(how, how == SIG_UNBLOCK ? set : shim_without_ours(set, &copy), old);
	if (err)
		urgent.blocked = was;
	else if (old && was)
		sigaddset(old, SIGURG);
	if (!urgent.blocked)
		weir_shim_gives();
	return err;
}

SHIM int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	REAL(pthread_sigmask);
	return change_mask(real, how, set, old);
}

SHIM int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	REAL(sigprocmask);
	return change_mask(real, how, set, old);
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
	struct sigaction copy, was;
	int relays, err;

	REAL_AS(sigaction, int(int, const struct sigaction *, struct sigaction *));
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
	REAL(signalfd);
	if (shim_active && urgent.blocked && sigismember(set, SIGURG) == 1)
		__atomic_store_n(&urgent_file, 1, __ATOMIC_RELAXED);
	return real(fd, set, flags);
}

/* --- calls that take a signal -------------------------------------------------------------------------------------- */

static void no_more(const int *waits)
{
	(void)waits;
	urgent.waited_for = 0;
}

/* SIGURG is taken only if the program has blocked it: else it is handled. */
#define TAKING(set, copy)                                                         \
	int waits_ __attribute__((cleanup(no_more))) =                            \
		shim_active && urgent.blocked && sigismember((set), SIGURG) == 1; \
	urgent.waited_for = waits_;                                               \
	(set) = waits_ ? (set) : shim_without_ours((set), &(copy))

SHIM int sigwait(const sigset_t *restrict set, int *restrict sig)
{
	sigset_t copy;

	REAL(sigwait);
	TAKING(set, copy);
	return BLOCKING(real(set, sig));
}

SHIM int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
	sigset_t copy;

	REAL(sigwaitinfo);
	TAKING(set, copy);
	return BLOCKING(real(set, info));
}

SHIM int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
		      const struct timespec *restrict t)
{
	sigset_t copy;

	REAL(sigtimedwait);
	TAKING(set, copy);
	return BLOCKING(real(set, info, t));
}
