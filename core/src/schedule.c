/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The calls of a runtime: each changes an entry pipe and propagates the change through the graph. In the kernel they are inlined into
 * their caller: the verifier checks their parts separately, and components are called with as few frames above them as possible
 * (docs/decisions/0012).
 */
#include "internal.h"

/* --- readers --------------------------------------------------------------------------------- */

/*
 * A call holds off reconfiguration by a count of its own CPU; no word is shared by all CPUs. The fence
 * pairs with the one in stop_readers(): either we see the writer or it sees us.
 */
WEIR_INLINE int may_go_in(const struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	weir_store(&ctx->readers, 1);
	if (!s->exclusive)
		weir_light_fence();
	return !weir_load_acquire(&s->writer);
}

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
		if (may_go_in(s, ctx)) {
			if (s->graph)
				return 0;
			weir_store_release(&ctx->readers, 0);
			return -WEIR_EAGAIN;
		}
		weir_store_release(&ctx->readers, 0);
		while (weir_load_acquire(&s->writer) && weir_loop) {
			if (!weir_wait(ctx->waited, s->patience)) {
				weir_give_up(s);
				return -WEIR_EAGAIN;
			}
		}
	}
	weir_give_up(s);
	return -WEIR_EAGAIN;
}

/* The calling CPU's context, if it may enter. */
WEIR_INLINE struct weir_ctx weir_mem *enter(struct weir_sched weir_mem *s, u32 cpu)
{
#if WEIR_CARRY
	struct weir_ctx weir_mem *ctx = &s->ctx[cpu];

	weir_port_set_cpu(cpu);
	weir_budget_reset();
	ctx->waited = 0;
	/* The common case: nothing prevents entry. */
	if (WEIR_SWAPS && may_go_in(s, ctx) && s->graph)
		return ctx;
#endif
	return weir_enter(s, cpu) ? 0 : weir_ctx(s);
}

int weir_gave_up(struct weir_sched weir_mem *s, u32 cpu)
{
	struct weir_ctx weir_mem *ctx = &s->ctx[cpu];

	if (!ctx->gave_up && !ctx->work_head)
		return 0;
	ctx->gave_up = 0;
	return 1;
}

static void leave(struct weir_ctx weir_mem *ctx)
{
	if (WEIR_SWAPS)
		weir_store_release(&ctx->readers, 0);
}

#if WEIR_DOMAINS
void weir_leave_call(struct weir_ctx weir_mem *ctx)
{
	leave(ctx);
}
#endif

/* --- propagation ----------------------------------------------------------------------------- */

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
static void put_off(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe, int err)
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
 * @t arrives at the carried @pipe. 1: its receiver must take a step. If the pipe's lock is taken, the task waits in the inbox.
 */
WEIR_FLAT static int arrive(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			    struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	if (!pipe->from) {
		ctx->seen = weir_load(&s->changes);
		if (weir_solo(s)) {
			t->hooks[0].key = ++s->arrivals;
			weir_pass(s, pipe);
		}
	}
	ctx->given = 0;
	if (!weir_solo(s) && weir_carried(pipe) & WEIR_ALONE && weir_pipe_lock(pipe)) {
		ctx->entered = weir_post(pipe, t, 0);
		return 0;
	}
	/* Where calls do not overlap there is no lock: the step counts as made under it. */
	if (weir_solo(s))
		weir_note_locked(pipe);
	if (WEIR_OPLOG && s->oplog) {
		weir_op(s, WEIR_OP_LOCK, pipe->idx, 0);
		if (!pipe->from)
			weir_op(s, WEIR_OP_ADD, pipe->idx, 0);
		weir_op(s, WEIR_OP_UPDATE, pipe->to->idx, 1);
	}
	ctx->arrival.task = t;
	ctx->arrival.kind = WEIR_ADDED;
	ctx->put = 0;
	ctx->lands = 0;
	ctx->carrying = pipe;
	return 1;
}

/* A receiver has taken its step: the task continues to the next one, is linked where its path ends, or stays here. */
WEIR_FLAT static void arrived(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			      struct weir_pipe weir_mem *pipe, int err)
{
	struct weir_task weir_mem *t = ctx->arrival.task;
	struct weir_pipe weir_mem *put = ctx->put;

	ctx->carrying = 0;
	if (ctx->lands) {
		int landed = weir_land(s, ctx->lands, t);

		put = ctx->lands;
		ctx->lands = 0;
		err = err ? err : landed;
	}
	if (!put) {
		weir_keep(s, pipe, err != 0);
		if (err)
			put_off(s, pipe, err);
	}
	if (weir_solo(s)) {
		weir_note_unlocked(pipe);
		if (WEIR_OPLOG && s->oplog) {
			weir_op(s, WEIR_OP_UPDATE_END, pipe->to->idx, 0);
			weir_op(s, WEIR_OP_UNLOCK, pipe->idx, 0);
		}
		pipe->to->nr_updates++;
	} else if (weir_carried(pipe) & WEIR_ALONE) {
		weir_pipe_unlock(pipe);
	}
	if (put && err)
		weir_fault(s, pipe->to->idx, err);
	if (put && weir_carried(put) & WEIR_CARRIED) {
		ctx->given = put;
		return;
	}
	/* Pairs with the fence after the change: either this CPU sees the change here, or the change's walk sees the task. */
	if (!s->exclusive)
		weir_light_fence();
	if (ctx->seen != weir_load(&s->changes)) {
		/* Receivers may have visited all tasks while this one was in transit. */
		weir_present_again(&s->graph->pipes[s->graph->cpus[weir_load(&t->entry_cpu)].entry],
				   t);
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
	if (weir_carried(pipe) & WEIR_CARRIED && ctx->given && ctx->add &&
	    (pipe->from ||
	     !(weir_solo(s) ? pipe->rebuild || pipe->nr_log : weir_pipe_has_news(pipe))))
		return arrive(s, ctx, pipe, ctx->add);
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
		put_off(s, pipe, -WEIR_EAGAIN);
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
		arrived(s, ctx, pipe, err);
		return 0;
	}
	weir_op(s, WEIR_OP_UPDATE_END, pipe->to->idx, 0);
	weir_fetch_add(&pipe->to->nr_updates, 1);
	weir_pipe_consume(pipe);
	if (err)
		put_off(s, pipe, err);
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

#if !WEIR_CARRY
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
WEIR_FLAT static int drain(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
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

/* The call has not waited for another CPU yet, and nothing has failed. */
WEIR_FLAT static void begin_drain(struct weir_ctx weir_mem *ctx)
{
	ctx->draining = 1;
	ctx->next_msg = 0;
	ctx->tired = 0;
	ctx->failed = 0;
	ctx->entered = 0;
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
	begin_drain(ctx);
	ctx->given = pipe;
	ctx->add = add;
	return drain(s, ctx);
}

#if WEIR_CARRY
/*
 * weir_drain() for @t, which arrives at the carried @pipe, when nothing else is pending: from step to step until the task is linked.
 */
WEIR_COLD static int carry_in(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			      struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	while (pipe) {
		if (!arrive(s, ctx, pipe, t))
			break;
		arrived(s, ctx, pipe, weir_class_step(pipe->to, pipe));
		pipe = ctx->given;
	}
	if (ctx->work_head || ctx->nr_msgs)
		return drain(s, ctx);
	ctx->draining = 0;
	return ctx->entered;
}

/* The same from @pipe on, after steps. */
WEIR_COLD static int carry_on(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			      struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	ctx->lands = 0;
	ctx->carrying = 0;
	begin_drain(ctx);
	ctx->given = 0;
	return carry_in(s, ctx, pipe, t);
}

/* The receiver of @pipe has withheld @t, or failed. */
WEIR_COLD static int carried_badly(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
				   struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t,
				   int err)
{
	begin_drain(ctx);
	ctx->given = 0;
	arrived(s, ctx, pipe, err);
	return carry_in(s, ctx, ctx->given, t);
}

/* The same when calls overlap and nothing is recorded: the common case without obstacles. */
WEIR_INLINE int carry(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
		      struct weir_pipe weir_mem *pipe, struct weir_task weir_mem *t)
{
	struct weir_pipe weir_mem *put;
	u32 alone;
	int err;

	ctx->seen = weir_load(&s->changes);
	ctx->arrival.task = t;
	ctx->arrival.kind = WEIR_ADDED;
	do {
		alone = pipe->carried & WEIR_ALONE;
		if (alone && weir_unlikely(!weir_lock_at_once(&pipe->lock)))
			return carry_on(s, ctx, pipe, t);
		ctx->put = 0;
		ctx->lands = 0;
		ctx->carrying = pipe;
		err = weir_class_step(pipe->to, pipe);
		put = ctx->lands ? ctx->lands : ctx->put;
		if (weir_unlikely(err || !put))
			return carried_badly(s, ctx, pipe, t, err);
		if (ctx->lands) {
			err = weir_land(s, put, t);
			if (weir_unlikely(err))
				weir_fault(s, pipe->to->idx, err);
		}
		if (alone)
			weir_unlock(pipe);
		pipe = put;
	} while (put->carried & WEIR_CARRIED && weir_loop);
	ctx->lands = 0;
	ctx->carrying = 0;
	weir_light_fence();
	if (weir_unlikely(ctx->seen != weir_load(&s->changes)))
		weir_present_again(&s->graph->pipes[s->graph->cpus[weir_load(&t->entry_cpu)].entry],
				   t);
	return 0;
}
#endif

/* Neither the carried @entry nor the call has other work. */
WEIR_INLINE int goes_straight(const struct weir_sched weir_mem *s,
			      const struct weir_ctx weir_mem *ctx,
			      const struct weir_pipe weir_mem *entry)
{
	return weir_carried(entry) & WEIR_CARRIED && !ctx->work_head && !ctx->nr_msgs &&
	       !(weir_solo(s) ? entry->rebuild || entry->nr_log : weir_pipe_has_news(entry));
}

/* --- calls about a task ------------------------------------------------------------------------ */

/* The message has a recipient. */
WEIR_INLINE int is_heard(const struct weir_sched weir_mem *s, u32 topic)
{
	return (s->graph->subscribed | s->rt_topics) >> topic & 1;
}

/*
 * Publish a state change, if it has a recipient; it is delivered when the call settles. (A separate function, like
 * weir_fault().)
 */
WEIR_GLOBAL int weir_announce(struct weir_sched weir_mem *s weir_arg, u32 topic,
			      struct weir_task weir_mem *t weir_arg, u32 cpu)
{
	struct weir_msg msg = { .topic = topic, .cpu = cpu, .task = t };

	if (is_heard(s, topic))
		weir_msg_push(s, &msg);
	return 0;
}

struct weir_task weir_mem *weir_task_new(struct weir_sched weir_mem *s, u32 cpu, u64 cookie)
{
	struct weir_ctx weir_mem *ctx = enter(s, cpu);
	struct weir_task weir_mem *t;

	if (!ctx)
		return 0;
	t = weir_task_open(s, cookie);
	leave(ctx);
	return t;
}

/* For calls with other work, or when operations are recorded. */
WEIR_COLD static int submit_slowly(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
				   struct weir_pipe weir_mem *entry, struct weir_task weir_mem *t)
{
#if WEIR_CARRY
	if (goes_straight(s, ctx, entry))
		return carry_on(s, ctx, entry, t);
#endif
	return entry->postponed ? weir_pipe_append(entry, t) : weir_drain(s, entry, t);
}

/* Add to the entry pipe of the calling CPU; the state is already schedulable. */
WEIR_INLINE int submit(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
		       struct weir_task weir_mem *t, u32 cpu)
{
	struct weir_graph weir_mem *g = s->graph;
	struct weir_pipe weir_mem *entry = &g->pipes[g->cpus[cpu].entry];

	weir_store(&t->entry_cpu, cpu);
	weir_store(&t->slice_ns, WEIR_SLICE_DEFAULT);
	weir_store(&t->key, WEIR_KEY_NONE);
#if WEIR_CARRY
	if (!s->exclusive && !s->oplog && goes_straight(s, ctx, entry))
		return carry(s, ctx, entry, t);
#endif
	return submit_slowly(s, ctx, entry, t);
}

/* Work left by a message or a postponed entry. */
WEIR_FLAT static void settle(struct weir_sched weir_mem *s, const struct weir_ctx weir_mem *ctx)
{
	if (weir_unlikely(ctx->work_head || ctx->nr_msgs))
		weir_drain(s, 0, 0);
}

/* The CPU that ran @t has nothing now and will choose next. */
static void off_cpu(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	u32 c = weir_load(&t->cpu);
	struct weir_cpu weir_mem *cpu;

	if (c >= s->nr_cpus)
		return;
	cpu = &s->cpus[c];
	if (weir_load(&cpu->curr) != t)
		return;
	/*
	 * A choosing CPU takes any arriving task, unless it was preempted for a task that still waits: then it counts as
	 * running that one (weir_preempt()).
	 */
	if (weir_load(&cpu->curr_key) == weir_load(&t->key))
		weir_store(&cpu->curr_key, WEIR_KEY_NONE);
	weir_store(&cpu->curr, 0);
}

/* @t, in state @from, becomes schedulable: once it is in a pipe, it may be chosen. */
WEIR_GLOBAL WEIR_RARE int weir_may_enter(struct weir_sched weir_mem *s weir_arg,
					 struct weir_task weir_mem *t weir_arg, u32 from)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	int err;

	/* The CPU that had claimed it when it was blocked has not finished, and may still fail to get a lock. */
	while (weir_load_acquire(&t->state) == WEIR_REVOKED && weir_loop) {
		if (!weir_wait(ctx->waited, s->patience)) {
			weir_give_up(s);
			return -WEIR_EAGAIN;
		}
	}
	err = weir_load(&t->torn) ? weir_task_withdraw(s, t, 0) : 0;
	if (err)
		return err;
	if (weir_cas(&t->state, from, WEIR_SCHEDULABLE) != from)
		return -WEIR_ESTATE;
	if (from == WEIR_RUNNING)
		off_cpu(s, t);
	return 0;
}

/*
 * The same for the common case. Calls about one task do not overlap, and a picking CPU changes only schedulable tasks or tasks that it
 * has claimed: no other CPU writes the state now, unless runtimes call weir_decline().
 */
WEIR_INLINE int may_enter(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u32 from)
{
#if WEIR_CARRY && !WEIR_DECLINES
	/* In this order: the CPU whose claim was revoked reports last that it is done. */
	if (weir_load_acquire(&t->state) == from && !weir_load(&t->torn)) {
		weir_store_release(&t->state, WEIR_SCHEDULABLE);
		if (from == WEIR_RUNNING)
			off_cpu(s, t);
		return 0;
	}
#endif
	return weir_may_enter(s, t, from);
}

WEIR_INLINE int make_schedulable(struct weir_sched weir_mem *s, u32 cpu,
				 struct weir_task weir_mem *t, u32 from, u32 topic)
{
	struct weir_ctx weir_mem *ctx = enter(s, cpu);
	int err;

	if (!ctx)
		return -WEIR_EAGAIN;
	err = may_enter(s, t, from);
	if (!err) {
		err = submit(s, ctx, t, cpu);
		if (err)
			weir_store(&t->state, WEIR_UNCONSIDERED);
		else if (is_heard(s, topic))
			weir_announce(s, topic, t, cpu);
	}
	settle(s, ctx);
	leave(ctx);
	return err;
}

WEIR_FLAT int weir_admit(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	return make_schedulable(s, cpu, t, WEIR_UNCONSIDERED, WEIR_TOPIC_ADMIT);
}

WEIR_FLAT int weir_unblock(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	return make_schedulable(s, cpu, t, WEIR_UNCONSIDERED, WEIR_TOPIC_UNBLOCK);
}

WEIR_FLAT int weir_relinquish(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	return make_schedulable(s, cpu, t, WEIR_RUNNING, WEIR_TOPIC_RELINQUISH);
}

/*
 * Remove the task from all pipes or from its CPU; its state becomes @to. A CPU that has claimed it and is still removing it from the
 * pipes could also remove it from pipes that the task enters later, so the claim is revoked and that CPU completes the block: 1. 0: done.
 */
WEIR_GLOBAL int weir_retire(struct weir_sched weir_mem *s weir_arg,
			    struct weir_task weir_mem *t weir_arg, u32 to)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	while (weir_loop) {
		u32 state = weir_load_acquire(&t->state);

		if (state == WEIR_CLAIMED) {
			if (weir_cas(&t->state, WEIR_CLAIMED, WEIR_REVOKED) == WEIR_CLAIMED &&
			    to != WEIR_DEAD)
				return 1;
			continue;
		}
		if (state == WEIR_REVOKED && to == WEIR_DEAD) {
			if (weir_wait(ctx->waited, s->patience))
				continue;
			break;
		}
		if (state == WEIR_REVOKED || state == WEIR_FREE || state == WEIR_DEAD ||
		    state == WEIR_AWAY || (state == WEIR_UNCONSIDERED && to != WEIR_DEAD))
			return -WEIR_ESTATE;
		if (weir_cas(&t->state, state, to) != state)
			continue;
		if (state == WEIR_RUNNING)
			off_cpu(s, t);
		if (state == WEIR_SCHEDULABLE || weir_load(&t->torn))
			weir_task_withdraw(s, t, 0);
		return 0;
	}
	weir_give_up(s);
	return -WEIR_EAGAIN;
}

WEIR_FLAT int weir_block(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	struct weir_ctx weir_mem *ctx = enter(s, cpu);
	int err;

	if (!ctx)
		return -WEIR_EAGAIN;
	err = weir_retire(s, t, WEIR_UNCONSIDERED);
	if (!err)
		weir_announce(s, WEIR_TOPIC_BLOCK, t, cpu);
	settle(s, ctx);
	leave(ctx);
	return err > 0 ? 0 : err;
}

/*
 * From @from, which is running or schedulable, to revoked. A schedulable task is revoked only where it is linked, under that pipe's lock:
 * before it is linked, the call that admits it is not complete, and would add it, or put it into the inbox, after this check.
 */
WEIR_GLOBAL int weir_revoke(struct weir_sched weir_mem *s weir_arg,
			    struct weir_task weir_mem *t weir_arg, u32 from)
{
	struct weir_pipe weir_mem *pipe = 0;
	u32 seen = WEIR_FREE;
	int err, linked;

	if (from == WEIR_SCHEDULABLE) {
		pipe = WEIR_CARRY && weir_load(&t->landing) ? weir_landing(s, t)
							    : weir_load_acquire(&t->hooks[0].pipe);
		if (!pipe)
			return -WEIR_ESTATE;
		err = weir_pipe_lock(pipe);
		if (err)
			return err;
	}
	linked = !pipe || weir_pipe_linked(pipe, t);
	if (linked)
		seen = weir_cas(&t->state, from, WEIR_REVOKED);
	if (pipe)
		weir_pipe_unlock(pipe);
	if (!linked)
		return -WEIR_EAGAIN;
	if (seen != from)
		return -WEIR_ESTATE;
	if (from == WEIR_RUNNING)
		off_cpu(s, t);
	if (from == WEIR_SCHEDULABLE || weir_load(&t->torn))
		weir_task_withdraw(s, t, 0);
	return weir_announce(s, WEIR_TOPIC_BLOCK, t, weir_ctx(s)->cpu);
}

WEIR_FLAT int weir_decline(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t,
			   u32 from)
{
	struct weir_ctx weir_mem *ctx = enter(s, cpu);
	int err;

	if (!ctx)
		return -WEIR_EAGAIN;
	err = weir_revoke(s, t, from);
	settle(s, ctx);
	if (!err)
		weir_store_release(&t->state, WEIR_UNCONSIDERED);
	leave(ctx);
	return err;
}

/* All recipients have been notified of its end. */
WEIR_GLOBAL int weir_forget(struct weir_sched weir_mem *s weir_arg,
			    struct weir_task weir_mem *t weir_arg)
{
	struct weir_graph weir_mem *g = s->graph;

	for (u32 i = 0; i < g->nr_task_init && weir_loop; i++)
		weir_class_task_exit(g->init_list[i], t);
	if (weir_distributed(s))
		weir_number_ended(s, t);
	return weir_task_put(s, t);
}

WEIR_FLAT int weir_exit(struct weir_sched weir_mem *s, u32 cpu, struct weir_task weir_mem *t)
{
	struct weir_ctx weir_mem *ctx = enter(s, cpu);
	int err = 0;

	if (!ctx)
		return -WEIR_EAGAIN;
	/* A repeated call found it partly removed: its record must not be freed while a pipe has it. */
	if (weir_load(&t->state) != WEIR_DEAD || !weir_load(&t->torn))
		err = weir_retire(s, t, WEIR_DEAD);
	if (!err && weir_load(&t->torn))
		err = weir_task_withdraw(s, t, 0);
	if (!err) {
		weir_announce(s, WEIR_TOPIC_EXIT, t, cpu);
		settle(s, ctx);
		weir_forget(s, t);
	} else {
		settle(s, ctx);
	}
	leave(ctx);
	return err;
}

/* --- the one question ---------------------------------------------------------------------------- */

/* A shared exit may hold tasks that must not run on this CPU. */
static int may_run(struct weir_sched weir_mem *s, const struct weir_pipe weir_mem *exit,
		   struct weir_task weir_mem *t, u32 cpu)
{
	const struct weir_cpumask weir_mem *mask;

	if (exit->nr_cpus == 1)
		return 1;
	mask = weir_affinity(s, t);
	return !mask || weir_mask_test(mask, cpu);
}

/*
 * @cpu runs @t, claimed at @exit. That is recorded under the exit's lock, so a CPU that puts a more urgent task there later sees it
 * (weir_preempt()).
 */
WEIR_INLINE void hold(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *exit,
		      struct weir_task weir_mem *t, u32 cpu)
{
	struct weir_cpu weir_mem *c = &s->cpus[cpu];

	weir_store(&t->cpu, cpu);
	weir_store(&c->curr_key, weir_load(&t->key));
	weir_store(&c->curr, t);
	if (!weir_mask_test(s->busy, cpu))
		weir_mask_set(s->busy, cpu);
	/* No other CPU can take it now; the walk through the other pipes does not need this lock. */
#if WEIR_CARRY
	weir_unlink(exit, t);
#else
	weir_pipe_take(exit, t);
#endif
}

/*
 * The context holds the progress of the search, as in weir_drain(), and the function to be called next.
 *
 * Update postponed pipes before the exit, then look at the exit. If it is empty, the CPU announces that it is idle and looks again,
 * because work that arrived in between saw no CPU to wake. If it is still empty, instances before the exit may fetch work from
 * elsewhere, until one succeeds.
 *
 * If there is no other work, this CPU processes changes on the way to the exit that are on another CPU's worklist, because that CPU may
 * have stopped.
 */
enum pick_stage {
	PICK_SETTLE,
	PICK_FIRST,
	PICK_AGAIN,
	PICK_FETCH,
	PICK_FETCHED,
	PICK_FOUND,
	PICK_REVOKED, /* the task was blocked before it was out of all pipes */
	PICK_NOTHING,
};

/*
 * The first task of the exit that this CPU wins; one atomic state change decides between CPUs. @announced: the CPU is in the idle set; if
 * it cannot look, it is marked, and the CPU that releases the lock always kicks it.
 */
WEIR_INLINE u64 claim(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *exit, u32 cpu,
		      int announced)
{
	struct weir_task weir_mem *t;

	/* A CPU that has announced that it is idle always takes the lock: see weir_kick_later(). */
	if (!weir_load(&exit->nr) && !weir_load(&exit->inbox) && (weir_solo(s) || !announced))
		return 0;
	if (announced && !s->exclusive)
		weir_store(&s->ctx[cpu].missed, 1);
	if (weir_lock(exit))
		return 0;
	if (announced && !s->exclusive)
		weir_store(&s->ctx[cpu].missed, 0);
	if (weir_load(&exit->inbox))
		weir_inbox_open(exit);
	weir_for_task(t, exit)
		if (may_run(s, exit, t, cpu) &&
		    weir_cas(&t->state, WEIR_SCHEDULABLE, WEIR_CLAIMED) == WEIR_SCHEDULABLE)
			break;
	if (t)
		hold(s, exit, t, cpu);
	weir_unlock(exit);
	return (u64)t;
}

WEIR_GLOBAL u64 weir_claim(struct weir_sched weir_mem *s weir_arg,
			   struct weir_pipe weir_mem *exit weir_arg, u32 cpu)
{
	return claim(s, exit, cpu, weir_ctx(s)->pick_stage != PICK_FIRST);
}

/* What to call next. */
enum pick_call { PICK_OVER, PICK_DRAIN, PICK_IDLE };

WEIR_FLAT static int pick_drain(struct weir_ctx weir_mem *ctx, struct weir_pipe weir_mem *pipe)
{
	ctx->pick_pipe = pipe;
	return PICK_DRAIN;
}

/* The next postponed pipe, or the end of this stage of the search: nothing left to drain. */
static int pick_catch_up(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			 const struct weir_plan_cpu weir_mem *pc)
{
	if (ctx->pick_at >= pc->nr_postponed)
		return PICK_OVER;
	return pick_drain(ctx,
			  &s->graph->pipes[s->graph->lists[pc->first_postponed + ctx->pick_at++]]);
}

#define FEW_PIPES 8u /* in-pipes of an instance that are searched for changes */

WEIR_GLOBAL u64 weir_unfinished(struct weir_sched weir_mem *s weir_arg,
				const struct weir_pipe weir_mem *exit weir_arg)
{
	struct weir_instance weir_mem *inst = exit->from;

	for (u32 depth = 0; inst && depth < s->graph->nr_slots && weir_loop; depth++) {
		struct weir_instance weir_mem *before = 0;

		for (u32 i = 0; i < inst->nr_in && i < weir_limit(FEW_PIPES) && weir_loop; i++) {
			struct weir_pipe weir_mem *pipe = inst->in[i];

			if (!pipe->postponed && weir_pipe_has_news(pipe))
				return (u64)pipe;
			if (!before)
				before = pipe->from;
		}
		inst = before;
	}
	return 0;
}

/* A change on the way to the exit that no CPU seems to process. */
static int pick_help(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
		     const struct weir_pipe weir_mem *exit)
{
	struct weir_pipe weir_mem *pipe;

	if (s->exclusive || ctx->pick_stage != PICK_AGAIN || ctx->helped >= s->graph->nr_slots)
		return PICK_OVER;
	pipe = (struct weir_pipe weir_mem *)weir_unfinished(s, exit);
	if (!pipe)
		return PICK_OVER;
	ctx->helped++;
	return pick_drain(ctx, pipe);
}

/* The CPU has no task. */
static int pick_nothing(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx, u32 target)
{
	ctx->pick_stage = PICK_NOTHING;
	weir_mask_clear(s->busy, target);
	weir_store(&s->cpus[target].curr_key, WEIR_KEY_NONE);
	/* Work may remain for other CPUs, which must be woken. */
	return ctx->nr_msgs ? pick_drain(ctx, 0) : PICK_OVER;
}

/* Whether no other pipe has @t, which was removed from @exit. */
WEIR_INLINE int is_out(const struct weir_pipe weir_mem *exit, const struct weir_task weir_mem *t)
{
	const struct weir_hook weir_mem *h = t->hooks;

	for (u32 n = exit->slot; n && weir_loop; n--, h++)
		if (weir_load(&h->pipe))
			return 0;
	return !weir_load(&t->torn) && !weir_load(&t->landing);
}

/* Remove @t, which was removed from @exit, from all other pipes. */
WEIR_INLINE void pull_out(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *exit,
			  struct weir_task weir_mem *t)
{
	if (weir_carried(exit) & (weir_solo(s) ? ~0u : WEIR_BEHIND_COUNTED))
		weir_leave(s, exit, t, 0);
	if (!WEIR_CARRY || !is_out(exit, t))
		weir_task_withdraw(s, t, 0);
}

/* The task is out of all pipes, and its DISPATCH was reported: it runs, unless it was blocked in the meantime. */
static int pick_keep(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	struct weir_task weir_mem *t = ctx->picked;

	/* From here on it may be blocked or destroyed by another CPU. */
	if (weir_cas(&t->state, WEIR_CLAIMED, WEIR_RUNNING) == WEIR_CLAIMED)
		return PICK_OVER;
	off_cpu(s, t);
	ctx->pick_stage = PICK_REVOKED;
	weir_announce(s, WEIR_TOPIC_BLOCK, t, ctx->cpu);
	return pick_drain(ctx, 0);
}

static int pick_found(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx, u32 target)
{
	struct weir_pipe weir_mem *exit = &s->graph->pipes[s->graph->cpus[target].exit];

	ctx->pick_stage = PICK_FOUND;
	if (weir_mask_test(s->idle, target))
		weir_mask_clear(s->idle, target);
	pull_out(s, exit, ctx->picked);
	weir_announce(s, WEIR_TOPIC_DISPATCH, ctx->picked, target);
	return ctx->work_head || ctx->nr_msgs ? pick_drain(ctx, 0) : pick_keep(s, ctx);
}

WEIR_GLOBAL int weir_pick_next(struct weir_sched weir_mem *s weir_arg, u32 target)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	const struct weir_plan_cpu weir_mem *pc = &s->graph->cpus[target];

	if (ctx->pick_stage == PICK_NOTHING)
		return PICK_OVER;
	if (ctx->pick_stage == PICK_FOUND)
		return pick_keep(s, ctx);
	if (ctx->pick_stage == PICK_REVOKED) {
		weir_store_release(&ctx->picked->state, WEIR_UNCONSIDERED);
		ctx->picked = 0;
		ctx->pick_at = 0;
		ctx->pick_stage = PICK_SETTLE;
	}
	if (ctx->pick_stage == PICK_SETTLE) {
		ctx->pick_stage = PICK_FIRST;
		/* Work left by an earlier call of this CPU. */
		if (ctx->work_head || ctx->nr_msgs)
			return pick_drain(ctx, 0);
	}
	while (ctx->pick_stage != PICK_FETCH && weir_loop) {
		if (pc->exit != WEIR_NONE) {
			if (pick_catch_up(s, ctx, pc) ||
			    pick_help(s, ctx, &s->graph->pipes[pc->exit]))
				return PICK_DRAIN;
			ctx->picked = (struct weir_task
				       weir_mem *)weir_claim(s, &s->graph->pipes[pc->exit], target);
			if (ctx->picked)
				return pick_found(s, ctx, target);
		}
		ctx->pick_at = 0;
		if (ctx->pick_stage == PICK_FETCHED)
			return pick_nothing(s, ctx, target);
		if (ctx->pick_stage == PICK_FIRST) {
			weir_mask_set(s->idle, target);
			weir_barrier(s);
		}
		ctx->pick_stage++;
	}
	if (pc->exit == WEIR_NONE || ctx->pick_at >= pc->nr_puller)
		return pick_nothing(s, ctx, target);
	ctx->puller = s->graph->instances[s->graph->lists[pc->first_puller + ctx->pick_at++]];
	return PICK_IDLE;
}

/* Calls an instance that may fetch work. */
WEIR_FLAT static void pick_fetch(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
				 u32 target)
{
	int got = weir_class_idle(ctx->puller, target);

	if (got > 0) {
		ctx->pick_stage = PICK_FETCHED;
		ctx->pick_at = 0;
	}
	ctx->pick_pipe = 0;
}

/*
 * A call that looks for work for @target. If a swap holds it off for too long, the CPU sleeps and counts as idle: either this call sees
 * that the swap is over and tries again, or the end of the swap sees the CPU and kicks it (weir_start_readers()).
 */
WEIR_COLD static struct weir_ctx weir_mem *enter_to_pick(struct weir_sched weir_mem *s, u32 cpu,
							 u32 target)
{
	do {
		weir_store(&s->ctx[target].missed, 1);
		weir_mask_set(s->idle, target);
		weir_barrier(s);
		if (weir_load(&s->writer) || !s->graph)
			return 0;
	} while (weir_enter(s, cpu) && weir_loop);
	return weir_ctx(s);
}

#if WEIR_CARRY
/*
 * The search in the common case: there is no work before it, the exit has a task, and no message has a recipient. Null: another case;
 * then nothing was done, or the task is @found.
 */
WEIR_INLINE struct weir_task weir_mem *pick_at_once(struct weir_sched weir_mem *s,
						    struct weir_ctx weir_mem *ctx, u32 target,
						    struct weir_task weir_mem **found)
{
	const struct weir_plan_cpu weir_mem *pc = &s->graph->cpus[target];
	struct weir_pipe weir_mem *exit;
	struct weir_task weir_mem *t;

	if (ctx->work_head || ctx->nr_msgs || pc->nr_postponed || pc->exit == WEIR_NONE)
		return 0;
	exit = &s->graph->pipes[pc->exit];
	t = (struct weir_task weir_mem *)claim(s, exit, target, 0);
	if (!t)
		return 0;
	if (weir_mask_test(s->idle, target))
		weir_mask_clear(s->idle, target);
	pull_out(s, exit, t);
	/* Receivers may need to be notified, or releasing the exit's lock showed that other CPUs looked in vain. */
	if (!ctx->work_head && !ctx->nr_msgs && !is_heard(s, WEIR_TOPIC_DISPATCH) &&
	    weir_cas(&t->state, WEIR_CLAIMED, WEIR_RUNNING) == WEIR_CLAIMED)
		return t;
	*found = t;
	return 0;
}
#endif

/* The full search, or the rest of it if a task was found. */
WEIR_FLAT WEIR_RARE static struct weir_task weir_mem *search(struct weir_sched weir_mem *s,
							     struct weir_ctx weir_mem *ctx,
							     u32 target,
							     struct weir_task weir_mem *found)
{
	ctx->pick_stage = PICK_SETTLE;
	ctx->pick_at = 0;
	ctx->helped = 0;
	ctx->picked = found;
	if (found) {
		ctx->pick_stage = PICK_FOUND;
		weir_announce(s, WEIR_TOPIC_DISPATCH, ctx->picked, target);
		weir_drain(s, 0, 0);
	}
	while (weir_loop) {
		int call = weir_pick_next(s, target);

		if (call == PICK_OVER)
			break;
		if (call == PICK_IDLE)
			pick_fetch(s, ctx, target);
		weir_drain(s, ctx->pick_pipe, 0);
	}
	return ctx->picked;
}

WEIR_FLAT struct weir_task weir_mem *weir_pick(struct weir_sched weir_mem *s, u32 cpu, u32 target)
{
	struct weir_ctx weir_mem *ctx = enter(s, cpu);
	struct weir_task weir_mem *found = 0;
	struct weir_task weir_mem *t = 0;

	if (weir_unlikely(!ctx))
		ctx = enter_to_pick(s, cpu, target);
	if (weir_unlikely(!ctx))
		return 0;
#if WEIR_CARRY
	t = pick_at_once(s, ctx, target, &found);
#endif
	if (!t)
		t = search(s, ctx, target, found);
	leave(ctx);
	return t;
}

/*
 * Claim @to for @cpu, if it is in @exit and no task there that may run on this CPU is more urgent; 1: claimed. Earlier tasks of equal
 * urgency are passed over: that is the purpose of a hand-over.
 */
WEIR_GLOBAL int weir_claim_given(struct weir_sched weir_mem *s weir_arg,
				 struct weir_pipe weir_mem *exit weir_arg,
				 struct weir_task weir_mem *to weir_arg, u32 cpu)
{
	struct weir_task weir_mem *t;
	int claimed = 0;

	if (weir_pipe_lock(exit))
		return 0;
	if (weir_load(&exit->inbox))
		weir_inbox_open(exit);
	if (weir_pipe_holds(exit, to) && may_run(s, exit, to, cpu)) {
		u64 key = weir_load(&to->key);

		weir_for_task(t, exit)
			if (weir_load(&t->key) < key && weir_load(&t->state) == WEIR_SCHEDULABLE &&
			    may_run(s, exit, t, cpu))
				break;
		claimed = !t &&
			  weir_cas(&to->state, WEIR_SCHEDULABLE, WEIR_CLAIMED) == WEIR_SCHEDULABLE;
		if (claimed)
			hold(s, exit, to, cpu);
	}
	weir_pipe_unlock(exit);
	return claimed;
}

WEIR_FLAT int weir_hand_over(struct weir_sched weir_mem *s, u32 cpu,
			     struct weir_task weir_mem *from, struct weir_task weir_mem *to)
{
	struct weir_ctx weir_mem *ctx;
	u32 exit;
	int err = from ? weir_relinquish(s, cpu, from) : 0;
	u32 state = weir_load(&to->state);

	if (!err && (state == WEIR_UNCONSIDERED || state == WEIR_REVOKED))
		err = weir_unblock(s, cpu, to);
	if (err)
		return err;
	ctx = enter(s, cpu);
	if (!ctx)
		return 1;
	exit = s->graph->cpus[cpu].exit;
	err = exit == WEIR_NONE || !weir_claim_given(s, &s->graph->pipes[exit], to, cpu);
	if (!err) {
		ctx->picked = to;
		/* Drained here, if there is anything to drain, and kept. */
		err = pick_found(s, ctx, cpu);
		if (err && ctx->pick_stage == PICK_FOUND) {
			settle(s, ctx);
			err = pick_keep(s, ctx);
		}
		if (err) {
			settle(s, ctx);
			weir_store_release(&to->state, WEIR_UNCONSIDERED);
			err = 1;
		}
	}
	leave(ctx);
	return err;
}

/* --- messages ---------------------------------------------------------------------------------- */

WEIR_GLOBAL int weir_notify_begin(struct weir_sched weir_mem *s weir_arg, u32 cpu,
				  const struct weir_msg *msg weir_arg_record)
{
#if WEIR_CARRY
	struct weir_ctx weir_mem *ctx;
#endif

	if (msg->topic >= WEIR_MAX_TOPICS || !weir_load(&s->topics[msg->topic].uuid))
		return -WEIR_ENOENT;
	if (weir_enter(s, cpu))
		return -WEIR_EAGAIN;
	if (msg->topic == WEIR_TOPIC_CPU_STATUS && msg->cpu < s->nr_cpus) {
		weir_store(&s->cpus[msg->cpu].online, msg->value != 0);
		weir_fetch_add(&s->changes, 1);
		if (WEIR_CARRY && !s->exclusive)
			weir_heavy_fence();
		if (!msg->value)
			weir_mask_clear(s->idle, msg->cpu);
	}
#if WEIR_CARRY
	/* Nothing is before it: it need not wait in the queue. */
	ctx = weir_ctx(s);
	if (!ctx->nr_msgs && !ctx->work_head && msg->topic < WEIR_NR_STD_TOPICS &&
	    msg->topic != WEIR_TOPIC_KICK) {
		weir_set_msg(&ctx->msg, msg);
		ctx->delivery = 1;
		return 0;
	}
#endif
	weir_msg_push(s, msg);
	return 0;
}

WEIR_FLAT void weir_notify_end(struct weir_sched weir_mem *s)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	if (WEIR_CARRY && ctx->delivery)
		weir_drain(s, 0, 0);
	else
		settle(s, ctx);
	leave(ctx);
}

WEIR_FLAT int weir_notify(struct weir_sched weir_mem *s, u32 cpu, const struct weir_msg *msg)
{
	int err = weir_notify_begin(s, cpu, msg);

	if (!err)
		weir_notify_end(s);
	return err;
}

WEIR_GLOBAL int weir_ask(struct weir_sched weir_mem *s weir_arg, u32 cpu,
			 struct weir_msg *msg weir_arg_record)
{
	struct weir_ctx weir_mem *ctx = enter(s, cpu);
	int err;

	if (!ctx)
		return -WEIR_EAGAIN;
	err = weir_request(s, msg);
	leave(ctx);
	return err;
}

WEIR_FLAT int weir_timer_expired(struct weir_sched weir_mem *s, u32 cpu, u32 instance)
{
	struct weir_ctx weir_mem *ctx = enter(s, cpu);
	int err = -WEIR_ENOENT;

	if (!ctx)
		return -WEIR_EAGAIN;
	if (instance < s->graph->nr_instances && !weir_gap(s->graph->instances[instance])) {
		struct weir_instance weir_mem *inst = s->graph->instances[instance];

		weir_store(&inst->timer_ns, 0);
		err = weir_class_timer(inst);
	}
	settle(s, ctx);
	leave(ctx);
	return err;
}
