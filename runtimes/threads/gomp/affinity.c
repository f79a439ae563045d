/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A thread's place in words: OMP_AFFINITY_FORMAT, and the functions of omp.h that fill it in. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <unistd.h>
#include <sys/syscall.h>

#include "api.h"

/* A text that is cut at its end; @had counts all of it. */
struct text {
	char *at;
	size_t room, had;
};

static void put(struct text *t, const char *from, size_t n)
{
	if (t->had < t->room)
		memcpy(t->at + t->had, from, n < t->room - t->had ? n : t->room - t->had);
	t->had += n;
}

static void fill(struct text *t, char c, size_t n)
{
	while (n--)
		put(t, &c, 1);
}

void cpus_write(char *text, size_t bytes, const cpu_set_t *cpus)
{
	struct text t = { text, bytes - 1, 0 };

	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		int last = cpu;
		char part[32];

		if (!CPU_ISSET(cpu, cpus))
			continue;
		while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus))
			last++;
		snprintf(part, sizeof(part), last > cpu ? "%s%d-%d" : "%s%d", t.had ? "," : "", cpu,
			 last);
		put(&t, part, strlen(part));
		cpu = last;
	}
	text[t.had < bytes ? t.had : bytes - 1] = 0;
}

struct field {
	char letter;
	const char *name;
	int (*number)(void); /* null: a text */
};

static int level(void)
{
	return omp_get_level();
}

static int ancestor(void)
{
	return omp_get_ancestor_thread_num(omp_get_level() - 1);
}

static int process(void)
{
	return (int)getpid();
}

static int native(void)
{
	return (int)syscall(SYS_gettid);
}

static const struct field fields[] = {
	{ 't', "team_num", omp_get_team_num },
	{ 'T', "num_teams", omp_get_num_teams },
	{ 'L', "nesting_level", level },
	{ 'n', "thread_num", omp_get_thread_num },
	{ 'N', "num_threads", omp_get_num_threads },
	{ 'a', "ancestor_tnum", ancestor },
	{ 'H', "host", 0 },
	{ 'P', "process_id", process },
	{ 'i', "native_thread_id", native },
	{ 'A', "thread_affinity", 0 },
};

/* The field that is named at *@at, by a letter or a word in braces; *@at is then behind it. Null: none. */
static const struct field *field_at(const char **at)
{
	for (u32 i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		size_t n = strlen(fields[i].name);

		if (**at == fields[i].letter) {
			++*at;
			return &fields[i];
		}
		if (**at == '{' && !strncmp(*at + 1, fields[i].name, n) && (*at)[n + 1] == '}') {
			*at += n + 2;
			return &fields[i];
		}
	}
	return 0;
}

static void write_field(struct text *t, const struct field *f, int zeros, int right, size_t width)
{
	char text[512];
	const char *from = text;
	size_t n;

	if (f->number) {
		snprintf(text, sizeof(text), "%d", f->number());
	} else if (f->letter == 'H') {
		if (gethostname(text, sizeof(text)))
			*text = 0;
		text[sizeof(text) - 1] = 0;
	} else {
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		sched_getaffinity(0, sizeof(cpus), &cpus);
		cpus_write(text, sizeof(text), &cpus);
	}
	n = strlen(text);
	width = width > n ? width - n : 0;
	if (right && zeros && f->number && *from == '-') {
		put(t, from++, 1);
		n--;
	}
	if (right)
		fill(t, zeros && f->number ? '0' : ' ', width);
	put(t, from, n);
	if (!right)
		fill(t, ' ', width);
}

/* Fields are `%`, perhaps `0` and `.` (at the right) and a width, and a letter or a word. */
static size_t fill_in(char *buffer, size_t room, const char *format)
{
	struct text t = { buffer, room, 0 };

	me();
	if (!format || !*format)
		format = env.format;
	while (*format) {
		const char *at = format + 1;
		const struct field *f;
		int zeros, right;
		size_t width;

		if (*format != '%') {
			put(&t, format++, 1);
			continue;
		}
		if (*at == '%') {
			put(&t, at, 1);
			format += 2;
			continue;
		}
		zeros = *at == '0';
		at += zeros;
		right = *at == '.';
		at += right;
		width = strtoul(at, (char **)&at, 10);
		f = field_at(&at);
		if (!f || width > 65536)
			fatal("an affinity format has a field that is not known: %, perhaps 0, . "
			      "and a width, "
			      "then one of tTLnNaHPiA or its name in braces");
		write_field(&t, f, zeros, right, width);
		format = at;
	}
	return t.had;
}

GOMP_API void omp_set_affinity_format(const char *format)
{
	char *own = strdup(format), *before;

	me();
	if (!own)
		fatal("no memory");
	before = env.format;
	env.format = own;
	free(before);
}

GOMP_API size_t omp_get_affinity_format(char *buffer, size_t bytes)
{
	me();
	if (bytes)
		snprintf(buffer, bytes, "%s", env.format);
	return strlen(env.format);
}

GOMP_API size_t omp_capture_affinity(char *buffer, size_t bytes, const char *format)
{
	size_t n = fill_in(buffer, bytes ? bytes - 1 : 0, format);

	if (bytes)
		buffer[n < bytes ? n : bytes - 1] = 0;
	return n;
}

GOMP_API void omp_display_affinity(const char *format)
{
	size_t n = fill_in(0, 0, format);
	char *line = malloc(n + 2);

	if (!line)
		fatal("no memory");
	n = fill_in(line, n, format);
	line[n] = '\n';
	/* In one piece, also where many threads write. */
	fwrite(line, 1, n + 1, stderr);
	free(line);
}

void affinity_show(struct member *m)
{
	if (!env.shows_affinity || (m->shown == m->team->n && m->shown_place == m->place))
		return;
	m->shown = m->team->n;
	m->shown_place = m->place;
	omp_display_affinity(0);
}

/* Fortran's texts have a length of their own, which comes behind the other arguments, and end in blanks. */
static char *c_text(const char *text, size_t bytes)
{
	char *own;

	while (bytes && text[bytes - 1] == ' ')
		bytes--;
	own = strndup(text, bytes);
	if (!own)
		fatal("no memory");
	return own;
}

static void blank_padded(char *text, size_t had, size_t bytes)
{
	if (had < bytes)
		memset(text + had, ' ', bytes - had);
}

GOMP_API void omp_set_affinity_format_(const char *format, size_t bytes)
{
	char *own = c_text(format, bytes);

	omp_set_affinity_format(own);
	free(own);
}

GOMP_API int omp_get_affinity_format_(char *buffer, size_t bytes)
{
	size_t n;

	me();
	n = strlen(env.format);
	memcpy(buffer, env.format, n < bytes ? n : bytes);
	blank_padded(buffer, n, bytes);
	return (int)n;
}

GOMP_API int omp_capture_affinity_(char *buffer, const char *format, size_t bytes,
				   size_t format_bytes)
{
	char *own = c_text(format, format_bytes);
	size_t n = fill_in(buffer, bytes, own);

	blank_padded(buffer, n, bytes);
	free(own);
	return (int)n;
}

GOMP_API void omp_display_affinity_(const char *format, size_t bytes)
{
	char *own = c_text(format, bytes);

	omp_display_affinity(own);
	free(own);
}
