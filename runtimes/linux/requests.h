/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the loader wishes, one thing at a time, carried out by the next dispatch on any CPU. */
#ifndef WEIR_LINUX_REQUESTS_H
#define WEIR_LINUX_REQUESTS_H

#include "cpus.h"

/* A new graph, or a new instance in the present one. */
WEIR_GLOBAL int weir_linux_reconfigure(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_live_request *r = &weir_live.request;
	struct weir_replacement with = { .instance = r->instance, .class = r->class,
					 .params = (const u64 weir_mem *)r->plan };
	u32 cpu = weir_port_cpu();
	int err;

	err = r->kind == WEIR_LIVE_SWAP ? weir_swap(s, cpu, (const struct weir_plan weir_mem *)r->plan, &r->stats) :
					  weir_swap_instance(s, cpu, &with, &r->stats);
	if (err)
		return err;
	weir_fetch_add(&weir_live.swaps, 1);
	tell(WEIR_EVENT_SWAP, cpu, WEIR_NO_TASK, r->stats.represented, r->stats.pause_ns);
	return 0;
}

/* Carry out what the loader wishes. */
static int carry_out(struct weir_live_request *r)
{
	struct weir_sched weir_mem *s = SCHED;
	struct weir_msg msg;

	switch (r->kind) {
	case WEIR_LIVE_SWAP:
	case WEIR_LIVE_REPLACE:
		return weir_linux_reconfigure(s);
	case WEIR_LIVE_TIMER:
		return weir_timer_expired(s, weir_port_cpu(), r->instance);
	case WEIR_LIVE_AWAY:
		return tell_away(r->cpu);
	case WEIR_LIVE_NOTIFY:
		msg.topic = r->topic;
		msg.cpu = r->cpu;
		msg.task = 0;
		msg.value = r->value;
		msg.value2 = r->value2;
		msg.mask = 0;
		if (r->task != WEIR_NO_TASK) {
			msg.task = weir_task_get(s, r->task);
			if (!msg.task)
				return -WEIR_ENOENT;
		}
		return weir_notify(s, weir_port_cpu(), &msg);
	default:
		return -WEIR_EINVAL;
	}
}

/* (These functions have frames of their own: a dispatch that has nothing to serve needs the room for what it calls.) */
WEIR_GLOBAL int weir_linux_serve_loader(void)
{
	struct weir_live_request *r = &weir_live.request;
	u64 paused = 0;

	if (weir_cas(&r->state, WEIR_LIVE_POSTED, WEIR_LIVE_UNDER_WAY) != WEIR_LIVE_POSTED)
		return 0;
	if (r->attempts++)
		paused = r->stats.pause_ns;
	r->result = carry_out(r);
	r->stats.pause_ns += paused;
	if (r->result == -WEIR_EAGAIN && r->attempts < WEIR_LIVE_ATTEMPTS) {
		/* The CPU that did not come to an end has no turn, perhaps: another dispatch tries again. */
		*(volatile u32 *)&r->state = WEIR_LIVE_POSTED;
		return 0;
	}
	r->done_ns = bpf_ktime_get_ns();
	COUNT(requests);
	weir_fence();
	*(volatile u32 *)&r->state = WEIR_LIVE_DONE;
	return 0;
}

#endif
