/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Worksharing: loops, sections, single, ordered, doacross. Iterations of a loop are numbered from 0; the loop variable's value is
 * computed when a chunk is handed out. Constructs of a team are numbered, too; the number modulo NR_WORKS is the index of its record.
 * The first member to arrive sets the record up; it is free again when the last has left.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "gomp.h"

/* --- records ------------------------------------------------------------------------------------------------- */

/* Construct 0 is next. */
void works_begin(struct team *t)
{
	for (u32 i = 0; i < NR_WORKS; i++) {
		t->work[i].ready = 0;
		t->work[i].left = 0;
		t->work[i].gone = i;
	}
}

void work_free(struct work *w)
{
	free(w->memory);
	free(w->posted);
	free(w->counts);
}

void works_free(struct team *t)
{
	for (u32 i = 0; i < NR_WORKS; i++)
		work_free(&t->work[i]);
}

/* Outside of a region, a team of one exists while a construct lasts. */
static struct member *in_team(void)
{
	struct member *m = me();

	if (m->team)
		return m;
	if (!m->alone) {
		m->alone = fresh(sizeof(*m->alone));
		m->alone->n = 1;
		works_begin(m->alone);
	}
	return m;
}

static struct team *team_of(struct member *m)
{
	return m->team ? m->team : m->alone;
}

/*
 * Wait until the record of construct @number is free: @m is NR_WORKS constructs ahead. 0: it never will be, since its region was cancelled
 * and members have left it.
 */
static int await_slowest(struct member *m, struct team *t, struct work *w, u64 number)
{
	int free = 0;

	__atomic_fetch_add(&t->ahead, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		u32 seen = get(&t->event.word);

		free = __atomic_load_n(&w->gone, __ATOMIC_SEQ_CST) == number;
		if (free || get(&t->cancelled))
			break;
		event_wait(&t->event, seen, m);
	}
	__atomic_fetch_sub(&t->ahead, 1, __ATOMIC_RELAXED);
	return free;
}

struct work *work_enter(struct member *m, int *first)
{
	struct team *t = team_of(m);
	u64 number = m->works++;
	struct work *w = &t->work[number % NR_WORKS];

	m->work = w;
	m->trip = 0;
	m->lo = m->hi = 0;
	*first = 0;
	if (get(&w->gone) != number && !await_slowest(m, t, w, number))
		w = m->work = &m->spare;
	if (get(&w->ready) == number + 1)
		return w;
	lock(&w->lock);
	if (get(&w->ready) == number + 1) {
		unlock(&w->lock);
		return w;
	}
	w->ordered = 0;
	w->nr_counts = 0;
	*first = 1;
	return w;
}

void work_ready(struct member *m, struct work *w)
{
	/* Nothing is done in it. */
	if (w == &m->spare)
		w->nr = w->left = 0;
	set(&w->ready, m->works);
	unlock(&w->lock);
}

void work_leave(struct member *m)
{
	struct team *t = team_of(m);
	struct work *w = m->work;

	m->work = 0;
	if (t->n > 1 && add(&w->left, 1) < t->n)
		return;
	w->left = 0;
	__atomic_store_n(&w->gone, w->gone + NR_WORKS, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&t->ahead, __ATOMIC_SEQ_CST))
		event_bump(&t->event);
}

/* --- loops: their iterations ------------------------------------------------------------------------------------ */

static u32 settle(u32 kind, u64 *chunk)
{
	const struct settings *s = &me()->task->settings;

	kind &= ~KIND_MONOTONIC;
	if (kind == KIND_RUNTIME) {
		kind = s->sched & ~KIND_MONOTONIC;
		*chunk = (u64)s->chunk;
	}
	if (kind == KIND_AUTO || kind == KIND_RUNTIME) {
		kind = KIND_STATIC;
		*chunk = 0;
	}
	if (!*chunk && kind != KIND_STATIC)
		*chunk = 1;
	return kind;
}

static void loop_init(struct work *w, u32 kind, u64 chunk, u64 start, u64 end, u64 step, u64 nr)
{
	w->kind = settle(kind, &chunk);
	w->chunk = chunk;
	w->start = start;
	w->end = end;
	w->step = step;
	w->nr = nr;
	w->next = 0;
	w->turn = 0;
}

void loop_signed(struct work *w, u32 kind, long start, long end, long step, long chunk)
{
	u64 nr = 0;

	if (step > 0 && start < end)
		nr = ((u64)end - (u64)start - 1) / (u64)step + 1;
	else if (step < 0 && start > end)
		nr = ((u64)start - (u64)end - 1) / (0 - (u64)step) + 1;
	loop_init(w, kind, (u64)(chunk < 0 ? 0 : chunk), (u64)start, (u64)end, (u64)step, nr);
}

void loop_unsigned(struct work *w, u32 kind, int up, ull start, ull end, ull step, ull chunk)
{
	u64 nr = 0;

	if (up && start < end)
		nr = (end - start - 1) / step + 1;
	else if (!up && start > end)
		nr = (start - end - 1) / (0 - step) + 1;
	loop_init(w, kind, chunk, start, end, step, nr);
}

void loop_sections(struct work *w, u32 count)
{
	loop_init(w, KIND_DYNAMIC, 1, 1, (u64)count + 1, 1, count);
}

static int next_static(struct member *m, struct work *w, u64 *lo, u64 *hi)
{
	u64 n = team_of(m)->n, id = m->team ? m->id : 0;

	if (!w->chunk) {
		u64 each = w->nr / n, more = w->nr % n;

		if (m->trip++)
			return 0;
		*lo = each * id + (id < more ? id : more);
		*hi = *lo + each + (id < more);
		return *lo < *hi;
	}
	{
		u64 number;

		if (__builtin_mul_overflow(m->trip, n, &number) ||
		    __builtin_add_overflow(number, id, &number) ||
		    __builtin_mul_overflow(number, w->chunk, lo) || *lo >= w->nr)
			return 0;
		m->trip++;
		*hi = w->nr - *lo < w->chunk ? w->nr : *lo + w->chunk;
		return 1;
	}
}

static int next_dynamic(struct member *m, struct work *w, u64 *lo, u64 *hi)
{
	u64 n = team_of(m)->n, next = glance(&w->next), take;

	/* No overflow: each member oversteps at most once. */
	if (w->kind == KIND_DYNAMIC && w->nr < 1ull << 62 && w->chunk < (1ull << 62) / n) {
		if (next >= w->nr)
			return 0;
		next = __atomic_fetch_add(&w->next, w->chunk, __ATOMIC_RELAXED);
		if (next >= w->nr)
			return 0;
		*lo = next;
		*hi = w->nr - next < w->chunk ? w->nr : next + w->chunk;
		return 1;
	}
	do {
		if (next >= w->nr)
			return 0;
		take = w->nr - next;
		if (w->kind == KIND_GUIDED) {
			take = take / n + (take % n != 0);
			if (take < w->chunk)
				take = w->chunk;
		} else {
			take = w->chunk;
		}
		if (take > w->nr - next)
			take = w->nr - next;
	} while (!cas(&w->next, &next, next + take));
	*lo = next;
	*hi = next + take;
	return 1;
}

/* --- ordered ------------------------------------------------------------------------------------------------------- */

static void await_turn(struct member *m, struct work *w)
{
	struct team *t = team_of(m);

	while (get(&w->turn) != m->lo && !get(&t->cancelled)) {
		u32 seen = get(&t->event.word);

		if (get(&w->turn) == m->lo || get(&t->cancelled))
			break;
		event_wait(&t->event, seen, m);
	}
}

/* The chunk is done: the next one's ordered regions may run. Does not wait if the loop has none. */
static void pass_turn(struct member *m, struct work *w)
{
	if (!w->ordered || m->lo == m->hi)
		return;
	await_turn(m, w);
	set(&w->turn, m->hi);
	m->lo = m->hi = 0;
	event_bump(&team_of(m)->event);
}

GOMP_API void GOMP_ordered_start(void)
{
	struct member *m = me();

	if (m->work && m->work->ordered && m->lo != m->hi)
		await_turn(m, m->work);
}

GOMP_API void GOMP_ordered_end(void)
{
}

/* --- loops: what gcc calls ----------------------------------------------------------------------------------------- */

static bool loop_next(struct member *m, u64 *from, u64 *to)
{
	struct work *w = m->work;
	u64 lo, hi;

	pass_turn(m, w);
	if (!(w->kind == KIND_STATIC ? next_static(m, w, &lo, &hi) : next_dynamic(m, w, &lo, &hi)))
		return false;
	if (w->ordered) {
		m->lo = lo;
		m->hi = hi;
	}
	*from = w->start + lo * w->step;
	*to = hi == w->nr ? w->end : w->start + hi * w->step;
	return true;
}

static bool loop_start(u32 kind, int ordered, long start, long end, long step, long chunk,
		       long *from, long *to)
{
	struct member *m = in_team();
	int first;
	struct work *w = work_enter(m, &first);

	if (first) {
		w->ordered = ordered;
		loop_signed(w, kind, start, end, step, chunk);
		work_ready(m, w);
	}
	return loop_next(m, (u64 *)from, (u64 *)to);
}

static bool loop_ull_start(u32 kind, int ordered, int up, ull start, ull end, ull step, ull chunk,
			   ull *from, ull *to)
{
	struct member *m = in_team();
	int first;
	struct work *w = work_enter(m, &first);

	if (first) {
		w->ordered = ordered;
		loop_unsigned(w, kind, up, start, end, step, chunk);
		work_ready(m, w);
	}
	return loop_next(m, (u64 *)from, (u64 *)to);
}

#define LOOP(name, kind, ordered)                                                            \
	GOMP_API bool GOMP_loop_##name##_start(long start, long end, long step, long chunk,  \
					       long *from, long *to)                         \
	{                                                                                    \
		return loop_start(kind, ordered, start, end, step, chunk, from, to);         \
	}                                                                                    \
	GOMP_API bool GOMP_loop_ull_##name##_start(bool up, ull start, ull end, ull step,    \
						   ull chunk, ull *from, ull *to)            \
	{                                                                                    \
		return loop_ull_start(kind, ordered, up, start, end, step, chunk, from, to); \
	}                                                                                    \
	NEXT(name)

#define LOOP_RUNTIME(name, ordered)                                                              \
	GOMP_API bool GOMP_loop_##name##_start(long start, long end, long step, long *from,      \
					       long *to)                                         \
	{                                                                                        \
		return loop_start(KIND_RUNTIME, ordered, start, end, step, 0, from, to);         \
	}                                                                                        \
	GOMP_API bool GOMP_loop_ull_##name##_start(bool up, ull start, ull end, ull step,        \
						   ull *from, ull *to)                           \
	{                                                                                        \
		return loop_ull_start(KIND_RUNTIME, ordered, up, start, end, step, 0, from, to); \
	}                                                                                        \
	NEXT(name)

#define NEXT(name)                                                    \
	GOMP_API bool GOMP_loop_##name##_next(long *from, long *to)   \
	{                                                             \
		return loop_next(me(), (u64 *)from, (u64 *)to);       \
	}                                                             \
	GOMP_API bool GOMP_loop_ull_##name##_next(ull *from, ull *to) \
	{                                                             \
		return loop_next(me(), (u64 *)from, (u64 *)to);       \
	}

LOOP(static, KIND_STATIC, 0)
LOOP(dynamic, KIND_DYNAMIC, 0)
LOOP(guided, KIND_GUIDED, 0)
LOOP(nonmonotonic_dynamic, KIND_DYNAMIC, 0)
LOOP(nonmonotonic_guided, KIND_GUIDED, 0)
LOOP(ordered_static, KIND_STATIC, 1)
LOOP(ordered_dynamic, KIND_DYNAMIC, 1)
LOOP(ordered_guided, KIND_GUIDED, 1)
LOOP_RUNTIME(runtime, 0)
LOOP_RUNTIME(nonmonotonic_runtime, 0)
LOOP_RUNTIME(maybe_nonmonotonic_runtime, 0)
LOOP_RUNTIME(ordered_runtime, 1)

GOMP_API void GOMP_loop_end_nowait(void)
{
	struct member *m = me();

	pass_turn(m, m->work);
	work_leave(m);
}

GOMP_API void GOMP_loop_end(void)
{
	GOMP_loop_end_nowait();
	barrier(me());
}

GOMP_API bool GOMP_loop_end_cancel(void)
{
	GOMP_loop_end_nowait();
	return barrier(me());
}

/* --- with reductions of tasks, and memory that the members share ------------------------------------------------- */

static void share(struct member *m, struct work *w, int first, u64 *reductions, void **memory)
{
	if (reductions) {
		struct group *g = fresh(sizeof(*g));

		g->workshare = 1;
		group_begin(g);
	}
	if (first) {
		w->reductions = reductions;
		if (reductions)
			reductions_register(reductions);
		if (memory) {
			u64 bytes = *(u64 *)memory;

			if (bytes > w->memory_bytes) {
				free(w->memory);
				w->memory = fresh(bytes);
				w->memory_bytes = bytes;
			}
			memset(w->memory, 0, bytes);
		}
		work_ready(m, w);
	} else if (reductions) {
		reductions_share(reductions, w->reductions);
	}
	if (memory)
		*memory = w->memory;
}

static bool loop_start_more(int ordered, long start, long end, long step, long sched, long chunk,
			    long *from, long *to, uintptr_t *reductions, void **memory)
{
	struct member *m = in_team();
	int first;
	struct work *w = work_enter(m, &first);

	if (first) {
		w->ordered = ordered;
		loop_signed(w, (u32)sched, start, end, step, chunk);
	}
	share(m, w, first, (u64 *)reductions, memory);
	return from ? loop_next(m, (u64 *)from, (u64 *)to) : true;
}

static bool loop_ull_start_more(int ordered, bool up, ull start, ull end, ull step, long sched,
				ull chunk, ull *from, ull *to, uintptr_t *reductions, void **memory)
{
	struct member *m = in_team();
	int first;
	struct work *w = work_enter(m, &first);

	if (first) {
		w->ordered = ordered;
		loop_unsigned(w, (u32)sched, up, start, end, step, chunk);
	}
	share(m, w, first, (u64 *)reductions, memory);
	return from ? loop_next(m, (u64 *)from, (u64 *)to) : true;
}

GOMP_API bool GOMP_loop_start(long start, long end, long step, long sched, long chunk, long *from,
			      long *to, uintptr_t *reductions, void **memory)
{
	return loop_start_more(0, start, end, step, sched, chunk, from, to, reductions, memory);
}

GOMP_API bool GOMP_loop_ordered_start(long start, long end, long step, long sched, long chunk,
				      long *from, long *to, uintptr_t *reductions, void **memory)
{
	return loop_start_more(1, start, end, step, sched, chunk, from, to, reductions, memory);
}

GOMP_API bool GOMP_loop_ull_start(bool up, ull start, ull end, ull step, long sched, ull chunk,
				  ull *from, ull *to, uintptr_t *reductions, void **memory)
{
	return loop_ull_start_more(0, up, start, end, step, sched, chunk, from, to, reductions,
				   memory);
}

GOMP_API bool GOMP_loop_ull_ordered_start(bool up, ull start, ull end, ull step, long sched,
					  ull chunk, ull *from, ull *to, uintptr_t *reductions,
					  void **memory)
{
	return loop_ull_start_more(1, up, start, end, step, sched, chunk, from, to, reductions,
				   memory);
}

GOMP_API void GOMP_scope_start(uintptr_t *reductions)
{
	struct member *m = in_team();
	int first;
	struct work *w = work_enter(m, &first);

	if (first)
		loop_sections(w, 0);
	share(m, w, first, (u64 *)reductions, 0);
	work_leave(m);
}

GOMP_API void GOMP_workshare_task_reduction_unregister(bool cancelled)
{
	struct member *m = me();
	struct group *g = m->task->group;
	u64 *reductions = g->reductions;

	group_end();
	free(g);
	if (!cancelled)
		barrier(m);
	/* Only the first member reads the members' copies, and it has combined them already. */
	if (!m->team || m->id == 0)
		GOMP_taskgroup_reduction_unregister((uintptr_t *)reductions);
}

/* --- sections, single ----------------------------------------------------------------------------------------------- */

GOMP_API unsigned GOMP_sections_next(void)
{
	u64 from, to;

	return loop_next(me(), &from, &to) ? (unsigned)from : 0;
}

GOMP_API unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **memory)
{
	struct member *m = in_team();
	int first;
	struct work *w = work_enter(m, &first);

	if (first)
		loop_sections(w, count);
	share(m, w, first, (u64 *)reductions, memory);
	return GOMP_sections_next();
}

GOMP_API unsigned GOMP_sections_start(unsigned count)
{
	struct member *m = in_team();
	int first;
	struct work *w = work_enter(m, &first);

	if (first) {
		loop_sections(w, count);
		work_ready(m, w);
	}
	return GOMP_sections_next();
}

GOMP_API void GOMP_sections_end_nowait(void)
{
	work_leave(me());
}

GOMP_API void GOMP_sections_end(void)
{
	work_leave(me());
	barrier(me());
}

GOMP_API bool GOMP_sections_end_cancel(void)
{
	work_leave(me());
	return barrier(me());
}

GOMP_API bool GOMP_single_start(void)
{
	struct member *m = me();
	u64 mine;

	if (!m->team || m->team->n == 1)
		return true;
	mine = m->singles++;
	return glance(&m->team->single) == mine && cas(&m->team->single, &mine, mine + 1);
}

GOMP_API void *GOMP_single_copy_start(void)
{
	struct member *m = me();

	if (GOMP_single_start())
		return 0;
	/* In a cancelled region each member has to get its values by itself. */
	return barrier(m) ? 0 : m->team->copied;
}

GOMP_API void GOMP_single_copy_end(void *data)
{
	struct member *m = me();

	if (!m->team)
		return;
	m->team->copied = data;
	barrier(m);
}

/* --- doacross: of each outer iteration, how many inner ones are done ------------------------------------------------- */

static void doacross_init(struct work *w, unsigned nr, const u64 *counts)
{
	free(w->counts);
	free(w->posted);
	w->nr_counts = nr;
	w->counts = fresh(nr * sizeof(u64));
	memcpy(w->counts, counts, nr * sizeof(u64));
	w->posted = fresh((counts[0] ? counts[0] : 1) * sizeof(u64));
}

static bool doacross_start(unsigned nr, const u64 *counts, u32 kind, u64 chunk, u64 *from, u64 *to,
			   u64 *reductions, void **memory)
{
	struct member *m = in_team();
	int first;
	struct work *w = work_enter(m, &first);

	if (first) {
		loop_unsigned(w, kind, 1, 0, counts[0], 1, chunk);
		doacross_init(w, nr, counts);
	}
	share(m, w, first, reductions, memory);
	return from ? loop_next(m, from, to) : true;
}

/* Number of an inner iteration within its outer iteration. */
static u64 inner(const struct work *w, const u64 *at)
{
	u64 number = 0;

	for (u32 i = 1; i < w->nr_counts; i++)
		number = number * w->counts[i] + at[i];
	return number;
}

static void doacross_post(const u64 *at)
{
	struct member *m = me();
	struct work *w = m->work;

	if (!w || !w->nr_counts)
		return;
	set(&w->posted[at[0]], inner(w, at) + 1);
	event_bump(&team_of(m)->event);
}

static void doacross_wait(const u64 *at)
{
	struct member *m = me();
	struct work *w = m->work;
	struct team *t = team_of(m);
	u64 number = inner(w, at);

	while (get(&w->posted[at[0]]) <= number) {
		u32 seen = get(&t->event.word);

		if (get(&w->posted[at[0]]) > number || get(&t->cancelled))
			break;
		event_wait(&t->event, seen, m);
	}
}

#define DOACROSS(name, kind)                                                                       \
	GOMP_API bool GOMP_loop_doacross_##name##_start(unsigned nr, long *counts, long chunk,     \
							long *from, long *to)                      \
	{                                                                                          \
		return doacross_start(nr, (u64 *)counts, kind, (u64)chunk, (u64 *)from, (u64 *)to, \
				      0, 0);                                                       \
	}                                                                                          \
	GOMP_API bool GOMP_loop_ull_doacross_##name##_start(unsigned nr, ull *counts, ull chunk,   \
							    ull *from, ull *to)                    \
	{                                                                                          \
		return doacross_start(nr, (u64 *)counts, kind, chunk, (u64 *)from, (u64 *)to, 0,   \
				      0);                                                          \
	}

DOACROSS(static, KIND_STATIC)
DOACROSS(dynamic, KIND_DYNAMIC)
DOACROSS(guided, KIND_GUIDED)

GOMP_API bool GOMP_loop_doacross_runtime_start(unsigned nr, long *counts, long *from, long *to)
{
	return doacross_start(nr, (u64 *)counts, KIND_RUNTIME, 0, (u64 *)from, (u64 *)to, 0, 0);
}

GOMP_API bool GOMP_loop_ull_doacross_runtime_start(unsigned nr, ull *counts, ull *from, ull *to)
{
	return doacross_start(nr, (u64 *)counts, KIND_RUNTIME, 0, (u64 *)from, (u64 *)to, 0, 0);
}

GOMP_API bool GOMP_loop_doacross_start(unsigned nr, long *counts, long sched, long chunk,
				       long *from, long *to, uintptr_t *reductions, void **memory)
{
	return doacross_start(nr, (u64 *)counts, (u32)sched, (u64)chunk, (u64 *)from, (u64 *)to,
			      (u64 *)reductions, memory);
}

GOMP_API bool GOMP_loop_ull_doacross_start(unsigned nr, ull *counts, long sched, ull chunk,
					   ull *from, ull *to, uintptr_t *reductions, void **memory)
{
	return doacross_start(nr, (u64 *)counts, (u32)sched, chunk, (u64 *)from, (u64 *)to,
			      (u64 *)reductions, memory);
}

GOMP_API void GOMP_doacross_post(long *at)
{
	doacross_post((u64 *)at);
}

GOMP_API void GOMP_doacross_ull_post(ull *at)
{
	doacross_post((u64 *)at);
}

#define WAIT(type)                                            \
	{                                                     \
		struct work *w = me()->work;                  \
		u64 at[64];                                   \
		va_list list;                                 \
                                                              \
		if (!w || !w->nr_counts || w->nr_counts > 64) \
			return;                               \
		at[0] = (u64)first;                           \
		va_start(list, first);                        \
		for (u32 i = 1; i < w->nr_counts; i++)        \
			at[i] = (u64)va_arg(list, type);      \
		va_end(list);                                 \
		doacross_wait(at);                            \
	}

GOMP_API void GOMP_doacross_wait(long first, ...) WAIT(long) GOMP_API
	void GOMP_doacross_ull_wait(ull first, ...) WAIT(ull)
