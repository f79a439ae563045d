/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The calls of a runtime that are about no task: a message, a request, a timer. */
#include "call.h"

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
		weir_deliver_alone(s, ctx);
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
