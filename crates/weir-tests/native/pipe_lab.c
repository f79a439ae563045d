/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A graph of two pipes for tests that call the pipe functions themselves: an entry pipe, a component,
 * a pipe to a termination that hears every kind of change. Nothing runs unless lab_drain() is called.
 */
#include <stdlib.h>
#include <string.h>
#include "internal.h"

#define ARENA_BYTES (32u << 20)

enum { IN, OUT, NR_PIPES };

/* core/port/native/host.c and the generated unit */
void weir_host_classes(struct weir_class *out);
extern const struct weir_descriptor *const weir_descriptors[];
extern const u32 weir_nr_descriptors;

static u32 class_id(const char *name)
{
	for (u32 i = 0; i < weir_nr_descriptors; i++)
		if (weir_descriptors[i] && !strcmp(weir_descriptors[i]->name, name))
			return i;
	return WEIR_NONE;
}

/* The graph; no message goes to the runtime and no time passes. */
static int build(struct weir_sched *s, const char *component)
{
	static struct weir_cpumask mask = { .word = { 1 } };
	struct weir_plan_pipe pipes[NR_PIPES] = {
		[IN] = { .slot = 0, .from = WEIR_NONE, .to = 0 },
		[OUT] = { .slot = 1, .from = 0, .to = 1 },
	};
	struct weir_plan_instance instances[] = {
		{ .class = class_id(component),
		  .nr_in = 1,
		  .nr_out = 1,
		  .first_out = 1,
		  .keep = WEIR_NONE },
		{ .class = class_id("termination"), .nr_in = 1, .first_in = 1, .keep = WEIR_NONE },
	};
	struct weir_plan_cpu cpu = { .entry = IN, .exit = OUT, .capacity = 1024 };
	u32 links[] = { IN, OUT };
	u64 params[WEIR_MAX_PARAMS] = { 0 };
	struct weir_plan plan = {
		.nr_pipes = NR_PIPES,
		.nr_instances = 2,
		.nr_cpus = 1,
		.nr_slots = 2,
		.pipes = pipes,
		.instances = instances,
		.cpus = &cpu,
		.links = links,
		.lists = links,
		.params = params,
		.masks = &mask,
		.nr_masks = 1,
	};
	struct weir_swap_stats stats;

	s->classes[class_id("termination")].change_kinds = WEIR_ADDED | WEIR_REMOVED | WEIR_MOVED;
	/* The pipes are looked at by themselves: nothing is carried past them. */
	s->classes[class_id(component)].carries = 0;
	return weir_swap(s, 0, &plan, &stats);
}

struct weir_sched *lab_new(const char *component)
{
	struct weir_sched *s = calloc(1, ARENA_BYTES);
	struct weir_class *classes = calloc(weir_nr_descriptors, sizeof(*classes));
	struct weir_config config = { .arena_bytes = ARENA_BYTES,
				      .seed = 1,
				      .nr_cpus = 1,
				      .nr_classes = weir_nr_descriptors,
				      .classes = classes };

	if (!s || !classes)
		abort();
	weir_host_classes(classes);
	weir_assert(!weir_init(s, &config));
	s->cookie = 0; /* no runtime: its clock is at 0, and messages reach nobody */
	weir_assert(!build(s, component));
	free(classes);
	return s;
}

void lab_free(struct weir_sched *s)
{
	free(s);
}

/* A task that counts as schedulable, though no call put it anywhere. */
u32 lab_task(struct weir_sched *s)
{
	struct weir_task *t = weir_task_new(s, 0, 0);

	if (!t)
		return WEIR_NO_TASK;
	t->state = WEIR_SCHEDULABLE;
	return t->id;
}

enum lab_op { LAB_APPEND, LAB_PREPEND, LAB_AFTER, LAB_INSERT, LAB_REMOVE };

/* @arg: the task to stand behind, or the key. */
int lab_op(struct weir_sched *s, u32 pipe, u32 op, u32 task, u64 arg)
{
	struct weir_pipe *p = &s->graph->pipes[pipe];
	struct weir_task *t = weir_task_get(s, task);

	weir_budget_reset();
	switch (op) {
	case LAB_APPEND:
		return weir_pipe_append(p, t);
	case LAB_PREPEND:
		return weir_pipe_prepend(p, t);
	case LAB_AFTER:
		return weir_pipe_insert_after(p, t, weir_task_get(s, arg));
	case LAB_INSERT:
		return weir_pipe_insert(p, t, arg);
	default:
		return weir_pipe_remove(p, t);
	}
}

u32 lab_tasks(struct weir_sched *s, u32 pipe, u32 *ids, u32 cap)
{
	struct weir_pipe *p = &s->graph->pipes[pipe];
	struct weir_task *t;
	u32 n = 0;

	weir_for_task(t, p)
		if (n < cap)
			ids[n++] = t->id;
	weir_assert(n == p->nr);
	return n;
}

/* The log as its receiver reads it: pairs of task and kind; then it is empty. */
u32 lab_changes(struct weir_sched *s, u32 pipe, u32 *pairs, u32 cap)
{
	struct weir_pipe *p = &s->graph->pipes[pipe];
	struct weir_change *c;
	u32 n = 0;

	weir_pipe_lock(p);
	weir_for_change(c, p) {
		if (n < cap) {
			pairs[2 * n] = c->task->id;
			pairs[2 * n + 1] = c->kind;
			n++;
		}
	}
	weir_pipe_consume(p);
	weir_pipe_unlock(p);
	return n;
}

/* Let the component handle what is in the logs. */
void lab_drain(struct weir_sched *s)
{
	weir_budget_reset();
	weir_drain(s, 0, 0);
}
