/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Records between host and kernel, in shared memory: what to run, and the results. Shared with Rust: research/src/bare. The host fills
 * the boot record and the images behind it before the machine starts, and reads results and trace after it has stopped.
 */
#ifndef WEIR_BARE_BOOT_H
#define WEIR_BARE_BOOT_H

#include <weir/port.h>

#define BOOT_MAGIC	0x32454b5254494557ull
#define BOOT_AT		0x81000000ull
#define BOOT_MAX_IMAGES 48

/* Flags of the machine. */
#define BOOT_TRACE    2u /* record what happens */
#define BOOT_MESSAGES 4u /* record messages too; then none takes the fast path */
#define BOOT_INPUT    8u /* the console has input: wait for it when idle */

/* Flags of an image. */
#define IMAGE_SERVICE 1u /* the machine does not wait for its end */
#define IMAGE_MONITOR 2u
#define IMAGE_CONSOLE 4u /* gets the console's registers and interrupt */

struct boot_image {
	char name[32];
	u64 text, text_bytes; /* powers of two, aligned to themselves */
	u64 data, data_bytes;
	u32 flags;
	u32 hart;		    /* where its first dispatcher is made */
	u64 argc, args, args_bytes; /* argc strings, each ended by a zero byte, at this address */
};

/* At the start of an image's text. */
struct image_header {
	u64 magic;
	u64 run, fault, fault_disabled, trap, lmp;
	u64 crit_low, crit_high;
	u64 main;
};
#define IMAGE_MAGIC 0x31474d4952494557ull

struct boot {
	u64 magic;
	u32 harts;
	u32 flags;
	u64 quantum;  /* ns that a hart runs before the next one has its turn */
	u64 duration; /* ns; 0: until all programs have ended */
	u64 seed;
	u64 plan, plan_bytes;	  /* address */
	u64 trace, trace_records; /* address; for each hart */
	u64 results;
	u64 free, free_end;
	u64 mesh, mesh_bytes; /* memory that all monitors share */
	u32 nr_images;
	u32 unused;
	struct boot_image image[BOOT_MAX_IMAGES];
};

enum trace_kind {
	TRACE_NEW = 1,	/* a: domain; b: number on its home, which is in bits 32 on */
	TRACE_READY,	/* a: 1 woken */
	TRACE_RUN,	/* a: time since it was ready */
	TRACE_OFF,	/* a: enum trace_why */
	TRACE_EXIT,	/* a: its number; b: cause of the fault + 1, 0: it ended by itself */
	TRACE_IDLE,	/* a: 1 idle, 0 no longer */
	TRACE_SCHED,	/* a: enum trace_call; b: instructions */
	TRACE_LMP,	/* task: sender; a: receiver; b: 0 it runs at once, 1 buffered */
	TRACE_NOTIFY,	/* task: receiver; a: bit */
	TRACE_MARK,	/* a: number, b: value */
	TRACE_DEADLINE, /* a: absolute, ns */
	TRACE_MISS,
	TRACE_INTERRUPT, /* a: source */
};

enum trace_why { WHY_PREEMPTED, WHY_SLICE, WHY_YIELD, WHY_BLOCK, WHY_EXIT };
enum trace_call {
	CALL_ADMIT,
	CALL_UNBLOCK,
	CALL_RELINQUISH,
	CALL_BLOCK,
	CALL_EXIT,
	CALL_PICK,
	CALL_NOTIFY,
	CALL_TIMER,
	CALL_SWAP
};

struct trace_record {
	u64 time;
	u32 kind;
	u32 task; /* numbered as they were made; ~0: none */
	u64 a, b;
};

enum stop_why {
	STOP_DONE = 1, /* all programs have ended */
	STOP_TIME,     /* the duration is over */
	STOP_WAITING,  /* everything waits, and no event will come */
	STOP_BROKEN,
	STOP_PLAN,
};

struct hart_result {
	u64 traced, dropped; /* records */
	u64 picks, pick_ns, relinquish_ns;
	u64 interrupts, timers, upcalls, messages_short, messages_long, messages_buffered, pokes,
		turns;
	u64 busy_ns, idle_ns, kernel_ns;
	u64 capabilities;
	u64 arena_bytes;
};

struct results {
	u64 magic;
	u32 why;    /* enum stop_why */
	s32 detail; /* the plan's fault, the core's error */
	u64 time;
	u32 tasks;
	u32 failed; /* programs whose number was not 0 */
	u32 ended;  /* programs that the kernel ended */
	u32 unused;
	char text[160]; /* the broken invariant */
	struct hart_result hart[16];
};

#endif
