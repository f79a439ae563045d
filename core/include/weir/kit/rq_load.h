/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How much load lies behind each out-pipe, for a balancer: the weights of the runnable tasks there, averaged over
 * time (weir/kit/pelt.h), with the averages of each task; and which pipe has most and least of it.
 *
 * The private memory of a task begins with its struct weir_rq_load_task. Nothing here waits for another CPU: what a task counts for,
 * and where, is one word that is exchanged, so that whatever is added is taken back once; an average that another CPU is
 * just bringing up to date is left to that one, and misses a little of the past at worst.
 */
#ifndef WEIR_RQ_LOAD_H
#define WEIR_RQ_LOAD_H

#include <weir/cpus.h>
#include <weir/kit/idle_sibling.h>
#include <weir/kit/pelt.h>

struct weir_rq_load_task {
	/* (o) load 1 while it is runnable; changed in calls about the task */
	struct weir_pelt pelt;
	u64 stopped; /* (a) ns; when it ran last */
	/*
	 * (a) weight that counts, 0: it is not runnable; from bit 32 on 1 + the pipe where, or was,
	 * 0: none
	 */
	u64 counted;
	u32 running; /* (a) capacity of the CPU it runs on, 0: it does not */
	u32 unused;
};

struct weir_rq_load_port {
	struct weir_pelt pelt; /* (a) one CPU at a time brings it up to date, see @busy */
	s64 load;	       /* (a) weights of its runnable tasks */
	u32 busy;	       /* (a) some CPU does */
	u32 unused;
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

struct weir_rq_loads {
	struct weir_instance weir_mem *inst; /* (c) */
	struct weir_port_map map;
	struct weir_near near;
	struct weir_rq_load_port weir_mem *port; /* (c) */
	struct weir_cpumask queued; /* (a) by port: it holds tasks, or did a moment ago */
};

/* In construct. 0, -WEIR_EPORTS or -WEIR_ENOMEM. */
int weir_rq_load_construct(struct weir_instance weir_mem *self,
			   struct weir_rq_loads weir_mem *loads);
/* In take_state: go on with the averages of @old. */
int weir_rq_load_take(struct weir_rq_loads weir_mem *loads,
		      const struct weir_rq_loads weir_mem *old);

/* Up to @now, ns, the task was what it was. */
WEIR_INLINE void weir_rq_load_track(struct weir_rq_load_task weir_mem *p, u64 now)
{
	weir_pelt_update(&p->pelt, now, weir_rq_load_weight(p) != 0, weir_load(&p->running));
}

/* From @now on, ns, the task is runnable with @weight in out-pipe @port - 1; 0: in none. O(1). */
int weir_rq_load_enter(struct weir_rq_loads weir_mem *loads, struct weir_rq_load_task weir_mem *p,
		       u32 port, u32 weight, u64 now);
/* The task is not runnable any more; where it was is remembered. O(1). */
int weir_rq_load_leave(struct weir_rq_loads weir_mem *loads, struct weir_rq_load_task weir_mem *p);
/* Mean load behind the pipe that leads to @cpu, as it is at @now, ns; more than any load where none does. O(1). */
u64 weir_rq_load_of(struct weir_rq_loads weir_mem *loads, u32 cpu, u64 now);

/* @load as it weighs on @cpu: on one of half the capacity it is twice as much. */
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

/* Tasks in the pipe beyond the one that a CPU which runs none of them is about to take. */
u32 weir_pipe_spare(struct weir_pipe weir_mem *pipe);
/*
 * The out-pipe with most load for its CPU's capacity of those that can spare a task and lie at most @far from @cpu and no
 * nearer than @near (weir_distance()): 1 + its port; 0: there is none. O(pipes with tasks).
 */
u32 weir_rq_load_busiest(struct weir_rq_loads weir_mem *loads, u32 cpu, u32 near, u32 far);
/*
 * The out-pipe for a task without history: of a core that is idle, else of an idle CPU, else with the least load for the
 * CPU's capacity; near @here among equals. 1 + its port; 0: @mask (null: all) has no CPU. O(out-pipes).
 */
u32 weir_rq_load_idlest(struct weir_rq_loads weir_mem *loads, u32 here,
			const struct weir_cpumask weir_mem *mask);

#endif
