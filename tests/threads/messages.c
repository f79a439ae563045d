/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * UMP and bulk channels between two threads: `messages N [SEED [SLOTS]]`. N messages each way through rings of 2, 4, 16 and 64 slots with
 * a checksum, with and without random stalls, by polling and asleep; then what they cost. By hand with N = 1000000000: it
 * prints how far it is, and SLOTS leaves the other rings, bulk channels and costs out, so that a long run can be made in parts.
 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../runtimes/multikernel/bulk.h"

#define REQUIRE(cond)                                                                        \
	do {                                                                                 \
		if (!(cond)) {                                                               \
			fprintf(stderr, "messages: %s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                             \
		}                                                                            \
	} while (0)

void ump_sleep(const void *word, u32 value)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, 0, 0, 0);
}

void ump_wake(const void *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, 0, 0, 0);
}

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000ull + (u64)t.tv_nsec;
}

/* xorshift64 (Marsaglia, "Xorshift RNGs", 2003). */
static u64 step(u64 *dice)
{
	*dice ^= *dice << 13;
	*dice ^= *dice >> 7;
	*dice ^= *dice << 17;
	return *dice;
}

static u64 total, seed = 1;
static void *shared[2];
static u32 slots;
static int stalls, asleep;
static pthread_barrier_t gate;

static void pin(int n)
{
	cpu_set_t all, one;
	int seen = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &all) || seen++ != n)
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

static void stall(u64 *dice)
{
	u64 r = step(dice);

	if (!stalls || r % 64)
		return;
	if (r >> 32 & 15)
		for (volatile u64 i = r >> 40 & 1023; i; i--)
			;
	else
		usleep(1 + (r >> 40) % 50);
}

/* After message @n of a long run. */
static void report(u64 n)
{
	if (total >= 10000000 && n % (total / 10) == 0)
		printf("     %u slots%s: %llu %%\n", slots, stalls ? ", stalls" : "",
		       (unsigned long long)(n / (total / 10) * 10));
}

static void begin(struct ump *c, int end)
{
	REQUIRE(!ump_init(c, shared[end], shared[!end], slots));
	pthread_barrier_wait(&gate);
}

/* Each end sends as fast as there is room, and reads what there is. */
static void *both_ways(void *arg)
{
	u64 end = (u64)arg, out = 0, in = 0, dice = seed * 2 + end + 1, sum = 0, expected = 0;
	u32 idles = 0;
	struct ump c;

	pin((int)end);
	begin(&c, (int)end);
	while (out < total || in < total) {
		u64 w[7] = { out, out * 0x9e3779b97f4a7c15ull, ~out, 3, 4, 5, out ^ end };
		u32 kind, tag, idle = 0;

		if (out < total && !ump_send(&c, w, 7, (u32)out & 0x7fff, (u32)out)) {
			out++;
			idle = 1;
		}
		if (in < total && !ump_recv(&c, w, 7, &kind, &tag)) {
			REQUIRE(w[0] == in && w[1] == in * 0x9e3779b97f4a7c15ull && w[2] == ~in &&
				w[6] == (in ^ !end));
			REQUIRE(w[3] == 3 && w[4] == 4 && w[5] == 5 && tag == (u32)in &&
				kind == ((u32)in & 0x7fff));
			sum += w[1];
			expected += in * 0x9e3779b97f4a7c15ull;
			in++;
			idle = 1;
			if (!end)
				report(in);
		}
		if (!idle)
			weir_port_relax(idles++);
		else
			idles = 0;
		stall(&dice);
	}
	REQUIRE(sum == expected);
	return 0;
}

static void *streams(void *arg)
{
	u64 dice = seed + 77;
	struct ump c;

	(void)arg;
	pin(0);
	begin(&c, 0);
	for (u64 i = 0; i < total; i++) {
		u64 w[7] = { i, i * 0x9e3779b97f4a7c15ull, 0, 0, 0, 0, ~i };
		u32 spins = 0;

		while (ump_send(&c, w, 7, 0, (u32)i))
			weir_port_relax(spins++);
		stall(&dice);
	}
	return 0;
}

static void *drinks(void *arg)
{
	u64 dice = seed + 99;
	struct ump c;

	pin(1);
	begin(&c, 1);
	for (u64 i = 0; i < total; i++) {
		u32 kind, tag, spins = 0;
		u64 w[7];

		if (asleep)
			ump_wait(&c);
		while (ump_recv(&c, w, 7, &kind, &tag))
			weir_port_relax(spins++);
		REQUIRE(w[0] == i && w[1] == i * 0x9e3779b97f4a7c15ull && w[6] == ~i &&
			tag == (u32)i);
		report(i + 1);
		stall(&dice);
	}
	*(u64 *)arg = c.blocks;
	return 0;
}

static void *replies(void *arg)
{
	struct ump c;

	(void)arg;
	pin(1);
	begin(&c, 1);
	for (u64 i = 0; i < total; i++) {
		u32 kind, tag, spins = 0;
		u64 w[7];

		if (asleep)
			ump_wait(&c);
		while (ump_recv(&c, w, 7, &kind, &tag))
			weir_port_relax(spins++);
		while (ump_send(&c, w, 7, kind, tag))
			weir_port_relax(spins++);
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void latency(void)
{
	u64 *samples = malloc(total * sizeof(*samples));
	pthread_t t;
	struct ump c;

	REQUIRE(samples);
	pthread_create(&t, 0, replies, 0);
	pin(0);
	begin(&c, 0);
	for (u64 i = 0; i < total; i++) {
		u64 w[7] = { i }, from = now();
		u32 kind, tag, spins = 0;

		REQUIRE(!ump_send(&c, w, 7, 1, (u32)i));
		if (asleep)
			ump_wait(&c);
		while (ump_recv(&c, w, 7, &kind, &tag))
			weir_port_relax(spins++);
		REQUIRE(w[0] == i && tag == (u32)i);
		samples[i] = (now() - from) / 2;
	}
	pthread_join(t, 0);
	qsort(samples, total, sizeof(*samples), by_value);
	printf("     one way%s: median %llu ns, 10th percentile %llu, 99th %llu\n",
	       asleep ? ", poll then sleep" : "", (unsigned long long)samples[total / 2],
	       (unsigned long long)samples[total / 10],
	       (unsigned long long)samples[total * 99 / 100]);
	free(samples);
}

static void fresh(u32 nr)
{
	slots = nr;
	for (int i = 0; i < 2; i++) {
		if (shared[i])
			munmap(shared[i], 1 << 22);
		shared[i] =
			mmap(0, 1 << 22, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		REQUIRE(shared[i] != MAP_FAILED);
	}
	REQUIRE(!pthread_barrier_init(&gate, 0, 2));
}

static double pair(void *(*a)(void *), void *(*b)(void *), void *of_b)
{
	u64 from = now();
	pthread_t t[2];

	pthread_create(&t[0], 0, a, 0);
	pthread_create(&t[1], 0, b, of_b);
	pthread_join(t[0], 0);
	pthread_join(t[1], 0);
	return (double)(now() - from);
}

/* --- bulk ------------------------------------------------------------------------------------------------------- */

#define BUFFER 4096u
static void *pool;

static void *fills(void *arg)
{
	u64 dice = seed + 5;
	struct bulk b;
	struct ump c;

	(void)arg;
	begin(&c, 0);
	REQUIRE(!bulk_init(&b, &c, pool, 8, BUFFER, 1));
	for (u64 i = 0; i < total / 16; i++) {
		u32 bytes = 8 + (u32)(i * 40 % (BUFFER - 8)) / 8 * 8, spins = 0;
		u64 *buffer;

		while (!(buffer = bulk_buffer(&b)))
			weir_port_relax(spins++);
		for (u32 k = 0; k < bytes / 8; k++)
			buffer[k] = i * 31 + k;
		REQUIRE(bulk_send(&b, (char *)buffer + 8, 8, 0) == -WEIR_EINVAL);
		REQUIRE(!bulk_send(&b, buffer, bytes, (u32)i));
		stall(&dice);
	}
	/* All of them come back. */
	for (u32 spins = 0; b.free != 0xff; spins++) {
		REQUIRE(!bulk_collect(&b));
		weir_port_relax(spins);
	}
	return 0;
}

static void *empties(void *arg)
{
	void *held = 0;
	struct bulk b;
	struct ump c;

	(void)arg;
	begin(&c, 1);
	REQUIRE(!bulk_init(&b, &c, pool, 8, BUFFER, 0));
	for (u64 i = 0; i < total / 16; i++) {
		u32 bytes, tag, spins = 0;
		void *buffer;
		int err;

		while ((err = bulk_recv(&b, &buffer, &bytes, &tag)) == -WEIR_EAGAIN)
			weir_port_relax(spins++);
		REQUIRE(!err && tag == (u32)i && bytes == 8 + (u32)(i * 40 % (BUFFER - 8)) / 8 * 8);
		for (u32 k = 0; k < bytes / 8; k++)
			REQUIRE(((u64 *)buffer)[k] == i * 31 + k);
		/* One is kept for a while: they need not go back in order. */
		if (held)
			REQUIRE(!bulk_return(&b, held));
		held = 0;
		if (i % 3)
			REQUIRE(!bulk_return(&b, buffer));
		else
			held = buffer;
	}
	if (held)
		REQUIRE(!bulk_return(&b, held));
	REQUIRE(bulk_return(&b, pool) == -WEIR_EINVAL);
	return 0;
}

/* A neighbour that lies is noticed. */
static void forged(void)
{
	u64 words[3][2] = { { 9, 8 }, { 0, BUFFER + 1 }, { 0, 8 } };
	u32 kinds[3] = { BULK_GIVEN, BULK_GIVEN, BULK_BACK }, bytes, tag;
	struct ump a, c;
	struct bulk b;
	void *buffer;

	fresh(8);
	REQUIRE(!ump_init(&a, shared[0], shared[1], slots) &&
		!ump_init(&c, shared[1], shared[0], slots));
	REQUIRE(ump_init(&c, shared[1], shared[0], 3) == -WEIR_EINVAL &&
		ump_init(&c, (char *)shared[1] + 8, shared[0], 8) == -WEIR_EINVAL);
	REQUIRE(!ump_init(&c, shared[1], shared[0], slots));
	REQUIRE(bulk_init(&b, &c, pool, 9, BUFFER, 0) == -WEIR_EINVAL &&
		!bulk_init(&b, &c, pool, 8, BUFFER, 0));
	for (int i = 0; i < 3; i++) {
		REQUIRE(!ump_send(&a, words[i], 2, kinds[i], 0));
		REQUIRE(bulk_recv(&b, &buffer, &bytes, &tag) == -WEIR_EINVAL);
	}
	/* Eight slots take eight messages, and no ninth before one was read. */
	fresh(8);
	REQUIRE(!ump_init(&a, shared[0], shared[1], slots));
	for (u64 i = 0; i < 8; i++)
		REQUIRE(!ump_send(&a, &i, 1, 0, 0));
	REQUIRE(ump_send(&a, words[0], 1, 0, 0) == -WEIR_EAGAIN);
}

/*
 * A talk in which messages carry all acknowledgements, so that the line stays at 0. Once the 17th bit of the count was set, a sender that found the ring full
 * went back to the line's number and waited for ever.
 */
static void talk(void)
{
	u64 sent = 0, word, w;
	struct ump a, b;
	u32 kind, tag;

	fresh(4);
	REQUIRE(!ump_init(&a, shared[0], shared[1], slots) &&
		!ump_init(&b, shared[1], shared[0], slots));
	for (u64 got = 0; got < 200000; got++) {
		word = sent;
		while (!ump_send(&a, &word, 1, 1, 0))
			word = ++sent;
		REQUIRE(!ump_recv(&b, &w, 1, &kind, &tag) && w == got);
		REQUIRE(!ump_send(&b, &w, 1, 1, 0));
		REQUIRE(!ump_recv(&a, &w, 1, &kind, &tag) && w == got);
	}
	REQUIRE(!weir_load(&a.tx->taken) && !weir_load(&b.tx->taken));
}

int main(int argc, char **argv)
{
	static const u32 sizes[] = { 2, 4, 16, 64 };
	u64 all = argc > 1 ? strtoull(argv[1], 0, 0) : 100000, blocks;
	u32 only = argc > 3 ? (u32)atoi(argv[3]) : 0;
	double ns;

	REQUIRE(!only || only == 2 || only == 4 || only == 16 || only == 64);
	seed = argc > 2 ? strtoull(argv[2], 0, 0) : 1;
	setvbuf(stdout, 0, _IOLBF, 0);
	pool = mmap(0, 8 * BUFFER, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(pool != MAP_FAILED);
	forged();
	talk();
	for (u32 i = 0; i < 4; i++) {
		if (only && sizes[i] != only)
			continue;
		for (stalls = 0; stalls < 2; stalls++) {
			total = stalls ? all / 8 : all;
			fresh(sizes[i]);
			ns = pair(both_ways, both_ways, (void *)1);
			if (!stalls)
				printf("     both ways, %u slots: %.1f ns a message\n", sizes[i],
				       ns / (double)total / 2);
			for (asleep = 0; asleep < 2; asleep++) {
				fresh(sizes[i]);
				ns = pair(streams, drinks, &blocks);
				if (!stalls)
					printf("     one way, %u slots%s: %.1f ns a message, %llu "
					       "sleeps\n",
					       sizes[i], asleep ? ", poll then sleep" : "",
					       ns / (double)total, (unsigned long long)blocks);
			}
		}
	}
	printf("ok   messages: %llu with checksums through %s\n", (unsigned long long)all,
	       only ? "this ring" : "each ring");
	if (only)
		return 0;
	stalls = 1;
	total = all;
	fresh(8);
	pair(fills, empties, 0);
	printf("ok   messages: bulk\n");
	stalls = 0;
	total = all < 100000 ? all : 100000;
	for (asleep = 0; asleep < 2; asleep++) {
		fresh(16);
		latency();
	}
	return 0;
}
