/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* All global state of the adapter, and what it keeps of a task and of a CPU. */
#ifndef WEIR_LINUX_STATE_H
#define WEIR_LINUX_STATE_H

#include "kernel.h"
#include "live.h"

WEIR_VISIBLE struct weir_live weir_live;

/* The kernel finds the arena by the map that a program names. */
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

/* What the adapter keeps of a task of the kernel. */
struct weir_linux_task {
	u64 task; /* address of struct weir_task in the arena; 0: none, it runs beside the graph */
	/* enum weir_linux_dirty: what is to be reported to the graph when the task next enters it */
	u32 dirty;
	u32 flags; /* enum weir_linux_flag */
	u32 group; /* number of its group, 0: the root */
	u32 unused;
	u64 epoch; /* swaps that there had been when the task was last reported to the graph */
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

/* Entry @i of a table in the arena; an address is a number there, for older kernels refuse a number to which such a pointer is added. */
#define IN_TABLE(type, table, i) ((type weir_mem *)((table) + (u64)(i) * sizeof(type)))

/* A queue a CPU for tasks that no exit leads to; numbers without the topmost bit are ours. */
#define ASIDE(cpu) (0x77656972ull << 16 | (u32)(cpu))

/* Tasks that a dispatch lets run beside the graph for one reason; it may insert 32 in all. */
#define ASIDE_AT_ONCE 8

/* What is still to be reported to the graph; the next dispatch does it. */
struct weir_linux_news {
	u32 cpu; /* (a) this CPU came (1) or went (2) */
	/* (o) a waiting task, by number in the kernel, whose priority was changed here */
	u32 priority;
	u32 gone;      /* (o) 1 + the number of a task that is no more, head of a list */
	u32 next_gone; /* (o) what follows it */
	/*
	 * (o) tasks of another CPU's exit that this dispatch let go; in memory, where the verifier
	 * does not count
	 */
	u32 rescued;
	u32 entering; /* (o) 1 + the number of the task that an enqueue here lets into the graph */
	/* (o) 1 + the number of a task for which a component had no way on later, head of a list */
	u32 late;
	u32 unused;
	/* (o) before then this CPU does not choose again only because a call gave up */
	u64 again_ns;
};

/* Address in the arena of the news of each CPU. */
static u64 all_news;
static u32 any_cpu_news;
/* (a) 1: some CPU is reporting them. */
static u32 publishing_cpus;
/* By CPU: is it there for tasks? */
static u32 presence[WEIR_MAX_CPUS];
enum {
	HERE,
	GOING, /* the kernel takes no task there any more that it has elsewhere */
	GONE,  /* offline, or about to be; and takes no interrupts in its last moments */
};
/* Some CPU went, or was kept by a higher class, since the start. */
static u32 some_gone;
#define NEWS(cpu) IN_TABLE(struct weir_linux_news, all_news, cpu)
/* Whose turn it is: the graph's or the queue beside it. */
static u32 turns[WEIR_MAX_CPUS];
/* Address in the arena of one mask a CPU, to report an affinity. */
static u64 masks;

#endif
