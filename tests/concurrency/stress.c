/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Many threads in one scheduler, for ThreadSanitizer: `stress [seconds [seed]]`.
 *
 * Eight threads make every call of schedule.h, each in the name of its own CPU, and one more replaces
 * the topology and single instances. At the end all stand still and every task is looked for: it
 * must be where its runtime believes it to be, and each that may run is handed out exactly once.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "graphs.h"
#include <weir/runtime.h>

#define NR_CPUS	 8u
#define NR_TASKS 96u
#define SWAPPER	 NR_CPUS
#define ARENA	 (1ull << 30)

#define REQUIRE(cond)                                                                      \
	do {                                                                               \
		if (!(cond)) {                                                             \
			fprintf(stderr, "stress: %s:%d: %s\n", __FILE__, __LINE__, #cond); \
			_exit(1);                                                          \
		}                                                                          \
	} while (0)

/* What the runtime believes of a task. The lock serialises its calls about the task; messages about it overlap with all but its creation and its end. */
enum belief { GONE, BLOCKED, READY };

static struct {
	u32 lock;
	enum belief belief;
	u32 talk;		/* held for a message; taken after `lock` */
	struct weir_task *task; /* changed under both */
} tasks[NR_TASKS];

enum count {
	PICKS,
	HITS,
	ADMITS,
	RELINQUISHES,
	BLOCKS,
	EXITS,
	NOTES,
	SWAPS,
	REPLACEMENTS,
	KICKS,
	PREEMPTS,
	HANDED,
	NR_COUNTS
};
static const char *const count_names[] = { "picks",	   "hits",  "admits",	     "relinquishes",
					   "blocks",	   "exits", "notifications", "swaps",
					   "replacements", "kicks", "preempts",	     "hand-overs" };
static u64 counts[NR_COUNTS];

static struct weir_sched *sched;
static struct plan plans[4];
static u32 awake[NR_CPUS]; /* (a) 0: found nothing and waits for a KICK */
static u32 stop;	   /* (a) */

static void count(enum count what)
{
	weir_fetch_add(&counts[what], 1);
}

/* --- the runtime --------------------------------------------------------------------------------- */

u64 weir_rt_now(struct weir_sched *s)
{
	struct timespec t;

	(void)s;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

void weir_rt_message(struct weir_sched *s, const struct weir_msg *msg)
{
	(void)s;
	if (msg->topic == WEIR_TOPIC_PREEMPT) {
		count(PREEMPTS);
		return;
	}
	count(KICKS);
	weir_store(&awake[msg->cpu], 1);
}

void weir_rt_timer(struct weir_sched *s, u32 instance, u64 at_ns)
{
	(void)s;
	(void)instance;
	(void)at_ns;
}

/* xorshift64 (Marsaglia, "Xorshift RNGs", 2003). */
static u32 below(u64 *random, u32 n)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (*random >> 32) % n;
}

static void random_mask(u64 *random, struct weir_cpumask *mask)
{
	*mask = (struct weir_cpumask){ 0 };
	do
		mask->word[0] = below(random, 1u << NR_CPUS);
	while (!mask->word[0]);
}

static int notify_task(u32 cpu, struct weir_task *t, u32 topic, u64 value,
		       const struct weir_cpumask *mask)
{
	struct weir_msg msg = {
		.topic = topic, .cpu = cpu, .task = t, .value = value, .mask = mask
	};

	count(NOTES);
	return weir_notify(sched, cpu, &msg);
}

/* --- operations ---------------------------------------------------------------------------------- */

static void task_exit(u32 cpu, u32 i)
{
	count(EXITS);
	weir_spin_lock(&tasks[i].talk);
	REQUIRE(!weir_exit(sched, cpu, tasks[i].task));
	tasks[i].task = 0;
	weir_spin_unlock(&tasks[i].talk);
	tasks[i].belief = GONE;
}

static void task_block(u32 cpu, u32 i)
{
	count(BLOCKS);
	REQUIRE(!weir_block(sched, cpu, tasks[i].task));
	tasks[i].belief = BLOCKED;
}

/* Calls about any task, from any CPU. The task's lock is held. */
static void step_task(u32 cpu, u32 i, u64 *random)
{
	switch (tasks[i].belief) {
	case GONE:
		weir_spin_lock(&tasks[i].talk);
		tasks[i].task = weir_task_new(sched, cpu, i);
		REQUIRE(tasks[i].task);
		weir_spin_unlock(&tasks[i].talk);
		tasks[i].belief = BLOCKED;
		/* fall through */
	case BLOCKED:
		if (below(random, 16) == 0) {
			task_exit(cpu, i);
			break;
		}
		count(ADMITS);
		if (below(random, 2))
			REQUIRE(!weir_admit(sched, cpu, tasks[i].task));
		else
			REQUIRE(!weir_unblock(sched, cpu, tasks[i].task));
		tasks[i].belief = READY;
		REQUIRE(weir_admit(sched, cpu, tasks[i].task) == -WEIR_ESTATE);
		break;
	case READY:
		if (below(random, 4) == 0)
			task_exit(cpu, i);
		else
			task_block(cpu, i);
		break;
	}
}

static void note(u32 cpu, struct weir_task *t, u64 *random)
{
	struct weir_cpumask mask;

	switch (below(random, 4)) {
	case 0:
		random_mask(random, &mask);
		notify_task(cpu, t, WEIR_TOPIC_AFFINITY, 0, &mask);
		break;
	case 1:
		notify_task(cpu, t, WEIR_TOPIC_AFFINITY, 0, 0);
		break;
	case 2:
		notify_task(cpu, t, WEIR_TOPIC_PRIORITY, below(random, 4), 0);
		break;
	default:
		notify_task(cpu, t, WEIR_TOPIC_DEADLINE, 1 + below(random, 1000), 0);
		break;
	}
}

static void step_note(u32 cpu, u32 i, u64 *random)
{
	weir_spin_lock(&tasks[i].talk);
	if (tasks[i].task)
		note(cpu, tasks[i].task, random);
	weir_spin_unlock(&tasks[i].talk);
}

/* From task @i, whose lock is held, to another one, if its lock is free to take in the order of numbers. */
static void step_hand_over(u32 cpu, u32 i, u64 *random)
{
	u32 to = below(random, NR_TASKS);
	int err;

	if (to <= i)
		return;
	weir_spin_lock(&tasks[to].lock);
	if (tasks[to].belief != GONE && weir_load(&sched->cpus[cpu].curr) != tasks[to].task &&
	    !weir_runs(tasks[to].task)) {
		err = weir_hand_over(sched, cpu, tasks[i].task, tasks[to].task);
		REQUIRE(err == 0 || err == 1);
		REQUIRE(err || weir_load(&sched->cpus[cpu].curr) == tasks[to].task);
		tasks[to].belief = READY;
		if (!err)
			count(HANDED);
	}
	weir_spin_unlock(&tasks[to].lock);
}

/* The CPU gives up what it runs, unless another CPU has taken that off it, and asks for the next task. */
static void step_schedule(u32 cpu, u64 *random)
{
	struct weir_task *t = weir_load(&sched->cpus[cpu].curr);

	if (t) {
		u32 i = weir_load(&t->cookie);

		weir_spin_lock(&tasks[i].lock);
		if (weir_load(&sched->cpus[cpu].curr) == t && tasks[i].task == t) {
			switch (below(random, 8)) {
			case 0:
				task_exit(cpu, i);
				break;
			case 1:
			case 2:
				task_block(cpu, i);
				break;
			case 3:
				step_hand_over(cpu, i, random);
				break;
			default:
				count(RELINQUISHES);
				REQUIRE(!weir_relinquish(sched, cpu, t));
				break;
			}
		}
		weir_spin_unlock(&tasks[i].lock);
		if (weir_load(&sched->cpus[cpu].curr))
			return; /* its record was used again meanwhile */
	}
	if (!weir_load(&awake[cpu]))
		return;
	count(PICKS);
	weir_store(&awake[cpu], 0);
	if (weir_pick(sched, cpu, cpu)) {
		count(HITS);
		weir_store(&awake[cpu], 1);
	}
}

static void step_machine(u32 cpu, u64 *random)
{
	u32 other = 1 + below(random, NR_CPUS - 1); /* CPU 0 stays */
	struct weir_msg msg = { .topic = WEIR_TOPIC_CPU_STATUS,
				.cpu = other,
				.value = below(random, 4) != 0 };
	int id;

	switch (below(random, 5)) {
	case 0:
		count(NOTES);
		REQUIRE(!weir_notify(sched, cpu, &msg));
		weir_store(&awake[other], 1);
		break;
	case 1:
		msg.topic = WEIR_TOPIC_TICK;
		msg.cpu = cpu;
		REQUIRE(!weir_notify(sched, cpu, &msg));
		break;
	case 2:
		msg.topic = WEIR_TOPIC_STATUS;
		msg.value = below(random, 20);
		msg.value2 = 0;
		weir_ask(sched, cpu, &msg);
		break;
	case 3:
		weir_timer_expired(sched, cpu, below(random, 8));
		break;
	default:
		id = weir_topic_register(
			sched, &(struct weir_class_topic){ .uuid = 1000 + below(random, 4),
							   .version = 1 });
		REQUIRE(id > 0);
		if (!weir_topic_hold(sched, (u32)id)) {
			REQUIRE(weir_topic_remove(sched, (u32)id) == -WEIR_EBUSY);
			REQUIRE(!weir_topic_release(sched, (u32)id));
		}
		weir_topic_remove(sched, (u32)id);
		break;
	}
}

struct worker {
	pthread_t thread;
	u32 cpu;
	u64 random;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	while (!weir_load(&stop)) {
		u32 what = below(&w->random, 100), i = below(&w->random, NR_TASKS);

		if (what < 45) {
			step_schedule(w->cpu, &w->random);
		} else if (what < 75) {
			weir_spin_lock(&tasks[i].lock);
			step_task(w->cpu, i, &w->random);
			weir_spin_unlock(&tasks[i].lock);
		} else if (what < 98) {
			step_note(w->cpu, i, &w->random);
		} else {
			step_machine(w->cpu, &w->random);
		}
	}
	return 0;
}

/* --- reconfiguration ------------------------------------------------------------------------------- */

static void swap_to(u32 n)
{
	struct weir_swap_stats stats;

	count(SWAPS);
	REQUIRE(!weir_swap(sched, SWAPPER, &plans[n].tables, &stats));
}

/* One order component for another, or for itself. */
static void replace_one(const struct plan *p, u64 *random)
{
	static const char *const orders[] = { "head_queue", "round_robin", "priority_order",
					      "fifo" };
	static const u64 params[WEIR_MAX_PARAMS] = { 3000000 };
	struct weir_replacement with = { .instance = below(random, p->tables.nr_instances),
					 .params = params };
	struct weir_swap_stats stats;
	u32 class = p->instances[with.instance].class;

	with.class = class;
	for (u32 i = 0; i < 4; i++)
		if (class == plan_class(orders[i]))
			with.class = plan_class(orders[below(random, 4)]);
	/* That needs an answer to PRIORITY, which this topology lacks. */
	if (with.class == plan_class("priority_order") && p == &plans[3])
		return;
	count(REPLACEMENTS);
	REQUIRE(!weir_swap_instance(sched, SWAPPER, &with, &stats));
}

static void *reconfigure(void *arg)
{
	struct worker *w = arg;
	u32 now = 0;

	while (!weir_load(&stop)) {
		usleep(below(&w->random, 3000));
		if (below(&w->random, 3) == 0) {
			now = below(&w->random, 4);
			swap_to(now);
		} else {
			replace_one(&plans[now], &w->random);
		}
	}
	return 0;
}

/* --- what must hold at the end ------------------------------------------------------------------- */

static void check(void)
{
	int line = weir_check(sched);

	if (line) {
		fprintf(stderr, "stress: core/src/check.c:%d does not hold\n", line);
		_exit(1);
	}
	REQUIRE(!sched->faults);
	REQUIRE(!sched->lost_messages);
}

/* A CPU that waits for a KICK has nothing that it may run in its own exit; a lost one would show here. */
static void check_wakeups(void)
{
	for (u32 c = 0; c < NR_CPUS; c++) {
		struct weir_pipe *exit = &sched->graph->pipes[sched->graph->cpus[c].exit];
		struct weir_task *t;

		if (awake[c] || !sched->cpus[c].online)
			continue;
		REQUIRE(!sched->cpus[c].curr);
		weir_for_task(t, exit) {
			struct weir_msg msg = { .topic = WEIR_TOPIC_AFFINITY, .task = t };

			REQUIRE(!weir_ask(sched, SWAPPER, &msg));
			REQUIRE(msg.mask && !weir_mask_test(msg.mask, c));
		}
	}
}

static u32 alive(void)
{
	u32 nr = 0;

	for (u32 i = 0; i < NR_TASKS; i++)
		nr += tasks[i].belief != GONE;
	return nr;
}

/* Belief and state agree. */
static void check_beliefs(void)
{
	for (u32 i = 0; i < NR_TASKS; i++) {
		u32 state = tasks[i].task ? weir_state(tasks[i].task) : WEIR_FREE;

		REQUIRE(!tasks[i].lock);
		if (tasks[i].belief == GONE)
			continue;
		REQUIRE(tasks[i].task->cookie == i);
		if (tasks[i].belief == BLOCKED)
			REQUIRE(state == WEIR_UNCONSIDERED);
		else
			REQUIRE(state == WEIR_SCHEDULABLE || state == WEIR_RUNNING);
	}
	/* (The record of one that has ended may wait in a postponed pipe.) */
	REQUIRE(alive() <= sched->nr_tasks);
}

/* Every task that may run is handed out exactly once. */
static void check_conservation(void)
{
	u32 seen[NR_TASKS] = { 0 };
	u32 idle = 0;

	for (u32 c = 0; c < NR_CPUS; c++) {
		struct weir_msg msg = { .topic = WEIR_TOPIC_CPU_STATUS, .cpu = c, .value = 1 };
		struct weir_task *t = sched->cpus[c].curr;

		REQUIRE(!weir_notify(sched, SWAPPER, &msg));
		if (!t)
			continue;
		seen[t->cookie]++;
		REQUIRE(!weir_block(sched, c, t));
	}
	for (u32 i = 0; i < NR_TASKS; i++)
		if (tasks[i].belief != GONE)
			REQUIRE(!notify_task(SWAPPER, tasks[i].task, WEIR_TOPIC_AFFINITY, 0, 0));
	check();
	for (u32 c = 0; idle < NR_CPUS; c = (c + 1) % NR_CPUS) {
		struct weir_task *t = weir_pick(sched, c, c);

		idle = t ? 0 : idle + 1;
		if (!t)
			continue;
		seen[t->cookie]++;
		REQUIRE(!weir_block(sched, c, t));
	}
	for (u32 i = 0; i < NR_TASKS; i++)
		REQUIRE(seen[i] == (tasks[i].belief == READY));
	REQUIRE(alive() == sched->nr_tasks);
	check();
}

/* Swaps give back all that they take. */
static void check_leaks(void)
{
	u64 before = 0;

	for (u32 i = 0; i < 4; i++) {
		u64 live;

		swap_to(1);
		swap_to(2);
		swap_to(0);
		live = sched->used - sched->freed;
		REQUIRE(i < 2 || live == before);
		before = live;
	}
	check();
}

int main(int argc, char **argv)
{
	u32 seconds = argc > 1 ? (u32)atoi(argv[1]) : 10;
	u64 seed = argc > 2 ? strtoull(argv[2], 0, 10) : 1;
	struct worker workers[NR_CPUS + 1];

	alarm(4 * seconds + 60); /* threads that wait for each other for ever */
	graph_balanced(&plans[0], NR_CPUS);
	graph_shared(&plans[1], NR_CPUS);
	graph_stealing(&plans[2], NR_CPUS);
	graph_postponed(&plans[3], NR_CPUS);
	sched = plan_sched(NR_CPUS + 1, ARENA, seed);
	sched->rt_topics = WEIR_TOPIC_BIT(KICK) | WEIR_TOPIC_BIT(PREEMPT);
	swap_to(0);
	for (u32 c = 0; c < NR_CPUS; c++)
		awake[c] = 1;
	for (u32 c = 0; c <= NR_CPUS; c++) {
		workers[c].cpu = c;
		workers[c].random = (seed * 64 + c + 1) * 0x9e3779b97f4a7c15ull;
		REQUIRE(!pthread_create(&workers[c].thread, 0, c == SWAPPER ? reconfigure : work,
					&workers[c]));
	}
	sleep(seconds);
	weir_store(&stop, 1);
	for (u32 c = 0; c <= NR_CPUS; c++)
		REQUIRE(!pthread_join(workers[c].thread, 0));
	check();
	check_beliefs();
	check_wakeups();
	check_conservation();
	check_leaks();
	printf("stress: %u s, seed %llu:", seconds, (unsigned long long)seed);
	for (u32 i = 0; i < NR_COUNTS; i++)
		printf(" %llu %s%s", (unsigned long long)counts[i], count_names[i],
		       i + 1 < NR_COUNTS ? "," : "\n");
	return 0;
}
