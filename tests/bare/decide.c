/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The same decisions on every processor: each plan gets a random history, drawn from its number, and everything that the core answers goes into
 * a sum. Built for this machine and for a bare hart, both print the same lines. The platform gives the plans and prints.
 */
#include "decide.h"

#include <weir/runtime.h>
#include <weir/schedule.h>

#include "plan.h"

#define TASKS	 20
#define MAX_CPUS 64
#define ARENA	 (16ull << 20)
#define ROOM	 (8ull << 20)

extern const u32 weir_nr_descriptors;
void weir_host_classes(struct weir_class *out);
void weir_host_setup(struct weir_sched *s, u64 cookie, u64 rt_topics);

enum state { NONE, READY, RUNS, BLOCKED };

static u64 dice, sum, clock;
static struct {
	u64 at;
} timers[4096];
static struct {
	struct weir_task *t;
	enum state state;
	u32 cpu;
} task[TASKS];
static u32 running[MAX_CPUS]; /* task + 1 */

static void mix(u64 v)
{
	sum = (sum ^ v) * 0x100000001b3ull;
}

static u32 draw(u32 n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (u32)(dice >> 32) % n;
}

u64 weir_rt_now(struct weir_sched *s)
{
	(void)s;
	return clock;
}

void weir_rt_message(struct weir_sched *s, const struct weir_msg *msg)
{
	(void)s;
	mix(msg->topic);
	mix(msg->cpu);
	mix(msg->value);
}

void weir_rt_timer(struct weir_sched *s, u32 instance, u64 at)
{
	(void)s;
	mix(at);
	if (instance < sizeof(timers) / sizeof(timers[0]))
		timers[instance].at = at;
}

static void publish(struct weir_sched *s, u32 topic, u32 n, u64 value, u64 value2)
{
	struct weir_msg msg = { .topic = topic,
				.cpu = WEIR_NO_CPU,
				.task = task[n].t,
				.value = value,
				.value2 = value2 };

	mix((u64)weir_notify(s, 0, &msg));
}

static void pass(struct weir_sched *s, u64 ns, u32 nr)
{
	clock += ns;
	for (u32 i = 0; i < nr; i++)
		if (timers[i].at && timers[i].at <= clock) {
			timers[i].at = 0;
			weir_timer_expired(s, 0, i);
		}
}

static void take(struct weir_sched *s, u32 cpu)
{
	struct weir_task *t;

	if (running[cpu])
		return;
	t = weir_pick(s, cpu, cpu);
	mix(t ? t->cookie + 1 : 0);
	if (!t)
		return;
	mix(t->slice_ns);
	mix(t->key);
	task[t->cookie].state = RUNS;
	task[t->cookie].cpu = cpu;
	running[cpu] = (u32)t->cookie + 1;
}

static void step(struct weir_sched *s, u32 nr_cpus, u32 nr_instances)
{
	u32 n = draw(TASKS), what = draw(16);

	switch (what) {
	case 0:
	case 1:
		if (task[n].state == NONE) {
			task[n].t = weir_task_new(s, 0, n);
			if (draw(2))
				publish(s, WEIR_TOPIC_PRIORITY, n, draw(9), 0);
			mix((u64)weir_admit(s, draw(nr_cpus), task[n].t));
			task[n].state = READY;
		} else if (task[n].state == BLOCKED) {
			mix((u64)weir_unblock(s, draw(nr_cpus), task[n].t));
			task[n].state = READY;
		}
		break;
	case 2:
		if (task[n].state == RUNS) {
			mix((u64)weir_relinquish(s, task[n].cpu, task[n].t));
			running[task[n].cpu] = 0;
			task[n].state = READY;
		}
		break;
	case 3:
		if (task[n].state == RUNS || task[n].state == READY) {
			if (task[n].state == RUNS)
				running[task[n].cpu] = 0;
			mix((u64)weir_block(s, task[n].state == RUNS ? task[n].cpu : 0, task[n].t));
			task[n].state = BLOCKED;
		}
		break;
	case 4:
		if (task[n].state != NONE && draw(4) == 0) {
			if (task[n].state == RUNS)
				running[task[n].cpu] = 0;
			mix((u64)weir_exit(s, task[n].state == RUNS ? task[n].cpu : 0, task[n].t));
			task[n].state = NONE;
		}
		break;
	case 5:
		if (task[n].state != NONE)
			publish(s, WEIR_TOPIC_PRIORITY, n, draw(9), 0);
		break;
	case 6:
		if (task[n].state != NONE) {
			publish(s, WEIR_TOPIC_JOB, n, 1000000 + draw(1000000), 20000000);
			publish(s, WEIR_TOPIC_DEADLINE, n, clock + 20000000,
				20000000 + draw(5000000));
		}
		break;
	case 7:
		if (task[n].state != NONE)
			publish(s, WEIR_TOPIC_WEIGHT, n, 64u << draw(6), 0);
		break;
	case 8: {
		struct weir_msg msg = { .topic = WEIR_TOPIC_TICK, .cpu = draw(nr_cpus) };

		mix((u64)weir_notify(s, msg.cpu, &msg));
		break;
	}
	case 9:
		pass(s, 100000 + draw(4000000), nr_instances);
		break;
	default:
		take(s, draw(nr_cpus));
	}
}

/* One plan; what came of it. 0: it was not for us. */
static u64 history(const void *blob, u64 bytes, u32 number, u32 steps)
{
	struct weir_config c = { .seed = 1,
				 .nr_classes = weir_nr_descriptors,
				 .arena_bytes = ARENA };
	u64 room = weir_plan_room(blob, bytes, 0);
	struct weir_swap_stats stats;
	struct weir_plan plan;
	struct weir_sched *s = (struct weir_sched *)decide_arena;
	struct weir_class *classes = (struct weir_class *)decide_room;
	void *tables = decide_room + (2ull << 20);

	for (u64 i = 0; i < ARENA / 8; i++)
		((u64 *)decide_arena)[i] = 0;
	for (u64 i = 0; i < ROOM / 8; i++)
		((u64 *)decide_room)[i] = 0;
	for (u32 i = 0; i < TASKS; i++)
		task[i].state = NONE;
	for (u32 i = 0; i < MAX_CPUS; i++)
		running[i] = 0;
	for (u32 i = 0; i < sizeof(timers) / sizeof(timers[0]); i++)
		timers[i].at = 0;
	clock = 0;
	dice = 0x9e3779b97f4a7c15ull + number;
	sum = 0xcbf29ce484222325ull;
	if (!room || room > ROOM - (2ull << 20) ||
	    weir_plan_load(blob, bytes, 0, tables, room, &plan) || plan.nr_cpus > MAX_CPUS)
		return 0;
	weir_host_classes(classes);
	c.classes = classes;
	c.nr_cpus = plan.nr_cpus;
	if (weir_init(s, &c))
		return 0;
	weir_host_setup(s, 0,
			WEIR_TOPIC_BIT(KICK) | WEIR_TOPIC_BIT(PREEMPT) |
				WEIR_TOPIC_BIT(DEADLINE_MISS));
	if (weir_swap(s, 0, &plan, &stats))
		return 0;
	for (u32 i = 0; i < steps; i++) {
		step(s, plan.nr_cpus, plan.nr_instances);
		if (i % 64 == 0)
			mix((u64)weir_check(s));
	}
	return sum;
}

void decide(const void *plans, u32 steps)
{
	const u8 *at = plans;

	for (u32 number = 0;; number++) {
		u64 bytes = *(const u64 *)at;
		char line[64];
		u64 result;
		u32 n = 0;

		if (!bytes)
			return;
		at += 8;
		result = history(at, bytes, number, steps);
		for (const char *name = weir_plan_name(at); *name && n < 40; name++)
			line[n++] = *name;
		line[n++] = ' ';
		for (u32 i = 0; i < 16; i++)
			line[n++] = "0123456789abcdef"[result >> (60 - 4 * i) & 15];
		line[n++] = '\n';
		decide_print(line, n);
		at += (bytes + 7) & ~7ull;
	}
}
