/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The broker: which instance receives which message, and when. */
#include "internal.h"

/* The payload of a queued message of an own topic: @data's words, or none. */
WEIR_GLOBAL int weir_msg_payload(struct weir_sched weir_mem *s weir_arg,
				 struct weir_queued weir_mem *m weir_arg,
				 const void weir_mem *data weir_arg)
{
	u32 words = s->topics[m->msg.topic & (WEIR_MAX_TOPICS - 1)].bytes / 8;

	for (u32 i = 0; i < weir_unknown(WEIR_PAYLOAD_WORDS) && weir_loop; i++)
		m->payload[i] = data && i < words ? weir_load(&((const u64 weir_mem *)data)[i]) : 0;
	return 0;
}

/* Room for a message on @topic of the present call, null: nobody hears it, or there is none. It is delivered when no lock is held. */
WEIR_INLINE struct weir_queued weir_mem *queue(struct weir_sched weir_mem *s,
					       struct weir_ctx weir_mem *ctx, u32 topic)
{
	if (!weir_distributed(s) && s->graph && !(s->graph->wanted >> topic & 1))
		return 0;
	if (ctx->nr_msgs == ctx->cap_msgs && weir_msgs_room(s, ctx))
		return 0;
	ctx->todo = 1;
	return &ctx->msgs[ctx->nr_msgs++];
}

WEIR_FLAT void weir_msg_push(struct weir_sched weir_mem *s, const struct weir_msg *msg)
{
	struct weir_queued weir_mem *m = queue(s, weir_ctx(s), msg->topic);

	if (!m)
		return;
	weir_set_msg(&m->msg, msg);
	if (msg->topic >= WEIR_NR_STD_TOPICS)
		weir_msg_payload(s, m, msg->data);
}

/* The same without a record of the caller's: a message about @t and @cpu. */
WEIR_FLAT static void push(struct weir_sched weir_mem *s, u32 topic, struct weir_task weir_mem *t,
			   u32 cpu, u64 value, u64 value2)
{
	struct weir_queued weir_mem *m = queue(s, weir_ctx(s), topic);

	if (!m)
		return;
	m->msg.topic = topic;
	m->msg.cpu = cpu;
	m->msg.task = t;
	m->msg.value = value;
	m->msg.value2 = value2;
	m->msg.data = 0;
	if (topic >= WEIR_NR_STD_TOPICS)
		weir_msg_payload(s, m, 0);
}

/* A component failed. (A function of its own: its message would be part of the frame of all steps.) */
WEIR_GLOBAL WEIR_RARE int weir_fault(struct weir_sched weir_mem *s weir_arg, u32 instance, int err)
{
	struct weir_msg fault = { .topic = WEIR_TOPIC_FAULT,
				  .cpu = WEIR_NO_CPU,
				  .value = (u64)-err,
				  .value2 = instance };

	weir_fetch_add(&s->faults, 1);
	weir_msg_push(s, &fault);
	return 0;
}

u32 weir_step_failed(struct weir_instance weir_mem *self, struct weir_task weir_mem *t, int err)
{
	weir_use(t);
	if (err != -WEIR_EAGAIN)
		weir_fault(self->sched, self->idx, err);
	return 0;
}

WEIR_FLAT void weir_publish(struct weir_instance weir_mem *self, u32 topic,
			    struct weir_task weir_mem *t, u32 cpu, u64 value)
{
	push(self->sched, weir_topic(self, topic), t, cpu, value, self->idx);
}

WEIR_GLOBAL WEIR_RARE int weir_tell_preempt(struct weir_sched weir_mem *s weir_arg,
					    struct weir_pipe weir_mem *exit weir_arg,
					    struct weir_task weir_mem *t weir_arg, u32 cpu, u64 key)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_PREEMPT,
				.cpu = cpu,
				.task = t,
				.value = key,
				.value2 = exit->from->idx };

	weir_use(s);
	weir_use(exit);
	weir_op(s, WEIR_OP_NOTIFY, WEIR_TOPIC_PREEMPT, 0);
	weir_rt_message(s, &msg);
	return 0;
}

WEIR_FLAT void weir_publish_data(struct weir_instance weir_mem *self, u32 topic,
				 struct weir_task weir_mem *t, u32 cpu, const void weir_mem *data)
{
	struct weir_msg msg = { .topic = weir_topic(self, topic),
				.cpu = cpu,
				.task = t,
				.value2 = self->idx,
				.data = data };

	weir_msg_push(self->sched, &msg);
}

/*
 * A message is delivered to one recipient at a time. The context holds the progress, so that a component's function is called
 * beside the function that finds it, not below it: the kernel limits the depth of calls (docs/decisions/0012). Each step stores the
 * next recipient in the context.
 *
 * The responder comes first, so that an instance that asks it during the delivery gets the new value and no subscriber still acts on
 * the old one (docs/decisions/0004). Then come subscribers to every message, then those in the message's scope (subscribe.c).
 */

/* The next entry of the present part of `sub_list`; 1: there is one. */
WEIR_GLOBAL int weir_next_listed(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_instance weir_mem *responder = weir_subs(s, ctx->msg.topic)->responder;

	while (ctx->sub_at < ctx->sub_end && weir_loop) {
		struct weir_instance weir_mem *to = s->graph->sub_list[ctx->sub_at++];

		if (to != responder) {
			ctx->recipient = to;
			if (ctx->delivery == 3 && ctx->sub_at == ctx->sub_end)
				ctx->delivery = 4;
			return 1;
		}
	}
	return 0;
}

/* The part of `sub_list` that is in the scope of the message. */
WEIR_GLOBAL int weir_begin_scope(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	const struct weir_subs weir_mem *subs = weir_subs(s, ctx->msg.topic);
	u32 cpu = ctx->msg.task ? weir_last_cpu(ctx->msg.task) : ctx->msg.cpu;

	ctx->sub_at = subs->first_scoped;
	ctx->sub_end = subs->first_scoped + subs->nr_scoped;
	if (!subs->nr_scoped)
		return 0;
	if (cpu < s->nr_cpus) {
		ctx->sub_at = s->graph->scopes[subs->scope + cpu];
		ctx->sub_end = s->graph->scopes[subs->scope + cpu + 1];
	} else if (ctx->msg.task && 1ull << ctx->msg.topic & WEIR_SCOPED_VALUES) {
		ctx->sub_end = ctx->sub_at;
	}
	return 0;
}

static int next_subscriber(struct weir_sched weir_mem *s, struct weir_ctx weir_mem *ctx)
{
	const struct weir_subs weir_mem *subs = weir_subs(s, ctx->msg.topic);
	struct weir_instance weir_mem *to = subs->responder;

	if (ctx->delivery == 1) {
		ctx->delivery = 2;
		ctx->sub_at = subs->first;
		ctx->sub_end = subs->first + subs->nr;
		ctx->recipient = to;
		if (to && to->on >> ctx->msg.topic & 1)
			return 1;
	}
	if (weir_next_listed(s))
		return 1;
	if (ctx->delivery == 3)
		return 0;
	ctx->delivery = 3;
	weir_begin_scope(s);
	return weir_next_listed(s);
}

/* 1: the message has another recipient, @recipient of the context. */
WEIR_GLOBAL int weir_next_recipient(struct weir_sched weir_mem *s weir_arg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	if (ctx->delivery == 1)
		weir_op(s, WEIR_OP_NOTIFY, ctx->msg.topic, 0);
	return next_subscriber(s, ctx);
}

/* A queued message that nobody hears but the runtime. */
WEIR_GLOBAL int weir_report(struct weir_sched weir_mem *s weir_arg,
			    const struct weir_queued weir_mem *m weir_arg)
{
	struct weir_msg msg;

	weir_use(s);
	weir_op(s, WEIR_OP_NOTIFY, m->msg.topic, 0);
	weir_set_msg(&msg, &m->msg);
	weir_rt_message(s, &msg);
	return 0;
}

WEIR_FLAT int weir_request_here(struct weir_sched weir_mem *s, struct weir_msg *msg)
{
	struct weir_instance weir_mem *r;

	if (msg->topic >= WEIR_MAX_TOPICS || !s->graph)
		return -WEIR_ENOENT;
	r = weir_subs(s, msg->topic)->responder;
	if (!r) {
		/* The framework itself knows the slice that the policy granted. */
		if (msg->topic != WEIR_TOPIC_SLICE || !msg->task)
			return -WEIR_ENOENT;
		msg->value = weir_load(&msg->task->slice_ns);
		return 0;
	}
	weir_op(s, WEIR_OP_REQUEST, msg->topic, 0);
	return weir_class_answer(r, msg);
}

WEIR_GLOBAL int weir_request(struct weir_sched weir_mem *s weir_arg,
			     struct weir_msg *msg weir_arg_record)
{
	return weir_request_here(s, msg);
}

WEIR_COLD u64 weir_property_asked(struct weir_sched weir_mem *s, u32 topic,
				  struct weir_task weir_mem *t)
{
	struct weir_msg msg = { .topic = topic, .task = t };
	const struct weir_instance weir_mem *r = weir_subs(s, topic)->responder;
	u32 at = r->answer_at & ~WEIR_ASK_FURTHER;
	u64 answer =
		at ? weir_load_acquire((u64 weir_mem *)((char weir_mem *)weir_priv(r, t) + at - 1))
		   : 0;

	if (at && (!answer || at == r->answer_at)) {
		weir_op(s, WEIR_OP_REQUEST, topic, 0);
		return answer;
	}
	if (weir_request_here(s, &msg))
		return 0;
	return topic == WEIR_TOPIC_AFFINITY ? (u64)msg.mask : msg.value;
}

/* --- topics added at run time ------------------------------------------------------------------ */

static int lock_topics(struct weir_sched weir_mem *s)
{
	WEIR_WAIT(waited);

	return weir_impatient_lock(&s->alloc_lock, waited, s->patience);
}

static int find_free(struct weir_sched weir_mem *s)
{
	for (u32 i = WEIR_NR_STD_TOPICS; i < weir_unknown(WEIR_OWN_FIRST) && weir_loop; i++)
		if (!s->topics[i].uuid)
			return i;
	return -WEIR_ETOPICS;
}

WEIR_GLOBAL int weir_topic_find(struct weir_sched weir_mem *s weir_arg, u64 uuid, u32 version)
{
	for (u32 i = 0; uuid && i < weir_unknown(WEIR_OWN_FIRST) && weir_loop; i++)
		if (weir_load_acquire(&s->topics[i].uuid) == uuid)
			return weir_load(&s->topics[i].version) == version ? (int)i : -WEIR_EPROTO;
	return -WEIR_ENOENT;
}

/* Registering a UUID again returns the same id if version and payload match. The lock is held. */
static int enter_topic(struct weir_sched weir_mem *s, const struct weir_class_topic weir_mem *topic)
{
	struct weir_topic weir_mem *t;
	int id = weir_topic_find(s, topic->uuid, topic->version);

	if (id >= 0)
		return s->topics[id].bytes == topic->bytes ? id : -WEIR_EPROTO;
	if (id != -WEIR_ENOENT)
		return id;
	id = find_free(s);
	if (id < 0)
		return id;
	t = &s->topics[id];
	t->version = topic->version;
	t->bytes = topic->bytes;
	t->from = topic->from;
	t->users = 0;
	t->kept = 0;
	for (u32 i = 0; i < weir_unknown(WEIR_TOPIC_NAME) && weir_loop; i++)
		t->name[i] = topic->name[i];
	weir_store_release(&t->uuid, topic->uuid);
	return id;
}

/* Free a topic without users that the runtime does not keep. The lock is held. */
static void drop_topic(struct weir_topic weir_mem *t)
{
	if (!t->users && !t->kept)
		weir_store(&t->uuid, 0);
}

static int sound_topic(const struct weir_class_topic weir_mem *topic)
{
	return topic->uuid && !(topic->bytes & 7) && topic->bytes <= 8 * WEIR_PAYLOAD_WORDS;
}

int weir_topic_register(struct weir_sched weir_mem *s,
			const struct weir_class_topic weir_mem *topic)
{
	int id;

	weir_budget_reset();
	if (!sound_topic(topic))
		return -WEIR_EINVAL;
	if (lock_topics(s))
		return -WEIR_EAGAIN;
	id = enter_topic(s, topic);
	if (id >= (int)WEIR_NR_STD_TOPICS)
		s->topics[id].kept = 1;
	weir_spin_unlock(&s->alloc_lock);
	return id;
}

int weir_topic_check(struct weir_sched weir_mem *s, u32 topic, u64 uuid, u32 version)
{
	u64 present = topic < WEIR_MAX_TOPICS ? weir_load_acquire(&s->topics[topic].uuid) : 0;

	if (!present)
		return -WEIR_ENOENT;
	return present == uuid && weir_load(&s->topics[topic].version) == version ? 0
										  : -WEIR_EPROTO;
}

int weir_topic_for_users(struct weir_sched weir_mem *s, u32 topic)
{
	if (topic < WEIR_NR_STD_TOPICS)
		return 0;
	if (topic >= WEIR_MAX_TOPICS || !weir_load(&s->topics[topic].uuid))
		return -WEIR_ENOENT;
	return s->topics[topic].from & WEIR_FROM_USER ? 0 : -WEIR_EPERM;
}

u64 weir_payload_bytes(const struct weir_sched weir_mem *s, u32 topic)
{
	if (topic == WEIR_TOPIC_COUNTERS)
		return sizeof(struct weir_counters);
	if (topic == WEIR_TOPIC_AFFINITY)
		return s->mask_words * sizeof(u64);
	return topic >= WEIR_NR_STD_TOPICS && topic < WEIR_MAX_TOPICS ? s->topics[topic].bytes : 0;
}

int weir_topic_hold(struct weir_sched weir_mem *s, u32 topic)
{
	int err = -WEIR_ENOENT;

	/* Under the lock of weir_topic_remove(), which must not miss the new user. */
	if (lock_topics(s))
		return -WEIR_EAGAIN;
	if (topic < WEIR_MAX_TOPICS && s->topics[topic].uuid) {
		s->topics[topic].users++;
		err = 0;
	}
	weir_spin_unlock(&s->alloc_lock);
	return err;
}

int weir_topic_release(struct weir_sched weir_mem *s, u32 topic)
{
	int err = -WEIR_ENOENT;

	if (lock_topics(s))
		return -WEIR_EAGAIN;
	if (topic < WEIR_MAX_TOPICS && s->topics[topic].users) {
		s->topics[topic].users--;
		drop_topic(&s->topics[topic]);
		err = 0;
	}
	weir_spin_unlock(&s->alloc_lock);
	return err;
}

int weir_topic_remove(struct weir_sched weir_mem *s, u32 topic)
{
	int err = 0;

	if (topic >= WEIR_MAX_TOPICS || topic < WEIR_NR_STD_TOPICS ||
	    !weir_load(&s->topics[topic].uuid))
		return -WEIR_ENOENT;
	if (lock_topics(s))
		return -WEIR_EAGAIN;
	s->topics[topic].kept = 0;
	if (s->topics[topic].users)
		err = -WEIR_EBUSY;
	drop_topic(&s->topics[topic]);
	weir_spin_unlock(&s->alloc_lock);
	return err;
}

/* --- an instance's own topics ------------------------------------------------------------------ */

WEIR_FLAT u32 weir_own_number(const struct weir_instance weir_mem *i, u32 topic)
{
	return weir_own_topic_at(i, topic);
}

/* Topics as the class numbers them, by their places in the table. */
static u64 placed(const struct weir_instance weir_mem *inst, u64 bits)
{
	u64 out = bits & ((1ull << WEIR_OWN_FIRST) - 1);

	for (u32 k = 0; k < weir_unknown(WEIR_MAX_OWN) && weir_loop; k++)
		if (bits >> WEIR_OWN(k) & 1)
			out |= 1ull << (inst->topics[k] & (WEIR_MAX_TOPICS - 1));
	return out;
}

WEIR_GLOBAL int weir_topics_bind(struct weir_sched weir_mem *s weir_arg,
				 struct weir_instance weir_mem *inst weir_arg)
{
	const struct weir_class weir_mem *class = &s->classes[inst->class];
	int err = 0;

	for (u32 k = 0; k < class->nr_topics && k < weir_unknown(WEIR_MAX_OWN) && weir_loop; k++) {
		if (!sound_topic(&class->topics[k]))
			return -WEIR_EINVAL;
		if (lock_topics(s))
			return -WEIR_EAGAIN;
		err = enter_topic(s, &class->topics[k]);
		/* A standard topic belongs to no instance. */
		if (err >= 0 && err < (int)WEIR_NR_STD_TOPICS)
			err = -WEIR_EPROTO;
		if (err >= 0) {
			s->topics[err & (WEIR_MAX_TOPICS - 1)].users++;
			inst->topics[k] = err;
			err = 0;
		}
		weir_spin_unlock(&s->alloc_lock);
		if (err)
			return err;
	}
	inst->on = placed(inst, class->on);
	inst->reviews = placed(inst, class->reviews);
	inst->answers = placed(inst, class->answers);
	return 0;
}

WEIR_FLAT int weir_topics_unbind(struct weir_sched weir_mem *s, struct weir_instance weir_mem *inst)
{
	for (u32 k = 0; k < weir_unknown(WEIR_MAX_OWN) && weir_loop; k++) {
		u32 topic = inst->topics[k] & (WEIR_MAX_TOPICS - 1);

		if (!topic)
			continue;
		/* The topic must not stay forever because a CPU has stopped: the last user's place is freed in any case. */
		while (lock_topics(s) && weir_loop)
			;
		s->topics[topic].users--;
		drop_topic(&s->topics[topic]);
		weir_spin_unlock(&s->alloc_lock);
		inst->topics[k] = 0;
	}
	return 0;
}
