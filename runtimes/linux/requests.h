/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Requests of the loader, one at a time, carried out by the next dispatch on any CPU. */
#ifndef WEIR_LINUX_REQUESTS_H
#define WEIR_LINUX_REQUESTS_H

#include "cpus.h"
#include "groups.h"

enum weir_linux_rest {
	WEIR_LINUX_NO_REST,
	WEIR_LINUX_REST_OF_SWAP,
	WEIR_LINUX_REST_OF_NOTIFY,
	WEIR_LINUX_REST_OF_ASK
};

/* Null: one instance is to be replaced. */
static const struct weir_plan weir_mem *swap_plan(const struct weir_live_request *r)
{
	return r->kind == WEIR_LIVE_SWAP ? (const struct weir_plan weir_mem *)r->plan : 0;
}

static int begin_swap(struct weir_live_request *r)
{
	struct weir_replacement with = { .instance = r->instance,
					 .class = r->class,
					 .params = (const u64 weir_mem *)r->plan };
	u32 cpu = weir_port_cpu();
	int err;

	/* (Its value adds up the pauses of attempts that gave up.) */
	if (r->attempts == 1)
		r->value = 0;
	err = r->kind == WEIR_LIVE_SWAP
		      ? weir_swap_begin(SCHED, cpu, (const struct weir_plan weir_mem *)r->plan,
					&r->stats)
		      : weir_swap_instance_begin(SCHED, cpu, &with, &r->stats);
	if (err) {
		r->value += r->stats.pause_ns;
		r->stats.pause_ns = r->value;
	}
	return err;
}

/* The new graph, or instance, is in use. */
WEIR_GLOBAL int weir_linux_swapped(void)
{
	struct weir_live_request *r = &weir_live.request;

	weir_fetch_add(&weir_live.swaps, 1);
	weir_linux_republish_groups();
	report(WEIR_EVENT_SWAP, weir_port_cpu(), WEIR_NO_TASK, r->stats.represented,
	       r->stats.pause_ns);
	r->stats.pause_ns += r->value;
	return 0;
}

/* The place of a request's topic. (Swaps are requests, too, so topics do not change meanwhile.) */
static int topic_of(const struct weir_live_request *r)
{
	return r->uuid ? weir_topic_find(SCHED, r->uuid, r->version) : (int)r->topic;
}

static int begin_notify(struct weir_live_request *r)
{
	struct weir_msg msg = { .cpu = r->cpu, .value = r->value, .value2 = r->value2 };
	int topic = topic_of(r);
	int err;

	if (topic < 0)
		return topic;
	err = weir_topic_for_users(SCHED, topic);
	if (err)
		return err;
	msg.topic = topic;
	if (r->uuid)
		msg.data = (const void weir_mem *)r->plan;
	else if (r->topic == WEIR_TOPIC_AFFINITY && r->plan)
		msg.mask = (const struct weir_cpumask weir_mem *)r->plan;
	if (r->task != WEIR_NO_TASK) {
		msg.task = weir_task_get(SCHED, r->task);
		if (!msg.task)
			return -WEIR_ENOENT;
	}
	err = weir_notify_begin(SCHED, weir_port_cpu(), &msg);
	/* Messages of other topics reach this runtime through weir_rt_message(). */
	if (!err && !r->uuid && !(SCHED->rt_topics >> (r->topic & 63) & 1))
		report(WEIR_EVENT_MESSAGE, r->cpu == WEIR_NO_CPU ? weir_port_cpu() : r->cpu,
		       r->task, r->topic, r->value);
	return err;
}

/* Answer a query of the loader. Called beside the dispatch that serves it, like everything that calls a component. */
WEIR_GLOBAL int weir_linux_ask(void)
{
	struct weir_live_request *r = &weir_live.request;
	struct weir_msg msg = { .cpu = r->cpu, .value = r->value, .value2 = r->value2 };
	int topic = topic_of(r);
	u64 bytes;
	int err;

	r->bytes = 0;
	if (topic < 0)
		return topic;
	msg.topic = topic;
	if (r->task != WEIR_NO_TASK) {
		msg.task = weir_task_get(SCHED, r->task);
		if (!msg.task)
			return -WEIR_ENOENT;
	}
	err = weir_ask(SCHED, weir_port_cpu(), &msg);
	if (err)
		return err;
	r->value = msg.value;
	r->value2 = msg.value2;
	bytes = weir_payload_bytes(SCHED, topic);
	if (msg.data && bytes && r->plan) {
		weir_copy((void weir_mem *)r->plan, msg.data, bytes);
		r->bytes = bytes;
	}
	return 0;
}

/* Whether another CPU is in a call of the core. (Not the number: the verifier would track the count.) */
static int others_call(void)
{
	struct weir_sched weir_mem *s = SCHED;
	/* On a machine with one CPU the verifier knows its number, and would walk through every turn of the loop. */
	u32 own = weir_unknown(weir_port_cpu());

	for (u32 i = 0; i < weir_load(&s->nr_cpus) && weir_loop; i++)
		if (i != own && weir_load(&s->ctx[i].readers))
			return 1;
	return 0;
}

/*
 * The CPU looks for work. A kick first removes a CPU from the idle set. So a CPU in the set, with no call under way that might be about
 * to kick it, was forgotten; otherwise it had no time to receive the kick, or another CPU had none to send it.
 */
static int rescue(u32 cpu)
{
	struct weir_live_cpu *c = &weir_live.cpus[cpu & (WEIR_MAX_CPUS - 1)];
	int others;

	if (cpu >= weir_live.nr_cpus)
		return -WEIR_EINVAL;
	others = others_call();
	if (weir_mask_clear(SCHED->idle, cpu) && !others)
		weir_fetch_add(&c->rescues, 1);
	else
		weir_fetch_add(&c->overdue, 1);
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	return 0;
}

/* Serve the loader's request as far as it calls no component; returns what is left to do. */
static int begin_request(struct weir_live_request *r)
{
	r->attempts++;
	r->result = 0;
	switch (r->kind) {
	case WEIR_LIVE_SWAP:
	case WEIR_LIVE_REPLACE:
		r->result = begin_swap(r);
		return WEIR_LINUX_REST_OF_SWAP;
	case WEIR_LIVE_AWAY:
		r->result = report_away(r->cpu);
		return WEIR_LINUX_NO_REST;
	case WEIR_LIVE_RESCUE:
		r->result = rescue(r->cpu);
		return WEIR_LINUX_NO_REST;
	case WEIR_LIVE_NOTIFY:
		r->result = begin_notify(r);
		return WEIR_LINUX_REST_OF_NOTIFY;
	case WEIR_LIVE_ASK:
		return WEIR_LINUX_REST_OF_ASK;
	default:
		r->result = -WEIR_EINVAL;
		return WEIR_LINUX_NO_REST;
	}
}

/* The request is done, or must be retried. */
WEIR_GLOBAL int weir_linux_answer_loader(s32 result)
{
	struct weir_live_request *r = &weir_live.request;

	r->result = result;
	if (result == -WEIR_EAGAIN && r->attempts < WEIR_LIVE_ATTEMPTS) {
		/* The CPU that did not finish may not be running: another dispatch tries again. */
		*(volatile u32 *)&r->state = WEIR_LIVE_POSTED;
		return 0;
	}
	r->done_ns = bpf_ktime_get_ns();
	COUNT(requests);
	weir_fence();
	*(volatile u32 *)&r->state = WEIR_LIVE_DONE;
	return 0;
}

/* (A separate function: a dispatch without a request needs the stack for its other calls.) */
WEIR_GLOBAL int weir_linux_take_request(void)
{
	struct weir_live_request *r = &weir_live.request;
	int rest;

	if (weir_cas(&r->state, WEIR_LIVE_POSTED, WEIR_LIVE_UNDER_WAY) != WEIR_LIVE_POSTED)
		return WEIR_LINUX_NO_REST;
	rest = begin_request(r);
	if (rest && !r->result)
		return rest;
	weir_linux_answer_loader(r->result);
	return WEIR_LINUX_NO_REST;
}

WEIR_INLINE void serve_loader(void)
{
	int err = 0;

	call_begins(WEIR_CALL_SWAP);
	switch (weir_linux_take_request()) {
	case WEIR_LINUX_NO_REST:
		return;
	case WEIR_LINUX_REST_OF_SWAP:
		err = weir_swap_end(SCHED, swap_plan(&weir_live.request), &weir_live.request.stats);
		if (!err)
			weir_linux_swapped();
		weir_linux_call_over(WEIR_CALL_SWAP);
		break;
	case WEIR_LINUX_REST_OF_NOTIFY:
		weir_notify_end(SCHED);
		weir_linux_call_over(WEIR_CALL_NOTIFY);
		break;
	case WEIR_LINUX_REST_OF_ASK:
		err = weir_linux_ask();
		break;
	}
	weir_linux_answer_loader(err);
}

#endif
