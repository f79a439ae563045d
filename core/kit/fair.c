/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Requests and sums of fair orders (weir/kit/fair.h). Separate functions, because a message would enlarge the caller's frame. */
#include <weir/cpus.h>
#include <weir/kit/fair.h>
#include <weir/kit/realtime.h>

/* By nice + 20: weight, 2^32 / weight; the last entry is SCHED_IDLE's. As in Linux, spec/4 section 5. */
static const u32 fair_table[64][2] = {
	{ 88761, 48388 },
	{ 71755, 59856 },
	{ 56483, 76040 },
	{ 46273, 92818 },
	{ 36291, 118348 },
	{ 29154, 147320 },
	{ 23254, 184698 },
	{ 18705, 229616 },
	{ 14949, 287308 },
	{ 11916, 360437 },
	{ 9548, 449829 },
	{ 7620, 563644 },
	{ 6100, 704093 },
	{ 4904, 875809 },
	{ 3906, 1099582 },
	{ 3121, 1376151 },
	{ 2501, 1717300 },
	{ 1991, 2157191 },
	{ 1586, 2708050 },
	{ 1277, 3363326 },
	{ 1024, 4194304 },
	{ 820, 5237765 },
	{ 655, 6557202 },
	{ 526, 8165337 },
	{ 423, 10153587 },
	{ 335, 12820798 },
	{ 272, 15790321 },
	{ 215, 19976592 },
	{ 172, 24970740 },
	{ 137, 31350126 },
	{ 110, 39045157 },
	{ 87, 49367440 },
	{ 70, 61356676 },
	{ 56, 76695844 },
	{ 45, 95443717 },
	{ 36, 119304647 },
	{ 29, 148102320 },
	{ 23, 186737708 },
	{ 18, 238609294 },
	{ 15, 286331153 },
	{ WEIR_WEIGHT_IDLE, 1431655765 },
};

static u32 fair_row(s64 nice)
{
	return nice > 19 ? 40 : nice < -20 ? 0 : (u32)(nice + 20);
}

WEIR_GLOBAL u32 weir_fair_nice(s64 nice)
{
	return fair_table[fair_row(nice) & 63][0];
}

WEIR_FLAT u32 weir_fair_nice_inverse(s64 nice)
{
	return fair_table[fair_row(nice) & 63][1];
}

WEIR_GLOBAL int weir_fair_weigh(struct weir_sched weir_mem *s weir_arg,
				struct weir_task weir_mem *t weir_arg,
				struct weir_fair weir_mem *f weir_arg)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_WEIGHT, .task = t };

	msg.value2 = (u64)(1024 + (s64)f->stretch);
	if (weir_request(s, &msg) || !msg.value || msg.value > WEIR_WEIGHT_MAX) {
		f->weight = WEIR_WEIGHT_NICE_0;
		f->inverse = 1u << 22;
		return 0;
	}
	f->weight = (u32)msg.value;
	f->inverse = (u32)msg.value2 ? (u32)msg.value2 : (u32)weir_fair_inverse(msg.value);
	return (msg.value2 & WEIR_FAIR_UNTOLD) != 0;
}

WEIR_FLAT u64 weir_fair_latency(struct weir_sched weir_mem *s, struct weir_task weir_mem *t)
{
	return weir_property(s, WEIR_TOPIC_LATENCY, t);
}

WEIR_GLOBAL WEIR_RARE int weir_fair_penalty(struct weir_sched weir_mem *s weir_arg,
					    struct weir_task weir_mem *t weir_arg,
					    struct weir_fair weir_mem *f weir_arg)
{
	struct weir_msg penalty = { .topic = WEIR_TOPIC_PENALTY, .task = t };

	if (weir_request(s, &penalty))
		return 0;
	f->stretch = (s32)(s64)penalty.value;
	f->shrink = (s32)(s64)penalty.value2;
	return 0;
}

WEIR_GLOBAL u64 weir_fair_look_all(struct weir_instance weir_mem *self weir_arg,
				   struct weir_fair_queue weir_mem *q weir_arg, u64 now)
{
	const struct weir_pipe weir_mem *out = weir_out(self, 0);
	u32 nr = weir_nr_cpus(self->sched);
	u64 least = WEIR_KEY_NONE;

	for (u32 cpu = weir_fair_busy(out, 0); cpu < nr && weir_loop;
	     cpu = weir_fair_busy(out, cpu + 1)) {
		struct weir_task weir_mem *t;
		struct weir_fair weir_mem *f = weir_fair_runs(self, q, cpu, &t);

		if (!f)
			continue;
		weir_fair_charge(q, f, now);
		if (f->vruntime < least)
			least = f->vruntime;
	}
	weir_note_scan(self, out->nr_cpus);
	return least;
}

WEIR_GLOBAL int weir_fair_displace(struct weir_instance weir_mem *self weir_arg,
				   const struct weir_fair_queue weir_mem *q weir_arg, u32 cpu,
				   struct weir_task weir_mem *t weir_arg)
{
	struct weir_task weir_mem *runs;
	struct weir_fair weir_mem *f = weir_fair_runs(self, q, cpu, &runs);
	u64 key;

	key = f && weir_out(self, 0)->stages ? weir_load(&runs->key) : 0;
	/* (Without a class of real time, what an order by deadlines does not handle has the first of these keys.) */
	if (key > WEIR_KEY_FIXED && key < weir_realtime_key(0) &&
	    !(t && weir_load(&t->landing) && weir_load(&t->key) <= key))
		return 0;
	if (f)
		f->flags |= WEIR_FAIR_RESCHED;
	weir_publish(self, WEIR_TOPIC_PREEMPT, t, cpu, 0);
	return 0;
}
