/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Replicas, and phase changes. */
#include "planner.h"

#include <weir/error.h>

static struct mk_replica *replica(struct mk_planner *p, u32 gang)
{
	return gang < MK_MAX_GANGS && p->gang[gang].used ? &p->gang[gang] : 0;
}

u64 mk_planner_bytes(void)
{
	return sizeof(struct mk_planner);
}

void mk_planner_init(struct mk_planner *p, u32 cpu)
{
	p->cpu = cpu;
	for (u32 g = 0; g < MK_MAX_GANGS; g++)
		p->gang[g] = (struct mk_replica){ 0 };
}

/* The gang's slots here in the present phase. */
static void submit(const struct mk_replica *r, u32 gang, u64 now, struct mk_submit *out)
{
	*out = (struct mk_submit){ .gang = gang, .from = now };
	if (!r->used || !(r->have >> r->phase & 1))
		return;
	out->priority = r->priority[r->phase];
	out->row = r->row[r->phase];
	if (r->time + r->release[r->phase] > now)
		out->from = r->time + r->release[r->phase];
}

int mk_planner_learn(struct mk_planner *p, u32 gang, const struct mk_gang *g, u64 now,
		     struct mk_submit *out)
{
	struct mk_replica *r;
	int known;

	if (gang >= MK_MAX_GANGS || !mk_has(&g->cpus, p->cpu))
		return 0;
	r = &p->gang[gang];
	known = r->used && r->version != g->version;
	if (r->used && !known)
		return 0;
	if (!known)
		*r = (struct mk_replica){ .used = 1, .coordinator = ~0u };
	r->scale = g->scale;
	r->version = g->version;
	r->cpus = g->cpus;
	r->have = 0;
	r->nr_phases = g->manifest.nr_phases;
	for (u32 i = 0; i < r->nr_phases; i++) {
		r->priority[i] = g->manifest.phase[i].priority;
		r->release[i] = g->manifest.phase[i].release;
	}
	submit(r, gang, now, out);
	return known;
}

int mk_planner_push(struct mk_planner *p, u32 gang, u32 phase, u64 version,
		    const struct mk_row *row, u64 now, struct mk_submit *out)
{
	struct mk_replica *r = replica(p, gang);

	if (!r || phase >= r->nr_phases || version != r->version)
		return 0;
	r->row[phase] = *row;
	r->have |= 1u << phase;
	if (phase != r->phase)
		return 0;
	submit(r, gang, now, out);
	return 1;
}

int mk_planner_forget(struct mk_planner *p, u32 gang, u64 now, struct mk_submit *out)
{
	struct mk_replica *r = replica(p, gang);

	if (!r)
		return 0;
	r->used = 0;
	submit(r, gang, now, out);
	return 1;
}

/* Whether a change is later than the one in force. */
static int later(const struct mk_replica *r, u32 sequence, u32 coordinator)
{
	if (sequence != r->sequence)
		return sequence > r->sequence;
	return r->coordinator != ~0u && coordinator > r->coordinator;
}

static u32 apply(struct mk_replica *r, const struct mk_phase_message *msg)
{
	r->phase = msg->phase;
	r->sequence = msg->sequence;
	r->coordinator = msg->coordinator;
	r->time = msg->time;
	return r->have >> msg->phase & 1 ? MK_PHASE_DONE : MK_PHASE_MISSING;
}

int mk_planner_change(struct mk_planner *p, u32 gang, u32 phase, u64 now,
		      struct mk_phase_message *out, struct mk_submit *to,
		      struct mk_phase_result *result)
{
	struct mk_replica *r = replica(p, gang);

	if (!r || phase >= r->nr_phases)
		return -WEIR_ENOENT;
	if (r->pending)
		return -WEIR_EBUSY;
	*out = (struct mk_phase_message){ gang, phase, now, p->cpu, r->sequence + 1 };
	*result = (struct mk_phase_result){ apply(r, out), 1 };
	submit(r, gang, now, to);
	r->waiting = mk_count(&r->cpus) - 1;
	if (r->waiting) {
		r->pending = out->sequence;
		r->result = *result;
	}
	return (int)r->waiting;
}

int mk_planner_receive(struct mk_planner *p, const struct mk_phase_message *msg,
		       struct mk_submit *out, struct mk_phase_reply *reply)
{
	struct mk_replica *r = replica(p, msg->gang);

	*reply = (struct mk_phase_reply){ msg->gang, msg->sequence, p->cpu, MK_PHASE_UNKNOWN };
	if (!r || msg->phase >= r->nr_phases)
		return 0;
	reply->status = MK_PHASE_OVERTAKEN;
	if (!later(r, msg->sequence, msg->coordinator))
		return 0;
	reply->status = apply(r, msg);
	submit(r, msg->gang, msg->time, out);
	return 1;
}

int mk_planner_reply(struct mk_planner *p, const struct mk_phase_reply *reply,
		     struct mk_phase_result *result)
{
	struct mk_replica *r = replica(p, reply->gang);

	/* An answer to an old change, of a gang that has left and returned since. */
	if (!r || !r->pending || r->pending != reply->sequence || !r->waiting)
		return 0;
	r->result.count++;
	if (reply->status > r->result.status)
		r->result.status = reply->status;
	if (--r->waiting)
		return 0;
	r->pending = 0;
	*result = r->result;
	return 1;
}

void mk_planner_deallocated(struct mk_planner *p, u32 gang)
{
	struct mk_replica *r = replica(p, gang);

	if (r)
		r->deallocations++;
}

int mk_planner_activation(const struct mk_planner *p, u32 gang, struct mk_activation *out)
{
	const struct mk_replica *r = gang < MK_MAX_GANGS ? &p->gang[gang] : 0;
	struct mk_row none = { 0 };
	const struct mk_row *row = &none;

	if (!r || !r->used)
		return -WEIR_ENOENT;
	if (r->have >> r->phase & 1)
		row = &r->row[r->phase];
	*out = (struct mk_activation){ row->period, row->length, r->deallocations, r->phase,
				       r->scale };
	return 0;
}
