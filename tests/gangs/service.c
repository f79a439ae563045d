/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The resource service of gangs: `service N`. Manifests, good, bad, and N that a dice makes; controllers, of which every accepted set
 * is checked slot by slot over its hyperperiod in every combination of phases, by code that shares nothing with the controller's; planners,
 * in every order in which messages of two changes may arrive; clocks. Meant for AddressSanitizer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtimes/multikernel/clocksync.h"
#include "../../runtimes/multikernel/planner.h"
#include <weir/error.h>

#define REQUIRE(cond)                                                                       \
	do {                                                                                \
		if (!(cond)) {                                                              \
			fprintf(stderr, "service: %s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                            \
		}                                                                           \
	} while (0)

#define MS 1000000ull
#define US 1000ull

/* xorshift64 (Marsaglia, "Xorshift RNGs", 2003). */
static u64 dice = 88172645463325252ull;

static u32 below(u32 n)
{
	dice ^= dice << 13;
	dice ^= dice >> 7;
	dice ^= dice << 17;
	return (u32)((dice >> 32) % n);
}

static struct mk_manifest parsed(const char *text)
{
	struct mk_manifest m;
	struct mk_fault fault;

	if (mk_manifest_parse(text, strlen(text), &m, &fault)) {
		fprintf(stderr, "%u:%u: %s\n%s\n", fault.line, fault.column,
			mk_manifest_what(fault.code), text);
		abort();
	}
	return m;
}

/* --- manifests ------------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *text;
	u32 code, line, column, length;
} bad[] = {
	{ "", MK_FAULT_EMPTY, 1, 1, 0 },
	{ "# nothing\n\n", MK_FAULT_EMPTY, 3, 1, 0 },
	{ "B 1\n\x01", MK_FAULT_BYTE, 2, 1, 1 },
	{ "B\xc3\xa9 1\n", MK_FAULT_BYTE, 1, 2, 1 },
	{ "B 1\nG 4\n", MK_FAULT_WORD, 2, 1, 1 },
	{ "h 1 2\n", MK_FAULT_WORD, 1, 1, 1 },
	{ "Thread 4\nB 1\n", MK_FAULT_WORD, 1, 1, 6 },
	{ "H 1x 2\n", MK_FAULT_NUMBER, 1, 3, 2 },
	{ "H .5 2\n", MK_FAULT_NUMBER, 1, 3, 2 },
	{ "H 5. 20\n", MK_FAULT_NUMBER, 1, 3, 2 },
	{ "H -5 20\n", MK_FAULT_NUMBER, 1, 3, 2 },
	{ "H 1e3 2000\n", MK_FAULT_NUMBER, 1, 3, 3 },
	{ "H 1 2 2 0x10\n", MK_FAULT_NUMBER, 1, 9, 4 },
	{ "H 0.1234567 2\n", MK_FAULT_DIGITS, 1, 3, 9 },
	{ "H 1 600001\n", MK_FAULT_LARGE, 1, 5, 6 },
	{ "H 1 600000.000001\n", MK_FAULT_LARGE, 1, 5, 13 },
	{ "H 1 99999999999999999999999999\n", MK_FAULT_LARGE, 1, 5, 26 },
	{ "H 1 2 2 3600001", MK_FAULT_LARGE, 1, 9, 7 },
	{ "H 1\n", MK_FAULT_FEW, 1, 1, 1 },
	{ "B\n", MK_FAULT_FEW, 1, 1, 1 },
	{ "cpus\nB 1", MK_FAULT_FEW, 1, 1, 4 },
	{ "B 1 2\n", MK_FAULT_MANY, 1, 5, 1 },
	{ "H 1 2 2 0 9\n", MK_FAULT_MANY, 1, 11, 1 },
	{ "H 1 2 2 0 9 9 9 9\n", MK_FAULT_MANY, 1, 11, 1 },
	{ "name a b\nB 1", MK_FAULT_MANY, 1, 8, 1 },
	{ "H 0 2\n", MK_FAULT_SHORT, 1, 3, 1 },
	{ "H 0.019999 2\n", MK_FAULT_SHORT, 1, 3, 8 },
	{ "H 3 4 2\n", MK_FAULT_DEADLINE, 1, 7, 1 },
	{ "H 3 2\n", MK_FAULT_OFTEN, 1, 5, 1 },
	{ "H 1 0\n", MK_FAULT_OFTEN, 1, 5, 1 },
	{ "H 3 2 3\n", MK_FAULT_OFTEN, 1, 5, 1 },
	{ "H 3 4 5\n", MK_FAULT_PERIOD, 1, 7, 1 },
	{ "B 1.5\n", MK_FAULT_PRIORITY, 1, 3, 3 },
	{ "B 21\n", MK_FAULT_PRIORITY, 1, 3, 2 },
	{ "B -20\n", MK_FAULT_PRIORITY, 1, 3, 3 },
	{ "B -\n", MK_FAULT_PRIORITY, 1, 3, 1 },
	{ "name a\nname b\nB 1\n", MK_FAULT_TWICE, 2, 1, 4 },
	{ "outside run\nB 1\noutside wait\n", MK_FAULT_TWICE, 3, 1, 7 },
	{ "name a/b\nB 1\n", MK_FAULT_NAME, 1, 6, 3 },
	{ "name aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\nB 1\n", MK_FAULT_NAME, 1, 6, 32 },
	{ "cpus 0-\nB 1\n", MK_FAULT_CPUS, 1, 6, 2 },
	{ "cpus 3-1\nB 1\n", MK_FAULT_CPUS, 1, 6, 3 },
	{ "cpus 1,,2\nB 1\n", MK_FAULT_CPUS, 1, 6, 4 },
	{ "cpus 1024\nB 1\n", MK_FAULT_CPUS, 1, 6, 4 },
	{ "cpus 1;2\nB 1\n", MK_FAULT_CPUS, 1, 6, 3 },
	{ "cpus 1,\nB 1\n", MK_FAULT_CPUS, 1, 6, 2 },
	{ "threads 0\nB 1\n", MK_FAULT_THREADS, 1, 9, 1 },
	{ "threads 1025\nB 1\n", MK_FAULT_THREADS, 1, 9, 4 },
	{ "threads many\nB 1\n", MK_FAULT_THREADS, 1, 9, 4 },
	{ "outside sleep\nB 1\n", MK_FAULT_OUTSIDE, 1, 9, 5 },
	{ "cores all\nB 1\n", MK_FAULT_CORES, 1, 7, 3 },
	{ "cores one\nB 1\ncores one\n", MK_FAULT_TWICE, 3, 1, 5 },
	{ "program sixteen-letters-\nB 1\n", MK_FAULT_PROGRAM, 1, 9, 16 },
	{ "program a/b\nB 1\n", MK_FAULT_PROGRAM, 1, 9, 3 },
	{ "cgroup a/../b\nB 1\n", MK_FAULT_GROUP, 1, 8, 6 },
	{ "cgroup ..\nB 1\n", MK_FAULT_GROUP, 1, 8, 2 },
	{ "cgroup a*\nB 1\n", MK_FAULT_GROUP, 1, 8, 2 },
	{ "threads 3\nB 1\ncpus 0-1\n", MK_FAULT_CROWD, 3, 1, 0 },
	{ "B 1\nB 1\nB 1\nB 1\nB 1\nB 1\nB 1\nB 1\nB 1\nB 1\nB 1\nB 1\nB 1\nB 1\nB 1\nB 1\nB 1\n",
	  MK_FAULT_PHASES, 17, 1, 1 },
};

static void check_manifests(void)
{
	/* The source's own example. */
	struct mk_manifest m = parsed("B 1\nH 80 160 80 480");
	struct mk_fault fault;
	u32 seen = 1;
	char *huge = calloc(1, MK_MAX_TEXT + 1);

	REQUIRE(m.nr_phases == 2 && m.phase[0].kind == MK_BEST_EFFORT && m.phase[0].priority == 1 &&
		m.any_cpu && !m.threads);
	REQUIRE(m.phase[1].kind == MK_HARD && m.phase[1].wcet == 80 * MS &&
		m.phase[1].period == 160 * MS);
	REQUIRE(m.phase[1].deadline == 80 * MS && m.phase[1].release == 480 * MS &&
		m.phase[1].line == 2 && !m.name[0]);
	m = parsed("# ours\r\nname\tsolver.1 # a comment \xc3\xa9\r\nthreads 3\r\n  cpus "
		   "0-2,9,4-4\r\noutside wait\r\nH 0.02 0.1\r\nH 1.5 600000 2.000001\r\nB -19");
	REQUIRE(!strcmp(m.name, "solver.1") && m.threads == 3 && m.withheld && !m.any_cpu &&
		mk_count(&m.cpus) == 5 && mk_has(&m.cpus, 9));
	REQUIRE(m.nr_phases == 3 && m.phase[0].wcet == 20 * US && m.phase[0].deadline == 100 * US &&
		!m.phase[0].release);
	REQUIRE(m.phase[1].deadline == 2000001 && m.phase[1].period == MK_LONGEST_PERIOD &&
		m.phase[2].priority == -19);
	REQUIRE(!m.program[0] && !m.group[0] && m.cores == MK_CORES_SHARED);
	REQUIRE(parsed("cores whole\nB 1").cores == MK_CORES_WHOLE &&
		parsed("B 1\ncores one").cores == MK_CORES_ONE &&
		parsed("B 1\ncores shared").cores == MK_CORES_SHARED);
	m = parsed("B 1\nprogram llama-server\ncgroup /inference.slice/..a/b..");
	REQUIRE(!strcmp(m.program, "llama-server") && !strcmp(m.group, "/inference.slice/..a/b.."));
	for (u32 i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int err = mk_manifest_parse(bad[i].text, strlen(bad[i].text), &m, &fault);

		if (err != -WEIR_EINVAL || fault.code != bad[i].code || fault.line != bad[i].line ||
		    fault.column != bad[i].column || fault.length != bad[i].length) {
			fprintf(stderr, "bad manifest %u: %d, %u at %u:%u+%u\n%s", i, err,
				fault.code, fault.line, fault.column, fault.length, bad[i].text);
			abort();
		}
		seen |= 1u << fault.code;
	}
	REQUIRE(mk_manifest_parse(huge, MK_MAX_TEXT + 1, &m, &fault) == -WEIR_EINVAL &&
		fault.code == MK_FAULT_LONG);
	seen |= 1u << MK_FAULT_LONG;
	/* Each diagnostic has an example above, and a text and a remedy. */
	REQUIRE(seen == (1u << MK_NR_FAULTS) - 1);
	for (u32 i = 1; i < MK_NR_FAULTS; i++)
		REQUIRE(mk_manifest_what(i)[0] && mk_manifest_remedy(i)[0]);
	free(huge);
}

/* Texts that are nearly manifests: what is accepted keeps every rule, and nothing is read outside of the text. */
static void fuzz_manifests(u32 nr)
{
	static const char *const parts[] = { "B 1\n",
					     "H 80 160\n",
					     "H 0.5 2 1 7\n",
					     "threads 3\n",
					     "cpus 0-3\n",
					     "B ",
					     "H ",
					     "80 ",
					     "160 ",
					     "0.5",
					     "\n",
					     "\n",
					     "\n",
					     "name x",
					     "threads ",
					     "3",
					     "cpus ",
					     "0-3",
					     ",",
					     "-",
					     "#",
					     "outside wait",
					     "cores one",
					     "cores whole\n",
					     " ",
					     "1",
					     "20 ",
					     "999999999999 ",
					     "\r",
					     "\t",
					     ".",
					     "\0",
					     "\xff" };
	u32 good = 0;

	for (u32 i = 0; i < nr; i++) {
		char text[96];
		u32 bytes = 0;
		struct mk_manifest m;
		struct mk_fault fault;
		char *own;

		for (u32 k = below(14); k; k--) {
			const char *part = parts[below(sizeof(parts) / sizeof(*parts))];
			u32 length = *part ? (u32)strlen(part) : 1;

			if (bytes + length > sizeof(text))
				break;
			memcpy(text + bytes, part, length);
			bytes += length;
		}
		if (bytes && !below(4))
			text[below(bytes)] = (char)below(256);
		/* Exactly as long as it is, so that a byte behind it is a fault. */
		own = malloc(bytes ? bytes : 1);
		memcpy(own, text, bytes);
		if (mk_manifest_parse(own, bytes, &m, &fault)) {
			u32 lines = 1;

			for (u32 k = 0; k < bytes; k++)
				lines += own[k] == '\n';
			REQUIRE(fault.code && fault.code < MK_NR_FAULTS && fault.line >= 1 &&
				fault.line <= lines && fault.column >= 1);
			REQUIRE(fault.column + fault.length <= bytes + 1 || !fault.length);
			free(own);
			continue;
		}
		good++;
		REQUIRE(m.nr_phases && m.nr_phases <= MK_MAX_PHASES && m.threads <= MK_MAX_CPUS &&
			strlen(m.name) < MK_NAME_BYTES);
		REQUIRE(m.any_cpu ? !mk_count(&m.cpus)
				  : mk_count(&m.cpus) >= (m.threads ? m.threads : 1));
		for (u32 k = 0; k < m.nr_phases; k++) {
			struct mk_phase *p = &m.phase[k];

			if (p->kind == MK_HARD)
				REQUIRE(p->wcet >= MK_SHORTEST && p->wcet <= p->deadline &&
					p->deadline <= p->period &&
					p->period <= MK_LONGEST_PERIOD &&
					p->release <= MK_LONGEST_RELEASE);
			else
				REQUIRE(p->priority >= -19 && p->priority <= 20);
		}
		free(own);
	}
	REQUIRE(nr < 10000 || good > nr / 1000);
}

/* --- admission -------------------------------------------------------------------------------------------------------------- */

static struct mk_controller *controller(u32 nr_cpus)
{
	struct mk_controller *c = malloc(sizeof(*c));

	REQUIRE(c && !mk_controller_init(c, nr_cpus));
	return c;
}

static u64 gcd(u64 a, u64 b)
{
	return b ? gcd(b, a % b) : a;
}

struct interval {
	u64 begin, end;
};

static int by_begin(const void *a, const void *b)
{
	u64 x = ((const struct interval *)a)->begin, y = ((const struct interval *)b)->begin;

	return x < y ? -1 : x > y;
}

/* One CPU in one combination of phases: every slot of a hyperperiod is drawn, none may overlap, and best effort gets its floor. */
static void check_combination(const struct mk_controller *c, u32 cpu, const u32 *phase)
{
	static struct interval drawn[1 << 16];
	u64 hyper = 1, sum = 0;
	u32 nr = 0;

	for (u32 g = 0; g < MK_MAX_GANGS; g++) {
		if (c->gang[g].used && mk_has(&c->gang[g].cpus, cpu) &&
		    c->gang[g].row[phase[g]].length)
			hyper = hyper / gcd(hyper, c->gang[g].row[phase[g]].period) *
				c->gang[g].row[phase[g]].period;
	}
	for (u32 g = 0; g < MK_MAX_GANGS; g++) {
		const struct mk_row *row = &c->gang[g].row[phase[g]];

		if (!c->gang[g].used || !mk_has(&c->gang[g].cpus, cpu) || !row->length)
			continue;
		REQUIRE(row->offset < row->period && row->length <= row->period &&
			row->length >= MK_SHORTEST);
		for (u64 at = row->offset; at < hyper; at += row->period) {
			REQUIRE(nr < sizeof(drawn) / sizeof(*drawn));
			drawn[nr++] = (struct interval){ at, at + row->length };
			sum += row->length;
		}
	}
	qsort(drawn, nr, sizeof(*drawn), by_begin);
	for (u32 i = 0; i + 1 < nr; i++)
		REQUIRE(drawn[i].end <= drawn[i + 1].begin);
	if (nr > 1)
		REQUIRE(drawn[nr - 1].end <= drawn[0].begin + hyper);
	REQUIRE(!nr || sum * 10 <= hyper * 9);
}

/* All combinations of phases on all CPUs. */
static void check_all(const struct mk_controller *c)
{
	u32 phase[MK_MAX_GANGS] = { 0 };

	REQUIRE(mk_verify(c));
	for (;;) {
		u32 g = 0;

		for (u32 cpu = 0; cpu < c->nr_cpus; cpu++)
			check_combination(c, cpu, phase);
		while (g < MK_MAX_GANGS &&
		       (!c->gang[g].used || ++phase[g] == c->gang[g].manifest.nr_phases))
			phase[g++] = 0;
		if (g == MK_MAX_GANGS)
			return;
	}
}

static struct mk_manifest rolled(u32 nr_cpus)
{
	/* us; multiples of 20, and some that divide each other badly. */
	static const u32 periods[] = { 200, 400, 400, 600, 800, 300, 1000 };
	struct mk_manifest m = { .any_cpu = 1,
				 .threads = 1 + below(nr_cpus),
				 .nr_phases = 1 + below(3) };

	for (u32 p = 0; p < m.nr_phases; p++) {
		u64 period = periods[below(7)] * US,
		    wcet = 20 * US * (1 + below((u32)(period / (40 * US))));

		if (below(4))
			m.phase[p] = (struct mk_phase){ .kind = MK_HARD,
							.wcet = wcet,
							.period = period,
							.deadline = wcet,
							.release = 20 * US * below(60) };
	}
	if (!below(3))
		m.cores = 1 + below(2);
	if (!below(3)) {
		m.any_cpu = 0;
		for (u32 cpu = 0; cpu < nr_cpus; cpu++) {
			if (mk_count(&m.cpus) < m.threads || below(2))
				mk_add(&m.cpus, cpu);
		}
	}
	return m;
}

/* A manifest of one phase on one CPU is refused without a cut only if no place at all is free. */
static void check_refused(const struct mk_controller *c, const struct mk_manifest *m)
{
	const struct mk_phase *p = &m->phase[0];

	for (u64 offset = 0; offset < p->period; offset += 20 * US) {
		int free = 1;

		for (u32 g = 0; free && g < MK_MAX_GANGS; g++) {
			for (u32 k = 0; c->gang[g].used && k < c->gang[g].manifest.nr_phases; k++) {
				const struct mk_row *row = &c->gang[g].row[k];
				u64 hyper = row->length
						    ? row->period / gcd(row->period, p->period) *
							      p->period
						    : 0;

				/* Slots of both over twice the hyperperiod, pair by pair. */
				for (u64 a = offset; a < 2 * hyper; a += p->period) {
					for (u64 b = row->offset; b < 2 * hyper; b += row->period)
						free &= a + p->wcet <= b || b + row->length <= a;
				}
			}
		}
		REQUIRE(!free);
	}
}

/* A gang has as many CPUs as it wanted; if it wanted whole cores, no CPU of its cores is another's in its slots. */
static void check_cores(const struct mk_controller *c, const struct mk_gang *g)
{
	u32 members = mk_count(&g->members), wanted = g->manifest.cores;

	REQUIRE(members >= g->threads && g->alone == (wanted != MK_CORES_SHARED));
	if (wanted != MK_CORES_WHOLE)
		REQUIRE(members == g->threads);
	for (u32 cpu = 0; cpu < c->nr_cpus; cpu++) {
		u32 siblings = 0, threads = 0;

		REQUIRE(mk_has(&g->cpus, cpu) || !mk_has(&g->members, cpu));
		for (u32 other = 0; mk_has(&g->cpus, cpu) && other < c->nr_cpus; other++) {
			if (c->cpu[other].core != c->cpu[cpu].core)
				continue;
			REQUIRE(wanted == MK_CORES_SHARED || mk_has(&g->cpus, other));
			siblings++;
			threads += mk_has(&g->members, other);
		}
		if (wanted == MK_CORES_ONE && siblings)
			REQUIRE(threads == 1);
		if (wanted == MK_CORES_WHOLE && siblings)
			REQUIRE(threads == siblings && members < g->threads + 2);
	}
}

static void fuzz_admission(u32 nr)
{
	u32 admitted = 0, cut = 0, refused = 0;

	for (u32 i = 0; i < nr; i++) {
		u32 nr_cpus = 1 + below(5), may_cut = below(2), threads = 1 + below(2);
		struct mk_controller *c = controller(nr_cpus);

		/* Some machines have cores of two threads, of CPUs that lie apart. */
		for (u32 cpu = 0; cpu < nr_cpus && threads > 1; cpu++)
			REQUIRE(!mk_set_core(c, cpu, cpu % ((nr_cpus + 1) / 2)));

		for (u32 k = 0; k < 7; k++) {
			struct mk_manifest m = rolled(nr_cpus);
			struct mk_refusal why;
			u32 gang;

			if (!below(6)) {
				mk_leave(c, below(4));
			} else if (mk_admit(c, &m, below(1000000), may_cut, &gang, &why)) {
				REQUIRE(why.code && why.code < MK_NR_REFUSALS &&
					mk_refusal_what(why.code)[0] &&
					mk_refusal_remedy(why.code)[0]);
				refused++;
				if (!may_cut && nr_cpus == 1 && m.nr_phases == 1 &&
				    m.phase[0].kind == MK_HARD && why.code == MK_REFUSED_SLOT)
					check_refused(c, &m);
			} else {
				admitted++;
				cut += c->gang[gang].scale < 1000;
				check_cores(c, &c->gang[gang]);
				for (u32 t = 0; t < m.threads; t++)
					REQUIRE(mk_has(&c->gang[gang].members,
						       mk_member_cpu(c, gang, t)));
				REQUIRE(mk_member_cpu(c, gang, m.threads) == ~0u);
				/* Equal cuts: a gang that shares a CPU with the newcomer is cut as much, if it is cut for it. */
				for (u32 g = 0; g < MK_MAX_GANGS && c->gang[gang].scale < 1000; g++)
					REQUIRE(!c->gang[g].used ||
						!mk_meet(&c->gang[g].cpus, &c->gang[gang].cpus) ||
						c->gang[g].scale == c->gang[gang].scale);
			}
			check_all(c);
		}
		free(c);
	}
	REQUIRE(nr < 200 || (admitted > nr && cut > nr / 20 && refused > nr / 4));
	printf("admission: %u admitted, %u of them cut, %u refused\n", admitted, cut, refused);
}

/* Four cores of two threads; CPU 5 is offline, and something else uses the core of 0 and 4. */
static void check_whole_cores(void)
{
	struct mk_controller *c = controller(8);
	struct mk_manifest m;
	struct mk_refusal why;
	u32 a, b, third;

	for (u32 cpu = 0; cpu < 8; cpu++)
		REQUIRE(!mk_set_core(c, cpu, cpu % 4));
	REQUIRE(mk_set_core(c, 8, 0) && mk_set_core(c, 0, MK_MAX_CPUS));
	REQUIRE(!mk_set_cpu(c, 5, 0, 0) && !mk_set_cpu(c, 4, 1, MK_WHOLE / 2));
	m = parsed("name a\nthreads 4\ncores whole\nH 3 10");
	REQUIRE(!mk_admit(c, &m, 0, 0, &a, &why));
	/* The cores of 1 and of 2 are the first ones without load; they have three CPUs, so another core is added. */
	REQUIRE(c->gang[a].cpus.word[0] == 0xce && c->gang[a].members.word[0] == 0xce &&
		c->gang[a].alone);
	REQUIRE(mk_member_cpu(c, a, 0) == 1 && mk_member_cpu(c, a, 3) == 6 &&
		mk_member_cpu(c, a, 4) == ~0u);
	m = parsed("name b\nthreads 2\ncores one\nH 3 10");
	REQUIRE(!mk_admit(c, &m, 3 * MS, 0, &b, &why));
	REQUIRE(c->gang[b].cpus.word[0] == 0x46 && c->gang[b].members.word[0] == 0x06);
	m = parsed("name c\nthreads 5\ncores one\nH 1 10");
	REQUIRE(mk_admit(c, &m, 0, 1, &third, &why) && why.code == MK_REFUSED_CORES &&
		why.needed == 5 && why.available == 4);
	m = parsed("name c\ncpus 0-3\ncores whole\nH 1 10");
	/* Only the core of 1 is whole there. */
	REQUIRE(!mk_admit(c, &m, 6 * MS, 0, &third, &why) && c->gang[third].threads == 1 &&
		c->gang[third].cpus.word[0] == 2);
	check_all(c);
	free(c);
}

static void check_admission(void)
{
	struct mk_manifest m = parsed("name a\nB 1\nH 80 160 80 480");
	struct mk_controller *c = controller(16);
	struct mk_refusal why;
	u32 a, b, third;

	/* The source's gang, at its time to the nanosecond, on all CPUs. */
	REQUIRE(!mk_admit(c, &m, 1234567, 0, &a, &why));
	REQUIRE(mk_count(&c->gang[a].cpus) == 16 && mk_booked(c, 7) == MK_WHOLE / 2 &&
		!c->gang[a].row[0].length);
	REQUIRE(mk_next_slot(&c->gang[a].row[1], 1234567 + 480 * MS) == 1234567 + 480 * MS);
	REQUIRE(mk_next_slot(&c->gang[a].row[1], 1234568 + 480 * MS) == 1234567 + 640 * MS);
	REQUIRE(mk_admit(c, &m, 0, 0, &b, &why) && why.code == MK_REFUSED_NAME && why.other == a);
	/* Two of them take all there is: refused, or both cut to 45 %. */
	m.name[0] = 'b';
	REQUIRE(mk_admit(c, &m, 0, 0, &b, &why) && why.code == MK_REFUSED_SHARE &&
		why.needed == MK_WHOLE / 2 && why.available == 400000);
	REQUIRE(c->gang[a].scale == 1000);
	REQUIRE(!mk_admit(c, &m, 0, 1, &b, &why));
	REQUIRE(c->gang[a].scale == 900 && c->gang[b].scale == 900 &&
		c->gang[a].row[1].length == 72 * MS);
	REQUIRE(c->gang[a].version == c->version && c->gang[b].version == c->version);
	m.name[0] = 'c';
	m.threads = 4;
	REQUIRE(!mk_admit(c, &m, 0, 1, &third, &why) && c->gang[third].scale == 600 &&
		c->gang[a].row[1].length == 48 * MS);
	check_all(c);
	REQUIRE(!mk_leave(c, b) && c->gang[a].scale == 900 && c->gang[third].scale == 900 &&
		mk_leave(c, b) == -WEIR_ENOENT);
	check_all(c);
	/* A gang of four beside it goes where there is most left. */
	REQUIRE(!mk_leave(c, a) && c->gang[third].scale == 1000);
	m.name[0] = 'd';
	REQUIRE(!mk_admit(c, &m, 0, 0, &b, &why) &&
		!mk_meet(&c->gang[b].cpus, &c->gang[third].cpus));
	m.threads = 17;
	m.name[0] = 'e';
	REQUIRE(mk_admit(c, &m, 0, 1, &a, &why) && why.code == MK_REFUSED_CPUS &&
		why.needed == 17 && why.available == 16);
	m.threads = 15;
	REQUIRE(!mk_set_cpu(c, 3, 0, 0) && !mk_set_cpu(c, 4, 0, MK_WHOLE) &&
		mk_set_cpu(c, 16, 1, 0) && mk_set_cpu(c, 0, 1, MK_WHOLE + 1));
	REQUIRE(mk_admit(c, &m, 0, 1, &a, &why) && why.code == MK_REFUSED_CPUS &&
		why.available == 14);
	/* Cut until nothing is left that a CPU could serve. */
	m = parsed("threads 2\ncpus 0-1\nH 0.02 0.04");
	REQUIRE(mk_admit(c, &m, 0, 1, &a, &why) && why.code == MK_REFUSED_SHORT);
	check_all(c);
	free(c);
	/* Periods without a common divisor never fit, however short the slots. */
	c = controller(1);
	m = parsed("H 1 7");
	REQUIRE(!mk_admit(c, &m, 0, 0, &a, &why));
	m = parsed("H 0.5 6.000001");
	REQUIRE(mk_admit(c, &m, 0, 0, &a, &why) && why.code == MK_REFUSED_SLOT &&
		why.needed == 500 * US);
	m = parsed("B 3");
	for (u32 i = 1; i < MK_MAX_GANGS; i++)
		REQUIRE(!mk_admit(c, &m, 0, 0, &a, &why));
	REQUIRE(mk_admit(c, &m, 0, 0, &a, &why) && why.code == MK_REFUSED_GANGS);
	free(c);
	c = malloc(sizeof(*c));
	REQUIRE(c && mk_controller_init(c, 0) && mk_controller_init(c, MK_MAX_CPUS + 1));
	free(c);
}

/* --- phases ------------------------------------------------------------------------------------------------------------------ */

#define CPUS 3u

/* Messages on the way between two CPUs, in order. */
struct channel {
	struct {
		u32 is_reply;
		struct mk_phase_message msg;
		struct mk_phase_reply reply;
	} item[6];
	u32 nr;
};

struct world {
	struct mk_replica replica[CPUS];
	struct channel channel[CPUS][CPUS];
	struct mk_submit row[CPUS]; /* in force */
	u32 begun, results, count;
};

/* A change by a CPU, or a join. */
struct act {
	u32 cpu;
	char what; /* p: its group's phase; m: merge; s: split; j: join */
	u32 group, groups, phase;
};

/* What two or three CPUs do at any times; at first each CPU is in the group of its number, and all in phase 0. */
static const struct play {
	const char *name;
	struct act before[2], act[3]; /* one after the other, then in every order */
	u32 groups;		      /* allowed at rest: how many groups there are, a bit each */
} plays[] = {
	{ "two phases of one group",
	  { { 0, 'm', 7, 7, MK_SAME_PHASE } },
	  { { 0, 'p', 0, 0, 1 }, { 2, 'p', 0, 0, 2 } },
	  1 << 1 },
	{ "the collector, and a phase of one group",
	  { { 0 } },
	  { { 0, 'm', 7, 0xffff, 2 }, { 2, 'p', 0, 0, 1 } },
	  1 << 1 },
	{ "two collectors", { { 0 } }, { { 0, 'm', 7, 7, 2 }, { 2, 'm', 8, 7, 1 } }, 1 << 1 },
	{ "two merges that name each other",
	  { { 0 } },
	  { { 0, 'm', 1, 1, 2 }, { 1, 'm', 0, 2, 1 } },
	  1 << 2 },
	{ "the split, and a phase of the merged group",
	  { { 1, 'p', 0, 0, 1 }, { 0, 'm', 7, 0xffff, 2 } },
	  { { 0, 's', 7, 0, 0 }, { 2, 'p', 0, 0, 1 } },
	  1 << 3 },
	{ "the split, and another collector",
	  { { 0, 'm', 7, 0xffff, 2 } },
	  { { 0, 's', 7, 0, 0 }, { 2, 'm', 8, 6, 1 } },
	  1 << 3 | 1 << 2 | 1 << 1 },
	{ "a group of a group, and its phase",
	  { { 0, 'm', 1, 1, MK_SAME_PHASE } },
	  { { 0, 'm', 7, 6, 2 }, { 2, 'j', 0, 0, 0 }, { 1, 'p', 0, 0, 1 } },
	  1 << 1 },
	{ "a group of a group, a join and a split",
	  { { 0, 'm', 1, 1, MK_SAME_PHASE } },
	  { { 0, 'm', 7, 6, 2 }, { 2, 'j', 0, 0, 0 }, { 1, 's', 1, 0, 0 } },
	  1 << 2 | 1 << 1 },
};

static u64 worlds;
static struct mk_planner planners[CPUS];

static void send(struct world *w, u32 from, u32 to, const struct mk_phase_message *msg,
		 const struct mk_phase_reply *reply)
{
	struct channel *ch = &w->channel[from][to];

	REQUIRE(ch->nr < 6);
	ch->item[ch->nr].is_reply = reply != 0;
	if (msg)
		ch->item[ch->nr].msg = *msg;
	else
		ch->item[ch->nr].reply = *reply;
	ch->nr++;
}

/* 0: it does not take place now. */
static int begin(struct world *w, const struct act *a)
{
	struct mk_planner *p = &planners[a->cpu];
	struct mk_phase_message msg;
	struct mk_submit row = w->row[a->cpu];
	struct mk_phase_result result;
	u64 now = 1000 + 10 * a->cpu;
	int peers = -1;

	p->gang[5] = w->replica[a->cpu];
	if (a->what == 'j')
		REQUIRE(mk_planner_join(p, 5, a->group, now, &row) >= 0);
	else if (a->what == 'p')
		peers = mk_planner_change(p, 5, a->phase, now, &msg, &row, &result);
	else if (a->what == 'm')
		peers = mk_planner_merge(p, 5, a->groups, a->group, a->phase, now, &msg, &row,
					 &result);
	else
		peers = mk_planner_split(p, 5, a->group, now, &msg, &row, &result);
	w->replica[a->cpu] = p->gang[5];
	w->row[a->cpu] = row;
	/* A split can be too late: another change has emptied the group. */
	REQUIRE(peers == (int)CPUS - 1 || a->what == 'j' ||
		(a->what == 's' && peers == -WEIR_ENOENT));
	for (u32 to = 0; to < CPUS && peers > 0; to++)
		if (to != a->cpu)
			send(w, a->cpu, to, &msg, 0);
	return peers > 0;
}

static void deliver(struct world *w, u32 from, u32 to)
{
	struct mk_planner *p = &planners[to];
	struct channel *ch = &w->channel[from][to];
	struct mk_phase_reply reply;
	struct mk_phase_result result;

	p->gang[5] = w->replica[to];
	if (ch->item[0].is_reply) {
		if (mk_planner_reply(p, &ch->item[0].reply, &result)) {
			w->results++;
			w->count = result.count;
			REQUIRE(result.count <= CPUS);
		}
	} else {
		struct mk_submit row;

		if (mk_planner_receive(p, &ch->item[0].msg, &row, &reply))
			w->row[to] = row;
		send(w, to, from, 0, &reply);
	}
	w->replica[to] = p->gang[5];
	ch->nr--;
	memmove(&ch->item[0], &ch->item[1], ch->nr * sizeof(ch->item[0]));
}

/* The group of a home group, by the registers alone; independent of the planner's own search. */
static u32 seen_from(const struct mk_replica *r, u32 home)
{
	u32 steps = 0;

	while (r->group[home].into.value != home) {
		home = r->group[home].into.value;
		if (++steps > MK_MAX_GROUPS)
			return ~0u;
	}
	return home;
}

/* At rest: all planners agree, each CPU is in one group, and its reservation is that of its group's phase. */
static int at_rest(const struct world *w, const struct play *play, u32 changes)
{
	u32 there = 0, members = 0;
	u64 reserved = 0, sum = 0;

	if (w->results != changes)
		return 0;
	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		const struct mk_replica *r = &w->replica[cpu], *first = &w->replica[0];
		u32 group = seen_from(r, r->home), phase;

		if (r->pending || group == ~0u)
			return 0;
		phase = r->group[group].phase.value;
		planners[cpu].gang[5] = *r;
		if (mk_planner_group(&planners[cpu], 5) != group ||
		    w->row[cpu].row.length != r->row[phase].length)
			return 0;
		reserved += w->row[cpu].row.length;
		there |= 1u << group;
		for (u32 g = 0; g < MK_MAX_GROUPS; g++)
			if (r->group[g].into.value != first->group[g].into.value ||
			    r->group[g].phase.value != first->group[g].phase.value)
				return 0;
	}
	/* By groups as by CPUs: none is lost, none is in two. */
	for (u32 g = 0; g < MK_MAX_GROUPS; g++) {
		const struct mk_replica *r = &w->replica[g % CPUS];
		u32 here = 0;

		for (u32 cpu = 0; cpu < CPUS; cpu++)
			here += seen_from(r, w->replica[cpu].home) == g;
		members += here;
		sum += here * r->row[r->group[g].phase.value].length;
	}
	return members == CPUS && sum == reserved && play->groups >> __builtin_popcount(there) & 1;
}

/* Every order: the changes that are not begun, and every channel's first message. 0: a world went wrong. */
static int explore(const struct world *w, const struct play *play, u32 changes)
{
	int moved = 0;

	for (u32 c = 0; c < 3; c++) {
		const struct act *a = &play->act[c];

		/* A planner coordinates one change at a time. */
		if (a->what && !(w->begun >> c & 1) && !w->replica[a->cpu].pending) {
			struct world next = *w;

			next.begun |= 1u << c;
			moved = 1;
			if (!explore(&next, play, changes + begin(&next, a)))
				return 0;
		}
	}
	for (u32 i = 0; i < CPUS * CPUS; i++) {
		if (w->channel[i / CPUS][i % CPUS].nr) {
			struct world next = *w;

			deliver(&next, i / CPUS, i % CPUS);
			moved = 1;
			if (!explore(&next, play, changes))
				return 0;
		}
	}
	if (moved)
		return 1;
	worlds++;
	return at_rest(w, play, changes);
}

static struct mk_gang three_phases(void)
{
	struct mk_gang g = { .used = 1, .threads = CPUS, .scale = 1000, .version = 1 };

	g.manifest = parsed("B 1\nH 1 10 1 3\nH 2 10 2 3");
	for (u32 cpu = 0; cpu < CPUS; cpu++)
		mk_add(&g.cpus, cpu);
	g.row[1] = (struct mk_row){ 0, 1 * MS, 10 * MS };
	g.row[2] = (struct mk_row){ 4 * MS, 2 * MS, 10 * MS };
	return g;
}

/* Deliver everything, in one order. */
static void settle(struct world *w)
{
	for (int moved = 1; moved;) {
		moved = 0;
		for (u32 i = 0; i < CPUS * CPUS; i++)
			while (w->channel[i / CPUS][i % CPUS].nr) {
				deliver(w, i / CPUS, i % CPUS);
				moved = 1;
			}
	}
}

static int check_interleavings(void)
{
	struct mk_gang g = three_phases();
	int right = 1;

	for (u32 n = 0; n < sizeof(plays) / sizeof(*plays) && right; n++) {
		const struct play *play = &plays[n];
		struct world *w = calloc(1, sizeof(*w));

		for (u32 cpu = 0; cpu < CPUS; cpu++) {
			mk_planner_init(&planners[cpu], cpu);
			mk_planner_learn(&planners[cpu], 5, &g, 0, &w->row[cpu]);
			for (u32 p = 0; p < 3; p++)
				mk_planner_push(&planners[cpu], 5, p, 1, &g.row[p], 0,
						&w->row[cpu]);
			REQUIRE(mk_planner_join(&planners[cpu], 5, cpu, 0, &w->row[cpu]) ==
				(cpu > 0));
			w->replica[cpu] = planners[cpu].gang[5];
		}
		for (u32 i = 0; i < 2 && play->before[i].what; i++) {
			begin(w, &play->before[i]);
			settle(w);
		}
		w->results = 0;
		worlds = 0;
		right = explore(w, play, 0);
		printf("groups: %s: %llu orders: %s\n", play->name, (unsigned long long)worlds,
		       right ? "all agree" : "one does not agree");
		free(w);
	}
	return right;
}

/* A collector on CPU 0 of groups {0}, {1, 2}: all are in its group, with its reservation; afterwards all is as it was. */
static void check_collector(void)
{
	struct mk_gang g = three_phases();
	struct world w = { 0 };
	struct mk_submit row;
	struct act go = { 1, 'p', 0, 0, 1 }, collect = { 0, 'm', 7, 0xffff, 2 },
		   over = { 0, 's', 7, 0, 0 };

	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		mk_planner_init(&planners[cpu], cpu);
		mk_planner_learn(&planners[cpu], 5, &g, 0, &row);
		for (u32 p = 0; p < 3; p++)
			mk_planner_push(&planners[cpu], 5, p, 1, &g.row[p], 0, &w.row[cpu]);
		REQUIRE(mk_planner_join(&planners[cpu], 5, cpu > 0, 0, &row) == (cpu > 0));
		w.replica[cpu] = planners[cpu].gang[5];
	}
	REQUIRE(mk_planner_join(&planners[0], 5, MK_MAX_GROUPS, 0, &row) == -WEIR_ENOENT &&
		mk_planner_join(&planners[0], 4, 0, 0, &row) == -WEIR_ENOENT);
	begin(&w, &go);
	settle(&w);
	/* Two CPUs are concerned, and have slots; the other one is told, and is not counted. */
	REQUIRE(w.count == 2 && !w.row[0].row.length && w.row[1].row.length == 1 * MS &&
		w.row[2].row.length == 1 * MS);
	begin(&w, &collect);
	settle(&w);
	REQUIRE(w.count == 3);
	for (u32 cpu = 0; cpu < CPUS; cpu++) {
		struct mk_activation act;

		planners[cpu].gang[5] = w.replica[cpu];
		REQUIRE(w.row[cpu].row.length == 2 * MS && w.row[cpu].from == w.row[0].from &&
			w.row[cpu].row.offset == 4 * MS);
		REQUIRE(!mk_planner_activation(&planners[cpu], 5, &act) && act.group == 7 &&
			act.phase == 2 && act.share == 2 * MS);
	}
	begin(&w, &over);
	settle(&w);
	REQUIRE(w.count == 3 && !w.row[0].row.length && w.row[1].row.length == 1 * MS &&
		w.row[2].row.length == 1 * MS);
	/* Nobody is left in it. */
	planners[0].gang[5] = w.replica[0];
	REQUIRE(!begin(&w, &over));
}

static void check_phases(void)
{
	struct mk_planner *p = malloc(4 * sizeof(*p));
	struct mk_gang g = three_phases();
	struct mk_phase_message msg, old;
	struct mk_phase_reply reply;
	struct mk_phase_result result;
	struct mk_submit row;
	struct mk_activation act;

	for (u32 cpu = 0; cpu < 4; cpu++)
		mk_planner_init(&p[cpu], cpu);
	REQUIRE(mk_planner_change(&p[0], 5, 0, 0, &msg, &row, &result) == -WEIR_ENOENT &&
		mk_planner_activation(&p[0], 5, &act) == -WEIR_ENOENT);
	for (u32 cpu = 0; cpu < 4; cpu++)
		REQUIRE(!mk_planner_learn(&p[cpu], 5, &g, 0, &row));
	/* CPU 3 is none of the gang's. */
	REQUIRE(!p[3].gang[5].used);
	REQUIRE(mk_planner_change(&p[0], 5, 3, 0, &msg, &row, &result) == -WEIR_ENOENT);
	for (u32 cpu = 0; cpu < 2; cpu++)
		REQUIRE(!mk_planner_push(&p[cpu], 5, 1, 1, &g.row[1], 0, &row) &&
			!mk_planner_push(&p[cpu], 5, 1, 7, &g.row[2], 0, &row));
	/* Three CPUs: two messages, one reply; the slot is not before the release after the coordinator's time. */
	REQUIRE(mk_planner_change(&p[0], 5, 1, 500, &msg, &row, &result) == 2 &&
		row.row.length == 1 * MS && row.from == 500 + 3 * MS);
	REQUIRE(msg.gang == 5 && msg.phase == 1 && msg.time == 500 && msg.coordinator == 0 &&
		msg.sequence == 1);
	REQUIRE(mk_planner_change(&p[0], 5, 2, 501, &old, &row, &result) == -WEIR_EBUSY);
	REQUIRE(mk_planner_receive(&p[1], &msg, &row, &reply) == 1 &&
		reply.status == MK_PHASE_DONE && row.row.length == 1 * MS);
	REQUIRE(!mk_planner_reply(&p[0], &reply, &result));
	/* CPU 2's table is late: best effort, and said so; the row takes effect when it comes. */
	REQUIRE(mk_planner_receive(&p[2], &msg, &row, &reply) == 1 &&
		reply.status == MK_PHASE_MISSING && !row.row.length);
	REQUIRE(mk_planner_reply(&p[0], &reply, &result) == 1 &&
		result.status == MK_PHASE_MISSING && result.count == 3);
	REQUIRE(!mk_planner_reply(&p[0], &reply, &result));
	REQUIRE(mk_planner_push(&p[2], 5, 1, 1, &g.row[1], 9, &row) == 1 &&
		row.row.length == 1 * MS);
	REQUIRE(!mk_planner_activation(&p[2], 5, &act) && act.period == 10 * MS &&
		act.share == 1 * MS && act.phase == 1 && act.scale == 1000);
	mk_planner_deallocated(&p[2], 5);
	REQUIRE(!mk_planner_activation(&p[2], 5, &act) && act.deallocations == 1);
	REQUIRE(mk_planner_receive(&p[3], &msg, &row, &reply) == 0 &&
		reply.status == MK_PHASE_UNKNOWN);
	old = msg;
	REQUIRE(mk_planner_change(&p[2], 5, 0, 600, &msg, &row, &result) == 2 && msg.sequence == 2);
	REQUIRE(mk_planner_receive(&p[1], &msg, &row, &reply) &&
		!mk_planner_receive(&p[1], &old, &row, &reply) &&
		reply.status == MK_PHASE_OVERTAKEN);
	/* A reply to an earlier change does not count for this one. */
	reply = (struct mk_phase_reply){ 5, 1, 1, MK_PHASE_DONE };
	REQUIRE(!mk_planner_reply(&p[2], &reply, &result) &&
		!mk_planner_reply(&p[2], &reply, &result));
	reply.sequence = 2;
	REQUIRE(!mk_planner_reply(&p[2], &reply, &result) &&
		mk_planner_reply(&p[2], &reply, &result) && result.count == 3);
	/* New rows after a cut: best effort until they are there. */
	g.version = 2;
	g.scale = 900;
	p[1].gang[5].group[0].phase.value = 1;
	REQUIRE(mk_planner_learn(&p[1], 5, &g, 700, &row) == 1 && !row.row.length &&
		!mk_planner_learn(&p[1], 5, &g, 700, &row));
	g.row[1].length = 900 * US;
	REQUIRE(mk_planner_push(&p[1], 5, 1, 2, &g.row[1], 700, &row) == 1 &&
		row.row.length == 900 * US);
	REQUIRE(mk_planner_forget(&p[1], 5, 800, &row) == 1 && !row.row.length &&
		!mk_planner_forget(&p[1], 5, 800, &row));
	free(p);
}

/* --- clocks ------------------------------------------------------------------------------------------------------------------ */

static void check_clocks(void)
{
	struct mk_sync *s = malloc(sizeof(*s));
	u64 margin = MK_SYNC_MARGIN, now = 7 * MS;

	REQUIRE(mk_sync_init(s, 0, 0) && mk_sync_init(s, MK_MAX_CPUS + 1, 0) &&
		!mk_sync_init(s, 4, 0));
	/* CPU 2 looks 100 ms late: the first margin is too small, the second one is enough. Its clock is 5 ms behind. */
	for (u32 round = 0; round < 2; round++) {
		u64 target;

		REQUIRE(mk_sync_begin(s, now) && !mk_sync_begin(s, now) && s->margin == margin);
		target = s->target;
		REQUIRE(target == now + margin);
		for (u32 cpu = 0; cpu < 4; cpu++) {
			u64 look = now + (cpu == 2 ? 100 * MS : 1 * MS);
			struct mk_sync_answer a = { cpu, s->sequence,
						    !mk_sync_in_time(target, look), 0,
						    cpu == 2 ? (s64)(5 * MS) : 0 };

			a.sequence--;
			REQUIRE(!mk_sync_answered(s, &a));
			a.sequence++;
			REQUIRE(mk_sync_answered(s, &a) == (cpu == 3));
		}
		REQUIRE(s->state == (round ? MK_SYNC_EQUAL : MK_SYNC_ROUND));
		margin *= 2;
		now += 500 * MS;
	}
	REQUIRE(mk_sync_time(s, 2, 100) == 100 + 5 * MS && mk_sync_time(s, 1, 100) == 100);
	REQUIRE(!mk_sync_watch(s, 2, now, now + 5 * MS) &&
		!mk_sync_watch(s, 2, now, now + 5 * MS + 5000) &&
		mk_sync_watch(s, 2, now, now + 5 * MS + 5001));
	REQUIRE(mk_sync_watch(s, 2, now, now + 5 * MS - 5001));
	/* A resync begins with the first margin; a CPU that never comes in time disables phase locking beyond 1 s. */
	for (margin = MK_SYNC_MARGIN; margin <= MK_SYNC_LIMIT; margin *= 2) {
		REQUIRE(mk_sync_begin(s, now) && s->margin == margin);
		for (u32 cpu = 0; cpu < 4; cpu++) {
			struct mk_sync_answer a = { cpu, s->sequence, cpu == 1, 0, 0 };

			mk_sync_answered(s, &a);
		}
	}
	REQUIRE(s->state == MK_SYNC_DISABLED && s->rounds == 4 && !mk_sync_begin(s, now) &&
		!mk_sync_watch(s, 2, 0, now));
	free(s);
}

int main(int argc, char **argv)
{
	u32 nr = argc > 1 ? (u32)atoi(argv[1]) : 1000;

	if (!check_interleavings())
		return 3;
	check_collector();
	check_phases();
	check_manifests();
	fuzz_manifests(nr * 100);
	check_admission();
	check_whole_cores();
	fuzz_admission(nr);
	check_clocks();
	return 0;
}
