/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The functions of omp.h that ask for the state of threads and tasks, or set it, and what is small. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api.h"

/* --- threads and levels ------------------------------------------------------------------------------------ */

static struct settings *settings(void)
{
	return &me()->task->settings;
}

ASKS(int, omp_get_thread_num)
{
	struct member *m = me();

	return m->team ? (int)m->id : 0;
}

ASKS(int, omp_get_num_threads)
{
	struct member *m = me();

	return m->team ? (int)m->team->n : 1;
}

SETS(omp_set_num_threads)
{
	settings()->threads = value > 0 ? (u32)value : 1;
}

ASKS(int, omp_get_max_threads)
{
	struct member *m = me();
	const struct settings *s = &m->task->settings;

	return (int)(s->threads ? s->threads : level_threads(m->team ? m->team->level : 0));
}

ASKS(int, omp_get_num_procs)
{
	me();
	return (int)env.procs;
}

ASKS(int, omp_in_parallel)
{
	struct member *m = me();

	return m->team && m->team->active_level > 0;
}

SETS(omp_set_dynamic)
{
	settings()->dynamic = value != 0;
}

ASKS(int, omp_get_dynamic)
{
	return (int)settings()->dynamic;
}

SETS(omp_set_max_active_levels)
{
	if (value >= 0)
		settings()->max_levels = (u32)value;
}

ASKS(int, omp_get_max_active_levels)
{
	return (int)settings()->max_levels;
}

ASKS(int, omp_get_supported_active_levels)
{
	return MAX_LEVELS;
}

SETS(omp_set_nested)
{
	settings()->max_levels = value ? MAX_LEVELS : 1;
}

ASKS(int, omp_get_nested)
{
	return settings()->max_levels > 1;
}

ASKS(int, omp_get_thread_limit)
{
	u32 limit = settings()->limit;

	return limit > MAX_LEVELS ? MAX_LEVELS : (int)limit;
}

ASKS(int, omp_get_level)
{
	struct member *m = me();

	return m->team ? (int)m->team->level : 0;
}

ASKS(int, omp_get_active_level)
{
	struct member *m = me();

	return m->team ? (int)m->team->active_level : 0;
}

/* The place at @level: the caller's, that of its team's leader, and so on outwards. Null: there is no such level. */
static struct member *ancestor(int level)
{
	struct member *m = me();
	int at = m->team ? (int)m->team->level : 0;

	if (level < 0 || level > at)
		return 0;
	for (; at > level; at--)
		m = m->team->member[0]->outer;
	return m;
}

ASKS_OF(omp_get_ancestor_thread_num)
{
	struct member *m = ancestor(value);

	return !m ? -1 : m->team ? (int)m->id : 0;
}

ASKS_OF(omp_get_team_size)
{
	struct member *m = ancestor(value);

	return !m ? -1 : m->team ? (int)m->team->n : 1;
}

ASKS(int, omp_in_final)
{
	return (int)me()->task->final;
}

/* --- loops ---------------------------------------------------------------------------------------------------- */

GOMP_API void omp_set_schedule(u32 kind, int chunk)
{
	struct settings *s = settings();
	u32 plain = kind & ~KIND_MONOTONIC;

	if (plain < KIND_STATIC || plain > KIND_AUTO)
		return;
	s->sched = kind;
	s->chunk = chunk > 0 ? chunk : plain == KIND_STATIC || plain == KIND_AUTO ? 0 : 1;
}

GOMP_API void omp_set_schedule_(const u32 *kind, const int *chunk)
{
	omp_set_schedule(*kind, *chunk);
}

GOMP_API void omp_set_schedule_8_(const u32 *kind, const int64_t *chunk)
{
	omp_set_schedule(*kind, (int)*chunk);
}

GOMP_API void omp_get_schedule(u32 *kind, int *chunk)
{
	*kind = settings()->sched;
	*chunk = (int)settings()->chunk;
}

GOMP_API void omp_get_schedule_(u32 *kind, int *chunk)
{
	omp_get_schedule(kind, chunk);
}

GOMP_API void omp_get_schedule_8_(u32 *kind, int64_t *chunk)
{
	*kind = settings()->sched;
	*chunk = settings()->chunk;
}

/* --- time --------------------------------------------------------------------------------------------------------- */

ASKS(double, omp_get_wtime)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

ASKS(double, omp_get_wtick)
{
	struct timespec t;

	clock_getres(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* --- the rest ------------------------------------------------------------------------------------------------------- */

ASKS(int, omp_get_cancellation)
{
	me();
	return (int)env.cancels;
}

ASKS(int, omp_get_max_task_priority)
{
	me();
	return env.max_priority;
}

SETS(omp_display_env)
{
	me();
	environment_show(value);
}

/* Threads that wait for the next region end now, and with them their thread-local variables. */
GOMP_API int omp_pause_resource(int kind, int device)
{
	if (device || kind < 1 || kind > 2 || me()->team)
		return -1;
	teams_dismiss();
	return 0;
}

GOMP_API int omp_pause_resource_(const int *kind, const int *device)
{
	return omp_pause_resource(*kind, *device);
}

GOMP_API int omp_pause_resource_all(int kind)
{
	return omp_pause_resource(kind, 0);
}

GOMP_API int omp_pause_resource_all_(const int *kind)
{
	return omp_pause_resource_all(*kind);
}

GOMP_API void GOMP_error(const char *text, size_t bytes)
{
	fprintf(stderr, "error directive: %.*s\n",
		(int)(text && bytes == (size_t)-1 ? strlen(text) : bytes), text ? text : "");
	exit(1);
}

GOMP_API void GOMP_warning(const char *text, size_t bytes)
{
	fprintf(stderr, "warning directive: %.*s\n",
		(int)(text && bytes == (size_t)-1 ? strlen(text) : bytes), text ? text : "");
}
