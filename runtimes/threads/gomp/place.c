/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Places: sets of CPUs, to which members of a region go as OMP_PROC_BIND or the region says. Under a policy they are computed and told, but
 * the policy alone decides where a thread runs.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sched.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "api.h"

/* --- the list ------------------------------------------------------------------------------------------------ */

static void list_place(const cpu_set_t *cpus)
{
	cpu_set_t usable;

	CPU_AND(&usable, cpus, &env.cpus);
	if (!CPU_COUNT(&usable))
		return;
	env.places = realloc(env.places, (env.nr_places + 1) * sizeof(*env.places));
	if (!env.places)
		fatal("no memory");
	env.places[env.nr_places++] = usable;
}

/* The CPUs of a line such as 0-3,8, of a file of the system. 0: it is not there. */
static int read_cpus(const char *file, cpu_set_t *cpus)
{
	char line[4096], *at = line;
	FILE *f = fopen(file, "re");
	int ok = f && fgets(line, sizeof(line), f);

	if (f)
		fclose(f);
	CPU_ZERO(cpus);
	while (ok && isdigit((unsigned char)*at)) {
		unsigned long from = strtoul(at, &at, 10), to = from;

		if (*at == '-')
			to = strtoul(at + 1, &at, 10);
		for (; from <= to && from < CPU_SETSIZE; from++)
			CPU_SET(from, cpus);
		at += *at == ',';
	}
	return ok && CPU_COUNT(cpus);
}

/* The cache of the last level of @cpu, as the CPUs that share it. */
static int last_cache(int cpu, cpu_set_t *cpus)
{
	char file[128];

	for (int level = 9; level >= 0; level--) {
		snprintf(file, sizeof(file),
			 "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list", cpu, level);
		if (read_cpus(file, cpus))
			return 1;
	}
	return 0;
}

static int node_of(int cpu, cpu_set_t *cpus)
{
	char file[128];

	for (int node = 0; node < 1024; node++) {
		snprintf(file, sizeof(file), "/sys/devices/system/node/node%d/cpulist", node);
		if (access(file, R_OK))
			return 0;
		if (read_cpus(file, cpus) && CPU_ISSET(cpu, cpus))
			return 1;
	}
	return 0;
}

enum unit { UNIT_THREADS, UNIT_CORES, UNIT_SOCKETS, UNIT_CACHES, UNIT_NODES };

/* The CPUs of @unit that @cpu is in; itself, where the system does not say. */
static void unit_of(enum unit unit, int cpu, cpu_set_t *cpus)
{
	char file[128];
	int known = 0;

	if (unit == UNIT_CORES || unit == UNIT_SOCKETS) {
		snprintf(file, sizeof(file), "/sys/devices/system/cpu/cpu%d/topology/%s_cpus_list",
			 cpu, unit == UNIT_CORES ? "core" : "package");
		known = read_cpus(file, cpus);
	} else if (unit == UNIT_CACHES) {
		known = last_cache(cpu, cpus);
	} else if (unit == UNIT_NODES) {
		known = node_of(cpu, cpus);
	}
	if (!known) {
		CPU_ZERO(cpus);
		CPU_SET(cpu, cpus);
	}
}

static void list_units(enum unit unit, unsigned long most)
{
	cpu_set_t seen, cpus;

	CPU_ZERO(&seen);
	for (int cpu = 0; cpu < CPU_SETSIZE && env.nr_places < most; cpu++) {
		if (!CPU_ISSET(cpu, &env.cpus) || CPU_ISSET(cpu, &seen))
			continue;
		unit_of(unit, cpu, &cpus);
		CPU_OR(&seen, &seen, &cpus);
		list_place(&cpus);
	}
}

/* What follows a number, `:count` and `:stride`, which may both be absent. 0: it is wrong. */
static int read_steps(const char **at, unsigned long *count, long *stride)
{
	unsigned long n;
	int less = 0;

	*count = 1;
	*stride = 1;
	if (**at != ':')
		return 1;
	++*at;
	if (!value_number(at, 1, CPU_SETSIZE, count))
		return 0;
	if (**at != ':')
		return 1;
	*at = value_skip(*at + 1);
	if (**at == '-' || **at == '+')
		less = *(*at)++ == '-';
	if (!value_number(at, 0, CPU_SETSIZE, &n))
		return 0;
	*stride = less ? -(long)n : (long)n;
	return 1;
}

/* Of CPUs: `{0,1,!2,4:2:8}` or a number. */
static int read_place(const char **at, cpu_set_t *cpus)
{
	unsigned long first, count;
	long stride;
	int braced = **at == '{', away;

	CPU_ZERO(cpus);
	*at = value_skip(*at + braced);
	do {
		away = **at == '!';
		*at += away;
		if (!value_number(at, 0, CPU_SETSIZE - 1, &first) ||
		    (braced && !read_steps(at, &count, &stride)))
			return 0;
		for (unsigned long i = 0; i < (braced ? count : 1); i++) {
			long cpu = (long)first + (braced ? (long)i * stride : 0);

			if (cpu < 0 || cpu >= CPU_SETSIZE)
				return 0;
			if (away)
				CPU_CLR(cpu, cpus);
			else
				CPU_SET(cpu, cpus);
		}
		if (!braced)
			return 1;
	} while (**at == ',' && (*at = value_skip(*at + 1)));
	if (**at != '}')
		return 0;
	*at = value_skip(*at + 1);
	return 1;
}

/* Places, each perhaps with further ones at a distance: `{0:2}:4:2`. */
static int read_list(const char *at)
{
	cpu_set_t cpus, moved;
	unsigned long count;
	long stride;

	do {
		at = value_skip(at);
		if (!read_place(&at, &cpus) || !read_steps(&at, &count, &stride))
			return 0;
		for (unsigned long i = 0; i < count; i++) {
			CPU_ZERO(&moved);
			for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
				long to = cpu + (long)i * stride;

				if (CPU_ISSET(cpu, &cpus) && to >= 0 && to < CPU_SETSIZE)
					CPU_SET(to, &moved);
			}
			list_place(&moved);
		}
	} while (*at++ == ',');
	return !at[-1];
}

static int read_places(const char *value)
{
	static const char *const names[] = { "threads", "cores", "sockets", "ll_caches",
					     "numa_domains" };
	const char *at = value_skip(value);
	unsigned long most = UINT32_MAX;

	for (u32 i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t n = strlen(names[i]);

		if (strncasecmp(at, names[i], n))
			continue;
		at = value_skip(at + n);
		if (*at == '(') {
			at++;
			if (!value_number(&at, 1, UINT32_MAX, &most) || *at++ != ')')
				return 0;
		}
		if (*value_skip(at))
			return 0;
		list_units(i, most);
		return 1;
	}
	return read_list(at);
}

/* The binds of regions by their level. 0: they are wrong. */
static int read_binds(const char *at)
{
	static const struct {
		const char *name;
		enum bind bind;
	} kinds[] = { { "false", BIND_FALSE },	   { "true", BIND_TRUE },
		      { "primary", BIND_PRIMARY }, { "master", BIND_PRIMARY },
		      { "close", BIND_CLOSE },	   { "spread", BIND_SPREAD } };
	u32 i;

	do {
		at = value_skip(at);
		for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			if (!strncasecmp(at, kinds[i].name, strlen(kinds[i].name)))
				break;
		if (i == sizeof(kinds) / sizeof(*kinds) || env.nr_binds == NR_LEVELS)
			return 0;
		env.binds[env.nr_binds++] = kinds[i].bind;
		at = value_skip(at + strlen(kinds[i].name));
	} while (*at++ == ',' && env.binds[0] > BIND_TRUE);
	return !at[-1];
}

void places_read(void)
{
	const char *binds = getenv("OMP_PROC_BIND"), *places = getenv("OMP_PLACES");
	const char *format = getenv("OMP_AFFINITY_FORMAT");

	env.format = strdup(format ? format : "level %L thread %i affinity %A");
	if (binds && !read_binds(binds)) {
		value_misread("OMP_PROC_BIND", binds,
			      "true, false, or a list of primary, close and spread");
		env.nr_binds = 0;
	}
	if (places && !read_places(places)) {
		value_misread("OMP_PLACES", places,
			      "threads, cores, sockets, ll_caches, numa_domains or a list of sets "
			      "of CPUs");
		env.nr_places = 0;
	}
	if (!env.nr_binds) {
		env.binds[0] = env.nr_places ? BIND_TRUE : BIND_FALSE;
		env.nr_binds = 1;
	}
	if (!env.nr_places && env.binds[0])
		list_units(UNIT_THREADS, UINT32_MAX);
}

/* --- members ------------------------------------------------------------------------------------------------------ */

static enum bind bind_at(u32 level)
{
	return env.binds[level < env.nr_binds ? level : env.nr_binds - 1];
}

void place_initial(struct member *m)
{
	m->part_first = 0;
	m->part_nr = env.nr_places;
	m->place = env.nr_places && env.binds[0] ? 1 : 0;
}

/* Member @m of @n, along the places of @part, from that of the leader on; with as many as possible a place of its own. */
static u32 along(const struct member *part, u32 leader, u32 m, u32 n)
{
	u32 p = part->part_nr, at = m;

	if (n > p) {
		u32 each = n / p, more = n % p;

		at = m < more * (each + 1) ? m / (each + 1) : (m - more) / each;
	}
	return part->part_first + (leader - part->part_first + at) % p;
}

/* Part @k of @n parts of the leader's places. */
static void divide(const struct member *part, u32 k, u32 n, struct member *m)
{
	u32 each = part->part_nr / n, more = part->part_nr % n;

	m->part_first = part->part_first + k * each + (k < more ? k : more);
	m->part_nr = each + (k < more);
}

void place_members(struct team *t, u32 clause)
{
	const struct member *leader = t->member[0]->outer;
	enum bind bind = bind_at(t->level - 1);
	u32 n = t->n, first, own = 0;

	if (!env.nr_places || !leader->place || !bind || !leader->part_nr)
		return;
	if (clause)
		bind = clause;
	first = leader->place - 1;
	for (u32 i = 0; i < n; i++) {
		struct member *m = t->member[i];

		m->part_first = leader->part_first;
		m->part_nr = leader->part_nr;
		if (bind == BIND_PRIMARY) {
			m->place = leader->place;
		} else if (bind != BIND_SPREAD || n > leader->part_nr) {
			m->place = 1 + along(leader, first, i, n);
			if (bind == BIND_SPREAD) {
				m->part_first = m->place - 1;
				m->part_nr = 1;
			}
		} else {
			while (!i &&
			       (divide(leader, own, n, m), first >= m->part_first + m->part_nr))
				own++;
			divide(leader, (own + i) % n, n, m);
			m->place = 1 + (i ? m->part_first : first);
		}
	}
	/* The leader is on its CPUs. */
	t->member[0]->bound = leader->bound;
}

void place_take(struct member *m)
{
	if (!m->place || m->bound == m->place)
		return;
	m->bound = m->place;
	if (!m->thread)
		sched_setaffinity(0, sizeof(cpu_set_t), &env.places[m->place - 1]);
}

/* --- what programs ask --------------------------------------------------------------------------------------------- */

ASKS(int, omp_get_proc_bind)
{
	struct member *m = me();

	return bind_at(m->team ? m->team->level : 0);
}

ASKS(int, omp_get_num_places)
{
	me();
	return (int)env.nr_places;
}

ASKS_OF(omp_get_place_num_procs)
{
	me();
	return value < 0 || (u32)value >= env.nr_places ? 0 : CPU_COUNT(&env.places[value]);
}

GOMP_API void omp_get_place_proc_ids(int place, int *ids)
{
	me();
	if (place < 0 || (u32)place >= env.nr_places)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &env.places[place]))
			*ids++ = cpu;
}

GOMP_API void omp_get_place_proc_ids_(const int *place, int *ids)
{
	omp_get_place_proc_ids(*place, ids);
}

GOMP_API void omp_get_place_proc_ids_8_(const int64_t *place, int64_t *ids)
{
	me();
	if (*place < 0 || (u64)*place >= env.nr_places)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &env.places[*place]))
			*ids++ = cpu;
}

ASKS(int, omp_get_place_num)
{
	return (int)me()->place - 1;
}

ASKS(int, omp_get_partition_num_places)
{
	return (int)me()->part_nr;
}

GOMP_API void omp_get_partition_place_nums(int *nums)
{
	struct member *m = me();

	for (u32 i = 0; i < m->part_nr; i++)
		*nums++ = (int)(m->part_first + i);
}

GOMP_API void omp_get_partition_place_nums_(int *nums)
{
	omp_get_partition_place_nums(nums);
}

GOMP_API void omp_get_partition_place_nums_8_(int64_t *nums)
{
	struct member *m = me();

	for (u32 i = 0; i < m->part_nr; i++)
		*nums++ = m->part_first + i;
}
