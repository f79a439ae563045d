/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is tried: two or three calls at the same time on the smallest graph that can show the fault. */
#include "model.h"

#define ARENA (1ull << 20)
#define CTL   2u /* the CPU that reconfigures */

static struct weir_task *a, *b, *c;
static struct plan first, second;
static const u64 no_params[WEIR_MAX_PARAMS] = { 1000000 };

/* --- graphs: CPUs 0 and 1 run tasks ------------------------------------------------------------ */

static void shared(struct plan *p, const char *annotate, const char *order)
{
	u32 queue, end, exit;

	plan_begin(p, 3);
	plan_instance(p, annotate);
	queue = plan_instance(p, order);
	end = plan_instance(p, "termination");
	plan_pipe(p, WEIR_NONE, queue);
	exit = plan_pipe(p, queue, end);
	p->cpus[0].exit = exit;
	p->cpus[1].exit = exit;
	plan_end(p);
}

/* An entry for each CPU; what comes in on both meets in one pipe, whose log two CPUs write. */
static void merged(struct plan *p, int postponed)
{
	u32 merge, queue, end, exit, middle;

	plan_begin(p, 3);
	merge = plan_instance(p, "merge");
	queue = plan_instance(p, "round_robin");
	end = plan_instance(p, "termination");
	for (u32 cpu = 0; cpu < 3; cpu++)
		p->cpus[cpu].entry = plan_pipe(p, WEIR_NONE, merge);
	middle = plan_pipe(p, merge, queue);
	p->pipes[middle].postponed = (u32)postponed;
	exit = plan_pipe(p, queue, end);
	p->cpus[0].exit = exit;
	p->cpus[1].exit = exit;
	plan_end(p);
}

static void balanced(struct plan *p, const char *balancer, int postponed)
{
	u32 lb, end[2];

	plan_begin(p, 3);
	plan_instance(p, "affinity");
	lb = plan_instance(p, balancer);
	end[0] = plan_instance(p, "termination");
	end[1] = plan_instance(p, "termination");
	plan_pipe(p, WEIR_NONE, lb);
	p->cpus[0].exit = plan_pipe(p, lb, end[0]);
	p->cpus[1].exit = plan_pipe(p, lb, end[1]);
	p->pipes[0].postponed = (u32)postponed;
	plan_end(p);
}

/* An entry for each CPU; what comes in on both meets before a balancer. */
static void merged_balanced(struct plan *p)
{
	u32 merge, lb, end[2];

	plan_begin(p, 3);
	plan_instance(p, "affinity");
	merge = plan_instance(p, "merge");
	lb = plan_instance(p, "load_balancer");
	end[0] = plan_instance(p, "termination");
	end[1] = plan_instance(p, "termination");
	for (u32 cpu = 0; cpu < 3; cpu++)
		p->cpus[cpu].entry = plan_pipe(p, WEIR_NONE, merge);
	plan_pipe(p, merge, lb);
	p->cpus[0].exit = plan_pipe(p, lb, end[0]);
	p->cpus[1].exit = plan_pipe(p, lb, end[1]);
	plan_end(p);
}

/* Tasks without deadlines under a schedule that is planned: they wait before it for a CPU that has nothing else. */
static void planned(struct plan *p)
{
	u32 order, end[2];

	plan_begin(p, 3);
	plan_instance(p, "affinity");
	plan_instance(p, "job");
	plan_instance(p, "deadline");
	order = plan_instance(p, "llref");
	p->params[order * WEIR_MAX_PARAMS + 1] = 4; /* rows */
	end[0] = plan_instance(p, "termination");
	end[1] = plan_instance(p, "termination");
	plan_pipe(p, WEIR_NONE, order);
	p->cpus[0].exit = plan_pipe(p, order, end[0]);
	p->cpus[1].exit = plan_pipe(p, order, end[1]);
	plan_end(p);
}

/* --- steps of set-up ------------------------------------------------------------------------------ */

static void swap(const struct plan *p)
{
	struct weir_swap_stats stats;

	REQUIRE(!weir_swap(sched, CTL, &p->tables, &stats));
}

/* The message comes from CPU @by, as every call of a thread comes from its own. */
static void bind(u32 by, struct weir_task *t, u32 cpu)
{
	struct weir_cpumask mask = { .word = { 1ull << cpu } };
	struct weir_msg msg = { .topic = WEIR_TOPIC_AFFINITY, .task = t, .mask = &mask };

	REQUIRE(!weir_notify(sched, by, &msg));
}

static void set_priority(struct weir_task *t, u64 priority)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_PRIORITY, .task = t, .value = priority };

	REQUIRE(!weir_notify(sched, CTL, &msg));
}

/* Tasks a, b and c; every pipe has had a task, so that no log must grow later. */
static void begin(const struct plan *p)
{
	sched = plan_sched(3, ARENA, 1);
	sched->rt_topics = WEIR_TOPIC_BIT(KICK) | WEIR_TOPIC_BIT(PREEMPT);
	swap(p);
	a = weir_task_new(sched, CTL, 0);
	b = weir_task_new(sched, CTL, 1);
	c = weir_task_new(sched, CTL, 2);
	for (u32 cpu = 0; cpu < 2; cpu++) {
		struct weir_task *t = cpu ? b : a;

		if (p->pipes[p->cpus[0].exit].from == p->pipes[p->cpus[1].exit].from &&
		    p->cpus[0].exit != p->cpus[1].exit)
			bind(CTL, t, cpu);
		REQUIRE(!weir_admit(sched, cpu, t));
		REQUIRE(weir_pick(sched, cpu, cpu) == t);
		REQUIRE(!weir_block(sched, cpu, t));
	}
}

static void begin_shared(void)
{
	shared(&first, "priority", "head_queue");
	begin(&first);
}

static void begin_balanced(void)
{
	balanced(&first, "load_balancer", 0);
	begin(&first);
}

/* CPU @cpu has nothing and waits for a KICK. */
static void make_idle(u32 cpu)
{
	REQUIRE(!weir_pick(sched, cpu, cpu));
}

static void admit(u32 cpu, struct weir_task *t)
{
	REQUIRE(!weir_admit(sched, cpu, t));
}

/* --- what must hold ------------------------------------------------------------------------------ */

static int running(const struct weir_task *t)
{
	return weir_state(t) == WEIR_RUNNING && weir_last_cpu(t) < 2 &&
	       sched->cpus[weir_last_cpu(t)].curr == t;
}

static u32 length(u32 cpu)
{
	return sched->graph->pipes[sched->graph->cpus[cpu].exit].nr;
}

/* Of a home, or of a pipe that has none. */
static int locked(const struct weir_pipe *pipe)
{
	return ((pipe->home ? pipe->home : pipe)->word & 1) != 0;
}

static int waits_in(const struct weir_task *t, u32 cpu)
{
	return weir_pipe_has(&sched->graph->pipes[sched->graph->cpus[cpu].exit], t);
}

/* No task waits in the exit of a CPU that believes that it will be kicked for one. */
static void no_lost_wakeup(u32 cpu)
{
	REQUIRE(!length(cpu) || !weir_mask_test(sched->idle, cpu));
}

/* --- threads -------------------------------------------------------------------------------------- */

static void pick_0(void)
{
	outcome.picked[0] = weir_pick(sched, 0, 0);
}

static void pick_1(void)
{
	outcome.picked[1] = weir_pick(sched, 1, 1);
}

/* What CPU 0 has (nothing, or b) goes to a, if the policy lets it. */
static void hand_a_0(void)
{
	outcome.err[0] = weir_hand_over(sched, 0, 0, a);
	outcome.picked[0] = outcome.err[0] ? 0 : a;
}

static void hand_b_a_0(void)
{
	outcome.err[0] = weir_hand_over(sched, 0, b, a);
	outcome.picked[0] = outcome.err[0] ? 0 : a;
}

static void admit_a_0(void)
{
	admit(0, a);
}

static void admit_a_1(void)
{
	admit(1, a);
}

static void admit_b_1(void)
{
	admit(1, b);
}

static void block_a_1(void)
{
	REQUIRE(!weir_block(sched, 1, a));
}

static void block_a_2(void)
{
	REQUIRE(!weir_block(sched, 2, a));
}

static void block_unblock_a_1(void)
{
	block_a_1();
	REQUIRE(!weir_unblock(sched, 1, a));
}

static void exit_a_1(void)
{
	REQUIRE(!weir_exit(sched, 1, a));
}

static void exit_a_new_1(void)
{
	struct weir_task *t;

	exit_a_1();
	t = weir_task_new(sched, 1, 3);
	REQUIRE(t);
	admit(1, t);
	outcome.picked[2] = t;
}

static void move_a_1(void)
{
	bind(1, a, 1);
}

static void swap_ctl(void)
{
	struct weir_swap_stats stats;

	outcome.err[2] = weir_swap(sched, CTL, &second.tables, &stats);
}

static void swap_1(void)
{
	struct weir_swap_stats stats;

	outcome.err[1] = weir_swap(sched, 1, &second.tables, &stats);
}

static void replace_queue(void)
{
	struct weir_replacement with = { .instance = 1,
					 .class = plan_class("round_robin"),
					 .params = no_params };
	struct weir_swap_stats stats;

	outcome.err[2] = weir_swap_instance(sched, CTL, &with, &stats);
}

/* --- two CPUs, one exit --------------------------------------------------------------------------- */

static void one_task_setup(void)
{
	begin_shared();
	admit(0, a);
}

static void two_tasks_setup(void)
{
	one_task_setup();
	admit(0, b);
}

static void claim_one_check(void)
{
	REQUIRE(running(a));
	REQUIRE(outcome.picked[weir_last_cpu(a)] == a && !outcome.picked[!weir_last_cpu(a)]);
	REQUIRE(weir_mask_test(sched->idle, !weir_last_cpu(a)));
}

static void claim_two_check(void)
{
	REQUIRE(running(a) && running(b) && weir_last_cpu(a) != weir_last_cpu(b));
	REQUIRE(outcome.picked[weir_last_cpu(a)] == a && outcome.picked[weir_last_cpu(b)] == b);
}

static void claim_block_check(void)
{
	REQUIRE(weir_state(a) == WEIR_UNCONSIDERED && !sched->cpus[0].curr);
	REQUIRE(!outcome.picked[0] || outcome.picked[0] == a);
}

static void claim_block_unblock_check(void)
{
	if (running(a))
		REQUIRE(outcome.picked[0] == a && !length(0));
	else
		REQUIRE(weir_state(a) == WEIR_SCHEDULABLE && length(0) == 1);
	no_lost_wakeup(0);
}

static void claim_exit_check(void)
{
	REQUIRE(weir_state(a) == WEIR_FREE && !sched->cpus[0].curr && sched->nr_tasks == 2);
}

static void claim_exit_new_check(void)
{
	struct weir_task *t = outcome.picked[2];

	REQUIRE(sched->nr_tasks == 3);
	REQUIRE(running(t) ? outcome.picked[0] == t
			   : weir_state(t) == WEIR_SCHEDULABLE && length(0) == 1);
	no_lost_wakeup(0);
}

static void three_check(void)
{
	REQUIRE(weir_state(a) == WEIR_UNCONSIDERED && running(b));
	REQUIRE(outcome.picked[weir_last_cpu(b)] == b);
	REQUIRE(!outcome.picked[!weir_last_cpu(b)] || outcome.picked[!weir_last_cpu(b)] == a);
}

/* --- change log ---------------------------------------------------------------------------------- */

static void merged_setup(void)
{
	merged(&first, 0);
	begin(&first);
}

static void merged_idle_setup(void)
{
	merged_setup();
	make_idle(0);
	make_idle(1);
}

static void merged_one_setup(void)
{
	merged_setup();
	admit(0, a);
}

static void merged_postponed_setup(void)
{
	merged(&first, 1);
	begin(&first);
	admit(0, a);
}

static void admit_admit_check(void)
{
	struct weir_pipe *middle = &sched->graph->pipes[3], *exit = &sched->graph->pipes[4];

	REQUIRE(weir_pipe_nr(middle) == 2 && exit->nr == 2 && weir_home_nr(exit) == 2);
	REQUIRE(outcome.kicks[0] == 1 && outcome.kicks[1] == 1);
}

static void admit_b_0(void)
{
	admit(0, b);
}

static void admit_b_2(void)
{
	admit(2, b);
}

/* Where CPU 0 propagates for both, a leaves while its arrival is still in the log. */
static void admit_block_a_1(void)
{
	admit(1, a);
	block_a_1();
}

static void admit_block_check(void)
{
	REQUIRE(weir_state(a) == WEIR_UNCONSIDERED && weir_state(b) == WEIR_SCHEDULABLE &&
		length(0) == 1);
}

static void admit_pick_check(void)
{
	struct weir_task *t = outcome.picked[0];

	REQUIRE(t && running(t));
	REQUIRE(weir_state(t == a ? b : a) == WEIR_SCHEDULABLE);
}

/* The pick may come before both; then it must be woken by one of them. */
static void admit_admit_pick_check(void)
{
	struct weir_task *t = outcome.picked[0];

	REQUIRE(t ? running(t) && length(0) == 1 : length(0) == 2);
	no_lost_wakeup(0);
}

/* --- idleness -------------------------------------------------------------------------------------- */

static void idle_check(void)
{
	REQUIRE(running(a) ? outcome.picked[0] == a : length(0) == 1);
	no_lost_wakeup(0);
}

/* Both tasks are for CPU 0 first, and both CPUs sleep. */
static void near_setup(void)
{
	begin_shared();
	admit(0, b);
	REQUIRE(weir_pick(sched, 0, 0) == b);
	REQUIRE(!weir_block(sched, 0, b));
	make_idle(0);
	make_idle(1);
}

/* None of the two waits beside a CPU that sleeps. */
static void near_check(void)
{
	REQUIRE(length(0) == 2 && outcome.kicks[0] == 1 && outcome.kicks[1] == 1);
}

/* b must run on CPU 0, a may run on CPU 1 as well, which sleeps; both are nearest to CPU 0. */
static void spent_setup(void)
{
	shared(&first, "affinity", "head_queue");
	begin(&first);
	bind(CTL, b, 0);
	make_idle(1);
}

static void admit_b_a_2(void)
{
	admit(2, b);
	admit(2, a);
}

/* No task waits that a sleeping CPU could run, although the kick for it may go to a CPU that has found the other one meanwhile. */
static void spent_check(void)
{
	REQUIRE(length(0) == !outcome.picked[0] + 1);
	if (running(b))
		no_lost_wakeup(1);
	else
		no_lost_wakeup(0);
}

static void withheld_setup(void)
{
	planned(&first);
	sched = plan_sched(3, ARENA, 1);
	sched->rt_topics = WEIR_TOPIC_BIT(KICK) | WEIR_TOPIC_BIT(PREEMPT);
	swap(&first);
	a = weir_task_new(sched, CTL, 0);
	/* The policy has seen that nobody waits, and CPU 0 does not wait for a kick. */
	make_idle(0);
	admit(CTL, a);
	REQUIRE(weir_pick(sched, 0, 0) == a);
	REQUIRE(!weir_block(sched, 0, a));
}

/* No sleeping CPU has been passed over. */
static void withheld_check(void)
{
	if (weir_state(a) == WEIR_RUNNING)
		return;
	REQUIRE(weir_state(a) == WEIR_SCHEDULABLE);
	if (!waits_in(a, 0) && !waits_in(a, 1))
		REQUIRE(!weir_mask_test(sched->idle, 0));
	no_lost_wakeup(0);
}

static void postponed_setup(void)
{
	balanced(&first, "load_balancer", 1);
	begin(&first);
	bind(CTL, a, 0);
}

static void postponed_check(void)
{
	REQUIRE(running(a) ? outcome.picked[0] == a : weir_pipe_nr(&sched->graph->pipes[0]) == 1);
	if (!running(a))
		REQUIRE(!weir_mask_test(sched->idle, 0));
}

/* --- migration ------------------------------------------------------------------------------------- */

static void move_setup(void)
{
	begin_balanced();
	bind(CTL, a, 0);
	admit(0, a);
	make_idle(1);
}

static void move_claim_check(void)
{
	if (running(a)) {
		REQUIRE(outcome.picked[0] == a && weir_last_cpu(a) == 0);
		return;
	}
	REQUIRE(waits_in(a, 1) && length(1) == 1 && !length(0));
	REQUIRE(outcome.kicks[1] == 1);
	no_lost_wakeup(1);
}

/* The exit is shared and the task bound to CPU 1, until it may run on CPU 0. */
static void rebind_setup(void)
{
	shared(&first, "affinity", "head_queue");
	begin(&first);
	bind(CTL, a, 1);
	admit(0, a);
}

static void rebind_a_1(void)
{
	bind(1, a, 0);
}

static void rebind_check(void)
{
	REQUIRE(running(a) ? outcome.picked[0] == a && weir_last_cpu(a) == 0 : length(0) == 1);
	no_lost_wakeup(0);
}

static void admit_move_setup(void)
{
	begin_balanced();
	bind(CTL, a, 0);
	bind(CTL, b, 0);
}

static void admit_move_a_1(void)
{
	admit(1, a);
	bind(1, a, 1);
}

static void admit_move_check(void)
{
	REQUIRE(waits_in(a, 1) && waits_in(b, 0));
}

/* Blocked while it goes from one exit to the other. */
static void move_block_setup(void)
{
	begin_balanced();
	bind(CTL, a, 0);
	admit(0, a);
}

/* The same where it is linked in the entry, too. */
static void move_block_linked_setup(void)
{
	balanced(&first, "load_balancer", 1);
	begin(&first);
	bind(CTL, a, 0);
	admit(0, a);
	make_idle(1);
}

static void block_moving_a_0(void)
{
	REQUIRE(!weir_block(sched, 0, a));
}

static void move_block_check(void)
{
	REQUIRE(weir_state(a) == WEIR_UNCONSIDERED && !a->landing && !length(0) && !length(1));
}

/* CPU 1 goes offline; no task may be left at its exit, whether the balancer saw it before or after. */
static void leave_setup(void)
{
	struct weir_cpumask both = { .word = { 3 } };
	struct weir_msg msg = { .topic = WEIR_TOPIC_AFFINITY, .cpu = WEIR_NO_CPU, .mask = &both };

	begin_balanced();
	/* It ran on CPU 1, and would stay there. */
	msg.task = b;
	REQUIRE(!weir_notify(sched, CTL, &msg));
}

static void cpu_1_leaves(void)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_CPU_STATUS, .cpu = 1, .value = 0 };

	REQUIRE(!weir_notify(sched, CTL, &msg));
}

static void leave_check(void)
{
	REQUIRE(!length(1) && length(0) == 1);
}

static void steal_setup(void)
{
	balanced(&first, "work_stealing", 0);
	begin(&first);
	bind(CTL, c, 0);
	admit(0, c);
	REQUIRE(weir_pick(sched, 0, 0) == c);
	bind(CTL, a, 0);
	bind(CTL, b, 0);
	admit(0, a);
	admit(0, b);
	bind(CTL, c, 1);
	struct weir_msg msg = { .topic = WEIR_TOPIC_AFFINITY, .task = b };

	REQUIRE(!weir_notify(sched, CTL, &msg));
}

static void block_pick_0(void)
{
	REQUIRE(!weir_block(sched, 0, c));
	pick_0();
}

static void steal_check(void)
{
	REQUIRE(outcome.picked[0]);
	REQUIRE(running(a) && weir_last_cpu(a) == 0 ? 1 : running(b));
	REQUIRE(outcome.picked[0] != outcome.picked[1]);
	no_lost_wakeup(0);
	no_lost_wakeup(1);
}

/* --- urgency --------------------------------------------------------------------------------------- */

static void urgent_setup(void)
{
	plan_begin(&second, 3);
	plan_instance(&second, "priority");
	plan_instance(&second, "priority_order");
	plan_instance(&second, "termination");
	plan_pipe(&second, WEIR_NONE, 1);
	second.cpus[0].exit = plan_pipe(&second, 1, 2);
	plan_end(&second);
	sched = plan_sched(3, ARENA, 1);
	sched->rt_topics = WEIR_TOPIC_BIT(KICK) | WEIR_TOPIC_BIT(PREEMPT);
	swap(&second);
	b = weir_task_new(sched, CTL, 1);
	a = weir_task_new(sched, CTL, 0);
	set_priority(a, 5);
	set_priority(b, 1);
	admit(0, a);
	REQUIRE(weir_pick(sched, 0, 0) == a);
	REQUIRE(!weir_block(sched, 0, a));
	admit(0, b);
}

static void urgent_check(void)
{
	REQUIRE(running(outcome.picked[0]));
	REQUIRE(outcome.picked[0] == a || outcome.preempts[0]);
}

/* --- reconfiguration ------------------------------------------------------------------------------- */

static void swap_setup(void)
{
	shared(&second, "priority", "round_robin");
	begin_shared();
	make_idle(0);
}

static void swap_admit_check(void)
{
	REQUIRE(!outcome.err[2]);
	REQUIRE(weir_state(a) == WEIR_SCHEDULABLE && length(0) == 1);
	no_lost_wakeup(0);
}

static void swap_pick_setup(void)
{
	swap_setup();
	admit(0, a);
}

/* A CPU that asks while the tasks are still on their way finds nothing, and is kicked. */
static void swap_pick_check(void)
{
	REQUIRE(!outcome.err[2]);
	if (outcome.picked[0]) {
		REQUIRE(running(a) && outcome.picked[0] == a);
	} else {
		REQUIRE(weir_state(a) == WEIR_SCHEDULABLE && length(0) == 1);
		no_lost_wakeup(0);
	}
}

static void swap_block_check(void)
{
	REQUIRE(!outcome.err[2] && weir_state(a) == WEIR_UNCONSIDERED && !length(0));
}

static void swap_swap_check(void)
{
	REQUIRE(!outcome.err[1] || outcome.err[1] == -WEIR_EBUSY);
	REQUIRE(!outcome.err[2] || outcome.err[2] == -WEIR_EBUSY);
	REQUIRE(!outcome.err[1] || !outcome.err[2]);
	REQUIRE(weir_state(a) == WEIR_SCHEDULABLE && length(0) == 1);
}

/* --- topics ---------------------------------------------------------------------------------------- */

static int topic;

static void topic_setup(void)
{
	begin_shared();
	topic = weir_topic_register(sched,
				    &(struct weir_class_topic){ .uuid = 1000, .version = 1 });
	REQUIRE(topic > 0);
}

static void topic_hold(void)
{
	outcome.err[0] = weir_topic_hold(sched, (u32)topic);
}

static void topic_remove(void)
{
	outcome.err[1] = weir_topic_remove(sched, (u32)topic);
}

#define TENANT 0x9c1f3b7ae24d5680ull /* of components/annotate/tenant.c */

/* Tasks of tenant 0 go to CPU 0, those of tenant 1 to CPU 1. */
static void tenants(struct plan *p)
{
	u32 split, end[2];

	plan_begin(p, 3);
	plan_instance(p, "tenant");
	split = plan_instance(p, "tenant_split");
	end[0] = plan_instance(p, "termination");
	end[1] = plan_instance(p, "termination");
	plan_pipe(p, WEIR_NONE, split);
	p->cpus[0].exit = plan_pipe(p, split, end[0]);
	p->cpus[1].exit = plan_pipe(p, split, end[1]);
	plan_end(p);
}

/* As a program does, which has the topic's name only. */
static int publish_tenant(u32 by, struct weir_task *t, u64 tenant)
{
	int id = weir_topic_find(sched, TENANT, 1);
	struct weir_msg msg = { .topic = (u32)id, .task = t, .data = &tenant };

	return id < 0 ? id : weir_notify(sched, by, &msg);
}

static u64 tenant_of(struct weir_task *t)
{
	struct weir_msg msg = { .topic = (u32)weir_topic_find(sched, TENANT, 1), .task = t };

	REQUIRE(!weir_ask(sched, CTL, &msg));
	return *(const u64 *)msg.data;
}

static void tenant_setup(void)
{
	tenants(&first);
	sched = plan_sched(3, ARENA, 1);
	swap(&first);
	a = weir_task_new(sched, CTL, 0);
	b = weir_task_new(sched, CTL, 1);
	REQUIRE(!publish_tenant(CTL, b, 1));
	admit(0, a);
	admit(1, b);
	REQUIRE(weir_pick(sched, 0, 0) == a && weir_pick(sched, 1, 1) == b);
	REQUIRE(!weir_block(sched, 0, a) && !weir_block(sched, 1, b));
	admit(0, a);
	make_idle(1);
}

static void tenant_again_setup(void)
{
	tenants(&second);
	/* The annotator goes on, the splitter is new. */
	second.instances[0].keep = 0;
	tenant_setup();
}

static void tenant_away_setup(void)
{
	balanced(&second, "load_balancer", 0);
	tenant_setup();
}

static void publish_tenant_1(void)
{
	outcome.err[1] = publish_tenant(1, a, 1);
}

/* The topic outlives the change, the message is delivered once, in one graph or the other, and a waits where its tenant belongs. */
static void tenant_again_check(void)
{
	REQUIRE(!outcome.err[2] && !outcome.err[1]);
	REQUIRE(weir_state(a) == WEIR_SCHEDULABLE && tenant_of(a) == 1);
	REQUIRE(waits_in(a, 1) && !length(0));
	no_lost_wakeup(1);
}

/* It ends with the components that brought it along; a message that comes too late is refused, or nobody hears it. */
static void tenant_away_check(void)
{
	REQUIRE(!outcome.err[2]);
	REQUIRE(!outcome.err[1] || outcome.err[1] == -WEIR_ENOENT);
	REQUIRE(weir_topic_find(sched, TENANT, 1) == -WEIR_ENOENT);
	REQUIRE(weir_state(a) == WEIR_SCHEDULABLE && length(0) + length(1) == 1);
}

/* --- a topology that reshapes itself ------------------------------------------------------------------

 * `when cpus.online > 1 { … } else { … }`: CPU 1 goes, and the runtime exchanges the graph for that of the other case.
 */

static void reshape_setup(void)
{
	merged_balanced(&first);
	shared(&second, "affinity", "head_queue");
	begin(&first);
	admit(1, b);
}

static void reshape_ctl(void)
{
	cpu_1_leaves();
	swap_ctl();
}

/* Both wait at CPU 0 now, whatever the balancer thought when a came. */
static void reshape_admit_check(void)
{
	REQUIRE(!outcome.err[2]);
	REQUIRE(weir_state(a) == WEIR_SCHEDULABLE && weir_state(b) == WEIR_SCHEDULABLE);
	REQUIRE(waits_in(a, 0) && waits_in(b, 0) && length(0) == 2);
}

static void reshape_pick_check(void)
{
	REQUIRE(!outcome.err[2]);
	REQUIRE(running(b) ? outcome.picked[0] == b : waits_in(b, 0));
	REQUIRE(length(0) == !running(b));
}

/* --- to give up a CPU and choose in one call ----------------------------------------------------------- */

/* CPU 0 runs a. */
static void runs_setup(void)
{
	swap_setup();
	admit(0, a);
	REQUIRE(weir_pick(sched, 0, 0) == a);
}

static void runs_waits_setup(void)
{
	runs_setup();
	admit(0, b);
}

static void yield_a_0(void)
{
	REQUIRE(!weir_yield(sched, 0, a, 0, &outcome.picked[0]));
}

static void yield_block_a_0(void)
{
	REQUIRE(!weir_yield(sched, 0, a, 1, &outcome.picked[0]));
}

static void yield_admit_check(void)
{
	REQUIRE(running(outcome.picked[0]) && length(0) == 1);
}

/* The one that CPU 0 has not, or nobody has it and CPU 1 will look again. */
static void yield_pick_check(void)
{
	REQUIRE(running(outcome.picked[0]));
	if (outcome.picked[1])
		REQUIRE(running(outcome.picked[1]) && !length(0));
	else
		no_lost_wakeup(1);
}

static void yield_block_check(void)
{
	REQUIRE(weir_state(a) == WEIR_UNCONSIDERED);
	REQUIRE(running(b) ? outcome.picked[0] == b : length(0) == 1 && !outcome.picked[0]);
	no_lost_wakeup(0);
}

/* As many wait for either CPU; CPU 1 runs b, which may run on both. */
static void yield_leave_setup(void)
{
	leave_setup();
	admit(1, b);
	REQUIRE(weir_pick(sched, 1, 1) == b);
	bind(CTL, a, 0);
	bind(CTL, c, 1);
	admit(0, a);
	admit(1, c);
}

static void yield_b_1(void)
{
	REQUIRE(!weir_yield(sched, 1, b, 0, &outcome.picked[1]));
}

static void yield_leave_check(void)
{
	REQUIRE(running(b) || waits_in(b, 0));
}

/* --- a task that a CPU is given ------------------------------------------------------------------------ */

/* CPU 0 lets a in; if CPU 1 was woken for it, that is given a. */
static void admit_give_a_0(void)
{
	admit(0, a);
	if (outcome.kicked_for[1] == a && weir_give(sched, 0, 1, a))
		outcome.err[0] = 1;
}

static void give_setup(void)
{
	begin_balanced();
	bind(CTL, a, 1);
	bind(CTL, b, 1);
	make_idle(1);
}

/*
 * CPU 1 runs what it was given, also if its choice had begun before; if it began later, a has been left behind (and stands in the kernel's own queue).
 * Nothing waits beside it unseen.
 */
static void give_check(void)
{
	if (outcome.err[0]) {
		REQUIRE(weir_state(a) == WEIR_RUNNING && weir_last_cpu(a) == 1);
		REQUIRE(running(a) || !a->home);
	} else {
		REQUIRE(running(a) ? outcome.picked[1] == a : outcome.kicks[1] || running(b));
	}
	REQUIRE(!outcome.picked[1] || sched->cpus[1].curr == outcome.picked[1]);
	no_lost_wakeup(1);
}

/* The CPU has another task to choose already. */
static void give_other_setup(void)
{
	begin_balanced();
	bind(CTL, a, 1);
	bind(CTL, b, 1);
	admit(CTL, b);
}

static void give_a_0(void)
{
	admit(0, a);
	outcome.err[0] = weir_give(sched, 0, 1, a);
}

/* It was given the one before it began to choose, and left it behind, or runs it; else it runs the other. What it chose is what it runs. */
static void give_other_check(void)
{
	if (outcome.err[0]) {
		REQUIRE(weir_state(a) == WEIR_RUNNING && weir_last_cpu(a) == 1);
		REQUIRE(running(a) || !a->home);
	} else {
		REQUIRE(running(b));
	}
	REQUIRE(!outcome.picked[1] || sched->cpus[1].curr == outcome.picked[1]);
	no_lost_wakeup(1);
}

/* --- hand-over ------------------------------------------------------------------------------------- */

/* CPU 0 or CPU 1 has it, and the loser says so. */
static void hand_over_check(void)
{
	REQUIRE(running(a));
	REQUIRE(outcome.picked[weir_last_cpu(a)] == a && !outcome.picked[!weir_last_cpu(a)]);
	REQUIRE(outcome.err[0] == (weir_last_cpu(a) == 1));
}

static void hand_over_running_setup(void)
{
	begin_shared();
	admit(0, b);
	REQUIRE(weir_pick(sched, 0, 0) == b);
	admit(0, a);
}

/* Both go on, on one CPU each or one of them in the queue; none is on two. */
static void hand_over_running_check(void)
{
	REQUIRE(running(a) || waits_in(a, 0));
	REQUIRE(running(b) || waits_in(b, 0));
	REQUIRE(!(running(a) && running(b)) || weir_last_cpu(a) != weir_last_cpu(b));
	REQUIRE(!outcome.picked[0] || running(a));
	REQUIRE(outcome.err[0] == !outcome.picked[0]);
}

/* CPU 0 may hand over to b of priority 1 while a of priority 5 arrives. */
static void hand_b_0(void)
{
	outcome.err[0] = weir_hand_over(sched, 0, 0, b);
	outcome.picked[0] = outcome.err[0] ? 0 : b;
}

static void hand_over_urgent_check(void)
{
	REQUIRE(outcome.picked[0] ? running(b) && outcome.preempts[0]
				  : waits_in(b, 0) && waits_in(a, 0));
}

static void topic_check(void)
{
	REQUIRE(!outcome.err[0] ? outcome.err[1] == -WEIR_EBUSY : !outcome.err[1]);
}

/* --- a CPU that stops ------------------------------------------------------------------------------

 * The first thread, on CPU 0, takes no step after the n-th until the others have come to their end. What they have to reach
 * without it depends on what it holds: not less than this. Afterwards the CPUs go on choosing, and everything is as if it had been slow.
 */

static struct weir_pipe *exit_of(u32 cpu)
{
	return &sched->graph->pipes[sched->graph->cpus[cpu].exit];
}

/* A call about @t as a runtime makes it: where the core has no time for it, the task runs outside the graph, and comes again later. */
static int enter(u32 cpu, struct weir_task *t)
{
	int err = weir_admit(sched, cpu, t);

	REQUIRE(!err || err == -WEIR_EAGAIN);
	return err;
}

/* The stop is over: tasks that ran outside the graph come back, then both CPUs choose until nothing is left. */
static void all_run(struct weir_task *const *tasks, u32 nr)
{
	u32 chosen = 0;

	for (u32 i = 0; i < nr; i++) {
		if (weir_state(tasks[i]) == WEIR_UNCONSIDERED)
			REQUIRE(!weir_admit(sched, CTL, tasks[i]));
		chosen += weir_state(tasks[i]) == WEIR_RUNNING;
	}
	for (u32 i = 0; i < 2 * nr + 2; i++) {
		struct weir_task *t = weir_pick(sched, i % 2, i % 2);

		weir_gave_up(sched, i % 2);
		if (!t)
			continue;
		chosen++;
		REQUIRE(!weir_block(sched, i % 2, t));
	}
	REQUIRE(chosen == nr);
	for (u32 i = 0; i < nr; i++)
		if (weir_state(tasks[i]) == WEIR_RUNNING)
			REQUIRE(!weir_block(sched, weir_last_cpu(tasks[i]), tasks[i]));
	for (u32 cpu = 0; cpu < 3; cpu++)
		weir_gave_up(sched, cpu);
}

static void nothing_stopped(void)
{
}

static void admit_a_stopping(void)
{
	outcome.err[0] = enter(0, a);
}

/* CPU 1 lets b, which is its own, into the graph, and chooses. */
static void enter_b_pick_1(void)
{
	outcome.err[1] = enter(1, b);
	outcome.picked[1] = weir_pick(sched, 1, 1);
}

static void stop_own_setup(void)
{
	begin_balanced();
	bind(CTL, a, 0);
	bind(CTL, b, 1);
}

/* CPU 0 has nothing to do with the way to CPU 1's exit but the entry. */
static void stop_own_stopped(void)
{
	REQUIRE(outcome.err[1] || outcome.picked[1] == b);
}

static void ab_check(void)
{
	struct weir_task *const tasks[] = { a, b };

	all_run(tasks, 2);
}

/* Both come in by one pipe between; CPU 0 may have stopped with it on its worklist. */
static void stop_merged_setup(void)
{
	merged(&first, 0);
	begin(&first);
}

static void stop_merged_stopped(void)
{
	const struct weir_pipe *middle = &sched->graph->pipes[3];

	/* What has entered is chosen, unless CPU 0 has a lock on the way. */
	REQUIRE(outcome.err[1] || outcome.picked[1] || locked(middle) || locked(exit_of(1)));
}

/* CPU 0 looks for work and stops; CPU 1 lets a task in that only CPU 0 may run. */
static void enter_a_1(void)
{
	outcome.err[1] = enter(1, a);
}

static void stop_idle_setup(void)
{
	begin_balanced();
	bind(CTL, a, 0);
}

/* A call that says that the task is in the graph has brought it to the exit, at least into its inbox. */
static void entered_stopped(void)
{
	REQUIRE(outcome.err[1] || waits_in(a, 0) || weir_state(a) == WEIR_RUNNING ||
		exit_of(0)->word >> 32);
}

/* It found the task, or was kicked for it, or looks once more. */
static void stop_idle_check(void)
{
	struct weir_task *const tasks[] = { a };

	if (!outcome.err[1] && !outcome.picked[0]) {
		REQUIRE(exit_of(0)->nr || exit_of(0)->word >> 32 ||
			weir_pipe_nr(&sched->graph->pipes[0]));
		REQUIRE(!weir_mask_test(sched->idle, 0) || weir_gave_up(sched, 0));
	}
	all_run(tasks, 1);
}

/* CPU 2 takes a task out of the exit and stops; both others look for what is left there. */
static void stop_look_setup(void)
{
	two_tasks_setup();
	admit(0, c);
}

static void block_c_2(void)
{
	outcome.err[0] = weir_block(sched, 2, c);
}

static void pick_0_pick_1(void)
{
	outcome.picked[0] = weir_pick(sched, 0, 0);
	outcome.picked[1] = weir_pick(sched, 1, 1);
}

static void stop_look_check(void)
{
	struct weir_task *const tasks[] = { a, b, c };

	no_lost_wakeup(0);
	no_lost_wakeup(1);
	all_run(tasks, 3);
}

/* CPU 0 has claimed a and stops; CPU 1 takes a away, and lets it come again. */
static void take_away_a_1(void)
{
	outcome.err[1] = weir_block(sched, 1, a);
	outcome.err[2] = weir_unblock(sched, 1, a);
	outcome.picked[1] = weir_pick(sched, 1, 1);
}

static void take_away_stopped(void)
{
	/* A task is taken away at once, whatever the other CPU is about. */
	REQUIRE(!outcome.err[1]);
	REQUIRE(!outcome.err[2] || outcome.err[2] == -WEIR_EAGAIN);
	/* (That CPU may have claimed it once more, and have stopped then.) */
	REQUIRE(outcome.err[2] || outcome.picked[1] == a || locked(exit_of(1)) ||
		locked(&sched->graph->pipes[0]) || weir_state(a) == WEIR_RUNNING);
}

static void take_away_check(void)
{
	struct weir_task *const tasks[] = { a };

	REQUIRE(!outcome.picked[0] || outcome.picked[0] == a);
	all_run(tasks, 1);
}

/* A message about a, whose CPU gives it up meanwhile: it runs on there or waits where it is bound to now. */
static void yield_rebind_setup(void)
{
	begin_balanced();
	bind(CTL, a, 0);
	admit(0, a);
	REQUIRE(weir_pick(sched, 0, 0) == a);
}

static void rebind_a_away_1(void)
{
	bind(1, a, 1);
}

static void yield_rebind_check(void)
{
	struct weir_task *const tasks[] = { a };

	if (outcome.picked[0]) {
		REQUIRE(running(a) && outcome.picked[0] == a && !length(0) && !length(1));
	} else {
		REQUIRE(waits_in(a, 1) && length(1) == 1 && !length(0));
		no_lost_wakeup(1);
	}
	all_run(tasks, 1);
}

static void yield_block_rebind_check(void)
{
	struct weir_task *const tasks[] = { a };

	REQUIRE(weir_state(a) == WEIR_UNCONSIDERED && !outcome.picked[0]);
	REQUIRE(!length(0) && !length(1));
	all_run(tasks, 1);
}

/* CPU 0 has a in work and stops; CPU 1 claims a, and CPU 2 takes it away. */
static void stop_block_setup(void)
{
	begin_balanced();
	bind(CTL, a, 1);
	admit(0, a);
}

static void rebind_a_stopping(void)
{
	bind(0, a, 1);
}

/* When both calls have come to their end, CPU 1 has no task, whoever has still to take it out of the exit. */
static void stop_block_stopped(void)
{
	REQUIRE(weir_state(a) == WEIR_UNCONSIDERED && !sched->cpus[1].curr);
	REQUIRE(sched->cpus[1].curr_key == WEIR_KEY_NONE);
}

static void stop_block_check(void)
{
	struct weir_task *const tasks[] = { a };

	stop_block_stopped();
	all_run(tasks, 1);
}

/* CPU 0 exchanges the graph and stops; CPU 1 lets b in and chooses. */
static void swap_stopping(void)
{
	struct weir_swap_stats stats;

	outcome.err[0] = weir_swap(sched, 0, &second.tables, &stats);
}

static void stop_swap_setup(void)
{
	balanced(&second, "load_balancer", 0);
	stop_own_setup();
	admit(0, a);
}

static void stop_swap_stopped(void)
{
	REQUIRE(outcome.err[1] || outcome.picked[1] == b || sched->swapping);
}

static void stop_swap_check(void)
{
	REQUIRE(!outcome.err[0] || outcome.err[0] == -WEIR_EAGAIN);
	ab_check();
}

/* CPU 0 lets a in and stops, before the balancer perhaps; CPU 1 lets b in, and then b is to run on CPU 1. */
static void stop_follow_setup(void)
{
	merged_balanced(&first);
	begin(&first);
}

static void enter_rebind_b_1(void)
{
	struct weir_cpumask mask = { .word = { 2 } };
	struct weir_msg msg = { .topic = WEIR_TOPIC_AFFINITY, .task = b, .mask = &mask };

	outcome.err[1] = enter(1, b);
	outcome.err[2] = weir_notify(sched, 1, &msg);
}

static void stop_follow_check(void)
{
	REQUIRE(!outcome.err[2] || outcome.err[2] == -WEIR_EAGAIN);
	ab_check();
}

/* CPU 0 exchanges the graph, in which b waits for CPU 1, and stops; CPU 1 looks for work. */
static void stop_swap_pick_setup(void)
{
	balanced(&second, "load_balancer", 0);
	stop_own_setup();
	admit(CTL, b);
}

/* Whatever was under way when it looked, CPU 1 has b or is woken for it. */
static void stop_swap_pick_check(void)
{
	struct weir_task *const tasks[] = { b };

	REQUIRE(!outcome.err[0] || outcome.err[0] == -WEIR_EAGAIN);
	REQUIRE(outcome.picked[1] == b || outcome.kicks[1]);
	all_run(tasks, 1);
}

/* CPU 0 takes b out of its exit and stops; CPU 1 lets another task of CPU 0 in. */
static void stop_inbox_setup(void)
{
	begin_balanced();
	bind(CTL, a, 0);
	bind(CTL, b, 0);
	admit(0, b);
}

/* CPU 0 lets a task of CPU 1 in and stops; CPU 1 looks for work. */
static void stop_kick_setup(void)
{
	begin_balanced();
	bind(CTL, a, 1);
}

/* Whatever CPU 1 could not look at, it is woken for. */
static void stop_kick_check(void)
{
	struct weir_task *const tasks[] = { a };

	REQUIRE(outcome.err[0] || outcome.picked[1] == a || outcome.kicks[1]);
	all_run(tasks, 1);
}

/* CPU 0 hands b, which waits there, to CPU 1 and stops. */
static void rebind_b_stopping(void)
{
	bind(0, b, 1);
}

static void stop_move_setup(void)
{
	begin_balanced();
	bind(CTL, a, 1);
	bind(CTL, b, 0);
	admit(0, b);
}

static void enter_a_pick_1(void)
{
	outcome.err[1] = enter(1, a);
	outcome.picked[1] = weir_pick(sched, 1, 1);
}

static void stop_move_stopped(void)
{
	REQUIRE(outcome.err[1] || outcome.picked[1] || locked(exit_of(1)) ||
		locked(&sched->graph->pipes[0]));
}

/* --- a task that a CPU has picked and cannot run ---------------------------------------------------

 * Whose task it is takes it away and lets it in again at the same time (docs/decisions/0056).
 */

static u64 picked_claim;

static void picked_setup(void)
{
	one_task_setup();
	REQUIRE(weir_pick(sched, 0, 0) == a);
	picked_claim = a->claim;
}

static void decline_a_0(void)
{
	outcome.err[0] = weir_decline(sched, 0, a, picked_claim);
}

static void decline_waiting_a_0(void)
{
	u64 claim = weir_load_acquire(&a->claim);

	if (weir_claim_state(claim) == WEIR_SCHEDULABLE)
		outcome.err[0] = weir_decline(sched, 0, a, claim);
}

/* The same, and a CPU takes it; if it has been taken from that CPU, too, once more. */
static void renew_pick_a_1(void)
{
	struct weir_task *t;

	for (u32 i = 0; i < 2; i++) {
		weir_block(sched, 1, a);
		REQUIRE(!weir_unblock(sched, 1, a));
		t = weir_pick(sched, 1, 1);
		if (!t || weir_state(a) == WEIR_RUNNING)
			break;
	}
}

/* Only the claim of CPU 0 can have been declined. */
static void declined_other_check(void)
{
	REQUIRE(weir_state(a) == WEIR_RUNNING && weir_last_cpu(a) == 1);
	REQUIRE(sched->cpus[1].curr == a && !sched->cpus[0].curr);
}

/* CPU 0 takes another task while it counts as running @a, which it lets go by and by. */
static void leave_a_behind_0(void)
{
	outcome.picked[0] = weir_pick(sched, 0, 0);
}

static void left_setup(void)
{
	swap_pick_setup();
	REQUIRE(weir_pick(sched, 0, 0) == a);
	admit(0, b);
}

static void left_check(void)
{
	REQUIRE(outcome.picked[0] == b || !outcome.picked[0]);
	if (outcome.picked[0]) {
		REQUIRE(weir_state(a) == WEIR_RUNNING && !a->home && sched->cpus[0].curr == b);
		REQUIRE(!weir_relinquish(sched, 0, a));
		REQUIRE(!weir_check(sched));
	}
}

/* As a runtime does: a task that another CPU is about to block is blocked already. */
static void renew_a_1(void)
{
	outcome.err[1] = weir_block(sched, 1, a);
	REQUIRE(!outcome.err[1] || outcome.err[1] == -WEIR_ESTATE);
	outcome.err[2] = weir_unblock(sched, 1, a);
	/* It waits for the CPU that declines it at most until that is done. */
	REQUIRE(!outcome.err[2] || outcome.err[2] == -WEIR_EAGAIN);
}

/* It is in the graph, whole, or not at all. */
static void declined_check(void)
{
	struct weir_task *const tasks[] = { a };
	int in = weir_state(a) == WEIR_SCHEDULABLE;

	REQUIRE(in || weir_state(a) == WEIR_UNCONSIDERED);
	REQUIRE(!outcome.err[0] || outcome.err[0] == -WEIR_ESTATE ||
		outcome.err[0] == -WEIR_EAGAIN);
	REQUIRE(waits_in(a, 0) == in);
	all_run(tasks, 1);
}

#define TWO(name_, setup_, x, y, check_)	    { name_, 2, setup_, { x, y }, check_, 0 }
#define THREE(name_, setup_, x, y, z, check_)	    { name_, 3, setup_, { x, y, z }, check_, 0 }
#define STOP(name_, setup_, x, y, stopped_, check_) { name_, 2, setup_, { x, y }, check_, stopped_ }
#define STOP_THREE(name_, setup_, x, y, z, stopped_, check_) \
	{ name_, 3, setup_, { x, y, z }, check_, stopped_ }

const struct scenario scenarios[] = {
	TWO("claim-one-task", one_task_setup, pick_0, pick_1, claim_one_check),
	TWO("claim-two-tasks", two_tasks_setup, pick_0, pick_1, claim_two_check),
	TWO("claim-block", one_task_setup, pick_0, block_a_1, claim_block_check),
	TWO("claim-block-unblock", one_task_setup, pick_0, block_unblock_a_1,
	    claim_block_unblock_check),
	TWO("claim-exit", one_task_setup, pick_0, exit_a_1, claim_exit_check),
	TWO("claim-exit-new", one_task_setup, pick_0, exit_a_new_1, claim_exit_new_check),
	THREE("claim-claim-block", two_tasks_setup, pick_0, pick_1, block_a_2, three_check),
	TWO("admit-admit", merged_idle_setup, admit_a_0, admit_b_1, admit_admit_check),
	TWO("admit-admit-block", merged_setup, admit_b_0, admit_block_a_1, admit_block_check),
	TWO("admit-block", merged_one_setup, admit_b_0, block_a_1, admit_block_check),
	TWO("admit-pick", merged_one_setup, pick_0, admit_b_1, admit_pick_check),
	TWO("admit-pick-postponed", merged_postponed_setup, pick_0, admit_b_1, admit_pick_check),
	THREE("admit-admit-pick", merged_setup, pick_0, admit_a_1, admit_b_2,
	      admit_admit_pick_check),
	TWO("decline", picked_setup, decline_a_0, renew_a_1, declined_check),
	TWO("decline-other", picked_setup, decline_a_0, renew_pick_a_1, declined_other_check),
	TWO("leave-behind", left_setup, leave_a_behind_0, swap_ctl, left_check),
	TWO("decline-waiting", one_task_setup, decline_waiting_a_0, renew_a_1, declined_check),
	TWO("idle-admit", begin_shared, pick_0, admit_a_1, idle_check),
	TWO("idle-admit-admit", near_setup, admit_a_0, admit_b_1, near_check),
	TWO("idle-kick-spent", spent_setup, pick_0, admit_b_a_2, spent_check),
	TWO("idle-withheld", withheld_setup, pick_0, admit_a_1, withheld_check),
	TWO("idle-admit-postponed", postponed_setup, pick_0, admit_a_1, postponed_check),
	TWO("leave-admit", leave_setup, cpu_1_leaves, admit_b_1, leave_check),
	TWO("move-claim", move_setup, pick_0, move_a_1, move_claim_check),
	TWO("move-block", move_block_setup, block_moving_a_0, move_a_1, move_block_check),
	TWO("move-block-linked", move_block_linked_setup, block_moving_a_0, move_a_1,
	    move_block_check),
	TWO("rebind-idle", rebind_setup, pick_0, rebind_a_1, rebind_check),
	TWO("move-admit", admit_move_setup, admit_b_0, admit_move_a_1, admit_move_check),
	TWO("steal-claim", steal_setup, block_pick_0, pick_1, steal_check),
	TWO("urgent-claim", urgent_setup, pick_0, admit_a_1, urgent_check),
	TWO("swap-admit", swap_setup, admit_a_0, swap_ctl, swap_admit_check),
	TWO("swap-pick", swap_pick_setup, pick_0, swap_ctl, swap_pick_check),
	TWO("swap-block", swap_pick_setup, block_a_1, swap_ctl, swap_block_check),
	TWO("swap-swap", swap_pick_setup, swap_1, swap_ctl, swap_swap_check),
	THREE("swap-admit-pick", swap_setup, pick_0, admit_a_1, swap_ctl, idle_check),
	TWO("replace-admit", swap_setup, admit_a_0, replace_queue, swap_admit_check),
	TWO("replace-pick", swap_pick_setup, pick_0, replace_queue, swap_pick_check),
	TWO("yield-admit", runs_setup, yield_a_0, admit_b_1, yield_admit_check),
	TWO("yield-pick", runs_waits_setup, yield_a_0, pick_1, yield_pick_check),
	TWO("yield-block", runs_setup, yield_block_a_0, admit_b_1, yield_block_check),
	TWO("yield-swap", runs_setup, yield_a_0, swap_ctl, swap_pick_check),
	TWO("yield-rebind", yield_rebind_setup, yield_a_0, rebind_a_away_1, yield_rebind_check),
	TWO("yield-block-rebind", yield_rebind_setup, yield_block_a_0, rebind_a_away_1,
	    yield_block_rebind_check),
	TWO("yield-leave", yield_leave_setup, cpu_1_leaves, yield_b_1, yield_leave_check),
	TWO("give-pick", give_setup, admit_give_a_0, pick_1, give_check),
	TWO("give-other", give_other_setup, give_a_0, pick_1, give_other_check),
	THREE("give-admit-pick", give_setup, admit_give_a_0, pick_1, admit_b_2, give_check),
	TWO("hand-over-claim", one_task_setup, hand_a_0, pick_1, hand_over_check),
	TWO("hand-over-running", hand_over_running_setup, hand_b_a_0, pick_1,
	    hand_over_running_check),
	TWO("hand-over-urgent", urgent_setup, hand_b_0, admit_a_1, hand_over_urgent_check),
	TWO("topic-swap", tenant_again_setup, publish_tenant_1, swap_ctl, tenant_again_check),
	TWO("topic-swap-away", tenant_away_setup, publish_tenant_1, swap_ctl, tenant_away_check),
	TWO("reshape-admit", reshape_setup, admit_a_0, reshape_ctl, reshape_admit_check),
	TWO("reshape-pick", reshape_setup, pick_0, reshape_ctl, reshape_pick_check),
	TWO("topic-hold-remove", topic_setup, topic_hold, topic_remove, topic_check),
	STOP("stop-admit", stop_own_setup, admit_a_stopping, enter_b_pick_1, stop_own_stopped,
	     ab_check),
	STOP("stop-admit-merged", stop_merged_setup, admit_a_stopping, enter_b_pick_1,
	     stop_merged_stopped, ab_check),
	STOP("stop-inbox", stop_inbox_setup, pick_0, enter_a_1, entered_stopped, ab_check),
	STOP("stop-kick", stop_kick_setup, admit_a_stopping, pick_1, nothing_stopped,
	     stop_kick_check),
	STOP("stop-idle", stop_idle_setup, pick_0, enter_a_1, entered_stopped, stop_idle_check),
	STOP("stop-look", stop_look_setup, block_c_2, pick_0_pick_1, nothing_stopped,
	     stop_look_check),
	STOP("stop-claim", one_task_setup, pick_0, take_away_a_1, take_away_stopped,
	     take_away_check),
	STOP_THREE("stop-block", stop_block_setup, rebind_a_stopping, pick_1, block_a_2,
		   stop_block_stopped, stop_block_check),
	STOP("stop-decline", picked_setup, decline_a_0, renew_a_1, nothing_stopped, declined_check),
	STOP("stop-decline-waiting", one_task_setup, decline_waiting_a_0, renew_a_1,
	     nothing_stopped, declined_check),
	STOP("stop-swap", stop_swap_setup, swap_stopping, enter_b_pick_1, stop_swap_stopped,
	     stop_swap_check),
	STOP("stop-follow", stop_follow_setup, admit_a_stopping, enter_rebind_b_1, nothing_stopped,
	     stop_follow_check),
	STOP("stop-swap-pick", stop_swap_pick_setup, swap_stopping, pick_1, nothing_stopped,
	     stop_swap_pick_check),
	STOP("stop-move", stop_move_setup, rebind_b_stopping, enter_a_pick_1, stop_move_stopped,
	     ab_check),
};
const u32 nr_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);
