/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What ran where, for Perfetto's viewer. Each CPU has a list to which only its holder adds: a thread begins, or the CPU is given up, and
 * why. The file has trace events in JSON, with a track for each CPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rt.h"

#define ROOM (1u << 20) /* entries of a CPU; 32 MB, touched only as needed */

struct entry {
	u64 at;
	u32 thread; /* its number; 0: none */
	u32 why;    /* enum left, of the previous thread */
	char name[16];
};

struct list {
	struct entry *entries;
	u64 nr; /* entries; those beyond ROOM are only counted */
};

static struct list *lists; /* (a) one per CPU; null: no trace */
static u32 nr_lists;
u32 tracing;
static FILE *file;
static u64 began;

void trace(struct cpu *c, struct weir_thread *t, enum left why)
{
	struct list *l = __atomic_load_n(&lists, __ATOMIC_ACQUIRE);
	struct entry *e;
	u64 nr;

	if (weir_load(&tracing) & TRACING_WATCHED)
		watch_switch(c, t, why);
	if (!l)
		return;
	l += c->id;
	nr = l->nr;
	if (nr < ROOM) {
		e = &l->entries[nr];
		e->at = now();
		e->thread = t ? t->number : 0;
		e->why = why;
		if (t)
			memcpy(e->name, t->name, sizeof(e->name));
	}
	__atomic_store_n(&l->nr, nr + 1, __ATOMIC_RELEASE);
}

/* The file is the parent's. */
void trace_forked(void)
{
	lists = 0;
	tracing = 0;
}

WEIR_API int weir_rt_trace(const char *name)
{
	struct list *l;

	if (!__atomic_load_n(&rt.open, __ATOMIC_ACQUIRE))
		return fail(-EINVAL, "weir_rt_trace", "the runtime is not open");
	if (weir_load(&tracing) & TRACING_FILE)
		return fail(-EBUSY, "weir_rt_trace", "a trace is being made");
	file = fopen(name, "we");
	if (!file) {
		int err = errno;

		return fail(-err, name, strerror(err));
	}
	nr_lists = rt.nr_cpus;
	l = calloc(nr_lists, sizeof(*l));
	for (u32 i = 0; l && i < nr_lists; i++) {
		l[i].entries = mmap(0, ROOM * sizeof(struct entry), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (l[i].entries == MAP_FAILED) {
			while (i--)
				munmap(l[i].entries, ROOM * sizeof(struct entry));
			free(l);
			l = 0;
		}
	}
	if (!l) {
		fclose(file);
		return fail(-ENOMEM, name, "no memory for the trace");
	}
	began = now();
	__atomic_store_n(&lists, l, __ATOMIC_RELEASE);
	__atomic_or_fetch(&tracing, TRACING_FILE, __ATOMIC_RELAXED);
	return 0;
}

/* A program chooses its name; quotes and similar characters may not stand in a JSON string. */
static void put_name(const struct entry *e)
{
	char name[sizeof(e->name) + 1] = { 0 };

	memcpy(name, e->name, sizeof(e->name));
	for (char *p = name; *p; p++)
		if (*p < ' ' || *p == '"' || *p == '\\' || *p > '~')
			*p = '_';
	fprintf(file, "%s%s%u", name, *name ? " " : "thread ", e->thread);
}

static void put_list(u32 cpu, const struct list *l, u64 end)
{
	static const char *const left[] = { "?", "yield", "blocked", "preempted", "ended" };
	u64 nr = __atomic_load_n(&l->nr, __ATOMIC_ACQUIRE), kept = nr < ROOM ? nr : ROOM;

	fprintf(file,
		",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":"
		"\"CPU %u\"}}",
		cpu + 1, cpu);
	for (u64 i = 0; i < kept; i++) {
		const struct entry *e = &l->entries[i];
		u64 until = i + 1 < kept ? e[1].at : nr > ROOM ? e->at : end;

		if (!e->thread)
			continue;
		fprintf(file,
			",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"name\":"
			"\"",
			cpu + 1, (double)(e->at - began) / 1e3, (double)(until - e->at) / 1e3);
		put_name(e);
		fprintf(file, "\",\"args\":{\"left\":\"%s\"}}",
			i + 1 < kept ? left[e[1].why] : "at the end");
	}
	if (nr > ROOM)
		fprintf(file,
			",\n{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,\"name\":\"%"
			"llu more are left out\"}",
			cpu + 1, (double)(l->entries[ROOM - 1].at - began) / 1e3,
			(unsigned long long)(nr - ROOM));
}

WEIR_API int weir_rt_trace_end(void)
{
	struct list *l = __atomic_exchange_n(&lists, 0, __ATOMIC_ACQ_REL);
	u64 end = now();
	int err;

	__atomic_and_fetch(&tracing, ~(u32)TRACING_FILE, __ATOMIC_RELAXED);
	if (!l)
		return -EINVAL;
	fprintf(file,
		"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":1,\"name\":"
		"\"process_name\",\"args\":{\"name\":\"%s\"}}",
		weir_rt_policy());
	/* A thread in the middle of an entry still writes to this memory, so it is not freed. */
	for (u32 i = 0; i < nr_lists; i++)
		put_list(i, &l[i], end);
	fprintf(file, "\n]}\n");
	err = ferror(file) ? -EIO : 0;
	if (fclose(file))
		err = -EIO;
	return err;
}
