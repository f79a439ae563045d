/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Components: stateless code; instances: their state. Source: 0, 2.3; docs/decisions/0005.
 *
 * A component is one file. Its functions have fixed names, which the generated dispatch finds:
 *
 *   int  X_construct(struct X *self)                       validate pipes, set up; may fail (WEIR_REFUSE)
 *   u32  X_step(struct X *self, u32 what, struct weir_task *t, struct weir_step *s)
 *                             one change (enum weir_what) of one task; the answer is the out-port and, in @s, the place, or WEIR_WITHHOLD
 *   int  X_on_<topic>(struct X *self, const struct weir_msg *msg)              a subscription; of WEIR_SCOPED_TOPICS,
 *                             messages about the CPUs to which its out-pipes lead (all, if it has none)
 *   int  X_answer_<topic>(struct X *self, struct weir_msg *msg)                the responder
 *   int  X_on_idle(struct X *self, u32 cpu)     a CPU behind the instance found nothing; 1: look again
 *   int  X_on_timer(struct X *self)             the timer set by weir_timer_set() is due
 *   void X_task_init(struct X *self, struct weir_task *t), X_task_exit   private memory of a task
 *   void X_take_state(struct X *self, struct X *old)       inherit from the instance it replaces
 *   void X_destroy(struct X *self)
 *
 * Steps are taken under one lock: that of the instance's home, if all its ways lead to one exit; else, if the component is `serial`, its
 * own, and if not, none: then it is stateless or changes its state atomically. A step takes no lock but weir_instance_lock(), touches no
 * pipe, and asks for other tasks with weir_review(). All other functions are called without a lock.
 *
 * The state struct begins with `struct weir_instance inst`. Instances keep no pointers to pipes:
 * weir_in() and weir_out() name them, so a graph can be rebuilt around an instance.
 */
#ifndef WEIR_COMPONENT_H
#define WEIR_COMPONENT_H

#include <weir/broker.h>
#include <weir/error.h>
#include <weir/pipe.h>
#include <weir/stack.h>

/* The change that a step hears. */
enum weir_what {
	/* @t comes: answer with a port and a place */
	WEIR_ARRIVED,
	/* @t, which had arrived, got a CPU; the answer does not matter. Only with WEIR_HEARS_PICKED */
	WEIR_PICKED,
	/* @t, which had arrived (and may have been picked), is gone from here; likewise with WEIR_HEARS_LEFT */
	WEIR_LEFT,
	/*
	 * @t waits behind the instance, or is withheld by it: answer once more; if the answer is as before, it keeps its place. Or it
	 * runs (s->runs): say how urgent it is (weir_urgent()); port and key do not matter.
	 */
	WEIR_REVIEW,
};

/* Why. */
enum weir_why {
	/* ARRIVED */
	WEIR_WHY_ADMITTED,
	WEIR_WHY_WOKE,
	WEIR_WHY_REQUEUED, /* gave up its CPU; without LEFT before if it ran in this home and stays there */
	WEIR_WHY_CAME, /* it waited elsewhere */
	/*
	 * ARRIVED: it was here before, too: the instance or the graph is a new one, and it keeps what it had. PICKED: it runs behind a new
	 * instance, and has not arrived there. LEFT: the instance is about to be replaced
	 */
	WEIR_WHY_AGAIN,
	/* LEFT */
	WEIR_WHY_BLOCKED,
	WEIR_WHY_ENDED,
	WEIR_WHY_WENT, /* it goes to another home: stages without one, which sent it there, have it still and do not hear this */
	/* PICKED, REVIEW */
	WEIR_WHY_NONE,
};

/* In and out of a step. The core sets all fields before ARRIVED and REVIEW; what a stage does not set is as the stage before left it. */
struct weir_step {
	u64 key; /* in: of the ordering stage before (WEIR_KEY_NONE: none); out: place in a keyed out-pipe, smaller goes first */
	u64 urgency; /* out, with `urgent`: see weir_urgent() */
	u64 gate;    /* out, gated out-pipes: from which `now` on it is eligible */
	u64 tie;     /* the core's: the key before the last one */
	u32 urgent;
	u32 in;	       /* in: the in-port */
	u32 runs;      /* in: LEFT, REVIEW: the task runs or ran */
	u32 keeps_tie; /* out: among equal keys the order before the key that came in decides (a class of tasks in one piece) */
	u32 why;       /* in: enum weir_why */
	u32 want;      /* in: the port that weir_move() asks for, or WEIR_WITHHOLD */
};

/* The answer of a step that keeps the task: it waits in its in-pipe until it is asked for (weir_review()). */
#define WEIR_WITHHOLD (~0u)

/* In the descriptor: what it hears beside ARRIVED and REVIEW. Instances before a home hear it under that home's lock. */
enum weir_hears { WEIR_HEARS_PICKED = 1, WEIR_HEARS_LEFT = 2 };

enum weir_class_kind {
	WEIR_FILTER,
	WEIR_ORDER,
	WEIR_DISTRIBUTE,
	WEIR_MERGE,
	WEIR_ANNOTATE,
	WEIR_SERVICE,
};

/* How an order component changes the order of its in-pipe (source 0, 5.8.1). */
enum weir_ordering {
	WEIR_KEEPS,  /* out-pipe in the order of the in-pipe */
	WEIR_STABLE, /* sorts by a coarse key, keeps the in-pipe's order among equals */
	WEIR_TOTAL,  /* an order of its own */
};

enum weir_unit { WEIR_NS, WEIR_COUNT, WEIR_PCT, WEIR_BYTES, WEIR_FLAG };
/*
 * What the out-ports of a distributor mean. WEIR_BY_IN: if there are as many in-ports, tasks of an in-port belong to the out-port of the
 * same number, and those before the in-port count as leading to the CPUs behind that one only; where a task goes
 * instead, now and then, is the distributor's affair.
 */
enum weir_out_label { WEIR_UNLABELLED, WEIR_BY_ISA, WEIR_BY_IN };

#define WEIR_ANY	(~0u)
#define WEIR_MAX_PARAMS 8

struct weir_param {
	const char *name;
	u32 unit;   /* enum weir_unit */
	u32 offset; /* of the u64 in the state struct */
	u64 def;
	u64 min;
	u64 max;
	const char *help;
};

/*
 * What must hold between two parameters, beyond the range of each. The language refuses other values with their place, and so does
 * whoever makes a plan for the core; construct() need not look.
 */
enum weir_relation_kind {
	WEIR_LESS,    /* a < b */
	WEIR_AT_MOST, /* a <= b */
	WEIR_ONE_OF,  /* a and b are not both 0 */
};

struct weir_relation {
	u32 kind; /* enum weir_relation_kind */
	u32 a;	  /* offsets, as in struct weir_param */
	u32 b;
	u32 unused;
	const char *why; /* what would happen otherwise */
};

/* When the live kernel loads a component. */
enum weir_kernel {
	WEIR_KERNEL_ALWAYS,	/* if all of these fit */
	WEIR_KERNEL_ON_REQUEST, /* if a topology named at the start uses it */
	WEIR_KERNEL_NEVER,	/* the verifier refuses it; the manual says why */
};

/* A topic that the core does not know; its owners agree on UUID, version and payload. */
struct weir_own_topic {
	const char *name; /* shorter than WEIR_TOPIC_NAME */
	/*
	 * the payload's words, in order: names, separated by blanks; empty: only components read it
	 */
	const char *fields;
	const char *help;
	/* drawn at random by the first owner, not 0; those below 1000 are standard topics */
	u64 uuid;
	u32 version; /* of the payload's layout */
	u32 bytes;   /* of the payload; 0: only value and value2 */
	u32 from;    /* enum weir_from */
	u32 unused;
};

#define WEIR_TOPIC_OF(name_, uuid_, version_, bytes_, fields_, from_, help_) \
	[WEIR_TOPIC_##name_ - WEIR_OWN_FIRST] = { .name = #name_,            \
						  .fields = (fields_),       \
						  .help = (help_),           \
						  .uuid = (uuid_),           \
						  .version = (version_),     \
						  .bytes = (bytes_),         \
						  .from = (from_) }

/* Among the facts: WEIR_COMPONENT(x, WEIR_TOPICS(WEIR_TOPIC_OF(MINE, ...)), ...), with #define WEIR_TOPIC_MINE WEIR_OWN(0). */
#define WEIR_TOPICS(...)                                                      \
	.topics = (const struct weir_own_topic[]){ __VA_ARGS__ },             \
	.nr_topics = sizeof((const struct weir_own_topic[]){ __VA_ARGS__ }) / \
		     sizeof(struct weir_own_topic)

/* The facts about a component, for the language, the checker and the manual. */
struct weir_descriptor {
	const char *name;
	const char *summary;
	u32 cls;      /* enum weir_class_kind */
	u32 ordering; /* enum weir_ordering */
	u32 in_min, in_max;
	u32 out_min, out_max;
	u32 out_label; /* enum weir_out_label */
	u32 keyed_out; /* out-pipes are keyed: 1; gated, too: WEIR_GATED */
	u32 kernel;    /* enum weir_kernel */
	/*
	 * an annotator without loops, functions of its own and clocks: its calls need no frames in
	 * the kernel
	 */
	u32 plain;
	u32 hears;    /* enum weir_hears */
	u32 size;     /* of the state struct */
	u32 per_task; /* private bytes per task */
	u32 nr_params;
	u64 listens; /* topic bits; on_ functions and reviews together */
	/* part of it: a message about a task is a REVIEW of that task, after the on_ functions */
	u64 reviews;
	/*
	 * part of listens: also messages about CPUs to which it does not lead (WEIR_SCOPED_TOPICS)
	 */
	u64 hears_all;
	u64 publishes;
	u64 asks;
	u64 needs; /* part of asks that must have a responder */
	u64 answers;
	/* its only answer is a word of a task's private data: 1 + where, see WEIR_ANSWER_AT() */
	u32 answer_at;
	const struct weir_param *params;
	const struct weir_own_topic *topics; /* WEIR_OWN(0) and on */
	u32 nr_topics;
	/* its steps change its state: where it has no home, they are taken one at a time */
	u32 serial;
	/*
	 * an annotator whose private data per task are values that mean the same in another
	 * coherence domain: they move there with the task. Without it, what it answers is
	 * published there.
	 */
	u32 travels;
	u32 nr_relations;
	const struct weir_relation *relations;
};

#define WEIR_GATED 2u /* in keyed_out */

/*
 * Among the facts of an annotator: what it answers is field @field, a u64, of its private data of the task, so the core need not call it. Its
 * answer function says the same, and what else there is. An instance of which that is not true has `answer_at` 0 (struct weir_instance), or
 * WEIR_ASK_FURTHER in it.
 */
#define WEIR_ANSWER_AT(data, field) .answer_at = 1 + __builtin_offsetof(struct data, field)

#define WEIR_PARAM(comp, field, unit_, def_, min_, max_, help_) \
	{ .name = #field,                                       \
	  .unit = WEIR_##unit_,                                 \
	  .offset = __builtin_offsetof(struct comp, field),     \
	  .def = (def_),                                        \
	  .min = (min_),                                        \
	  .max = (max_),                                        \
	  .help = (help_) }

/* Parameters, then facts: WEIR_COMPONENT(rr, WEIR_PARAMS(rr, ...), .cls = ...). */
#define WEIR_PARAMS(comp, ...)                                \
	.params = (const struct weir_param[]){ __VA_ARGS__ }, \
	.nr_params =                                          \
		sizeof((const struct weir_param[]){ __VA_ARGS__ }) / sizeof(struct weir_param)

/* Relations of parameters, among the facts: WEIR_RELATIONS(WEIR_RELATION(rr, LESS, low, high, "why")). */
#define WEIR_RELATION(comp, kind_, a_, b_, why_)    \
	{ .kind = WEIR_##kind_,                     \
	  .a = __builtin_offsetof(struct comp, a_), \
	  .b = __builtin_offsetof(struct comp, b_), \
	  .why = (why_) }

#define WEIR_RELATIONS(...)                                                     \
	.relations = (const struct weir_relation[]){ __VA_ARGS__ },             \
	.nr_relations = sizeof((const struct weir_relation[]){ __VA_ARGS__ }) / \
			sizeof(struct weir_relation)

/* What construct() returns if a parameter cannot be had here, as far as no relation says it: the refusal names it. */
#define WEIR_REFUSE(comp, field) \
	(-(int)(WEIR_EPARAM | __builtin_offsetof(struct comp, field) << WEIR_EPARAM_SHIFT))

#define WEIR_COMPONENT(comp, ...) \
	WEIR_DESCRIPTOR(comp) = { .name = #comp, .size = sizeof(struct comp), __VA_ARGS__ }

/* Which optional functions a class has; filled in by the generated dispatch. */
enum weir_has {
	WEIR_HAS_CONSTRUCT = 1 << 0,
	WEIR_HAS_IDLE = 1 << 1,
	WEIR_HAS_TIMER = 1 << 2,
	WEIR_HAS_TASK_INIT = 1 << 3,
	WEIR_HAS_TASK_EXIT = 1 << 4,
	WEIR_HAS_TAKE_STATE = 1 << 5,
	WEIR_HAS_DESTROY = 1 << 6,
	WEIR_HAS_STEP = 1 << 7,
	WEIR_HAS_TRAVELS = 1 << 8, /* private data move as they are */
	WEIR_HAS_PAIRS = 1 << 9,   /* an in-port leads to what its out-port leads to: WEIR_BY_IN */
};

/* Found in a component's file by the generator. */
struct weir_entries {
	u32 has; /* enum weir_has */
	u64 on;	 /* topics with an on_ function */
	u64 answers;
};

/* An own topic, as the core registers it. */
struct weir_class_topic {
	u64 uuid;
	u32 version;
	u32 bytes;
	u32 from;
	u32 unused;
	char name[WEIR_TOPIC_NAME];
};

/* The descriptor's part that the core needs at run time; lives in the arena. Shared with Rust. */
struct weir_class {
	u32 size;
	u32 per_task;
	u32 hears; /* enum weir_hears */
	u32 keyed_out;
	u32 has; /* enum weir_has */
	u32 nr_params;
	u64 on;	       /* topics with an on_ function */
	u64 reviews;   /* topics that make a REVIEW */
	u64 hears_all; /* part of `on` */
	u64 answers;   /* own topics have the bits from WEIR_OWN_FIRST on in these */
	u32 param_offset[WEIR_MAX_PARAMS];
	u32 nr_topics;
	u32 serial;
	u32 ordering; /* enum weir_ordering */
	u32 answer_at;
	struct weir_class_topic topics[WEIR_MAX_OWN];
};

#ifndef WEIR_TASK_CHUNK	      /* the model checker uses small ones */
#define WEIR_TASK_CHUNK 1024u /* tasks per block of records, hooks and private data */
#define WEIR_MAX_CHUNKS 4096u
#endif

/* Memory that is freed all at once. */
struct weir_region {
	void weir_mem *first;
};

struct weir_instance {
	struct weir_sched weir_mem *sched;	  /* (c) */
	u32 class;				  /* (c) index of the class table */
	u32 idx;				  /* (b) index in the graph */
	u32 nr_in;				  /* (b) */
	u32 nr_out;				  /* (b) */
	struct weir_pipe weir_mem *weir_mem *in;  /* (b) */
	struct weir_pipe weir_mem *weir_mem *out; /* (b) */
	char weir_mem *weir_mem *priv;		  /* (t) private task data by chunk, null if none */
	u32 per_task;				  /* (c) */
	/* for the component's own shared fields; a leaf: no other lock is taken under it */
	u32 lock;
	u32 step_lock; /* of a serial one without a home */
	u32 hears;     /* (c) enum weir_hears */
	u32 serial;    /* (c) */
	u32 ties;      /* (b) it has keys of its own; that from before is the tie */
	u32 came_at; /* (c) several in-pipes: where in a task's private data the port is by which it came */
	u32 careful; /* (b) its steps need more than the call: weir_take_step() */
	/* (b) the class's, see WEIR_ANSWER_AT(); construct may set it to 0: then this instance is called for its answer; or add WEIR_ASK_FURTHER */
	u32 answer_at;
	u32 stamp; /* of a serial one without a home, under `step_lock`: the latest arrival that it knows */
	struct weir_pipe weir_mem
	*home;	      /* (b) the exit whose lock its steps are taken under, null: shared by exits */
	u64 timer_ns; /* (a) armed for this time, 0: not armed */
	struct weir_region region; /* (b) memory of weir_instance_alloc() */
	u64 on;			   /* (c) the class's topics, by their places in the topic table */
	u64 reviews;		   /* (c) */
	u64 answers;		   /* (c) */
	u32 topics[WEIR_MAX_OWN];  /* (c) places of the own topics; 0: none */
};

/* The place in the table of the topic that the component calls @topic: for weir_request() and weir_property(). */
WEIR_INLINE u32 weir_topic(const struct weir_instance weir_mem *self, u32 topic)
{
	return topic < WEIR_OWN_FIRST ? topic
				      : self->topics[(topic - WEIR_OWN_FIRST) & (WEIR_MAX_OWN - 1)];
}

/* The reverse: the component's number for the topic at that place; WEIR_MAX_TOPICS if it is not one of its own. */
WEIR_INLINE u32 weir_own_topic_at(const struct weir_instance weir_mem *self, u32 place)
{
	for (u32 k = 0; k < WEIR_MAX_OWN; k++)
		if (self->topics[k] == place)
			return WEIR_OWN(k);
	return WEIR_MAX_TOPICS;
}

WEIR_INLINE struct weir_pipe weir_mem *weir_in(const struct weir_instance weir_mem *self, u32 port)
{
	return self->in[port];
}

/* Tasks that came to it since the graph was built: arrivals at its in-pipes, see weir_pipe_added(). O(pipes). */
WEIR_INLINE u64 weir_came_to(const struct weir_instance weir_mem *inst)
{
	u64 n = 0;

	for (u32 i = 0; i < inst->nr_in && weir_loop; i++)
		n += weir_pipe_added(inst->in[i]);
	return n;
}

WEIR_INLINE struct weir_pipe weir_mem *weir_out(const struct weir_instance weir_mem *self, u32 port)
{
	return self->out[port];
}

/* The instance's private memory for @t: `per_task` bytes, zeroed when the task is created. */
WEIR_INLINE void weir_mem *weir_priv(const struct weir_instance weir_mem *self,
				     const struct weir_task weir_mem *t)
{
	return self->priv[t->id / WEIR_TASK_CHUNK] +
	       (u64)(t->id % WEIR_TASK_CHUNK) * self->per_task;
}

/* The out-port by which @t went that waits behind @self; WEIR_WITHHOLD: none, as it is withheld, runs or is not here. O(depth). */
u32 weir_port_of(const struct weir_instance weir_mem *self, const struct weir_task weir_mem *t);

/* @self withholds @t. */
WEIR_INLINE int weir_withheld(const struct weir_instance weir_mem *self,
			      const struct weir_task weir_mem *t)
{
	u32 at = weir_load_acquire(&t->landing);

	for (u32 i = 0; at && i < self->nr_in && weir_loop; i++)
		if (self->in[i]->idx + 1 == at)
			return 1;
	return 0;
}

/*
 * Ask for @t once more: when the call holds no lock any longer, @self and the stages behind it hear REVIEW of it, and those before it too,
 * unless @self has a home. Nothing happens to a task that neither waits nor runs. May be called anywhere. 0.
 */
int weir_review(struct weir_instance weir_mem *self, struct weir_task weir_mem *t);
/* The same for all tasks behind @self and those that it withholds. Not in a step. O(tasks). */
int weir_review_all(struct weir_instance weir_mem *self);
/*
 * The same for one task, and it is to go by @port: REVIEW finds that in s->want. One task per call; from on_idle (answer 1: look again),
 * on_timer and on_<topic>. 0, or -WEIR_EBUSY: another one is to be moved already, or something else happens to @t.
 */
int weir_move(struct weir_instance weir_mem *self, struct weir_task weir_mem *t, u32 port);

/*
 * The lock that the steps of @self are taken under, for its other functions: its home's, else its own. 0, or -WEIR_EAGAIN after a bounded
 * wait. Under it no pipe is locked, except that an instance without a home that hears nothing may lock one of its in-pipes.
 */
int weir_steps_lock(struct weir_instance weir_mem *self);
int weir_steps_unlock(struct weir_instance weir_mem *self);

/* Withhold @t, and publish WITHHELD if it was not withheld before: until @until, ns, 0: for want of a path. */
u32 weir_withhold(struct weir_instance weir_mem *self, u32 what, struct weir_task weir_mem *t,
		  u64 until);
/* The answer of a distributor: the port of @to, or, if that is null, the task is withheld. */
u32 weir_send(struct weir_instance weir_mem *self, u32 what, struct weir_task weir_mem *t,
	      struct weir_pipe weir_mem *to);
/*
 * A step could not do its work, with @err: that is counted and published (FAULT), if it was not just a lock. The answer is port 0, so that
 * the task is not lost: it goes on as the stage before left it.
 */
u32 weir_step_failed(struct weir_instance weir_mem *self, struct weir_task weir_mem *t, int err);
/* First out-pipe with an online CPU in @mask (null: any), or null. O(out-pipes). */
struct weir_pipe weir_mem *weir_first_allowed(struct weir_instance weir_mem *self,
					      const struct weir_cpumask weir_mem *mask);

/* @t was blocked or has ended: it neither waits nor runs. */
WEIR_INLINE int weir_blocked(const struct weir_task weir_mem *t)
{
	return weir_state(t) == WEIR_UNCONSIDERED;
}

/* Which out-pipe leads to a CPU; the lowest port if several do. */
struct weir_port_map {
	u32 weir_mem *port; /* (c) by CPU, 1 + port, 0: none */
	u32 nr;		    /* (c) */
	u32 unused;
};

/* Fill @map; only in construct. 0 or -WEIR_ENOMEM. */
int weir_port_map(struct weir_instance weir_mem *self, struct weir_port_map weir_mem *map);

/* The out-pipe that leads to @cpu, or null; null also for WEIR_NO_CPU. */
WEIR_INLINE struct weir_pipe weir_mem *weir_port_to(const struct weir_instance weir_mem *self,
						    const struct weir_port_map weir_mem *map,
						    u32 cpu)
{
	u32 port = cpu < map->nr ? map->port[cpu] : 0;

	return port ? self->out[port - 1] : 0;
}

/* Distance of two CPUs: 0 same core, 1 same LLC, 2 same node, 3 else. */
u32 weir_distance(struct weir_sched weir_mem *s, u32 a, u32 b);
/* Sum of the capacities of the online CPUs behind @pipe. O(CPUs behind the pipe). */
u64 weir_pipe_capacity(const struct weir_pipe weir_mem *pipe);
/*
 * An idle CPU behind @pipe, allowed by @mask, near @t's last CPU: in its LLC, else in its node, else any;
 * or WEIR_NO_CPU. O(words + idle CPUs), less if one is near.
 */
u32 weir_idle_near(const struct weir_pipe weir_mem *pipe, const struct weir_task weir_mem *t,
		   const struct weir_cpumask weir_mem *mask);

/* The value that the topic's responder gives for @t; 0 without a responder. (weir/ask.h) */
WEIR_PART u64 weir_property(struct weir_sched weir_mem *s, u32 topic, struct weir_task weir_mem *t);

/* Affinity of @t as the topic's responder gives it; null: all CPUs. */
WEIR_INLINE const struct weir_cpumask weir_mem *weir_affinity(struct weir_sched weir_mem *s,
							      struct weir_task weir_mem *t)
{
	return (const struct weir_cpumask weir_mem *)weir_property(s, WEIR_TOPIC_AFFINITY, t);
}

/* Whether a CPU behind @pipe is online and in @mask (null: any). O(1) for one CPU, else O(words). */
int weir_pipe_allows(const struct weir_pipe weir_mem *pipe,
		     const struct weir_cpumask weir_mem *mask);
/*
 * Queued tasks plus CPUs behind the pipe that run one; *@idle becomes the number of its idle CPUs, including
 * one that is about to choose from an empty pipe of its own.
 */
u32 weir_pipe_load(const struct weir_pipe weir_mem *pipe, u32 *idle);
/* @t, which is being placed by @s, goes behind @other, which is linked in @pipe; both are of one home, or of a stage with a lock of its own. */
WEIR_INLINE int weir_step_after(const struct weir_step weir_mem *s,
				const struct weir_pipe weir_mem *pipe,
				const struct weir_task weir_mem *t,
				const struct weir_task weir_mem *other)
{
	if (pipe->keyed && s->key != other->key)
		return s->key > other->key;
	if (pipe->tied && s->tie != other->tie)
		return s->tie > other->tie;
	return weir_came_before(other, t);
}

/* A task's key from a responder's value; a task without a value comes last. */
WEIR_INLINE u64 weir_key(u64 number)
{
	return number ? number : WEIR_KEY_NONE;
}

/*
 * In a step: the task's urgency is @key. Where its path ends, it preempts the CPU with the least urgent running task, if that is less
 * urgent than this and no CPU is idle. In a REVIEW of a running task: it is preempted if a more urgent one waits. (A gate of an order before
 * holds it up no longer.)
 */
WEIR_INLINE void weir_urgent(struct weir_step weir_mem *s, u64 key)
{
	s->urgent = 1;
	s->urgency = key;
	s->gate = 0;
}

/* The answer of an order by @key: port 0, that place, and that urgency. */
WEIR_INLINE u32 weir_place_urgent(struct weir_step weir_mem *s, u64 key)
{
	s->key = key;
	weir_urgent(s, key);
	return 0;
}

/*
 * One scale of urgency, so that classes of service can be stacked: deadlines and other times in ns are below
 * WEIR_KEY_FIXED, fixed priorities from there on; WEIR_KEY_NONE is for tasks with neither.
 */
#define WEIR_KEY_FIXED (1ull << 60)

/* For tasks that an order does not handle itself: the urgency from the stage before, below all times. */
WEIR_INLINE u64 weir_key_before(const struct weir_step weir_mem *s)
{
	return s->key < WEIR_KEY_FIXED ? WEIR_KEY_FIXED : s->key;
}

/*
 * The instance's own lock, a leaf: no other lock is taken under it, and it is held for a few instructions. 0, or
 * -WEIR_EAGAIN after a bounded wait: the component continues without it, or returns the error.
 */
int weir_instance_lock(struct weir_instance weir_mem *self);
WEIR_INLINE void weir_instance_unlock(struct weir_instance weir_mem *self)
{
	weir_spin_unlock(&self->lock);
}

/* For the cost models: elements visited, iterations burnt. */
void weir_note_scan(struct weir_instance weir_mem *self, u32 n);
void weir_note_burn(struct weir_instance weir_mem *self, u32 n);

/* Time now, ns; one timer per instance, at an absolute time; 0 disarms. */
u64 weir_now(struct weir_sched weir_mem *s);
void weir_timer_set(struct weir_instance weir_mem *self, u64 at_ns);
/* The first time; only in construct: the timer is armed when the instance's graph is in force. */
WEIR_INLINE void weir_timer_begin(struct weir_instance weir_mem *self, u64 at_ns)
{
	self->timer_ns = at_ns;
}
/* Memory that lives as long as the instance; zeroed; null when the arena is full. Only in construct. */
void weir_mem *weir_instance_alloc(struct weir_instance weir_mem *self, u64 bytes);
/* Copy @bytes, a multiple of 8. 0. */
int weir_copy(void weir_mem *to, const void weir_mem *from, u64 bytes);
/* A pseudo-random number from the scheduler's seed. */
u64 weir_random(struct weir_sched weir_mem *s);

/* What is asked in every step is read at once. */
#include <weir/schedule.h>

#endif
