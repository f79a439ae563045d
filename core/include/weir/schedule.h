/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * All that a runtime calls.
 *
 * @cpu is the CPU that makes the call; no two calls with the same @cpu may overlap. Calls about one
 * task are serialised by the runtime. But weir_notify() and weir_ask() may overlap with all of them,
 * except with its creation and its end, and weir_pick() may claim a schedulable task at any time:
 * another CPU may block or destroy that task before the picking CPU reads the result. Two picks for
 * one @target do not overlap either, nor does a pick with calls that take its task away.
 */
#ifndef WEIR_SCHEDULE_H
#define WEIR_SCHEDULE_H

#include <weir/topology.h>

#ifndef WEIR_SWAPS /* 0: the first graph stays; for measuring the cost of swaps (experiments/swap-pause) */
#define WEIR_SWAPS 1
#endif
#ifndef WEIR_OPLOG /* 0: the operations of a call are never recorded (schedule.h's `oplog`): no runtime requests them */
#define WEIR_OPLOG 1
#endif
#ifndef WEIR_DECLINES /* 1: the runtime calls weir_decline(), which may overlap with other calls about the task */
#define WEIR_DECLINES 0
#endif
#ifndef WEIR_DOMAINS /* 0: all CPUs share memory */
#define WEIR_DOMAINS 1
#endif

/* Micro-operations, recorded for cost models and traces. Shared with Rust. */
enum weir_op_kind {
	WEIR_OP_LOCK,	/* of a home or a pipe: @object */
	WEIR_OP_UNLOCK, /* likewise */
	WEIR_OP_STEP, /* an instance (@object) takes a step: @n is enum weir_what, from bit 8 on 1 + the pipe through which it came */
	WEIR_OP_STEP_END, /* it has answered */
	WEIR_OP_LINK,	  /* into the pipe @object; @n: steps down its tree, and the task << 8 */
	WEIR_OP_UNLINK,
	WEIR_OP_REQUEST,
	WEIR_OP_NOTIFY,
	WEIR_OP_SCAN,
	WEIR_OP_BURN,
	WEIR_OP_REMOTE,
	WEIR_OP_POST, /* a change was left in the inbox of the pipe @object */
};

struct weir_op {
	u32 kind;
	u32 object;
	u32 n;
};

/* Operations of the calls since @nr was set to 0, if calls do not overlap; in the runtime's memory. Shared with Rust. */
struct weir_oplog {
	u32 nr;
	u32 cap; /* further operations are not recorded */
	struct weir_op *ops;
};

/* What goes from one coherence domain to another. Shared with Rust. */
enum weir_remote_kind {
	WEIR_REMOTE_MSG_TASK,	 /* a task moves: its description and annotations */
	WEIR_REMOTE_MSG_ARRIVED, /* it has arrived: the record that it left is freed */
	WEIR_REMOTE_MSG_ENDED,	 /* it has ended: its number is free again where it was created */
	WEIR_REMOTE_MSG_MESSAGE, /* a published message; the words are its payload */
	WEIR_REMOTE_MSG_CALL,	 /* a runtime's call about a task */
	WEIR_REMOTE_MSG_LOAD,	 /* what the domain's CPUs have to do; may wait for other calls */
};

/* Shared with Rust. */
enum weir_remote_call {
	WEIR_REMOTE_ADMIT,
	WEIR_REMOTE_UNBLOCK,
	WEIR_REMOTE_BLOCK,
	WEIR_REMOTE_EXIT,
};

/* By value: numbers that mean the same everywhere, and no address. Its words follow. Shared with Rust. */
struct weir_remote_msg {
	u32 kind;
	u32 from; /* domain */
	u32 to;
	u32 task;     /* number; WEIR_NO_TASK: none */
	u32 pipe;     /* TASK: through which it crosses */
	u32 epoch;    /* number of the sender's graph, in which `pipe` counts */
	u32 cpu;      /* TASK: its last CPU; MESSAGE: its CPU */
	u32 call;     /* CALL: enum weir_remote_call */
	u32 reported; /* MESSAGE: the runtime has it */
	u32 nr_words;
	u64 cookie; /* TASK */
	u64 uuid;   /* MESSAGE: of the topic */
	u64 version;
	u64 value;
	u64 value2;
};

enum { WEIR_CPU_SLEEPS = 1, WEIR_CPU_OFF = 2 };

struct weir_cpu {
	/* What the CPU writes for itself with each task, and others read if they want its task: a line. */
	struct weir_task weir_mem *curr; /* (a) task it runs */
	u64 curr_key; /* (a) urgency of it, or of the task to be chosen; none while it chooses */
	/*
	 * (a) calls of this CPU that gave up waiting for another one; only these calls write it
	 */
	u64 nr_gave_up;
	/* (a) likewise: tasks left in the inbox of a pipe whose lock was taken */
	u64 nr_inboxed;
	u32 leaves; /* (a) what it runs wakes a task and is about to block: see weir_wakes_and_leaves() */
	u32 unused0;
	u64 unused[3];
	/* What balancers on all CPUs read, and what rarely changes: another line. */
	/*
	 * (a) WEIR_CPU_SLEEPS: it found nothing when it looked last: only then may it be among the idle ones; set before it is put there.
	 * WEIR_CPU_OFF: it is offline. Mostly neither
	 */
	u32 away;
	u32 runs; /* (a) it runs a task: as `curr` says, or, within a call of its own, said before: see weir_cpu_runs() */
	u32 online;   /* (a) */
	u32 core;     /* (b) */
	u32 llc;      /* (b) */
	u32 node;     /* (b) */
	u32 isa;      /* (b) */
	u32 capacity; /* (b) */
	u64 unused2[4];
};

/* A message that waits for delivery. */
struct weir_queued {
	struct weir_msg msg;
	u64 payload[WEIR_PAYLOAD_WORDS]; /* of an own topic with a payload */
};

/* The task that a CPU has in work, and how far it is (core/src/settle.c). */
struct weir_todo {
	struct weir_task weir_mem *task; /* null: none */
	struct weir_pipe weir_mem *home; /* locked from its look to its unlocking */
	struct weir_pipe weir_mem *from; /* where its way begins, null: at its entry */
	struct weir_pipe weir_mem *at;	 /* where the next steps begin */
	u32 stage;
	u32 notes;
	u32 hand;   /* it is in this CPU's hand, if it is nowhere */
	u32 walked; /* its way from the entry on was walked, to ctx->reached */
	u32 what;   /* of the steps: enum weir_what, or of a drop: enum weir_why */
	u32 number;
};

/* Per calling CPU. (o) all fields but @readers and @missed. */
struct weir_ctx {
	u32 readers; /* (a) calls under way on this CPU */
	u32 cpu;
	u64 waited; /* time that the present call waited for other CPUs, in the port's unit */
	struct weir_pipe weir_mem *entry; /* (b) where tasks that come through this CPU begin */
	struct weir_pipe weir_mem
	*exit; /* (b) where this CPU finds its next task; null: it is to search (weir_pick_next()) */
	u32 todo;      /* something is in its hand, or messages are to be delivered */
	u32 stamp;     /* the latest arrival that this CPU has seen to */
	u32 own_first; /* tasks in this CPU's hand, their token with them: 1 + number, 0: none */
	u32 own_last;
	u32 nr_msgs;
	u32 cap_msgs;
	struct weir_queued weir_mem *msgs; /* messages to deliver when no lock is held */
	u32 keeps; /* the task that is being placed was somewhere else before, and keeps its order of arrival */
	u32 gave_up;  /* a call waited too long for another CPU and left some work undone */
	u32 missed;   /* (a) 1: a search for work for this CPU was stopped by a swap */
	u32 held;     /* strict: 1 + the pipe that is locked, 0: none */
	u32 collects; /* a swap takes tasks out: what is asked for will arrive anyway */
	struct weir_pipe weir_mem *reached; /* where the way through the shared stages has led */
	struct weir_pipe weir_mem
	*until; /* a swap: stages before this pipe do not hear of it; null: all do */
	struct weir_step step;
	struct weir_todo work;
	struct weir_instance
		weir_mem *mover; /* weir_move(): who asked, for which task, and by which port */
	struct weir_task weir_mem *moved;
	u32 move_port;
	u32 next_msg;	 /* the first undelivered one of `msgs` */
	u32 from_remote; /* the message being delivered came from another domain */
	u32 delivery; /* 0: none; 1: not begun; 2: subscribers that hear all; 3: subscribers in its scope; 4: its last recipient has it */
	u32 sub_at;   /* the next one in the present part of `sub_list` */
	u32 sub_end;
	struct weir_instance weir_mem *recipient; /* the instance to be called next */
	struct weir_msg msg;			  /* the message that is being delivered */
	u64 payload[WEIR_PAYLOAD_WORDS];	  /* its payload */
	u32 pick_stage;				  /* stage of weir_pick() */
	u32 pick_at;				  /* likewise, in a list of instances */
	struct weir_instance weir_mem *puller;	  /* the instance to fetch work from */
	struct weir_task weir_mem *picked;
} __attribute__((aligned(512)));

#define WEIR_NO_GRAPH 2u

#define WEIR_NR_SIZES 320 /* 8 per power of two */

struct weir_sched {
	u64 arena_bytes; /* (c) the struct is at the arena's start */
	u64 used;	 /* (a) bytes ever allocated, including freed ones */
	u64 freed;	 /* (a) bytes in free lists */
	u32 alloc_lock;
	u32 task_lock;
	u32 writer; /* (a) 1: a reconfiguration runs or waits; WEIR_NO_GRAPH: none has ended yet */
	u32 nr_cpus;
	u32 mask_words;
	u32 nr_classes;
	u32 nr_chunks; /* (t) */
	u32 free_task; /* (a) the record freed last; (t) to take one */
	u32 nr_tasks;  /* (a) */
	u32 oplog;     /* (c) operations are recorded in `log` */
	u32 unused0;
	u32 swapping; /* (a) a swap builds, switches or cleans up */
	/*
	 * (c) how long a call waits for other CPUs, in polls; 0: without limit (unless the port
	 * has one)
	 */
	u64 patience;
	u64 random;	   /* (a) */
	u64 rt_topics;	   /* (c) topics whose messages the runtime wants */
	u64 cookie;	   /* (c) for the runtime */
	u64 faults;	   /* (a) components that failed and were rebuilt */
	u64 lost_messages; /* (a) */
	struct weir_class weir_mem *classes;
	struct weir_cpu weir_mem *cpus;
	struct weir_ctx weir_mem *ctx;
	struct weir_graph weir_mem *graph;	     /* (b) */
	struct weir_task weir_mem *weir_mem *chunks; /* (t) */
	struct weir_cpumask weir_mem *idle;	     /* (a) waiting for a KICK */
	struct weir_cpumask weir_mem *busy; /* (a) running a task, or choosing the next one */
	/* (a) addresses of the blocks freed last; (l) to take one */
	u64 free_list[WEIR_NR_SIZES];
	struct weir_topic topics[WEIR_MAX_TOPICS];
	/* (c) what goes to other coherence domains (remote.c); null: all CPUs share memory */
	struct weir_remote weir_mem *remote;
	u32 nr_domains; /* (c) */
	u32 unused1;
	struct weir_graph weir_mem *spent; /* the graph that this swap will free */
	/* (a) CPUs that went online or offline, and messages about tasks in transit: a task that came meanwhile is reviewed */
	u32 changes;
	u32 unused2;
	struct weir_oplog *log; /* (c) null: not wanted */
	u32 domain;		/* (c) the coherence domain that this scheduler is for */
	/* (a) its tasks that were sent to other domains and are not confirmed yet */
	u32 nr_away;
};

/* State of the calling CPU. */
struct weir_ctx weir_mem *weir_ctx(const struct weir_sched weir_mem *s);

/* Whether there are several coherence domains. */
WEIR_INLINE int weir_distributed(const struct weir_sched weir_mem *s)
{
	return WEIR_DOMAINS && s->nr_domains > 1;
}

/* Subscribers and responder of @topic. */
WEIR_INLINE struct weir_subs weir_mem *weir_subs(struct weir_sched weir_mem *s, u32 topic)
{
	return &s->graph->subs[topic];
}

struct weir_swap_stats {
	u32 represented;
	u32 built;
	u32 kept;
	u32 refused; /* 1 + the instance whose construct() failed */
	u64 pause_ns;
};

struct weir_config {
	u64 arena_bytes;
	u64 seed;
	u32 nr_cpus;
	u32 nr_classes;
	u32 unused[2];
	/*
	 * how long a call waits for other CPUs, in polls of a word; 0: without limit (the BPF
	 * port: 20 us)
	 */
	u64 patience;
	const struct weir_class *classes;
};

/* An instance that replaces another. */
struct weir_replacement {
	u32 instance;
	u32 class;
	const u64 weir_mem *params;
};

/* @mem is the zeroed arena; the classes are copied. */
int weir_init(struct weir_sched weir_mem *mem, const struct weir_config *config);
/* Allocate zeroed memory of the arena for the caller's tables; returns its address, 0 if the arena is full. */
u64 weir_alloc_at(struct weir_sched weir_mem *s, u64 bytes);
int weir_free(struct weir_sched weir_mem *s, void weir_mem *p, u64 bytes);

WEIR_INLINE void weir_mem *weir_alloc(struct weir_sched weir_mem *s, u64 bytes)
{
	return (void weir_mem *)weir_alloc_at(s, bytes);
}

struct weir_task weir_mem *weir_task_new(struct weir_sched weir_mem *s, u32 cpu, u64 cookie);
struct weir_task weir_mem *weir_task_get(struct weir_sched weir_mem *s, u32 id);

/* unconsidered -> schedulable; the first time, and after a block. */
int weir_admit(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t);
int weir_unblock(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t);
/*
 * @leaves: until it is called with 0, what @cpu wakes is woken by a thread that is about to block, so that @cpu will be free (Linux: a synchronous
 * wake-up, as of pipes and sockets). A hint for policies, which may leave the woken task there.
 */
int weir_wakes_and_leaves(struct weir_sched weir_mem *s, u32 cpu, u32 leaves);
/* running -> schedulable. */
int weir_relinquish(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t);
/* One of the three: WEIR_WHY_ADMITTED, _WOKE or _REQUEUED. (In the kernel each of them is a copy of its code.) */
int weir_let_in(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t, u32 why);
/* running or schedulable -> unconsidered. */
int weir_block(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t);
/*
 * The same from a CPU that does not own the task: it has picked the task and cannot run it, or has found it waiting. @claim is the task's
 * claim as that CPU has read it, running or schedulable: no later one is ended. If WEIR_DECLINES is 1, the owner may make calls about the
 * task at the same time, and a CPU may pick while the core counts its last task as running: that one stays running, and has no place.
 * -WEIR_ESTATE: the owner came first; -WEIR_EAGAIN: another call is at it. Then nothing was changed.
 */
int weir_decline(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t, u64 claim);
/* Any state -> gone. The record lives until the last change that refers to it is handled. */
int weir_exit(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t);
/* Claim the next task for CPU @target, or null. */
struct weir_task weir_mem *weir_pick(struct weir_sched weir_mem *s, u32 cpu, u32 target);
/*
 * weir_relinquish() (@blocks: weir_block()) and weir_pick() in one call, for @t, which runs on @cpu: @cpu runs *@next now, which may be @t; null: it is
 * idle. The same choice, and under one lock where one home has them all. Errors as of the first of the two; then nothing was done.
 */
int weir_yield(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t, int blocks,
	       struct weir_task weir_mem **next);
/*
 * A directed yield: @from, which runs on @cpu, gives up the CPU and becomes schedulable (null: the CPU is idle). @to,
 * schedulable or unconsidered, runs there next if the policy allows it: @to is in the CPU's exit, and no task there,
 * including @from, is more urgent. Among equals it goes before earlier arrivals. 0: @to is running on @cpu. 1: the policy
 * does not allow it; @to is schedulable, and the CPU picks as usual. Errors as of weir_relinquish() and weir_unblock().
 */
int weir_hand_over(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *from,
		   struct weir_task weir_mem *to);
/*
 * @t, which may wait, is given to CPU @target, which runs nothing, so that it need not choose: as if it had chosen @t. @target makes the call,
 * or, where WEIR_DECLINES is 1, a KICK for @t has just taken it out of the idle set. 1: it runs there, and a choice that @target has begun
 * finds @t; 0: the policy has something else for @target, which is to choose, or to be kicked.
 */
int weir_give(struct weir_sched weir_mem *s, u32 cpu, u32 target, struct weir_task weir_mem *t);
/* Publish a message from the runtime or from user space. */
int weir_notify(struct weir_sched weir_mem *s, u32 cpu, const struct weir_msg *msg);
/* Ask the responder of a topic. */
int weir_ask(struct weir_sched weir_mem *s, u32 cpu, struct weir_msg *msg);
int weir_timer_expired(struct weir_sched weir_mem *s, u32 cpu, u32 instance);
/*
 * Coherence domains: each has a scheduler of its own, in memory of its own. After every call the runtime takes what the call leaves for
 * other domains, carries the bytes there in order, and gives them in before the next call there (docs/decisions/0160).
 */
/* This scheduler is for @domain; before the first graph. */
void weir_remote_init(struct weir_sched weir_mem *s, u32 domain);
/* The next remote message to be carried, or null; a copy is taken before the next call. */
const struct weir_remote_msg weir_mem *weir_remote_next(struct weir_sched weir_mem *s, u32 cpu);
/* It was copied. */
void weir_remote_taken(struct weir_sched weir_mem *s);
/*
 * Give a remote message in, which is not in any scheduler's memory. 0: done. WEIR_ELSEWHERE: its task is not here any more. -WEIR_ENOMEM,
 * -WEIR_EAGAIN: nothing was done, give it in again later, and those behind it only then.
 */
#define WEIR_ELSEWHERE 1
int weir_remote_accept(struct weir_sched weir_mem *s, u32 cpu, const struct weir_remote_msg *p);
/*
 * 1 if, since the last query, a call on @cpu waited too long for another CPU: it failed with -WEIR_EAGAIN, or left
 * work for the next weir_pick() of this CPU. The runtime makes sure that one follows soon.
 */
int weir_gave_up(struct weir_sched weir_mem *s, u32 cpu);

/*
 * Topics beyond the standard ones. Those of instances exist while the instances do. A topic that a runtime registers stays until the
 * runtime removes it. Register: id or error. Remove: 0, or -WEIR_EBUSY while it has users: it goes away with the last of them.
 */
int weir_topic_register(struct weir_sched weir_mem *s,
			const struct weir_class_topic weir_mem *topic);
/* The topic's place in the table; -WEIR_ENOENT, or -WEIR_EPROTO if there is another version. */
int weir_topic_find(struct weir_sched weir_mem *s, u64 uuid, u32 version);
int weir_topic_check(struct weir_sched weir_mem *s, u32 topic, u64 uuid, u32 version);
int weir_topic_hold(struct weir_sched weir_mem *s, u32 topic);
int weir_topic_release(struct weir_sched weir_mem *s, u32 topic);
int weir_topic_remove(struct weir_sched weir_mem *s, u32 topic);
/*
 * Publish a program's message: -WEIR_EPERM if the topic accepts none from programs. (weir-core's outside.rs says which standard
 * topics accept which messages; here they all pass.)
 */
int weir_topic_for_users(struct weir_sched weir_mem *s, u32 topic);
/* Size of the data at @msg->data, bytes. */
u64 weir_payload_bytes(const struct weir_sched weir_mem *s, u32 topic);

/*
 * Replace the graph (or build the first one). New state is built beside the old; new calls are held off
 * and running ones awaited; every schedulable task is presented to the new graph as added, in its order
 * in the old entry pipes. On error the old graph stays untouched.
 */
int weir_swap(struct weir_sched weir_mem *s, u32 cpu, const struct weir_plan weir_mem *plan,
	      struct weir_swap_stats *stats);
/* Replace one instance; the tasks of its in-pipes are presented to the new one. */
int weir_swap_instance(struct weir_sched weir_mem *s, u32 cpu, const struct weir_replacement *with,
		       struct weir_swap_stats *stats);

/*
 * The same in two halves, for runtimes that limit the depth of calls: they call the function that records a change and the one that
 * processes it in sequence, not nested. If the first half returns 0, the second must follow, on the same CPU and with no other call
 * in between.
 */
int weir_notify_begin(struct weir_sched weir_mem *s, u32 cpu, const struct weir_msg *msg);
void weir_notify_end(struct weir_sched weir_mem *s);
int weir_swap_begin(struct weir_sched weir_mem *s, u32 cpu, const struct weir_plan weir_mem *plan,
		    struct weir_swap_stats *stats);
int weir_swap_instance_begin(struct weir_sched weir_mem *s, u32 cpu,
			     const struct weir_replacement *with, struct weir_swap_stats *stats);
/* Of either; @plan is null after the second. @stats are complete after this. */
int weir_swap_end(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan,
		  struct weir_swap_stats *stats);

/* 0, or the line in core/src/check.c of a broken invariant. No call may be under way. */
int weir_check(struct weir_sched weir_mem *s);

#include <weir/ask.h>

#endif
