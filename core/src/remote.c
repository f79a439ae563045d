/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * CPUs that share no memory. Source: 0, 6.2; docs/decisions/0160.
 *
 * Each coherence domain has a scheduler of its own, in memory of its own: its graph is the part of the plan whose instances are in this
 * domain. Numbers of pipes, instances, CPUs and tasks are those of the whole plan, so that remote messages between domains need no address; what
 * belongs to another domain is a gap in the tables.
 *
 * A pipe between two domains exists in both. Here it ends (`outward`): a task that reaches it is sent. There it is an entry (`inward`):
 * the task is created again under its number. The record that it left is freed when the other domain confirms its arrival.
 * A message about a task reaches the domain that has the task; any other message reaches all domains where somebody hears it.
 */
#include "settle.h"

#if WEIR_DOMAINS

struct outgoing {
	struct outgoing weir_mem *next;
	struct weir_remote_msg msg;
};

struct weir_remote {
	u32 lock;
	u32 ended; /* (a) first of the numbers to be returned; the next one is in the record's `in_next` */
	struct outgoing weir_mem *head; /* (l) */
	struct outgoing weir_mem *tail; /* (l) */
	struct weir_cpumask reported;	/* (o) CPUs that other domains take to be busy */
};

void weir_remote_init(struct weir_sched weir_mem *s, u32 domain)
{
	s->domain = domain;
}

/* A machine's domains are fixed: every plan for it names the same ones. */
int weir_domains_init(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan)
{
	if (s->remote || plan->nr_domains < 2)
		return !s->remote || plan->nr_domains == s->nr_domains ? 0 : -WEIR_EINVAL;
	if (s->domain >= plan->nr_domains)
		return -WEIR_EINVAL;
	s->remote = weir_alloc(s, sizeof(struct weir_remote));
	if (!s->remote)
		return -WEIR_ENOMEM;
	s->remote->ended = WEIR_NO_TASK;
	s->nr_domains = plan->nr_domains;
	return 0;
}

static int heard_there(const struct weir_sched weir_mem *s, const struct weir_graph weir_mem *g,
		       u32 domain, u32 topic)
{
	return domain != s->domain &&
	       (topic >= WEIR_NR_STD_TOPICS || g->heard[domain] >> topic & 1);
}

int weir_borders(struct weir_sched weir_mem *s, const struct weir_plan weir_mem *plan,
		 struct weir_graph weir_mem *g)
{
	if (!weir_distributed(s))
		return 0;
	for (u32 i = 0; i < plan->nr_cpus; i++)
		if (plan->cpus[i].domain >= s->nr_domains)
			return -WEIR_EINVAL;
	g->epoch = plan->epoch;
	g->heard = weir_region_alloc(s, &g->region, s->nr_domains * sizeof(u64));
	g->borders = weir_region_alloc(s, &g->region, (plan->nr_pipes + 1) * sizeof(u32));
	if (!g->heard || !g->borders)
		return -WEIR_ENOMEM;
	for (u32 i = 0; i < plan->nr_instances; i++) {
		const struct weir_plan_instance weir_mem *pi = &plan->instances[i];
		const struct weir_class weir_mem *class;

		if (pi->domain >= s->nr_domains || pi->class >= s->nr_classes)
			return -WEIR_EINVAL;
		class = &s->classes[pi->class];
		g->heard[pi->domain] |= class->on | class->reviews;
		g->reviewed_anywhere |= class->reviews;
	}
	/* Which CPUs are online is known in each domain. */
	for (u32 d = 0; d < s->nr_domains; d++)
		g->heard[d] |= WEIR_TOPIC_BIT(CPU_STATUS);
	for (u32 i = 0; i < plan->nr_pipes; i++) {
		const struct weir_plan_pipe weir_mem *pp = &plan->pipes[i];
		u32 from, to;

		if (pp->from >= plan->nr_instances)
			continue;
		from = plan->instances[pp->from].domain;
		to = plan->instances[pp->to].domain;
		if (from == to || (from != s->domain && to != s->domain))
			continue;
		if (from == s->domain)
			g->pipes[i].outward = 1 + to;
		else
			g->pipes[i].inward = 1 + from;
		g->borders[g->nr_borders++] = i;
	}
	return 0;
}

struct weir_pipe weir_mem *weir_same_border(struct weir_sched weir_mem *s,
					    const struct weir_pipe weir_mem *p)
{
	struct weir_graph weir_mem *g = s->graph;
	struct weir_pipe weir_mem *now;

	if (!p->inward || p->idx >= g->nr_pipes)
		return 0;
	now = &g->pipes[p->idx];
	/* The receiver continues: its number in the new graph is known already. */
	return now->inward == p->inward && now->to->idx == p->to->idx && now->to_port == p->to_port
		       ? now
		       : 0;
}

/* --- remote messages --------------------------------------------------------------------------------------- */

static u64 weir_mem *words_of(struct outgoing weir_mem *o)
{
	return (u64 weir_mem *)(o + 1);
}

static u64 outgoing_bytes(u32 words)
{
	return sizeof(struct outgoing) + (u64)words * sizeof(u64);
}

static struct outgoing weir_mem *outgoing_new(struct weir_sched weir_mem *s, u32 kind, u32 to,
					      u32 words)
{
	struct outgoing weir_mem *o = weir_alloc(s, outgoing_bytes(words));

	if (!o)
		return 0;
	o->msg.kind = kind;
	o->msg.from = s->domain;
	o->msg.to = to;
	o->msg.task = WEIR_NO_TASK;
	o->msg.cpu = WEIR_NO_CPU;
	o->msg.epoch = s->graph->epoch;
	o->msg.nr_words = words;
	return o;
}

static void leave_for(struct weir_sched weir_mem *s, struct outgoing weir_mem *o)
{
	struct weir_remote weir_mem *r = s->remote;

	/* Reports of load ride along. */
	if (o->msg.kind != WEIR_REMOTE_MSG_LOAD)
		weir_op(s, WEIR_OP_REMOTE, o->msg.to, 0);
	weir_spin_lock(&r->lock);
	o->next = 0;
	if (r->tail)
		r->tail->next = o;
	else
		r->head = o;
	r->tail = o;
	weir_spin_unlock(&r->lock);
}

void weir_remote_taken(struct weir_sched weir_mem *s)
{
	struct weir_remote weir_mem *r = s->remote;
	struct outgoing weir_mem *o;

	weir_spin_lock(&r->lock);
	o = r->head;
	r->head = o->next;
	if (!r->head)
		r->tail = 0;
	weir_spin_unlock(&r->lock);
	weir_free(s, o, outgoing_bytes(o->msg.nr_words));
}

/* --- messages ---------------------------------------------------------------------------------------- */

void weir_remote_send(struct weir_sched weir_mem *s, const struct weir_msg *msg)
{
	u32 words = msg->mask ? weir_payload_bytes(s, msg->topic) / 8 : 0;

	if (msg->task)
		return;
	for (u32 d = 0; d < s->nr_domains; d++) {
		struct outgoing weir_mem *o;

		if (!heard_there(s, s->graph, d, msg->topic))
			continue;
		o = outgoing_new(s, WEIR_REMOTE_MSG_MESSAGE, d, words);
		if (!o) {
			weir_fetch_add(&s->lost_messages, 1);
			continue;
		}
		o->msg.uuid = s->topics[msg->topic].uuid;
		o->msg.version = s->topics[msg->topic].version;
		o->msg.cpu = msg->cpu;
		o->msg.value = msg->value;
		o->msg.value2 = msg->value2;
		o->msg.reported = 1;
		if (words)
			weir_copy(words_of(o), msg->mask, words * sizeof(u64));
		leave_for(s, o);
	}
}

/* Deliver @msg, which the runtime has, or wants, if @reported is 0. */
static void deliver(struct weir_sched weir_mem *s, const struct weir_msg *msg, u32 reported)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);

	ctx->msg = *msg;
	ctx->from_remote = reported;
	ctx->delivery = 1;
	weir_deliver(s, ctx);
	ctx->from_remote = 0;
}

/* The topic of this UUID here; negative: nobody here has it. */
static int topic_here(struct weir_sched weir_mem *s, u64 uuid, u64 version)
{
	return uuid - 1 < WEIR_NR_STD_TOPICS ? (int)(uuid - 1)
					     : weir_topic_find(s, uuid, (u32)version);
}

static int accept_message(struct weir_sched weir_mem *s, const struct weir_remote_msg *p,
			  struct weir_task weir_mem *t)
{
	int topic = topic_here(s, p->uuid, p->version);
	struct weir_msg msg = { .cpu = p->cpu, .task = t, .value = p->value, .value2 = p->value2 };

	if (topic < 0)
		return 0;
	msg.topic = topic;
	if (p->nr_words)
		msg.data = (const void weir_mem *)(p + 1);
	if (topic == WEIR_TOPIC_CPU_STATUS && p->cpu < s->nr_cpus) {
		weir_set_online(&s->cpus[p->cpu], p->value != 0);
		weir_fetch_add(&s->changes, 1);
		if (!p->value)
			weir_mask_clear(s->idle, p->cpu);
	}
	deliver(s, &msg, p->reported);
	return 0;
}

/* --- annotations -------------------------------------------------------------------------------------- */

/*
 * What is known of a task moves with it, as records of words: what an annotator answers about it, which is published to its
 * counterpart, or private data that move as they are.
 */
enum { REC_UUID, REC_VERSION, REC_VALUE, REC_VALUE2, REC_WORDS, REC_HEAD };
#define RAW 0ull /* instead of a UUID: `version` is the class */

static int is_raw(const struct weir_sched weir_mem *s, const struct weir_instance weir_mem *inst)
{
	return s->classes[inst->class].has & WEIR_HAS_TRAVELS;
}

/* Topics of which @inst, an annotator, answers what it hears. */
static u64 kept_by(const struct weir_sched weir_mem *s, const struct weir_instance weir_mem *inst)
{
	if (inst->nr_in || inst->nr_out || is_raw(s, inst))
		return 0;
	return inst->on & inst->answers;
}

/* Write the records to @to, or, if it is null, count their words. */
static u32 describe(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, u64 weir_mem *to)
{
	struct weir_graph weir_mem *g = s->graph;
	u32 n = 0;

	for (u32 i = 0; i < g->nr_priv; i++) {
		struct weir_instance weir_mem *inst = g->priv_list[i];

		if (is_raw(s, inst)) {
			if (to) {
				to[n + REC_UUID] = RAW;
				to[n + REC_VERSION] = inst->class;
				to[n + REC_WORDS] = inst->per_task / 8;
				weir_copy(to + n + REC_HEAD, weir_priv(inst, t), inst->per_task);
			}
			n += REC_HEAD + inst->per_task / 8;
			continue;
		}
		for (u64 bits = kept_by(s, inst); bits; bits &= bits - 1) {
			u32 topic = weir_lowest_bit(bits), words;
			struct weir_msg msg = { .topic = topic, .task = t };

			if (weir_class_answer(inst, &msg))
				continue;
			words = msg.mask ? weir_payload_bytes(s, topic) / 8 : 0;
			if (to) {
				to[n + REC_UUID] = s->topics[topic].uuid;
				to[n + REC_VERSION] = s->topics[topic].version;
				to[n + REC_VALUE] = msg.value;
				to[n + REC_VALUE2] = msg.value2;
				to[n + REC_WORDS] = words;
				weir_copy(to + n + REC_HEAD, msg.mask, words * sizeof(u64));
			}
			n += REC_HEAD + words;
		}
	}
	return n;
}

static struct weir_instance weir_mem *of_class(const struct weir_graph weir_mem *g, u64 class)
{
	for (u32 i = 0; i < g->nr_priv; i++)
		if (g->priv_list[i]->class == class)
			return g->priv_list[i];
	return 0;
}

static void know(struct weir_sched weir_mem *s, struct weir_task weir_mem *t, const u64 *rec)
{
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_instance weir_mem *inst;
	int topic;

	if (rec[REC_UUID] == RAW) {
		inst = of_class(s->graph, rec[REC_VERSION]);
		if (inst && inst->per_task == rec[REC_WORDS] * 8)
			weir_copy(weir_priv(inst, t), (const void weir_mem *)(rec + REC_HEAD),
				  inst->per_task);
		return;
	}
	topic = topic_here(s, rec[REC_UUID], rec[REC_VERSION]);
	inst = topic < 0 ? 0 : weir_subs(s, topic)->responder;
	if (!inst || !(kept_by(s, inst) >> topic & 1))
		return;
	ctx->msg.topic = topic;
	ctx->msg.cpu = WEIR_NO_CPU;
	ctx->msg.task = t;
	ctx->msg.value = rec[REC_VALUE];
	ctx->msg.value2 = rec[REC_VALUE2];
	ctx->msg.data = rec[REC_WORDS] ? (const void weir_mem *)(rec + REC_HEAD) : 0;
	weir_class_on(inst, &ctx->msg);
}

/* --- tasks -------------------------------------------------------------------------------------------- */

/* Send @t, the first task of an outward pipe. 0: sent, or it has gone another way. */
static int send_task(struct weir_sched weir_mem *s, struct weir_pipe weir_mem *pipe,
		     struct weir_task weir_mem *t)
{
	u32 words = describe(s, t, 0);
	struct outgoing weir_mem *o =
		outgoing_new(s, WEIR_REMOTE_MSG_TASK, pipe->outward - 1, words);
	u64 w = weir_load(&t->claim);

	if (!o)
		return -WEIR_ENOMEM;
	if (weir_claim_state(w) != WEIR_SCHEDULABLE ||
	    weir_cas(&t->claim, w,
		     weir_claim_word(weir_claim_number(w), weir_claim_cpu(w), WEIR_AWAY)) != w) {
		weir_free(s, o, outgoing_bytes(words));
		return 0;
	}
	weir_fetch_add(&s->nr_away, 1);
	if (weir_home_lock(s, pipe)) {
		weir_post(pipe, t, WEIR_LOOK, 0);
	} else {
		weir_drop(s, pipe, t, WEIR_WHY_ENDED);
		weir_home_unlock(s, pipe);
	}
	describe(s, t, words_of(o));
	o->msg.task = t->id;
	o->msg.pipe = pipe->idx;
	o->msg.cpu = weir_last_cpu(t);
	o->msg.cookie = weir_load(&t->cookie);
	pipe->sent++;
	weir_fetch_add(&pipe->beyond, 1);
	leave_for(s, o);
	return 0;
}

static struct weir_task weir_mem *first_of(struct weir_sched weir_mem *s,
					   struct weir_pipe weir_mem *pipe)
{
	struct weir_task weir_mem *t;

	if (!weir_load(&pipe->nr) || weir_home_lock(s, pipe))
		return 0;
	t = pipe->head;
	weir_home_unlock(s, pipe);
	return t;
}

/* The task of this remote message is here from now on. */
static int accept_task(struct weir_sched weir_mem *s, const struct weir_remote_msg *p)
{
	struct outgoing weir_mem *back = outgoing_new(s, WEIR_REMOTE_MSG_ARRIVED, p->from, 0);
	const u64 *words = (const u64 *)(p + 1);
	struct weir_ctx weir_mem *ctx = weir_ctx(s);
	struct weir_graph weir_mem *g = s->graph;
	struct weir_pipe weir_mem *pipe = 0;
	struct weir_task weir_mem *t;
	struct weir_msg msg = { .topic = WEIR_TOPIC_ADMIT, .cpu = ctx->cpu };

	if (!back)
		return -WEIR_ENOMEM;
	t = weir_task_import(s, p->task, p->cookie);
	if (!t) {
		weir_free(s, back, outgoing_bytes(0));
		return -WEIR_ENOMEM;
	}
	weir_store(&t->claim, weir_claim_word(weir_claim_number(weir_load(&t->claim)), p->cpu,
					      WEIR_UNCONSIDERED));
	for (u32 at = 0; at < p->nr_words; at += REC_HEAD + words[at + REC_WORDS])
		know(s, t, words + at);
	back->msg.task = p->task;
	leave_for(s, back);
	/* Its pipe may have gone with a change of topology, or what was right when it was sent may not be allowed any more. */
	if (p->epoch == g->epoch && p->pipe < g->nr_pipes && g->pipes[p->pipe].inward) {
		pipe = &g->pipes[p->pipe];
		pipe->sent++;
		if (!weir_pipe_allows(pipe, weir_affinity(s, t)))
			pipe = 0;
	}
	if (!pipe)
		pipe = &g->pipes[g->cpus[ctx->cpu].entry];
	weir_store(&t->entry_cpu, ctx->cpu);
	weir_store(&t->pend, WEIR_TOKEN | WEIR_HAND);
	weir_store_release(&t->claim, weir_claim_word(weir_claim_number(weir_load(&t->claim)) + 1,
						      p->cpu, WEIR_SCHEDULABLE));
	/* Its way begins at the border. */
	weir_send_onward(t, pipe);
	weir_own(s, ctx, t);
	weir_drain(s);
	/* Those who count tasks here. */
	msg.task = t;
	deliver(s, &msg, 1);
	return 0;
}

/* The domain to which this task was sent has it. */
static int task_has_left(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_EXIT, .cpu = WEIR_NO_CPU, .task = t };
	struct weir_graph weir_mem *g = s->graph;

	weir_assert(weir_state(t) == WEIR_AWAY);
	/* Somebody has it in work: its home has not let go of it yet. */
	if (weir_load(&t->pend) || weir_load(&t->home))
		return -WEIR_EAGAIN;
	weir_store(&t->claim, weir_claim_word(weir_claim_number(weir_load(&t->claim)), WEIR_NO_CPU,
					      WEIR_DEAD));
	weir_fetch_add(&s->nr_away, (u32)-1);
	/* Those who counted it here. */
	deliver(s, &msg, 1);
	for (u32 i = 0; i < g->nr_task_init; i++)
		weir_class_task_exit(g->init_list[i], t);
	weir_task_lend(s, t);
	return weir_task_free(s, t);
}

void weir_number_ended(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	if (!weir_own_block(s, t->id / WEIR_TASK_CHUNK))
		weir_stack_push(&s->remote->ended, t->in_next, t->id);
}

static void return_numbers(struct weir_sched weir_mem *s)
{
	struct weir_remote weir_mem *r = s->remote;

	while (r->ended != WEIR_NO_TASK) {
		u32 id = r->ended;
		struct weir_task weir_mem *t =
			&s->chunks[id / WEIR_TASK_CHUNK][id % WEIR_TASK_CHUNK];
		struct outgoing weir_mem *o = outgoing_new(s, WEIR_REMOTE_MSG_ENDED,
							   id / WEIR_TASK_CHUNK % s->nr_domains, 0);

		if (!o)
			return;
		if (weir_cas(&r->ended, id, t->in_next) != id) {
			weir_free(s, o, outgoing_bytes(0));
			continue;
		}
		o->msg.task = id;
		leave_for(s, o);
	}
}

/* --- decisions that are out of date -------------------------------------------------------------------- */

/* The pipe from another domain through which @t, which waits, has come; null: it has not. */
static struct weir_pipe weir_mem *came_from(struct weir_sched weir_mem *s,
					    struct weir_task weir_mem *t)
{
	u32 landing = weir_load_acquire(&t->landing);
	struct weir_pipe weir_mem *at = landing ? &s->graph->pipes[landing - 1] : 0;

	while (at && at->from)
		at = weir_before(at, t);
	return at && at->inward ? at : 0;
}

void weir_reconsider(struct weir_sched weir_mem *s, const struct weir_msg *msg)
{
	struct weir_graph weir_mem *g = s->graph;
	struct weir_task weir_mem *t = msg->task;

	/* From its entry: that of this domain. */
	if (t && (g->reviewed_anywhere >> msg->topic & 1 || msg->topic >= WEIR_NR_STD_TOPICS) &&
	    came_from(s, t))
		weir_note(s, t, WEIR_AFRESH);
	if (msg->topic != WEIR_TOPIC_CPU_STATUS || msg->value)
		return;
	for (u32 i = 0; i < g->nr_borders; i++) {
		struct weir_pipe weir_mem *pipe = &g->pipes[g->borders[i]];

		if (pipe->inward && !weir_pipe_allows(pipe, 0))
			weir_ask_home(s, weir_holder(pipe), WEIR_ANEW);
	}
}

/* --- load ------------------------------------------------------------------------------------------------ */

/* This word is a CPU, and whether it is busy; else it is a pipe, and the next one its tasks and those that have arrived. */
#define LOAD_CPU (1ull << 63)

static u64 load_of(const struct weir_pipe weir_mem *pipe)
{
	return (u64)(weir_pipe_nr(pipe) & 0xffff) << 32 | pipe->sent;
}

static int is_busy(const struct weir_sched weir_mem *s, u32 cpu)
{
	return weir_mask_test(s->busy, cpu);
}

/* The sender of the tasks of inward @pipe knows an older state. */
static int pipe_changed(const struct weir_pipe weir_mem *pipe)
{
	return pipe->reported != weir_pipe_nr(pipe) || pipe->accepted != pipe->sent;
}

/* The other domains take @cpu, which is of this domain, to be busy and it is not, or the other way round. */
static int cpu_changed(const struct weir_sched weir_mem *s, u32 cpu)
{
	return s->graph->cpus[cpu].domain == s->domain &&
	       is_busy(s, cpu) != weir_mask_test(&s->remote->reported, cpu);
}

/* Report what has changed for domain @to: two words for each pipe from there, one for each CPU that it leads to. */
static void report_load(struct weir_sched weir_mem *s, u32 to, u32 nr_cpus)
{
	struct weir_graph weir_mem *g = s->graph;
	struct outgoing weir_mem *o;
	u64 weir_mem *w;
	u32 nr = 0, n = 0;

	for (u32 i = 0; i < g->nr_borders; i++) {
		const struct weir_pipe weir_mem *pipe = &g->pipes[g->borders[i]];

		nr += pipe->inward == 1 + to && pipe_changed(pipe);
	}
	if (!nr && !nr_cpus)
		return;
	o = outgoing_new(s, WEIR_REMOTE_MSG_LOAD, to, 2 * nr + nr_cpus);
	/* Then the other domain balances by an older state. */
	if (!o)
		return;
	w = words_of(o);
	for (u32 i = 0; i < g->nr_borders; i++) {
		struct weir_pipe weir_mem *pipe = &g->pipes[g->borders[i]];

		if (pipe->inward != 1 + to || !pipe_changed(pipe))
			continue;
		pipe->reported = weir_pipe_nr(pipe);
		pipe->accepted = pipe->sent;
		w[n++] = pipe->idx;
		w[n++] = load_of(pipe);
	}
	for (u32 c = 0; nr_cpus && c < s->nr_cpus; c++)
		if (cpu_changed(s, c))
			w[n++] = LOAD_CPU | (u64)is_busy(s, c) << 32 | c;
	leave_for(s, o);
}

static void report_all(struct weir_sched weir_mem *s)
{
	struct weir_cpumask weir_mem *reported = &s->remote->reported;
	u32 nr_cpus = 0;

	for (u32 c = 0; c < s->nr_cpus; c++)
		nr_cpus += cpu_changed(s, c);
	for (u32 d = 0; d < s->nr_domains; d++)
		if (d != s->domain)
			report_load(s, d, nr_cpus);
	for (u32 c = 0; nr_cpus && c < s->nr_cpus; c++) {
		if (!cpu_changed(s, c))
			continue;
		if (is_busy(s, c))
			weir_mask_set(reported, c);
		else
			weir_mask_clear(reported, c);
	}
}

static void accept_load(struct weir_sched weir_mem *s, const struct weir_remote_msg *p)
{
	struct weir_graph weir_mem *g = s->graph;
	const u64 *w = (const u64 *)(p + 1);

	for (u32 i = 0; i < p->nr_words; i++) {
		struct weir_pipe weir_mem *pipe;

		if (w[i] & LOAD_CPU) {
			if (w[i] >> 32 & 1)
				weir_mask_set(s->busy, (u32)w[i]);
			else
				weir_mask_clear(s->busy, (u32)w[i]);
			continue;
		}
		pipe = &g->pipes[w[i]];
		i++;
		if (p->epoch == g->epoch)
			weir_store(&pipe->beyond, (u32)(w[i] >> 32) + pipe->sent - (u32)w[i]);
	}
}

/* --- what crosses --------------------------------------------------------------------------------------------- */

/* The first message for another domain, after all that is ready to leave was added; null: none. */
static const struct weir_remote_msg weir_mem *collect(struct weir_sched weir_mem *s)
{
	struct weir_graph weir_mem *g = s->graph;
	struct outgoing weir_mem *o;
	int sent;

	do {
		sent = 0;
		for (u32 i = 0; i < g->nr_borders; i++) {
			struct weir_pipe weir_mem *pipe = &g->pipes[g->borders[i]];
			struct weir_task weir_mem *t = pipe->outward ? first_of(s, pipe) : 0;

			/* Without memory it stays; it is sent after a later call. */
			for (; t && !send_task(s, pipe, t); t = first_of(s, pipe))
				sent = 1;
		}
		/* Receivers before the border hear that it has left, and may pass others on. */
		if (sent)
			weir_drain(s);
	} while (sent);
	return_numbers(s);
	if (!s->remote->head)
		report_all(s);
	o = s->remote->head;
	return o ? &o->msg : 0;
}

/* @p, which is no call and is about @t if that is not null, has come from another domain. */
static int take_in(struct weir_sched weir_mem *s, const struct weir_remote_msg *p,
		   struct weir_task weir_mem *t)
{
	int err = 0;

	if (p->kind != WEIR_REMOTE_MSG_LOAD)
		weir_op(s, WEIR_OP_REMOTE, s->domain, 0);
	switch (p->kind) {
	case WEIR_REMOTE_MSG_TASK:
		err = accept_task(s, p);
		break;
	case WEIR_REMOTE_MSG_ARRIVED:
		err = task_has_left(s, weir_task_get(s, p->task));
		break;
	case WEIR_REMOTE_MSG_ENDED:
		weir_task_number_back(s, p->task);
		break;
	case WEIR_REMOTE_MSG_MESSAGE:
		err = accept_message(s, p, t);
		break;
	default:
		accept_load(s, p);
	}
	return err;
}

/* --- for a runtime, which moves remote messages from domain to domain ------------------------------------------ */

const struct weir_remote_msg weir_mem *weir_remote_next(struct weir_sched weir_mem *s, u32 cpu)
{
	const struct weir_remote_msg weir_mem *msg;

	if (!weir_distributed(s) || weir_enter(s, cpu))
		return 0;
	msg = collect(s);
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
	err = take_in(s, p, t);
	weir_drain(s);
	weir_end_call(weir_ctx(s));
	return err;
}

#endif
