/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Timers of components: each instance has a timer of the kernel. It expires in a softirq on any CPU, beside the task that runs
 * there, as in every other runtime: interrupts are off, so no other code on this CPU calls the core meanwhile.
 */
#ifndef WEIR_LINUX_TIMERS_H
#define WEIR_LINUX_TIMERS_H

#include "tasks.h"

struct weir_linux_timer {
	struct bpf_timer timer;
	u32 again; /* the core gave up waiting */
	u32 noted; /* it is due; only if the dispatch runs timers */
};

/* By number of the instance. */
struct {
	int (*type)[2];	       /* BPF_MAP_TYPE_ARRAY */
	int (*max_entries)[1]; /* the loader sets it */
	u32 *key;
	struct weir_linux_timer *value;
} timers SEC(".maps");

/* ns; until another attempt. */
#define TIMER_AGAIN_NS 50000

/*
 * From Linux 6.15 on, detected by another feature of that version, functions that the verifier checks separately may be
 * called with interrupts off. Before, the next dispatch runs the timers, and one is forced at once.
 */
#define TIMERS_AT_ONCE \
	(weir_kernel_has(bpf_local_irq_save___compat) && weir_kernel_has(scx_bpf_events___compat))

/* Whether any timer is marked as due. */
static u32 any_timer_news;
static u32 timers_made;

static void start_timer(struct weir_linux_timer *timer, u64 at_ns)
{
	bpf_timer_start(&timer->timer, at_ns, BPF_F_TIMER_ABS);
}

/* (A disarmed timer expires without effect: cancelling it would mean waiting for it.) */
WEIR_FLAT void weir_rt_timer(struct weir_sched weir_mem *s, u32 instance, u64 at_ns)
{
	struct weir_linux_timer *timer = at_ns ? bpf_map_lookup_elem(&timers, &instance) : 0;

	if (timer)
		start_timer(timer, at_ns);
}

/* The time for which the instance's timer is armed, 0: not armed. */
static u64 armed_for(u32 instance)
{
	struct weir_graph weir_mem *g = SCHED->graph;

	return g && instance < g->nr_instances ? weir_load(&g->instances[instance]->timer_ns) : 0;
}

/* The kernel's timer of an instance has expired; the instance's own may be armed for another time by now, or not at all. */
WEIR_GLOBAL int weir_linux_expired(u32 instance)
{
	struct weir_linux_timer *timer = bpf_map_lookup_elem(&timers, &instance);
	u64 at = armed_for(instance);

	if (!timer)
		return 0;
	if (at <= bpf_ktime_get_ns())
		return at || timer->again;
	/* Or the core's clock is slightly behind the timers' clock. */
	start_timer(timer, at);
	return 0;
}

/* Handle the core's result. */
WEIR_GLOBAL int weir_linux_timer_ran(u32 instance, s32 result)
{
	struct weir_linux_timer *timer = bpf_map_lookup_elem(&timers, &instance);

	if (!timer)
		return 0;
	timer->again = result == -WEIR_EAGAIN;
	if (timer->again)
		start_timer(timer, bpf_ktime_get_ns() + TIMER_AGAIN_NS);
	COUNT(timers);
	go_on();
	return 0;
}

WEIR_INLINE void expire(u32 instance)
{
	if (weir_linux_expired(instance))
		weir_linux_timer_ran(
			instance,
			TIMED(TIMER, weir_timer_expired(SCHED, weir_port_cpu(), instance)));
}

static int timer_expired(void *map, u32 *instance, struct weir_linux_timer *timer)
{
	u64 flags;

	if (TIMERS_AT_ONCE) {
		bpf_local_irq_save___compat(&flags);
		expire(*instance);
		bpf_local_irq_restore___compat(&flags);
	} else {
		*(volatile u32 *)&timer->noted = 1;
		weir_fence();
		weir_live_u32(any_timer_news) = 1;
		scx_bpf_kick_cpu(weir_port_cpu(), SCX_KICK_PREEMPT);
	}
	return 0;
}

/* The next instance from @instance on whose timer is marked; clears the mark. WEIR_NONE: there is none. */
WEIR_GLOBAL u32 weir_linux_noted(u32 instance)
{
	struct weir_graph weir_mem *g = SCHED->graph;

	for (; g && instance < g->nr_instances && weir_loop; instance++) {
		u32 key = instance;
		struct weir_linux_timer *timer = bpf_map_lookup_elem(&timers, &key);

		if (!timer)
			break;
		if (*(volatile u32 *)&timer->noted && weir_cas(&timer->noted, 1, 0) == 1)
			return key;
	}
	return WEIR_NONE;
}

WEIR_INLINE void serve_timers(void)
{
	u32 instance;

	weir_live_u32(any_timer_news) = 0;
	weir_fence();
	for (instance = weir_linux_noted(0); instance != WEIR_NONE && weir_loop;
	     instance = weir_linux_noted(instance + 1))
		expire(instance);
}

/* Before the attachment: no timer has been started yet, but the first graph's components may have armed theirs. */
WEIR_INLINE s32 make_timers(void)
{
	s32 err = 0;

	/* (Counted in memory, where the verifier does not track the count.) */
	for (; !err && weir_loop; weir_live_u32(timers_made)++) {
		u32 instance = weir_live_u32(timers_made);
		struct weir_linux_timer *timer = bpf_map_lookup_elem(&timers, &instance);

		if (!timer)
			break;
		err = bpf_timer_init(&timer->timer, &timers, CLOCK_MONOTONIC);
		if (!err)
			err = bpf_timer_set_callback(&timer->timer, timer_expired);
		if (!err)
			weir_rt_timer(SCHED, instance, armed_for(instance));
	}
	return err;
}

#endif
