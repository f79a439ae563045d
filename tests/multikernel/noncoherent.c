/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Messages between cores whose caches do not cohere: `noncoherent N [SEED]`. Several senders and a receiver that looks where it was notified only, in
 * N random orders of their reads, writes, locks and interrupts. Lines are reached through the runtime's calls alone: behind the pointers is nothing.
 * Then the accesses of a notification through the ring and through the tree (E6).
 *
 * Ends with 3 where a mistake was found.
 */
#include <string.h>
#include <ucontext.h>

#include "noncoherent.h"

#include "random.h"

#define SENDERS	 3u
#define CORES	 (SENDERS + 1)
#define RECEIVER SENDERS
#define MESSAGES 12u
#define SLOTS	 4u

/* --- cores that take turns --------------------------------------------------------------------------------------- */

static ucontext_t core[CORES], table;
static char stacks[CORES][65536];
static u32 running, finished, turning;

/* Before each access another core may go on. */
static void turn(void)
{
	if (turning)
		swapcontext(&core[running], &table);
}

/* --- memory, locks, interrupts ------------------------------------------------------------------------------------ */

/* What pointers point to, and what is there. */
#define LINES 1024u
static struct nc_line handles[LINES], memory[LINES];
static u32 locked[CORES], raised[CORES];
static struct {
	u64 reads, writes, locks, busy, looks;
} count;

static struct nc_line *line_of(const struct nc_line *handle)
{
	u64 n = (u64)(handle - handles);

	REQUIRE(n < LINES);
	return &memory[n];
}

void nc_read(u32 by, void *to, const struct nc_line *line)
{
	turn();
	(void)by;
	count.reads++;
	memcpy(to, line_of(line), sizeof(*line));
}

void nc_write(u32 by, struct nc_line *line, const void *from)
{
	turn();
	(void)by;
	count.writes++;
	memcpy(line_of(line), from, sizeof(*line));
}

int nc_try_lock(u32 which)
{
	turn();
	count.locks++;
	if (locked[which])
		return count.busy++, 0;
	return locked[which] = 1;
}

void nc_unlock(u32 which)
{
	turn();
	locked[which] = 0;
}

int nc_raised(u32 which)
{
	turn();
	return (int)raised[which];
}

void nc_raise(u32 which)
{
	turn();
	raised[which] = 1;
}

/* --- senders and a receiver ---------------------------------------------------------------------------------------- */

static struct nc_ring ring;
static struct ncp out[SENDERS], in[SENDERS];
static u64 came[SENDERS];
static struct nc_line *at;

static struct nc_line *lines(u32 nr)
{
	struct nc_line *p = at;

	at += nr;
	REQUIRE(at <= handles + LINES);
	return p;
}

static void sender(int n)
{
	struct ncp *c = &out[n];

	for (u64 i = 0; i < MESSAGES; i++) {
		u64 words[3] = { i, i * 0x9e3779b97f4a7c15ull, ~i };

		while (ncp_send(c, words, 3, (u32)i, (u32)i * 3))
			turn();
	}
	while (ncp_push(c))
		turn();
	finished++;
	for (;;)
		turn();
}

static void receiver(void)
{
	u64 left = SENDERS * MESSAGES;

	/* It goes on when all is there: a sender may still have to notify it. */
	for (;;) {
		u16 channel;

		/* Cleared before it looks: who writes after the look raises it again. */
		while (!raised[RECEIVER])
			turn();
		raised[RECEIVER] = 0;
		while (!nc_notified(&ring, &channel)) {
			u64 words[3];
			u32 kind, tag;

			REQUIRE(channel < SENDERS);
			while (!ncp_recv(&in[channel], words, 3, &kind, &tag)) {
				u64 i = came[channel]++;

				REQUIRE(words[0] == i && words[1] == i * 0x9e3779b97f4a7c15ull &&
					words[2] == ~i && kind == i && tag == i * 3);
				finished += !--left;
			}
		}
	}
}

static void one_order(void)
{
	/* A local variable that changes between two switches is one that the compiler warns of, as of setjmp(). */
	static u32 turns;
	u32 slots = 2u << roll() % 2;

	turns = 0;
	at = handles;
	memset(handles, 0xdb, sizeof(handles));
	memset(memory, 0, sizeof(memory));
	memset(locked, 0, sizeof(locked));
	memset(raised, 0, sizeof(raised));
	memset(came, 0, sizeof(came));
	finished = 0;
	nc_ring_init(&ring, RECEIVER, lines(NC_RING_LINES(slots)), slots);
	for (u32 i = 0; i < SENDERS; i++) {
		struct nc_line *there = lines(NCP_LINES(SLOTS)), *back = lines(NCP_LINES(SLOTS));

		ncp_init(&out[i], i, there, back, SLOTS, &ring, (u16)i);
		ncp_init(&in[i], RECEIVER, back, there, SLOTS, 0, 0);
	}
	for (u32 i = 0; i < CORES; i++) {
		getcontext(&core[i]);
		core[i].uc_stack.ss_sp = stacks[i];
		core[i].uc_stack.ss_size = sizeof(stacks[i]);
		core[i].uc_link = &table;
		if (i == RECEIVER)
			makecontext(&core[i], receiver, 0);
		else
			makecontext(&core[i], (void (*)(void))sender, 1, (int)i);
	}
	turning = 1;
	while (finished < CORES) {
		running = (u32)(roll() % CORES);
		swapcontext(&table, &core[running]);
		/* A receiver that was not notified sleeps for ever, and then nobody gets on. A good order takes some 2,000 turns. */
		REQUIRE(++turns < 200000);
	}
	turning = 0;
	for (u32 i = 0; i < SENDERS; i++)
		REQUIRE(came[i] == MESSAGES);
}

/* --- E6: a notification through the ring and through the tree ------------------------------------------------------- */

static void accesses(u64 total, int tree)
{
	struct nc_tree t = { .core = 0, .line = handles };
	u64 looks = 0;
	u16 channel;

	at = handles;
	memset(memory, 0, sizeof(memory));
	memset(locked, 0, sizeof(locked));
	memset(&count, 0, sizeof(count));
	nc_ring_init(&ring, 0, handles, 256);
	for (u64 i = 0; i < total; i++) {
		u16 n = (u16)(roll() % 65280);

		if (tree) {
			REQUIRE(!nc_tree_notify(&t, 1, n) &&
				!nc_tree_notified(&t, &channel, &looks));
			REQUIRE(nc_tree_notified(&t, &channel, &looks) == -WEIR_EAGAIN);
		} else {
			REQUIRE(!nc_notify(&ring, 1, n) && !nc_notified(&ring, &channel));
			REQUIRE(nc_notified(&ring, &channel) == -WEIR_EAGAIN);
		}
		REQUIRE(channel == n);
	}
	printf("{\"subject\":\"%s\",\"lines_read\":%.2f,\"lines_written\":%.2f,\"locks\":%.2f,"
	       "\"words_scanned\":%.2f}\n",
	       tree ? "tree" : "ring", (double)count.reads / (double)total,
	       (double)count.writes / (double)total, (double)count.locks / (double)total,
	       (double)looks / (double)total);
}

int main(int argc, char **argv)
{
	u64 orders = argc > 1 ? strtoull(argv[1], 0, 0) : 2000;

	if (argc > 2)
		dice = strtoull(argv[2], 0, 0) * 2 + 1;
	for (u64 i = 0; i < orders; i++)
		one_order();
	printf("ok   memory that does not cohere: %llu random orders of %u senders and a "
	       "receiver\n",
	       (unsigned long long)orders, SENDERS);
	accesses(10000, 0);
	accesses(10000, 1);
	return 0;
}
