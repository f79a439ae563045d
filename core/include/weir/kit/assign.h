/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Per-CPU assignment: which real-time task runs on which CPU, for components that decide about all CPUs at once
 * (Pfair, fluid and reduction policies). Such a component is a distributor with one in-pipe. The task that
 * is assigned to a CPU goes by the port that leads there, or runs there already; all others are
 * withheld. The component selects the tasks. The functions here keep selected tasks on their CPU,
 * preempt, and measure how long each job has run.
 *
 * A real-time task is one with JOB and DEADLINE that may run on every CPU behind the
 * component, or on some if the policy handles affinities. All others are background tasks: they take turns, by
 * arrival, on otherwise idle CPUs.
 *
 * All state lies under the lock that steps are taken under (weir_steps_lock(); such a component is `serial`). A decision changes the table and
 * asks for the tasks that it concerns (weir_review()), whose steps then answer from the table. Time in ns. Source: ours.
 */
#ifndef WEIR_ASSIGN_H
#define WEIR_ASSIGN_H

#include <weir/component.h>
#include <weir/cpus.h>

/* Words for the policy's own use, per task. */
#define WEIR_RT_WORDS 16

enum weir_rt_state {
	WEIR_RT_READY = 1, /* it has a job and is not blocked */
	WEIR_RT_RUNS = 2,  /* on a CPU, since `since` */
	WEIR_RT_FRESH = 4, /* a job was released; the policy clears this */
	WEIR_RT_WOKEN = 8, /* it woke up; the policy clears this */
	WEIR_RT_WANT = 16, /* set by the policy: assign a CPU */
};

/* A real-time task: a row of the table. */
struct weir_rt {
	struct weir_task weir_mem *task; /* (h) null: a free row */
	u64 wcet;			 /* (h) of the job, at capacity 1024 */
	u64 release;			 /* (h) of the job, absolute */
	u64 deadline;			 /* (h) of the job, absolute */
	u64 period;			 /* (h) 0: unknown */
	u64 used;			 /* (h) run time up to `since`; the policy resets it */
	u64 since;			 /* (h) */
	u32 state;			 /* (h) enum weir_rt_state */
	u32 cpu;			 /* (h) 1 + assigned CPU, 0: none */
	u32 want_cpu;			 /* (h) set by the policy: 1 + CPU to assign, 0: any */
	u32 unused;
	u64 x[WEIR_RT_WORDS]; /* (h) the policy's own */
};

/* Private memory of a task. */
struct weir_rt_task {
	u32 row; /* (h) 1 + row, 0: none */
	/* (h) 1 + CPU to which it was sent as a background task and that it has not reached, 0: none */
	u32 background;
};

/* How a policy handles real-time tasks that are bound to some of the CPUs. */
enum weir_assign_bound {
	WEIR_ASSIGN_UNBOUND_ONLY = 0, /* as background tasks */
	WEIR_ASSIGN_BOUND_TOO = 1,  /* set by the policy in construct: they get rows; none so far */
	WEIR_ASSIGN_SOME_BOUND = 2, /* and there was one */
};

/* JOB and DEADLINE of one task. */
struct weir_rt_params {
	u64 wcet;     /* (h) at capacity 1024 */
	u64 relative; /* (h) */
	u64 deadline; /* (h) absolute */
	u64 period;   /* (h) 0: unknown */
};

struct weir_assign {
	struct weir_port_map map;
	struct weir_rt weir_mem *row; /* (c) */
	u32 weir_mem *by_cpu;	      /* (h) 1 + row that the CPU is assigned to, 0: free */
	struct weir_task weir_mem *weir_mem
	*background;			/* (h) by CPU: the background task that was sent there */
	struct weir_rt_params reported; /* (h) */
	u64 cap;			/* (c) rows; a parameter of the component */
	/*
	 * (c) ns; weir_assign_soon() is the next multiple of it, 0: at once; set by the policy in
	 * construct
	 */
	u64 grid;
	u32 nr;	      /* (h) rows ever used */
	u32 withheld; /* (h) a background task may be waiting for a CPU */
	u32 bound;    /* (h) enum weir_assign_bound */
	/*
	 * (h) rows that still need a CPU; in memory, because the verifier would track a local count
	 */
	u32 missing;
	u32 unused;
	u32 stale; /* (h) jobs, tasks or CPUs have changed; cleared by the policy */
};

/* Topics that a component with per-CPU assignment listens to and requests. */
#define WEIR_ASSIGN_LISTENS                                                        \
	(WEIR_TOPIC_BIT(DISPATCH) | WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(EXIT) | \
	 WEIR_TOPIC_BIT(CPU_STATUS) | WEIR_TOPIC_BIT(AFFINITY))
/* Where a task may run has changed: it goes elsewhere. */
#define WEIR_ASSIGN_REVIEWS WEIR_TOPIC_BIT(AFFINITY)
#define WEIR_ASSIGN_ASKS    (WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(AFFINITY))
#define WEIR_ASSIGN_NEEDS   (WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE))

/* Memory for @cap rows; in construct. 0 or an error. */
int weir_assign_construct(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign);
/* Take over rows and assignments of the replaced instance; in take_state. */
int weir_assign_take(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
		     struct weir_instance weir_mem *from, struct weir_assign weir_mem *old);
/*
 * The first half of the step: note the change. If a job was released or a task woke, it arms the timer, so that the policy decides soon;
 * no timer can be armed for time 0, so then it returns 1: the policy decides at once (weir_assign_apply()). Else 0.
 */
int weir_assign_step(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
		     u32 what, struct weir_task weir_mem *t, const struct weir_step weir_mem *s);
/* The second half: the answer for @t by the table. */
u32 weir_assign_port(const struct weir_instance weir_mem *self,
		     const struct weir_assign weir_mem *assign, const struct weir_task weir_mem *t);
/* Messages. 1: the policy must decide; no timer is armed. Takes the lock. */
int weir_assign_on(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
		   const struct weir_msg *msg);
/* @cpu is idle: send it a background task. 1: done. Takes the lock. */
int weir_assign_idle(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
		     u32 cpu);

/* Whether the CPU is online and an out-pipe leads to it. */
WEIR_INLINE int weir_assign_usable(const struct weir_instance weir_mem *self,
				   const struct weir_assign weir_mem *assign, u32 cpu)
{
	return cpu < weir_nr_cpus(self->sched) && weir_port_to(self, &assign->map, cpu) &&
	       weir_cpu_is_online(self->sched, cpu);
}

/* The row of @t, or null. Rows from an earlier use of the task's record do not count. */
WEIR_INLINE struct weir_rt weir_mem *weir_assign_row(const struct weir_instance weir_mem *self,
						     const struct weir_assign weir_mem *assign,
						     const struct weir_task weir_mem *t)
{
	u32 row = ((struct weir_rt_task weir_mem *)weir_priv(self, t))->row;

	return row && row <= assign->nr && assign->row[row - 1].task == t ? &assign->row[row - 1]
									  : 0;
}

/* Whether a task that may use the CPUs in @mask (null: all) may run on every CPU behind the in-pipe @in. */
WEIR_INLINE int weir_assign_unbound(const struct weir_pipe weir_mem *in,
				    const struct weir_cpumask weir_mem *mask)
{
	for (u32 w = in->word_lo; mask && w <= in->word_hi && weir_loop; w++)
		if (in->cpus->word[w] & ~weir_load(&mask->word[w]))
			return 0;
	return 1;
}

/* --- for decisions; under the lock --------------------------------------------------------- */

/* Update `used` of all rows to @now, free the rows of ended tasks. O(rows). */
int weir_assign_account(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
			u64 now);
/* Number of online CPUs that can be assigned. O(CPUs). */
u32 weir_assign_cpus(const struct weir_instance weir_mem *self,
		     const struct weir_assign weir_mem *assign);
/*
 * Assign CPUs to the rows with WEIR_RT_WANT and to no others. Rows with a CPU keep it unless they want
 * another one; the rest get their last CPU if it is free, else an idle one, else any.
 * O(rows + CPUs), plus a scan of the CPUs for each row that must migrate.
 */
int weir_assign_apply(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign);
/* Send background tasks to idle CPUs without an assigned task. Not in a step. O(CPUs), plus O(tasks) for each of them. */
int weir_background_fill(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign);

/* Apply a decision, not in a step: both of the above. */
WEIR_INLINE int weir_assign_place(struct weir_instance weir_mem *self,
				  struct weir_assign weir_mem *assign)
{
	weir_assign_apply(self, assign);
	return weir_background_fill(self, assign);
}

/* Arm the instance's timer for @at unless it is armed for an earlier time. */
void weir_assign_timer(struct weir_instance weir_mem *self, u64 at);
/* The same for now, rounded up to the next multiple of `grid`. */
void weir_assign_soon(struct weir_instance weir_mem *self,
		      const struct weir_assign weir_mem *assign);

/* A message, for a policy that decides as soon as possible. 0. */
WEIR_INLINE int weir_assign_notify(struct weir_instance weir_mem *self,
				   struct weir_assign weir_mem *assign, const struct weir_msg *msg)
{
	if (weir_assign_on(self, assign, msg))
		weir_assign_soon(self, assign);
	return 0;
}

#endif
