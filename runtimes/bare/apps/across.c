/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Threads across cores: `across N` makes two threads on each core, which N times (default 60) count under one mutex, pass numbers through a
 * bounded buffer of two semaphores, meet at a barrier of a condition variable, and move to the next core with their registers, also
 * those of floating point. More threads than there is memory for at one time are made and joined behind them. Source: 1, 1.4.
 */
#include <weir/mk.h>

#define MAX   32
#define ROOM  4
#define AGAIN 80

static u32 nr, rounds, inside, wrong, here[16];
static u64 count, sum, moves;
static struct mk_mutex lock, buffer_lock, meeting;
static struct mk_semaphore room, filled;
static struct mk_cond all_there;
static u32 arrived, generation;
static u64 buffer[ROOM];
static u32 put_at, get_at;

static void expect(u32 right)
{
	if (!right)
		weir_fetch_add(&wrong, 1);
}

/* Not atomic, but for the mutex. */
static void counted(void)
{
	u64 was;

	mk_lock(&lock);
	expect(!inside++);
	was = count;
	mk_work(200);
	if (was % 5 == 0)
		mk_yield();
	count = was + 1;
	inside--;
	mk_unlock(&lock);
}

static void put(u64 value)
{
	mk_sem_wait(&room);
	mk_lock(&buffer_lock);
	buffer[put_at++ % ROOM] = value;
	mk_unlock(&buffer_lock);
	mk_sem_post(&filled);
}

static void get(void)
{
	mk_sem_wait(&filled);
	mk_lock(&buffer_lock);
	sum += buffer[get_at++ % ROOM];
	mk_unlock(&buffer_lock);
	mk_sem_post(&room);
}

static void meet(void)
{
	u32 mine;

	mk_lock(&meeting);
	mine = generation;
	if (++arrived == 2 * nr) {
		arrived = 0;
		generation++;
		mk_cond_broadcast(&all_there, &meeting);
	}
	while (generation == mine)
		mk_cond_wait(&all_there, &meeting);
	mk_unlock(&meeting);
}

/* Values in registers that a call keeps, across the move. */
static void moved(u64 mine, u32 to)
{
	register u64 a __asm__("s2") = mine, b __asm__("s11") = ~mine;
	register double c __asm__("fs0") = (double)mine, d __asm__("fs11") = (double)mine / 3;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+f"(c), "+f"(d));
	expect(!mk_move(to));
	/* Else the compiler compares with values that it has kept in registers of floating point, too. */
	__asm__ volatile("" : "+r"(a), "+r"(b), "+f"(c), "+f"(d), "+r"(mine));
	expect(mk_self()->core == to && a == mine && b == ~mine && c == (double)mine &&
	       d == (double)mine / 3);
	weir_fetch_add(&moves, 1);
}

static void member(void *arg)
{
	u64 mine = (u64)arg;
	u32 core = (u32)(mine / 2 % nr);

	expect(mk_self()->core == core);
	for (u32 i = 0; i < rounds; i++) {
		counted();
		if (mine % 2)
			put(mine * 1000 + i);
		else
			get();
		if (i % 4 == 3)
			meet();
		/* Some before others, so they come to cores where nobody has used floating point yet. */
		if ((i + mine) % 3 == 2) {
			core = (core + 1) % nr;
			moved(mine * 7919 + i, core);
		}
	}
	expect(mk_move(16) == MK_EINVAL);
}

static void short_one(void *arg)
{
	weir_fetch_add(&here[mk_self()->core], (u32)(u64)arg);
}

int main(int argc, char **argv)
{
	struct mk_thread *t[MAX];
	u64 expected = 0, began, took;

	nr = (u32)mk_self()->nr_cores;
	for (const char *p = argc > 1 ? argv[1] : "60"; *p; p++)
		rounds = rounds * 10 + (u32)(*p - '0');
	room.value = ROOM;
	expect(!mk_thread_on(nr, short_one, 0) && mk_move(0) == MK_EINVAL);
	began = mk_now();
	for (u64 i = 0; i < 2 * nr; i++) {
		t[i] = mk_thread_on((u32)(i / 2), member, (void *)i);
		expect(t[i] != 0);
		for (u32 k = 0; k < rounds && i % 2; k++)
			expected += i * 1000 + k;
	}
	for (u32 i = 0; i < 2 * nr; i++)
		if (t[i])
			mk_join(t[i]);
	took = mk_now() - began;
	expect(count == 2 * nr * rounds && sum == expected);
	for (u32 i = 0; i < AGAIN; i++) {
		struct mk_thread *s = mk_thread_on(i % nr, short_one, (void *)1);

		expect(s != 0);
		if (s)
			mk_join(s);
		s = mk_thread(short_one, (void *)100);
		expect(s != 0);
		if (s)
			mk_join(s);
	}
	expect(here[nr - 1] % 100 == AGAIN / nr && here[0] / 100 == AGAIN);
	mk_mark(10, took);
	mk_print("across: %lu counts, %lu moves of %u threads over %u cores, %u wrong",
		 (unsigned long)count, (unsigned long)moves, 2 * nr, nr, wrong);
	return wrong != 0;
}
