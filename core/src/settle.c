/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks in work. The claim says what should be, the place says what is: under the home's lock the place is made to agree with the claim.
 * A place is valid if the claim has the number under which it was given. Who has the token of a task does this, takes the notes that
 * others leave meanwhile, and gives it back only if there are none. A schedulable task that is nowhere is in exactly one hand: that of its
 * call, or the token's; only a hand places it.
 *
 * Whoever empties an inbox takes its tasks into its own hand, with their tokens, and sees to them when its call holds no lock. All that takes
 * steps is called beside each other from one loop (weir_drain()), not below each other: chains of calls in the kernel are short.
 */
#include "place.h"
#include "settle.h"

/* The notes, with the token alone left; the last word of an exit stays. */
WEIR_INLINE u32 take_notes(struct weir_task weir_mem *t)
{
	u32 old = weir_load(&t->pend), seen;

	while (weir_loop) {
		seen = weir_cas(&t->pend, old, WEIR_TOKEN | (old & WEIR_DIE));
		if (seen == old)
			break;
		old = seen;
	}
	return old;
}

/* Give the token back. 1: done, or the record is free; 0: there are new notes. */
WEIR_INLINE int return_token(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u32 notes)
{
	if (notes & WEIR_DIE && weir_load(&t->pend) == (WEIR_TOKEN | WEIR_DIE)) {
		weir_store(&t->pend, 0);
		weir_task_ended(s, t);
		return 1;
	}
	return weir_cas(&t->pend, WEIR_TOKEN, 0) == WEIR_TOKEN;
}

/* How far the work at a task is: what comes next. */
enum work_stage {
	WORK_BEGIN,
	WORK_LOOK,
	WORK_UNLOCK,
	WORK_WENT,
	WORK_HAND,
	WORK_PLACE,
	WORK_PLACED,
	WORK_END
};

/* What takes steps, or is a message to an instance, and so is done from the loop at the top, between two stages. */
enum work_act {
	ACT_NONE,
	ACT_WALK,
	ACT_DROP,
	ACT_REVIEW,
	ACT_RUNNING,
	ACT_PLACE,
	ACT_LOOK,
	ACT_TELL,
	ACT_OVER
};

/* Leave it to whoever has the lock of @h. */
static u32 work_post(struct weir_todo weir_mem *w, struct weir_pipe weir_mem *h, u32 bits)
{
	struct weir_task weir_mem *t = w->task;

	w->task = 0;
	weir_post(h, t, bits, 1);
	return ACT_NONE;
}

static u32 work_walk(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx, u32 what)
{
	struct weir_todo weir_mem *w = &ctx->work;

	weir_begin_steps(ctx, what == WEIR_ARRIVED ? WEIR_WHY_CAME : WEIR_WHY_NONE);
	w->what = what;
	w->at = w->from ? w->from : weir_entry(s, w->task);
	if (w->at->keyed) {
		/* A postponed pipe: as it came there. */
		ctx->step.key = w->task->key;
		ctx->step.tie = w->task->tie;
	}
	return ACT_WALK;
}

static u32 work_begin(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	struct weir_todo weir_mem *w = &ctx->work;
	struct weir_task weir_mem *t = w->task;

	w->notes = take_notes(t);
	w->hand |= w->notes & (WEIR_HAND | WEIR_HERE);
	if (w->notes & WEIR_ONWARD)
		w->from = &s->graph->pipes[t->least];
	w->walked = 0;
	w->home = weir_home_of(s, t);
	w->stage = w->home ? WORK_LOOK : WORK_HAND;
	if (!w->home || !(w->notes & WEIR_AFRESH) || !weir_load(&t->landing))
		return ACT_NONE;
	w->walked = 1;
	w->from = 0;
	return work_walk(s, ctx, WEIR_REVIEW);
}

/* Where the stages of home @h begin for @t, which is linked in it or runs. */
WEIR_INLINE struct weir_pipe weir_mem *first_stage(struct weir_sched weir_mem *s,
						   struct weir_pipe weir_mem *h,
						   struct weir_task weir_mem *t)
{
	u32 landing = t->landing;

	return (struct weir_pipe
		weir_mem *)weir_came_in(h, landing ? &s->graph->pipes[landing - 1] : h, t);
}

/* A valid place is looked at again. */
static u32 work_again(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	struct weir_todo weir_mem *w = &ctx->work;
	struct weir_task weir_mem *t = w->task;
	struct weir_pipe weir_mem *h = w->home;

	w->at = first_stage(s, h, t);
	if (!t->landing)
		return ACT_RUNNING;
	if (w->at->keyed || !h->home) {
		/* Its way begins before the home. */
		weir_fetch_or(&t->pend, WEIR_AFRESH);
		return ACT_NONE;
	}
	weir_begin_steps(ctx, WEIR_WHY_NONE);
	return ACT_REVIEW;
}

/* What its home has of it is made to agree with its claim. */
static u32 work_look(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	struct weir_todo weir_mem *w = &ctx->work;
	struct weir_task weir_mem *t = w->task;
	struct weir_pipe weir_mem *h = w->home;
	u64 claim;
	u32 state;

	if (weir_home_lock(s, h))
		return work_post(w, h,
				 (w->hand ? WEIR_HAND : WEIR_LOOK) |
					 (w->notes & (WEIR_AGAIN | WEIR_AFRESH)));
	w->stage = WORK_UNLOCK;
	if (weir_load(&t->home) != h->idx + 1)
		return ACT_NONE;
	claim = weir_load_acquire(&t->claim);
	state = weir_claim_state(claim);
	if (!weir_place_valid(s, t, claim)) {
		w->what = state == WEIR_DEAD	      ? WEIR_WHY_ENDED
			  : state == WEIR_SCHEDULABLE ? WEIR_WHY_WENT
						      : WEIR_WHY_BLOCKED;
		return ACT_DROP;
	}
	w->hand = 0;
	if (w->walked && t->landing) {
		w->at = ctx->reached;
		if (!w->at->postponed && weir_holder(w->at) == h) {
			weir_go_by(w->at, t);
			return ACT_REVIEW;
		}
		/* It goes elsewhere: from here on it is in this CPU's hand. */
		w->stage = WORK_WENT;
		w->what = WEIR_WHY_WENT;
		return ACT_DROP;
	}
	return w->notes & (WEIR_AGAIN | WEIR_AFRESH) ? work_again(s, ctx) : ACT_NONE;
}

/* It is to be placed, if this CPU has it in its hand. */
static u32 work_hand(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	struct weir_todo weir_mem *w = &ctx->work;
	u64 claim = weir_load_acquire(&w->task->claim);

	w->stage = WORK_END;
	if (!w->hand || weir_claim_state(claim) != WEIR_SCHEDULABLE)
		return ACT_NONE;
	w->number = weir_claim_number(claim);
	w->stage = WORK_PLACE;
	if (!w->walked)
		return work_walk(s, ctx, WEIR_ARRIVED);
	weir_go_by(ctx->reached, w->task);
	return ACT_NONE;
}

static u32 work_place(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	struct weir_todo weir_mem *w = &ctx->work;
	struct weir_task weir_mem *t = w->task;
	struct weir_pipe weir_mem *to = ctx->reached, *y = weir_holder(to);

	if (to->postponed && (to != w->from || !to->home)) {
		w->task = 0;
		weir_fetch_or(&t->pend, WEIR_HAND);
		/* Its receiver withholds it: it waits here, and nobody is woken for that. */
		weir_put_off(s, to, t, to != w->from);
		return ACT_NONE;
	}
	w->from = 0;
	ctx->step.why = WEIR_WHY_CAME;
	if (weir_home_lock(s, y))
		return work_post(w, y,
				 y->home && (y->border != to || to->keyed) ? WEIR_HAND : WEIR_HERE);
	ctx->keeps = w->walked;
	w->home = y;
	w->at = to;
	w->stage = WORK_PLACED;
	return ACT_PLACE;
}

/* The home is done with. */
static u32 work_unlock(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	struct weir_todo weir_mem *w = &ctx->work;

	weir_home_unlock(s, w->home);
	if (w->stage == WORK_PLACED) {
		ctx->keeps = 0;
		w->stage = WORK_END;
		return ACT_NONE;
	}
	if (w->stage == WORK_WENT) {
		w->hand = WEIR_HAND;
	} else {
		w->walked = 0;
		if (weir_load(&w->task->home))
			w->hand = 0;
	}
	w->stage = WORK_HAND;
	return ACT_NONE;
}

static u32 work_end(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	struct weir_todo weir_mem *w = &ctx->work;
	struct weir_task weir_mem *t = w->task;

	w->hand = 0;
	w->stage = WORK_BEGIN;
	if (!return_token(s, t, w->notes))
		return ACT_NONE;
	w->task = 0;
	if (ctx->moved == t) {
		ctx->moved = 0;
		ctx->mover = 0;
	}
	return ACT_NONE;
}

/* One stage of the work at the task in work, or at the next one in this CPU's hand. What takes steps is left to the caller. */
WEIR_GLOBAL u32 weir_work_on(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_todo weir_mem *w = &ctx->work;

	if (!w->task) {
		w->task = weir_record(s, ctx->own_first - 1);
		ctx->own_first = weir_load(&w->task->in_next);
		w->stage = WORK_BEGIN;
		w->from = 0;
		w->hand = 0;
	}
	switch (w->stage) {
	case WORK_BEGIN:
		return work_begin(s, ctx);
	case WORK_LOOK:
		return work_look(s, ctx);
	case WORK_HAND:
		return work_hand(s, ctx);
	case WORK_PLACE:
		return work_place(s, ctx);
	case WORK_END:
		return work_end(s, ctx);
	}
	return work_unlock(s, ctx);
}

/*
 * The running @t is shown to its stages, from @at on, which say how urgent it is; its home @h is locked. 0, or 1 + the CPU that is to be preempted,
 * because one that waits is more urgent: by how much is in the step.
 */
WEIR_PART u32 weir_review_running(struct weir_sched weir_mem *s weir_arg,
				  struct weir_ctx weir_mem *ctx weir_arg,
				  struct weir_pipe weir_mem *h weir_arg,
				  struct weir_pipe weir_mem *at weir_arg,
				  struct weir_task weir_mem *t weir_arg)
{
	struct weir_task weir_mem *first;
	struct weir_cpu weir_mem *c;
	u64 key;
	u32 cpu;

	weir_begin_steps(ctx, WEIR_WHY_NONE);
	ctx->step.runs = 1;
	while (at->stages && weir_loop) {
		weir_step_at(ctx, at->to, at, WEIR_REVIEW, t);
		at = at->to->nr_out == 1 ? at->to->out[0] : weir_went_on(at, h, t);
	}
	cpu = weir_claim_raw_cpu(weir_load(&t->claim));
	if (!ctx->step.urgent || cpu >= s->nr_cpus)
		return 0;
	c = &s->cpus[cpu];
	if (weir_load(&c->curr) != t)
		return 0;
	key = ctx->step.urgency;
	weir_store(&t->key, key);
	weir_store(&c->curr_key, key);
	first = h->keyed ? weir_first_of(h) : 0;
	if (!first || first->key >= key)
		return 0;
	ctx->step.urgency = first->key;
	return cpu + 1;
}

/* The CPU that runs @t, 1 + @cpu, is to be preempted for a task that waits in @h, which is locked. */
WEIR_PART int weir_ask_preempt(struct weir_ctx weir_mem *ctx weir_arg,
			       struct weir_pipe weir_mem *h weir_arg,
			       struct weir_task weir_mem *t weir_arg, u32 cpu)
{
	weir_publish(h->from, WEIR_TOPIC_PREEMPT, t, cpu - 1, ctx->step.urgency);
	return 0;
}

/* The same without a lock: if only the runtime hears that, and no message waits, it has it now. */
WEIR_INLINE void preempt(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			 struct weir_pipe weir_mem *h, struct weir_task weir_mem *t, u32 cpu)
{
	if (weir_unlikely(weir_distributed(s) || ctx->nr_msgs ||
			  s->graph->subscribed >> WEIR_TOPIC_PREEMPT & 1))
		weir_publish(h->from, WEIR_TOPIC_PREEMPT, t, cpu - 1, ctx->step.urgency);
	else if (s->rt_topics >> WEIR_TOPIC_PREEMPT & 1)
		weir_tell_preempt(s, h, t, cpu - 1, ctx->step.urgency);
}

/*
 * What is to be noted of @t because of a message on @topic: WEIR_AGAIN, if only stages of its home @h review it for that; WEIR_AFRESH, if others do;
 * 0: nothing.
 */
WEIR_INLINE u32 reviewed(struct weir_sched weir_mem *s, u32 topic, struct weir_task weir_mem *t,
			 struct weir_pipe weir_mem **home)
{
	struct weir_pipe weir_mem *h, *at;
	u64 bit = 1ull << topic;
	u32 landing;

	h = weir_home_of(s, t);
	if (!h) {
		if (weir_in_hand(s, t))
			return 0;
		h = weir_home_of(s, t);
	}
	*home = h;
	if (!h) {
		/* Perhaps it waits in a postponed pipe. */
		weir_recall_posted(s);
		return WEIR_AFRESH;
	}
	landing = weir_load_acquire(&t->landing);
	at = landing ? &s->graph->pipes[landing - 1] : h;
	if (landing && at->reviews_far & bit)
		return WEIR_AFRESH;
	/* At an exit shared by several CPUs, a CPU that may run the task only now can be idle. */
	if (at->reviews & bit ||
	    (landing && topic == WEIR_TOPIC_AFFINITY && h->nr_cpus > 1 && h->home))
		return WEIR_AGAIN;
	return 0;
}

WEIR_GLOBAL WEIR_RARE int weir_look_at(struct weir_sched weir_mem *s weir_arg, u32 topic,
				       struct weir_task weir_mem *t weir_arg)
{
	struct weir_pipe weir_mem *h;
	u32 bits = reviewed(s, topic, t, &h);

	if (bits)
		weir_note(s, t, bits);
	return 0;
}

/*
 * The same at once, if @t waits or runs in the home of those that review it: ACT_REVIEW or ACT_RUNNING is left to the caller, with the home locked
 * (ctx->work).
 *
 * Under the lock of its home, and with a place that agrees with its claim, a task may be looked at without its token: nobody else changes the
 * place meanwhile. If a call has it in its hand, that looks at it once more, because `changes` has moved on.
 */
WEIR_PART u32 weir_look_now(struct weir_sched weir_mem *s weir_arg,
			    struct weir_ctx weir_mem *ctx weir_arg, u32 topic,
			    struct weir_task weir_mem *t weir_arg)
{
	struct weir_todo weir_mem *w = &ctx->work;
	struct weir_pipe weir_mem *h, *at;
	u32 bits = reviewed(s, topic, t, &h);

	if (!bits)
		return ACT_NONE;
	if (bits != WEIR_AGAIN || !h->home || weir_load(&t->pend) || weir_home_lock(s, h)) {
		weir_note(s, t, bits);
		return ACT_NONE;
	}
	if (weir_load(&t->home) != h->mark ||
	    !weir_place_valid(s, t, weir_load_acquire(&t->claim))) {
		weir_fetch_add(&s->changes, 1);
		weir_home_unlock(s, h);
		return ACT_NONE;
	}
	at = h->border ? h->border : first_stage(s, h, t);
	if (t->landing && at->keyed) {
		/* Its way begins before the home. */
		weir_home_unlock(s, h);
		weir_note(s, t, WEIR_AFRESH);
		return ACT_NONE;
	}
	w->home = h;
	w->at = at;
	if (!t->landing)
		return ACT_RUNNING;
	weir_begin_steps(ctx, WEIR_WHY_NONE);
	return ACT_REVIEW;
}

/* The other domains and the runtime are notified. (Usually they do not want it.) */
WEIR_GLOBAL WEIR_RARE int weir_tell_others(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_msg msg;

	weir_set_msg(&msg, &ctx->msg);
	if (weir_distributed(s)) {
		weir_reconsider(s, &msg);
		/* The runtime got it in the domain that published it. */
		if (ctx->from_remote)
			return 0;
		weir_remote_send(s, &msg);
	}
	if (s->rt_topics >> msg.topic & 1)
		weir_rt_message(s, &msg);
	return 0;
}

/* The message in the context is about @t: whose topic it is in its home, sees it again. */
WEIR_INLINE void see_again(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx, u32 topic,
			   struct weir_task weir_mem *t)
{
	struct weir_todo weir_mem *w = &ctx->work;
	u32 what = weir_look_now(s, ctx, topic, t), cpu;

	if (what == ACT_RUNNING) {
		cpu = weir_review_running(s, ctx, w->home, w->at, t);
		weir_home_unlock(s, w->home);
		if (cpu)
			preempt(s, ctx, w->home, t, cpu);
	} else if (what == ACT_REVIEW) {
		weir_review_here(s, w->home, w->at, t);
		weir_home_unlock(s, w->home);
	}
}

/* What it left to do. */
WEIR_INLINE void act(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx, u32 what)
{
	struct weir_todo weir_mem *w = &ctx->work;
	u32 cpu;

	switch (what) {
	case ACT_WALK:
		weir_walk(s, w->at, w->task, w->what, w->from != 0);
		break;
	case ACT_DROP:
		weir_drop(s, w->home, w->task, w->what);
		break;
	case ACT_REVIEW:
		weir_review_here(s, w->home, w->at, w->task);
		break;
	case ACT_RUNNING:
		cpu = weir_review_running(s, ctx, w->home, w->at, w->task);
		if (cpu)
			weir_ask_preempt(ctx, w->home, w->task, cpu);
		break;
	case ACT_PLACE:
		weir_place(s, w->at, w->task, w->number);
		break;
	case ACT_LOOK:
		see_again(s, ctx, ctx->msg.topic, ctx->msg.task);
		break;
	case ACT_TELL:
		weir_class_on(ctx->recipient, &ctx->msg);
		break;
	}
}

/* The message in the context, on @topic, has reached its recipients: what is to be done now. */
WEIR_INLINE u32 delivered(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx, u32 topic)
{
	struct weir_task weir_mem *t = ctx->msg.task;

	ctx->delivery = 0;
	if (weir_unlikely(weir_distributed(s) || s->rt_topics >> topic & 1))
		weir_tell_others(s);
	return t && s->graph->reviewed >> topic & 1 ? ACT_LOOK : ACT_NONE;
}

/* The message in the context, to all its recipients. */
void weir_deliver(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	while (ctx->delivery != 4 && weir_next_recipient(s) && weir_loop)
		weir_class_on(ctx->recipient, &ctx->msg);
	ctx->delivery = 0;
	if (ctx->msg.task && s->graph->reviewed >> ctx->msg.topic & 1)
		weir_look_at(s, ctx->msg.topic, ctx->msg.task);
	weir_tell_others(s);
}

/* The message in the context, on @topic, which nobody hears but the responder, if there is one. */
WEIR_INLINE void deliver_alone(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx,
			       u32 topic)
{
	struct weir_instance weir_mem *to = weir_subs(s, topic)->responder;

	weir_op(s, WEIR_OP_NOTIFY, topic, 0);
	if (to && to->on >> topic & 1)
		weir_class_on(to, &ctx->msg);
	if (delivered(s, ctx, topic))
		see_again(s, ctx, topic, ctx->msg.task);
}

/* Nobody hears @m but the runtime, if that wants it: then it has it now. */
WEIR_INLINE int only_reported(struct weir_sched weir_mem *s, const struct weir_queued weir_mem *m)
{
	u32 topic = m->msg.topic;

	if (topic >= WEIR_NR_STD_TOPICS || weir_distributed(s) || s->graph->subscribed >> topic & 1)
		return 0;
	if (s->rt_topics >> topic & 1)
		weir_report(s, m);
	return 1;
}

/* The next message that waits is to be delivered; what only the runtime hears, it gets at once. */
WEIR_INLINE void take_message(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	struct weir_queued weir_mem *m = &ctx->msgs[ctx->next_msg++];

	if (only_reported(s, m))
		return;
	weir_set_msg(&ctx->msg, &m->msg);
	if (m->msg.topic >= WEIR_NR_STD_TOPICS && s->topics[m->msg.topic].bytes) {
		for (u32 i = 0; i < weir_unknown(WEIR_PAYLOAD_WORDS) && weir_loop; i++)
			ctx->payload[i] = m->payload[i];
		ctx->msg.data = ctx->payload;
	}
	ctx->delivery = 1;
}

/* The call has nothing left to do. */
WEIR_INLINE u32 settled(struct weir_ctx weir_mem *ctx)
{
	ctx->todo = 0;
	ctx->nr_msgs = 0;
	ctx->next_msg = 0;
	ctx->moved = 0;
	ctx->mover = 0;
	return ACT_OVER;
}

/* One stage of the messages' delivery. */
WEIR_PART u32 weir_speak(struct weir_sched weir_mem *s weir_arg,
			 struct weir_ctx weir_mem *ctx weir_arg)
{
	u32 topic = ctx->msg.topic;

	if (!ctx->delivery) {
		if (ctx->next_msg == ctx->nr_msgs)
			return settled(ctx);
		take_message(s, ctx);
		return ACT_NONE;
	}
	if (ctx->delivery == 1 && s->graph->alone >> topic & 1) {
		struct weir_instance weir_mem *to = weir_subs(s, topic)->responder;

		weir_op(s, WEIR_OP_NOTIFY, topic, 0);
		if (to && to->on >> topic & 1) {
			ctx->delivery = 4;
			ctx->recipient = to;
			return ACT_TELL;
		}
	} else if (ctx->delivery != 4 && weir_next_recipient(s)) {
		return ACT_TELL;
	}
	return delivered(s, ctx, topic);
}

WEIR_GLOBAL WEIR_RARE int weir_drain(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	while (weir_loop) {
		u32 what = ctx->work.task || ctx->own_first ? weir_work_on(s) : weir_speak(s, ctx);

		if (what == ACT_OVER)
			break;
		weir_only_now(ctx);
		weir_only_now(s);
		act(s, ctx, what);
	}
	return 0;
}

/* 1: there is more to do than to tell the runtime, which has heard what came before that. */
WEIR_PART int weir_tell_runtime(struct weir_sched weir_mem *s weir_arg,
				struct weir_ctx weir_mem *ctx weir_arg)
{
	if (ctx->own_first || ctx->work.task || ctx->delivery)
		return 1;
	while (ctx->next_msg < ctx->nr_msgs && weir_loop) {
		if (!only_reported(s, &ctx->msgs[ctx->next_msg]))
			return 1;
		ctx->next_msg++;
	}
	ctx->todo = 0;
	ctx->nr_msgs = 0;
	ctx->next_msg = 0;
	return 0;
}

WEIR_FLAT int weir_settle(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	return weir_tell_runtime(s, ctx) ? weir_drain(s) : 0;
}

/* --- calls: how one begins that may have to wait, and what it publishes --------------------------------- */

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

/* --- the calls of a runtime that are about no task: a message, a request, a timer ----------------------------- */

WEIR_GLOBAL int weir_notify_begin(struct weir_sched weir_mem *s weir_arg, u32 cpu,
				  const struct weir_msg *msg weir_arg_record)
{
	struct weir_ctx weir_mem *ctx;

	if (msg->topic >= WEIR_MAX_TOPICS || !weir_load(&s->topics[msg->topic].uuid))
		return -WEIR_ENOENT;
	ctx = weir_begin_call(s, cpu);
	if (!ctx)
		return -WEIR_EAGAIN;
	if (msg->topic == WEIR_TOPIC_CPU_STATUS && msg->cpu < s->nr_cpus) {
		weir_set_online(&s->cpus[msg->cpu], msg->value != 0);
		weir_fetch_add(&s->changes, 1);
		weir_heavy_fence();
		if (!msg->value)
			weir_mask_clear(s->idle, msg->cpu);
	}
	/* Nothing is before it: it need not wait in the queue. */
	if (!ctx->todo && msg->topic < WEIR_NR_STD_TOPICS) {
		weir_set_msg(&ctx->msg, msg);
		ctx->delivery = 1;
		ctx->todo = 1;
		return 0;
	}
	weir_msg_push(s, msg);
	return 0;
}

WEIR_FLAT void weir_notify_end(struct weir_sched weir_mem *s)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	weir_settle_call(s, ctx);
	weir_end_call(ctx);
}

WEIR_FLAT int weir_notify(struct weir_sched weir_mem *s, u32 cpu, const struct weir_msg *msg)
{
	struct weir_ctx weir_mem *ctx;
	int err;

	if (msg->topic >= WEIR_NR_STD_TOPICS || msg->topic == WEIR_TOPIC_CPU_STATUS) {
		err = weir_notify_begin(s, cpu, msg);
		if (!err)
			weir_notify_end(s);
		return err;
	}
	ctx = weir_begin_call(s, cpu);
	if (!ctx)
		return -WEIR_EAGAIN;
	if (!ctx->todo && s->graph->alone >> msg->topic & 1) {
		weir_set_msg(&ctx->msg, msg);
		deliver_alone(s, ctx, msg->topic);
	} else {
		weir_msg_push(s, msg);
	}
	weir_settle_call(s, ctx);
	weir_end_call(ctx);
	return 0;
}

WEIR_GLOBAL int weir_ask(struct weir_sched weir_mem *s weir_arg, u32 cpu,
			 struct weir_msg *msg weir_arg_record)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	int err;

	if (!ctx)
		return -WEIR_EAGAIN;
	err = weir_request(s, msg);
	weir_end_call(ctx);
	return err;
}

WEIR_FLAT int weir_timer_expired(struct weir_sched weir_mem *s, u32 cpu, u32 instance)
{
	struct weir_ctx weir_mem *ctx = weir_begin_call(s, cpu);
	int err = -WEIR_ENOENT;

	if (!ctx)
		return -WEIR_EAGAIN;
	if (instance < s->graph->nr_instances && !weir_gap(s->graph->instances[instance])) {
		struct weir_instance weir_mem *inst = s->graph->instances[instance];

		weir_store(&inst->timer_ns, 0);
		err = weir_class_timer(inst);
	}
	weir_settle_call(s, ctx);
	weir_end_call(ctx);
	return err;
}
