/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Reduction of a multiprocessor to uniprocessors: servers that need shares of CPUs are packed and replaced by
 * their duals until each pack needs a full CPU.
 *
 * A leaf serves tasks. The dual of a server needs the rest of the server's CPU, and runs exactly while the
 * server does not; duals are packed into servers of the next level, which serve them by deadline. A server of
 * share 1 is a root and always runs. The running leaves follow from the roots down, and are as many as CPUs.
 *
 * Shares are fixed-point numbers in 2^-52. All state lies under the lock that steps are taken under.
 *
 * Source: Regnier, Lima, Massa, Levin and Brandt, "RUN: optimal multiprocessor real-time scheduling via
 * reduction to uniprocessor", 2011, sections III and IV.
 */
#ifndef WEIR_REDUCE_H
#define WEIR_REDUCE_H

#include <weir/component.h>

#define WEIR_SHARE_ONE (1ull << 52)
/* Each share is rounded down, so a sum of up to 4,096 falls short by less than WEIR_SHARE_SHORT. */
#define WEIR_SHARE_SHORT (1ull << 12)
/* Sums of shares that differ by less are equal. */
#define WEIR_SHARE_EPSILON (1ull << 14)

struct weir_server {
	u64 share;    /* (h) in 2^-52 */
	u64 fill;     /* (h) part of it without a task, in 2^-52 */
	u64 deadline; /* (h) ns; until then the dual may run for `dual` */
	u64 dual;     /* (h) ns that the dual must still run until the deadline */
	u32 parent;   /* (h) 1 + server that serves its dual, 0: a root */
	u32 chosen;   /* (h) 1 + the server whose dual it would run, 0: none */
	u32 runs;     /* (h) */
	u32 level;    /* (h) 0: a leaf */
	u32 first;    /* (h) place of its first leaf among all leaves; its leaves are neighbours */
	u32 nr;	      /* (h) leaves below it, itself if it is one */
	u32 root;     /* (h) place of the first leaf below its root */
	u32 next;     /* (h) while places are assigned: place of the next leaf */
	u32 stale;    /* (h) deadline and `dual` must be recomputed */
	u32 unused;
	/* (h) its share is this, plus (even levels) or minus those of its leaves; modulo 2^64 */
	u64 whole;
};

struct weir_reduction {
	struct weir_server weir_mem *server; /* (c) children before parents, leaves first */
	u32 cap;			     /* (c) */
	u32 nr;				     /* (h) */
	u32 nr_leaves;			     /* (h) */
	u32 left;			     /* (h) while a level is packed: of its duals */
	u32 packed;			     /* (h) likewise */
	u32 unused;
};

/* Memory for @items tasks; in construct. */
int weir_reduce_construct(struct weir_instance weir_mem *self, struct weir_reduction weir_mem *red,
			  u64 items);
/* The first leaf with room for @share, or a new one. Pass larger shares first. O(leaves). */
u32 weir_reduce_leaf(struct weir_reduction weir_mem *red, u64 share);
/* All leaves exist: build the levels above them, for @cpus CPUs. O(leaves^2). */
int weir_reduce_build(struct weir_reduction weir_mem *red, u32 cpus);
/* Decide which servers run, by deadlines and the duals' remaining time. O(servers). */
int weir_reduce_run(struct weir_reduction weir_mem *red);

#endif
