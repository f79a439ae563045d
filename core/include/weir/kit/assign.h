/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Seats: which real-time task is to run on which CPU, for components that decide about all CPUs at once
 * (Pfair, fluid and reduction policies). Such a component is a distributor with one in-pipe: the task that
 * has a CPU's seat is in the out-pipe that leads there, or runs there already; all others stay in the
 * in-pipe. The component says who gets a seat; what is here keeps tasks where they are if they keep one,
 * preempts, and measures how long each job ran.
 *
 * A real-time task is one of which JOB and DEADLINE are known and which may run on every CPU behind the
 * component, or, if the policy minds where tasks may run, on some. All others are guests: they take turns, by
 * arrival, on CPUs that would be idle.
 *
 * All state lies under the lock of the instance's in-pipe. Time in ns. Source: ours.
 */
#ifndef WEIR_ASSIGN_H
#define WEIR_ASSIGN_H

#include <weir/component.h>
#include <weir/cpus.h>

/* Words that a policy has for each task. */
#define WEIR_RT_WORDS 16

enum weir_rt_state {
	WEIR_RT_READY = 1, /* it has a job and does not wait for anything else */
	WEIR_RT_RUNS = 2,  /* on a CPU, since `since` */
	WEIR_RT_FRESH = 4, /* a job began; the policy clears this when it has seen it */
	WEIR_RT_WOKEN = 8, /* it came back from waiting; likewise */
	WEIR_RT_WANT = 16, /* set by the policy: it is to have a seat */
};

/* A real-time task: a row of the table. */
struct weir_rt {
	struct weir_task weir_mem *task; /* (p) null: a free row */
	u64 wcet;     /* (p) of the job, at capacity 1024 */
	u64 release;  /* (p) of the job, absolute */
	u64 deadline; /* (p) of the job, absolute */
	u64 period;   /* (p) 0: unknown */
	u64 used;     /* (p) that it ran up to `since`; the policy sets it to 0 */
	u64 since;    /* (p) */
	u32 state;    /* (p) enum weir_rt_state */
	u32 cpu;      /* (p) 1 + CPU of its seat, 0: none */
	u32 want_cpu; /* (p) set by the policy: 1 + CPU of the seat it is to have, 0: any */
	u32 unused;
	u64 x[WEIR_RT_WORDS]; /* (p) the policy's own */
};

/* Private memory of a task. */
struct weir_rt_task {
	u32 row;   /* (p) 1 + row, 0: none */
	u32 background; /* (p) 1 + CPU that it was sent to without a seat and has not reached, 0: none */
};

/* What a policy makes of real-time tasks that are bound to some of the CPUs. */
enum weir_assign_bound {
	WEIR_ASSIGN_UNBOUND_ONLY = 0, /* they are guests */
	WEIR_ASSIGN_BOUND_TOO = 1,    /* set by the policy in construct: they get rows; there was none so far */
	WEIR_ASSIGN_SOME_BOUND = 2,   /* and there was one */
};

/* What JOB and DEADLINE say of the task that is being looked at. */
struct weir_rt_params {
	u64 wcet;     /* (p) at capacity 1024 */
	u64 relative; /* (p) */
	u64 deadline; /* (p) absolute */
	u64 period;   /* (p) 0: unknown */
};

struct weir_assign {
	struct weir_port_map map;
	struct weir_rt weir_mem *row;		       /* (c) */
	u32 weir_mem *by_cpu;			       /* (p) 1 + row that has the CPU's seat, 0: free */
	struct weir_task weir_mem *weir_mem *background;    /* (p) by CPU: who was sent there without a seat */
	struct weir_rt_params reported;		       /* (p) */
	u64 cap;				       /* (c) rows; a parameter of the component */
	u64 grid; /* (c) ns; weir_assign_soon() is the next multiple of it, 0: at once; set by the policy in construct */
	u32 nr;					       /* (p) rows ever used */
	u32 withheld;				       /* (p) a guest may be waiting for a CPU */
	u32 bound;				       /* (p) enum weir_assign_bound */
	u32 missing; /* (p) rows that are still to get a seat; in memory, since the verifier would follow a count */
	u32 unused;
	u32 anew; /* (p) jobs, tasks or CPUs came or went; the policy sets it to 0 when it has seen it */
};

/* Topics that a component with seats hears and asks. */
#define WEIR_ASSIGN_LISTENS                                                                  \
	(WEIR_TOPIC_BIT(DISPATCH) | WEIR_TOPIC_BIT(BLOCK) | WEIR_TOPIC_BIT(EXIT) |          \
	 WEIR_TOPIC_BIT(CPU_STATUS) | WEIR_TOPIC_BIT(AFFINITY))
#define WEIR_ASSIGN_ASKS (WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE) | WEIR_TOPIC_BIT(AFFINITY))
#define WEIR_ASSIGN_NEEDS (WEIR_TOPIC_BIT(JOB) | WEIR_TOPIC_BIT(DEADLINE))

/* Memory for @cap rows; in construct. 0 or an error. */
int weir_assign_construct(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign);
/* Go on with the rows and seats of the instance that is replaced; in take_state. */
int weir_assign_take(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
		    struct weir_instance weir_mem *from, struct weir_assign weir_mem *old);
/*
 * The update function. Where a job began or a task came back the policy is to decide soon, and the timer is armed; or at once,
 * at time 0, for which no timer can be armed: deciding for each task comes to the same. 1: at once; 0; or an error.
 */
int weir_assign_update(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
		      struct weir_pipe weir_mem *in);
/* Messages. 1: the policy is to decide; no timer is armed. `on` takes the in-pipe's lock, for `affinity` it is held. */
int weir_assign_on(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
		  const struct weir_msg *msg);
int weir_assign_affinity(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
			struct weir_pipe weir_mem *in, struct weir_task weir_mem *t,
			const struct weir_cpumask weir_mem *mask);
/* @cpu has nothing to do: send it a guest. 1: done. Takes the in-pipe's lock. */
int weir_assign_idle(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign, u32 cpu);

/* The CPU is online and has a way out. */
WEIR_INLINE int weir_assign_usable(const struct weir_instance weir_mem *self, const struct weir_assign weir_mem *assign, u32 cpu)
{
	return cpu < weir_nr_cpus(self->sched) && weir_port_to(self, &assign->map, cpu) &&
	       weir_cpu_is_online(self->sched, cpu);
}

/* The row of @t, or null. A row that stayed behind from another life of the record does not count. */
WEIR_INLINE struct weir_rt weir_mem *weir_assign_row(const struct weir_instance weir_mem *self, const struct weir_assign weir_mem *assign,
						   const struct weir_task weir_mem *t)
{
	u32 row = ((struct weir_rt_task weir_mem *)weir_priv(self, t))->row;

	return row && row <= assign->nr && assign->row[row - 1].task == t ? &assign->row[row - 1] : 0;
}

/* A task that may use the CPUs in @mask (null: all) may run on every CPU behind the in-pipe @in. */
WEIR_INLINE int weir_assign_unbound(const struct weir_pipe weir_mem *in, const struct weir_cpumask weir_mem *mask)
{
	for (u32 w = in->word_lo; mask && w <= in->word_hi && weir_loop; w++)
		if (in->cpus->word[w] & ~weir_load(&mask->word[w]))
			return 0;
	return 1;
}

/* --- for the decision; the in-pipe is locked ------------------------------------------------- */

/* Bring `used` of all rows up to @now, free the rows of tasks that are gone. O(rows). */
int weir_assign_account(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign, u64 now);
/* Online CPUs that can have a seat. O(CPUs). */
u32 weir_assign_cpus(const struct weir_instance weir_mem *self, const struct weir_assign weir_mem *assign);
/*
 * Seats for the rows with WEIR_RT_WANT and for no others: those that have one keep it unless they want
 * another; the rest go where they ran last if that is free, else to an idle CPU, else to any.
 * O(rows + CPUs), and a scan of the CPUs for each row that must move.
 */
int weir_assign_apply(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign, struct weir_pipe weir_mem *in);
/* Send guests to CPUs that wait and have no task of their own. O(CPUs), and O(tasks) for each of those. */
int weir_background_fill(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign, struct weir_pipe weir_mem *in);

/* Both, after a decision. */
WEIR_INLINE int weir_assign_place(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
				 struct weir_pipe weir_mem *in)
{
	int err = weir_assign_apply(self, assign, in);

	weir_background_fill(self, assign, in);
	return err;
}

/* Arm the instance's timer for @at unless it is armed for an earlier time. */
void weir_assign_timer(struct weir_instance weir_mem *self, u64 at);
/* The same for now, or the next multiple of `grid`. */
void weir_assign_soon(struct weir_instance weir_mem *self, const struct weir_assign weir_mem *assign);

/* A message, for a policy that decides about what it hears of as soon as it can. 0. */
WEIR_INLINE int weir_assign_notify(struct weir_instance weir_mem *self, struct weir_assign weir_mem *assign,
				const struct weir_msg *msg)
{
	if (weir_assign_on(self, assign, msg))
		weir_assign_soon(self, assign);
	return 0;
}

#endif
