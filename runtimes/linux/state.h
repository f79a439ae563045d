/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* All global state of the adapter, and its data per task and per CPU. */
#ifndef WEIR_LINUX_STATE_H
#define WEIR_LINUX_STATE_H

#include "kernel.h"
#include "live.h"

WEIR_VISIBLE struct weir_live weir_live;

/* The kernel finds the arena through the map that a program names. */
struct {
	int (*type)[33];				 /* BPF_MAP_TYPE_ARENA */
	int (*map_flags)[1 << 10];			 /* BPF_F_MMAPABLE */
	int (*max_entries)[16384];			 /* pages; the loader sets it */
	enum { weir_arena_base = 1ull << 44 } map_extra; /* the same addresses in the loader */
} arena SEC(".maps");

struct {
	int (*type)[27]; /* BPF_MAP_TYPE_RINGBUF */
	int (*max_entries)[1 << 22];
} events SEC(".maps");

/* The adapter's data about a task of the kernel. */
struct weir_linux_task {
	u64 task; /* address of struct weir_task in the arena; 0: none, it runs outside the graph */
	/* enum weir_linux_dirty: changes to report to the graph when the task next enters it */
	u32 dirty;
	u32 flags;   /* enum weir_linux_flag */
	u32 group;   /* number of its group, 0: the root */
	u32 waker;   /* what woke it last, if recorded: see waker_here() */
	u64 epoch;   /* number of swaps when the task was last reported to the graph */
	u32 urgency; /* urgency_of() it, as it was reported last */
	u32 unused;
};

enum weir_linux_dirty { DIRTY_AFFINITY = 1, DIRTY_PRIORITY = 2, DIRTY_GROUP = 4, DIRTY_POLICY = 8 };
enum weir_linux_flag { WOKEN = 1, YIELDED = 2, KNOWN = 4, NEW = 8 };

struct {
	int (*type)[29];     /* BPF_MAP_TYPE_TASK_STORAGE */
	int (*map_flags)[1]; /* BPF_F_NO_PREALLOC */
	int *key;
	struct weir_linux_task *value;
} tasks SEC(".maps");

#define IN_ARENA asm volatile("" ::"r"(&arena))
#define SCHED	 ((struct weir_sched weir_mem *)weir_live.sched)

/* Entry @i of a table in the arena, with its address as a number: older kernels refuse a number to which such a pointer is added. */
#define IN_TABLE(type, table, i) ((type weir_mem *)((table) + (u64)(i) * sizeof(type)))

/* A queue per CPU for tasks without a path to an exit; numbers without the topmost bit are ours. */
#define ASIDE(cpu) (0x77656972ull << 16 | (u32)(cpu))

/* Maximum number of tasks that a dispatch lets run outside the graph for one reason; it may insert 32 in total. */
#define ASIDE_AT_ONCE 8

/* Pending reports to the graph; the next dispatch makes them. */
struct weir_linux_news {
	u32 cpu; /* (a) this CPU went online (1) or offline (2) */
	/* (o) a waiting task, by number in the kernel, whose priority was changed here */
	u32 priority;
	u32 gone;      /* (o) 1 + the number of an ended task, head of a list */
	u32 next_gone; /* (o) the next one in the list */
	/*
	 * (o) tasks of another CPU's exit that this dispatch released; in memory, where the verifier
	 * does not count
	 */
	u32 rescued;
	/*
	 * (o) of this dispatch, likewise: whose exit it takes tasks from, when it began, ns, and the task whose turn it ended. The verifiers of
	 * kernels before 7.2 follow each path by itself that has other values of them.
	 */
	u32 target;
	u64 start;
	u64 ran;
	u32 entering; /* (o) 1 + the number of the task that an enqueue here lets into the graph */
	/* (o) 1 + the number of a task for which a component later had no path, head of a list */
	u32 late;
	u32 wakes; /* (o) 1 + the CPU that was woken for `entering`; 0: none */
	/* (o) until then this CPU does not choose again just because a call gave up */
	u64 again_ns;
};

/* Address in the arena of each CPU's pending reports. */
static u64 all_news;
static u32 any_cpu_news;
/* (a) 1: a CPU is reporting them. */
static u32 publishing_cpus;
/* By CPU: its availability for tasks. */
static u32 presence[WEIR_MAX_CPUS];
enum {
	HERE,
	GOING, /* the kernel no longer accepts tasks there that it has elsewhere */
	GONE,  /* offline, or about to be; takes no interrupts in its last moments */
};
/* Whether any CPU went offline, or was kept by a higher class, since the start. */
static u32 some_gone;
#define NEWS(cpu) IN_TABLE(struct weir_linux_news, all_news, cpu)
/* Whose turn it is: the graph's or the queue beside it. */
static u32 turns[WEIR_MAX_CPUS];
/*
 * By CPU: tasks that were sent to its queue beside the graph, and those of them that it has taken. Equal: nothing is there, and the kernel need not be
 * asked. (The kernel may take others back: then it is asked in vain.)
 */
static u32 aside_sent[WEIR_MAX_CPUS], aside_taken[WEIR_MAX_CPUS];
/* Address in the arena of one mask per CPU, for reporting affinities. */
static u64 masks;

#endif
