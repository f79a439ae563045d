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

/*
 * The group that @home is in, and *@since when it came there. No chain is a circle: a change that merges into a group also has that group
 * stand alone.
 */
static u32 way_to_group(const struct mk_replica *r, u32 home, u64 *since)
{
	u32 at = home;

	*since = r->group[at].into.time;
	for (u32 i = 0; i < MK_MAX_GROUPS && r->group[at].into.value != at; i++) {
		at = r->group[at].into.value;
		if (r->group[at].into.time > *since)
			*since = r->group[at].into.time;
	}
	return at;
}

static u32 group_of(const struct mk_replica *r, u32 home)
{
	u64 since;

	return way_to_group(r, home, &since);
}

static u32 phase_of(const struct mk_replica *r)
{
	return r->group[group_of(r, r->home)].phase.value;
}

/* When the present phase was requested, or the CPU came into its present group. */
static u64 since(const struct mk_replica *r)
{
	u64 time, phase = r->group[way_to_group(r, r->home, &time)].phase.time;

	return phase > time ? phase : time;
}

/* The gang's slots here in the present phase. */
static void submit(const struct mk_replica *r, u32 gang, u64 now, struct mk_submit *out)
{
	u32 phase = phase_of(r);

	*out = (struct mk_submit){ .gang = gang, .from = now };
	if (!r->used || !(r->have >> phase & 1))
		return;
	out->priority = r->priority[phase];
	out->row = r->row[phase];
	if (since(r) + r->release[phase] > now)
		out->from = since(r) + r->release[phase];
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
	if (!known) {
		*r = (struct mk_replica){ .used = 1 };
		for (u32 i = 0; i < MK_MAX_GROUPS; i++)
			r->group[i].into.value = i;
	}
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
	if (phase != phase_of(r))
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

/* Whether a change is later than the one that wrote the register. */
static int later(const struct mk_register *r, const struct mk_phase_message *msg)
{
	if (msg->sequence != r->sequence)
		return msg->sequence > r->sequence;
	return msg->coordinator > r->coordinator;
}

/* 1: a later change has written it. */
static int write_register(struct mk_register *r, u32 value, const struct mk_phase_message *msg)
{
	if (!later(r, msg))
		return 1;
	*r = (struct mk_register){ .value = value,
				   .sequence = msg->sequence,
				   .coordinator = msg->coordinator,
				   .time = msg->time };
	return 0;
}

/* Write all registers that the change concerns. Returns what this CPU replies. */
static u32 apply(struct mk_replica *r, const struct mk_phase_message *msg)
{
	u32 was = group_of(r, r->home), overtaken = 0;

	for (u32 i = 0; i < MK_MAX_GROUPS; i++) {
		u32 stays = i == msg->group && msg->change == MK_CHANGE_MERGE;

		if (stays || msg->groups >> i & 1)
			overtaken |= write_register(&r->group[i].into,
						    msg->change == MK_CHANGE_SPLIT ? i : msg->group,
						    msg);
	}
	if (msg->phase != MK_SAME_PHASE)
		overtaken |= write_register(&r->group[msg->group].phase, msg->phase, msg);
	if (msg->sequence > r->sequence)
		r->sequence = msg->sequence;
	if (overtaken)
		return MK_PHASE_OVERTAKEN;
	if (was != msg->group && group_of(r, r->home) != msg->group)
		return MK_PHASE_OTHER;
	return r->have >> phase_of(r) & 1 ? MK_PHASE_DONE : MK_PHASE_MISSING;
}

/* Whether all that the message names exists. */
static int known(const struct mk_replica *r, const struct mk_phase_message *msg)
{
	return (msg->phase < r->nr_phases || msg->phase == MK_SAME_PHASE) &&
	       msg->group < MK_MAX_GROUPS && msg->groups < 1u << MK_MAX_GROUPS &&
	       msg->change <= MK_CHANGE_SPLIT;
}

static void add_reply(struct mk_phase_result *result, u32 status)
{
	if (status == MK_PHASE_OTHER)
		return;
	result->count++;
	if (status > result->status)
		result->status = status;
}

/* Begin the change in *@out, which has its kind, group, groups and phase. */
static int coordinate(struct mk_planner *p, u32 gang, u64 now, struct mk_phase_message *out,
		      struct mk_submit *to, struct mk_phase_result *result)
{
	struct mk_replica *r = replica(p, gang);

	if (!r || !known(r, out))
		return -WEIR_ENOENT;
	if (r->pending)
		return -WEIR_EBUSY;
	out->gang = gang;
	out->time = now;
	out->coordinator = p->cpu;
	out->sequence = r->sequence + 1;
	*result = (struct mk_phase_result){ 0 };
	add_reply(result, apply(r, out));
	submit(r, gang, now, to);
	r->waiting = mk_count(&r->cpus) - 1;
	if (r->waiting) {
		r->pending = out->sequence;
		r->result = *result;
	}
	return (int)r->waiting;
}

int mk_planner_join(struct mk_planner *p, u32 gang, u32 group, u64 now, struct mk_submit *to)
{
	struct mk_replica *r = replica(p, gang);
	u32 was;

	if (!r || group >= MK_MAX_GROUPS)
		return -WEIR_ENOENT;
	was = group_of(r, r->home);
	r->home = group;
	submit(r, gang, now, to);
	return group_of(r, group) != was;
}

int mk_planner_change(struct mk_planner *p, u32 gang, u32 phase, u64 now,
		      struct mk_phase_message *out, struct mk_submit *to,
		      struct mk_phase_result *result)
{
	u32 group = mk_planner_group(p, gang);

	*out = (struct mk_phase_message){ .phase = phase, .group = group };
	return phase == MK_SAME_PHASE ? -WEIR_ENOENT : coordinate(p, gang, now, out, to, result);
}

int mk_planner_merge(struct mk_planner *p, u32 gang, u32 groups, u32 into, u32 phase, u64 now,
		     struct mk_phase_message *out, struct mk_submit *to,
		     struct mk_phase_result *result)
{
	*out = (struct mk_phase_message){
		.change = MK_CHANGE_MERGE, .groups = groups, .group = into, .phase = phase
	};
	return coordinate(p, gang, now, out, to, result);
}

int mk_planner_split(struct mk_planner *p, u32 gang, u32 group, u64 now,
		     struct mk_phase_message *out, struct mk_submit *to,
		     struct mk_phase_result *result)
{
	struct mk_replica *r = replica(p, gang);

	*out = (struct mk_phase_message){ .change = MK_CHANGE_SPLIT,
					  .group = group,
					  .phase = MK_SAME_PHASE };
	for (u32 i = 0; r && i < MK_MAX_GROUPS; i++)
		if (i != group && r->group[i].into.value == group)
			out->groups |= 1u << i;
	return out->groups ? coordinate(p, gang, now, out, to, result) : -WEIR_ENOENT;
}

u32 mk_planner_group(const struct mk_planner *p, u32 gang)
{
	if (gang >= MK_MAX_GANGS || !p->gang[gang].used)
		return ~0u;
	return group_of(&p->gang[gang], p->gang[gang].home);
}

int mk_planner_receive(struct mk_planner *p, const struct mk_phase_message *msg,
		       struct mk_submit *out, struct mk_phase_reply *reply)
{
	struct mk_replica *r = replica(p, msg->gang);
	u32 was;
	u64 before;

	*reply = (struct mk_phase_reply){ msg->gang, msg->sequence, p->cpu, MK_PHASE_UNKNOWN };
	if (!r || !known(r, msg))
		return 0;
	was = phase_of(r);
	before = since(r);
	reply->status = apply(r, msg);
	if (phase_of(r) == was && since(r) == before)
		return 0;
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
	add_reply(&r->result, reply->status);
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
	if (r->have >> phase_of(r) & 1)
		row = &r->row[phase_of(r)];
	*out = (struct mk_activation){ .period = row->period,
				       .share = row->length,
				       .deallocations = r->deallocations,
				       .phase = phase_of(r),
				       .scale = r->scale,
				       .group = group_of(r, r->home) };
	return 0;
}
