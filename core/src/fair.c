/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What fair orders ask and sum up (weir/fair.h). Functions of their own: each message is a part of somebody's frame. */
#include "internal.h"
#include <weir/fair.h>

WEIR_GLOBAL int weir_fair_weigh(struct weir_sched weir_mem *s weir_arg, struct weir_task weir_mem *t weir_arg,
				struct weir_fair weir_mem *f weir_arg)
{
	struct weir_msg msg = { .topic = WEIR_TOPIC_WEIGHT, .task = t };

	if (weir_request(s, &msg) || !msg.value || msg.value > WEIR_WEIGHT_MAX) {
		f->weight = WEIR_WEIGHT_NICE_0;
		f->inverse = 1u << 22;
		return 0;
	}
	f->weight = (u32)msg.value;
	f->inverse = (u32)(msg.value2 ? msg.value2 : weir_fair_inverse(msg.value));
	return 0;
}

WEIR_GLOBAL u64 weir_fair_latency(struct weir_sched weir_mem *s weir_arg, struct weir_task weir_mem *t weir_arg)
{
	return weir_property(s, WEIR_TOPIC_LATENCY, t);
}

WEIR_GLOBAL int weir_fair_begin(struct weir_sched weir_mem *s weir_arg, struct weir_task weir_mem *t weir_arg,
				struct weir_fair weir_mem *f weir_arg)
{
	struct weir_msg penalty = { .topic = WEIR_TOPIC_PENALTY, .task = t };

	f->flags = 0;
	f->began = weir_fair_ran(s, t, f);
	f->stretch = 0;
	f->shrink = 0;
	if (weir_request(s, &penalty))
		return 0;
	f->stretch = (s32)(s64)penalty.value;
	f->shrink = (s32)(s64)penalty.value2;
	return 0;
}

WEIR_GLOBAL int weir_fair_look(struct weir_instance weir_mem *self weir_arg, struct weir_fair_queue weir_mem *q weir_arg,
			       const struct weir_pipe weir_mem *in weir_arg)
{
	const struct weir_pipe weir_mem *out = weir_out(self, 0);
	u32 nr = self->sched->nr_cpus;

	q->run_load = 0;
	q->run_nr = 0;
	q->run_sum = 0;
	q->run_least = WEIR_KEY_NONE;
	for (u32 cpu = weir_fair_busy(out, 0); cpu < nr && weir_loop; cpu = weir_fair_busy(out, cpu + 1)) {
		struct weir_task weir_mem *t;
		struct weir_fair weir_mem *f = weir_fair_runs(self, q, in, cpu, &t);
		u64 v;

		if (!f)
			continue;
		weir_fair_charge(self->sched, t, f);
		v = weir_load(&f->vruntime);
		q->run_nr++;
		q->run_load += f->weight;
		q->run_sum += (v - q->zero) * f->weight;
		if (v < q->run_least)
			q->run_least = v;
	}
	weir_note_scan(self, out->nr_cpus);
	return 0;
}

WEIR_GLOBAL int weir_fair_recount(struct weir_instance weir_mem *self weir_arg,
				  struct weir_fair_queue weir_mem *q weir_arg,
				  const struct weir_pipe weir_mem *in weir_arg)
{
	struct weir_task weir_mem *t;

	q->load = 0;
	q->sum = 0;
	q->nr = 0;
	weir_for_task(t, in) {
		struct weir_fair weir_mem *f = weir_fair_of(self->sched, t);

		if (f && weir_fair_waits(q, f))
			weir_fair_enter(q, f);
	}
	weir_note_scan(self, weir_pipe_nr(in));
	return 0;
}

WEIR_GLOBAL int weir_fair_displace(struct weir_instance weir_mem *self weir_arg,
				   const struct weir_fair_queue weir_mem *q weir_arg,
				   const struct weir_pipe weir_mem *in weir_arg, u32 cpu,
				   struct weir_task weir_mem *t weir_arg)
{
	struct weir_task weir_mem *runs;
	struct weir_fair weir_mem *f = weir_fair_runs(self, q, in, cpu, &runs);

	if (f)
		f->flags |= WEIR_FAIR_TOLD;
	weir_publish(self, WEIR_TOPIC_PREEMPT, t, cpu, 0);
	return 0;
}
