/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Teams. A thread that enters a parallel region leads a team, which stays for the next region entered from the same place. Its members
 * are threads that wait at the team's event meanwhile, so their thread-local variables keep their values. A region with fewer members
 * leaves the others waiting at events of their own.
 *
 * The barrier counts arrivals. The last to arrive, or to end a task after that, releases it; waiting members run tasks.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "gomp.h"

#pragma weak weir_thread_adopt
#pragma weak weir_thread_leave
#pragma weak weir_thread_self
#pragma weak weir_thread_like
#pragma weak weir_thread_kind
#pragma weak weir_blocking_begin
#pragma weak weir_blocking_end
#pragma weak weir_gang_take
#pragma weak weir_gang_return
#pragma weak weir_gang_join
#pragma weak weir_rt_allotment

static __thread struct member *current;
static pthread_key_t ends;
static pthread_once_t once = PTHREAD_ONCE_INIT;
u32 crowd = 1;

/* --- places -------------------------------------------------------------------------------------------------- */

static void dismiss(struct team *t)
{
	if (!t)
		return;
	set(&t->quit, 1);
	for (u32 i = 1; i < t->nr; i++)
		event_bump(&t->member[i]->recall);
	event_bump(&t->event);
	/* The members need a CPU to end. */
	if (weir_blocking_begin)
		weir_blocking_begin();
	for (u32 i = 1; i < t->nr; i++)
		pthread_join(t->member[i]->posix, 0);
	if (weir_blocking_end)
		weir_blocking_end();
	__atomic_fetch_sub(&crowd, t->nr - 1, __ATOMIC_RELAXED);
	dismiss(t->member[0]->led);
	for (u32 i = 0; i < t->nr; i++)
		free(t->member[i]);
	if (t->gang)
		weir_gang_return(t->gang - 1);
	for (u32 i = 0; i < NR_WORKS; i++) {
		free(t->work[i].memory);
		free(t->work[i].posted);
		free(t->work[i].counts);
	}
	free(t->member);
	free(t);
}

static void gone(void *place)
{
	struct member *m = place;

	/* A thread that ends within a region ends its team, as with any other library. */
	if (m->team)
		return;
	current = 0;
	dismiss(m->led);
	free(m);
}

/* The child of a fork has no members any more; their memory stays. */
static void forked(void)
{
	if (current)
		current->led = 0;
}

static void prepare(void)
{
	environment_read();
	pthread_key_create(&ends, gone);
	pthread_atfork(0, 0, forked);
}

/* The calling thread's place; the first call makes one outside of all regions. */
struct member *me(void)
{
	struct member *m = current;

	if (__builtin_expect(m != 0, 1))
		return m;
	pthread_once(&once, prepare);
	m = fresh(sizeof(*m));
	task_implicit(&m->implicit, 0, 0, &env.settings);
	m->task = &m->implicit;
	m->thread = own_thread();
	current = m;
	pthread_setspecific(ends, m);
	return m;
}

/* --- the barrier ------------------------------------------------------------------------------------------------- */

/*
 * When all members of generation @generation have arrived and no task is left, exactly one of the members that see this opens the
 * barrier. The word holds the generation, so a late member does nothing. Arrivals are looked at first, since a member creates tasks
 * before it arrives and later ones only by a task that is unfinished itself. What tasks wrote is seen behind the barrier by their
 * count, not by the arrivals, which came before.
 */
static int barrier_open(struct team *t, u64 generation, u32 n)
{
	u64 all = generation << 32 | n;

	if (get(&t->barrier) != all || get(&t->unfinished) ||
	    !cas(&t->barrier, &all, (generation + 1) << 32))
		return 0;
	event_bump(&t->event);
	return 1;
}

void barrier(struct member *m)
{
	struct team *t = m->team;
	u64 generation;
	u32 n;

	if (!t)
		return;
	n = t->n;
	generation = __atomic_fetch_add(&t->barrier, 1, __ATOMIC_ACQ_REL) >> 32;
	for (;;) {
		u32 seen = get(&t->event.word);

		if (get(&t->barrier) >> 32 != generation || barrier_open(t, generation, n))
			return;
		if (!task_run_any(m))
			event_wait(&t->event, seen, m);
	}
}

/* --- regions ------------------------------------------------------------------------------------------------------- */

/* If the program's manifest has a gang of the team's size, the team's threads become its members permanently. */
static void join_gang(struct member *m, struct team *t)
{
	if (m->gang == t->gang || !m->thread)
		return;
	m->gang = t->gang;
	weir_gang_join(t->gang - 1, m->id);
}

static void ask_for_gang(struct member *leader, struct team *t)
{
	t->asked = 1;
	if (t->n > 1 && !leader->team && leader->thread && weir_gang_take)
		t->gang = weir_gang_take(t->n) + 1;
	if (t->gang < 0)
		t->gang = 0;
}

static void enter(struct member *m, struct team *t)
{
	join_gang(m, t);
	task_implicit(&m->implicit, t, 0, &t->settings);
	m->implicit.group = t->group.reductions ? &t->group : 0;
	m->task = &m->implicit;
	m->works = t->works;
	m->work = 0;
	if (t->first)
		m->work = &t->work[m->works++ % NR_WORKS];
	m->trip = 0;
	m->singles = 0;
	m->lo = m->hi = 0;
}

/* Without a policy, this library applies OMP_PROC_BIND: members take the CPUs in order. */
static void bind_to(u32 id)
{
	cpu_set_t set;
	u32 nth = id % env.procs;

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &env.cpus) || nth--)
			continue;
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
		return;
	}
}

/* A member's life between regions and in them. */
static void *serve(void *place)
{
	struct member *m = place;
	struct team *t = m->team;
	int adopted = 0;

	current = m;
	if (glance(&t->member[0]->thread) && !own_thread() && weir_thread_adopt)
		adopted = !weir_thread_adopt(0);
	set(&m->thread, own_thread());
	if (env.bind && !m->thread && t->level == 1)
		bind_to(m->id);
	for (;;) {
		u32 seen = get(&t->event.word), recalled = get(&m->recall.word);
		u64 go = get(&t->go);

		if (get(&t->quit))
			break;
		if (m->seen == go >> 32) {
			if (m->id >= (u32)go)
				event_wait(&m->recall, recalled, 0);
			else
				event_wait(&t->event, seen, m);
			continue;
		}
		m->seen = (u32)(go >> 32);
		if (m->id >= (u32)go)
			continue;
		if (m->thread && weir_thread_like)
			weir_thread_like(glance(&t->member[0]->thread));
		enter(m, t);
		t->run(t->data);
		barrier(m);
		task_drop_table(&m->implicit);
	}
	dismiss(m->led);
	current = 0;
	if (adopted)
		weir_thread_leave();
	return 0;
}

static struct team *team_new(struct member *leader)
{
	struct team *t = fresh(sizeof(*t));

	t->member = calloc(1, sizeof(*t->member));
	if (!t->member)
		fatal("no memory");
	t->member[0] = fresh(sizeof(struct member));
	t->member[0]->team = t;
	t->member[0]->outer = leader;
	t->nr = 1;
	for (u32 i = 0; i < NR_WORKS; i++)
		t->work[i].gone = i;
	leader->led = t;
	return t;
}

/* Grow to @n places with a thread, or as many as possible; returns their number. */
static u32 team_grow(struct team *t, u32 n)
{
	struct member **member;
	pthread_attr_t attr;

	if (n <= t->nr)
		return n;
	member = realloc(t->member, n * sizeof(*member));
	if (!member)
		return t->nr;
	t->member = member;
	pthread_attr_init(&attr);
	if (env.stack_bytes)
		pthread_attr_setstacksize(&attr, env.stack_bytes);
	while (t->nr < n) {
		struct member *m = fresh(sizeof(*m));

		m->team = t;
		m->id = t->nr;
		m->seen = (u32)(t->go >> 32);
		member[m->id] = m;
		if (pthread_create(&m->posix, &attr, serve, m)) {
			free(m);
			break;
		}
		t->nr++;
		add(&crowd, 1);
	}
	pthread_attr_destroy(&attr);
	return t->nr;
}

/* Threads of a region that a member of level @level enters without giving a number. */
u32 level_threads(u32 level)
{
	if (!env.nr_levels)
		return env.procs;
	return env.threads[level < env.nr_levels ? level : env.nr_levels - 1];
}

static u32 region_size(struct member *m, u32 asked)
{
	const struct settings *s = &m->task->settings;
	u32 level = m->team ? m->team->level : 0;
	u32 active = m->team ? m->team->active_level : 0;
	u32 n = asked ? asked : s->threads ? s->threads : level_threads(level);

	if (active >= s->max_levels)
		return 1;
	if (s->dynamic && n > env.procs)
		n = env.procs;
	if (n > env.limit)
		n = env.limit;
	/* As many as the policy's process gives this program beside others: it is asked here, and follows at once. */
	if (s->dynamic && !m->team && n && weir_rt_allotment)
		n = weir_rt_allotment(n);
	return n ? n : 1;
}

struct team *region_begin(void (*run)(void *), void *data, u32 threads)
{
	struct member *m = me();
	u32 n = region_size(m, threads);
	struct team *t = m->led ? m->led : team_new(m);

	if (!m->team) {
		m->thread = own_thread(); /* it may have been adopted or have left since */
		if (m->thread && weir_thread_kind(m->thread) == WEIR_GREEN)
			fatal("a parallel region in a green thread: its place is in thread-local "
			      "variables, which green threads share; make it a bound one");
	}
	t->member[0]->thread = m->thread;
	if (n > t->nr)
		n = team_grow(t, n);
	t->level = (m->team ? m->team->level : 0) + 1;
	t->active_level = (m->team ? m->team->active_level : 0) + (n > 1);
	t->run = run;
	t->data = data;
	t->settings = m->task->settings;
	t->single = 0;
	t->group.reductions = 0;
	if (!t->asked)
		ask_for_gang(m, t);
	if (env.bind && n > 1 && !m->team && !m->thread && !m->bound) {
		m->bound = 1;
		bind_to(0);
	}
	t->works = t->member[0]->works;
	t->first = 0;
	t->n = n;
	return t;
}

void region_go(struct team *t)
{
	struct member *m = t->member[0];
	u32 before = (u32)t->go, n = t->n;

	enter(m, t);
	current = m;
	set(&t->go, ((t->go >> 32) + 1) << 32 | n);
	if (n == 1)
		return;
	event_bump(&t->event);
	for (u32 i = before ? before : 1; i < n; i++)
		event_bump(&t->member[i]->recall);
}

void region_run(struct team *t)
{
	region_go(t);
	t->run(t->data);
	region_end();
}

void region_end(void)
{
	struct member *m = me();

	barrier(m);
	task_drop_table(&m->implicit);
	current = m->outer;
}

/* --- what gcc calls --------------------------------------------------------------------------------------------------- */

GOMP_API void GOMP_parallel(void (*run)(void *), void *data, unsigned threads, unsigned flags)
{
	(void)flags;
	region_run(region_begin(run, data, threads));
}

GOMP_API void GOMP_parallel_start(void (*run)(void *), void *data, unsigned threads)
{
	region_go(region_begin(run, data, threads));
}

GOMP_API void GOMP_parallel_end(void)
{
	region_end();
}

/* The first word of @data is a set of reductions over the region, which the caller combines and frees. */
GOMP_API unsigned GOMP_parallel_reductions(void (*run)(void *), void *data, unsigned threads,
					   unsigned flags)
{
	struct team *t = region_begin(run, data, threads);
	u64 *reductions = *(u64 **)data;
	u32 n = t->n;

	(void)flags;
	memset(&t->group, 0, sizeof(t->group));
	t->group.reductions = reductions_allocate(reductions, n, 0);
	region_run(t);
	t->group.reductions = 0;
	return n;
}

#define PARALLEL_LOOP(name, kind)                                                                  \
	GOMP_API void GOMP_parallel_loop_##name(void (*run)(void *), void *data, unsigned threads, \
						long start, long end, long step, long chunk,       \
						unsigned flags)                                    \
	{                                                                                          \
		struct team *t = region_begin(run, data, threads);                                 \
                                                                                                   \
		(void)flags;                                                                       \
		first_loop(t, kind, start, end, step, chunk);                                      \
		region_run(t);                                                                     \
	}                                                                                          \
	GOMP_API void GOMP_parallel_loop_##name##_start(void (*run)(void *), void *data,           \
							unsigned threads, long start, long end,    \
							long step, long chunk)                     \
	{                                                                                          \
		struct team *t = region_begin(run, data, threads);                                 \
                                                                                                   \
		first_loop(t, kind, start, end, step, chunk);                                      \
		region_go(t);                                                                      \
	}

#define PARALLEL_RUNTIME(name)                                                                     \
	GOMP_API void GOMP_parallel_loop_##name(void (*run)(void *), void *data, unsigned threads, \
						long start, long end, long step, unsigned flags)   \
	{                                                                                          \
		struct team *t = region_begin(run, data, threads);                                 \
                                                                                                   \
		(void)flags;                                                                       \
		first_loop(t, KIND_RUNTIME, start, end, step, 0);                                  \
		region_run(t);                                                                     \
	}

/* Set up the region's first construct, so that members need not call its start function. */
static void first_loop(struct team *t, u32 kind, long start, long end, long step, long chunk)
{
	struct work *w = &t->work[t->works % NR_WORKS];

	w->ordered = 0;
	loop_signed(w, kind, start, end, step, chunk);
	w->ready = t->works + 1;
	t->first = 1;
}

PARALLEL_LOOP(static, KIND_STATIC)
PARALLEL_LOOP(dynamic, KIND_DYNAMIC)
PARALLEL_LOOP(guided, KIND_GUIDED)
PARALLEL_LOOP(nonmonotonic_dynamic, KIND_DYNAMIC)
PARALLEL_LOOP(nonmonotonic_guided, KIND_GUIDED)
PARALLEL_RUNTIME(runtime)
PARALLEL_RUNTIME(nonmonotonic_runtime)
PARALLEL_RUNTIME(maybe_nonmonotonic_runtime)

GOMP_API void GOMP_parallel_loop_runtime_start(void (*run)(void *), void *data, unsigned threads,
					       long start, long end, long step)
{
	struct team *t = region_begin(run, data, threads);

	first_loop(t, KIND_RUNTIME, start, end, step, 0);
	region_go(t);
}

static void first_sections(struct team *t, unsigned count)
{
	struct work *w = &t->work[t->works % NR_WORKS];

	w->ordered = 0;
	loop_sections(w, count);
	w->ready = t->works + 1;
	t->first = 1;
}

GOMP_API void GOMP_parallel_sections(void (*run)(void *), void *data, unsigned threads,
				     unsigned count, unsigned flags)
{
	struct team *t = region_begin(run, data, threads);

	(void)flags;
	first_sections(t, count);
	region_run(t);
}

GOMP_API void GOMP_parallel_sections_start(void (*run)(void *), void *data, unsigned threads,
					   unsigned count)
{
	struct team *t = region_begin(run, data, threads);

	first_sections(t, count);
	region_go(t);
}

GOMP_API void GOMP_barrier(void)
{
	barrier(me());
}

/* Cancellation is off, as without OMP_CANCELLATION, so nothing is ever cancelled. */
GOMP_API bool GOMP_barrier_cancel(void)
{
	barrier(me());
	return false;
}

GOMP_API bool GOMP_cancel(int which, bool doit)
{
	(void)which;
	(void)doit;
	return false;
}

GOMP_API bool GOMP_cancellation_point(int which)
{
	(void)which;
	return false;
}

/* On the host, several teams would run one after the other, which looks the same to the program, so there is one team. */
GOMP_API void GOMP_teams_reg(void (*run)(void *), void *data, unsigned teams, unsigned limit,
			     unsigned flags)
{
	(void)teams;
	(void)limit;
	(void)flags;
	run(data);
}
