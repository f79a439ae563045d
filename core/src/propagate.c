/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The worklist of a call: changes go from pipe to pipe, and messages to their recipients, until none is left. All of this is one loop, in
 * weir_process().
 */
#include "transit.h"

void weir_work_push(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	pipe->work_next = 0;
	if (ctx->work_tail)
		ctx->work_tail->work_next = pipe;
	else
		ctx->work_head = pipe;
	ctx->work_tail = pipe;
}

void weir_start_over(struct weir_pipe weir_mem *pipe)
{
	pipe->rebuild |= 1;
	weir_store(&pipe->news, 1);
	if (pipe->pending || pipe->postponed)
		return;
	pipe->pending = weir_ctx(pipe->sched)->cpu + 1;
	weir_work_push(pipe->sched, pipe);
}

/* A component failed. (A function of its own: its message would be part of the frame of all updates.) */
WEIR_GLOBAL int weir_fault(struct weir_sched weir_mem *s weir_arg, u32 instance, int err)
{
	struct weir_msg fault = { .topic = WEIR_TOPIC_FAULT,
				  .cpu = WEIR_NO_CPU,
				  .value = (u64)-err,
				  .value2 = instance };

	weir_fetch_add(&s->faults, 1);
	weir_msg_push(s, &fault);
	return 0;
}

/*
 * The update of the pipe failed: present its tasks again and undo the component's partial work. After a wait that was given up, the next
 * call does this. After another error, the same call retries once, so that a transient error leaves no task waiting; after a second error
 * it is left to the next change, or to a CPU behind the pipe that finds no other work.
 */
WEIR_FLAT void weir_put_off(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe, int err)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	if (err == -WEIR_EAGAIN) {
		weir_start_over(pipe);
		ctx->tired = 1;
		return;
	}
	weir_fault(s, pipe->to->idx, err);
	if (!ctx->failed) {
		ctx->failed = 1;
		weir_start_over(pipe);
	} else {
		pipe->rebuild |= 1;
		weir_store(&pipe->news, 1);
	}
}

/*
 * Start on one pipe, the given one or the first of the worklist; append the entering task first, if any. 1: the pipe is locked and has
 * changes for its receiver.
 */
WEIR_GLOBAL int weir_visit(struct weir_sched weir_mem *s weir_arg,
			   struct weir_pipe weir_mem *pipe weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	u32 still = 0;
	int err = 0;

	/* If older changes are pending, the task goes the same way as they do. */
	if (WEIR_DEEP && weir_carried(pipe) & WEIR_CARRIED && ctx->given && ctx->add &&
	    (pipe->from ||
	     !(weir_solo(s) ? pipe->rebuild || pipe->nr_log : weir_pipe_has_news(pipe))))
		return weir_arrive(s, ctx, pipe, ctx->add);
	if (weir_pipe_lock(pipe)) {
		if (ctx->given)
			ctx->entered = -WEIR_EAGAIN;
		ctx->given = 0;
		ctx->tired = 1;
		return 0;
	}
	if (!ctx->given) {
		ctx->work_head = pipe->work_next;
		if (!ctx->work_head)
			ctx->work_tail = 0;
	} else {
		/* It may be on another CPU's worklist and stay there. */
		if (!pipe->postponed || ctx->add)
			still = pipe->pending;
		if (ctx->add) {
			pipe->pending = ctx->cpu + 1;
			if (weir_solo(s))
				ctx->add->hooks[0].key = ++s->arrivals;
			err = weir_pipe_append_locked(pipe, ctx->add);
			ctx->entered = err;
		}
	}
	ctx->given = 0;
	pipe->pending = still;
	if (pipe->news)
		weir_store(&pipe->news, 0);
	if (weir_load(&pipe->inbox)) {
		/* They are handled now, so the pipe need not be on the worklist for them. */
		pipe->pending = ctx->cpu + 1;
		weir_inbox_open(pipe);
		pipe->pending = still;
	}
	if (!err && pipe->rebuild && weir_pipe_rebuild(pipe))
		weir_put_off(s, pipe, -WEIR_EAGAIN);
	if (!err && pipe->nr_log) {
		weir_op(s, WEIR_OP_UPDATE, pipe->to->idx, pipe->nr_log);
		return 1;
	}
	weir_pipe_unlock(pipe);
	return 0;
}

/* The receiver of the locked pipe has handled its changes, or not (@err). */
WEIR_GLOBAL int weir_visited(struct weir_sched weir_mem *s weir_arg,
			     struct weir_pipe weir_mem *pipe weir_arg, int err)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	if (WEIR_CARRY && ctx->carrying) {
		weir_arrived(s, ctx, pipe, err);
		return 0;
	}
	weir_op(s, WEIR_OP_UPDATE_END, pipe->to->idx, 0);
	weir_fetch_add(&pipe->to->nr_updates, 1);
	weir_pipe_consume(pipe);
	if (err)
		weir_put_off(s, pipe, err);
	weir_pipe_unlock(pipe);
	return 0;
}

/* Start on the next message of this call. A KICK without a CPU gets an idle one, if any is left. */
WEIR_GLOBAL int weir_take_msg(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_queued weir_mem *queued = &ctx->msgs[ctx->next_msg++];
	struct weir_msg weir_mem *msg = &ctx->msg;

	weir_copy(msg, &queued->msg, sizeof(*msg));
	if (msg->topic >= WEIR_MAX_TOPICS)
		return 0;
	if (msg->topic == WEIR_TOPIC_KICK && msg->cpu == WEIR_NO_CPU) {
		msg->cpu = weir_kick_target(s, msg->task, msg->value);
		if (msg->cpu == WEIR_NO_CPU)
			return 0;
		/* More CPUs may have looked in vain. */
		if (!msg->task) {
			queued->msg.value = (u32)msg->value | (u64)(msg->cpu + 1) << 32;
			ctx->next_msg--;
		}
		msg->value = 0;
	}
	if (msg->topic >= WEIR_NR_STD_TOPICS) {
		/* The queue may move while the message is delivered. */
		weir_copy(ctx->payload, queued->payload, sizeof(ctx->payload));
		msg->data = s->topics[msg->topic & (WEIR_MAX_TOPICS - 1)].bytes
				    ? (const void weir_mem *)ctx->payload
				    : 0;
	}
	ctx->delivery = 1;
	return 0;
}

#if !WEIR_DEEP
/* Deliver to one more recipient, or finish the delivery. (Costs no frame, see weir_next_recipient().) */
WEIR_FLAT void weir_deliver(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	if (!weir_next_recipient(s))
		weir_delivered(s);
	else if (ctx->held_for)
		weir_followed(s, weir_class_follow(ctx->recipient, &ctx->msg, ctx->held_for));
	else
		weir_class_on(ctx->recipient, &ctx->msg);
}
#endif

/*
 * Process changes and messages until none is left. (One function for all updates, with almost no frame: the kernel limits the stack
 * of a chain of calls, so the functions before and after a component's update are called beside it, not around it. State that
 * passes from one iteration to the next is in memory: otherwise the verifier would walk all updates and messages again for each
 * combination of values that it knows of variables.)
 */
WEIR_FLAT int weir_process(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	while (weir_loop) {
		struct weir_pipe weir_mem *next = ctx->given;

		/* After a wait that was given up, only messages are delivered; the next call continues with the worklist. */
		if (!next && !ctx->tired && !ctx->delivery)
			next = ctx->work_head;
		if (next) {
			if (weir_visit(s, next))
				weir_visited(s, next, weir_class_update(next->to, next));
		} else if (ctx->delivery) {
			weir_deliver(s, ctx);
		} else if (ctx->next_msg < ctx->nr_msgs) {
			weir_take_msg(s);
		} else {
			break;
		}
	}
	if (WEIR_CARRY)
		weir_unvisit(s, ctx);
	if (ctx->next_msg < ctx->nr_msgs)
		weir_fetch_add(&s->lost_messages, ctx->nr_msgs - ctx->next_msg);
	ctx->nr_msgs = 0;
	ctx->draining = 0;
	return ctx->entered;
}

/*
 * The given pipe need not be on the worklist: it counts as pending while it gets @add. A CPU with the pipe on its
 * worklist finds an empty log.
 */
WEIR_GLOBAL int weir_drain(struct weir_sched weir_mem *s weir_arg,
			   struct weir_pipe weir_mem *pipe weir_arg,
			   struct weir_task weir_mem *add weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	if (ctx->draining)
		return 0;
	weir_begin_drain(ctx);
	ctx->given = pipe;
	ctx->add = add;
	return weir_process(s, ctx);
}
