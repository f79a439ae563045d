/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The parser of manifests: one pass over the text, a line at a time. */
#include "manifest.h"

#include <weir/error.h>

#define MAX_WORDS 5u

struct word {
	const char *at;
	u32 length;
	u32 column;
};

struct parser {
	struct mk_manifest *m;
	struct mk_fault *fault;
	u32 line;
	u32 given; /* directives present, a bit each */
	u32 nr;
	struct word word[MAX_WORDS + 1];
};

enum {
	GIVEN_NAME = 1,
	GIVEN_THREADS = 2,
	GIVEN_CPUS = 4,
	GIVEN_OUTSIDE = 8,
	GIVEN_PROGRAM = 16,
	GIVEN_GROUP = 32,
	GIVEN_CORES = 64
};

static const char *const what[MK_NR_FAULTS] = {
	[0] = "no fault",
	[MK_FAULT_LONG] = "the manifest is longer than 64 KiB",
	[MK_FAULT_BYTE] = "a byte that is not printable ASCII",
	[MK_FAULT_WORD] = "unknown directive",
	[MK_FAULT_NUMBER] = "not a number",
	[MK_FAULT_DIGITS] = "more than six decimals: times are whole nanoseconds",
	[MK_FAULT_LARGE] = "the time is too long",
	[MK_FAULT_FEW] = "the line is too short",
	[MK_FAULT_MANY] = "the line has a word too many",
	[MK_FAULT_SHORT] = "an execution time below 20 us, the shortest slice that is served",
	[MK_FAULT_OFTEN] = "the period is shorter than the execution time",
	[MK_FAULT_DEADLINE] = "the deadline is before the execution time is over",
	[MK_FAULT_PERIOD] = "the deadline is after the end of the period",
	[MK_FAULT_PRIORITY] = "not a priority",
	[MK_FAULT_PHASES] = "more than 16 phases",
	[MK_FAULT_TWICE] = "written a second time",
	[MK_FAULT_NAME] = "not a name",
	[MK_FAULT_CPUS] = "not a list of CPUs",
	[MK_FAULT_THREADS] = "not a number of threads",
	[MK_FAULT_OUTSIDE] = "not a way to treat members outside of their slots",
	[MK_FAULT_CORES] = "not a way to share cores",
	[MK_FAULT_PROGRAM] = "not a name of a program",
	[MK_FAULT_GROUP] = "not a control group",
	[MK_FAULT_CROWD] = "more threads than CPUs: each member of a gang needs a CPU of its own",
	[MK_FAULT_EMPTY] = "no phase",
};

static const char *const remedy[MK_NR_FAULTS] = {
	[0] = "",
	[MK_FAULT_LONG] = "keep comments short",
	[MK_FAULT_BYTE] = "save the file as plain text",
	[MK_FAULT_WORD] = "write `B PRIORITY`, `H WCET PERIOD [DEADLINE [RELEASE]]`, `name`, "
			  "`threads`, `cpus`, `cores`, `outside`, `program` or `cgroup`",
	[MK_FAULT_NUMBER] = "write milliseconds, such as `80` or `0.25`",
	[MK_FAULT_DIGITS] = "write at most six digits after the point",
	[MK_FAULT_LARGE] = "periods are at most 600000 ms, releases at most 3600000 ms",
	[MK_FAULT_FEW] = "write `B PRIORITY`, `H WCET PERIOD [DEADLINE [RELEASE]]`, or a value "
			 "after the directive",
	[MK_FAULT_MANY] = "put a `#` before a comment, and each phase on a line of its own",
	[MK_FAULT_SHORT] = "write at least 0.02",
	[MK_FAULT_OFTEN] = "raise the period, the second number, above the execution time, the "
			   "first: at most 90 % of a CPU is booked",
	[MK_FAULT_DEADLINE] =
		"raise the deadline, the third number, to at least the execution time, the first",
	[MK_FAULT_PERIOD] =
		"lower the deadline, the third number, to at most the period, the second",
	[MK_FAULT_PRIORITY] = "write a whole number from -19 to 20",
	[MK_FAULT_PHASES] = "merge phases that need the same",
	[MK_FAULT_TWICE] = "keep one of the two lines",
	[MK_FAULT_NAME] = "use 1 to 31 letters, digits, `_`, `-` and `.`",
	[MK_FAULT_CPUS] = "write CPUs below 1024, such as `0-3,8`",
	[MK_FAULT_THREADS] = "write a whole number from 1 to 1024",
	[MK_FAULT_OUTSIDE] = "write `outside run` or `outside wait`",
	[MK_FAULT_CORES] = "write `cores shared`, `cores whole` or `cores one`",
	[MK_FAULT_PROGRAM] = "write what `ps -o comm` shows: 1 to 15 letters, digits, `_`, `-`, "
			     "`.`, `+` and `:`",
	[MK_FAULT_GROUP] = "write its path below /sys/fs/cgroup, such as `inference.slice`: at "
			   "most 127 bytes, no `..`",
	[MK_FAULT_CROWD] = "lower `threads`, or allow more CPUs with `cpus`",
	[MK_FAULT_EMPTY] =
		"write at least one line `B PRIORITY` or `H WCET PERIOD [DEADLINE [RELEASE]]`",
};

const char *mk_manifest_what(u32 code)
{
	return code < MK_NR_FAULTS ? what[code] : "unknown fault";
}

const char *mk_manifest_remedy(u32 code)
{
	return code < MK_NR_FAULTS ? remedy[code] : "";
}

static int wrong(struct parser *p, u32 code, const struct word *w)
{
	*p->fault = (struct mk_fault){
		.code = code, .line = p->line, .column = w->column, .length = w->length
	};
	return -WEIR_EINVAL;
}

static int is(const struct word *w, const char *text)
{
	u32 i = 0;

	while (i < w->length && text[i] && text[i] == w->at[i])
		i++;
	return i == w->length && !text[i];
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Milliseconds with up to six decimals, as ns, below @limit + 1. */
static int time_of(struct parser *p, const struct word *w, u64 limit, u64 *ns)
{
	u64 whole = 0, part = 0, unit = 100000;
	u32 i = 0, digits = 0;

	for (; i < w->length && is_digit(w->at[i]); i++, digits++) {
		if (whole < 1ull << 40)
			whole = whole * 10 + (u64)(w->at[i] - '0');
	}
	if (i < w->length && w->at[i] == '.' && digits) {
		digits = 0;
		for (i++; i < w->length && is_digit(w->at[i]); i++, digits++, unit /= 10)
			part += (u64)(w->at[i] - '0') * unit;
	}
	if (i < w->length || !digits)
		return wrong(p, MK_FAULT_NUMBER, w);
	if (!unit && digits > 6)
		return wrong(p, MK_FAULT_DIGITS, w);
	if (whole >= 1ull << 40 || whole * 1000000 + part > limit)
		return wrong(p, MK_FAULT_LARGE, w);
	*ns = whole * 1000000 + part;
	return 0;
}

/* An unsigned integer, at most @limit; 0: not a number. */
static int count_of(const char *at, u32 length, u32 limit, u32 *out)
{
	u32 n = 0;

	if (!length || length > 9)
		return 0;
	for (u32 i = 0; i < length; i++) {
		if (!is_digit(at[i]))
			return 0;
		n = n * 10 + (u32)(at[i] - '0');
	}
	*out = n;
	return n <= limit;
}

static int best_effort(struct parser *p, struct mk_phase *phase)
{
	const struct word *w = &p->word[1];
	int minus = w->at[0] == '-';
	u32 n;

	if (!count_of(w->at + minus, w->length - (u32)minus, minus ? 19 : 20, &n))
		return wrong(p, MK_FAULT_PRIORITY, w);
	phase->kind = MK_BEST_EFFORT;
	phase->priority = minus ? -(s32)n : (s32)n;
	return 0;
}

static int hard(struct parser *p, struct mk_phase *phase)
{
	const struct word *w = p->word;
	const struct word *deadline = p->nr > 3 ? &w[3] : &w[2];
	int err = time_of(p, &w[1], MK_LONGEST_PERIOD, &phase->wcet);

	if (!err)
		err = time_of(p, &w[2], MK_LONGEST_PERIOD, &phase->period);
	if (!err)
		err = time_of(p, deadline, MK_LONGEST_PERIOD, &phase->deadline);
	if (!err && p->nr > 4)
		err = time_of(p, &w[4], MK_LONGEST_RELEASE, &phase->release);
	if (err)
		return err;
	if (phase->wcet < MK_SHORTEST)
		return wrong(p, MK_FAULT_SHORT, &w[1]);
	if (phase->period < phase->wcet)
		return wrong(p, MK_FAULT_OFTEN, &w[2]);
	if (phase->deadline < phase->wcet)
		return wrong(p, MK_FAULT_DEADLINE, deadline);
	if (phase->deadline > phase->period)
		return wrong(p, MK_FAULT_PERIOD, deadline);
	phase->kind = MK_HARD;
	return 0;
}

static int phase(struct parser *p, int is_hard)
{
	struct mk_phase *next = &p->m->phase[p->m->nr_phases];
	int err;

	if (p->m->nr_phases == MK_MAX_PHASES)
		return wrong(p, MK_FAULT_PHASES, &p->word[0]);
	*next = (struct mk_phase){ .line = p->line };
	err = is_hard ? hard(p, next) : best_effort(p, next);
	p->m->nr_phases += !err;
	return err;
}

static int is_in(char c, const char *set)
{
	while (*set && *set != c)
		set++;
	return *set != 0;
}

/* Read a directive's value into @out of @bytes: letters, digits and characters of @more; otherwise the fault is @code. */
static int text_of(struct parser *p, char *out, u32 bytes, const char *more, u32 code)
{
	const struct word *w = &p->word[1];

	if (w->length >= bytes)
		return wrong(p, code, w);
	for (u32 i = 0; i < w->length; i++) {
		char c = w->at[i];

		if (!is_digit(c) && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !is_in(c, more))
			return wrong(p, code, w);
		out[i] = c;
	}
	out[w->length] = 0;
	return 0;
}

static int name(struct parser *p)
{
	return text_of(p, p->m->name, MK_NAME_BYTES, "_-.", MK_FAULT_NAME);
}

static int program(struct parser *p)
{
	return text_of(p, p->m->program, MK_PROGRAM_BYTES, "_-.+:", MK_FAULT_PROGRAM);
}

/* A path without `..`, which would lead out of the file system of control groups. */
static int group(struct parser *p)
{
	const struct word *w = &p->word[1];
	u32 dots = 0;

	for (u32 i = 0; i <= w->length; i++) {
		int ends = i == w->length || w->at[i] == '/';

		if (ends && dots == 2)
			return wrong(p, MK_FAULT_GROUP, w);
		dots = ends ? 0 : w->at[i] == '.' && dots < 3 ? dots + 1 : 3;
	}
	return text_of(p, p->m->group, MK_GROUP_BYTES, "_-.+:@/\\", MK_FAULT_GROUP);
}

static int threads(struct parser *p)
{
	const struct word *w = &p->word[1];

	if (!count_of(w->at, w->length, MK_MAX_CPUS, &p->m->threads) || !p->m->threads)
		return wrong(p, MK_FAULT_THREADS, w);
	return 0;
}

/* The next number of a list from *@i on. */
static int list_number(const struct word *w, u32 *i, u32 *out)
{
	u32 from = *i;

	while (*i < w->length && is_digit(w->at[*i]))
		++*i;
	return count_of(w->at + from, *i - from, MK_MAX_CPUS - 1, out);
}

static int cpus(struct parser *p)
{
	const struct word *w = &p->word[1];
	u32 i = 0, first, last;

	for (;;) {
		if (!list_number(w, &i, &first))
			return wrong(p, MK_FAULT_CPUS, w);
		last = first;
		if (i < w->length && w->at[i] == '-') {
			i++;
			if (!list_number(w, &i, &last) || last < first)
				return wrong(p, MK_FAULT_CPUS, w);
		}
		for (u32 cpu = first; cpu <= last; cpu++)
			mk_add(&p->m->cpus, cpu);
		if (i == w->length)
			break;
		if (w->at[i++] != ',')
			return wrong(p, MK_FAULT_CPUS, w);
	}
	p->m->any_cpu = 0;
	return 0;
}

static int outside(struct parser *p)
{
	if (!is(&p->word[1], "run") && !is(&p->word[1], "wait"))
		return wrong(p, MK_FAULT_OUTSIDE, &p->word[1]);
	p->m->withheld = is(&p->word[1], "wait");
	return 0;
}

static int cores(struct parser *p)
{
	const struct word *w = &p->word[1];

	if (is(w, "whole"))
		p->m->cores = MK_CORES_WHOLE;
	else if (is(w, "one"))
		p->m->cores = MK_CORES_ONE;
	else if (!is(w, "shared"))
		return wrong(p, MK_FAULT_CORES, w);
	return 0;
}

static int once(struct parser *p, u32 bit)
{
	if (p->given & bit)
		return wrong(p, MK_FAULT_TWICE, &p->word[0]);
	p->given |= bit;
	return 0;
}

/* A line of at least one word. */
static int directive(struct parser *p)
{
	const struct word *w = &p->word[0];
	u32 least = 2, most = 2, bit = 0;
	int err;

	if (is(w, "H")) {
		least = 3;
		most = 5;
	} else if (is(w, "name")) {
		bit = GIVEN_NAME;
	} else if (is(w, "threads")) {
		bit = GIVEN_THREADS;
	} else if (is(w, "cpus")) {
		bit = GIVEN_CPUS;
	} else if (is(w, "cores")) {
		bit = GIVEN_CORES;
	} else if (is(w, "outside")) {
		bit = GIVEN_OUTSIDE;
	} else if (is(w, "program")) {
		bit = GIVEN_PROGRAM;
	} else if (is(w, "cgroup")) {
		bit = GIVEN_GROUP;
	} else if (!is(w, "B")) {
		return wrong(p, MK_FAULT_WORD, w);
	}
	if (p->nr < least)
		return wrong(p, MK_FAULT_FEW, w);
	if (p->nr > most)
		return wrong(p, MK_FAULT_MANY, &p->word[most]);
	if (!bit)
		return phase(p, most == 5);
	err = once(p, bit);
	if (err)
		return err;
	switch (bit) {
	case GIVEN_NAME:
		return name(p);
	case GIVEN_THREADS:
		return threads(p);
	case GIVEN_CPUS:
		return cpus(p);
	case GIVEN_CORES:
		return cores(p);
	case GIVEN_PROGRAM:
		return program(p);
	case GIVEN_GROUP:
		return group(p);
	default:
		return outside(p);
	}
}

/* The words of the line from @text on; the length of the line with its end. */
static int split(struct parser *p, const char *text, u64 bytes, u64 *length)
{
	u64 i = 0;
	int comment = 0, inside = 0;

	p->nr = 0;
	for (; i < bytes && text[i] != '\n'; i++) {
		char c = text[i];
		struct word here = { text + i, 1, (u32)i + 1 };

		if (c == ' ' || c == '\t' || c == '\r') {
			inside = 0;
			continue;
		}
		/* Comments may be in any language. */
		comment |= c == '#';
		if (c == 0 || (!comment && (c < ' ' || c > '~')))
			return wrong(p, MK_FAULT_BYTE, &here);
		if (comment)
			continue;
		if (inside)
			p->word[p->nr - 1].length++;
		else if (p->nr <= MAX_WORDS)
			p->word[p->nr++] = here;
		else
			break;
		inside = 1;
	}
	while (i < bytes && text[i] != '\n')
		i++;
	*length = i + (i < bytes);
	return 0;
}

int mk_manifest_parse(const char *text, u64 bytes, struct mk_manifest *m, struct mk_fault *fault)
{
	struct parser p = { .m = m, .fault = fault, .line = 1 };
	struct word end = { text, 0, 1 };
	u32 threads_line = 0;
	int err = 0;

	*m = (struct mk_manifest){ .any_cpu = 1 };
	*fault = (struct mk_fault){ 0 };
	if (bytes > MK_MAX_TEXT)
		return wrong(&p, MK_FAULT_LONG, &end);
	for (u64 at = 0, length = 0; !err && at < bytes; at += length) {
		u32 before = p.given;

		err = split(&p, text + at, bytes - at, &length);
		if (!err && p.nr)
			err = directive(&p);
		if (!err && (p.given & ~before & (GIVEN_THREADS | GIVEN_CPUS)))
			threads_line = p.line;
		p.line += !err && text[at + length - 1] == '\n';
	}
	if (err)
		return err;
	if (!m->nr_phases)
		return wrong(&p, MK_FAULT_EMPTY, &end);
	if (m->any_cpu || m->threads <= mk_count(&m->cpus))
		return 0;
	p.line = threads_line;
	return wrong(&p, MK_FAULT_CROWD, &end);
}
