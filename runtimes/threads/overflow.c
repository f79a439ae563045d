/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A green thread that needs more than its stack is reported. Below a stack are pages that nobody can touch (thread.c); the fault is handled on a
 * stack of the driver's own. Then the program ends by SIGSEGV, with a core dump where it is, as without the report. A handler that the program
 * installed before it opened the runtime stays, and gets the fault on that stack if it asks for one (SA_ONSTACK).
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt.h"

static void on_fault(int sig, siginfo_t *info, void *context)
{
	const struct weir_thread *t = me()->thread;
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	const char *at = info->si_addr;
	char text[256];

	(void)context;
	if (info->si_code > 0 && t && t->kind == WEIR_GREEN && t->stack && at >= t->stack &&
	    at < t->stack + GUARD) {
		int n = snprintf(
			text, sizeof(text),
			"runweir threads: green thread %u%s%s: stack overflow: its %zu KiB are "
			"used up; "
			"give it more (stack_bytes of weir_thread_attr or of weir_rt_config)\n",
			t->number, t->name[0] ? " " : "", t->name, t->stack_bytes >> 10);

		if (write(rt.says ? rt.says : STDERR_FILENO, text, n) < 0)
			n = 0;
	}
	/* The instruction faults again; what was sent comes again. */
	sigaction(sig, &usual, 0);
	if (info->si_code <= 0)
		syscall(SYS_tgkill, getpid(), gettid(), sig);
}

void overflow_reported(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	static const int faults[] = { SIGSEGV, SIGBUS };
	struct sigaction before;

	/* Not preempted on the driver's stack. */
	sigfillset(&action.sa_mask);
	for (u32 i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		if (!sigaction(faults[i], 0, &before) && before.sa_handler == SIG_DFL)
			sigaction(faults[i], &action, 0);
}

void overflow_stack(char *stack, size_t bytes)
{
	const stack_t alternate = { .ss_sp = stack, .ss_size = bytes };

	sigaltstack(&alternate, 0);
}
