/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Beginning a call when it may have to wait, and what it publishes. See call.h. */
#include "call.h"

WEIR_GLOBAL WEIR_RARE int weir_enter(struct weir_sched weir_mem *s weir_arg, u32 cpu)
{
	struct weir_ctx weir_mem *ctx;

	weir_port_set_cpu(cpu);
	weir_budget_reset();
	ctx = weir_ctx(s);
	ctx->waited = 0;
	if (!WEIR_SWAPS)
		return s->graph ? 0 : -WEIR_EAGAIN;
	while (s->graph && weir_loop) {
		if (weir_may_go_in(s, ctx))
			return 0;
		weir_store_release(&ctx->readers, 0);
		while (weir_load_acquire(&s->writer) && weir_loop) {
			if (!weir_wait(ctx->waited, s->patience)) {
				weir_give_up(s);
				return -WEIR_EAGAIN;
			}
		}
	}
	weir_store_release(&ctx->readers, 0);
	if (s->graph)
		weir_give_up(s);
	return -WEIR_EAGAIN;
}

int weir_gave_up(struct weir_sched weir_mem *s, u32 cpu)
{
	struct weir_ctx weir_mem *ctx = &s->ctx[cpu];

	if (!ctx->gave_up)
		return 0;
	ctx->gave_up = 0;
	return 1;
}

/*
 * Publish a state change, if it has a recipient; it is delivered when the call settles. (A separate function, like
 * weir_fault().)
 */
WEIR_GLOBAL WEIR_RARE int weir_announce(struct weir_sched weir_mem *s weir_arg, u32 topic,
					struct weir_task weir_mem *t weir_arg, u32 cpu)
{
	struct weir_msg msg = { .topic = topic, .cpu = cpu, .task = t };

	if (weir_is_heard(s, topic))
		weir_msg_push(s, &msg);
	return 0;
}
