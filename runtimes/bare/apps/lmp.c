/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Messages between two dispatchers of one core: N calls (default 1000), each answered at once, with a server that this program makes; or
 * between two programs, `lmp N call + lmp N serve`. Counts instructions. Marks:
 *
 * 1	one way, from the sender's call of the library to the receiver's handler: the minimum
 * 2	a call with its answer: the minimum
 * 10	messages whose one way took the minimum
 * 11	one way: the sum of all; 12: the sum of their squares
 * 13	from the system call to the receiver's first instruction: what the kernel takes, the minimum
 * 14	sending to a busy receiver, whose message is buffered: the minimum
 * 15	one way where the receiver runs on its own time, by leave of the policy: the minimum
 *
 * A busy receiver's messages are buffered, and excess ones are refused.
 */
#include <weir/mk.h>

/* First words of messages that are no calls. */
#define RAW   (~0ull)	  /* from now on the kernel enters the receiver here: raw_entry */
#define OWNED (~0ull - 1) /* answered as any */

/* The last word of calls. */
#define CALL 7

#define NR_RAW	 100
#define NR_OWNED 20

static struct mk_channel *client, *server_of;
static struct mk_thread *host; /* waits for the server's end */
static u64 served, buffered, said[4], nr_said;
u64 raw_slot, raw_before; /* the library's entry */

/*
 * Answers with the word that it was sent, and the count on arrival; a second word other than 0 is for the library. Its next entry is an
 * upcall, as after any LMP_FINAL; but not with a notification, which the library has to see.
 */
void raw_entry(void);
__asm__(".text\n"
	".globl raw_entry\n"
	"raw_entry:\n\t"
	"rdinstret t0\n\t"
	"bnez a2, 1f\n\t"
	"mv a2, t0\n\t"
	"mv tp, a5\n\t"
	"sd zero, 8(tp)\n\t" /* D_HASWORK */
	"ld t1, 104(tp)\n\t" /* D_NOTIFIED */
	"seqz a5, t1\n\t"    /* LMP_FINAL */
	"la t0, raw_slot\n\t"
	"ld a0, 0(t0)\n\t"
	"li a7, 2\n\t" /* SYS_LMP */
	"ecall\n\t"
	"mv a0, tp\n\t"
	"ld t0, 32(tp)\n\t" /* D_RUN */
	"jr t0\n"
	"1:\tla t0, raw_before\n\t"
	"ld t0, 0(t0)\n\t"
	"jr t0\n");

static u64 instructions(void)
{
	u64 n;

	__asm__ volatile("rdinstret %0" : "=r"(n)::"memory");
	return n;
}

static __attribute__((noinline)) void answer_it(u64 badge, const u64 *words, u64 arrived)
{
	u64 answer[4] = { words[0] + 1, words[1], words[2], arrived };

	if (!client || badge != client->badge)
		return;
	if (words[0] == RAW && !raw_slot) {
		raw_slot = client->endpoint;
		raw_before = mk_self()->lmp;
		mk_self()->lmp = (u64)raw_entry;
	} else if (words[0] == RAW) {
		mk_self()->lmp = raw_before;
		if (host)
			mk_unpark(host);
	}
	served += words[3] == CALL;
	mk_answer(client->endpoint, answer);
}

/* Counts before it keeps any register. */
static void serve(u64 badge, const u64 *words, u64 along)
{
	(void)along;
	answer_it(badge, words, instructions());
}

static void server(void *arg)
{
	(void)arg;
	mk_on_message(serve);
	if (mk_export("lmp"))
		mk_exit(1);
	client = mk_next_client(0);
	if (!client || !client->endpoint)
		mk_exit(2);
	for (;;)
		mk_park();
}

static void count(u64 badge, const u64 *words, u64 along)
{
	(void)along;
	buffered += badge == 5;
	if (server_of && badge == server_of->badge) {
		memcpy(said, words, sizeof(said));
		nr_said++;
	}
}

/* The handler has the next answer. */
static void until_answered(u64 before)
{
	while (*(volatile u64 *)&nr_said == before)
		mk_yield();
}

/* From the system call to the first instruction of the receiver: the message is the count at the call. */
static u64 raw(struct mk_channel *c)
{
	u64 least = ~0ull;

	for (u32 i = 0; i < NR_RAW; i++) {
		register u64 a0 __asm__("a0") = c->endpoint, a1 __asm__("a1") = 0,
				a2 __asm__("a2") = 0, a4 __asm__("a4") = 0, a5 __asm__("a5") = 0,
				a7 __asm__("a7") = SYS_LMP;
		u64 before = nr_said;

		__asm__ volatile("rdinstret a1\n\tecall"
				 : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a4), "+r"(a5), "+r"(a7)
				 :
				 : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a3",
				   "a6");
		until_answered(before);
		if (said[1] - said[0] < least)
			least = said[1] - said[0];
	}
	return least;
}

static int is(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

int main(int argc, char **argv)
{
	u64 n = 0, least = ~0ull, whole = ~0ull, often = 0, sum = 0, squares = 0, owned = ~0ull;
	u64 busy = ~0ull, bad = 0, refused = 0, own = mk_slot(), answer[4];
	const char *way = argc > 2 ? argv[2] : "alone";
	struct mk_channel c;

	for (const char *p = argc > 1 ? argv[1] : "1000"; *p; p++)
		n = n * 10 + (u64)(*p - '0');
	if (is(way, "serve")) {
		host = mk_current();
		if (!mk_thread(server, 0))
			return 6;
		mk_park();
		mk_print("lmp: served %lu\n", (unsigned long)served);
		return served != n;
	}
	if (is(way, "alone") && mk_spawn((u32)mk_self()->core, server, 0) < 0)
		return 1;
	while (mk_bind("lmp", &c))
		mk_sleep(20000);
	/* The server has its end, too, when it is asked next. */
	mk_sleep(100000);
	while (is(way, "alone") && !weir_load(&client))
		mk_sleep(20000);
	for (u64 i = 0; i < n; i++) {
		u64 words[4] = { i, i * 3, ~i, CALL }, from = instructions(), took;

		if (mk_call(c.endpoint, c.badge, words, answer))
			return 2;
		took = instructions() - from;
		if (took < whole)
			whole = took;
		took = answer[3] - from;
		if (took < least) {
			least = took;
			often = 0;
		}
		often += took == least;
		sum += took;
		squares += took * took;
		bad += answer[0] != i + 1 || answer[1] != i * 3 || answer[2] != ~i;
	}
	mk_mark(1, least);
	mk_mark(2, whole);
	mk_mark(10, often);
	mk_mark(11, sum);
	mk_mark(12, squares);
	server_of = &c;
	mk_on_message(count);
	for (u32 i = 0; i < NR_OWNED; i++) {
		u64 words[4] = { OWNED }, before = nr_said, from;

		/* Then it runs on its own time, and not on the server's. */
		mk_sleep(100000);
		from = instructions();
		if (mk_send_raw(c.endpoint, words, LMP_HANDOVER))
			return 3;
		until_answered(before);
		if (said[3] - from < owned)
			owned = said[3] - from;
	}
	mk_mark(15, owned);
	{
		u64 words[4] = { RAW, 1 };

		if (mk_call(c.endpoint, c.badge, words, answer))
			return 4;
		mk_mark(13, raw(&c));
		if (mk_call(c.endpoint, c.badge, words, answer))
			return 5;
	}
	/* To itself, while it runs: messages that do not fit are refused. */
	mk_invoke(SLOT_SELF, CMD_ENDPOINT, own, 5, 0, 0);
	mk_self()->disabled = 1;
	for (u32 i = 0; i < LMP_BUFFERS + 4; i++) {
		u64 words[4] = { i }, from = instructions(), took;
		int full = mk_send_raw(own, words, 0) == MK_EBUSY;

		took = instructions() - from;
		if (!full && took < busy)
			busy = took;
		refused += (u64)full;
	}
	mk_self()->disabled = 0;
	mk_mark(14, busy);
	mk_sleep(1000000);
	mk_print("lmp: %lu calls, %lu wrong, one way %lu instructions, with the answer %lu; served "
		 "%lu, buffered %lu, refused %lu\n",
		 (unsigned long)n, (unsigned long)bad, (unsigned long)least, (unsigned long)whole,
		 (unsigned long)served, (unsigned long)buffered, (unsigned long)refused);
	return bad || (is(way, "alone") && served != n) || buffered != LMP_BUFFERS || refused != 4;
}
