/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * One policy for the threads of several processes: what the process that has the policy (the server, serve.c) and one that joined it (a client,
 * join.c) share. A client has this memory in common with the server only, so it can harm nobody else.
 *
 * As dispatchers and CPU drivers in source 1, 2.5: each thread has a control block. The driver of a CPU gives the CPU to a thread by opening
 * its gate, and then sleeps at the thread's `op`, where the thread says that it gives the CPU up, and why. Everything else is a message
 * to the server (ump.h): a thread is new, wakes up, has other attributes.
 *
 * A thread ends its slice itself, by a timer: only that is precise while it has the CPU. Its driver tells it to somewhat later.
 *
 * `op` also has the number of the turn, which the driver raises before it opens the gate. A thread that is stopped, or does not answer, loses its turn:
 * what it says of an old turn does not count, and it finds out when it says so.
 */
#ifndef WEIR_REMOTE_H
#define WEIR_REMOTE_H

#include "rt.h"

#include "../multikernel/ump.h"

#define REMOTE_NAME \
	"runweir-cpus-" /* of the server's socket, without a file; the served name follows */
#define REMOTE_VERSION 4u
#ifndef REMOTE_THREADS	     /* fewer for tests */
#define REMOTE_THREADS 4096u /* of a client */
#endif
#define REMOTE_SLOTS   256u /* messages on the way */
#define REMOTE_CPUS    1024u
#define REMOTE_TEXT    65536u /* the longest manifest, bytes */
#define REMOTE_IGNORES 4096u  /* of weir_plan_ignores() */

/* What a thread that has a CPU tells its driver. */
enum remote_op {
	OP_RUNS,
	OP_YIELD,
	OP_PREEMPTED,
	OP_BLOCK,
	OP_HAND_OVER,
	OP_EXIT,
	OP_TAKEN, /* the driver's: the turn is over */
};

#define OP_BITS	    8u
#define OP_OF(word) ((word) & ((1u << OP_BITS) - 1))

/* A line of its own. */
struct control {
	u32 op;		   /* (a) futex: turn << OP_BITS | enum remote_op */
	u32 gate;	   /* (a) futex: 1 + CPU, by the driver; the thread shuts it */
	u32 resched;	   /* (a) the driver: give the CPU up */
	int cpu;	   /* (a) the driver: that it has; -1: none */
	u64 deallocations; /* (a) the driver */
	u64 slice_end;	   /* the driver, before it opens the gate; NEVER: there is none */
	u32 to;		   /* OP_HAND_OVER: number of the other thread's block */
	u32 woken;	   /* OP_HAND_OVER: the other one sleeps, and this wakes it */
	u32 passed;	   /* of the last OP_HAND_OVER: 0, the other thread had the CPU */
	u32 ended;	   /* (a) the server: the block may be used again */
} __attribute__((aligned(64)));

/* Kinds of messages; the tag is the number of the thread's block. */
enum remote_message {
	SAYS_NEW,
	SAYS_ATTRIBUTE, /* enum weir_attribute, two values */
	SAYS_ADMIT,	/* Linux's thread number, name in two words */
	SAYS_WAKE,
	SAYS_END, /* it has no CPU */
};

#define REMOTE_RING \
	((sizeof(struct ump_ring) + REMOTE_SLOTS * sizeof(struct ump_slot) + 4095) & ~4095ull)
#define REMOTE_BLOCKS (REMOTE_THREADS * sizeof(struct control))
#define REMOTE_BYTES  (2 * REMOTE_RING + REMOTE_BLOCKS + 4096)
/* A program that is asked to use fewer CPUs has so much time for its answer; then its threads share that many. */
#define REMOTE_ANSWER_NS 100000000ull

/* Behind two rings: the client's messages, and one that acknowledges them. */
static inline struct control *remote_controls(char *memory)
{
	return (struct control *)(memory + 2 * REMOTE_RING);
}

/* Behind the blocks: how many CPUs the client is to use. The server believes only the answer, which harms nobody else. */
static inline struct weir_activation *remote_activation(char *memory)
{
	return (struct weir_activation *)(memory + 2 * REMOTE_RING + REMOTE_BLOCKS);
}

/* The server's first words at the socket. The descriptors of the memory and of the bell (an eventfd) come with them. */
struct remote_hello {
	u32 version;
	u32 bytes;
	u32 nr_cpus;
	u32 pad;
	char policy[128];
	char ignores[REMOTE_IGNORES];
	u16 linux_cpu[REMOTE_CPUS];
};

/* Rare calls wait for an answer at the socket. */
enum remote_call {
	CALL_GANG_OPEN = 1,
	CALL_GANG_CLOSE,
	CALL_GANG_CHANGE,
	CALL_GANG_GROUP,
	CALL_GANG_JOIN, /* also leaves, with gang -1 */
	CALL_GANG_SLOT,
	CALL_GANG_TAKE,
	CALL_GANG_RETURN,
	CALL_SWAP, /* to the plan that follows */
	CALL_WISH, /* it could use so many CPUs; 0: it does not follow */
};

struct remote_question {
	u32 call;
	u32 thread; /* its block; ~0: the caller has none */
	int gang;
	u32 number; /* member, group, threads, or CPUs */
	struct gang_change change;
	u64 at;
	u64 bytes; /* of a text that follows */
};

struct remote_answer {
	int result;
	u32 pad;
	u64 from, until;
	struct weir_rt_swapped swapped;
	char policy[128]; /* in force */
	char why[256]; /* it failed; of a message without a question: why the server turns the client away */
};

/* serve.c */
struct sockaddr_un;
/* Length of the address; 0: the name does not fit. */
socklen_t remote_address(struct sockaddr_un *address, const char *name);
int serve_start(const char *name);
void serve_stop(void);
u32 serve_threads(void);
/* The name by which programs join; empty: this process serves nobody. */
const char *serve_name(void);
/* Run it until it gives up the CPU. Nothing happens if it has ended. */
void remote_run(struct cpu *c, struct weir_thread *t);
void remote_interrupt(struct cpu *c);
/* The thread waits in vain: its program goes on without the policy. */
void remote_give_up(struct weir_thread *t);

/* allot.c: give each of @n programs a CPU, then another one, and so on, while there are any and it wishes for more. */
void allot_divide(u32 nr_cpus, u32 n, const u32 *wish, u32 *cpus);

/* join.c */
int join_open(const char *name, void (*alone)(const char *why));
void join_close(void);
void join_forked(void);
int join_owns(int fd);
const char *join_policy(void);
const char *join_ignores(void); /* of the policy that was in force when this process joined */
void join_switched(const char *policy);
/* Null: this process has not joined another one's policy. */
struct weir_activation *join_activation(void);
int join_ask(struct remote_question *q, const void *text, int file, struct remote_answer *a);
/* @gang -1: leave it. */
int join_gang(const struct weir_thread *t, struct remote_question *q, struct remote_answer *a);
int join_new(struct weir_thread *t);
void join_admit(struct weir_thread *t);
void join_wake(struct weir_thread *t);
void join_end(struct weir_thread *t);
int join_set(struct weir_thread *t, enum weir_attribute what, int64_t value, int64_t value2);
void join_yield(struct weir_thread *t, int preempted);
void join_block(struct weir_thread *t);
void join_exit(struct weir_thread *t);
void join_hand_over(struct weir_thread *t, struct weir_thread *to, int woken);
int join_passed(const struct weir_thread *t);
u32 join_wait(struct weir_thread *t);
int join_must_go(const struct weir_thread *t);

#endif
