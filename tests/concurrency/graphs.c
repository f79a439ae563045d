/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include "graphs.h"

/* A queue of its own for each CPU behind @from, through the components named in turn. */
static void per_cpu(struct plan *p, u32 from, u32 nr_cpus, const char *const *queues, u32 nr_queues)
{
	u32 queue[PLAN_MAX];

	for (u32 c = 0; c < nr_cpus; c++)
		queue[c] = plan_instance(p, queues[c % nr_queues]);
	for (u32 c = 0; c < nr_cpus; c++) {
		u32 end = plan_instance(p, "termination");

		plan_pipe(p, from, queue[c]);
		p->cpus[c].exit = plan_pipe(p, queue[c], end);
	}
}

void graph_balanced(struct plan *p, u32 nr_cpus)
{
	static const char *const queues[] = { "head_queue", "round_robin" };
	u32 lb;

	plan_begin(p, nr_cpus + 1);
	plan_instance(p, "affinity");
	plan_instance(p, "priority");
	lb = plan_instance(p, "load_balancer");
	plan_pipe(p, WEIR_NONE, lb);
	per_cpu(p, lb, nr_cpus, queues, 2);
	plan_end(p);
}

void graph_shared(struct plan *p, u32 nr_cpus)
{
	u32 filter, order, end;

	plan_begin(p, nr_cpus + 1);
	plan_instance(p, "affinity");
	plan_instance(p, "priority");
	plan_instance(p, "status");
	filter = plan_instance(p, "affinity_filter");
	order = plan_instance(p, "priority_order");
	end = plan_instance(p, "termination");
	plan_pipe(p, WEIR_NONE, filter);
	plan_pipe(p, filter, order);
	for (u32 c = 0, exit = plan_pipe(p, order, end); c < nr_cpus; c++)
		p->cpus[c].exit = exit;
	plan_end(p);
}

void graph_stealing(struct plan *p, u32 nr_cpus)
{
	static const char *const queues[] = { "head_queue", "edf", "priority_order" };
	u32 ws, merge;

	plan_begin(p, nr_cpus + 1);
	plan_instance(p, "affinity");
	plan_instance(p, "deadline");
	plan_instance(p, "priority");
	plan_instance(p, "lamport");
	merge = plan_instance(p, "merge");
	ws = plan_instance(p, "work_stealing");
	/* An entry for each CPU; the last of them is the reconfiguring one's. */
	for (u32 c = 0; c <= nr_cpus; c++)
		p->cpus[c].entry = plan_pipe(p, WEIR_NONE, merge);
	plan_pipe(p, merge, ws);
	per_cpu(p, ws, nr_cpus, queues, 3);
	plan_end(p);
}

void graph_postponed(struct plan *p, u32 nr_cpus)
{
	static const char *const queues[] = { "head_queue" };
	u32 mux;

	plan_begin(p, nr_cpus + 1);
	plan_instance(p, "affinity");
	mux = plan_instance(p, "task_mux");
	for (u32 c = 0; c <= nr_cpus; c++)
		p->cpus[c].entry = c < 2 ? plan_pipe(p, WEIR_NONE, mux) : p->cpus[c % 2].entry;
	per_cpu(p, mux, nr_cpus, queues, 1);
	for (u32 i = 0; i < p->tables.nr_pipes; i++)
		p->pipes[i].postponed = p->pipes[i].from == mux;
	plan_end(p);
}
