/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Device interrupts become messages to user-level drivers. All go to hart 0; a source is masked from its interrupt until the
 * driver's acknowledgement. Source: 1, 1.4.
 */
#include "kernel.h"

#define PLIC		 0xc000000ull
#define PRIORITY(source) (*(volatile u32 *)(PLIC + 4 * (source)))
#define PENDING(source)	 (*(volatile u32 *)(PLIC + 0x1000 + (source) / 32 * 4))
#define ENABLED(source)	 (*(volatile u32 *)(PLIC + 0x2000 + (source) / 32 * 4))
#define THRESHOLD	 (*(volatile u32 *)(PLIC + 0x200000))
#define CLAIM		 (*(volatile u32 *)(PLIC + 0x200004))
#define NR_SOURCES	 54

static struct {
	struct kdcb *to;
	u64 badge;
	u32 pending;
} source_of[NR_SOURCES];

void interrupt_start(struct hart *h)
{
	if (h->cpu == 0)
		THRESHOLD = 0;
}

void interrupt_external(struct hart *h)
{
	u32 source = CLAIM;
	u64 words[4] = { source };

	if (!source)
		return;
	h->n.interrupts++;
	trace(h, TRACE_INTERRUPT, ~0u, source, 0);
	if (source < NR_SOURCES && source_of[source].to) {
		struct kdcb *to = source_of[source].to;

		home_lock(h, to->home);
		if (to->block) {
			source_of[source].pending = 1;
			deliver(h, to, source_of[source].badge, words);
			source = 0;
		}
		home_unlock(h);
	}
	if (source)
		CLAIM = source;
}

int interrupt_waits(void)
{
	return PENDING(0) & ENABLED(0) || PENDING(32) & ENABLED(32);
}

int interrupt_bind(u64 source, struct kdcb *k, u64 badge)
{
	if (source >= NR_SOURCES)
		return MK_EINVAL;
	source_of[source].to = k;
	source_of[source].badge = badge;
	PRIORITY(source) = 1;
	ENABLED(source) |= 1u << source % 32;
	return MK_OK;
}

void interrupt_ack(u64 source)
{
	if (source >= NR_SOURCES || !source_of[source].pending)
		return;
	source_of[source].pending = 0;
	CLAIM = source;
}
