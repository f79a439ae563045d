/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The rings of UMP under the model checker: two ends, every order of their accesses, store buffers included. */
#include "model.h"
#include "../../../runtimes/multikernel/ump.h"

#ifndef RING
#define RING 2u
#endif
#ifndef MESSAGES
#define MESSAGES 3u
#endif

/* Which thread sleeps at which word; as the kernel does it: the look and the place in the queue are one step. */
struct bed {
	const void *word;
	u32 state; /* 0 empty, 1 asleep, 2 woken */
};

struct world {
	struct ump end[2];
	u32 done[2];
	u32 bucket;
	struct bed bed[2];
};

static struct world *world;
static struct plan first;

void ump_sleep(const void *word, u32 value)
{
	struct bed *own = &world->bed[weir_port_cpu()];

	weir_spin_lock(&world->bucket);
	if (weir_load((const u32 *)word) != value) {
		weir_spin_unlock(&world->bucket);
		return;
	}
	own->word = word;
	weir_store(&own->state, 1);
	weir_spin_unlock(&world->bucket);
	weir_fence(); /* nobody sleeps with stores in the buffer */
	while (weir_load(&own->state) == 1)
		weir_port_relax(0);
}

void ump_wake(const void *word)
{
	weir_spin_lock(&world->bucket);
	for (u32 i = 0; i < 2; i++)
		if (weir_load(&world->bed[i].state) == 1 && world->bed[i].word == word)
			weir_store(&world->bed[i].state, 2);
	weir_spin_unlock(&world->bucket);
}

/* Memory that the checker puts back: the scheduler's arena, whose policy nobody asks. */
static void setup(void)
{
	struct weir_swap_stats stats;
	char *memory;
	u32 queue, end;

	sched = plan_sched(3, 1 << 20, 1);
	plan_begin(&first, 3);
	queue = plan_instance(&first, "head_queue");
	end = plan_instance(&first, "termination");
	plan_pipe(&first, WEIR_NONE, queue);
	first.cpus[0].exit = plan_pipe(&first, queue, end);
	plan_end(&first);
	REQUIRE(!weir_swap(sched, 0, &first.tables, &stats));
	memory = (char *)weir_alloc(sched, 65536);
	memory = (char *)(((u64)memory + 4095) & ~4095ull);
	world = (void *)memory;
	REQUIRE(!ump_init(&world->end[0], memory + 4096, memory + 8192, RING));
	REQUIRE(!ump_init(&world->end[1], memory + 8192, memory + 4096, RING));
	/* No polling: it would never be in vain here. */
	world->end[0].window = world->end[1].window = 0;
}

static void put(u32 end, u64 i)
{
	u64 words[2] = { i, ~i };

	while (ump_send(&world->end[end], words, 2, (u32)i & 3, (u32)i))
		weir_port_relax(0);
}

static void check_message(u32 end, u64 i)
{
	u64 words[2];
	u32 kind, tag;

	REQUIRE(!ump_recv(&world->end[end], words, 2, &kind, &tag));
	REQUIRE(words[0] == i && words[1] == ~i && tag == (u32)i && kind == ((u32)i & 3));
}

/* By polling. */
static void take(u32 end, u64 i)
{
	while (!ump_ready(&world->end[end]))
		weir_port_relax(0);
	check_message(end, i);
}

/* Asleep until it comes. */
static void await(u32 end, u64 i)
{
	ump_wait(&world->end[end]);
	check_message(end, i);
}

static void send_all(void)
{
	weir_port_set_cpu(0);
	for (u64 i = 1; i <= MESSAGES; i++)
		put(0, i);
	world->done[0] = 1;
}

static void take_all(void)
{
	weir_port_set_cpu(1);
	for (u64 i = 1; i <= MESSAGES; i++)
		take(1, i);
	world->done[1] = 1;
}

static void await_all(void)
{
	weir_port_set_cpu(1);
	for (u64 i = 1; i <= MESSAGES; i++)
		await(1, i);
	world->done[1] = 1;
}

/* Both fill their rings before either reads, and once more. */
static void fill(u32 end)
{
	weir_port_set_cpu(end);
	for (u64 i = 1; i <= RING; i++)
		put(end, i);
	for (u64 i = 1; i <= RING; i++)
		take(end, i);
	put(end, RING + 1);
	take(end, RING + 1);
	world->done[end] = 1;
}

static void fill_0(void)
{
	fill(0);
}

static void fill_1(void)
{
	fill(1);
}

static void ask(void)
{
	weir_port_set_cpu(0);
	for (u64 i = 1; i <= MESSAGES; i++) {
		put(0, i);
		await(0, i);
	}
	world->done[0] = 1;
}

static void reply(void)
{
	weir_port_set_cpu(1);
	for (u64 i = 1; i <= MESSAGES; i++) {
		await(1, i);
		put(1, i);
	}
	world->done[1] = 1;
}

/* Asleep where no slot is free; nothing comes back but room. */
static void send_asleep(void)
{
	weir_port_set_cpu(0);
	for (u64 i = 1; i <= MESSAGES; i++) {
		u64 words[2] = { i, ~i };

		while (ump_send(&world->end[0], words, 2, (u32)i & 3, (u32)i))
			ump_wait_room(&world->end[0]);
	}
	world->done[0] = 1;
}

/* More than fits each way, and asleep for whatever comes first: a message, or room. */
static void exchange(u32 end)
{
	struct ump *c = &world->end[end];
	u64 sent = 0, got = 0;

	weir_port_set_cpu(end);
	while (sent <= RING || got <= RING) {
		u64 words[2] = { sent + 1, ~(sent + 1) };

		if (sent <= RING && !ump_send(c, words, 2, (u32)(sent + 1) & 3, (u32)(sent + 1))) {
			sent++;
		} else if (ump_ready(c)) {
			check_message(end, ++got);
		} else if (sent <= RING) {
			ump_wait_room(c);
		} else {
			ump_wait(c);
		}
	}
	world->done[end] = 1;
}

static void exchange_0(void)
{
	exchange(0);
}

static void exchange_1(void)
{
	exchange(1);
}

static void finished(void)
{
	REQUIRE(world->done[0] && world->done[1]);
}

const struct scenario scenarios[] = {
	{ "stream", 2, setup, { send_all, take_all }, finished, 0 },
	{ "stream-asleep", 2, setup, { send_all, await_all }, finished, 0 },
	{ "both-full", 2, setup, { fill_0, fill_1 }, finished, 0 },
	{ "ask-and-reply", 2, setup, { ask, reply }, finished, 0 },
	{ "room-asleep", 2, setup, { send_asleep, take_all }, finished, 0 },
	{ "both-half-sent", 2, setup, { exchange_0, exchange_1 }, finished, 0 },
};
const u32 nr_scenarios = sizeof(scenarios) / sizeof(scenarios[0]);
