/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Broker: topics, messages, requests. Source: 0, 5.4, 7.1.1, 7.3.3; docs/decisions/0004.
 *
 * A message of a topic reaches every subscriber once. The responder of the topic is served first,
 * so that an instance that asks it meanwhile gets the new value; the order of the others is unspecified.
 * A message published from within a step is delivered when no lock is held. A request is
 * answered at once; a responder therefore never takes a pipe's lock.
 */
#ifndef WEIR_BROKER_H
#define WEIR_BROKER_H

#include <weir/counters.h>
#include <weir/task.h>

/* Topics every runtime has. The number is the index in the topic table; shared with Rust. */
enum weir_topic_id {
	WEIR_TOPIC_CPU_STATUS, /* cpu, value: 1 online, 0 offline */
	WEIR_TOPIC_ADMIT,      /* task, cpu */
	WEIR_TOPIC_DISPATCH,   /* task, cpu */
	WEIR_TOPIC_RELINQUISH, /* task, cpu */
	WEIR_TOPIC_BLOCK,      /* task, cpu */
	WEIR_TOPIC_UNBLOCK,    /* task, cpu */
	WEIR_TOPIC_EXIT,       /* task, cpu */
	WEIR_TOPIC_TICK,       /* cpu */
	WEIR_TOPIC_PRIORITY,   /* task, value: signed, greater is more urgent */
	WEIR_TOPIC_AFFINITY,   /* task, mask; null: everywhere */
	WEIR_TOPIC_DEADLINE,   /* task, value: absolute, ns; value2: period, ns */
	WEIR_TOPIC_ISA,	       /* task, value: instruction-set index */
	/*
	 * task, cpu, counters: its counts since the previous message, sent when it leaves a CPU or
	 * its CPU chooses again; request: task; reply counters: its recent counts, value: loads of
	 * the last-level cache in 1024 instructions
	 */
	WEIR_TOPIC_COUNTERS,
	WEIR_TOPIC_POWER,	  /* value: 1 battery, 0 mains */
	WEIR_TOPIC_THERMAL,	  /* cpu, value: millidegree Celsius */
	WEIR_TOPIC_FREQUENCY,	  /* cpu, value: Hz */
	WEIR_TOPIC_BURN,	  /* value: iterations; value2: instance index + 1, 0: all */
	WEIR_TOPIC_MARKER,	  /* value: number of the mark */
	WEIR_TOPIC_PREEMPT,	  /* cpu: it must give up its task and choose again */
	WEIR_TOPIC_KICK,	  /* cpu: it is idle, and a task waits for it */
	WEIR_TOPIC_OVERLOAD,	  /* cpu, value: waiting tasks; value2: instance */
	WEIR_TOPIC_UNDERLOAD,	  /* cpu, value: waiting tasks; value2: instance */
	WEIR_TOPIC_DEADLINE_MISS, /* task */
	/*
	 * request: task; reply value: ns, 0 the runtime's default. Message: task, which runs, cpu, value: ns until its
	 * turn is over; for runtimes that act on it
	 */
	WEIR_TOPIC_SLICE,
	WEIR_TOPIC_LAMPORT, /* request: task; reply value: creation stamp */
	/* task, value: the runtime's pointer, value2: bytes for a deep copy */
	WEIR_TOPIC_TCB,
	/* request: value: what (enum weir_status_query), value2: object */
	WEIR_TOPIC_STATUS,
	WEIR_TOPIC_FAULT, /* value: error number; a component failed and was rebuilt */
	/* task, which is withheld; value: until when, ns, 0: no path to an exit; value2: instance */
	WEIR_TOPIC_WITHHELD,
	WEIR_TOPIC_RECONFIGURE, /* value: tasks re-presented; value2: pause, ns */
	/*
	 * task, value: WCET at capacity 1024, ns; value2: relative deadline, ns; sent at each
	 * release, before DEADLINE
	 */
	WEIR_TOPIC_JOB,
	/*
	 * request: task; reply value: execution time of its job, at capacity 1024, ns;
	 * value2: its total execution time
	 */
	WEIR_TOPIC_EXECUTED,
	WEIR_TOPIC_POLICY, /* task, value: scheduling policy (enum weir_policy) */
	/*
	 * task, value: enum weir_criticality; value2: WCET of a job by the assumptions of the high
	 * level, at capacity 1024, ns
	 */
	WEIR_TOPIC_CRITICALITY,
	/*
	 * request: task; reply value: 1 it may run, 0 its budget is exhausted; value2: when to
	 * ask again, ns
	 */
	WEIR_TOPIC_BUDGET,
	WEIR_TOPIC_WEIGHT, /* task, value: load weight as in Linux, 1024 at nice 0 */
	/*
	 * task, value: number of its group, 0 the root; without a task, value2: the group's weight,
	 * and its parent from bit 32 on
	 */
	WEIR_TOPIC_GROUP,
	/*
	 * request: task; reply value: stretch of its virtual runtime, signed, 1/1024;
	 * value2: reduction of its slice, signed, 1/1024. Without a task and with the value
	 * WEIR_PENALTY_BRANCHES, reply value: 1 if mispredicted branches count
	 */
	WEIR_TOPIC_PENALTY,
	/*
	 * request: task; reply value: address of its record (weir/kit/fair.h); value2: of the
	 * queues' marks
	 */
	WEIR_TOPIC_FAIR,
	/* task, value: length of the slice that it requests, ns; 0: the default */
	WEIR_TOPIC_LATENCY,
	/*
	 * value: number of a group, and its period in us from bit 32 on; value2: its quota per
	 * period, ns, 0: unlimited
	 */
	WEIR_TOPIC_LIMIT,
	/* task, value: number of its gang, from 1, 0: none; value2: enum weir_gang_outside */
	WEIR_TOPIC_GANG,
	/*
	 * cpu (none: all), value: number of a gang, and from bit 32 on enum weir_gang_field;
	 * value2: the field's value
	 */
	WEIR_TOPIC_GANG_SLOT,
	/*
	 * task, or without one, value2: number of a group; value: least utilisation, and from bit
	 * 32 on 1024 less the most (weir/kit/uclamp.h); request: task; reply value: what its groups
	 * leave of it
	 */
	WEIR_TOPIC_UCLAMP,
	WEIR_TOPIC_MEMORY, /* task, value: 1 + the NUMA node of its memory, 0: unknown */
	WEIR_NR_STD_TOPICS,
};

/* What a member does between its gang's slots. */
enum weir_gang_outside {
	WEIR_GANG_RUN = 0, /* competes as best effort */
	WEIR_GANG_WAIT = 1,
};

/* When a gang's slots are on a CPU, ns: at all times that are `offset` modulo `period`, for `length`. */
enum weir_gang_field {
	WEIR_GANG_OFFSET = 0,
	WEIR_GANG_PERIOD = 1,
	WEIR_GANG_LENGTH = 2, /* 0: no slots */
	/* sent last: from this absolute time on, these slots replace the gang's previous ones */
	WEIR_GANG_FROM = 3,
	/* 1: in these slots only members run on the CPU; void with FROM */
	WEIR_GANG_ALONE = 4,
};

/* Values of POLICY, numbered as in Linux. */
enum weir_policy {
	WEIR_POLICY_OTHER = 0,
	WEIR_POLICY_FIFO = 1,
	WEIR_POLICY_RR = 2,
	WEIR_POLICY_BATCH = 3,
	WEIR_POLICY_IDLE = 5,
	WEIR_POLICY_DEADLINE = 6,
};

/* Values of CRITICALITY. */
enum weir_criticality {
	WEIR_CRITICALITY_NONE = 0,
	WEIR_CRITICALITY_LO = 1,
	WEIR_CRITICALITY_HI = 2,
};

#define WEIR_MAX_TOPICS 64
/* Of a request for PENALTY without a task: no debug counter, but the policy's rule. */
#define WEIR_PENALTY_BRANCHES 0x100u
#define WEIR_TOPIC_BIT(name)  (1ull << WEIR_TOPIC_##name)

/*
 * Topics whose messages have a scope: the CPU where their task runs or last ran, else the message's CPU. They reach the
 * subscribers whose out-pipes lead to that CPU, and subscribers without an out-pipe or with `hears_all`. A message about
 * a task that has not run yet has no scope and reaches only the latter. docs/decisions/0037.
 */
#define WEIR_SCOPED_VALUES \
	(WEIR_TOPIC_BIT(PRIORITY) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(JOB))
#define WEIR_SCOPED_TOPICS                                                               \
	(WEIR_TOPIC_BIT(DISPATCH) | WEIR_TOPIC_BIT(RELINQUISH) | WEIR_TOPIC_BIT(BLOCK) | \
	 WEIR_TOPIC_BIT(EXIT) | WEIR_TOPIC_BIT(TICK) | WEIR_SCOPED_VALUES)

/*
 * Topics that the core does not know are a component's own: the component declares them (WEIR_TOPICS, component.h) and
 * numbers them itself, from WEIR_OWN(0) on. When an instance is built, each gets a place in the topic table, by its UUID;
 * weir_topic() returns it. Numbers of own topics and places in the table never coincide.
 */
#define WEIR_MAX_OWN   4u
#define WEIR_OWN_FIRST (WEIR_MAX_TOPICS - WEIR_MAX_OWN)
#define WEIR_OWN(n)    (WEIR_OWN_FIRST + (n))

/* Maximum payload of an own topic's message, 64-bit words. */
#define WEIR_PAYLOAD_WORDS 8u

/* Which callers may publish an own topic. */
enum weir_from {
	WEIR_FROM_COMPONENTS = 1 << 0,
	WEIR_FROM_USER = 1 << 1, /* programs: the control socket, a workload, a scenario */
};

struct weir_instance;
struct weir_sched;

/* One message, request or reply; the topic defines the meaning of the fields. */
struct weir_msg {
	u32 topic;
	u32 cpu; /* WEIR_NO_CPU: none */
	struct weir_task weir_mem *task;
	u64 value;
	u64 value2;
	union {
		const struct weir_cpumask weir_mem *mask;
		const struct weir_counters weir_mem *counters; /* COUNTERS: valid during the call */
		/*
		 * own topics: the payload, typed by the owner; valid during the call. In a message:
		 * a copy. In a reply: the responder's memory
		 */
		const void weir_mem *data;
	};
};

#define WEIR_TOPIC_NAME 24

/* A topic's properties. */
struct weir_topic {
	u64 uuid;    /* (b) 0: unused entry */
	u32 version; /* (b) */
	u32 users;   /* (a) instances that use it, and weir_topic_hold() calls */
	u32 bytes;   /* (b) size of its payload, a multiple of 8 */
	u32 from;    /* (b) enum weir_from */
	u32 kept;    /* (b) it stays without users: registered and not removed */
	u32 unused;
	char name[WEIR_TOPIC_NAME]; /* (b) */
};

/* For components. weir_publish never fails: a message for which there is no memory is counted as a fault. */
void weir_publish(struct weir_instance weir_mem *self, u32 topic, struct weir_task weir_mem *t,
		  u32 cpu, u64 value);
/* The same with the payload of an own topic, which is copied: the topic's number of bytes. */
void weir_publish_data(struct weir_instance weir_mem *self, u32 topic, struct weir_task weir_mem *t,
		       u32 cpu, const void weir_mem *data);
/* 0 and the reply in @msg, or -WEIR_ENOENT without a responder. */
int weir_request(struct weir_sched weir_mem *s, struct weir_msg *msg);

#endif
