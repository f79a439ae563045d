/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The topologies of the stress test. CPU @nr_cpus, one more than those that run tasks, reconfigures. */
#ifndef GRAPHS_H
#define GRAPHS_H

#include "plan.h"

/* One balancer, a queue for each CPU. */
void graph_balanced(struct plan *p, u32 nr_cpus);
/* One keyed exit that all CPUs share, behind a filter. */
void graph_shared(struct plan *p, u32 nr_cpus);
/* An entry for each CPU, work stealing, queues of three kinds. */
void graph_stealing(struct plan *p, u32 nr_cpus);
/* Two entries, updates that wait until a CPU asks. */
void graph_postponed(struct plan *p, u32 nr_cpus);

#endif
