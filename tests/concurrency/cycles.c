/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A cycle of relinquish and pick, without Rust, to count its instructions: cycles decentral CPUS N | cycles chain STAGES N, under
 * valgrind --tool=callgrind, with two N: the difference is what the further cycles take.
 *
 *   weir-glue plain . >unit.c; gcc -O2 -std=gnu11 -fno-strict-aliasing -w -Icore/include -Icore/port/native -Icore/src
 *     -Itests/concurrency unit.c core/port/native/{port,host}.c tests/concurrency/{plan,cycles}.c -lpthread
 */
#include <stdlib.h>
#include <string.h>

#include "plan.h"

#define QUEUED 17

static struct plan p;

u64 weir_rt_now(struct weir_sched *s)
{
	static u64 now;

	return now += 1000;
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
	u32 lb, queue[8], end[8];

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

int main(int argc, char **argv)
{
	struct weir_swap_stats stats;
	struct weir_task *runs[8];
	struct weir_sched *s;
	u32 n, cpus = 1;

	if (argc != 4 || (n = atoi(argv[2])) > 7)
		return 2;
	if (strcmp(argv[1], "chain")) {
		cpus = n;
		decentral(n);
	} else {
		chain(n);
	}
	plan_end(&p);
	s = plan_sched(cpus, 64 << 20, 1);
	if (weir_swap(s, 0, &p.tables, &stats))
		return 1;
	for (u32 i = 0; i < QUEUED * cpus; i++)
		if (weir_admit(s, i % cpus, weir_task_new(s, 0, i)))
			return 1;
	for (u32 cpu = 0; cpu < cpus; cpu++)
		runs[cpu] = weir_pick(s, cpu, cpu);
	for (u32 i = atoi(argv[3]); i > 0; i--)
		for (u32 cpu = 0; cpu < cpus; cpu++) {
			weir_relinquish(s, cpu, runs[cpu]);
			runs[cpu] = weir_pick(s, cpu, cpu);
		}
	return 0;
}
