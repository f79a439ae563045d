/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Numbers and layouts of the kernel's interface, for the adapter and for the model of a kernel that tests it (tests/concurrency/kernel). */
#ifndef WEIR_VALUES_H
#define WEIR_VALUES_H

#include <weir/port.h>

enum {
	PF_EXITING = 0x00000004,
	PF_KTHREAD = 0x00200000,
	SCX_TASK_QUEUED = 1,
	SCX_OPS_ENQ_LAST = 2,
	SCX_ENQ_WAKEUP = 1,
	SCX_WAKE_SYNC = 0x10,
	SCX_DEQ_SLEEP = 1,
	SCX_KICK_IDLE = 1,
	SCX_KICK_PREEMPT = 2,
};

#define SCX_DSQ_GLOBAL 0x8000000000000001ull
#define SCX_DSQ_LOCAL  0x8000000000000002ull
/* | a CPU: the queue of that one */
#define SCX_DSQ_LOCAL_ON 0xc000000000000000ull

struct bpf_perf_event_value {
	u64 counter;
	u64 enabled; /* ns */
	u64 running; /* ns of these; fewer if events share a counter */
};

/* The kernel identifies it by name and size. */
struct bpf_timer {
	u64 opaque[2];
};

#endif
