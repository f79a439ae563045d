/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Between the native port and its host: how a call that a loaded component breaks is ended. guard.c */
#ifndef WEIR_GUARD_H
#define WEIR_GUARD_H

#include <weir/port.h>

struct weir_instance;
struct weir_task;
struct weir_pipe;

/* Entry points, in the order of the generated table. Shared with Rust. */
enum weir_guard_entry {
	WEIR_IN_NOTHING,
	WEIR_IN_CONSTRUCT,
	WEIR_IN_STEP,
	WEIR_IN_IDLE,
	WEIR_IN_TIMER,
	WEIR_IN_TASK_INIT,
	WEIR_IN_TASK_EXIT,
	WEIR_IN_DESTROY,
	WEIR_IN_TAKE_STATE,
	WEIR_IN_ON,
	WEIR_IN_ANSWER,
};

enum weir_crash_kind {
	WEIR_CRASH_SIGNAL,    /* detail: number of the signal; from bit 8 on the address */
	WEIR_CRASH_ENDLESS,   /* detail: steps that it may take */
	WEIR_CRASH_INVARIANT, /* text: which */
	WEIR_CRASH_DEADLOCK,  /* it waits for a lock that is never released */
	WEIR_CRASH_LOCKED,    /* it came back with pipes locked; detail: how many */
};

/* A call of a loaded component. Shared with Rust. */
struct weir_where {
	u32 class;
	u32 instance;
	u32 entry; /* enum weir_guard_entry */
	u32 topic;
	u32 task; /* number + 1, 0: none */
	u32 unused;
	u64 cookie; /* of the task */
};

/* What happened. Shared with Rust. */
struct weir_crash {
	u32 kind;
	u32 inside; /* 0: in the framework, after the call */
	struct weir_where where;
	u64 detail;
	char text[64];
};

/* What a call within a call comes back to. */
struct weir_guard_frame {
	struct weir_where where;
	u32 nr_locked;
};

void weir_guard_install(void);
/* Have @call done; 1: it was broken off, and @crash says why. */
int weir_guard_call(void (*call)(void *), void *argument, struct weir_crash *crash);
void weir_guard_enter(struct weir_guard_frame *f, const struct weir_instance *i, u32 entry,
		      u32 topic, const struct weir_task *t);
void weir_guard_leave(const struct weir_guard_frame *f);
/* An invariant is broken: does not return where a call can be broken off. Weak: programs without plugins have none. */
__attribute__((weak)) void weir_guard_failed(const char *what);
/* A caller has looked at a lock 64 times in vain. Weak likewise. */
__attribute__((weak)) void weir_guard_waits(void);

#endif
