/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Teams. A thread that enters a parallel region leads a team, which stays for the next region entered from the same place. Its members
 * are threads that wait at the team's event meanwhile, so their thread-local variables keep their values. A region with fewer members
 * leaves the others waiting at events of their own.
 *
 * The barrier counts arrivals. The last to arrive, or to end a task after that, releases it; waiting members run tasks.
 */
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

static void place_drop(struct member *m);

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
	for (u32 i = 0; i < t->nr; i++)
		place_drop(t->member[i]);
	if (t->gang)
		weir_gang_return(t->gang - 1);
	works_free(t);
	free(t->member);
	free(t);
}

/* With what it leads. */
static void place_drop(struct member *m)
{
	if (!m)
		return;
	dismiss(m->led);
	place_drop(m->inner);
	if (m->alone)
		works_free(m->alone);
	free(m->alone);
	work_free(&m->spare);
	free(m);
}

static void gone(void *place)
{
	struct member *m = place;

	/* A thread that ends within a region ends its team, as with any other library. */
	if (m->team)
		return;
	current = 0;
	place_drop(m);
}

/* The child of a fork has no members any more; their memory stays. */
static void forked(void)
{
	for (struct member *m = current; m; m = m->outer) {
		m->led = 0;
		if (m->inner)
			m->inner->led = 0;
	}
}

static void prepare(void)
{
	environment_read();
	pthread_key_create(&ends, gone);
	pthread_atfork(0, 0, forked);
}

/* @m is the place of an initial thread. */
static void outside(struct member *m)
{
	task_implicit(&m->implicit, 0, 0, &env.settings);
	m->task = &m->implicit;
	m->thread = own_thread();
	m->root = m;
	m->nr_teams = 1;
	m->nth_team = 0;
}

/* The calling thread's place; the first call makes one outside of all regions. */
struct member *me(void)
{
	struct member *m = current;

	if (__builtin_expect(m != 0, 1))
		return m;
	pthread_once(&once, prepare);
	m = fresh(sizeof(*m));
	outside(m);
	place_initial(m);
	place_take(m);
	current = m;
	pthread_setspecific(ends, m);
	return m;
}

void initial_begin(void)
{
	struct member *m = me();

	if (!m->inner)
		m->inner = fresh(sizeof(*m));
	outside(m->inner);
	m->inner->outer = m;
	place_initial(m->inner);
	if (m->place)
		m->inner->place = m->inner->bound = m->place;
	current = m->inner;
}

void initial_end(void)
{
	current = current->outer;
}

void teams_dismiss(void)
{
	struct member *m = me();

	if (m->team)
		return;
	dismiss(m->led);
	m->led = 0;
}

/* --- the barrier ------------------------------------------------------------------------------------------------- */

/*
 * When all members of generation @generation have arrived and no task is left, exactly one of the members that see this opens the
 * barrier @word. It holds the generation, so a late member does nothing. Arrivals are looked at first, since a member creates tasks
 * before it arrives and later ones only by a task that is unfinished itself. What tasks wrote is seen behind the barrier by their
 * count, not by the arrivals, which came before.
 */
static int barrier_open(struct team *t, u64 *word, u64 generation, u32 n)
{
	u64 all = generation << 32 | n;

	if (get(word) != all || get(&t->unfinished) || !cas(word, &all, (generation + 1) << 32))
		return 0;
	event_bump(&t->event);
	return 1;
}

/* A member of a cancelled region waits at its end only. */
static bool barrier_at(struct member *m, u64 *word)
{
	struct team *t = m->team;
	u64 generation;
	u32 n = t->n;

	generation = __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL) >> 32;
	for (;;) {
		u32 seen = get(&t->event.word);

		if (get(word) >> 32 != generation || barrier_open(t, word, generation, n))
			return false;
		if (word != &t->end && get(&t->cancelled))
			return true;
		if (!task_run_any(m))
			event_wait(&t->event, seen, m);
	}
}

bool barrier(struct member *m)
{
	struct team *t = m->team;

	return t && (get(&t->cancelled) || barrier_at(m, &t->barrier));
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
	place_take(m);
	m->root = t->member[0]->outer->root;
	m->nr_teams = t->member[0]->outer->nr_teams;
	m->nth_team = t->member[0]->outer->nth_team;
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
		affinity_show(m);
		t->run(t->data);
		barrier_at(m, &t->end);
		task_drop_table(&m->implicit);
	}
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
	works_begin(t);
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
	/* As many as the policy's process gives this program beside others: it is asked here, and follows at once. */
	if (s->dynamic && !m->team && n && weir_rt_allotment)
		n = weir_rt_allotment(n);
	return n ? n : 1;
}

/* Up to @n - 1 more threads of @m's contention group, where their number is limited; returns how many. */
static u32 reserve(struct member *m, u32 n)
{
	u32 limit = m->task->settings.limit, busy = glance(&m->root->busy), room;

	if (limit == UINT32_MAX || n < 2)
		return 0;
	do
		room = limit - 1 > busy ? limit - 1 - busy : 0;
	while (!cas(&m->root->busy, &busy, busy + (n - 1 < room ? n - 1 : room)));
	return n - 1 < room ? n - 1 : room;
}

/* Members of a cancelled region left its constructs and barriers as they were. */
static void start_over(struct team *t)
{
	t->cancelled = 0;
	t->barrier = ((t->barrier >> 32) + 1) << 32;
	t->member[0]->works = 0;
	works_begin(t);
}

struct team *region_begin(void (*run)(void *), void *data, u32 threads, u32 flags)
{
	struct member *m = me();
	u32 n = region_size(m, threads), reserved = reserve(m, n);
	struct team *t = m->led ? m->led : team_new(m);

	if (m->task->settings.limit != UINT32_MAX)
		n = 1 + reserved;
	if (t->cancelled)
		start_over(t);
	t->reserved = reserved;

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
	t->works = t->member[0]->works;
	t->first = 0;
	t->n = n;
	place_members(t, flags & 7);
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
	affinity_show(m);
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

	barrier_at(m, &m->team->end);
	task_drop_table(&m->implicit);
	if (m->team->reserved)
		__atomic_fetch_sub(&m->root->busy, m->team->reserved, __ATOMIC_RELAXED);
	current = m->outer;
}

/* --- what gcc calls --------------------------------------------------------------------------------------------------- */

GOMP_API void GOMP_parallel(void (*run)(void *), void *data, unsigned threads, unsigned flags)
{
	region_run(region_begin(run, data, threads, flags));
}

GOMP_API void GOMP_parallel_start(void (*run)(void *), void *data, unsigned threads)
{
	region_go(region_begin(run, data, threads, 0));
}

GOMP_API void GOMP_parallel_end(void)
{
	region_end();
}

/* The first word of @data is a set of reductions over the region, which the caller combines and frees. */
GOMP_API unsigned GOMP_parallel_reductions(void (*run)(void *), void *data, unsigned threads,
					   unsigned flags)
{
	struct team *t = region_begin(run, data, threads, flags);
	u64 *reductions = *(u64 **)data;
	u32 n = t->n;

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
		struct team *t = region_begin(run, data, threads, flags);                          \
                                                                                                   \
		first_loop(t, kind, start, end, step, chunk);                                      \
		region_run(t);                                                                     \
	}                                                                                          \
	GOMP_API void GOMP_parallel_loop_##name##_start(void (*run)(void *), void *data,           \
							unsigned threads, long start, long end,    \
							long step, long chunk)                     \
	{                                                                                          \
		struct team *t = region_begin(run, data, threads, 0);                              \
                                                                                                   \
		first_loop(t, kind, start, end, step, chunk);                                      \
		region_go(t);                                                                      \
	}

#define PARALLEL_RUNTIME(name)                                                                     \
	GOMP_API void GOMP_parallel_loop_##name(void (*run)(void *), void *data, unsigned threads, \
						long start, long end, long step, unsigned flags)   \
	{                                                                                          \
		struct team *t = region_begin(run, data, threads, flags);                          \
                                                                                                   \
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
	struct team *t = region_begin(run, data, threads, 0);

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
	struct team *t = region_begin(run, data, threads, flags);

	first_sections(t, count);
	region_run(t);
}

GOMP_API void GOMP_parallel_sections_start(void (*run)(void *), void *data, unsigned threads,
					   unsigned count)
{
	struct team *t = region_begin(run, data, threads, 0);

	first_sections(t, count);
	region_go(t);
}

GOMP_API void GOMP_barrier(void)
{
	barrier(me());
}
