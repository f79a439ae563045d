/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Messages between CPUs that share no memory. Source: 0, 6.2; docs/decisions/0022.
 *
 * Each coherence domain has its own subscribers, responders and annotators. A message published in one domain reaches those
 * of another as a remote message: a copy by value, in a queue that a CPU of that domain empties with its next call.
 * Remote messages arrive in the order in which they were sent, also relative to tasks that cross in a postponed pipe,
 * because such tasks become visible with a call, too.
 */
#include "internal.h"

#if WEIR_DOMAINS

struct weir_remote_msg {
	struct weir_remote_msg weir_mem *next;
	u64 bytes;
	struct weir_msg msg; /* its mask or counters follow the struct */
};

struct weir_remote_queue {
	u32 lock;
	u32 reader; /* (a) a CPU is delivering: a second one would overtake it */
	u64 sent;   /* (a) messages so far */
	struct weir_remote_msg weir_mem *head; /* (a) written under the lock */
	struct weir_remote_msg weir_mem *tail;
};

/* A machine's domains are fixed: every plan for it names the same ones. */
int weir_domains_init(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan)
{
	if (s->remote || plan->nr_domains < 2)
		return !s->remote || plan->nr_domains == s->nr_domains ? 0 : -WEIR_EINVAL;
	for (u32 i = 0; i < s->nr_cpus; i++)
		if (plan->cpus[i].domain >= plan->nr_domains)
			return -WEIR_EINVAL;
	s->remote = weir_alloc(s, plan->nr_domains * sizeof(struct weir_remote_queue));
	if (!s->remote)
		return -WEIR_ENOMEM;
	for (u32 i = 0; i < s->nr_cpus; i++)
		s->ctx[i].domain = plan->cpus[i].domain;
	s->nr_domains = plan->nr_domains;
	return 0;
}

/* Size of the data that @msg points to, except its task, bytes. */
static u64 payload(const struct weir_sched weir_mem *s, const struct weir_msg *msg)
{
	return msg->mask ? weir_payload_bytes(s, msg->topic) : 0;
}

static int put(struct weir_sched weir_mem *s, struct weir_remote_queue weir_mem *queue,
	       const struct weir_msg *msg)
{
	u64 more = payload(s, msg), bytes = sizeof(struct weir_remote_msg) + more;
	struct weir_remote_msg weir_mem *m = weir_alloc(s, bytes);

	if (!m)
		return -WEIR_ENOMEM;
	m->next = 0;
	m->bytes = bytes;
	m->msg = *msg;
	if (more) {
		weir_copy(m + 1, msg->mask, more);
		m->msg.mask = (struct weir_cpumask weir_mem *)(m + 1);
	}
	if (weir_spin_lock(&queue->lock)) {
		weir_free(s, m, bytes);
		return -WEIR_EAGAIN;
	}
	/* The record stays until the message is delivered. */
	if (msg->task)
		weir_fetch_add(&msg->task->refs, 1);
	if (queue->tail)
		queue->tail->next = m;
	else
		weir_store_release(&queue->head, m);
	queue->tail = m;
	weir_store(&queue->sent, queue->sent + 1);
	weir_spin_unlock(&queue->lock);
	return 0;
}

int weir_remote_send(struct weir_sched weir_mem *s, const struct weir_msg *msg)
{
	u64 bit = 1ull << msg->topic;

	if (!(s->graph->subscribed & bit))
		return 0;
	for (u32 d = 0; d < s->nr_domains; d++) {
		const struct weir_subs weir_mem *subs =
			weir_subs_nth(s->graph, d * WEIR_MAX_TOPICS + msg->topic);

		if (d == weir_ctx(s)->domain)
			continue;
		if (!subs->nr && !subs->nr_scoped && !(s->graph->followed & bit) &&
		    msg->topic != WEIR_TOPIC_EXIT)
			continue;
		if (put(s, &s->remote[d], msg))
			weir_fetch_add(&s->lost_messages, 1);
		weir_op(s, WEIR_OP_REMOTE, d, 0);
	}
	return 0;
}

/* A message about a task that has ended meanwhile only releases the task's record. */
static void deliver(struct weir_sched weir_mem *s, const struct weir_msg *msg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_graph weir_mem *g = s->graph;
	int ended = msg->topic == WEIR_TOPIC_EXIT;

	if (!msg->task || ended || weir_load(&msg->task->state) != WEIR_DEAD) {
		ctx->msg = *msg;
		for (ctx->delivery = 1; ctx->delivery;)
			weir_deliver(s, ctx);
	}
	for (u32 i = 0; ended && i < g->nr_task_init; i++)
		if (weir_is_local(s, g->init_list[i]))
			weir_class_task_exit(g->init_list[i], msg->task);
	if (msg->task)
		weir_task_put(s, msg->task);
}

int weir_remote_receive(struct weir_sched weir_mem *s)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_remote_queue weir_mem *queue = &s->remote[ctx->domain];
	struct weir_remote_msg weir_mem *m, *next;

	if (!weir_load_acquire(&queue->head) || weir_cas(&queue->reader, 0, 1))
		return 0;
	if (!weir_spin_lock(&queue->lock)) {
		m = queue->head;
		weir_store(&queue->head, 0);
		queue->tail = 0;
		weir_spin_unlock(&queue->lock);
		weir_op(s, WEIR_OP_REMOTE, ctx->domain, 0);
		ctx->from_remote = 1;
		for (; m; m = next) {
			struct weir_msg msg = m->msg;

			next = m->next;
			deliver(s, &msg);
			weir_free(s, m, m->bytes);
		}
		ctx->from_remote = 0;
		weir_drain(s, 0, 0);
	}
	weir_store_release(&queue->reader, 0);
	return 0;
}

int weir_remote_flush(struct weir_sched weir_mem *s)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	u32 domain = ctx->domain;

	for (u32 d = 0; d < s->nr_domains; d++) {
		ctx->domain = d;
		weir_remote_receive(s);
	}
	ctx->domain = domain;
	return 0;
}

u64 weir_remote_sent(struct weir_sched weir_mem *s, u32 domain)
{
	return weir_distributed(s) && domain < s->nr_domains ? weir_load(&s->remote[domain].sent)
							     : 0;
}

#endif
