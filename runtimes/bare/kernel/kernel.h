/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The CPU driver of one hart: event-driven, with interrupts off, on one stack that is empty between events. Its state belongs to its
 * hart; other harts access only `remote`. Source: 1, 1.3 and 1.4.
 *
 * With BARE_SHARED all harts have one scheduler, and a dispatcher runs on any of them. It keeps its home: the hart whose monitor, names,
 * capabilities and memory it has. One lock per home protects all records of its dispatchers (docs/decisions/0182). With BARE_PARALLEL the
 * harts do not take turns (parallel.c).
 */
#ifndef BARE_KERNEL_H
#define BARE_KERNEL_H

#include <weir/bare.h>
#include <weir/boot.h>
#include <weir/runtime.h>
#include <weir/schedule.h>

#include "layout.h"

#define NEVER	      (~0ull)
#define MAX_REGIONS   16
#define MAX_TIMERS    1024 /* instances of a plan that may have a timer */
#define TICK_NS	      4000000ull
#define SLICE_NS      3000000ull /* if the policy names none */
#define PRIVATE_BYTES 131072ull
#define RAM_BYTES     PRIVATE_BYTES

#ifdef BARE_SHARED
#define SHARED 1
#else
#define SHARED 0
#endif
#ifdef BARE_PARALLEL
#define PARALLEL 1
#else
#define PARALLEL 0
#endif

#define CSR_READ(name)                                                    \
	({                                                                \
		u64 v_;                                                   \
		__asm__ volatile("csrr %0, " #name : "=r"(v_)::"memory"); \
		v_;                                                       \
	})
#define CSR_WRITE(name, v) __asm__ volatile("csrw " #name ", %0" ::"r"((u64)(v)) : "memory")

/* A capability in its slot. All of a home are in one list, children behind their parents and deeper. */
struct cap {
	u32 type;
	u32 rights;
	u64 object; /* RAM, FRAME: address; else a record */
	u64 bytes;
	u64 badge;
	struct cap *next, *prev;
	u32 depth;
	u32 owner;  /* dispatcher: home << 8 | number */
	u32 remote; /* 1: other cores may know the memory */
	u32 unused;
};

enum sched_state { SCHED_BLOCKED, SCHED_QUEUED, SCHED_RUNNING, SCHED_GONE };

struct kdcb {
	struct mk_dcb *block; /* null: it has ended or never existed */
	u32 state;	      /* STATE_ */
	u32 nr_regions;
	u64 config[2];
	u64 region[MAX_REGIONS];
	u64 unused_word;
	u64 bit;
	struct cap cap[NR_SLOTS];
	struct weir_task *task;
	u32 on;	  /* enum sched_state */
	u32 home; /* its hart */
	u32 number;
	u32 domain;
	u32 id;	    /* among all tasks */
	u32 faults; /* in a row */
	u32 first;  /* of its program */
	u32 unused;
	u64 memory;
	u64 ram;
	u64 timer;
	u64 ready_at;
	u64 fp[33]; /* f0 to f31, fcsr, while another dispatcher has the registers */
	/* One scheduler for all harts: */
	u32 hart;    /* where it runs, or ran last */
	u32 ending;  /* another dispatcher has ended it: the hart that chooses it next removes it */
	u64 left_at; /* by that hart's clock */
	u64 end_number; /* of `ending`, as for retire() */
	u64 end_cause;
};

#define ASKED_TO_CHOOSE	 1u /* if it is idle */
#define ASKED_TO_PREEMPT 2u

/* Written by other harts. */
struct remote {
	u32 any;
	u32 unused;
	u64 at; /* the earliest, by the sender's clock */
	u64 notified[MAX_DISPATCHERS];
	u32 mine[MAX_DISPATCHERS];
	u32 asked; /* ASKED_ by the policy */
	u32 unused2;
};

struct hart {
	u32 sched_cpu; /* weir_port_cpu() */
	u32 cpu;
	struct kdcb *current;
	u64 stack;
	u64 scratch[3];
	u64 unused_word;
	u64 base, start;
	u64 messages_short;
	/* dispatchers that left while running on another's time, and may have more work */
	u64 lent;
	struct kdcb *charged; /* the owner of the time, which a message lends to the receiver */
	struct weir_sched *sched;
	u32 resched;
	u32 nr_dispatchers; /* the highest number so far and one */
	u64 last;	    /* the clock when the turn ended */
	u64 turn_end;
	u64 slice_end, next_tick;
	u64 began; /* the present stay of `charged` */
	u64 idle_from;
	u32 idle;
	u32 started;
	u32 rearm;			 /* an event may be due before the timer fires */
	u64 pool, pool_end, free_blocks; /* of PRIVATE_BYTES */
	struct cap *caps;
	struct kdcb *fp_owner; /* its values are in the floating-point registers */
	u64 fresh[32];
	struct hart_result n;
	/* One scheduler for all harts: */
	u32 holds;  /* the home whose lock it has, and one; 0: none */
	u32 inside; /* (a) it is in the kernel, and checks `stale` before it leaves */
	u32 stale;  /* (a) another hart has changed the memory of `current` */
	u32 unused2;
} __attribute__((aligned(1 << H_BYTES_SHIFT)));

_Static_assert(__builtin_offsetof(struct hart, cpu) == H_CPU &&
		       __builtin_offsetof(struct hart, current) == H_CURRENT,
	       "layout");
_Static_assert(__builtin_offsetof(struct hart, stack) == H_STACK &&
		       __builtin_offsetof(struct hart, scratch) == H_SCRATCH,
	       "layout");
_Static_assert(__builtin_offsetof(struct hart, base) == H_BASE, "layout");
_Static_assert(__builtin_offsetof(struct hart, start) == H_START &&
		       __builtin_offsetof(struct hart, messages_short) == H_LMP,
	       "layout");
_Static_assert(__builtin_offsetof(struct hart, charged) == H_CHARGED, "layout");
_Static_assert(__builtin_offsetof(struct hart, lent) == H_LENT &&
		       __builtin_offsetof(struct kdcb, bit) == K_BIT,
	       "layout");
_Static_assert(sizeof(struct hart) == 1 << H_BYTES_SHIFT, "layout");
_Static_assert(__builtin_offsetof(struct kdcb, state) == K_STATE &&
		       __builtin_offsetof(struct kdcb, nr_regions) == K_NR_REGIONS,
	       "layout");
_Static_assert(__builtin_offsetof(struct kdcb, config) == K_CONFIG &&
		       __builtin_offsetof(struct kdcb, region) == K_REGION,
	       "layout");
_Static_assert(__builtin_offsetof(struct kdcb, cap) == K_CAPS, "layout");
_Static_assert(sizeof(struct cap) == 1 << C_SHIFT &&
		       __builtin_offsetof(struct cap, badge) == C_BADGE,
	       "layout");

extern struct hart harts[MAX_HARTS];
extern struct kdcb dispatchers[MAX_HARTS][MAX_DISPATCHERS];
extern struct remote remotes[MAX_HARTS];
extern struct home {
	u32 lock;
} __attribute__((aligned(64))) homes[MAX_HARTS];

WEIR_INLINE struct boot *boot_record(void)
{
	return (struct boot *)BOOT_AT;
}

WEIR_INLINE struct hart *self(void)
{
	struct hart *h;

	__asm__("mv %0, tp" : "=r"(h));
	return h;
}

/* The clock of the calling hart. */
WEIR_INLINE u64 now(const struct hart *h)
{
	return h->base + (CSR_READ(minstret) - h->start);
}

/* One scheduler for all harts: the lock of a home. A hart has at most one, and none while it passes its turn on. */
WEIR_INLINE void home_lock(struct hart *h, u32 home)
{
	if (!SHARED)
		return;
	weir_assert(!h->holds);
	weir_spin_lock(&homes[home].lock);
	h->holds = home + 1;
}

WEIR_INLINE void home_unlock(struct hart *h)
{
	u32 home = h->holds;

	if (!SHARED || !home)
		return;
	h->holds = 0;
	weir_spin_unlock(&homes[home - 1].lock);
}

/* Its CPU in its scheduler. */
WEIR_INLINE u32 cpu_of(const struct hart *h)
{
	return SHARED ? h->cpu : 0;
}

/* Whether it must run to see what happened to it. */
WEIR_INLINE int has_something(const struct kdcb *k)
{
	if (SHARED && (k->ending || k->block->notified))
		return 1;
	return k->block->haswork || k->block->lmp_head != k->block->lmp_tail;
}

/* support.c */
void *memset(void *p, int c, __SIZE_TYPE__ n);
void *memcpy(void *p, const void *q, __SIZE_TYPE__ n);
void trace(struct hart *h, u32 kind, u32 task, u64 a, u64 b);
void stop(u32 why, s32 detail, const char *text) __attribute__((noreturn));
void go(u64 *area) __attribute__((noreturn));
void fp_save(u64 *area);
void fp_load(const u64 *area);

/* turn.c, or parallel.c: turns of harts, and time. */
void turn_begin(struct hart *h);
/* Pass the turn on; return at our next turn, or at @until if that is in this one. @until: idle until then; 0: busy. */
void turn_pass(struct hart *h, u64 until);
/* A timer interrupt at @at, or at the end of the turn. */
void turn_arm(struct hart *h, u64 at);
void poke(struct hart *from, u32 hart, u32 dispatcher, u64 bits);
/* Another hart looks at its `remote` and its timers, by this hart's clock. */
void prod(struct hart *from, u32 hart);
/* It looks now (parallel.c). */
void prodded(struct hart *h);

/* dispatch.c */
#define GRACE_NS 5000000ull
u32 programs_left(void);
extern u64 ended_at; /* when the last program ended */
int sched_start(struct hart *h);
u64 next_due(const struct hart *h);
/* Handle everything due; sets resched if the core must choose again. */
void events(struct hart *h);
/* Where to go on. */
u64 *next(struct hart *h);
/* The current dispatcher leaves, and its time is over. */
u64 *preempt(struct hart *h, u32 why);
u64 *yield(struct hart *h, struct kdcb *to);
/* It has work. */
void wake(struct hart *h, struct kdcb *k);
void notify(struct hart *h, struct kdcb *k, u64 bits);
/* Saves nothing: the caller has done it. */
void left(struct hart *h, struct kdcb *k);
/* The last step in the kernel. */
void leave(struct hart *h);
/* The regions of @k have changed, which may run on any hart: none of them uses the old ones after this. */
void regions_changed(struct hart *h, struct kdcb *k);
u64 *dispatch(struct hart *h, struct kdcb *k);
void retire(struct hart *h, struct kdcb *k, u64 number, u64 cause);
/* End a dispatcher that may run on another hart. */
void end(struct hart *h, struct kdcb *k, u64 number, u64 cause);
struct kdcb *create(struct hart *h, u32 home, u32 domain, u64 entry, u64 argument);
/* @cpu: of a message without a dispatcher. */
int publish(struct hart *h, struct kdcb *k, u32 cpu, u32 topic, u64 value, u64 value2);
u64 pool_take(struct hart *h);
void regions_set(const struct kdcb *k);
/* An instruction was illegal: give the current dispatcher the floating-point registers. 0: it has them, or there are none. */
int fp_give(struct hart *h);

/* caps.c */
struct cap *cap_free_slot(struct kdcb *k, u32 from);
void cap_put(struct hart *h, struct cap *c, struct kdcb *owner, const struct cap *what,
	     struct cap *parent);
void cap_delete(struct hart *h, struct cap *c);
void cap_die(struct hart *h, struct cap *c);
u32 cap_revoke(struct hart *h, struct cap *c);
/* Returns the result; further values go into the caller's registers. */
s64 invoke(struct hart *h, struct kdcb *k, u64 *area);

/* message.c */
u64 *message(struct hart *h, struct kdcb *k, u64 *area);
/* Into the receiver's buffer; 0 or MK_EBUSY. */
int deliver(struct hart *h, struct kdcb *to, u64 badge, const u64 *words);

/* interrupt.c */
void interrupt_start(struct hart *h);
void interrupt_external(struct hart *h);
/* One waits for hart 0. */
int interrupt_waits(void);
int interrupt_bind(u64 source, struct kdcb *k, u64 badge);
void interrupt_ack(u64 source);

#endif
