/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Equal clocks: every CPU resets its timer at one target time of a reference that all can read. Neutral: it needs only port.h; the
 * caller reads clocks and carries messages. Source: 1, 3.6.
 *
 * The initiator announces a target a margin ahead. Each CPU stops its work and waits for it. If a CPU reports that it was late, the
 * initiator tries again with twice the margin. Beyond one second it gives up: gangs are best effort from then on.
 */
#ifndef WEIR_CLOCKSYNC_H
#define WEIR_CLOCKSYNC_H

#include "manifest.h"

#define MK_SYNC_MARGIN 80000000ull   /* ns; a slice of RBED */
#define MK_SYNC_LIMIT  1000000000ull /* ns */
#define MK_SYNC_DRIFT  5000ull	     /* ns; beyond that, a new round is due */

enum mk_sync_state { MK_SYNC_NONE, MK_SYNC_ROUND, MK_SYNC_EQUAL, MK_SYNC_DISABLED };

struct mk_sync {
	u32 state; /* enum mk_sync_state */
	u32 nr;
	u32 waiting; /* CPUs that have not answered this round */
	u32 late;    /* CPUs that answered that they were late */
	u32 rounds;  /* failed rounds since equal clocks were requested */
	u32 sequence;
	u64 margin;
	u64 target;
	u64 drift;	       /* allowed, ns */
	s64 base[MK_MAX_CPUS]; /* of each CPU, reference minus own clock at the target */
};

struct mk_sync_answer {
	u32 cpu;
	u32 sequence;
	s32 late; /* 1: the target had passed when this CPU first looked */
	u32 unused;
	s64 base;
};

/* For callers in other languages: its size. */
u64 mk_sync_bytes(void);
/* 0, or -WEIR_EINVAL. @drift 0: the default. */
int mk_sync_init(struct mk_sync *s, u32 nr, u64 drift);
/* Begin a round at @reference. 1: send s->target with s->sequence to every CPU. 0: disabled, or a round is under way. */
int mk_sync_begin(struct mk_sync *s, u64 reference);
/* On each CPU, at its first look at the reference. 1: wait for the target, then answer with late = 0. 0: it has passed. */
int mk_sync_in_time(u64 target, u64 reference);
/*
 * An answer has arrived. 1: the round is over; the state is EQUAL, ROUND (begin again, with twice the margin) or DISABLED. Answers of an
 * earlier round are ignored.
 */
int mk_sync_answered(struct mk_sync *s, const struct mk_sync_answer *a);
/* The common time on @cpu when its own clock reads @local; only if the state is EQUAL. */
u64 mk_sync_time(const struct mk_sync *s, u32 cpu, u64 local);
/* Check a sample of both clocks. 1: @cpu has drifted beyond the limit, and mk_sync_begin() is due. */
int mk_sync_watch(const struct mk_sync *s, u32 cpu, u64 local, u64 reference);

#endif
