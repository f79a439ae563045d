/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A cycle of relinquish and pick, without Rust, to count its instructions, beside the yardsticks of bench/hand:
 *
 *   cycles [hand-]decentral CPUS N | [hand-]block CPUS N | [hand-]edf CPUS N | [hand-]eevdf WAITING N | chain STAGES N
 *
 * under valgrind --tool=callgrind, with two N: the difference is what the further cycles take (tools/count-cycles.sh).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

#define QUEUED	  16
#define MAX_TASKS 1100

static struct plan p;
static u64 now;

u64 weir_rt_now(struct weir_sched *s)
{
	return now;
}

void weir_rt_message(struct weir_sched *s, const struct weir_msg *msg)
{
}

void weir_rt_timer(struct weir_sched *s, u32 instance, u64 at_ns)
{
}

static void chain(u32 stages)
{
	u32 stage[8];

	plan_begin(&p, 1);
	for (u32 i = 0; i < stages; i++)
		stage[i] = plan_instance(&p, "head_queue");
	stage[stages] = plan_instance(&p, "termination");
	p.cpus[0].exit = plan_pipe(&p, WEIR_NONE, stage[0]);
	for (u32 i = 0; i < stages; i++)
		p.cpus[0].exit = plan_pipe(&p, stage[i], stage[i + 1]);
}

static void decentral(u32 cpus)
{
	u32 lb, queue[64], end[64];

	plan_begin(&p, cpus);
	plan_instance(&p, "affinity");
	lb = plan_instance(&p, "load_balancer");
	for (u32 i = 0; i < cpus; i++)
		queue[i] = plan_instance(&p, "round_robin");
	for (u32 i = 0; i < cpus; i++)
		end[i] = plan_instance(&p, "termination");
	plan_pipe(&p, WEIR_NONE, lb);
	for (u32 i = 0; i < cpus; i++)
		plan_pipe(&p, lb, queue[i]);
	for (u32 i = 0; i < cpus; i++)
		p.cpus[i].exit = plan_pipe(&p, queue[i], end[i]);
}

/* One order, whose out-pipe all CPUs share. */
static void shared(u32 cpus, const char *order, const char *const *annotators)
{
	u32 exit, queue;

	plan_begin(&p, cpus);
	for (; *annotators; annotators++)
		plan_instance(&p, *annotators);
	queue = plan_instance(&p, order);
	plan_pipe(&p, WEIR_NONE, queue);
	exit = plan_pipe(&p, queue, plan_instance(&p, "termination"));
	for (u32 i = 0; i < cpus; i++)
		p.cpus[i].exit = exit;
}

static struct weir_sched *s;
static struct weir_task *runs[64];
static u64 deadlines[MAX_TASKS], periods[MAX_TASKS];

static void publish(struct weir_task *t, u32 topic, u64 value)
{
	struct weir_msg msg = { .topic = topic, .cpu = WEIR_NO_CPU, .task = t, .value = value };

	if (weir_notify(s, 0, &msg))
		abort();
}

static void ours(u32 kind, u32 cpus, u32 tasks)
{
	struct weir_swap_stats stats;

	plan_end(&p);
	s = plan_sched(cpus, 64 << 20, 1);
	/* What a runtime of a kernel or of threads wants to hear. */
	s->rt_topics = WEIR_TOPIC_BIT(KICK) | WEIR_TOPIC_BIT(PREEMPT);
	if (weir_swap(s, 0, &p.tables, &stats))
		exit(1);
	for (u32 i = 0; i < tasks; i++) {
		struct weir_task *t = weir_task_new(s, 0, i);

		if (kind == 'e')
			publish(t, WEIR_TOPIC_DEADLINE, deadlines[i]);
		if (kind == 'v')
			publish(t, WEIR_TOPIC_PRIORITY, 0);
		if (weir_admit(s, 0, t))
			exit(1);
	}
	for (u32 cpu = 0; cpu < cpus; cpu++)
		runs[cpu] = weir_pick(s, cpu, cpu);
}

/* --- by hand ------------------------------------------------------------------------------------------- */

u64 fused_bytes(void);
void fused_init(void *s, u32 cpus);
u64 fused_task_bytes(void);
void fused_task_init(void *t, u32 id);
u32 fused_task_id(void *t);
int fused_admit(void *s, void *t);
int fused_relinquish(void *s, void *t);
int fused_block(void *s, void *t);
void *fused_pick(void *s, u32 cpu);
u64 edf_hand_bytes(void);
void edf_hand_init(void *s, u32 cpus);
u64 edf_hand_task_bytes(void);
void edf_hand_task_init(void *t, u32 id);
u32 edf_hand_task_id(void *t);
int edf_hand_admit(void *s, void *t);
void edf_hand_deadline(void *s, void *t, u64 deadline);
int edf_hand_relinquish(void *s, void *t);
void *edf_hand_pick(void *s, u32 cpu);
u64 eevdf_hand_bytes(void);
void eevdf_hand_set_now(void *s, u64 now);
u64 eevdf_hand_task_bytes(void);
void eevdf_hand_task_init(void *t, u32 id, u32 weight);
int eevdf_hand_admit(void *s, void *t);
int eevdf_hand_relinquish(void *s, void *t);
void *eevdf_hand_pick(void *s);

static void *hand, *run[64];

static void *room(u64 bytes)
{
	void *r = aligned_alloc(64, (bytes + 63) & ~63ull);

	memset(r, 0, bytes);
	return r;
}

static void by_hand(u32 kind, u32 cpus, u32 tasks)
{
	hand = room(kind == 'e'	  ? edf_hand_bytes()
		    : kind == 'v' ? eevdf_hand_bytes()
				  : fused_bytes());
	if (kind == 'e')
		edf_hand_init(hand, cpus);
	else if (kind != 'v')
		fused_init(hand, cpus);
	for (u32 i = 0; i < tasks; i++) {
		void *t = room(kind == 'e'   ? edf_hand_task_bytes()
			       : kind == 'v' ? eevdf_hand_task_bytes()
					     : fused_task_bytes());

		if (kind == 'e') {
			edf_hand_task_init(t, i);
			edf_hand_deadline(hand, t, deadlines[i]);
			edf_hand_admit(hand, t);
		} else if (kind == 'v') {
			eevdf_hand_task_init(t, i, 1024);
			eevdf_hand_admit(hand, t);
		} else {
			fused_task_init(t, i);
			fused_admit(hand, t);
		}
	}
	for (u32 c = 0; c < cpus; c++)
		run[c] = kind == 'e'   ? edf_hand_pick(hand, c)
			 : kind == 'v' ? eevdf_hand_pick(hand)
				       : fused_pick(hand, c);
}

static void hand_cycle(u32 kind, u32 cpu)
{
	void *t = run[cpu];
	u32 id;

	switch (kind) {
	case 'e':
		id = edf_hand_task_id(t);
		edf_hand_deadline(hand, t, deadlines[id] += periods[id]);
		edf_hand_relinquish(hand, t);
		run[cpu] = edf_hand_pick(hand, cpu);
		return;
	case 'v':
		now += 1000000;
		eevdf_hand_set_now(hand, now);
		eevdf_hand_relinquish(hand, t);
		run[cpu] = eevdf_hand_pick(hand);
		return;
	case 'b':
		fused_block(hand, t);
		fused_admit(hand, t);
		break;
	default:
		fused_relinquish(hand, t);
	}
	run[cpu] = fused_pick(hand, cpu);
}

static void cycle(u32 kind, u32 cpu)
{
	struct weir_task *t = runs[cpu];

	switch (kind) {
	case 'e':
		publish(t, WEIR_TOPIC_DEADLINE, deadlines[t->id] += periods[t->id]);
		break;
	case 'v':
		now += 1000000;
		break;
	case 'b':
		if (weir_block(s, cpu, t) || weir_unblock(s, cpu, t))
			abort();
		runs[cpu] = weir_pick(s, cpu, cpu);
		return;
	}
	if (weir_yield(s, cpu, t, 0, &runs[cpu]))
		abort();
}

int main(int argc, char **argv)
{
	int by = argc > 1 && !strncmp(argv[1], "hand-", 5), show = argc > 4;
	const char *what = argc > 1 ? argv[1] + 5 * by : "";
	u32 n = argc > 2 ? (u32)atoi(argv[2]) : 0, cpus = n, tasks, kind;

	if (argc < 4 || !n || n > 1024)
		return 2;
	kind = !strcmp(what, "eevdf") ? 'v' : (u32)what[0];
	for (u32 i = 0; i < MAX_TASKS; i++)
		deadlines[i] = periods[i] = 10000000 + (u64)i * 7919 % 90 * 1000003;
	if (kind == 'v' || kind == 'c')
		cpus = 1;
	tasks = kind == 'v' ? n + 1 : (QUEUED + 1) * cpus;
	if (by) {
		by_hand(kind, cpus, tasks);
	} else {
		static const char *const of_edf[] = { "affinity", "deadline", 0 };
		static const char *const of_eevdf[] = { "affinity", "weight", "fair", "latency",
							0 };

		if (kind == 'c')
			chain(n);
		else if (kind == 'e')
			shared(cpus, "edf", of_edf);
		else if (kind == 'v')
			shared(1, "eevdf", of_eevdf);
		else
			decentral(cpus);
		ours(kind, cpus, tasks);
	}
	for (u32 i = (u32)atoi(argv[3]), cpu = 0; i > 0; i--, cpu = (cpu + 1) % cpus) {
		if (by)
			hand_cycle(kind, cpu);
		else
			cycle(kind, cpu);
		/* Whose choices they are, to compare one core with another. */
		if (show)
			printf("%u\n", by ? *(u32 *)run[cpu] : runs[cpu]->id);
	}
	return 0;
}
