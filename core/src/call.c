/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Calls (see call.h): beginning one when it may have to wait, what it publishes, and those of a runtime that moves remote messages from one
 * coherence domain to another (remote.c).
 */
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
	while (weir_loop) {
		u32 writer = 1;

		if (weir_may_go_in(s, ctx))
			return 0;
		weir_end_call(ctx);
		while (writer && weir_loop) {
			writer = weir_load_acquire(&s->writer);
			if (writer == WEIR_NO_GRAPH)
				return -WEIR_EAGAIN;
			if (writer && !weir_wait(ctx->waited, s->patience))
				break;
		}
		if (writer)
			break;
	}
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

#if WEIR_DOMAINS

const struct weir_remote_msg weir_mem *weir_remote_next(struct weir_sched weir_mem *s, u32 cpu)
{
	const struct weir_remote_msg weir_mem *msg;

	if (!weir_distributed(s) || weir_enter(s, cpu))
		return 0;
	msg = weir_remote_collect(s);
	weir_end_call(weir_ctx(s));
	return msg;
}

/* The task is here, and not about to leave. */
static struct weir_task weir_mem *present(struct weir_sched weir_mem *s, u32 id)
{
	struct weir_task weir_mem *t = weir_task_get(s, id);
	u32 state = t ? weir_state(t) : WEIR_FREE;

	return state == WEIR_FREE || state == WEIR_DEAD || state == WEIR_AWAY ? 0 : t;
}

static int carry_out(struct weir_sched weir_mem *s, u32 cpu, u32 call, struct weir_task weir_mem *t)
{
	switch (call) {
	case WEIR_REMOTE_ADMIT:
		return weir_admit(s, cpu, t);
	case WEIR_REMOTE_UNBLOCK:
		return weir_unblock(s, cpu, t);
	case WEIR_REMOTE_BLOCK:
		return weir_block(s, cpu, t);
	default:
		return weir_exit(s, cpu, t);
	}
}

int weir_remote_accept(struct weir_sched weir_mem *s, u32 cpu, const struct weir_remote_msg *p)
{
	struct weir_task weir_mem *t = 0;
	int err;

	if ((p->kind == WEIR_REMOTE_MSG_MESSAGE && p->task != WEIR_NO_TASK) ||
	    p->kind == WEIR_REMOTE_MSG_CALL) {
		t = present(s, p->task);
		if (!t)
			return WEIR_ELSEWHERE;
	}
	if (p->kind == WEIR_REMOTE_MSG_CALL)
		return carry_out(s, cpu, p->call, t);
	if (weir_enter(s, cpu))
		return -WEIR_EAGAIN;
	err = weir_remote_take_in(s, p, t);
	weir_drain(s);
	weir_end_call(weir_ctx(s));
	return err;
}

#endif
