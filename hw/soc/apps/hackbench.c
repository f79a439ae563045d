/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Senders and receivers in groups of 20: each sender writes LOOPS messages to each receiver of its group through a mailbox with
 * room for 4. GROUPS: how many groups of 10 senders and 10 receivers.
 */
#include "os.h"

#ifndef GROUPS
#define GROUPS 1
#endif
#ifndef LOOPS
#define LOOPS 2
#endif
#define PAIRS 10
#define ROOM  4

static struct box {
	u32 slots[ROOM], head, count;
} boxes[GROUPS][PAIRS];
static u32 sums[GROUPS][PAIRS];

/* A mailbox has a mutex and two condition variables; 64 of each are shared by all of them, the last 16 mutexes are the system's. */
#define MUTEX(g, p)   (((g) * PAIRS + (p)) % 48)
#define FILLED(g, p)  (((g) * PAIRS + (p)) % 24)
#define EMPTIED(g, p) (24 + ((g) * PAIRS + (p)) % 24)

static void sender(void *argument)
{
	u32 g = (u32)argument / PAIRS, me = (u32)argument % PAIRS;

	for (u32 l = 0; l < LOOPS; l++)
		for (u32 p = 0; p < PAIRS; p++) {
			struct box *b = &boxes[g][p];

			lock(MUTEX(g, p));
			while (b->count == ROOM)
				wait(EMPTIED(g, p), MUTEX(g, p));
			b->slots[(b->head + b->count++) % ROOM] = me + 1;
			broadcast(FILLED(g, p));
			unlock(MUTEX(g, p));
		}
}

static void receiver(void *argument)
{
	u32 g = (u32)argument / PAIRS, p = (u32)argument % PAIRS;
	struct box *b = &boxes[g][p];

	for (u32 n = 0; n < LOOPS * PAIRS; n++) {
		lock(MUTEX(g, p));
		while (!b->count)
			wait(FILLED(g, p), MUTEX(g, p));
		sums[g][p] += b->slots[b->head];
		b->head = (b->head + 1) % ROOM;
		b->count--;
		broadcast(EMPTIED(g, p));
		unlock(MUTEX(g, p));
	}
}

static int threads[GROUPS * PAIRS * 2];

int main(void)
{
	u32 began = now(), bad = 0, n = 0;

	for (u32 i = 0; i < GROUPS * PAIRS; i++) {
		threads[n++] = spawn("receiver", receiver, (void *)i, MAIN_PRIORITY - 10);
		threads[n++] = spawn("sender", sender, (void *)i, MAIN_PRIORITY - 10);
	}
	for (u32 i = 0; i < n; i++)
		join(threads[i]);
	figure("total", now() - began);
	for (u32 g = 0; g < GROUPS; g++)
		for (u32 p = 0; p < PAIRS; p++)
			bad += sums[g][p] != LOOPS * PAIRS * (PAIRS + 1) / 2;
	figure("messages", GROUPS * PAIRS * PAIRS * LOOPS);
	return bad != 0;
}
