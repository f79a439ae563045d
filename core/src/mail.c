/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Messages between CPUs that share no memory. Source: 0, 6.2; docs/decisions/0022.
 *
 * Each coherence domain has subscribers, responders and annotators of its own. What is published in one reaches
 * those of another as a letter: a copy by value, in a box that a CPU of that domain empties with its next call. Letters
 * keep their order, also with tasks that cross in a postponed pipe, for these come to light with a call, too.
 */
#include "internal.h"

#if WEIR_DOMAINS

struct weir_letter {
	struct weir_letter weir_mem *next;
	u64 bytes;
	struct weir_msg msg; /* its mask or counters follow the letter */
};

struct weir_box {
	u32 lock;
	u32 reader; /* (a) a CPU is about to deliver: others would overtake it */
	u64 posted; /* (a) letters so far */
	struct weir_letter weir_mem *head; /* (a) written under the lock */
	struct weir_letter weir_mem *tail;
};

/* A machine keeps its domains: each plan for it tells the same. */
int weir_domains_init(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan)
{
	if (s->boxes || plan->nr_domains < 2)
		return !s->boxes || plan->nr_domains == s->nr_domains ? 0 : -WEIR_EINVAL;
	for (u32 i = 0; i < s->nr_cpus; i++)
		if (plan->cpus[i].domain >= plan->nr_domains)
			return -WEIR_EINVAL;
	s->boxes = weir_alloc(s, plan->nr_domains * sizeof(struct weir_box));
	if (!s->boxes)
		return -WEIR_ENOMEM;
	for (u32 i = 0; i < s->nr_cpus; i++)
		s->ctx[i].domain = plan->cpus[i].domain;
	s->nr_domains = plan->nr_domains;
	return 0;
}

/* What @msg points to besides its task, bytes. */
static u64 payload(const struct weir_sched weir_mem *s, const struct weir_msg *msg)
{
	if (!msg->mask)
		return 0;
	return msg->topic == WEIR_TOPIC_COUNTERS ? sizeof(struct weir_counters) : s->mask_words * sizeof(u64);
}

static int put(struct weir_sched weir_mem *s, struct weir_box weir_mem *box, const struct weir_msg *msg)
{
	u64 more = payload(s, msg), bytes = sizeof(struct weir_letter) + more;
	struct weir_letter weir_mem *letter = weir_alloc(s, bytes);

	if (!letter)
		return -WEIR_ENOMEM;
	letter->next = 0;
	letter->bytes = bytes;
	letter->msg = *msg;
	if (more) {
		weir_copy(letter + 1, msg->mask, more);
		letter->msg.mask = (struct weir_cpumask weir_mem *)(letter + 1);
	}
	if (weir_spin_lock(&box->lock)) {
		weir_free(s, letter, bytes);
		return -WEIR_EAGAIN;
	}
	/* The record stays until the letter is read. */
	if (msg->task)
		weir_fetch_add(&msg->task->refs, 1);
	if (box->tail)
		box->tail->next = letter;
	else
		weir_store_release(&box->head, letter);
	box->tail = letter;
	weir_store(&box->posted, box->posted + 1);
	weir_spin_unlock(&box->lock);
	return 0;
}

int weir_mail_post(struct weir_sched weir_mem *s, const struct weir_msg *msg)
{
	u64 bit = 1ull << msg->topic;

	if (!(s->graph->heard & bit))
		return 0;
	for (u32 d = 0; d < s->nr_domains; d++) {
		const struct weir_subs weir_mem *subs = weir_subs_nth(s->graph, d * WEIR_MAX_TOPICS + msg->topic);

		if (d == weir_ctx(s)->domain)
			continue;
		if (!subs->nr && !(s->graph->followed & bit) && msg->topic != WEIR_TOPIC_EXIT)
			continue;
		if (put(s, &s->boxes[d], msg))
			weir_fetch_add(&s->lost_messages, 1);
		weir_op(s, WEIR_OP_MAIL, d, 0);
	}
	return 0;
}

/* A letter about a task that has ended meanwhile only lets go of its record. */
static void open(struct weir_sched weir_mem *s, const struct weir_msg *msg)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_graph weir_mem *g = s->graph;
	int ended = msg->topic == WEIR_TOPIC_EXIT;

	if (!msg->task || ended || weir_load(&msg->task->state) != WEIR_DEAD) {
		ctx->msg = *msg;
		for (ctx->telling = 1; ctx->telling;)
			weir_tell(s, ctx);
	}
	for (u32 i = 0; ended && i < g->nr_task_init; i++)
		if (weir_is_near(s, g->init_list[i]))
			weir_class_task_exit(g->init_list[i], msg->task);
	if (msg->task)
		weir_task_put(s, msg->task);
}

int weir_mail_read(struct weir_sched weir_mem *s)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_box weir_mem *box = &s->boxes[ctx->domain];
	struct weir_letter weir_mem *letter, *next;

	if (!weir_load_acquire(&box->head) || weir_cas(&box->reader, 0, 1))
		return 0;
	if (!weir_spin_lock(&box->lock)) {
		letter = box->head;
		weir_store(&box->head, 0);
		box->tail = 0;
		weir_spin_unlock(&box->lock);
		weir_op(s, WEIR_OP_MAIL, ctx->domain, 0);
		ctx->reading = 1;
		for (; letter; letter = next) {
			struct weir_msg msg = letter->msg;

			next = letter->next;
			open(s, &msg);
			weir_free(s, letter, letter->bytes);
		}
		ctx->reading = 0;
		weir_drain(s, 0, 0);
	}
	weir_store_release(&box->reader, 0);
	return 0;
}

int weir_mail_flush(struct weir_sched weir_mem *s)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	u32 domain = ctx->domain;

	for (u32 d = 0; d < s->nr_domains; d++) {
		ctx->domain = d;
		weir_mail_read(s);
	}
	ctx->domain = domain;
	return 0;
}

u64 weir_mail_posted(struct weir_sched weir_mem *s, u32 domain)
{
	return weir_distributed(s) && domain < s->nr_domains ? weir_load(&s->boxes[domain].posted) : 0;
}

#endif
