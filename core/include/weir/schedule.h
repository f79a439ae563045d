/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * All that a runtime calls.
 *
 * @cpu is the CPU that makes the call; no two calls with the same @cpu may overlap. Calls about one
 * task are serialised by the runtime, but weir_pick() may claim a schedulable task at any time, and
 * another CPU may block or destroy that task before the one that picked it looks at the answer. Two
 * picks for one @target do not overlap either, nor does a pick with the calls that take its task away.
 */
#ifndef WEIR_SCHEDULE_H
#define WEIR_SCHEDULE_H

#include <weir/topology.h>

#ifndef WEIR_SWAPS /* 0: the graph that is built first stays; for measuring what swaps cost (experiments/swap-pause) */
#define WEIR_SWAPS 1
#endif
#ifndef WEIR_OPLOG /* 0: the operations of a call are never recorded (schedule.h's `oplog`): no runtime there asks for them */
#define WEIR_OPLOG 1
#endif
#ifndef WEIR_SOLO /* 0: calls always overlap, whatever `exclusive` says */
#define WEIR_SOLO 1
#endif
#ifndef WEIR_DECLINES /* 1: the runtime calls weir_decline(), which may overlap with other calls about the task */
#define WEIR_DECLINES 0
#endif
#ifndef WEIR_DOMAINS /* 0: all CPUs share memory */
#define WEIR_DOMAINS 1
#endif

/* Micro-operations, recorded for cost models and traces. Shared with Rust. */
enum weir_op_kind {
	WEIR_OP_LOCK,
	WEIR_OP_UNLOCK,
	WEIR_OP_ADD,
	WEIR_OP_REMOVE,
	WEIR_OP_MOVE,
	WEIR_OP_UPDATE,
	WEIR_OP_UPDATE_END,
	WEIR_OP_REQUEST,
	WEIR_OP_NOTIFY,
	WEIR_OP_SCAN,
	WEIR_OP_BURN,
	WEIR_OP_REMOTE,
	WEIR_OP_PUT,  /* LOCK, ADD and UNLOCK of one pipe, with nothing between */
	WEIR_OP_TAKE, /* likewise with REMOVE */
};

struct weir_op {
	u32 kind;
	u32 object;
	u32 n;
};

/* What the calls since @nr was set to 0 have done, where calls do not overlap; in the runtime's memory. Shared with Rust. */
struct weir_oplog {
	u32 nr;
	u32 cap; /* what comes after that many is not recorded */
	struct weir_op *ops;
};

struct weir_cpu {
	struct weir_task weir_mem *curr; /* (a) task it runs */
	u64 curr_key; /* (a) urgency of it, or of what it is to choose; none while it chooses */
	u32 online;   /* (a) */
	u32 core;     /* (b) */
	u32 llc;      /* (b) */
	u32 node;     /* (b) */
	u32 isa;      /* (b) */
	u32 capacity; /* (b) */
	/*
	 * (a) calls of this CPU that gave up waiting for another one; written by these calls alone
	 */
	u64 nr_gave_up;
	/* (a) likewise: tasks that they left in the inbox of a pipe whose lock was taken */
	u64 nr_inboxed;
	u64 unused; /* a line of its own */
};

/* A message that waits for its delivery. */
struct weir_queued {
	struct weir_msg msg;
	u64 payload[WEIR_PAYLOAD_WORDS]; /* of an own topic that has one */
};

/* Per calling CPU. (o) all fields but @readers and @missed. */
struct weir_ctx {
	u32 readers; /* (a) calls under way on this CPU */
	u32 cpu;
	struct weir_pipe weir_mem *work_head;
	struct weir_pipe weir_mem *work_tail;
	struct weir_queued weir_mem *msgs; /* messages to deliver when no lock is held */
	u32 nr_msgs;
	u32 cap_msgs;
	u32 nr_held; /* strict: locks held, by rank */
	u32 draining;
	u32 gave_up; /* a call waited too long for another CPU, and left something undone */
	u32 tired;   /* so did the present weir_drain() */
	/* an update returned an error in the present weir_drain(), and was tried again */
	u32 failed;
	u32 missed;   /* (a) 1: looked for work for this CPU, and a swap or a lock held that off */
	u64 waited;   /* for other CPUs, by the present call; the port's unit */
	u32 next_msg; /* the first of `msgs` that is not delivered yet */
	s32 entered;  /* 0, or why `add` could not enter `given` */
	u32 domain; /* the domain it acts for: its own, or that of the instance whose update it runs */
	u32 back;	 /* the domain it acts for after that update */
	u32 from_remote; /* the message that it delivers came from another domain */
	/* the pipe that weir_drain() was called for, until it has been seen to */
	struct weir_pipe weir_mem *given;
	struct weir_task weir_mem *add;	 /* what enters it */
	struct weir_msg msg;		 /* the message that is being delivered */
	u64 payload[WEIR_PAYLOAD_WORDS]; /* its payload */
	/* 0: none; 1: not begun; 2: those that hear all; 3: those in its scope */
	u32 delivery;
	u32 followers; /* hooks of its task that were looked at */
	u32 sub_at;    /* the next of the part of `sub_list` that is under way */
	u32 sub_end;
	struct weir_instance weir_mem *recipient; /* the instance whose turn it is */
	/* the pipe, locked, for which it is, if it follows the task */
	struct weir_pipe weir_mem *held_for;
	u32 pick_stage; /* how far weir_pick() has come */
	u32 helped;	/* pipes of other CPUs' worklists that this weir_pick() has taken up */
	u32 pick_at;	/* likewise, in a list of pipes or instances */
	struct weir_pipe weir_mem *pick_pipe; /* what it wants to be drained; null: what there is */
	struct weir_instance weir_mem *puller; /* the instance that is to fetch work for it */
	struct weir_task weir_mem *picked;
	/* the carried pipe whose receiver has a task before it; null: none */
	struct weir_pipe weir_mem *carrying;
	struct weir_pipe weir_mem *put; /* where it put the task */
	/* the list that a step has put it into, where it is to be linked yet (step.h) */
	struct weir_pipe weir_mem *lands;
	/* whose list has all members for now (weir_member()) */
	struct weir_pipe weir_mem *chained;
	struct weir_change arrival; /* the task */
	u32 seen;		    /* `changes` when it came */
	u32 unused;
	u32 visit;    /* members that were looked at have this number (weir_for_member()) */
	u32 visit_at; /* the pipe whose members are looked at */
	/* the last of them, which stands elsewhere: a reference is held */
	struct weir_task weir_mem *visited;
	u32 held[WEIR_MAX_DEPTH];
} __attribute__((aligned(64)));

#define WEIR_NR_SIZES 320 /* 8 per power of two */

struct weir_sched {
	u64 arena_bytes; /* (c) the struct stands at the arena's start */
	u64 used;	 /* (a) bytes handed out so far, free ones included */
	u64 freed;	 /* (a) bytes in free lists */
	u32 alloc_lock;
	u32 task_lock;
	u32 writer; /* (a) a reconfiguration runs or waits */
	u32 nr_cpus;
	u32 mask_words;
	u32 nr_classes;
	u32 nr_chunks; /* (t) */
	u32 free_task; /* (a) the record given back last; (t) to take one */
	u32 nr_tasks;  /* (a) */
	u32 oplog;     /* (c) operations are recorded in `log` */
	u32 exclusive; /* (c) calls never overlap */
	u32 swapping;  /* (a) a swap builds, changes over or cleans up */
	/*
	 * (c) how long a call waits for other CPUs, in looks; 0: for ever (unless the port is
	 * impatient)
	 */
	u64 patience;
	u64 random;	   /* (a) */
	u64 rt_topics;	   /* (c) topics whose messages the runtime wants */
	u64 cookie;	   /* (c) the runtime's own */
	u64 faults;	   /* (a) components that failed and were rebuilt */
	u64 lost_messages; /* (a) */
	struct weir_class weir_mem *classes;
	struct weir_cpu weir_mem *cpus;
	struct weir_ctx weir_mem *ctx;
	struct weir_graph weir_mem *graph;	     /* (b) */
	struct weir_task weir_mem *weir_mem *chunks; /* (t) */
	struct weir_cpumask weir_mem *idle;	     /* (a) waiting for a KICK */
	struct weir_cpumask weir_mem *busy; /* (a) running a task, or choosing the next one */
	/* (a) addresses of the blocks given back last; (l) to take one */
	u64 free_list[WEIR_NR_SIZES];
	struct weir_topic topics[WEIR_MAX_TOPICS];
	/* (c) remote messages, a queue for each coherence domain; null: all CPUs share memory */
	struct weir_remote_queue weir_mem *remote;
	u32 nr_domains; /* (c) */
	u32 spent_slots;
	struct weir_graph weir_mem *spent; /* what the swap under way is to free, with its hooks */
	struct weir_hook weir_mem *weir_mem *spent_hooks;
	/*
	 * (o) tasks that entered, where calls do not overlap: their order in pipes that do not link
	 * them
	 */
	u64 arrivals;
	/* (a) CPUs that came or went: a step that was taken meanwhile is taken again */
	u32 changes;
	u32 visits; /* (a) walks through the members of a pipe that does not link them */
	u32 logged; /* (c) no task is carried, from the next graph on (a test asks for it) */
	u32 unused;
	struct weir_oplog *log; /* (c) null: nobody wants it */
};

/* What belongs to the calling CPU. */
struct weir_ctx weir_mem *weir_ctx(const struct weir_sched weir_mem *s);

/* Whether some CPUs share no memory. */
WEIR_INLINE int weir_distributed(const struct weir_sched weir_mem *s)
{
	return WEIR_DOMAINS && s->nr_domains > 1;
}

/* Subscriptions in the order of domains and topics. */
WEIR_INLINE struct weir_subs weir_mem *weir_subs_nth(struct weir_graph weir_mem *g, u32 n)
{
	return WEIR_DOMAINS && n >= WEIR_MAX_TOPICS ? &g->remote_subs[n - WEIR_MAX_TOPICS]
						    : &g->subs[n];
}

/* Subscribers and responder of @topic in the domain that the calling CPU acts for. */
WEIR_INLINE struct weir_subs weir_mem *weir_subs(struct weir_sched weir_mem *s, u32 topic)
{
	if (weir_distributed(s))
		return weir_subs_nth(s->graph, weir_ctx(s)->domain * WEIR_MAX_TOPICS + topic);
	return &s->graph->subs[topic];
}

struct weir_swap_stats {
	u32 represented;
	u32 built;
	u32 kept;
	u32 unused;
	u64 pause_ns;
};

struct weir_config {
	u64 arena_bytes;
	u64 seed;
	u32 nr_cpus;
	u32 nr_classes;
	u32 exclusive; /* calls never overlap: pipe locks are recorded but not taken */
	u32 unused;
	/*
	 * how long a call waits for other CPUs, in looks at a word; 0: for ever (the BPF port: 20
	 * us)
	 */
	u64 patience;
	const struct weir_class *classes;
};

/* One instance to be put in the place of another. */
struct weir_replacement {
	u32 instance;
	u32 class;
	const u64 weir_mem *params;
};

/* @mem is the zeroed arena; the classes are copied. */
int weir_init(struct weir_sched weir_mem *mem, const struct weir_config *config);
/* Memory of the arena for the caller's tables: its address, zeroed; 0 when the arena is full. */
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
/* running -> schedulable. */
int weir_relinquish(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t);
/* running or schedulable -> unconsidered. */
int weir_block(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t);
/*
 * The same in the name of a CPU that does not own the task: it has picked it and cannot run it (@from is running), or has found it waiting
 * (schedulable). Whose task it is may make calls about it at the same time, where WEIR_DECLINES is 1. -WEIR_ESTATE: they came first,
 * and nothing was changed.
 */
int weir_decline(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t, u32 from);
/* Any state -> gone. The record lives until the last change that names it is handled. */
int weir_exit(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t);
/* Claim the next task for CPU @target, or null. */
struct weir_task weir_mem *weir_pick(struct weir_sched weir_mem *s, u32 cpu, u32 target);
/*
 * A directed hand-over: @from, which runs on @cpu, gives it up and becomes schedulable (null: the CPU has nothing), and @to,
 * schedulable or unconsidered, runs there next if the policy allows it: it stands at the CPU's exit, and nothing there is
 * more urgent, be it @from. Among equals it goes before those that came earlier. 0: @to is running on @cpu. 1: the policy
 * does not allow it; @to is schedulable, and the CPU picks as usual. Below 0, as of weir_relinquish() and weir_unblock().
 */
int weir_hand_over(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *from,
		   struct weir_task weir_mem *to);
/* Publish a message from the runtime or from user space. */
int weir_notify(struct weir_sched weir_mem *s, u32 cpu, const struct weir_msg *msg);
/* Ask the responder of a topic. */
int weir_ask(struct weir_sched weir_mem *s, u32 cpu, struct weir_msg *msg);
int weir_timer_expired(struct weir_sched weir_mem *s, u32 cpu, u32 instance);
/* Deliver the remote messages of the CPU's coherence domain; every other call of the CPU does so too. */
int weir_remote_poll(struct weir_sched weir_mem *s, u32 cpu);
/* Remote messages sent to a coherence domain so far: if the number has grown, the runtime interrupts one of its CPUs. */
u64 weir_remote_sent(struct weir_sched weir_mem *s, u32 domain);
/*
 * 1 if a call on @cpu waited too long for another CPU since the last question: it failed with -WEIR_EAGAIN, or left
 * something undone that the next weir_pick() of this CPU does. The runtime sees to it that there is one soon.
 */
int weir_gave_up(struct weir_sched weir_mem *s, u32 cpu);

/*
 * Topics beyond the standard ones. Instances bring their own and take them along when they go. A runtime that registers one has
 * it until it removes it. Register: id or error. Remove: 0, or -WEIR_EBUSY while it has users: it goes with the last of them.
 */
int weir_topic_register(struct weir_sched weir_mem *s,
			const struct weir_class_topic weir_mem *topic);
/* The place of the topic in the table; -WEIR_ENOENT, or -WEIR_EPROTO if another version is there. */
int weir_topic_find(struct weir_sched weir_mem *s, u64 uuid, u32 version);
int weir_topic_check(struct weir_sched weir_mem *s, u32 topic, u64 uuid, u32 version);
int weir_topic_hold(struct weir_sched weir_mem *s, u32 topic);
int weir_topic_release(struct weir_sched weir_mem *s, u32 topic);
int weir_topic_remove(struct weir_sched weir_mem *s, u32 topic);
/*
 * What a program wishes to publish: -WEIR_EPERM if the topic takes nothing from programs. (Which standard topics do, and what of
 * them, weir-core's outside.rs says; they pass here.)
 */
int weir_topic_for_users(struct weir_sched weir_mem *s, u32 topic);
/* What @msg->data points to, bytes. */
u64 weir_payload_bytes(const struct weir_sched weir_mem *s, u32 topic);

/*
 * Replace the graph (or build the first one). New state is built beside the old; callers are held off
 * and waited for; every schedulable task is presented to the new graph as added, in the order in which
 * the old entry pipes held it. On error the old graph stays untouched.
 */
int weir_swap(struct weir_sched weir_mem *s, u32 cpu, const struct weir_plan weir_mem *plan,
	      struct weir_swap_stats *stats);
/* Replace one instance; the tasks of its in-pipes are presented to the new one. */
int weir_swap_instance(struct weir_sched weir_mem *s, u32 cpu, const struct weir_replacement *with,
		       struct weir_swap_stats *stats);

/*
 * The same in two halves. A chain of calls is short in some runtimes: what notes a change is called there beside what comes of it,
 * not above. Where the first half returns 0, the second has to follow, on the same CPU and with no other call in between.
 */
int weir_notify_begin(struct weir_sched weir_mem *s, u32 cpu, const struct weir_msg *msg);
void weir_notify_end(struct weir_sched weir_mem *s);
int weir_swap_begin(struct weir_sched weir_mem *s, u32 cpu, const struct weir_plan weir_mem *plan,
		    struct weir_swap_stats *stats);
int weir_swap_instance_begin(struct weir_sched weir_mem *s, u32 cpu,
			     const struct weir_replacement *with, struct weir_swap_stats *stats);
void weir_swap_end(struct weir_sched weir_mem *s);

/* 0, or the line of core/src/check.c whose invariant is broken. No call may be under way. */
int weir_check(struct weir_sched weir_mem *s);

#endif
