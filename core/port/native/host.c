/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a process that holds a scheduler in its own memory looks at: included behind the core's unit. */
#include <weir/runtime.h>
#include <weir/schedule.h>

#include "host.h"

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
	out->change_kinds = d->change_kinds;
	if (!d->change_kinds && e->has & WEIR_HAS_UPDATE)
		out->change_kinds = WEIR_ADDED | WEIR_MOVED;
	out->keyed_out = d->keyed_out;
	out->has = e->has | (d->travels ? WEIR_HAS_TRAVELS : 0) |
		   (d->out_label == WEIR_BY_IN ? WEIR_HAS_PAIRS : 0);
	out->carries = d->carries;
	out->nr_params = d->nr_params;
	out->on = e->on;
	out->follows = e->follows;
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

u64 weir_host_cookie(const struct weir_sched *s)
{
	return s->cookie;
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

/* They come now, and are about @t: what those records refer to. */
void weir_host_now(const struct weir_sched *s, u32 cpu, const struct weir_task *t)
{
	const struct weir_graph *g = s->graph;
	const struct weir_pipe *exit;
	const struct weir_task *next;

	if (!g || cpu >= g->nr_cpus || g->cpus[cpu].exit >= g->nr_pipes)
		return;
	exit = &g->pipes[g->cpus[cpu].exit];
	fetch(&t->hooks[exit->slot], 1);
	fetch(exit->from, 2);
	next = exit->head;
	if (next)
		fetch(next, 2);
}

u32 weir_host_pipe_len(const struct weir_sched *s, u32 pipe)
{
	return pipe < s->graph->nr_pipes ? weir_pipe_nr(&s->graph->pipes[pipe]) : 0;
}

/* The first pipe from @from on whose length is not what @known says for the first @nr pipes, which is put right; @nr: none. */
u32 weir_host_other_len(const struct weir_sched *s, u32 *known, u32 nr, u32 from)
{
	const struct weir_graph *g = s->graph;
	u32 end = nr < g->nr_pipes ? nr : g->nr_pipes;

	for (; from < end; from++) {
		u32 nr_now = weir_pipe_nr(&g->pipes[from]);

		if (known[from] == nr_now)
			continue;
		known[from] = nr_now;
		return from;
	}
	return nr;
}

/* The deepest pipe that a task has reached; ~0: none. */
u32 weir_host_stands(const struct weir_sched *s, u32 task)
{
	const struct weir_task *t = weir_task_get((struct weir_sched *)s, task);

	for (u32 slot = t && s->graph ? s->graph->nr_slots : 0; slot > 0; slot--)
		if (t->hooks[slot - 1].pipe)
			return t->hooks[slot - 1].pipe->idx;
	return ~0u;
}

/* Of tasks that passed through, in the order in which they came in. */
static u32 members(const struct weir_sched *s, const struct weir_pipe *p, u32 *ids, u32 cap)
{
	const struct weir_graph *g = s->graph;
	struct weir_task *t;
	u32 n = 0;

	for (u32 i = 0; i < g->nr_pipes; i++) {
		if (!g->pipes[i].carried)
			continue;
		weir_for_task(t, &g->pipes[i]) {
			u32 at = n;

			if (!weir_pipe_has(p, t) || n == cap)
				continue;
			/* Those of one pipe are mostly in order. */
			while (at && s->chunks[ids[at - 1] / WEIR_TASK_CHUNK]
					      [ids[at - 1] % WEIR_TASK_CHUNK]
						      .hooks[0]
						      .key > t->hooks[0].key) {
				ids[at] = ids[at - 1];
				at--;
			}
			ids[at] = t->id;
			n++;
		}
	}
	return n;
}

u32 weir_host_pipe_tasks(const struct weir_sched *s, u32 pipe, u32 *ids, u32 cap)
{
	struct weir_task *t;
	u32 n = 0;

	if (pipe >= s->graph->nr_pipes)
		return 0;
	if (s->graph->pipes[pipe].carried & WEIR_CARRIED)
		return members(s, &s->graph->pipes[pipe], ids, cap);
	weir_for_task(t, &s->graph->pipes[pipe])
		if (n < cap)
			ids[n++] = t->id;
	return n;
}

/* Whether tasks are carried, from the next graph on. */
void weir_host_carry(struct weir_sched *s, u32 on)
{
	s->logged = !on;
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
	m->per_task += s->graph->nr_slots * sizeof(struct weir_hook);
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
		       ? g->instances[instance]->nr_updates
		       : 0;
}

/* For components in other languages, which do not see the structs. */
struct weir_pipe *weir_host_out(const struct weir_instance *inst, u32 port)
{
	return weir_out(inst, port);
}

u32 weir_host_instance_size(void)
{
	return sizeof(struct weir_instance);
}
