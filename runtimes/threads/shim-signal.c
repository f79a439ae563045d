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
#include <ucontext.h>
#include <unistd.h>

#include "shim.h"

#define NR_SIGNALS 65

static struct sigaction wanted[NR_SIGNALS]; /* by the program */

static __thread struct {
	unsigned nr;
	siginfo_t info[16];
	sigset_t full; /* blocked, because there was no more room */
} put_off;

static __thread struct {
	volatile int blocked; /* by the program, */
	unsigned long beside; /* and these others at that time */
	volatile int kept;    /* one came meanwhile: */
	int waited_for;	      /* in the present call */
	siginfo_t info;
} urgent;
static int urgent_file; /* (a) some file is to report it */

int shim_blocks_urgent(void)
{
	return urgent.blocked;
}

static unsigned long kernel_mask(void)
{
	unsigned long mask = 0;

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, sizeof(mask));
	return mask & ~(1ul << (SIGURG - 1));
}

void shim_block_urgent(int blocked)
{
	urgent.blocked = blocked;
	urgent.beside = blocked ? kernel_mask() : 0;
}

/*
 * The program may unblock it in ways that are not caught: by a system call of its own (Go's runtime), or a jump that restores a mask. Then others that it
 * blocked with it are not blocked any more, either.
 */
static int was_unblocked(const ucontext_t *context)
{
	unsigned long mask;

	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	return (urgent.beside & ~mask) != 0;
}

void shim_mask_urgent(int how)
{
	unsigned long set = 1ul << (SIGURG - 1);

	syscall(SYS_rt_sigprocmask, how, &set, 0, sizeof(set));
}

void shim_urgent(void)
{
	sigset_t set;

	sigaction(SIGURG, 0, &wanted[SIGURG]);
	shim_block_urgent(!pthread_sigmask(SIG_BLOCK, 0, &set) && sigismember(&set, SIGURG) == 1);
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

/* Others of the kind stay with the kernel from the last free place on. 0: there is no room. */
static int puts_off(const siginfo_t *info, void *context)
{
	unsigned room = sizeof(put_off.info) / sizeof(put_off.info[0]), at;
	sigset_t all, was;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &was);
	/* One of these at a time waits, in the kernel, too. */
	for (at = 0; at < put_off.nr; at++)
		if (info->si_signo < SIGRTMIN && put_off.info[at].si_signo == info->si_signo)
			break;
	if (at == put_off.nr && at < room) {
		put_off.info[put_off.nr++] = *info;
		if (put_off.nr >= room / 2 && info->si_signo >= SIGRTMIN) {
			sigaddset(&put_off.full, info->si_signo);
			sigaddset(&((ucontext_t *)context)->uc_sigmask, info->si_signo);
		}
	}
	pthread_sigmask(SIG_SETMASK, &was, 0);
	weir_rt_deferred();
	return at < room;
}

/* For the runtime: the thread is not disabled any more. In the order in which they came, before those that the kernel still has. */
void weir_shim_raise(int later)
{
	sigset_t all, was;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &was);
	for (unsigned i = 0; i < put_off.nr; i++)
		syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid),
			put_off.info[i].si_signo, &put_off.info[i]);
	put_off.nr = 0;
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		if (sigismember(&put_off.full, sig) == 1)
			sigdelset(&was, sig);
	sigemptyset(&put_off.full);
	if (!later)
		pthread_sigmask(SIG_SETMASK, &was, 0);
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
	/* None overtakes those that are put off. */
	if ((weir_disabled() || put_off.nr) && shim_mine() && puts_off(info, context))
		return;
	run_handler(sig, info, context);
}

/*
 * For the runtime's signal handler. One that is the runtime's @own goes to a handler of the program as well: while it was pending, the kernel may have
 * dropped one of the program's. Go's runtime sends no more until its handler was called, and handlers of this signal are used to be called in vain.
 */
void weir_shim_urgent(siginfo_t *info, void *context, int own)
{
	const struct sigaction *w = &wanted[SIGURG];
	siginfo_t as_sent = *info;

	if (urgent.blocked && context && was_unblocked(context))
		urgent.blocked = urgent.kept = 0;
	if (urgent.blocked) {
		if (own)
			return;
		urgent.info = *info;
		urgent.kept = 1;
		return;
	}
	if (!(w->sa_flags & SA_SIGINFO) && (w->sa_handler == SIG_DFL || w->sa_handler == SIG_IGN))
		return;
	if (own) {
		as_sent = (siginfo_t){ .si_signo = SIGURG, .si_code = SI_TKILL };
		as_sent.si_pid = getpid();
		as_sent.si_uid = getuid();
	}
	relay(SIGURG, &as_sent, context);
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
	if (err) {
		urgent.blocked = was;
		return err;
	}
	if (old && was)
		sigaddset(old, SIGURG);
	if (urgent.blocked)
		shim_block_urgent(1);
	else
		weir_shim_gives();
	return 0;
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

/* The kernel's form of it. */
struct action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	unsigned long mask;
};

/* Daemons reset all signals, some by calls of their own. The handlers of others than the runtime's signal are called directly then. */
int shim_actions(long number, const long *a, long *result)
{
	const struct action *by = (const struct action *)a[1];
	struct action *to = (struct action *)a[2];
	struct sigaction act = { 0 }, old;

	if (number != SYS_rt_sigaction || a[0] != SIGURG || !shim_active)
		return 0;
	if (by) {
		act.sa_handler = by->handler;
		act.sa_flags = (int)by->flags;
		memcpy(&act.sa_mask, &by->mask, sizeof(by->mask));
	}
	*result = sigaction(SIGURG, by ? &act : 0, &old);
	if (to) {
		*to = (struct action){ .handler = old.sa_handler, .flags = (unsigned)old.sa_flags };
		memcpy(&to->mask, &old.sa_mask, sizeof(to->mask));
	}
	return 1;
}

static sighandler_t by_signal(int sig, sighandler_t handler, int flags)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = flags }, old;

	return sigaction(sig, &act, &old) ? SIG_ERR : old.sa_handler;
}

static char interrupts[NR_SIGNALS]; /* siginterrupt() said so */

/* libc's are not made of calls that are caught, from here to sigpause(). */
SHIM sighandler_t signal(int sig, sighandler_t handler)
{
	REAL(signal);
	if (!shim_active || sig <= 0 || sig >= NR_SIGNALS)
		return real(sig, handler);
	return by_signal(sig, handler, interrupts[sig] ? 0 : SA_RESTART);
}

SHIM int siginterrupt(int sig, int on)
{
	int err;

	REAL_AS(siginterrupt, int(int, int));
	err = real(sig, on);
	if (!err)
		interrupts[sig] = on != 0;
	return err;
}

SHIM sighandler_t sysv_signal(int sig, sighandler_t handler)
{
	REAL(sysv_signal);
	return shim_active ? by_signal(sig, handler, SA_RESETHAND | SA_NODEFER)
			   : real(sig, handler);
}

/* The same by other names. */
SHIM sighandler_t bsd_signal(int sig, sighandler_t handler)
{
	return signal(sig, handler);
}

SHIM sighandler_t ssignal(int sig, sighandler_t handler)
{
	return signal(sig, handler);
}

SHIM sighandler_t __sysv_signal(int sig, sighandler_t handler)
{
	return sysv_signal(sig, handler);
}

/* The one signal, or 0 if there is no such signal. */
static int only(int sig, sigset_t *set)
{
	sigemptyset(set);
	return !sigaddset(set, sig);
}

SHIM int sighold(int sig)
{
	sigset_t set;

	return only(sig, &set) ? sigprocmask(SIG_BLOCK, &set, 0) : -1;
}

SHIM int sigrelse(int sig)
{
	sigset_t set;

	return only(sig, &set) ? sigprocmask(SIG_UNBLOCK, &set, 0) : -1;
}

SHIM int sigignore(int sig)
{
	return by_signal(sig, SIG_IGN, 0) == SIG_ERR ? -1 : 0;
}

SHIM sighandler_t sigset(int sig, sighandler_t handler)
{
	sighandler_t old;
	sigset_t set, was;

	if (!only(sig, &set))
		return SIG_ERR;
	if (handler == SIG_HOLD) {
		struct sigaction now;

		if (sigprocmask(SIG_BLOCK, &set, &was) || sigaction(sig, 0, &now))
			return SIG_ERR;
		old = now.sa_handler;
	} else {
		old = by_signal(sig, handler, 0);
		if (old == SIG_ERR || sigprocmask(SIG_UNBLOCK, &set, &was))
			return SIG_ERR;
	}
	return sigismember(&was, sig) == 1 ? SIG_HOLD : old;
}

/* Masks of 32 signals. */
static sigset_t wide(int mask)
{
	sigset_t set;

	sigemptyset(&set);
	memcpy(&set, &mask, sizeof(mask));
	return set;
}

static int by_mask(int how, int mask)
{
	sigset_t set = wide(mask), was;

	if (sigprocmask(how, &set, &was))
		return -1;
	memcpy(&mask, &was, sizeof(mask));
	return mask;
}

SHIM int sigblock(int mask)
{
	return by_mask(SIG_BLOCK, mask);
}

SHIM int sigsetmask(int mask)
{
	return by_mask(SIG_SETMASK, mask);
}

/* BSD's takes a mask, System V's (which the header may mean) a signal. */
SHIM int waits_with_mask(int mask) __asm__("sigpause");
SHIM int waits_without(int sig) __asm__("__xpg_sigpause");

int waits_with_mask(int mask)
{
	sigset_t set = wide(mask);

	return sigsuspend(&set);
}

int waits_without(int sig)
{
	sigset_t set;

	if (sigprocmask(SIG_BLOCK, 0, &set) || sigdelset(&set, sig))
		return -1;
	return sigsuspend(&set);
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
