/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The initiator's side of equal clocks, and the arithmetic of both sides. */
#include "clocksync.h"

#include <weir/error.h>

u64 mk_sync_bytes(void)
{
	return sizeof(struct mk_sync);
}

int mk_sync_init(struct mk_sync *s, u32 nr, u64 drift)
{
	if (!nr || nr > MK_MAX_CPUS)
		return -WEIR_EINVAL;
	*s = (struct mk_sync){ .nr = nr,
			       .margin = MK_SYNC_MARGIN,
			       .drift = drift ? drift : MK_SYNC_DRIFT };
	return 0;
}

int mk_sync_begin(struct mk_sync *s, u64 reference)
{
	if (s->state == MK_SYNC_DISABLED || (s->state == MK_SYNC_ROUND && s->waiting))
		return 0;
	if (s->state != MK_SYNC_ROUND) {
		s->margin = MK_SYNC_MARGIN;
		s->rounds = 0;
	}
	s->state = MK_SYNC_ROUND;
	s->sequence++;
	s->waiting = s->nr;
	s->late = 0;
	s->target = reference + s->margin;
	return 1;
}

int mk_sync_in_time(u64 target, u64 reference)
{
	return reference < target;
}

int mk_sync_answered(struct mk_sync *s, const struct mk_sync_answer *a)
{
	if (s->state != MK_SYNC_ROUND || a->sequence != s->sequence || a->cpu >= s->nr ||
	    !s->waiting)
		return 0;
	s->base[a->cpu] = a->base;
	s->late += a->late != 0;
	if (--s->waiting)
		return 0;
	if (!s->late) {
		s->state = MK_SYNC_EQUAL;
		return 1;
	}
	s->rounds++;
	s->margin *= 2;
	if (s->margin > MK_SYNC_LIMIT)
		s->state = MK_SYNC_DISABLED;
	return 1;
}

u64 mk_sync_time(const struct mk_sync *s, u32 cpu, u64 local)
{
	return local + (u64)s->base[cpu];
}

int mk_sync_watch(const struct mk_sync *s, u32 cpu, u64 local, u64 reference)
{
	s64 off = (s64)(mk_sync_time(s, cpu, local) - reference);

	return s->state == MK_SYNC_EQUAL && (u64)(off < 0 ? -off : off) > s->drift;
}
