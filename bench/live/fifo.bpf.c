// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * The least that a scheduler for sched_ext can do: one queue for all CPUs, first in, first out. A yardstick for what a
 * callback costs, not a scheduler to live with.
 */
#include "kernel.h"

char _license[] SEC("license") = "Dual MIT/GPL";

#define QUEUE	 1ull
#define SLICE_NS 3000000ull

SEC("struct_ops/enqueue")
void enqueue(unsigned long long *ctx)
{
	weir_dsq_insert((struct task_struct *)ctx[0], QUEUE, SLICE_NS, ctx[1]);
}

SEC("struct_ops/dispatch")
void dispatch(unsigned long long *ctx)
{
	(void)ctx;
	weir_dsq_move_to_local(QUEUE);
}

SEC("struct_ops.s/init")
int init(unsigned long long *ctx)
{
	(void)ctx;
	return scx_bpf_create_dsq(QUEUE, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops fifo_ops = {
	.enqueue = (void *)enqueue,
	.dispatch = (void *)dispatch,
	.init = (void *)init,
	.timeout_ms = 30000,
	.name = "fifo",
};
