/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Preemption at every instruction of trap entry, upcall and resume. A rival of higher priority wakes every PERIOD; the subject begins a
 * window of code k instructions before that, for k = 0, 1, 2, ... until the whole window lies before the expiry. The emulator counts
 * instructions, so the expiry falls on each instruction of the window in turn, of the program's as of the kernel's. After each window all
 * registers must be as they were, and the rival must have run in time. `inject LIMIT STRIDE`: every STRIDE-th instant only.
 *
 * Where the subject was disabled when it was preempted, its pc is in the control block; every instruction of lib/entry.S has to turn up
 * there. docs/bare.md, "Dispatchers", has the rules that this tests. Source: 1, 1.4 and 7.
 */
#include <weir/mk.h>

#define PERIOD	   16000ull
#define LATE	   20000ull /* from an expiry to the thread that waits for it */
#define QUIET	   60	    /* instants behind the window's end */
#define MOST	   10000
#define SLEEPING   4000 /* more than the way to sleep takes */
#define TEXT	   0x20000ull
#define PATTERN	   0x7700000000000000
#define ORDER	   1
#define ECHO	   2
#define NR_SAVED   12
#define STRING(x)  #x
#define TEXT_OF(x) STRING(x)

void mk_resume(u64 *area) __attribute__((noreturn));
void mk_switch_out(u64 *area);
void mk_entry_end(void);

/* --- windows -------------------------------------------------------------------------------------------- */

u64 inject_keep[14], inject_fp[32];

#define DUMP(n)	   "sd x" #n ", " TEXT_OF(D_TRAPPED) "+8*" #n "(tp)\n\t"
#define FILL(n)	   "li x" #n ", " TEXT_OF(PATTERN) "+" #n "\n\t"
#define KEEP(n, r) "sd " #r ", 8*" #n "(t0)\n\t"
#define BACK(n, r) "ld " #r ", 8*" #n "(t0)\n\t"
#define KEPT(op)                                                                                  \
	op(0, ra) op(1, sp) op(2, s0) op(3, s1) op(4, s2) op(5, s3) op(6, s4) op(7, s5) op(8, s6) \
		op(9, s7) op(10, s8) op(11, s9) op(12, s10) op(13, s11)
#define SAVED(op) op(8) op(9) op(18) op(19) op(20) op(21) op(22) op(23) op(24) op(25) op(26) op(27)
#define OTHERS(op)                                                                           \
	op(1) op(2) op(3) op(5) op(6) op(7) op(10) op(11) op(12) op(13) op(14) op(15) op(16) \
		op(17) op(28) op(29) op(30)
#define FLOATS(op)                                                                                \
	op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(10) op(11) op(12) op(13) op(14) op(15) \
		op(16) op(17) op(28) op(29) op(30) op(31)
#define FILL_FP(n) "li t0, " TEXT_OF(PATTERN) "+64+" #n "\n\tfmv.d.x f" #n ", t0\n\t"
#define DUMP_FP(n) "fsd f" #n ", 8*" #n "(t0)\n\t"
/* Wait until a0 instructions have been counted, to the instruction. */
#define SLED                      \
	"rdinstret t0\n\t"        \
	"sub t0, a0, t0\n\t"      \
	"andi t1, t0, 1\n\t"      \
	"bnez t1, 1f\n\t"         \
	"nop\n"                   \
	"1:\taddi t0, t0, -2\n\t" \
	"bgtz t0, 1b\n\t"
#define WINDOW(name, first, act, last)                                                          \
	/* It leaves nothing of the caller's floating-point registers. */                       \
	void name(u64 start, u64 argument);                                                     \
	__asm__(".text\n" #name ":\n\tla t0, inject_keep\n\t" KEPT(KEEP) "sd a1, " TEXT_OF(     \
		D_TRAPPED) "(tp)\n\t" SLED first act last                                       \
			   "la t0, inject_fp\n\t" SAVED(DUMP_FP) "la t0, inject_keep\n\t" KEPT( \
				   BACK) "ret\n")

/* All registers but the thread pointer; x31 counts down. */
#define COUNT "ld x31, " TEXT_OF(D_TRAPPED) "(tp)\n\t2:\taddi x31, x31, -1\n\tbnez x31, 2b\n\t"
WINDOW(compute, FLOATS(FILL_FP) SAVED(FILL_FP) OTHERS(FILL) SAVED(FILL), COUNT,
       OTHERS(DUMP) SAVED(DUMP) DUMP(31) "la t0, inject_fp\n\t" FLOATS(DUMP_FP));
WINDOW(fault, FLOATS(FILL_FP) SAVED(FILL_FP) OTHERS(FILL) SAVED(FILL),
       ".option push\n\t.option norvc\n\tlw zero, 0(zero)\n\t.option pop\n\t" COUNT,
       OTHERS(DUMP) SAVED(DUMP) DUMP(31) "la t0, inject_fp\n\t" FLOATS(DUMP_FP));
/* A call of a function, which keeps twelve of each kind. */
WINDOW(act, SAVED(FILL_FP) SAVED(FILL), "jalr a1\n\t", SAVED(DUMP));

static const u8 saved[NR_SAVED] = { 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27 };

static u64 instructions(void)
{
	u64 n;

	__asm__ volatile("rdinstret %0" : "=r"(n)::"memory");
	return n;
}

/* --- the rival ------------------------------------------------------------------------------------------------ */

static volatile u64 rival_at, rival_latest, second, progress, finished, lost, own_late;
/* The rival takes the floating-point registers, so the subject's next use traps; then the pc of its preemption is no longer seen. */
static volatile u32 floats;

/* A function of its own, because it keeps what its caller has in them. */
static __attribute__((noinline)) void takes_floats(void)
{
	__asm__ volatile("fcvt.d.l ft0, zero\n\tfmv.d fs0, ft0\n\tfmv.d fs1, ft0\n\tfmv.d fs2, "
			 "ft0\n\tfmv.d fs11, ft0\n\tfmv.d fa0, ft0\n\tfmv.d ft11, ft0" ::
				 : "ft0", "fs0", "fs1", "fs2", "fs11", "fa0", "ft11");
}

static void rival_sleeps(u64 at)
{
	/* What the subject would find in its registers if they were not its own. */
	__asm__ volatile("li s2, -2\n\tli s3, -3\n\tli s4, -4\n\tli s5, -5\n\tli s6, -6\n\tli s7, "
			 "-7\n\tli s8, -8\n\tli s9, -9\n\tli s10, -10\n\tli s11, -11" ::
				 : "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11");
	if (floats)
		takes_floats();
	mk_sleep_until(at);
	if (mk_now() - at > rival_latest)
		rival_latest = mk_now() - at;
}

static void rival(void *arg)
{
	u64 at = mk_now() + PERIOD, seen = 0, rounds = 0;

	(void)arg;
	mk_set(WEIR_TOPIC_PRIORITY, 20, 0);
	while (!finished) {
		rival_sleeps(at);
		if (second) {
			rival_sleeps(at + second);
			second = 0;
		}
		rounds = progress == seen ? rounds + 1 : 0;
		seen = progress;
		if (rounds > 2000) {
			lost = 1;
			mk_print("inject: after %lu instants an expiry was lost\n",
				 (unsigned long)progress);
			mk_exit(1);
		}
		while (at < mk_now() + PERIOD / 4)
			at += PERIOD;
		rival_at = at;
	}
}

/* --- a server on the same core ------------------------------------------------------------------------------------ */

static struct mk_channel *client, to_server;
static struct mk_thread *sleeper;
static volatile u64 server_at, server_woke, server_latest;
static u64 hit[TEXT / 128], base, distinct;

/* The subject's, or the server's, pc while it was disabled. */
static void mark(void)
{
	struct mk_dcb *d = mk_self();
	u64 at = d->saved[0] - base;

	if (d->saved[0] && at < TEXT && !(hit[at / 128] >> at / 2 % 64 & 1)) {
		hit[at / 128] |= 1ull << at / 2 % 64;
		distinct++;
	}
	d->saved[0] = 0;
}

static void serve(u64 badge, const u64 *words, u64 along)
{
	u64 answer[4] = { words[0], words[1] + 1 };

	(void)along;
	if (!client || badge != client->badge)
		return;
	mark();
	if (words[0] == ORDER) {
		server_at = words[1];
		mk_unpark(sleeper);
	}
	mk_answer(client->endpoint, answer);
}

static void binder(void *arg)
{
	(void)arg;
	client = mk_next_client(0);
	for (;;)
		mk_park();
}

static void server(void *arg)
{
	(void)arg;
	sleeper = mk_current();
	mk_on_message(serve);
	if (mk_export("inject") || !mk_thread(binder, 0))
		mk_exit(1);
	for (;;) {
		u64 late;

		mk_park();
		mk_sleep_until(server_at);
		late = mk_now() - server_at;
		if (late > server_latest)
			server_latest = late;
		server_woke++;
	}
}

/* --- what the subject does in its windows ------------------------------------------------------------------------------ */

static u64 wrong, own_at, calls;
static volatile u32 switching;

static void yields(void)
{
	mk_yield();
}

static void invokes(void)
{
	mk_invoke(SLOT_SELF, CMD_IDENTIFY, 0, 0, 0, 0);
}

static void asks(void)
{
	u64 words[4] = { ECHO, ++calls }, answer[4] = { 0 };

	if (mk_call(to_server.endpoint, to_server.badge, words, answer) || answer[1] != calls + 1)
		wrong++;
}

static void asks_often(void)
{
	for (u32 i = 0; i < 4; i++)
		asks();
}

static void sleeps(void)
{
	mk_sleep_until(own_at);
}

/* The fault's upcall: to the next instruction, with all registers as they were. */
static void on_fault(u64 cause, u64 address)
{
	struct mk_dcb *d = mk_self();

	(void)address;
	if (cause != 5)
		mk_exit(50);
	d->enabled[0] += 4;
	mk_resume((u64 *)d->enabled);
}

static void other(void *arg)
{
	(void)arg;
	for (;;) {
		while (switching) {
			takes_floats();
			mk_yield();
		}
		mk_park();
	}
}

/* --- the sweep -------------------------------------------------------------------------------------------------------------- */

enum kind { COMPUTE, DISABLED, FAULT, TWICE, YIELD, SWITCH, INVOKE, ASK, SLEEP, OWN, SERVER };

static u64 instants, overall, stride;

static void expect(u32 n, u64 value)
{
	if (mk_self()->trapped[n] == value)
		return;
	if (!wrong++)
		mk_print("inject: x%u is 0x%lx and was 0x%lx\n", n,
			 (unsigned long)mk_self()->trapped[n], (unsigned long)value);
}

static void check(enum kind kind)
{
	for (u32 i = 0; i < NR_SAVED; i++) {
		expect(saved[i], PATTERN + saved[i]);
		wrong += inject_fp[saved[i]] != (u64)PATTERN + 64 + saved[i];
	}
	if (kind > TWICE)
		return;
	for (u32 n = 1; n < 31; n++)
		/* The library uses the global pointer to return to a thread. */
		if (n != 4 && (n != 3 || kind == DISABLED) && !(n >= 18 && n <= 27) && n != 8 &&
		    n != 9)
			expect(n, PATTERN + n);
	expect(31, 0);
	for (u32 n = 0; n < 32; n++)
		wrong += inject_fp[n] != (u64)PATTERN + 64 + n;
}

static u64 offset_of_clock(void)
{
	struct mk_dcb *d = mk_self();

	return d->base - d->start;
}

/* The count at which a window begins that lies k instructions before @at; 0: it is too late. */
static u64 begin(u64 at, u64 k)
{
	u64 start = at - offset_of_clock() - k;

	return (s64)(start - instructions()) > 400 ? start : 0;
}

static void await_rival(u64 at)
{
	for (u64 from = mk_now(); rival_at == at;)
		if (mk_now() - from > 100 * PERIOD) {
			mk_print("inject: after %lu instants the rival's expiry was lost\n",
				 (unsigned long)instants);
			mk_exit(2);
		}
}

/* One instant; 1: the expiry came behind the window. */
static int one(enum kind kind, u64 k)
{
	static void (*const acts[])(
		void) = { [YIELD] = yields, [SWITCH] = yields, [INVOKE] = invokes,
			  [ASK] = asks,	    [SLEEP] = sleeps,  [SERVER] = asks_often };
	struct mk_dcb *d = mk_self();
	u64 at, start, behind, woke = server_woke;

	if (kind == OWN) {
		/* The subject's own expiry. */
		start = instructions() + 500;
		own_at = start + offset_of_clock() + k;
		mark();
		act(start, (u64)sleeps);
		at = mk_now() - own_at;
		if ((s64)at < 0)
			wrong++;
		else if (at > own_late)
			own_late = at;
		mark();
		check(kind);
		return k > SLEEPING;
	}
	if (kind == SERVER) {
		u64 words[4] = { ORDER, mk_now() + PERIOD + k }, answer[4];

		at = words[1];
		if (mk_call(to_server.endpoint, to_server.badge, words, answer))
			wrong++;
		/* It sets its timer, and waits. */
		mk_sleep(PERIOD / 2);
		start = begin(at, k);
		behind = 0;
		if (start && server_woke == woke) {
			act(start, (u64)asks_often);
			check(kind);
			behind = mk_now() < at;
		}
		while (server_woke == woke) {
			asks();
			if (mk_now() > at + 4 * PERIOD) {
				mk_print("inject: after %lu instants the server's expiry was "
					 "lost\n",
					 (unsigned long)instants);
				mk_exit(4);
			}
		}
		return (int)behind;
	}
	for (;;) {
		at = rival_at;
		second = 0;
		start = begin(at, kind == TWICE ? 120 : k);
		if (start)
			break;
		await_rival(at);
	}
	mark();
	own_at = at + 500;
	if (kind == TWICE)
		second = k + 1;
	if (kind == DISABLED)
		d->disabled = 1;
	if (kind == COMPUTE || kind == DISABLED || kind == TWICE)
		compute(start, 100);
	else if (kind == FAULT)
		fault(start, 20);
	else
		act(start, (u64)acts[kind]);
	behind = kind == SLEEP ? k > SLEEPING : rival_at == at;
	if (kind == DISABLED)
		d->disabled = 0;
	mark();
	check(kind);
	await_rival(at);
	return (int)behind;
}

static u64 max(u64 a, u64 b)
{
	return a > b ? a : b;
}

static void sweep(enum kind kind, const char *name)
{
	u64 quiet = 0, k, before = distinct, latest;

	for (k = 0; quiet < QUIET && k < MOST; k += stride) {
		quiet = one(kind, k) ? quiet + 1 : 0;
		instants++;
		progress++;
	}
	if (k >= MOST) {
		mk_print("inject: %s: no end of the window\n", name);
		wrong++;
	}
	latest = max(max(rival_latest, own_late), server_latest);
	mk_print("inject: %s%s: the expiry at %lu instants, %lu more places of disabled code, %lu "
		 "ns late\n",
		 name, floats ? ", floating point" : "",
		 (unsigned long)((k - quiet * stride) / stride), (unsigned long)(distinct - before),
		 (unsigned long)latest);
	if (latest > overall)
		overall = latest;
	rival_latest = own_late = server_latest = 0;
}

/* Instructions from @from to @to, and how many of them were hit. */
static void cover(u64 from, u64 to, u64 *all, u64 *found)
{
	while (from < to) {
		u64 at = from - base;

		++*all;
		if (hit[at / 128] >> at / 2 % 64 & 1)
			++*found;
		else
			mk_print("inject: no preemption at 0x%lx of the program\n",
				 (unsigned long)at);
		from += (*(const u16 *)from & 3) == 3 ? 4 : 2;
	}
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
	struct mk_dcb *d = mk_self();
	u64 all = 0, found = 0;
	struct mk_thread *t;
	u32 core = (u32)d->core;

	stride = argc > 1 ? number(argv[1]) : 1;
	base = d->run & ~(u64)(0x200000 - 1);
	mk_set(WEIR_TOPIC_PRIORITY, 10, 0);
	mk_on_fault(on_fault);
	if (mk_spawn(core, server, 0) < 0)
		return 1;
	while (mk_bind("inject", &to_server))
		mk_sleep(20000);
	mk_sleep(200000);
	t = mk_thread(other, 0);
	if (!t || mk_spawn(core, rival, 0) < 0)
		return 1;
	while (!rival_at)
		mk_sleep(20000);
	rival_latest = 0;
	for (floats = 0; floats < 2; floats++) {
		sweep(COMPUTE, "a thread that computes");
		sweep(DISABLED, "a disabled one");
		sweep(FAULT, "a fault and its upcall");
		sweep(INVOKE, "a system call");
		sweep(YIELD, "yield of the core, upcall, resume");
		sweep(ASK, "a message and its answer");
		switching = 1;
		mk_unpark(t);
		sweep(SWITCH, "switch to another thread");
		switching = 0;
		for (u32 i = 0; i < 4; i++)
			mk_yield();
		sweep(TWICE, "preemption, upcall, resume");
		sweep(SLEEP, "going to sleep");
		/* Some places are on this way alone, until a thread has used floating point, and where a turn of the core ends one is missed. */
		if (!floats)
			sweep(SLEEP, "going to sleep, again");
	}
	sweep(OWN, "its own expiry on the way to sleep");
	/* It would disturb the wait for the next windows. */
	finished = 1;
	mk_sleep(2 * PERIOD);
	sweep(SERVER, "a server's expiry while it answers");
	cover(d->run, d->crit_high, &all, &found);
	cover((u64)mk_switch_out, (u64)mk_entry_end, &all, &found);
	mk_print(
		"inject: %lu instants, %lu places of disabled code, among them %lu of the %lu that "
		"must be; %lu wrong; the latest expiry %lu ns late\n",
		(unsigned long)instants, (unsigned long)distinct, (unsigned long)found,
		(unsigned long)all, (unsigned long)wrong, (unsigned long)overall);
	return wrong || lost || overall > LATE || (stride == 1 && found != all);
}
