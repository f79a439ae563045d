/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Common parts of servers: a task's budget and period, and the clock that runs while it is on a CPU.
 * Part of a component's private memory of a task; all under the lock of the instance.
 */
#ifndef WEIR_RESERVE_H
#define WEIR_RESERVE_H

#include <weir/component.h>
#include <weir/cpus.h>

/* Times are kept below this, so that products with rates stay in 64 bits, ns: 4 hours. */
#define WEIR_RESERVE_LONG (1ull << 44)
/* A rate of one CPU of capacity 1024. */
#define WEIR_RESERVE_FULL (1ull << 19)

struct weir_reserve {
	u64 budget;   /* ns of work each period, at capacity 1024; 0: no server */
	u64 period;   /* ns */
	u64 relative; /* ns; deadline */
	u64 wcet;     /* as reported by JOB, for the next DEADLINE */
	u64 within;   /* likewise, the relative deadline */
	u64 since;    /* ns; on a CPU since then */
	u32 running;
	/* it is blocked, or was blocked and has not been handled since */
	u32 idle;
};

/* Take the lock and find the memory of the message's task; null: the message has no task, and the lock is not held. */
WEIR_INLINE void weir_mem *weir_reserve_open(struct weir_instance weir_mem *self,
					     const struct weir_msg *msg)
{
	if (!msg->task || weir_instance_lock(self))
		return 0;
	return weir_priv(self, msg->task);
}

/* Store JOB's values for the next DEADLINE. */
WEIR_INLINE void weir_reserve_job(struct weir_reserve weir_mem *r, const struct weir_msg *msg)
{
	r->wcet = msg->value;
	r->within = msg->value2;
}

/* @part of @whole as a rate, rounded up. */
WEIR_INLINE u64 weir_reserve_rate(u64 part, u64 whole)
{
	if (part > WEIR_RESERVE_LONG)
		part = WEIR_RESERVE_LONG;
	return whole ? (part * WEIR_RESERVE_FULL + whole - 1) / whole : ~0ull;
}

/* @t got @cpu: start its clock. */
WEIR_INLINE void weir_reserve_start(struct weir_sched weir_mem *s, struct weir_reserve weir_mem *r)
{
	r->since = weir_now(s);
	r->running = 1;
	r->idle = 0;
}

/* Work since the last charge of @t, which is on a CPU or was until now, ns. @stop: stop its clock. */
WEIR_INLINE u64 weir_reserve_charge(struct weir_sched weir_mem *s, struct weir_reserve weir_mem *r,
				    struct weir_task weir_mem *t, int stop)
{
	u64 now = weir_now(s), ran = 0;
	u32 cpu = weir_last_cpu(t);

	if (r->running && now > r->since && cpu < weir_nr_cpus(s))
		ran = (now - r->since) * weir_cpu_capacity(s, cpu) >> 10;
	r->since = now;
	if (stop)
		r->running = 0;
	return ran;
}

/* The time that @work takes on @cpu, rounded up, at least 1. */
WEIR_INLINE u64 weir_reserve_time(struct weir_sched weir_mem *s, u32 cpu, u64 work)
{
	u64 capacity = cpu < weir_nr_cpus(s) ? weir_cpu_capacity(s, cpu) : 1024;

	if (!work)
		return 1;
	return work < WEIR_RESERVE_LONG ? (work * 1024 + capacity - 1) / capacity : work;
}

/* Set budget and period from JOB and DEADLINE. 1: they have changed. */
WEIR_INLINE int weir_reserve_learn(struct weir_reserve weir_mem *r, u64 period)
{
	u64 relative = r->within;

	if (!period)
		period = relative;
	if (!relative || relative > period)
		relative = period;
	if (r->budget == r->wcet && r->period == period && r->relative == relative)
		return 0;
	r->budget = r->wcet < period ? r->wcet : period;
	r->period = period;
	r->relative = relative;
	return 1;
}

#endif
