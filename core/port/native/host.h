/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Between the native port and its host: what host.c shares with Rust. */
#ifndef WEIR_HOST_H
#define WEIR_HOST_H

#include <weir/port.h>

/* Shared with Rust. */
struct weir_host_memory {
	u64 used;     /* bytes of the arena */
	u64 per_task; /* bytes that each task adds under the present graph */
	u64 faults;
	u64 lost_messages;
	u32 nr_tasks;
	u32 nr_slots;
	u32 nr_away; /* of the tasks: sent to another coherence domain, not confirmed */
	u32 unused;
};

#endif
