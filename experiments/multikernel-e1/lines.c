/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * What cache lines and messages cost between two CPUs of this computer: `lines levels|updates|messages ROUNDS`. Prints `NAME NUMBER NS` lines. Each
 * time is the 10th percentile of ROUNDS blocks, so that what else runs here counts little.
 *
 * levels: dependent loads of lines that lie in a cache of this CPU, or that the other CPU has just written.
 * updates: unlocked increments of a word in each of N lines, by one CPU, by both, and by a server that the other CPU asks over UMP. By both: blocks
 * in which the other CPU made between a quarter of this one's updates and four times as many, as it may be taken from its thread; half of them are quicker.
 * messages: UMP one way, and streamed through 16 slots.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ump.h"

#include "pair.h"

/* Processors fetch lines in pairs: only every second one is used. */
#define STRIDE 128u
#define SLOTS  16u
#define STOP   0xfffu

static u64 rounds;
static double *samples;

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double quiet(void)
{
	qsort(samples, rounds, sizeof(*samples), by_value);
	return samples[rounds / 10];
}

static void print(const char *what, u32 nr, double ns)
{
	printf("%s %u %.4f\n", what, nr, ns);
}

/* --- the other CPU does what it is asked ------------------------------------------------------------------------ */

static struct {
	u64 ask __attribute__((aligned(STRIDE)));
	u64 done __attribute__((aligned(STRIDE)));
} turn;

static void (*task)(void);

static void *other(void *arg)
{
	stay_on(1);
	for (u64 seen = 0;; seen++) {
		u32 spins = 0;

		while (weir_load_acquire(&turn.ask) == seen)
			weir_port_relax(spins++);
		if (!task)
			return arg;
		task();
		weir_store_release(&turn.done, seen + 1);
	}
}

static void ask(void (*what)(void))
{
	task = what;
	weir_store_release(&turn.ask, turn.ask + 1);
}

static void await(void)
{
	u32 spins = 0;

	while (weir_load_acquire(&turn.done) != turn.ask)
		weir_port_relax(spins++);
}

/* --- levels ------------------------------------------------------------------------------------------------------ */

/* What the CPU takes for one addition that waits for the one before: a cycle. */
static void cycle(void)
{
	for (u64 r = 0; r < rounds; r++) {
		u64 from = now(), x = 0;

		for (u32 i = 0; i < 4096; i++) {
			x += 1;
			__asm__ volatile("" : "+r"(x));
		}
		samples[r] = (double)(now() - from) / 4096;
	}
	print("cycle", 0, quiet());
}

static char *lines;
static u32 nr_lines;

/* One cycle through all lines, in a random order. */
static void chain(u32 nr)
{
	u32 *order = malloc(nr * sizeof(*order));
	u64 dice = 88172645463325253ull;

	if (!order)
		exit(2);
	nr_lines = nr;
	for (u32 i = 0; i < nr; i++)
		order[i] = i;
	for (u32 i = nr - 1; i; i--) {
		u32 k, t = order[i];

		dice ^= dice << 13;
		dice ^= dice >> 7;
		dice ^= dice << 17;
		k = (u32)(dice % (i + 1));
		order[i] = order[k];
		order[k] = t;
	}
	for (u32 i = 0; i < nr; i++)
		*(void **)(lines + (u64)order[i] * STRIDE) =
			lines + (u64)order[(i + 1) % nr] * STRIDE;
	free(order);
}

/* Write each line: the others' copies are gone. */
static void dirty(void)
{
	for (u32 i = 0; i < nr_lines; i++)
		((volatile u64 *)(lines + (u64)i * STRIDE))[1] += 1;
}

static void *follow(void *p, u32 steps)
{
	for (u32 i = 0; i < steps; i++)
		p = *(void *volatile *)p;
	return p;
}

static double chase(u32 nr, int theirs)
{
	u32 steps = theirs ? nr : nr < 4096 ? 4096 : nr;
	void *p = lines;

	chain(nr);
	p = follow(p, nr);
	for (u64 r = 0; r < rounds; r++) {
		u64 from;

		if (theirs) {
			ask(dirty);
			await();
		}
		from = now();
		p = follow(p, steps);
		samples[r] = (double)(now() - from) / steps;
	}
	__asm__ volatile("" : : "r"(p));
	return quiet();
}

static void levels(void)
{
	cycle();
	lines = pages(64u << 20);
	madvise(lines, 64u << 20, MADV_HUGEPAGE);
	memset(lines, 1, 64u << 20);
	print("first", 128, chase(128, 0));
	print("second", 4096, chase(4096, 0));
	print("third", 131072, chase(131072, 0));
	print("other", 128, chase(128, 1));
}

/* --- updates ----------------------------------------------------------------------------------------------------- */

#define UPDATES 64u
#define MANY	2048u
static struct ump_ring *ring[2];
static u64 stop_now, theirs __attribute__((aligned(STRIDE)));

static void update(void)
{
	for (u32 i = 0; i < nr_lines; i++)
		*(volatile u64 *)(lines + (u64)i * STRIDE) += 1;
}

static void updates_on(void)
{
	while (!weir_load(&stop_now)) {
		update();
		weir_store(&theirs, theirs + 1);
	}
}

static void take(struct ump *c, u64 *w, u32 nr, u32 *kind)
{
	u32 tag, spins = 0;

	while (ump_recv(c, w, nr, kind, &tag))
		weir_port_relax(spins++);
}

/* Update what one is told to, and answer. */
static void serve(void)
{
	struct ump c;
	u32 kind;
	u64 w[7];

	ump_init(&c, ring[1], ring[0], SLOTS);
	do {
		take(&c, w, 7, &kind);
		update();
		ump_send(&c, w, 1, kind, 0);
	} while (kind != STOP);
}

static void fresh(void)
{
	for (int i = 0; i < 2; i++)
		memset(ring[i], 0, ump_bytes(SLOTS));
}

static void call(struct ump *c, u32 kind)
{
	u64 w[7] = { 1, 2, 3, 4, 5, 6, 7 };

	ump_send(c, w, 7, kind, 0);
	take(c, w, 1, &kind);
}

static double alone(void)
{
	for (u64 r = 0; r < rounds; r++) {
		u64 from = now();

		for (u32 i = 0; i < UPDATES; i++)
			update();
		samples[r] = (double)(now() - from) / UPDATES;
	}
	return quiet();
}

/* The median of blocks in which both were at it. */
static double both(void)
{
	/* A tenth of the blocks will do: these are longer. */
	u64 nr = rounds / 10 + 5;

	for (u64 r = 0; r < nr;) {
		u64 before = weir_load(&theirs), from = now(), made;

		for (u32 i = 0; i < MANY; i++)
			update();
		samples[r] = (double)(now() - from) / MANY;
		made = weir_load(&theirs) - before;
		r += made >= MANY / 4 && made <= MANY * 4;
	}
	qsort(samples, nr, sizeof(*samples), by_value);
	return samples[nr / 2];
}

static void updates(void)
{
	static const u32 sizes[] = { 1, 2, 4, 8, 12, 16, 24, 32, 48, 64 };
	u64 *words;

	cycle();
	lines = pages(STRIDE * 64);
	words = (u64 *)lines;
	memset(words, 0, STRIDE * 64);
	for (u32 k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		struct ump c;
		double ns;

		nr_lines = sizes[k];
		print("alone", nr_lines, alone());
		weir_store(&stop_now, 0);
		ask(updates_on);
		ns = both();
		weir_store(&stop_now, 1);
		await();
		print("both", nr_lines, ns);
		fresh();
		ump_init(&c, ring[0], ring[1], SLOTS);
		ask(serve);
		for (u64 r = 0; r < rounds; r++) {
			u64 from = now();

			for (u32 i = 0; i < UPDATES; i++)
				call(&c, 1);
			samples[r] = (double)(now() - from) / UPDATES;
		}
		call(&c, STOP);
		await();
		print("server", nr_lines, quiet());
	}
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

static void reply(void)
{
	nr_lines = 0;
	serve();
}

/* A message that says how long its stream is; then the stream, which is answered at its end. */
static void drink(void)
{
	u64 left = 0, w[7];
	struct ump c;
	u32 kind;

	ump_init(&c, ring[1], ring[0], SLOTS);
	for (;;) {
		take(&c, w, 7, &kind);
		if (!left)
			left = w[0];
		if (!--left)
			ump_send(&c, w, 1, kind, 0);
		if (kind == STOP)
			return;
	}
}

static void messages(void)
{
	struct ump c;

	fresh();
	ump_init(&c, ring[0], ring[1], SLOTS);
	ask(reply);
	for (u64 r = 0; r < rounds; r++) {
		u64 from = now();

		for (u32 i = 0; i < UPDATES; i++)
			call(&c, 1);
		samples[r] = (double)(now() - from) / UPDATES / 2;
	}
	call(&c, STOP);
	await();
	print("one_way", SLOTS, quiet());
	fresh();
	ump_init(&c, ring[0], ring[1], SLOTS);
	ask(drink);
	for (u64 r = 0; r < rounds; r++) {
		u64 from = now(), w[7] = { UPDATES * 16 };
		u32 kind;

		for (u32 i = 0; i < UPDATES * 16; i++) {
			u32 spins = 0;

			while (ump_send(&c, w, 7, 1, i))
				weir_port_relax(spins++);
		}
		take(&c, w, 1, &kind);
		samples[r] = (double)(now() - from) / (UPDATES * 16);
	}
	{
		u64 w[7] = { 1 };
		u32 kind;

		ump_send(&c, w, 7, STOP, 0);
		take(&c, w, 1, &kind);
	}
	await();
	print("streamed", SLOTS, quiet());
}

int main(int argc, char **argv)
{
	const char *what = argc == 3 ? argv[1] : "";
	pthread_t t;

	rounds = argc == 3 ? strtoull(argv[2], 0, 0) : 0;
	samples = malloc((rounds + 5) * sizeof(*samples));
	if (!rounds || !samples)
		return 2;
	be_patient();
	for (int i = 0; i < 2; i++)
		ring[i] = pages(ump_bytes(SLOTS));
	/* Before this one is bound: threads inherit that. */
	if (pthread_create(&t, 0, other, 0))
		return 2;
	stay_on(0);
	if (!strcmp(what, "levels"))
		levels();
	else if (!strcmp(what, "updates"))
		updates();
	else if (!strcmp(what, "messages"))
		messages();
	else
		return 2;
	ask(0);
	pthread_join(t, 0);
	return 0;
}
