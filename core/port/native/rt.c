/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The functions of runtime.h for programs with more than one runtime: each scheduler has its own, to which its cookie points.
 * This file is an archive member of its own: a program that defines these functions itself links without it.
 */
#include <weir/runtime.h>
#include <weir/schedule.h>

struct weir_host_runtime;

/* Shared with Rust: weir-core's runtime.rs. */
struct weir_host_ops {
	u64 (*now)(struct weir_host_runtime *rt);
	void (*message)(struct weir_host_runtime *rt, const struct weir_msg *msg);
	void (*timer)(struct weir_host_runtime *rt, u32 instance, u64 at_ns);
};

struct weir_host_runtime {
	const struct weir_host_ops *ops; /* (c) */
};

/* Null where the scheduler was handed over: it is not called here any more. */
static struct weir_host_runtime *runtime_of(const struct weir_sched *s)
{
	return (struct weir_host_runtime *)s->cookie;
}

u64 weir_rt_now(struct weir_sched *s)
{
	struct weir_host_runtime *rt = runtime_of(s);

	return rt ? rt->ops->now(rt) : 0;
}

void weir_rt_message(struct weir_sched *s, const struct weir_msg *msg)
{
	struct weir_host_runtime *rt = runtime_of(s);

	if (rt)
		rt->ops->message(rt, msg);
}

void weir_rt_timer(struct weir_sched *s, u32 instance, u64 at_ns)
{
	struct weir_host_runtime *rt = runtime_of(s);

	if (rt)
		rt->ops->timer(rt, instance, at_ns);
}
