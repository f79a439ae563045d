/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * How each call of a runtime (schedule.c, pick.c, settle.c, remote.c) begins and ends. Inline, because every call pays for it; what is
 * rarely needed is in settle.c.
 */
#ifndef WEIR_SETTLE_H
#define WEIR_SETTLE_H

#include "internal.h"

/*
 * A call holds off reconfiguration by a count of its own CPU; no word is shared by all CPUs. The fence
 * pairs with the one in stop_readers(): either we see the writer or it sees us.
 */
WEIR_INLINE int weir_may_go_in(const struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	weir_store(&ctx->readers, 1);
	weir_light_fence();
	return !weir_load_acquire(&s->writer);
}

/* The calling CPU's context, if it may enter. */
WEIR_INLINE struct weir_ctx weir_mem *weir_begin_call(struct weir_sched weir_mem *s, u32 cpu)
{
	struct weir_ctx weir_mem *ctx = &s->ctx[cpu];

	weir_port_set_cpu(cpu);
	weir_budget_reset();
	ctx->waited = 0;
	/* The common case: nothing prevents entry. */
	if (weir_unlikely(!WEIR_SWAPS || !weir_may_go_in(s, ctx)))
		return weir_enter(s, cpu) ? 0 : ctx;
	return ctx;
}

WEIR_INLINE void weir_end_call(struct weir_ctx weir_mem *ctx)
{
	if (WEIR_SWAPS)
		weir_store_release(&ctx->readers, 0);
}

/* The message has a recipient. */
WEIR_INLINE int weir_is_heard(const struct weir_sched weir_mem *s, u32 topic)
{
	return s->graph->wanted >> topic & 1;
}

/* What the call has left to do, without a lock. */
WEIR_INLINE void weir_settle_call(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	if (weir_unlikely(ctx->todo))
		weir_settle(s, ctx);
}

#endif
