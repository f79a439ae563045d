/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a process that holds a scheduler in its own memory looks at: included behind the core's unit. */
#include <weir/runtime.h>
#include <weir/schedule.h>

#include "host.h"
#include "internal.h"

/* Generated with the unit; an entry is null where the component exists in another language only. */
extern const struct weir_descriptor *const weir_descriptors[];
extern const struct weir_entries weir_entries[];
extern const u32 weir_nr_descriptors;

/* What the core keeps of a class. @out is zeroed. */
void weir_host_class_of(const struct weir_descriptor *d, const struct weir_entries *e,
			struct weir_class *out)
{
	weir_assert(d->nr_params <= WEIR_MAX_PARAMS && d->nr_topics <= WEIR_MAX_OWN);
	out->size = d->size;
	out->per_task = d->per_task;
	out->hears = d->hears;
	out->serial = d->serial;
	out->ordering = d->ordering;
	out->keyed_out = d->keyed_out;
	out->answer_at = d->answer_at;
	out->has = e->has | (d->travels ? WEIR_HAS_TRAVELS : 0) |
		   (d->out_label == WEIR_BY_IN ? WEIR_HAS_PAIRS : 0);
	out->nr_params = d->nr_params;
	out->on = e->on;
	out->reviews = d->reviews;
	out->hears_all = d->hears_all;
	out->answers = e->answers;
	for (u32 k = 0; k < d->nr_params; k++)
		out->param_offset[k] = d->params[k].offset;
	out->nr_topics = d->nr_topics;
	for (u32 k = 0; k < d->nr_topics; k++) {
		const struct weir_own_topic *own = &d->topics[k];
		struct weir_class_topic *topic = &out->topics[k];

		topic->uuid = own->uuid;
		topic->version = own->version;
		topic->bytes = own->bytes;
		topic->from = own->from;
		for (u32 i = 0; i + 1 < WEIR_TOPIC_NAME && own->name[i]; i++)
			topic->name[i] = own->name[i];
	}
}

/* The table for weir_config: @out has room for weir_nr_descriptors entries and is zeroed. */
void weir_host_classes(struct weir_class *out)
{
	for (u32 i = 0; i < weir_nr_descriptors; i++)
		if (weir_descriptors[i])
			weir_host_class_of(weir_descriptors[i], &weir_entries[i], &out[i]);
}

void weir_host_setup(struct weir_sched *s, u64 cookie, u64 rt_topics)
{
	s->cookie = cookie;
	s->rt_topics = rt_topics;
}

/* A scheduler that one thread at a time uses is about to be set up; see weir/port.h. */
void weir_host_alone(void)
{
#ifdef WEIR_USERS
	u32 unknown = WEIR_USERS_UNKNOWN;

	__atomic_compare_exchange_n(&weir_port_users, &unknown, WEIR_USERS_ALONE, 0,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
#endif
}

/* One that several use is: so it stays, as it may live as long as the process. */
void weir_host_threads(void)
{
#ifdef WEIR_USERS
	__atomic_store_n(&weir_port_users, WEIR_USERS_THREADS, __ATOMIC_RELAXED);
#endif
}

/* From now on operations are recorded in @log: the calls come from one thread. */
void weir_host_oplog(struct weir_sched *s, struct weir_oplog *log)
{
	s->log = log;
	s->oplog = 1;
}

/* Not for now, or again. */
void weir_host_record(struct weir_sched *s, u32 on)
{
	s->oplog = on && s->log;
}

/* The first lines of what is at @at. */
static void fetch(const void *at, u32 nr_lines)
{
	for (u32 i = 0; i < nr_lines; i++)
		__builtin_prefetch((const char *)at + 64 * i);
}

/* Calls of @cpu will come soon: let the caches fetch what they look at first. */
void weir_host_soon(const struct weir_sched *s, u32 cpu)
{
	const struct weir_graph *g = s->graph;
	const struct weir_plan_cpu *at;

	if (!g || cpu >= g->nr_cpus)
		return;
	fetch(&s->cpus[cpu], 1);
	fetch(&s->ctx[cpu], 2);
	at = &g->cpus[cpu];
	if (at->entry < g->nr_pipes)
		fetch(&g->pipes[at->entry], 3);
	if (at->exit < g->nr_pipes)
		fetch(&g->pipes[at->exit], 3);
}

/* They come now: what those records refer to. */
void weir_host_now(const struct weir_sched *s, u32 cpu)
{
	const struct weir_graph *g = s->graph;
	const struct weir_pipe *exit;

	if (!g || cpu >= g->nr_cpus || g->cpus[cpu].exit >= g->nr_pipes)
		return;
	exit = &g->pipes[g->cpus[cpu].exit];
	fetch(exit->from, 2);
	if (exit->head)
		fetch(exit->head, 2);
}

/* 1 + the number of the latest task in the inbox of @p, if that is a postponed pipe; 0: none. */
static u32 latest(const struct weir_pipe *p)
{
	return p->postponed ? p->word >> 32 : 0;
}

/* The task of postponed @p that waits for a CPU to ask and came after @n others, null: there are no more. */
static struct weir_task *posted(const struct weir_sched *s, const struct weir_pipe *p, u32 n)
{
	u32 nr = 0;

	for (u32 id = latest(p); id; id = weir_record(s, id - 1)->in_next)
		nr++;
	if (n >= nr)
		return 0;
	for (u32 id = latest(p); id; id = weir_record(s, id - 1)->in_next)
		if (--nr == n)
			return weir_record(s, id - 1);
	return 0;
}

/* Members of all pipes, into their `len`; the calls come from one thread. */
static void count_all(const struct weir_sched *s)
{
	const struct weir_graph *g = s->graph;
	struct weir_task *t;

	for (u32 i = 0; i < g->nr_pipes; i++)
		g->pipes[i].len = 0;
	for (u32 i = 0; i < g->nr_pipes; i++) {
		weir_for_task(t, &g->pipes[i])
			for (struct weir_pipe *p = &g->pipes[i]; p; p = weir_before(p, t))
				p->len++;
		for (u32 id = latest(&g->pipes[i]); id; id = t->in_next) {
			t = weir_record(s, id - 1);
			if (weir_state(t) == WEIR_SCHEDULABLE)
				for (struct weir_pipe *p = &g->pipes[i]; p; p = weir_before(p, t))
					p->len++;
		}
	}
}

/* Tasks that a CPU finds in the inbox of @p, a postponed pipe, when it asks. */
static u32 put_off(const struct weir_sched *s, const struct weir_pipe *p)
{
	const struct weir_task *t;
	u32 n = 0;

	for (u32 id = latest(p); id; id = t->in_next) {
		t = weir_record(s, id - 1);
		n += weir_state(t) == WEIR_SCHEDULABLE;
	}
	return n;
}

/* Tasks in @p and behind it. @joined: a stage there has several in-pipes, so some of them may have come another way. */
static u32 from_here_on(const struct weir_sched *s, const struct weir_pipe *p, int *joined)
{
	const struct weir_instance *to = p->stages ? p->to : 0;
	u32 n = p->nr + put_off(s, p);

	for (u32 port = 0; to && !*joined && port < to->nr_out; port++)
		n += from_here_on(s, to->out[port], joined);
	if (to && to->nr_in > 1)
		*joined = 1;
	return n;
}

/* Members of @p. @counted: count_all() was called, and nothing has happened since; it is called if there is no other way. */
static u32 members(const struct weir_sched *s, const struct weir_pipe *p, int *counted)
{
	int joined = 0;
	u32 n = from_here_on(s, p, &joined);

	if (!joined)
		return n;
	if (!*counted)
		count_all(s);
	*counted = 1;
	return p->len;
}

u32 weir_host_pipe_len(const struct weir_sched *s, u32 pipe)
{
	int counted = 0;

	return pipe < s->graph->nr_pipes ? members(s, &s->graph->pipes[pipe], &counted) : 0;
}

/* The first pipe from @from on whose length is not what @known says for the first @nr pipes, which is put right; @nr: none. */
u32 weir_host_other_len(const struct weir_sched *s, u32 *known, u32 nr, u32 from)
{
	const struct weir_graph *g = s->graph;
	u32 end = nr < g->nr_pipes ? nr : g->nr_pipes;
	int counted = 0;

	for (; from < end; from++) {
		u32 len = members(s, &g->pipes[from], &counted);

		if (known[from] == len)
			continue;
		known[from] = len;
		return from;
	}
	return nr;
}

/* The pipe that links a task; ~0: none. */
u32 weir_host_stands(const struct weir_sched *s, u32 task)
{
	const struct weir_task *t = weir_task_get((struct weir_sched *)s, task);

	return t && t->landing ? t->landing - 1 : ~0u;
}

/* The pipe that links @t, or where it was put off. */
static struct weir_pipe *place_of(const struct weir_graph *g, const struct weir_task *t)
{
	return &g->pipes[t->landing ? t->landing - 1 : t->least];
}

/* Where @t stands in @pipe, of which it is a member: its key there, and whether that is the last one that it got. */
static u64 key_in(const struct weir_pipe *pipe, const struct weir_task *t, int *last)
{
	const struct weir_pipe *at = place_of(pipe->sched->graph, t);

	*last = 1;
	for (; at != pipe; at = weir_before(at, t))
		if (at->from->ties)
			*last = 0;
	return *last ? t->key : t->tie;
}

/* @a goes before @b in @pipe, of which both are members. */
static int stands_before(const struct weir_pipe *pipe, const struct weir_task *a,
			 const struct weir_task *b)
{
	const struct weir_graph *g = pipe->sched->graph;
	int last = 0, same = 0;
	u64 ka = key_in(pipe, a, &same), kb = key_in(pipe, b, &last);

	if (!pipe->keyed)
		return weir_came_before(a, b);
	/* In a gated pipe first those that are eligible, then the others by the time when they are. */
	if (pipe->gated && last && same) {
		int late_a = a->gate > place_of(g, a)->now;
		int late_b = b->gate > place_of(g, b)->now;

		if (late_a != late_b)
			return late_b;
		if (late_a && a->gate != b->gate)
			return a->gate < b->gate;
	}
	if (ka != kb)
		return ka < kb;
	if (pipe->tied && last && same && a->tie != b->tie)
		return a->tie < b->tie;
	return weir_came_before(a, b);
}

/* Add @t to the @n members of @pipe in @ids, in its order. Their number. */
static u32 add_member(const struct weir_pipe *pipe, const struct weir_task *t, u32 *ids, u32 n)
{
	u32 at = n;

	/* Those of one pipe are mostly in order. */
	while (at && stands_before(pipe, t, weir_record(pipe->sched, ids[at - 1]))) {
		ids[at] = ids[at - 1];
		at--;
	}
	ids[at] = t->id;
	return n + 1;
}

/* The members of a pipe, in its order. */
u32 weir_host_pipe_tasks(const struct weir_sched *s, u32 no, u32 *ids, u32 cap)
{
	const struct weir_graph *g = s->graph;
	const struct weir_pipe *pipe, *p;
	struct weir_task *t;
	u32 n = 0;

	if (no >= g->nr_pipes)
		return 0;
	pipe = &g->pipes[no];
	for (u32 i = 0; i < g->nr_pipes; i++) {
		weir_for_task(t, &g->pipes[i])
			if (weir_pipe_has(pipe, t) && n < cap)
				n = add_member(pipe, t, ids, n);
		for (u32 k = 0; (t = posted(s, &g->pipes[i], k)); k++) {
			for (p = &g->pipes[i]; p && p != pipe;)
				p = weir_before(p, t);
			if (p && n < cap && weir_state(t) == WEIR_SCHEDULABLE)
				n = add_member(pipe, t, ids, n);
		}
	}
	return n;
}

/* Bytes in use, and bytes that each task adds under the present graph. */
void weir_host_memory(const struct weir_sched *s, struct weir_host_memory *m)
{
	m->used = s->used - s->freed;
	m->per_task = sizeof(struct weir_task);
	m->nr_slots = 0;
	m->nr_tasks = s->nr_tasks;
	m->nr_away = s->nr_away;
	m->faults = s->faults;
	m->lost_messages = s->lost_messages;
	if (!s->graph)
		return;
	m->nr_slots = s->graph->nr_slots;
	for (u32 i = 0; i < s->graph->nr_instances; i++)
		if (s->graph->instances[i])
			m->per_task += s->graph->instances[i]->per_task;
}

/* UUID and version of topic number @topic; 0: there is none. */
u64 weir_host_topic(const struct weir_sched *s, u32 topic, u32 *version)
{
	if (topic >= WEIR_MAX_TOPICS)
		return 0;
	*version = s->topics[topic].version;
	return s->topics[topic].uuid;
}

u64 weir_host_updates(const struct weir_sched *s, u32 instance)
{
	const struct weir_graph *g = s->graph;

	return instance < g->nr_instances && g->instances[instance]
		       ? weir_came_to(g->instances[instance])
		       : 0;
}

u32 weir_host_instance_size(void)
{
	return sizeof(struct weir_instance);
}
