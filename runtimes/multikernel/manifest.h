/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Manifests: a program declares its needs, phase by phase. The syntax and the rules are in docs/gangs.md. Neutral: it needs only
 * port.h. Source: 1, 3.4; the directives in lower case are ours.
 */
#ifndef WEIR_MANIFEST_H
#define WEIR_MANIFEST_H

#include <weir/port.h>

#define MK_MAX_PHASES	 16u
#define MK_MAX_CPUS	 1024u
#define MK_NAME_BYTES	 32u
#define MK_PROGRAM_BYTES 16u /* the length of Linux's program names */
#define MK_GROUP_BYTES	 128u
#define MK_MAX_TEXT	 65536u
/* The shortest slice that a CPU serves reliably, ns. Source: 1, E21. */
#define MK_SHORTEST	   20000u
#define MK_LONGEST_PERIOD  600000000000ull /* ns */
#define MK_LONGEST_RELEASE 3600000000000ull

struct mk_cpus {
	u64 word[MK_MAX_CPUS / 64];
};

WEIR_INLINE int mk_has(const struct mk_cpus *s, u32 cpu)
{
	return cpu < MK_MAX_CPUS && s->word[cpu / 64] >> (cpu % 64) & 1;
}

WEIR_INLINE void mk_add(struct mk_cpus *s, u32 cpu)
{
	s->word[cpu / 64] |= 1ull << (cpu % 64);
}

WEIR_INLINE void mk_take(struct mk_cpus *s, u32 cpu)
{
	s->word[cpu / 64] &= ~(1ull << (cpu % 64));
}

WEIR_INLINE int mk_meet(const struct mk_cpus *a, const struct mk_cpus *b)
{
	u64 both = 0;

	for (u32 w = 0; w < MK_MAX_CPUS / 64; w++)
		both |= a->word[w] & b->word[w];
	return both != 0;
}

WEIR_INLINE u32 mk_count(const struct mk_cpus *s)
{
	u32 nr = 0;

	for (u32 cpu = 0; cpu < MK_MAX_CPUS; cpu++)
		nr += mk_has(s, cpu);
	return nr;
}

enum mk_kind { MK_BEST_EFFORT, MK_HARD };

/* What a gang shares a core's threads with. */
enum mk_cores {
	MK_CORES_SHARED, /* anybody */
	MK_CORES_WHOLE,	 /* members alone in its slots, one on each CPU of a core */
	MK_CORES_ONE,	 /* nobody in its slots: one member a core, the other CPUs are idle */
};

/* Times in ns. */
struct mk_phase {
	u32 kind;     /* enum mk_kind */
	s32 priority; /* of best effort: nice with the sign reversed; greater is more urgent */
	u64 wcet;
	u64 period;
	u64 deadline;
	u64 release; /* not before this time after the phase is entered */
	u32 line;    /* of its declaration */
	u32 unused;
};

struct mk_manifest {
	char name[MK_NAME_BYTES]; /* empty: none */
	u32 threads;		  /* 0: as many as there are CPUs */
	/* 1: members wait outside of their slots, even if a CPU is idle */
	u32 withheld;
	u32 any_cpu; /* 1: `cpus` was not written */
	u32 nr_phases;
	u32 cores; /* enum mk_cores */
	u32 unused;
	struct mk_cpus cpus;
	struct mk_phase phase[MK_MAX_PHASES];
	/* Programs that join automatically, by program name and by control group below the file system's root; empty: none. */
	char program[MK_PROGRAM_BYTES];
	char group[MK_GROUP_BYTES];
};

enum mk_fault_code {
	MK_FAULT_LONG = 1,
	MK_FAULT_BYTE,
	MK_FAULT_WORD,
	MK_FAULT_NUMBER,
	MK_FAULT_DIGITS,
	MK_FAULT_LARGE,
	MK_FAULT_FEW,
	MK_FAULT_MANY,
	MK_FAULT_SHORT,
	MK_FAULT_OFTEN,
	MK_FAULT_DEADLINE,
	MK_FAULT_PERIOD,
	MK_FAULT_PRIORITY,
	MK_FAULT_PHASES,
	MK_FAULT_TWICE,
	MK_FAULT_NAME,
	MK_FAULT_CPUS,
	MK_FAULT_THREADS,
	MK_FAULT_OUTSIDE,
	MK_FAULT_CORES,
	MK_FAULT_PROGRAM,
	MK_FAULT_GROUP,
	MK_FAULT_CROWD,
	MK_FAULT_EMPTY,
	MK_NR_FAULTS,
};

/* Where a manifest is wrong; columns are bytes, and both count from 1. */
struct mk_fault {
	u32 code; /* enum mk_fault_code */
	u32 line;
	u32 column;
	u32 length; /* bytes */
};

/* 0, or -WEIR_EINVAL with *@fault; *@m is then unusable. */
int mk_manifest_parse(const char *text, u64 bytes, struct mk_manifest *m, struct mk_fault *fault);
/* What a fault means, and how to fix it; never null. */
const char *mk_manifest_what(u32 code);
const char *mk_manifest_remedy(u32 code);

#endif
