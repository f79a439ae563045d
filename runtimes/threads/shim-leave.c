/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a thread does only without the policy.
 *
 * A program that forbids itself system calls (seccomp). The runtime makes calls of its own in the program's threads, for timers, turns and wake-ups, and the
 * filter would end the program at one of them. So a thread leaves the policy before it has a filter, and what it starts then has no policy, either. If
 * it is the only one, the runtime ends.
 *
 * Calls that a process with several threads is refused: the runtime's threads are not the program's.
 *
 * Rights of one thread. libc changes users and groups of all threads, the runtime's with them, and ends a program of which some may do so and others
 * may not. So a program with one thread leaves before that has other rights than the runtime's threads.
 */
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"

/* Programs ask what the kernel knows by calls that fail: without a filter, or with flags where there are none. */
static int forbids(long operation, long flags, long program)
{
	return operation == SECCOMP_SET_MODE_FILTER   ? program != 0
	       : operation == SECCOMP_SET_MODE_STRICT ? !flags && !program
						      : 0;
}

static void be_alone(int needed)
{
	if (needed && shim_active && shim_is_single())
		shim_leave();
}

/* By libc's functions, users and groups are those of all threads. */
static int has_own_rights(long number, const long *a)
{
	switch (number) {
	case SYS_prctl:
		return (a[0] == PR_SET_KEEPCAPS && a[1]) || a[0] == PR_SET_SECUREBITS;
	case SYS_capset:
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setreuid:
	case SYS_setregid:
	case SYS_setresuid:
	case SYS_setresgid:
	case SYS_setgroups:
		return 1;
	}
	return 0;
}

void shim_before(long number, const long *a)
{
	int some = 0;

	be_alone(has_own_rights(number, a));

	if (number == SYS_seccomp)
		some = forbids(a[0], a[1], a[2]);
	else if (number == SYS_prctl && a[0] == PR_SET_SECCOMP)
		some = a[1] == SECCOMP_MODE_STRICT || (a[1] == SECCOMP_MODE_FILTER && a[2]);
	if (some && shim_active)
		shim_leave();
}

SHIM int prctl(int option, ...)
{
	long a[5] = { option };
	va_list list;

	REAL(prctl);
	va_start(list, option);
	for (int i = 1; i < 5; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	shim_before(SYS_prctl, a);
	return real(option, a[1], a[2], a[3], a[4]);
}

SHIM int capset(cap_user_header_t header, const cap_user_data_t data)
{
	const long a[2] = { (long)header, (long)data };

	REAL_AS(capset, int(cap_user_header_t, const cap_user_data_t));
	shim_before(SYS_capset, a);
	return real(header, data);
}

SHIM int unshare(int flags)
{
	REAL(unshare);
	be_alone(flags & (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM));
	return real(flags);
}

/* Of users, mounts or time; the file may not say which. */
SHIM int setns(int fd, int kind)
{
	REAL(setns);
	be_alone(!kind || kind & (CLONE_NEWUSER | CLONE_NEWNS | 0x80));
	return real(fd, kind);
}
