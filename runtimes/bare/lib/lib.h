/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shared by the files of the library: its data is in the dispatcher's own memory, at D_LIBRARY. */
#ifndef BARE_LIB_H
#define BARE_LIB_H

#include <weir/mk.h>

#include "monitor.h"

#define STACK_BYTES 6144
#define NEVER	    (~0ull)

#define PLACES	 64	     /* dispatchers of a program, at one time */
#define WAKE_BIT (1ull << 2) /* the inbox has something */

enum thread_state { THREAD_READY, THREAD_RUNNING, THREAD_PARKED, THREAD_MOVING, THREAD_GONE };

/* A thread as others see it, in the program's variables; a message to its dispatcher. */
struct mk_node {
	struct mk_node *next; /* waiting, or in an inbox */
	struct mk_thread *thread;
	u32 place;   /* where it is */
	u32 granted; /* what it waits for is its own */
	u32 used;
	u32 unused;
};

struct mk_thread {
	u64 area[32];
	u64 fp[33]; /* f0 to f31, fcsr: behind the area, where lib/entry.S puts those that a call keeps */
	struct mk_thread *next; /* ready, or sleeping, or free */
	struct mk_node *node;	/* null: none yet */
	struct mk_node own;	/* of one that moves: it is in the program's variables itself */
	u32 state;
	u32 moves;  /* 1: made by mk_thread_on() */
	u32 has_fp; /* its values count on the core where it arrives */
	u32 refs;   /* until it is joined, and off its stack */
	u32 *taken; /* of one that moves: 0 when its memory is free */
	struct mk_mutex lock;
	struct mk_cond over;
	u32 gone;
	u32 permit; /* an unpark before its park */
	u64 wake_at;
	void (*fn)(void *);
	void *arg;
};

/* A pending call. */
struct call {
	struct call *next;
	struct mk_thread *thread;
	u64 badge;
	u64 words[4];
	u32 done;
};

struct request {
	u64 id, core;
};

struct lib {
	struct mk_thread *current;
	struct mk_thread *first, **last; /* ready */
	struct mk_thread *sleeping;
	struct mk_channel *channels;
	struct call *calls;
	mk_handler handler;
	struct mk_lmp early[LMP_BUFFERS]; /* messages that arrived before there was a handler */
	u32 nr_early;
	mk_event_handler on_event;
	mk_fault_handler on_fault;
	u64 entries[3];
	struct mk_thread main;
	struct mk_thread *off;	/* has just left its stack: it moves, or has ended */
	struct mk_thread *free; /* ended and joined */
	u32 place;
	u32 unused;
	struct peer {
		u32 generation; /* of the place that `slot` wakes */
		u32 slot;
	} peer[PLACES];
	struct mk_mutex monitor; /* one call at a time */
	u64 nr_ready, yields;
	u64 next_slot;
	u64 timer; /* set for this time; 0: it has fired */
	u32 begun;
	s32 priority; /* as reported to the policy */
	/* A service's clients. */
	struct request requests[16];
	u32 asked, taken;
	struct mk_thread *server;
	u64 bound_id, bound_channel;
	s32 bound_status;
	u32 bound;
	/* The console. */
	struct mk_channel console;
	u32 has_console;
	struct mk_mutex printing;
};

_Static_assert(D_LIBRARY + sizeof(struct lib) <= D_HEAP, "the heap begins behind the library");

WEIR_INLINE struct lib *lib(void)
{
	return (struct lib *)((char *)mk_self() + D_LIBRARY);
}

void mk_resume(u64 *area) __attribute__((noreturn));
void mk_switch_out(u64 *area);
void mk_fp_save(u64 *fp);
void mk_fp_load(const u64 *fp);
void mk_choose(void) __attribute__((noreturn));

/* No upcall from here on; the caller was enabled. */
WEIR_INLINE void disable(void)
{
	mk_self()->disabled = 1;
	__asm__ volatile("" ::: "memory");
}

WEIR_INLINE void enable(void)
{
	__asm__ volatile("" ::: "memory");
	mk_self()->disabled = 0;
}

/* All of these: disabled. */
void ready(struct mk_thread *t, int first);
void park(void);
void unpark(struct mk_thread *t);
void monitor_said(const u64 *words);
void own_message(u64 badge, const u64 *words);
void take_inbox(void);
void off_its_stack(struct mk_thread *t);
void place_take(void);
void place_leave(void);
/* By the joiner, and when it is off its stack. */
void thread_release(struct mk_thread *t);
void thread_begin(void);
/* Enabled: a call of the monitor. */
s64 ask_monitor(const u64 *words, u64 *answer);

#endif
