/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * shared [ROUNDS]: what one dispatcher does to another one of its core that runs at the same time, on another hart if there is one scheduler
 * for all. The owner lends a frame, the peer writes to it without end, and the owner revokes it: when that returns, no write arrives any more.
 * Then the peer exits in the middle of its work, because the owner asks the kernel for that, and nobody can send to it.
 */
#include <weir/mk.h>

#define FRAME 30
#define LENT  31

void mk_resume(u64 *area) __attribute__((noreturn));

static u64 rounds = 40, wrong, faults;
static volatile u64 beats;

/* --- the peer ------------------------------------------------------------------------------------------- */

static struct mk_channel to_owner;
/* The number of the slot may be the same as before, so messages are counted. */
static volatile u64 lent, nr_lent, stopped;

static void peer_told(u64 badge, const u64 *words, u64 along)
{
	(void)badge;
	if (words[0] == 1) {
		lent = along;
		nr_lent = nr_lent + 1;
	} else {
		stopped = 1;
	}
}

/* Behind the store, as if it had been done. */
static void peer_faulted(u64 cause, u64 address)
{
	struct mk_dcb *d = mk_self();

	(void)address;
	if (cause != 7)
		mk_exit(50);
	weir_fetch_add(&faults, 1);
	lent = 0;
	d->enabled[0] += 4;
	mk_resume((u64 *)d->enabled);
}

static void peer(void *arg)
{
	u64 words[4] = { 7 };

	(void)arg;
	mk_on_message(peer_told);
	mk_on_fault(peer_faulted);
	while (mk_bind("shared", &to_owner))
		mk_sleep(20000);
	/* Who has this may end us. */
	while (mk_send(to_owner.endpoint, words, SLOT_SELF) == MK_EBUSY)
		mk_yield();
	while (!stopped) {
		u64 nth = nr_lent, slot = lent, n = 0;
		struct mk_result r;

		if (!slot) {
			mk_sleep(5000);
			continue;
		}
		r = mk_invoke(slot, CMD_IDENTIFY, 0, 0, 0, 0);
		if (r.status != CAP_FRAME || mk_invoke(slot, CMD_MAP, 0, 0, 0, 0).status) {
			lent = 0;
			continue;
		}
		/* Not on the owner's time, which the message lent. */
		mk_yield();
		/* After a fault, the next message may come before this look: that frame has to be mapped first. */
		while (lent == slot && nr_lent == nth)
			__asm__ volatile(".option push\n\t.option norvc\n\tsd %0, "
					 "0(%1)\n\t.option pop" ::"r"(++n),
					 "r"(r.value[0])
					 : "memory");
	}
	mk_yield();
	for (;;)
		beats++;
}

/* --- the owner ------------------------------------------------------------------------------------------------ */

static u64 right_to_end;

static void owner_told(u64 badge, const u64 *words, u64 along)
{
	(void)badge;
	if (words[0] == 7)
		right_to_end = along;
}

static void tell(struct mk_channel *c, u64 what, u64 along)
{
	u64 words[4] = { what };

	while (mk_send(c->endpoint, words, along) == MK_EBUSY)
		mk_yield();
}

static int fail(int n)
{
	mk_print("shared: step %d fails\n", n);
	return n;
}

static u64 number(const char *p)
{
	u64 n = 0;

	while (*p)
		n = n * 10 + (u64)(*p++ - '0');
	return n;
}

int main(int argc, char **argv)
{
	volatile u64 *frame;
	struct mk_channel *c;
	u64 words[4] = { 0 }, before, last;

	if (argc > 1)
		rounds = number(argv[1]);
	mk_set(WEIR_TOPIC_PRIORITY, 10, 0);
	mk_on_message(owner_told);
	if (mk_export("shared") || mk_spawn((u32)mk_self()->core, peer, 0) < 0)
		return 1;
	c = mk_next_client(0);
	if (!c || !c->endpoint)
		return fail(2);
	while (!right_to_end)
		mk_sleep(5000);
	if (mk_invoke(SLOT_RAM, CMD_RETYPE, CAP_FRAME, 4096, 8192, FRAME).status ||
	    mk_invoke(FRAME, CMD_MAP, 0, 0, 0, 0).status)
		return fail(3);
	frame = (volatile u64 *)mk_invoke(FRAME, CMD_IDENTIFY, 0, 0, 0, 0).value[0];
	for (u64 i = 0; i < rounds; i++) {
		*frame = 0;
		if (mk_invoke(FRAME, CMD_COPY, LENT, RIGHT_ALL, 0, 0).status)
			return fail(4);
		tell(c, 1, LENT);
		while (!*frame)
			mk_sleep(3000);
		mk_work(i % 7 * 900);
		/* All copies go. */
		if (mk_invoke(FRAME, CMD_REVOKE, 0, 0, 0, 0).status)
			return fail(5);
		last = *frame;
		mk_work(20000);
		wrong += *frame != last;
		while (weir_load(&faults) <= i)
			mk_sleep(3000);
	}
	tell(c, 2, 0);
	while (!beats)
		mk_sleep(3000);
	if (mk_invoke(right_to_end, CMD_EXIT, 0, 0, 0, 0).status)
		return fail(6);
	for (u32 i = 0; mk_send(c->endpoint, words, 0) != MK_ECAP; i++) {
		if (i == 10000)
			return fail(7);
		mk_sleep(10000);
	}
	before = beats;
	mk_work(50000);
	wrong += beats != before;
	mk_print("shared: %lu frames revoked, %lu faults, %lu wrong\n", (unsigned long)rounds,
		 (unsigned long)faults, (unsigned long)wrong);
	return wrong || faults != rounds;
}
