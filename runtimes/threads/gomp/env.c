/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The environment. A value that cannot be parsed is reported and ignored, as in libgomp. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gomp.h"

/* While the awaited threads run, no other thread needs the CPU: sleeping would cost more than it saves. */
#define SPIN_NS	   1000000u
#define ACTIVE_NS  10000000u /* the awaited thread has a CPU, and Linux runs something else on it */
#define MAX_LEVELS 0x7fffffffu

struct environment env;
static const char *const kinds[] = { "", "STATIC", "DYNAMIC", "GUIDED", "AUTO" };

void value_misread(const char *name, const char *value, const char *wants)
{
	fprintf(stderr, "weir-gomp: %s='%s' is left out: it has to be %s\n", name, value, wants);
}

const char *value_skip(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

int value_number(const char **at, unsigned long least, unsigned long most, unsigned long *out)
{
	char *end;
	const char *from = value_skip(*at);

	if (!isdigit((unsigned char)*from))
		return 0;
	errno = 0;
	*out = strtoul(from, &end, 10);
	if (errno || *out < least || *out > most)
		return 0;
	*at = value_skip(end);
	return 1;
}

static int truth(const char *name, int otherwise)
{
	const char *value = getenv(name);

	if (!value)
		return otherwise;
	value = value_skip(value);
	if (!strncasecmp(value, "true", 4) && !*value_skip(value + 4))
		return 1;
	if (!strncasecmp(value, "false", 5) && !*value_skip(value + 5))
		return 0;
	value_misread(name, value, "true or false");
	return otherwise;
}

static unsigned long count(const char *name, unsigned long least, unsigned long most,
			   unsigned long otherwise)
{
	const char *value = getenv(name), *at = value;
	unsigned long n;

	if (!value)
		return otherwise;
	if (value_number(&at, least, most, &n) && !*at)
		return n;
	value_misread(name, value, "a number in its range");
	return otherwise;
}

static void read_threads(void)
{
	const char *value = getenv("OMP_NUM_THREADS"), *at = value;
	unsigned long n;
	u32 nr = 0;

	if (!value)
		return;
	for (;;) {
		if (!value_number(&at, 1, 65536, &n) || nr == NR_LEVELS)
			break;
		env.threads[nr++] = (u32)n;
		if (!*at) {
			env.nr_levels = nr;
			return;
		}
		if (*at++ != ',')
			break;
	}
	value_misread("OMP_NUM_THREADS", value,
		      "numbers from 1 to 65536, at most 8, with commas between");
}

static void read_schedule(void)
{
	static const char *const names[] = { "static", "dynamic", "guided", "auto" };
	const char *value = getenv("OMP_SCHEDULE"), *at;
	u32 flags = 0, kind = 0;
	unsigned long chunk = 0;

	if (!value)
		return;
	at = value_skip(value);
	if (!strncasecmp(at, "monotonic:", 10)) {
		flags = KIND_MONOTONIC;
		at = value_skip(at + 10);
	} else if (!strncasecmp(at, "nonmonotonic:", 13)) {
		at = value_skip(at + 13);
	}
	for (u32 i = 0; i < 4 && !kind; i++) {
		size_t n = strlen(names[i]);

		if (!strncasecmp(at, names[i], n) && !isalpha((unsigned char)at[n])) {
			kind = i + 1;
			at = value_skip(at + n);
		}
	}
	if (kind && *at == ',') {
		at++;
		if (!value_number(&at, 1, LONG_MAX, &chunk))
			kind = 0;
	}
	if (!kind || *at) {
		value_misread("OMP_SCHEDULE", value,
			      "static, dynamic, guided or auto, perhaps a comma and a chunk");
		return;
	}
	env.settings.sched = kind | flags;
	env.settings.chunk = (long)chunk;
}

static void read_stack(void)
{
	const char *value = getenv("OMP_STACKSIZE"), *at = value;
	unsigned long n;
	u32 shift = 10;

	if (!value)
		return;
	if (value_number(&at, 0, ULONG_MAX >> 30, &n)) {
		switch (tolower((unsigned char)*at)) {
		case 'b':
			shift = 0;
			at++;
			break;
		case 'k':
			at++;
			break;
		case 'm':
			shift = 20;
			at++;
			break;
		case 'g':
			shift = 30;
			at++;
			break;
		}
		if (!*value_skip(at) && n << shift >= 16384) {
			env.stack_bytes = n << shift;
			return;
		}
	}
	value_misread("OMP_STACKSIZE", value, "a number with B, K, M or G, at least 16K");
}

static void read_policy(void)
{
	const char *value = getenv("OMP_WAIT_POLICY");

	env.spin_ns = SPIN_NS;
	if (value && !strcasecmp(value, "active")) {
		env.policy = 1;
		env.spin_ns = ACTIVE_NS;
	} else if (value && !strcasecmp(value, "passive")) {
		env.policy = -1;
		env.spin_ns = 0;
	} else if (value) {
		value_misread("OMP_WAIT_POLICY", value, "active or passive");
	}
	if (getenv("WEIR_SPIN_NS"))
		env.spin_ns = count("WEIR_SPIN_NS", 0, ULONG_MAX, env.spin_ns);
}

static void read_offload(void)
{
	const char *value = getenv("OMP_TARGET_OFFLOAD");

	env.mandatory = value && !strcasecmp(value, "mandatory");
	if (value && !env.mandatory && strcasecmp(value, "default") &&
	    strcasecmp(value, "disabled"))
		value_misread("OMP_TARGET_OFFLOAD", value, "mandatory, disabled or default");
}

static void read_allocator(void)
{
	static const char *const names[] = {
		"omp_default_mem_alloc", "omp_large_cap_mem_alloc", "omp_const_mem_alloc",
		"omp_high_bw_mem_alloc", "omp_low_lat_mem_alloc",   "omp_cgroup_mem_alloc",
		"omp_pteam_mem_alloc",	 "omp_thread_mem_alloc",
	};
	const char *value = getenv("OMP_ALLOCATOR");

	env.settings.allocator = 1;
	for (u32 i = 0; value && i < sizeof(names) / sizeof(*names); i++) {
		if (!strcasecmp(value_skip(value), names[i])) {
			env.settings.allocator = i + 1;
			return;
		}
	}
	if (value)
		value_misread(
			"OMP_ALLOCATOR", value,
			"the name of one of omp.h's allocators, such as omp_default_mem_alloc");
}

static const char *word(int yes)
{
	return yes ? "TRUE" : "FALSE";
}

void environment_show(int verbose)
{
	static const char *const binds[] = { "FALSE", "TRUE", "PRIMARY", "CLOSE", "SPREAD" };
	const struct settings *s = &env.settings;

	fprintf(stderr, "\nOPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '201511'\n");
	fprintf(stderr, "  [host] OMP_DYNAMIC = '%s'\n", word((int)s->dynamic));
	fprintf(stderr, "  [host] OMP_NUM_THREADS = '%u", level_threads(0));
	for (u32 i = 1; i < env.nr_levels; i++)
		fprintf(stderr, ",%u", env.threads[i]);
	fprintf(stderr, "'\n  [host] OMP_SCHEDULE = '%s%s",
		s->sched & KIND_MONOTONIC ? "MONOTONIC:" : "", kinds[s->sched & ~KIND_MONOTONIC]);
	if (s->chunk)
		fprintf(stderr, ",%ld", s->chunk);
	fprintf(stderr, "'\n  [host] OMP_PROC_BIND = '%s", binds[env.binds[0]]);
	for (u32 i = 1; i < env.nr_binds; i++)
		fprintf(stderr, ",%s", binds[env.binds[i]]);
	fprintf(stderr, "'\n  [host] OMP_PLACES = '");
	for (u32 i = 0; i < env.nr_places; i++) {
		char cpus[256];

		cpus_write(cpus, sizeof(cpus), &env.places[i]);
		fprintf(stderr, "%s{%s}", i ? "," : "", cpus);
	}
	fprintf(stderr, "'\n");
	fprintf(stderr, "  [host] OMP_STACKSIZE = '%zu'\n", env.stack_bytes);
	fprintf(stderr, "  [host] OMP_WAIT_POLICY = '%s'\n", env.policy > 0 ? "ACTIVE" : "PASSIVE");
	fprintf(stderr, "  [host] OMP_THREAD_LIMIT = '%u'\n", s->limit);
	fprintf(stderr, "  [host] OMP_MAX_ACTIVE_LEVELS = '%u'\n", s->max_levels);
	fprintf(stderr, "  [host] OMP_NUM_TEAMS = '%u'\n", env.teams);
	fprintf(stderr, "  [host] OMP_TEAMS_THREAD_LIMIT = '%u'\n", env.teams_limit);
	fprintf(stderr, "  [host] OMP_CANCELLATION = '%s'\n", word((int)env.cancels));
	fprintf(stderr, "  [host] OMP_DEFAULT_DEVICE = '%d'\n", s->device);
	fprintf(stderr, "  [host] OMP_MAX_TASK_PRIORITY = '%d'\n", env.max_priority);
	fprintf(stderr, "  [host] OMP_TARGET_OFFLOAD = '%s'\n",
		env.mandatory ? "MANDATORY" : "DEFAULT");
	if (verbose)
		fprintf(stderr,
			"  WEIR_SPIN_NS = '%llu'\n  [weir-gomp] threads are %s, on %u CPUs\n",
			(ull)env.spin_ns,
			own_thread() ? "bound threads of a policy" : "ordinary ones", env.procs);
	fprintf(stderr, "OPENMP DISPLAY ENVIRONMENT END\n");
}

void environment_read(void)
{
	const char *show = getenv("OMP_DISPLAY_ENV");

	env.procs = nr_procs();
	if (sched_getaffinity(0, sizeof(env.cpus), &env.cpus))
		CPU_ZERO(&env.cpus);
	env.settings.limit = (u32)count("OMP_THREAD_LIMIT", 1, UINT_MAX, UINT_MAX);
	env.settings.device = (int)count("OMP_DEFAULT_DEVICE", 0, INT_MAX, 0);
	env.teams = (u32)count("OMP_NUM_TEAMS", 1, INT_MAX, 0);
	env.teams_limit = (u32)count("OMP_TEAMS_THREAD_LIMIT", 1, INT_MAX, 0);
	env.max_priority = (int)count("OMP_MAX_TASK_PRIORITY", 0, INT_MAX, 0);
	env.cancels = (u32)truth("OMP_CANCELLATION", 0);
	env.settings.sched = KIND_DYNAMIC;
	env.settings.chunk = 1;
	env.settings.dynamic = (u32)truth("OMP_DYNAMIC", 0);
	read_threads();
	env.settings.max_levels = truth("OMP_NESTED", 0) || env.nr_levels > 1 ? MAX_LEVELS : 1;
	env.settings.max_levels =
		(u32)count("OMP_MAX_ACTIVE_LEVELS", 0, MAX_LEVELS, env.settings.max_levels);
	read_schedule();
	read_stack();
	read_policy();
	places_read();
	env.shows_affinity = (u32)truth("OMP_DISPLAY_AFFINITY", 0);
	read_offload();
	read_allocator();
	if (show && strcasecmp(show, "false"))
		environment_show(!strcasecmp(show, "verbose"));
}
