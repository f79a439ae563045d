/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What a loaded component may do to its process: a fault, an endless loop or a broken invariant ends the call into the
 * core instead of the program. docs/decisions/0019
 *
 * The host enters the core through weir_guard_call(). From there on whatever goes wrong jumps back to it; what the core
 * was doing is lost, so that scheduler is never called again. Only frames of C are jumped over.
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <weir/plugin.h>

#include "guard.h"

/* Steps that one call of a component may take, each a block of its code without a branch. */
#define BUDGET (1ull << 28)

struct guard {
	u32 active;    /* a call into the core may be jumped out of */
	u32 inside;    /* code of a component that was loaded runs */
	u32 nr_locked; /* pipes that it has locked */
	u64 steps;
	struct weir_where now; /* what runs, or ran last */
	struct weir_crash *crash;
	sigjmp_buf back;
};

static __thread struct guard guard;

static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP };
#define NR_SIGNALS (sizeof(signals) / sizeof(signals[0]))
static struct sigaction before[NR_SIGNALS];

/* The call into the core is over. */
static void end(u32 kind, u64 detail, const char *text)
{
	struct weir_crash *c = guard.crash;

	c->kind = kind;
	c->inside = guard.inside;
	c->where = guard.now;
	c->detail = detail;
	if (text)
		strncpy(c->text, text, sizeof(c->text) - 1);
	guard.active = 0;
	guard.inside = 0;
	siglongjmp(guard.back, 1);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (guard.active)
		end(WEIR_CRASH_SIGNAL, (u64)info->si_addr << 8 | (u64)number, 0);
	/* Not ours: it happens again, and the previous handler has it. */
	for (u32 i = 0; i < NR_SIGNALS; i++)
		if (signals[i] == number)
			sigaction(number, &before[i], 0);
}

/* Once a process. No mask is saved by a call, so the signal is not blocked while it is handled. */
void weir_guard_install(void)
{
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

	for (u32 i = 0; i < NR_SIGNALS; i++)
		sigaction(signals[i], &action, &before[i]);
}

int weir_guard_call(void (*call)(void *), void *argument, struct weir_crash *crash)
{
	memset(&guard.now, 0, sizeof(guard.now));
	guard.crash = crash;
	guard.inside = 0;
	if (sigsetjmp(guard.back, 0))
		return 1;
	guard.active = 1;
	call(argument);
	guard.active = 0;
	return 0;
}

void weir_guard_enter(struct weir_guard_frame *f, const struct weir_instance *i, u32 entry,
		      u32 topic, const struct weir_task *t)
{
	f->where = guard.now;
	f->nr_locked = guard.nr_locked;
	guard.now.class = i->class;
	guard.now.instance = i->idx;
	guard.now.entry = entry;
	guard.now.topic = topic;
	guard.now.task = t ? t->id + 1 : 0;
	guard.now.cookie = t ? t->cookie : 0;
	guard.nr_locked = 0;
	if (!guard.inside++)
		guard.steps = BUDGET;
}

void weir_guard_leave(const struct weir_guard_frame *f)
{
	if (guard.active && guard.nr_locked)
		end(WEIR_CRASH_LOCKED, guard.nr_locked, 0);
	guard.nr_locked = f->nr_locked;
	if (--guard.inside)
		guard.now = f->where;
}

/* Every block of a loaded component's code comes here. */
void weir_guard_step(void)
{
	if (--guard.steps == 0 && guard.active)
		end(WEIR_CRASH_ENDLESS, BUDGET, 0);
}

void weir_guard_failed(const char *what)
{
	if (guard.active)
		end(WEIR_CRASH_INVARIANT, 0, what);
}

/* One thread is in a guarded scheduler at a time: nobody else will release the lock. */
void weir_guard_waits(void)
{
	if (guard.active)
		end(WEIR_CRASH_DEADLOCK, 0, 0);
}

/* --- what a loaded component calls in the place of the functions of the interface ---------------------- */

int weir_guarded_pipe_lock(struct weir_pipe *pipe)
{
	int err = weir_pipe_lock(pipe);

	if (!err)
		guard.nr_locked++;
	return err;
}

int weir_guarded_pipe_unlock(struct weir_pipe *pipe)
{
	/* Functions of the kit may have locked it. */
	if (guard.nr_locked)
		guard.nr_locked--;
	return weir_pipe_unlock(pipe);
}

int weir_guarded_steps_lock(struct weir_instance *self)
{
	int err = weir_steps_lock(self);

	if (!err)
		guard.nr_locked++;
	return err;
}

int weir_guarded_steps_unlock(struct weir_instance *self)
{
	if (guard.nr_locked)
		guard.nr_locked--;
	return weir_steps_unlock(self);
}
