/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "plan.h"

extern const struct weir_descriptor *const weir_descriptors[];
extern const struct weir_entries weir_entries[];
extern const u32 weir_nr_descriptors;
void weir_host_classes(struct weir_class *out);

static void require(int cond, const char *what)
{
	if (cond)
		return;
	fprintf(stderr, "plan: %s\n", what);
	exit(1);
}

u32 plan_class(const char *name)
{
	for (u32 i = 0; i < weir_nr_descriptors; i++)
		if (weir_descriptors[i] && !strcmp(weir_descriptors[i]->name, name))
			return i;
	require(0, name);
	return 0;
}

void plan_begin(struct plan *p, u32 nr_cpus)
{
	require(nr_cpus <= PLAN_MAX, "too many CPUs");
	memset(p, 0, sizeof(*p));
	p->tables = (struct weir_plan){
		.nr_cpus = nr_cpus,
		.pipes = p->pipes,
		.instances = p->instances,
		.cpus = p->cpus,
		.links = p->links,
		.lists = p->lists,
		.params = p->params,
		.masks = p->masks,
	};
	for (u32 i = 0; i < nr_cpus; i++)
		p->cpus[i] = (struct weir_plan_cpu){
			.entry = 0, .exit = WEIR_NONE, .core = i, .llc = i / 2, .capacity = 1024
		};
}

u32 plan_instance(struct plan *p, const char *component)
{
	u32 n = p->tables.nr_instances++, class = plan_class(component);
	const struct weir_descriptor *d = weir_descriptors[class];

	require(n < PLAN_MAX, "too many instances");
	p->instances[n].class = class;
	p->instances[n].keep = WEIR_NONE;
	p->instances[n].first_param = n * WEIR_MAX_PARAMS;
	for (u32 i = 0; i < d->nr_params; i++)
		p->params[n * WEIR_MAX_PARAMS + i] = d->params[i].def;
	return n;
}

u32 plan_pipe(struct plan *p, u32 from, u32 to)
{
	u32 n = p->tables.nr_pipes++;

	require(n < PLAN_MAX, "too many pipes");
	require(to < p->tables.nr_instances && (from == WEIR_NONE || from < to),
		"a pipe leads back");
	p->pipes[n] = (struct weir_plan_pipe){
		.from = from, .to = to, .to_port = p->instances[to].nr_in++, .mask = n
	};
	if (from != WEIR_NONE) {
		p->instances[from].nr_out++;
		p->pipes[n].keyed = weir_descriptors[p->instances[from].class]->keyed_out;
	}
	return n;
}

/* A pipe is one deeper than the deepest in-pipe of its writer. Receivers come after their writers. */
static void find_depths(struct plan *p)
{
	u32 below[PLAN_MAX] = { 0 }; /* depth of the out-pipes, by instance */

	for (u32 i = 0; i < p->tables.nr_instances; i++)
		for (u32 k = 0; k < p->tables.nr_pipes; k++) {
			struct weir_plan_pipe *pipe = &p->pipes[k];

			if (pipe->from == i)
				pipe->slot = below[i];
			if ((pipe->from == i || pipe->from == WEIR_NONE) &&
			    below[pipe->to] < pipe->slot + 1)
				below[pipe->to] = pipe->slot + 1;
			if (pipe->slot + 1 > p->tables.nr_slots)
				p->tables.nr_slots = pipe->slot + 1;
		}
}

static void find_masks(struct plan *p)
{
	struct weir_cpumask *m = p->masks;

	p->tables.nr_masks = p->tables.nr_pipes;
	for (u32 c = 0; c < p->tables.nr_cpus; c++)
		if (p->cpus[c].exit != WEIR_NONE)
			m[p->cpus[c].exit].word[c / 64] |= 1ull << (c % 64);
	for (u32 i = p->tables.nr_instances; i-- > 0;)
		for (u32 in = 0; in < p->tables.nr_pipes; in++)
			for (u32 out = 0; p->pipes[in].to == i && out < p->tables.nr_pipes; out++)
				for (u32 w = 0; p->pipes[out].from == i && w < WEIR_MASK_WORDS; w++)
					m[in].word[w] |= m[out].word[w];
}

static void find_links(struct plan *p)
{
	u32 n = 0;

	for (u32 i = 0; i < p->tables.nr_instances; i++) {
		p->instances[i].first_in = n;
		for (u32 k = 0; k < p->tables.nr_pipes; k++)
			if (p->pipes[k].to == i)
				p->links[n++] = k;
		p->instances[i].first_out = n;
		for (u32 k = 0; k < p->tables.nr_pipes; k++)
			if (p->pipes[k].from == i)
				p->links[n++] = k;
	}
}

/* Mark the pipes that lead to @pipe, itself included. */
static void mark_before(const struct plan *p, u32 pipe, char *marked)
{
	marked[pipe] = 1;
	for (u32 k = p->tables.nr_pipes; k-- > 0;)
		for (u32 out = 0; !marked[k] && out < p->tables.nr_pipes; out++)
			if (marked[out] && p->pipes[out].from == p->pipes[k].to) {
				marked[k] = 1;
				k = p->tables.nr_pipes;
				break;
			}
}

/* Postponed pipes before an exit by depth, then instances with on_idle, nearest first. */
static void find_lists(struct plan *p)
{
	u32 n = 0;

	for (u32 c = 0; c < p->tables.nr_cpus; c++) {
		struct weir_plan_cpu *cpu = &p->cpus[c];
		char before[PLAN_MAX] = { 0 };

		if (cpu->exit == WEIR_NONE)
			continue;
		mark_before(p, cpu->exit, before);
		cpu->first_postponed = n;
		for (u32 slot = 0; slot < p->tables.nr_slots; slot++)
			for (u32 k = 0; k < p->tables.nr_pipes; k++)
				if (before[k] && p->pipes[k].postponed && p->pipes[k].slot == slot)
					p->lists[n++] = k;
		cpu->nr_postponed = n - cpu->first_postponed;
		cpu->first_puller = n;
		for (u32 i = p->tables.nr_instances; i-- > 0;)
			for (u32 k = 0; k < p->tables.nr_pipes; k++)
				if (before[k] && p->pipes[k].from == i) {
					if (weir_entries[p->instances[i].class].has & WEIR_HAS_IDLE)
						p->lists[n++] = i;
					break;
				}
		cpu->nr_puller = n - cpu->first_puller;
	}
}

/*
 * A pipe all of whose ways lead to one exit belongs to that exit's home, unless its changes are postponed. Receivers come after their
 * writers.
 */
static void find_homes(struct plan *p)
{
	u32 of_receiver[PLAN_MAX];

	for (u32 i = 0; i < p->tables.nr_instances; i++)
		of_receiver[i] = WEIR_NONE;
	for (u32 k = 0; k < p->tables.nr_pipes; k++)
		p->pipes[k].home = WEIR_NONE;
	for (u32 c = 0; c < p->tables.nr_cpus; c++)
		if (p->cpus[c].exit != WEIR_NONE)
			of_receiver[p->pipes[p->cpus[c].exit].to] = p->cpus[c].exit;
	for (u32 i = p->tables.nr_instances; i-- > 0;) {
		u32 nr = 0, same = 1;

		for (u32 k = 0; k < p->tables.nr_pipes; k++) {
			if (p->pipes[k].from != i)
				continue;
			same &= !nr++ || of_receiver[i] == p->pipes[k].home;
			of_receiver[i] = p->pipes[k].home;
		}
		if (!same)
			of_receiver[i] = WEIR_NONE;
		for (u32 k = 0; k < p->tables.nr_pipes; k++)
			if (p->pipes[k].to == i && !p->pipes[k].postponed)
				p->pipes[k].home = of_receiver[i];
	}
}

const struct weir_plan *plan_end(struct plan *p)
{
	find_depths(p);
	find_homes(p);
	find_masks(p);
	find_links(p);
	find_lists(p);
	return &p->tables;
}

struct weir_sched *plan_sched(u32 nr_cpus, u64 arena_bytes, u64 seed)
{
	static struct weir_class classes[PLAN_MAX];
	struct weir_config config = { .arena_bytes = arena_bytes,
				      .seed = seed,
				      .nr_cpus = nr_cpus,
				      .nr_classes = weir_nr_descriptors,
				      .classes = classes };
	void *arena = mmap(0, arena_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	require(weir_nr_descriptors <= PLAN_MAX, "too many components");
	require(arena != MAP_FAILED, "no memory for the arena");
	weir_host_classes(classes);
	require(!weir_init(arena, &config), "weir_init failed");
	return arena;
}
