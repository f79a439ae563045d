/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The functions of omp.h except locks, Fortran's (the same names with an underscore, arguments by reference), and what is not supported. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gomp.h"

#define MAX_LEVELS 0x7fffffff

/* A function without arguments, and one with a number, each also in Fortran's form. */
#define ASKS(type, name)            \
	GOMP_API type name(void);   \
	GOMP_API type name##_(void) \
	{                           \
		return name();      \
	}                           \
	GOMP_API type name(void)
#define SETS(name)                                    \
	GOMP_API void name(int value);                \
	GOMP_API void name##_(const int *value)       \
	{                                             \
		name(*value);                         \
	}                                             \
	GOMP_API void name##_8_(const int64_t *value) \
	{                                             \
		name((int)*value);                    \
	}                                             \
	GOMP_API void name(int value)
#define ASKS_OF(name)                                \
	GOMP_API int name(int value);                \
	GOMP_API int name##_(const int *value)       \
	{                                            \
		return name(*value);                 \
	}                                            \
	GOMP_API int name##_8_(const int64_t *value) \
	{                                            \
		return name((int)*value);            \
	}                                            \
	GOMP_API int name(int value)

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
	me();
	return env.limit > MAX_LEVELS ? MAX_LEVELS : (int)env.limit;
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

/* --- places: none; the policy has the CPUs ------------------------------------------------------------------------- */

ASKS(int, omp_get_proc_bind)
{
	me();
	return env.bind;
}

ASKS(int, omp_get_num_places)
{
	return 0;
}

ASKS_OF(omp_get_place_num_procs)
{
	(void)value;
	return 0;
}

GOMP_API void omp_get_place_proc_ids(int place, int *ids)
{
	(void)place;
	(void)ids;
}

GOMP_API void omp_get_place_proc_ids_(const int *place, int *ids)
{
	omp_get_place_proc_ids(*place, ids);
}

GOMP_API void omp_get_place_proc_ids_8_(const int64_t *place, int64_t *ids)
{
	(void)place;
	(void)ids;
}

ASKS(int, omp_get_place_num)
{
	return -1;
}

ASKS(int, omp_get_partition_num_places)
{
	return 0;
}

GOMP_API void omp_get_partition_place_nums(int *nums)
{
	(void)nums;
}

GOMP_API void omp_get_partition_place_nums_(int *nums)
{
	omp_get_partition_place_nums(nums);
}

GOMP_API void omp_get_partition_place_nums_8_(int64_t *nums)
{
	(void)nums;
}

GOMP_API void omp_set_affinity_format(const char *format)
{
	(void)format;
}

GOMP_API size_t omp_get_affinity_format(char *buffer, size_t bytes)
{
	if (bytes)
		*buffer = 0;
	return 0;
}

GOMP_API size_t omp_capture_affinity(char *buffer, size_t bytes, const char *format)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "thread %d of %d, placed by the policy",
			 omp_get_thread_num(), omp_get_num_threads());

	(void)format;
	if (bytes)
		snprintf(buffer, bytes, "%s", text);
	return (size_t)n;
}

GOMP_API void omp_display_affinity(const char *format)
{
	char text[64];

	omp_capture_affinity(text, sizeof(text), format);
	puts(text);
}

/* Fortran's texts have a length of their own, which comes behind the other arguments, and end in blanks. */
static void blank_padded(char *text, size_t had, size_t bytes)
{
	if (had < bytes)
		memset(text + had, ' ', bytes - had);
}

GOMP_API void omp_set_affinity_format_(const char *format, size_t bytes)
{
	(void)format;
	(void)bytes;
}

GOMP_API int omp_get_affinity_format_(char *buffer, size_t bytes)
{
	blank_padded(buffer, 0, bytes);
	return 0;
}

GOMP_API int omp_capture_affinity_(char *buffer, const char *format, size_t bytes,
				   size_t format_bytes)
{
	char text[64];
	size_t n = omp_capture_affinity(text, sizeof(text), 0);

	(void)format;
	(void)format_bytes;
	memcpy(buffer, text, n < bytes ? n : bytes);
	blank_padded(buffer, n, bytes);
	return (int)n;
}

GOMP_API void omp_display_affinity_(const char *format, size_t bytes)
{
	(void)format;
	(void)bytes;
	omp_display_affinity(0);
}

/* --- the rest ------------------------------------------------------------------------------------------------------- */

ASKS(int, omp_get_cancellation)
{
	return 0;
}

ASKS(int, omp_get_max_task_priority)
{
	return 0;
}

SETS(omp_set_default_device)
{
	(void)value;
}

ASKS(int, omp_get_default_device)
{
	return 0;
}

ASKS(int, omp_get_num_devices)
{
	return 0;
}

ASKS(int, omp_get_device_num)
{
	return 0;
}

ASKS(int, omp_is_initial_device)
{
	return 1;
}

ASKS(int, omp_get_initial_device)
{
	return 0;
}

ASKS(int, omp_get_num_teams)
{
	return 1;
}

ASKS(int, omp_get_team_num)
{
	return 0;
}

SETS(omp_set_num_teams)
{
	(void)value;
}

ASKS(int, omp_get_max_teams)
{
	return 1;
}

SETS(omp_set_teams_thread_limit)
{
	(void)value;
}

ASKS(int, omp_get_teams_thread_limit)
{
	return 0;
}

SETS(omp_display_env)
{
	me();
	environment_show(value);
}

GOMP_API int omp_pause_resource(int kind, int device)
{
	(void)kind;
	return device ? -1 : 0;
}

GOMP_API int omp_pause_resource_(const int *kind, const int *device)
{
	return omp_pause_resource(*kind, *device);
}

GOMP_API int omp_pause_resource_all(int kind)
{
	(void)kind;
	return 0;
}

GOMP_API int omp_pause_resource_all_(const int *kind)
{
	return omp_pause_resource_all(*kind);
}

/* One memory, and its allocator. */
GOMP_API uintptr_t omp_init_allocator(uintptr_t space, int nr, const void *traits)
{
	(void)traits;
	return space || nr ? 0 : 1;
}

GOMP_API uintptr_t omp_init_allocator_(const uintptr_t *space, const int *nr, const void *traits)
{
	return omp_init_allocator(*space, *nr, traits);
}

GOMP_API uintptr_t omp_init_allocator_8_(const uintptr_t *space, const int64_t *nr,
					 const void *traits)
{
	return omp_init_allocator(*space, *nr != 0, traits);
}

GOMP_API void omp_destroy_allocator(uintptr_t a)
{
	(void)a;
}

GOMP_API void omp_destroy_allocator_(const uintptr_t *a)
{
	omp_destroy_allocator(*a);
}

GOMP_API void omp_set_default_allocator(uintptr_t a)
{
	(void)a;
}

GOMP_API void omp_set_default_allocator_(const uintptr_t *a)
{
	omp_set_default_allocator(*a);
}

ASKS(uintptr_t, omp_get_default_allocator)
{
	return 1;
}

static void *aligned(size_t align, size_t bytes, int zero)
{
	void *p = 0;

	if (align < sizeof(void *))
		align = sizeof(void *);
	if (!bytes || posix_memalign(&p, align, bytes))
		return 0;
	return zero ? memset(p, 0, bytes) : p;
}

GOMP_API void *omp_alloc(size_t bytes, uintptr_t a)
{
	(void)a;
	return bytes ? malloc(bytes) : 0;
}

GOMP_API void *omp_aligned_alloc(size_t align, size_t bytes, uintptr_t a)
{
	(void)a;
	return aligned(align, bytes, 0);
}

GOMP_API void *omp_calloc(size_t nr, size_t bytes, uintptr_t a)
{
	(void)a;
	return nr && bytes ? calloc(nr, bytes) : 0;
}

GOMP_API void *omp_aligned_calloc(size_t align, size_t nr, size_t bytes, uintptr_t a)
{
	size_t all;

	(void)a;
	return __builtin_mul_overflow(nr, bytes, &all) ? 0 : aligned(align, all, 1);
}

GOMP_API void *omp_realloc(void *p, size_t bytes, uintptr_t a, uintptr_t from)
{
	(void)a;
	(void)from;
	if (!bytes) {
		free(p);
		return 0;
	}
	return realloc(p, bytes);
}

GOMP_API void omp_free(void *p, uintptr_t a)
{
	(void)a;
	free(p);
}

GOMP_API void *GOMP_alloc(size_t align, size_t bytes, uintptr_t a)
{
	void *p = aligned(align, bytes ? bytes : 1, 0);

	(void)a;
	if (!p)
		fatal("no memory for a variable with an allocate clause");
	return p;
}

GOMP_API void GOMP_free(void *p, uintptr_t a)
{
	(void)a;
	free(p);
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

/* --- the memory of devices: the host is the only one, and number 0 -------------------------------------------------- */

GOMP_API void *omp_target_alloc(size_t bytes, int device)
{
	return device || !bytes ? 0 : malloc(bytes);
}

GOMP_API void omp_target_free(void *p, int device)
{
	if (!device)
		free(p);
}

GOMP_API int omp_target_is_present(const void *p, int device)
{
	(void)p;
	return !device;
}

GOMP_API int omp_target_memcpy(void *to, const void *from, size_t bytes, size_t to_offset,
			       size_t from_offset, int to_device, int from_device)
{
	if (to_device || from_device)
		return EINVAL;
	memcpy((char *)to + to_offset, (const char *)from + from_offset, bytes);
	return 0;
}

/* Copy a part of an array of @dims dimensions into a part of another; all numbers count elements. */
GOMP_API int omp_target_memcpy_rect(void *to, const void *from, size_t bytes, int dims,
				    const size_t *volume, const size_t *to_offset,
				    const size_t *from_offset, const size_t *to_size,
				    const size_t *from_size, int to_device, int from_device)
{
	size_t to_row = bytes, from_row = bytes;

	/* Without arrays: how many dimensions there may be. */
	if (!to && !from)
		return MAX_LEVELS;
	if (to_device || from_device || dims < 1)
		return EINVAL;
	for (int i = 1; i < dims; i++) {
		to_row *= to_size[i];
		from_row *= from_size[i];
	}
	to = (char *)to + to_offset[0] * to_row;
	from = (const char *)from + from_offset[0] * from_row;
	if (dims == 1) {
		memcpy(to, from, bytes * volume[0]);
		return 0;
	}
	for (size_t i = 0; i < volume[0]; i++) {
		int err = omp_target_memcpy_rect(
			(char *)to + i * to_row, (const char *)from + i * from_row, bytes, dims - 1,
			volume + 1, to_offset + 1, from_offset + 1, to_size + 1, from_size + 1,
			to_device, from_device);

		if (err)
			return err;
	}
	return 0;
}

GOMP_API int omp_target_associate_ptr(const void *host, const void *there, size_t bytes,
				      size_t offset, int device)
{
	(void)host;
	(void)there;
	(void)bytes;
	(void)offset;
	(void)device;
	return EINVAL;
}

GOMP_API int omp_target_disassociate_ptr(const void *p, int device)
{
	(void)p;
	(void)device;
	return EINVAL;
}

/* A program that could offload starts, and stops with an error where it offloads. */
#define NO_TARGET(name)                                                                          \
	GOMP_API void name(void);                                                                \
	GOMP_API void name(void)                                                                 \
	{                                                                                        \
		fatal(#name ": target regions are not supported; run the program with libgomp"); \
	}

NO_TARGET(GOMP_target)
NO_TARGET(GOMP_target_ext)
NO_TARGET(GOMP_target_data)
NO_TARGET(GOMP_target_data_ext)
NO_TARGET(GOMP_target_end_data)
NO_TARGET(GOMP_target_update)
NO_TARGET(GOMP_target_update_ext)
NO_TARGET(GOMP_target_enter_exit_data)
NO_TARGET(GOMP_teams)
NO_TARGET(GOMP_teams4)

/* Called by constructors of programs built for offloading. */
GOMP_API void GOMP_offload_register_ver(void)
{
}

GOMP_API void GOMP_offload_unregister_ver(void)
{
}
