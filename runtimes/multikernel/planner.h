/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The planner of one CPU: a replica of its gangs' data, and the protocol of phase changes. Neutral: it needs only port.h; the caller
 * carries messages and passes rows to its scheduler. Source: 1, 3.2 and 3.6, E15.
 *
 * A program asks the planner of the CPU that it runs on, which coordinates. It looks up the phase, and sends each peer (another CPU of
 * the gang) one message with manifest, phase, time, coordinator and sequence. Each peer looks up its own row and replies; after the
 * last reply, the program gets one result. A planner without the row serves the gang as best effort until the controller sends the row.
 * Simultaneous changes of one gang by two coordinators are ordered by sequence, then by coordinator, so all CPUs end in the same phase.
 *
 * A gang's members are in groups, by CPU; initially all are in group 0. Each group is in a phase of its own. Groups merge and split at
 * run time, and never need to be admitted again: a phase's slots begin at the same time on all CPUs of the gang, so one row per phase
 * serves every division into groups. Each CPU joins a home group, and only its own planner knows that. Which group a group is merged
 * into, and its phase, are registers in every planner, each written by the latest change; so all planners agree whatever the order of
 * messages is, a CPU is in exactly one group at any time, and a group that leaves a merged one has the phase again that it had before.
 */
#ifndef WEIR_PLANNER_H
#define WEIR_PLANNER_H

#include "controller.h"

#define MK_MAX_GROUPS 16u /* of a gang */
#define MK_SAME_PHASE (~0u)

enum mk_phase_status {
	MK_PHASE_DONE,	    /* the row is in force */
	MK_PHASE_MISSING,   /* best effort until the row comes */
	MK_PHASE_OVERTAKEN, /* a later change is in force */
	MK_PHASE_UNKNOWN,   /* no such gang or phase here */
	MK_PHASE_OTHER,	    /* this CPU is in another group; noted */
};

enum mk_change {
	MK_CHANGE_PHASE, /* of `group` */
	MK_CHANGE_MERGE, /* `groups` into `group` */
	MK_CHANGE_SPLIT, /* `groups` leave `group` */
};

struct mk_phase_message {
	u32 gang;
	u32 phase; /* MK_SAME_PHASE: no change */
	u64 time;  /* of the request, by the common clock */
	u32 coordinator;
	u32 sequence;
	u32 change; /* enum mk_change */
	u32 group;
	u32 groups; /* a bit each */
	u32 unused;
};

struct mk_phase_reply {
	u32 gang;
	u32 sequence;
	u32 cpu;
	u32 status; /* enum mk_phase_status */
};

/* The program's result: the worst status, and the number of CPUs in the group concerned. */
struct mk_phase_result {
	u32 status;
	u32 count;
};

/* For the CPU's scheduler: the gang's slots here from @from on; length 0: best effort. */
struct mk_submit {
	u32 gang;
	s32 priority;
	u64 from; /* absolute, ns */
	struct mk_row row;
};

/* What the program may read about its share of this CPU. */
struct mk_activation {
	u64 period;	   /* ns; 0: best effort */
	u64 share;	   /* ns in each period */
	u64 deallocations; /* times that a slot ended, or its CPU was taken away within one */
	u32 phase;
	u32 scale; /* of the declared execution times, in 1000ths */
	u32 group; /* in which this CPU is */
	u32 unused;
};

/* A register: a value, and the change that wrote it. */
struct mk_register {
	u32 value;
	u32 sequence;
	u32 coordinator;
	u32 unused;
	u64 time;
};

struct mk_group {
	struct mk_register into; /* the group that it is merged into; itself: none */
	struct mk_register phase;
};

struct mk_replica {
	u32 used;
	u32 scale;
	u32 nr_phases;
	u32 have; /* phases whose row has arrived, a bit each */
	u64 version;
	struct mk_cpus cpus;
	struct mk_row row[MK_MAX_PHASES];
	s32 priority[MK_MAX_PHASES];
	u64 release[MK_MAX_PHASES];
	u32 home;     /* the group that this CPU joined */
	u32 sequence; /* of the latest change seen */
	struct mk_group group[MK_MAX_GROUPS];
	u64 deallocations;
	/* The change that this CPU coordinates; its sequence is 0 if there is none. */
	u32 pending;
	u32 waiting; /* replies to come */
	struct mk_phase_result result;
};

struct mk_planner {
	u32 cpu;
	u32 unused;
	struct mk_replica gang[MK_MAX_GANGS];
};

u64 mk_planner_bytes(void);
void mk_planner_init(struct mk_planner *p, u32 cpu);
/*
 * The controller announces a gang, or a new version of it; its rows follow one by one. Until then, it is best effort here. 1: it was
 * known, the present phase's row is void, and *@submit goes to the scheduler.
 */
int mk_planner_learn(struct mk_planner *p, u32 gang, const struct mk_gang *g, u64 now,
		     struct mk_submit *submit);
/* The row of a phase. 1: it is the present phase, and *@submit goes to the scheduler. An old version is ignored. */
int mk_planner_push(struct mk_planner *p, u32 gang, u32 phase, u64 version,
		    const struct mk_row *row, u64 now, struct mk_submit *submit);
/* The gang has left; its slots here are void. 1: *@submit goes to the scheduler. */
int mk_planner_forget(struct mk_planner *p, u32 gang, u64 now, struct mk_submit *submit);
/* This CPU's members are in group @group from now on. 1: *@submit goes to the scheduler. -WEIR_ENOENT: no such gang or group. */
int mk_planner_join(struct mk_planner *p, u32 gang, u32 group, u64 now, struct mk_submit *submit);
/*
 * This CPU coordinates a change of its group's phase: *@out goes to each of the gang's other CPUs, and *@submit to this one's scheduler. The
 * number of peers; if that is 0, *@result is complete. -WEIR_ENOENT: no such gang or phase. -WEIR_EBUSY: replies to the last change are
 * missing.
 */
int mk_planner_change(struct mk_planner *p, u32 gang, u32 phase, u64 now,
		      struct mk_phase_message *out, struct mk_submit *submit,
		      struct mk_phase_result *result);
/* Likewise: @groups, a bit each, merge into group @into, which enters @phase (MK_SAME_PHASE: stays in its own). */
int mk_planner_merge(struct mk_planner *p, u32 gang, u32 groups, u32 into, u32 phase, u64 now,
		     struct mk_phase_message *out, struct mk_submit *submit,
		     struct mk_phase_result *result);
/* Likewise: the groups that were merged into @group leave it. -WEIR_ENOENT: there are none. */
int mk_planner_split(struct mk_planner *p, u32 gang, u32 group, u64 now,
		     struct mk_phase_message *out, struct mk_submit *submit,
		     struct mk_phase_result *result);
/* The group in which this CPU is; ~0: no such gang here. */
u32 mk_planner_group(const struct mk_planner *p, u32 gang);
/* A peer's part: *@reply goes to the coordinator. 1: *@submit goes to the scheduler. */
int mk_planner_receive(struct mk_planner *p, const struct mk_phase_message *msg,
		       struct mk_submit *submit, struct mk_phase_reply *reply);
/* The coordinator's part. 1: this was the last reply, and *@result is the program's result. */
int mk_planner_reply(struct mk_planner *p, const struct mk_phase_reply *reply,
		     struct mk_phase_result *result);
/* A slot ended here, or its CPU was taken away. */
void mk_planner_deallocated(struct mk_planner *p, u32 gang);
/* 0, or -WEIR_ENOENT. */
int mk_planner_activation(const struct mk_planner *p, u32 gang, struct mk_activation *out);

#endif
