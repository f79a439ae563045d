/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The load behind each out-pipe, for a balancer: the weights of the runnable tasks there, averaged over time
 * (weir/kit/pelt.h), with the averages of each task; and the pipes with most and least load.
 *
 * The private memory of a task begins with its struct weir_rq_load_task. No function here waits for another CPU: a task's weight and
 * pipe are one word, changed by exchange, so each addition is undone exactly once. If another CPU is updating an average, this CPU
 * skips the update, and the average misses a little of the past at worst.
 */
#ifndef WEIR_RQ_LOAD_H
#define WEIR_RQ_LOAD_H

#include <weir/cpus.h>
#include <weir/kit/idle_sibling.h>
#include <weir/kit/pelt.h>

struct weir_rq_load_task {
	/* (o) load 1 while runnable; changed in calls about the task */
	struct weir_pelt pelt;
	u64 stopped; /* (a) ns; when it last ran */
	/*
	 * (a) weight that counts, 0: not runnable; from bit 32 on 1 + the pipe where it is or was,
	 * 0: none
	 */
	u64 counted;
	u32 running; /* (a) capacity of the CPU that it runs on, 0: not running */
	u32 unused;
};

struct weir_rq_load_port {
	struct weir_pelt pelt; /* (a) one CPU at a time updates it, see @busy */
	s64 load;	       /* (a) weights of its runnable tasks */
	u32 busy;	       /* (a) a CPU updates `pelt` */
	u32 awake;	       /* (a) runnable tasks that are not of SCHED_IDLE */
	u32 running; /* (a) with `uses`: capacity of the CPU while it runs a task, else 0 */
	u32 spared;  /* (a) 1024 less what the task that ran last may use at most */
	u64 turn;    /* (a) `turn` of all when it was given a new task */
};

/* Weights of the runnable tasks behind the pipe. */
WEIR_INLINE u64 weir_rq_load_sum(const struct weir_rq_load_port weir_mem *q)
{
	s64 load = weir_load(&q->load);

	return load > 0 ? (u64)load : 0;
}

WEIR_INLINE u32 weir_rq_load_weight(const struct weir_rq_load_task weir_mem *p)
{
	return (u32)weir_load(&p->counted);
}

/* What the task adds to the mean load of a pipe, with @weight. */
WEIR_INLINE u64 weir_rq_load_mean(const struct weir_rq_load_task weir_mem *p, u32 weight)
{
	return (u64)weight * p->pelt.load_sum / weir_pelt_divider(&p->pelt);
}

struct weir_rq_loads {
	struct weir_instance weir_mem *inst; /* (c) */
	struct weir_port_map map;
	struct weir_near near;
	struct weir_rq_load_port weir_mem *port; /* (c) */
	struct weir_cpumask queued;		 /* (a) by port: it holds tasks, or did recently */
	u32 uses; /* (c) it is counted how much of each CPU its tasks use, those that sleep there among them */
	u32 tipped; /* (a) with `uses`: a CPU is beyond the tipping point (weir/kit/frugal.h) */
	u64 turn;   /* (a) new tasks so far */
};

/* In construct. 0, -WEIR_EPORTS or -WEIR_ENOMEM. */
int weir_rq_load_construct(struct weir_instance weir_mem *self,
			   struct weir_rq_loads weir_mem *loads);
/* In take_state: inherit the averages of @old. */
int weir_rq_load_take(struct weir_rq_loads weir_mem *loads,
		      const struct weir_rq_loads weir_mem *old);

/* Update the task's averages to @now, ns, with its present state. */
WEIR_INLINE void weir_rq_load_track(struct weir_rq_load_task weir_mem *p, u64 now)
{
	weir_pelt_update(&p->pelt, now, weir_rq_load_weight(p) != 0, weir_load(&p->running));
}

/* From @now on, ns, the task is runnable with @weight in out-pipe @port - 1; 0: in none. O(1). */
int weir_rq_load_enter(struct weir_rq_loads weir_mem *loads, struct weir_rq_load_task weir_mem *p,
		       u32 port, u32 weight, u64 now);
/* The task runs on @cpu from @now on, ns. O(1). */
int weir_rq_load_start(struct weir_rq_loads weir_mem *loads, struct weir_rq_load_task weir_mem *p,
		       u32 cpu, u64 now);
/* The task is no longer runnable; its last pipe is kept. O(1). */
int weir_rq_load_leave(struct weir_rq_loads weir_mem *loads, struct weir_rq_load_task weir_mem *p);
/* Mean load at @now, ns, behind the pipe that leads to @cpu; greater than any load if no pipe does. O(1). */
u64 weir_rq_load_of(struct weir_rq_loads weir_mem *loads, u32 cpu, u64 now);

/* With `uses`: what the tasks of @cpu use of it at @now, ns, in 1/1024 of a CPU of capacity 1024. O(1). */
u64 weir_rq_load_util(struct weir_rq_loads weir_mem *loads, u32 cpu, u64 now);

/* @load relative to @cpu's capacity: twice as much at half the capacity. */
WEIR_INLINE u64 weir_rq_load_weighs(const struct weir_sched weir_mem *s, u32 cpu, u64 load)
{
	u64 capacity = weir_cpu_capacity(s, cpu);

	return capacity ? load * 1024 / capacity : load;
}

/* The out-pipe holds a task from now on. */
WEIR_INLINE void weir_rq_load_queued(struct weir_rq_loads weir_mem *loads, u32 port)
{
	if (!weir_mask_test(&loads->queued, port))
		weir_mask_set(&loads->queued, port);
}

/* Tasks in the pipe, minus one if a CPU that runs none of them is about to take it. */
u32 weir_pipe_spare(struct weir_pipe weir_mem *pipe);
/*
 * Of the out-pipes that can spare a task and whose distance from @cpu is @near to @far (weir_distance()), the one with the
 * most load for its CPU's capacity: 1 + its port; 0: there is none. O(pipes with tasks).
 */
u32 weir_rq_load_busiest(struct weir_rq_loads weir_mem *loads, u32 cpu, u32 near, u32 far);
/*
 * The out-pipe for a task without history: of an idle core, else of an idle CPU, the largest first, else with the least load
 * for the CPU's capacity; among equals the nearest to @here. @idle: the task is of SCHED_IDLE. 1 + its port; 0: @mask (null: all) has no
 * CPU. O(out-pipes).
 */
u32 weir_rq_load_idlest(struct weir_rq_loads weir_mem *loads, u32 here, int idle,
			const struct weir_cpumask weir_mem *mask);

#endif
