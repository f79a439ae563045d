/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Tasks. A ready task waits in the lists of its team, its parent and its taskgroup, all under the team's lock. Barriers run the team's
 * oldest task; taskwait and the end of a taskgroup run the newest of the tasks that they wait for, so a member never delays a task by
 * another that it does not need. A record lives until its task and all its children have ended.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "gomp.h"

#define BUCKETS 64u
#define QUEUED	64u /* tasks per member; beyond that, new ones run at once */

enum detach { DETACH_EVENT = 1, DETACH_BODY = 2 };

/* Threads that wait outside of regions. */
static struct event outside;
static u32 outside_lock;

/* --- lists --------------------------------------------------------------------------------------------------- */

/*
 * By priority, in order of arrival: from the highest on in a team's list, which is read from the head; up to the highest in others, which are
 * read from the tail.
 */
static void list_add(struct list *l, struct task *t, u32 which)
{
	struct task *before = l->tail, *next = 0;

	while (before && (which == LIST_TEAM ? before->priority < t->priority
					     : before->priority > t->priority)) {
		next = before;
		before = before->link[which].before;
	}
	t->link[which].next = next;
	t->link[which].before = before;
	if (before)
		before->link[which].next = t;
	else
		l->head = t;
	if (next)
		next->link[which].before = t;
	else
		l->tail = t;
}

static void list_remove(struct list *l, struct task *t, u32 which)
{
	struct task *next = t->link[which].next, *before = t->link[which].before;

	if (next)
		next->link[which].before = before;
	else
		l->tail = before;
	if (before)
		before->link[which].next = next;
	else
		l->head = next;
}

static void enqueue(struct team *team, struct task *t)
{
	list_add(&team->tasks, t, LIST_TEAM);
	list_add(&t->parent->queued, t, LIST_PARENT);
	if (t->group)
		list_add(&t->group->queued, t, LIST_GROUP);
	__atomic_store_n(&team->queued, team->queued + 1, __ATOMIC_RELAXED);
}

static struct task *dequeue(struct team *team, struct task *t)
{
	if (!t)
		return 0;
	list_remove(&team->tasks, t, LIST_TEAM);
	list_remove(&t->parent->queued, t, LIST_PARENT);
	if (t->group)
		list_remove(&t->group->queued, t, LIST_GROUP);
	__atomic_store_n(&team->queued, team->queued - 1, __ATOMIC_RELAXED);
	return t;
}

/* --- dependences --------------------------------------------------------------------------------------------- */

static u32 bucket_of(const void *address)
{
	u64 a = (u64)address;

	return (u32)((a >> 3 ^ a >> 9 ^ a >> 16) % BUCKETS);
}

static void depend_unlink(struct depend *d)
{
	if (!d->linked)
		return;
	*d->at = d->next;
	if (d->next)
		d->next->at = d->at;
	d->linked = 0;
}

static void depend_after(struct task *first, struct task *then)
{
	if (first->nr_after == first->room_after) {
		u32 room = first->room_after ? 2 * first->room_after : 4;
		struct task **after = realloc(first->after, room * sizeof(*after));

		if (!after)
			fatal("no memory");
		first->after = after;
		first->room_after = room;
	}
	first->after[first->nr_after++] = then;
	add(&then->blockers, 1);
}

/* Record @t's dependences on siblings, and make it known to later ones; locked. */
static void depend_link(struct task *t)
{
	struct task *parent = t->parent;

	if (!parent->table)
		parent->table = fresh(BUCKETS * sizeof(*parent->table));
	for (u32 i = 0; i < t->nr_depends; i++) {
		struct depend *d = &t->depends[i], *e, *next;
		struct depend **bucket = &parent->table[bucket_of(d->address)];

		for (e = *bucket; e; e = next) {
			next = e->next;
			if (e->address != d->address || e->task == t)
				continue;
			if (!d->reads || !e->reads)
				depend_after(e->task, t);
			/* Dependents of this one also depend on those before it. */
			if (!d->reads)
				depend_unlink(e);
		}
		d->task = t;
		d->next = *bucket;
		if (d->next)
			d->next->at = &d->next;
		d->at = bucket;
		*bucket = d;
		d->linked = 1;
	}
}

static u32 depends_in(void **list)
{
	return list ? (u32)(list[0] ? (u64)list[0] : (u64)list[1]) : 0;
}

/* gcc's two forms: first written, then read addresses; or four kinds, the last one objects. */
static void depends_read(void **list, struct depend *d)
{
	u64 nr = depends_in(list);
	u64 writes = list[0] ? (u64)list[1] : (u64)list[2] + (u64)list[3];
	u64 reads = list[0] ? nr - writes : (u64)list[4];
	void **at = list + (list[0] ? 2 : 5);

	for (u64 i = 0; i < nr; i++) {
		d[i].address = at[i];
		d[i].reads = i >= writes;
		if (i >= writes + reads) {
			void **object = at[i];

			d[i].address = object[0];
			d[i].reads = (u64)object[1] == 1;
		}
		d[i].linked = 0;
	}
}

void task_drop_table(struct task *t)
{
	free(t->table);
	t->table = 0;
}

/* --- beginning and end ------------------------------------------------------------------------------------------ */

void task_implicit(struct task *t, struct team *team, struct task *parent, const struct settings *s)
{
	memset(t, 0, sizeof(*t));
	t->team = team;
	t->parent = parent;
	t->settings = *s;
	t->implicit = 1;
	t->keepers = 1;
}

static struct task *task_new(struct member *m, void (*run)(void *), u32 nr_depends, size_t bytes,
			     size_t align)
{
	size_t head = sizeof(struct task) + nr_depends * sizeof(struct depend);
	struct task *parent = m->task, *t;

	if (align < 16)
		align = 16;
	t = malloc(head + align + bytes);
	if (!t)
		fatal("no memory");
	memset(t, 0, head);
	t->run = run;
	t->data = (void *)(((u64)t + head + align - 1) & ~(u64)(align - 1));
	t->parent = parent;
	t->team = m->team;
	t->group = parent->group;
	t->settings = parent->settings;
	t->final = parent->final;
	t->keepers = 1;
	t->nr_depends = nr_depends;
	t->depends = (struct depend *)(t + 1);
	return t;
}

/* Locked, or outside of regions. */
static void record_drop(struct task *t)
{
	while (t && !t->implicit && --t->keepers == 0) {
		struct task *parent = t->parent;

		task_drop_table(t);
		free(t->after);
		free(t);
		t = parent;
	}
}

/* Add it to the counts of the tasks that may wait for it; locked. */
static void begin_counting(struct task *t)
{
	add(&t->parent->children, 1);
	t->parent->keepers++;
	if (t->group)
		add(&t->group->running, 1);
	add(&t->team->unfinished, 1);
}

static void complete(struct task *t)
{
	struct team *team = t->team;
	struct task *parent = t->parent;
	int news = 0;

	lock(&team->lock);
	for (u32 i = 0; i < t->nr_depends; i++)
		depend_unlink(&t->depends[i]);
	for (u32 i = 0; i < t->nr_after; i++) {
		struct task *next = t->after[i];

		if (add(&next->blockers, -1))
			continue;
		news = 1;
		if (next->run && next->group)
			next->group->blocked--;
		if (next->run)
			enqueue(team, next);
	}
	t->nr_after = 0;
	if (t->group && add(&t->group->running, -1) == 0)
		news = 1;
	if (add(&parent->children, -1) == 0)
		news = 1;
	record_drop(t);
	if (add(&team->unfinished, -1) == 0)
		news = 1;
	unlock(&team->lock);
	if (news)
		event_bump(&team->event);
}

static void execute(struct member *m, struct task *t)
{
	struct task *before = m->task;
	u32 done = 1;

	/* Data with constructors have destructors, which the body calls. */
	if (t->copied || !task_cancelled(t)) {
		m->task = t;
		t->run(t->data);
		m->task = before;
	}
	if (t->detached) {
		lock(&t->team->lock);
		t->detach &= ~(u32)DETACH_BODY;
		done = !t->detach;
		unlock(&t->team->lock);
	}
	if (done)
		complete(t);
}

int task_run_any(struct member *m)
{
	struct team *team = m->team;
	struct task *t;

	if (!glance(&team->queued))
		return 0;
	lock(&team->lock);
	t = dequeue(team, team->tasks.head);
	unlock(&team->lock);
	if (!t)
		return 0;
	execute(m, t);
	return 1;
}

/*
 * Wait until *@count is 0, running tasks of @list meanwhile: those of @group, if that is not null. If one of them waits for a task outside
 * of the group, that is a child of the caller's task, as it is itself.
 */
static void wait_for(struct member *m, const u32 *count, const struct list *list,
		     const struct group *group)
{
	struct team *team = m->team;

	while (get(count)) {
		u32 seen = get(&team->event.word);
		struct task *t;

		if (!get(count))
			break;
		lock(&team->lock);
		t = dequeue(team, list->tail);
		if (!t && group && group->blocked)
			t = dequeue(team, m->task->queued.tail);
		unlock(&team->lock);
		if (t)
			execute(m, t);
		else
			event_wait(&team->event, seen, m);
	}
}

/* --- task -------------------------------------------------------------------------------------------------------- */

/* Only its children see it. */
static void run_here(struct member *m, struct task *t)
{
	struct team *team = m->team;
	struct task *before = m->task;

	m->task = t;
	t->run(t->data);
	m->task = before;
	if (t->detached) {
		u32 *word = team ? &team->lock : &outside_lock;
		struct event *e = team ? &team->event : &outside;

		for (;;) {
			u32 seen = get(&e->word);
			u32 left;

			lock(word);
			left = t->detach & DETACH_EVENT;
			unlock(word);
			if (!left)
				break;
			event_wait(e, seen, m);
		}
	}
	if (team)
		lock(&team->lock);
	record_drop(t);
	if (team)
		unlock(&team->lock);
}

/* Wait for the siblings that @list depends on, for a task that runs at once. */
void await_depends(struct member *m, void **list)
{
	struct task *t;

	if (!m->team || !get(&m->task->children))
		return;
	t = task_new(m, 0, depends_in(list), 0, 0);
	depends_read(list, t->depends);
	lock(&m->team->lock);
	t->parent->keepers++;
	depend_link(t);
	unlock(&m->team->lock);
	wait_for(m, &t->blockers, &t->parent->queued, 0);
	/* Only later siblings could link to it after this, and there are none: the caller is the parent. */
	lock(&m->team->lock);
	for (u32 i = 0; i < t->nr_depends; i++)
		depend_unlink(&t->depends[i]);
	record_drop(t);
	unlock(&m->team->lock);
}

/* @bounds: the first two words of its data, of a part of a taskloop; @copy does not know them. */
static void create(void (*run)(void *), void *data, void (*copy)(void *, void *), long bytes,
		   long align, bool deferred, unsigned flags, void **depend, int priority,
		   void *detach, const u64 *bounds)
{
	struct member *m = me();
	struct team *team = m->team;
	void **list = flags & TASK_DEPEND ? depend : 0;
	struct task *t;

	if (task_cancelled(m->task))
		return;
	if (!team || m->task->final || glance(&team->queued) > QUEUED * team->n)
		deferred = false;
	t = task_new(m, run, deferred ? depends_in(list) : 0, (size_t)bytes, (size_t)align);
	if (flags & TASK_FINAL)
		t->final = 1;
	if (flags & TASK_PRIORITY)
		t->priority = priority < env.max_priority ? priority : env.max_priority;
	t->copied = copy != 0;
	if (flags & TASK_DETACH) {
		t->detached = 1;
		t->detach = DETACH_EVENT | DETACH_BODY;
		*(void **)detach = t;
		/* The handle is also the task's first variable. */
		if (data)
			*(void **)data = t;
	}
	if (!deferred && list)
		await_depends(m, list);
	if (copy)
		copy(t->data, data);
	else if (bytes)
		memcpy(t->data, data, (size_t)bytes);
	if (bounds)
		memcpy(t->data, bounds, 2 * sizeof(*bounds));
	if (!deferred) {
		if (team) {
			lock(&team->lock);
			m->task->keepers++;
			unlock(&team->lock);
		} else {
			m->task->keepers++;
		}
		run_here(m, t);
		return;
	}
	if (list)
		depends_read(list, t->depends);
	lock(&team->lock);
	begin_counting(t);
	if (list)
		depend_link(t);
	if (!t->blockers)
		enqueue(team, t);
	else if (t->group)
		t->group->blocked++;
	unlock(&team->lock);
	event_bump(&team->event);
}

GOMP_API void GOMP_task(void (*run)(void *), void *data, void (*copy)(void *, void *), long bytes,
			long align, bool deferred, unsigned flags, void **depend, int priority,
			void *detach)
{
	create(run, data, copy, bytes, align, deferred, flags, depend, priority, detach, 0);
}

GOMP_API void omp_fulfill_event(u64 handle)
{
	struct task *t = (struct task *)handle;
	struct team *team = t->team;
	u32 *word = team ? &team->lock : &outside_lock;
	u32 done;

	lock(word);
	done = t->detach == DETACH_EVENT;
	t->detach &= ~(u32)DETACH_EVENT;
	unlock(word);
	if (done)
		complete(t);
	else
		event_bump(team ? &team->event : &outside);
}

/* Fortran's interface passes the handle itself, too. */
GOMP_API void omp_fulfill_event_(u64 handle)
{
	omp_fulfill_event(handle);
}

GOMP_API void GOMP_taskwait(void)
{
	struct member *m = me();

	if (m->team && get(&m->task->children))
		wait_for(m, &m->task->children, &m->task->queued, 0);
}

GOMP_API void GOMP_taskwait_depend(void **depend)
{
	struct member *m = me();

	await_depends(m, depend);
}

GOMP_API void GOMP_taskyield(void)
{
}

/* --- taskgroup --------------------------------------------------------------------------------------------------- */

void group_begin(struct group *g)
{
	struct task *t = me()->task;

	g->outer = t->group;
	g->reductions = t->group ? t->group->reductions : 0;
	t->group = g;
}

void group_end(void)
{
	struct member *m = me();
	struct group *g = m->task->group;

	if (m->team && get(&g->running))
		wait_for(m, &g->running, &g->queued, g);
	m->task->group = g->outer;
}

GOMP_API void GOMP_taskgroup_start(void)
{
	group_begin(fresh(sizeof(struct group)));
}

GOMP_API void GOMP_taskgroup_end(void)
{
	struct group *g = me()->task->group;

	group_end();
	free(g);
}

/*
 * A set in gcc's layout: [0] number of variables, [1] bytes of one member's copies, [2] alignment, later the copies, [4] next set,
 * [5] ours: 1 in the first of a chain of sets, [6] end of the copies, then for each variable: address, place among the copies, free.
 */
enum { SET_NR, SET_BYTES, SET_COPIES, SET_NEXT = 4, SET_FIRST, SET_END, SET_VARIABLES };

/* --- taskloop ------------------------------------------------------------------------------------------------------ */

static void taskloop(void (*run)(void *), void *data, void (*copy)(void *, void *), long bytes,
		     long align, unsigned flags, u64 tasks, int priority, u64 start, u64 step,
		     u64 nr)
{
	struct member *m = me();
	u64 each, more = 0, at = 0;

	if (!nr) {
		/* The caller is told that its set of reductions was not registered. */
		if ((flags & (TASK_NOGROUP | TASK_REDUCTION)) == TASK_REDUCTION)
			((u64 **)data)[2][SET_COPIES] = 0;
		return;
	}
	if (flags & TASK_GRAINSIZE) {
		u64 grain = tasks ? tasks : 1;

		tasks = flags & TASK_STRICT ? (nr - 1) / grain + 1 : nr / grain;
		if (!tasks)
			tasks = 1;
		if (flags & TASK_STRICT)
			each = grain;
		else
			each = nr / tasks, more = nr % tasks;
	} else {
		if (!tasks)
			tasks = m->team ? m->team->n : 1;
		if (tasks > nr)
			tasks = nr;
		each = nr / tasks;
		more = nr % tasks;
	}
	if (!(flags & TASK_NOGROUP)) {
		GOMP_taskgroup_start();
		if (flags & TASK_REDUCTION)
			reductions_register(((u64 **)data)[2]);
	}
	for (u64 i = 0; i < tasks; i++) {
		u64 to = at + each + (i < more);

		u64 bounds[2];

		if (to > nr)
			to = nr;
		bounds[0] = start + at * step;
		bounds[1] = start + to * step;
		create(run, data, copy, bytes, align, flags & TASK_IF,
		       flags & (TASK_UNTIED | TASK_FINAL | TASK_PRIORITY), 0, priority, 0, bounds);
		at = to;
	}
	if (!(flags & TASK_NOGROUP))
		GOMP_taskgroup_end();
}

GOMP_API void GOMP_taskloop(void (*run)(void *), void *data, void (*copy)(void *, void *),
			    long bytes, long align, unsigned flags, unsigned long tasks,
			    int priority, long start, long end, long step)
{
	struct work w = { 0 };

	loop_signed(&w, KIND_STATIC, start, end, step, 0);
	taskloop(run, data, copy, bytes, align, flags, tasks, priority, w.start, w.step, w.nr);
}

GOMP_API void GOMP_taskloop_ull(void (*run)(void *), void *data, void (*copy)(void *, void *),
				long bytes, long align, unsigned flags, unsigned long tasks,
				int priority, ull start, ull end, ull step)
{
	struct work w = { 0 };

	loop_unsigned(&w, KIND_STATIC, !!(flags & TASK_UP), start, end, step, 0);
	taskloop(run, data, copy, bytes, align, flags, tasks, priority, w.start, w.step, w.nr);
}

/* --- reductions by tasks ------------------------------------------------------------------------------------------- */

/* Chain @data's sets before @old, with copies for @n members or with @first's copies. */
static u64 *reductions_chain(u64 *data, u64 *old, const u64 *first, u64 n)
{
	for (u64 *d = data;; d = (u64 *)d[SET_NEXT]) {
		if (first) {
			d[SET_COPIES] = first[SET_COPIES];
			d[SET_END] = first[SET_END];
			first = (const u64 *)first[SET_NEXT];
		} else {
			u64 bytes = d[SET_BYTES] * n, align = d[SET_COPIES];
			void *copies = 0;

			if (posix_memalign(&copies, align < LINE ? LINE : align, bytes ? bytes : 1))
				fatal("no memory");
			memset(copies, 0, bytes);
			d[SET_COPIES] = (u64)copies;
			d[SET_END] = (u64)copies + bytes;
		}
		d[SET_FIRST] = d == data;
		if (!d[SET_NEXT]) {
			d[SET_NEXT] = (u64)old;
			return data;
		}
	}
}

u64 *reductions_allocate(u64 *data, u64 n, u64 *old)
{
	return reductions_chain(data, old, 0, n);
}

void reductions_register(u64 *data)
{
	struct member *m = me();
	struct group *g = m->task->group;

	g->reductions = reductions_chain(data, g->reductions, 0, m->team ? m->team->n : 1);
}

void reductions_share(u64 *data, const u64 *first)
{
	struct group *g = me()->task->group;

	g->reductions = reductions_chain(data, g->reductions, first, 0);
}

GOMP_API void GOMP_taskgroup_reduction_register(uintptr_t *data)
{
	reductions_register((u64 *)data);
}

GOMP_API void GOMP_taskgroup_reduction_unregister(uintptr_t *data)
{
	u64 *d = (u64 *)data;

	do {
		free((void *)d[SET_COPIES]);
		d = (u64 *)d[SET_NEXT];
	} while (d && !d[SET_FIRST]);
}

/* The member's copy of the variable at @at, which is an original or a copy; *@original is the variable's address. 0: none. */
static u64 reduction_find(u64 *sets, u64 at, u64 id, u64 *original)
{
	for (u64 *d = sets; d; d = (u64 *)d[SET_NEXT]) {
		u64 *v = d + SET_VARIABLES, place = 0;
		int copy = at >= d[SET_COPIES] && at < d[SET_END];

		if (copy)
			place = (at - d[SET_COPIES]) % d[SET_BYTES];
		for (u64 i = 0; i < d[SET_NR]; i++, v += 3) {
			if (copy ? v[1] != place : v[0] != at)
				continue;
			*original = v[0];
			return d[SET_COPIES] + id * d[SET_BYTES] + v[1];
		}
		if (copy) {
			*original = 0;
			return d[SET_COPIES] + id * d[SET_BYTES] + place;
		}
	}
	return 0;
}

GOMP_API void GOMP_task_reduction_remap(size_t nr, size_t originals, void **at)
{
	struct member *m = me();
	struct group *g = m->task->group;
	u64 id = m->team ? m->id : 0, original;

	for (size_t i = 0; i < nr; i++) {
		u64 copy = g ? reduction_find(g->reductions, (u64)at[i], id, &original) : 0;

		if (!copy)
			fatal("in_reduction of a variable that no construct around it reduces");
		at[i] = (void *)copy;
		if (i < originals)
			at[nr + i] = (void *)original;
	}
}
