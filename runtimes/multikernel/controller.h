/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The placement controller: which CPUs a gang gets, and when its slots are. Neutral: it needs only port.h, and the caller owns the
 * memory. docs/gangs.md explains the rules, docs/decisions/0035 why slots are strictly periodic. Source: 1, 3.2 and 3.6.
 *
 * A slot is contiguous and begins at the same place in each period, on all CPUs of its gang at once: at all times t of the common
 * clock with t mod period = offset. Let g be the greatest common divisor of two slots' periods. On one CPU they never overlap if,
 * modulo g, each begins at least the other's length after the other. So admission needs no table of a hyperperiod. A gang's slots do
 * not depend on the phases of other gangs, so the table of a combination of phases is the union of the rows of its phases.
 *
 * A gang with `cores whole` or `cores one` has slots on all online CPUs of its cores, whether members run there or not.
 */
#ifndef WEIR_CONTROLLER_H
#define WEIR_CONTROLLER_H

#include "manifest.h"

#define MK_MAX_GANGS 64u
#define MK_WHOLE     1000000u /* a share of 1 */
#define MK_FLOOR     100000u  /* of a CPU, for best effort. Source: 1, 3.5 */
/* Places tried for one slot after each existing slot. */
#define MK_MAX_TRIES 4096u

/* Where a gang's slots are in a phase, ns of the common clock. */
struct mk_row {
	u64 offset; /* below the period */
	u64 length; /* 0: best effort */
	u64 period;
};

struct mk_gang {
	u32 used;
	u32 threads;
	u32 scale;   /* of the declared execution times, in 1000ths */
	u32 alone;   /* 1: in its slots only members run on its CPUs, which are whole cores */
	u64 version; /* of the rows */
	struct mk_cpus cpus;	/* with slots */
	struct mk_cpus members; /* of these, for members */
	struct mk_manifest manifest;
	struct mk_row row[MK_MAX_PHASES];
};

struct mk_cpu_fact {
	u32 online;
	u32 load; /* used by others, of MK_WHOLE */
	u32 core; /* below MK_MAX_CPUS, equal for the CPUs of one core */
};

enum mk_refusal_code {
	MK_REFUSED_GANGS = 1,
	MK_REFUSED_NAME,
	MK_REFUSED_CPUS,
	MK_REFUSED_CORES,
	MK_REFUSED_SHARE,
	MK_REFUSED_SLOT,
	MK_REFUSED_SHORT,
	MK_NR_REFUSALS,
};

/* Why a gang is not admitted; fields that do not apply are ~0. */
struct mk_refusal {
	u32 code;  /* enum mk_refusal_code */
	u32 phase; /* of the new gang */
	u32 cpu;
	u32 other;  /* the conflicting gang */
	u64 needed; /* CPUs; share of MK_WHOLE; ns */
	u64 available;
};

struct mk_controller;
/* Choose @nr CPUs of @from into @out. The administrator of the machine may replace it. 0: there are too few. */
typedef int (*mk_place)(const struct mk_controller *c, const struct mk_cpus *from, u32 nr,
			struct mk_cpus *out);

struct mk_controller {
	u32 nr_cpus;
	u32 floor; /* of MK_WHOLE */
	mk_place place;
	u64 version; /* of the newest rows */
	struct mk_cpu_fact cpu[MK_MAX_CPUS];
	struct mk_gang gang[MK_MAX_GANGS];
	/* Scratch data of one call. */
	u32 order[MK_MAX_GANGS * MK_MAX_PHASES];
	struct mk_row before[MK_MAX_GANGS][MK_MAX_PHASES];
	u32 scale_before[MK_MAX_GANGS];
};

/* Report a CPU's state and other load, of MK_WHOLE; admitted gangs stay. 0, or -WEIR_EINVAL: there is no such CPU. */
int mk_set_cpu(struct mk_controller *c, u32 cpu, u32 online, u32 load);
/*
 * CPUs with the same @core, below MK_MAX_CPUS, are threads of one core; until it is said, each CPU has its own number. 0, or
 * -WEIR_EINVAL.
 */
int mk_set_core(struct mk_controller *c, u32 cpu, u32 core);
/* For callers in other languages: its size, and the gang with a number; null: there is none. */
u64 mk_controller_bytes(void);
const struct mk_gang *mk_gang_at(const struct mk_controller *c, u32 gang);
/* All CPUs are online and without load; the policy is mk_place_least. 0, or -WEIR_EINVAL: the machine is too large. */
int mk_controller_init(struct mk_controller *c, u32 nr_cpus);
/* The CPUs with the least booked and other load, the lower number among equals. */
int mk_place_least(const struct mk_controller *c, const struct mk_cpus *from, u32 nr,
		   struct mk_cpus *out);
/*
 * Admit a program: *@gang is its number. Its slots of a phase begin at @at plus the release, modulo the period, if that place is free.
 * If it does not fit and @cut is set, its execution times and those of all gangs that share CPUs with it, directly or through others,
 * are cut in equal proportion until all fit. Their slots may move; gangs whose version is the controller's have new rows.
 * 0, or -WEIR_EINVAL with *@why; then nothing has changed.
 */
int mk_admit(struct mk_controller *c, const struct mk_manifest *m, u64 at, int cut, u32 *gang,
	     struct mk_refusal *why);
/* Remove a gang; gangs that were cut get back as much as possible. 0, or -WEIR_ENOENT. */
int mk_leave(struct mk_controller *c, u32 gang);
/* The CPU of a gang's thread @nr: threads take the CPUs for members in order. ~0: there is no such thread. */
u32 mk_member_cpu(const struct mk_controller *c, u32 gang, u32 nr);
/* The most that gangs book of a CPU in any phases, of MK_WHOLE. */
u32 mk_booked(const struct mk_controller *c, u32 cpu);
/* The first start of a slot at or after @at. */
u64 mk_next_slot(const struct mk_row *row, u64 at);
/* Whether two rows of one CPU never overlap. */
int mk_rows_fit(const struct mk_row *a, const struct mk_row *b);
/* 1: no combination of phases overcommits a CPU, and no two slots ever overlap. Recomputes everything. */
int mk_verify(const struct mk_controller *c);
const char *mk_refusal_what(u32 code);
const char *mk_refusal_remedy(u32 code);

#endif
