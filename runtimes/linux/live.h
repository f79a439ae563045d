/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What the loader and the kernel side share beside the arena: one record of global data, mapped into the
 * loader, and the records of the event ring. The loader reads at any time; it writes only where stated.
 */
#ifndef WEIR_LIVE_H
#define WEIR_LIVE_H

#include <weir/schedule.h>

#define WEIR_LIVE_COMM 16u

/* Counters of one CPU; only that CPU writes them. (a) all */
struct weir_live_cpu {
	u64 enqueues;	/* tasks that entered the graph */
	u64 dispatches; /* tasks that left it for a CPU */
	u64 dequeues;	/* tasks that left it because the kernel took them */
	/* tasks that must not wait: per-CPU kernel threads, and those that the kernel pinned */
	u64 direct;
	u64 given; /* of the dispatches, those that an enqueue made for a CPU that waited for work */
	u64 aside;   /* tasks without a path to an exit: run outside the graph */
	u64 empty;   /* picks that found nothing */
	u64 dropped; /* picks whose task ended or changed before it got here */
	u64 kept;    /* the task that ran was picked again */
	u64 kicks;
	u64 preempts;
	u64 runs;	 /* context switches to a task */
	u64 migrations;	 /* of these, to a task that last ran on another CPU */
	u64 messages;	 /* messages that reached the runtime */
	u64 failures;	 /* calls of the core that failed */
	u64 busy_ns;	 /* run time of tasks of this class, up to the last switch */
	u64 lost_events; /* the ring was full */
	u64 requests;	 /* of the loader, carried out here */
	u64 curr_pid;	 /* task of this class that runs; 0: none */
	/* calls of the core that waited too long for another CPU: repeated, or without effect */
	u64 gave_up;
	u64 away_ns;	   /* a higher class has had the CPU since then; 0: it does not have it */
	u64 reported_away; /* (a) 1: the graph counts the CPU as offline because of that */
	u64 stints;	   /* stints of tasks whose hardware counters were reported */
	u64 instructions;  /* in these */
	u64 timers;	   /* timers of components that expired here */
	/*
	 * tasks that ran outside the graph because a call of the core gave up waiting for another
	 * CPU
	 */
	u64 aside_given_up;
	/*
	 * times that the loader found a task that this CPU should have been running, and kicked the CPU
	 */
	u64 rescues;
	/*
	 * times that it found such a task though this CPU had been kicked, or was about to be: this CPU, or the CPU that
	 * was to kick it, had no time
	 */
	u64 overdue;
	/* the last call of the core that failed here: its kind, the error << 8, the task's state before << 16 */
	u64 failed;
	/* where the log of counts is kept: readings of all counters here, and the time that they took */
	u64 readings;
	u64 count_ns;
	u64 unused[2];
};

enum weir_live_call {
	WEIR_CALL_ADMIT,
	WEIR_CALL_UNBLOCK,
	WEIR_CALL_RELINQUISH,
	WEIR_CALL_BLOCK,
	WEIR_CALL_EXIT,
	WEIR_CALL_PICK,
	WEIR_CALL_NOTIFY,
	/* These are counted, and are not among the events. */
	WEIR_CALL_SWAP,
	WEIR_CALL_TIMER,
	WEIR_CALL_NEW, /* a task gets its record */
	WEIR_NR_CALLS,
};

/* A call of the core that takes longer than this is a long call. */
#define WEIR_LONG_CALL_NS 1000000ull

/* Calls of the core by one CPU, of one kind. Written by that CPU. (a) all */
struct weir_live_calls {
	u64 nr;
	u64 nr_timed; /* of these, timed: see call_begins(); the rest is about them */
	u64 nr_long;  /* of more than WEIR_LONG_CALL_NS */
	u64 total_ns;
	u64 longest_ns; /* since the loader last read it: the loader resets it to 0 */
};

/* Waits from becoming runnable to running, by their cause. */
enum weir_live_wait {
	WEIR_WAIT_WOKEN,    /* the task was woken, or is new */
	WEIR_WAIT_RETURNED, /* its slice ended, or it was preempted */
	WEIR_WAIT_ASIDE,    /* either of these, but it ran outside the graph */
	WEIR_NR_WAITS,
};

/*
 * Buckets of a distribution of times: eight of 1024 ns each, from then on eight per power of two. The last one has all longer
 * times.
 */
#define WEIR_WAIT_UNIT_BITS 10u
#define WEIR_WAIT_BUCKETS   208u

/* Waits that ended on one CPU. Written by that CPU. (a) all */
struct weir_live_waits {
	u64 total_ns;
	u64 longest_ns; /* since the loader last read it: the loader resets it to 0 */
	u64 nr[WEIR_WAIT_BUCKETS];
};

/* Measurements of one CPU; a table in the arena. */
struct weir_live_gauge {
	u64 began_ns; /* (o) the present call of the core; 0: it is not timed */
	struct weir_live_calls calls[WEIR_NR_CALLS];
	struct weir_live_waits waits[WEIR_NR_WAITS];
};

/* Data about a task, by task number. Written by the CPU that has the task. (a) all */
struct weir_live_task {
	u32 pid; /* 0: no such task */
	u32 tgid;
	u64 since_ns;	/* in the graph since then; 0: not in it */
	u64 run_ns;	/* on a CPU so far */
	u64 wait_ns;	/* in the graph so far */
	u64 started_ns; /* on its CPU since then; 0: on none */
	u32 cpu;	/* where it last ran, WEIR_NO_CPU: never */
	u32 nr_runs;
	u32 nr_migrations;
	u32 withheld;  /* 1: a component had no path for it */
	u32 next_gone; /* the kernel side's */
	u32 next_late; /* likewise */
	u64 until_ns;  /* a component holds it back until then, 0: none ever has */
	/* runnable since then, in the graph or beside it; 0: it runs, or is not runnable */
	u64 ready_ns;
	u32 ready_as; /* enum weir_live_wait */
	u32 unused;
	char comm[WEIR_LIVE_COMM];
};

enum weir_live_request_state {
	WEIR_LIVE_FREE = 0,
	WEIR_LIVE_POSTED = 1, /* by the loader */
	WEIR_LIVE_UNDER_WAY = 2,
	WEIR_LIVE_DONE = 3, /* the loader reads the result and frees it */
};

enum weir_live_request_kind {
	WEIR_LIVE_SWAP = 1,    /* @plan */
	WEIR_LIVE_REPLACE = 2, /* @instance, @class, @plan: its parameters */
	/*
	 * @topic, @cpu, @task, @value, @value2; a component's own topic: @uuid, @version, @plan:
	 * its payload
	 */
	WEIR_LIVE_NOTIFY = 3,
	/* @cpu: if a higher class still has it, it counts as offline for the graph */
	WEIR_LIVE_AWAY = 4,
	WEIR_LIVE_RESCUE = 5, /* @cpu: it sleeps though a task waits for it */
	/* as NOTIFY; the reply is in @value, @value2, @bytes, and the bytes at @plan */
	WEIR_LIVE_ASK = 6,
};

/* One request of the loader at a time; carried out by the next dispatch on any CPU. */
struct weir_live_request {
	u32 state; /* (a) enum weir_live_request_state */
	u32 kind;
	u64 plan; /* address in the arena */
	u32 instance;
	u32 class;
	u32 topic;
	u32 cpu;
	u32 task;   /* number, WEIR_NO_TASK: none */
	s32 result; /* 0 or the core's error */
	u64 value;
	u64 value2;
	struct weir_swap_stats stats; /* pause_ns: of all attempts */
	u64 done_ns;
	/* all except the last gave up, because a CPU did not finish its call */
	u32 attempts;
	u32 bytes; /* of a reply's data */
	u64 uuid;  /* of a component's own topic; 0: it is @topic */
	u32 version;
	u32 unused;
};

#define WEIR_LIVE_ATTEMPTS 1000u

/* The counter for hits of this level counts all loads. */
#define WEIR_COUNT_L1_LOADS (1u << 16)
#define WEIR_COUNT_L3_LOADS (1u << 17)

struct weir_live {
	u64 sched;     /* (loader, before attach) address of struct weir_sched in the arena */
	u64 tasks;     /* (loader, before attach) address of struct weir_live_task[max_tasks + 1] */
	u32 max_tasks; /* (loader, before attach) */
	u32 nr_cpus;   /* (loader, before attach) */
	u32 recording; /* (loader) events go to the ring */
	u32 attached;  /* the kernel called init */
	u64 slice_ns;  /* (loader) of tasks for which no component sets one */
	u64 nr_tasks;  /* (a) tasks known at present */
	u64 no_memory; /* (a) tasks that run outside the graph because the arena is full */
	u64 swaps;     /* (a) */
	u64 faults;    /* (a) broken invariants of the core, counted instead of fatal */
	u32 leave;     /* (loader) 1: let no more tasks into the graph */
	/*
	 * (loader, with each topology) 1: AFFINITY has no responder: bound tasks run outside the graph
	 */
	u32 bind;
	s32 exit_kind; /* enum scx_exit_kind of the kernel; 0: runs */
	/*
	 * (loader, before attach) bit n: field n of struct weir_counters is counted; WEIR_COUNT_…
	 */
	u32 counting;
	/* address of struct weir_live_gauge[nr_cpus] in the arena, from `attached` on */
	u64 gauges;
	u64 exit_code;
	char exit_reason[128];
	char exit_msg[1024];
	struct weir_live_request request;
	struct weir_live_cpu cpus[WEIR_MAX_CPUS];
};

/* A word of the record that another CPU or the loader changes. (weir_load() and weir_store() are for arena memory, which this is not.) */
#define weir_live_u32(word) (*(volatile u32 *)&(word))
#define weir_live_u64(word) (*(volatile u64 *)&(word))

/* --- the event ring ---------------------------------------------------------------------------- */

enum weir_live_event_kind {
	/* task is known, or has another priority: pid, comm; value: tgid, bits 32 to 39 static priority, 40 to 47 policy */
	WEIR_EVENT_TASK = 1,
	WEIR_EVENT_EXIT = 2,	/* task */
	WEIR_EVENT_READY = 3,	/* task; value bit 0: woke up, from bit 32: what woke it */
	WEIR_EVENT_RUN = 4,	/* task on cpu */
	WEIR_EVENT_OFF = 5,	/* task on cpu; value: enum weir_live_stop */
	WEIR_EVENT_IDLE = 6,	/* cpu; value 1: has no task to run, 0: has work again */
	WEIR_EVENT_KICK = 7,	/* cpu */
	WEIR_EVENT_MESSAGE = 8, /* topic in pid, task, cpu, value */
	WEIR_EVENT_SWAP = 9,	/* value: pause, ns; pid: tasks re-presented */
	WEIR_EVENT_ONLINE = 10, /* cpu; value 1: online, 0: offline */
	WEIR_EVENT_SCHED = 11,	/* cpu; value: ns in the core; pid: enum weir_live_call */
};

/* What woke a task; other values are numbers of threads. */
enum weir_live_waker { WEIR_WAKER_UNKNOWN = 0, WEIR_WAKER_INTERRUPT = ~0u };

enum weir_live_stop { WEIR_STOP_PREEMPTED, WEIR_STOP_SLICE, WEIR_STOP_YIELD, WEIR_STOP_BLOCK };

struct weir_live_event {
	u64 t_ns; /* CLOCK_MONOTONIC */
	u32 kind;
	u32 cpu;
	u32 task; /* number; reused after its EXIT */
	u32 pid;
	u64 value;
	char comm[WEIR_LIVE_COMM]; /* TASK only */
};

#endif
