/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Target regions and the memory of devices. The host is the only device, with number 0: a target region runs here, by an initial thread of
 * its own, and memory that is mapped is there already.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

/* Numbers of gcc's calls. */
#define DEVICE_DEFAULT	 -1
#define DEVICE_HOST	 -2 /* an if clause that does not hold */
#define MAP_KIND	 0xffu
#define MAP_FIRSTPRIVATE 12u
#define ARG_DEVICE	 0x7f
#define ARG_TWO_WORDS	 0x80
#define ARG_ID		 0xff00
#define ARG_LIMIT	 0x200
#define ARG_VALUE_SHIFT	 16

/* --- regions ------------------------------------------------------------------------------------------------- */

static void check(int device)
{
	if (device == DEVICE_DEFAULT)
		device = me()->task->settings.device;
	if (env.mandatory && device && device != DEVICE_HOST)
		fatal("OMP_TARGET_OFFLOAD=mandatory, but the program asks for a device that is not "
		      "there");
}

/* Its own values of variables: copies in @room, in whose place the addresses were. Returns the bytes that they take. */
static size_t copies(size_t nr, void **at, const size_t *bytes, const u16 *kinds, char *room)
{
	size_t used = 0;

	for (size_t i = 0; i < nr; i++) {
		size_t align = (size_t)1 << (kinds[i] >> 8);

		if ((kinds[i] & MAP_KIND) != MAP_FIRSTPRIVATE || !at[i])
			continue;
		used = (used + align - 1) & ~(align - 1);
		if (room) {
			memcpy(room + used, at[i], bytes[i]);
			at[i] = room + used;
		}
		used += bytes[i];
	}
	return used;
}

/* The thread_limit among the arguments of a region; 0: none. */
static u32 limit_of(void **args)
{
	while (args && *args) {
		intptr_t id = (intptr_t)*args++;
		intptr_t value = id & ARG_TWO_WORDS ? (intptr_t)*args++ : id >> ARG_VALUE_SHIFT;

		if (!(id & ARG_DEVICE) && (id & ARG_ID) == ARG_LIMIT)
			return value > MAX_LEVELS ? MAX_LEVELS : value > 0 ? (u32)value : 0;
	}
	return 0;
}

static void run_here(void (*run)(void *), void *data, u32 limit)
{
	initial_begin();
	if (limit)
		me()->task->settings.limit = limit;
	run(data);
	initial_end();
}

GOMP_API void GOMP_target_ext(int device, void (*run)(void *), size_t nr, void **at,
			      const size_t *bytes, const u16 *kinds, unsigned flags, void **depend,
			      void **args)
{
	char *room = 0;
	size_t all;

	(void)flags;
	check(device);
	all = copies(nr, at, bytes, kinds, 0);
	if (all) {
		room = fresh(all);
		copies(nr, at, bytes, kinds, room);
	}
	if (depend)
		await_depends(me(), depend);
	run_here(run, at, limit_of(args));
	free(room);
}

GOMP_API void GOMP_target(int device, void (*run)(void *), const void *unused, size_t nr, void **at,
			  const size_t *bytes, const unsigned char *kinds)
{
	(void)unused;
	(void)nr;
	(void)bytes;
	(void)kinds;
	check(device);
	run_here(run, at, 0);
}

GOMP_API void GOMP_target_data(int device)
{
	check(device);
}

GOMP_API void GOMP_target_data_ext(int device)
{
	check(device);
}

GOMP_API void GOMP_target_end_data(void)
{
}

GOMP_API void GOMP_target_update(int device)
{
	check(device);
}

/* Memory is there already: nothing moves, but what the transfer depends on has to be done. */
#define TRANSFER(name)                                                            \
	GOMP_API void name(int device, size_t nr, void **at, const size_t *bytes, \
			   const u16 *kinds, unsigned flags, void **depend)       \
	{                                                                         \
		(void)nr;                                                         \
		(void)at;                                                         \
		(void)bytes;                                                      \
		(void)kinds;                                                      \
		(void)flags;                                                      \
		check(device);                                                    \
		if (depend)                                                       \
			await_depends(me(), depend);                              \
	}

TRANSFER(GOMP_target_update_ext)
TRANSFER(GOMP_target_enter_exit_data)

/* Called by constructors of programs built for offloading. */
GOMP_API void GOMP_offload_register_ver(void)
{
}

GOMP_API void GOMP_offload_unregister_ver(void)
{
}

/* --- which devices there are ------------------------------------------------------------------------------------- */

SETS(omp_set_default_device)
{
	me()->task->settings.device = value;
}

ASKS(int, omp_get_default_device)
{
	return me()->task->settings.device;
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

/* --- memory ------------------------------------------------------------------------------------------------------- */

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
