/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rival - the smallest scheduler that the kernel takes: no callbacks at all, so that it queues tasks itself.
 * A scheduler that is not ours, for the tests of `runweir live`.
 */
struct sched_ext_ops {
	unsigned int timeout_ms;
	char name[128];
};

char _license[] __attribute__((section("license"), used)) = "Dual MIT/GPL";

__attribute__((section(".struct_ops.link"),
	       used)) struct sched_ext_ops rival_ops = { .name = "rival" };
