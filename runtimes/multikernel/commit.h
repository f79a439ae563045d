/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Agreement among cores over a tree: one phase if the order does not matter (all cores act and confirm), two if it does (all are asked
 * first). Neutral: it needs only port.h; the caller carries messages. Source: 1, 2.7.
 *
 * The tree follows the machine: the initiator asks one core of each other node, the farthest first, and the other cores of its own
 * node; each core asked for a node asks the rest of that node. Answers return the same way, one per subtree. If two initiators want
 * the same object at once, a core that has promised it to one refuses the other, so at most one commits; the other may try again.
 */
#ifndef WEIR_COMMIT_H
#define WEIR_COMMIT_H

#include <weir/error.h>
#include <weir/port.h>

#define MK_COMMIT_CORES 64u
#define MK_COMMIT_OPS	32u
#define MK_COMMIT_WORDS 3u

enum mk_commit_step {
	MK_STEP_DO,	 /* one phase: do it */
	MK_STEP_PREPARE, /* two phases: may I? */
	MK_STEP_COMMIT,
	MK_STEP_ABORT,
	MK_STEP_ANSWER, /* up the tree; `value`: enum mk_commit_value */
};

enum mk_commit_value {
	MK_COMMIT_NO,
	MK_COMMIT_YES,	/* or done */
	MK_COMMIT_BUSY, /* promised to another operation; may be tried again */
};

struct mk_commit_message {
	u32 step; /* enum mk_commit_step */
	u32 id; /* of the operation: its initiator, and from bit 8 on the initiator's number for it */
	u32 answers; /* the step that this answers */
	u32 value;
	u64 object[2];		   /* the object, for instance base and bytes; the caller's */
	u64 word[MK_COMMIT_WORDS]; /* more about it; the caller's */
	u32 command;		   /* what is to be done; the caller's */
	u32 cookie;		   /* on the initiator: the caller's; not sent */
};

struct mk_commit_op {
	u32 used;
	u32 id;
	u32 step;
	u32 waiting; /* answers to come from below */
	u32 parent;  /* ~0: this core is the initiator */
	u32 value;   /* of all answers so far */
	u64 object[2];
	u64 word[MK_COMMIT_WORDS];
	u32 command;
	u32 cookie;  /* initiator: the caller's */
	u32 refused; /* initiator: combined answer to PREPARE */
	u32 unused;
};

/* What a core has promised. */
struct mk_promise {
	u32 id; /* 0: none */
	u32 unused;
	u64 object[2];
};

struct mk_commit {
	u32 core;
	u32 nr;
	u32 next; /* number of the next operation */
	u32 unused;
	u32 node[MK_COMMIT_CORES];     /* of each core */
	u32 distance[MK_COMMIT_CORES]; /* from us to each core's node */
	struct mk_commit_op op[MK_COMMIT_OPS];
	struct mk_promise promise[MK_COMMIT_OPS];
};

/* The caller's. Send @msg to another core, in order. */
void mk_commit_send(struct mk_commit *c, u32 core, const struct mk_commit_message *msg);
/* Whether this core's own state allows it. Promises to others have been checked already. */
int mk_commit_may(struct mk_commit *c, const struct mk_commit_message *msg);
/* Do it; first on the initiator, so that no core finds the object free in between. */
void mk_commit_do(struct mk_commit *c, const struct mk_commit_message *msg);
/* The operation has ended, on the initiator. YES: all cores have done it. BUSY: it may be tried again, sooner on cores with low numbers. */
void mk_commit_over(struct mk_commit *c, const struct mk_commit_message *msg, u32 value);

/* @node: each core's node; null: one node. 0, or -WEIR_EINVAL. */
int mk_commit_init(struct mk_commit *c, u32 core, u32 nr, const u32 *node);
/*
 * Begin; @phases is 1 or 2, @words null: none. 0, or -WEIR_EBUSY: too many are under way, or this core has promised the object to another.
 */
int mk_commit_begin(struct mk_commit *c, u32 phases, u32 command, const u64 *object,
		    const u64 *words, u32 cookie);
/* A message from core @from. */
void mk_commit_receive(struct mk_commit *c, u32 from, const struct mk_commit_message *msg);
/* The cores that @core asks in a tree from @root, the farthest first; returns their number. */
u32 mk_commit_children(const struct mk_commit *c, u32 root, u32 core, u32 *out);

#endif
