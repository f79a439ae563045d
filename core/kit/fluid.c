/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Fluid shares in whole nanoseconds: weir/kit/fluid.h states the guarantees. */
#include <weir/kit/fluid.h>

WEIR_GLOBAL u64 weir_share(u64 a, u64 b, u64 c, u64 *part weir_arg_record)
{
	u64 quotient = 0, rest = 0;

	if (!((a | b) >> 32)) {
		quotient = a * b / c;
		rest = a * b % c;
	} else {
		for (u32 bit = weir_unknown(64); bit > 0 && weir_loop; bit--) {
			quotient <<= 1;
			rest <<= 1;
			if (rest >= c) {
				rest -= c;
				quotient++;
			}
			if (!(b >> (bit - 1) & 1))
				continue;
			rest += a;
			if (rest >= c) {
				rest -= c;
				quotient++;
			}
		}
	}
	while (c >> 32 && weir_loop) {
		rest >>= 1;
		c >>= 1;
	}
	*part = (rest << WEIR_PART_BITS) / c;
	return quotient;
}

static u64 fluid_ends(const struct weir_rt weir_mem *r)
{
	return r->x[WEIR_FLUID_FROM] + r->x[WEIR_FLUID_SPAN];
}

/* A job began, or a job that exceeds its declared time gets the time of another. */
static void fluid_begin(struct weir_rt weir_mem *r, u64 now)
{
	u64 span = r->deadline - r->release;

	if (r->period && r->period < span)
		span = r->period;
	/* A job longer than its deadline has a whole CPU until it is done, in one window rather than in very many. */
	if (span < r->wcet)
		span = r->wcet;
	r->x[WEIR_FLUID_FROM] = r->release + span > now ? r->release : now;
	r->x[WEIR_FLUID_SPAN] = span;
	r->x[WEIR_FLUID_LEGS] = 0;
	r->used = 0;
}

/* The first leg is over. */
static void fluid_end_leg(struct weir_rt weir_mem *r, u64 now)
{
	u64 n = --r->x[WEIR_FLUID_LEGS];

	for (u32 i = 0; i < 2 * n && weir_loop; i++)
		r->x[WEIR_FLUID_LEG + i] = r->x[WEIR_FLUID_LEG + i + 2];
	r->x[WEIR_FLUID_LEG_FROM] = now;
	r->x[WEIR_FLUID_LEG_BASE] = r->used;
}

/* The slice in which @r has a lot ends early: the remaining way is a leg. */
static void fluid_cut(struct weir_rt weir_mem *r, const struct weir_fluid weir_mem *fluid, u64 now)
{
	u64 n = r->x[WEIR_FLUID_LEGS];

	if (n < WEIR_FLUID_MAX_LEGS && (!n || r->x[WEIR_FLUID_LEG] != fluid->end)) {
		for (u32 i = 2 * n; i > 0 && weir_loop; i--)
			r->x[WEIR_FLUID_LEG + i + 1] = r->x[WEIR_FLUID_LEG + i - 1];
		r->x[WEIR_FLUID_LEG] = fluid->end;
		r->x[WEIR_FLUID_LEG + 1] = r->x[WEIR_FLUID_BASE] + r->x[WEIR_FLUID_LOT];
		r->x[WEIR_FLUID_LEGS] = n + 1;
	}
	r->x[WEIR_FLUID_LEG_FROM] = now;
	r->x[WEIR_FLUID_LEG_BASE] = r->used;
}

/* The state of @r at the beginning of a slice. */
static void fluid_take_up(struct weir_rt weir_mem *r, const struct weir_fluid weir_mem *fluid,
			  u64 now)
{
	u32 state = r->state;

	r->state &= ~(u32)(WEIR_RT_FRESH | WEIR_RT_WOKEN | WEIR_RT_WANT);
	if (state & WEIR_RT_FRESH || (state & WEIR_RT_READY && fluid_ends(r) <= now))
		fluid_begin(r, now);
	while (r->x[WEIR_FLUID_LEGS] && r->x[WEIR_FLUID_LEG] <= now && weir_loop)
		fluid_end_leg(r, now);
	if (!(state & WEIR_RT_FRESH) && r->x[WEIR_FLUID_LOT] && now > fluid->start &&
	    now < fluid->end)
		fluid_cut(r, fluid, now);
	r->x[WEIR_FLUID_BASE] = r->used;
	r->x[WEIR_FLUID_LOT] = 0;
}

static u64 fluid_sooner(u64 end, u64 at, u64 now)
{
	return at > now && (at < end || end <= now) ? at : end;
}

/* How long @r should have run by @at, whole part and fraction. */
WEIR_FLAT static u64 fluid_ideal(const struct weir_rt weir_mem *r, u64 at, u64 *part)
{
	u64 from = r->x[WEIR_FLUID_FROM], span = r->x[WEIR_FLUID_SPAN];
	u64 base = 0, goal = r->wcet;

	if (r->x[WEIR_FLUID_LEGS]) {
		from = r->x[WEIR_FLUID_LEG_FROM];
		span = r->x[WEIR_FLUID_LEG] - from;
		base = r->x[WEIR_FLUID_LEG_BASE];
		goal = r->x[WEIR_FLUID_LEG + 1] > base ? r->x[WEIR_FLUID_LEG + 1] - base : 0;
	}
	if (goal > span)
		goal = span;
	if (!span || at >= from + span) {
		*part = 0;
		return base + goal;
	}
	return base + weir_share(goal, at > from ? at - from : 0, span, part);
}

WEIR_GLOBAL int weir_fluid_slice(struct weir_instance weir_mem *self weir_arg,
				 struct weir_assign weir_mem *assign weir_arg,
				 struct weir_fluid weir_mem *fluid weir_arg, u64 now)
{
	u64 end = now, room, length, sum = 0, before = 0;

	weir_assign_account(self, assign, now);
	for (u32 i = 0; i < weir_load(&assign->nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &assign->row[i];

		if (!r->task || (!(r->state & WEIR_RT_FRESH) && !r->x[WEIR_FLUID_SPAN]))
			continue;
		fluid_take_up(r, fluid, now);
		end = fluid_sooner(end, fluid_ends(r), now);
		if (r->x[WEIR_FLUID_LEGS])
			end = fluid_sooner(end, r->x[WEIR_FLUID_LEG], now);
		if (r->period)
			end = fluid_sooner(end, r->release + r->period, now);
	}
	length = end - now;
	room = length * weir_assign_cpus(self, assign);
	fluid->start = now;
	fluid->end = end;
	fluid->lots = 0;
	fluid->jobs = 0;
	for (u32 i = 0; i < weir_load(&assign->nr) && weir_loop; i++) {
		struct weir_rt weir_mem *r = &assign->row[i];
		u64 part = 0, have, lot;

		if (!r->task || !(r->state & WEIR_RT_READY))
			continue;
		have = fluid_ideal(r, end, &part);
		/* `sum` and `before` are the parts of the rows so far, exact and rounded up; whole numbers cancel out. */
		sum += part;
		part = (sum + (1ull << WEIR_PART_BITS) - 1) >> WEIR_PART_BITS;
		have += part - before;
		before = part;
		lot = have > r->used ? have - r->used : 0;
		if (lot > length)
			lot = length;
		if (lot > room - fluid->lots)
			lot = room - fluid->lots;
		r->x[WEIR_FLUID_LOT] = lot;
		fluid->lots += lot;
		fluid->jobs += lot != 0;
	}
	weir_note_scan(self, assign->nr);
	return 0;
}
