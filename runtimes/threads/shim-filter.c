/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A program that forbids itself system calls (seccomp). The runtime makes calls of its own in the program's threads, for timers, turns and wake-ups, and the
 * filter would end the program at one of them. So a thread leaves the policy before it has a filter, and what it starts then has no policy, either. If
 * it is the only one, the runtime ends.
 */
#include <linux/seccomp.h>
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

void shim_filters(long number, const long *a)
{
	int some = 0;

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
	shim_filters(SYS_prctl, a);
	return real(option, a[1], a[2], a[3], a[4]);
}
